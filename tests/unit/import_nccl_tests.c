/* SPDX-License-Identifier: Apache-2.0 */
/* nccl-tests' JSON: ranks, rates and times, and what is wrong with others. */
#include "import.h"

#include "topology/nccl_tests.h"

#define CONFIG "\"config\":{\"devices\":[{\"rank\":0,\"hostname\":\"a\"},{\"rank\":1,\"hostname\":\"a\"}]}"

static void refuses(const char *text, const char *sentence)
{
    expect_sentence(&banyan_import_nccl_tests, text, sentence);
}

static void ranks_hang_on_a_switch_with_the_best_bus_bandwidth(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_nccl_tests, "nccl-tests.json");

    (void)state;
    assert_int_equal(topology->worker_count, 4);
    assert_int_equal(topology->host_count, 2);
    assert_int_equal(topology->nodes[1].host, 0);
    assert_int_equal(topology->nodes[2].host, 1);
    assert_gigabytes(topology, "g3", "net", 161.061274);
    assert_true(topology->links[0].latency_s > 4.99e-6 && topology->links[0].latency_s < 5.01e-6);
    banyan_topology_destroy(topology);
}

static void rows_have_the_faster_of_both_times(void **state)
{
    size_t length;
    char *text = sample("nccl-tests.json", &length);
    banyan_nccl_tests *results;
    banyan_error err;

    (void)state;
    if (banyan_nccl_tests_parse(text, length, &results, &err))
        fail_msg("%s", err.text);
    assert_string_equal(results->program, "all_reduce_perf");
    assert_int_equal(results->row_count, 3);
    assert_true(results->rows[1].bytes == 1048576 && results->rows[1].seconds > 59.9e-6 &&
                results->rows[1].seconds < 60.1e-6);
    banyan_nccl_tests_destroy(results);
    banyan_free(text);
}

static void files_must_make_sense(void **state)
{
    (void)state;
    refuses("{}", "there is no array \"results\" of 1 to 65536 rows");
    refuses("{\"results\":[]}", "there is no array \"results\" of 1 to 65536 rows");
    refuses("{\"results\":[{}]}", "there are no \"devices\" in \"config\"");
    refuses("{\"config\":{\"devices\":[{}]},\"results\":[{}]}", "device 0 has no \"hostname\"");
    refuses("{\"config\":{\"ngpus\":70000,\"devices\":[{}]},\"results\":[{}]}",
            "there are not 1 to 65536 ranks");
    refuses("{" CONFIG ",\"results\":[{}]}", "row 0 of \"results\" has no \"size\"");
    refuses("{" CONFIG ",\"results\":[{\"size\":8,\"in_place\":null}]}", "no row of \"results\" has a time");
    refuses("{" CONFIG ",\"results\":[{\"size\":8,\"in_place\":{\"time\":\"nan\",\"bus_bw\":1}}]}",
            "no row of \"results\" has a time");
    refuses("{" CONFIG ",\"results\":[{\"size\":8,\"in_place\":{\"time\":3.5,\"bus_bw\":0}}]}",
            "no row has a bus bandwidth above zero: a run over 2 ranks tells no rates");
    refuses("{\"results\":[", "line 1, column 12: ']' expected near end of file");
}

static void each_prefix_is_read_or_refused(void **state)
{
    (void)state;
    walk_prefixes(&banyan_import_nccl_tests, "nccl-tests.json");
}

static void each_failed_allocation_is_clean(void **state)
{
    (void)state;
    walk_failures(&banyan_import_nccl_tests, "nccl-tests.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_hang_on_a_switch_with_the_best_bus_bandwidth),
        cmocka_unit_test(rows_have_the_faster_of_both_times),
        cmocka_unit_test(files_must_make_sense),
        cmocka_unit_test(each_prefix_is_read_or_refused),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
