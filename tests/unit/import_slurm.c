/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's topology.conf: trees, hostlists, and what is wrong with others. */
#include "import.h"

#include "topology/hostlist.h"

static void refuses(const char *text, const char *sentence)
{
    expect_sentence(&banyan_import_slurm, text, sentence);
}

static void a_tree_of_three_levels_has_nodes_as_workers(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_slurm, "tree.conf");

    (void)state;
    assert_int_equal(topology->worker_count, 10);
    assert_int_equal(topology->host_count, 10);
    assert_int_equal(topology->node_count, 16);
    assert_int_equal(topology->link_count, 2 * (10 + 3 + 2));
    assert_string_equal(banyan_topology_node_name(topology, 0), "tux0");
    assert_string_equal(banyan_topology_node_name(topology, 3), "tux03");
    assert_string_equal(banyan_topology_node_name(topology, 9), "big2n9");
    assert_string_equal(banyan_topology_host_name(topology, topology->nodes[9].host), "big2n9");
    assert_string_equal(banyan_topology_node_name(topology, 10), "leaf0");
    assert_gigabytes(topology, "tux0", "leaf0", 12.5);
    assert_gigabytes(topology, "gpu7", "leaf1", 25);
    assert_gigabytes(topology, "leaf1", "pod0", 50);
    assert_gigabytes(topology, "pod0", "core", 12.5);
    assert_int_equal(topology->policy, BANYAN_ROUTES_UPDOWN);
    assert_int_equal(banyan_topology_check_connected(topology, topology->workers, 10, NULL), BANYAN_SUCCESS);
    banyan_topology_destroy(topology);
}

static void a_node_may_hang_on_two_switches(void **state)
{
    const char *text = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[2-3]\n";
    banyan_topology *topology = import_text(&banyan_import_slurm, text, strlen(text));

    (void)state;
    assert_int_equal(topology->worker_count, 3);
    assert_gigabytes(topology, "n2", "a", 12.5);
    assert_gigabytes(topology, "n2", "b", 12.5);
    banyan_topology_destroy(topology);
}

static void blocks_hang_on_one_switch(void **state)
{
    const char *text = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n";
    banyan_topology *topology = import_text(&banyan_import_slurm, text, strlen(text));

    (void)state;
    assert_true(banyan_import_slurm.looks_like(text, strlen(text)));
    assert_int_equal(topology->worker_count, 4);
    assert_gigabytes(topology, "n3", "b2", 12.5);
    assert_gigabytes(topology, "b2", "net", 12.5);
    banyan_topology_destroy(topology);
}

typedef struct {
    char text[1024];
    int count;
} listing;

static banyan_status list_name(void *context, banyan_word name, int line, banyan_error *err)
{
    listing *out = context;
    size_t length = strlen(out->text);

    (void)line, (void)err;
    snprintf(out->text + length, sizeof out->text - length, "%s%.*s", out->count++ ? " " : "",
             (int)name.length, name.at);
    return BANYAN_SUCCESS;
}

static void hostlists_expand_in_order(void **state)
{
    static const char *const pairs[][2] = {
        {"tux", "tux"},
        {"a,b,c", "a b c"},
        {"tux[0-3,12]", "tux0 tux1 tux2 tux3 tux12"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"r[1-2]n[0-1]", "r1n0 r1n1 r2n0 r2n1"},
        {"r[1,3]-[5-6]x,y", "r1-5x r1-6x r3-5x r3-6x y"},
        {"[7-8]", "7 8"},
        {"n[999999998-999999999]", "n999999998 n999999999"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        listing out = {{0}, 0};
        banyan_error err;

        if (banyan_hostlist_expand((banyan_word){pairs[i][0], strlen(pairs[i][0])}, 1, list_name, &out, &err))
            fail_msg("%s: %s", pairs[i][0], err.text);
        assert_string_equal(out.text, pairs[i][1]);
    }
}

static void bad_hostlists_are_refused(void **state)
{
    (void)state;
    refuses("SwitchName=s Nodes=n[0-999999999]\n", "line 1: n[0-999999999] stands for more than 65536 names");
    refuses("SwitchName=s Nodes=n[0-299]x[0-299]\n",
            "line 1: n[0-299]x[0-299] stands for more than 65536 names");
    refuses("SwitchName=s Nodes=n[0-9999999999]\n",
            "line 1: [0-9999999999] is not a list of numbers and rising ranges such as [0-3,12]");
    refuses("SwitchName=s Nodes=n[5-2]\n",
            "line 1: [5-2] is not a list of numbers and rising ranges such as [0-3,12]");
    refuses("SwitchName=s Nodes=n[1,]\n",
            "line 1: [1,] is not a list of numbers and rising ranges such as [0-3,12]");
    refuses("SwitchName=s Nodes=n[]\n",
            "line 1: [] is not a list of numbers and rising ranges such as [0-3,12]");
    refuses("SwitchName=s Nodes=n[a-c]\n",
            "line 1: [a-c] is not a list of numbers and rising ranges such as [0-3,12]");
    refuses("SwitchName=s Nodes=n[1-2\n", "line 1: the brackets of n[1-2 do not match");
    refuses("SwitchName=s Nodes=n]1[\n", "line 1: the brackets of n]1[ do not match");
    refuses("SwitchName=s Nodes=n[1[2]]\n", "line 1: the brackets of n[1[2]] do not match");
    refuses("SwitchName=s Nodes=a,,b\n", "line 1: a name of the list has not 1 to 255 bytes");
    refuses("SwitchName=s Nodes=\n", "line 1: a name of the list has not 1 to 255 bytes");
    refuses("SwitchName=s Nodes=n[1][1][1][1][1][1][1][1][1]\n",
            "line 1: n[1][1][1][1][1][1][1][1][1] has more than 8 brackets");
}

static void the_number_of_names_is_capped_over_all_lines(void **state)
{
    (void)state;
    refuses("SwitchName=a Nodes=a[0-39999]\nSwitchName=b Nodes=b[0-39999]\n",
            "line 2: more than 65536 nodes and switches");
}

static void lines_must_make_sense(void **state)
{
    (void)state;
    refuses("", "the file is empty");
    refuses("# nothing\n", "there is no SwitchName line");
    refuses("SwitchName=s\n", "line 1: switch s has neither Nodes nor Switches");
    refuses("Nodes=a\n", "line 1: a line needs SwitchName or BlockName");
    refuses("SwitchName= Nodes=a\n", "line 1: a name is empty");
    refuses("SwitchName=s[0-1] Nodes=a\n", "line 1: SwitchName=s[0-1] must be one name");
    refuses("SwitchName=s Node=a\n", "line 1: unknown key Node, did you mean Nodes");
    refuses("SwitchName=s Colour=a\n", "line 1: unknown key Colour");
    refuses("SwitchName=s Nodes a\n", "line 1: expected KEY=VALUE, not Nodes");
    refuses("SwitchName=s Nodes=a Nodes=b\n", "line 1: Nodes is given twice");
    refuses("\ninclude other.conf\n", "line 2: include is not followed; put the other file's lines here");
    refuses("BlockName=b\n", "line 1: switch b has neither Nodes nor Switches");
    refuses("BlockSizes=2,4\n", "there is no switch in the file");
    refuses("SwitchName=s \\\nNodes=a \\\nLinkSpeed=x\n",
            "line 1: LinkSpeed=x is not a number from 1e-6 to 1e+09 (Gbit/s)");
    refuses("SwitchName=s Nodes=a LinkSpeed=-5\n",
            "line 1: LinkSpeed=-5 is not a number from 1e-6 to 1e+09 (Gbit/s)");
    refuses("SwitchName=s Nodes=a LinkSpeed=nan\n",
            "line 1: LinkSpeed=nan is not a number from 1e-6 to 1e+09 (Gbit/s)");
    refuses("SwitchName=s Nodes=a\x01\n", "line 1: the byte 0x01 is not text in UTF-8");
}

static void names_must_fit_together(void **state)
{
    (void)state;
    refuses("SwitchName=s Nodes=a\nSwitchName=s Nodes=b\n", "line 2: switch s has a line already (line 1)");
    refuses("SwitchName=s Nodes=a,a\n", "line 1: a is named twice");
    refuses("SwitchName=s Nodes=a\nSwitchName=a Nodes=b\n",
            "line 2: a is a switch here, but a node on line 1");
    refuses("SwitchName=s Nodes=s\n", "line 1: s is a node here, but a switch on line 1");
    refuses("SwitchName=s Switches=s\n", "line 1: s is named as its own child");
    refuses("SwitchName=s Switches=t\n", "line 1: switch t has no line of its own");
    refuses("SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a Nodes=n\n",
            "line 1: switch a is above itself, in a circle");
}

static void a_last_backslash_ends_the_file(void **state)
{
    const char *text = "SwitchName=s Nodes=n[1-2] \\";
    banyan_topology *topology = import_text(&banyan_import_slurm, text, strlen(text));

    (void)state;
    assert_int_equal(topology->worker_count, 2);
    banyan_topology_destroy(topology);
}

static void each_prefix_is_read_or_refused(void **state)
{
    (void)state;
    walk_prefixes(&banyan_import_slurm, "tree.conf");
}

static void each_failed_allocation_is_clean(void **state)
{
    (void)state;
    walk_failures(&banyan_import_slurm, "tree.conf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_of_three_levels_has_nodes_as_workers),
        cmocka_unit_test(a_node_may_hang_on_two_switches),
        cmocka_unit_test(blocks_hang_on_one_switch),
        cmocka_unit_test(hostlists_expand_in_order),
        cmocka_unit_test(bad_hostlists_are_refused),
        cmocka_unit_test(the_number_of_names_is_capped_over_all_lines),
        cmocka_unit_test(lines_must_make_sense),
        cmocka_unit_test(names_must_fit_together),
        cmocka_unit_test(a_last_backslash_ends_the_file),
        cmocka_unit_test(each_prefix_is_read_or_refused),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
