/* SPDX-License-Identifier: Apache-2.0 */
/* bound/stated.h: whether a bound's file says what its certificates prove on the current network, and nothing
 * else. */
#ifndef BANYAN_BOUND_STATED_H
#define BANYAN_BOUND_STATED_H

#include "core/json.h"

/* derived: the text that was made anew from certificates and network. PLAN_INVALID with a sentence that names
 * the first field that is not the same. Numbers of objects may differ by BANYAN_SAME, everything
 * else not at all. */
banyan_status banyan_stated_compare(const banyan_json *stated, const char *derived, banyan_error *err);

#endif
