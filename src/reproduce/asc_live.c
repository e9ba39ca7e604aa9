/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/asc_live.c: ASC-WFBP's measurements, repeated between processes in a shaped network
 * (bench/asc_live.py). Gradients there have as many fewer bytes as the network takes longer for each, so
 * seconds are on the paper's own scale; start-ups are those of the machine. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "reproduce/asc.h"
#include "reproduce/internal.h"
#include "reproduce/live.h"
#include "train/train.h"

enum { MAX_SIZES = 16, POLICIES = 7 };

#define PAPERS_GAMMA 1.5
#define PAPERS_START_S 1.4e-3
#define LARGEST_FITTED (4 << 20) /* the paper fits a and b on 8 KiB to 4 MiB */
#define SMALLEST_SATURATING 2e6  /* 'nearly optimal' from 2 MB up */
#define CLAIM_TOLERANCE 0.1      /* by which 'almost linear' and 'matches' may be off */
#define NEAR_MAX_SHARE 0.9       /* of S max: 'very close' */

static const struct {
    const char *policy, *title;
} policies[POLICIES] = {{"wfbp", "wfbp"},
                        {"mg-wfbp", "mg-wfbp"},
                        {"asc-wfbp-released", "asc, as released"},
                        {"asc-wfbp", "asc, exact choice"},
                        {"ddp", "ddp"},
                        {"optimal:2", "optimal, k = 2"},
                        {"optimal:4", "optimal, k = 4"}};

enum { WFBP, MG, RELEASED, EXACT, DDP, BEST_2, BEST_4 };

typedef struct {
    int tensors;
    double bytes, compute_s, start_s, s_per_byte;
    double measured_s[POLICIES], predicted_s[POLICIES], groups[POLICIES];
    double
        fastest_s; /* S max of Eq. 42 as a time: compute, and what of the link's time backward cannot hide */
    double last_share; /* of the bytes: the tensor that is ready last */
} live_model;

typedef struct {
    int size_count;
    double bytes[MAX_SIZES], one_s[MAX_SIZES], two_s[MAX_SIZES];
    double hosts, link_bytes_per_s;
    live_model models[ASC_MODELS];
    char about[LIVE_ABOUT];
} live_results;

/* ---- Reading. */

static int read_sizes(const banyan_json *document, live_results *out)
{
    const banyan_json *sizes = banyan_json_field(document, "sizes");
    size_t count = sizes ? banyan_json_count(sizes) : 0;

    for (size_t i = 0; i < count && i < MAX_SIZES; i++) {
        const banyan_json *row = banyan_json_item(sizes, i);

        out->bytes[i] = banyan_reproduce_number_of(row, "bytes");
        out->one_s[i] = banyan_reproduce_number_of(row, "one_s");
        out->two_s[i] = banyan_reproduce_number_of(row, "two_s");
        if (!(out->bytes[i] > 0) || !(out->one_s[i] > 0) || !(out->two_s[i] > 0))
            return 0;
        out->size_count = (int)i + 1;
    }
    return out->size_count > 2;
}

static int read_policies(const banyan_json *row, live_model *out)
{
    const banyan_json *list = banyan_json_field(row, "policies");
    int found = 0;

    for (size_t i = 0; list && i < banyan_json_count(list); i++) {
        const banyan_json *item = banyan_json_item(list, i);
        const char *name = banyan_reproduce_string_of(item, "policy");

        for (int k = 0; k < POLICIES; k++)
            if (!strcmp(name, policies[k].policy)) {
                out->measured_s[k] = banyan_reproduce_number_of(item, "measured_s");
                out->predicted_s[k] = banyan_reproduce_number_of(item, "predicted_s");
                out->groups[k] = banyan_reproduce_number_of(item, "groups");
                found += out->measured_s[k] > 0 && out->predicted_s[k] > 0;
            }
    }
    return found == POLICIES;
}

static int read_model(const banyan_json *row, const live_results *results, live_model *out)
{
    double link_s;

    out->bytes = banyan_reproduce_number_of(row, "bytes");
    out->tensors = (int)banyan_reproduce_number_of(row, "tensors");
    out->compute_s = banyan_reproduce_number_of(row, "compute_s");
    out->start_s = banyan_reproduce_number_of(row, "start_s");
    out->s_per_byte = banyan_reproduce_number_of(row, "s_per_byte");
    link_s = 2 * (results->hosts - 1) / results->hosts * out->bytes / results->link_bytes_per_s;
    out->fastest_s = out->compute_s + link_s - fmin(link_s, 2 * out->compute_s / 3);
    return out->fastest_s > 0 && read_policies(row, out);
}

static int read_document(const banyan_json *document, live_results *out)
{
    const banyan_json *models = banyan_json_field(document, "models");

    out->hosts = banyan_reproduce_number_of(document, "hosts");
    out->link_bytes_per_s = banyan_reproduce_number_of(document, "link_bytes_per_s");
    if (!(out->hosts > 1) || !(out->link_bytes_per_s > 0) || !read_sizes(document, out) || !models ||
        banyan_json_count(models) != ASC_MODELS)
        return 0;
    for (int i = 0; i < ASC_MODELS; i++) {
        const banyan_json *row = banyan_json_item(models, (size_t)i);

        if (strcmp(banyan_reproduce_string_of(row, "model"), asc_models[i].file) ||
            !read_model(row, out, &out->models[i]))
            return 0;
    }
    return 1;
}

static banyan_status find_last_shares(live_results *out, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < ASC_MODELS; i++) {
        banyan_model *model;
        double all = 0;

        status = banyan_model_load(asc_models[i].file, 4, &model, err);
        if (status)
            break;
        for (int t = 0; t < model->tensor_count; t++)
            all += (double)model->tensors[t].bytes;
        out->models[i].last_share = (double)model->tensors[model->tensor_count - 1].bytes / all;
        banyan_model_destroy(model);
    }
    return status;
}

/* ---- Fig. 4 and 5. */

static const char *size_label(double bytes, char buffer[32])
{
    snprintf(buffer, 32, bytes < 1048576 ? "%.0f KiB" : "%.0f MiB",
             bytes < 1048576 ? bytes / 1024 : bytes / 1048576);
    return buffer;
}

static banyan_status fit_line(const live_results *found, banyan_cost *line, double *worst, banyan_error *err)
{
    int count = 0;

    while (count < found->size_count && found->bytes[count] <= LARGEST_FITTED)
        count++;
    return banyan_cost_fit(found->bytes, found->one_s, count, line, worst, err);
}

static void show_times(banyan_reproduction *r, const live_results *found, const banyan_cost *line,
                       double worst, const char *setting)
{
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){.name = "fig4a-live",
                                 .title = "Fig. 4a and 5, measured: one all-reduce, and two at a time",
                                 .setting = setting,
                                 .kind = BANYAN_FIGURE_LINES,
                                 .x = "bytes of each",
                                 .y = "ms",
                                 .is_log_x = 1,
                                 .is_log_y = 1,
                                 .tolerance = -1});
    int last = found->size_count - 1;
    double gamma = (found->two_s[last] - line->start_s) / (line->s_per_byte * found->bytes[last]), off = 0;
    char label[32], reason[200];

    for (int i = 0; i <= last; i++) {
        double two_s = line->start_s + PAPERS_GAMMA * line->s_per_byte * found->bytes[i];
        double model_s = line->start_s + gamma * line->s_per_byte * found->bytes[i];

        size_label(found->bytes[i], label);
        banyan_figure_add(f, BANYAN_OURS, "one", found->bytes[i], label, 1e3 * found->one_s[i]);
        banyan_figure_add(f, BANYAN_OURS, "two", found->bytes[i], label, 1e3 * found->two_s[i]);
        banyan_figure_add(f, BANYAN_OTHERS, "one, a + b m", found->bytes[i], label,
                          1e3 * banyan_cost_seconds(line, found->bytes[i]));
        banyan_figure_add(f, BANYAN_OTHERS, "two, gamma 1.5", found->bytes[i], label, 1e3 * two_s);
        off = fmax(off, fabs(model_s / found->two_s[i] - 1));
    }
    snprintf(reason, sizeof reason,
             "a = %.2f ms, b = %.1f ns per byte; from 8 KiB to 4 MiB the line is up to %.0f %% off",
             1e3 * line->start_s, 1e9 * line->s_per_byte, 100 * worst);
    banyan_figure_state(f, "the time of an all-reduce is almost linear to its size (within 10 %)",
                        worst <= CLAIM_TOLERANCE, reason);
    snprintf(reason, sizeof reason,
             "with gamma = %.2f, as two of %s take, a + gamma b m is up to %.0f %% off", gamma,
             size_label(found->bytes[last], label), 100 * off);
    banyan_figure_state(f, "two at a time take a + gamma b m (within 10 %)", off <= CLAIM_TOLERANCE, reason);
    snprintf(reason, sizeof reason,
             "one of %s moves %.0f %% of what the link carries, so that two have %.2f of its rate to gain",
             label,
             100 * 2 * (found->hosts - 1) / found->hosts * found->bytes[last] / found->one_s[last] /
                 found->link_bytes_per_s,
             found->one_s[last] * found->link_bytes_per_s /
                     (2 * (found->hosts - 1) / found->hosts * found->bytes[last]) -
                 1);
    banyan_figure_compare(f, "gamma", BANYAN_PAPERS, PAPERS_GAMMA, gamma, reason);
}

static void show_use(banyan_reproduction *r, const live_results *found, const char *setting)
{
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){.name = "fig4b-live",
                                 .title = "Fig. 4b, measured: what all-reduces make of the link",
                                 .setting = setting,
                                 .kind = BANYAN_FIGURE_LINES,
                                 .x = "bytes of each",
                                 .y = "% of the link's payload",
                                 .is_log_x = 1,
                                 .tolerance = -1});
    double on_link = 2 * (found->hosts - 1) / found->hosts / found->link_bytes_per_s;
    double least_one = 1, most_one = 0, least_two = 1, most_two = 0;
    char label[32], reason[200];

    for (int i = 0; i < found->size_count; i++) {
        double one = on_link * found->bytes[i] / found->one_s[i];
        double two = 2 * on_link * found->bytes[i] / found->two_s[i];

        size_label(found->bytes[i], label);
        banyan_figure_add(f, BANYAN_OURS, "one", found->bytes[i], label, 100 * one);
        banyan_figure_add(f, BANYAN_OURS, "two", found->bytes[i], label, 100 * two);
        if (found->bytes[i] < SMALLEST_SATURATING)
            continue;
        least_one = fmin(least_one, one);
        most_one = fmax(most_one, one);
        least_two = fmin(least_two, two);
        most_two = fmax(most_two, two);
    }
    snprintf(reason, sizeof reason,
             "from 2 MiB up one moves %.0f to %.0f %% of what the link carries, two %.0f to %.0f %%",
             100 * least_one, 100 * most_one, 100 * least_two, 100 * most_two);
    banyan_figure_state(f, "one at a time uses little of the link (less than 75 %) where two nearly fill it",
                        most_one < 0.75, reason);
    banyan_figure_state(f, "two at a time reach nearly the link's bandwidth above 2 MB (at least 90 %)",
                        least_two >= 0.9, reason);
}

static banyan_status show_sizes(banyan_reproduction *r, const live_results *found, banyan_error *err)
{
    char setting[512];
    banyan_cost line;
    double worst;
    banyan_status status = fit_line(found, &line, &worst, err);

    if (status)
        return status;
    snprintf(setting, sizeof setting,
             "measured: a ring of %.0f processes in networks of their own, %.0f Mb/s of payload each, of "
             "which 25 kB "
             "may pass at once; medians (%s)",
             found->hosts, found->link_bytes_per_s * 8e-6, found->about);
    show_times(r, found, &line, worst, setting);
    show_use(r, found, setting);
    return BANYAN_SUCCESS;
}

/* ---- Table IV. */

/* The share of S max that a policy reaches. */
static double reached(const live_model *model, int policy)
{
    return model->fastest_s / model->measured_s[policy];
}

static void compare_speedups(banyan_figure *f, int i, const live_model *model)
{
    const asc_model *paper = &asc_models[i];
    char what[96], reason[256];

    snprintf(what, sizeof what, "%s: ASC-WFBP over WFBP, measured", paper->name);
    snprintf(reason, sizeof reason,
             "%d start-ups of a = %.2f ms are %.3f s here, of the paper's 1.4 ms %.3f s", model->tensors,
             1e3 * model->start_s, model->tensors * model->start_s, model->tensors * PAPERS_START_S);
    banyan_figure_compare(f, what, BANYAN_PAPERS, paper->wfbp_s / paper->asc_s,
                          model->measured_s[WFBP] / model->measured_s[RELEASED], reason);
    snprintf(what, sizeof what, "%s: ASC-WFBP over MG-WFBP, measured", paper->name);
    snprintf(reason, sizeof reason,
             "as released %.0f all-reduces, %.3f s; MG-WFBP %.0f, %.3f s; the best of two at a time %.3f s",
             model->groups[RELEASED], model->measured_s[RELEASED], model->groups[MG], model->measured_s[MG],
             model->measured_s[BEST_2]);
    banyan_figure_compare(f, what, BANYAN_PAPERS, paper->mg_s / paper->asc_s,
                          model->measured_s[MG] / model->measured_s[RELEASED], reason);
}

/* The paper: DenseNet-201 is far from S max since its tensors are the smallest, so its use of the link is the
 * lowest; more than two at a time would help. */
static void check_densenet(banyan_figure *f, const live_results *found)
{
    const live_model *dense = &found->models[1];
    double others = 1;
    char reason[384];

    for (int i = 0; i < ASC_MODELS; i++)
        others = i == 1 ? others : fmin(others, reached(&found->models[i], RELEASED));
    snprintf(reason, sizeof reason,
             "as released it reaches %.1f %% of S max in %.0f all-reduces of %.0f KB on average, the others "
             "%.1f %% and "
             "more; so its small tensors alone do not explain the paper's %.1f %%",
             100 * reached(dense, RELEASED), dense->groups[RELEASED],
             dense->bytes / dense->groups[RELEASED] / 1e3, 100 * others,
             100 * asc_models[1].reached / asc_models[1].most);
    if (reached(dense, RELEASED) < others)
        snprintf(reason, sizeof reason,
                 "as released it reaches %.1f %% of S max, the others %.1f %% and more; the paper's %.1f %%",
                 100 * reached(dense, RELEASED), 100 * others,
                 100 * asc_models[1].reached / asc_models[1].most);
    banyan_figure_state(f, "DenseNet-201 stays furthest from S max, since its tensors are the smallest",
                        reached(dense, RELEASED) < others, reason);
    snprintf(reason, sizeof reason,
             "the best grouping of up to four at a time takes %.3f s, of up to two %.3f s",
             dense->measured_s[BEST_4], dense->measured_s[BEST_2]);
    banyan_figure_state(f,
                        "more than two at a time would bring DenseNet-201 closer to S max (by more than 2 %)",
                        dense->measured_s[BEST_4] < 0.98 * dense->measured_s[BEST_2], reason);
}

/* The paper: BERT-Base gains least over MG-WFBP, being close to S max. */
static void check_bert(banyan_figure *f, const live_results *found)
{
    const live_model *bert = &found->models[3];
    double least = INFINITY;
    char reason[384];

    for (int i = 0; i < 3; i++)
        least = fmin(least, found->models[i].measured_s[MG] / found->models[i].measured_s[RELEASED]);
    snprintf(reason, sizeof reason,
             "it gains %.1f %% and reaches %.1f %% of S max, MG-WFBP %.1f %%. Its word embeddings, %.0f %% "
             "of the bytes, are "
             "ready last: they alone take %.0f of the %.0f ms that are exposed, whatever the policy",
             100 * (bert->measured_s[MG] / bert->measured_s[RELEASED] - 1), 100 * reached(bert, RELEASED),
             100 * reached(bert, MG), 100 * bert->last_share,
             1e3 * (bert->start_s + bert->last_share * bert->bytes * bert->s_per_byte),
             1e3 * (bert->measured_s[RELEASED] - bert->compute_s));
    banyan_figure_state(
        f, "BERT-Base gains less than the CNNs over MG-WFBP and is close to S max (at least 90 %)",
        bert->measured_s[MG] / bert->measured_s[RELEASED] < least &&
            reached(bert, RELEASED) >= NEAR_MAX_SHARE,
        reason);
}

static void show_models(banyan_reproduction *r, const live_results *found)
{
    char setting[640], reason[256];
    banyan_figure *f;
    double off = 0, least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};

    snprintf(setting, sizeof setting,
             "measured: %.0f processes, computing is slept, gradients have as many fewer bytes as the "
             "network takes longer "
             "for each; all policies in one job, medians of jobs (%s)",
             found->hosts, found->about);
    f = banyan_figure_open(r, &(banyan_figure_head){.name = "table4-live",
                                                    .title = "Table IV, measured: seconds per iteration",
                                                    .setting = setting,
                                                    .kind = BANYAN_FIGURE_BARS,
                                                    .x = "model",
                                                    .y = "seconds per iteration",
                                                    .tolerance = -1});
    for (int i = 0; i < ASC_MODELS; i++) {
        const live_model *model = &found->models[i];

        banyan_figure_add(f, BANYAN_PAPERS, "WFBP", i, asc_models[i].name, asc_models[i].wfbp_s);
        banyan_figure_add(f, BANYAN_PAPERS, "MG-WFBP", i, asc_models[i].name, asc_models[i].mg_s);
        banyan_figure_add(f, BANYAN_PAPERS, "ASC-WFBP", i, asc_models[i].name, asc_models[i].asc_s);
        for (int k = 0; k < POLICIES; k++) {
            banyan_figure_add(f, BANYAN_OURS, policies[k].title, i, asc_models[i].name, model->measured_s[k]);
            off = fmax(off, fabs(model->predicted_s[k] / model->measured_s[k] - 1));
        }
        banyan_figure_add(f, BANYAN_OTHERS, "S max", i, asc_models[i].name, model->fastest_s);
        for (int k = 0; k < 2; k++) {
            double faster = model->measured_s[k ? WFBP : MG] / model->measured_s[RELEASED] - 1;

            least[k] = fmin(least[k], faster);
            most[k] = fmax(most[k], faster);
        }
        compare_speedups(f, i, model);
    }
    snprintf(reason, sizeof reason,
             "MG-WFBP takes %+.1f to %+.1f %% of its time, as released, and WFBP %+.1f to %+.1f %%; a "
             "start-up takes "
             "%.2f ms here and 1.4 ms in the paper",
             100 * least[0], 100 * most[0], 100 * least[1], 100 * most[1], 1e3 * found->models[0].start_s);
    banyan_figure_state(f, "ASC-WFBP is faster than WFBP and MG-WFBP on all four models, measured",
                        least[0] > 0 && least[1] > 0, reason);
    check_densenet(f, found);
    check_bert(f, found);
    snprintf(reason, sizeof reason, "the evaluator with the measured cost is up to %.0f %% off", 100 * off);
    banyan_figure_claim(f, "measured iterations take what the evaluator predicts (within 10 %)",
                        off <= CLAIM_TOLERANCE, reason);
}

static void show_nothing(banyan_reproduction *r)
{
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){.name = "fig4a-live",
                                 .title = "Fig. 4, Fig. 5 and Table IV, measured",
                                 .setting =
                                     "the measurements of bench/asc_live.py, asc-live.json, are not there",
                                 .kind = BANYAN_FIGURE_TABLE,
                                 .x = "bytes of each",
                                 .y = "ms",
                                 .tolerance = -1});

    banyan_figure_cannot_test(f, "the time of an all-reduce is almost linear to its size (within 10 %)",
                              "the measurements of bench/asc_live.py, asc-live.json, are not there");
}

banyan_status asc_show_live(banyan_reproduction *reproduction, banyan_error *err)
{
    live_results *found = banyan_alloc(1, sizeof *found);
    banyan_json *document = NULL;
    banyan_status status =
        found ? live_load("asc-live.json", &document, found->about, err) : banyan_fail_memory(err);

    if (!status && document && read_document(document, found)) {
        status = find_last_shares(found, err);
        if (!status)
            status = show_sizes(reproduction, found, err);
        if (!status)
            show_models(reproduction, found);
    } else if (!status) {
        show_nothing(reproduction);
    }
    banyan_json_destroy(document);
    banyan_free(found);
    return status;
}
