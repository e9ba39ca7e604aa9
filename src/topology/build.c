/* SPDX-License-Identifier: Apache-2.0 */
/* topology/build.c: adding nodes and links with a sticky failure, then one pass that checks and indexes. */
#include "topology/build.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

/* Enough for any cluster, small enough that no product of two of them overflows a size_t. */
static const int node_limit = 1 << 20, link_limit = 1 << 23;

static void out_of_memory(banyan_topology_builder *builder)
{
    if (!builder->status)
        builder->status = banyan_fail_memory(&builder->err);
}

void banyan_topology_builder_fail(banyan_topology_builder *builder, banyan_status status, const char *format,
                                  ...)
{
    va_list arguments;

    if (builder->status)
        return;
    builder->status = status;
    va_start(arguments, format);
    vsnprintf(builder->err.text, sizeof builder->err.text, format, arguments);
    va_end(arguments);
}

void banyan_topology_builder_init(banyan_topology_builder *builder, const char *name)
{
    *builder = (banyan_topology_builder){.topology = banyan_alloc(1, sizeof(banyan_topology))};
    if (builder->topology)
        builder->topology->name = banyan_strdup(name);
    if (!builder->topology || !builder->topology->name)
        out_of_memory(builder);
}

static int keep_name(banyan_topology_builder *builder, const char *name)
{
    size_t offset = builder->pool.length;

    if (!*name || strlen(name) > 255)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "a name needs 1 to 255 characters");
    if (offset > (size_t)1 << 30)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "names take more than 1 GiB");
    banyan_text_add_bytes(&builder->pool, name, strlen(name) + 1);
    if (builder->pool.failed)
        out_of_memory(builder);
    return (int)offset;
}

static int add_node(banyan_topology_builder *builder, const char *name, banyan_node_kind kind, int host)
{
    banyan_topology *topology = builder->topology;
    void *nodes;
    int offset;

    if (builder->status)
        return -1;
    if (topology->node_count == node_limit) {
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "more than %d nodes", node_limit);
        return -1;
    }
    if (host < -1 || host >= topology->host_count) {
        banyan_topology_builder_fail(builder, BANYAN_INTERNAL_ERROR, "node %s: host %d does not exist", name,
                                     host);
        return -1;
    }
    nodes = topology->nodes;
    if (!banyan_grow(&nodes, (size_t)topology->node_count, &builder->node_capacity, sizeof *topology->nodes))
        out_of_memory(builder);
    topology->nodes = nodes;
    offset = keep_name(builder, name);
    if (builder->status)
        return -1;
    topology->nodes[topology->node_count] = (banyan_node){.kind = kind, .host = host, .name = offset};
    topology->worker_count += kind == BANYAN_NODE_WORKER;
    return topology->node_count++;
}

int banyan_topology_add_worker(banyan_topology_builder *builder, const char *name, int host)
{
    return add_node(builder, name, BANYAN_NODE_WORKER, host);
}

int banyan_topology_add_switch(banyan_topology_builder *builder, const char *name)
{
    return add_node(builder, name, BANYAN_NODE_SWITCH, -1);
}

int banyan_topology_add_host(banyan_topology_builder *builder, const char *name)
{
    banyan_topology *topology = builder->topology;
    void *hosts;
    int offset;

    if (builder->status)
        return -1;
    hosts = topology->hosts;
    if (!banyan_grow(&hosts, (size_t)topology->host_count, &builder->host_capacity, sizeof *topology->hosts))
        out_of_memory(builder);
    topology->hosts = hosts;
    offset = keep_name(builder, name);
    if (builder->status)
        return -1;
    topology->hosts[topology->host_count] = offset;
    return topology->host_count++;
}

int banyan_topology_add_worker_f(banyan_topology_builder *builder, int host, const char *format, ...)
{
    char name[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return banyan_topology_add_worker(builder, name, host);
}

int banyan_topology_add_switch_f(banyan_topology_builder *builder, const char *format, ...)
{
    char name[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return banyan_topology_add_switch(builder, name);
}

static const char *name_of(const banyan_topology_builder *builder, int node)
{
    return builder->pool.bytes + builder->topology->nodes[node].name;
}

void banyan_topology_add_link(banyan_topology_builder *builder, int src, int dst, double bytes_per_s,
                              double latency_s)
{
    banyan_topology *topology = builder->topology;
    void *links;

    if (builder->status)
        return;
    if (src < 0 || dst < 0 || src >= topology->node_count || dst >= topology->node_count)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "link %d: node %d does not exist",
                                     topology->link_count,
                                     src < 0 || src >= topology->node_count ? src : dst);
    else if (src == dst)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "link %d leads from %s to itself",
                                     topology->link_count, name_of(builder, src));
    else if (!isfinite(bytes_per_s) || bytes_per_s <= 0)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                     "link %s-%s: bandwidth %g is not a positive number",
                                     name_of(builder, src), name_of(builder, dst), bytes_per_s);
    else if (!isfinite(latency_s) || latency_s < 0)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                     "link %s-%s: latency %g is not zero or positive", name_of(builder, src),
                                     name_of(builder, dst), latency_s);
    else if (topology->link_count == link_limit)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "more than %d links", link_limit);
    if (builder->status)
        return;
    links = topology->links;
    if (!banyan_grow(&links, (size_t)topology->link_count, &builder->link_capacity,
                     sizeof *topology->links)) {
        out_of_memory(builder);
        return;
    }
    topology->links = links;
    /* A latency of -0 is 0, so that what is written reads back as the same. */
    topology->links[topology->link_count++] = (banyan_link){src, dst, bytes_per_s, latency_s + 0.0};
}

void banyan_topology_add_damaged(banyan_topology_builder *builder, const banyan_damaged_link *link)
{
    banyan_topology *topology = builder->topology;
    void *damaged;

    if (builder->status)
        return;
    damaged = topology->damaged;
    if (!banyan_grow(&damaged, (size_t)topology->damaged_count, &builder->damaged_capacity, sizeof *link))
        out_of_memory(builder);
    topology->damaged = damaged;
    if (!builder->status)
        topology->damaged[topology->damaged_count++] = *link;
}

void banyan_topology_add_cable(banyan_topology_builder *builder, int a, int b, double bytes_per_s,
                               double latency_s)
{
    banyan_topology_add_link(builder, a, b, bytes_per_s, latency_s);
    banyan_topology_add_link(builder, b, a, bytes_per_s, latency_s);
}

static int add_end(banyan_topology_builder *builder, int a, int b, int first_link, const char *end)
{
    char name[2 * 256 + 32];

    if (builder->status)
        return -1;
    snprintf(name, sizeof name, "%s-%s.%d.%s", name_of(builder, a), name_of(builder, b), first_link, end);
    return banyan_topology_add_switch(builder, name);
}

void banyan_topology_add_half_duplex(banyan_topology_builder *builder, int a, int b, double bytes_per_s,
                                     double latency_s)
{
    int first_link = builder->status ? 0 : builder->topology->link_count, in, out;

    if (a < 0 || b < 0 || a == b) {
        banyan_topology_add_link(builder, a, b, bytes_per_s, latency_s); /* which says what is wrong */
        return;
    }
    in = add_end(builder, a, b, first_link, "in");
    out = add_end(builder, a, b, first_link, "out");
    banyan_topology_add_link(builder, a, in, bytes_per_s, 0);
    banyan_topology_add_link(builder, b, in, bytes_per_s, 0);
    banyan_topology_add_link(builder, in, out, bytes_per_s, latency_s);
    banyan_topology_add_link(builder, out, a, bytes_per_s, 0);
    banyan_topology_add_link(builder, out, b, bytes_per_s, 0);
}

void banyan_topology_set_abilities(banyan_topology_builder *builder, int node, int can_multicast,
                                   int can_reduce)
{
    if (builder->status)
        return;
    builder->topology->nodes[node].can_multicast = can_multicast;
    builder->topology->nodes[node].can_reduce = can_reduce;
}

void banyan_topology_set_policy(banyan_topology_builder *builder, banyan_route_policy policy)
{
    if (!builder->status)
        builder->topology->policy = policy;
}

void banyan_topology_set_grid(banyan_topology_builder *builder, const banyan_grid *grid)
{
    if (!builder->status)
        builder->topology->grid = *grid;
}

typedef struct {
    const char *name;
    int node;
} named;

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static void index_names(banyan_topology_builder *builder)
{
    banyan_topology *topology = builder->topology;
    named *list = banyan_alloc((size_t)topology->node_count, sizeof *list);

    topology->by_name = banyan_alloc((size_t)topology->node_count, sizeof *topology->by_name);
    if (!list || !topology->by_name) {
        out_of_memory(builder);
        banyan_free(list);
        return;
    }
    for (int i = 0; i < topology->node_count; i++)
        list[i] = (named){name_of(builder, i), i};
    qsort(list, (size_t)topology->node_count, sizeof *list, by_name);
    for (int i = 0; i < topology->node_count; i++) {
        topology->by_name[i] = list[i].node;
        if (i > 0 && !strcmp(list[i].name, list[i - 1].name))
            banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "two nodes are named %s",
                                         list[i].name);
    }
    banyan_free(list);
}

/* Fills first/item so that the links of node v are item[first[v] .. first[v+1]), ascending. */
static void index_ends(banyan_topology *topology, int *first, int *item, int outgoing)
{
    for (int i = 0; i < topology->link_count; i++)
        first[(outgoing ? topology->links[i].src : topology->links[i].dst) + 1]++;
    for (int v = 0; v < topology->node_count; v++)
        first[v + 1] += first[v];
    for (int i = topology->link_count - 1; i >= 0; i--) {
        int v = outgoing ? topology->links[i].src : topology->links[i].dst;

        item[--first[v + 1]] = i;
    }
    /* The downward fill left first[v+1] at v's own beginning: shift back by one place. */
    for (int v = 0; v < topology->node_count; v++)
        first[v] = first[v + 1];
    first[topology->node_count] = topology->link_count;
}

static void index_links(banyan_topology_builder *builder)
{
    banyan_topology *topology = builder->topology;
    size_t nodes = (size_t)topology->node_count + 1, links = (size_t)topology->link_count;

    topology->out_first = banyan_alloc(nodes, sizeof(int));
    topology->in_first = banyan_alloc(nodes, sizeof(int));
    topology->out_link = banyan_alloc(links, sizeof(int));
    topology->in_link = banyan_alloc(links, sizeof(int));
    topology->workers = banyan_alloc((size_t)topology->worker_count, sizeof(int));
    if (!topology->out_first || !topology->in_first || !topology->out_link || !topology->in_link ||
        !topology->workers) {
        out_of_memory(builder);
        return;
    }
    index_ends(topology, topology->out_first, topology->out_link, 1);
    index_ends(topology, topology->in_first, topology->in_link, 0);
    for (int i = 0, w = 0; i < topology->node_count; i++)
        if (topology->nodes[i].kind == BANYAN_NODE_WORKER)
            topology->workers[w++] = i;
}

static void check_grid(banyan_topology_builder *builder)
{
    const banyan_grid *grid = &builder->topology->grid;
    long long product = 1;

    if (!grid->dimension_count)
        return;
    for (int i = 0; i < grid->dimension_count && product <= node_limit; i++)
        product *= grid->extent[i];
    if (product != builder->topology->worker_count)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                     "the grid's extents do not make %d workers",
                                     builder->topology->worker_count);
}

banyan_status banyan_topology_builder_finish(banyan_topology_builder *builder, banyan_topology **out,
                                             banyan_error *err)
{
    banyan_status status;

    *out = NULL;
    if (!builder->status && !builder->topology->worker_count)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "the topology has no worker");
    if (!builder->status)
        check_grid(builder);
    if (!builder->status)
        index_names(builder);
    if (!builder->status)
        index_links(builder);
    if (!builder->status) {
        builder->topology->pool = builder->pool.bytes;
        builder->pool = (banyan_text)BANYAN_TEXT_EMPTY;
        *out = builder->topology;
        builder->topology = NULL;
    } else if (err) {
        *err = builder->err;
    }
    status = builder->status;
    banyan_text_fini(&builder->pool);
    banyan_topology_destroy(builder->topology);
    *builder = (banyan_topology_builder){0};
    return status;
}
