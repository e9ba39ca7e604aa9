/* SPDX-License-Identifier: Apache-2.0 */
/* planner/choice.h: which algorithm serves which collective, as BANYAN_ALGO says it.
 *
 *     auto                                the best prediction, for every collective and size
 *     forest                              all-reduce by forest; the others by forest where it can serve them
 *     allreduce:flexreduce,reduce:ring    these two as named, the others by prediction
 *     ring,broadcast:binomial             both rules together; a later item overrides an earlier one */
#ifndef BANYAN_PLANNER_CHOICE_H
#define BANYAN_PLANNER_CHOICE_H

#include "algorithms/algorithms.h"

typedef struct {
    const banyan_algorithm *algorithm; /* NULL: the best prediction */
    int is_binding; /* UNSUPPORTED where it cannot serve a call; else the best prediction serves it */
} banyan_choice;

/* INVALID_ARGUMENT names the item, and what was probably meant. */
banyan_status banyan_choices_parse(const char *text, banyan_choice out[BANYAN_COLLECTIVE_COUNT],
                                   banyan_error *err);

#endif
