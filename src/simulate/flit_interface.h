/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_interface.h: a worker's network interface: ports, table, lockstep, adder.
 * Internal to the flit engine. */
#ifndef BANYAN_SIMULATE_FLIT_INTERFACE_H
#define BANYAN_SIMULATE_FLIT_INTERFACE_H

#include "core/random.h"
#include "simulate/flit_fabric.h"
#include "simulate/flit_job.h"

/* A message that a port has taken over. */
typedef struct {
    int32_t transfer;
    int64_t bytes_left;
    int64_t from; /* cycle of its first flit at the earliest */
} flit_message;

/* A queue that grows: messages, arrivals, packets or transfers to add. */
typedef struct {
    flit_message *items;
    uint32_t first, count, capacity;
} flit_queue;

typedef struct {
    int64_t next;                /* when it has something to do */
    int64_t free_at;             /* what is on its way into the router is so up to here */
    int32_t packet, flits, left; /* being injected (-1: none); left: flits that are not on their way */
    int32_t hop;                 /* the first of its path */
    int lane, last_lane;
    flit_queue messages;   /* of the normal port: packets */
    flit_line *line;       /* into the router */
    flit_credits *credits; /* by lane */
    int64_t queued;        /* flits of the messages that are not on their way */
    int64_t hand_from;     /* when what is being handed over can be so at the earliest */
    int32_t handing;       /* that transfer, -1: none */
    int is_starved;        /* it waits for credits, which cannot be enough before */
    int64_t enough_at;
} flit_port;

typedef struct flit_interface {
    int64_t *wake_at; /* when it has something to do: the fabric's, by node */
    /* Other traffic. */
    int64_t make_at, make_until;
    banyan_random random;
    uint64_t make_below; /* a packet is made where a random number of 53 bits is below */

    int64_t adding_until; /* the front of adding is done; FLIT_NEVER: not begun */
    int64_t issue_at;     /* look at the table in this cycle */
    uint64_t live;        /* of the table's ports: those that have something to put in or to hand over */
    flit_fabric *fabric;
    flit_router *router;
    flit_port *ports; /* the normal one last, where there is one */
    const void *normal;
    flit_queue arrivals, adding;
    flit_job *job;                         /* NULL: other traffic only */
    int port_count;                        /* for the table's messages */
    flit_credits *credits;                 /* of the ports */
    int64_t port_buffer;                   /* flits */
    size_t step_begin, step_end, send_end; /* of the table's current step */
    size_t step_left;
    int is_new_step, nop_from, busy_ports;
    int64_t not_before; /* the lockstep counter */
    /* Other traffic that has arrived. */
    int64_t arrived_packets, arrived_cycles, worst_cycles, arrived_routers, measure_from, measure_until;
} flit_interface;

banyan_status flit_interface_create(flit_fabric *fabric, flit_router *router, flit_job *job,
                                    flit_interface **out, banyan_error *err);
void flit_interface_destroy(flit_interface *interface); /* accepts NULL */

/* The tail of a packet reaches the interface. */
void flit_interface_deliver(flit_fabric *fabric, flit_interface *interface, int32_t packet, int64_t at);

void flit_interface_step(flit_interface *interface, int64_t now);

/* How many cycles from now on the interface does nothing, even if its ports get credits from now on. */
int64_t flit_interface_ahead(const flit_interface *interface, int64_t now);

/* Draws in which cycle from this one on the next packet of other traffic is made. */
void flit_interface_draw(flit_interface *interface, int64_t from);

/* The path of the next packet of other traffic (flit_normal.c). */
int flit_normal_pick(flit_interface *interface);

/* The table (flit_issue.c): starts what may start in this cycle. A port has handed its message over. */
void flit_issue(flit_interface *interface, int64_t now);
void flit_issue_start(flit_interface *interface);
void flit_issue_handed(flit_interface *interface, flit_port *port, int64_t now);

/* Arrivals and the adder (flit_reduce.c). */
void flit_reduce_step(flit_interface *interface, int64_t now);

int flit_queue_push(flit_queue *queue, flit_message item); /* 0: memory ran out */

static inline flit_message *flit_queue_front(const flit_queue *queue)
{
    return &queue->items[queue->first];
}

static inline void flit_queue_pop(flit_queue *queue)
{
    queue->first = (queue->first + 1) & (queue->capacity - 1);
    queue->count--;
}

static inline void flit_interface_wake(flit_interface *interface, int64_t at)
{
    *interface->wake_at = flit_earlier(*interface->wake_at, at);
}

/* A starved port is about to get a credit. */
static inline void flit_interface_credit(flit_interface *interface, int p, int64_t due)
{
    flit_port *port = &interface->ports[p];

    port->next = flit_earlier(port->next, due > port->enough_at ? due : port->enough_at);
    flit_interface_wake(interface, port->next);
}

#endif
