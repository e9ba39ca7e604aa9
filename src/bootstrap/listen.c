/* SPDX-License-Identifier: Apache-2.0 */
#include "bootstrap/listen.h"

#include <stdio.h>
#include <sys/socket.h>

/* "50000-50100", or nothing. */
banyan_status banyan_listen_ports(const banyan_settings *settings, int *low, int *high, banyan_error *err)
{
    const char *text = banyan_settings_string(settings, BANYAN_SETTING_PORT_RANGE);
    char rest;

    *low = *high = 0;
    if (!*text)
        return BANYAN_SUCCESS;
    if (sscanf(text, "%d-%d%c", low, high, &rest) != 2 || *low < 1 || *high < *low || *high > 65535)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "BANYAN_PORT_RANGE=%.60s is not like 50000-50100",
                           text);
    return BANYAN_SUCCESS;
}

int banyan_listen_family(const banyan_settings *settings)
{
    int64_t choice = banyan_settings_integer(settings, BANYAN_SETTING_SOCKET_FAMILY);

    return choice == 1 ? AF_INET : choice == 2 ? AF_INET6 : 0;
}
