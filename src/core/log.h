/* SPDX-License-Identifier: Apache-2.0 */
/* core/log.h: what the library is doing, for those who ask with BANYAN_DEBUG.
 *
 *   [2026-01-31 12:00:00] host:pid:tid [rank] file.c:12 BANYAN WARN message
 *   host:pid:tid [rank] BANYAN INFO message
 *
 * A log is a value that its user carries along; there is no global one. Every function takes NULL for 'no
 * log'. Any thread may write: a line leaves in one piece. Messages are cut at some 2,000 bytes. */
#ifndef BANYAN_CORE_LOG_H
#define BANYAN_CORE_LOG_H

#include "core/settings.h"
#include "core/status.h"

/* In the order of BANYAN_DEBUG's choices. */
typedef enum {
    BANYAN_LOG_NONE,
    BANYAN_LOG_VERSION, /* one line, when the log begins */
    BANYAN_LOG_WARN,    /* whatever the subsystem */
    BANYAN_LOG_INFO,
    BANYAN_LOG_TRACE
} banyan_log_level;

/* X(NAME): what a line is about. */
#define BANYAN_LOG_SUBSYSTEM_MAP(X)                                                                          \
    X(INIT) X(BOOTSTRAP) X(ENV) X(GRAPH) X(PLAN) X(TUNING) X(COLL) X(NET) X(SHM) X(RAS)

typedef enum {
#define BANYAN_LOG_ENTRY(name) BANYAN_LOG_##name,
    BANYAN_LOG_SUBSYSTEM_MAP(BANYAN_LOG_ENTRY)
#undef BANYAN_LOG_ENTRY
        BANYAN_LOG_SUBSYSTEM_COUNT
} banyan_log_subsystem;

typedef struct banyan_log banyan_log;

/* Opens what BANYAN_DEBUG, BANYAN_DEBUG_SUBSYS and BANYAN_DEBUG_FILE say, writes the version, the settings
 * that are not at their default, and a warning for each unknown one. rank is what stands in brackets. */
banyan_status banyan_log_create(const banyan_settings *settings, int rank, banyan_log **out,
                                banyan_error *err);
void banyan_log_destroy(banyan_log *log); /* accepts NULL */

int banyan_log_is_on(const banyan_log *log, banyan_log_level level, banyan_log_subsystem subsystem);

/* Asks is_on itself. file may be a whole path; its last part is shown. */
void banyan_log_write(banyan_log *log, banyan_log_level level, banyan_log_subsystem subsystem,
                      const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#define BANYAN_WARN(log, ...)                                                                                \
    banyan_log_write(log, BANYAN_LOG_WARN, BANYAN_LOG_INIT, __FILE__, __LINE__, __VA_ARGS__)
#define BANYAN_INFO(log, subsystem, ...)                                                                     \
    banyan_log_write(log, BANYAN_LOG_INFO, BANYAN_LOG_##subsystem, __FILE__, __LINE__, __VA_ARGS__)
#define BANYAN_TRACE(log, subsystem, ...)                                                                    \
    banyan_log_write(log, BANYAN_LOG_TRACE, BANYAN_LOG_##subsystem, __FILE__, __LINE__, __VA_ARGS__)

#endif
