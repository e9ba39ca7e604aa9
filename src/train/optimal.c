/* SPDX-License-Identifier: Apache-2.0 */
/* train/optimal.c: the best grouping, for any number of simultaneous all-reduces.
 *
 * One at a time: a dynamic programme, exact. Several: quick seeds, then dynamic programming over what is in
 * flight (exact for few tensors; for many, only over the places where a good grouping cuts), then local
 * search, each only until the lower bound is reached. Where simultaneous all-reduces really move more than
 * one does, large tensors are also tried in parts.
 *
 * Where the user names no number, the smallest that is within half a per cent of the best is taken: streams
 * that only hide start-ups cost buffers and threads, and have to be worth it. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "train/search.h"

enum { MAX_OWN_STREAMS = 4, EXACT_GROUPINGS = 100000, PLACES = 56, WIDTH = 12 };

#define STEPS 120000L           /* of local search, for the number of streams that is taken: some 15 ms */
#define STEPS_TO_COMPARE 20000L /* for each number, while one is looked for */
#define WORTH_IT 0.005          /* of the iteration */
#define GAIN_FOR_PARTS 1.05     /* two together move this much more than one */
#define PART_BYTES (4UL << 20)  /* tensors above are tried in parts */

/* The cuts of the best grouping, and between them further places, an even number of bytes apart. */
static int choose_places(const banyan_search *search, int *ends)
{
    const banyan_grouping_units *units = search->units;
    double step = units->bytes_before[units->count] / (PLACES / 2.0), next = step;
    int g = 0, count = 0;

    for (int i = 1; i <= units->count; i++) {
        int is_cut = i == search->best.cuts[g].end;

        if (is_cut)
            g++;
        if (i < units->count && !(is_cut && search->best.count <= PLACES / 2) &&
            units->bytes_before[i] < next)
            continue;
        ends[count++] = i;
        next = units->bytes_before[i] + step;
    }
    return count;
}

static int is_small(const banyan_search *search)
{
    return pow(search->streams + 1, search->units->count) <= EXACT_GROUPINGS;
}

static banyan_status search_labels(banyan_search *search, banyan_error *err)
{
    int ends[PLACES + 2], count = search->units->count;

    if (count > PLACES)
        count = choose_places(search, ends);
    else
        for (int i = 0; i < count; i++)
            ends[i] = i + 1;
    return banyan_search_labels(search, ends, count, is_small(search) ? 0 : WIDTH, err);
}

static banyan_status search_all(banyan_search *search, long steps, banyan_error *err)
{
    banyan_status status;

    if (search->streams == 1) {
        status = banyan_grouping_cuts_one_by_one(search->units, search->cost, 1, 1, 0, &search->best, err);
        if (!status)
            search->best_s = banyan_grouping_cuts_end(&search->best, search->units, search->cost);
        return status;
    }
    status = banyan_search_seed(search, err);
    if (!status && !banyan_search_is_done(search))
        status = search_labels(search, err);
    if (!status && !banyan_search_is_done(search) && !is_small(search))
        status = banyan_search_climb(search, steps, err);
    return status;
}

/* A decision of its own units and cuts, and how long its iteration takes. */
typedef struct {
    banyan_decision decision;
    double iteration_s;
} candidate;

static void candidate_fini(candidate *c)
{
    banyan_grouping_units_fini(&c->decision.units);
    banyan_grouping_cuts_fini(&c->decision.cuts);
}

/* The best with tensors split at most_bytes (0: not at all), not worse than known where that has the same
 * units; known may be NULL. The caller frees the candidate, also after a failure. */
static banyan_status find_candidate(const banyan_train_problem *problem, int streams, size_t most_bytes,
                                    long steps, const candidate *known, candidate *out, banyan_error *err)
{
    banyan_search search = {
        .units = &out->decision.units, .cost = problem->cost, .streams = streams, .best_s = INFINITY};
    banyan_status status = banyan_grouping_units_init(&out->decision.units, problem->model, most_bytes, err);

    if (!status)
        status = banyan_grouping_cuts_init(&out->decision.cuts, &out->decision.units, err);
    if (status)
        return status;
    search.best = out->decision.cuts;
    search.goal_s = banyan_grouping_units_bound(&out->decision.units, problem->cost, streams);
    if (known && known->decision.units.count == out->decision.units.count)
        banyan_search_offer(&search, &known->decision.cuts);
    status = search_all(&search, steps, err);
    out->decision.cuts.count = search.best.count;
    out->decision.streams = streams;
    out->iteration_s = problem->model->forward_s + fmax(problem->model->backward_s, search.best_s);
    return status;
}

static int has_large_tensors(const banyan_model *model)
{
    for (int i = 0; i < model->tensor_count; i++)
        if (model->tensors[i].bytes > PART_BYTES)
            return 1;
    return 0;
}

static banyan_status find_best(const banyan_train_problem *problem, int streams, long steps,
                               const candidate *known, candidate *out, banyan_error *err)
{
    candidate parts;
    banyan_status status = find_candidate(problem, streams, 0, steps, known, out, err);

    if (status || banyan_cost_gain(problem->cost, streams) <= GAIN_FOR_PARTS ||
        !has_large_tensors(problem->model))
        return status;
    memset(&parts, 0, sizeof parts);
    status = find_candidate(problem, streams, PART_BYTES, steps, known, &parts, err);
    if (!status && parts.iteration_s < out->iteration_s * (1 - WORTH_IT)) {
        candidate whole = *out;

        *out = parts;
        parts = whole;
    }
    candidate_fini(&parts);
    return status;
}

/* Whether more streams could be worth it, by what is possible at the best. */
static int can_gain(const banyan_train_problem *problem, const candidate *found, int streams)
{
    const banyan_model *model = problem->model;
    double bytes = 0, bound_s = 0;
    banyan_floor floor;

    for (int i = 0; i < model->tensor_count; i++)
        bytes += (double)model->tensors[i].bytes;
    banyan_floor_find(problem->cost, streams, bytes, &floor);
    bytes = 0;
    for (int i = model->tensor_count - 1; i >= 0; i--) {
        bytes += (double)model->tensors[i].bytes;
        bound_s = fmax(bound_s, model->tensors[i].ready_s + banyan_floor_seconds(&floor, bytes));
    }
    return found->iteration_s * (1 - WORTH_IT) > model->forward_s + fmax(model->backward_s, bound_s);
}

/* More local search on what was found. */
static banyan_status refine(const banyan_train_problem *problem, candidate *found, banyan_error *err)
{
    banyan_decision *decision = &found->decision;
    banyan_search search = {
        .units = &decision->units,
        .cost = problem->cost,
        .streams = decision->streams,
        .goal_s = banyan_grouping_units_bound(&decision->units, problem->cost, decision->streams),
        .best = decision->cuts,
        .best_s = banyan_grouping_cuts_end(&decision->cuts, &decision->units, problem->cost)};
    banyan_status status = BANYAN_SUCCESS;

    if (decision->streams > 1 && !is_small(&search))
        status = banyan_search_climb(&search, STEPS, err);
    decision->cuts.count = search.best.count;
    return status;
}

/* The smallest number of streams that comes near enough to the best of all numbers. */
static banyan_status find_number(const banyan_train_problem *problem, candidate *out, banyan_error *err)
{
    candidate found[MAX_OWN_STREAMS];
    int most = problem->most_streams && problem->most_streams < MAX_OWN_STREAMS ? problem->most_streams
                                                                                : MAX_OWN_STREAMS;
    int count = 0, best = 0, chosen = 0;
    banyan_status status = BANYAN_SUCCESS;

    memset(found, 0, sizeof found);
    for (int streams = 1; !status && streams <= most; streams++) {
        if (count && !can_gain(problem, &found[best], streams))
            continue;
        status =
            find_best(problem, streams, STEPS_TO_COMPARE, count ? &found[best] : NULL, &found[count], err);
        if (!status && found[count].iteration_s < found[best].iteration_s)
            best = count;
        count++;
    }
    while (!status && found[chosen].iteration_s * (1 - WORTH_IT) > found[best].iteration_s)
        chosen++;
    if (!status)
        status = refine(problem, &found[chosen], err);
    if (!status) {
        *out = found[chosen];
        memset(&found[chosen], 0, sizeof found[chosen]);
    }
    for (int i = 0; i < count; i++)
        candidate_fini(&found[i]);
    return status;
}

static banyan_status decide(const banyan_train_problem *problem, banyan_decision *decision, banyan_error *err)
{
    candidate best;
    banyan_status status;

    memset(&best, 0, sizeof best);
    status = decision->streams ? find_best(problem, decision->streams, STEPS, NULL, &best, err)
                               : find_number(problem, &best, err);
    if (status) {
        candidate_fini(&best);
        return status;
    }
    banyan_grouping_units_fini(&decision->units);
    banyan_grouping_cuts_fini(&decision->cuts);
    *decision = best.decision;
    return BANYAN_SUCCESS;
}

const banyan_policy banyan_policy_optimal = {
    .name = "optimal",
    .summary = "the best found, with as few streams as come within 0.5 % of it; exact for one stream",
    .streams = 0,
    .decide = decide};
