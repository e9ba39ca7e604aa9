/* SPDX-License-Identifier: Apache-2.0 */
/* train/decision.h: what policies write: the tensors as units, and where to cut them.
 * For the files of train only. */
#ifndef BANYAN_TRAIN_DECISION_H
#define BANYAN_TRAIN_DECISION_H

#include "train/train.h"

/* Tensors, or parts of them, as searches want them: flat, with prefix sums. */
typedef struct {
    int count;
    banyan_gradient_part *parts;
    double *ready_s;
    double *bytes_before; /* count + 1 of them: bytes of all units before i */
} banyan_grouping_units;

banyan_status banyan_grouping_units_init(banyan_grouping_units *units, const banyan_model *model,
                                         size_t most_bytes,
                                         banyan_error *err); /* most_bytes 0: nothing is split */
void banyan_grouping_units_fini(banyan_grouping_units *units);

/* One group: the units from the end of the group before up to end. */
typedef struct {
    int end, level;
    double release_s;
} banyan_cut;

/* Room for as many cuts as there are units, so that writing one cannot fail. */
typedef struct {
    int count;
    banyan_cut *cuts;
} banyan_grouping_cuts;

banyan_status banyan_grouping_cuts_init(banyan_grouping_cuts *cuts, const banyan_grouping_units *units,
                                        banyan_error *err);
void banyan_grouping_cuts_fini(banyan_grouping_cuts *cuts);
void banyan_grouping_cuts_copy(banyan_grouping_cuts *to,
                               const banyan_grouping_cuts *from); /* both of the same units */
void banyan_grouping_cuts_add(banyan_grouping_cuts *cuts, int end, int level);

typedef struct banyan_decision {
    banyan_grouping_units
        units; /* the tensors whole; a policy that splits puts others here, with cuts to match */
    banyan_grouping_cuts cuts; /* empty at first */
    int streams;               /* the user's, or the policy's; 0: the policy writes it */
} banyan_decision;

#endif
