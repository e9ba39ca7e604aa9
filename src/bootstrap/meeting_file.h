/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/meeting_file.h: what rank 0 tells the others, through a file that all of them can open. */
#ifndef BANYAN_BOOTSTRAP_MEETING_FILE_H
#define BANYAN_BOOTSTRAP_MEETING_FILE_H

#include <stddef.h>

#include "core/status.h"

/* Everybody of the job calls it; rank 0's text of exactly bytes - 1 characters becomes everybody's. The file
 * must not be there before: rank 0 makes it, readable by this user alone. */
banyan_status banyan_meeting_file_share(const char *path, int rank, char *text, size_t bytes, int timeout_ms,
                                        banyan_error *err);

/* Rank 0, when all have met or the meeting has failed. */
void banyan_meeting_file_remove(const char *path);

#endif
