/* SPDX-License-Identifier: Apache-2.0 */
/* train/chakra.c: the reader of Chakra traces, schema 0.0.4 to 1.0.0 (mlcommons/chakra, et_def.proto).
 *
 *     file      = (varint length, message)*: GlobalMetadata, then Nodes
 *     metadata  = version 1
 *     node      = id 1, name 2, type 3, ctrl_deps 4, data_deps 5, duration_micros 7, attr 10
 *     attribute = name 1, and a value, whose field number says its type
 *
 * Fields that we do not know are passed over, as the wire format means it. Ids are any numbers; what a node
 * waits for may stand behind it, so ids become indices at the end, by a sort: O(N log N). */
#include "train/chakra.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/gzip.h"
#include "core/protobuf.h"

enum { MAX_NODES = 16 << 20, MAX_WAITS = 64 << 20, MAX_GROUPS = 4096, MAX_GROUP_NAME = 128 };
static const size_t max_bytes = (size_t)4 << 30;

/* NodeType and CollectiveCommType of the schema. */
enum { COMPUTE = 4, SEND = 5, RECEIVE = 6, COLLECTIVE = 7, BARRIER = 9 };
static const int collectives[] = {BANYAN_COLLECTIVE_ALLREDUCE,      BANYAN_COLLECTIVE_REDUCE,
                                  BANYAN_COLLECTIVE_ALLGATHER,      BANYAN_COLLECTIVE_GATHER,
                                  BANYAN_COLLECTIVE_SCATTER,        BANYAN_COLLECTIVE_BROADCAST,
                                  BANYAN_COLLECTIVE_ALLTOALL,       BANYAN_COLLECTIVE_REDUCE_SCATTER,
                                  BANYAN_COLLECTIVE_REDUCE_SCATTER, BANYAN_COLLECTIVE_ALLREDUCE};

typedef struct {
    uint64_t id;
    int index;
} numbered;

/* What the attributes of one node said. */
typedef struct {
    int is_on_host;
    uint64_t collective, bytes;
    int64_t src, dst;
    banyan_protobuf group;
} attributes;

typedef struct {
    banyan_chakra *trace;
    size_t node_capacity, wait_capacity, group_capacity;
    uint64_t *wait_ids; /* until they are looked up */
    const unsigned char *start;
    banyan_error *err;
} reader;

static banyan_status damaged(const reader *in, const unsigned char *at, const char *what)
{
    return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "byte %zu: %s", (size_t)(at - in->start), what);
}

static int is_text(banyan_protobuf bytes, const char *text)
{
    return (size_t)(bytes.end - bytes.at) == strlen(text) && !memcmp(bytes.at, text, strlen(text));
}

/* sint32 and sint64 fold the sign into the lowest bit. */
static uint64_t value_of(const banyan_protobuf_field *field)
{
    int is_folded = field->number == 15 || field->number == 17;

    return is_folded ? (field->value >> 1) ^ (0 - (field->value & 1)) : field->value;
}

static banyan_status read_attribute(reader *in, banyan_protobuf message, attributes *out)
{
    banyan_protobuf name = {message.at, message.at};
    banyan_protobuf_field field, value = {0};
    int result;

    while ((result = banyan_protobuf_next(&message, &field)) == 1) {
        if (field.number == 1 && field.type == BANYAN_PROTOBUF_BYTES)
            name = field.bytes;
        else if (field.number >= 3)
            value = field;
    }
    if (result)
        return damaged(in, message.at, "an attribute is damaged");
    if (value.type == BANYAN_PROTOBUF_BYTES) {
        if (is_text(name, "pg_name") && value.number == 29)
            out->group = value.bytes;
        return BANYAN_SUCCESS;
    }
    if (is_text(name, "is_cpu_op"))
        out->is_on_host = value_of(&value) != 0;
    else if (is_text(name, "comm_type"))
        out->collective = value_of(&value);
    else if (is_text(name, "comm_size"))
        out->bytes = value_of(&value);
    else if (is_text(name, "comm_src"))
        out->src = (int64_t)value_of(&value);
    else if (is_text(name, "comm_dst"))
        out->dst = (int64_t)value_of(&value);
    return BANYAN_SUCCESS;
}

static banyan_status add_wait(reader *in, uint64_t id, const unsigned char *at)
{
    banyan_chakra *trace = in->trace;
    void *ids = in->wait_ids;

    if (trace->wait_count == MAX_WAITS)
        return damaged(in, at, "the nodes have more than 67108864 dependencies");
    if (!banyan_grow(&ids, (size_t)trace->wait_count, &in->wait_capacity, sizeof *in->wait_ids))
        return banyan_fail_memory(in->err);
    in->wait_ids = ids;
    in->wait_ids[trace->wait_count++] = id;
    return BANYAN_SUCCESS;
}

/* Dependencies come packed, many numbers in one field, or one by one. */
static banyan_status read_waits(reader *in, const banyan_protobuf_field *field)
{
    banyan_protobuf packed = field->bytes;
    banyan_status status = BANYAN_SUCCESS;
    uint64_t id;
    int result = 0;

    if (field->type == BANYAN_PROTOBUF_VARINT)
        return add_wait(in, field->value, in->start);
    while (!status && (result = banyan_protobuf_next_varint(&packed, &id)) == 1)
        status = add_wait(in, id, packed.at);
    return !status && result ? damaged(in, packed.at, "a list of dependencies is damaged") : status;
}

/* The number of the process group's name; the few that there are are walked. */
static banyan_status find_group(reader *in, banyan_protobuf name, int *out)
{
    banyan_chakra *trace = in->trace;
    size_t length = (size_t)(name.end - name.at);
    void *groups = trace->groups;
    char *copy;

    *out = -1;
    if (!length)
        return BANYAN_SUCCESS;
    if (length > MAX_GROUP_NAME || memchr(name.at, 0, length))
        return damaged(in, name.at, "the name of a process group is not of 1 to 128 bytes");
    for (int i = 0; i < trace->group_count; i++)
        if (is_text(name, trace->groups[i])) {
            *out = i;
            return BANYAN_SUCCESS;
        }
    if (trace->group_count == MAX_GROUPS)
        return damaged(in, name.at, "there are more than 4096 process groups");
    if (!banyan_grow(&groups, (size_t)trace->group_count, &in->group_capacity, sizeof *trace->groups))
        return banyan_fail_memory(in->err);
    trace->groups = groups;
    copy = banyan_alloc(length + 1, 1);
    if (!copy)
        return banyan_fail_memory(in->err);
    memcpy(copy, name.at, length);
    trace->groups[trace->group_count] = copy;
    *out = trace->group_count++;
    return BANYAN_SUCCESS;
}

static int rank_of(int64_t number)
{
    return number >= 0 && number < 1 << 24 ? (int)number : -1;
}

/* Joins what the fields and the attributes said. */
static banyan_status complete_node(reader *in, banyan_chakra_node *node, uint64_t type,
                                   const attributes *said, const unsigned char *at)
{
    static const size_t known = sizeof collectives / sizeof *collectives;

    node->bytes = said->bytes;
    switch (type) {
    case COMPUTE:
        node->kind = said->is_on_host ? BANYAN_CHAKRA_HOST : BANYAN_CHAKRA_DEVICE;
        break;
    case SEND:
        node->kind = BANYAN_CHAKRA_SEND;
        node->self = rank_of(said->src);
        node->peer = rank_of(said->dst);
        break;
    case RECEIVE:
        node->kind = BANYAN_CHAKRA_RECEIVE;
        node->self = rank_of(said->dst);
        node->peer = rank_of(said->src);
        break;
    case COLLECTIVE:
        if (said->collective >= known)
            return damaged(in, at, "a collective is of a type that the schema does not have");
        node->kind = BANYAN_CHAKRA_COLLECTIVE;
        node->collective = collectives[said->collective];
        node->bytes = said->collective == BARRIER ? 0 : said->bytes;
        break;
    default:
        node->kind = BANYAN_CHAKRA_OTHER;
    }
    return node->bytes >> 53 ? damaged(in, at, "a node sends more than 2^53 bytes")
                             : find_group(in, said->group, &node->group);
}

static banyan_status read_field(reader *in, const banyan_protobuf_field *field, banyan_chakra_node *node,
                                uint64_t *type, attributes *said)
{
    switch (field->number) {
    case 1:
        node->id = field->value;
        return BANYAN_SUCCESS;
    case 3:
        *type = field->value;
        return BANYAN_SUCCESS;
    case 4:
    case 5:
        return read_waits(in, field);
    case 7:
        node->recorded_s = (double)field->value * 1e-6;
        return BANYAN_SUCCESS;
    case 10:
        return field->type == BANYAN_PROTOBUF_BYTES ? read_attribute(in, field->bytes, said) : BANYAN_SUCCESS;
    default:
        return BANYAN_SUCCESS;
    }
}

static banyan_status read_node(reader *in, banyan_protobuf message)
{
    banyan_chakra *trace = in->trace;
    banyan_chakra_node node = {.self = -1, .peer = -1, .group = -1, .first_wait = trace->wait_count};
    attributes said = {.src = -1, .dst = -1, .group = {message.at, message.at}};
    banyan_protobuf_field field;
    void *nodes = trace->nodes;
    banyan_status status = BANYAN_SUCCESS;
    uint64_t type = 0;
    int result = 0;

    while (!status && (result = banyan_protobuf_next(&message, &field)) == 1)
        status = read_field(in, &field, &node, &type, &said);
    if (!status && result)
        status = damaged(in, message.at, "a node is damaged");
    if (!status)
        status = complete_node(in, &node, type, &said, message.at);
    if (!status && trace->node_count == MAX_NODES)
        status = damaged(in, message.at, "there are more than 16777216 nodes");
    if (status)
        return status;
    if (!banyan_grow(&nodes, (size_t)trace->node_count, &in->node_capacity, sizeof *trace->nodes))
        return banyan_fail_memory(in->err);
    trace->nodes = nodes;
    node.wait_count = trace->wait_count - node.first_wait;
    trace->nodes[trace->node_count++] = node;
    return BANYAN_SUCCESS;
}

static banyan_status read_metadata(reader *in, banyan_protobuf message)
{
    banyan_protobuf_field field;
    int result;

    while ((result = banyan_protobuf_next(&message, &field)) == 1)
        if (field.number == 1 && field.type == BANYAN_PROTOBUF_BYTES)
            snprintf(in->trace->version, sizeof in->trace->version, "%.*s",
                     (int)(field.bytes.end - field.bytes.at < 31 ? field.bytes.end - field.bytes.at : 31),
                     (const char *)field.bytes.at);
    return result ? damaged(in, message.at, "the metadata are damaged") : BANYAN_SUCCESS;
}

static banyan_status read_messages(reader *in, banyan_protobuf file)
{
    banyan_status status = BANYAN_SUCCESS;
    uint64_t length;
    int result = 0, is_first = 1;

    while (!status && (result = banyan_protobuf_next_varint(&file, &length)) == 1) {
        banyan_protobuf message = {file.at, file.at};

        if (length > (uint64_t)(file.end - file.at))
            return damaged(in, file.at, "a message is cut off");
        file.at = message.end = message.at + length;
        status = is_first ? read_metadata(in, message) : read_node(in, message);
        is_first = 0;
    }
    if (!status && result)
        status = damaged(in, file.at, "the length of a message is damaged");
    if (!status && !in->trace->node_count)
        status = banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "there are no nodes in the trace");
    return status;
}

static int by_id(const void *a, const void *b)
{
    const numbered *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static banyan_status look_up(reader *in, const numbered *order)
{
    banyan_chakra *trace = in->trace;

    for (int i = 1; i < trace->node_count; i++)
        if (order[i].id == order[i - 1].id)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "two nodes have the id %llu",
                               (unsigned long long)order[i].id);
    for (int i = 0; i < trace->node_count; i++)
        for (int w = trace->nodes[i].first_wait; w < trace->nodes[i].first_wait + trace->nodes[i].wait_count;
             w++) {
            numbered key = {.id = in->wait_ids[w]};
            const numbered *found = bsearch(&key, order, (size_t)trace->node_count, sizeof *order, by_id);

            if (!found)
                return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                                   "node %llu waits for node %llu, which is not there",
                                   (unsigned long long)trace->nodes[i].id, (unsigned long long)key.id);
            trace->waits[w] = found->index;
        }
    return BANYAN_SUCCESS;
}

static banyan_status resolve(reader *in)
{
    banyan_chakra *trace = in->trace;
    numbered *order = banyan_alloc((size_t)trace->node_count, sizeof *order);
    banyan_status status;

    trace->waits = banyan_alloc((size_t)trace->wait_count, sizeof *trace->waits);
    if (!order || !trace->waits) {
        status = banyan_fail_memory(in->err);
    } else {
        for (int i = 0; i < trace->node_count; i++)
            order[i] = (numbered){trace->nodes[i].id, i};
        qsort(order, (size_t)trace->node_count, sizeof *order, by_id);
        status = look_up(in, order);
    }
    banyan_free(order);
    return status;
}

static banyan_status parse_plain(const char *bytes, size_t length, banyan_chakra **out, banyan_error *err)
{
    reader in = {
        .trace = banyan_alloc(1, sizeof *in.trace), .start = (const unsigned char *)bytes, .err = err};
    banyan_status status;

    if (!in.trace)
        return banyan_fail_memory(err);
    status = read_messages(&in, (banyan_protobuf){in.start, in.start + length});
    if (!status)
        status = resolve(&in);
    if (!status) {
        *out = in.trace;
        in.trace = NULL;
    }
    banyan_chakra_destroy(in.trace);
    banyan_free(in.wait_ids);
    return status;
}

banyan_status banyan_chakra_parse(const char *bytes, size_t length, banyan_chakra **out, banyan_error *err)
{
    banyan_status status;
    size_t plain_length;
    char *plain;

    *out = NULL;
    if (!banyan_gzip_looks_like(bytes, length))
        return parse_plain(bytes, length, out, err);
    status = banyan_gzip_unpack(bytes, length, max_bytes, &plain, &plain_length, err);
    if (!status)
        status = parse_plain(plain, plain_length, out, err);
    banyan_free(plain);
    return status;
}

banyan_status banyan_chakra_load(const char *path, banyan_chakra **out, banyan_error *err)
{
    banyan_status status;
    size_t length;
    char *bytes;

    *out = NULL;
    status = banyan_file_load(path, &bytes, &length, err);
    if (status)
        return status;
    status = banyan_chakra_parse(bytes, length, out, err);
    if (status && err)
        banyan_error_prefix(err, path);
    banyan_free(bytes);
    return status;
}

void banyan_chakra_destroy(banyan_chakra *trace)
{
    if (!trace)
        return;
    for (int i = 0; i < trace->group_count; i++)
        banyan_free(trace->groups[i]);
    banyan_free(trace->groups);
    banyan_free(trace->nodes);
    banyan_free(trace->waits);
    banyan_free(trace);
}
