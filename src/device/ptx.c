/* SPDX-License-Identifier: Apache-2.0 */
/* device/ptx.c: the files of device/ptx/ are put into the object as they are by the assembler. */
#include "device/ptx.h"

/* BANYAN_PTX_FOLDER is the build's. */
#define EMBED(type)                                                                                          \
    __asm__(".section .rodata\n"                                                                             \
            ".balign 16\n"                                                                                   \
            "banyan_ptx_" #type ":\n"                                                                        \
            ".incbin \"" BANYAN_PTX_FOLDER "/" #type ".ptx\"\n"                                              \
            ".byte 0\n"                                                                                      \
            ".previous\n");                                                                                  \
    extern const char banyan_ptx_##type[] __attribute__((visibility("hidden")));

EMBED(int8)
EMBED(uint8)
EMBED(int32)
EMBED(uint32)
EMBED(int64)
EMBED(uint64)
EMBED(float16)
EMBED(float32)
EMBED(float64)
EMBED(bfloat16)

const char *banyan_device_ptx(banyan_datatype type)
{
    switch (type) {
    case BANYAN_INT8:
        return banyan_ptx_int8;
    case BANYAN_UINT8:
        return banyan_ptx_uint8;
    case BANYAN_INT32:
        return banyan_ptx_int32;
    case BANYAN_UINT32:
        return banyan_ptx_uint32;
    case BANYAN_INT64:
        return banyan_ptx_int64;
    case BANYAN_UINT64:
        return banyan_ptx_uint64;
    case BANYAN_FLOAT16:
        return banyan_ptx_float16;
    case BANYAN_FLOAT32:
        return banyan_ptx_float32;
    case BANYAN_FLOAT64:
        return banyan_ptx_float64;
    case BANYAN_BFLOAT16:
        return banyan_ptx_bfloat16;
    }
    return NULL;
}
