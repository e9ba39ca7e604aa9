/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/hierarchical_fit.c: a model of ABCI's rings that has not seen which shapes won.
 *
 * A layer of p ranks that reduces m bytes takes (p - 1) a + (2 (p - 1) + k) b m / p: a latency per step, a
 * rate, and steps to fill the ring. The three come from the layers of Tables II and III within a rack, by
 * least squares of relative errors, without the two shapes that were the fastest there (4x8x4, 4x8x4x2).
 * Rings across racks share uplinks of a third of the full bisection, as the paper states. Nothing else is
 * fitted, and the order of shapes and the speed-ups of Fig. 6 are predictions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algorithms/layers_abci.h"
#include "core/alloc.h"
#include "reproduce/hierarchical.h"

#define MB 1e6
#define ADAPTER_BYTES_PER_S (9301.19 * MB) /* section V-B1 */

#define ALMOST_SLOWEST 0.95 /* of the slowest: 'almost slowest', as the paper has it */

enum { TERMS = 3, NODE_RANKS = 4, MAX_SHAPES = 2048, ANY_DEPTH = 32 };

/* Table II prints the first four of seven and of six layers. */
static const hierarchical_row rabenseifner[] = {
    {128, "2x2x2x2x2x2x2", {30279.93, 27978.80, 3314.66, 2998.27}},
    {128, "4x2x2x2x2x2", {92155.60, 3330.65, 3060.10, 3014.57}}};

enum { RABENSEIFNER_ROWS = sizeof rabenseifner / sizeof *rabenseifner };

typedef struct {
    double normal[TERMS][TERMS + 1]; /* of least squares */
    double inside, inside_count;     /* rings within a node: the mean rate */
    int layer_count;
} fit;

static int has_won(const hierarchical_row *row)
{
    for (int i = 0; i < HIERARCHICAL_COUNTS; i++)
        if (row->ranks == hierarchical_winners[i].ranks && !strcmp(row->shape, hierarchical_winners[i].best))
            return 1;
    return 0;
}

static void add_layer(fit *f, int p, double bytes, double seconds)
{
    const double term[TERMS] = {(p - 1) / seconds, 2.0 * (p - 1) * bytes / p / seconds, bytes / p / seconds};

    for (int i = 0; i < TERMS; i++) {
        for (int j = 0; j < TERMS; j++)
            f->normal[i][j] += term[i] * term[j];
        f->normal[i][TERMS] += term[i];
    }
    f->layer_count++;
}

static banyan_status add_row(fit *f, const hierarchical_row *row, banyan_error *err)
{
    banyan_layers shape;
    banyan_status status = banyan_layers_parse(row->shape, "shape", &shape, err);

    for (int i = 0, stride = 1; !status && i < shape.layer_count && i < HIERARCHICAL_MAX_ROW_LAYERS;
         stride *= shape.extent[i++]) {
        int p = shape.extent[i];
        double bytes = HIERARCHICAL_BYTES / stride;

        if (stride == 1 && p == NODE_RANKS) {
            f->inside += row->bus[i] * MB;
            f->inside_count++;
        }
        if (stride >= NODE_RANKS && stride * p <= BANYAN_ABCI_RACK_RANKS && row->bus[i] > 0)
            add_layer(f, p, bytes, hierarchical_bus_s(p, bytes, row->bus[i]));
    }
    return status;
}

/* Gauss and Jordan, with pivots. 0: the rows do not say. */
static int solve(fit *f, double out[TERMS])
{
    for (int i = 0; i < TERMS; i++) {
        int pivot = i;

        for (int j = i + 1; j < TERMS; j++)
            if (fabs(f->normal[j][i]) > fabs(f->normal[pivot][i]))
                pivot = j;
        for (int k = 0; k <= TERMS; k++) {
            double swapped = f->normal[i][k];

            f->normal[i][k] = f->normal[pivot][k];
            f->normal[pivot][k] = swapped;
        }
        if (f->normal[i][i] == 0)
            return 0;
        for (int j = 0; j < TERMS; j++)
            for (int k = TERMS; j != i && k >= i; k--)
                f->normal[j][k] -= f->normal[j][i] / f->normal[i][i] * f->normal[i][k];
    }
    for (int i = 0; i < TERMS; i++)
        out[i] = f->normal[i][TERMS] / f->normal[i][i];
    return 1;
}

/* What a fit makes of the tables; measured points into it. */
typedef struct {
    banyan_layers_model model;
    banyan_layers_measured measured;
    banyan_measured_layer rows[2];
} blind;

/* The flat ring's rate: that with which the plain formula gives the measured time at 128 ranks. */
static double flat_rate(void)
{
    double steps = 2.0 * (BANYAN_ABCI_RACK_RANKS - 1);
    double seconds =
        hierarchical_bus_s(BANYAN_ABCI_RACK_RANKS, HIERARCHICAL_BYTES, hierarchical_rows[0].bus[0]);
    double step_s = banyan_abci_plain.slices * banyan_abci_plain.latency_s;

    return steps * HIERARCHICAL_BYTES / BANYAN_ABCI_RACK_RANKS / (seconds - steps * step_s);
}

static banyan_status fit_tables(blind *out, int *layer_count, banyan_error *err)
{
    fit f = {.inside = 0};
    double term[TERMS];
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < hierarchical_row_count; i++)
        if (!has_won(&hierarchical_rows[i]))
            status = add_row(&f, &hierarchical_rows[i], err);
    for (int i = 0; !status && i < RABENSEIFNER_ROWS; i++)
        status = add_row(&f, &rabenseifner[i], err);
    if (!status && !solve(&f, term))
        status = banyan_fail(err, BANYAN_INTERNAL_ERROR, "the tables do not determine the fit");
    if (status)
        return status;
    out->rows[0] =
        (banyan_measured_layer){BANYAN_RINGS_IN_NODE, 2, HIERARCHICAL_BYTES, rabenseifner[0].bus[0] * MB, 0};
    out->rows[1] = (banyan_measured_layer){BANYAN_RINGS_IN_NODE, NODE_RANKS, HIERARCHICAL_BYTES,
                                           f.inside / f.inside_count, 0};
    out->measured = (banyan_layers_measured){.rows = out->rows,
                                             .row_count = 2,
                                             .step_s = term[0],
                                             .fill = term[2] / term[1],
                                             .link_bytes_per_s = 1 / term[1],
                                             .rack_size = BANYAN_ABCI_RACK_RANKS,
                                             .uplink_bytes_per_s = BANYAN_ABCI_RACK_RANKS / NODE_RANKS * 2 *
                                                                   ADAPTER_BYTES_PER_S / 3,
                                             .uplink_step_s = term[0],
                                             .most_layers = ANY_DEPTH};
    out->model = banyan_abci_plain;
    out->model.inside_bytes_per_s = f.inside / f.inside_count;
    out->model.outside_bytes_per_s = flat_rate();
    out->model.measured = &out->measured;
    *layer_count = f.layer_count;
    return BANYAN_SUCCESS;
}

static double shape_s(const banyan_layers_model *model, const char *text, double bytes)
{
    banyan_layers shape;

    return banyan_layers_parse(text, "shape", &shape, NULL) ? NAN
                                                            : banyan_layers_model_s(model, &shape, bytes);
}

static double flat_s(const banyan_layers_model *model, int ranks, double bytes)
{
    char text[16];

    snprintf(text, sizeof text, "%d", ranks);
    return shape_s(model, text, bytes);
}

/* A ring within a rack. */
static double ring_s(const blind *b, int p, double bytes)
{
    return (p - 1) * b->measured.step_s +
           (2.0 * (p - 1) + b->measured.fill) / p * bytes / b->measured.link_bytes_per_s;
}

/* Fig. 5 prints no numbers; the tables' rings within a rack stand beside the fitted curve. */
static void show_bandwidths(banyan_reproduction *r, const blind *b)
{
    static const int sizes[] = {2, 4, 8, 16, 32};
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){.name = "fig5",
                                 .title = "Fig. 5: bandwidth of a ring over message size and ranks",
                                 .setting =
                                     "bus bandwidth of rings within a rack, one rank per node, by the fit of "
                                     "'blind'; the paper's figure prints no numbers, and its rings ran "
                                     "alone",
                                 .kind = BANYAN_FIGURE_LINES,
                                 .x = "MiB",
                                 .y = "MB/s",
                                 .is_log_x = 1,
                                 .tolerance = 1e-6});
    int falls = 1;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double before = 0;

        for (double mib = 1; mib <= 128; mib *= 2) {
            double bytes = mib * 1048576;
            int p = sizes[i];
            double bus = 2.0 * (p - 1) / p * bytes / ring_s(b, p, bytes) / MB;
            char series[32], label[16];

            snprintf(series, sizeof series, "%d ranks", p);
            snprintf(label, sizeof label, "%g", mib);
            banyan_figure_add(f, BANYAN_OURS, series, mib, label, bus);
            falls &= bus > before;
            before = bus;
        }
    }
    banyan_figure_state(f, "the bandwidth falls with the message, for every number of ranks", falls,
                        "by the fitted latency per step; one ring alone was not measured by us");
}

static banyan_status show_rabenseifner(banyan_reproduction *r, const blind *b, banyan_error *err)
{
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){.name = "rabenseifner",
                                 .title = "Table II: Rabenseifner's rows",
                                 .setting =
                                     "time of the first four layers, all that the table prints, 128 MiB on "
                                     "128 GPUs; plain model",
                                 .kind = BANYAN_FIGURE_BARS,
                                 .x = "layer",
                                 .y = "ms",
                                 .tolerance = 1e-6});
    double total[RABENSEIFNER_ROWS] = {0}, slowest = 0;
    banyan_status status = BANYAN_SUCCESS;

    for (int row = 0; !status && row < RABENSEIFNER_ROWS; row++) {
        banyan_layers shape, before = {0};
        double plain_before = 0, plain = 0, most = 0;
        char what[96], reason[128] = "";

        status = banyan_layers_parse(rabenseifner[row].shape, "shape", &shape, err);
        for (int i = 0, stride = 1; !status && i < HIERARCHICAL_MAX_ROW_LAYERS; stride *= shape.extent[i++]) {
            double seconds =
                hierarchical_bus_s(shape.extent[i], HIERARCHICAL_BYTES / stride, rabenseifner[row].bus[i]);
            char label[48];

            before.extent[i] = shape.extent[i];
            before.layer_count = i + 1;
            plain = banyan_layers_model_s(&banyan_abci_plain, &before, HIERARCHICAL_BYTES);
            snprintf(label, sizeof label, "%s, layer %d", row ? "4-Rabenseifner" : "Rabenseifner", i + 1);
            banyan_figure_add(f, BANYAN_PAPERS, "measured", row * 4 + i, label, seconds * 1e3);
            banyan_figure_add(f, BANYAN_OURS, "plain", row * 4 + i, label, (plain - plain_before) * 1e3);
            if (fabs(plain - plain_before - seconds) > most) {
                most = fabs(plain - plain_before - seconds);
                snprintf(reason, sizeof reason,
                         "layer %d, of %d ranks, takes %.2f ms by the table and %.2f by the model", i + 1,
                         shape.extent[i], seconds * 1e3, (plain - plain_before) * 1e3);
            }
            plain_before = plain;
            total[row] += seconds;
        }
        snprintf(what, sizeof what, "%s, four layers, ms", row ? "4-Rabenseifner" : "Rabenseifner");
        banyan_figure_compare(f, what, BANYAN_PAPERS, total[row] * 1e3, plain * 1e3, reason);
    }
    for (int i = 1; !status && i < hierarchical_row_count; i++) {
        banyan_layers shape;
        double seconds = 0, bytes = HIERARCHICAL_BYTES;

        status = banyan_layers_parse(hierarchical_rows[i].shape, "shape", &shape, err);
        for (int k = 0; !status && k < shape.layer_count; bytes /= shape.extent[k++])
            seconds += hierarchical_bus_s(shape.extent[k], bytes, hierarchical_rows[i].bus[k]);
        if (hierarchical_rows[i].ranks == BANYAN_ABCI_RACK_RANKS && seconds > slowest)
            slowest = seconds;
    }
    if (!status) {
        double rest = 0;
        char reason[192];

        for (double bytes = HIERARCHICAL_BYTES / 16; bytes > HIERARCHICAL_BYTES / 128; bytes /= 2)
            rest += ring_s(b, 2, bytes);
        snprintf(
            reason, sizeof reason,
            "its first four layers take %.2f ms by the table, the other three %.2f ms by the blind fit; the "
            "slowest other shape of the table takes %.2f ms, the flat ring %.2f ms",
            total[0] * 1e3, rest * 1e3, slowest * 1e3,
            hierarchical_bus_s(BANYAN_ABCI_RACK_RANKS, HIERARCHICAL_BYTES, hierarchical_rows[0].bus[0]) *
                1e3);
        banyan_figure_state(f, "Rabenseifner's algorithm is nearly the slowest at 128 GPUs",
                            total[0] + rest > ALMOST_SLOWEST * slowest, reason);
    }
    return status;
}

static void show_winners(banyan_reproduction *r, const blind *b, int layers, banyan_ranked_layers *list)
{
    char setting[320];
    banyan_figure *f;

    snprintf(
        setting, sizeof setting,
        "fit of %d layers of Tables II and III without the winning shapes: %.1f us per step, %.0f MB/s, %.2f "
        "steps to fill; uplinks a third of the full bisection; all shapes are ranked, of any depth",
        layers, b->measured.step_s * 1e6, b->measured.link_bytes_per_s / MB, b->measured.fill);
    f = banyan_figure_open(r, &(banyan_figure_head){.name = "blind",
                                                    .title = "Fig. 6 by a fit that has not seen the winners",
                                                    .setting = setting,
                                                    .kind = BANYAN_FIGURE_BARS,
                                                    .x = "GPUs",
                                                    .y = "times as fast as the flat ring",
                                                    .tolerance = 1e-6});
    for (int i = 0; i < HIERARCHICAL_COUNTS; i++) {
        const hierarchical_winner *winner = &hierarchical_winners[i];
        int count = banyan_layers_rank(&b->model, winner->ranks, ANY_DEPTH, HIERARCHICAL_BYTES, list,
                                       MAX_SHAPES, NULL);
        double flat = flat_s(&b->model, winner->ranks, HIERARCHICAL_BYTES),
               best_s = shape_s(&b->model, winner->best, HIERARCHICAL_BYTES);
        int place = hierarchical_find_place(list, count, winner->best);
        char label[48], what[96], reason[160], first[64];

        snprintf(label, sizeof label, "%d: %s", winner->ranks, winner->best);
        banyan_figure_add(f, BANYAN_PAPERS, "measured", i, label, winner->speedup);
        banyan_figure_add(f, BANYAN_OURS, "blind fit", i, label, flat / best_s);
        snprintf(what, sizeof what, "%d GPUs, blind fit, speed-up", winner->ranks);
        snprintf(reason, sizeof reason, "by the fit the flat ring takes %.2f ms and the shape %.2f ms",
                 flat * 1e3, best_s * 1e3);
        banyan_figure_compare(f, what, BANYAN_PAPERS, winner->speedup, flat / best_s, reason);
        banyan_layers_format(&list[0].shape, first, sizeof first);
        snprintf(reason, sizeof reason, "its first is %s, which it has %.1f %% faster; %d shapes", first,
                 100 * (best_s / list[0].seconds - 1), count);
        snprintf(what, sizeof what, "%d GPUs, place of %s by the blind fit", winner->ranks, winner->best);
        banyan_figure_compare(f, what, BANYAN_PAPERS, 1, place, reason);
    }
}

banyan_status hierarchical_show_fit(banyan_reproduction *r, banyan_error *err)
{
    banyan_ranked_layers *list = banyan_alloc(MAX_SHAPES, sizeof *list);
    blind b;
    int layers = 0;
    banyan_status status = list ? fit_tables(&b, &layers, err) : banyan_fail_memory(err);

    if (!status) {
        show_bandwidths(r, &b);
        status = show_rabenseifner(r, &b, err);
    }
    if (!status)
        show_winners(r, &b, layers, list);
    banyan_free(list);
    return status;
}

/* Table IV, ms: parts of an iteration of ResNet-50 with the ring and with the hierarchy. */
typedef struct {
    double forward, backward, pack, allreduce, unpack, update, total, efficiency;
} profile;

static const struct {
    int ranks;
    const char *shape;
    profile ring, hierarchical;
} profiles[] = {{128,
                 "4x8x4",
                 {28.6, 58.5, 1.2, 18.4, 0.4, 7.8, 114.9, 0.826},
                 {29.1, 58.5, 1.2, 13.7, 0.4, 7.3, 110.2, 0.861}},
                {256,
                 "4x8x4x2",
                 {28.9, 58.6, 1.2, 20.8, 0.4, 7.7, 117.6, 0.81},
                 {28.9, 58.4, 1.2, 15.9, 0.4, 6.9, 111.7, 0.843}},
                {512,
                 "4x8x4x4",
                 {28.9, 58.5, 1.2, 29.3, 0.4, 7.6, 125.9, 0.755},
                 {28.9, 58.5, 1.2, 18.1, 0.4, 7.1, 114.2, 0.827}}};

enum { PROFILES = sizeof profiles / sizeof *profiles };

#define RESNET50_BYTES (25557032.0 * 4)

static void show_profile(banyan_figure *f, int x, const char *label, const profile *p, double allreduce_s)
{
    double computing = p->forward + p->backward + p->update, packing = p->pack + p->unpack;
    double total = computing + packing + allreduce_s * 1e3;
    char what[96];

    banyan_figure_add(f, BANYAN_PAPERS, "total, measured", x, label, p->total);
    banyan_figure_add(f, BANYAN_OURS, "total", x, label, total);
    banyan_figure_add(f, BANYAN_PAPERS, "all-reduce, measured", x, label, p->allreduce);
    banyan_figure_add(f, BANYAN_OURS, "all-reduce", x, label, allreduce_s * 1e3);
    snprintf(what, sizeof what, "%s, all-reduce, ms", label);
    banyan_figure_compare(f, what, BANYAN_PAPERS, p->allreduce, allreduce_s * 1e3, NULL);
    snprintf(what, sizeof what, "%s, total, ms", label);
    banyan_figure_compare(f, what, BANYAN_PAPERS, p->total, total, NULL);
    snprintf(what, sizeof what, "%s, efficiency", label);
    banyan_figure_compare(f, what, BANYAN_PAPERS, p->efficiency, computing / total, NULL);
}

banyan_status hierarchical_show_training(banyan_reproduction *r, banyan_error *err)
{
    banyan_figure *f;
    blind b;
    int layers = 0;
    double slowdown[2];
    banyan_status status = fit_tables(&b, &layers, err);

    if (status)
        return status;
    f = banyan_figure_open(
        r,
        &(banyan_figure_head){.name = "table4",
                              .title = "Table IV: an iteration of ResNet-50",
                              .setting = "all-reduce of 102 MB by the blind fit, which has seen none of this "
                                         "table; computing, packing and unpacking are the paper's",
                              .kind = BANYAN_FIGURE_BARS,
                              .x = "GPUs",
                              .y = "ms",
                              .tolerance = 1e-6});
    for (int i = 0; i < PROFILES; i++) {
        char label[48];

        snprintf(label, sizeof label, "%d, ring", profiles[i].ranks);
        show_profile(f, 2 * i, label, &profiles[i].ring, flat_s(&b.model, profiles[i].ranks, RESNET50_BYTES));
        snprintf(label, sizeof label, "%d, %s", profiles[i].ranks, profiles[i].shape);
        show_profile(f, 2 * i + 1, label, &profiles[i].hierarchical,
                     shape_s(&b.model, profiles[i].shape, RESNET50_BYTES));
    }
    slowdown[0] = flat_s(&b.model, 512, RESNET50_BYTES) / flat_s(&b.model, 256, RESNET50_BYTES);
    slowdown[1] = shape_s(&b.model, "4x8x4x4", RESNET50_BYTES) / shape_s(&b.model, "4x8x4x2", RESNET50_BYTES);
    banyan_figure_compare(f, "ring, 512 over 256 GPUs", BANYAN_PAPERS, 1.4, slowdown[0], NULL);
    banyan_figure_compare(f, "hierarchical, 512 over 256 GPUs", BANYAN_PAPERS, 1.14, slowdown[1], NULL);
    return BANYAN_SUCCESS;
}
