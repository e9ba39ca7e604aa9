/* SPDX-License-Identifier: Apache-2.0 */
/* topology/nccl_tests.h: what nccl-tests measured and wrote as JSON (-J FILE). */
#ifndef BANYAN_TOPOLOGY_NCCL_TESTS_H
#define BANYAN_TOPOLOGY_NCCL_TESTS_H

#include <stddef.h>

#include "core/status.h"

typedef struct {
    double bytes, seconds;  /* the faster of in place and out of place */
    double bus_bytes_per_s; /* as nccl-tests computes it: what an all-reduce needs of each rank's link */
} banyan_nccl_tests_row;

typedef struct {
    char program[64]; /* 'all_reduce_perf' */
    int rank_count;
    int *host_of; /* of each rank */
    char **hosts; /* their names */
    int host_count;
    int row_count; /* at least one; in the order of the file, sizes without a time left out */
    banyan_nccl_tests_row *rows;
} banyan_nccl_tests;

/* A sentence names the row or the device that is wrong. */
banyan_status banyan_nccl_tests_parse(const char *text, size_t length, banyan_nccl_tests **out,
                                      banyan_error *err);
void banyan_nccl_tests_destroy(banyan_nccl_tests *results); /* accepts NULL */

int banyan_nccl_tests_looks_like(const char *text, size_t length);

#endif
