/* SPDX-License-Identifier: Apache-2.0 */
/* cli/replan.c: an old plan and what has happened to its network since. */
#include "replan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "topology/generate.h"
#include "verify/verify.h"

/* What has happened, as damage: «down=g0-g1,degrade=g2-g3:0.5». */
static banyan_status add_damage(banyan_text *text, const char *option, const char *damage, const char *links,
                                banyan_error *err)
{
    while (links && *links) {
        size_t length = strcspn(links, ",");

        if (!length)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--%s: a link is missing between commas",
                               option);
        if (!strcmp(option, "slow") && !memchr(links, ':', length))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "--slow %.*s: a factor is missing, as in g0-g1:0.5", (int)length, links);
        banyan_text_add(text, "%s%s=%.*s", text->length ? "," : "", damage, (int)length, links);
        links += length + (links[length] == ',');
    }
    return BANYAN_SUCCESS;
}

/* The sentence speaks of damage; the user has spoken of options. */
static void speak_of_options(banyan_error *err)
{
    banyan_error old = *err;

    if (!strncmp(old.text, "down=", 5))
        snprintf(err->text, sizeof err->text, "--without %.300s", old.text + 5);
    else if (!strncmp(old.text, "degrade=", 8))
        snprintf(err->text, sizeof err->text, "--slow %.300s", old.text + 8);
}

/* The network as it is now, in place of the problem's. */
static banyan_status damage_network(const char *options, cli_problem *problem, banyan_error *err)
{
    banyan_topology *now;
    banyan_status status = banyan_topology_damage(problem->topology, options, &now, err);

    if (status) {
        speak_of_options(err);
        return status;
    }
    banyan_topology_destroy(problem->topology);
    problem->topology = now;
    problem->problem.topology = now;
    return banyan_topology_check_connected(now, problem->active, problem->problem.active_count, err);
}

/* Names are alike, or one of them goes on with what happened to the network. */
static int is_same_network(const char *a, const char *b)
{
    size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return strncmp(a, b, length) == 0 && (a[length] == 0 || a[length] == ',') &&
           (b[length] == 0 || b[length] == ',');
}

static banyan_status check_old(const cli_problem *problem, const cli_replan *replan, banyan_error *err)
{
    const banyan_schedule *old = replan->old;
    const banyan_problem *p = &problem->problem;

    if (old->algorithm && *old->algorithm && strcmp(old->algorithm, "forest") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "%.200s is a plan of %.60s; only plans of forest can be mended", replan->path,
                           old->algorithm);
    if (old->topology && *old->topology && !is_same_network(old->topology, problem->topology->name))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%.200s is a plan for %.60s, not for %.60s",
                           replan->path, old->topology, problem->topology->name);
    if (old->node_count != problem->topology->node_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%.200s is a plan for %d nodes, but %.60s has %d",
                           replan->path, old->node_count, problem->topology->name,
                           problem->topology->node_count);
    if (old->collective != BANYAN_COLLECTIVE_ALLREDUCE || p->collective != BANYAN_COLLECTIVE_ALLREDUCE)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--from mends plans of allreduce, not of %s",
                           banyan_collective_name(old->collective != BANYAN_COLLECTIVE_ALLREDUCE
                                                      ? old->collective
                                                      : p->collective));
    if (old->active_count != p->active_count ||
        memcmp(old->active, p->active, (size_t)p->active_count * sizeof *p->active) != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "%.200s is a plan for other active workers: give the same --active", replan->path);
    return BANYAN_SUCCESS;
}

/* The old plan must run on the network as it was; what it reached there. */
static banyan_status judge_old(const cli_problem *problem, cli_replan *replan, banyan_error *err)
{
    banyan_limits limits;
    banyan_verdict verdict;
    banyan_status status = banyan_verify(replan->old, problem->topology, &verdict, err);

    if (!status && verdict.problem_count)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%.200s does not run on %.60s: %.200s",
                             replan->path, problem->topology->name, verdict.problems[0]);
    if (!status)
        status = banyan_bandwidth_limit(replan->old, problem->topology, &limits, err);
    if (!status)
        replan->old_bytes_per_s = limits.bytes_per_s;
    return status;
}

static banyan_status load_old(const char *path, banyan_schedule **out, banyan_error *err)
{
    size_t length;
    char *text;
    banyan_status status = banyan_file_load(path, &text, &length, err);

    if (status)
        return status;
    status = banyan_schedule_parse(text, length, out, err);
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}

static banyan_status check_options(const cli_arguments *arguments, banyan_error *err)
{
    const char *algorithm = cli_get(arguments, "algo");

    if (algorithm && strcmp(algorithm, "forest") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--from mends plans of forest, not of %.40s",
                           algorithm);
    return BANYAN_SUCCESS;
}

banyan_status cli_replan_load(const cli_arguments *arguments, cli_problem *problem, cli_replan *out,
                              banyan_error *err)
{
    banyan_text damage = BANYAN_TEXT_EMPTY;
    banyan_status status = check_options(arguments, err);

    *out = (cli_replan){.path = cli_get(arguments, "from"), .old_bytes_per_s = NAN, .fresh_s = NAN};
    if (!status)
        status = add_damage(&damage, "without", "down", cli_get(arguments, "without"), err);
    if (!status)
        status = add_damage(&damage, "slow", "degrade", cli_get(arguments, "slow"), err);
    if (!status && damage.failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = load_old(out->path, &out->old, err);
    if (!status)
        status = check_old(problem, out, err);
    if (!status && damage.length)
        status = judge_old(problem, out, err);
    if (!status && damage.length)
        status = damage_network(damage.bytes, problem, err);
    banyan_text_fini(&damage);
    if (status)
        cli_replan_fini(out);
    return status;
}

void cli_replan_fini(cli_replan *replan)
{
    banyan_schedule_destroy(replan->old);
    replan->old = NULL;
}

banyan_status cli_replan_make(const cli_problem *problem, cli_replan *replan, banyan_plan *out,
                              banyan_error *err)
{
    return banyan_plan_mend(&problem->problem, replan->old, &replan->how, out, err);
}

banyan_status cli_replan_compare(const cli_problem *problem, cli_replan *replan, banyan_error *err)
{
    banyan_plan fresh;
    banyan_status status = banyan_plan_choose("forest", &problem->problem, &fresh, err);

    if (status)
        return status;
    replan->fresh_s = fresh.planning_s;
    banyan_plan_fini(&fresh);
    return BANYAN_SUCCESS;
}

void cli_replan_print(const cli_replan *replan, const banyan_plan *plan)
{
    const banyan_replan *how = &replan->how;
    char before[32], now[32], fresh[32], mended[32];

    if (how->is_mended)
        printf("  mended: %d of the %d trees of %s run as before\n", how->kept_count, how->tree_count,
               replan->path);
    else
        printf("  planned from the beginning: %s\n",
               how->tree_count ? "the old trees would lose too much" : "the old plan has no trees to mend");
    if (isfinite(replan->old_bytes_per_s))
        printf("  at most %s before, %s now\n",
               banyan_show_rate(replan->old_bytes_per_s, before, sizeof before),
               banyan_show_rate(plan->limits.bytes_per_s, now, sizeof now));
    printf("  %s of CPU time, against %s from the beginning\n",
           banyan_show_seconds(plan->planning_s, mended, sizeof mended),
           banyan_show_seconds(replan->fresh_s, fresh, sizeof fresh));
}

void cli_replan_json(banyan_text *text, const cli_replan *replan)
{
    banyan_text_add(text, ",\"from\":{\"file\":");
    banyan_text_add_json_string(text, replan->path);
    banyan_text_add(text, ",\"mended\":%s,\"trees\":%d,\"kept_trees\":%d,",
                    replan->how.is_mended ? "true" : "false", replan->how.tree_count, replan->how.kept_count);
    cli_json_number(text, "bytes_per_s", replan->old_bytes_per_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "fresh_planning_s", replan->fresh_s);
    banyan_text_add(text, "}");
}
