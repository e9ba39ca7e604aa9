/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/teccl_parse.c: reads the JSON that TE-CCL's solver writes (Liu et al., Rethinking Machine Learning
 * Collective Communication as a Multi-Commodity Flow Problem, SIGCOMM 2024; microsoft/TE-CCL). Flows are
 * sentences, such as 'Chunk 0 from 14 traveled over 14->13 in epoch 0 via switches 0'; the other fields
 * repeat them, or tell times. GPUs are whoever owns, sends or gets chunks, switches whoever chunks pass. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/json.h"
#include "schedule/teccl.h"

#define HEAD_BYTES 200 /* of the file, in which its first field must stand */
#define FLOWS "7-Flows"

enum { NOT_SEEN, GPU, SWITCH };

typedef struct {
    banyan_teccl_program *program;
    unsigned char kind[BANYAN_TECCL_NODES];
    int via_total;
    banyan_error *err;
} reader;

int banyan_teccl_looks_like(const char *text, size_t length)
{
    size_t head = length < HEAD_BYTES ? length : HEAD_BYTES;

    return memmem(text, head, "Epoch_Duration\"", 15) && !memmem(text, head, "\"banyan-", 8);
}

static int skip(const char **at, const char *words)
{
    size_t length = strlen(words);

    if (strncmp(*at, words, length))
        return 0;
    *at += length;
    return 1;
}

/* Digits alone: strtol would take blanks and signs, too. */
static int number(const char **at, int most, int *out)
{
    long value = 0;

    if (**at < '0' || **at > '9')
        return 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        value = 10 * value + (**at - '0');
        if (value > most)
            return 0;
    }
    *out = (int)value;
    return 1;
}

static int scan_via(const char **at, int via[BANYAN_TECCL_VIA], int *count)
{
    *count = 0;
    if (!skip(at, " via switches "))
        return 1;
    do {
        if (*count == BANYAN_TECCL_VIA || !number(at, BANYAN_TECCL_NODES - 1, &via[*count]))
            return 0;
        ++*count;
    } while (skip(at, " -> "));
    return 1;
}

static int scan_flow(const char *at, banyan_teccl_flow *flow, int via[BANYAN_TECCL_VIA])
{
    enum { MAX_NODE = BANYAN_TECCL_NODES - 1 };

    return skip(&at, "Chunk ") && number(&at, BANYAN_TECCL_CHUNKS - 1, &flow->chunk) && skip(&at, " from ") &&
           number(&at, MAX_NODE, &flow->owner) && skip(&at, " traveled over ") &&
           number(&at, MAX_NODE, &flow->src) && skip(&at, "->") && number(&at, MAX_NODE, &flow->dst) &&
           skip(&at, " in epoch ") && number(&at, INT_MAX - 1, &flow->epoch) &&
           scan_via(&at, via, &flow->via_count) && !*at;
}

static banyan_status mark(reader *in, int node, int kind, size_t i)
{
    if (in->kind[node] && in->kind[node] != kind)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "flow %zu: node %d is a %s, and elsewhere a %s",
                           i, node, kind == GPU ? "GPU" : "switch", kind == GPU ? "switch" : "GPU");
    in->kind[node] = (unsigned char)kind;
    return BANYAN_SUCCESS;
}

static banyan_status keep_via(reader *in, banyan_teccl_flow *flow, const int *via, size_t i)
{
    banyan_status status = BANYAN_SUCCESS;

    flow->first_via = in->via_total;
    for (int k = 0; !status && k < flow->via_count; k++) {
        in->program->via[in->via_total++] = via[k];
        status = mark(in, via[k], SWITCH, i);
    }
    return status;
}

static banyan_status read_flow(reader *in, const banyan_json *item, size_t i)
{
    banyan_teccl_flow *flow = &in->program->flows[i];
    int via[BANYAN_TECCL_VIA];
    const char *text;
    banyan_status status;

    if (!banyan_json_get_string(item, &text))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "flow %zu is %s, not a string", i,
                           banyan_json_kind_name(item));
    if (!scan_flow(text, flow, via))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                           "flow %zu: 'Chunk N from GPU traveled over GPU->GPU in epoch N [via switches "
                           "N[ -> N...]]' is expected, not '%.80s'",
                           i, text);
    if (flow->src == flow->dst)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "flow %zu: GPU %d sends to itself", i,
                           flow->src);
    status = mark(in, flow->owner, GPU, i);
    if (!status)
        status = mark(in, flow->src, GPU, i);
    if (!status)
        status = mark(in, flow->dst, GPU, i);
    if (flow->chunk >= in->program->chunk_count)
        in->program->chunk_count = flow->chunk + 1;
    return status ? status : keep_via(in, flow, via, i);
}

static int compare(const void *a, const void *b)
{
    const banyan_teccl_flow *first = a, *second = b;

    if (first->epoch != second->epoch)
        return first->epoch < second->epoch ? -1 : 1;
    return first->first_via < second->first_via ? -1 : first->first_via > second->first_via;
}

/* first_via holds the number in the file while flows are sorted: qsort is not stable. */
static banyan_status sort_flows(banyan_teccl_program *program, banyan_error *err)
{
    int *first_via = banyan_alloc(program->flow_count, sizeof *first_via);

    if (!first_via)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < program->flow_count; i++) {
        first_via[i] = program->flows[i].first_via;
        program->flows[i].first_via = (int)i;
    }
    qsort(program->flows, program->flow_count, sizeof *program->flows, compare);
    for (size_t i = 0; i < program->flow_count; i++)
        program->flows[i].first_via = first_via[program->flows[i].first_via];
    banyan_free(first_via);
    return BANYAN_SUCCESS;
}

static banyan_status list_nodes(reader *in)
{
    banyan_teccl_program *program = in->program;

    for (int node = 0; node < BANYAN_TECCL_NODES; node++) {
        program->gpu_count += in->kind[node] == GPU;
        program->switch_count += in->kind[node] == SWITCH;
    }
    if ((long)program->gpu_count * program->chunk_count > BANYAN_TECCL_CHUNKS)
        return banyan_fail(in->err, BANYAN_UNSUPPORTED, "%d GPUs with %d chunks each are more than %d chunks",
                           program->gpu_count, program->chunk_count, BANYAN_TECCL_CHUNKS);
    program->gpus = banyan_alloc((size_t)program->gpu_count, sizeof *program->gpus);
    program->switches = banyan_alloc((size_t)program->switch_count, sizeof *program->switches);
    if (!program->gpus || !program->switches)
        return banyan_fail_memory(in->err);
    for (int node = 0, gpu = 0, other = 0; node < BANYAN_TECCL_NODES; node++) {
        if (in->kind[node] == GPU)
            program->gpus[gpu++] = node;
        else if (in->kind[node] == SWITCH)
            program->switches[other++] = node;
    }
    return BANYAN_SUCCESS;
}

/* As many switches as all flows together can name: ' via switches N' and ' -> N' have five bytes at least. */
static banyan_status make_room(banyan_teccl_program *program, const banyan_json *flows, size_t length,
                               banyan_error *err)
{
    program->flow_count = banyan_json_count(flows);
    if (program->flow_count >= INT_MAX || length / 5 >= INT_MAX)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "there are too many flows");
    program->flows = banyan_alloc(program->flow_count, sizeof *program->flows);
    program->via = banyan_alloc(length / 5 + 1, sizeof *program->via);
    return program->flows && program->via ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status read_document(const banyan_json *document, size_t length, reader *in)
{
    const banyan_json *flows = banyan_json_field(document, FLOWS);
    const banyan_json *finish = banyan_json_field(document, "4-Collective_Finish_Time");
    banyan_status status;

    if (!flows || banyan_json_kind(flows) != BANYAN_JSON_ARRAY)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "there is no array \"" FLOWS "\"");
    if (!banyan_json_count(flows))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "\"" FLOWS "\" is empty");
    if (finish && (!banyan_json_get_number(finish, &in->program->finish_s) || in->program->finish_s < 0))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                           "\"4-Collective_Finish_Time\" is not a number of seconds");
    status = make_room(in->program, flows, length, in->err);
    for (size_t i = 0; !status && i < in->program->flow_count; i++)
        status = read_flow(in, banyan_json_item(flows, i), i);
    if (!status)
        status = list_nodes(in);
    return status ? status : sort_flows(in->program, in->err);
}

banyan_status banyan_teccl_parse(const char *text, size_t length, banyan_teccl_program **out,
                                 banyan_error *err)
{
    reader *in = banyan_alloc(1, sizeof *in);
    banyan_json *document = NULL;
    banyan_status status;

    *out = NULL;
    if (!in)
        return banyan_fail_memory(err);
    in->err = err;
    in->program = banyan_alloc(1, sizeof *in->program);
    status = in->program ? banyan_json_parse(text, length, &document, err) : banyan_fail_memory(err);
    if (!status)
        status = read_document(document, length, in);
    if (status)
        banyan_teccl_destroy(in->program);
    else
        *out = in->program;
    banyan_json_destroy(document);
    banyan_free(in);
    return status;
}

void banyan_teccl_destroy(banyan_teccl_program *program)
{
    if (!program)
        return;
    banyan_free(program->gpus);
    banyan_free(program->switches);
    banyan_free(program->flows);
    banyan_free(program->via);
    banyan_free(program);
}
