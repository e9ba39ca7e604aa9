/* SPDX-License-Identifier: Apache-2.0 */
/* The settings table: which source wins, what wrong values are told, what unknown names are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above first */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/settings.h"
#include "core/show.h"
#include "core/value.h"

typedef struct {
    char folder[64];
    char conf[96], home[96], etc[96];
} files;

static int make_folder(void **state)
{
    files *f = calloc(1, sizeof *f);

    strcpy(f->folder, "/tmp/banyan-settings-XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    snprintf(f->conf, sizeof f->conf, "%s/conf", f->folder);
    snprintf(f->home, sizeof f->home, "%s/home", f->folder);
    snprintf(f->etc, sizeof f->etc, "%s/etc", f->folder);
    *state = f;
    return 0;
}

static int remove_folder(void **state)
{
    files *f = *state;

    unlink(f->conf);
    unlink(f->home);
    unlink(f->etc);
    rmdir(f->folder);
    free(f);
    return 0;
}

static void put(const char *path, const char *text)
{
    assert_int_equal(banyan_file_save(path, text, strlen(text), NULL), BANYAN_SUCCESS);
}

static banyan_settings *load(const banyan_settings_sources *sources)
{
    banyan_settings *settings = NULL;
    banyan_error err = {""};

    if (banyan_settings_load_from(sources, &settings, &err))
        fail_msg("%s", err.text);
    return settings;
}

static void expect_failure(const banyan_settings_sources *sources, const char *sentence)
{
    banyan_settings *settings = (banyan_settings *)sources;
    banyan_error err = {""};

    assert_int_equal(banyan_settings_load_from(sources, &settings, &err), BANYAN_INVALID_ARGUMENT);
    assert_null(settings);
    assert_string_equal(err.text, sentence);
}

static void without_any_source_all_values_are_the_defaults(void **state)
{
    banyan_settings *settings = load(&(banyan_settings_sources){0});

    (void)state;
    for (banyan_setting i = 0; i < BANYAN_SETTING_COUNT; i++) {
        assert_true(banyan_settings_is_default(settings, i));
        assert_string_equal(banyan_settings_origin(settings, i), "default");
        assert_string_equal(banyan_settings_string(settings, i), banyan_setting_at(i)->fallback);
        assert_int_equal(banyan_setting_find(banyan_setting_at(i)->name), i);
    }
    assert_int_equal(banyan_settings_integer(settings, BANYAN_SETTING_TIMEOUT_MS), 30000);
    assert_int_equal(banyan_settings_integer(settings, BANYAN_SETTING_SLICE_BYTES), 128 << 10);
    assert_int_equal(banyan_setting_find("BANYAN_NONE"), -1);
    banyan_settings_destroy(settings);
}

static void the_strongest_source_wins(void **state)
{
    files *f = *state;
    char conf_variable[128];
    const char *environment[] = {"PATH=/bin", "BANYAN_ALGO=ring", conf_variable, "NOTHING", NULL};
    banyan_settings_sources sources = {environment, NULL, f->home, f->etc};
    banyan_settings *settings;
    char line[128];

    snprintf(conf_variable, sizeof conf_variable, "BANYAN_CONF_FILE=%s", f->conf);
    put(f->conf, "# ours\n\n  BANYAN_ALGO = tree\nBANYAN_TIMEOUT_MS = 2s\r\n");
    put(f->home, "BANYAN_TIMEOUT_MS=7\nBANYAN_TOPO=\" ring:4 \"\n");
    put(f->etc, "BANYAN_TOPO=ring:5\nBANYAN_COLOR=Never");
    settings = load(&sources);
    assert_string_equal(banyan_settings_string(settings, BANYAN_SETTING_ALGO), "ring");
    assert_string_equal(banyan_settings_origin(settings, BANYAN_SETTING_ALGO), "environment");
    assert_int_equal(banyan_settings_integer(settings, BANYAN_SETTING_TIMEOUT_MS), 2000);
    assert_true(banyan_settings_seconds(settings, BANYAN_SETTING_TIMEOUT_MS) == 2.0);
    snprintf(line, sizeof line, "%s:4", f->conf);
    assert_string_equal(banyan_settings_origin(settings, BANYAN_SETTING_TIMEOUT_MS), line);
    assert_string_equal(banyan_settings_string(settings, BANYAN_SETTING_TOPO), " ring:4 ");
    assert_int_equal(banyan_settings_integer(settings, BANYAN_SETTING_COLOR), 2);
    assert_int_equal(banyan_settings_set(settings, BANYAN_SETTING_ALGO, "direct", NULL), BANYAN_SUCCESS);
    assert_string_equal(banyan_settings_string(settings, BANYAN_SETTING_ALGO), "direct");
    assert_string_equal(banyan_settings_origin(settings, BANYAN_SETTING_ALGO), "program");
    banyan_settings_destroy(settings);
}

static void the_programs_settings_file_wins_over_the_environments(void **state)
{
    files *f = *state;
    const char *environment[] = {"BANYAN_CONF_FILE=/nowhere/at/all", NULL};
    banyan_settings_sources sources = {environment, f->conf, NULL, NULL};
    banyan_settings *settings;

    put(f->conf, "BANYAN_ALGO=tree\n");
    settings = load(&sources);
    assert_string_equal(banyan_settings_string(settings, BANYAN_SETTING_ALGO), "tree");
    banyan_settings_destroy(settings);
}

static void the_real_environment_is_read(void **state)
{
    files *f = *state;
    char home[128];
    banyan_settings *settings = NULL;

    snprintf(home, sizeof home, "%s/.banyan.conf", f->folder);
    put(home, "BANYAN_TOPO=ring:6\n");
    setenv("HOME", f->folder, 1);
    setenv("BANYAN_ALGO", "ring", 1);
    assert_int_equal(banyan_settings_load(&settings, NULL), BANYAN_SUCCESS);
    assert_string_equal(banyan_settings_string(settings, BANYAN_SETTING_ALGO), "ring");
    assert_string_equal(banyan_settings_string(settings, BANYAN_SETTING_TOPO), "ring:6");
    banyan_settings_destroy(settings);
    unsetenv("BANYAN_ALGO");
    unlink(home);
}

static void a_wrong_value_is_told_with_its_name_and_place(void **state)
{
    static const char *const cases[][2] = {
        {"BANYAN_TIMEOUT_MS=soon",
         "environment: BANYAN_TIMEOUT_MS: \"soon\" is not a time (such as 500ms, 30s, 2min)"},
        {"BANYAN_TIMEOUT_MS=0", "environment: BANYAN_TIMEOUT_MS: \"0\" is not from 1 to 86400000"},
        {"BANYAN_SLICE_BYTES=64QiB",
         "environment: BANYAN_SLICE_BYTES: \"64QiB\" is not a size in bytes (such as "
         "4096, 128KiB, 64M, 1GiB)"},
        {"BANYAN_SLICE_BYTES=2GiB", "environment: BANYAN_SLICE_BYTES: \"2GiB\" is not from 64 to 1073741824"},
        {"BANYAN_DEBUG=LOUD", "environment: BANYAN_DEBUG: \"LOUD\" is none of NONE|VERSION|WARN|INFO|TRACE"},
        {"BANYAN_CONF_FILE=/nowhere/at/all", "BANYAN_CONF_FILE: /nowhere/at/all: No such file or directory"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *environment[] = {cases[i][0], NULL};

        expect_failure(&(banyan_settings_sources){.environment = environment}, cases[i][1]);
    }
}

static void a_wrong_line_of_a_file_is_told_with_its_number(void **state)
{
    static const char *const cases[][2] = {
        {"\n# fine\nnonsense\n", "3: expected NAME=VALUE, found \"nonsense\""},
        {"PATH=/bin\n", "1: \"PATH\" does not begin with BANYAN_"},
        {"BANYAN_CONF_FILE=x\n", "1: a file cannot set BANYAN_CONF_FILE"},
        {"\nBANYAN_COLOR=red\n", "2: BANYAN_COLOR: \"red\" is none of auto|always|never"},
    };
    files *f = *state;
    char sentence[256];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(f->home, cases[i][0]);
        snprintf(sentence, sizeof sentence, "%s:%s", f->home, cases[i][1]);
        expect_failure(&(banyan_settings_sources){.home_file = f->home}, sentence);
    }
    assert_int_equal(banyan_file_save(f->home, "a\0b", 3, NULL), BANYAN_SUCCESS);
    snprintf(sentence, sizeof sentence, "%s: holds a NUL byte, so it is not text", f->home);
    expect_failure(&(banyan_settings_sources){.home_file = f->home}, sentence);
}

static void an_empty_number_or_choice_is_not_set(void **state)
{
    const char *environment[] = {"BANYAN_DEBUG=", "BANYAN_TIMEOUT_MS=", "BANYAN_ALGO=", NULL};
    banyan_settings *settings = load(&(banyan_settings_sources){.environment = environment});

    (void)state;
    assert_true(banyan_settings_is_default(settings, BANYAN_SETTING_DEBUG));
    assert_true(banyan_settings_is_default(settings, BANYAN_SETTING_TIMEOUT_MS));
    assert_string_equal(banyan_settings_string(settings, BANYAN_SETTING_ALGO), "");
    banyan_settings_destroy(settings);
}

static void an_unknown_name_is_told_with_the_one_that_was_meant(void **state)
{
    files *f = *state;
    const char *environment[] = {"BANYAN_TIMEOUT=5", "BANYAN_ZZZZZZZZ=5", "BANYANS=2", NULL};
    banyan_settings_sources sources = {.environment = environment, .home_file = f->home};
    banyan_settings *settings;
    char sentence[256];

    put(f->home, "BANYAN_COLOUR=always\n");
    settings = load(&sources);
    assert_int_equal(banyan_settings_warning_count(settings), 3);
    assert_string_equal(banyan_settings_warning(settings, 0),
                        "environment: BANYAN_TIMEOUT is not a setting (maybe BANYAN_TIMEOUT_MS?)");
    assert_string_equal(banyan_settings_warning(settings, 1),
                        "environment: BANYAN_ZZZZZZZZ is not a setting");
    snprintf(sentence, sizeof sentence, "%s:1: BANYAN_COLOUR is not a setting (maybe BANYAN_COLOR?)",
             f->home);
    assert_string_equal(banyan_settings_warning(settings, 2), sentence);
    banyan_settings_destroy(settings);
}

static void the_program_cannot_set_nonsense_or_name_a_file_too_late(void **state)
{
    banyan_settings *settings = load(&(banyan_settings_sources){0});
    banyan_error err;

    (void)state;
    assert_int_equal(banyan_settings_set(settings, BANYAN_SETTING_COLOR, "red", &err),
                     BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "program: BANYAN_COLOR: \"red\" is none of auto|always|never");
    assert_string_equal(banyan_settings_string(settings, BANYAN_SETTING_COLOR), "auto");
    assert_int_equal(banyan_settings_set(settings, BANYAN_SETTING_CONF_FILE, "x", &err),
                     BANYAN_INVALID_USAGE);
    assert_string_equal(err.text, "BANYAN_CONF_FILE: files have been read already");
    banyan_settings_destroy(settings);
}

static void the_listing_can_be_read_back_as_a_file(void **state)
{
    files *f = *state;
    const char *environment[] = {"BANYAN_TOPO= ring:3", "BANYAN_TIMEOUT_MS=5s", "BANYAN_ALGO=\"q\"", NULL};
    banyan_settings *settings = load(&(banyan_settings_sources){.environment = environment}), *again;
    char *text = NULL;

    assert_int_equal(banyan_settings_format(settings, &text, NULL), BANYAN_SUCCESS);
    assert_non_null(strstr(text, "# time limit of each call\n# type: milliseconds 1..86400000; default: "
                                 "30000; from: environment\nBANYAN_TIMEOUT_MS=5s\n"));
    assert_non_null(strstr(text, "; from: default\n#BANYAN_COLOR=auto\n"));
    put(f->home, text);
    again = load(&(banyan_settings_sources){.home_file = f->home});
    for (banyan_setting i = 0; i < BANYAN_SETTING_COUNT; i++) {
        assert_string_equal(banyan_settings_string(again, i), banyan_settings_string(settings, i));
        assert_int_equal(banyan_settings_is_default(again, i), banyan_settings_is_default(settings, i));
    }
    banyan_free(text);
    banyan_settings_destroy(settings);
    banyan_settings_destroy(again);
}

static void each_failing_allocation_is_survived(void **state)
{
    files *f = *state;
    const char *environment[] = {"BANYAN_TIMEOUT=5", "BANYAN_ALGO=ring", NULL};
    banyan_settings_sources sources = {environment, f->conf, f->home, NULL};
    banyan_settings *settings = NULL;
    long calls = 0;

    put(f->conf, "BANYAN_COLOR=never\n");
    put(f->home, "BANYAN_TOPO=ring:4\nBANYAN_NOTHING=1\n");
    for (; !settings; calls++) {
        banyan_error err = {""};

        banyan_alloc_fail_after(calls);
        if (banyan_settings_load_from(&sources, &settings, &err))
            assert_non_null(strstr(err.text, "out of memory"));
    }
    banyan_alloc_fail_after(-1);
    assert_true(calls > 20);
    banyan_settings_destroy(settings);
}

static void sizes_are_shown_in_the_units_that_keep_them_short(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } sizes[] = {{0, "0 B"},        {999, "999 B"},        {1000, "1000 B"}, {1024, "1 KiB"},
                 {1536, "1.5 KiB"}, {10000, "10 kB"},      {64e6, "64 MB"},  {64 << 20, "64 MiB"},
                 {1.5e9, "1.5 GB"}, {1234567, "1.177 MiB"}};
    char buffer[32];

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_string_equal(banyan_show_bytes(sizes[i].bytes, buffer, sizeof buffer), sizes[i].text);
}

static void typed_values_are_read_with_their_units(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } sizes[] = {{"0", 0},
                 {"4096", 4096},
                 {"1K", 1024},
                 {"1.5 KiB", 1536},
                 {"2m", 2 << 20},
                 {"1GiB", 1 << 30},
                 {"3TB", 3000000000000},
                 {"1e6", 1000000},
                 {"8B", 8},
                 {"9007199254740992", (int64_t)1 << 53}};
    static const char *const wrong_sizes[] = {
        "", "-1", "0x10", "inf", "1 KiB!", "0.3", "9007199254740994", "1e999", "64Mb", "1kb", "1Gbit"};
    int64_t bytes = -7;
    double seconds = -7;
    int yes = -7;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(banyan_value_bytes(sizes[i].text, &bytes, NULL), BANYAN_SUCCESS);
        assert_int_equal(bytes, sizes[i].bytes);
    }
    bytes = -7;
    for (size_t i = 0; i < sizeof wrong_sizes / sizeof *wrong_sizes; i++)
        assert_int_equal(banyan_value_bytes(wrong_sizes[i], &bytes, NULL), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(bytes, -7);
    assert_int_equal(banyan_value_seconds("250us", 1, &seconds, NULL), BANYAN_SUCCESS);
    assert_true(seconds > 249e-6 && seconds < 251e-6);
    assert_int_equal(banyan_value_seconds("3", 60, &seconds, NULL), BANYAN_SUCCESS);
    assert_true(seconds == 180);
    assert_int_equal(banyan_value_seconds("3 weeks", 60, &seconds, NULL), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_value_boolean("ON", &yes, NULL), BANYAN_SUCCESS);
    assert_int_equal(yes, 1);
    assert_int_equal(banyan_value_boolean("no", &yes, NULL), BANYAN_SUCCESS);
    assert_int_equal(yes, 0);
    assert_int_equal(banyan_value_boolean("2", &yes, NULL), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_value_integer("-12", -12, 5, &bytes, NULL), BANYAN_SUCCESS);
    assert_int_equal(bytes, -12);
    assert_int_equal(banyan_value_integer("99999999999999999999", 0, INT64_MAX, &bytes, NULL),
                     BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_value_integer("1 ", 0, 5, &bytes, NULL), BANYAN_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_any_source_all_values_are_the_defaults),
        cmocka_unit_test_setup_teardown(the_strongest_source_wins, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_programs_settings_file_wins_over_the_environments, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(the_real_environment_is_read, make_folder, remove_folder),
        cmocka_unit_test(a_wrong_value_is_told_with_its_name_and_place),
        cmocka_unit_test_setup_teardown(a_wrong_line_of_a_file_is_told_with_its_number, make_folder,
                                        remove_folder),
        cmocka_unit_test(an_empty_number_or_choice_is_not_set),
        cmocka_unit_test_setup_teardown(an_unknown_name_is_told_with_the_one_that_was_meant, make_folder,
                                        remove_folder),
        cmocka_unit_test(the_program_cannot_set_nonsense_or_name_a_file_too_late),
        cmocka_unit_test_setup_teardown(the_listing_can_be_read_back_as_a_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(each_failing_allocation_is_survived, make_folder, remove_folder),
        cmocka_unit_test(sizes_are_shown_in_the_units_that_keep_them_short),
        cmocka_unit_test(typed_values_are_read_with_their_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
