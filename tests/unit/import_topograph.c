/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA Topograph's JSON: layers, accelerator domains, and what is wrong with others. */
#include "import.h"

static void refuses(const char *text, const char *sentence)
{
    expect_sentence(&banyan_import_topograph, text, sentence);
}

static void layers_are_switches_and_domains_join_instances(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_topograph, "topograph.json");

    (void)state;
    assert_int_equal(topology->worker_count, 4);
    assert_int_equal(topology->host_count, 4);
    assert_int_equal(topology->node_count, 4 + 6 + 2);
    assert_gigabytes(topology, "i-01", "leaf-a", 12.5);
    assert_gigabytes(topology, "leaf-a", "spine-1", 12.5);
    assert_gigabytes(topology, "spine-2", "core", 12.5);
    assert_gigabytes(topology, "i-02", "nvlink:nvl-1", 18 * 40.1);
    assert_gigabytes(topology, "i-03", "nvlink:nvl-2", 18 * 40.1);
    assert_gigabytes(topology, "i-04", "nvlink:nvl-1", 0);
    assert_int_equal(banyan_topology_check_connected(topology, topology->workers, 4, NULL), BANYAN_SUCCESS);
    banyan_topology_destroy(topology);
}

static void instances_must_make_sense(void **state)
{
    (void)state;
    refuses("[1]", "there is no array \"instances\"");
    refuses("{\"instances\":{}}", "there is no array \"instances\"");
    refuses("{\"instances\":[]}", "there are no instances");
    refuses("{\"instances\":[1]}", "instance 0: it is not an object");
    refuses("{\"instances\":[{}]}", "instance 0: it has no \"id\" that is a string");
    refuses("{\"instances\":[{\"id\":\"a b\"}]}",
            "instance 0: 'a b' is not a name of 1 to 255 bytes without blanks");
    refuses("{\"instances\":[{\"id\":\"a\"},{\"id\":\"a\"}]}", "instance 1: the id a is that of instance 0");
    refuses("{\"instances\":[{\"id\":\"a\",\"network_layers\":\"s\"}]}",
            "instance 0: its \"network_layers\" are not an array");
    refuses("{\"instances\":[{\"id\":\"a\",\"network_layers\":[1]}]}",
            "instance 0: a network layer is not a string");
    refuses("{\"instances\":[{\"id\":\"a\",\"network_layers\":[\"s\",\"s\"]}]}",
            "instance 0: two of its network layers that follow one another are the same");
    refuses("{\"instances\":[{\"id\":\"a\",\"network_layers\":[\"a\"]}]}",
            "a is an instance and a network layer");
    refuses("{\"instances\":[{\"id\":\"a\"}", "line 1, column 24: ']' expected near end of file");
}

static void our_own_json_is_not_taken_for_it(void **state)
{
    const char *own = "{\"format\":\"banyan-topology\",\"name\":\"instances\"}";

    (void)state;
    assert_false(banyan_import_topograph.looks_like(own, strlen(own)));
}

static void each_prefix_is_read_or_refused(void **state)
{
    (void)state;
    walk_prefixes(&banyan_import_topograph, "topograph.json");
}

static void each_failed_allocation_is_clean(void **state)
{
    (void)state;
    walk_failures(&banyan_import_topograph, "topograph.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_switches_and_domains_join_instances),
        cmocka_unit_test(instances_must_make_sense),
        cmocka_unit_test(our_own_json_is_not_taken_for_it),
        cmocka_unit_test(each_prefix_is_read_or_refused),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
