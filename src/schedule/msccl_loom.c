/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_loom.c: which waits of a step must be written.
 *
 * A wait costs a step time, and each beyond the first costs a nop. It is not needed where the order of the
 * block, the message that the step receives, or another of its waits already tells as much. So every step
 * has a clock with one hand for each block, as in verify/msccl_races.c. For very large programs, where the
 * clocks would take too much memory, we only look whether the block has waited for as much before. */
#include "schedule/msccl_loom.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

#define CLOCK_ENTRIES ((size_t)1 << 24)

banyan_status banyan_msccl_loom_init(banyan_msccl_loom *loom, const banyan_msccl_lanes *lanes, int max_steps,
                                     banyan_error *err)
{
    size_t blocks = (size_t)lanes->block_count, steps = 2 * (size_t)lanes->part_count + 1;

    *loom = (banyan_msccl_loom){.lanes = lanes, .max_steps = max_steps};
    loom->step_counts = banyan_alloc(blocks, sizeof *loom->step_counts);
    loom->last_step = banyan_alloc(blocks, sizeof *loom->last_step);
    loom->wanted = banyan_alloc(blocks, sizeof *loom->wanted);
    if (blocks <= CLOCK_ENTRIES / steps) {
        loom->clocks = banyan_alloc(blocks, sizeof *loom->clocks);
        loom->clock_capacity = 1;
    }
    if (loom->step_counts && loom->last_step && loom->wanted && (loom->clocks || !loom->clock_capacity))
        return BANYAN_SUCCESS;
    banyan_msccl_loom_fini(loom);
    return banyan_fail_memory(err);
}

void banyan_msccl_loom_fini(banyan_msccl_loom *loom)
{
    banyan_free(loom->steps);
    banyan_free(loom->previous);
    banyan_free(loom->step_counts);
    banyan_free(loom->last_step);
    banyan_free(loom->wanted);
    banyan_free(loom->clocks);
    *loom = (banyan_msccl_loom){0};
}

void banyan_msccl_loom_want(banyan_msccl_loom *loom, banyan_msccl_place place)
{
    for (int i = 0; i < loom->wanted_count; i++)
        if (loom->wanted[i].block == place.block) {
            if (loom->wanted[i].number < place.number)
                loom->wanted[i] = place;
            return;
        }
    loom->wanted[loom->wanted_count++] = place;
}

static int *clock_of(const banyan_msccl_loom *loom, int step)
{
    return loom->clocks + (size_t)step * (size_t)loom->lanes->block_count;
}

/* Whether the step, being done, tells that the place is. */
static int tells(const banyan_msccl_loom *loom, int step, const banyan_msccl_place *place)
{
    return step >= 0 && loom->clocks && clock_of(loom, step)[place->block] > place->number;
}

static int has_waited(const banyan_msccl_loom *loom, int block, const banyan_msccl_place *place)
{
    int id = loom->lanes->block_id[place->block];

    if (loom->clocks)
        return tells(loom, loom->last_step[block] - 1, place);
    for (int i = loom->last_step[block] - 1; i >= 0; i = loom->previous[i])
        if (loom->steps[i].depid == id && loom->steps[i].deps >= place->number)
            return 1;
    return 0;
}

static int by_block(const void *a, const void *b)
{
    const banyan_msccl_place *x = a, *y = b;

    return (x->block > y->block) - (x->block < y->block);
}

static void drop_needless(banyan_msccl_loom *loom, int block, int sender)
{
    int kept = 0, count;

    for (int i = 0; i < loom->wanted_count; i++) {
        const banyan_msccl_place *place = &loom->wanted[i];

        if (place->block != block && !has_waited(loom, block, place) && !tells(loom, sender, place))
            loom->wanted[kept++] = *place;
    }
    count = kept;
    kept = 0;
    for (int i = 0; i < count; i++) {
        int is_told = 0;

        /* Those before i that were dropped were told by one that is still here. */
        for (int j = 0; j < count && !is_told; j++)
            is_told = (j < kept || j > i) && tells(loom, loom->wanted[j].step, &loom->wanted[i]);
        if (!is_told)
            loom->wanted[kept++] = loom->wanted[i];
    }
    loom->wanted_count = kept;
    qsort(loom->wanted, (size_t)kept, sizeof *loom->wanted, by_block);
}

static int make_room(banyan_msccl_loom *loom)
{
    void *steps = loom->steps, *previous = loom->previous, *clocks = loom->clocks;
    size_t row = (size_t)loom->lanes->block_count * sizeof *loom->clocks;
    int fits = banyan_grow(&steps, loom->step_count, &loom->step_capacity, sizeof *loom->steps);

    loom->steps = steps;
    fits = fits && banyan_grow(&previous, loom->step_count, &loom->previous_capacity, sizeof *loom->previous);
    loom->previous = previous;
    if (loom->clocks) {
        fits = fits && banyan_grow(&clocks, loom->step_count, &loom->clock_capacity, row);
        loom->clocks = clocks;
    }
    return fits;
}

static banyan_status append(banyan_msccl_loom *loom, banyan_msccl_step step, banyan_error *err)
{
    int rank = loom->lanes->block_rank[step.block], id = loom->lanes->block_id[step.block];

    if (loom->step_counts[step.block] == loom->max_steps) {
        loom->is_crowded = 1;
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "rank %d, tb %d needs more than the %d steps that a thread block may have", rank,
                           id, loom->max_steps);
    }
    if (step.depid > BANYAN_MSCCL_AWAITED_BLOCK)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "rank %d, tb %d must wait for tb %d, and a step can wait only for tb 0 to %d",
                           rank, id, step.depid, BANYAN_MSCCL_AWAITED_BLOCK);
    if (!make_room(loom))
        return banyan_fail_memory(err);
    loom->steps[loom->step_count] = step;
    loom->previous[loom->step_count] = loom->last_step[step.block] - 1;
    loom->step_count++;
    loom->step_counts[step.block]++;
    return BANYAN_SUCCESS;
}

static void hear(const banyan_msccl_loom *loom, int *clock, int step)
{
    const int *other = step >= 0 ? clock_of(loom, step) : clock;

    for (int b = 0; b < loom->lanes->block_count; b++)
        clock[b] = clock[b] > other[b] ? clock[b] : other[b];
}

/* Of the last step written, which is not yet the last of its block. */
static void set_clock(banyan_msccl_loom *loom, int block, int sender)
{
    int step = (int)loom->step_count - 1, *clock;

    if (loom->clocks) {
        clock = clock_of(loom, step);
        memset(clock, 0, (size_t)loom->lanes->block_count * sizeof *clock);
        hear(loom, clock, loom->last_step[block] - 1);
        hear(loom, clock, sender);
        for (int i = 0; i < loom->wanted_count; i++)
            hear(loom, clock, loom->wanted[i].step);
        clock[block] = loom->step_counts[block];
    }
    loom->last_step[block] = step + 1;
}

banyan_status banyan_msccl_loom_write(banyan_msccl_loom *loom, banyan_msccl_type type, int block, int part,
                                      int sender, banyan_msccl_place *out, banyan_error *err)
{
    const banyan_schedule *parts = loom->lanes->parts;
    const banyan_transfer *t = &parts->transfers[part];
    char buffer = parts->collective == BANYAN_COLLECTIVE_ALLGATHER ? 'o' : 'i';
    int begin = (int)parts->cut[t->first_piece], end = (int)parts->cut[t->first_piece + t->piece_count];
    banyan_msccl_step step = {.srcbuf = buffer, .dstbuf = buffer, .depid = -1, .deps = -1, .block = block};
    banyan_status status = BANYAN_SUCCESS;

    drop_needless(loom, block, sender);
    /* A nop for each wait but the last, which the step itself has. */
    step.type = BANYAN_MSCCL_NOP;
    step.srcoff = step.dstoff = -1;
    for (int i = 0; i < loom->wanted_count && !status; i++) {
        step.depid = loom->lanes->block_id[loom->wanted[i].block];
        step.deps = loom->wanted[i].number;
        if (i < loom->wanted_count - 1)
            status = append(loom, step, err);
    }
    step.type = type;
    step.srcoff = step.dstoff = begin;
    step.cnt = end - begin;
    if (!status)
        status = append(loom, step, err);
    if (status)
        return status;
    set_clock(loom, block, sender);
    loom->wanted_count = 0;
    *out = (banyan_msccl_place){block, loom->step_counts[block] - 1, (int)loom->step_count - 1};
    return BANYAN_SUCCESS;
}
