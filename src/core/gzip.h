/* SPDX-License-Identifier: Apache-2.0 */
/* core/gzip.h: unpacking files that gzip packed. */
#ifndef BANYAN_CORE_GZIP_H
#define BANYAN_CORE_GZIP_H

#include <stddef.h>

#include "core/status.h"

int banyan_gzip_looks_like(const char *bytes, size_t length);

/* All members of the file, one after the other; at most that many bytes. The caller frees *out. A sentence
 * names the byte of the packed file where it is damaged. */
banyan_status banyan_gzip_unpack(const char *bytes, size_t length, size_t most, char **out,
                                 size_t *out_length, banyan_error *err);

#endif
