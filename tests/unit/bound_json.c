/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/bound_json.c: a bound as a file: written, read back, judged, and refused where it claims too
 * much. */
#include "unit/test.h"

#include <jansson.h>

#include "bound/json.h"
#include "core/alloc.h"

static banyan_topology *load(const char *spec)
{
    banyan_topology *t;
    banyan_error err;

    if (banyan_topology_load(spec, &t, &err))
        fail_msg("%s", err.text);
    return t;
}

static char *bound_of(const banyan_topology *t)
{
    banyan_bound bound;
    char *text;

    assert_int_equal(banyan_bound_find(t, t->workers, t->worker_count, BANYAN_RELAYS_ADD, &bound, NULL), 0);
    assert_int_equal(banyan_bound_format(t, t->workers, t->worker_count, &bound, &text, NULL), 0);
    banyan_bound_fini(&bound);
    return text;
}

TEST(what_was_written_reads_back_and_still_proves)
{
    static const char *const specs[] = {"hosts:2+3", "mesh:3x3", "dgx1", "switch:1",
                                        "hosts:3+3+4,degrade=h0:0.3"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        banyan_topology *t = load(specs[i]);
        char *text = bound_of(t);
        banyan_bound bound;
        banyan_error err = {""};
        int *active, count;

        if (banyan_bound_parse(text, strlen(text), t, &active, &count, &bound, &err) ||
            banyan_bound_check_certificate(t, active, count, &bound, &err))
            fail_msg("%s: %s", specs[i], err.text);
        assert_int_equal(count, t->worker_count);
        banyan_bound_fini(&bound);
        banyan_free(active);
        banyan_free(text);
        banyan_topology_destroy(t);
    }
}

TEST(a_claim_below_what_the_certificate_proves_is_refused)
{
    banyan_topology *t = load("hosts:2+3");
    char *text = bound_of(t), *digits = strstr(text, "1.25e+09");
    banyan_bound bound;
    banyan_error err = {""};
    int *active, count;

    assert_non_null(digits);
    digits[2] = '0'; /* the proof allows 1.25e9, the claim is now that 1.05e9 is the most */
    assert_int_equal(banyan_bound_parse(text, strlen(text), t, &active, &count, &bound, &err), 0);
    assert_int_equal(banyan_bound_check_certificate(t, active, count, &bound, &err), BANYAN_PLAN_INVALID);
    CHECK_SAYS(err, "the bound claims 1.05e+09");
    banyan_bound_fini(&bound);
    banyan_free(active);
    banyan_free(text);
    banyan_topology_destroy(t);
}

TEST(says_what_is_wrong_in_a_file)
{
    static const char rates[] = "\"allreduce\":{\"bytes_per_s\":1,\"certificate\":%s}}";
    static const struct {
        const char *head, *certificate, *says;
    } cases[] = {
        {"{", "{", "line 1"},
        {"{\"format\":\"x\",", "{}", "\"format\" should be"},
        {"{\"format\":\"banyan-bound\",", "{}", "\"active\" should name"},
        {"{\"format\":\"banyan-bound\",\"active\":[1,0],", "{}", "\"active\" item 1"},
        {"{\"format\":\"banyan-bound\",\"active\":[0,2],", "{}", "\"active\" item 1"},
        {"{\"format\":\"banyan-bound\",\"relays\":\"hop\",\"active\":[0,1],", "{}", "add, forward or none"},
        {"{\"format\":\"banyan-bound\",\"active\":[0,1],", "7", "lacks its \"certificate\""},
        {"{\"format\":\"banyan-bound\",\"active\":[0,1],", "{\"kind\":\"oath\"}", "kind \"oath\""},
        {"{\"format\":\"banyan-bound\",\"active\":[0,1],", "{\"kind\":\"cut\",\"parts\":[0]}", "the 3 nodes"},
        {"{\"format\":\"banyan-bound\",\"active\":[0,1],", "{\"kind\":\"cut\",\"parts\":[0,1,9]}", "item 2"},
        {"{\"format\":\"banyan-bound\",\"active\":[0,1],", "{\"kind\":\"cut\",\"parts\":[0,1,1]}",
         "\"prices\" should"},
        {"{\"format\":\"banyan-bound\",\"active\":[0,1],",
         "{\"kind\":\"cut\",\"parts\":[0,1,1],\"prices\":[[9,1]]}", "\"prices\" item 0"},
        {"{\"format\":\"banyan-bound\",\"active\":[0,1],",
         "{\"kind\":\"cut\",\"parts\":[0,1,1],\"prices\":[[0,1]]}", "lacks \"allgather\""},
    };
    banyan_topology *t = load("switch:2");

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        banyan_bound bound;
        banyan_error err = {""};
        int *active, count, length = snprintf(text, sizeof text, "%s", cases[i].head);

        snprintf(text + length, sizeof text - (size_t)length, rates, cases[i].certificate);
        assert_int_equal(banyan_bound_parse(text, strlen(text), t, &active, &count, &bound, &err),
                         BANYAN_INVALID_ARGUMENT);
        assert_null(active);
        CHECK_SAYS(err, cases[i].says);
    }
    banyan_topology_destroy(t);
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_topology *t = load("hosts:1+2");
    char *text = bound_of(t), *again = NULL;
    banyan_bound bound;
    int *active = NULL, count;

    for (long calls = 0; !active; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_bound_parse(text, strlen(text), t, &active, &count, &bound, NULL);
    }
    for (long calls = 0; !again; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_bound_format(t, active, count, &bound, &again, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_bound_fini(&bound);
    banyan_free(active);
    banyan_free(text);
    banyan_free(again);
    banyan_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_reads_back_and_still_proves),
        cmocka_unit_test(a_claim_below_what_the_certificate_proves_is_refused),
        cmocka_unit_test(says_what_is_wrong_in_a_file),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    json_set_alloc_funcs(banyan_malloc, banyan_free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
