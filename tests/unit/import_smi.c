/* SPDX-License-Identifier: Apache-2.0 */
/* The table of nvidia-smi topo -m: several machines, old and new spellings, and what is wrong with others. */
#include "import.h"

static void refuses(const char *text, const char *sentence)
{
    expect_sentence(&banyan_import_smi, text, sentence);
}

static void a_cube_mesh_has_direct_nvlinks_and_a_pcie_tree(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_smi, "dgx1.smi");

    (void)state;
    assert_int_equal(topology->worker_count, 8);
    assert_int_equal(topology->host_count, 1);
    assert_int_equal(topology->node_count, 8 + 4 + 2 + 4); /* GPUs, NICs, CPUs, PCIe switches */
    assert_int_equal(topology->link_count, 2 * (16 + 12 + 4 + 1));
    assert_gigabytes(topology, "g0", "g3", 40);
    assert_gigabytes(topology, "g0", "g1", 20);
    assert_gigabytes(topology, "g0", "g5", 0);
    assert_gigabytes(topology, "g0", "pci0", 12);
    assert_gigabytes(topology, "g1", "pci0", 12);
    assert_gigabytes(topology, "mlx5_0", "pci0", 12);
    assert_gigabytes(topology, "pci0", "cpu0", 12);
    assert_gigabytes(topology, "pci1", "cpu0", 12);
    assert_gigabytes(topology, "g7", "pci3", 12);
    assert_gigabytes(topology, "pci3", "cpu1", 12);
    assert_gigabytes(topology, "cpu0", "cpu1", 10);
    banyan_topology_destroy(topology);
}

static void more_links_than_a_gpu_has_mean_an_nvswitch(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_smi, "a100.smi");

    (void)state;
    assert_int_equal(topology->worker_count, 8);
    assert_gigabytes(topology, "g0", "nvswitch", 240);
    assert_gigabytes(topology, "g7", "nvswitch", 240);
    assert_gigabytes(topology, "g0", "g1", 0);
    assert_gigabytes(topology, "g1", "pci0", 12); /* NIC0 tells that g0 and g1 share a PCIe switch */
    assert_gigabytes(topology, "NIC0", "pci0", 12);
    assert_gigabytes(topology, "g2", "cpu0", 12); /* of g2 and g3 only the CPU affinity tells */
    assert_gigabytes(topology, "g4", "cpu1", 12);
    assert_gigabytes(topology, "cpu0", "cpu1", 10);
    banyan_topology_destroy(topology);
}

static void the_old_spelling_is_read(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_smi, "old.smi");

    (void)state;
    assert_int_equal(topology->worker_count, 4);
    assert_gigabytes(topology, "g0", "pci0", 12);
    assert_gigabytes(topology, "g1", "pci0", 12);
    assert_gigabytes(topology, "g2", "cpu0", 12);
    assert_gigabytes(topology, "g3", "cpu1", 12);
    banyan_topology_destroy(topology);
}

static void one_gpu_is_one_worker(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_smi, "single.smi");

    (void)state;
    assert_int_equal(topology->worker_count, 1);
    assert_gigabytes(topology, "g0", "cpu0", 12);
    banyan_topology_destroy(topology);
}

static void every_level_makes_its_own_place(void **state)
{
    const char *text = "      GPU0 GPU1 GPU2 GPU3 GPU4 GPU5\n"
                       "GPU0   X   PIX  PXB  PHB  NODE SYS\n"
                       "GPU1  PIX   X   PXB  PHB  NODE SYS\n"
                       "GPU2  PXB  PXB   X   PHB  NODE SYS\n"
                       "GPU3  PHB  PHB  PHB   X   NODE SYS\n"
                       "GPU4  NODE NODE NODE NODE  X   SYS\n"
                       "GPU5  SYS  SYS  SYS  SYS  SYS   X\n";
    banyan_topology *topology = import_text(&banyan_import_smi, text, strlen(text));

    (void)state;
    assert_gigabytes(topology, "g4", "cpu0", 12);
    assert_gigabytes(topology, "phb0", "cpu0", 12);
    assert_gigabytes(topology, "g3", "phb0", 12);
    assert_gigabytes(topology, "pci0", "phb0", 12);
    assert_gigabytes(topology, "g2", "pci0", 12);
    assert_gigabytes(topology, "pci1", "pci0", 12);
    assert_gigabytes(topology, "g0", "pci1", 12);
    assert_gigabytes(topology, "g1", "pci1", 12);
    assert_gigabytes(topology, "g5", "cpu1", 12);
    banyan_topology_destroy(topology);
}

static void bad_tables_are_refused(void **state)
{
    (void)state;
    refuses("", "the file is empty");
    refuses("no table\n", "there is no line of columns GPU0, GPU1, ...");
    refuses("GPU0\tX\tPIX\nGPU1\tPIX\tX\n", "there is no line of columns GPU0, GPU1, ...");
    refuses("\tGPU0\tGPU0\n", "line 1: there are two columns GPU0");
    refuses("\tGPU0\tGPU1\nGPU0\tX\tPIX\n", "line 2: GPU1 has a column, but no row follows");
    refuses("\tGPU0\tGPU1\nGPU0\tX\n", "line 2: the row of GPU0 ends after 1 of 2 cells");
    refuses("\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU0\tX\tPIX\n", "line 3: GPU0 has a row already (line 2)");
    refuses("\tGPU0\tGPU1\nGPU0\tX\tOK\n",
            "line 2: OK between GPU0 and GPU1 is not one of NV1 to NV18, PIX, PXB, PHB, NODE, SYS");
    refuses("\tGPU0\tGPU1\nGPU0\tX\tX\n",
            "line 2: X between GPU0 and GPU1 is not one of NV1 to NV18, PIX, PXB, PHB, NODE, SYS");
    refuses("\tGPU0\tGPU1\nGPU0\tX\tNV0\n",
            "line 2: NV0 between GPU0 and GPU1 is not one of NV1 to NV18, PIX, PXB, PHB, NODE, SYS");
    refuses(
        "\tGPU0\tGPU1\nGPU0\tX\tNV99999999999\n",
        "line 2: NV99999999999 between GPU0 and GPU1 is not one of NV1 to NV18, PIX, PXB, PHB, NODE, SYS");
    refuses("\tGPU0\tGPU1\nGPU0\tPIX\tX\n", "line 2: PIX between GPU0 and GPU0 is not X");
    refuses("\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPHB\tX\n",
            "line 3: what it says of GPU1 and GPU0 is not what line 2 says");
    refuses("\tGPU0\tGPU00\nGPU0\tX\tPIX\nGPU00\tPIX\tX\n", "two nodes are named g0");
    refuses("\tGPU0\n\x02", "line 2: the byte 0x02 is not text in UTF-8");
}

static void too_many_devices_are_refused(void **state)
{
    char *text = malloc(1100 * 10), *at = text;

    (void)state;
    for (int i = 0; i < 1100; i++)
        at += sprintf(at, "GPU%d ", i);
    refuses(text, "line 1: more than 1024 devices");
    free(text);
}

static void each_prefix_is_read_or_refused(void **state)
{
    (void)state;
    walk_prefixes(&banyan_import_smi, "dgx1.smi");
    walk_prefixes(&banyan_import_smi, "a100.smi");
}

static void each_failed_allocation_is_clean(void **state)
{
    (void)state;
    walk_failures(&banyan_import_smi, "dgx1.smi");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cube_mesh_has_direct_nvlinks_and_a_pcie_tree),
        cmocka_unit_test(more_links_than_a_gpu_has_mean_an_nvswitch),
        cmocka_unit_test(the_old_spelling_is_read),
        cmocka_unit_test(one_gpu_is_one_worker),
        cmocka_unit_test(every_level_makes_its_own_place),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(too_many_devices_are_refused),
        cmocka_unit_test(each_prefix_is_read_or_refused),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
