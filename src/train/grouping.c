/* SPDX-License-Identifier: Apache-2.0 */
/* train/grouping.c: a grouping is judged, compared with what was observed, named. */
#include <math.h>

#include "core/alloc.h"
#include "core/digest.h"
#include "train/traffic.h"

void banyan_grouping_destroy(banyan_grouping *grouping)
{
    if (!grouping)
        return;
    banyan_free(grouping->parts);
    banyan_free(grouping->groups);
    banyan_free(grouping);
}

static double ready_s_of(const banyan_grouping *grouping, const banyan_gradient_group *group,
                         const banyan_model *model)
{
    const banyan_gradient_part *parts = &grouping->parts[group->first_part];
    double ready_s = 0;

    for (int i = 0; i < group->part_count; i++)
        ready_s = fmax(ready_s, model->tensors[parts[i].tensor].ready_s);
    return ready_s;
}

/* The lowest stream on which nothing is in flight. */
static int free_stream(const banyan_grouping *grouping, const banyan_traffic *traffic)
{
    unsigned taken = 0;
    int stream = 0;

    for (int i = 0; i < traffic->count - 1; i++) /* the last one is the newcomer itself */
        taken |= 1u << grouping->groups[traffic->flights[i].group].stream;
    while (taken >> stream & 1)
        stream++;
    return stream;
}

/* Returns when the last group ends. */
static double play(banyan_grouping *grouping, const banyan_model *model, const banyan_cost *cost,
                   double *ends_s)
{
    banyan_traffic traffic = {.now_s = 0};

    for (int g = 0; g < grouping->group_count; g++) {
        banyan_gradient_group *group = &grouping->groups[g];
        double ready_s = fmax(group->release_s, ready_s_of(grouping, group, model));

        banyan_traffic_send(&traffic, cost, g, (double)group->bytes, ready_s, group->level, ends_s);
        group->start_s = traffic.now_s;
        group->stream = free_stream(grouping, &traffic);
    }
    banyan_traffic_wait(&traffic, cost, 0, 0, ends_s);
    for (int g = 0; g < grouping->group_count; g++)
        grouping->groups[g].end_s = ends_s[g];
    return traffic.now_s;
}

/* As banyan_grouping_units_bound, but tensors may become ready in any order: what comes from part i on waits
 * for the first of them. */
static double bound(const banyan_grouping *grouping, const banyan_model *model, const banyan_cost *cost)
{
    double bytes = 0, first_s = INFINITY, bound_s = 0;
    banyan_floor floor;

    for (int i = 0; i < grouping->part_count; i++)
        bytes += (double)grouping->parts[i].bytes;
    banyan_floor_find(cost, grouping->streams, bytes, &floor);
    bytes = 0;
    for (int i = grouping->part_count - 1; i >= 0; i--) {
        const banyan_gradient_part *part = &grouping->parts[i];
        double ready_s = model->tensors[part->tensor].ready_s;

        bytes += (double)part->bytes;
        first_s = fmin(first_s, ready_s);
        bound_s = fmax(bound_s, fmax(first_s + banyan_floor_seconds(&floor, bytes),
                                     ready_s + banyan_cost_seconds(cost, (double)part->bytes)));
    }
    return bound_s;
}

banyan_status banyan_grouping_judge(banyan_grouping *grouping, const banyan_model *model,
                                    const banyan_cost *cost, banyan_error *err)
{
    double *ends_s = banyan_alloc((size_t)grouping->group_count, sizeof *ends_s), end_s;

    if (!ends_s)
        return banyan_fail_memory(err);
    end_s = play(grouping, model, cost, ends_s);
    banyan_free(ends_s);
    grouping->forward_s = model->forward_s;
    grouping->backward_s = model->backward_s;
    grouping->exposed_comm_s = fmax(0, end_s - model->backward_s);
    grouping->iteration_s = model->forward_s + model->backward_s + grouping->exposed_comm_s;
    grouping->bound_s = model->forward_s + fmax(model->backward_s, bound(grouping, model, cost));
    return BANYAN_SUCCESS;
}

double banyan_grouping_drift(const banyan_grouping *grouping, const banyan_model *planned,
                             const banyan_model *observed)
{
    double drift_s = fabs(observed->backward_s - planned->backward_s);

    for (int g = 0; g < grouping->group_count; g++) {
        const banyan_gradient_group *group = &grouping->groups[g];

        drift_s =
            fmax(drift_s, fabs(ready_s_of(grouping, group, observed) - ready_s_of(grouping, group, planned)));
    }
    return planned->backward_s > 0 ? drift_s / planned->backward_s : drift_s > 0 ? INFINITY : 0;
}

void banyan_grouping_digest(const banyan_grouping *grouping, char out[17])
{
    banyan_digest digest;

    banyan_digest_init(&digest);
    banyan_digest_add_integer(&digest, grouping->streams);
    banyan_digest_add_integer(&digest, grouping->part_count);
    for (int i = 0; i < grouping->part_count; i++) {
        banyan_digest_add_integer(&digest, grouping->parts[i].tensor);
        banyan_digest_add_integer(&digest, (int64_t)grouping->parts[i].offset_bytes);
        banyan_digest_add_integer(&digest, (int64_t)grouping->parts[i].bytes);
    }
    banyan_digest_add_integer(&digest, grouping->group_count);
    for (int g = 0; g < grouping->group_count; g++) {
        banyan_digest_add_integer(&digest, grouping->groups[g].part_count);
        banyan_digest_add_integer(&digest, grouping->groups[g].level);
    }
    banyan_digest_format(&digest, out);
}
