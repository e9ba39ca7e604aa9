/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_values.h: what a benchmark puts into its buffers, and how many results are wrong. */
#ifndef BANYAN_CLI_BENCH_VALUES_H
#define BANYAN_CLI_BENCH_VALUES_H

#include <banyan/banyan.h>

typedef struct {
    int ranks, root;
    int collective; /* banyan_collective */
    banyan_datatype type;
    banyan_op op;
} bench_task;

void bench_fill(const bench_task *task, int rank, void *vector, size_t count);

/* result holds this rank's part of a vector of count elements; a value that depends on rounding counts as
 * right. */
long bench_count_wrong(const bench_task *task, int rank, const void *result, size_t count);

#endif
