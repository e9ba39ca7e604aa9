/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/multitree_fig11.c: Fig. 11 of the MultiTree paper: seven networks in training on an 8x8 torus.
 *
 * Computation: the systolic array of Table III, 16 samples an accelerator. Communication: the times of Fig. 9
 * on the 8x8 torus, in a straight line between sizes and beyond the last. */
#include <math.h>
#include <stdio.h>

#include "accelerate/iteration.h"
#include "reproduce/multitree.h"

enum { DNNS = 7, SHOWN = 6, SAMPLES = 16 };

static const char *const dnns[DNNS] = {"alexnet", "fasterrcnn",  "googlenet",  "resnet50",
                                       "ncf",     "transformer", "alphagozero"};
static const int shown[SHOWN] = {RIVAL_RING,          RIVAL_RING_2D,    RIVAL_DOUBLE_TREE,
                                 RIVAL_MULTITREE_MSG, RIVAL_MULTI_RING, RIVAL_FOREST};
static const char *const short_names[SHOWN] = {"ring",          "2d-ring",    "double-tree",
                                               "multitree-msg", "multi-ring", "forest"};

typedef struct {
    banyan_iteration of[DNNS][RIVAL_COUNT][2]; /* [1]: overlapped */
} trainings;

static banyan_status compute(const multitree_torus *torus, trainings *t, banyan_error *err)
{
    banyan_accelerator accelerator = banyan_accelerator_default();
    double bytes[MULTITREE_SIZES];

    for (int s = 0; s < MULTITREE_SIZES; s++)
        bytes[s] = (double)multitree_sizes[s];
    for (int d = 0; d < DNNS; d++) {
        banyan_dnn *dnn;
        banyan_status status = banyan_dnn_load(dnns[d], &dnn, err);

        if (status)
            return status;
        for (int rival = 0; rival < RIVAL_COUNT; rival++)
            for (int overlap = 0; overlap < 2; overlap++) {
                banyan_time_by_size times = {MULTITREE_SIZES, bytes, torus->seconds[rival]};

                if (isfinite(torus->seconds[rival][0]))
                    banyan_iterate(&accelerator, dnn, SAMPLES, overlap, &times, &t->of[d][rival][overlap]);
            }
        banyan_dnn_destroy(dnn);
    }
    return BANYAN_SUCCESS;
}

static double compute_seconds(const banyan_iteration *i)
{
    return i->forward_s + i->backward_s;
}

static double share(const trainings *t, int dnn)
{
    return t->of[dnn][RIVAL_RING][0].exposed_s / t->of[dnn][RIVAL_RING][0].iteration_s;
}

static double speedup(const trainings *t, int dnn, int over, int of, int overlap)
{
    return t->of[dnn][over][overlap].iteration_s / t->of[dnn][of][overlap].iteration_s;
}

static double communication_speedup(const trainings *t, int over, int of)
{
    double sum = 0;

    for (int d = 0; d < DNNS; d++)
        sum += t->of[d][over][0].communication_s / t->of[d][of][0].communication_s;
    return sum / DNNS;
}

static void add_bars(banyan_figure *f, const trainings *t, int overlap)
{
    for (int d = 0; d < DNNS; d++)
        for (int k = 0; k < SHOWN; k++) {
            const banyan_iteration *i = &t->of[d][shown[k]][overlap];
            double unit = t->of[d][RIVAL_RING][overlap].iteration_s;
            char series[64];

            if (!(i->iteration_s > 0))
                continue;
            snprintf(series, sizeof series, "%s/computation", short_names[k]);
            banyan_figure_add(f, BANYAN_OURS, series, d, dnns[d],
                              (compute_seconds(i) - i->overlapped_s) / unit);
            snprintf(series, sizeof series, "%s/overlapped", short_names[k]);
            if (overlap)
                banyan_figure_add(f, BANYAN_OURS, series, d, dnns[d], i->overlapped_s / unit);
            snprintf(series, sizeof series, "%s/exposed communication", short_names[k]);
            banyan_figure_add(f, BANYAN_OURS, series, d, dnns[d], i->exposed_s / unit);
        }
}

static double most_speedup(const trainings *t, int from, int to, int over, int of, int overlap)
{
    double most = 0;

    for (int d = from; d <= to; d++)
        most = fmax(most, speedup(t, d, over, of, overlap));
    return most;
}

enum { FOUR_MEBIBYTES = 4 }; /* of multitree_sizes */
#define CLOCK_HZ 1e9

enum { FIRST_CNN = 0, LAST_CNN = 3, NCF = 4, TRANSFORMER = 5 };

static void compare_apart(banyan_figure *f, const trainings *t, const multitree_torus *torus)
{
    double least = 1, most = 0, fastest;
    char ring2d[160], messages[160], reason[160];

    for (int d = 1; d < DNNS; d++) {
        least = fmin(least, share(t, d));
        most = fmax(most, share(t, d));
    }
    snprintf(ring2d, sizeof ring2d,
             "our 2D-RING takes %.0f cycles for 4 MiB on the 8x8 torus, the authors' program 422232; "
             "MULTITREE takes "
             "%.0f and 268809",
             torus->seconds[RIVAL_RING_2D][FOUR_MEBIBYTES] * CLOCK_HZ,
             torus->seconds[RIVAL_MULTITREE][FOUR_MEBIBYTES] * CLOCK_HZ);
    snprintf(
        messages, sizeof messages,
        "RING takes %.0f cycles for 4 MiB on the 8x8 torus and MULTITREEMSG %.0f, in the authors' program "
        "601232 and 226756",
        torus->seconds[RIVAL_RING][FOUR_MEBIBYTES] * CLOCK_HZ,
        torus->seconds[RIVAL_MULTITREE_MSG][FOUR_MEBIBYTES] * CLOCK_HZ);
    banyan_figure_compare(f, "share of communication under RING but for AlexNet, least", BANYAN_PAPERS, 0.30,
                          least, NULL);
    banyan_figure_compare(f, "share of communication under RING, most", BANYAN_PAPERS, 0.88, most, NULL);
    banyan_figure_compare(f, "share of communication under RING, least, the authors' program", BANYAN_OTHERS,
                          0.28, least, NULL);
    banyan_figure_compare(f, "share of communication under RING, most, the authors' program", BANYAN_OTHERS,
                          0.77, most, NULL);
    banyan_figure_compare(f, "share of communication under RING, AlexNet, the authors' program",
                          BANYAN_OTHERS, 0.02, share(t, 0),
                          "its table has the five convolutions alone, one with a 207x207 input");
    banyan_figure_compare(f, "all-reduce, RING over MULTITREE, mean of seven", BANYAN_PAPERS, 2.2,
                          communication_speedup(t, RIVAL_RING, RIVAL_MULTITREE), NULL);
    banyan_figure_compare(f, "all-reduce, RING over MULTITREEMSG, mean of seven", BANYAN_PAPERS, 2.3,
                          communication_speedup(t, RIVAL_RING, RIVAL_MULTITREE_MSG), messages);
    banyan_figure_compare(f, "all-reduce, 2D-RING over MULTITREE, mean of seven", BANYAN_PAPERS, 1.51,
                          communication_speedup(t, RIVAL_RING_2D, RIVAL_MULTITREE), ring2d);
    banyan_figure_compare(f, "training, 2D-RING over MULTITREE, most of the CNNs", BANYAN_PAPERS, 1.15,
                          most_speedup(t, FIRST_CNN, LAST_CNN, RIVAL_RING_2D, RIVAL_MULTITREE, 0), ring2d);
    banyan_figure_compare(f, "all-reduce, 2D-RING over MULTITREEMSG, mean of seven", BANYAN_PAPERS, 1.56,
                          communication_speedup(t, RIVAL_RING_2D, RIVAL_MULTITREE_MSG), ring2d);
    banyan_figure_compare(f, "training, RING over MULTITREE, most of the CNNs", BANYAN_PAPERS, 1.34,
                          most_speedup(t, FIRST_CNN, LAST_CNN, RIVAL_RING, RIVAL_MULTITREE, 0), NULL);
    banyan_figure_compare(f, "training, RING over MULTITREE, most of NCF and Transformer", BANYAN_PAPERS,
                          1.81, most_speedup(t, NCF, TRANSFORMER, RIVAL_RING, RIVAL_MULTITREE, 0), NULL);
    banyan_figure_compare(f, "training, RING over MULTITREEMSG, most, the authors' program", BANYAN_OTHERS,
                          1.90, most_speedup(t, FIRST_CNN, DNNS - 1, RIVAL_RING, RIVAL_MULTITREE_MSG, 0),
                          NULL);
    banyan_figure_compare(f, "training, 2D-RING over MULTITREE, most of NCF and Transformer", BANYAN_PAPERS,
                          1.30, most_speedup(t, NCF, TRANSFORMER, RIVAL_RING_2D, RIVAL_MULTITREE, 0), ring2d);
    fastest = most_speedup(t, FIRST_CNN, DNNS - 1, RIVAL_RING, RIVAL_MULTITREE_MSG, 0);
    snprintf(reason, sizeof reason,
             "the largest speed-up here, %.2f, saves %.0f %%; that of section VI-C, 1.81, saves %.0f %%",
             fastest, 100 * (1 - 1 / fastest), 100 * (1 - 1 / 1.81));
    banyan_figure_state(f, "'81 % less training time' (abstract)", 1 - 1 / fastest >= 0.81, reason);
}

/* Of the one that gains the most: computing and all-reducing under both. */
static void explain_overlap(const trainings *t, int over, char *reason, size_t size)
{
    int d = speedup(t, NCF, over, RIVAL_MULTITREE, 1) > speedup(t, TRANSFORMER, over, RIVAL_MULTITREE, 1)
                ? NCF
                : TRANSFORMER;
    const banyan_iteration *slow = &t->of[d][over][1], *fast = &t->of[d][RIVAL_MULTITREE][1];

    snprintf(
        reason, size,
        "%s computes for %.2f ms and all-reduces for %.2f and %.2f ms, of which %.2f and %.2f are exposed",
        dnns[d], compute_seconds(slow) * 1e3, slow->communication_s * 1e3, fast->communication_s * 1e3,
        slow->exposed_s * 1e3, fast->exposed_s * 1e3);
}

static void compare_overlapped(banyan_figure *f, const trainings *t)
{
    char reason[160];
    int slowest = 0;

    banyan_figure_compare(f, "training, RING over MULTITREE, most of the CNNs", BANYAN_PAPERS, 1.10,
                          most_speedup(t, FIRST_CNN, LAST_CNN, RIVAL_RING, RIVAL_MULTITREE, 1), NULL);
    explain_overlap(t, RIVAL_RING, reason, sizeof reason);
    banyan_figure_compare(f, "training, RING over MULTITREE, most of NCF and Transformer", BANYAN_PAPERS, 2.0,
                          most_speedup(t, NCF, TRANSFORMER, RIVAL_RING, RIVAL_MULTITREE, 1), reason);
    explain_overlap(t, RIVAL_RING_2D, reason, sizeof reason);
    banyan_figure_compare(f, "training, 2D-RING over MULTITREE, most of NCF and Transformer", BANYAN_PAPERS,
                          1.37, most_speedup(t, NCF, TRANSFORMER, RIVAL_RING_2D, RIVAL_MULTITREE, 1), reason);
    for (int d = 0; d < DNNS; d++)
        slowest += speedup(t, d, RIVAL_RING, RIVAL_DOUBLE_TREE, 1) <= 1.0001 &&
                   speedup(t, d, RIVAL_RING_2D, RIVAL_DOUBLE_TREE, 1) <= 1.0001;
    snprintf(reason, sizeof reason, "in slices it is the slowest of the paper's for %d of %d", slowest, DNNS);
    banyan_figure_state(f, "DBTREE is the slowest for every network", slowest == DNNS, reason);
}

static banyan_figure *open_figure(banyan_reproduction *reproduction, int overlap)
{
    return banyan_figure_open(
        reproduction,
        &(banyan_figure_head){
            .name = overlap ? "fig11b" : "fig11a",
            .title =
                overlap ? "Fig. 11b: training, layer-wise overlapped" : "Fig. 11a: training, not overlapped",
            .setting =
                "8x8 torus, 16 samples an accelerator, 16 arrays of 32x32 at 1 GHz; all-reduce times of Fig. "
                "9 (flit engine), in a straight line between sizes. Each network's iteration under ring is "
                "1. Bars from the left: ring, 2d-ring, double-tree, multitree-msg, multi-ring, forest.",
            .kind = BANYAN_FIGURE_STACKS,
            .x = "network",
            .y = "iteration, ring = 1",
            .tolerance = 0.005});
}

banyan_status multitree_fig11(banyan_reproduction *reproduction, const multitree_torus *torus,
                              banyan_error *err)
{
    trainings t = {0};
    banyan_status status = compute(torus, &t, err);
    banyan_figure *f;

    if (status)
        return status;
    f = open_figure(reproduction, 0);
    add_bars(f, &t, 0);
    compare_apart(f, &t, torus);
    f = open_figure(reproduction, 1);
    add_bars(f, &t, 1);
    compare_overlapped(f, &t);
    return BANYAN_SUCCESS;
}
