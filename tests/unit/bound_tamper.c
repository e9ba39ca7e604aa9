/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/bound_tamper.c: bounds of many kinds as files, with every number, string, item and key changed
 * in turn. Whatever is accepted must be true: the very same statement, the same with another proof (cuts and
 * potentials) or another claim of what is tight, or one about another question (other active workers,
 * relays, stages, bytes), whose rates are then looked for anew. */
#include "unit/test.h"

#include <jansson.h>
#include <math.h>

#include "bound/json.h"
#include "bound/staged_json.h"
#include "core/alloc.h"
#include "solve/net/graph.h"
#include "solve/net/tolerance.h"

enum { MOST_WAY = 12 };

/* The walk through one file: where we are, from the root on, as keys and indices; and what was seen. */
typedef struct {
    const banyan_topology *topology;
    const char *spec;
    json_t *root;
    const char *key[MOST_WAY]; /* NULL: an index */
    size_t index[MOST_WAY];
    int depth;
    long mutants, survivors, *true_others;
} walk;

static banyan_topology *load(const char *spec)
{
    banyan_topology *t;
    banyan_error err;

    if (banyan_topology_load(spec, &t, &err))
        fail_msg("%s: %s", spec, err.text);
    return t;
}

static int check_text(const banyan_topology *topology, const char *text, banyan_error *err)
{
    int claims_tight;

    return banyan_bound_check(text, strlen(text), topology, &claims_tight, err) == BANYAN_SUCCESS;
}

static int check(const banyan_topology *topology, const json_t *root, banyan_error *err)
{
    char *text = json_dumps(root, JSON_COMPACT);
    int is_good = check_text(topology, text, err);

    free(text);
    return is_good;
}

/* The fields that ask; all others answer. */
static int is_question(const char *key)
{
    return key && (!strcmp(key, "active") || !strcmp(key, "relays") || !strcmp(key, "stages"));
}

/* Whether a rate is tight, which no certificate proves: there is no other value than these two. */
static int is_claim(const walk *w, const json_t *root)
{
    const json_t *value = w->depth == 2 ? json_object_get(json_object_get(root, w->key[0]), "tight") : NULL;
    const char *said = json_string_value(value);

    return w->depth == 2 && w->key[1] && !strcmp(w->key[1], "tight") && said &&
           (!strcmp(said, "proven") || !strcmp(said, "unknown"));
}

/* Where weighted cuts or potentials were changed: no figure was, so that what is accepted is another proof
 * of it. */
static int is_proof(const walk *w)
{
    return w->depth > 2 && w->key[1] && !strcmp(w->key[1], "certificate") && w->key[2] &&
           (strstr(w->key[2], "cuts") || strstr(w->key[2], "potentials"));
}

static double number(const json_t *root, const char *rate, const char *key)
{
    return json_number_value(json_object_get(rate ? json_object_get(root, rate) : root, key));
}

/* What trees were found for in stages. */
static double reached_in_stages(const banyan_topology *topology, const int *active, int count,
                                banyan_relays relays, const char *name)
{
    banyan_staged found = {0};
    banyan_stages stages;
    banyan_graph *graph;
    double reached;

    assert_int_equal(banyan_stages_parse(name, &stages, NULL), 0);
    assert_int_equal(banyan_network_graph(topology, active, count, relays, &graph, NULL), 0);
    assert_int_equal(banyan_staged_solve(graph, stages, &found, NULL), 0);
    reached = found.reached * graph->unit;
    banyan_staged_fini(&found);
    banyan_graph_destroy(graph);
    return reached;
}

/* Whether the rates of an accepted file are no lower than what can be reached for its question. */
static int is_true(const banyan_topology *topology, const json_t *root)
{
    const json_t *array = json_object_get(root, "active"), *stages = json_object_get(root, "stages");
    int active[64], count = (int)json_array_size(array), is_good;
    banyan_relays relays;
    banyan_bound bound;

    for (int i = 0; i < count; i++)
        active[i] = (int)json_number_value(json_array_get(array, (size_t)i));
    assert_int_equal(banyan_relays_parse(json_string_value(json_object_get(root, "relays")), &relays, NULL),
                     0);
    if (count < 2)
        return 1;
    if (stages)
        return number(root, NULL, "sum_of_chi_bytes_per_s") >=
               reached_in_stages(topology, active, count, relays, json_string_value(stages)) * (1 - 1e-6);
    assert_int_equal(banyan_bound_search(topology, active, count, relays, &bound, NULL), 0);
    is_good = number(root, "allreduce", "bytes_per_s") >= bound.reached_bytes_per_s * (1 - 1e-6) &&
              number(root, "allgather", "bytes_per_s") >= bound.allgather.bytes_per_s * (1 - 1e-9) &&
              number(root, "reducescatter", "bytes_per_s") >= bound.reducescatter.bytes_per_s * (1 - 1e-9);
    banyan_bound_fini(&bound);
    return is_good;
}

/* The same statement: numbers of objects may differ as the format allows it, and 1 may be written 1.0. */
static int is_same(const json_t *a, const json_t *b, double tolerance)
{
    double left = json_number_value(a), right = json_number_value(b);
    json_t *object = (json_t *)(uintptr_t)a, *value;
    const char *key;
    int same = json_typeof(a) == json_typeof(b) || (json_is_number(a) && json_is_number(b));

    if (same && json_is_number(a))
        return left == right || fabs(left - right) <= tolerance * fabs(right);
    if (!same || json_is_string(a))
        return same && json_equal(a, b);
    if (json_array_size(a) != json_array_size(b) || json_object_size(a) != json_object_size(b))
        return 0;
    for (size_t i = 0; same && i < json_array_size(a); i++)
        same = is_same(json_array_get(a, i), json_array_get(b, i), 0);
    json_object_foreach(object, key, value) same &=
        json_object_get(b, key) && is_same(value, json_object_get(b, key), BANYAN_SAME);
    return same;
}

static void judge(walk *w, const json_t *changed, const char *what)
{
    banyan_error err = {""};
    char *text;

    if (is_same(changed, w->root, 0))
        return;
    w->mutants++;
    if (!check(w->topology, changed, &err)) {
        assert_true(err.text[0] != '\0');
        return;
    }
    if (is_claim(w, changed) || ((is_question(w->key[0]) || is_proof(w)) && is_true(w->topology, changed))) {
        ++*w->true_others;
        return;
    }
    w->survivors++;
    text = json_dumps(changed, JSON_COMPACT);
    print_message("%s: %s at %s (depth %d) is accepted: %.600s\n", w->spec, what,
                  w->key[w->depth - 1] ? w->key[w->depth - 1] : "an item", w->depth, text);
    free(text);
}

/* A copy of the root, and in it the container of the place where we are. */
static json_t *copy(const walk *w, json_t **container)
{
    json_t *root = json_deep_copy(w->root), *here = root;

    for (int i = 0; i + 1 < w->depth; i++)
        here = w->key[i] ? json_object_get(here, w->key[i]) : json_array_get(here, w->index[i]);
    *container = here;
    return root;
}

/* Puts the value, which is taken over, where we are. */
static void replace(walk *w, json_t *value, const char *what)
{
    json_t *container, *root = copy(w, &container);
    int last = w->depth - 1;

    if (w->key[last])
        json_object_set_new(container, w->key[last], value);
    else
        json_array_set_new(container, w->index[last], value);
    judge(w, root, what);
    json_decref(root);
}

static void change_kind(walk *w, const json_t *value)
{
    replace(w, json_null(), "null");
    replace(w, json_boolean(!json_is_true(value)), "a truth");
    replace(w, json_array(), "an empty array");
    replace(w, json_string("7"), "a string");
}

static void change_number(walk *w, const json_t *value)
{
    static const double factors[] = {-1, 0.5, 1.000001, 1000, 1e200};
    static const json_int_t others[] = {0, 1, 9007199254740993, INT64_MAX};
    double old = json_number_value(value);

    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        replace(w, json_real(old * factors[i]), "a number scaled");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        replace(w, json_integer(others[i]), "a number");
    if (json_is_integer(value)) {
        replace(w, json_integer(json_integer_value(value) + 1), "one more");
        replace(w, json_integer(json_integer_value(value) - 1), "one less");
        replace(w, json_real(old + 1e-10), "a little more");
    }
}

static void change_string(walk *w, const char *old)
{
    static const char *const others[] = {"",       "add", "forward",   "none",    "cut",    "prices",
                                         "1/1000", "2/2", "pipelined", "overlap", "proven", "unknown"};
    char text[1024];

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        replace(w, json_string(others[i]), "another string");
    snprintf(text, sizeof text, "%s ", old);
    replace(w, json_string(text), "a blank more");
    snprintf(text, sizeof text, "%.*s", (int)strlen(old) - 1, old);
    replace(w, json_string(text), "a letter less");
    snprintf(text, sizeof text, "%s", old);
    text[0] = (char)(text[0] ^ 1);
    replace(w, json_string(text), "another letter");
}

static void change_array(walk *w, const json_t *array)
{
    size_t count = json_array_size(array);

    for (size_t i = 0; i < count; i++) {
        json_t *changed = json_deep_copy(array), *item = json_array_get(changed, i);

        json_array_insert(changed, i, item);
        replace(w, changed, "an item doubled");
        changed = json_deep_copy(array);
        json_array_remove(changed, i);
        replace(w, changed, "an item removed");
        changed = json_deep_copy(array);
        json_array_set(changed, i, json_array_get(array, (i + 1) % count));
        json_array_set(changed, (i + 1) % count, json_array_get(array, i));
        replace(w, changed, "two items swapped");
    }
}

static void change_keys(walk *w, json_t *object)
{
    const char *key;
    json_t *value, *changed = json_deep_copy(object);

    json_object_set_new(changed, "unknown", json_integer(1));
    replace(w, changed, "an unknown key");
    json_object_foreach(object, key, value)
    {
        char other[80];

        changed = json_deep_copy(object);
        json_object_del(changed, key);
        replace(w, changed, "a key removed");
        changed = json_deep_copy(object);
        json_object_del(changed, key);
        snprintf(other, sizeof other, "%s_", key);
        json_object_set(changed, other, value);
        replace(w, changed, "a key renamed");
    }
}

static void visit(walk *w, json_t *value)
{
    size_t i;
    const char *key;
    json_t *inner;

    change_kind(w, value);
    if (json_is_number(value))
        change_number(w, value);
    if (json_is_string(value))
        change_string(w, json_string_value(value));
    if (json_is_array(value))
        change_array(w, value);
    if (json_is_object(value))
        change_keys(w, value);
    assert_true(w->depth < MOST_WAY);
    w->depth++;
    if (json_is_object(value))
        json_object_foreach(value, key, inner)
        {
            w->key[w->depth - 1] = key;
            visit(w, inner);
        }
    w->key[w->depth - 1] = NULL;
    json_array_foreach(value, i, inner)
    {
        w->index[w->depth - 1] = i;
        visit(w, inner);
    }
    w->depth--;
}

/* The root has no container: its keys are changed in it. */
static void visit_root(walk *w)
{
    const char *key;
    json_t *inner, *changed = json_deep_copy(w->root);

    w->depth = 1;
    json_object_set_new(changed, "unknown", json_integer(1));
    w->key[0] = "unknown";
    judge(w, changed, "an unknown key");
    json_decref(changed);
    json_object_foreach(w->root, key, inner)
    {
        char other[80];

        w->depth = 1;
        w->key[0] = key;
        visit(w, inner);
        changed = json_deep_copy(w->root);
        json_object_del(changed, key);
        judge(w, changed, "a key removed");
        snprintf(other, sizeof other, "%s_", key);
        json_object_set(changed, other, inner);
        judge(w, changed, "a key renamed");
        json_decref(changed);
    }
}

/* A file that says a key twice; the first of them wins in some readers, the last in others. */
static void double_keys(walk *w, const char *text)
{
    for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
        const char *begin = colon;
        size_t before, key;
        char *doubled;
        banyan_error err;

        if (colon[-1] != '"')
            continue;
        do
            begin--;
        while (begin[-1] != '"');
        begin--;
        if (begin[-1] != '{' && begin[-1] != ',')
            continue; /* within a string */
        before = (size_t)(begin - text);
        key = (size_t)(colon - begin);
        doubled = malloc(strlen(text) + key + 8);
        sprintf(doubled, "%.*s%.*s:1,%s", (int)before, text, (int)key, begin, begin);
        w->mutants++;
        if (check_text(w->topology, doubled, &err))
            w->survivors++;
        free(doubled);
    }
}

static char *bound_of(const banyan_topology *t, const int *active, int count, banyan_relays relays)
{
    banyan_bound found, proven;
    banyan_error err;
    char *text = NULL;

    if (banyan_bound_search(t, active, count, relays, &found, &err) ||
        banyan_bound_derive(t, active, count, &found, &proven, &err) ||
        banyan_bound_format(t, active, count, &proven, &text, &err))
        fail_msg("%s", err.text);
    banyan_bound_fini(&found);
    banyan_bound_fini(&proven);
    return text;
}

static char *staged_of(const banyan_topology *t, const int *active, int count, banyan_relays relays,
                       banyan_stages stages)
{
    banyan_staged_question question = {t, active, count, relays, stages, 1 << 26};
    banyan_staged found = {0};
    banyan_graph *graph;
    banyan_error err;
    char *text = NULL;

    if (banyan_network_graph(t, active, count, relays, &graph, &err) ||
        banyan_staged_solve(graph, stages, &found, &err) ||
        banyan_staged_format(&question, graph, &found, &text, &err))
        fail_msg("%s", err.text);
    banyan_staged_fini(&found);
    banyan_graph_destroy(graph);
    return text;
}

static const struct {
    const char *spec, *active;
    const char *relays;
    int stages; /* of banyan_stages; -1: a bound of all plans */
} files[] = {
    {"hosts:2+3", NULL, "add", -1},
    {"switch:3", NULL, "add", -1},
    {"switch:3,degrade=g0->s0:0.5,degrade=g1->s0:0.5,degrade=g2->s0:0.5", NULL, "add", -1},
    {"switch:4,degrade=s0->g0:0.5,degrade=s0->g1:0.5,degrade=s0->g2:0.5", "0-2", "forward", -1},
    {"full:4,degrade=g0->g1:0.5", "0-2", "add", -1},
    {"mesh:3x2", "0,2,5", "add", -1},
    {"mesh:3x2", "0,2,5", "forward", -1},
    {"mesh:3x2", "0,1,2", "none", -1},
    {"line:3", "1", "add", -1},
    {"switch:4,multicast=1,reduce=1", NULL, "add", -1},
    {"switch:4,multicast=1", "0,1,3", "add", -1},
    {"ring:4,degrade=g0->g1:0.37", "0,1,3", "add", -1},
    {"switch:3", NULL, "add", BANYAN_STAGES_SEQUENTIAL},
    {"ring:4", "0,1,2", "add", BANYAN_STAGES_OVERLAP},
    {"ring:4,degrade=g0->g1:0.5", "0,1,3", "forward", BANYAN_STAGES_SEQUENTIAL},
    {"hosts:2+1", NULL, "none", BANYAN_STAGES_PIPELINED},
};

TEST(no_figure_of_a_bound_can_be_changed_unnoticed)
{
    long total = 0, survivors = 0, others = 0;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        banyan_topology *t = load(files[i].spec);
        walk w = {.topology = t, .spec = files[i].spec, .true_others = &others};
        int *active, count;
        banyan_relays relays;
        banyan_error err = {""};
        char *text;

        assert_int_equal(banyan_relays_parse(files[i].relays, &relays, &err), 0);
        if (banyan_topology_parse_active(t, files[i].active, &active, &count, &err))
            fail_msg("%s", err.text);
        text = files[i].stages < 0 ? bound_of(t, active, count, relays)
                                   : staged_of(t, active, count, relays, (banyan_stages)files[i].stages);
        if (!check_text(t, text, &err))
            fail_msg("%s: %s", files[i].spec, err.text);
        w.root = json_loads(text, 0, NULL);
        visit_root(&w);
        double_keys(&w, text);
        total += w.mutants;
        survivors += w.survivors;
        json_decref(w.root);
        banyan_free(active);
        banyan_free(text);
        banyan_topology_destroy(t);
    }
    print_message(
        "%ld mutants, %ld true of another question, by another proof or claims, %ld false ones accepted\n",
        total, others, survivors);
    assert_true(total > 5000);
    assert_int_equal(survivors, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_figure_of_a_bound_can_be_changed_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
