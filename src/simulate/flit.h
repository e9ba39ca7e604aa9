/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit.h: the cycle-accurate judge: routers, credits and network interfaces that run a schedule.
 *
 * Every node of the topology is a router with virtual channels; a worker has a network interface that holds
 * the schedule as a table and works it off: Reduce, Gather and NOP entries, a step counter, a lockstep
 * counter, dependencies that arriving messages clear, and a unit that adds (docs/simulation-flit.md). The
 * same input gives the same cycles, everywhere. */
#ifndef BANYAN_SIMULATE_FLIT_H
#define BANYAN_SIMULATE_FLIT_H

#include <stdint.h>

#include "schedule/schedule.h"
#include "schedule/timeline.h"
#include "topology/topology.h"

typedef enum {
    BANYAN_FLOW_PACKET, /* every packet has a head flit */
    BANYAN_FLOW_MESSAGE /* one head flit a gradient message; its virtual channel is held up to the tail */
} banyan_flow_control;

typedef enum {
    BANYAN_SWITCHING_CUT_THROUGH, /* a packet goes on only where all of it (a sub-packet of a message) fits */
    BANYAN_SWITCHING_WORMHOLE     /* flit by flit */
} banyan_switching;

typedef enum {
    BANYAN_LOCKSTEP_NONE,     /* in the order of the table, as soon as a port and the dependencies allow */
    BANYAN_LOCKSTEP_ESTIMATE, /* a new step once all ports have handed over; NOPs wait an estimated step */
    BANYAN_LOCKSTEP_IDEAL     /* a barrier that costs nothing after each step */
} banyan_lockstep;

typedef enum {
    BANYAN_INTERFACE_CABLE,  /* a port a cable, where there are as many */
    BANYAN_INTERFACE_AUTHORS /* as in the MultiTree authors' simulator: any free port, tables in the order of
                                flows, and ports in turn where messages leave the network */
} banyan_interface_kind;

/* 0 in a field marked * means: derived as said. */
typedef struct {
    double clock_hz; /* *: the fastest link moves a flit a cycle (1 GHz for 16 GB/s) */
    int virtual_channels;
    int buffer_flits; /* * of one virtual channel: the credit loop of the longest link and a packet's head
                         start, 2 latency + 18 (318 flits for 150 cycles) */
    int flit_bytes;
    int packet_bytes;  /* payload of a packet or sub-packet */
    int credit_cycles; /* a router takes to count a credit that arrived */
    int ports;         /* * of a network interface: the most links that leave any worker */
    int any_port;      /* 1: messages take any free port, as in the MultiTree authors' simulator, even
                                      where every cable could have its own */
    banyan_interface_kind interface_kind;
    int interface_packets;         /* a port's buffer: what a step may leave behind when the next begins */
    int adder_bytes, adder_cycles; /* bytes added a cycle (0: adding is free), and the least it takes */
    /* *: how long a packet may wait at a router without moving before we call it starved: what all flits of
     * the job take one by one, and ten million more */
    int64_t patience_cycles;
    banyan_flow_control flow;
    banyan_switching switching;
    banyan_lockstep lockstep;
    double normal_rate; /* flits a worker and cycle of other traffic, uniform at random (0: none) */
    int normal_flits;   /* of one such packet */
    uint64_t seed;      /* of that traffic */
    int is_plain; /* every cycle of every node one by one: slow, the same result, to check the rest by */
    void (*progress)(void *context, size_t done, size_t all); /* packets that have arrived; NULL: nobody */
    void *context;
} banyan_flit_settings;

/* The paper's Table III: 4 channels (of 318 flits on 150 ns links), 16 B flits, 256 B packets, cut-through;
 * NOP lockstep, an adder of 128 B a cycle, 58 packets buffered a port. */
banyan_flit_settings banyan_flit_defaults(void);

typedef struct {
    double clock_hz;
    int64_t cycles;         /* until the network is quiet: all messages applied and all credits home */
    int64_t applied_cycles; /* until the last message is applied */
    int64_t flit_hops;      /* flits moved through a router */
    int64_t link_flit_count, head_flit_count; /* over links; heads among those injected */
    int64_t arbitrations;                     /* virtual channels granted */
    int link_count;
    int64_t *link_flits;
    int busiest_link;       /* -1: none was used */
    int table_entries;      /* of the longest table */
    int64_t table_bits;     /* of that table */
    int64_t normal_packets; /* other traffic that arrived */
    double normal_mean_cycles;
    int64_t normal_worst_cycles;
} banyan_flit_report;

/* Runs the schedule on a vector of that many bytes. timeline and report may be NULL where not wanted; total_s
 * of the timeline is the report's cycles. A deadlock or starvation is BANYAN_PLAN_INVALID and a sentence that
 * says who waits where. */
banyan_status banyan_flit_run(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes,
                              const banyan_flit_settings *settings, banyan_timeline **timeline,
                              banyan_flit_report **report, banyan_error *err);
void banyan_flit_report_destroy(banyan_flit_report *report); /* accepts NULL */

/* The schedule tables of all interfaces as text, with their size in bits. */
banyan_status banyan_flit_format_tables(const banyan_schedule *schedule, const banyan_topology *topology,
                                        size_t bytes, const banyan_flit_settings *settings, char **out,
                                        banyan_error *err);

/* Uniform traffic alone, as network simulators are compared by: every worker makes packets at random (rate in
 * flits a worker and cycle) for any worker, itself included. */
typedef struct {
    double rate;
    int packet_flits;
    int64_t warmup_cycles, measure_cycles;
} banyan_flit_load;

typedef struct {
    int64_t packets;     /* measured */
    double mean_cycles;  /* from being made to the tail's arrival */
    double mean_routers; /* on the path */
    int64_t flit_hops, cycles;
} banyan_flit_traffic_result;

banyan_status banyan_flit_traffic(const banyan_topology *topology, const banyan_flit_settings *settings,
                                  const banyan_flit_load *load, banyan_flit_traffic_result *out,
                                  banyan_error *err);

#endif
