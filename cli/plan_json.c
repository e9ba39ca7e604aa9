/* SPDX-License-Identifier: Apache-2.0 */
/* cli/plan_json.c: a plan's figures as one JSON object. */
#include "plan_json.h"

static void add_number(banyan_text *text, const char *key, double value)
{
    banyan_text_add(text, ",");
    cli_json_number(text, key, value);
}

static void add_counts(banyan_text *text, const banyan_plan_info *figures,
                       const banyan_schedule_info *schedule)
{
    banyan_text_add(text, "{\"algorithm\":\"%s\",\"applies\":true", figures->algorithm);
    if (figures->variant_key)
        banyan_text_add(text, ",\"%s\":\"%s\"", figures->variant_key, figures->variant_value);
    banyan_text_add(text, ",\"collective\":\"%s\",\"workers\":%d,\"bytes\":%zu", schedule->collective,
                    schedule->active_count, figures->bytes);
    banyan_text_add(text, ",\"transfers\":%zu,\"pieces\":%d,\"rounds\":%d,\"trees\":%d,\"depth\":%d",
                    schedule->transfer_count, schedule->piece_count, schedule->round_count,
                    schedule->flow_count, figures->depth);
}

static void add_figures(banyan_text *text, const banyan_plan_info *figures, double bound_bytes_per_s)
{
    add_number(text, "volume_per_worker", figures->volume);
    add_number(text, "bytes_per_s", figures->bytes_per_s);
    add_number(text, "share_of_bound", figures->bytes_per_s / bound_bytes_per_s);
    add_number(text, "predicted_s", figures->predicted_s);
    add_number(text, "network_s", figures->network_s);
    banyan_text_add(text, ",\"model\":\"%s\"", figures->model);
    add_number(text, "planning_s", figures->planning_s);
    banyan_text_add(
        text, ",\"work\":{\"lp_solves\":%lld,\"tree_searches\":%lld,\"max_flows\":%lld,\"visits\":%lld}",
        (long long)figures->lp_solves, (long long)figures->tree_searches, (long long)figures->max_flows,
        (long long)figures->solver_visits);
}

banyan_status cli_plan_json(banyan_text *text, const banyan_plan *plan, const banyan_topology *topology,
                            double bound_bytes_per_s, const char *more, banyan_error *err)
{
    banyan_plan_info figures = {.size = sizeof figures};
    banyan_schedule_info schedule = {.size = sizeof schedule};
    banyan_status status = banyan_plan_get_info(plan, &figures, err);
    char name[128];

    if (!status)
        status = banyan_schedule_get_info(banyan_plan_schedule(plan), &schedule, err);
    if (status)
        return status;
    add_counts(text, &figures, &schedule);
    add_figures(text, &figures, bound_bytes_per_s);
    banyan_text_add(text, ",\"bottleneck\":");
    if (figures.bottleneck >= 0)
        banyan_text_add_json_string(
            text, banyan_topology_link_name(topology, figures.bottleneck, name, sizeof name));
    else
        banyan_text_add(text, "null");
    banyan_text_add(text, ",\"digest\":\"%s\",\"verified\":true%s}", schedule.digest, more);
    return BANYAN_SUCCESS;
}
