/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/live.h: what was measured between processes, as the programs in bench/ wrote it down. */
#ifndef BANYAN_REPRODUCE_LIVE_H
#define BANYAN_REPRODUCE_LIVE_H

#include "core/json.h"
#include "core/status.h"

enum { LIVE_ABOUT = 256 };

/* data/reproduce/NAME, and in about by which program, when and where it was made. A missing file is no error:
 * then *out is NULL. */
banyan_status live_load(const char *name, banyan_json **out, char about[LIVE_ABOUT], banyan_error *err);

#endif
