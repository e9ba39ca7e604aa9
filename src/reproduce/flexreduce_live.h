/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/flexreduce_live.h: all-reduces of Fig. 4 that were measured between processes. */
#ifndef BANYAN_REPRODUCE_FLEXREDUCE_LIVE_H
#define BANYAN_REPRODUCE_FLEXREDUCE_LIVE_H

#include "core/status.h"

enum { FLEXREDUCE_LIVE_CASES = 9 };

typedef struct {
    int is_there;              /* whether all cases were measured */
    double bytes, bytes_per_s; /* of the vector; between machines */
    double ring_s[FLEXREDUCE_LIVE_CASES], flexreduce_s[FLEXREDUCE_LIVE_CASES];
    char about[256]; /* how, when and where */
} flexreduce_live;

/* data/reproduce/flexreduce-live.json, as bench/flexreduce_live.py wrote it. Cases are in the paper's order,
 * 4 to 12 learners. A missing file is no error: then nothing is there. */
banyan_status flexreduce_live_load(flexreduce_live *out, banyan_error *err);

#endif
