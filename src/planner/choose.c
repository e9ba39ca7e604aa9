/* SPDX-License-Identifier: Apache-2.0 */
/* planner/choose.c: which of the plans 'auto' takes. Nothing else decides it: a job, `plan`, `compare` and
 * `tune` all ask here. */
#include <math.h>

#include "planner/planner.h"

#define PATIENT_BYTES ((size_t)64 << 10)
#define PATIENT_WORKERS 64
#define SHORT_BYTES ((size_t)4 << 10) /* a link is done with them before the next message has come */

/* For short vectors variants, too: what has the fewest messages is often but a setting away from what has the
 * best rate. */
banyan_effort banyan_plan_default_effort(const banyan_problem *problem)
{
    return problem->bytes <= PATIENT_BYTES && problem->active_count <= PATIENT_WORKERS
               ? BANYAN_EFFORT_PATIENT
               : BANYAN_EFFORT_MEASURE;
}

banyan_status banyan_plan_read_effort(const char *text, const banyan_problem *problem, banyan_effort *out,
                                      banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    *out = banyan_plan_default_effort(problem);
    if (text)
        status = banyan_effort_parse(text, out, err);
    if (!status && *out == BANYAN_EFFORT_TIMED)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                             "only 'banyan tune' times plans: the effort is estimate, measure or patient");
    return status;
}

/* Connections that are not paced meet on full links. */
static int is_crowded(const banyan_plan *plan)
{
    return plan->limits.crowd > plan->limits.full_links && !plan->is_paced;
}

/* Of two with similar predictions. Short calls are made of turns on cores, which other ranks or the job
 * itself want, too: fewer messages are fewer turns. Where connections meet on full links, what waits for one
 * of them holds up the others, which no model here sees. Else whoever leaves the links sooner, or waits less
 * often. */
static int is_better(const banyan_plan *a, const banyan_plan *b, size_t bytes)
{
    const banyan_schedule *of_a = a->schedule, *of_b = b->schedule;

    if (bytes <= SHORT_BYTES && of_a->transfer_count != of_b->transfer_count)
        return of_a->transfer_count < of_b->transfer_count;
    if (is_crowded(a) != is_crowded(b))
        return is_crowded(b);
    if (a->limits.full_links != b->limits.full_links)
        return a->limits.full_links < b->limits.full_links;
    if (a->limits.crowd != b->limits.crowd)
        return a->limits.crowd < b->limits.crowd;
    if (a->limits.bytes_per_s != b->limits.bytes_per_s)
        return a->limits.bytes_per_s > b->limits.bytes_per_s;
    return of_a->round_count < of_b->round_count;
}

/* Of plans that burden the links as the best one does, and are as fast within half a percent, the simplest:
 * the one with the fewest transfers. */
static int is_simpler(const banyan_plan *a, const banyan_plan *b, const banyan_plan *best)
{
    return a->schedule->transfer_count < b->schedule->transfer_count &&
           a->predicted_s <= (1 + BANYAN_PLAN_TIE) * best->predicted_s && is_crowded(a) <= is_crowded(best) &&
           a->limits.full_links <= best->limits.full_links && a->limits.crowd <= best->limits.crowd;
}

/* is_better and is_simpler look at no plan beyond. */
double banyan_plan_highest_s(double best_s)
{
    return BANYAN_PLAN_SIMILAR * (1 + BANYAN_PLAN_TIE) * best_s;
}

static int is_usable(const banyan_plan *plan, banyan_plan_usable *usable, const void *context)
{
    return plan->schedule && (!usable || usable(context, plan->schedule));
}

int banyan_plan_best(const banyan_problem *problem, const banyan_plan *plans, int count,
                     banyan_plan_usable *usable, const void *context)
{
    double least_s = HUGE_VAL;
    int best = count, simplest;

    for (int i = 0; i < count; i++)
        if (is_usable(&plans[i], usable, context) && (best == count || plans[i].predicted_s < least_s)) {
            best = i;
            least_s = plans[i].predicted_s;
        }
    for (int i = 0; i < count && best < count; i++)
        if (is_usable(&plans[i], usable, context) && is_better(&plans[i], &plans[best], problem->bytes) &&
            plans[i].predicted_s < BANYAN_PLAN_SIMILAR * least_s)
            best = i;
    simplest = best;
    for (int i = 0; i < count && best < count; i++)
        if (is_usable(&plans[i], usable, context) && is_simpler(&plans[i], &plans[simplest], &plans[best]))
            simplest = i;
    return simplest;
}
