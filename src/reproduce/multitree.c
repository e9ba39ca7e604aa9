/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/multitree.c: the evaluation of the MultiTree paper (ISCA 2021): Table I, Fig. 2 and 9 to 11. */
#include "reproduce/multitree.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "simulate/simulate.h"

/* Table I: the paper's words beside figures of ours. */
static const struct {
    const char *name, *algorithm, *network, *latency, *bandwidth, *contention, *everywhere;
} rows[] = {{"Ring", "ring", "torus:8x8", "high", "optimal", "none", "no"},
            {"DBTree", "double-tree", "torus:8x8", "low", "optimal", "high", "no"},
            {"2D-Ring", "ring2d", "torus:8x8", "low", "sub-optimal", "none", "no"},
            {"HDRM", "hdrm", "bigraph:4x16", "low", "optimal", "none", "no"},
            {"MultiTree", "multitree", "torus:8x8", "low", "optimal", "none", "yes"}};

static banyan_status measure(const char *algorithm, const char *network, banyan_limits *limits, int *rounds,
                             banyan_error *err)
{
    banyan_schedule *schedule = NULL;
    paper_network loaded;
    banyan_status status = multitree_network_init(network, &loaded, err);

    if (!status)
        status = banyan_algorithm_build(banyan_algorithm_find(algorithm), &loaded.problem, &schedule, err);
    if (!status)
        status = banyan_bandwidth_limit(schedule, loaded.topology, limits, err);
    *rounds = status ? 0 : schedule->round_count;
    banyan_schedule_destroy(schedule);
    paper_network_fini(&loaded);
    return status;
}

/* Whether it serves a torus, a fat-tree and a BiGraph. */
static int applies_everywhere(const char *algorithm)
{
    static const char *const networks[] = {"torus:8x8", "fattree:8x8", "bigraph:4x16", "mesh:4x4"};
    banyan_limits limits;
    int rounds, count = 0;

    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        count += !measure(algorithm, networks[i], &limits, &rounds, NULL);
    return count == (int)(sizeof networks / sizeof *networks);
}

static banyan_status table1(banyan_reproduction *reproduction, banyan_error *err)
{
    banyan_figure *f = banyan_figure_open(
        reproduction,
        &(banyan_figure_head){
            .name = "table1",
            .title = "Table I: all-reduce algorithms compared",
            .setting =
                "The paper's words, and what our schedules have: rounds and the longest chain of hops "
                "(latency), the most that a worker sends in vectors (2 (p-1)/p is least), the rate in the "
                "limit as a share of the bound on the network named (links shared or idle show here), and "
                "whether torus, mesh, fat-tree and BiGraph are all served.",
            .kind = BANYAN_FIGURE_TABLE,
            .x = "algorithm",
            .tolerance = 0.001});

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double bound = 1;
        banyan_limits limits;
        int rounds;
        banyan_status status = measure(rows[i].algorithm, rows[i].network, &limits, &rounds, err);

        if (!status)
            status = multitree_bound(rows[i].network, &bound, err);
        if (status)
            return status;
        banyan_figure_add_word(f, BANYAN_PAPERS, "small, latency", rows[i].name, rows[i].latency);
        banyan_figure_add_word(f, BANYAN_PAPERS, "large, bandwidth", rows[i].name, rows[i].bandwidth);
        banyan_figure_add_word(f, BANYAN_PAPERS, "contention", rows[i].name, rows[i].contention);
        banyan_figure_add_word(f, BANYAN_PAPERS, "any topology", rows[i].name, rows[i].everywhere);
        banyan_figure_add_word(f, BANYAN_OTHERS, "network", rows[i].name, rows[i].network);
        banyan_figure_add(f, BANYAN_OURS, "rounds", 0, rows[i].name, rounds);
        banyan_figure_add(f, BANYAN_OURS, "hops", 0, rows[i].name, limits.depth);
        banyan_figure_add(f, BANYAN_OURS, "vectors sent", 0, rows[i].name, limits.volume);
        banyan_figure_add(f, BANYAN_OURS, "share of bound", 0, rows[i].name, limits.bytes_per_s / bound);
        banyan_figure_add_word(f, BANYAN_OURS, "everywhere", rows[i].name,
                               applies_everywhere(rows[i].algorithm) ? "yes" : "no");
    }
    banyan_figure_state(f, "Ring and DBTree do not serve any topology",
                        !applies_everywhere("ring") && !applies_everywhere("double-tree"),
                        "as schedules over routes both run on all four networks");
    return BANYAN_SUCCESS;
}

static banyan_status run(banyan_reproduction *reproduction, banyan_error *err)
{
    multitree_torus *torus = banyan_alloc(1, sizeof *torus);
    banyan_status status = torus ? table1(reproduction, err) : banyan_fail_memory(err);

    if (!status)
        status = multitree_fig9(reproduction, torus, err);
    if (!status)
        status = multitree_fig10(reproduction, err);
    if (!status)
        status = multitree_fig11(reproduction, torus, err);
    if (!status)
        status = multitree_text(reproduction, err);
    banyan_free(torus);
    return status;
}

const banyan_paper banyan_paper_multitree = {
    .name = "multitree",
    .title = "J. Huang et al., Communication Algorithm-Architecture Co-Design for Distributed Deep Learning "
             "(MultiTree), 2021",
    .about = "All-reduce on eight networks from 32 KiB to 64 MiB, weak scaling on tori and seven networks in "
             "training, cycle by cycle, with rivals that the paper lacks.",
    .run = run};
