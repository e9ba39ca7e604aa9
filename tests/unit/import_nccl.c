/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's and RCCL's XML: sample machines, defaults, and what is wrong with others. */
#include "import.h"

static void refuses(const char *text, const char *sentence)
{
    expect_sentence(&banyan_import_nccl, text, sentence);
}

static void a_cube_mesh_is_read_with_its_tree_and_its_nvlinks(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_nccl, "dgx1.xml");

    (void)state;
    assert_int_equal(topology->worker_count, 8);
    assert_int_equal(topology->host_count, 1);
    assert_int_equal(topology->node_count, 8 + 2 + 4 + 4);
    assert_int_equal(topology->link_count, 2 * (16 + 8 + 4 + 4 + 1));
    assert_gigabytes(topology, "g0", "g3", 40);
    assert_gigabytes(topology, "g0", "g1", 20);
    assert_gigabytes(topology, "g0", "g5", 0);
    assert_gigabytes(topology, "g0", "pci0", 12);
    assert_gigabytes(topology, "nic0", "pci0", 12);
    assert_gigabytes(topology, "pci0", "cpu0", 12);
    assert_gigabytes(topology, "cpu0", "cpu1", 6);
    assert_int_equal(banyan_topology_check_connected(topology, topology->workers, 8, NULL), BANYAN_SUCCESS);
    banyan_topology_destroy(topology);
}

static void all_nvswitches_are_one_switch(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_nccl, "dgx2.xml");

    (void)state;
    assert_int_equal(topology->worker_count, 16);
    assert_gigabytes(topology, "g0", "nvswitch", 120);
    assert_gigabytes(topology, "g15", "nvswitch", 120);
    assert_gigabytes(topology, "cpu0", "cpu1", 10);
    banyan_topology_destroy(topology);
}

static void workers_follow_ranks_and_useless_devices_are_left_out(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_nccl, "two-sockets.xml");

    (void)state;
    assert_int_equal(topology->worker_count, 4);
    assert_int_equal(topology->node_count, 4 + 2 + 1 + 1);
    assert_gigabytes(topology, "g3", "cpu0", 24);
    assert_gigabytes(topology, "g1", "cpu0", 12); /* speed and width unknown */
    assert_gigabytes(topology, "g0", "pci0", 12); /* eight lanes of generation 4 */
    assert_gigabytes(topology, "g2", "pci0", 12);
    assert_gigabytes(topology, "nic0", "cpu1", 5000);
    assert_gigabytes(topology, "cpu0", "cpu1", 24);
    banyan_topology_destroy(topology);
}

static void hosts_differ_in_their_hash_and_meet_in_one_network(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_nccl, "two-hosts.xml");
    int port;

    (void)state;
    assert_int_equal(topology->worker_count, 2);
    assert_int_equal(topology->host_count, 2);
    assert_int_equal(topology->nodes[1].host, 1);
    assert_gigabytes(topology, "nic0", "net", 50);
    assert_gigabytes(topology, "nic1", "net", 50);
    assert_gigabytes(topology, "g0", "h0cpu0", 48 + 447.12);
    assert_gigabytes(topology, "h0cpu0", "h1cpu0", 0);
    port = banyan_topology_find_link(topology, banyan_topology_find_node(topology, "nic0"),
                                     banyan_topology_find_node(topology, "net"));
    assert_true(topology->links[port].latency_s > 2.8e-6 && topology->links[port].latency_s < 2.9e-6);
    assert_int_equal(banyan_topology_check_connected(topology, topology->workers, 2, NULL), BANYAN_SUCCESS);
    banyan_topology_destroy(topology);
}

static void several_systems_are_several_hosts(void **state)
{
    const char *host =
        "<system version='1'><cpu numaid='0' arch='x86_64'>"
        "<pci busid='1:0' class='0x0302' link_speed='8 GT/s' link_width='16'><gpu dev='0' rank='0' sm='80'>"
        "<nvlink target='9:0' count='4' tclass='0x068000'/></gpu></pci>"
        "<nic><net dev='0' speed='100000'/></nic></cpu></system>";
    char text[1000];
    banyan_topology *topology;

    (void)state;
    snprintf(text, sizeof text, "<systems>%s%s</systems>", host, host);
    topology = import_text(&banyan_import_nccl, text, strlen(text));
    assert_int_equal(topology->worker_count, 2);
    assert_int_equal(topology->host_count, 2);
    assert_gigabytes(topology, "g0", "nvswitch0", 80);
    assert_gigabytes(topology, "g1", "nvswitch1", 80);
    assert_gigabytes(topology, "nic1", "net", 12.5);
    banyan_topology_destroy(topology);
}

static void xgmi_is_read_with_amds_rates(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_nccl, "xgmi.xml");

    (void)state;
    assert_int_equal(topology->worker_count, 4);
    assert_gigabytes(topology, "g0", "g1", 72);
    assert_gigabytes(topology, "g0", "g2", 36);
    assert_gigabytes(topology, "g0", "cpu0", 24);
    banyan_topology_destroy(topology);
}

static void files_for_virtual_machines_have_no_gpu_elements(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_nccl, "virtual.xml");

    (void)state;
    assert_int_equal(topology->worker_count, 2);
    assert_gigabytes(topology, "g0", "pci0", 24);
    assert_gigabytes(topology, "g1", "pci0", 24);
    assert_gigabytes(topology, "nic0", "pci0", 24);
    banyan_topology_destroy(topology);
}

/* A machine of two GPUs with something in the first GPU's place. */
static void with_two_gpus(char *text, size_t size, const char *inside)
{
    snprintf(text, size,
             "<system><cpu numaid='0'>\n"
             "<pci busid='0:1' class='0x0302'><gpu dev='0' sm='90'>%s</gpu></pci>\n"
             "<pci busid='0:2' class='0x0302'><gpu dev='1' sm='90'/></pci>\n"
             "</cpu></system>\n",
             inside);
}

static void links_told_by_one_end_lead_both_ways(void **state)
{
    banyan_topology *topology;
    char text[1000];

    (void)state;
    with_two_gpus(text, sizeof text, "<nvlink target='0:2' count='3'/><nvlink target='0:2' count='1'/>");
    topology = import_text(&banyan_import_nccl, text, strlen(text));
    assert_gigabytes(topology, "g0", "g1", 4 * 20.6);
    banyan_topology_destroy(topology);
}

static void links_to_gpus_outside_are_ignored(void **state)
{
    banyan_topology *topology;
    char text[1000];

    (void)state;
    with_two_gpus(text, sizeof text, "<nvlink target='0:7' count='3' tclass='0x030200'/>");
    topology = import_text(&banyan_import_nccl, text, strlen(text));
    assert_int_equal(topology->link_count, 4);
    banyan_topology_destroy(topology);
}

static void a_link_to_the_cpu_is_a_link_to_the_cpu(void **state)
{
    banyan_topology *topology;
    char text[1000];

    (void)state;
    with_two_gpus(text, sizeof text, "<nvlink target='0004:04:00.0' count='2' tclass='0x068001'/>");
    topology = import_text(&banyan_import_nccl, text, strlen(text));
    assert_gigabytes(topology, "g0", "cpu0", 12 + 41.2);
    banyan_topology_destroy(topology);
}

static void gpus_on_one_card_share_its_links(void **state)
{
    const char *text = "<system><cpu numaid='0'>"
                       "<pci busid='0:1'><gpu dev='0' rank='0' sm='80'><nvlink target='0:2' count='2'/></gpu>"
                       "<gpu dev='0' rank='1' sm='80'><nvlink target='0:2' count='2'/></gpu></pci>"
                       "<pci busid='0:2'><gpu dev='1' rank='2' sm='80'/></pci></cpu></system>";
    banyan_topology *topology = import_text(&banyan_import_nccl, text, strlen(text));

    (void)state;
    assert_int_equal(topology->worker_count, 3);
    assert_gigabytes(topology, "g0", "pci0", 5000);
    assert_gigabytes(topology, "g1", "pci0", 5000);
    assert_gigabytes(topology, "pci0", "g2", 40);
    assert_gigabytes(topology, "pci0", "cpu0", 12);
    banyan_topology_destroy(topology);
}

static void the_two_levels_of_a_broadcom_switch_are_one(void **state)
{
    const char *text = "<system><cpu numaid='0'>"
                       "<pci busid='0:1' class='0x060400' vendor='0x1000' device='0xc010' "
                       "subsystem_vendor='0x1000' subsystem_device='0xa096'>"
                       "<pci busid='0:2' class='0x060400' vendor='0x1000' device='0xc010' "
                       "subsystem_vendor='0x1000' subsystem_device='0xa096'>"
                       "<pci busid='0:3'><gpu dev='0' sm='80'/></pci></pci>"
                       "<pci busid='0:4'><gpu dev='1' sm='80'/></pci></pci></cpu></system>";
    banyan_topology *topology = import_text(&banyan_import_nccl, text, strlen(text));

    (void)state;
    assert_gigabytes(topology, "g0", "pci0", 12);
    assert_gigabytes(topology, "g1", "pci0", 12);
    assert_int_equal(topology->node_count, 4);
    banyan_topology_destroy(topology);
}

static void pcilinks_join_bridges(void **state)
{
    const char *text =
        "<system><cpu numaid='0'>"
        "<pci busid='0:1' class='0x060400'><pcilink target='0:2'/><pci busid='0:3'><gpu dev='0'/></pci></pci>"
        "<pci busid='0:2' class='0x060400'><pcilink target='0:1'/><pci busid='0:4'><gpu dev='1'/></pci></pci>"
        "</cpu></system>";
    banyan_topology *topology = import_text(&banyan_import_nccl, text, strlen(text));

    (void)state;
    assert_gigabytes(topology, "pci0", "pci1", 5000);
    banyan_topology_destroy(topology);
}

static void files_that_are_no_system_are_refused(void **state)
{
    (void)state;
    refuses("", "the file is empty");
    refuses("rubbish", "line 1: syntax error");
    refuses("<graph/>", "line 1: expected <system>, not <graph>");
    refuses("<system version='1'>\n</system>", "there is no GPU in the file");
    refuses("<system>\n<cpu numaid='0'>\n", "line 3: no element found");
    refuses("<systems><cpu numaid='0'><pci busid='0:1'><gpu dev='0'/></pci></cpu></systems>",
            "there is no GPU in the file");
    refuses("<!DOCTYPE x><system/>", "line 1: a DOCTYPE is not allowed");
}

static void refuses_gpu(const char *inside, const char *sentence)
{
    char text[1000];

    with_two_gpus(text, sizeof text, inside);
    refuses(text, sentence);
}

static void bad_links_are_refused(void **state)
{
    (void)state;
    refuses_gpu("<nvlink target='0:2'/>", "line 2: <nvlink> lacks the attribute count");
    refuses_gpu("<nvlink target='0:2' count='0'/>",
                "line 2: count=\"0\" of <nvlink> is not an integer from 1 to 4096");
    refuses_gpu("<nvlink target='0:2' count='-3'/>",
                "line 2: count=\"-3\" of <nvlink> is not an integer from 1 to 4096");
    refuses_gpu("<nvlink target='0:2' count='99999999999999999999'/>",
                "line 2: count=\"99999999999999999999\" of <nvlink> is not an integer from 1 to 4096");
    refuses_gpu("<nvlink count='1'/>", "line 2: <nvlink> lacks the attribute target");
    refuses_gpu("<nvlink count='1' target='where?'/>", "line 2: target=\"where?\" is not a PCI address");
    refuses_gpu("<nvlink count='1' target='0:1'/>", "line 2: the link leads to the GPU that it comes from");
    refuses_gpu("<c2c count='1' bw='0'/>",
                "line 2: bw=\"0\" of <c2c> is not an integer from 1 to 2147483647");
    refuses_gpu("<c2c count='1' bw='nan'/>",
                "line 2: bw=\"nan\" of <c2c> is not an integer from 1 to 2147483647");
}

static void bad_devices_are_refused(void **state)
{
    (void)state;
    refuses("<system><cpu numaid='0'>\n<pci class='0x0302'><gpu dev='0'/></pci></cpu></system>",
            "line 2: <pci> lacks the attribute busid");
    refuses(
        "<system><cpu numaid='0'>\n<pci busid='0:1'><gpu dev='0'/></pci>\n<pci busid='0:1'/></cpu></system>",
        "line 3: the busid is that of line 2 already");
    refuses("<system><cpu numaid='0'>\n<pci busid='0:1'><gpu rank='3'/></pci>\n"
            "<pci busid='0:2'><gpu rank='3'/></pci></cpu></system>",
            "line 3: rank 3 is that of line 2 already");
    refuses("<system><cpu numaid='0'>\n<pci busid='0:1'><gpu rank='1e9'/></pci></cpu></system>",
            "line 2: rank=\"1e9\" of <gpu> is not an integer from -1 to 2147483647");
    refuses("<system><cpu numaid='0'>\n<pci busid='0:1' link_width='x4'><gpu dev='0'/></pci></cpu></system>",
            "line 2: link_width=\"x4\" of <pci> is not an integer from 0 to 255");
    refuses(
        "<system><cpu numaid='0'>\n<pci busid='0:1' link_speed='-8 GT/s'><gpu dev='0'/></pci></cpu></system>",
        "line 2: link_speed=\"-8 GT/s\" is not a PCIe speed such as 8 GT/s");
    refuses("<system><cpu numaid='0'>\n<pci busid='0:1' link_speed='nan GT/s'><gpu "
            "dev='0'/></pci></cpu></system>",
            "line 2: link_speed=\"nan GT/s\" is not a PCIe speed such as 8 GT/s");
    refuses("<system><cpu numaid='0'><pci busid='0:1'><gpu dev='0'/></pci></cpu>\n<cpu numaid='0'/></system>",
            "line 2: the NUMA node 0 of this host is there already");
    refuses("<system><cpu numaid='zero'><pci busid='0:1'><gpu dev='0'/></pci></cpu></system>",
            "line 1: numaid=\"zero\" of <cpu> is not an integer from -1 to 2147483647");
    refuses("<system><cpu numaid='0'><pci busid='0:1'><gpu dev='0'/></pci>\n<nic><net dev='0' "
            "speed='-5'/></nic></cpu></system>",
            "line 2: speed=\"-5\" of <net> is not an integer from -1 to 2147483647");
    refuses("<system><cpu numaid='0'><pci busid='0:1'><gpu dev='0'/></pci>\n<nic><net dev='0' "
            "latency='inf'/></nic></cpu></system>",
            "line 2: latency=\"inf\" is not a number of microseconds");
}

/* As many times one text as it takes, between two others. */
static char *repeat(const char *before, const char *format, int count, const char *after)
{
    char *text = malloc(strlen(before) + strlen(after) + (size_t)count * (strlen(format) + 24) + 1),
         *at = text;

    at += sprintf(at, "%s", before);
    for (int i = 0; i < count; i++) {
        const char *mark = strchr(format, '@');

        at += sprintf(at, "%.*s%d%s", (int)(mark - format), format, i, mark + 1);
    }
    sprintf(at, "%s", after);
    return text;
}

static void counts_are_capped(void **state)
{
    char *text = repeat("<system><cpu numaid='0'>", "<pci busid='@'><gpu/></pci>", 65537, "</cpu></system>");

    (void)state;
    refuses(text, "more than 65536 GPUs");
    free(text);
    text = repeat("<system><cpu numaid='0'><pci busid='a1'><gpu/></pci></cpu>", "<cpu numaid='9@'/>", 5000,
                  "</system>");
    refuses(text, "line 1: more than 4096 CPUs");
    free(text);
    text = repeat("<system><cpu numaid='0'><pci busid='a1'><gpu/></pci>", "<nic a='@'/>", 65537,
                  "</cpu></system>");
    refuses(text, "line 1: more than 65536 nodes");
    free(text);
}

static void deep_files_are_read_as_fast_as_wide_ones(void **state)
{
    enum { DEPTH = 60000 };
    char *text = malloc(DEPTH * 64), *at = text;
    banyan_topology *topology;

    (void)state;
    at += sprintf(at, "<system><cpu numaid='0'>");
    for (int i = 0; i < DEPTH; i++)
        at += sprintf(at, "<pci busid='%x' class='0x060400'>", i);
    at += sprintf(at, "<pci busid='fffff'><gpu/></pci>");
    for (int i = 0; i < DEPTH; i++)
        at += sprintf(at, "</pci>");
    sprintf(at, "</cpu></system>");
    topology = import_text(&banyan_import_nccl, text, strlen(text));
    assert_int_equal(topology->node_count, DEPTH + 2);
    banyan_topology_destroy(topology);
    free(text);
}

static void each_prefix_is_read_or_refused(void **state)
{
    (void)state;
    walk_prefixes(&banyan_import_nccl, "two-sockets.xml");
    walk_prefixes(&banyan_import_nccl, "two-hosts.xml");
}

static void each_failed_allocation_is_clean(void **state)
{
    (void)state;
    walk_failures(&banyan_import_nccl, "dgx1.xml");
    walk_failures(&banyan_import_nccl, "two-hosts.xml");
    walk_failures(&banyan_import_nccl, "dgx2.xml");
}

static void importers_are_found_by_name_and_by_content(void **state)
{
    static const char *const samples[][2] = {{"dgx1.xml", "nccl"},
                                             {"a100.smi", "smi"},
                                             {"tree.conf", "slurm"},
                                             {"names.csv", "matrix"},
                                             {"tree.yaml", "slurm-yaml"},
                                             {"topograph.json", "topograph"},
                                             {"ring.rocm", "rocm"},
                                             {"fabric.ibnet", "ibnetdiscover"},
                                             {"nccl-tests.json", "nccl-tests"}};
    const int count = (int)(sizeof samples / sizeof *samples);

    (void)state;
    assert_int_equal(banyan_importer_count(), count);
    assert_null(banyan_importer_at(count));
    assert_null(banyan_importer_at(-1));
    assert_null(banyan_importer_find("gopher"));
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        size_t length;
        char *text = sample(samples[i][0], &length);
        int at = 0;

        while (at < banyan_importer_count() && !banyan_importer_at(at)->looks_like(text, length))
            at++;
        assert_string_equal(banyan_importer_at(at)->name, samples[i][1]);
        assert_ptr_equal(banyan_importer_find(samples[i][1]), banyan_importer_at(at));
        banyan_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cube_mesh_is_read_with_its_tree_and_its_nvlinks),
        cmocka_unit_test(all_nvswitches_are_one_switch),
        cmocka_unit_test(workers_follow_ranks_and_useless_devices_are_left_out),
        cmocka_unit_test(hosts_differ_in_their_hash_and_meet_in_one_network),
        cmocka_unit_test(several_systems_are_several_hosts),
        cmocka_unit_test(xgmi_is_read_with_amds_rates),
        cmocka_unit_test(files_for_virtual_machines_have_no_gpu_elements),
        cmocka_unit_test(links_told_by_one_end_lead_both_ways),
        cmocka_unit_test(links_to_gpus_outside_are_ignored),
        cmocka_unit_test(a_link_to_the_cpu_is_a_link_to_the_cpu),
        cmocka_unit_test(gpus_on_one_card_share_its_links),
        cmocka_unit_test(the_two_levels_of_a_broadcom_switch_are_one),
        cmocka_unit_test(pcilinks_join_bridges),
        cmocka_unit_test(files_that_are_no_system_are_refused),
        cmocka_unit_test(bad_links_are_refused),
        cmocka_unit_test(bad_devices_are_refused),
        cmocka_unit_test(counts_are_capped),
        cmocka_unit_test(deep_files_are_read_as_fast_as_wide_ones),
        cmocka_unit_test(each_prefix_is_read_or_refused),
        cmocka_unit_test(each_failed_allocation_is_clean),
        cmocka_unit_test(importers_are_found_by_name_and_by_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
