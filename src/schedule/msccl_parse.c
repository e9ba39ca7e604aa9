/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_parse.c: reads MSCCL XML. Ranks and blocks are numbered by their ids whatever their order in
 * the file, so the elements are first found and counted, then read in the order of the ids. */
#include "schedule/msccl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/xml.h"

typedef struct {
    const banyan_xml *xml;
    banyan_msccl_program *program;
    int *gpu;      /* by rank: its element */
    int *tb;       /* by block id of one rank: its element */
    int tb_room;   /* length of tb */
    int next_step; /* steps read so far */
    banyan_error *err;
} reader;

static banyan_status integer(const reader *in, int element, const char *key, int low, int high, int *out)
{
    return banyan_xml_integer(in->xml, element, key, low, high, out, in->err);
}

static int line_of(const reader *in, int element)
{
    return in->xml->elements[element].line;
}

static banyan_status text(const reader *in, int element, const char *key, const char **out)
{
    *out = banyan_xml_get(in->xml, element, key);
    if (*out)
        return BANYAN_SUCCESS;
    return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: <%s> lacks the attribute %s",
                       line_of(in, element), in->xml->elements[element].name, key);
}

/* Every child must carry the name; count may be NULL. */
static banyan_status count_children(const reader *in, int parent, const char *name, int *count)
{
    const banyan_xml_element *elements = in->xml->elements;

    *count = 0;
    for (int i = parent + 1; i < elements[parent].next; i = elements[i].next) {
        if (strcmp(elements[i].name, name))
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: <%.40s> where <%s> is expected",
                               elements[i].line, elements[i].name, name);
        ++*count;
    }
    return BANYAN_SUCCESS;
}

static banyan_status read_collective(reader *in)
{
    const char *name;
    banyan_status status = text(in, 0, "coll", &name);
    int found;

    if (status)
        return status;
    found = banyan_collective_find(strcmp(name, "reduce_scatter") ? name : "reducescatter");
    if (found < 0 || found > BANYAN_COLLECTIVE_REDUCE)
        return banyan_fail(in->err, BANYAN_UNSUPPORTED, "line %d: coll=\"%.40s\" is not a collective we know",
                           line_of(in, 0), name);
    in->program->collective = (banyan_collective)found;
    return BANYAN_SUCCESS;
}

static banyan_status read_protocol(reader *in)
{
    const char *name;
    banyan_status status = text(in, 0, "proto", &name);

    if (status)
        return status;
    if (strcmp(name, "Simple") && strcmp(name, "LL") && strcmp(name, "LL128"))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                           "line %d: proto=\"%.40s\" is none of Simple, LL, LL128", line_of(in, 0), name);
    memcpy(in->program->proto, name, strlen(name) + 1);
    return BANYAN_SUCCESS;
}

static banyan_status read_bytes(const reader *in, const char *key, int64_t *out)
{
    const char *value = banyan_xml_get(in->xml, 0, key);
    char *end;
    long long number;

    number = strtoll(value, &end, 10);
    if (end == value || *end || number < 0 || number == LLONG_MAX)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: %s=\"%.40s\" is not a number of bytes",
                           line_of(in, 0), key, value);
    *out = number;
    return BANYAN_SUCCESS;
}

/* What the old writers left out. */
static banyan_status read_optional(reader *in)
{
    banyan_msccl_program *program = in->program;
    banyan_status status = BANYAN_SUCCESS;

    program->lacks_out_of_place = !banyan_xml_get(in->xml, 0, "outofplace");
    program->lacks_bytes = !banyan_xml_get(in->xml, 0, "minBytes") || !banyan_xml_get(in->xml, 0, "maxBytes");
    program->out_of_place = !program->in_place;
    program->root = -1;
    if (!program->lacks_out_of_place)
        status = integer(in, 0, "outofplace", 0, 1, &program->out_of_place);
    if (!status && banyan_xml_get(in->xml, 0, "root"))
        status = integer(in, 0, "root", 0, program->rank_count - 1, &program->root);
    if (!status && banyan_xml_get(in->xml, 0, "minBytes"))
        status = read_bytes(in, "minBytes", &program->min_bytes);
    if (!status && banyan_xml_get(in->xml, 0, "maxBytes"))
        status = read_bytes(in, "maxBytes", &program->max_bytes);
    return status;
}

static banyan_status read_algo(reader *in)
{
    banyan_msccl_program *program = in->program;
    const char *name;
    banyan_status status;

    if (strcmp(in->xml->elements[0].name, "algo"))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: <%.40s> where <algo> is expected",
                           line_of(in, 0), in->xml->elements[0].name);
    status = text(in, 0, "name", &name);
    if (!status && !(program->name = banyan_strdup(name)))
        status = banyan_fail_memory(in->err);
    if (!status)
        status = read_protocol(in);
    if (!status)
        status = integer(in, 0, "nchannels", 1, BANYAN_MSCCL_CHANNELS, &program->channel_count);
    if (!status)
        status = integer(in, 0, "nchunksperloop", 1, BANYAN_MSCCL_CHUNKS, &program->chunk_count);
    if (!status)
        status = integer(in, 0, "ngpus", 1, BANYAN_MSCCL_NODES - 1, &program->rank_count);
    if (!status)
        status = read_collective(in);
    if (!status)
        status = integer(in, 0, "inplace", 0, 1, &program->in_place);
    return status ? status : read_optional(in);
}

static banyan_status find_ranks(reader *in)
{
    const banyan_xml_element *elements = in->xml->elements;
    banyan_msccl_program *program = in->program;
    int count, id;
    banyan_status status = count_children(in, 0, "gpu", &count);

    if (status)
        return status;
    if (count != program->rank_count)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: ngpus=\"%d\", but there are %d <gpu>",
                           line_of(in, 0), program->rank_count, count);
    in->gpu = banyan_alloc((size_t)count, sizeof *in->gpu);
    program->ranks = banyan_alloc((size_t)count, sizeof *program->ranks);
    if (!in->gpu || !program->ranks)
        return banyan_fail_memory(in->err);
    for (int i = 1; i < elements[0].next; i = elements[i].next) {
        status = integer(in, i, "id", 0, count - 1, &id);
        if (status)
            return status;
        if (in->gpu[id])
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: <gpu id=\"%d\"> stands here twice",
                               line_of(in, i), id);
        in->gpu[id] = i;
    }
    return BANYAN_SUCCESS;
}

/* Chunk counts, and how many blocks and steps there are, so that the arrays can be made. */
static banyan_status count_rank(reader *in, int rank)
{
    const banyan_xml_element *elements = in->xml->elements;
    banyan_msccl_program *program = in->program;
    banyan_msccl_rank *r = &program->ranks[rank];
    int element = in->gpu[rank], steps;
    banyan_status status;

    *r = (banyan_msccl_rank){.first_block = program->block_count, .line = line_of(in, element)};
    status = integer(in, element, "i_chunks", 0, BANYAN_MSCCL_CHUNKS, &r->i_chunks);
    if (!status)
        status = integer(in, element, "o_chunks", 0, BANYAN_MSCCL_CHUNKS, &r->o_chunks);
    if (!status)
        status = integer(in, element, "s_chunks", 0, BANYAN_MSCCL_CHUNKS, &r->s_chunks);
    if (!status)
        status = count_children(in, element, "tb", &r->block_count);
    for (int i = element + 1; !status && i < elements[element].next; i = elements[i].next) {
        status = count_children(in, i, "step", &steps);
        program->step_count += status ? 0 : steps;
    }
    program->block_count += r->block_count;
    return status;
}

static banyan_status buffer(const reader *in, int element, const char *key, char *out)
{
    const char *value;
    banyan_status status = text(in, element, key, &value);

    if (status)
        return status;
    if (strlen(value) != 1 || !strchr("ios", value[0]))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: %s=\"%.40s\" is none of i, o, s",
                           line_of(in, element), key, value);
    *out = value[0];
    return BANYAN_SUCCESS;
}

static banyan_status step_type(const reader *in, int element, banyan_msccl_type *out)
{
    const char *value;
    banyan_status status = text(in, element, "type", &value);

    if (status)
        return status;
    for (int i = 0; i < BANYAN_MSCCL_TYPE_COUNT; i++)
        if (!strcmp(banyan_msccl_can((banyan_msccl_type)i)->text, value)) {
            *out = (banyan_msccl_type)i;
            return BANYAN_SUCCESS;
        }
    return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: type=\"%.40s\" is not a step we know",
                       line_of(in, element), value);
}

static banyan_status read_step(reader *in, int element, int number, banyan_msccl_step *step)
{
    const int most = BANYAN_MSCCL_CHUNKS;
    int s, least_count;
    banyan_status status = integer(in, element, "s", number, number, &s);

    step->line = line_of(in, element);
    if (!status)
        status = step_type(in, element, &step->type);
    if (!status)
        status = buffer(in, element, "srcbuf", &step->srcbuf);
    if (!status)
        status = integer(in, element, "srcoff", -1, most, &step->srcoff);
    if (!status)
        status = buffer(in, element, "dstbuf", &step->dstbuf);
    if (!status)
        status = integer(in, element, "dstoff", -1, most, &step->dstoff);
    least_count = step->type == BANYAN_MSCCL_NOP ? 0 : 1;
    if (!status)
        status = integer(in, element, "cnt", least_count, BANYAN_MSCCL_COUNT, &step->cnt);
    if (!status)
        status = integer(in, element, "depid", -1, BANYAN_MSCCL_AWAITED_BLOCK, &step->depid);
    if (!status)
        status = integer(in, element, "deps", -1, INT_MAX - 1, &step->deps);
    return status ? status : integer(in, element, "hasdep", 0, 1, &step->hasdep);
}

static banyan_status read_block(reader *in, int element, int rank, int id)
{
    const banyan_xml_element *elements = in->xml->elements;
    banyan_msccl_program *program = in->program;
    int index = program->ranks[rank].first_block + id, last = program->rank_count - 1;
    banyan_msccl_block *block = &program->blocks[index];
    banyan_status status = integer(in, element, "send", -1, last, &block->send);

    block->rank = rank;
    block->id = id;
    block->line = line_of(in, element);
    block->first_step = in->next_step;
    if (!status)
        status = integer(in, element, "recv", -1, last, &block->recv);
    if (!status && (block->send == rank || block->recv == rank))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: a <tb> of rank %d has itself as peer",
                           block->line, rank);
    if (!status)
        status = integer(in, element, "chan", 0, program->channel_count - 1, &block->chan);
    for (int i = element + 1; !status && i < elements[element].next; i = elements[i].next) {
        banyan_msccl_step *step = &program->steps[in->next_step];

        step->block = index;
        status = read_step(in, i, block->step_count, step);
        block->step_count++;
        in->next_step++;
    }
    return status;
}

static banyan_status read_rank(reader *in, int rank)
{
    const banyan_xml_element *elements = in->xml->elements;
    int element = in->gpu[rank], count = in->program->ranks[rank].block_count, id;
    banyan_status status = BANYAN_SUCCESS;

    if (count > in->tb_room) {
        banyan_free(in->tb);
        in->tb = banyan_alloc((size_t)count, sizeof *in->tb);
        if (!in->tb)
            return banyan_fail_memory(in->err);
        in->tb_room = count;
    }
    if (count)
        memset(in->tb, 0, (size_t)count * sizeof *in->tb);
    for (int i = element + 1; i < elements[element].next; i = elements[i].next) {
        status = integer(in, i, "id", 0, count - 1, &id);
        if (status)
            return status;
        if (in->tb[id])
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                               "line %d: <tb id=\"%d\"> of rank %d stands here twice", line_of(in, i), id,
                               rank);
        in->tb[id] = i;
    }
    for (id = 0; !status && id < count; id++)
        status = read_block(in, in->tb[id], rank, id);
    return status;
}

static banyan_status read_program(reader *in)
{
    banyan_msccl_program *program = in->program;
    banyan_status status = read_algo(in);

    if (!status)
        status = find_ranks(in);
    for (int rank = 0; !status && rank < program->rank_count; rank++)
        status = count_rank(in, rank);
    if (status)
        return status;
    program->blocks = banyan_alloc((size_t)program->block_count, sizeof *program->blocks);
    program->steps = banyan_alloc((size_t)program->step_count, sizeof *program->steps);
    if (!program->blocks || !program->steps)
        return banyan_fail_memory(in->err);
    for (int rank = 0; !status && rank < program->rank_count; rank++)
        status = read_rank(in, rank);
    return status;
}

banyan_status banyan_msccl_parse(const char *bytes, size_t length, banyan_msccl_program **out,
                                 banyan_error *err)
{
    banyan_xml *xml = NULL;
    reader in = {.err = err};
    banyan_status status;

    *out = NULL;
    status = banyan_xml_parse(bytes, length, &xml, err);
    if (status)
        return status;
    in.xml = xml;
    in.program = banyan_alloc(1, sizeof *in.program);
    status = in.program ? read_program(&in) : banyan_fail_memory(err);
    if (!status) {
        *out = in.program;
        in.program = NULL;
    }
    banyan_free(in.gpu);
    banyan_free(in.tb);
    banyan_msccl_destroy(in.program);
    banyan_xml_destroy(xml);
    return status;
}
