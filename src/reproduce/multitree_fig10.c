/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/multitree_fig10.c: Fig. 10 of the MultiTree paper: tori of 16 to 256 nodes, 375 KiB for each.
 *
 * All compete with messages here, so that like is compared with like. The fluid engine plays all sizes, round
 * by round; the flit engine plays 16, 36, 64, 144 and 256 nodes beside it. */
#include <math.h>
#include <stdio.h>

#include "core/alloc.h"
#include "reproduce/multitree.h"

enum { TORI = 7, CONTENDERS = 6, FLIT_TORI = 5, FOREST = 5 };

static const int sides[TORI] = {4, 6, 8, 10, 12, 14, 16};
static const int flit_tori[FLIT_TORI] = {0, 1, 2, 4, 6}; /* which of them */
static const int contenders[CONTENDERS] = {
    RIVAL_RING, RIVAL_RING_2D, RIVAL_MULTITREE_MSG, RIVAL_MULTITREE_SPLIT, RIVAL_MULTI_RING, RIVAL_FOREST};
static const char *const names[CONTENDERS] = {
    "ring", "2d-ring", "multitree-msg", "multitree-msg, split", "multi-ring", "forest"};

typedef struct {
    char network[TORI][24];
    double seconds[TORI][CONTENDERS];
    double flit_s[FLIT_TORI][CONTENDERS];
    double packet_ring_s, packet_ring2d_s, authors_multitree_s; /* authors' interface, 16 nodes */
    double bound[TORI];
} scaling;

static double size_of(int torus)
{
    return 375.0 * 1024 * sides[torus] * sides[torus];
}

static banyan_status simulate(banyan_reproduction *reproduction, scaling *s, banyan_error *err)
{
    multitree_run runs[(TORI + FLIT_TORI) * CONTENDERS + 3];
    banyan_status status;
    int count = 0;

    for (int t = 0; t < TORI + FLIT_TORI; t++) {
        int torus = t < TORI ? t : flit_tori[t - TORI];

        snprintf(s->network[torus], sizeof s->network[torus], "torus:%dx%d", sides[torus], sides[torus]);
        for (int c = 0; c < CONTENDERS; c++)
            runs[count++] = (multitree_run){.network = s->network[torus],
                                            .rival = contenders[c],
                                            .flow = BANYAN_FLOW_MESSAGE,
                                            .bytes = (size_t)size_of(torus),
                                            .by_fluid = t < TORI};
    }
    for (int c = 0; c < 3; c++)
        runs[count++] = (multitree_run){.network = s->network[0],
                                        .rival = contenders[c],
                                        .flow = c < 2 ? BANYAN_FLOW_PACKET : BANYAN_FLOW_MESSAGE,
                                        .interface_kind = BANYAN_INTERFACE_AUTHORS,
                                        .bytes = (size_t)size_of(0)};
    status = multitree_simulate(reproduction, runs, count, err);
    for (int t = 0; t < TORI; t++)
        for (int c = 0; c < CONTENDERS; c++)
            s->seconds[t][c] = runs[t * CONTENDERS + c].seconds;
    for (int t = 0; t < FLIT_TORI; t++)
        for (int c = 0; c < CONTENDERS; c++)
            s->flit_s[t][c] = runs[(TORI + t) * CONTENDERS + c].seconds;
    s->packet_ring_s = runs[count - 3].seconds;
    s->packet_ring2d_s = runs[count - 2].seconds;
    s->authors_multitree_s = runs[count - 1].seconds;
    for (int t = 0; !status && t < TORI; t++)
        status = multitree_bound(s->network[t], &s->bound[t], err);
    return status;
}

/* With 16 nodes, the authors' interface: packets for the rings, messages for MULTITREEMSG. */
static void compare_smallest(banyan_figure *f, const scaling *s)
{
    static const char *const names_of[] = {"RING", "2D-RING"};
    static const double papers[] = {3.0, 1.4}, programs[] = {3.01, 1.43};
    static const double cycles[] = {815144, 387664}; /* of the authors' program, and MULTITREEMSG's: */
    const double multitree = 270833, ours[] = {s->packet_ring_s, s->packet_ring2d_s};

    for (int i = 0; i < 2; i++) {
        char what[96], reason[160];

        snprintf(reason, sizeof reason,
                 "%s takes %.0f cycles and MULTITREEMSG %.0f, in the authors' program %.0f and %.0f",
                 names_of[i], ours[i] * 1e9, s->authors_multitree_s * 1e9, cycles[i], multitree);
        snprintf(what, sizeof what, "%s over MULTITREEMSG, 16 nodes%s", names_of[i],
                 i ? "" : ", packets against messages");
        banyan_figure_compare(f, what, BANYAN_PAPERS, papers[i], ours[i] / s->authors_multitree_s, reason);
        snprintf(what, sizeof what, "%s over MULTITREEMSG, 16 nodes, the authors' simulator", names_of[i]);
        banyan_figure_compare(f, what, BANYAN_OTHERS, programs[i], ours[i] / s->authors_multitree_s, reason);
    }
}

/* The least and the most over all sizes, and the flit engine's at the largest. */
static void compare_all(banyan_figure *f, const scaling *s, int c, const char *name, double theirs)
{
    const double *flit_s = s->flit_s[FLIT_TORI - 1];
    int least = 0, most = 0;
    char what[96], reason[160];

    for (int t = 0; t < TORI; t++) {
        double times = s->seconds[t][c] / s->seconds[t][2];

        least = times < s->seconds[least][c] / s->seconds[least][2] ? t : least;
        most = times > s->seconds[most][c] / s->seconds[most][2] ? t : most;
    }
    for (int i = 0; i < 2; i++) {
        int t = i ? most : least;

        snprintf(what, sizeof what, "%s over MULTITREEMSG, 16 to 256 nodes, %s", name, i ? "most" : "least");
        snprintf(reason, sizeof reason, "with %d nodes: %.0f and %.0f us", sides[t] * sides[t],
                 s->seconds[t][c] * 1e6, s->seconds[t][2] * 1e6);
        banyan_figure_compare(f, what, BANYAN_PAPERS, theirs, s->seconds[t][c] / s->seconds[t][2], reason);
    }
    snprintf(what, sizeof what, "%s over MULTITREEMSG, 256 nodes, flit engine", name);
    snprintf(reason, sizeof reason, "%.0f and %.0f us; in the fluid engine %.0f and %.0f", flit_s[c] * 1e6,
             flit_s[2] * 1e6, s->seconds[TORI - 1][c] * 1e6, s->seconds[TORI - 1][2] * 1e6);
    banyan_figure_compare(f, what, BANYAN_PAPERS, theirs, flit_s[c] / flit_s[2], reason);
}

static void compare(banyan_figure *f, const scaling *s)
{
    double growth[3];
    char reason[128];
    int forest_leads = 1;

    compare_smallest(f, s);
    compare_all(f, s, 0, "RING", 3.0);
    compare_all(f, s, 1, "2D-RING", 1.4);
    for (int t = 0; t < FLIT_TORI; t++)
        forest_leads &= s->flit_s[t][FOREST] <= s->flit_s[t][2] * 1.001;
    banyan_figure_claim(f, "forest is at least as fast as MULTITREEMSG, 16 to 256 nodes, flit engine",
                        forest_leads, NULL);
    for (int c = 0; c < 3; c++)
        growth[c] = s->seconds[TORI - 1][c] / s->seconds[0][c];
    snprintf(reason, sizeof reason, "RING %.1f times, 2D-RING %.1f, MULTITREEMSG %.1f", growth[0], growth[1],
             growth[2]);
    banyan_figure_state(
        f, "all three grow in proportion to the nodes (within 25 % of 16 times from 16 to 256)",
        fabs(growth[0] / 16 - 1) < 0.25 && fabs(growth[1] / 16 - 1) < 0.25 && fabs(growth[2] / 16 - 1) < 0.25,
        reason);
}

static void add_points(banyan_figure *f, const scaling *s)
{
    for (int t = 0; t < TORI; t++) {
        int nodes = sides[t] * sides[t];

        for (int c = 0; c < CONTENDERS; c++)
            if (isfinite(s->seconds[t][c]))
                banyan_figure_add(f, BANYAN_OURS, names[c], nodes, NULL, s->seconds[t][c] / s->seconds[0][0]);
        banyan_figure_add(f, BANYAN_OTHERS, "bound", nodes, NULL,
                          size_of(t) / s->bound[t] / s->seconds[0][0]);
    }
    for (int t = 0; t < FLIT_TORI; t++)
        for (int c = 0; c < CONTENDERS; c++) {
            int nodes = sides[flit_tori[t]] * sides[flit_tori[t]];
            char series[64];

            snprintf(series, sizeof series, "%s (flit)", names[c]);
            if (isfinite(s->flit_s[t][c]))
                banyan_figure_add(f, BANYAN_OURS, series, nodes, NULL, s->flit_s[t][c] / s->flit_s[0][0]);
        }
}

banyan_status multitree_fig10(banyan_reproduction *reproduction, banyan_error *err)
{
    scaling *s = banyan_alloc(1, sizeof *s);
    banyan_status status = s ? simulate(reproduction, s, err) : banyan_fail_memory(err);
    banyan_figure *f;

    if (!status) {
        f = banyan_figure_open(
            reproduction,
            &(banyan_figure_head){
                .name = "fig10",
                .title = "Fig. 10: weak scaling on tori, 375 KiB per node",
                .setting =
                    "Messages for all and a port a cable, 16 GB/s, 150 ns, adders of 128 GB/s; the "
                    "comparisons at 16 nodes with the authors' interface, rings with packets. Lines: the "
                    "fluid engine in "
                    "lockstep by rounds, whole messages. Series with (flit): the flit engine with Table "
                    "III. Forest chooses its trees for each size. "
                    "Time over that of "
                    "ring at 16 nodes.",
                .kind = BANYAN_FIGURE_LINES,
                .x = "nodes",
                .y = "time, ring at 16 nodes = 1",
                .tolerance = 0.005});
        add_points(f, s);
        compare(f, s);
    }
    banyan_free(s);
    return status;
}
