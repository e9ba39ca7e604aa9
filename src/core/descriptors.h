/* SPDX-License-Identifier: Apache-2.0 */
/* core/descriptors.h: how many descriptors this process may open ('ulimit -n'). */
#ifndef BANYAN_CORE_DESCRIPTORS_H
#define BANYAN_CORE_DESCRIPTORS_H

#include "core/status.h"

/* Makes sure that `needed` more can be opened, and if possible `wanted` (at least as many): raises the soft
 * limit towards the hard one where it is too low. SYSTEM_ERROR says what needs them, how many there may be
 * and how to raise that. *spare, where asked for, gets how many may be opened beyond those needed. */
banyan_status banyan_descriptors_reserve(long needed, long wanted, const char *what, long *spare,
                                         banyan_error *err);

#endif
