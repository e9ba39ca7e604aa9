/* SPDX-License-Identifier: Apache-2.0 */
/* cli/shapes.c: banyan shapes N: the best shapes of nested rings for N ranks of a cluster like ABCI.
 *
 * The algorithm `hierarchical` searches shapes with the links of a given network; this verb instead asks what
 * is known of one real cluster, where measured rings differ from what links promise. */
#include <stdio.h>
#include <string.h>

#include "algorithms/layers_abci.h"
#include "cli.h"
#include "core/alloc.h"
#include "core/value.h"

#define MAX_RANKS 1048576
#define MAX_ROWS 5000

static const cli_option options[] = {
    {"model", 'm', "MODEL", "plain (section IV of the paper) or calibrated (default: calibrated)"},
    {"bytes", 'b', "SIZE", "size of the vector (default: 128MiB, as measured)"},
    {"top", 't', "N", "how many shapes to show (default: 5)"},
    {"layers", 0, "N", "consider shapes of at most this many layers (default: 4; plain: 32)"},
    {"rules", 0, NULL, "beyond a rack of 128 ranks only extend the best smaller shape"},
    {NULL, 0, NULL, NULL}};

typedef struct {
    const banyan_layers_model *model;
    const char *model_name;
    int ranks, top, most_layers, by_rules;
    int64_t bytes;
} request;

typedef struct {
    banyan_ranked_layers *rows;
    int count;
    banyan_layers_tally tally;
    double flat_s;
} ranking;

static banyan_status read_integer(const cli_arguments *arguments, const char *option, int most, int *out,
                                  banyan_error *err)
{
    const char *text = cli_get(arguments, option);
    int64_t number = *out;
    banyan_status status = text ? banyan_value_integer(text, 1, most, &number, err) : BANYAN_SUCCESS;

    *out = (int)number;
    if (status)
        cli_blame(option, err);
    return status;
}

static banyan_status read_model(const cli_arguments *arguments, request *out, banyan_error *err)
{
    const char *name = cli_get(arguments, "model");

    out->model_name = name ? name : "calibrated";
    if (!strcmp(out->model_name, "plain")) {
        out->model = &banyan_abci_plain;
        out->most_layers = BANYAN_MAX_LAYERS;
    } else if (!strcmp(out->model_name, "calibrated")) {
        out->model = &banyan_abci_calibrated;
        out->most_layers = out->model->measured->most_layers;
    } else {
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--model %.40s is not plain or calibrated", name);
    }
    return BANYAN_SUCCESS;
}

static banyan_status read_request(const cli_arguments *arguments, request *out, banyan_error *err)
{
    const char *bytes = cli_get(arguments, "bytes");
    int64_t ranks;
    banyan_status status = banyan_value_integer(arguments->words[0], 2, MAX_RANKS, &ranks, err);

    if (status) {
        banyan_error_prefix(err, "ranks");
        return status;
    }
    *out = (request){
        .ranks = (int)ranks, .top = 5, .by_rules = cli_has(arguments, "rules"), .bytes = (int64_t)128 << 20};
    status = read_model(arguments, out, err);
    if (!status)
        status = read_integer(arguments, "top", MAX_ROWS, &out->top, err);
    if (!status)
        status = read_integer(arguments, "layers", BANYAN_MAX_LAYERS, &out->most_layers, err);
    if (!status && bytes) {
        status = banyan_value_bytes(bytes, &out->bytes, err);
        if (!status && out->bytes < 1)
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "must be at least 1");
        if (status)
            banyan_error_prefix(err, "--bytes");
    }
    return status;
}

static banyan_status rank(const request *r, ranking *out, banyan_error *err)
{
    banyan_layers flat = {1, {r->ranks}};
    double bytes = (double)r->bytes;

    out->rows = banyan_alloc((size_t)r->top, sizeof *out->rows);
    if (!out->rows)
        return banyan_fail_memory(err);
    out->count = banyan_layers_rank_by_rules(r->model, r->ranks, r->most_layers,
                                             r->by_rules ? BANYAN_ABCI_RACK_RANKS : r->ranks, bytes,
                                             out->rows, r->top, &out->tally);
    out->flat_s = banyan_layers_model_s(r->model, &flat, bytes);
    return BANYAN_SUCCESS;
}

static int is_close(const ranking *found, int i)
{
    return found->rows[i].seconds <= found->rows[0].seconds * BANYAN_LAYERS_CLOSE;
}

static void print_text(const request *r, const ranking *found)
{
    char size[32];

    printf("%d ranks, %s, %s model of ABCI: %ld shape%s of at most %d layers%s\n", r->ranks,
           banyan_show_bytes((double)r->bytes, size, sizeof size), r->model_name, found->tally.tried,
           found->tally.tried == 1 ? "" : "s", r->most_layers, r->by_rules ? ", by the two rules" : "");
    printf("     %-24s %12s %10s %14s\n", "shape", "time", "excess", "over the ring");
    for (int i = 0; i < found->count; i++) {
        const banyan_ranked_layers *row = &found->rows[i];
        char shape[128], time[32];

        banyan_layers_format(&row->shape, shape, sizeof shape);
        printf("%3d  %-24s %12s %8.2f %% %12.2f x%s\n", i + 1, shape,
               banyan_show_seconds(row->seconds, time, sizeof time),
               100 * (row->seconds / found->rows[0].seconds - 1), found->flat_s / row->seconds,
               is_close(found, i) ? "" : "   beyond the shortlist");
    }
    if (found->tally.close > 1)
        printf("shortlist: %ld shapes are within 3 %% of the best, and the model is not finer than that: "
               "measure them\n",
               found->tally.close);
}

static banyan_status print_json(const request *r, const ranking *found, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    banyan_text_add(&text, "{\"ranks\":%d,\"bytes\":%lld,\"model\":\"%s\",\"layers\":%d,\"rules\":%s,",
                    r->ranks, (long long)r->bytes, r->model_name, r->most_layers,
                    r->by_rules ? "true" : "false");
    banyan_text_add(&text, "\"shapes\":%ld,\"shortlist\":%ld,", found->tally.tried, found->tally.close);
    cli_json_number(&text, "ring_s", found->flat_s);
    banyan_text_add(&text, ",\"results\":[");
    for (int i = 0; i < found->count; i++) {
        char shape[128];

        banyan_layers_format(&found->rows[i].shape, shape, sizeof shape);
        banyan_text_add(&text, "%s\n{\"shape\":\"%s\",", i ? "," : "", shape);
        cli_json_number(&text, "seconds", found->rows[i].seconds);
        banyan_text_add(&text, ",");
        cli_json_number(&text, "speedup", found->flat_s / found->rows[i].seconds);
        banyan_text_add(&text, ",\"in_shortlist\":%s}", is_close(found, i) ? "true" : "false");
    }
    banyan_text_add(&text, "]}");
    return cli_print(&text, err);
}

static int run(const cli_arguments *arguments)
{
    ranking found = {0};
    request r;
    banyan_error err;
    banyan_status status;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "say how many ranks, such as 128");
    status = read_request(arguments, &r, &err);
    if (!status)
        status = rank(&r, &found, &err);
    if (!status && cli_has(arguments, "json"))
        status = print_json(&r, &found, &err);
    else if (!status)
        print_text(&r, &found);
    banyan_free(found.rows);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_shapes = {.name = "shapes",
                                  .usage = "N [--model plain|calibrated] [--top N] [--layers N] [--rules]",
                                  .summary = "the best shapes of nested rings for N ranks of a real cluster",
                                  .word_limit = 1,
                                  .options = options,
                                  .run = run};
