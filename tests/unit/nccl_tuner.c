/* SPDX-License-Identifier: Apache-2.0 */
/* The tuner of the NCCL plugin: which entries of NCCL's table of costs it changes, in every version. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/interface.h"
#include "unit/test.h"

enum { ALGORITHMS = 7, PROTOCOLS = 3, RING = 1, ALLGATHER = 2 };

static const char uneven[] = "hosts:1+1+1+1,gbps=1,degrade=h2:0.5";

static const void *find_table(int version)
{
    void *library = dlopen(NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    char symbol[40];

    snprintf(symbol, sizeof symbol, "ncclTunerPlugin_v%d", version);
    assert_non_null(library);
    assert_non_null(dlsym(library, symbol));
    return dlsym(library, symbol);
}

/* Whether the tuner makes the chain the cheapest; everything else in the table must stay as it was. */
static int takes(int version, const char *network, size_t nodes, int function, size_t bytes, float chain_cost)
{
    const nccl_tuner_v6 *table =
        find_table(version); /* name, init, choose and the end are in the same places */
    float costs[ALGORITHMS][PROTOCOLS];
    void *context = NULL;
    int channels = 0, taken;

    setenv("BANYAN_TOPO", network, 1);
    if (version < 5)
        assert_int_equal(((const nccl_tuner_v4 *)(const void *)table)->init(nodes, nodes, NULL, &context), 0);
    else
        assert_int_equal(table->init(&context, 1, nodes, nodes, NULL, NULL, NULL), 0);
    for (int i = 0; i < ALGORITHMS * PROTOCOLS; i++)
        costs[i / PROTOCOLS][i % PROTOCOLS] = (float)(100 + i);
    costs[NCCL_ALGORITHM_COLLNET_CHAIN][NCCL_PROTOCOL_SIMPLE] = chain_cost;
    if (version == 3)
        assert_int_equal(((const nccl_tuner_v3 *)(const void *)table)
                             ->choose(context, function, bytes, 1, costs, ALGORITHMS, PROTOCOLS, &channels),
                         0);
    else
        assert_int_equal(
            table->choose(context, function, bytes, 1, costs, ALGORITHMS, PROTOCOLS, 0, &channels), 0);
    taken = costs[NCCL_ALGORITHM_COLLNET_CHAIN][NCCL_PROTOCOL_SIMPLE] != chain_cost;
    for (int i = 0; i < ALGORITHMS * PROTOCOLS; i++)
        if (i != NCCL_ALGORITHM_COLLNET_CHAIN * PROTOCOLS + NCCL_PROTOCOL_SIMPLE)
            assert_true(costs[i / PROTOCOLS][i % PROTOCOLS] == (float)(100 + i));
    assert_int_equal(channels, 0);
    assert_int_equal(table->finalize(context), 0);
    return taken;
}

TEST(uneven_networks_are_taken_in_every_version)
{
    for (int version = 3; version <= 6; version++)
        assert_true(takes(version, uneven, 4, NCCL_FUNCTION_ALLREDUCE, 64 << 20, 500));
}

TEST(what_nccl_has_ruled_out_stays_so)
{
    assert_false(takes(5, uneven, 4, NCCL_FUNCTION_ALLREDUCE, 64 << 20, -1));
}

TEST(other_collectives_are_left_alone)
{
    assert_false(takes(5, uneven, 4, ALLGATHER, 64 << 20, 500));
}

TEST(an_unknown_network_is_left_to_nccl)
{
    assert_false(takes(5, "", 4, NCCL_FUNCTION_ALLREDUCE, 64 << 20, 500));
    assert_false(takes(5, "probe", 4, NCCL_FUNCTION_ALLREDUCE, 64 << 20, 500));
    assert_false(takes(5, "no such network", 4, NCCL_FUNCTION_ALLREDUCE, 64 << 20, 500));
    assert_false(takes(5, uneven, 5, NCCL_FUNCTION_ALLREDUCE, 64 << 20, 500)); /* has four workers */
}

TEST(the_oldest_version_names_the_algorithm)
{
    const nccl_tuner_v2 *table = find_table(2);
    int algorithm = RING, protocol = 0, channels = 0;
    void *context = NULL;

    setenv("BANYAN_TOPO", uneven, 1);
    assert_int_equal(table->init(4, 4, NULL, &context), 0);
    assert_int_equal(
        table->choose(context, NCCL_FUNCTION_ALLREDUCE, 64 << 20, 0, 0, 1, &algorithm, &protocol, &channels),
        0);
    assert_int_equal(algorithm, RING); /* without CollNet */
    assert_int_equal(
        table->choose(context, NCCL_FUNCTION_ALLREDUCE, 64 << 20, 1, 0, 1, &algorithm, &protocol, &channels),
        0);
    assert_int_equal(algorithm, NCCL_ALGORITHM_COLLNET_CHAIN);
    assert_int_equal(protocol, NCCL_PROTOCOL_SIMPLE);
    assert_int_equal(table->destroy(context), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uneven_networks_are_taken_in_every_version),
        cmocka_unit_test(what_nccl_has_ruled_out_stays_so),
        cmocka_unit_test(other_collectives_are_left_alone),
        cmocka_unit_test(an_unknown_network_is_left_to_nccl),
        cmocka_unit_test(the_oldest_version_names_the_algorithm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
