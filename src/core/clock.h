/* SPDX-License-Identifier: Apache-2.0 */
/* core/clock.h: a clock that never goes back. */
#ifndef BANYAN_CORE_CLOCK_H
#define BANYAN_CORE_CLOCK_H

#include <stdint.h>

int64_t banyan_clock_ns(void);
double banyan_clock_s(void);
double banyan_clock_cpu_s(void); /* of this process */

#endif
