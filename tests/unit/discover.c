/* SPDX-License-Identifier: Apache-2.0 */
/* This machine, whatever it is, and recorded ones. */
#include "import.h"

/* On a machine without PCI, libpciaccess (which hwloc loads if it is there) leaks a few bytes. Its code is
 * gone when leaks are shown, so it is known by who called it, far up. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:hwloc_topology_load";
}

const char *__asan_default_options(void)
{
    return "fast_unwind_on_malloc=0";
}

static void this_machine_is_connected_and_has_one_host(void **state)
{
    banyan_topology *topology;
    banyan_error err;

    (void)state;
    if (banyan_topology_discover(&topology, &err))
        fail_msg("%s", err.text);
    assert_true(topology->worker_count >= 1);
    assert_int_equal(topology->host_count, 1);
    for (int i = 0; i < topology->worker_count; i++)
        assert_int_equal(topology->nodes[topology->workers[i]].host, 0);
    assert_int_equal(
        banyan_topology_check_connected(topology, topology->workers, topology->worker_count, &err),
        BANYAN_SUCCESS);
    banyan_topology_destroy(topology);
}

static void two_discoveries_are_the_same(void **state)
{
    banyan_topology *one, *two;
    char a[17], b[17];

    (void)state;
    assert_int_equal(banyan_topology_discover(&one, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_topology_discover(&two, NULL), BANYAN_SUCCESS);
    banyan_topology_digest(one, a);
    banyan_topology_digest(two, b);
    assert_string_equal(a, b);
    banyan_topology_destroy(one);
    banyan_topology_destroy(two);
}

/* Discovers a machine that lstopo recorded: hwloc reads it in place of this one. */
static banyan_topology *discover_sample(const char *name)
{
    char path[512];
    banyan_topology *topology;
    banyan_error err;

    snprintf(path, sizeof path, TEST_DATA "/data/import/%s", name);
    setenv("HWLOC_XMLFILE", path, 1);
    if (banyan_topology_discover(&topology, &err))
        fail_msg("%s", err.text);
    unsetenv("HWLOC_XMLFILE");
    return topology;
}

static void without_gpus_cores_are_workers_below_numa_nodes_and_packages(void **state)
{
    banyan_topology *topology = discover_sample("cores.hwloc.xml");

    (void)state;
    assert_int_equal(topology->worker_count, 8);
    assert_int_equal(topology->node_count, 8 + 4 + 2);
    assert_gigabytes(topology, "c0", "numa0", 10);
    assert_gigabytes(topology, "c7", "numa3", 10);
    assert_gigabytes(topology, "numa0", "pkg0", 40);
    assert_gigabytes(topology, "numa3", "pkg1", 40);
    assert_gigabytes(topology, "pkg0", "pkg1", 10);
    banyan_topology_destroy(topology);
}

static void gpus_hang_on_bridges_where_their_ways_part(void **state)
{
    banyan_topology *topology = discover_sample("gpus.hwloc.xml");

    (void)state;
    assert_int_equal(topology->worker_count, 3); /* the console's VGA chip is none */
    assert_int_equal(topology->node_count, 3 + 1 + 2);
    assert_gigabytes(topology, "g0", "pci0", 15.753846);
    assert_gigabytes(topology, "g1", "pci0", 15.753846);
    assert_gigabytes(topology, "pci0", "pkg0", 31.507692);
    assert_gigabytes(topology, "g2", "pkg1", 12); /* speed unknown */
    assert_gigabytes(topology, "g0", "g1", 50);
    assert_gigabytes(topology, "g0", "g2", 25);
    assert_gigabytes(topology, "g1", "g2", 0);
    assert_gigabytes(topology, "pkg0", "pkg1", 10);
    banyan_topology_destroy(topology);
}

static void where_hwloc_knows_nothing_processors_hang_on_one_switch(void **state)
{
    banyan_topology *topology = discover_sample("plain.csv"); /* hwloc can make nothing of it */
    const char *first;

    (void)state;
    assert_true(topology->worker_count >= 1);
    first = banyan_topology_node_name(topology, topology->workers[0]);
    if (first[0] == 'c') { /* it looked at this very machine then, which may have GPUs */
        assert_int_equal(topology->node_count, topology->worker_count + 1);
        assert_gigabytes(topology, "c0", "pkg0", 10);
    }
    banyan_topology_destroy(topology);
}

static void each_failed_allocation_is_clean(void **state)
{
    static const char *const names[] = {"gpus.hwloc.xml", "cores.hwloc.xml", "plain.csv"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        banyan_topology *topology = NULL;
        int failures = 0;
        char path[512];

        snprintf(path, sizeof path, TEST_DATA "/data/import/%s", names[i]);
        setenv("HWLOC_XMLFILE", path, 1);
        for (long calls = 0; !topology; calls++) {
            banyan_error err;

            banyan_alloc_fail_after(calls);
            if (banyan_topology_discover(&topology, &err)) {
                assert_string_equal(err.text, "out of memory");
                failures++;
            }
            banyan_alloc_fail_after(-1);
        }
        unsetenv("HWLOC_XMLFILE");
        assert_true(failures > 5);
        banyan_topology_destroy(topology);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_machine_is_connected_and_has_one_host),
        cmocka_unit_test(two_discoveries_are_the_same),
        cmocka_unit_test(without_gpus_cores_are_workers_below_numa_nodes_and_packages),
        cmocka_unit_test(gpus_hang_on_bridges_where_their_ways_part),
        cmocka_unit_test(where_hwloc_knows_nothing_processors_hang_on_one_switch),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
