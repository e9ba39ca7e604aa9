/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/picture.c: what a group takes its network for, as others read it (group/picture.h). */
#include "unit/test.h"

#include "core/alloc.h"
#include "core/json.h"
#include "group/picture.h"

TEST(a_picture_is_written_with_its_topology)
{
    banyan_picture facts = {
        .origin = BANYAN_PICTURE_LEARNT, .rack_count = 2, .explained = 0.987, .measurement_count = 24};
    banyan_picture picture = {0};
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_topology *t, *again;
    banyan_json *root;
    const banyan_json *network;
    const char *origin, *topology;
    int64_t hosts;

    assert_int_equal(banyan_topology_load("racks:2x3x1,gbps=1,rack_gbps=0.5", &t, NULL), 0);
    banyan_picture_set(&picture, &facts, t);
    banyan_picture_set(&picture, &facts, t); /* replaces */
    banyan_text_add(&text, "{\"first\":1");
    banyan_picture_format(&picture, &text);
    banyan_text_add(&text, "}");
    assert_int_equal(banyan_json_parse(text.bytes, text.length, &root, NULL), 0);
    network = banyan_json_field(root, "network");
    assert_true(banyan_json_get_string(banyan_json_field(network, "origin"), &origin));
    assert_string_equal(origin, "learnt");
    assert_true(banyan_json_get_integer(banyan_json_field(network, "hosts"), &hosts));
    assert_int_equal(hosts, 6);
    assert_true(banyan_json_get_string(banyan_json_field(network, "topology"), &topology));
    assert_int_equal(banyan_topology_parse(topology, strlen(topology), &again, NULL), 0);
    assert_int_equal(again->link_count, t->link_count);
    banyan_topology_destroy(again);
    banyan_topology_destroy(t);
    banyan_json_destroy(root);
    banyan_text_fini(&text);
    banyan_picture_fini(&picture);
}

TEST(without_memory_there_is_no_topology_but_the_rest)
{
    banyan_picture facts = {.origin = BANYAN_PICTURE_TOLD}, picture = {0};
    banyan_topology *t;

    assert_int_equal(banyan_topology_load("hosts:1+1", &t, NULL), 0);
    banyan_alloc_fail_after(0);
    banyan_picture_set(&picture, &facts, t);
    banyan_alloc_fail_after(-1);
    assert_null(picture.topology);
    assert_int_equal(picture.host_count, 2);
    banyan_picture_fini(&picture);
    banyan_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_is_written_with_its_topology),
        cmocka_unit_test(without_memory_there_is_no_topology_but_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
