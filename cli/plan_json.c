/* SPDX-License-Identifier: Apache-2.0 */
/* cli/plan_json.c: a plan's figures as one JSON object. */
#include "plan_json.h"

void cli_plan_json(banyan_text *text, const banyan_plan *plan, const banyan_problem *problem,
                   double bound_bytes_per_s, const char *more)
{
    const banyan_schedule *schedule = plan->schedule;
    const int link = plan->limits.bottleneck;
    char name[128], digest[17];

    banyan_text_add(text, "{\"algorithm\":\"%s\",\"applies\":%s", plan->algorithm->name,
                    schedule ? "true" : "false");
    if (!schedule) {
        banyan_text_add(text, ",\"why_not\":");
        banyan_text_add_json_string(text, plan->why_not.text);
        banyan_text_add(text, "}");
        return;
    }
    if (plan->variant.key)
        banyan_text_add(text, ",\"%s\":\"%s\"", plan->variant.key, plan->variant.value);
    banyan_schedule_digest(schedule, digest);
    banyan_text_add(text, ",\"collective\":\"%s\",\"workers\":%d,\"bytes\":%zu,",
                    banyan_collective_name(schedule->collective), schedule->active_count, problem->bytes);
    banyan_text_add(text, "\"transfers\":%zu,\"pieces\":%d,\"rounds\":%d,\"trees\":%d,\"depth\":%d,",
                    schedule->transfer_count, schedule->piece_count, schedule->round_count,
                    schedule->flow_count, plan->limits.depth);
    cli_json_number(text, "volume_per_worker", plan->limits.volume);
    banyan_text_add(text, ",");
    cli_json_number(text, "bytes_per_s", plan->limits.bytes_per_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "share_of_bound", plan->limits.bytes_per_s / bound_bytes_per_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "predicted_s", plan->predicted_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "network_s", plan->network_s);
    banyan_text_add(text, ",\"model\":\"%s\",", plan->model);
    cli_json_number(text, "planning_s", plan->planning_s);
    banyan_text_add(
        text, ",\"work\":{\"lp_solves\":%lld,\"tree_searches\":%lld,\"max_flows\":%lld,\"visits\":%lld}",
        (long long)plan->work.calls[BANYAN_WORK_LP], (long long)plan->work.calls[BANYAN_WORK_TREE],
        (long long)plan->work.calls[BANYAN_WORK_FLOW], (long long)plan->work.visits);
    banyan_text_add(text, ",\"bottleneck\":");
    if (link >= 0)
        banyan_text_add_json_string(text,
                                    banyan_topology_link_name(problem->topology, link, name, sizeof name));
    else
        banyan_text_add(text, "null");
    banyan_text_add(text, ",\"digest\":\"%s\",\"verified\":true%s}", digest, more);
}
