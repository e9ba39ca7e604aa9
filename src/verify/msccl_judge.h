/* SPDX-License-Identifier: Apache-2.0 */
/* verify/msccl_judge.h: what the files of the MSCCL judge share; for verify/msccl_*.c only.
 *
 * The memory of a rank is a row of cells: the chunks of the vector, then, out of place, the chunks of the
 * output, then the scratch chunks. */
#ifndef BANYAN_VERIFY_MSCCL_JUDGE_H
#define BANYAN_VERIFY_MSCCL_JUDGE_H

#include "schedule/msccl.h"
#include "schedule/msccl_graph.h"
#include "verify/verify.h"

typedef struct {
    const banyan_msccl_program *program;
    const banyan_msccl_graph *graph;
    int in_place;
    const char *prefix; /* says which calls are meant, where both kinds are judged */
    banyan_verdict *verdict;
} banyan_msccl_judge;

void banyan_msccl_complain(banyan_msccl_judge *judge, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

size_t banyan_msccl_cell_count(const banyan_msccl_judge *judge, int rank);
size_t banyan_msccl_cell(const banyan_msccl_judge *judge, int rank, char buffer, int offset);

/* Every two conflicting accesses to a cell are in order. */
banyan_status banyan_msccl_judge_races(banyan_msccl_judge *judge, banyan_error *err);

/* What every rank ends with. */
banyan_status banyan_msccl_judge_values(banyan_msccl_judge *judge, banyan_error *err);

#endif
