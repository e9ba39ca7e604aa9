/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_table.c: what was measured as nccl-tests' table, the OSU benchmarks' table, or JSON. */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "core/alloc.h"
#include "core/text.h"
#include "schedule/schedule.h"

static double bus_factor(const bench_settings *set)
{
    return cli_bus_factor(banyan_collective_name((banyan_collective)set->task.collective), set->task.ranks);
}

static void print_roofs(const bench_table *t)
{
    const bench_roofs *r = t->roofs;

    printf("# device: %s, %s; %d of them\n", t->set->gpu, r->name, r->device_count);
    printf("# measured: memory copies %.1f GB/s read and written, host %.2f GB/s each way at a time, empty "
           "kernel "
           "%.1f us on one rank, %.1f us on all at once\n",
           r->copy_bytes_per_s / 1e9, r->host_bytes_per_s / 1e9, r->launch_s * 1e6, r->launch_all_s * 1e6);
    printf("# roof: algbw %.2f GB/s, by %s\n", r->roof_bytes_per_s / 1e9,
           t->set->is_staged ? "the way to the host" : "the device's memory");
}

static void print_nccl_head(const bench_table *t)
{
    const bench_settings *set = t->set;
    char size[32];

    printf("# banyan %d.%d.%d %s: %d rank%s as %s%s, network %s, algorithm %s\n", BANYAN_VERSION_MAJOR,
           BANYAN_VERSION_MINOR, BANYAN_VERSION_PATCH,
           banyan_collective_name((banyan_collective)set->task.collective), set->task.ranks,
           set->task.ranks == 1 ? "" : "s", set->own ? "processes, transport " : "threads of one process",
           set->own ? set->transport : "", t->topology, t->algorithm);
    if (t->roofs)
        print_roofs(t);
    else
        printf("# buffers: %s\n",
               set->is_shared ? "banyan_mem_alloc, which ranks of a host reach in place" : "private");
    if (t->memory.in_place > 0)
        printf("# memory: each rank copies %.2f GB/s while all do, %.2f GB/s in place: the roofs of algbw at "
               "%s\n",
               t->memory.out_of_place / 1e9, t->memory.in_place / 1e9,
               banyan_show_bytes((double)set->largest, size, sizeof size));
    printf("#\n# %65s %41s\n", "out-of-place", "in-place");
    printf("# %10s %12s %8s %6s %6s %8s %7s %7s %6s %8s %7s %7s %6s\n", "size", "count", "type", "redop",
           "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong");
    printf("# %10s %12s %8s %6s %6s %8s %7s %7s %6s %8s %7s %7s %6s\n", "(B)", "(elements)", "", "", "",
           "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

void bench_table_begin(bench_table *t)
{
    if (t->set->rank > 0)
        return; /* rank 0 speaks for all */
    if (t->set->format == BENCH_NCCL)
        print_nccl_head(t);
    if (t->set->format == BENCH_OSU)
        printf("# Banyan %s latency test, %d ranks\n%-10s%20s\n",
               banyan_collective_name((banyan_collective)t->set->task.collective), t->set->task.ranks,
               "# Size", "Avg Latency(us)");
    fflush(stdout);
}

static void print_side(const bench_settings *set, size_t bytes, const bench_measurement *m)
{
    double rate = (double)bytes / m->seconds / 1e9;
    char wrong[24] = "N/A";

    if (set->is_checked)
        snprintf(wrong, sizeof wrong, "%ld", m->wrong);
    printf(" %8.1f %7.3f %7.3f %6s", m->seconds * 1e6, rate, rate * bus_factor(set), wrong);
}

static void json_side(bench_table *t, const char *name, size_t bytes, const bench_measurement *m)
{
    double rate = (double)bytes / m->seconds / 1e9;

    banyan_text_add(&t->json, ",\"%s\":{", name);
    cli_json_number(&t->json, "time", m->seconds * 1e6);
    banyan_text_add(&t->json, ",");
    cli_json_number(&t->json, "alg_bw", rate);
    banyan_text_add(&t->json, ",");
    cli_json_number(&t->json, "bus_bw", rate * bus_factor(t->set));
    banyan_text_add(&t->json, ",");
    cli_json_number(&t->json, "share_of_bound", rate * 1e9 / t->bound_bytes_per_s);
    banyan_text_add(&t->json, ",\"nwrong\":%ld}", m->wrong);
}

static void print_row(bench_table *t, size_t bytes, const bench_measurement *out_of_place,
                      const bench_measurement *in_place)
{
    const bench_task *task = &t->set->task;
    size_t count = bytes / banyan_datatype_bytes(task->type);
    int is_rooted =
        task->collective == BANYAN_COLLECTIVE_BROADCAST || task->collective == BANYAN_COLLECTIVE_REDUCE;
    int moves_only =
        task->collective == BANYAN_COLLECTIVE_BROADCAST || task->collective == BANYAN_COLLECTIVE_ALLGATHER;
    const char *op = moves_only ? "none" : banyan_op_string(task->op);

    if (t->set->format == BENCH_JSON) {
        banyan_text_add(&t->json,
                        "%s\n{\"size\":%zu,\"count\":%zu,\"type\":\"%s\",\"redop\":\"%s\",\"root\":%d",
                        t->row_count ? "," : "", bytes, count, banyan_datatype_string(task->type), op,
                        is_rooted ? task->root : -1);
        json_side(t, "out_of_place", bytes, out_of_place);
        json_side(t, "in_place", bytes, in_place);
        banyan_text_add(&t->json, "}");
    } else if (t->set->format == BENCH_OSU) {
        printf("%-10zu%20.2f\n", bytes, out_of_place->seconds * 1e6);
    } else {
        printf("%12zu %12zu %8s %6s %6d", bytes, count, banyan_datatype_string(task->type), op,
               is_rooted ? task->root : -1);
        print_side(t->set, bytes, out_of_place);
        print_side(t->set, bytes, in_place);
        printf("\n");
    }
    fflush(stdout);
}

void bench_table_add(bench_table *t, size_t bytes, const bench_measurement *out_of_place,
                     const bench_measurement *in_place)
{
    double share = (double)bytes / fmin(out_of_place->seconds, in_place->seconds) / t->bound_bytes_per_s;

    t->bus_sum += ((double)bytes / out_of_place->seconds + (double)bytes / in_place->seconds) / 2e9 *
                  bus_factor(t->set);
    t->wrong += out_of_place->wrong + in_place->wrong;
    if (isfinite(share) && share > t->best_share) {
        t->best_share = share;
        t->best_bytes = bytes;
    }
    if (t->set->rank == 0)
        print_row(t, bytes, out_of_place, in_place);
    t->row_count++;
}

static banyan_status print_json(bench_table *t, const char *began, double average, banyan_error *err)
{
    char *text, memory[96] = "";
    banyan_status status = banyan_text_take(&t->json, &text, err);

    if (t->memory.in_place > 0)
        snprintf(memory, sizeof memory, ",\"memory_bytes_per_s\":{\"out_of_place\":%.6g,\"in_place\":%.6g}",
                 t->memory.out_of_place, t->memory.in_place);
    if (status)
        return status;
    printf(
        "{\"version\":\"%d.%d.%d\",\"start_time\":\"%s\",\"config\":{\"ranks\":%d,\"transport\":"
        "\"%s\",\"topology\":\"%s\","
        "\"algorithm\":\"%s\",\"local_register\":%d%s},\"results\":[%s],\n\"out_of_bounds\":{\"count\":%ld,"
        "\"okay\":%s},"
        "\"average_bus_bandwidth\":{\"bandwidth\":%.6g,\"okay\":true}}\n",
        BANYAN_VERSION_MAJOR, BANYAN_VERSION_MINOR, BANYAN_VERSION_PATCH, began, t->set->task.ranks,
        t->set->transport, t->topology, t->algorithm, t->set->is_shared, memory, text, t->wrong,
        t->wrong ? "false" : "true", average);
    banyan_free(text);
    return BANYAN_SUCCESS;
}

static void print_share(const bench_table *t)
{
    char size[32], rate[32];

    if (t->best_share > 0)
        printf("# Share of the bound   : %.1f %% at %s (no algorithm that sends partial sums whole can do "
               "better than %s here)\n",
               100 * t->best_share, banyan_show_bytes((double)t->best_bytes, size, sizeof size),
               banyan_show_rate(t->bound_bytes_per_s, rate, sizeof rate));
}

banyan_status bench_table_end(bench_table *t, const char *began, banyan_error *err)
{
    double average = t->row_count ? t->bus_sum / t->row_count : 0;

    if (t->set->format == BENCH_JSON)
        return print_json(t, began, average, err);
    if (t->set->format == BENCH_OSU)
        return BANYAN_SUCCESS;
    printf("# Out of bounds values : %ld %s\n# Avg bus bandwidth    : %g\n", t->wrong,
           t->wrong ? "FAILED" : "OK", average);
    print_share(t);
    printf("# Collective test concluded: %s\n",
           banyan_collective_name((banyan_collective)t->set->task.collective));
    return BANYAN_SUCCESS;
}
