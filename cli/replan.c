/* SPDX-License-Identifier: Apache-2.0 */
/* cli/replan.c: what has happened to a network since it was described, and what an old plan reached
 * before. */
#include "replan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What has happened, as damage: 'down=g0-g1,degrade=g2-g3:0.5'. */
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

    *out = (cli_replan){.path = cli_get(arguments, "from"), .old_bytes_per_s = NAN};
    status = add_damage(&damage, "without", "down", cli_get(arguments, "without"), err);
    if (!status)
        status = add_damage(&damage, "slow", "degrade", cli_get(arguments, "slow"), err);
    if (!status && damage.failed)
        status = banyan_fail_memory(err);
    if (!status && out->path)
        status = banyan_schedule_load(out->path, &out->old, err);
    if (!status && out->path && damage.length)
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

void cli_replan_print(const cli_replan *replan, const banyan_plan_info *figures)
{
    char before[32], now[32];

    if (isfinite(replan->old_bytes_per_s))
        printf("  at most %s before, %s now\n",
               banyan_show_rate(replan->old_bytes_per_s, before, sizeof before),
               banyan_show_rate(figures->bytes_per_s, now, sizeof now));
}

void cli_replan_json(banyan_text *text, const cli_replan *replan)
{
    banyan_text_add(text, ",\"from\":{\"file\":");
    banyan_text_add_json_string(text, replan->path);
    banyan_text_add(text, ",");
    cli_json_number(text, "bytes_per_s", replan->old_bytes_per_s);
    banyan_text_add(text, "}");
}
