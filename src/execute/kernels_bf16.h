/* SPDX-License-Identifier: Apache-2.0 */
/* execute/kernels_bf16.h: bfloat16 arithmetic on x86-64, where compilers spend most of the time on
 * shuffles. */
#ifndef BANYAN_EXECUTE_KERNELS_BF16_H
#define BANYAN_EXECUTE_KERNELS_BF16_H

#if defined(__x86_64__)
#include <stddef.h>

void banyan_kernel_bf16_avx2_sum(void *into, const void *a, const void *b, size_t count);
void banyan_kernel_bf16_avx2_prod(void *into, const void *a, const void *b, size_t count);
void banyan_kernel_bf16_avx512_sum(void *into, const void *a, const void *b, size_t count);
void banyan_kernel_bf16_avx512_prod(void *into, const void *a, const void *b, size_t count);
#endif

#endif
