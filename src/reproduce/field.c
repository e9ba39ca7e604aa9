/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/field.c: other planners' published results beside our bound and our plans.
 *
 * Theirs are numbers of their papers and repositories: TE-CCL's all-gathers on NDv2 and DGX-2, the twelve
 * networks of TACOS's tests, BFB's closed forms for tori, circulants and a hypercube, MSCCL++'s measured
 * all-reduces of A100 and H100 machines, and the step counts of Swing, PAT and BFB. Ours are simulated: the
 * fastest of all our plans in the fluid model, on the links alone. A measured number beside a predicted one
 * says how much a real machine loses, not who is better. ForestColl's optimum is its formula, worked out by
 * hand over the worst cut. */
#include <math.h>
#include <stdio.h>

#include "bound/bound.h"
#include "core/alloc.h"
#include "planner/planner.h"
#include "reproduce/field_networks.h"
#include "reproduce/reproduce.h"
#include "simulate/fluid.h"

#define GIB 1073741824.0
#define GRID_2D(x, y, gx, gy, us)                                                                            \
    {                                                                                                        \
        .dimensions = 2, .extent = {y, x}, .bytes_per_s = {(gy)*GIB, (gx)*GIB}, .latency_s = (us)*1e-6       \
    }
#define GRID_3D(x, y, z, ring)                                                                               \
    {                                                                                                        \
        .dimensions = 3, .extent = {z, y, x}, .wraps = ring, .bytes_per_s = {50 * GIB, 50 * GIB, 50 * GIB},  \
        .latency_s = 0.5e-6                                                                                  \
    }

typedef enum { FROM_GRID, FROM_CIRCULANT, FROM_NDV2, FROM_DGX2, FROM_A100, FROM_MI250, FROM_SPEC } source;

typedef struct {
    const char *label, *whose;
    source from;
    field_grid grid;
    field_circulant circulant;
    int machines;     /* NDv2, A100, MI250 */
    const char *spec; /* of a generator */
    banyan_collective collective;
    double bytes;
    double their_s;      /* how long it takes; */
    double their_rate;   /* or, where that is 0, bytes a second */
    double their_plan_s; /* to plan; 0: not told */
    int is_measured;
} problem_kind;

#define ALLGATHER .collective = BANYAN_COLLECTIVE_ALLGATHER
#define FORESTCOLL(network, count)                                                                           \
    .whose = "ForestColl", .from = network, .machines = count, ALLGATHER, .bytes = 1e9
#define TACOS(shape) .whose = "TACOS", .from = FROM_GRID, .grid = shape, ALLGATHER

static const problem_kind problems[] = {
    {"NDv2 x2", "TE-CCL", FROM_NDV2, .machines = 2, ALLGATHER, .bytes = 1e9, .their_s = 43.75e-3,
     .their_plan_s = 43},
    {"NDv2 x4", "TE-CCL", FROM_NDV2, .machines = 4, ALLGATHER, .bytes = 1e9, .their_s = 65e-3,
     .their_plan_s = 216},
    {"DGX-2 x2", "TE-CCL", FROM_DGX2, ALLGATHER, .bytes = 1e9, .their_s = 7.75e-3, .their_plan_s = 280},
    {"mesh 5x5", TACOS(GRID_2D(5, 5, 50, 50, 0.5)), .bytes = GIB, .their_s = 9606e-6},
    {"mesh 10x10", TACOS(GRID_2D(10, 10, 100, 100, 1)), .bytes = GIB, .their_s = 5049e-6},
    {"mesh 7x12", TACOS(GRID_2D(7, 12, 100, 100, 1)), .bytes = 4 * GIB, .their_s = 19966.27e-6},
    {"mesh 5x5, 50 and 75", TACOS(GRID_2D(5, 5, 50, 75, 0.5)), .bytes = GIB, .their_s = 8005e-6},
    {"mesh 8x5, 80 and 35", TACOS(GRID_2D(8, 5, 80, 35, 1)), .bytes = GIB, .their_s = 8595.43e-6},
    {"mesh 7x10, 16 and 73", TACOS(GRID_2D(7, 10, 16, 73, 1.5)), .bytes = 4 * GIB, .their_s = 44612.47e-6},
    {"torus 3x3x3", TACOS(GRID_3D(3, 3, 3, 1)), .bytes = GIB, .their_s = 3706.2e-6},
    {"torus 3x4x5", TACOS(GRID_3D(3, 4, 5, 1)), .bytes = 2 * GIB, .their_s = 6676.67e-6},
    {"torus 4x2x3", TACOS(GRID_3D(4, 2, 3, 1)), .bytes = 3 * GIB, .their_s = 11673.67e-6},
    {"mesh 3x3x3", TACOS(GRID_3D(3, 3, 3, 0)), .bytes = GIB, .their_s = 6671.17e-6},
    {"mesh 3x4x5", TACOS(GRID_3D(3, 4, 5, 0)), .bytes = 2 * GIB, .their_s = 13353.33e-6},
    {"mesh 4x2x3", TACOS(GRID_3D(4, 2, 3, 0)), .bytes = 3 * GIB, .their_s = 19178.17e-6},
    {"torus 4x4", "BFB", FROM_SPEC, .spec = "torus:4x4,GBps=12.5,latency=0", ALLGATHER, .bytes = 1e9,
     .their_rate = 16.0 / 15 * 4 * 12.5e9},
    {"torus 8x8", "BFB", FROM_SPEC, .spec = "torus:8x8,GBps=12.5,latency=0", ALLGATHER, .bytes = 1e9,
     .their_rate = 64.0 / 63 * 4 * 12.5e9},
    {"hypercube of 16", "BFB", FROM_SPEC, .spec = "torus:2x2x2x2,GBps=12.5,latency=0", ALLGATHER,
     .bytes = 1e9, .their_rate = 16.0 / 15 * 4 * 12.5e9},
    {"circulant of 13", "BFB", FROM_CIRCULANT, .circulant = {13, 2, 0}, ALLGATHER, .bytes = 1e9,
     .their_rate = 13.0 / 12 * 4 * 12.5e9},
    {"circulant of 25", "BFB", FROM_CIRCULANT, .circulant = {25, 3, 0}, ALLGATHER, .bytes = 1e9,
     .their_rate = 25.0 / 24 * 4 * 12.5e9},
    /* ForestColl: n over the worst |S| / B+(S), by hand: S without one GPU; without one machine; without two
     * dies of a package, once and twice. */
    {"A100 x2", FORESTCOLL(FROM_A100, 2), .their_rate = 16.0 / 15 * 325e9},
    {"A100 x4", FORESTCOLL(FROM_A100, 4), .their_rate = 32.0 / 24 * 200e9},
    {"MI250", FORESTCOLL(FROM_MI250, 1), .their_rate = 16.0 / 14 * 300e9},
    {"MI250 x2", FORESTCOLL(FROM_MI250, 2), .their_rate = 32.0 / 30 * 332e9},
    {"8 A100, 1 GiB", "MSCCL++", FROM_SPEC, .spec = "switch:8,GBps=300,latency=1us",
     .collective = BANYAN_COLLECTIVE_ALLREDUCE, .bytes = GIB, .their_rate = 139.4e9, .is_measured = 1},
    {"8 A100, 16 MiB", "MSCCL++", FROM_SPEC, .spec = "switch:8,GBps=300,latency=1us",
     .collective = BANYAN_COLLECTIVE_ALLREDUCE, .bytes = 16777216, .their_rate = 107e9, .is_measured = 1},
    {"2x8 A100, 3 GiB", "MSCCL++", FROM_SPEC, .spec = "dgxa100:2", .collective = BANYAN_COLLECTIVE_ALLREDUCE,
     .bytes = 3 * GIB, .their_rate = 126.0e9, .is_measured = 1},
    {"2x8 A100, 24 MB", "MSCCL++", FROM_SPEC, .spec = "dgxa100:2", .collective = BANYAN_COLLECTIVE_ALLREDUCE,
     .bytes = 24e6, .their_rate = 80.8e9, .is_measured = 1},
    {"2x8 H100, 3 GiB", "MSCCL++", FROM_SPEC, .spec = "dgxh100:2", .collective = BANYAN_COLLECTIVE_ALLREDUCE,
     .bytes = 3 * GIB, .their_rate = 201.5e9, .is_measured = 1},
    {"2x8 H100, 24 MB", "MSCCL++", FROM_SPEC, .spec = "dgxh100:2", .collective = BANYAN_COLLECTIVE_ALLREDUCE,
     .bytes = 24e6, .their_rate = 118.5e9, .is_measured = 1},
};

enum { PROBLEMS = sizeof problems / sizeof *problems };

typedef struct {
    double bound, rate;    /* bytes a second: of the bound, and ours at this size */
    double limit;          /* the highest of our plans as sizes grow, every link at most fully used; */
    double limit_rate;     /* the same plan simulated at this size, */
    double limit_longer;   /* and at four times that */
    double planning_s;     /* of the plan that is ours */
    const char *algorithm; /* ours */
    const char *limit_algorithm;
} outcome;

static banyan_status build(const problem_kind *kind, banyan_topology **out, banyan_error *err)
{
    switch (kind->from) {
    case FROM_GRID:
        return field_grid_build(&kind->grid, out, err);
    case FROM_CIRCULANT:
        return field_circulant_build(&kind->circulant, out, err);
    case FROM_NDV2:
        return field_ndv2_build(kind->machines, 0, out, err);
    case FROM_DGX2:
        return field_dgx2_build(out, err);
    case FROM_A100:
        return field_a100_build(kind->machines, out, err);
    case FROM_MI250:
        return field_mi250_build(kind->machines, out, err);
    case FROM_SPEC:
        break;
    }
    return banyan_topology_generate(kind->spec, out, err);
}

static banyan_status find_bound(const problem_kind *kind, const banyan_topology *topology, outcome *out,
                                banyan_error *err)
{
    banyan_bound bound = {0};
    banyan_status status = banyan_bound_find(topology, topology->workers, topology->worker_count,
                                             BANYAN_RELAYS_ADD, &bound, err);

    if (status)
        return status;
    out->bound = kind->collective == BANYAN_COLLECTIVE_ALLGATHER ? bound.allgather.bytes_per_s
                                                                 : bound.allreduce.bytes_per_s;
    banyan_bound_fini(&bound);
    return BANYAN_SUCCESS;
}

/* Bytes a second on the links alone, in slices as the simulator chooses them, however long it takes. */
static banyan_status simulate(const banyan_topology *topology, const banyan_plan *plan, double bytes,
                              double *out, banyan_error *err)
{
    const banyan_fluid_options options = {0};
    banyan_fluid_result result;
    banyan_status status = banyan_fluid(plan->schedule, topology, (size_t)bytes, &options, &result, err);

    if (!status) {
        *out = bytes / result.timeline->total_s;
        banyan_fluid_fini(&result);
    }
    return status;
}

static void take(const banyan_plan *plan, double rate, outcome *out)
{
    if (rate <= out->rate)
        return;
    out->rate = rate;
    out->planning_s = plan->planning_s;
    out->algorithm = plan->algorithm->name;
}

/* Ours is the faster of two: the plan that the planner predicts to be the fastest on the links alone, and the
 * one with the highest rate for long vectors. */
static banyan_status simulate_best(const problem_kind *kind, const banyan_topology *topology,
                                   const banyan_plan *fast, const banyan_plan *high, outcome *out,
                                   banyan_error *err)
{
    double rate = 0;
    banyan_status status = simulate(topology, fast, kind->bytes, &rate, err);

    if (!status)
        status = simulate(topology, high, kind->bytes, &out->limit_rate, err);
    if (status)
        return status;
    take(fast, rate, out);
    take(high, out->limit_rate, out);
    out->limit = high->limits.bytes_per_s;
    out->limit_algorithm = high->algorithm->name;
    return out->limit_rate < 0.999 * out->limit
               ? simulate(topology, high, 4 * kind->bytes, &out->limit_longer, err)
               : BANYAN_SUCCESS;
}

static banyan_status plan_best(const problem_kind *kind, const banyan_topology *topology, outcome *out,
                               banyan_error *err)
{
    banyan_problem problem = {.topology = topology,
                              .active = topology->workers,
                              .active_count = topology->worker_count,
                              .collective = kind->collective,
                              .bytes = (size_t)kind->bytes,
                              .is_streamed = 1};
    const banyan_plan *fast = NULL, *high = NULL;
    banyan_plan *plans;
    int count;
    banyan_status status = banyan_plan_all(&problem, &plans, &count, err);

    if (status)
        return status;
    for (int i = 0; i < count; i++) {
        if (plans[i].schedule && (!fast || plans[i].network_s < fast->network_s))
            fast = &plans[i];
        if (plans[i].schedule && (!high || plans[i].limits.bytes_per_s > 1.000001 * high->limits.bytes_per_s))
            high = &plans[i];
    }
    status = fast ? simulate_best(kind, topology, fast, high, out, err)
                  : banyan_fail(err, BANYAN_PLAN_INVALID, "no algorithm applies to %s", kind->label);
    banyan_plans_destroy(plans, count);
    return status;
}

static banyan_status plan_one(void *context, int i, banyan_error *err)
{
    outcome *out = (outcome *)context + i;
    banyan_topology *topology = NULL;
    banyan_status status = build(&problems[i], &topology, err);

    if (!status)
        status = find_bound(&problems[i], topology, out, err);
    if (!status)
        status = plan_best(&problems[i], topology, out, err);
    banyan_topology_destroy(topology);
    return status;
}

static double their_rate(const problem_kind *kind)
{
    return kind->their_s > 0 ? kind->bytes / kind->their_s : kind->their_rate;
}

/* Why ours differs, from what was computed. */
static void explain(const problem_kind *kind, const outcome *found, char *text, size_t size)
{
    double theirs = their_rate(kind);

    if (kind->is_measured)
        snprintf(
            text, size,
            "theirs is measured and %.1f %% of the bound; ours is predicted on the links alone (%s, %.1f %%)",
            100 * theirs / found->bound, found->algorithm, 100 * found->rate / found->bound);
    else if (found->rate < 0.999 * theirs)
        snprintf(text, size,
                 "ours is %s; %s would reach %.1f %% of the bound if every tree had its share of each link, "
                 "and reaches %.1f %% where messages of different routes share links equally (%.1f %% with "
                 "four times the vector)",
                 found->algorithm, found->limit_algorithm, 100 * found->limit / found->bound,
                 100 * found->limit_rate / found->bound, 100 * found->limit_longer / found->bound);
    else
        snprintf(text, size, "%s, %.1f %% of the bound", found->algorithm, 100 * found->rate / found->bound);
}

static void show_rates(banyan_reproduction *r, const outcome *found)
{
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){
               .name = "rates",
               .title = "Rates of other planners, our bound, our plans, and the time to plan",
               .setting =
                   "GB/s of the gathered or all-reduced vector. Ours: the fastest of all our plans, "
                   "fluid simulator, links alone. TE-CCL and TACOS: all-gather, computed by their "
                   "authors; BFB and ForestColl: all-gather, by their closed forms; MSCCL++: "
                   "all-reduce, measured. To plan, in s: theirs as published, on their machines, the "
                   "lowest where a range is told; ours is CPU time of that plan, here. The bound holds for "
                   "algorithms that send partial sums whole, neither coded nor compressed, at latency 0.",
               .kind = BANYAN_FIGURE_TABLE,
               .x = "network",
               .y = "GB/s",
               .tolerance = 0.01});
    int behind = 0;

    for (int i = 0; i < PROBLEMS; i++) {
        const problem_kind *kind = &problems[i];
        char label[48], what[96], reason[384];

        snprintf(label, sizeof label, "%s: %s", kind->whose, kind->label);
        snprintf(what, sizeof what, "%s, GB/s", label);
        banyan_figure_add(f, BANYAN_PAPERS, "theirs", i, label, their_rate(kind) / 1e9);
        banyan_figure_add(f, BANYAN_OTHERS, "bound", i, label, found[i].bound / 1e9);
        banyan_figure_add(f, BANYAN_OURS, "ours", i, label, found[i].rate / 1e9);
        banyan_figure_add(f, BANYAN_OURS, "ours, long vectors", i, label, found[i].limit / 1e9);
        if (kind->their_plan_s > 0)
            banyan_figure_add(f, BANYAN_PAPERS, "theirs, s to plan", i, label, kind->their_plan_s);
        banyan_figure_add(f, BANYAN_OTHERS, "ours, s to plan", i, label, found[i].planning_s);
        explain(kind, &found[i], reason, sizeof reason);
        banyan_figure_compare(f, what, BANYAN_PAPERS, their_rate(kind) / 1e9, found[i].rate / 1e9, reason);
        behind += their_rate(kind) > found[i].bound * 1.001;
    }
    banyan_figure_claim(f, "no published rate is above our bound", !behind, NULL);
}

/* Whose, how many, and what counts ours. */
typedef struct {
    const char *label, *spec; /* NULL: the circulant */
    const char *algorithm;
    banyan_collective collective;
    double theirs; /* Swing: 2 log2(n) for an all-reduce; PAT: ceil(log2(n)) for an all-gather; */
    int by_hops;   /* BFB: the diameter, since a step is a hop for everybody */
    field_circulant circulant;
} steps_row;

#define SWING .algorithm = "swing", .collective = BANYAN_COLLECTIVE_ALLREDUCE
#define PAT .algorithm = "circulant", .collective = BANYAN_COLLECTIVE_ALLGATHER
#define BFB .algorithm = "multitree", .collective = BANYAN_COLLECTIVE_ALLGATHER, .by_hops = 1

/* Kautz graphs of D^k + D^(k-1) workers have diameter k. */
static const steps_row steps_rows[] = {
    {"Swing: torus 4x4", "torus:4x4", SWING, .theirs = 8},
    {"Swing: torus 8x8", "torus:8x8", SWING, .theirs = 12},
    {"PAT: 8 ranks", "switch:8", PAT, .theirs = 3},
    {"PAT: 13 ranks", "switch:13", PAT, .theirs = 4},
    {"PAT: 100 ranks", "switch:100", PAT, .theirs = 7},
    {"BFB: torus 4x4", "torus:4x4", BFB, .theirs = 4},
    {"BFB: torus 8x8", "torus:8x8", BFB, .theirs = 8},
    {"BFB: torus 4x4x4", "torus:4x4x4", BFB, .theirs = 6},
    {"BFB: hypercube of 16", "torus:2x2x2x2", BFB, .theirs = 4},
    {"BFB: circulant of 13", NULL, BFB, .theirs = 2, .circulant = {13, 2, 1e-6}},
    {"BFB: circulant of 25", NULL, BFB, .theirs = 3, .circulant = {25, 3, 1e-6}},
    {"BFB: circulant of 41", NULL, BFB, .theirs = 4, .circulant = {41, 4, 1e-6}},
    {"BFB: Kautz graph of 12, degree 3", "kautz:12x3", BFB, .theirs = 2},
    {"BFB: Kautz graph of 24, degree 2", "kautz:24x2", BFB, .theirs = 4},
    {"BFB: Kautz graph of 36, degree 3", "kautz:36x3", BFB, .theirs = 3},
};

#define STEP_BYTES 1024

/* Rounds of an algorithm of ours, or the hops of its deepest tree; a sentence where it does not apply. */
static banyan_status count_steps(const steps_row *row, const banyan_problem *problem, double *steps,
                                 banyan_error *err)
{
    banyan_plan plan;
    banyan_status status = banyan_plan_choose(row->algorithm, problem, &plan, err);

    if (!status) {
        *steps = row->by_hops ? plan.limits.depth : plan.schedule->round_count;
        banyan_plan_fini(&plan);
    }
    return status;
}

/* What more steps cost: our fastest plan for a short vector, beside as many steps as theirs and the bytes. */
static banyan_status explain_steps(const steps_row *row, const banyan_problem *problem, char *reason,
                                   size_t size, banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    double latency_s = topology->links[0].latency_s;
    const banyan_plan *fast = NULL;
    banyan_bound bound = {0};
    banyan_plan *plans;
    int count;
    banyan_status status = banyan_bound_find(topology, topology->workers, topology->worker_count,
                                             BANYAN_RELAYS_ADD, &bound, err);

    if (!status)
        status = banyan_plan_all(problem, &plans, &count, err);
    if (status)
        return status;
    for (int i = 0; i < count; i++)
        if (plans[i].schedule && (!fast || plans[i].network_s < fast->network_s))
            fast = &plans[i];
    if (fast)
        snprintf(
            reason, size,
            "the fastest of our plans for %d bytes, %s, takes %.2f us on the links alone; %.0f hops and the "
            "bytes at the bound take %.2f us",
            STEP_BYTES, fast->algorithm->name, fast->network_s * 1e6, row->theirs,
            1e6 * (row->theirs * latency_s + STEP_BYTES / bound.allgather.bytes_per_s));
    banyan_plans_destroy(plans, count);
    banyan_bound_fini(&bound);
    return BANYAN_SUCCESS;
}

static banyan_status add_steps(banyan_figure *f, int i, banyan_error *err)
{
    const steps_row *row = &steps_rows[i];
    banyan_topology *topology = NULL;
    banyan_problem problem = {.collective = row->collective, .bytes = STEP_BYTES};
    char reason[256] = "";
    double steps = 0;
    banyan_status status = row->spec ? banyan_topology_generate(row->spec, &topology, err)
                                     : field_circulant_build(&row->circulant, &topology, err);

    if (!status) {
        problem.topology = topology;
        problem.active = topology->workers;
        problem.active_count = topology->worker_count;
        status = count_steps(row, &problem, &steps, err);
    }
    if (!status && steps > row->theirs)
        status = explain_steps(row, &problem, reason, sizeof reason, err);
    banyan_topology_destroy(topology);
    if (status)
        return status;
    banyan_figure_add(f, BANYAN_PAPERS, "theirs", i, row->label, row->theirs);
    banyan_figure_add(f, BANYAN_OURS, "ours", i, row->label, steps);
    banyan_figure_compare(f, row->label, BANYAN_PAPERS, row->theirs, steps, *reason ? reason : NULL);
    return BANYAN_SUCCESS;
}

static banyan_status show_steps(banyan_reproduction *r, banyan_error *err)
{
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){
               .name = "steps",
               .title = "Steps of Swing, PAT and BFB",
               .setting =
                   "Swing: all-reduce, reduce-scatter and all-gather of log2(n) steps each. PAT: "
                   "all-gather of short vectors; ours is circulant, which has as few. BFB: all-gather in as "
                   "many steps as the diameter has hops; ours are the hops of multitree's deepest tree, "
                   "cables of 1 us. "
                   "Workers of a circulant are cabled to the second and third next in the circle, the third "
                   "and fourth of 25, the fourth and fifth of 41.",
               .kind = BANYAN_FIGURE_TABLE,
               .x = "network",
               .y = "steps",
               .tolerance = 0});
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < (int)(sizeof steps_rows / sizeof *steps_rows) && !status; i++)
        status = add_steps(f, i, err);
    return status;
}

static banyan_status run(banyan_reproduction *r, banyan_error *err)
{
    outcome *found = banyan_alloc(PROBLEMS, sizeof *found);
    banyan_status status =
        found ? banyan_reproduce_jobs(r, PROBLEMS, plan_one, found, err) : banyan_fail_memory(err);

    if (!status) {
        show_rates(r, found);
        status = show_steps(r, err);
    }
    if (!status)
        status = field_show_teccl(r, err);
    if (!status)
        status = field_show_allocations(r, err);
    banyan_free(found);
    return status;
}

const banyan_paper banyan_paper_field = {
    .name = "field",
    .title = "Other planners: TE-CCL, TACOS, BFB, ForestColl, MSCCL++, Swing, PAT, Bine",
    .about = "The networks and sizes of other planners' published "
             "results: theirs, the bound that no algorithm exceeds, "
             "the fastest of our plans, and how long it takes to make.",
    .run = run};
