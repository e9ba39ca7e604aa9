/* SPDX-License-Identifier: Apache-2.0 */
/* cli/replan.c: what has happened to a network since it was described, and what an old plan reached before. */
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

    if (old->topology && *old->topology && !is_same_network(old->topology, problem->topology->name))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%.200s is a plan for %.60s, not for %.60s",
                           replan->path, old->topology, problem->topology->name);
    if (old->node_count != problem->topology->node_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%.200s is a plan for %d nodes, but %.60s has %d",
                           replan->path, old->node_count, problem->topology->name,
                           problem->topology->node_count);
    if (old->collective != p->collective)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%.200s is a plan of %s: give the same --collective",
                           replan->path, banyan_collective_name(old->collective));
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

banyan_status cli_replan_load(const cli_arguments *arguments, cli_problem *problem, cli_replan *out,
                              banyan_error *err)
{
    banyan_text damage = BANYAN_TEXT_EMPTY;
    banyan_status status = add_damage(&damage, "without", "down", cli_get(arguments, "without"), err);

    *out = (cli_replan){.path = cli_get(arguments, "from"), .old_bytes_per_s = NAN};
    if (!status)
        status = add_damage(&damage, "slow", "degrade", cli_get(arguments, "slow"), err);
    if (!status && damage.failed)
        status = banyan_fail_memory(err);
    if (!status && out->path)
        status = load_old(out->path, &out->old, err);
    if (!status && out->path)
        status = check_old(problem, out, err);
    if (!status && out->path && damage.length)
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

void cli_replan_print(const cli_replan *replan, const banyan_plan *plan)
{
    char before[32], now[32];

    if (isfinite(replan->old_bytes_per_s))
        printf("  at most %s before, %s now\n",
               banyan_show_rate(replan->old_bytes_per_s, before, sizeof before),
               banyan_show_rate(plan->limits.bytes_per_s, now, sizeof now));
}

void cli_replan_json(banyan_text *text, const cli_replan *replan)
{
    banyan_text_add(text, ",\"from\":{\"file\":");
    banyan_text_add_json_string(text, replan->path);
    banyan_text_add(text, ",");
    cli_json_number(text, "bytes_per_s", replan->old_bytes_per_s);
    banyan_text_add(text, "}");
}
