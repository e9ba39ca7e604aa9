/* SPDX-License-Identifier: Apache-2.0 */
/* The declarations of NCCL's interface lie in memory as docs/nccl-interface.md says that NCCL's do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/interface.h"
#include "unit/test.h"

typedef struct {
    const char *type; /* NCCL's name */
    size_t bytes;
    size_t offsets[32];
    int count;
} layout;

#define AT(type, member) offsetof(type, member)
#define COMMON(type) AT(type, name), AT(type, pci_path), AT(type, guid), AT(type, memory_kinds)
#define SINCE_9(type)                                                                                        \
    COMMON(type), AT(type, registers_globally), AT(type, needs_flush), AT(type, speed_mbps), AT(type, port), \
        AT(type, latency_us), AT(type, most_comms), AT(type, most_receives), AT(type, offload),              \
        AT(type, offload_version), AT(type, part_count), AT(type, parts), AT(type, most_send_bytes),         \
        AT(type, most_collective_bytes)
#define NET(type)                                                                                            \
    AT(type, name), AT(type, init), AT(type, devices), AT(type, properties), AT(type, listen),               \
        AT(type, connect), AT(type, accept), AT(type, register_memory), AT(type, register_dmabuf),           \
        AT(type, deregister_memory), AT(type, send), AT(type, receive), AT(type, flush), AT(type, test),     \
        AT(type, close_send), AT(type, close_receive), AT(type, close_listen)
#define COLLNET_BEGIN(type)                                                                                  \
    AT(type, name), AT(type, init), AT(type, devices), AT(type, properties), AT(type, listen),               \
        AT(type, connect), AT(type, supports), AT(type, register_memory), AT(type, register_dmabuf),         \
        AT(type, deregister_memory), AT(type, allreduce)
#define COLLNET_END(type) AT(type, flush), AT(type, test), AT(type, close_comm), AT(type, close_listen)

static const layout layouts[] = {
    {"ncclNetProperties_v6_t",
     sizeof(nccl_properties_v6),
     {COMMON(nccl_properties_v6), AT(nccl_properties_v6, speed_mbps), AT(nccl_properties_v6, port),
      AT(nccl_properties_v6, latency_us), AT(nccl_properties_v6, most_comms),
      AT(nccl_properties_v6, most_receives)},
     9},
    {"ncclNetProperties_v7_t",
     sizeof(nccl_properties_v7),
     {COMMON(nccl_properties_v7), AT(nccl_properties_v7, speed_mbps), AT(nccl_properties_v7, port),
      AT(nccl_properties_v7, latency_us), AT(nccl_properties_v7, most_comms),
      AT(nccl_properties_v7, most_receives), AT(nccl_properties_v7, offload),
      AT(nccl_properties_v7, offload_version)},
     11},
    {"ncclNetProperties_v8_t",
     sizeof(nccl_properties_v8),
     {COMMON(nccl_properties_v8), AT(nccl_properties_v8, registers_globally),
      AT(nccl_properties_v8, speed_mbps), AT(nccl_properties_v8, port), AT(nccl_properties_v8, latency_us),
      AT(nccl_properties_v8, most_comms), AT(nccl_properties_v8, most_receives),
      AT(nccl_properties_v8, offload), AT(nccl_properties_v8, offload_version)},
     12},
    {"ncclNetProperties_v9_t", sizeof(nccl_properties_v9), {SINCE_9(nccl_properties_v9)}, 17},
    {"ncclNetProperties_v11_t",
     sizeof(nccl_properties_v11),
     {SINCE_9(nccl_properties_v11), AT(nccl_properties_v11, most_requests_at_once)},
     18},
    {"ncclNetProperties_v12_t",
     sizeof(nccl_properties_v12),
     {SINCE_9(nccl_properties_v12), AT(nccl_properties_v12, most_requests_at_once),
      AT(nccl_properties_v12, rail), AT(nccl_properties_v12, plane)},
     20},
    {"ncclNet_v6_t", sizeof(nccl_net_v6), {NET(nccl_net_v6)}, 17},
    {"ncclNet_v7_t",
     sizeof(nccl_net_v7),
     {NET(nccl_net_v7), AT(nccl_net_v7, device_memory), AT(nccl_net_v7, consumed)},
     19},
    {"ncclNet_v8_t",
     sizeof(nccl_net_v8),
     {NET(nccl_net_v8), AT(nccl_net_v8, device_memory), AT(nccl_net_v8, consumed)},
     19},
    {"ncclNet_v9_t",
     sizeof(nccl_net_v9),
     {NET(nccl_net_v9), AT(nccl_net_v9, device_memory), AT(nccl_net_v9, consumed),
      AT(nccl_net_v9, make_device)},
     20},
    {"ncclNet_v10_t",
     sizeof(nccl_net_v10),
     {NET(nccl_net_v10), AT(nccl_net_v10, device_memory), AT(nccl_net_v10, consumed),
      AT(nccl_net_v10, make_device)},
     20},
    {"ncclNet_v11_t",
     sizeof(nccl_net_v11),
     {NET(nccl_net_v11), AT(nccl_net_v11, device_memory), AT(nccl_net_v11, consumed),
      AT(nccl_net_v11, make_device), AT(nccl_net_v11, finalize), AT(nccl_net_v11, set_attributes)},
     22},
    {"ncclNet_v12_t",
     sizeof(nccl_net_v12),
     {NET(nccl_net_v12), AT(nccl_net_v12, device_memory), AT(nccl_net_v12, consumed),
      AT(nccl_net_v12, make_device), AT(nccl_net_v12, finalize), AT(nccl_net_v12, set_attributes)},
     22},
    {"ncclCollNet_v6_t",
     sizeof(nccl_collnet_v6),
     {COLLNET_BEGIN(nccl_collnet_v6), COLLNET_END(nccl_collnet_v6)},
     15},
    {"ncclCollNet_v7_t",
     sizeof(nccl_collnet_v7),
     {COLLNET_BEGIN(nccl_collnet_v7), COLLNET_END(nccl_collnet_v7)},
     15},
    {"ncclCollNet_v8_t",
     sizeof(nccl_collnet_v8),
     {COLLNET_BEGIN(nccl_collnet_v8), AT(nccl_collnet_v8, gather), AT(nccl_collnet_v8, scatter),
      COLLNET_END(nccl_collnet_v8)},
     17},
    {"ncclCollNet_v9_t",
     sizeof(nccl_collnet_v9),
     {COLLNET_BEGIN(nccl_collnet_v9), AT(nccl_collnet_v9, gather), AT(nccl_collnet_v9, scatter),
      COLLNET_END(nccl_collnet_v9), AT(nccl_collnet_v9, make_device)},
     18},
    {"ncclCollNet_v10_t",
     sizeof(nccl_collnet_v9),
     {COLLNET_BEGIN(nccl_collnet_v9), AT(nccl_collnet_v9, gather), AT(nccl_collnet_v9, scatter),
      COLLNET_END(nccl_collnet_v9), AT(nccl_collnet_v9, make_device)},
     18},
    {"ncclCollNet_v11_t",
     sizeof(nccl_collnet_v11),
     {COLLNET_BEGIN(nccl_collnet_v11), AT(nccl_collnet_v11, gather), AT(nccl_collnet_v11, scatter),
      COLLNET_END(nccl_collnet_v11), AT(nccl_collnet_v11, make_device), AT(nccl_collnet_v11, finalize)},
     19},
    {"ncclCollNet_v12_t",
     sizeof(nccl_collnet_v12),
     {COLLNET_BEGIN(nccl_collnet_v12), AT(nccl_collnet_v12, gather), AT(nccl_collnet_v12, scatter),
      COLLNET_END(nccl_collnet_v12), AT(nccl_collnet_v12, make_device), AT(nccl_collnet_v12, finalize)},
     19},
    {"ncclNetSGE_v8_t",
     sizeof(nccl_part_v8),
     {AT(nccl_part_v8, memory), AT(nccl_part_v8, address), AT(nccl_part_v8, bytes)},
     3},
    {"ncclNetSGE_v9_t",
     sizeof(nccl_part),
     {AT(nccl_part, memory), AT(nccl_part, address), AT(nccl_part, bytes)},
     3},
    {"ncclTuner_v2_t",
     sizeof(nccl_tuner_v2),
     {AT(nccl_tuner_v2, name), AT(nccl_tuner_v2, init), AT(nccl_tuner_v2, choose),
      AT(nccl_tuner_v2, destroy)},
     4},
    {"ncclTuner_v3_t",
     sizeof(nccl_tuner_v3),
     {AT(nccl_tuner_v3, name), AT(nccl_tuner_v3, init), AT(nccl_tuner_v3, choose),
      AT(nccl_tuner_v3, destroy)},
     4},
    {"ncclTuner_v4_t",
     sizeof(nccl_tuner_v4),
     {AT(nccl_tuner_v4, name), AT(nccl_tuner_v4, init), AT(nccl_tuner_v4, choose),
      AT(nccl_tuner_v4, destroy)},
     4},
    {"ncclTuner_v5_t",
     sizeof(nccl_tuner_v5),
     {AT(nccl_tuner_v5, name), AT(nccl_tuner_v5, init), AT(nccl_tuner_v5, choose),
      AT(nccl_tuner_v5, finalize)},
     4},
    {"ncclTuner_v6_t",
     sizeof(nccl_tuner_v6),
     {AT(nccl_tuner_v6, name), AT(nccl_tuner_v6, init), AT(nccl_tuner_v6, choose),
      AT(nccl_tuner_v6, finalize), AT(nccl_tuner_v6, chunk_bytes)},
     5},
};

/* The row's numbers in order: the size, then each member's offset; -1 when there is no such row. */
static int read_row(const char *page, const char *type, size_t *numbers, int room)
{
    char begin[64];
    const char *row, *end;
    int count = 0;

    snprintf(begin, sizeof begin, "| `%s` |", type);
    row = strstr(page, begin);
    if (!row)
        return -1;
    end = strchr(row, '\n');
    for (const char *at = row + strlen(begin); at < end && count < room; at++)
        if (*at == ' ' && at[1] >= '0' && at[1] <= '9')
            numbers[count++] = strtoul(at + 1, NULL, 10);
    return count;
}

static char *load_page(void)
{
    FILE *file = fopen(TEST_DATA "/../docs/nccl-interface.md", "r");
    char *text = calloc(1, 1 << 20);

    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

TEST(every_structure_lies_in_memory_as_the_manual_says)
{
    char *page = load_page();

    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const layout *l = &layouts[i];
        size_t numbers[40] = {0};
        int count = read_row(page, l->type, numbers, 40);

        if (count != l->count + 1 || numbers[0] != l->bytes)
            fail_msg("%s: the page has %d numbers and size %zu, the code %d members and size %zu", l->type,
                     count, count > 0 ? numbers[0] : 0, l->count, l->bytes);
        for (int k = 0; k < l->count; k++)
            if (numbers[k + 1] != l->offsets[k])
                fail_msg("%s: member %d is at %zu in the page, at %zu in the code", l->type, k,
                         numbers[k + 1], l->offsets[k]);
    }
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_structure_lies_in_memory_as_the_manual_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
