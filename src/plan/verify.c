/* SPDX-License-Identifier: Apache-2.0 */
/* plan/verify.c: verdicts for users of the library, on schedules, on MSCCL programs and on bounds. */
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

#include "bound/json.h"
#include "core/alloc.h"
#include "core/sized.h"
#include "plan/load.h"
#include "schedule/import.h"
#include "verify/msccl.h"

static banyan_status judge_schedule(const char *text, size_t length, const banyan_topology *topology,
                                    banyan_verdict *verdict, banyan_error *err)
{
    banyan_schedule *schedule;
    banyan_status status = banyan_read_schedule(text, length, topology, &schedule, err);

    if (status)
        return status;
    status = banyan_verify(schedule, topology, verdict, err);
    banyan_schedule_destroy(schedule);
    return status;
}

static banyan_status judge_program(const char *text, size_t length, const banyan_topology *topology,
                                   banyan_verdict *verdict, banyan_error *err)
{
    banyan_msccl_program *program;
    banyan_schedule *schedule;
    banyan_status status = banyan_msccl_parse(text, length, &program, err);

    if (status)
        return status;
    status = banyan_verify_msccl(program, BANYAN_MSCCL_SLOTS, verdict, err);
    if (!status && !verdict->problem_count && topology) {
        status = banyan_schedule_import_msccl(program, &schedule, err);
        if (!status)
            status = banyan_verify(schedule, topology, verdict, err);
        if (!status)
            banyan_schedule_destroy(schedule);
    }
    banyan_msccl_destroy(program);
    return status;
}

/* A bound is claims with certificates: the verdict says which claim is not what these prove. */
static banyan_status judge_bound(const char *text, size_t length, const banyan_topology *topology,
                                 banyan_verdict *verdict, banyan_error *err)
{
    banyan_error why;
    banyan_status status;
    int claims_tight;

    if (!topology)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "a bound is verified on its network: give its topology (verify --topo)");
    status = banyan_bound_check(text, length, topology, &claims_tight, &why);
    if (status == BANYAN_PLAN_INVALID) {
        verdict->problem_count = 1;
        snprintf(verdict->problems[0], sizeof verdict->problems[0], "%.300s", why.text);
        return BANYAN_SUCCESS;
    }
    if (!status && claims_tight)
        snprintf(verdict->note, sizeof verdict->note,
                 "the bounds hold; that they are tight is the file's claim, which certificates cannot prove");
    if (status && err)
        *err = why;
    return status;
}

/* Whether a text of at least that length begins with a file's format field that says 'banyan-bound'. */
static int is_bound(const char *text, size_t length)
{
    const char *format = memmem(text, length < 200 ? length : 200, "\"format\"", 8);
    size_t rest = format ? length - (size_t)(format - text) : 0;

    return format && memmem(format, rest < 50 ? rest : 50, "banyan-bound", 12);
}

/* XML begins with '<', JSON never does. */
static int is_xml(const char *text, size_t length)
{
    size_t i = 0;

    while (i < length && strchr(" \t\r\n", text[i]) && text[i])
        i++;
    return i < length && text[i] == '<';
}

static banyan_status judge(const char *text, size_t length, const banyan_topology *topology,
                           banyan_verdict *verdict, banyan_error *err)
{
    if (is_xml(text, length))
        return judge_program(text, length, topology, verdict, err);
    return is_bound(text, length) ? judge_bound(text, length, topology, verdict, err)
                                  : judge_schedule(text, length, topology, verdict, err);
}

banyan_status banyan_verify_text(const char *text, size_t length, const banyan_topology *topology,
                                 banyan_verdict **out, banyan_error *err)
{
    banyan_verdict *verdict;
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!text)
        return banyan_fail_null("text", err);
    verdict = banyan_alloc(1, sizeof *verdict);
    status = verdict ? judge(text, length, topology, verdict, err) : banyan_fail_memory(err);
    if (status) {
        banyan_free(verdict);
        return status;
    }
    *out = verdict;
    return BANYAN_SUCCESS;
}

banyan_status banyan_schedule_verify(const banyan_schedule *schedule, const banyan_topology *topology,
                                     banyan_verdict **out, banyan_error *err)
{
    banyan_verdict *verdict;
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!schedule)
        return banyan_fail_null("schedule", err);
    verdict = banyan_alloc(1, sizeof *verdict);
    status = verdict ? banyan_verify(schedule, topology, verdict, err) : banyan_fail_memory(err);
    if (status) {
        banyan_free(verdict);
        return status;
    }
    *out = verdict;
    return BANYAN_SUCCESS;
}

void banyan_verdict_destroy(banyan_verdict *verdict)
{
    banyan_free(verdict);
}

static size_t shown(const banyan_verdict *verdict)
{
    return (size_t)(verdict->problem_count < BANYAN_VERDICT_SHOWN ? verdict->problem_count
                                                                  : BANYAN_VERDICT_SHOWN);
}

banyan_status banyan_verdict_get_info(const banyan_verdict *verdict, banyan_verdict_info *info,
                                      banyan_error *err)
{
    banyan_verdict_info own = {0};

    if (!verdict)
        return banyan_fail_null("verdict", err);
    own.problem_count = (size_t)verdict->problem_count;
    own.shown_count = shown(verdict);
    own.is_same_bits = !verdict->orders_differ;
    own.note = verdict->note[0] ? verdict->note : NULL;
    return banyan_sized_write(&own, sizeof own, info, "banyan_verdict_info", err);
}

const char *banyan_verdict_problem(const banyan_verdict *verdict, size_t i)
{
    return verdict && i < shown(verdict) ? verdict->problems[i] : NULL;
}
