/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/listen.h: where ranks may listen, as the settings say. */
#ifndef BANYAN_BOOTSTRAP_LISTEN_H
#define BANYAN_BOOTSTRAP_LISTEN_H

#include "core/settings.h"

/* BANYAN_SOCKET_FAMILY: AF_INET, AF_INET6 or 0. */
int banyan_listen_family(const banyan_settings *settings);

/* BANYAN_PORT_RANGE; 0 and 0: any. */
banyan_status banyan_listen_ports(const banyan_settings *settings, int *low, int *high, banyan_error *err);

#endif
