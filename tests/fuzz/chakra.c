/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of Chakra traces: any bytes give a trace that can be replayed, or a sentence. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "train/chakra.h"

static void play(const banyan_chakra *trace)
{
    double *seconds = calloc((size_t)trace->node_count, sizeof *seconds);
    banyan_replay replay;
    banyan_error err = {{0}};

    for (int i = 0; i < trace->node_count; i++)
        seconds[i] = trace->nodes[i].recorded_s;
    if (banyan_chakra_replay(trace, seconds, &replay, &err) ? !*err.text
                                                            : !isfinite(replay.end_s) || replay.end_s < 0)
        abort();
    free(seconds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_chakra *trace;
    banyan_error err = {{0}};

    if (banyan_chakra_parse((const char *)data, size, &trace, &err) ? !*err.text || trace : !trace)
        abort();
    if (trace)
        play(trace);
    banyan_chakra_destroy(trace);
    return 0;
}
