/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_fabric.h: routers, links, packets and paths of one simulation, all in one place.
 * Internal to the flit engine. A 'lane' is a virtual channel of one input or output. */
#ifndef BANYAN_SIMULATE_FLIT_FABRIC_H
#define BANYAN_SIMULATE_FLIT_FABRIC_H

#include "simulate/flit.h"
#include "simulate/flit_agenda.h"
#include "simulate/flit_channel.h"

enum { FLIT_MAX_LANES = 32 };

typedef struct {
    int32_t path;
    int32_t flits;
    int32_t owner; /* the transfer, or -1 - the worker that made a normal packet */
    int32_t next_free;
    int64_t made; /* cycle */
} flit_packet;

typedef enum { LANE_WAITING, LANE_ACTIVE } flit_lane_state;

/* A packet, or the part of it that has come, behind the front of an input lane. */
typedef struct {
    int32_t packet, hop, flits, arrived;
    flit_hop way; /* hop */
} flit_entry;

typedef struct {
    uint32_t first, capacity; /* a power of two */
    flit_entry entries[];
} flit_ring;

/* An input lane: the packet at its front, and a ring of those behind. */
typedef struct {
    int32_t packet;    /* -1: none */
    int32_t available; /* flits of it that are here */
    int32_t target;    /* output lane that it holds */
    int32_t left;      /* flits of it that have not gone on */
    int32_t hop;       /* of it here, among the fabric's */
    int32_t flits;     /* of all of it */
    int16_t output;
    uint16_t state;
    uint32_t behind;    /* entries in the ring */
    flit_credits *back; /* where its credits go */
    flit_ring *ring;
    uint32_t range; /* lanes of the output that it may have */
    int32_t accept; /* the output lane that it takes first */
    int64_t since;  /* cycle in which the front packet came to the front, or moved last */
} flit_lane;

typedef struct {
    flit_credits credits; /* those of a port do not run out */
    int32_t holder;       /* the input lane whose packet has it, or had it last */
    int32_t grant;        /* the input lane that goes first */
} flit_output_lane;

typedef struct {
    flit_line line;
    int32_t src;           /* node; the router's own for a port of its interface */
    int32_t credit_cycles; /* until a credit is back where it is needed */
    int16_t turn;          /* the lane that goes first, below FLIT_MAX_LANES */
    int16_t accept;        /* the output that goes first */
    int32_t best_output;   /* the one it accepts, in the cycle of the stamp */
    int64_t stamp;
} flit_input;

typedef struct {
    flit_line *line; /* NULL for ports: the interface takes whatever comes */
    int64_t latency;
    int32_t dst;            /* node */
    uint32_t place;         /* the input there, in an agenda */
    int32_t grant;          /* the input that goes first */
    uint32_t taken;         /* lanes that a packet holds */
    uint32_t asked;         /* lanes that those who wait may have, or more */
    uint32_t starved;       /* lanes that are held and have no credits */
    uint64_t want, waiting; /* sets of one word: lanes that want it, lanes that wait for one of its lanes */
    union {
        int64_t stamp;   /* when a stream was found for it (flit_ahead.c) */
        int32_t granted; /* the lane that has the switch, if it accepts (flit_cycle.c) */
    };
} flit_output;

/* What a link that takes less than a flit a cycle needs to know. */
typedef struct {
    int64_t interval; /* cycles a flit keeps the link, in 1/65536; 65536 or less: one a cycle */
    int64_t free_at;  /* in 1/65536 cycles */
} flit_pace;

/* What is used together lies together, and starts where a line does. */
enum { FLIT_CACHE_LINE = 64 };
_Static_assert(sizeof(flit_lane) == FLIT_CACHE_LINE && sizeof(flit_output_lane) == FLIT_CACHE_LINE &&
                   sizeof(flit_output) == FLIT_CACHE_LINE && sizeof(flit_input) == FLIT_CACHE_LINE,
               "a line of the cache");

struct flit_interface;

/* Input and output lanes are numbered port << lane_shift | lane. Sets of input lanes are masks of that many
 * words; the lanes of an input are always in one of them. */
typedef struct {
    int node;
    int input_count, output_count; /* links first, then the interface's ports */
    int link_inputs, link_outputs;
    int lane_shift;
    int words, input_words, output_words; /* of a set of input lanes, of inputs, of outputs */
    int has_slow_link;
    int64_t *flit_due; /* by input: when a flit arrives */
    flit_input *inputs;
    flit_output *outputs;
    flit_pace *paces; /* by link output */
    flit_lane *lanes;
    flit_output_lane *output_lanes;
    uint64_t *sets;                   /* want and waiting by output, where they take more than a word */
    uint64_t *wanted, *waited;        /* outputs that have lanes in the one, in the other */
    uint64_t *hungry;                 /* outputs that have starved lanes */
    int *moves;                       /* input lanes that a flit leaves in this cycle; the routers' in turn */
    flit_agenda *agenda;              /* NULL: it is run by itself */
    struct flit_interface *interface; /* NULL: none */
    void *memory;                     /* all of the arrays */
} flit_router;

typedef struct {
    const banyan_topology *topology;
    banyan_flit_settings settings; /* nothing left to derive */
    int lane_count, lane_shift;
    uint32_t all_lanes; /* a bit for each */
    int port_count;     /* of every interface, other traffic's port included */
    int normal_port;    /* its index, or -1 */
    int window;         /* cycles that a node may run ahead of the others */
    int32_t unit;       /* flits of a packet, head included: what cut-through wants room for; 0: wormhole */
    int leaves_lane;    /* messages leave the last lane of each class to other traffic */
    int router_count;
    flit_router *routers;
    int *link_output, *link_input; /* by link: of the router it leaves, of the one it reaches */
    int path_count;
    int *path_first; /* hops of path p: hops[path_first[p] .. path_first[p + 1]) */
    flit_hop *hops;
    flit_packet *packets;
    size_t packet_count, packet_capacity;
    int32_t free_packet;
    int64_t *wake;           /* by node: the next cycle in which it has something to do */
    int64_t *interface_wake; /* by node: in which its interface does */
    flit_agenda *agenda;     /* NULL: routers run by themselves, each through a window of cycles */
    /* The node that runs, and its window of cycles: by cycle from the first on, the inputs that a flit comes
     * to. */
    int64_t begin, end;
    uint64_t *arrivals;
    int *moves;
    int64_t horizon; /* no node will look at a cycle before this one */
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

int flit_ring_grow(flit_lane *lane); /* 0: memory ran out */

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

/* Runs a node from a cycle on until another; returns when it has something to do next. */
int64_t flit_router_run(flit_fabric *fabric, flit_router *router, int64_t now, int64_t until);

/* Runs all nodes, cycle by cycle, from lists. Only for other traffic alone: flit_cycle_suits says whether it
 * can. */
int flit_cycle_suits(const flit_fabric *fabric);
banyan_status flit_cycle_prepare(flit_fabric *fabric, banyan_error *err);
void flit_cycle_run(flit_fabric *fabric, int64_t now, int64_t until);
void flit_cycle_fini(flit_fabric *fabric);

/* A step for that many cycles at once: of each of the lanes in moves[] flits of the front packet go on. */
void flit_router_bulk(flit_fabric *fabric, flit_router *router, int move_count, int32_t cycles, int64_t now);

/* Moves whole runs: how many cycles from now on can be done at once (0: do them one by one), and does
 * them. */
int64_t flit_router_run_ahead(flit_fabric *fabric, flit_router *router, int64_t now, int64_t limit);

#endif
