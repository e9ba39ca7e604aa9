/* SPDX-License-Identifier: Apache-2.0 */
/* plan/flit.h: settings of the flit engine from text. */
#ifndef BANYAN_PLAN_FLIT_H
#define BANYAN_PLAN_FLIT_H

#include "simulate/flit.h"

/* flow: packet or message; list: "clock=1GHz,vcs=4,..."; either may be NULL. */
banyan_status banyan_read_flit_settings(const char *flow, const char *list, int is_lockstep,
                                        banyan_flit_settings *out, banyan_error *err);

#endif
