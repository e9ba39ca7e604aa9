/* SPDX-License-Identifier: Apache-2.0 */
/* transport/bytes.h: numbers on the wire, low byte first on every machine. */
#ifndef BANYAN_TRANSPORT_BYTES_H
#define BANYAN_TRANSPORT_BYTES_H

#include <stdint.h>

static inline void banyan_put32(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static inline void banyan_put64(unsigned char *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static inline uint32_t banyan_get32(const unsigned char *from)
{
    uint32_t value = 0;

    for (int i = 3; i >= 0; i--)
        value = value << 8 | from[i];
    return value;
}

static inline uint64_t banyan_get64(const unsigned char *from)
{
    return (uint64_t)banyan_get32(from + 4) << 32 | banyan_get32(from);
}

#endif
