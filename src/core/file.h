/* SPDX-License-Identifier: Apache-2.0 */
/* core/file.h: whole files in and out, with errors that name the file. */
#ifndef BANYAN_CORE_FILE_H
#define BANYAN_CORE_FILE_H

#include <stddef.h>

#include "core/status.h"

/* Reads all of the file ('-' is standard input); *out is NUL-terminated and the caller's to free.
 * Refuses folders and anything above 1 GiB. length may be NULL. */
banyan_status banyan_file_load(const char *path, char **out, size_t *length, banyan_error *err);

/* Writes via a temporary file and a rename, so that a reader never sees half a file ('-': standard
 * output). */
banyan_status banyan_file_save(const char *path, const char *bytes, size_t length, banyan_error *err);

int banyan_file_exists(const char *path);

#endif
