/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_slurm.c: Slurm's topology.conf (topology/tree).
 *
 *     SwitchName=s0 Nodes=tux[0-15]             core
 *     SwitchName=s1 Nodes=tux[16-31]           /    \          every node is a worker and a host of its own,
 *     SwitchName=core Switches=s[0-1]        s0      s1        every line a switch, every child one cable
 *
 * The file says nothing about bandwidths but an optional LinkSpeed, whose unit Slurm leaves open. We take it
 * for Gbit/s and for the cables to the children of its switch; without it they have 100 Gbit/s. Every cable
 * has 1 us. A switch above switches often stands for a whole layer of spines in these files: its LinkSpeed
 * should then be that of all uplinks together. Routes go up and down the tree.
 *
 * Workers come first, in the order in which the file names them, then the switches in the order of their
 * lines. */
#include <string.h>

#include "core/alloc.h"
#include "core/near.h"
#include "topology/build.h"
#include "topology/hostlist.h"
#include "topology/import.h"
#include "topology/names.h"
#include "topology/scan.h"

static const double default_gbps = 100, highest_gbps = 1e9, latency_s = 1e-6;

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

typedef struct {
    banyan_names names;
    entity *entities;
    edge *edges;
    size_t entity_capacity, edge_capacity;
    int entity_count, edge_count;
    int self;          /* the switch whose line we read */
    int kind_of_child; /* NODE or SWITCH, for the list that we read */
    double gbps;
} tree;

typedef struct {
    banyan_word name, switches, nodes, speed;
    int line;
} statement;

/* The name as an entity; -1 when memory ran out. */
static int find_entity(tree *in, banyan_word name)
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

static banyan_status set_kind(tree *in, int id, int kind, int line, banyan_error *err)
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
    tree *in = context;
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

static banyan_status read_speed(banyan_word speed, int line, double *gbps, banyan_error *err)
{
    *gbps = default_gbps;
    if (!speed.at)
        return BANYAN_SUCCESS;
    if (!banyan_word_number(speed, gbps) || *gbps < 1e-6 || *gbps > highest_gbps)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: LinkSpeed=%s is not a number from 1e-6 to %g (Gbit/s)", line,
                           banyan_word_show(speed).text, highest_gbps);
    return BANYAN_SUCCESS;
}

static banyan_status add_switch(tree *in, const statement *said, banyan_error *err)
{
    banyan_status status = banyan_word_check_name(said->name, said->line, err);

    if (!status && memchr(said->name.at, '[', said->name.length))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: SwitchName=%s must be one name",
                             said->line, banyan_word_show(said->name).text);
    if (status)
        return status;
    in->self = find_entity(in, said->name);
    if (in->self < 0)
        return banyan_fail_memory(err);
    status = set_kind(in, in->self, SWITCH, said->line, err);
    if (!status && in->entities[in->self].is_defined)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: switch %s has a line already (line %d)",
                        said->line, banyan_word_show(said->name).text, in->entities[in->self].is_defined);
    if (!status && !said->nodes.at && !said->switches.at)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: switch %s has neither Nodes nor Switches",
                        said->line, banyan_word_show(said->name).text);
    if (!status)
        status = read_speed(said->speed, said->line, &in->gbps, err);
    if (status)
        return status;
    in->entities[in->self].is_defined = said->line;
    in->kind_of_child = SWITCH;
    if (said->switches.at)
        status = banyan_hostlist_expand(said->switches, said->line, add_child, in, err);
    in->kind_of_child = NODE;
    if (!status && said->nodes.at)
        status = banyan_hostlist_expand(said->nodes, said->line, add_child, in, err);
    return status;
}

static banyan_status read_pair(statement *said, banyan_word pair, int line, banyan_error *err)
{
    static const char *const keys[] = {"SwitchName", "Switches", "Nodes", "LinkSpeed"};
    banyan_word *const values[] = {&said->name, &said->switches, &said->nodes, &said->speed};
    const char *equals = memchr(pair.at, '=', pair.length);
    banyan_word key = {pair.at, equals ? (size_t)(equals - pair.at) : pair.length};
    int near;

    if (!equals)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: expected KEY=VALUE, not %s", line,
                           banyan_word_show(pair).text);
    for (int i = 0; i < 4; i++) {
        if (!banyan_word_is_like(key, keys[i]))
            continue;
        if (values[i]->at)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %s is given twice", line, keys[i]);
        *values[i] = (banyan_word){equals + 1, pair.length - key.length - 1};
        return BANYAN_SUCCESS;
    }
    if (banyan_word_is_like(key, "BlockName") || banyan_word_is_like(key, "BlockSizes"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: this is a file of topology/block; only topology/tree is read", line);
    near = banyan_near_find(banyan_word_show(key).text, keys, 4);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: unknown key %s%s%s", line,
                       banyan_word_show(key).text, near < 0 ? "" : ", did you mean ",
                       near < 0 ? "" : keys[near]);
}

static banyan_status read_statement(tree *in, banyan_word text, int line, banyan_error *err)
{
    statement said = {.line = line};
    banyan_word pair;
    banyan_status status = BANYAN_SUCCESS;

    while (!status && banyan_word_take(&text, &pair)) {
        if (banyan_word_is_like(pair, "include"))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "line %d: include is not followed; put the other file's lines here", line);
        status = read_pair(&said, pair, line, err);
    }
    if (!status && !said.name.at)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: a line needs SwitchName", line);
    return status ? status : add_switch(in, &said, err);
}

static banyan_word without_comment(banyan_word line)
{
    const char *hash = line.length ? memchr(line.at, '#', line.length) : NULL;

    if (hash)
        line.length = (size_t)(hash - line.at);
    return banyan_word_trim(line);
}

/* Lines that end in a backslash go on; such a statement is put together in joined. */
static banyan_status read_lines(tree *in, banyan_scan *scan, banyan_text *joined, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int begin = 0;

    while (!status && banyan_scan_next_line(scan)) {
        banyan_word line = without_comment(scan->line);
        int goes_on = line.length && line.at[line.length - 1] == '\\' && scan->at < scan->end;

        if (line.length && line.at[line.length - 1] == '\\')
            line.length--;
        if (goes_on || joined->length) {
            begin = joined->length ? begin : scan->number;
            banyan_text_add(joined, " ");
            banyan_text_add_bytes(joined, line.at, line.length);
            if (joined->failed)
                return banyan_fail_memory(err);
            line = banyan_word_trim((banyan_word){joined->bytes, joined->length});
        } else {
            begin = scan->number;
        }
        if (goes_on)
            continue;
        if (line.length)
            status = read_statement(in, line, begin, err);
        joined->length = 0;
    }
    return status;
}

/* Every switch has its line, and none is above itself: parents are taken away one after the other, and what
 * is left in the end stands on a circle or below one. */
static banyan_status check_tree(tree *in, banyan_error *err)
{
    int *queue, *first, head = 0, tail = 0;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < in->entity_count; i++)
        if (in->entities[i].kind == SWITCH && !in->entities[i].is_defined)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: switch %.60s has no line of its own",
                               in->entities[i].line, banyan_names_text(&in->names, i));
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

static void build(tree *in, banyan_topology_builder *builder)
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

static banyan_status parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_text joined = BANYAN_TEXT_EMPTY;
    banyan_error problem;
    banyan_scan scan;
    tree in = {0};
    banyan_status status = banyan_scan_check_text(text, length, &problem);

    banyan_scan_init(&scan, text, length);
    banyan_topology_builder_init(&builder, "slurm");
    if (!status)
        status = read_lines(&in, &scan, &joined, &problem);
    if (!status && !in.entity_count)
        status = banyan_fail(&problem, BANYAN_INVALID_ARGUMENT, "there is no SwitchName line");
    if (!status)
        status = check_tree(&in, &problem);
    if (status)
        banyan_topology_builder_fail(&builder, status, "%s", problem.text);
    else
        build(&in, &builder);
    banyan_text_fini(&joined);
    banyan_names_fini(&in.names);
    banyan_free(in.entities);
    banyan_free(in.edges);
    return banyan_topology_builder_finish(&builder, out, err);
}

static int looks_like(const char *text, size_t length)
{
    banyan_scan scan;

    banyan_scan_init(&scan, text, length < 65536 ? length : 65536);
    while (banyan_scan_next_line(&scan)) {
        banyan_word line = without_comment(scan.line);

        if (line.length >= 11 && banyan_word_is_like((banyan_word){line.at, 11}, "SwitchName="))
            return 1;
        if (line.length)
            return line.length >= 7 && banyan_word_is_like((banyan_word){line.at, 7}, "include");
    }
    return 0;
}

const banyan_importer banyan_import_slurm = {.name = "slurm",
                                             .summary = "Slurm's topology.conf",
                                             .extension = "topology.conf",
                                             .looks_like = looks_like,
                                             .parse = parse};
