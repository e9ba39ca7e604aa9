/* SPDX-License-Identifier: Apache-2.0 */
/* transport/several.h: an endpoint made of two: peers that the near one reaches are reached through it, all
 * others through the far one. */
#ifndef BANYAN_TRANSPORT_SEVERAL_H
#define BANYAN_TRANSPORT_SEVERAL_H

#include "transport/transport.h"

/* Takes both over on success; they are of the same member and group, and have a sleep_fd. A failure that the
 * near one finds is told through the far one's abort. */
banyan_status banyan_several_create(banyan_endpoint *near_one, banyan_endpoint *far_one,
                                    banyan_endpoint **out, banyan_error *err);

#endif
