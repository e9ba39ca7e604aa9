/* SPDX-License-Identifier: Apache-2.0 */
/* rocm-smi's tables: direct XGMI links, NUMA nodes, and what is wrong with others. */
#include "import.h"

#define TYPES "== Link Type between two GPUs ==\n"
#define PAIR "     GPU0 GPU1\n"

static void refuses(const char *text, const char *sentence)
{
    expect_sentence(&banyan_import_rocm, text, sentence);
}

static void xgmi_at_one_hop_is_a_cable(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_rocm, "ring.rocm");

    (void)state;
    assert_int_equal(topology->worker_count, 4);
    assert_int_equal(topology->node_count, 6);
    assert_gigabytes(topology, "g0", "g1", 24);
    assert_gigabytes(topology, "g0", "g2", 0);
    assert_gigabytes(topology, "g0", "g3", 24);
    assert_gigabytes(topology, "g1", "cpu0", 12);
    assert_gigabytes(topology, "g2", "cpu1", 12);
    assert_gigabytes(topology, "cpu0", "cpu1", 10);
    banyan_topology_destroy(topology);
}

static void types_alone_are_enough(void **state)
{
    const char *text = TYPES PAIR "GPU0 0 PCIE\nGPU1 PCIE 0\nGPU 0 : (Topology) Numa Node: -1\n";
    banyan_topology *topology = import_text(&banyan_import_rocm, text, strlen(text));

    (void)state;
    assert_gigabytes(topology, "g0", "g1", 0);
    assert_gigabytes(topology, "g1", "cpu0", 12);
    banyan_topology_destroy(topology);
}

static void it_is_not_taken_for_nvidias(void **state)
{
    size_t length;
    char *text = sample("ring.rocm", &length);
    banyan_topology *topology;
    banyan_error err;

    (void)state;
    banyan_free(text);
    assert_int_equal(banyan_topology_load(TEST_DATA "/data/import/ring.rocm", &topology, &err),
                     BANYAN_SUCCESS);
    assert_string_equal(topology->name, "rocm-smi");
    banyan_topology_destroy(topology);
}

static void tables_must_make_sense(void **state)
{
    (void)state;
    refuses("", "the file is empty");
    refuses("nothing\n", "there is no table Link Type between two GPUs");
    refuses("== Hops between two GPUs ==\n     GPU0\nGPU0 0\n",
            "there is no table Link Type between two GPUs");
    refuses(TYPES, "line 1: the text ends in a table");
    refuses(TYPES "\n", "line 2: a table has no columns");
    refuses(TYPES "     GPU1 GPU0\n", "line 2: the columns of a table are not GPU0, GPU1, ...");
    refuses(TYPES PAIR "GPU0 0 XGMI\n", "line 3: the text ends in a table");
    refuses(TYPES PAIR "GPU1 XGMI 0\n", "line 3: expected the row of GPU0 in the table of line 1");
    refuses(TYPES PAIR "GPU0 0\n", "line 3: the row of GPU0 ends after 1 of 2 cells");
    refuses(TYPES PAIR "GPU0 0 NV4\n", "line 3: NV4 between GPU0 and GPU1 is not XGMI or PCIE");
    refuses("== Hops between two GPUs ==\n" PAIR "GPU0 0 x\n",
            "line 3: x between GPU0 and GPU1 is not a number of hops");
    refuses(TYPES PAIR "GPU0 0 XGMI\nGPU1 PCIE 0\n",
            "the two halves of the table of link types differ for GPU0 and GPU1");
    refuses(TYPES PAIR "GPU0 0 XGMI\nGPU1 XGMI 0\nGPU[7] : (Topology) Numa Node: 1\n",
            "line 5: this GPU is in no table");
    refuses(TYPES PAIR "GPU0 0 XGMI\nGPU1 XGMI 0\nGPU[1] : (Topology) Numa Node: x\n",
            "line 5: x is not the number of a NUMA node");
    refuses("== Hops between two GPUs ==\n     GPU0\nGPU0 0\n" TYPES PAIR,
            "line 5: this table has not as many GPUs as the one before");
}

static void each_prefix_is_read_or_refused(void **state)
{
    (void)state;
    walk_prefixes(&banyan_import_rocm, "ring.rocm");
}

static void each_failed_allocation_is_clean(void **state)
{
    (void)state;
    walk_failures(&banyan_import_rocm, "ring.rocm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xgmi_at_one_hop_is_a_cable),     cmocka_unit_test(types_alone_are_enough),
        cmocka_unit_test(it_is_not_taken_for_nvidias),    cmocka_unit_test(tables_must_make_sense),
        cmocka_unit_test(each_prefix_is_read_or_refused), cmocka_unit_test(each_failed_allocation_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
