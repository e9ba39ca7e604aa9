/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/multitree_text.c: what the MultiTree paper says beside its evaluation: Fig. 2 (head flits), the
 * size of schedule tables, and strong scaling (section VI-B). */
#include <math.h>
#include <stdio.h>

#include "core/alloc.h"
#include "reproduce/multitree.h"

#define FLIT_BYTES 16.0
#define LITTLE 0.1 /* 'only small variation' */

enum { PAYLOADS = 3, TORI = 4, CONTENDERS = 3 };

/* One all-reduce of 1 MiB on the network, in packets of that many bytes, or (0) as messages. */
static banyan_status run(const char *network, int rival, int packet_bytes, double *cycles,
                         banyan_flit_report **report, banyan_error *err)
{
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_schedule *schedule = NULL;
    paper_network loaded;
    banyan_status status = multitree_network_init(network, &loaded, err);

    loaded.problem.bytes = (size_t)1 << 20;
    loaded.problem.parameters = multitree_rivals[rival].parameters;
    loaded.problem.parameter_count = multitree_parameter_count(rival);
    if (!status)
        status = banyan_algorithm_build(banyan_algorithm_find(multitree_rivals[rival].algorithm),
                                        &loaded.problem, &schedule, err);
    settings.flow = packet_bytes ? BANYAN_FLOW_PACKET : BANYAN_FLOW_MESSAGE;
    settings.packet_bytes = packet_bytes ? packet_bytes : settings.packet_bytes;
    settings.adder_bytes = 0; /* the links alone */
    if (!status)
        status =
            banyan_flit_run(schedule, loaded.topology, loaded.problem.bytes, &settings, NULL, report, err);
    if (!status)
        *cycles = (double)(*report)->cycles;
    banyan_schedule_destroy(schedule);
    paper_network_fini(&loaded);
    return status;
}

static banyan_status show_heads(banyan_reproduction *r, banyan_error *err)
{
    static const int payloads[PAYLOADS] = {64, 128, 256};
    static const double theirs[PAYLOADS] = {25, 0, 6}; /* the text has the two ends */
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){.name = "fig2",
                                 .title = "Fig. 2: bandwidth that head flits take",
                                 .setting =
                                     "flits of 16 bytes; a ring's all-reduce of 1 MiB on a 4x4 torus, flit "
                                     "engine: link flits beyond those of whole messages, and cycles",
                                 .kind = BANYAN_FIGURE_LINES,
                                 .x = "payload of a packet, bytes",
                                 .y = "% more than messages",
                                 .tolerance = 0.005});
    banyan_flit_report *report = NULL;
    double message_cycles = 0, message_flits = 0;
    banyan_status status = run("torus:4x4", RIVAL_RING, 0, &message_cycles, &report, err);

    if (status)
        return status;
    message_flits = (double)report->link_flit_count;
    banyan_flit_report_destroy(report);
    for (int i = 0; !status && i < PAYLOADS; i++) {
        double cycles = 0, flits, share;
        char what[80];

        status = run("torus:4x4", RIVAL_RING, payloads[i], &cycles, &report, err);
        if (status)
            break;
        flits = (double)report->link_flit_count;
        banyan_flit_report_destroy(report);
        share = 100 * (flits / message_flits - 1);
        banyan_figure_add(f, BANYAN_OTHERS, "head over payload", payloads[i], NULL,
                          100 * FLIT_BYTES / payloads[i]);
        banyan_figure_add(f, BANYAN_OURS, "flits", payloads[i], NULL, share);
        banyan_figure_add(f, BANYAN_OURS, "cycles", payloads[i], NULL, 100 * (cycles / message_cycles - 1));
        snprintf(what, sizeof what, "payload of %d bytes, overhead, %%", payloads[i]);
        if (theirs[i] > 0)
            banyan_figure_compare(f, what, BANYAN_PAPERS, theirs[i], share, NULL);
    }
    return status;
}

static banyan_status show_tables(banyan_reproduction *r, banyan_error *err)
{
    static const char *const networks[] = {"torus:4x4", "torus:8x8", "mesh:8x8", "fattree:8x8",
                                           "bigraph:4x16"};
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){.name = "tables",
                                 .title = "Schedule tables of the network interfaces",
                                 .setting =
                                     "MULTITREE; the longest table of a node, entries and bytes, as the flit "
                                     "engine holds it: fields as wide as the network needs them",
                                 .kind = BANYAN_FIGURE_TABLE,
                                 .x = "network",
                                 .y = "",
                                 .tolerance = 0});
    banyan_status status = BANYAN_SUCCESS;

    for (size_t i = 0; !status && i < sizeof networks / sizeof *networks; i++) {
        banyan_flit_report *report;
        double cycles;

        status = run(networks[i], RIVAL_MULTITREE_MSG, 0, &cycles, &report, err);
        if (status)
            break;
        banyan_figure_add(f, BANYAN_OURS, "entries", (double)i, networks[i], report->table_entries);
        banyan_figure_add(f, BANYAN_OURS, "bytes", (double)i, networks[i], (double)report->table_bits / 8);
        if (i == 1) {
            char reason[96];

            snprintf(reason, sizeof reason, "entries of %.0f bits; the paper counts 200",
                     (double)report->table_bits / report->table_entries);
            banyan_figure_compare(f, "64 nodes, entries", BANYAN_PAPERS, 128, report->table_entries, NULL);
            banyan_figure_compare(f, "64 nodes, bytes", BANYAN_PAPERS, 3200, (double)report->table_bits / 8,
                                  reason);
        }
        banyan_flit_report_destroy(report);
    }
    return status;
}

static banyan_status show_strong_scaling(banyan_reproduction *r, banyan_error *err)
{
    static const int sides[TORI] = {4, 8, 12, 16};
    static const int contenders[CONTENDERS] = {RIVAL_RING, RIVAL_RING_2D, RIVAL_MULTITREE_MSG};
    static const char *const names[CONTENDERS] = {"ring", "2d-ring", "multitree-msg"};
    multitree_run runs[TORI * CONTENDERS];
    char network[TORI][24], reason[160];
    double most[CONTENDERS] = {0}, least[CONTENDERS];
    banyan_figure *f;
    banyan_status status;

    for (int i = 0; i < TORI * CONTENDERS; i++) {
        int side = sides[i / CONTENDERS];

        snprintf(network[i / CONTENDERS], sizeof *network, "torus:%dx%d", side, side);
        runs[i] = (multitree_run){.network = network[i / CONTENDERS],
                                  .rival = contenders[i % CONTENDERS],
                                  .flow = BANYAN_FLOW_MESSAGE,
                                  .bytes = (size_t)64 << 20,
                                  .by_fluid = 1};
    }
    status = multitree_simulate(r, runs, TORI * CONTENDERS, err);
    if (status)
        return status;
    f = banyan_figure_open(
        r, &(banyan_figure_head){
               .name = "strong-scaling",
               .title = "Strong scaling: 64 MiB on 16 to 256 nodes",
               .setting = "tori, messages for all, fluid engine round by round; the paper shows no "
                          "figure of it",
               .kind = BANYAN_FIGURE_LINES,
               .x = "nodes",
               .y = "ms",
               .is_log_x = 1,
               .tolerance = 0.001});
    for (int i = 0; i < TORI * CONTENDERS; i++) {
        int side = sides[i / CONTENDERS], c = i % CONTENDERS;

        banyan_figure_add(f, BANYAN_OURS, names[c], side * side, NULL, runs[i].seconds * 1e3);
        least[c] = i < CONTENDERS ? runs[i].seconds : fmin(least[c], runs[i].seconds);
        most[c] = fmax(most[c], runs[i].seconds);
    }
    for (int c = 0; c < CONTENDERS; c++) {
        char what[96];

        snprintf(what, sizeof what, "strong scaling: %s varies little from 16 to 256 nodes", names[c]);
        snprintf(reason, sizeof reason, "the slowest takes %.2f times as long as the fastest",
                 most[c] / least[c]);
        banyan_figure_state(f, what, most[c] <= (1 + LITTLE) * least[c], reason);
    }
    return BANYAN_SUCCESS;
}

banyan_status multitree_text(banyan_reproduction *reproduction, banyan_error *err)
{
    banyan_status status = show_heads(reproduction, err);

    if (!status)
        status = show_tables(reproduction, err);
    return status ? status : show_strong_scaling(reproduction, err);
}
