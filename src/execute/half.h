/* SPDX-License-Identifier: Apache-2.0 */
/* execute/half.h: float16 and bfloat16 to float32 and back, without branches, so that loops over them
 * vectorise.
 *
 *   float16   1 sign, 5 exponent, 10 fraction bits       bfloat16   the upper half of a float32
 *
 * Widening is exact. Narrowing rounds to nearest, ties to even, over the whole range: subnormals keep what
 * they can, what is too large becomes infinite. Every NaN narrows to the one that is listed below. Neither
 * way depends on subnormal float32 numbers for float16, so a program that flushes them to zero sees the
 * same. */
#ifndef BANYAN_EXECUTE_HALF_H
#define BANYAN_EXECUTE_HALF_H

#include <stdint.h>
#include <string.h>

#define BANYAN_FLOAT16_NAN 0x7e00u
#define BANYAN_BFLOAT16_NAN 0x7fc0u

static inline uint32_t banyan_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float banyan_float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* condition ? a : b as arithmetic: compilers turn some conditionals around floats into jumps. */
static inline uint32_t banyan_half_select(int condition, uint32_t a, uint32_t b)
{
    uint32_t mask = 0u - (uint32_t)condition;

    return (a & mask) | (b & ~mask);
}

static inline float banyan_float16_widen(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t magnitude = half & 0x7fffu;
    uint32_t subnormal = banyan_float_bits((float)(int)magnitude * 0x1p-24f);
    uint32_t rebias =
        banyan_half_select(magnitude >= 0x7c00u, 224u << 23, 112u << 23); /* 255 - 31 or 127 - 15 */
    uint32_t normal = (magnitude << 13) + rebias;

    return banyan_float_of_bits(sign | banyan_half_select(magnitude < 0x0400u, subnormal, normal));
}

static inline uint16_t banyan_float16_narrow(float value)
{
    uint32_t bits = banyan_float_bits(value);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    /* Below 2^-14 the steps are 2^-24, which is the last bit of numbers from 0.5 to 1: the addition
     * rounds. */
    uint32_t tiny = banyan_half_select(magnitude < 0x38800000u, magnitude, 0);
    uint32_t subnormal = banyan_float_bits(banyan_float_of_bits(tiny) + 0.5f) - 0x3f000000u;
    uint32_t rebased = magnitude - (112u << 23);
    uint32_t rounded = (rebased + 0x0fffu + ((rebased >> 13) & 1u)) >> 13;
    uint32_t normal = banyan_half_select(rounded < 0x7c00u, rounded, 0x7c00u);
    uint32_t half = sign | banyan_half_select(magnitude < 0x38800000u, subnormal, normal);

    return (uint16_t)banyan_half_select(magnitude > 0x7f800000u, BANYAN_FLOAT16_NAN, half);
}

static inline float banyan_bfloat16_widen(uint16_t half)
{
    return banyan_float_of_bits((uint32_t)half << 16);
}

static inline uint16_t banyan_bfloat16_narrow(float value)
{
    uint32_t bits = banyan_float_bits(value);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;

    return (uint16_t)banyan_half_select((bits & 0x7fffffffu) > 0x7f800000u, BANYAN_BFLOAT16_NAN, rounded);
}

#endif
