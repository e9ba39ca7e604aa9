/* SPDX-License-Identifier: Apache-2.0 */
/* topology/build.h: making a topology by adding nodes and links.
 * Failures are remembered: add freely, and finish says what went wrong first. */
#ifndef BANYAN_TOPOLOGY_BUILD_H
#define BANYAN_TOPOLOGY_BUILD_H

#include "core/text.h"
#include "topology/topology.h"

typedef struct {
    banyan_topology *topology;
    size_t node_capacity, link_capacity, host_capacity, damaged_capacity;
    banyan_text pool;
    banyan_status status;
    banyan_error err;
} banyan_topology_builder;

void banyan_topology_builder_init(banyan_topology_builder *builder, const char *name);

/* Names are copied. Return the new id, or -1 after any failure (which finish reports). */
int banyan_topology_add_worker(banyan_topology_builder *builder, const char *name, int host);
int banyan_topology_add_switch(banyan_topology_builder *builder, const char *name);
int banyan_topology_add_host(banyan_topology_builder *builder, const char *name);

/* The same with a printf name: most generated names are a letter and a number. */
int banyan_topology_add_worker_f(banyan_topology_builder *builder, int host, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int banyan_topology_add_switch_f(banyan_topology_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One way, and both ways. Bandwidth must be positive and finite, latency not negative and finite. */
void banyan_topology_add_link(banyan_topology_builder *builder, int src, int dst, double bytes_per_s,
                              double latency_s);
void banyan_topology_add_cable(banyan_topology_builder *builder, int a, int b, double bytes_per_s,
                               double latency_s);

/* Remembers that damage took this link away or slowed it. */
void banyan_topology_add_damaged(banyan_topology_builder *builder, const banyan_damaged_link *link);

/* A cable whose directions share its bandwidth: both go through one link, between two switches that are made
 * for it and named after the two ends and the first of its five links. */
void banyan_topology_add_half_duplex(banyan_topology_builder *builder, int a, int b, double bytes_per_s,
                                     double latency_s);

/* Abilities of a switch. */
void banyan_topology_set_abilities(banyan_topology_builder *builder, int node, int can_multicast,
                                   int can_reduce);

void banyan_topology_set_policy(banyan_topology_builder *builder, banyan_route_policy policy);
void banyan_topology_set_grid(banyan_topology_builder *builder, const banyan_grid *grid);

/* Remembers a failure that the caller saw (the first one stays). */
void banyan_topology_builder_fail(banyan_topology_builder *builder, banyan_status status, const char *format,
                                  ...) __attribute__((format(printf, 3, 4)));

/* Checks names, counts and the grid, sorts and indexes, and gives the topology away. The builder is empty
 * after. */
banyan_status banyan_topology_builder_finish(banyan_topology_builder *builder, banyan_topology **out,
                                             banyan_error *err);

#endif
