/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_graph.h: which step of an MSCCL program waits for which, and an order in which all can run.
 *
 * A step waits for at most four others: the one before it in its block, the one it depends on, the one that
 * sends what it receives, and, because a connection holds only a few messages, the receive that frees the
 * slot for what it sends. So the graph is four numbers a step. */
#ifndef BANYAN_SCHEDULE_MSCCL_GRAPH_H
#define BANYAN_SCHEDULE_MSCCL_GRAPH_H

#include "schedule/msccl.h"

enum {
    BANYAN_MSCCL_AFTER_STEP,
    BANYAN_MSCCL_AFTER_DEPENDENCY,
    BANYAN_MSCCL_AFTER_SEND,
    BANYAN_MSCCL_AFTER_SLOT,
    BANYAN_MSCCL_AFTER_COUNT
};

typedef struct {
    int step_count;
    int (*after)[BANYAN_MSCCL_AFTER_COUNT]; /* by step: the steps it waits for; -1: none */
    int *received_by;                       /* by step: who receives what it sends; -1: it sends nothing */
    int *order;                             /* all steps, each after those it waits for */
} banyan_msccl_graph;

/* Is told every problem, one sentence each. */
typedef void (*banyan_msccl_reporter)(void *context, const char *sentence);

/* slots: messages that a connection holds; 0: any number. Where problems leave no graph (unmatched messages,
 * a deadlock) they are reported and *out is NULL; the status is a failure only if memory runs out. */
banyan_status banyan_msccl_graph_build(const banyan_msccl_program *program, int slots,
                                       banyan_msccl_reporter report, void *context, banyan_msccl_graph **out,
                                       banyan_error *err);
void banyan_msccl_graph_destroy(banyan_msccl_graph *graph); /* accepts NULL */

#endif
