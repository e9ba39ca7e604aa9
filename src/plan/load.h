/* SPDX-License-Identifier: Apache-2.0 */
/* plan/load.h: a schedule from the text of a file of any form. */
#ifndef BANYAN_PLAN_LOAD_H
#define BANYAN_PLAN_LOAD_H

#include "schedule/schedule.h"
#include "topology/topology.h"

/* topology may be NULL; only TE-CCL's form is read for it. */
banyan_status banyan_read_schedule(const char *text, size_t length, const banyan_topology *topology,
                                   banyan_schedule **out, banyan_error *err);

#endif
