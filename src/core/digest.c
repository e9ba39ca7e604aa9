/* SPDX-License-Identifier: Apache-2.0 */
/* core/digest.c: FNV-1a over bytes. */
#include "core/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_byte(banyan_digest *digest, unsigned byte)
{
    digest->value = (digest->value ^ byte) * 0x100000001b3u;
}

void banyan_digest_init(banyan_digest *digest)
{
    digest->value = 0xcbf29ce484222325u;
}

void banyan_digest_add_integer(banyan_digest *digest, int64_t number)
{
    uint64_t bits = (uint64_t)number;

    for (int i = 0; i < 8; i++)
        add_byte(digest, (unsigned)(bits >> (8 * i)) & 0xff);
}

void banyan_digest_add_double(banyan_digest *digest, double number)
{
    int64_t bits;

    memcpy(&bits, &number, sizeof bits);
    banyan_digest_add_integer(digest, bits);
}

void banyan_digest_add_string(banyan_digest *digest, const char *string)
{
    do
        add_byte(digest, (unsigned char)*string);
    while (*string++);
}

void banyan_digest_format(const banyan_digest *digest, char out[17])
{
    snprintf(out, 17, "%016" PRIx64, digest->value);
}
