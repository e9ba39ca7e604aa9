/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/teccl.c: any bytes as TE-CCL's JSON: refused with a sentence, or a schedule that can be judged,
 * and the same on a network that has all links. */
#include <stdint.h>
#include <stdlib.h>

#include "schedule/import.h"
#include "verify/verify.h"

#define MOST_JUDGED (1 << 20) /* nodes times pieces: what a fuzzer's memory allows */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int link_between(const void *nodes, int src, int dst)
{
    return src * *(const int *)nodes + dst;
}

static int is_even(const void *nodes, int node)
{
    (void)nodes;
    return node % 2 == 0;
}

static void judge(const banyan_schedule *schedule)
{
    banyan_verdict verdict;

    if ((size_t)schedule->node_count * (size_t)schedule->piece_count < MOST_JUDGED &&
        banyan_verify(schedule, NULL, &verdict, NULL))
        abort();
}

/* The nodes of the file under their own numbers, each linked to each; even switches copy. */
static void import_on_network(const banyan_teccl_program *program)
{
    int nodes = BANYAN_TECCL_NODES;
    const banyan_teccl_network network = {.topology = &nodes,
                                          .node_count = nodes,
                                          .gpus = program->gpus,
                                          .switches = program->switches,
                                          .find_link = link_between,
                                          .copies = is_even};
    banyan_schedule *schedule;
    banyan_error err = {""};

    if (banyan_schedule_import_teccl(program, &network, &schedule, &err)) {
        if (!*err.text || schedule)
            abort();
        return;
    }
    judge(schedule);
    banyan_schedule_destroy(schedule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_teccl_program *program;
    banyan_schedule *schedule;
    banyan_error err = {""};

    banyan_teccl_looks_like((const char *)data, size);
    if (banyan_teccl_parse((const char *)data, size, &program, &err)) {
        if (!*err.text || program)
            abort();
        return 0;
    }
    if (!banyan_schedule_import_teccl(program, NULL, &schedule, &err)) {
        judge(schedule);
        banyan_schedule_destroy(schedule);
    }
    import_on_network(program);
    banyan_teccl_destroy(program);
    return 0;
}
