/* SPDX-License-Identifier: Apache-2.0 */
/* cli/closed_form.h: the time that an algorithm's formula gives, to be printed beside a simulated one. */
#ifndef BANYAN_CLI_CLOSED_FORM_H
#define BANYAN_CLI_CLOSED_FORM_H

#include "algorithms/algorithms.h"

/* Evaluates a cost such as «2(p-1) a + 2 (p-1)/p n b». NAN where the text is more than a formula in p, n, a
 * and b, but for «; 2 (a + n b) more where p is no power of two», which is NAN only for such p. */
double cli_formula(const char *cost, double p, double n, double a, double b);

/* The formula for this schedule, with overhead_s added to every latency; NAN where it does not hold: another
 * collective than all-reduce, routes of unequal latency or bandwidth, or a round that uses a link twice. */
banyan_status cli_closed_form(const banyan_algorithm *algorithm, const banyan_schedule *schedule,
                              const banyan_topology *topology, double bytes, double overhead_s, double *out,
                              banyan_error *err);

#endif
