/* SPDX-License-Identifier: Apache-2.0 */
/* core/relax.h: what a processor is told by a loop that only waits. */
#ifndef BANYAN_CORE_RELAX_H
#define BANYAN_CORE_RELAX_H

static inline void banyan_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
