/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench.h: what a benchmark is asked to do, and what it finds, for the bench*.c files. */
#ifndef BANYAN_CLI_BENCH_H
#define BANYAN_CLI_BENCH_H

#include "bench_values.h"
#include "cli.h"

enum { BENCH_MAX_RANKS = 512 };

typedef enum { BENCH_NCCL, BENCH_OSU, BENCH_JSON } bench_format;

typedef struct {
    bench_task task;
    int iterations, warmups, is_checked;
    size_t smallest, largest, step, factor;
    double timeout_s;
    bench_format format;
    const char *transport; /* 'memory': ranks are threads of this process */
    int is_shared;         /* vectors lie in memory of banyan_mem_alloc */
    const char *gpu;       /* cuda, hip or emulated: vectors lie on such devices; NULL: they do not */
    int device;            /* this rank's, or BANYAN_HOST */
    int is_staged;         /* all vectors on devices go through the host */
    banyan_comm *own;      /* NULL: ranks are threads; else this process's rank */
    int rank;
} bench_settings;

typedef struct {
    double seconds; /* mean over iterations, of the slowest rank */
    long wrong;
} bench_measurement;

/* bench_options.c: workers is how many ranks there are when nobody says. */
extern const cli_option bench_options[];
banyan_status bench_read_datatype(const cli_arguments *arguments, banyan_datatype *out, banyan_error *err);
banyan_status bench_read_settings(const cli_arguments *arguments, int workers, bench_settings *out,
                                  banyan_error *err);

/* bench_measure.c: one size, out of place or in place. comms: of all ranks, where they are threads. */
banyan_status bench_measure(const bench_settings *set, banyan_comm **comms, size_t bytes, int in_place,
                            bench_measurement *out, banyan_error *err);

/* bench_measure.c: what the devices can do at best, of all ranks together. Every rank calls it. */
typedef struct {
    char name[64];
    int device_count;        /* that the ranks are on */
    double copy_bytes_per_s; /* of one device's memory, read and written */
    double host_bytes_per_s; /* between one device and the host, each way at a time */
    double launch_s,
        launch_all_s;        /* an empty kernel, started and waited for: alone, and by all ranks at once */
    double roof_bytes_per_s; /* what algbw cannot exceed */
} bench_roofs;

banyan_status bench_open_device(bench_settings *set, banyan_error *err);
banyan_status bench_measure_roofs(const bench_settings *set, bench_roofs *out, banyan_error *err);

/* bench_measure.c: the rate at which each rank copies a vector of the largest size while all do, to another
 * one and onto itself, where ranks are processes. No all-reduce of vectors that are in no cache is faster:
 * each is read and written once. Every rank calls it. */
typedef struct {
    double out_of_place, in_place; /* bytes/s */
} bench_memory;

banyan_status bench_measure_memory(const bench_settings *set, bench_memory *out, banyan_error *err);

/* bench_table.c: at rank 0; others only count. */
typedef struct {
    const bench_settings *set;
    const char *topology, *algorithm;
    double bound_bytes_per_s; /* NaN: not known */
    const bench_roofs *roofs; /* NULL: vectors are the host's */
    bench_memory memory;      /* zeros: not measured */
    banyan_text json;
    double bus_sum;
    double best_share; /* of the bound, and at which size */
    size_t best_bytes;
    int row_count;
    long wrong;
} bench_table;

void bench_table_begin(bench_table *t);
void bench_table_add(bench_table *t, size_t bytes, const bench_measurement *out_of_place,
                     const bench_measurement *in_place);
banyan_status bench_table_end(bench_table *t, const char *began, banyan_error *err);

#endif
