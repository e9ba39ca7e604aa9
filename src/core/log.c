/* SPDX-License-Identifier: Apache-2.0 */
/* core/log.c: lines are made on the stack and leave with one write under a lock, so that threads and, as
 * files are opened for appending, processes never mix within a line. */
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <banyan/banyan.h>

#include "core/alloc.h"
#include "core/near.h"
#include "core/text.h"

struct banyan_log {
    banyan_log_level level;
    unsigned subsystems; /* a bit each */
    int descriptor;
    int must_close;
    int rank;
    char host[64];
    pthread_mutex_t lock;
};

static const char *const subsystem_names[] = {
#define ENTRY(name) #name,
    BANYAN_LOG_SUBSYSTEM_MAP(ENTRY)
#undef ENTRY
        "ALL"};

static banyan_status fail_subsystem(const char *word, banyan_error *err)
{
    int near = banyan_near_find(word, subsystem_names, BANYAN_LOG_SUBSYSTEM_COUNT + 1);

    if (near >= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "BANYAN_DEBUG_SUBSYS: \"%.40s\" is not a subsystem (maybe %s?)", word,
                           subsystem_names[near]);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "BANYAN_DEBUG_SUBSYS: \"%.40s\" is not a subsystem",
                       word);
}

/* 'INIT,NET', 'ALL', or '^COLL,NET': all but these. */
static banyan_status parse_subsystems(const char *text, unsigned *out, banyan_error *err)
{
    const unsigned all = (1u << BANYAN_LOG_SUBSYSTEM_COUNT) - 1;
    const int negate = text[0] == '^';
    unsigned mask = 0;

    for (const char *at = text + negate; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        char word[41];
        int i = 0;

        snprintf(word, sizeof word, "%.*s", (int)(length < 40 ? length : 40), at);
        while (i <= BANYAN_LOG_SUBSYSTEM_COUNT && strcasecmp(word, subsystem_names[i]) != 0)
            i++;
        if (i > BANYAN_LOG_SUBSYSTEM_COUNT)
            return fail_subsystem(word, err);
        mask |= i == BANYAN_LOG_SUBSYSTEM_COUNT ? all : 1u << i;
        at += length;
    }
    *out = negate ? all & ~mask : mask;
    return BANYAN_SUCCESS;
}

static banyan_status expand_path(const banyan_log *log, const char *pattern, char **out, banyan_error *err)
{
    banyan_text path = BANYAN_TEXT_EMPTY;

    for (; *pattern; pattern++) {
        if (pattern[0] != '%') {
            banyan_text_add_bytes(&path, pattern, 1);
            continue;
        }
        pattern++;
        if (*pattern == 'h')
            banyan_text_add(&path, "%s", log->host);
        else if (*pattern == 'p')
            banyan_text_add(&path, "%ld", (long)getpid());
        else if (*pattern == '%')
            banyan_text_add(&path, "%%");
        else {
            banyan_text_fini(&path);
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "BANYAN_DEBUG_FILE: after %% only h, p and %% are known, not \"%.1s\"",
                               pattern);
        }
    }
    return banyan_text_take(&path, out, err);
}

static banyan_status open_log(banyan_log *log, const char *where, banyan_error *err)
{
    banyan_status status;
    char *path = NULL;

    log->descriptor = STDOUT_FILENO;
    if (!*where || !strcmp(where, "stdout"))
        return BANYAN_SUCCESS;
    log->descriptor = STDERR_FILENO;
    if (!strcmp(where, "stderr"))
        return BANYAN_SUCCESS;
    status = expand_path(log, where, &path, err);
    if (status)
        return status;
    log->descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    log->must_close = log->descriptor >= 0;
    if (log->descriptor < 0)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "BANYAN_DEBUG_FILE: %s: %s", path, strerror(errno));
    banyan_free(path);
    return status;
}

/* A host's name up to its first dot. */
static void name_host(banyan_log *log)
{
    if (gethostname(log->host, sizeof log->host - 1) != 0)
        snprintf(log->host, sizeof log->host, "host");
    log->host[strcspn(log->host, ".")] = 0;
}

static void greet(banyan_log *log, const banyan_settings *settings)
{
    banyan_log_write(log, BANYAN_LOG_VERSION, BANYAN_LOG_INIT, __FILE__, __LINE__, "version %d.%d.%d",
                     BANYAN_VERSION_MAJOR, BANYAN_VERSION_MINOR, BANYAN_VERSION_PATCH);
    for (int i = 0; i < BANYAN_SETTING_COUNT; i++)
        if (!banyan_settings_is_default(settings, (banyan_setting)i))
            BANYAN_INFO(log, ENV, "%s=%s (%s)", banyan_setting_at((banyan_setting)i)->name,
                        banyan_settings_shown(settings, (banyan_setting)i),
                        banyan_settings_origin(settings, (banyan_setting)i));
    for (int i = 0; i < banyan_settings_warning_count(settings); i++)
        BANYAN_WARN(log, "%s", banyan_settings_warning(settings, i));
}

banyan_status banyan_log_create(const banyan_settings *settings, int rank, banyan_log **out,
                                banyan_error *err)
{
    banyan_log *log = banyan_alloc(1, sizeof *log);
    banyan_status status;

    *out = NULL;
    if (!log)
        return banyan_fail_memory(err);
    if (pthread_mutex_init(&log->lock, NULL)) {
        banyan_free(log);
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "the log's lock could not be made");
    }
    log->level = (banyan_log_level)banyan_settings_integer(settings, BANYAN_SETTING_DEBUG);
    log->rank = rank;
    name_host(log);
    status = parse_subsystems(banyan_settings_string(settings, BANYAN_SETTING_DEBUG_SUBSYS), &log->subsystems,
                              err);
    /* A file is made only when something may be written to it. */
    if (!status && log->level != BANYAN_LOG_NONE)
        status = open_log(log, banyan_settings_string(settings, BANYAN_SETTING_DEBUG_FILE), err);
    if (status) {
        banyan_log_destroy(log);
        return status;
    }
    greet(log, settings);
    *out = log;
    return BANYAN_SUCCESS;
}

void banyan_log_destroy(banyan_log *log)
{
    if (!log)
        return;
    if (log->must_close)
        close(log->descriptor);
    pthread_mutex_destroy(&log->lock);
    banyan_free(log);
}

int banyan_log_is_on(const banyan_log *log, banyan_log_level level, banyan_log_subsystem subsystem)
{
    if (!log || level > log->level)
        return 0;
    return level <= BANYAN_LOG_WARN || (log->subsystems >> subsystem & 1u);
}

static size_t write_head(const banyan_log *log, banyan_log_level level, const char *file, int line,
                         char *buffer, size_t size)
{
    static const char *const names[] = {"NONE", "VERSION", "WARN", "INFO", "TRACE"};
    const char *slash = strrchr(file, '/');
    char moment[32] = "", place[96] = "";
    int length;

    if (level == BANYAN_LOG_WARN) {
        time_t now = time(NULL);
        struct tm parts;

        localtime_r(&now, &parts);
        strftime(moment, sizeof moment, "[%Y-%m-%d %H:%M:%S] ", &parts);
        snprintf(place, sizeof place, "%.64s:%d ", slash ? slash + 1 : file, line);
    }
    length = snprintf(buffer, size, "%s%s:%ld:%ld [%d] %sBANYAN %s ", moment, log->host, (long)getpid(),
                      (long)syscall(SYS_gettid), log->rank, place, names[level]);
    return length < 0 ? 0 : (size_t)length;
}

/* A log that cannot be written to must not stop the program, so errors end the line and nothing more. */
static void write_all(int descriptor, const char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(descriptor, bytes, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        bytes += written;
        length -= (size_t)written;
    }
}

void banyan_log_write(banyan_log *log, banyan_log_level level, banyan_log_subsystem subsystem,
                      const char *file, int line, const char *format, ...)
{
    static const char cut[] = " ...";
    char buffer[2304];
    va_list arguments;
    size_t head, length, room;
    int wanted;

    if (!banyan_log_is_on(log, level, subsystem))
        return;
    head = write_head(log, level, file, line, buffer, sizeof buffer);
    room = sizeof buffer - head - sizeof cut;
    va_start(arguments, format);
    wanted = vsnprintf(buffer + head, room, format, arguments);
    va_end(arguments);
    if (wanted < 0)
        return;
    length = head + ((size_t)wanted < room ? (size_t)wanted : room - 1);
    if ((size_t)wanted >= room) {
        memcpy(buffer + length, cut, sizeof cut - 1);
        length += sizeof cut - 1;
    }
    for (size_t i = head; i < length; i++)
        if (buffer[i] == '\n')
            buffer[i] = ' ';
    buffer[length++] = '\n';
    pthread_mutex_lock(&log->lock);
    write_all(log->descriptor, buffer, length);
    pthread_mutex_unlock(&log->lock);
}
