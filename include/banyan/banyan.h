/* SPDX-License-Identifier: Apache-2.0 */
/* banyan.h: all-reduce for networks as they really are.
 *
 * Handles are opaque, functions return a banyan_status, and where a call can explain itself it does so in
 * one sentence: banyan_last_error(). Argument order, datatype, op and status numbers up to 8 are NCCL's, so
 * that wrappers map one to one. */
#ifndef BANYAN_H
#define BANYAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BANYAN_VERSION_MAJOR 0
#define BANYAN_VERSION_MINOR 1
#define BANYAN_VERSION_PATCH 0
#define BANYAN_VERSION_CODE (BANYAN_VERSION_MAJOR * 10000 + BANYAN_VERSION_MINOR * 100 + BANYAN_VERSION_PATCH)

#if defined(__GNUC__)
#define BANYAN_API __attribute__((visibility("default")))
#else
#define BANYAN_API
#endif

/* X(NAME, number, text). Numbers are part of the binary interface: append only. */
#define BANYAN_STATUS_MAP(X)                                                                                 \
    X(SUCCESS, 0, "success")                                                                                 \
    X(UNHANDLED_CUDA_ERROR, 1, "a CUDA call failed")                                                         \
    X(SYSTEM_ERROR, 2, "a system call failed or memory ran out")                                             \
    X(INTERNAL_ERROR, 3, "an internal check failed")                                                         \
    X(INVALID_ARGUMENT, 4, "an argument or input is invalid")                                                \
    X(INVALID_USAGE, 5, "the call is not allowed here")                                                      \
    X(REMOTE_ERROR, 6, "a remote rank failed")                                                               \
    X(IN_PROGRESS, 7, "the operation has not finished")                                                      \
    X(TIMEOUT, 8, "the operation ran past its time-out")                                                     \
    X(PEER_LOST, 9, "the connection to a rank was lost")                                                     \
    X(MISMATCH, 10, "ranks disagree")                                                                        \
    X(PLAN_INVALID, 11, "the schedule is not a correct collective")                                          \
    X(UNSUPPORTED, 12, "not supported in this build, on this topology or for this type")                     \
    X(VERSION_MISMATCH, 13, "versions differ")

typedef enum {
#define BANYAN_STATUS_ENTRY(name, number, text) BANYAN_##name = number,
    BANYAN_STATUS_MAP(BANYAN_STATUS_ENTRY)
#undef BANYAN_STATUS_ENTRY
} banyan_status;

/* X(NAME, number, name, bytes). */
#define BANYAN_DATATYPE_MAP(X)                                                                               \
    X(INT8, 0, "int8", 1)                                                                                    \
    X(UINT8, 1, "uint8", 1)                                                                                  \
    X(INT32, 2, "int32", 4)                                                                                  \
    X(UINT32, 3, "uint32", 4)                                                                                \
    X(INT64, 4, "int64", 8)                                                                                  \
    X(UINT64, 5, "uint64", 8)                                                                                \
    X(FLOAT16, 6, "float16", 2)                                                                              \
    X(FLOAT32, 7, "float32", 4)                                                                              \
    X(FLOAT64, 8, "float64", 8)                                                                              \
    X(BFLOAT16, 9, "bfloat16", 2)

typedef enum {
#define BANYAN_DATATYPE_ENTRY(name, number, text, bytes) BANYAN_##name = number,
    BANYAN_DATATYPE_MAP(BANYAN_DATATYPE_ENTRY)
#undef BANYAN_DATATYPE_ENTRY
} banyan_datatype;

/* X(NAME, number, name). AVG is the sum divided by the number of active ranks. */
#define BANYAN_OP_MAP(X)                                                                                     \
    X(SUM, 0, "sum")                                                                                         \
    X(PROD, 1, "prod")                                                                                       \
    X(MAX, 2, "max")                                                                                         \
    X(MIN, 3, "min")                                                                                         \
    X(AVG, 4, "avg")

typedef enum {
#define BANYAN_OP_ENTRY(name, number, text) BANYAN_##name = number,
    BANYAN_OP_MAP(BANYAN_OP_ENTRY)
#undef BANYAN_OP_ENTRY
} banyan_op;

/* Texts of codes; static, never NULL, "unknown" for numbers outside the lists. */
BANYAN_API const char *banyan_status_string(banyan_status status);
BANYAN_API const char *banyan_datatype_string(banyan_datatype type);
BANYAN_API const char *banyan_op_string(banyan_op op);
BANYAN_API size_t banyan_datatype_bytes(banyan_datatype type); /* 0 for numbers outside the list */

/* The version of the library that is loaded, as BANYAN_VERSION_CODE. */
BANYAN_API int banyan_version(void);

#ifdef __cplusplus
}
#endif
#endif
