/* SPDX-License-Identifier: Apache-2.0 */
/* topology/cables.h: the network as it is drawn: one cable between two nodes, however many links it is made
 * of, and nodes that are equivalent taken together. */
#ifndef BANYAN_TOPOLOGY_CABLES_H
#define BANYAN_TOPOLOGY_CABLES_H

#include "core/text.h"
#include "topology/topology.h"

/* Both directions between a node and its peer; parallel links add up, 0 is a direction that is not there. */
typedef struct {
    int peer;
    double out_bytes_per_s, in_bytes_per_s;
} banyan_cable;

typedef struct {
    const banyan_topology *topology;
    int *first; /* the cables of v are cables[first[v]] .. cables[first[v + 1] - 1], by ascending peer */
    banyan_cable *cables;
    /* Nodes that follow each other and have the same kind, host and cables form a group (the workers of a
     * leaf, the spines of a fat-tree, all of a fully joined network): group i is start[i] .. start[i + 1]
     * - 1.
     */
    int group_count;
    int *start, *group_of;
} banyan_cables;

/* The topology must outlive the result. */
banyan_status banyan_cables_find(const banyan_topology *topology, banyan_cables *out, banyan_error *err);
void banyan_cables_fini(banyan_cables *cables);

/* The cable from a to b, or NULL. */
const banyan_cable *banyan_cables_between(const banyan_cables *cables, int a, int b);

int banyan_cables_alike(const banyan_cable *x, const banyan_cable *y); /* the same bandwidths */

/* '100 Gb/s', and for a cable whose directions differ '10 Gb/s one way, 5 Gb/s back'. */
void banyan_cables_add_bandwidth(banyan_text *text, double bytes_per_s);
void banyan_cables_add_label(banyan_text *text, const banyan_cable *cable);

/* 'g0-g7 s0 s1': ids must ascend; runs of three and more are drawn together. At most `most` runs (0: all). */
void banyan_cables_add_names(banyan_text *text, const banyan_topology *topology, const int *ids, int count,
                             int most);

/* The name of a group, with its host where that is not known already. */
void banyan_cables_add_group(const banyan_cables *cables, int group, const char *known_host,
                             banyan_text *text);

/* 'hosts:2+3: 5 workers in 2 hosts, 3 switches, 14 links, latency 1 us' */
void banyan_cables_add_title(banyan_text *text, const banyan_topology *topology);

#endif
