/* SPDX-License-Identifier: Apache-2.0 */
/* bound/json.h: a bound with its certificates as a file that anybody can check
 * (docs/formats/bound-file.md). */
#ifndef BANYAN_BOUND_JSON_H
#define BANYAN_BOUND_JSON_H

#include "bound/bound.h"

/* The bound of the active workers of a topology; the caller frees *out. */
banyan_status banyan_bound_format(const banyan_topology *topology, const int *active, int active_count,
                                  const banyan_bound *bound, char **out, banyan_error *err);

/* Reads it back for the same topology; on success the caller owns *active and the bound. */
banyan_status banyan_bound_parse(const char *text, size_t length, const banyan_topology *topology,
                                 int **active, int *active_count, banyan_bound *out, banyan_error *err);

/* Whether the text, of a bound or of a bound in stages, says what its certificates prove on this network, and
 * nothing else: PLAN_INVALID with a sentence where it does not. *claims_tight: it also says of some rate that
 * it is tight, which no certificate proves and nothing here checks. */
banyan_status banyan_bound_check(const char *text, size_t length, const banyan_topology *topology,
                                 int *claims_tight, banyan_error *err);

#endif
