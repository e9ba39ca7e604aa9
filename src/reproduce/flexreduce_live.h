/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/flexreduce_live.h: all-reduces and training steps of Fig. 4 that were measured. */
#ifndef BANYAN_REPRODUCE_FLEXREDUCE_LIVE_H
#define BANYAN_REPRODUCE_FLEXREDUCE_LIVE_H

#include "core/status.h"
#include "reproduce/live.h"

enum { FLEXREDUCE_LIVE_CASES = 9 };

typedef struct {
    int is_there;              /* whether all cases were measured */
    double bytes, bytes_per_s; /* of the vector; between machines */
    double ring_s[FLEXREDUCE_LIVE_CASES], flexreduce_s[FLEXREDUCE_LIVE_CASES];
    char about[LIVE_ABOUT]; /* how, when and where */
} flexreduce_live;

/* Steps of DistributedDataParallel. */
typedef struct {
    int is_there;
    double bytes_per_s, batch; /* between machines; images a learner */
    double parameters;
    double compute_s[FLEXREDUCE_LIVE_CASES], ring_s[FLEXREDUCE_LIVE_CASES],
        blueconnect_s[FLEXREDUCE_LIVE_CASES], flexreduce_s[FLEXREDUCE_LIVE_CASES];
    char about[LIVE_ABOUT];
} flexreduce_ddp;

/* data/reproduce/flexreduce-live.json and flexreduce-ddp.json, as bench/flexreduce_live.py and
 * bench/flexreduce_ddp.py wrote them. Cases are in the paper's order, 4 to 12 learners. A missing file is no
 * error: then nothing is there. */
banyan_status flexreduce_live_load(flexreduce_live *out, banyan_error *err);
banyan_status flexreduce_ddp_load(flexreduce_ddp *out, banyan_error *err);

#endif
