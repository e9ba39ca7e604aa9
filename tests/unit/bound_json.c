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

static banyan_status judge(const char *text, const banyan_topology *t, banyan_error *err)
{
    int claims_tight;

    return banyan_bound_check(text, strlen(text), t, &claims_tight, err);
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
            banyan_bound_check_certificate(t, active, count, &bound, &err) || judge(text, t, &err))
            fail_msg("%s: %s", specs[i], err.text);
        assert_int_equal(count, t->worker_count);
        banyan_bound_fini(&bound);
        banyan_free(active);
        banyan_free(text);
        banyan_topology_destroy(t);
    }
}

/* The text with the first such words replaced. */
static char *with(const char *text, const char *words, const char *others)
{
    const char *at = strstr(text, words);
    char *out = malloc(strlen(text) + strlen(others) + 1);

    assert_non_null(at);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, others, at + strlen(words));
    return out;
}

TEST(whatever_the_certificate_does_not_prove_is_refused_by_name)
{
    static const struct {
        const char *words, *others, *says;
    } cases[] = {
        {"1.25e+09", "1.05e+09", "all-reduce cannot pass 1.25e+09 bytes/s, but the bound claims 1.05e+09"},
        {"1.25e+09", "2.5e+09",
         "\"allreduce.bytes_per_s\" is 2500000000, but the certificate and the network give 1250000000"},
        {"\"1/1\"", "\"1/1000\"", "\"allreduce.fraction\" is \"1/1000\", but"},
        {"\"unit_bytes_per_s\":1.25e+09", "\"unit_bytes_per_s\":1",
         "\"allreduce.unit_bytes_per_s\" is 1, but"},
        {"\"exact\":true", "\"exact\":false", "\"allreduce.exact\" is false, but"},
        {"\"exact\":true,", "", "\"allreduce.exact\" is missing"},
        {"\"topology_digest\":\"", "\"topology_digest\":\"0", "\"topology_digest\" is \"0"},
        {"\"version\":3", "\"version\":1", "\"version\" is 1, but"},
        {"\"version\":3", "\"version\":3,\"best\":true", "\"best\" is nothing that a bound states"},
        {"every byte", "no byte", "\"certificate\" is "},
    };
    banyan_topology *t = load("hosts:2+3");
    char *text = bound_of(t);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *lie = with(text, cases[i].words, cases[i].others);
        banyan_error err = {""};

        assert_int_equal(judge(lie, t, &err), BANYAN_PLAN_INVALID);
        CHECK_SAYS(err, cases[i].says);
        free(lie);
    }
    banyan_free(text);
    banyan_topology_destroy(t);
}

/* No certificate proves that trees reach a rate: a file may claim it or not, and whoever reads it hears that
 * it is a claim. */
TEST(what_is_said_to_be_tight_is_passed_on_as_a_claim)
{
    static const char proven[] = "\"tight\":\"proven\"", unknown[] = "\"tight\":\"unknown\"";
    banyan_topology *t = load("hosts:2+3");
    char *text = bound_of(t), *less;
    banyan_error err = {""};
    int claims_tight;

    for (int claims = 3; claims >= 0; claims--) {
        if (banyan_bound_check(text, strlen(text), t, &claims_tight, &err))
            fail_msg("%s", err.text);
        assert_int_equal(claims_tight, claims > 0);
        if (!claims)
            break;
        less = with(text, proven, unknown);
        banyan_free(text);
        text = banyan_alloc(strlen(less) + 1, 1);
        strcpy(text, less);
        free(less);
    }
    banyan_free(text);
    banyan_topology_destroy(t);
}

/* What nobody's certificate can be, whatever figures go with it. */
TEST(certificates_that_are_none_are_refused)
{
    static const struct {
        const char *words, *others, *says;
    } cases[] = {
        {"\"prices\":[[0,", "\"prices\":[[0,-", "\"prices\" item 0 is not [link, price]"},
        {"\"prices\":[[0,", "\"prices\":[[99,", "\"prices\" item 0 is not [link, price]"},
        {"\"prices\":[[0,", "\"prices\":[[0,0.5", "\"prices\" item 0 is not [link, price]"},
        {"\"prices\":[[0,", "\"prices\":[[0,9007199254740993", "\"prices\" item 0 is not [link, price]"},
        {"\"prices\":[[0,", "\"prices\":[[0,99999999999999999999", "too big"},
        {"\"prices\":[[0,", "\"prices\":[[0,NaN", "invalid token"},
        {"\"prices\":[[0,", "\"prices\":[[0,1e999", "overflow"},
        {"\"kind\":", "\"kind\":\"cut\",\"kind\":", "duplicate object key"},
        {"\"tight\":\"proven\"", "\"tight\":\"yes\"", "\"allreduce\": \"tight\" should be"},
        {"\"tight\":\"proven\",", "", "\"allreduce\": \"tight\" should be"},
    };
    static const char no_cut[] = "\"allgather\":{\"bytes_per_s\":1e99,\"tight\":\"proven\",\"certificate\":{"
                                 "\"kind\":\"cut\",\"parts\":[1,1],"
                                 "\"prices\":[]}},\"was\":{";
    banyan_topology *t = load("ring:2");
    char *text = bound_of(t), *lie;
    banyan_error err = {""};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lie = with(text, cases[i].words, cases[i].others);
        assert_int_not_equal(judge(lie, t, &err), BANYAN_SUCCESS);
        CHECK_SAYS(err, cases[i].says);
        free(lie);
    }
    lie = with(text, "\"allgather\":{", no_cut);
    assert_int_equal(judge(lie, t, &err), BANYAN_PLAN_INVALID);
    CHECK_SAYS(err, "the cuts of all-gather do not separate active workers");
    free(lie);
    banyan_free(text);
    banyan_topology_destroy(t);
}

/* Three workers behind a switch that only forwards, links down twice as wide as those up: weighted cuts
 * and a potential. */
static const char up_and_down[] =
    "{\"format\":\"banyan-topology\",\"version\":1,\"name\":\"up and down\",\"nodes\":["
    "{\"name\":\"g0\",\"kind\":\"worker\"},{\"name\":\"g1\",\"kind\":\"worker\"},"
    "{\"name\":\"g2\",\"kind\":\"worker\"},{\"name\":\"s\",\"kind\":\"switch\"}],\"links\":["
    "{\"src\":\"g0\",\"dst\":\"s\",\"bytes_per_s\":1},{\"src\":\"s\",\"dst\":\"g0\",\"bytes_per_s\":2},"
    "{\"src\":\"g1\",\"dst\":\"s\",\"bytes_per_s\":1},{\"src\":\"s\",\"dst\":\"g1\",\"bytes_per_s\":2},"
    "{\"src\":\"g2\",\"dst\":\"s\",\"bytes_per_s\":1},{\"src\":\"s\",\"dst\":\"g2\",\"bytes_per_s\":2}]}";

TEST(weighted_cuts_with_potentials_are_checked_one_by_one)
{
    static const struct {
        const char *words, *others, *says;
    } cases[] = {
        {"\"weight\":1", "\"weight\":2", "all-gather cannot pass 1.875 bytes/s, but the bound claims 1.5"},
        {"\"weight\":1", "\"weight\":0", "all-gather: cut 0 cannot have the weight 0"},
        {"\"weight\":1", "\"weight\":-1", "all-gather: cut 0 cannot have the weight -1"},
        {"\"weight\":1", "\"weight\":35184372088833", "cannot have the weight 35184372088833"},
        {"\"weight\":1", "\"weight\":1.5", "\"cuts\" item 0 should have a whole \"weight\""},
        {"\"nodes\":[0]", "\"nodes\":[0,1,2]", "all-gather cannot pass"},
        {"\"nodes\":[0]", "\"nodes\":[3]", "cut 0 of all-gather holds no active worker"},
        {"\"nodes\":[0]", "\"nodes\":[2,1,3]", "\"nodes\" item 1 is not the next node"},
        {"\"nodes\":[0]", "\"nodes\":[1,2,4]", "\"nodes\" item 2 is not the next node"},
        {"\"potentials\":[[3,-1]]", "\"potentials\":[]", "all-gather cannot pass"},
        {"\"potentials\":[[3,-1]]", "\"potentials\":[[3,-1],[0,1]]",
         "all-gather: node 0, which is active, cannot have the potential 1"},
        {"\"potentials\":[[3,-1]]", "\"potentials\":[[4,-1]]", "\"potentials\" item 0 is not"},
        {"\"potentials\":[[3,-1]]", "\"potentials\":0", "\"potentials\" should be an array"},
        {"\"cuts\":[", "\"cuts\":[],\"was\":[", "\"cuts\" should be an array of 1 to 20 cuts"},
    };
    static const struct {
        const char *words, *others, *says;
    } of_allreduce[] = {
        {"\"weight\":1", "\"weight\":2", "all-reduce cannot pass 3 bytes/s, but the bound claims 0.75"},
        {"\"weight\":1", "\"weight\":0", "broadcast: cut 0 cannot have the weight 0"},
        {"\"nodes\":[0]", "\"nodes\":[3]", "cut 0 of broadcast holds no active worker"},
        {"\"nodes\":[0]", "\"nodes\":[0,1,2]", "the cuts prove nothing"},
        {"\"potentials\":[[3,-1]]", "\"potentials\":[]", "the cuts prove nothing"},
        {"\"reduce_cuts\":[", "\"reduce_cuts\":[],\"was\":[",
         "\"reduce_cuts\" should be an array of 1 to 20 cuts"},
        {"\"reduce_potentials\":[]", "\"reduce_potentials\":[[1,1]]", "reduce: node 1, which is active"},
        {"\"cuts\":", "\"was\":", "\"cuts\" should be an array"},
    };
    banyan_topology *t;
    banyan_error err = {""};
    char *text;

    if (banyan_topology_parse(up_and_down, strlen(up_and_down), &t, &err))
        fail_msg("%s", err.text);
    text = bound_of(t);
    if (judge(text, t, &err))
        fail_msg("%s in %s", err.text, text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *tail = with(strstr(text, "\"allgather\""), cases[i].words, cases[i].others);
        char *lie = with(text, strstr(text, "\"allgather\""), tail);

        assert_int_not_equal(judge(lie, t, &err), BANYAN_SUCCESS);
        CHECK_SAYS(err, cases[i].says);
        free(tail);
        free(lie);
    }
    for (size_t i = 0; i < sizeof of_allreduce / sizeof *of_allreduce; i++) {
        char *lie = with(text, of_allreduce[i].words, of_allreduce[i].others);

        assert_int_not_equal(judge(lie, t, &err), BANYAN_SUCCESS);
        CHECK_SAYS(err, of_allreduce[i].says);
        free(lie);
    }
    banyan_free(text);
    banyan_topology_destroy(t);
}

TEST(says_what_is_wrong_in_a_file)
{
    static const char rates[] = "\"allreduce\":{\"bytes_per_s\":1,\"tight\":\"proven\",\"certificate\":%s}}";
    static const struct {
        const char *head, *certificate, *says;
    } cases[] = {
        {"{", "{", "line 1"},
        {"{\"format\":\"x\",", "{}", "\"format\" should be"},
        {"{\"format\":\"banyan-bound\",\"relays\":\"add\",", "{}", "\"active\" should name"},
        {"{\"format\":\"banyan-bound\",\"relays\":\"add\",\"active\":[1,0],", "{}", "\"active\" item 1"},
        {"{\"format\":\"banyan-bound\",\"relays\":\"add\",\"active\":[0,2],", "{}", "\"active\" item 1"},
        {"{\"format\":\"banyan-bound\",\"active\":[0,1],", "{}", "\"relays\" should be"},
        {"{\"format\":\"banyan-bound\",\"relays\":\"hop\",\"active\":[0,1],", "{}", "add, forward or none"},
        {"{\"format\":\"banyan-bound\",\"relays\":\"add\",\"active\":[0,1],", "7",
         "lacks its \"certificate\""},
        {"{\"format\":\"banyan-bound\",\"relays\":\"add\",\"active\":[0,1],", "{\"kind\":\"oath\"}",
         "kind \"oath\""},
        {"{\"format\":\"banyan-bound\",\"relays\":\"add\",\"active\":[0,1],",
         "{\"kind\":\"cut\",\"parts\":[0]}", "the 3 nodes"},
        {"{\"format\":\"banyan-bound\",\"relays\":\"add\",\"active\":[0,1],",
         "{\"kind\":\"cut\",\"parts\":[0,1,9]}", "item 2"},
        {"{\"format\":\"banyan-bound\",\"relays\":\"add\",\"active\":[0,1],",
         "{\"kind\":\"cut\",\"parts\":[0,1,1]}", "\"prices\" should"},
        {"{\"format\":\"banyan-bound\",\"relays\":\"add\",\"active\":[0,1],",
         "{\"kind\":\"cut\",\"parts\":[0,1,1],\"prices\":[[9,1]]}", "\"prices\" item 0"},
        {"{\"format\":\"banyan-bound\",\"relays\":\"add\",\"active\":[0,1],",
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

static void check_with_failing_allocations(const banyan_topology *t, const char *text)
{
    banyan_status status = BANYAN_SYSTEM_ERROR;

    for (long calls = 0; status; calls++) {
        banyan_alloc_fail_after(calls);
        status = judge(text, t, NULL);
        assert_int_not_equal(status, BANYAN_PLAN_INVALID); /* the file is good */
    }
    banyan_alloc_fail_after(-1);
}

TEST(weighted_cuts_survive_the_failure_of_each_allocation)
{
    banyan_topology *t;
    char *text;

    assert_int_equal(banyan_topology_parse(up_and_down, strlen(up_and_down), &t, NULL), 0);
    text = bound_of(t);
    check_with_failing_allocations(t, text);
    banyan_free(text);
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
    check_with_failing_allocations(t, text);
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
        cmocka_unit_test(whatever_the_certificate_does_not_prove_is_refused_by_name),
        cmocka_unit_test(what_is_said_to_be_tight_is_passed_on_as_a_claim),
        cmocka_unit_test(certificates_that_are_none_are_refused),
        cmocka_unit_test(weighted_cuts_with_potentials_are_checked_one_by_one),
        cmocka_unit_test(says_what_is_wrong_in_a_file),
        cmocka_unit_test(weighted_cuts_survive_the_failure_of_each_allocation),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    json_set_alloc_funcs(banyan_malloc, banyan_free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
