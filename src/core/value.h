/* SPDX-License-Identifier: Apache-2.0 */
/* core/value.h: typed values as people write them: '64MiB', '30s', 'on'.
 * Each sets *out only on success; a failure quotes the text and says what would have been right. */
#ifndef BANYAN_CORE_VALUE_H
#define BANYAN_CORE_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

/* A decimal integer from low to high. */
banyan_status banyan_value_integer(const char *text, int64_t low, int64_t high, int64_t *out,
                                   banyan_error *err);

/* A whole number of bytes: a number and B, K, KiB, M, MiB, G, GiB, T, TiB (powers of 1024) or KB, MB, GB, TB
 * (powers of 1000). At most 2^53. */
banyan_status banyan_value_bytes(const char *text, int64_t *out, banyan_error *err);

/* A time: a number and ns, us, ms, s, min or h; without a unit it counts in plain_unit_s. */
banyan_status banyan_value_seconds(const char *text, double plain_unit_s, double *out, banyan_error *err);

/* 1 yes true on y, 0 no false off n. */
banyan_status banyan_value_boolean(const char *text, int *out, banyan_error *err);

/* The index in 'A|B|C', case ignored. */
banyan_status banyan_value_choice(const char *text, const char *choices, int *out, banyan_error *err);

/* Copies the i-th of 'A|B|C' into the buffer; 0 where there is none. */
int banyan_value_nth_choice(const char *choices, int i, char *buffer, size_t size);

#endif
