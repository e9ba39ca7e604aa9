/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_tables.h: the schedule as the interfaces' tables hold it. Internal to the flit engine. */
#ifndef BANYAN_SIMULATE_FLIT_TABLES_H
#define BANYAN_SIMULATE_FLIT_TABLES_H

#include "simulate/flit_job.h"

/* Entries and bits of the longest table. */
banyan_status flit_tables_measure(const flit_job *job, const banyan_flit_settings *settings, int node_count,
                                  int *entries, int64_t *bits, banyan_error *err);

#endif
