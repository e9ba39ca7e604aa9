/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/json.c: the text form of a schedule (docs/formats/schedule.md, docs/schemas/). */
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/json.h"
#include "core/text.h"
#include "schedule/build.h"
#include "schedule/schedule.h"

static const char *const known_fields[] = {"format", "version", "collective", "topology", "algorithm",
                                           "nodes",  "active",  "root",       "whole",    "cut",
                                           "owner",  "routes",  "barrier",    "transfers"};
#define KNOWN_COUNT ((int)(sizeof known_fields / sizeof *known_fields))

static banyan_status wrong(banyan_error *err, const char *field, const char *wanted, const banyan_json *found)
{
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%s\" should be %s, not %s", field, wanted,
                       banyan_json_kind_name(found));
}

static banyan_status get_array(const banyan_json *root, const char *field, const banyan_json **out,
                               banyan_error *err)
{
    *out = banyan_json_field(root, field);
    if (!*out)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the schedule lacks \"%s\"", field);
    if (banyan_json_kind(*out) != BANYAN_JSON_ARRAY)
        return wrong(err, field, "an array", *out);
    return BANYAN_SUCCESS;
}

/* An array of integers in low..high, as int64. */
static banyan_status get_integers(const banyan_json *array, const char *field, int64_t low, int64_t high,
                                  int64_t **out, banyan_error *err)
{
    size_t count = banyan_json_count(array);
    int64_t *values = banyan_alloc(count, sizeof *values);

    *out = NULL;
    if (!values)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const banyan_json *item = banyan_json_item(array, i);

        if (!banyan_json_get_integer(item, &values[i]) || values[i] < low || values[i] > high) {
            banyan_free(values);
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "\"%s\" item %zu should be an integer from %" PRId64 " to %" PRId64, field, i,
                               low, high);
        }
    }
    *out = values;
    return BANYAN_SUCCESS;
}

static banyan_status get_ints(const banyan_json *array, const char *field, int **out, banyan_error *err)
{
    int64_t *wide;
    banyan_status status = get_integers(array, field, 0, INT_MAX - 1, &wide, err);
    size_t count = banyan_json_count(array);

    *out = NULL;
    if (status)
        return status;
    *out = banyan_alloc(count, sizeof **out);
    for (size_t i = 0; *out && i < count; i++)
        (*out)[i] = (int)wide[i];
    banyan_free(wide);
    return *out ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status check_head(const banyan_json *root, banyan_error *err)
{
    const char *format = "", *unknown;
    int64_t version = 0;

    if (banyan_json_kind(root) != BANYAN_JSON_OBJECT)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a schedule is an object, not %s",
                           banyan_json_kind_name(root));
    if (!banyan_json_get_string(banyan_json_field(root, "format"), &format) ||
        strcmp(format, "banyan-schedule") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"format\" should be \"banyan-schedule\"");
    if (!banyan_json_get_integer(banyan_json_field(root, "version"), &version) || version != 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"version\" should be 1");
    unknown = banyan_json_unknown_field(root, known_fields, KNOWN_COUNT);
    if (unknown)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "unknown field \"%.60s\"", unknown);
    return BANYAN_SUCCESS;
}

static banyan_status read_transfer(const banyan_json *item, size_t index, banyan_transfer *out,
                                   banyan_error *err)
{
    static const char *const names[] = {"round",       "src",    "dst",  "first_piece",
                                        "piece_count", "action", "flow", "route"};
    int *const fields[] = {&out->round,       &out->src, &out->dst,  &out->first_piece,
                           &out->piece_count, NULL,      &out->flow, &out->route};
    const char *action;

    if (banyan_json_kind(item) != BANYAN_JSON_ARRAY || banyan_json_count(item) != 8)
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "transfer %zu should be [round, src, dst, first_piece, piece_count, action, flow, route]", index);
    for (size_t i = 0; i < 8; i++) {
        int64_t value;

        if (!fields[i])
            continue;
        if (!banyan_json_get_integer(banyan_json_item(item, i), &value) || value < -1 || value >= INT_MAX)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "transfer %zu: %s should be an integer", index,
                               names[i]);
        *fields[i] = (int)value;
    }
    if (!banyan_json_get_string(banyan_json_item(item, 5), &action) ||
        (strcmp(action, "reduce") != 0 && strcmp(action, "copy") != 0))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "transfer %zu: action should be \"reduce\" or \"copy\"", index);
    out->action = *action == 'r' ? BANYAN_ACTION_REDUCE : BANYAN_ACTION_COPY;
    return BANYAN_SUCCESS;
}

static banyan_status read_transfers(const banyan_json *root, banyan_builder *builder, banyan_error *err)
{
    const banyan_json *array;
    banyan_status status = get_array(root, "transfers", &array, err);

    for (size_t i = 0; !status && i < banyan_json_count(array); i++) {
        banyan_transfer transfer;

        status = read_transfer(banyan_json_item(array, i), i, &transfer, err);
        if (!status)
            banyan_builder_add(builder, transfer);
    }
    return status;
}

static banyan_status read_routes(const banyan_json *root, banyan_builder *builder, banyan_error *err)
{
    const banyan_json *array = banyan_json_field(root, "routes");

    if (!array)
        return BANYAN_SUCCESS;
    if (banyan_json_kind(array) != BANYAN_JSON_ARRAY)
        return wrong(err, "routes", "an array", array);
    for (size_t i = 0; i < banyan_json_count(array); i++) {
        const banyan_json *item = banyan_json_item(array, i);
        banyan_status status;
        int *links;

        if (banyan_json_kind(item) != BANYAN_JSON_ARRAY || banyan_json_count(item) >= INT_MAX)
            return wrong(err, "routes", "an array of arrays of link numbers", item);
        status = get_ints(item, "routes", &links, err);
        if (status)
            return status;
        banyan_builder_add_route(builder, links, (int)banyan_json_count(item));
        banyan_free(links);
    }
    return BANYAN_SUCCESS;
}

static banyan_status read_cuts(const banyan_json *root, banyan_builder *builder, banyan_error *err)
{
    const banyan_json *array;
    int64_t *cut = NULL, whole;
    banyan_status status = get_array(root, "cut", &array, err);

    if (status)
        return status;
    if (banyan_json_count(array) < 2 || banyan_json_count(array) >= INT_MAX)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"cut\" needs at least two cut points");
    if (!banyan_json_get_integer(banyan_json_field(root, "whole"), &whole) || whole < 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"whole\" should be a positive integer");
    status = get_integers(array, "cut", 0, INT64_MAX, &cut, err);
    if (!status)
        banyan_builder_cut(builder, whole, cut, (int)banyan_json_count(array) - 1);
    banyan_free(cut);
    return status;
}

static banyan_status read_owners(const banyan_json *root, banyan_builder *builder, banyan_error *err)
{
    const banyan_json *array = banyan_json_field(root, "owner");
    banyan_status status;
    int *owner;

    if (!array || builder->status)
        return BANYAN_SUCCESS;
    if (banyan_json_kind(array) != BANYAN_JSON_ARRAY ||
        banyan_json_count(array) != (size_t)builder->schedule->piece_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"owner\" should name one rank for each of the %d pieces",
                           builder->schedule->piece_count);
    status = get_ints(array, "owner", &owner, err);
    if (status)
        return status;
    banyan_builder_set_owners(builder, owner);
    banyan_free(owner);
    return BANYAN_SUCCESS;
}

/* The highest node number that the file names, plus one: used when "nodes" is absent. */
static int64_t count_nodes(const banyan_json *root)
{
    const banyan_json *active = banyan_json_field(root, "active"),
                      *transfers = banyan_json_field(root, "transfers");
    int64_t highest = -1, value;

    for (size_t i = 0; i < banyan_json_count(active); i++)
        if (banyan_json_get_integer(banyan_json_item(active, i), &value) && value > highest)
            highest = value;
    for (size_t i = 0; transfers && i < banyan_json_count(transfers); i++)
        for (size_t j = 1; j <= 2; j++)
            if (banyan_json_get_integer(banyan_json_item(banyan_json_item(transfers, i), j), &value) &&
                value > highest)
                highest = value;
    return highest + 1;
}

static banyan_status begin(const banyan_json *root, banyan_builder *builder, banyan_error *err)
{
    const banyan_json *array, *nodes = banyan_json_field(root, "nodes"),
                              *first = banyan_json_field(root, "root");
    const char *name = "";
    int64_t node_count = 0, rank = 0;
    int collective, *active;
    banyan_status status;

    if (!banyan_json_get_string(banyan_json_field(root, "collective"), &name) ||
        (collective = banyan_collective_find(name)) < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"collective\" should be allreduce, reducescatter, allgather, broadcast, reduce, "
                           "gather, scatter or alltoall");
    status = get_array(root, "active", &array, err);
    if (status)
        return status;
    if (!nodes)
        node_count = count_nodes(root);
    else if (!banyan_json_get_integer(nodes, &node_count))
        return wrong(err, "nodes", "an integer", nodes);
    if (node_count < 1 || node_count > 1 << 20)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%" PRId64 " nodes are not between 1 and 2^20",
                           node_count);
    if (first && (!banyan_json_get_integer(first, &rank) || rank < 0 || rank >= INT_MAX))
        return wrong(err, "root", "a rank", first);
    if (banyan_json_count(array) > (size_t)node_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "more active workers than nodes");
    status = get_ints(array, "active", &active, err);
    if (status)
        return status;
    banyan_builder_init(builder, (banyan_collective)collective, (int)rank, (int)node_count, active,
                        (int)banyan_json_count(array));
    banyan_free(active);
    return BANYAN_SUCCESS;
}

static banyan_status read_barrier(const banyan_json *root, banyan_builder *builder, banyan_error *err)
{
    const banyan_json *value = banyan_json_field(root, "barrier");
    int64_t round;

    if (!value)
        return BANYAN_SUCCESS;
    if (!banyan_json_get_integer(value, &round) || round < 0 || round >= INT_MAX)
        return wrong(err, "barrier", "a round", value);
    banyan_builder_set_barrier(builder, (int)round);
    return BANYAN_SUCCESS;
}

static banyan_status read_label(const banyan_json *root, const char *field, char **out, banyan_error *err)
{
    const banyan_json *value = banyan_json_field(root, field);
    const char *text = "";

    if (value && !banyan_json_get_string(value, &text))
        return wrong(err, field, "a string", value);
    *out = banyan_strdup(text);
    return *out ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status read_schedule(const banyan_json *root, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder = {0};
    banyan_status status = check_head(root, err);

    if (!status)
        status = begin(root, &builder, err);
    if (!status)
        status = builder.status ? BANYAN_SUCCESS : read_cuts(root, &builder, err);
    if (!status)
        status = builder.status ? BANYAN_SUCCESS : read_owners(root, &builder, err);
    if (!status)
        status = read_routes(root, &builder, err);
    if (!status)
        status = read_barrier(root, &builder, err);
    if (!status)
        status = read_transfers(root, &builder, err);
    if (!status && !builder.status)
        status = read_label(root, "topology", &builder.schedule->topology, err);
    if (!status && !builder.status)
        status = read_label(root, "algorithm", &builder.schedule->algorithm, err);
    if (status) {
        banyan_schedule_destroy(builder.schedule);
        return status;
    }
    return banyan_builder_finish(&builder, out, err);
}

banyan_status banyan_schedule_parse(const char *text, size_t length, banyan_schedule **out, banyan_error *err)
{
    banyan_json *root;
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!text)
        return banyan_fail_null("text", err);
    status = banyan_json_parse(text, length, &root, err);
    if (status)
        return status;
    status = read_schedule(root, out, err);
    banyan_json_destroy(root);
    return status;
}

static void write_ints(banyan_text *text, const char *field, const int *values, int count)
{
    banyan_text_add(text, "\"%s\":[", field);
    for (int i = 0; i < count; i++)
        banyan_text_add(text, "%s%d", i ? "," : "", values[i]);
    banyan_text_add(text, "],\n");
}

static void write_transfers(banyan_text *text, const banyan_schedule *schedule)
{
    banyan_text_add(text, "\"transfers\":[");
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];

        banyan_text_add(text, "%s\n[%d,%d,%d,%d,%d,\"%s\",%d,%d]", i ? "," : "", t->round, t->src, t->dst,
                        t->first_piece, t->piece_count, t->action == BANYAN_ACTION_REDUCE ? "reduce" : "copy",
                        t->flow, t->route);
    }
    banyan_text_add(text, "]}\n");
}

banyan_status banyan_schedule_format(const banyan_schedule *schedule, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    banyan_text_add(&text,
                    "{\"format\":\"banyan-schedule\",\"version\":1,\"collective\":\"%s\",\n\"topology\":",
                    banyan_collective_name(schedule->collective));
    banyan_text_add_json_string(&text, schedule->topology ? schedule->topology : "");
    banyan_text_add(&text, ",\"algorithm\":");
    banyan_text_add_json_string(&text, schedule->algorithm ? schedule->algorithm : "");
    banyan_text_add(&text, ",\"nodes\":%d,\"root\":%d,\n", schedule->node_count, schedule->root);
    write_ints(&text, "active", schedule->active, schedule->active_count);
    banyan_text_add(&text, "\"whole\":%" PRId64 ",\n\"cut\":[", schedule->whole);
    for (int i = 0; i <= schedule->piece_count; i++)
        banyan_text_add(&text, "%s%" PRId64, i ? "," : "", schedule->cut[i]);
    banyan_text_add(&text, "],\n");
    if (schedule->owner)
        write_ints(&text, "owner", schedule->owner, schedule->piece_count);
    banyan_text_add(&text, "\"routes\":[");
    for (int i = 0; i < schedule->route_count; i++) {
        banyan_text_add(&text, "%s[", i ? "," : "");
        for (int j = schedule->route_first[i]; j < schedule->route_first[i + 1]; j++)
            banyan_text_add(&text, "%s%d", j > schedule->route_first[i] ? "," : "", schedule->route_link[j]);
        banyan_text_add(&text, "]");
    }
    banyan_text_add(&text, "],\n");
    if (schedule->barrier)
        banyan_text_add(&text, "\"barrier\":%d,\n", schedule->barrier);
    write_transfers(&text, schedule);
    return banyan_text_take(&text, out, err);
}
