/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/field_allocations.c: bytes on global links for jobs that a busy machine has scattered over
 * groups.
 *
 * Bine (D. De Sensi et al., SC 2025) counts what an all-reduce sends between the groups of a Dragonfly: in
 * Rabenseifner's algorithm, where rank r meets r xor 2^s in step s, and in its own, where the partner is
 * (1 - (-2)^(s+1)) / 3 ranks away, up for even ranks and down for odd ones; step s moves 1/2^(s+1) of the
 * vector, to and fro. So it is counted in github.com/HLC-Lab/pico, and here, for powers of two. Its
 * allocations are those of LUMI and Leonardo, which are not available; these here are of the same shape: 24
 * groups of 124 nodes (LUMI-G), of which other jobs hold runs of nodes, and the job gets the next free ones
 * from some node on, in their order. Jobs that fit into one group send nothing and are left out.
 *
 * Every group's sum must leave it, and the whole must come in: no all-reduce of whole partial sums sends
 * less than 2 (g - 1) vectors between g groups. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/random.h"
#include "planner/planner.h"
#include "reproduce/field_networks.h"
#include "topology/build.h"

enum { GROUPS = 24, GROUP_NODES = 124, NODES = GROUPS * GROUP_NODES, SIZES = 4, PER_SIZE = 300 };

static const int sizes[SIZES] = {16, 32, 64, 128};

typedef struct {
    int ranks, groups;
    int group[128];                            /* by rank, 0..groups-1, ascending */
    double rabenseifner, bine, ours, at_least; /* vectors between groups */
} allocation;

/* Jobs of others: runs of nodes, until the wanted share is taken. */
static void fill(banyan_random *random, unsigned char *busy)
{
    int wanted = (int)(NODES * (0.5 + 0.45 * banyan_random_unit(random))), taken = 0;

    memset(busy, 0, NODES);
    while (taken < wanted) {
        int run = 1 << banyan_random_below(random, 7), at = banyan_random_below(random, NODES);

        for (int i = 0; i < run && taken < wanted; i++) {
            taken += !busy[(at + i) % NODES];
            busy[(at + i) % NODES] = 1;
        }
    }
}

/* The next free nodes, in their order. 0: there are too few. */
static int allocate(banyan_random *random, int ranks, allocation *out)
{
    unsigned char busy[NODES], mine[NODES] = {0};
    int at = banyan_random_below(random, NODES), count = 0, last = -1;

    fill(random, busy);
    for (int i = 0; i < NODES && count < ranks; i++)
        if (!busy[(at + i) % NODES]) {
            mine[(at + i) % NODES] = 1;
            count++;
        }
    out->ranks = 0;
    out->groups = 0;
    for (int v = 0; v < NODES; v++) {
        if (!mine[v])
            continue;
        out->groups += v / GROUP_NODES != last;
        last = v / GROUP_NODES;
        out->group[out->ranks++] = out->groups - 1;
    }
    return count == ranks;
}

static int bine_partner(int rank, int step, int ranks)
{
    int distance = (1 - (step % 2 ? 1 : -1) * (1 << (step + 1))) / 3;

    return (rank + (rank % 2 ? -distance : distance) + 2 * ranks) % ranks;
}

/* Reduce-scatter and all-gather of a butterfly. */
static double count_butterfly(const allocation *a, int is_bine)
{
    double vectors = 0, part = 0.5;

    for (int step = 0; 1 << step < a->ranks; step++, part /= 2)
        for (int r = 0; r < a->ranks; r++) {
            int partner = is_bine ? bine_partner(r, step, a->ranks) : r ^ 1 << step;

            vectors += a->group[r] != a->group[partner] ? 2 * part : 0;
        }
    return vectors;
}

/* Groups are hosts: each with a switch of its own, all joined by one. */
static banyan_status build_groups(const allocation *a, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    int net, *local = banyan_alloc((size_t)a->groups, sizeof *local);

    if (!local)
        return banyan_fail_memory(err);
    banyan_topology_builder_init(&builder, "groups");
    for (int r = 0; r < a->ranks; r++)
        banyan_topology_add_worker_f(&builder, -1, "n%d", r);
    net = banyan_topology_add_switch(&builder, "global");
    for (int g = 0; g < a->groups; g++) {
        local[g] = banyan_topology_add_switch_f(&builder, "group%d", g);
        banyan_topology_add_cable(&builder, local[g], net, 25e9, 1e-6);
    }
    for (int r = 0; r < a->ranks; r++)
        banyan_topology_add_cable(&builder, r, local[a->group[r]], 25e9, 1e-6);
    banyan_free(local);
    return banyan_topology_builder_finish(&builder, out, err);
}

static double count_schedule(const allocation *a, const banyan_schedule *schedule)
{
    double vectors = 0;

    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];

        if (a->group[t->src] != a->group[t->dst])
            vectors +=
                (double)(schedule->cut[t->first_piece + t->piece_count] - schedule->cut[t->first_piece]) /
                (double)schedule->whole;
    }
    return vectors;
}

static banyan_status count_one(void *context, int i, banyan_error *err)
{
    allocation *a = (allocation *)context + i;
    banyan_topology *topology = NULL;
    banyan_schedule *schedule = NULL;
    banyan_status status = build_groups(a, &topology, err);

    if (!status) {
        banyan_problem problem = {.topology = topology,
                                  .active = topology->workers,
                                  .active_count = topology->worker_count,
                                  .collective = BANYAN_COLLECTIVE_ALLREDUCE};

        status = banyan_algorithm_build(banyan_algorithm_find("flexreduce"), &problem, &schedule, err);
    }
    if (!status)
        a->ours = count_schedule(a, schedule);
    a->rabenseifner = count_butterfly(a, 0);
    a->bine = count_butterfly(a, 1);
    a->at_least = 2.0 * (a->groups - 1);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(topology);
    return status;
}

static void show(banyan_reproduction *r, const allocation *a, int count)
{
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){
               .name = "allocations",
               .title = "Bine: bytes on global links, jobs scattered over groups",
               .setting = "all-reduce; 24 groups of 124 nodes, 50 to 95 % of them held by others; 300 "
                          "jobs of each size that meet two groups or more; means, in vectors. Ours is "
                          "flexreduce; no all-reduce of whole partial sums sends less than the last "
                          "column. The machines' own allocations are not available.",
               .kind = BANYAN_FIGURE_TABLE,
               .x = "ranks",
               .y = "vectors between groups",
               .tolerance = 1e-6});
    double most = 0, least = 1, worst = 0, sum[4];
    char reason[160];
    int worse = 0;

    for (int s = 0; s < SIZES; s++) {
        char label[16];

        memset(sum, 0, sizeof sum);
        for (int i = s * PER_SIZE; i < (s + 1) * PER_SIZE; i++) {
            double saved = 1 - a[i].bine / a[i].rabenseifner;

            sum[0] += a[i].rabenseifner / PER_SIZE;
            sum[1] += a[i].bine / PER_SIZE;
            sum[2] += a[i].ours / PER_SIZE;
            sum[3] += a[i].at_least / PER_SIZE;
            most = fmax(most, saved);
            least = fmin(least, saved);
            worse += saved < 0;
            worst = fmax(worst, a[i].ours / a[i].at_least);
        }
        snprintf(label, sizeof label, "%d", sizes[s]);
        banyan_figure_add(f, BANYAN_OURS, "Rabenseifner", sizes[s], label, sum[0]);
        banyan_figure_add(f, BANYAN_OURS, "Bine", sizes[s], label, sum[1]);
        banyan_figure_add(f, BANYAN_OURS, "ours", sizes[s], label, sum[2]);
        banyan_figure_add(f, BANYAN_OTHERS, "at least", sizes[s], label, sum[3]);
    }
    snprintf(reason, sizeof reason,
             "over %d allocations the saving is from %.1f to %.1f %%; %d have more than before", count,
             100 * least, 100 * most, worse);
    banyan_figure_state(f, "Bine sends up to 33 % less over global links than Rabenseifner's algorithm",
                        most <= 1.0 / 3 + 1e-9 && most > 0, reason);
    banyan_figure_state(f, "Bine sends consistently less over global links", !worse, reason);
    snprintf(reason, sizeof reason, "at most %.3f times that, over %d allocations", worst, count);
    banyan_figure_claim(f, "ours sends no more over global links than any all-reduce must", worst < 1 + 1e-6,
                        reason);
}

banyan_status field_show_allocations(banyan_reproduction *r, banyan_error *err)
{
    enum { COUNT = SIZES * PER_SIZE };
    allocation *a = banyan_alloc(COUNT, sizeof *a);
    banyan_random random = {.state = 2025};
    banyan_status status = a ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; !status && i < COUNT;)
        i += allocate(&random, sizes[i / PER_SIZE], &a[i]) && a[i].groups > 1;
    if (!status)
        status = banyan_reproduce_jobs(r, COUNT, count_one, a, err);
    if (!status)
        show(r, a, COUNT);
    banyan_free(a);
    return status;
}
