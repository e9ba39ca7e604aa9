/* SPDX-License-Identifier: Apache-2.0 */
/* The log: the form of its lines, who sees what, and lines that stay whole when threads write at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above first */
#include <cmocka.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/log.h"

static char path[64];

static int make_path(void **state)
{
    int descriptor;

    (void)state;
    strcpy(path, "/tmp/banyan-log-XXXXXX");
    descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static banyan_settings *settings_of(const char *level, const char *subsystems)
{
    char debug[64], subsys[128], file[128];
    const char *environment[] = {debug, file, subsystems ? subsys : NULL, NULL};
    banyan_settings *settings = NULL;

    snprintf(debug, sizeof debug, "BANYAN_DEBUG=%s", level);
    snprintf(subsys, sizeof subsys, "BANYAN_DEBUG_SUBSYS=%s", subsystems ? subsystems : "");
    snprintf(file, sizeof file, "BANYAN_DEBUG_FILE=%s", path);
    assert_int_equal(
        banyan_settings_load_from(&(banyan_settings_sources){.environment = environment}, &settings, NULL),
        BANYAN_SUCCESS);
    return settings;
}

static banyan_log *open_log(const char *level, const char *subsystems)
{
    banyan_settings *settings = settings_of(level, subsystems);
    banyan_log *log = NULL;
    banyan_error err = {""};

    if (banyan_log_create(settings, 3, &log, &err))
        fail_msg("%s", err.text);
    banyan_settings_destroy(settings);
    return log;
}

static char *written(void)
{
    char *text = NULL;

    assert_int_equal(banyan_file_load(path, &text, NULL, NULL), BANYAN_SUCCESS);
    return text;
}

static int matches(const char *text, const char *pattern)
{
    regex_t compiled;
    int found;

    assert_int_equal(regcomp(&compiled, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB), 0);
    found = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

static void lines_have_the_form_that_users_know(void **state)
{
    banyan_log *log = open_log("INFO", "ALL");
    char *text;

    (void)state;
    BANYAN_WARN(log, "rank %d is %s", 7, "late");
    BANYAN_INFO(log, NET, "two\nlines");
    BANYAN_TRACE(log, NET, "too much");
    text = written();
    assert_true(
        matches(text, "^[^ :]+:[0-9]+:[0-9]+ \\[3\\] BANYAN VERSION version [0-9]+\\.[0-9]+\\.[0-9]+$"));
    assert_true(
        matches(text, "^[^ :]+:[0-9]+:[0-9]+ \\[3\\] BANYAN INFO BANYAN_DEBUG=INFO \\(environment\\)$"));
    assert_true(matches(text, "^\\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\\] [^ :]+:[0-9]+:[0-9]+ \\[3\\] "
                              "log\\.c:[0-9]+ BANYAN WARN rank 7 is late$"));
    assert_true(matches(text, "^[^ :]+:[0-9]+:[0-9]+ \\[3\\] BANYAN INFO two lines$"));
    assert_null(strstr(text, "too much"));
    banyan_free(text);
    banyan_log_destroy(log);
}

static void levels_and_subsystems_choose_what_is_seen(void **state)
{
    static const struct {
        const char *level, *subsystems;
        int warn, net, coll, trace;
    } cases[] = {
        {"NONE", NULL, 0, 0, 0, 0},   {"VERSION", NULL, 0, 0, 0, 0}, {"WARN", "ALL", 1, 0, 0, 0},
        {"INFO", "NET", 1, 1, 0, 0},  {"INFO", "^NET", 1, 0, 1, 0},  {"TRACE", "net,coll", 1, 1, 1, 1},
        {"INFO", "^ALL", 1, 0, 0, 0}, {"INFO", "", 1, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_log *log = open_log(cases[i].level, cases[i].subsystems);

        assert_int_equal(banyan_log_is_on(log, BANYAN_LOG_WARN, BANYAN_LOG_NET), cases[i].warn);
        assert_int_equal(banyan_log_is_on(log, BANYAN_LOG_INFO, BANYAN_LOG_NET), cases[i].net);
        assert_int_equal(banyan_log_is_on(log, BANYAN_LOG_INFO, BANYAN_LOG_COLL), cases[i].coll);
        assert_int_equal(banyan_log_is_on(log, BANYAN_LOG_TRACE, BANYAN_LOG_NET), cases[i].trace);
        banyan_log_destroy(log);
    }
    assert_false(banyan_log_is_on(NULL, BANYAN_LOG_WARN, BANYAN_LOG_NET));
    BANYAN_WARN(NULL, "nobody listens");
    banyan_log_destroy(NULL);
}

static void wrong_settings_are_told(void **state)
{
    static const char *const cases[][3] = {
        {"BANYAN_DEBUG_SUBSYS=INIT,CALL", "",
         "BANYAN_DEBUG_SUBSYS: \"CALL\" is not a subsystem (maybe COLL?)"},
        {"BANYAN_DEBUG_SUBSYS=NET,,COLL", "", "BANYAN_DEBUG_SUBSYS: \"\" is not a subsystem"},
        {"BANYAN_DEBUG=INFO", "BANYAN_DEBUG_FILE=/nowhere/%q",
         "BANYAN_DEBUG_FILE: after % only h, p and % are known, not \"q\""},
        {"BANYAN_DEBUG=INFO", "BANYAN_DEBUG_FILE=/nowhere/at%%all",
         "BANYAN_DEBUG_FILE: /nowhere/at%all: No such file or directory"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *environment[] = {cases[i][0], cases[i][1], NULL};
        banyan_settings *settings = NULL;
        banyan_log *log = NULL;
        banyan_error err = {""};

        assert_int_equal(banyan_settings_load_from(&(banyan_settings_sources){.environment = environment},
                                                   &settings, NULL),
                         BANYAN_SUCCESS);
        assert_int_equal(banyan_log_create(settings, 0, &log, &err), BANYAN_INVALID_ARGUMENT);
        assert_null(log);
        assert_string_equal(err.text, cases[i][2]);
        banyan_settings_destroy(settings);
    }
}

static void the_file_name_takes_host_and_process(void **state)
{
    char pattern[128], name[256], host[65] = "", *dot;
    const char *environment[] = {"BANYAN_DEBUG=VERSION", pattern, NULL};
    banyan_settings *settings = NULL;
    banyan_log *log = NULL;

    (void)state;
    snprintf(pattern, sizeof pattern, "BANYAN_DEBUG_FILE=%s.%%h.%%p", path);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    dot = strchr(host, '.');
    if (dot)
        *dot = 0;
    snprintf(name, sizeof name, "%s.%s.%ld", path, host, (long)getpid());
    assert_int_equal(
        banyan_settings_load_from(&(banyan_settings_sources){.environment = environment}, &settings, NULL),
        BANYAN_SUCCESS);
    assert_int_equal(banyan_log_create(settings, 0, &log, NULL), BANYAN_SUCCESS);
    assert_true(banyan_file_exists(name));
    banyan_log_destroy(log);
    banyan_settings_destroy(settings);
    unlink(name);
}

static void unknown_settings_are_warned_about(void **state)
{
    char file[128];
    const char *environment[] = {"BANYAN_DEBUG=WARN", "BANYAN_TIMEOUT=1", file, NULL};
    banyan_settings *settings = NULL;
    banyan_log *log = NULL;
    char *text;

    (void)state;
    snprintf(file, sizeof file, "BANYAN_DEBUG_FILE=%s", path);
    assert_int_equal(
        banyan_settings_load_from(&(banyan_settings_sources){.environment = environment}, &settings, NULL),
        BANYAN_SUCCESS);
    assert_int_equal(banyan_log_create(settings, 0, &log, NULL), BANYAN_SUCCESS);
    text = written();
    assert_true(matches(text, "BANYAN WARN environment: BANYAN_TIMEOUT is not a setting \\(maybe "
                              "BANYAN_TIMEOUT_MS\\?\\)$"));
    banyan_free(text);
    banyan_log_destroy(log);
    banyan_settings_destroy(settings);
}

static void a_message_that_is_too_long_is_cut(void **state)
{
    banyan_log *log = open_log("INFO", "ALL");
    char *message = malloc(10001), *text;

    (void)state;
    memset(message, 'x', 10000);
    message[10000] = 0;
    BANYAN_INFO(log, COLL, "%s", message);
    BANYAN_INFO(log, COLL, "after");
    text = written();
    assert_non_null(strstr(text, "xxx ...\n"));
    assert_true(matches(text, "INFO after$"));
    banyan_free(text);
    free(message);
    banyan_log_destroy(log);
}

enum { writers = 4, lines_each = 200 };

static void *write_lines(void *context)
{
    banyan_log *log = context;

    for (int i = 0; i < lines_each; i++)
        BANYAN_INFO(log, COLL, "a line with a fixed end %d.", i);
    return NULL;
}

static void lines_of_many_threads_stay_whole(void **state)
{
    banyan_log *log = open_log("INFO", "COLL");
    pthread_t threads[writers];
    char *text, *line, *rest;
    int count = 0;

    (void)state;
    for (int i = 0; i < writers; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, log), 0);
    for (int i = 0; i < writers; i++)
        pthread_join(threads[i], NULL);
    text = written();
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strstr(line, "VERSION"))
            continue;
        assert_true(
            matches(line, "^[^ :]+:[0-9]+:[0-9]+ \\[3\\] BANYAN INFO a line with a fixed end [0-9]+\\.$"));
        count++;
    }
    assert_int_equal(count, writers * lines_each);
    banyan_free(text);
    banyan_log_destroy(log);
}

static void each_failing_allocation_is_survived(void **state)
{
    banyan_settings *settings = settings_of("INFO", NULL);
    banyan_log *log = NULL;

    (void)state;
    for (long calls = 0; !log; calls++) {
        banyan_error err = {""};

        banyan_alloc_fail_after(calls);
        if (banyan_log_create(settings, 0, &log, &err))
            assert_string_equal(err.text, "out of memory");
    }
    banyan_alloc_fail_after(-1);
    banyan_log_destroy(log);
    banyan_settings_destroy(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_have_the_form_that_users_know, make_path, remove_path),
        cmocka_unit_test_setup_teardown(levels_and_subsystems_choose_what_is_seen, make_path, remove_path),
        cmocka_unit_test(wrong_settings_are_told),
        cmocka_unit_test_setup_teardown(the_file_name_takes_host_and_process, make_path, remove_path),
        cmocka_unit_test_setup_teardown(unknown_settings_are_warned_about, make_path, remove_path),
        cmocka_unit_test_setup_teardown(a_message_that_is_too_long_is_cut, make_path, remove_path),
        cmocka_unit_test_setup_teardown(lines_of_many_threads_stay_whole, make_path, remove_path),
        cmocka_unit_test_setup_teardown(each_failing_allocation_is_survived, make_path, remove_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
