/* SPDX-License-Identifier: Apache-2.0 */
/* execute/kernels_f16c.h: float16 arithmetic with the conversions that x86-64 processors have had since
 * AVX. */
#ifndef BANYAN_EXECUTE_KERNELS_F16C_H
#define BANYAN_EXECUTE_KERNELS_F16C_H

#if defined(__x86_64__)
#include <stddef.h>

int banyan_kernels_f16c_work(void);

void banyan_kernel_f16c_sum(void *into, const void *a, const void *b, size_t count);
void banyan_kernel_f16c_prod(void *into, const void *a, const void *b, size_t count);
#endif

#endif
