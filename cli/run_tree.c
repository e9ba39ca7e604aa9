/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_tree.c: what lies inside a host is drawn together into one vertex; what is left must be a tree.
 *
 *      g0 g1    g2 g3 g4              h0      h1
 *       \ /      \ | /                  \    /
 *       h0        h1        ──>          net
 *         \      /
 *           net
 *
 * A switch lies inside a host when it bears the host's name, or when two or more workers hang on it and all
 * are of that host. A worker without a host is a host of its own. */
#include "run_tree.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"

typedef struct {
    const banyan_topology *topology;
    int *vertices; /* by node; while hosts are found: the host of the node, or -1 */
    run_tree *tree;
} drawing;

void run_tree_destroy(run_tree *tree)
{
    if (!tree)
        return;
    banyan_free(tree->names);
    banyan_free(tree->rank_hosts);
    banyan_free(tree->cables);
    banyan_free(tree);
}

static const char *node_name(const drawing *d, int node)
{
    return banyan_topology_node_name(d->topology, node);
}

static banyan_status place_workers(drawing *d, banyan_error *err)
{
    const banyan_topology *t = d->topology;
    int *numbers = banyan_alloc((size_t)t->host_count + 1, sizeof *numbers); /* plus 1; 0: not met yet */

    if (!numbers)
        return banyan_fail_memory(err);
    for (int rank = 0; rank < t->worker_count; rank++) {
        const banyan_node *node = &t->nodes[t->workers[rank]];
        int alone = 0, *number = node->host >= 0 ? &numbers[node->host] : &alone;

        if (!*number && d->tree->host_count < RUN_MAX_HOSTS) {
            *number = ++d->tree->host_count;
            snprintf(d->tree->names[*number - 1], sizeof *d->tree->names, "%s",
                     node->host >= 0 ? banyan_topology_host_name(t, node->host)
                                     : node_name(d, t->workers[rank]));
        }
        d->vertices[t->workers[rank]] = *number - 1;
        d->tree->rank_hosts[rank] = *number - 1;
        if (!*number)
            break;
    }
    banyan_free(numbers);
    if (d->vertices[t->workers[t->worker_count - 1]] < 0)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "a test network has at most %d hosts", RUN_MAX_HOSTS);
    return BANYAN_SUCCESS;
}

/* The host that the switch lies in, or -1. */
static int host_around(const drawing *d, int node)
{
    const banyan_topology *t = d->topology;
    int host = -1, workers = 0;

    for (int i = 0; i < d->tree->host_count; i++)
        if (!strcmp(d->tree->names[i], node_name(d, node)))
            return i;
    for (int i = t->out_first[node]; i < t->out_first[node + 1]; i++) {
        int other = t->links[t->out_link[i]].dst;

        if (t->nodes[other].kind != BANYAN_NODE_WORKER)
            continue;
        if (workers++ && d->vertices[other] != host)
            return -1;
        host = d->vertices[other];
    }
    return workers > 1 ? host : -1;
}

static void place_switches(drawing *d)
{
    run_tree *tree = d->tree;

    for (int node = 0; node < d->topology->node_count; node++) {
        if (d->topology->nodes[node].kind != BANYAN_NODE_SWITCH)
            continue;
        d->vertices[node] = host_around(d, node);
        if (d->vertices[node] < 0) {
            d->vertices[node] = tree->host_count + tree->switch_count++;
            snprintf(tree->names[d->vertices[node]], sizeof *tree->names, "%s", node_name(d, node));
        }
    }
}

static run_cable *find_cable(run_tree *tree, int a, int b)
{
    for (int i = 0; i < tree->cable_count; i++) {
        run_cable *c = &tree->cables[i];

        if ((c->ends[0] == a && c->ends[1] == b) || (c->ends[0] == b && c->ends[1] == a))
            return c;
    }
    return NULL;
}

/* Parallel links count as one of their total speed. */
static banyan_status lay_cables(drawing *d, banyan_error *err)
{
    run_tree *tree = d->tree;
    int vertices = tree->host_count + tree->switch_count;

    for (int i = 0; i < d->topology->link_count; i++) {
        const banyan_link *link = &d->topology->links[i];
        int a = d->vertices[link->src], b = d->vertices[link->dst];
        run_cable *cable = find_cable(tree, a, b);

        if (a == b)
            continue;
        if (!cable && tree->cable_count == vertices - 1)
            return banyan_fail(err, BANYAN_UNSUPPORTED,
                               "a test network is a tree of hosts, but %s and %s are joined in two ways",
                               tree->names[a], tree->names[b]);
        if (!cable) {
            cable = &tree->cables[tree->cable_count++];
            *cable = (run_cable){{a, b}, {0, 0}};
        }
        cable->bytes_per_s[cable->ends[1] == a] += link->bytes_per_s;
    }
    return BANYAN_SUCCESS;
}

/* vertices - 1 cables at the most, so connected means a tree. */
static banyan_status check_tree(const run_tree *tree, banyan_error *err)
{
    int vertices = tree->host_count + tree->switch_count;
    char *is_reached = banyan_alloc((size_t)vertices, 1);
    int grew = 1, missing = -1;

    if (!is_reached)
        return banyan_fail_memory(err);
    for (is_reached[0] = 1; grew;) {
        grew = 0;
        for (int i = 0; i < tree->cable_count; i++) {
            const run_cable *c = &tree->cables[i];

            if (is_reached[c->ends[0]] != is_reached[c->ends[1]])
                grew = is_reached[c->ends[0]] = is_reached[c->ends[1]] = 1;
        }
    }
    for (int i = 0; i < vertices; i++)
        if (!is_reached[i])
            missing = i;
    banyan_free(is_reached);
    if (missing >= 0)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "a test network is a tree of hosts, but %s and %s are not joined", tree->names[0],
                           tree->names[missing]);
    return BANYAN_SUCCESS;
}

static banyan_status check_ends(const run_tree *tree, banyan_error *err)
{
    for (int i = 0; i < tree->cable_count; i++) {
        const run_cable *c = &tree->cables[i];

        for (int end = 0; end < 2; end++) {
            if (!(c->bytes_per_s[end] > 0))
                return banyan_fail(err, BANYAN_UNSUPPORTED, "no link leads from %s to %s",
                                   tree->names[c->ends[end]], tree->names[c->ends[!end]]);
            for (int j = 0; j < i; j++)
                if (c->ends[end] < tree->host_count &&
                    (tree->cables[j].ends[0] == c->ends[end] || tree->cables[j].ends[1] == c->ends[end]))
                    return banyan_fail(err, BANYAN_UNSUPPORTED,
                                       "host %s has two cables, and in a test network a host has one",
                                       tree->names[c->ends[end]]);
        }
    }
    return BANYAN_SUCCESS;
}

static banyan_status draw(drawing *d, banyan_error *err)
{
    banyan_status status = place_workers(d, err);

    if (status)
        return status;
    place_switches(d);
    status = lay_cables(d, err);
    if (!status)
        status = check_tree(d->tree, err);
    return status ? status : check_ends(d->tree, err);
}

banyan_status run_tree_create(const banyan_topology *topology, run_tree **out, banyan_error *err)
{
    drawing d = {.topology = topology, .tree = banyan_alloc(1, sizeof(run_tree))};
    size_t nodes = (size_t)topology->node_count;
    banyan_status status;

    *out = NULL;
    if (!d.tree)
        return banyan_fail_memory(err);
    d.tree->rank_count = topology->worker_count;
    d.vertices = banyan_alloc(nodes, sizeof *d.vertices);
    d.tree->names = banyan_alloc(nodes, sizeof *d.tree->names);
    d.tree->rank_hosts = banyan_alloc((size_t)topology->worker_count, sizeof *d.tree->rank_hosts);
    d.tree->cables = banyan_alloc(nodes, sizeof *d.tree->cables);
    for (size_t i = 0; d.vertices && i < nodes; i++)
        d.vertices[i] = -1;
    if (!d.vertices || !d.tree->names || !d.tree->rank_hosts || !d.tree->cables)
        status = banyan_fail_memory(err);
    else
        status = draw(&d, err);
    banyan_free(d.vertices);
    if (status)
        run_tree_destroy(d.tree);
    else
        *out = d.tree;
    return status;
}
