/* SPDX-License-Identifier: Apache-2.0 */
/* topology/json.c: the text form of a topology (docs/formats/topology.md, docs/schemas/). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/json.h"
#include "core/text.h"
#include "topology/build.h"

static const char *const policy_names[] = {"shortest", "grid", "updown"};

static banyan_status check_fields(const banyan_json *object, const char *where, const char *const *known,
                                  int count, banyan_error *err)
{
    const char *unknown;
    char fields[128] = "";

    if (banyan_json_kind(object) != BANYAN_JSON_OBJECT)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s should be an object, not %s", where,
                           banyan_json_kind_name(object));
    unknown = banyan_json_unknown_field(object, known, count);
    if (!unknown)
        return BANYAN_SUCCESS;
    for (int i = 0; i < count; i++)
        snprintf(fields + strlen(fields), sizeof fields - strlen(fields), "%s%s", i ? ", " : "", known[i]);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: unknown field \"%.60s\" (fields are %s)", where,
                       unknown, fields);
}

static banyan_status check_head(const banyan_json *root, banyan_error *err)
{
    static const char *const known[] = {"format", "version", "name", "nodes", "links", "grid", "routes"};
    const char *format = "";
    int64_t version = 0;
    banyan_status status = check_fields(root, "a topology", known, 7, err);

    if (status)
        return status;
    if (!banyan_json_get_string(banyan_json_field(root, "format"), &format) ||
        strcmp(format, "banyan-topology") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"format\" should be \"banyan-topology\"");
    if (!banyan_json_get_integer(banyan_json_field(root, "version"), &version) || version != 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"version\" should be 1");
    return BANYAN_SUCCESS;
}

/* An optional boolean field; absent means 0. */
static banyan_status get_flag(const banyan_json *object, const char *where, const char *field, int *out,
                              banyan_error *err)
{
    const banyan_json *value = banyan_json_field(object, field);

    *out = 0;
    if (value && !banyan_json_get_boolean(value, out))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: \"%s\" should be true or false", where, field);
    return BANYAN_SUCCESS;
}

/* Hosts come in the order in which workers name them. The search is from the end: neighbours share a host. */
static int find_or_add_host(banyan_topology_builder *builder, const char *name)
{
    if (builder->status)
        return -1;
    for (int i = builder->topology->host_count - 1; i >= 0; i--)
        if (!strcmp(builder->pool.bytes + builder->topology->hosts[i], name))
            return i;
    return banyan_topology_add_host(builder, name);
}

static banyan_status read_node(const banyan_json *item, size_t index, banyan_topology_builder *builder,
                               banyan_error *err)
{
    static const char *const known[] = {"name", "kind", "host", "multicast", "reduce"};
    const banyan_json *host_field;
    const char *name = NULL, *kind = "worker", *host = NULL;
    int multicast, reduce, node;
    char where[40];
    banyan_status status;

    snprintf(where, sizeof where, "node %zu", index);
    status = check_fields(item, where, known, 5, err);
    if (status)
        return status;
    if (!banyan_json_get_string(banyan_json_field(item, "name"), &name))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: \"name\" should be a string", where);
    if (!banyan_json_get_string(banyan_json_field(item, "kind"), &kind) ||
        (strcmp(kind, "worker") != 0 && strcmp(kind, "switch") != 0))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "node %.60s: \"kind\" should be \"worker\" or \"switch\"", name);
    host_field = banyan_json_field(item, "host");
    if (host_field && !banyan_json_get_string(host_field, &host))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "node %.60s: \"host\" should be a string", name);
    status = get_flag(item, where, "multicast", &multicast, err);
    if (!status)
        status = get_flag(item, where, "reduce", &reduce, err);
    if (status)
        return status;
    if (*kind == 'w') {
        banyan_topology_add_worker(builder, name, host ? find_or_add_host(builder, host) : -1);
        if (multicast || reduce)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "node %.60s: a worker can always copy and add; abilities are for switches",
                               name);
        return BANYAN_SUCCESS;
    }
    node = banyan_topology_add_switch(builder, name);
    banyan_topology_set_abilities(builder, node, multicast, reduce);
    if (host && !builder->status)
        builder->topology->nodes[node].host = find_or_add_host(builder, host);
    return BANYAN_SUCCESS;
}

/* Names to node ids while links are read: the builder has no index yet, so we make our own sorted one, of the
 * text's names: links may add nodes to the builder, which moves its own. */
typedef struct {
    const char *name;
    int node;
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static banyan_status find_end(const named *names, int count, const banyan_json *item, const char *field,
                              size_t index, int *out, banyan_error *err)
{
    const named *found;
    named wanted = {NULL, 0};

    if (!banyan_json_get_string(banyan_json_field(item, field), &wanted.name))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "link %zu: \"%s\" should be a node's name", index,
                           field);
    found = bsearch(&wanted, names, (size_t)count, sizeof *names, by_name);
    if (!found)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "link %zu: no node is named \"%.60s\"", index,
                           wanted.name);
    *out = found->node;
    return BANYAN_SUCCESS;
}

/* Whether the two directions share the bandwidth. */
static banyan_status read_duplex(const banyan_json *item, size_t index, int both, int *is_half,
                                 banyan_error *err)
{
    const banyan_json *field = banyan_json_field(item, "duplex");
    const char *duplex = "full";

    if (field && (!banyan_json_get_string(field, &duplex) ||
                  (strcmp(duplex, "half") != 0 && strcmp(duplex, "full") != 0)))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "link %zu: \"duplex\" should be half or full",
                           index);
    *is_half = *duplex == 'h';
    if (*is_half && !both)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "link %zu: half duplex is for a cable, which has \"both\": true", index);
    return BANYAN_SUCCESS;
}

static banyan_status read_link(const banyan_json *item, size_t index, const named *names, int count,
                               banyan_topology_builder *builder, banyan_error *err)
{
    static const char *const known[] = {"src", "dst", "bytes_per_s", "latency_s", "both", "duplex"};
    const banyan_json *latency_field;
    double bytes_per_s, latency_s = 0;
    int src = -1, dst = -1, both, is_half;
    char where[40];
    banyan_status status;

    snprintf(where, sizeof where, "link %zu", index);
    status = check_fields(item, where, known, 6, err);
    if (!status)
        status = find_end(names, count, item, "src", index, &src, err);
    if (!status)
        status = find_end(names, count, item, "dst", index, &dst, err);
    if (!status)
        status = get_flag(item, where, "both", &both, err);
    if (!status)
        status = read_duplex(item, index, both, &is_half, err);
    if (status)
        return status;
    if (!banyan_json_get_number(banyan_json_field(item, "bytes_per_s"), &bytes_per_s))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "link %zu: \"bytes_per_s\" should be a number",
                           index);
    latency_field = banyan_json_field(item, "latency_s");
    if (latency_field && !banyan_json_get_number(latency_field, &latency_s))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "link %zu: \"latency_s\" should be a number", index);
    if (is_half)
        banyan_topology_add_half_duplex(builder, src, dst, bytes_per_s, latency_s);
    else if (both)
        banyan_topology_add_cable(builder, src, dst, bytes_per_s, latency_s);
    else
        banyan_topology_add_link(builder, src, dst, bytes_per_s, latency_s);
    return BANYAN_SUCCESS;
}

static banyan_status get_array(const banyan_json *root, const char *field, const banyan_json **out,
                               banyan_error *err)
{
    *out = banyan_json_field(root, field);
    if (!*out || banyan_json_kind(*out) != BANYAN_JSON_ARRAY)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%s\" should be an array, not %s", field,
                           banyan_json_kind_name(*out));
    return BANYAN_SUCCESS;
}

static banyan_status read_nodes(const banyan_json *root, banyan_topology_builder *builder, banyan_error *err)
{
    const banyan_json *array;
    banyan_status status = get_array(root, "nodes", &array, err);

    for (size_t i = 0; !status && !builder->status && i < banyan_json_count(array); i++)
        status = read_node(banyan_json_item(array, i), i, builder, err);
    return status;
}

static banyan_status read_links(const banyan_json *root, banyan_topology_builder *builder, banyan_error *err)
{
    const banyan_json *array, *nodes = banyan_json_field(root, "nodes");
    banyan_status status = get_array(root, "links", &array, err);
    int count = builder->topology->node_count;
    named *names;

    if (status)
        return status;
    names = banyan_alloc((size_t)count, sizeof *names);
    if (!names)
        return banyan_fail_memory(err);
    for (int i = 0; i < count; i++) {
        names[i] = (named){"", i};
        banyan_json_get_string(banyan_json_field(banyan_json_item(nodes, (size_t)i), "name"), &names[i].name);
    }
    qsort(names, (size_t)count, sizeof *names, by_name);
    for (size_t i = 0; !status && !builder->status && i < banyan_json_count(array); i++)
        status = read_link(banyan_json_item(array, i), i, names, count, builder, err);
    banyan_free(names);
    return status;
}

static banyan_status read_grid(const banyan_json *root, banyan_topology_builder *builder, banyan_error *err)
{
    static const char *const known[] = {"extent", "wrap"};
    const banyan_json *object = banyan_json_field(root, "grid"), *extent, *wrap;
    banyan_grid grid = {0};
    banyan_status status;

    if (!object)
        return BANYAN_SUCCESS;
    status = check_fields(object, "\"grid\"", known, 2, err);
    if (status)
        return status;
    extent = banyan_json_field(object, "extent");
    wrap = banyan_json_field(object, "wrap");
    if (!extent || !wrap || banyan_json_kind(extent) != BANYAN_JSON_ARRAY ||
        banyan_json_kind(wrap) != BANYAN_JSON_ARRAY || banyan_json_count(extent) != banyan_json_count(wrap) ||
        banyan_json_count(extent) < 1 || banyan_json_count(extent) > BANYAN_MAX_DIMENSIONS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"grid\" needs \"extent\" and \"wrap\" with 1 to %d items each",
                           BANYAN_MAX_DIMENSIONS);
    grid.dimension_count = (int)banyan_json_count(extent);
    for (int i = 0; i < grid.dimension_count; i++) {
        int64_t value;

        if (!banyan_json_get_integer(banyan_json_item(extent, (size_t)i), &value) || value < 1 ||
            value > 1 << 20)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"grid\": extent %d should be from 1 to 2^20",
                               i);
        grid.extent[i] = (int)value;
        if (!banyan_json_get_boolean(banyan_json_item(wrap, (size_t)i), &grid.wraps[i]))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"grid\": wrap %d should be true or false", i);
    }
    banyan_topology_set_grid(builder, &grid);
    return BANYAN_SUCCESS;
}

static banyan_status read_policy(const banyan_json *root, banyan_topology_builder *builder, banyan_error *err)
{
    const banyan_json *value = banyan_json_field(root, "routes");
    const char *name = "";

    if (!value)
        return BANYAN_SUCCESS;
    for (int i = 0; banyan_json_get_string(value, &name) && i < 3; i++)
        if (!strcmp(name, policy_names[i])) {
            banyan_topology_set_policy(builder, (banyan_route_policy)i);
            return BANYAN_SUCCESS;
        }
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"routes\" should be shortest, grid or updown");
}

static banyan_status read_topology(const banyan_json *root, banyan_topology **out, banyan_error *err)
{
    const banyan_json *name_field;
    banyan_topology_builder builder;
    const char *name = "unnamed";
    banyan_topology *dropped;
    banyan_status status = check_head(root, err);

    if (status)
        return status;
    name_field = banyan_json_field(root, "name");
    if (name_field && !banyan_json_get_string(name_field, &name))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"name\" should be a string");
    banyan_topology_builder_init(&builder, name);
    status = read_nodes(root, &builder, err);
    if (!status && !builder.status)
        status = read_links(root, &builder, err);
    if (!status && !builder.status)
        status = read_grid(root, &builder, err);
    if (!status && !builder.status)
        status = read_policy(root, &builder, err);
    if (!status)
        return banyan_topology_builder_finish(&builder, out, err);
    /* The sentence is written; finish only cleans up. */
    banyan_topology_builder_finish(&builder, &dropped, NULL);
    banyan_topology_destroy(dropped);
    return status;
}

banyan_status banyan_topology_parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
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
    status = read_topology(root, out, err);
    banyan_json_destroy(root);
    return status;
}

static void write_node(banyan_text *text, const banyan_topology *topology, int i)
{
    const banyan_node *node = &topology->nodes[i];

    banyan_text_add(text, "%s\n{\"name\":", i ? "," : "");
    banyan_text_add_json_string(text, banyan_topology_node_name(topology, i));
    banyan_text_add(text, ",\"kind\":\"%s\"", node->kind == BANYAN_NODE_WORKER ? "worker" : "switch");
    if (node->host >= 0) {
        banyan_text_add(text, ",\"host\":");
        banyan_text_add_json_string(text, banyan_topology_host_name(topology, node->host));
    }
    if (node->can_multicast)
        banyan_text_add(text, ",\"multicast\":true");
    if (node->can_reduce)
        banyan_text_add(text, ",\"reduce\":true");
    banyan_text_add(text, "}");
}

/* A link and the next one are written as one 'both' when they are each other's way back. */
static int is_cable(const banyan_topology *topology, int i)
{
    const banyan_link *a = &topology->links[i], *b = a + 1;

    return i + 1 < topology->link_count && a->src == b->dst && a->dst == b->src &&
           a->bytes_per_s == b->bytes_per_s && a->latency_s == b->latency_s;
}

static void write_links(banyan_text *text, const banyan_topology *topology)
{
    for (int i = 0; i < topology->link_count; i++) {
        const banyan_link *link = &topology->links[i];

        banyan_text_add(text, "%s\n{\"src\":", i ? "," : "");
        banyan_text_add_json_string(text, banyan_topology_node_name(topology, link->src));
        banyan_text_add(text, ",\"dst\":");
        banyan_text_add_json_string(text, banyan_topology_node_name(topology, link->dst));
        banyan_text_add(text, ",\"bytes_per_s\":");
        banyan_text_add_number(text, link->bytes_per_s);
        banyan_text_add(text, ",\"latency_s\":");
        banyan_text_add_number(text, link->latency_s);
        if (is_cable(topology, i)) {
            banyan_text_add(text, ",\"both\":true");
            i++;
        }
        banyan_text_add(text, "}");
    }
}

banyan_status banyan_topology_format(const banyan_topology *topology, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    const banyan_grid *grid = &topology->grid;

    banyan_text_add(&text, "{\"format\":\"banyan-topology\",\"version\":1,\"name\":");
    banyan_text_add_json_string(&text, topology->name);
    banyan_text_add(&text, ",\"routes\":\"%s\",\n", policy_names[topology->policy]);
    if (grid->dimension_count) {
        banyan_text_add(&text, "\"grid\":{\"extent\":[");
        for (int i = 0; i < grid->dimension_count; i++)
            banyan_text_add(&text, "%s%d", i ? "," : "", grid->extent[i]);
        banyan_text_add(&text, "],\"wrap\":[");
        for (int i = 0; i < grid->dimension_count; i++)
            banyan_text_add(&text, "%s%s", i ? "," : "", grid->wraps[i] ? "true" : "false");
        banyan_text_add(&text, "]},\n");
    }
    banyan_text_add(&text, "\"nodes\":[");
    for (int i = 0; i < topology->node_count; i++)
        write_node(&text, topology, i);
    banyan_text_add(&text, "],\n\"links\":[");
    write_links(&text, topology);
    banyan_text_add(&text, "]}\n");
    return banyan_text_take(&text, out, err);
}
