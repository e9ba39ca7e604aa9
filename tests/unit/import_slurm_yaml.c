/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's topology.yaml: trees and blocks, the YAML that it is written in, and what is wrong with others. */
#include "import.h"

static void refuses(const char *text, const char *sentence)
{
    expect_sentence(&banyan_import_slurm_yaml, text, sentence);
}

static banyan_topology *reads(const char *text)
{
    return import_text(&banyan_import_slurm_yaml, text, strlen(text));
}

static void the_default_topology_is_read_as_a_tree(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_slurm_yaml, "tree.yaml");

    (void)state;
    assert_int_equal(topology->worker_count, 6);
    assert_int_equal(topology->node_count, 11);
    assert_int_equal(topology->link_count, 2 * (6 + 4));
    assert_string_equal(banyan_topology_node_name(topology, 0), "big01");
    assert_gigabytes(topology, "core", "pod0", 12.5);
    assert_gigabytes(topology, "pod0", "leaf1", 12.5);
    assert_gigabytes(topology, "pod1", "big02", 12.5);
    assert_gigabytes(topology, "leaf1", "tux3", 12.5);
    assert_int_equal(topology->policy, BANYAN_ROUTES_UPDOWN);
    banyan_topology_destroy(topology);
}

static void blocks_hang_on_one_switch(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_slurm_yaml, "blocks.yaml");

    (void)state;
    assert_int_equal(topology->worker_count, 4);
    assert_gigabytes(topology, "net", "b1", 12.5);
    assert_gigabytes(topology, "b2", "n04", 12.5);
    banyan_topology_destroy(topology);
}

static void flow_style_means_the_same(void **state)
{
    banyan_topology *block =
        reads("- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodes: n[1-3]\n");
    banyan_topology *flow = reads("[{topology: a, tree: {switches: [{switch: s, nodes: n[1-3]}]}}]");
    banyan_topology *json =
        reads("[{\"topology\": \"a\",\n  \"tree\": {\"switches\": [{\"switch\": \"s\", # s\n"
              "\"nodes\": \"n[1-3]\"}]}}]\n");
    char digests[3][17];

    (void)state;
    banyan_topology_digest(block, digests[0]);
    banyan_topology_digest(flow, digests[1]);
    banyan_topology_digest(json, digests[2]);
    assert_string_equal(digests[0], digests[1]);
    assert_string_equal(digests[0], digests[2]);
    banyan_topology_destroy(block);
    banyan_topology_destroy(flow);
    banyan_topology_destroy(json);
}

static void topologies_must_make_sense(void **state)
{
    (void)state;
    refuses("", "the file is empty");
    refuses("# nothing\n", "there is no value in the file");
    refuses("topology: a\n", "line 1: expected a list of topologies");
    refuses("- name: a\n", "line 1: a topology needs a name");
    refuses("- topology: a\n  flat: true\n",
            "line 1: topology a has neither a tree nor blocks, so it names no nodes");
    refuses("- topology: a\n  tree:\n    switches: []\n", "line 3: there is no list of switches");
    refuses("- topology: a\n  tree:\n    switches:\n      - nodes: n1\n", "line 4: a switch needs a name");
    refuses("- topology: a\n  tree:\n    switches:\n      - switch: s\n        node: n1\n",
            "line 5: unknown key node, not one of switch, children, nodes");
    refuses("- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodes: [n1, n2]\n",
            "line 5: the value of nodes is not a text");
    refuses("- topology: a\n  tree:\n    switches:\n      - switch: s\n        children: t\n",
            "line 5: switch t has no line of its own");
    refuses("- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodes: n[5-2]\n",
            "line 5: [5-2] is not a list of numbers and rising ranges such as [0-3,12]");
}

static void the_yaml_must_be_plain(void **state)
{
    (void)state;
    refuses("- topology: &a b\n",
            "line 1: anchors, aliases, tags, block scalars and explicit keys of YAML are not read");
    refuses("- topology: |\n    b\n",
            "line 1: anchors, aliases, tags, block scalars and explicit keys of YAML are not read");
    refuses("- topology: 'a\n", "line 1: a quoted string does not end on its line");
    refuses("- topology: \"a\\x\"\n", "line 1: this escape in a quoted string is not read");
    refuses("- topology: a\n   tree: b\n",
            "line 2: this line is indented further than the one before it allows");
    refuses("- topology: a\n  topology: b\n", "line 2: the key topology is given twice");
    refuses("- topology: a\n  tree\n", "line 2: expected KEY: VALUE");
    refuses("- topology: a\n\ttree: b\n",
            "line 2: this line is indented further than the one before it allows");
    refuses("-\ttopology: a\n", "line 1: a tab cannot indent YAML");
    refuses("- [a, b\n", "line 2: expected , or ] here");
    refuses("- \"a\" b\n", "line 1: a value ends here, but the line goes on");
    refuses("- a: b: c\n", "line 1: a key's value that is a block begins on a line of its own");
    refuses("- topology: a\n---\n- topology: b\n", "line 2: the document ends above this line");
}

static void deep_nesting_is_refused(void **state)
{
    char text[201];

    (void)state;
    memset(text, '[', 200);
    text[200] = 0;
    refuses(text, "line 1: values are nested more than 64 deep");
}

static void each_prefix_is_read_or_refused(void **state)
{
    (void)state;
    walk_prefixes(&banyan_import_slurm_yaml, "tree.yaml");
}

static void each_failed_allocation_is_clean(void **state)
{
    (void)state;
    walk_failures(&banyan_import_slurm_yaml, "tree.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_topology_is_read_as_a_tree),
        cmocka_unit_test(blocks_hang_on_one_switch),
        cmocka_unit_test(flow_style_means_the_same),
        cmocka_unit_test(topologies_must_make_sense),
        cmocka_unit_test(the_yaml_must_be_plain),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(each_prefix_is_read_or_refused),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
