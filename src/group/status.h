/* SPDX-License-Identifier: Apache-2.0 */
/* group/status.h: where people can ask a rank how it is: a Unix socket in a folder that only its user can
 * enter.
 *
 *     /tmp/banyan-1000/            mode 0700
 *         4f1c0a9be2d7-3-12345     mode 0600: group, rank, process
 *
 * Who connects gets one JSON object and the end of the stream. The thread that watches over the group
 * answers, so it works while calls hang. A socket goes with its communicator; those of processes that died
 * are removed by the next who looks. */
#ifndef BANYAN_GROUP_STATUS_H
#define BANYAN_GROUP_STATUS_H

#include <stddef.h>

#include "core/auth.h"
#include "core/status.h"

#define BANYAN_STATUS_FOLDER_TEXT 80
#define BANYAN_STATUS_GROUP_TEXT 17

typedef struct {
    int fd; /* -1: closed */
    char path[108];
    char group[BANYAN_STATUS_GROUP_TEXT];
} banyan_status_socket;

/* The user's folder; the setting's value where that is not empty. 'off', and what is too long for a socket's
 * address, give an empty text. */
void banyan_status_folder(const char *setting, char out[BANYAN_STATUS_FOLDER_TEXT]);

/* Opens the socket and sweeps the folder. Nobody needs it to work: a failure is for the log. */
banyan_status banyan_status_open(banyan_status_socket *out, const char *folder, const banyan_secret *secret,
                                 int rank, banyan_error *err);
void banyan_status_close(banyan_status_socket *status); /* and removes the socket */

/* Removes sockets of processes that are gone; returns how many. */
int banyan_status_sweep(const char *folder);

/* Connects to a socket there: a descriptor, or -1; *is_stale says that nobody listens any more. */
int banyan_status_connect(const char *path, int *is_stale);

#endif
