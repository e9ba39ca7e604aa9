/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/predict.c: plans for papers. */
#include "reproduce/predict.h"

#include <stdio.h>
#include <string.h>

#include "bound/bound.h"
#include "core/alloc.h"
#include "planner/predict.h"

banyan_status paper_network_init(paper_network *network, const char *spec, const char *active,
                                 banyan_error *err)
{
    banyan_status status;
    int count = 0;

    *network = (paper_network){0};
    status = banyan_topology_load(spec, &network->topology, err);
    if (!status)
        status = banyan_topology_parse_active(network->topology, active, &network->active, &count, err);
    if (!status)
        network->problem = (banyan_problem){.topology = network->topology,
                                            .active = network->active,
                                            .active_count = count,
                                            .collective = BANYAN_COLLECTIVE_ALLREDUCE};
    return status;
}

void paper_network_fini(paper_network *network)
{
    banyan_free(network->active);
    banyan_topology_destroy(network->topology);
}

banyan_status paper_network_predict(const paper_network *network, const char *algorithm, const char *option,
                                    size_t bytes, double *seconds, banyan_error *err)
{
    banyan_problem problem = network->problem;
    const char *equals = option ? strchr(option, '=') : NULL;
    char key[32] = "";
    banyan_parameter parameter = {key, equals ? equals + 1 : NULL};
    banyan_timeline *timeline;
    const char *model;
    banyan_plan plan;
    banyan_status status;

    problem.bytes = bytes;
    if (equals) {
        snprintf(key, sizeof key, "%.*s", (int)(equals - option), option);
        problem.parameters = &parameter;
        problem.parameter_count = 1;
    }
    status = banyan_plan_choose(algorithm, &problem, &plan, err);
    if (status)
        return status;
    /* As papers count: on the links alone, in messages as large as the schedule has them. */
    status = banyan_predict(plan.schedule, network->topology, bytes, 0, &timeline, &model, err);
    if (!status) {
        *seconds = timeline->total_s;
        banyan_timeline_destroy(timeline);
    }
    banyan_plan_fini(&plan);
    return status;
}

banyan_status paper_network_bound(const paper_network *network, double *bytes_per_s, banyan_error *err)
{
    const banyan_problem *problem = &network->problem;
    double reached;
    banyan_rate rate;
    banyan_status status = banyan_bound_allreduce(problem->topology, problem->active, problem->active_count,
                                                  BANYAN_RELAYS_ADD, &rate, &reached, err);

    if (status)
        return status;
    *bytes_per_s = rate.bytes_per_s;
    banyan_rate_fini(&rate);
    return BANYAN_SUCCESS;
}
