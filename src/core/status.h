/* SPDX-License-Identifier: Apache-2.0 */
/* core/status.h: how a function says that it failed, and the one sentence that says why.
 * The first function that knows what a user must know (which line, link or rank) writes the sentence. */
#ifndef BANYAN_CORE_STATUS_H
#define BANYAN_CORE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include <banyan/status.h>

/* Writes the sentence, where err is given, and returns status, so that a failing line is one return. */
banyan_status banyan_fail(banyan_error *err, banyan_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts 'PREFIX: ' before the sentence that is there: a caller adds the file's name. */
void banyan_error_prefix(banyan_error *err, const char *prefix);

/* What every failed allocation says. */
banyan_status banyan_fail_memory(banyan_error *err);

/* What every call of the public headers says of a NULL that it cannot work with. */
banyan_status banyan_fail_null(const char *argument, banyan_error *err);

#endif
