/* SPDX-License-Identifier: Apache-2.0 */
/* The small parts of core: status, alloc, text, file, JSON, XML, near, random, clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above first */
#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <banyan/banyan.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/data.h"
#include "core/file.h"
#include "core/json.h"
#include "core/near.h"
#include "core/random.h"
#include "core/text.h"
#include "core/xml.h"

static void every_code_has_a_text_and_others_are_unknown(void **state)
{
    (void)state;
    assert_string_equal(banyan_status_string(BANYAN_SUCCESS), "success");
    assert_string_equal(banyan_status_string(BANYAN_PEER_LOST), "the connection to a rank was lost");
    assert_string_equal(banyan_datatype_string(BANYAN_BFLOAT16), "bfloat16");
    assert_int_equal(banyan_datatype_bytes(BANYAN_FLOAT64), 8);
    assert_string_equal(banyan_op_string(BANYAN_AVG), "avg");
    assert_int_equal(banyan_version(), BANYAN_VERSION_CODE);
}

static void an_error_is_one_sentence_that_callers_can_put_a_name_before(void **state)
{
    banyan_error err;
    char name[600];

    (void)state;
    assert_int_equal(banyan_fail(&err, BANYAN_TIMEOUT, "rank %d", 3), BANYAN_TIMEOUT);
    banyan_error_prefix(&err, "plan.json");
    assert_string_equal(err.text, "plan.json: rank 3");
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    banyan_error_prefix(&err, name);
    assert_true(strlen(err.text) < sizeof err.text);
    assert_non_null(strstr(err.text, ": plan.json: rank 3"));
    assert_int_equal(banyan_fail(NULL, BANYAN_TIMEOUT, "nobody reads this"), BANYAN_TIMEOUT);
    banyan_error_prefix(NULL, "x");
}

static void memory_is_zeroed_and_absurd_sizes_are_refused(void **state)
{
    char *memory = banyan_alloc(100, 1);
    void *nothing = banyan_alloc(0, 8);

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(memory[i], 0);
    assert_non_null(nothing);
    assert_null(banyan_realloc(NULL, SIZE_MAX / 2, 4));
    banyan_free(memory);
    banyan_free(nothing);
    banyan_free(NULL);
}

static void the_chosen_allocation_fails_and_all_after_it(void **state)
{
    void *a, *b;

    (void)state;
    banyan_alloc_fail_after(1);
    a = banyan_alloc(1, 1);
    b = banyan_malloc(1);
    assert_non_null(a);
    assert_null(b);
    assert_null(banyan_strdup("x"));
    assert_null(banyan_realloc(NULL, 1, 1));
    banyan_alloc_fail_after(-1);
    banyan_free(a);
}

static void an_array_grows_and_keeps_what_it_held(void **state)
{
    void *array = NULL;
    size_t capacity = 0;

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(banyan_grow(&array, i, &capacity, sizeof(size_t)));
        ((size_t *)array)[i] = i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(((size_t *)array)[i], i);
    banyan_alloc_fail_after(0);
    assert_false(banyan_grow(&array, capacity, &capacity, sizeof(size_t)));
    banyan_alloc_fail_after(-1);
    assert_int_equal(((size_t *)array)[999], 999);
    banyan_free(array);
}

static void a_text_grows_past_any_buffer(void **state)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    char *long_word = malloc(5001), *taken = NULL;

    (void)state;
    memset(long_word, 'w', 5000);
    long_word[5000] = 0;
    banyan_text_add(&text, "%d-", 7);
    banyan_text_add(&text, "%s", long_word);
    banyan_text_add_bytes(&text, "\0z", 2);
    assert_int_equal(text.length, 5004);
    assert_int_equal(banyan_text_take(&text, &taken, NULL), BANYAN_SUCCESS);
    assert_memory_equal(taken, "7-www", 5);
    assert_memory_equal(taken + 5002, "\0z", 3);
    assert_null(text.bytes);
    banyan_free(taken);
    assert_int_equal(banyan_text_take(&text, &taken, NULL), BANYAN_SUCCESS);
    assert_string_equal(taken, "");
    banyan_free(taken);
    free(long_word);
}

static void texts_are_made_safe_for_json_and_xml(void **state)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    (void)state;
    banyan_text_add_json_string(&text, "a\"b\\c\n\x01é");
    banyan_text_add_xml(&text, "<a href='b'>&\"");
    assert_string_equal(text.bytes, "\"a\\\"b\\\\c\\u000a\\u0001é\"&lt;a href=&#39;b&#39;&gt;&amp;&quot;");
    banyan_text_fini(&text);
}

static void numbers_read_back_as_the_same_double(void **state)
{
    banyan_random random = {42};
    const double plain[] = {0, 1, -1, 0.1, 1e300, 1.25e9, 1e-6, 3.0000000000000004};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        banyan_text text = BANYAN_TEXT_EMPTY;
        double value = i < 8 ? plain[i] : ldexp(banyan_random_unit(&random) - 0.5, i % 200 - 100);

        banyan_text_add_number(&text, value);
        if (strtod(text.bytes, NULL) != value)
            fail_msg("seed 42, case %d: %s is not %a", i, text.bytes, value);
        banyan_text_fini(&text);
    }
}

static void a_text_remembers_that_memory_ran_out(void **state)
{
    (void)state;
    for (long calls = 0;; calls++) {
        banyan_text text = BANYAN_TEXT_EMPTY;
        char *taken = NULL;
        banyan_error err = {""};
        banyan_status status;

        banyan_alloc_fail_after(calls);
        for (int i = 0; i < 400; i++)
            banyan_text_add(&text, "line %d\n", i);
        status = banyan_text_take(&text, &taken, &err);
        banyan_alloc_fail_after(-1);
        if (!status) {
            assert_true(calls > 2);
            banyan_free(taken);
            return;
        }
        assert_null(taken);
        assert_int_equal(status, BANYAN_SYSTEM_ERROR);
        assert_string_equal(err.text, "out of memory");
    }
}

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/banyan-core-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void a_file_comes_back_byte_by_byte(void **state)
{
    char path[96], *text = NULL;
    size_t length = 0;

    (void)state;
    snprintf(path, sizeof path, "%s/f", folder);
    assert_int_equal(banyan_file_save(path, "a\0b\n", 4, NULL), BANYAN_SUCCESS);
    assert_true(banyan_file_exists(path));
    assert_int_equal(banyan_file_load(path, &text, &length, NULL), BANYAN_SUCCESS);
    assert_int_equal(length, 4);
    assert_memory_equal(text, "a\0b\n", 5);
    banyan_free(text);
    assert_int_equal(banyan_file_save(path, "", 0, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_file_load(path, &text, &length, NULL), BANYAN_SUCCESS);
    assert_int_equal(length, 0);
    assert_string_equal(text, "");
    banyan_free(text);
    unlink(path); /* the folder's removal fails if a temporary file stayed */
}

static void file_errors_name_the_file(void **state)
{
    char *text = (char *)folder;
    banyan_error err;
    char sentence[128];

    (void)state;
    assert_int_equal(banyan_file_load("/nowhere/at/all", &text, NULL, &err), BANYAN_INVALID_ARGUMENT);
    assert_null(text);
    assert_string_equal(err.text, "/nowhere/at/all: No such file or directory");
    assert_int_equal(banyan_file_load(folder, &text, NULL, &err), BANYAN_INVALID_ARGUMENT);
    snprintf(sentence, sizeof sentence, "%s: is a folder, not a file", folder);
    assert_string_equal(err.text, sentence);
    assert_int_equal(banyan_file_save("/nowhere/at/all", "x", 1, &err), BANYAN_SYSTEM_ERROR);
    assert_string_equal(err.text, "/nowhere/at/all: No such file or directory");
    assert_int_equal(banyan_file_save(folder, "x", 1, &err), BANYAN_SYSTEM_ERROR);
    snprintf(sentence, sizeof sentence, "%s: Is a directory", folder);
    assert_string_equal(err.text, sentence);
    assert_int_equal(banyan_file_save("/dev/null", "x", 1, &err), BANYAN_SUCCESS);
    assert_int_equal(banyan_file_save("/dev/full", "x", 1, &err), BANYAN_SYSTEM_ERROR);
    assert_string_equal(err.text, "/dev/full: No space left on device");
}

static void files_survive_each_failing_allocation(void **state)
{
    char path[96], *text = NULL, *big = malloc(200000);

    (void)state;
    memset(big, 'b', 200000);
    snprintf(path, sizeof path, "%s/f", folder);
    banyan_alloc_fail_after(0);
    assert_int_equal(banyan_file_save(path, big, 200000, NULL), BANYAN_SYSTEM_ERROR);
    banyan_alloc_fail_after(-1);
    assert_false(banyan_file_exists(path));
    assert_int_equal(banyan_file_save(path, big, 200000, NULL), BANYAN_SUCCESS);
    for (long calls = 0; !text; calls++) {
        banyan_alloc_fail_after(calls);
        if (banyan_file_load(path, &text, NULL, NULL))
            assert_null(text);
    }
    banyan_alloc_fail_after(-1);
    assert_memory_equal(text, big, 200000);
    banyan_free(text);
    free(big);
    unlink(path);
}

static banyan_status parse_json(const char *text, banyan_json **out, banyan_error *err)
{
    return banyan_json_parse(text, strlen(text), out, err);
}

static void json_values_are_read_by_kind(void **state)
{
    static const char *const known[] = {"s", "n", "i", "r", "b", "z"};
    banyan_json *document = NULL;
    const char *string = NULL;
    int64_t integer = 0;
    double number = 0;
    int boolean = 0;

    (void)state;
    assert_int_equal(
        parse_json("{\"s\":\"x\",\"n\":[1,2.5],\"i\":-3,\"r\":4.0,\"b\":true,\"z\":null,\"other\":{}}",
                   &document, NULL),
        BANYAN_SUCCESS);
    assert_int_equal(banyan_json_kind(document), BANYAN_JSON_OBJECT);
    assert_int_equal(banyan_json_count(document), 7);
    assert_true(banyan_json_get_string(banyan_json_field(document, "s"), &string));
    assert_string_equal(string, "x");
    assert_int_equal(banyan_json_count(banyan_json_field(document, "n")), 2);
    assert_true(banyan_json_get_number(banyan_json_item(banyan_json_field(document, "n"), 1), &number));
    assert_true(number == 2.5);
    assert_false(banyan_json_get_integer(banyan_json_item(banyan_json_field(document, "n"), 1), &integer));
    assert_true(banyan_json_get_integer(banyan_json_field(document, "i"), &integer));
    assert_int_equal(integer, -3);
    assert_true(banyan_json_get_integer(banyan_json_field(document, "r"), &integer));
    assert_int_equal(integer, 4);
    assert_true(banyan_json_get_boolean(banyan_json_field(document, "b"), &boolean));
    assert_int_equal(boolean, 1);
    assert_int_equal(banyan_json_kind(banyan_json_field(document, "z")), BANYAN_JSON_NULL);
    assert_string_equal(banyan_json_kind_name(banyan_json_field(document, "n")), "an array");
    assert_string_equal(banyan_json_kind_name(NULL), "nothing");
    assert_null(banyan_json_field(document, "absent"));
    assert_false(banyan_json_get_string(NULL, &string));
    assert_false(banyan_json_get_number(banyan_json_field(document, "s"), &number));
    assert_int_equal(banyan_json_count(banyan_json_field(document, "s")), 0);
    assert_string_equal(banyan_json_unknown_field(document, known, 6), "other");
    banyan_json_destroy(document);
    banyan_json_destroy(NULL);
}

static void wrong_json_is_told_with_line_and_column(void **state)
{
    static const char *const texts[] = {"",          "{",        "[1,]",        "{\"a\":1,\"a\":2}",
                                        "[NaN]",     "[1e999]",  "\"\\ud800\"", "[1] [2]",
                                        "{\"a\" 1}", "\"\x80\"", "[00]",        "tru"};
    banyan_error err;
    banyan_json *document;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        document = (banyan_json *)(void *)folder;
        assert_int_equal(parse_json(texts[i], &document, &err), BANYAN_INVALID_ARGUMENT);
        assert_null(document);
        assert_int_equal(strncmp(err.text, "line 1, column ", 15), 0);
    }
    assert_int_equal(parse_json("{\n  \"a\": 1,\n  b\n}", &document, &err), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(strncmp(err.text, "line 3, column 3: ", 18), 0);
    assert_int_equal(parse_json("[99999999999999999999]", &document, &err), BANYAN_INVALID_ARGUMENT);
}

static void deep_json_is_refused_before_the_stack_ends(void **state)
{
    enum { depth = 200000 };
    char *text = malloc(depth);
    banyan_json *document = NULL;

    (void)state;
    memset(text, '[', depth);
    assert_int_equal(banyan_json_parse(text, depth, &document, NULL), BANYAN_INVALID_ARGUMENT);
    free(text);
}

static void json_survives_each_failing_allocation(void **state)
{
    const char *text = "{\"a\":[1,2.5,\"xyz\",{\"b\":null}],\"c\":{\"d\":true,\"e\":\"é\"}}";
    banyan_json *document = NULL;
    long calls = 0;

    (void)state;
    json_set_alloc_funcs(banyan_malloc, banyan_free);
    for (; !document; calls++) {
        banyan_error err = {""};

        banyan_alloc_fail_after(calls);
        if (parse_json(text, &document, &err)) {
            banyan_alloc_fail_after(-1);
            assert_null(document);
            assert_string_not_equal(err.text, ""); /* jansson takes some of these for wrong JSON */
        }
    }
    banyan_alloc_fail_after(-1);
    banyan_json_destroy(document);
    json_set_alloc_funcs(malloc, free);
    assert_true(calls > 10);
}

static const char small_xml[] =
    "<?xml version=\"1.0\"?>\n<a x=\"1\" y=\"&lt;2\">\n  <b n=\"-5\"/>text<!-- c -->\n"
    "  <c><d/></c>\n</a>\n";

static void xml_becomes_a_flat_list_in_document_order(void **state)
{
    static const struct {
        const char *name;
        int line, parent, next;
    } expected[] = {{"a", 2, -1, 4}, {"b", 3, 0, 2}, {"c", 4, 0, 4}, {"d", 4, 2, 4}};
    banyan_xml *document = NULL;
    int number = 0;

    (void)state;
    assert_int_equal(banyan_xml_parse(small_xml, strlen(small_xml), &document, NULL), BANYAN_SUCCESS);
    assert_int_equal(document->element_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(document->elements[i].name, expected[i].name);
        assert_int_equal(document->elements[i].line, expected[i].line);
        assert_int_equal(document->elements[i].parent, expected[i].parent);
        assert_int_equal(document->elements[i].next, expected[i].next);
    }
    assert_string_equal(banyan_xml_get(document, 0, "y"), "<2");
    assert_null(banyan_xml_get(document, 0, "n"));
    assert_int_equal(banyan_xml_integer(document, 1, "n", -5, 5, &number, NULL), BANYAN_SUCCESS);
    assert_int_equal(number, -5);
    banyan_xml_destroy(document);
    banyan_xml_destroy(NULL);
}

static void xml_numbers_outside_their_range_are_told_with_the_line(void **state)
{
    banyan_xml *document = NULL;
    banyan_error err;
    int number = 77;

    (void)state;
    assert_int_equal(banyan_xml_parse(small_xml, strlen(small_xml), &document, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_xml_integer(document, 1, "n", 0, 5, &number, &err), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "line 3: n=\"-5\" of <b> is not an integer from 0 to 5");
    assert_int_equal(banyan_xml_integer(document, 1, "m", 0, 5, &number, &err), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "line 3: <b> lacks the attribute m");
    assert_int_equal(banyan_xml_integer(document, 0, "y", 0, 5, &number, &err), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(number, 77);
    banyan_xml_destroy(document);
}

static void wrong_xml_is_told_with_the_line(void **state)
{
    static const char *const cases[][2] = {
        {"", "line 1: "},
        {"<a>\n<b></a>", "line 2: mismatched tag"},
        {"<a/>\n<b/>", "line 2: junk after document element"},
        {"<a x='1' x='2'/>", "line 1: duplicate attribute"},
        {"<!DOCTYPE a [<!ENTITY e \"x\">]>\n<a>&e;</a>", "line 1: a DOCTYPE is not allowed"},
        {"<a>\xff</a>", "line 1: not well-formed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_xml *document = (banyan_xml *)(void *)folder;
        banyan_error err = {""};

        assert_int_equal(banyan_xml_parse(cases[i][0], strlen(cases[i][0]), &document, &err),
                         BANYAN_INVALID_ARGUMENT);
        assert_null(document);
        if (strncmp(err.text, cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("expected \"%s...\", got \"%s\"", cases[i][1], err.text);
    }
}

static void xml_survives_each_failing_allocation(void **state)
{
    banyan_xml *document = NULL;
    long calls = 0;

    (void)state;
    for (; !document; calls++) {
        banyan_error err = {""};

        banyan_alloc_fail_after(calls);
        if (banyan_xml_parse(small_xml, strlen(small_xml), &document, &err)) {
            banyan_alloc_fail_after(-1);
            assert_null(document);
            if (strcmp(err.text, "out of memory") != 0)
                fail_msg("allocation %ld failed and the sentence is: %s", calls, err.text);
        }
    }
    banyan_alloc_fail_after(-1);
    banyan_xml_destroy(document);
    assert_true(calls > 10);
}

static void the_near_name_is_found_and_a_far_one_is_not(void **state)
{
    static const char *const names[] = {"ring", "tree", "hierarchical", "torus"};

    (void)state;
    assert_int_equal(banyan_near_find("rign", names, 4), 0);
    assert_int_equal(banyan_near_find("Tree", names, 4), 1);
    assert_int_equal(banyan_near_find("hier", names, 4), 2);
    assert_int_equal(banyan_near_find("tours", names, 4), 3);
    assert_int_equal(banyan_near_find("banana", names, 4), -1);
    assert_int_equal(banyan_near_find("", names, 4), -1);
    assert_int_equal(banyan_near_find("ring", names, 0), -1);
    assert_int_equal(banyan_near_distance("abc", "abc"), 0);
    assert_int_equal(banyan_near_distance("abc", "acb"), 1);
    assert_int_equal(banyan_near_distance("", "abc"), 3);
    assert_int_equal(banyan_near_distance("kitten", "sitting"), 3);
}

static void a_seed_gives_the_same_numbers_everywhere(void **state)
{
    banyan_random random = {0}, again = {7}, other = {7};
    int seen[6] = {0};

    (void)state;
    assert_true(banyan_random_next(&random) == 0xe220a8397b1dcdafu);
    assert_true(banyan_random_next(&random) == 0x6e789e6aa1b965f4u);
    for (int i = 0; i < 1000; i++) {
        double unit = banyan_random_unit(&again);

        assert_true(unit == banyan_random_unit(&other));
        assert_true(unit >= 0 && unit < 1);
        seen[banyan_random_below(&random, 6)]++;
    }
    for (int i = 0; i < 6; i++)
        assert_true(seen[i] > 100);
}

static void the_clock_never_goes_back(void **state)
{
    int64_t before = banyan_clock_ns();

    (void)state;
    assert_true(banyan_clock_ns() >= before);
    assert_true(banyan_clock_s() * 1e9 >= (double)before * (1 - 1e-9));
    assert_true(banyan_clock_cpu_s() >= 0);
}

static void data_that_came_along_are_found_from_the_program_upwards(void **state)
{
    char path[BANYAN_DATA_PATH_SIZE];

    (void)state;
    assert_true(banyan_data_find("models", "resnet50.csv", path));
    assert_non_null(strstr(path, "models/resnet50.csv"));
    assert_true(banyan_data_find("networks", "", path));
    assert_false(banyan_data_find("models", "nonesuch.csv", path));
    assert_true(banyan_data_is_word("resnet50"));
    assert_false(banyan_data_is_word("./resnet50"));
    assert_false(banyan_data_is_word(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_text_and_others_are_unknown),
        cmocka_unit_test(an_error_is_one_sentence_that_callers_can_put_a_name_before),
        cmocka_unit_test(memory_is_zeroed_and_absurd_sizes_are_refused),
        cmocka_unit_test(the_chosen_allocation_fails_and_all_after_it),
        cmocka_unit_test(an_array_grows_and_keeps_what_it_held),
        cmocka_unit_test(a_text_grows_past_any_buffer),
        cmocka_unit_test(texts_are_made_safe_for_json_and_xml),
        cmocka_unit_test(numbers_read_back_as_the_same_double),
        cmocka_unit_test(a_text_remembers_that_memory_ran_out),
        cmocka_unit_test_setup_teardown(a_file_comes_back_byte_by_byte, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(file_errors_name_the_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(files_survive_each_failing_allocation, make_folder, remove_folder),
        cmocka_unit_test(data_that_came_along_are_found_from_the_program_upwards),
        cmocka_unit_test(json_values_are_read_by_kind),
        cmocka_unit_test(wrong_json_is_told_with_line_and_column),
        cmocka_unit_test(deep_json_is_refused_before_the_stack_ends),
        cmocka_unit_test(json_survives_each_failing_allocation),
        cmocka_unit_test(xml_becomes_a_flat_list_in_document_order),
        cmocka_unit_test(xml_numbers_outside_their_range_are_told_with_the_line),
        cmocka_unit_test(wrong_xml_is_told_with_the_line),
        cmocka_unit_test(xml_survives_each_failing_allocation),
        cmocka_unit_test(the_near_name_is_found_and_a_far_one_is_not),
        cmocka_unit_test(a_seed_gives_the_same_numbers_everywhere),
        cmocka_unit_test(the_clock_never_goes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
