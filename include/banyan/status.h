/* SPDX-License-Identifier: Apache-2.0 */
/* status.h: how calls say that they failed, and what callers free. banyan.h and plan.h include it. */
#ifndef BANYAN_STATUS_H
#define BANYAN_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

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
    X(VERSION_MISMATCH, 13, "versions differ")                                                               \
    X(TOO_FEW_RANKS, 14, "too few ranks are left to go on")

typedef enum {
#define BANYAN_STATUS_ENTRY(name, number, text) BANYAN_##name = number,
    BANYAN_STATUS_MAP(BANYAN_STATUS_ENTRY)
#undef BANYAN_STATUS_ENTRY
} banyan_status;

/* The text of a code; static, never NULL, "unknown" for numbers outside the list. */
BANYAN_API const char *banyan_status_string(banyan_status status);

/* One sentence, cut to fit. */
typedef struct {
    char text[512];
} banyan_error;

BANYAN_API void banyan_free(void *memory); /* accepts NULL */

#ifdef __cplusplus
}
#endif

#endif
