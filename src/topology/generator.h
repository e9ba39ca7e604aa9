/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generator.h: what a generator of synthetic networks is, for the files that hold them.
 *
 *   torus:4x4,gbps=10,latency=1us,down=g0-g1
 *   name  shape  ------- options -- damage
 *
 * generate.c reads the string, holds the shape and the options against the generator's own record, and calls
 * its build. A build can thus trust its request: the numbers are in range and the parts are as many as the
 * form says. It only adds nodes and links; what goes wrong is remembered by the builder. */
#ifndef BANYAN_TOPOLOGY_GENERATOR_H
#define BANYAN_TOPOLOGY_GENERATOR_H

#include "topology/build.h"
#include "topology/generate.h"

#define BANYAN_GENERATOR_MAX_WORKERS 65536
#define BANYAN_GENERATOR_MAX_LINKS 4194304

/* '2x2+3x4:5': three parts, of which the second is a list of two, and a number at the end. */
typedef struct {
    int part_count;
    int first[BANYAN_MAX_DIMENSIONS + 1]; /* part p holds values[first[p]] .. values[first[p + 1] - 1] */
    int *values;
    int value_count;
    size_t value_capacity;
    int has_tail;
    double tail; /* the number after the second colon */
} banyan_shape;

/* A sentence that quotes the shape and the place where it stops making sense. */
banyan_status banyan_shape_parse(const char *text, banyan_shape *out, banyan_error *err);
void banyan_shape_fini(banyan_shape *shape);

/* The i-th number of a part; a part that is not a list has the same number everywhere. */
int banyan_shape_value(const banyan_shape *shape, int part, int i);
int banyan_shape_part_length(const banyan_shape *shape, int part);

typedef struct {
    double bytes_per_s, latency_s;               /* the network */
    double local_bytes_per_s, local_latency_s;   /* inside a host */
    double rack_bytes_per_s;                     /* from a rack to the rest */
    double global_bytes_per_s, global_latency_s; /* between groups of routers, or cubes of chips */
    int can_multicast, can_reduce;               /* of every switch */
} banyan_generator_settings;

typedef struct {
    const char *spec; /* the whole string, for error sentences */
    banyan_shape shape;
    banyan_generator_settings settings;
} banyan_generator_request;

/* Which options a generator understands; 'gbps' and 'latency' are understood by all. */
enum {
    BANYAN_GENERATOR_LOCAL = 1,
    BANYAN_GENERATOR_RACK = 2,
    BANYAN_GENERATOR_SWITCH = 4,
    BANYAN_GENERATOR_GLOBAL = 8
};

typedef struct {
    banyan_generator_info info;
    int least_parts, most_parts; /* of the shape; 0 and 0: it has none */
    unsigned lists;              /* bit p: part p may be a list */
    int has_tail;                /* a number may follow after a second colon */
    unsigned options;
    banyan_generator_settings defaults; /* rack_bytes_per_s 0: as the network */
    void (*build)(const banyan_generator_request *request, banyan_topology_builder *builder);
} banyan_generator;

extern const banyan_generator banyan_generator_ring, banyan_generator_line, banyan_generator_full,
    banyan_generator_torus, banyan_generator_mesh, banyan_generator_switch, banyan_generator_fattree,
    banyan_generator_bigraph, banyan_generator_dgx1, banyan_generator_dgx2, banyan_generator_dgxa100,
    banyan_generator_hosts, banyan_generator_racks, banyan_generator_abci, banyan_generator_pcie,
    banyan_generator_dgxh100, banyan_generator_dgxb200, banyan_generator_mi300x, banyan_generator_nvl72,
    banyan_generator_rails, banyan_generator_spark, banyan_generator_tpuv4, banyan_generator_dragonfly,
    banyan_generator_dragonfly_plus, banyan_generator_hyperx, banyan_generator_slimfly,
    banyan_generator_kautz;

/* For builds. Returns 0 after telling the builder that the network would be too large. Counts are doubles, so
 * that no product of sizes can overflow. */
int banyan_generator_fits(const banyan_generator_request *request, banyan_topology_builder *builder,
                          double workers, double links);

/* 'h3', or the prefix alone for number -1. */
void banyan_generator_name(char out[16], const char *prefix, int number);

/* g0, g1, ... without a host. */
void banyan_generator_add_workers(banyan_topology_builder *builder, int count);

/* One machine, a host called after the prefix and the number, with its workers g<first>... */
void banyan_generator_add_box(banyan_topology_builder *builder, const char *prefix, int number,
                              int first_worker, int count);

/* The shape's number after the second colon where it must be a whole one; the fallback where none was given,
 * and 0 after telling the builder that it is not whole. */
int banyan_generator_whole_tail(const banyan_generator_request *request, banyan_topology_builder *builder,
                                int fallback);

/* A switch with the abilities that the options gave. */
int banyan_generator_add_switch(const banyan_generator_request *request, banyan_topology_builder *builder,
                                const char *prefix, int number);

/* Whether 'key=value' of this length is damage, and banyan_topology_damage with a name for what comes out. */
int banyan_damage_is_option(const char *option, size_t length);
banyan_status banyan_damage_apply(const banyan_topology *topology, const char *options, const char *name,
                                  banyan_topology **out, banyan_error *err);

/* deal.c: the same network with its workers dealt to hosts in turn. */
banyan_status banyan_topology_deal(const banyan_topology *topology, banyan_topology **out, banyan_error *err);

#define BANYAN_GBPS(x) ((x)*1e9 / 8)
#define BANYAN_GBYTES(x) ((x)*1e9)
#define BANYAN_DEFAULT_LATENCY_S 1e-6

#endif
