/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/multitree_fig9.c: Fig. 9 of the MultiTree paper: bandwidth over size on eight networks.
 *
 * A simulation costs in proportion to the flits that it moves one by one. Each is simulated up to the size at
 * which that takes some seconds, and beyond it we go along the line through the two largest: from there on
 * every step only grows longer. At 64 MiB on the 8x8 torus packets of ring, 2D-ring and MultiTree are 0, 1.2
 * and 1.2 % faster so than when simulated. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "reproduce/multitree.h"

enum { NETWORKS = 8, BIGRAPHS = 6, AUTHORS_SIZES = 2 };

typedef struct {
    const char *name, *title, *spec;
    size_t most_packet_bytes, most_message_bytes; /* that are simulated with packets, and with messages */
} network;

static const network networks[NETWORKS] = {
    {"fig9a-torus-4x4", "Fig. 9a: 4x4 torus", "torus:4x4", (size_t)16 << 20, (size_t)64 << 20},
    {"fig9a-torus-8x8", "Fig. 9a: 8x8 torus", "torus:8x8", (size_t)4 << 20, (size_t)16 << 20},
    {"fig9b-mesh-4x4", "Fig. 9b: 4x4 mesh", "mesh:4x4", (size_t)16 << 20, (size_t)64 << 20},
    {"fig9b-mesh-8x8", "Fig. 9b: 8x8 mesh", "mesh:8x8", (size_t)4 << 20, (size_t)16 << 20},
    {"fig9c-fattree-16", "Fig. 9c: fat-tree of 16", "fattree:8x2", (size_t)16 << 20, (size_t)64 << 20},
    {"fig9c-fattree-64", "Fig. 9c: fat-tree of 64", "fattree:8x8", (size_t)4 << 20, (size_t)16 << 20},
    {"fig9d-bigraph-32", "Fig. 9d: BiGraph of 32", "bigraph:4x8", (size_t)4 << 20, (size_t)16 << 20},
    {"fig9d-bigraph-64", "Fig. 9d: BiGraph of 64", "bigraph:4x16", (size_t)4 << 20, (size_t)16 << 20}};

/* Cycles of the authors' simulator (farabimahmud/accelerator, b241ca1), with its 4 ports on tori and meshes
 * and 1 elsewhere. */
static const struct {
    int network, rival;
    size_t kib;
    double cycles;
} authors[] = {{0, RIVAL_RING, 32, 9344},
               {0, RIVAL_RING, 1024, 143264},
               {0, RIVAL_RING, 4096, 557984},
               {0, RIVAL_RING_2D, 1024, 72178},
               {0, RIVAL_RING_2D, 4096, 263992},
               {0, RIVAL_DOUBLE_TREE, 1024, 243656},
               {0, RIVAL_MULTITREE, 1024, 61984},
               {0, RIVAL_MULTITREE, 4096, 209495},
               {0, RIVAL_MULTITREE_MSG, 32, 3272},
               {0, RIVAL_MULTITREE_MSG, 1024, 45893},
               {0, RIVAL_MULTITREE_MSG, 4096, 186686},
               {1, RIVAL_RING, 32, 25916},
               {1, RIVAL_RING, 1024, 165776},
               {1, RIVAL_RING, 4096, 601232},
               {1, RIVAL_RING_2D, 1024, 121378},
               {1, RIVAL_RING_2D, 4096, 422232},
               {1, RIVAL_DOUBLE_TREE, 1024, 242920},
               {1, RIVAL_MULTITREE, 1024, 73032},
               {1, RIVAL_MULTITREE, 4096, 268809},
               {1, RIVAL_MULTITREE_MSG, 32, 4501},
               {1, RIVAL_MULTITREE_MSG, 1024, 56738},
               {1, RIVAL_MULTITREE_MSG, 4096, 226756},
               {2, RIVAL_MULTITREE, 32, 5348},
               {2, RIVAL_MULTITREE_MSG, 32, 5313},
               {2, RIVAL_RING, 32, 9345},
               {2, RIVAL_RING, 512, 74145},
               {2, RIVAL_RING_2D, 512, 75834},
               {2, RIVAL_DOUBLE_TREE, 512, 121600},
               {2, RIVAL_MULTITREE, 512, 61126},
               {2, RIVAL_MULTITREE_MSG, 512, 53000},
               {4, RIVAL_MULTITREE, 32, 5386},
               {4, RIVAL_MULTITREE_MSG, 32, 5095},
               {4, RIVAL_RING, 32, 18347},
               {4, RIVAL_RING, 512, 83147},
               {4, RIVAL_DOUBLE_TREE, 512, 122975},
               {4, RIVAL_MULTITREE, 512, 66613},
               {4, RIVAL_MULTITREE_MSG, 512, 62803},
               {6, RIVAL_MULTITREE, 32, 5350},
               {6, RIVAL_MULTITREE_MSG, 32, 5131},
               {6, RIVAL_HDRM, 32, 9249},
               {6, RIVAL_RING, 32, 33539},
               {6, RIVAL_RING, 512, 100251},
               {6, RIVAL_DOUBLE_TREE, 512, 135353},
               {6, RIVAL_HDRM, 512, 76201},
               {6, RIVAL_MULTITREE, 512, 68661},
               {6, RIVAL_MULTITREE_MSG, 512, 64755},
               {7, RIVAL_MULTITREE, 32, 5404},
               {7, RIVAL_MULTITREE_MSG, 32, 5286},
               {7, RIVAL_HDRM, 32, 10258},
               {7, RIVAL_RING, 32, 63719},
               {7, RIVAL_RING, 512, 131003},
               {7, RIVAL_DOUBLE_TREE, 512, 133419},
               {7, RIVAL_HDRM, 512, 78278},
               {7, RIVAL_MULTITREE, 512, 69685},
               {7, RIVAL_MULTITREE_MSG, 512, 65779}};

typedef struct {
    double seconds[NETWORKS][RIVAL_COUNT][MULTITREE_SIZES];
    double crossing[NETWORKS][MULTITREE_SIZES]; /* BiGraphs: RING with the authors' order */
    double bound[NETWORKS];
} results;

static int is_simulated(int n, int rival, int size)
{
    int is_light = multitree_rivals[rival].flow == BANYAN_FLOW_MESSAGE;

    return multitree_sizes[size] <=
           (is_light ? networks[n].most_message_bytes : networks[n].most_packet_bytes);
}

/* On along the line, but nowhere faster than the bound grows. NAN where it does not apply: then all sizes
 * are. */
static void extend(double seconds[MULTITREE_SIZES], int n, int rival, double bound)
{
    for (int s = 2; s < MULTITREE_SIZES; s++)
        if (!is_simulated(n, rival, s)) {
            double last = (double)multitree_sizes[s - 1], before = (double)multitree_sizes[s - 2];
            double slope = (seconds[s - 1] - seconds[s - 2]) / (last - before);

            if (slope < 1 / bound)
                slope = 1 / bound;
            seconds[s] = seconds[s - 1] + slope * ((double)multitree_sizes[s] - last);
        }
}

static banyan_status simulate(banyan_reproduction *reproduction, results *r, banyan_error *err)
{
    multitree_run *runs = banyan_alloc((size_t)NETWORKS * RIVAL_COUNT * MULTITREE_SIZES, sizeof *runs);
    banyan_status status;
    int count = 0, k = 0;

    if (!runs)
        return banyan_fail_memory(err);
    for (int n = 0; n < NETWORKS; n++)
        for (int rival = 0; rival < RIVAL_COUNT; rival++)
            for (int s = 0; s < MULTITREE_SIZES; s++)
                if (is_simulated(n, rival, s))
                    runs[count++] = (multitree_run){.network = networks[n].spec,
                                                    .rival = rival,
                                                    .flow = -1,
                                                    .interface_kind = -1,
                                                    .bytes = multitree_sizes[s]};
    status = multitree_simulate(reproduction, runs, count, err);
    for (int n = 0; !status && n < NETWORKS; n++)
        status = multitree_bound(networks[n].spec, &r->bound[n], err);
    for (int n = 0; n < NETWORKS; n++)
        for (int rival = 0; rival < RIVAL_COUNT; rival++) {
            for (int s = 0; s < MULTITREE_SIZES; s++)
                if (is_simulated(n, rival, s))
                    r->seconds[n][rival][s] = runs[k++].seconds;
            extend(r->seconds[n][rival], n, rival, r->bound[n]);
        }
    banyan_free(runs);
    return status;
}

static int size_index(size_t kib)
{
    int s = 0;

    while (multitree_sizes[s] != kib << 10)
        s++;
    return s;
}

/* The ring of the authors' program goes to the other layer of a BiGraph with each step: to every switch there
 * in turn, so that no two steps meet on a cable. Ours stays on a switch as long as it can. */
static void name_crossing_order(const char *spec, char *out, size_t size)
{
    int each = 0, switches = 0, layer;
    size_t used = 0;

    sscanf(spec, "bigraph:%dx%d", &each, &switches);
    layer = switches / 2;
    for (int i = 0; i < each; i++)
        for (int a = 0; a < layer; a++)
            used += (size_t)snprintf(out + used, size - used, "%s%d,%d", used ? "," : "", a * each + i,
                                     (layer + (a + i) % layer) * each + i);
}

static banyan_status simulate_crossing(banyan_reproduction *reproduction, results *r, banyan_error *err)
{
    static const size_t kib[AUTHORS_SIZES] = {32, 512};
    multitree_run runs[(NETWORKS - BIGRAPHS) * AUTHORS_SIZES];
    char order[NETWORKS - BIGRAPHS][512];
    int count = 0;
    banyan_status status;

    for (int n = BIGRAPHS; n < NETWORKS; n++) {
        name_crossing_order(networks[n].spec, order[n - BIGRAPHS], sizeof *order);
        for (int i = 0; i < AUTHORS_SIZES; i++)
            runs[count++] = (multitree_run){.network = networks[n].spec,
                                            .rival = RIVAL_RING,
                                            .flow = -1,
                                            .interface_kind = -1,
                                            .order = order[n - BIGRAPHS],
                                            .bytes = kib[i] << 10};
    }
    status = multitree_simulate(reproduction, runs, count, err);
    for (int i = 0; i < count; i++)
        r->crossing[BIGRAPHS + i / AUTHORS_SIZES][size_index(kib[i % AUTHORS_SIZES])] = runs[i].seconds;
    return status;
}

static void add_points(banyan_figure *f, const results *r, int n)
{
    char label[32];

    for (int rival = 0; rival < RIVAL_COUNT; rival++)
        for (int s = 0; s < MULTITREE_SIZES; s++) {
            multitree_name_size(multitree_sizes[s], label, sizeof label);
            if (isfinite(r->seconds[n][rival][s]))
                banyan_figure_add(f, BANYAN_OURS, multitree_rivals[rival].name, (double)multitree_sizes[s],
                                  label, (double)multitree_sizes[s] / r->seconds[n][rival][s] / 1e9);
        }
    for (int s = 0; s < MULTITREE_SIZES; s++) {
        multitree_name_size(multitree_sizes[s], label, sizeof label);
        banyan_figure_add(f, BANYAN_OTHERS, "bound", (double)multitree_sizes[s], label, r->bound[n] / 1e9);
    }
}

static void add_authors(banyan_figure *f, const results *r, int n)
{
    for (size_t i = 0; i < sizeof authors / sizeof *authors; i++) {
        int rival = authors[i].rival, s;
        int crosses = rival == RIVAL_RING && n >= BIGRAPHS;
        char what[96], label[32], reason[160];

        if (authors[i].network != n)
            continue;
        s = size_index(authors[i].kib);
        multitree_name_size(authors[i].kib << 10, label, sizeof label);
        snprintf(what, sizeof what, "%s, %s, cycles in the authors' simulator", multitree_rivals[rival].name,
                 label);
        snprintf(reason, sizeof reason,
                 "with the order of their program, which changes the layer at every step; the default order, "
                 "which is drawn, takes %.0f",
                 r->seconds[n][rival][s] * 1e9);
        banyan_figure_compare(f, what, BANYAN_OTHERS, authors[i].cycles,
                              (crosses ? r->crossing[n][s] : r->seconds[n][rival][s]) * 1e9,
                              crosses ? reason : NULL);
    }
}

/* Whether a is at least as fast as b at every size of the range; NAN never is. */
static int beats(const results *r, int n, int a, int b, int from, int to, double slack)
{
    for (int s = from; s <= to; s++)
        if (isfinite(r->seconds[n][b][s]) && !(r->seconds[n][a][s] <= r->seconds[n][b][s] * (1 + slack)))
            return 0;
    return 1;
}

enum { FIRST = 0, MEBIBYTE = 3, LAST = MULTITREE_SIZES - 1 };
#define REASON 128

/* Where in the range a stands worst against b. */
static const char *explain(const results *r, int n, int a, int b, int from, int to, char reason[REASON])
{
    const double *own = r->seconds[n][a], *other = r->seconds[n][b];
    char size[32];
    int worst = from;

    for (int s = from; s <= to; s++)
        if (own[s] / other[s] > own[worst] / other[worst])
            worst = s;
    multitree_name_size(multitree_sizes[worst], size, sizeof size);
    snprintf(reason, REASON, "at %s %s takes %.0f cycles, %s %.0f", size, multitree_rivals[a].name,
             own[worst] * 1e9, multitree_rivals[b].name, other[worst] * 1e9);
    return reason;
}

static void state_grid(banyan_figure *f, const results *r, int n)
{
    char reason[REASON];

    banyan_figure_state(f, "MULTITREEMSG is the best of the paper's algorithms at every size",
                        beats(r, n, RIVAL_MULTITREE_MSG, RIVAL_RING, FIRST, LAST, 0) &&
                            beats(r, n, RIVAL_MULTITREE_MSG, RIVAL_RING_2D, FIRST, LAST, 0) &&
                            beats(r, n, RIVAL_MULTITREE_MSG, RIVAL_DOUBLE_TREE, FIRST, LAST, 0),
                        explain(r, n, RIVAL_MULTITREE_MSG, RIVAL_RING_2D, FIRST, LAST, reason));
    banyan_figure_state(f, "DBTREE is the worst from 1 MiB up",
                        beats(r, n, RIVAL_RING, RIVAL_DOUBLE_TREE, MEBIBYTE, LAST, 0) &&
                            beats(r, n, RIVAL_RING_2D, RIVAL_DOUBLE_TREE, MEBIBYTE, LAST, 0),
                        explain(r, n, RIVAL_RING, RIVAL_DOUBLE_TREE, MEBIBYTE, LAST, reason));
    banyan_figure_claim(f, "forest is at least as fast as MULTITREEMSG with a port a cable from 1 MiB up",
                        beats(r, n, RIVAL_FOREST, RIVAL_MULTITREE_CABLE, MEBIBYTE, LAST, 0.001), NULL);
    if (n == 3)
        banyan_figure_state(f, "2D-RING is worse than RING at 64 MiB",
                            !beats(r, n, RIVAL_RING_2D, RIVAL_RING, LAST, LAST, 0),
                            explain(r, n, RIVAL_RING_2D, RIVAL_RING, LAST, LAST, reason));
    else
        banyan_figure_state(f, "2D-RING is better than RING",
                            beats(r, n, RIVAL_RING_2D, RIVAL_RING, FIRST, LAST, 0),
                            explain(r, n, RIVAL_RING_2D, RIVAL_RING, FIRST, LAST, reason));
}

static void state_switches(banyan_figure *f, const results *r, int n)
{
    char reason[REASON];

    banyan_figure_state(f, "MULTITREE is faster than RING at 32 KiB",
                        beats(r, n, RIVAL_MULTITREE, RIVAL_RING, FIRST, FIRST, 0),
                        explain(r, n, RIVAL_MULTITREE, RIVAL_RING, FIRST, FIRST, reason));
    banyan_figure_state(f, "MULTITREE equals RING at 64 MiB, within 10 %",
                        beats(r, n, RIVAL_MULTITREE, RIVAL_RING, LAST, LAST, 0.1) &&
                            beats(r, n, RIVAL_RING, RIVAL_MULTITREE, LAST, LAST, 0.1),
                        explain(r, n, RIVAL_MULTITREE, RIVAL_RING, LAST, LAST, reason));
    banyan_figure_claim(f, "forest is at least as fast as MULTITREEMSG with a port a cable from 1 MiB up",
                        beats(r, n, RIVAL_FOREST, RIVAL_MULTITREE_CABLE, MEBIBYTE, LAST, 0.001), NULL);
    if (n >= BIGRAPHS) {
        banyan_figure_state(f, "HDRM is slower than MULTITREE at 32 KiB",
                            beats(r, n, RIVAL_MULTITREE, RIVAL_HDRM, FIRST, FIRST, 0),
                            explain(r, n, RIVAL_MULTITREE, RIVAL_HDRM, FIRST, FIRST, reason));
        banyan_figure_state(f, "HDRM equals MULTITREE at 64 MiB, within 10 %",
                            beats(r, n, RIVAL_MULTITREE, RIVAL_HDRM, LAST, LAST, 0.1) &&
                                beats(r, n, RIVAL_HDRM, RIVAL_MULTITREE, LAST, LAST, 0.1),
                            explain(r, n, RIVAL_HDRM, RIVAL_MULTITREE, LAST, LAST, reason));
    }
}

static void add_figure(banyan_reproduction *reproduction, const results *r, int n)
{
    char setting[1200], packets[32], messages[32];
    banyan_figure *f;

    multitree_name_size(networks[n].most_packet_bytes, packets, sizeof packets);
    multitree_name_size(networks[n].most_message_bytes, messages, sizeof messages);
    snprintf(
        setting, sizeof setting,
        "Flit engine, cycle accurate, with the paper's Table III: 16 GB/s, 150 ns, 4 channels of 318 flits, "
        "16 B flits, 256 B packets, NOP lockstep. The paper's algorithms use its authors' network interface "
        "(interface=authors), packets, and trees as their program grows them (order=yx, steps=released), "
        "multitree-msg messages; double-tree travels in a slice per node, as theirs; our "
        "additions "
        "use messages and a port a cable: the order of neighbours "
        "that reaches the bound on tori (split), rings both ways, edge-disjoint rings, and forest, which "
        "chooses its trees for each size. Packets are simulated up to %s, messages up to %s; beyond, times "
        "go on "
        "in a straight line. The same build gives the same cycles; the tolerance is for other compilers and "
        "LP "
        "libraries, with which forest may choose otherwise between trees that are equally good.",
        packets, messages);
    f = banyan_figure_open(reproduction, &(banyan_figure_head){.name = networks[n].name,
                                                               .title = networks[n].title,
                                                               .setting = setting,
                                                               .kind = BANYAN_FIGURE_LINES,
                                                               .x = "size",
                                                               .y = "GB/s",
                                                               .is_log_x = 1,
                                                               .is_log_y = 1,
                                                               .tolerance = 0.02});
    add_points(f, r, n);
    add_authors(f, r, n);
    if (n < 4)
        state_grid(f, r, n);
    else
        state_switches(f, r, n);
}

banyan_status multitree_fig9(banyan_reproduction *reproduction, multitree_torus *torus, banyan_error *err)
{
    results *r = banyan_alloc(1, sizeof *r);
    banyan_status status = r ? simulate(reproduction, r, err) : banyan_fail_memory(err);

    if (!status)
        status = simulate_crossing(reproduction, r, err);
    for (int n = 0; !status && n < NETWORKS; n++)
        add_figure(reproduction, r, n);
    if (!status)
        memcpy(torus->seconds, r->seconds[1], sizeof torus->seconds);
    banyan_free(r);
    return status;
}
