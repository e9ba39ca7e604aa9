/* SPDX-License-Identifier: Apache-2.0 */
/* What ibnetdiscover prints: hosts with several adapters, speeds, and what is wrong with others. */
#include "import.h"

static void refuses(const char *text, const char *sentence)
{
    expect_sentence(&banyan_import_ib, text, sentence);
}

static void adapters_of_one_host_are_cables_of_one_worker(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_ib, "fabric.ibnet");

    (void)state;
    assert_int_equal(topology->worker_count, 3);
    assert_int_equal(topology->node_count, 5);
    assert_gigabytes(topology, "node0", "leaf0", 2 * 50);
    assert_gigabytes(topology, "node1", "leaf0", 25);
    assert_gigabytes(topology, "leaf0", "MF0;spine:MQM9701/U1", 2 * 100);
    assert_gigabytes(topology, "H-0000000000000004", "MF0;spine:MQM9701/U1", 25);
    assert_int_equal(topology->link_count, 2 * 6);
    banyan_topology_destroy(topology);
}

static void a_cable_that_one_end_lists_is_there(void **state)
{
    const char *text = "Switch 4 \"s\"\n[1] \"a\"[1] # \"2xNDR\" lid 1 4xEDR\n[2] \"b\"[1] # lid 0 1xEDR\n"
                       "Ca 1 \"a\"\nCa 1 \"b\"\n";
    banyan_topology *topology = import_text(&banyan_import_ib, text, strlen(text));

    (void)state;
    assert_int_equal(topology->worker_count, 2);
    assert_gigabytes(topology, "a", "s", 12.5);
    assert_gigabytes(topology, "b", "s", 3.125);
    banyan_topology_destroy(topology);
}

static void two_switches_of_one_description_keep_their_ids(void **state)
{
    const char *text =
        "Switch 4 \"S-1\" # \"switch\"\n[1] \"H-1\"[1]\nSwitch 4 \"S-2\" # \"switch\"\n[1] \"S-1\"[2]\n"
        "Ca 1 \"H-1\" # \"a mlx5_0\"\n";
    banyan_topology *topology = import_text(&banyan_import_ib, text, strlen(text));

    (void)state;
    assert_gigabytes(topology, "switch", "S-2", 12.5);
    assert_gigabytes(topology, "a", "switch", 12.5);
    banyan_topology_destroy(topology);
}

static void files_without_rates_get_100_gigabit(void **state)
{
    const char *text = "Switch 4 \"s\"\n[1] \"a\"[1]\n[2] \"b\"[1] # the second\nHca 1 \"a\"\nHca 1 \"b\"\n";
    banyan_topology *topology = import_text(&banyan_import_ib, text, strlen(text));

    (void)state;
    assert_gigabytes(topology, "a", "s", 12.5);
    assert_gigabytes(topology, "b", "s", 12.5);
    banyan_topology_destroy(topology);
}

/* '4x???' and '??NDR' are ibnetdiscover's own words for what it does not know. */
static void rates_that_nobody_knows_are_refused(void **state)
{
    static const char *const unknown[] = {"4x???", "??NDR", "?????", "4xGDR", "16xNDR", "0xNDR", "4x"};
    char text[200], sentence[200];

    (void)state;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        snprintf(text, sizeof text,
                 "Switch 4 \"s\"\n[1] \"a\"[1] # \"a mlx5_0\" lid 1 4xNDR\n"
                 "[2] \"b\"[1] # \"b mlx5_0\" lid 2 %s\nCa 1 \"a\"\nCa 1 \"b\"\n",
                 unknown[i]);
        snprintf(sentence, sizeof sentence,
                 "line 3: the rate '%s' is unknown: expected a width and a speed, as '4xNDR'", unknown[i]);
        refuses(text, sentence);
    }
    refuses("Switch 4 \"s\"\n[1] \"a\"[1]\n[2] \"b\"[1] # lid 2 4xNDR\nCa 1 \"a\"\nCa 1 \"b\"\n",
            "line 2: the cable has no rate, as '4xNDR', but that of line 3 has one");
    refuses("Switch 4 \"s\"\n[1] \"a\"[1] # 4xNDR\nCa 1 \"a\"\n[1] \"s\"[1] # 2xNDR\n",
            "line 2: the other end of the cable has another rate on line 4");
}

static void lines_must_make_sense(void **state)
{
    (void)state;
    refuses("", "the file is empty");
    refuses("# nothing\n", "there is no Switch and no Ca");
    refuses("Switch 4 \"s\"\n", "the fabric has no channel adapters");
    refuses("Switch 4\n", "line 1: expected Switch PORTS \"ID\"");
    refuses("Switch 4 \"s\n", "line 1: expected Switch PORTS \"ID\"");
    refuses("[1] \"a\"[1]\n", "line 1: a port stands before any Switch or Ca");
    refuses("Switch 4 \"s\"\n[x] \"a\"[1]\n", "line 2: expected [PORT] \"ID\"[PORT]");
    refuses("Switch 4 \"s\"\n[1] \"a\"\n", "line 2: expected [PORT] \"ID\"[PORT]");
    refuses("Switch 4 \"s\"\n[255] \"a\"[1]\n", "line 2: expected [PORT] \"ID\"[PORT]");
    refuses("Switch 4 \"s\"\n[1] \"a\"[1]\n", "line 2: a has no entry of its own");
    refuses("Switch 4 \"s\"\nSwitch 4 \"s\"\n", "line 2: s has an entry already (line 1)");
    refuses("Switch 4 \"s\"\n[1] \"a\"[1]\n[1] \"a\"[2]\nCa 1 \"a\"\n",
            "line 3: port 1 has a line already (line 2)");
    refuses("Switch 4 \"s\"\n[1] \"a\"[1]\nCa 1 \"a\"\n[1] \"s\"[2]\n",
            "line 2: port 1 of a leads elsewhere on line 4");
    refuses("Switch 4 \"s\"\nPort 1\n", "line 2: Port begins neither a Switch, a Ca, nor a port [N]");
}

static void each_prefix_is_read_or_refused(void **state)
{
    (void)state;
    walk_prefixes(&banyan_import_ib, "fabric.ibnet");
}

static void each_failed_allocation_is_clean(void **state)
{
    (void)state;
    walk_failures(&banyan_import_ib, "fabric.ibnet");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapters_of_one_host_are_cables_of_one_worker),
        cmocka_unit_test(a_cable_that_one_end_lists_is_there),
        cmocka_unit_test(two_switches_of_one_description_keep_their_ids),
        cmocka_unit_test(files_without_rates_get_100_gigabit),
        cmocka_unit_test(rates_that_nobody_knows_are_refused),
        cmocka_unit_test(lines_must_make_sense),
        cmocka_unit_test(each_prefix_is_read_or_refused),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
