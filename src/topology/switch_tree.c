/* SPDX-License-Identifier: Apache-2.0 */
/* topology/switch_tree.c: switches and their children by name, as the scheduler's files list them.
 *
 * Names may be used before the line that defines them, so all of them are kept with what they stand for, and
 * the tree is checked at the end. Workers come first, in the order in which the file names them, then the
 * switches. */
#include "topology/switch_tree.h"

#include <string.h>

#include "core/alloc.h"
#include "topology/hostlist.h"
#include "topology/names.h"

static const double latency_s = 1e-6;

/* What a name stands for. Its number in the names is its index here. */
typedef struct {
    enum { UNKNOWN, NODE, SWITCH } kind;
    int line;       /* where it was first said to be that */
    int is_defined; /* a switch that has a line of its own */
    int parent;     /* the switch that named it last, + 1 */
    int waiting;    /* how many parents were not yet walked (find_cycle) */
    int node;       /* in the topology */
} entity;

typedef struct {
    int parent, child, line;
    double gbps;
} edge;

struct banyan_switch_tree {
    banyan_names names;
    entity *entities;
    edge *edges;
    size_t entity_capacity, edge_capacity;
    int entity_count, edge_count;
    int self;          /* the switch whose line we read */
    int kind_of_child; /* NODE or SWITCH, for the list that we read */
    double gbps;
};

/* The name as an entity; -1 when memory ran out. */
static int find_entity(banyan_switch_tree *in, banyan_word name)
{
    int id = banyan_names_add(&in->names, name);
    void *entities = in->entities;

    if (id < 0 || id < in->entity_count)
        return id;
    if (!banyan_grow(&entities, (size_t)in->entity_count, &in->entity_capacity, sizeof *in->entities))
        return -1;
    in->entities = entities;
    in->entities[in->entity_count++] = (entity){.kind = UNKNOWN};
    return id;
}

static banyan_status set_kind(banyan_switch_tree *in, int id, int kind, int line, banyan_error *err)
{
    entity *set = &in->entities[id];

    if (set->kind != UNKNOWN && (int)set->kind != kind)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %.60s is a %s here, but a %s on line %d",
                           line, banyan_names_text(&in->names, id), kind == NODE ? "node" : "switch",
                           kind == NODE ? "switch" : "node", set->line);
    if (set->kind == UNKNOWN) {
        set->kind = kind == NODE ? NODE : SWITCH;
        set->line = line;
    }
    return BANYAN_SUCCESS;
}

static banyan_status add_child(void *context, banyan_word name, int line, banyan_error *err)
{
    banyan_switch_tree *in = context;
    void *edges = in->edges;
    banyan_status status = banyan_word_check_name(name, line, err);
    int child;

    if (status)
        return status;
    child = find_entity(in, name);
    if (child < 0 || !banyan_grow(&edges, (size_t)in->edge_count, &in->edge_capacity, sizeof *in->edges))
        return banyan_fail_memory(err);
    in->edges = edges;
    status = set_kind(in, child, in->kind_of_child, line, err);
    if (status)
        return status;
    if (in->entities[child].parent == in->self + 1 || child == in->self)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %.60s %s", line,
                           banyan_names_text(&in->names, child),
                           child == in->self ? "is named as its own child" : "is named twice");
    if (in->entity_count > BANYAN_IMPORT_MAX_NODES)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d nodes and switches", line,
                           BANYAN_IMPORT_MAX_NODES);
    if (in->edge_count == BANYAN_IMPORT_MAX_LINKS / 2)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d links", line,
                           BANYAN_IMPORT_MAX_LINKS);
    in->entities[child].parent = in->self + 1;
    in->edges[in->edge_count++] = (edge){in->self, child, line, in->gbps};
    return BANYAN_SUCCESS;
}

banyan_switch_tree *banyan_switch_tree_create(void)
{
    return banyan_alloc(1, sizeof(banyan_switch_tree));
}

banyan_status banyan_switch_tree_begin(banyan_switch_tree *in, banyan_word name, int line, double gbps,
                                       banyan_error *err)
{
    banyan_status status = banyan_word_check_name(name, line, err);

    if (status)
        return status;
    in->self = find_entity(in, name);
    if (in->self < 0)
        return banyan_fail_memory(err);
    status = set_kind(in, in->self, SWITCH, line, err);
    if (!status && in->entities[in->self].is_defined)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: switch %s has a line already (line %d)",
                             line, banyan_word_show(name).text, in->entities[in->self].is_defined);
    if (status)
        return status;
    in->entities[in->self].is_defined = line;
    in->gbps = gbps;
    return BANYAN_SUCCESS;
}

banyan_status banyan_switch_tree_add_switches(banyan_switch_tree *in, banyan_word hostlist, int line,
                                              banyan_error *err)
{
    in->kind_of_child = SWITCH;
    return banyan_hostlist_expand(hostlist, line, add_child, in, err);
}

banyan_status banyan_switch_tree_add_nodes(banyan_switch_tree *in, banyan_word hostlist, int line,
                                           banyan_error *err)
{
    in->kind_of_child = NODE;
    return banyan_hostlist_expand(hostlist, line, add_child, in, err);
}

/* Every switch has its line, and none is above itself: parents are taken away one after the other, and what
 * is left in the end stands on a circle or below one. */
banyan_status banyan_switch_tree_check(banyan_switch_tree *in, banyan_error *err)
{
    int *queue, *first, head = 0, tail = 0;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < in->entity_count; i++)
        if (in->entities[i].kind == SWITCH && !in->entities[i].is_defined)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: switch %.60s has no line of its own",
                               in->entities[i].line, banyan_names_text(&in->names, i));
    if (!in->entity_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there is no switch in the file");
    queue = banyan_alloc((size_t)in->entity_count, sizeof *queue);
    first = banyan_alloc((size_t)in->entity_count + 1, sizeof *first);
    if (!queue || !first) {
        status = banyan_fail_memory(err);
        goto out;
    }
    /* A switch's edges lie together, because it has one line. */
    for (int i = in->edge_count - 1; i >= 0; i--) {
        in->entities[in->edges[i].child].waiting++;
        first[in->edges[i].parent] = i;
    }
    for (int i = 0; i < in->entity_count; i++)
        if (!in->entities[i].waiting)
            queue[tail++] = i;
    for (; head < tail; head++)
        for (int i = first[queue[head]]; i < in->edge_count && in->edges[i].parent == queue[head]; i++)
            if (!--in->entities[in->edges[i].child].waiting)
                queue[tail++] = in->edges[i].child;
    for (int i = 0; i < in->entity_count && !status; i++)
        if (in->entities[i].waiting && in->entities[i].kind == SWITCH)
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                                 "line %d: switch %.60s is above itself, in a circle",
                                 in->entities[i].is_defined, banyan_names_text(&in->names, i));
out:
    banyan_free(queue);
    banyan_free(first);
    return status;
}

void banyan_switch_tree_build(banyan_switch_tree *in, banyan_topology_builder *builder)
{
    for (int i = 0; i < in->entity_count; i++)
        if (in->entities[i].kind == NODE) {
            int host = banyan_topology_add_host(builder, banyan_names_text(&in->names, i));

            in->entities[i].node =
                banyan_topology_add_worker(builder, banyan_names_text(&in->names, i), host);
        }
    for (int i = 0; i < in->entity_count; i++)
        if (in->entities[i].kind == SWITCH)
            in->entities[i].node = banyan_topology_add_switch(builder, banyan_names_text(&in->names, i));
    for (int i = 0; i < in->edge_count; i++)
        banyan_topology_add_cable(builder, in->entities[in->edges[i].child].node,
                                  in->entities[in->edges[i].parent].node, in->edges[i].gbps * 1e9 / 8,
                                  latency_s);
    banyan_topology_set_policy(builder, BANYAN_ROUTES_UPDOWN);
}

void banyan_switch_tree_destroy(banyan_switch_tree *in)
{
    if (!in)
        return;
    banyan_names_fini(&in->names);
    banyan_free(in->entities);
    banyan_free(in->edges);
    banyan_free(in);
}
