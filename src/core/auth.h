/* SPDX-License-Identifier: Apache-2.0 */
/* core/auth.h: proving that one belongs to the job: random bytes, keyed proofs, comparison in constant time.
 * The only place that meets libsodium. */
#ifndef BANYAN_CORE_AUTH_H
#define BANYAN_CORE_AUTH_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

#define BANYAN_AUTH_BYTES 32 /* of a secret, a nonce and a proof */

typedef struct {
    unsigned char bytes[BANYAN_AUTH_BYTES];
} banyan_secret;

/* Fills with bytes that nobody can guess. */
banyan_status banyan_auth_random(void *bytes, size_t count, banyan_error *err);

/* The secret that a text stands for; and one for a purpose of its own, from which nobody gets back. */
void banyan_auth_secret_from_text(const char *text, banyan_secret *out);
void banyan_auth_secret_derive(const banyan_secret *from, const char *purpose, uint64_t number,
                               banyan_secret *out);

/* HMAC-SHA-256 over the role and both nonces: only who has the secret can write it, and each side's
 * differs. */
void banyan_auth_prove(const banyan_secret *secret, const char *role, const unsigned char *first_nonce,
                       const unsigned char *second_nonce, unsigned char proof[BANYAN_AUTH_BYTES]);

/* Takes the same time wherever they differ. */
int banyan_auth_is_equal(const void *a, const void *b, size_t bytes);

/* Overwrites so that no compiler leaves it out. */
void banyan_auth_forget(void *bytes, size_t count);

#endif
