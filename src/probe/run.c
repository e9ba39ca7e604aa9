/* SPDX-License-Identifier: Apache-2.0 */
/* probe/run.c: a survey from its beginning to its end, and the topology that it amounts to. */
#include "core/alloc.h"
#include "core/clock.h"
#include "probe/infer.h"
#include "probe/survey.h"

/* Everybody's bytes, added up. */
static banyan_status report(const banyan_probe_options *o, const banyan_survey *survey, double begin_s,
                            banyan_probe_report *out, banyan_error *err)
{
    const banyan_probe_findings *f = banyan_survey_findings(survey);
    uint64_t mine = banyan_survey_sent_bytes(survey), *all = banyan_alloc((size_t)o->size, sizeof *all);
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)o->timeout_ms * 1000000;
    banyan_status status = all ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status)
        status = o->exchange.allgather(o->exchange.context, &mine, sizeof mine, all, deadline_ns, err);
    if (!status && out) {
        *out = (banyan_probe_report){.seconds = banyan_clock_s() - begin_s,
                                     .measurement_count = banyan_survey_step_count(survey),
                                     .host_count = f->host_count};
        for (int i = 0; i < o->size; i++)
            out->bytes += all[i];
        for (int r = 0; r < f->rack_count; r++)
            out->rack_count += f->rack_out[r] > 0 || f->rack_in[r] > 0;
    }
    banyan_free(all);
    return status;
}

static banyan_status survey_all(const banyan_probe_options *o, banyan_survey *survey, banyan_error *err)
{
    int guess = 8 + banyan_probe_round_guess(banyan_survey_host_count(survey)), is_done = 0;
    banyan_status status = BANYAN_SUCCESS;

    while (!status && !is_done) {
        status = banyan_survey_step(survey, &is_done, err);
        if (o->progress)
            o->progress(o->context,
                        banyan_survey_step_count(survey) < guess ? banyan_survey_step_count(survey) : guess,
                        guess);
    }
    return status;
}

banyan_status banyan_probe_run(const banyan_probe_options *options, banyan_topology **out,
                               banyan_probe_report *report_out, banyan_error *err)
{
    double begin_s = banyan_clock_s();
    banyan_topology *topology = NULL;
    banyan_survey *survey = NULL;
    banyan_status status = banyan_survey_create(options, &survey, err);

    *out = NULL;
    if (!status)
        status = survey_all(options, survey, err);
    if (!status)
        status = banyan_probe_infer(banyan_survey_findings(survey), &topology, err);
    if (!status)
        status = report(options, survey, begin_s, report_out, err);
    if (status) {
        banyan_topology_destroy(topology);
        options->endpoint->transport->withdraw(options->endpoint); /* the gauge's memory may be under way */
    } else {
        *out = topology;
    }
    banyan_survey_destroy(survey);
    return status;
}
