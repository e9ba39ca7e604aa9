/* SPDX-License-Identifier: Apache-2.0 */
/* cli/replan.c: an old plan and what has happened to its network since. */
#include "replan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* The network as it is now, in place of the question's. */
static banyan_status damage_network(const char *damage, cli_question *question, banyan_error *err)
{
    banyan_topology *now;
    banyan_status status = banyan_topology_damage(question->topology, damage, &now, err);

    if (!status)
        return cli_question_replace(question, now, err);
    speak_of_options(err);
    return status;
}

/* The old plan must run on the network as it was; what it reached there for large vectors. */
static banyan_status judge_old(const cli_question *question, cli_replan *replan, banyan_error *err)
{
    banyan_predict_config config = BANYAN_PREDICT_CONFIG_INITIALIZER;
    banyan_prediction_info info = {.size = sizeof info};
    banyan_prediction *prediction;
    banyan_error why;
    banyan_status status;

    config.model = "walk"; /* the rate is the same by all models, and this one is the fastest */
    status = banyan_schedule_predict(replan->old, question->topology, 1, &config, &prediction, &why);
    if (status)
        return banyan_fail(err, status == BANYAN_PLAN_INVALID ? BANYAN_INVALID_ARGUMENT : status,
                           "%.200s does not run on %.60s: %.200s", replan->path, question->network.name,
                           why.text);
    status = banyan_prediction_get_info(prediction, &info, err);
    replan->old_bytes_per_s = info.bytes_per_s;
    banyan_prediction_destroy(prediction);
    return status;
}

banyan_status cli_replan_load(const cli_arguments *arguments, cli_question *question, cli_replan *out,
                              banyan_error *err)
{
    banyan_text damage = BANYAN_TEXT_EMPTY;
    banyan_status status;

    *out = (cli_replan){.path = cli_get(arguments, "from"), .old_bytes_per_s = NAN, .fresh_s = NAN};
    status = add_damage(&damage, "without", "down", cli_get(arguments, "without"), err);
    if (!status)
        status = add_damage(&damage, "slow", "degrade", cli_get(arguments, "slow"), err);
    if (!status && damage.failed)
        status = banyan_fail_memory(err);
    if (!status)
        status = banyan_schedule_load(out->path, &out->old, err);
    if (!status && damage.length)
        status = judge_old(question, out, err);
    if (!status && damage.length)
        status = damage_network(damage.bytes, question, err);
    banyan_text_fini(&damage);
    return status;
}

void cli_replan_fini(cli_replan *replan)
{
    banyan_schedule_destroy(replan->old);
    replan->old = NULL;
}

banyan_status cli_replan_compare(const cli_question *question, cli_replan *replan, banyan_error *err)
{
    banyan_plan_config config = question->config;
    banyan_plan_info info = {.size = sizeof info};
    banyan_plan *fresh;
    banyan_status status;

    config.algorithm = "forest";
    config.start = NULL;
    status = banyan_plan_create(question->topology, &config, &fresh, err);
    if (status)
        return status;
    status = banyan_plan_get_info(fresh, &info, err);
    replan->fresh_s = info.planning_s;
    banyan_plan_destroy(fresh);
    return status;
}

void cli_replan_print(const cli_replan *replan, const banyan_plan_info *figures)
{
    char before[32], now[32], fresh[32], mended[32];

    if (figures->is_mended)
        printf("  mended: %d of the %d trees of %s run as before\n", figures->kept_count,
               figures->old_tree_count, replan->path);
    else
        printf("  planned from the beginning: %s\n", figures->old_tree_count
                                                         ? "the old trees would lose too much"
                                                         : "the old plan has no trees to mend");
    if (isfinite(replan->old_bytes_per_s))
        printf("  at most %s before, %s now\n",
               banyan_show_rate(replan->old_bytes_per_s, before, sizeof before),
               banyan_show_rate(figures->bytes_per_s, now, sizeof now));
    printf("  %s of CPU time, against %s from the beginning\n",
           banyan_show_seconds(figures->planning_s, mended, sizeof mended),
           banyan_show_seconds(replan->fresh_s, fresh, sizeof fresh));
}

void cli_replan_json(banyan_text *text, const cli_replan *replan, const banyan_plan_info *figures)
{
    banyan_text_add(text, ",\"from\":{\"file\":");
    banyan_text_add_json_string(text, replan->path);
    banyan_text_add(text, ",\"mended\":%s,\"trees\":%d,\"kept_trees\":%d,",
                    figures->is_mended ? "true" : "false", figures->old_tree_count, figures->kept_count);
    cli_json_number(text, "bytes_per_s", replan->old_bytes_per_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "fresh_planning_s", replan->fresh_s);
    banyan_text_add(text, "}");
}
