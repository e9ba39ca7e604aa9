/* SPDX-License-Identifier: Apache-2.0 */
/* execute/average.h: the last step of AVG, the same for the executor and the reference. */
#ifndef BANYAN_EXECUTE_AVERAGE_H
#define BANYAN_EXECUTE_AVERAGE_H

#include "execute/vector.h"
#include "schedule/schedule.h"

/* Divides by the number of ranks what the rank holds as its result: all of an all-reduce, the root's reduce,
 * its own pieces of a reduce-scatter, nothing where nothing is added. */
void banyan_average(const banyan_schedule *schedule, int rank, const banyan_vector *vector,
                    banyan_datatype type);

#endif
