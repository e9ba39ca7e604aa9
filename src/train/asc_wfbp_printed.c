/* SPDX-License-Identifier: Apache-2.0 */
/* train/asc_wfbp_printed.c: Algorithm 1 of the ASC-WFBP paper, letter by letter, for comparison.
 *
 * A layer is normal (sent after the layer before it), merged (travels with the next one) or simultaneous
 * (sent at once, beside the layer before it), by three conditions on estimated times. The paper numbers
 * layers from the input, so that layer L is ready first, and so do we here. What is odd in the printed form
 * is kept: the start of layer 1 is never set, condition 1 adds the time of one layer to the start of another,
 * condition 3 counts a backward time twice, the penalty can be negative, only the newcomer pays it, and
 * sizes are changed while times are estimated. docs/training.md lists all of it. O(L^2). */
#include "core/alloc.h"
#include "train/decision.h"

typedef enum { NORMAL, MERGED, SIMULTANEOUS } layer_type;

typedef struct {
    const banyan_cost *cost;
    int count;              /* L; all arrays go from 0 to L + 1 */
    double *bytes;          /* m */
    double *compute_s;      /* t_b */
    double *compute_from_s; /* tau_b */
    double *comm_s;         /* t_c */
    double *comm_from_s;    /* tau_c */
    layer_type *types;      /* s */
} layers;

/* How much longer layer l takes beside layer l + 1. */
static double penalty(const layers *in, int l)
{
    double before = in->bytes[l + 1], b = in->cost->s_per_byte;
    double overlap = 1 - (in->comm_from_s[l] - in->comm_from_s[l + 1]) / (in->cost->start_s + b * before);

    return before > 0 ? (in->cost->gamma - 1) * b * before * overlap : 0;
}

/* CALCCOMMTIME */
static void estimate(layers *in)
{
    double a = in->cost->start_s, b = in->cost->s_per_byte;

    for (int l = 0; l <= in->count + 1; l++)
        in->comm_s[l] = in->comm_from_s[l] = 0;
    for (int l = in->count; l >= 1; l--) {
        double ready_s = in->compute_from_s[l] + in->compute_s[l];
        double next_ready_s = in->compute_from_s[l - 1] + in->compute_s[l - 1];

        if (in->types[l] == MERGED) {
            in->bytes[l - 1] += in->bytes[l];
            in->bytes[l] = 0;
            in->comm_from_s[l - 1] = in->comm_from_s[l] > next_ready_s ? in->comm_from_s[l] : next_ready_s;
            in->comm_s[l - 1] = a + b * in->bytes[l - 1];
            continue;
        }
        in->comm_from_s[l] = ready_s;
        in->comm_s[l] = a + b * in->bytes[l] + (in->types[l] == SIMULTANEOUS ? penalty(in, l) : 0);
    }
}

static void choose(layers *in)
{
    estimate(in);
    for (int l = in->count; l >= 2; l--) {
        double next_ready_s = in->compute_from_s[l - 1] + in->compute_s[l - 1];
        double end_s = in->comm_from_s[l] + in->comm_s[l];
        int is_ready_soon = next_ready_s < in->comm_from_s[l] + in->cost->start_s;
        int is_hidden = end_s + in->compute_s[l] + penalty(in, l) < next_ready_s;

        if (end_s <= in->compute_from_s[l] + in->compute_s[l - 1])
            continue; /* normal, as all are at first */
        in->types[l] = is_ready_soon && !is_hidden ? MERGED : SIMULTANEOUS;
        estimate(in);
    }
    in->types[1] = SIMULTANEOUS;
}

static void fill(layers *in, const banyan_grouping_units *units)
{
    for (int i = 0; i < units->count; i++) {
        int l = in->count - i;

        in->bytes[l] = units->bytes_before[i + 1] - units->bytes_before[i];
        in->compute_s[l] = units->ready_s[i] - (i ? units->ready_s[i - 1] : 0);
        if (l < in->count && l >= 2)
            in->compute_from_s[l] = in->compute_from_s[l + 1] + in->compute_s[l + 1];
    }
}

static banyan_status decide(const banyan_train_problem *problem, banyan_decision *decision, banyan_error *err)
{
    size_t room = (size_t)decision->units.count + 2;
    layers in = {.cost = problem->cost, .count = decision->units.count};
    double *numbers = banyan_alloc(5 * room, sizeof *numbers);

    in.types = banyan_alloc(room, sizeof *in.types);
    if (!numbers || !in.types) {
        banyan_free(numbers);
        banyan_free(in.types);
        return banyan_fail_memory(err);
    }
    in.bytes = numbers;
    in.compute_s = numbers + room;
    in.compute_from_s = numbers + 2 * room;
    in.comm_s = numbers + 3 * room;
    in.comm_from_s = numbers + 4 * room;
    fill(&in, &decision->units);
    choose(&in);
    for (int l = in.count; l >= 1; l--)
        if (in.types[l] != MERGED)
            banyan_grouping_cuts_add(&decision->cuts, in.count - l + 1,
                                     in.types[l] == NORMAL ? 0 : decision->streams - 1);
    banyan_free(numbers);
    banyan_free(in.types);
    return BANYAN_SUCCESS;
}

const banyan_policy banyan_policy_asc_wfbp_printed = {
    .name = "asc-wfbp-printed",
    .summary = "Algorithm 1 of the ASC-WFBP paper as printed, for comparison",
    .paper = "Shi, Chu, Li, Exploiting Simultaneous Communications to Accelerate Data Parallel Distributed "
             "Deep Learning, 2021",
    .streams = 2,
    .decide = decide};
