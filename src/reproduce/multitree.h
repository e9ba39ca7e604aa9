/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/multitree.h: what the parts of the MultiTree paper share: who competes, and cycles at sizes. */
#ifndef BANYAN_REPRODUCE_MULTITREE_H
#define BANYAN_REPRODUCE_MULTITREE_H

#include "algorithms/algorithms.h"
#include "reproduce/predict.h"
#include "reproduce/reproduce.h"
#include "simulate/flit.h"

enum { MULTITREE_PARAMETERS = 2 };

/* An algorithm as it competes. */
typedef struct {
    const char *name;                                  /* in figures */
    const char *algorithm;                             /* ours */
    banyan_parameter parameters[MULTITREE_PARAMETERS]; /* options of it; key NULL: none */
    banyan_flow_control flow;
    banyan_interface_kind interface_kind;
    int is_sliced; /* the vector travels in a slice per worker, as in the authors' program */
} multitree_rival;

enum {
    RIVAL_RING,
    RIVAL_RING_2D,
    RIVAL_DOUBLE_TREE,
    RIVAL_HDRM,
    RIVAL_MULTITREE,       /* the paper's MULTITREE */
    RIVAL_MULTITREE_MSG,   /* the paper's MULTITREEMSG */
    RIVAL_MULTITREE_CABLE, /* the same with our interface, a port a cable */
    RIVAL_MULTITREE_SPLIT, /* with the order that reaches the bound */
    RIVAL_BIDIRECTIONAL,
    RIVAL_MULTI_RING,
    RIVAL_FOREST,
    RIVAL_COUNT
};

extern const multitree_rival multitree_rivals[RIVAL_COUNT];

/* One simulation that is wanted. */
typedef struct {
    const char *network; /* 'torus:4x4', to which the paper's links are added */
    int rival;
    int flow;           /* a banyan_flow_control, or -1: the rival's own */
    int interface_kind; /* a banyan_interface_kind, or -1: the rival's own */
    const char *order;  /* of the workers, or NULL: the rival's own */
    size_t bytes;
    double seconds; /* NAN where the algorithm does not apply there */
    int by_fluid;   /* the fluid engine in lockstep, whole messages, with the same adder */
} multitree_run;

/* Simulates all, side by side, the longest first. */
banyan_status multitree_simulate(banyan_reproduction *reproduction, multitree_run *runs, int count,
                                 banyan_error *err);

/* The options of a rival: how many of its parameters are given. */
int multitree_parameter_count(int rival);

/* The network with the paper's links: 16 GB/s and 150 ns. paper_network_fini also after failure. */
banyan_status multitree_network_init(const char *name, paper_network *out, banyan_error *err);

/* The best possible all-reduce on it, in bytes a second. */
banyan_status multitree_bound(const char *network, double *bytes_per_s, banyan_error *err);

/* '32 KiB', '4 MiB'. */
void multitree_name_size(size_t bytes, char *out, size_t size);

/* What the parts hand on: the 8x8 torus of Fig. 9 gives the costs of Fig. 11. */
enum { MULTITREE_SIZES = 7 };

typedef struct {
    double seconds[RIVAL_COUNT][MULTITREE_SIZES]; /* NAN: not there */
} multitree_torus;

extern const size_t multitree_sizes[MULTITREE_SIZES];

banyan_status multitree_fig9(banyan_reproduction *reproduction, multitree_torus *torus, banyan_error *err);
banyan_status multitree_fig10(banyan_reproduction *reproduction, banyan_error *err);
banyan_status multitree_fig11(banyan_reproduction *reproduction, const multitree_torus *torus,
                              banyan_error *err);

/* Fig. 2, schedule tables and strong scaling. */
banyan_status multitree_text(banyan_reproduction *reproduction, banyan_error *err);

#endif
