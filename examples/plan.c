/* SPDX-License-Identifier: Apache-2.0 */
/* Plans an all-reduce for a network, compares it with the bound, and writes the schedule to standard output:
 * ./plan [NETWORK] */
#include <banyan/plan.h>
#include <stdio.h>

int main(int count, char **words)
{
    banyan_topology *network = NULL;
    banyan_bounds *bounds = NULL;
    banyan_plan *plan = NULL;
    banyan_bounds_info best = {.size = sizeof best};
    banyan_plan_info figures = {.size = sizeof figures};
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    char *text = NULL;
    banyan_error err;
    banyan_status status = banyan_topology_load(count > 1 ? words[1] : "hosts:2+3", &network, &err);

    config.bytes = (size_t)64 << 20;
    if (!status)
        status = banyan_bounds_create(network, NULL, &bounds, &err);
    if (!status)
        status = banyan_bounds_get_info(bounds, &best, &err);
    if (!status)
        status = banyan_plan_create(network, &config, &plan, &err);
    if (!status)
        status = banyan_plan_get_info(plan, &figures, &err);
    if (!status)
        status = banyan_schedule_export(banyan_plan_schedule(plan), network, "text", NULL, &text, &err);
    if (status)
        fprintf(stderr, "%s\n", err.text);
    else
        printf("%s: 64 MiB in %.1f ms, %.1f %% of the bound\n%s", figures.algorithm,
               figures.predicted_s * 1e3, 100 * figures.bytes_per_s / best.allreduce_bytes_per_s, text);
    banyan_free(text);
    banyan_plan_destroy(plan);
    banyan_bounds_destroy(bounds);
    banyan_topology_destroy(network);
    return status ? 1 : 0;
}
