/* SPDX-License-Identifier: Apache-2.0 */
/* core/auth.c: thin words around libsodium. sodium_init may be called again and again, from any thread. */
#include "core/auth.h"

#include <sodium.h>
#include <string.h>

banyan_status banyan_auth_random(void *bytes, size_t count, banyan_error *err)
{
    if (sodium_init() < 0)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "the system has no source of random numbers");
    randombytes_buf(bytes, count);
    return BANYAN_SUCCESS;
}

void banyan_auth_secret_from_text(const char *text, banyan_secret *out)
{
    crypto_generichash(out->bytes, sizeof out->bytes, (const unsigned char *)text, strlen(text), NULL, 0);
}

void banyan_auth_secret_derive(const banyan_secret *from, const char *purpose, uint64_t number,
                               banyan_secret *out)
{
    crypto_auth_hmacsha256_state state;
    unsigned char digits[8];

    for (int i = 0; i < 8; i++)
        digits[i] = (unsigned char)(number >> (8 * i));
    crypto_auth_hmacsha256_init(&state, from->bytes, sizeof from->bytes);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)purpose, strlen(purpose) + 1);
    crypto_auth_hmacsha256_update(&state, digits, sizeof digits);
    crypto_auth_hmacsha256_final(&state, out->bytes);
    sodium_memzero(&state, sizeof state);
}

void banyan_auth_prove(const banyan_secret *secret, const char *role, const unsigned char *first_nonce,
                       const unsigned char *second_nonce, unsigned char proof[BANYAN_AUTH_BYTES])
{
    crypto_auth_hmacsha256_state state;

    crypto_auth_hmacsha256_init(&state, secret->bytes, sizeof secret->bytes);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)role, strlen(role) + 1);
    crypto_auth_hmacsha256_update(&state, first_nonce, BANYAN_AUTH_BYTES);
    crypto_auth_hmacsha256_update(&state, second_nonce, BANYAN_AUTH_BYTES);
    crypto_auth_hmacsha256_final(&state, proof);
    sodium_memzero(&state, sizeof state);
}

int banyan_auth_is_equal(const void *a, const void *b, size_t bytes)
{
    return sodium_memcmp(a, b, bytes) == 0;
}

void banyan_auth_forget(void *bytes, size_t count)
{
    sodium_memzero(bytes, count);
}
