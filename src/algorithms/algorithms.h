/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/algorithms.h: what an algorithm is, and the list of them all.
 * An algorithm is one file that defines one const banyan_algorithm, and one line in algorithms/list.h. */
#ifndef BANYAN_ALGORITHMS_H
#define BANYAN_ALGORITHMS_H

#include "core/effort.h"
#include "schedule/build.h"
#include "schedule/schedule.h"
#include "topology/topology.h"

typedef struct {
    const char *key, *value;
} banyan_parameter;

/* What is to be planned. Borrowed from the caller throughout. */
typedef struct {
    const banyan_topology *topology;
    const int *active; /* node ids, ascending; rank r is active[r] */
    int active_count;
    banyan_collective collective;
    int root;         /* rank, for broadcast and reduce */
    size_t bytes;     /* current size, for choices that depend on it; 0: large */
    int is_size_open; /* nobody asked for this size: plan for bandwidth */
    /* whoever runs the schedule sends a transfer in slices as they come: no need to cut it up */
    int is_streamed;
    int is_unpaced;     /* and its connections are not paced (simulate/paces.h) */
    size_t slice_bytes; /* transfers travel in messages of this size; 0: chosen for each schedule */
    const char
        *relays; /* what idle workers can do, unless a parameter says: add, forward or none; NULL: add */
    const banyan_parameter *parameters; /* what the user set, of the algorithm's options */
    int parameter_count;
    void (*watch)(void *context, int done, int all); /* told of each candidate as it is made; NULL: nobody */
    void (*begins)(void *context, const char *algorithm); /* and before; NULL: nobody */
    void *watch_context;                                  /* of both */
    const banyan_budget *budget; /* how hard to look; NULL: as the effort 'measure' has it */
} banyan_problem;

/* An option of an algorithm: '--order 2,0,1' on the command line. */
typedef struct {
    const char *key;
    const char *form; /* 'RANKS', 'N' */
    const char *summary;
} banyan_algorithm_option;

#define BANYAN_CAN(name) (1u << BANYAN_COLLECTIVE_##name)

typedef struct {
    const char *name;
    const char *summary;  /* one line */
    const char *paper;    /* author, title, year; NULL for folklore */
    const char *cost;     /* the closed form in p ranks, n bytes, a latency, b seconds per byte */
    unsigned collectives; /* BANYAN_CAN(ALLREDUCE) | ... */
    const banyan_algorithm_option *options; /* ends with a NULL key; NULL: none */
    const banyan_parameter *variants;       /* settings worth trying beside the defaults, one at a time, by a
                                               patient       planner; ends with a NULL key; NULL: none */

    /* UNSUPPORTED with a sentence when it cannot serve this problem; NULL: it always can. */
    banyan_status (*applies)(const banyan_problem *problem, banyan_error *err);
    banyan_status (*build)(const banyan_problem *problem, banyan_schedule **out, banyan_error *err);
} banyan_algorithm;

int banyan_algorithm_count(void);
const banyan_algorithm *banyan_algorithm_at(int i);
const banyan_algorithm *banyan_algorithm_find(const char *name); /* NULL: none */

/* Asks collectives and applies together; a sentence says why not. */
banyan_status banyan_algorithm_applies(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                       banyan_error *err);

/* Checks the problem (connected, root in range, known parameters), then builds and labels the schedule.
 * A lone worker gets a schedule without transfers from every algorithm. */
banyan_status banyan_algorithm_build(const banyan_algorithm *algorithm, const banyan_problem *problem,
                                     banyan_schedule **out, banyan_error *err);

/* The parameter's value, or the fall-back. */
const char *banyan_problem_parameter(const banyan_problem *problem, const char *key, const char *fallback);
banyan_status banyan_problem_integer(const banyan_problem *problem, const char *key, int fallback, int low,
                                     int high, int *out, banyan_error *err);

/* UNSUPPORTED with a sentence where a schedule would have more transfers than anybody wants to wait for. */
#define BANYAN_MAX_TRANSFERS 16777216.0
banyan_status banyan_problem_check_transfers(const banyan_problem *problem, const char *name,
                                             double transfers, banyan_error *err);

/* The same where its transfers would move more pieces than a schedule for a large network may
 * (topology/scale.h), for algorithms that search before they build. */
banyan_status banyan_problem_check_moves(const banyan_problem *problem, const char *name, double moves,
                                         banyan_error *err);

/* Starts a builder with the problem's collective, root and active workers. */
void banyan_problem_begin(const banyan_problem *problem, banyan_builder *builder);

#endif
