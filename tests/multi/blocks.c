/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/blocks.c: memory in physical blocks, as PyTorch's expandable segments are, between two
 * processes, with a driver that stands in (tests/gpu/cuda_stand_in.c), or on a GPU where the program is run
 * without it. Rank 0 owns the memory, rank 1 maps it. */
#include "multi/jobs.h"

#include "device/driver.h"
#include "device/gpu.h"

enum { BLOCKS = 3, GRANULE = 2 << 20, WORDS = GRANULE / 4 };

typedef struct {
    banyan_device *device;
    const banyan_device_table *table;
    const banyan_driver *driver;
    void *stream;
} opened;

static int open_device(job_rank *self, opened *out)
{
    banyan_error err = {""};
    void *context;

    out->table = &banyan_device_table_cuda;
    out->driver = banyan_driver_cuda();
    EXPECT(!out->table->open(0, &out->device, &err), "%s", err.text);
    EXPECT(!out->driver->context_retain(&context, 0) && !out->driver->context_push(context), "no context");
    EXPECT(!out->table->stream_create(out->device, &out->stream, &err), "%s", err.text);
    return 0;
}

/* By way of the host. */
static int move(job_rank *self, opened *on, void *into, const void *from, size_t bytes)
{
    banyan_error err = {""};

    EXPECT(!on->table->copy(on->device, on->stream, into, from, bytes, &err), "%s", err.text);
    EXPECT(!on->table->synchronize(on->device, on->stream, &err), "%s", err.text);
    return 0;
}

static int put(job_rank *self, opened *on, uint64_t address, uint32_t first)
{
    static uint32_t words[WORDS];

    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = first + i;
    return move(self, on, (void *)(uintptr_t)address, words, sizeof words);
}

static int check(job_rank *self, opened *on, const char *memory, uint32_t first)
{
    static uint32_t words[WORDS];

    if (move(self, on, words, memory, sizeof words))
        return 1;
    for (uint32_t i = 0; i < WORDS; i++)
        EXPECT(words[i] == first + i, "word %u is %u, not %u", i, words[i], first + i);
    return 0;
}

static int map_new(job_rank *self, const opened *on, uint64_t address, int handle_types)
{
    banyan_driver_block wanted = {
        .type = BANYAN_DRIVER_PINNED, .handle_types = handle_types, .place = {BANYAN_DRIVER_ON_DEVICE, 0}};
    banyan_driver_access access = {{BANYAN_DRIVER_ON_DEVICE, 0}, BANYAN_DRIVER_READ_WRITE};
    uint64_t block = 0;

    EXPECT(!on->driver->block_create(&block, GRANULE, &wanted, 0), "no block");
    EXPECT(!on->driver->block_map(address, GRANULE, 0, block, 0), "the block is not mapped");
    EXPECT(!on->driver->block_release(block), "the block is not released");
    EXPECT(!on->driver->block_access(address, GRANULE, &access, 1), "no access");
    return 0;
}

static banyan_device_share *shared_of(job_rank *self)
{
    return (banyan_device_share *)(void *)self->memory->results[0];
}

static void step(job_rank *self, int number)
{
    atomic_store(&self->memory->step, number);
}

/* A vector from the middle of the first block to that of the last. */
static int share_all(job_rank *self, opened *on, uint64_t begin)
{
    banyan_device_share *share = shared_of(self);
    banyan_error err = {""};
    const char *vector = (const char *)(uintptr_t)begin + GRANULE / 2;

    EXPECT(!on->table->share(on->device, vector, (BLOCKS - 1) * (size_t)GRANULE, share, &err), "%s",
           err.text);
    EXPECT(share->block_count == BLOCKS && share->base == begin && share->bytes == BLOCKS * (uint64_t)GRANULE,
           "%u blocks of %llu bytes", share->block_count, (unsigned long long)share->bytes);
    return 0;
}

static int own(job_rank *self)
{
    banyan_error err = {""};
    banyan_device_share before, other;
    uint64_t begin, alone;
    opened on;

    if (open_device(self, &on))
        return 1;
    EXPECT(!on.driver->reserve(&begin, BLOCKS * (size_t)GRANULE, 0, 0, 0), "no addresses");
    for (uint32_t i = 0; i < BLOCKS; i++)
        if (map_new(self, &on, begin + i * (uint64_t)GRANULE, BANYAN_DRIVER_FILE_DESCRIPTOR) ||
            put(self, &on, begin + i * (uint64_t)GRANULE, i * 1000000))
            return 1;
    if (share_all(self, &on, begin))
        return 1;
    before = *shared_of(self);
    step(self, 1);
    job_wait_step(self->memory, 2); /* the other has written into the last block */
    if (check(self, &on, (const char *)(uintptr_t)(begin + 2 * (uint64_t)GRANULE), 7000000))
        return 1;
    /* Another block in the middle: what was told of the others stays true. */
    EXPECT(!on.driver->block_unmap(begin + GRANULE, GRANULE), "the block is not unmapped");
    EXPECT(on.table->share(on.device, (const char *)(uintptr_t)begin, 2 * (size_t)GRANULE, &other, &err) ==
               BANYAN_UNSUPPORTED,
           "a hole is shared");
    if (map_new(self, &on, begin + GRANULE, BANYAN_DRIVER_FILE_DESCRIPTOR) ||
        put(self, &on, begin + GRANULE, 8000000) || share_all(self, &on, begin))
        return 1;
    EXPECT(shared_of(self)->blocks[1].number != before.blocks[1].number,
           "the new block has the old one's number");
    EXPECT(shared_of(self)->blocks[0].number == before.blocks[0].number &&
               shared_of(self)->blocks[0].fd == before.blocks[0].fd,
           "the first block is another one");
    step(self, 3);
    EXPECT(!on.driver->reserve(&alone, GRANULE, 0, 0, 0), "no addresses");
    if (map_new(self, &on, alone, 0))
        return 1;
    EXPECT(on.table->share(on.device, (const void *)(uintptr_t)alone, 1, &other, &err) == BANYAN_UNSUPPORTED,
           "a block without a descriptor is shared");
    job_wait_step(self->memory, 4);
    return 0;
}

static int look(job_rank *self)
{
    banyan_device_regions *regions = NULL;
    banyan_device_share gone;
    banyan_error err = {""};
    void *mapped, *again;
    opened on;

    if (open_device(self, &on))
        return 1;
    job_wait_step(self->memory, 1);
    EXPECT(!on.table->map_blocks(on.device, &regions, shared_of(self), &mapped, &err), "%s", err.text);
    for (uint32_t i = 0; i < BLOCKS; i++)
        if (check(self, &on, (const char *)mapped + i * (size_t)GRANULE, i * 1000000))
            return 1;
    if (put(self, &on, (uint64_t)(uintptr_t)mapped + 2 * (uint64_t)GRANULE, 7000000))
        return 1;
    step(self, 2);
    job_wait_step(self->memory, 3);
    EXPECT(!on.table->map_blocks(on.device, &regions, shared_of(self), &again, &err), "%s", err.text);
    EXPECT(again == mapped, "the same memory is mapped elsewhere");
    if (check(self, &on, (const char *)mapped, 0) ||
        check(self, &on, (const char *)mapped + GRANULE, 8000000) ||
        check(self, &on, (const char *)mapped + 2 * (size_t)GRANULE, 7000000))
        return 1;
    gone = *shared_of(self);
    gone.blocks[1].number++;
    gone.blocks[1].fd = 1 << 20;
    EXPECT(on.table->map_blocks(on.device, &regions, &gone, &again, &err) == BANYAN_SYSTEM_ERROR &&
               strstr(err.text, "descriptor 1048576 of process"),
           "a descriptor that is not there: %s", err.text);
    on.table->unmap_blocks(on.device, regions);
    step(self, 4);
    return 0;
}

static int run(job_rank *self)
{
    int failed = self->rank ? look(self) : own(self);

    if (failed) /* the other shall not wait for long */
        step(self, 9);
    return failed;
}

TEST(blocks_that_lie_side_by_side_are_shared_as_one_vector)
{
    job_run(2, run);
}

static int alone(job_rank *self)
{
    banyan_device_share share;
    banyan_error err = {""};
    void *memory;
    opened on;

    if (open_device(self, &on))
        return 1;
    EXPECT(!on.table->alloc_block(on.device, 5 << 20, &memory, &err), "%s", err.text);
    EXPECT(!on.table->share(on.device, memory, 5 << 20, &share, &err), "%s", err.text);
    EXPECT(share.block_count == 1 && share.bytes == 6 << 20, "%u blocks of %llu bytes", share.block_count,
           (unsigned long long)share.bytes);
    on.table->free_block(on.device, memory);
    EXPECT(on.table->share(on.device, memory, 1, &share, &err) != BANYAN_SUCCESS, "freed memory is shared");
    return 0;
}

TEST(blocks_of_our_own_can_be_shared_until_they_are_freed)
{
    job_run(1, alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_lie_side_by_side_are_shared_as_one_vector),
        cmocka_unit_test(blocks_of_our_own_can_be_shared_until_they_are_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
