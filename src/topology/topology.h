/* SPDX-License-Identifier: Apache-2.0 */
/* topology/topology.h: the network as planners see it: numbered nodes, one-way links, and a few facts.
 * It is built once (topology/build.h) and only read afterwards, hence const nearly everywhere. What users of
 * the library may do with it is declared in <banyan/plan.h>.
 * Ids are dense, 0..count-1, in the order in which a file or generator names things, so callers index plain
 * arrays with them. */
#ifndef BANYAN_TOPOLOGY_H
#define BANYAN_TOPOLOGY_H

#include <banyan/plan.h>

#include "core/status.h"

#define BANYAN_MAX_DIMENSIONS 8

typedef enum { BANYAN_NODE_WORKER, BANYAN_NODE_SWITCH } banyan_node_kind;

/* How default routes are found (topology/routes.h). */
typedef enum { BANYAN_ROUTES_SHORTEST, BANYAN_ROUTES_GRID, BANYAN_ROUTES_UPDOWN } banyan_route_policy;

typedef struct {
    banyan_node_kind kind;
    int can_multicast, can_reduce; /* abilities of a switch; workers can always copy and add */
    int host;                      /* index of the machine it sits in, or -1 */
    int name;                      /* offset in the name pool; use banyan_topology_node_name */
} banyan_node;

typedef struct {
    int src, dst;
    double bytes_per_s;
    double latency_s;
} banyan_link;

typedef struct {
    int dimension_count; /* 0: not a grid */
    int extent[BANYAN_MAX_DIMENSIONS];
    int wraps[BANYAN_MAX_DIMENSIONS];
} banyan_grid;

/* A link that down= or degrade= (topology/damage.c) took away or slowed. */
typedef struct {
    int src, dst;
    double whole_bytes_per_s; /* before */
    double left;              /* the share of it that is left; 0: the link is gone */
} banyan_damaged_link;

struct banyan_topology {
    char *name;
    int node_count, link_count, worker_count, host_count;
    banyan_node *nodes;
    banyan_link *links;
    int *workers; /* node ids of the workers, ascending */
    int *out_first,
        *out_link; /* links that leave node v: out_link[out_first[v] .. out_first[v+1]), ascending */
    int *in_first, *in_link; /* links that arrive at v, likewise */
    int *hosts;              /* offsets of host names in the pool */
    banyan_grid grid; /* worker i has the row-major coordinates of i: the last dimension runs fastest */
    banyan_route_policy policy;
    int damaged_count; /* for pictures: nothing is planned with these */
    banyan_damaged_link *damaged;
    char *pool;   /* all names, NUL-terminated, one after the other */
    int *by_name; /* node ids in the order of their names */
};

/* The text form (docs/formats/topology.md); the caller frees *out. */
banyan_status banyan_topology_format(const banyan_topology *topology, char **out, banyan_error *err);

const char *banyan_topology_host_name(const banyan_topology *topology, int host);
int banyan_topology_find_node(const banyan_topology *topology, const char *name); /* -1: no such node */
int banyan_topology_find_link(const banyan_topology *topology, int src, int dst); /* the first one, or -1 */

int banyan_topology_worker_number(const banyan_topology *topology,
                                  int node); /* among workers; -1: a switch */

/* Reads '0,1,4-7' or 'g0,g3' (worker numbers or names) into node ids, ascending, without doubles.
 * NULL or "" or "all" means all workers. On success the caller frees *out. */
banyan_status banyan_topology_parse_active(const banyan_topology *topology, const char *text, int **out,
                                           int *count, banyan_error *err);

/* Marks the nodes, marks[0 .. node_count), that this one can send to and receive from. */
banyan_status banyan_topology_mark_connected(const banyan_topology *topology, int node, char *marks,
                                             banyan_error *err);

/* Fails with a sentence unless every active worker can reach every other one. */
banyan_status banyan_topology_check_connected(const banyan_topology *topology, const int *active, int count,
                                              banyan_error *err);

/* Sixteen hex digits that name what matters for plans: nodes, links, bandwidths, latencies, facts. */
void banyan_topology_digest(const banyan_topology *topology, char out[17]);

#endif
