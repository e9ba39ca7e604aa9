/* SPDX-License-Identifier: Apache-2.0 */
/* core/digest.h: a short name for a value (FNV-1a, 64 bit): to compare and to key caches, not to keep
 * secrets. Numbers are added byte by byte from the low end, so that every machine gets the same name. */
#ifndef BANYAN_CORE_DIGEST_H
#define BANYAN_CORE_DIGEST_H

#include <stdint.h>

typedef struct {
    uint64_t value;
} banyan_digest;

void banyan_digest_init(banyan_digest *digest);
void banyan_digest_add_integer(banyan_digest *digest, int64_t number);
void banyan_digest_add_double(banyan_digest *digest, double number);
void banyan_digest_add_string(banyan_digest *digest, const char *string);
void banyan_digest_format(const banyan_digest *digest, char out[17]);

#endif
