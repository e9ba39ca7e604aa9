/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_fabric.h: routers, channels, packets and paths of one simulation, all in one place.
 * Internal to the flit engine. A «lane» is a virtual channel of one input or output. */
#ifndef BANYAN_SIMULATE_FLIT_FABRIC_H
#define BANYAN_SIMULATE_FLIT_FABRIC_H

#include "simulate/flit.h"
#include "simulate/flit_channel.h"

enum { FLIT_MOST_LANES = 32 };

typedef struct {
    int32_t path;
    int32_t flits;
    int32_t owner; /* the transfer, or -1 - the worker that made a normal packet */
    int32_t next_free;
    int64_t made; /* cycle */
} flit_packet;

/* One router of a path: which output, and which lanes of it. */
typedef struct {
    int16_t output;
    uint8_t low, high;
} flit_hop;

typedef enum { LANE_IDLE, LANE_WAITING, LANE_ACTIVE } flit_lane_state;

/* A packet, or the part of it that has come, in an input lane. */
typedef struct {
    int32_t packet, arrived;
    uint16_t hop;
} flit_entry;

typedef struct {
    int32_t available; /* flits of the front packet that are here */
    int32_t left;      /* flits of it that have not gone on */
    int32_t target;    /* output lane: output * lanes + lane */
    int16_t output;
    uint8_t state, has_head, low, high;
    uint32_t first, count, capacity; /* of the ring of entries */
    flit_entry *entries;
    int64_t since; /* cycle in which the front packet came to the front */
} flit_lane;

struct flit_interface;

typedef struct {
    int node;
    int input_count, output_count; /* links first, then the interface's ports */
    int link_inputs, link_outputs;
    flit_channel **in, **out;       /* out is NULL for ports: the interface takes whatever comes */
    int64_t *flit_due, *credit_due; /* by input and output: when something arrives */
    flit_lane *lanes;               /* input * lane_count + lane */
    int32_t *credits;               /* of output lanes */
    uint8_t *is_taken;              /* output lanes that a packet holds */
    uint32_t *ready;                /* by input: active lanes that have a flit */
    int *turn;                      /* by input: the lane that goes first */
    int *accept, *grant;            /* round robin of inputs and outputs */
    int *lane_accept, *lane_grant;
    int *waiting, waiting_count; /* lanes that want an output lane */
    int *fresh, fresh_count;     /* lanes that got one in this cycle */
    /* Scratch of one cycle, valid where the stamp is the cycle. */
    int64_t *output_stamp, *input_stamp, *target_stamp;
    int *best_input, *best_lane, *best_distance, *chosen_output, *best_waiter, *touched;
    struct flit_interface *interface; /* NULL: none */
} flit_router;

typedef struct {
    const banyan_topology *topology;
    banyan_flit_settings settings; /* nothing left to derive */
    int lane_count;
    int port_count;  /* of every interface, other traffic's port included */
    int normal_port; /* its index, or -1 */
    int window;      /* cycles that a node may run ahead of the others */
    int32_t unit;    /* flits of a packet, head included: what cut-through wants room for; 0: wormhole */
    int leaves_lane; /* messages leave the last lane of each class to other traffic */
    int router_count, channel_count;
    flit_router *routers;
    flit_channel *channels;   /* by link */
    flit_channel *ports;      /* router * port_count + port */
    int64_t *port_credit_due; /* of ports */
    int path_count;
    int *path_first; /* hops of path p: hops[path_first[p] .. path_first[p + 1]) */
    flit_hop *hops;
    flit_packet *packets;
    size_t packet_count, packet_capacity;
    int32_t free_packet;
    int64_t *wake; /* by node: the next cycle in which it has something to do */
    int64_t last_credit;
    int64_t flit_hops, arbitrations, head_flits;
    int has_failed; /* memory ran out in the middle */
} flit_fabric;

banyan_status flit_fabric_create(const banyan_topology *topology, const banyan_flit_settings *settings,
                                 const uint8_t *has_interface, flit_fabric **out, banyan_error *err);
void flit_fabric_destroy(flit_fabric *fabric); /* accepts NULL */

/* Settings with everything derived, or a sentence. */
banyan_status flit_settings_resolve(const banyan_flit_settings *settings, const banyan_topology *topology,
                                    banyan_flit_settings *out, banyan_error *err);

/* Paths as lists of links become hops: outputs, and lanes by class so that no circle of waiting can close.
 * dst[p] is where path p ends. The ejection port follows from the last link; normal traffic (is_normal, may
 * be NULL) has its own. */
banyan_status flit_fabric_set_paths(flit_fabric *fabric, int path_count, const int *first, const int *links,
                                    const int *dst, const uint8_t *is_normal, banyan_error *err);

int32_t flit_packet_make(flit_fabric *fabric, flit_packet packet); /* -1: memory ran out */

static inline void flit_packet_drop(flit_fabric *fabric, int32_t packet)
{
    fabric->packets[packet].next_free = fabric->free_packet;
    fabric->free_packet = packet;
}

static inline int64_t flit_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One cycle of a router; 1 if anything moved or may move in the next. */
int flit_router_step(flit_fabric *fabric, flit_router *router, int64_t now);

/* Parts of a step, for so many cycles at once: flits of one run arrive, credits of one run arrive, an active
 * lane sends flits of its front packet on. */
void flit_router_take_flits(flit_fabric *fabric, flit_router *router, int input, int32_t count, int64_t now);
void flit_router_take_credits(flit_fabric *fabric, flit_router *router, int output, int32_t count);
void flit_router_forward(flit_fabric *fabric, flit_router *router, int input, int lane, int32_t count,
                         int64_t now);

/* When something arrives next. */
int64_t flit_router_next(const flit_router *router);

/* Moves whole runs: how many cycles from now on can be done at once (0: do them one by one), and does them.
 */
int64_t flit_router_run_ahead(flit_fabric *fabric, flit_router *router, int64_t now, int64_t limit);

#endif
