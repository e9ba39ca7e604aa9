/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/flexreduce.c: the evaluation of FlexReduce: the example of Fig. 2 and Fig. 4 (a) to (f).
 *
 * The paper measured 4 to 12 GPUs in two and three machines 'connected via local Ethernet', whose speed it
 * does not give. Here the fluid simulator plays the same machines with 1 Gb/s and 50 us between them and 10
 * GB/s inside, and the paper's own Eq. 6 stands beside it. */
#include <math.h>
#include <stdio.h>

#include "algorithms/flexreduce_plan.h"
#include "algorithms/hierarchy_cost.h"
#include "core/alloc.h"
#include "planner/predict.h"
#include "reproduce/flexreduce_live.h"
#include "reproduce/predict.h"
#include "reproduce/reproduce.h"
#include "simulate/slices.h"

#define LINKS ",gbps=1,latency=50us,local_gbps=80,local_latency=5us"
#define BETWEEN_BYTES_PER_S 125e6
#define INSIDE_BYTES_PER_S 10e9

enum { CASES = FLEXREDUCE_LIVE_CASES, RIVALS = 4, SIZES = 6, FEWEST = 4, SHAPES = 2 };

static const struct {
    const char *spec, *tree;
    int is_uneven;
} cases[CASES] = {{"hosts:2+2" LINKS, "((0,1),(2,3))", 0},
                  {"hosts:2+3" LINKS, "((0,1),(2,3,4))", 1},
                  {"hosts:3+3" LINKS, "((0,1,2),(3,4,5))", 0},
                  {"hosts:3+4" LINKS, "((0,1,2),(3,4,5,6))", 1},
                  {"hosts:4+4" LINKS, "((0,1,2,3),(4,5,6,7))", 0},
                  {"hosts:3+3+3" LINKS, "((0,1,2),(3,4,5),(6,7,8))", 0},
                  {"hosts:3+3+4" LINKS, "((0,1,2),(3,4,5),(6,7,8,9))", 1},
                  {"hosts:3+4+4" LINKS, "((0,1,2),(3,4,5,6),(7,8,9,10))", 1},
                  {"hosts:4+4+4" LINKS, "((0,1,2,3),(4,5,6,7),(8,9,10,11))", 0}};

static const struct {
    const char *algorithm, *option, *title;
} rivals[RIVALS] = {{"ring", NULL, "ring (what NCCL does)"},
                    {"blueconnect", NULL, "blueconnect"},
                    {"flexreduce", "shares=degree", "flexreduce"},
                    {"forest", NULL, "forest"}};

enum { RING, BLUECONNECT, FLEXREDUCE, FOREST };

static const size_t items[SIZES] = {60000, 120000, 1200000, 12000000, 60000000, 120000000};

typedef struct {
    double seconds[CASES][RIVALS][SIZES];
    double bound[CASES]; /* bytes a second */
    double formula_ring_s[CASES], formula_s[CASES],
        formula_blueconnect_s[CASES];       /* for one byte, no latency */
    double calls[CASES], most_calls[CASES]; /* counted, and Eq. 12 */
    double live_saved[CASES][SHAPES];       /* simulated with the measured size, %: in slices, and whole */
    flexreduce_live live;
    flexreduce_ddp ddp;
} work;

static const char *learners(int i, char buffer[32])
{
    snprintf(buffer, 32, "%d", FEWEST + i);
    return buffer;
}

/* Eq. 2 for the whole all-reduce, 3, 6 and 12, bandwidth only. */
static void find_formulas(work *w, int i, const banyan_flexreduce_call_plan *plan)
{
    const banyan_hierarchy *tree = &plan->tree;
    double speed[64];
    banyan_hierarchy_links links = {tree, speed, 0};

    for (int node = 0; node < tree->node_count && node < 64; node++)
        speed[node] = tree->depth[node] == 0   ? BETWEEN_BYTES_PER_S
                      : tree->depth[node] == 1 ? INSIDE_BYTES_PER_S
                                               : 4 * INSIDE_BYTES_PER_S;
    w->formula_ring_s[i] = banyan_hierarchy_ring_s(&links, 1);
    w->formula_s[i] = banyan_hierarchy_flexreduce_s(&links, 1);
    w->formula_blueconnect_s[i] = banyan_hierarchy_blueconnect_s(&links, 1);
    for (int rank = 0; rank < FEWEST + i; rank++)
        w->most_calls[i] = fmax(w->most_calls[i], banyan_hierarchy_most_calls(tree, rank));
}

static banyan_status find_calls(work *w, int i, const paper_network *network, banyan_error *err)
{
    banyan_parameter parameter = {"tree", cases[i].tree};
    banyan_problem problem = network->problem;
    banyan_flexreduce_call_plan plan;
    banyan_status status;

    problem.parameters = &parameter;
    problem.parameter_count = 1;
    status = banyan_flexreduce_call_plan_init(&plan, &problem, 0, err);
    if (!status) {
        w->calls[i] = (double)plan.call_count / (problem.active_count * plan.level_count);
        find_formulas(w, i, &plan);
    }
    banyan_flexreduce_call_plan_fini(&plan);
    return status;
}

/* What is saved over a ring by Eq. 2 where transfers move in slices, and where each moves whole. */
static banyan_status play_as_measured(work *w, int i, const paper_network *network, banyan_error *err)
{
    const size_t bytes = (size_t)w->live.bytes, slices[SHAPES] = {BANYAN_SLICE_BYTES, bytes};
    banyan_problem problem = network->problem;
    banyan_plan plan;
    banyan_status status;

    problem.bytes = bytes;
    status = banyan_plan_choose("flexreduce", &problem, &plan, err);
    if (status)
        return status;
    for (int shape = 0; !status && shape < SHAPES; shape++) {
        banyan_timeline *timeline;
        const char *model;

        status =
            banyan_predict(plan.schedule, network->topology, bytes, slices[shape], &timeline, &model, err);
        if (status)
            break;
        w->live_saved[i][shape] = 100 * (1 - timeline->total_s / (w->live.bytes * w->formula_ring_s[i]));
        banyan_timeline_destroy(timeline);
    }
    banyan_plan_fini(&plan);
    return status;
}

static banyan_status play(void *context, int i, banyan_error *err)
{
    work *w = context;
    paper_network network;
    banyan_status status = paper_network_init(&network, cases[i].spec, NULL, err);

    for (int rival = 0; !status && rival < RIVALS; rival++)
        for (int size = 0; !status && size < SIZES; size++)
            status = paper_network_predict(&network, rivals[rival].algorithm, rivals[rival].option,
                                           4 * items[size], &w->seconds[i][rival][size], err);
    if (!status)
        status = paper_network_bound(&network, &w->bound[i], err);
    if (!status)
        status = find_calls(w, i, &network, err);
    if (!status && w->live.is_there)
        status = play_as_measured(w, i, &network, err);
    paper_network_fini(&network);
    return status;
}

/* Who owns which of twelve items after the last level. */
static banyan_status figure2(banyan_reproduction *r, banyan_error *err)
{
    static const int ends[5][2] = {{2, 5}, {7, 10}, {0, 2}, {5, 7}, {10, 12}};
    static const char *const names[5] = {"D", "E", "F", "G", "H"};
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){
               .name = "fig2",
               .title = "Fig. 2: five learners and twelve items: who ends with which",
               .setting = "the plan itself, in exact fractions; learners D, E on one machine, F, G, H "
                          "on the other",
               .kind = BANYAN_FIGURE_TABLE,
               .x = "learner",
               .y = "items",
               .tolerance = 0});
    banyan_parameter parameter = {"tree", cases[1].tree};
    paper_network network;
    banyan_flexreduce_call_plan plan = {0};
    int same = 1;
    banyan_status status = paper_network_init(&network, cases[1].spec, NULL, err);

    network.problem.parameters = &parameter;
    network.problem.parameter_count = 1;
    if (!status)
        status = banyan_flexreduce_call_plan_init(&plan, &network.problem, 0, err);
    for (int rank = 0; !status && rank < 5; rank++) {
        double begin = 12.0 * (double)plan.now[rank].begin / (double)plan.whole,
               end = 12.0 * (double)plan.now[rank].end / (double)plan.whole;

        banyan_figure_add(f, BANYAN_OURS, "first item", rank, names[rank], begin);
        banyan_figure_add(f, BANYAN_OURS, "end", rank, names[rank], end);
        banyan_figure_add(f, BANYAN_PAPERS, "first item, printed", rank, names[rank], ends[rank][0]);
        banyan_figure_add(f, BANYAN_PAPERS, "end, printed", rank, names[rank], ends[rank][1]);
        same &= begin == ends[rank][0] && end == ends[rank][1];
    }
    if (!status)
        banyan_figure_state(f, "the ranges are those of the figure", same, NULL);
    banyan_flexreduce_call_plan_fini(&plan);
    paper_network_fini(&network);
    return status;
}

static void figure4ab(banyan_reproduction *r, const work *w, const char *name, const char *title, int size)
{
    banyan_figure *f = banyan_figure_open(
        r,
        &(banyan_figure_head){.name = name,
                              .title = title,
                              .setting = "fluid simulator; 1 Gb/s and 50 us between machines, 10 GB/s inside",
                              .kind = BANYAN_FIGURE_BARS,
                              .x = "learners",
                              .y = "ms",
                              .tolerance = 0.02});
    char label[32];

    for (int i = 0; i < CASES; i++) {
        for (int rival = 0; rival < RIVALS; rival++)
            banyan_figure_add(f, BANYAN_OURS, rivals[rival].title, FEWEST + i, learners(i, label),
                              w->seconds[i][rival][size] * 1e3);
        banyan_figure_add(f, BANYAN_OTHERS, "bound", FEWEST + i, learners(i, label),
                          4e3 * (double)items[size] / w->bound[i]);
    }
}

static double lowest(const double *values, int from, int to)
{
    double low = values[from];

    for (int i = from; i < to; i++)
        low = fmin(low, values[i]);
    return low;
}

static double highest(const double *values, int from, int to)
{
    double high = values[from];

    for (int i = from; i < to; i++)
        high = fmax(high, values[i]);
    return high;
}

/* The paper's smallest or largest saving beside that of Eq. 6, and what share of Eq. 6's speed it means. */
static void compare_saving(banyan_figure *f, const char *what, double theirs, double ours)
{
    double share = 100 * (100 - ours) / (100 - theirs);
    char reason[128];

    snprintf(reason, sizeof reason, "the paper's is %.0f %% of the speed of Eq. 6; it reports 90 to 99 %%",
             share);
    banyan_figure_compare(f, what, BANYAN_PAPERS, theirs, ours, fabs(share - 100) > 1 ? reason : NULL);
}

static void savings(banyan_reproduction *r, const work *w)
{
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){
               .name = "savings",
               .title = "Fig. 4 (a, b): time saved over a ring",
               .setting = "120M items; simulated with slices that overlap the levels, and by the paper's "
                          "Eq. 6 and Eq. 3 (its Eq. 2 doubled for the ring), where levels follow each other",
               .kind = BANYAN_FIGURE_BARS,
               .x = "learners",
               .y = "% saved",
               .tolerance = 0.02});
    double formula[CASES];
    char label[32];

    for (int i = 0; i < CASES; i++) {
        const double(*seconds)[SIZES] = w->seconds[i];

        formula[i] = 100 * (1 - w->formula_s[i] / w->formula_ring_s[i]);
        banyan_figure_add(f, BANYAN_OURS, "flexreduce, simulated", FEWEST + i, learners(i, label),
                          100 * (1 - seconds[FLEXREDUCE][SIZES - 1] / seconds[RING][SIZES - 1]));
        banyan_figure_add(f, BANYAN_OURS, "flexreduce, Eq. 6", FEWEST + i, learners(i, label), formula[i]);
        banyan_figure_add(f, BANYAN_OURS, "blueconnect, Eq. 3", FEWEST + i, learners(i, label),
                          100 * (1 - w->formula_blueconnect_s[i] / w->formula_ring_s[i]));
        banyan_figure_add(f, BANYAN_OURS, "forest, simulated", FEWEST + i, learners(i, label),
                          100 * (1 - seconds[FOREST][SIZES - 1] / seconds[RING][SIZES - 1]));
    }
    compare_saving(f, "two machines, least saving by Eq. 6, %", 32, lowest(formula, 0, 5));
    compare_saving(f, "two machines, largest saving by Eq. 6, %", 42, highest(formula, 0, 5));
    compare_saving(f, "three machines, least saving by Eq. 6, %", 21, lowest(formula, 5, CASES));
    compare_saving(f, "three machines, largest saving by Eq. 6, %", 25, highest(formula, 5, CASES));
}

/* What processes in shaped networks took, and what share of the ideal speed that is: as in the paper, the
 * ideal latency is the ring's, measured, times the ratio by Eq. 6. */
static void live(banyan_reproduction *r, const work *w)
{
    char setting[512], label[32], reason[192];
    double saved[CASES], share[CASES];
    int worst = 5;
    banyan_figure *f;

    snprintf(
        setting, sizeof setting,
        "measured, all-reduce of %.0f MiB between processes, %.0f Mb/s between machines and shared memory "
        "inside; medians (%s)",
        w->live.bytes / 1048576, w->live.bytes_per_s * 8e-6, w->live.about);
    f = banyan_figure_open(r,
                           &(banyan_figure_head){.name = "live",
                                                 .title = "Fig. 4 (a, b): time saved over a ring, measured",
                                                 .setting = setting,
                                                 .kind = BANYAN_FIGURE_BARS,
                                                 .x = "learners",
                                                 .y = "% saved",
                                                 .tolerance = -1});
    for (int i = 0; i < CASES; i++) {
        saved[i] = 100 * (1 - w->live.flexreduce_s[i] / w->live.ring_s[i]);
        share[i] = 100 * w->live.ring_s[i] * w->formula_s[i] / w->formula_ring_s[i] / w->live.flexreduce_s[i];
        banyan_figure_add(f, BANYAN_OURS, "flexreduce, measured", FEWEST + i, learners(i, label), saved[i]);
        banyan_figure_add(f, BANYAN_OURS, "flexreduce, Eq. 6", FEWEST + i, learners(i, label),
                          100 * (1 - w->formula_s[i] / w->formula_ring_s[i]));
        banyan_figure_add(f, BANYAN_OURS, "simulated, in slices", FEWEST + i, learners(i, label),
                          w->live_saved[i][0]);
        banyan_figure_add(f, BANYAN_OURS, "simulated, in whole messages", FEWEST + i, learners(i, label),
                          w->live_saved[i][1]);
        worst = i > worst && saved[i] < saved[worst] ? i : worst;
    }
    snprintf(reason, sizeof reason,
             "with %d learners; simulated with the same size the saving is %.1f %% in slices of %.0f KiB and "
             "%.1f %% "
             "in whole messages",
             FEWEST + worst, w->live_saved[worst][0], BANYAN_SLICE_BYTES / 1024.0, w->live_saved[worst][1]);
    banyan_figure_compare(f, "two machines, least saving measured, %", BANYAN_PAPERS, 32, lowest(saved, 0, 5),
                          NULL);
    banyan_figure_compare(f, "two machines, largest saving measured, %", BANYAN_PAPERS, 42,
                          highest(saved, 0, 5), NULL);
    banyan_figure_compare(f, "three machines, least saving measured, %", BANYAN_PAPERS, 21,
                          lowest(saved, 5, CASES), reason);
    banyan_figure_compare(f, "three machines, largest saving measured, %", BANYAN_PAPERS, 25,
                          highest(saved, 5, CASES), NULL);
    snprintf(reason, sizeof reason, "%.0f to %.0f %% of the measured ring's speed times the ratio by Eq. 6",
             lowest(share, 0, CASES), highest(share, 0, CASES));
    banyan_figure_state(f, "FlexReduce reaches at least 90 % of the speed of Eq. 6 in measurement",
                        lowest(share, 0, CASES) >= 90, reason);
}

static void figure4c(banyan_reproduction *r, const work *w)
{
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){.name = "fig4c",
                                 .title = "Fig. 4 (c): reduce calls per learner",
                                 .setting = "counted in the plan, averaged over learners and the two levels",
                                 .kind = BANYAN_FIGURE_BARS,
                                 .x = "learners",
                                 .y = "calls",
                                 .tolerance = 0});
    char label[32];

    for (int i = 0; i < CASES; i++) {
        banyan_figure_add(f, BANYAN_OURS, "average", FEWEST + i, learners(i, label), w->calls[i]);
        banyan_figure_add(f, BANYAN_OURS, "bound by Eq. 12", FEWEST + i, learners(i, label),
                          w->most_calls[i]);
    }
    banyan_figure_compare(f, "bound by Eq. 12, two machines", BANYAN_PAPERS, 3, highest(w->most_calls, 0, 5),
                          NULL);
    banyan_figure_compare(f, "bound by Eq. 12, three machines", BANYAN_PAPERS, 4,
                          highest(w->most_calls, 5, CASES), NULL);
    banyan_figure_state(f, "on average a learner has at most 1.5 calls", highest(w->calls, 0, CASES) <= 1.5,
                        NULL);
}

static void figure4de(banyan_reproduction *r, const work *w, const char *name, const char *title, int i)
{
    banyan_figure *f = banyan_figure_open(
        r,
        &(banyan_figure_head){.name = name,
                              .title = title,
                              .setting = "fluid simulator; 1 Gb/s and 50 us between machines, 10 GB/s inside",
                              .kind = BANYAN_FIGURE_LINES,
                              .x = "items (float)",
                              .y = "ms",
                              .is_log_x = 1,
                              .is_log_y = 1,
                              .tolerance = 0.02});
    const double(*seconds)[SIZES] = w->seconds[i];
    double apart = fabs(
        seconds[BLUECONNECT][SIZES - 1] / seconds[cases[i].is_uneven ? RING : FLEXREDUCE][SIZES - 1] - 1);
    char reason[64];

    for (int size = 0; size < SIZES; size++) {
        for (int rival = 0; rival < RIVALS; rival++)
            banyan_figure_add(f, BANYAN_OURS, rivals[rival].title, (double)items[size], NULL,
                              seconds[rival][size] * 1e3);
        banyan_figure_add(f, BANYAN_OTHERS, "bound", (double)items[size], NULL,
                          4e3 * (double)items[size] / w->bound[i]);
    }
    snprintf(reason, sizeof reason, "at 120M items they differ by %.1f %%", 100 * apart);
    if (cases[i].is_uneven)
        banyan_figure_state(f, "BlueConnect and the ring almost overlap (within 5 %)", apart < 0.05, reason);
    else
        banyan_figure_state(f, "FlexReduce and BlueConnect come close (within 10 %)", apart < 0.1, reason);
}

/* Steps of DistributedDataParallel between processes. */
static void ddp(banyan_reproduction *r, const work *w)
{
    const flexreduce_ddp *found = &w->ddp;
    double faster[CASES], computing = 0, average = 0, most_apart = 0;
    char setting[512], label[32], reason[160];
    banyan_figure *f;

    snprintf(setting, sizeof setting,
             "measured, ResNet-18 (%.0f parameters) in PyTorch's DistributedDataParallel on CPUs, %.0f "
             "images of 32x32 a "
             "learner, %.0f Mb/s between machines and shared memory inside; medians (%s)",
             found->parameters, found->batch, found->bytes_per_s * 8e-6, found->about);
    f = banyan_figure_open(r, &(banyan_figure_head){.name = "fig4f-live",
                                                    .title = "Fig. 4 (f): ResNet-18 end to end, measured",
                                                    .setting = setting,
                                                    .kind = BANYAN_FIGURE_BARS,
                                                    .x = "learners",
                                                    .y = "s per step",
                                                    .tolerance = -1});
    for (int i = 0; i < CASES; i++) {
        learners(i, label);
        banyan_figure_add(f, BANYAN_OURS, "ring", FEWEST + i, label, found->ring_s[i]);
        banyan_figure_add(f, BANYAN_OURS, "blueconnect", FEWEST + i, label, found->blueconnect_s[i]);
        banyan_figure_add(f, BANYAN_OURS, "flexreduce", FEWEST + i, label, found->flexreduce_s[i]);
        banyan_figure_add(f, BANYAN_OTHERS, "computing alone", FEWEST + i, label, found->compute_s[i]);
        faster[i] = 100 * (found->ring_s[i] / found->flexreduce_s[i] - 1);
        average += faster[i] / CASES;
        computing += 100 * found->compute_s[i] / found->ring_s[i] / CASES;
        most_apart =
            fmax(most_apart, fabs(found->blueconnect_s[i] /
                                      (cases[i].is_uneven ? found->ring_s[i] : found->flexreduce_s[i]) -
                                  1));
    }
    snprintf(reason, sizeof reason,
             "computing is %.0f %% of a step with the ring here; from %.1f to %.1f %% faster", computing,
             lowest(faster, 0, CASES), highest(faster, 0, CASES));
    banyan_figure_compare(f, "a step with FlexReduce is faster than with a ring, on average, %",
                          BANYAN_PAPERS, 14.4, average, reason);
    snprintf(reason, sizeof reason, "from %.1f to %.1f %% faster than with a ring", lowest(faster, 0, CASES),
             highest(faster, 0, CASES));
    banyan_figure_state(f, "FlexReduce trains faster than NCCL's ring with any number of learners",
                        lowest(faster, 0, CASES) > 0, reason);
    snprintf(reason, sizeof reason, "they differ by up to %.1f %%", 100 * most_apart);
    banyan_figure_state(f,
                        "BlueConnect trains as FlexReduce on symmetric machines, as the ring on others "
                        "(within 10 %)",
                        most_apart < 0.1, reason);
}

/* The paper gives one number, 14.4 % on average, and no computing time: what it would be for several. */
static void figure4f(banyan_reproduction *r, const work *w)
{
    static const double compute_ms[] = {0, 125, 250, 500, 1000, 2000};
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){
               .name = "fig4f",
               .title = "Fig. 4 (f): ResNet-18 end to end: a step's average speed-up over NCCL's ring",
               .setting =
                   "12M items (ResNet-18 has 11.7M), communication simulated, after the computing. The paper "
                   "gives 14.4 % and neither the computing time nor the network's speed: what its number "
                   "would be for several computing times",
               .kind = BANYAN_FIGURE_TABLE,
               .x = "computing time, ms",
               .y = "% faster",
               .tolerance = 0.02});

    for (size_t k = 0; k < sizeof compute_ms / sizeof *compute_ms; k++)
        for (int rival = BLUECONNECT; rival < RIVALS; rival++) {
            double saved = 0;
            char label[32];

            for (int i = 0; i < CASES; i++)
                saved += (compute_ms[k] + 1e3 * w->seconds[i][RING][3]) /
                             (compute_ms[k] + 1e3 * w->seconds[i][rival][3]) -
                         1;
            snprintf(label, sizeof label, "%g", compute_ms[k]);
            banyan_figure_add(f, BANYAN_OURS, rivals[rival].title, compute_ms[k], label, 100 * saved / CASES);
        }
    if (!w->ddp.is_there)
        banyan_figure_cannot_test(
            f, "ResNet-18 trains 14.4 % faster than with NCCL's ring",
            "the measurements of bench/flexreduce_ddp.py, flexreduce-ddp.json, are not there");
    if (!w->live.is_there)
        banyan_figure_cannot_test(
            f, "FlexReduce reaches at least 90 % of the speed of Eq. 6 in measurement",
            "the measurements of bench/flexreduce_live.py, flexreduce-live.json, are not there");
}

static banyan_status run(banyan_reproduction *reproduction, banyan_error *err)
{
    work *w = banyan_alloc(1, sizeof *w);
    banyan_status status = w ? flexreduce_live_load(&w->live, err) : banyan_fail_memory(err);

    if (!status)
        status = flexreduce_ddp_load(&w->ddp, err);
    if (!status)
        status = banyan_reproduce_jobs(reproduction, CASES, play, w, err);
    if (!status)
        status = figure2(reproduction, err);
    if (!status) {
        figure4ab(reproduction, w, "fig4a", "Fig. 4 (a): 120K items", 1);
        figure4ab(reproduction, w, "fig4b", "Fig. 4 (b): 120M items", SIZES - 1);
        savings(reproduction, w);
        if (w->live.is_there)
            live(reproduction, w);
        figure4c(reproduction, w);
        figure4de(reproduction, w, "fig4d", "Fig. 4 (d): 10 learners", 6);
        figure4de(reproduction, w, "fig4e", "Fig. 4 (e): 12 learners", 8);
        figure4f(reproduction, w);
        if (w->ddp.is_there)
            ddp(reproduction, w);
    }
    banyan_free(w);
    return status;
}

const banyan_paper banyan_paper_flexreduce = {
    .name = "flexreduce",
    .title =
        "J. Lee et al., FlexReduce: Flexible All-reduce for Distributed Deep Learning on Asymmetric Network "
        "Topology, 2020",
    .about = "All-reduce on 4 to 12 learners in two and three machines against a ring and BlueConnect, the "
             "plan of the "
             "paper's example, and how many calls a plan takes.",
    .run = run};
