/* SPDX-License-Identifier: Apache-2.0 */
/* engine/fuse.c: one all-reduce over the gradients of a group, wherever each of them lies.
 *
 * Gradients of different types make one all-reduce a type. With the last group of an iteration travels one
 * more element that says whether a rank wants a new plan: added up or averaged, it is zero only if nobody
 * does. Types that cannot say so for any number of ranks (integers wrap around, averages of theirs round
 * down) leave that to a small all-reduce of its own. */
#include <string.h>

#include "core/alloc.h"
#include "engine/engine.h"

typedef struct {
    banyan_datatype type;
    int count;
} batch;

static int can_vote(banyan_datatype type)
{
    return type == BANYAN_FLOAT16 || type == BANYAN_BFLOAT16 || type == BANYAN_FLOAT32 ||
           type == BANYAN_FLOAT64;
}

/* 1 or 0 in the type. */
static void write_vote(banyan_datatype type, int vote, unsigned char *out)
{
    static const uint16_t halves[2] = {0, 0x3c00}, bfloats[2] = {0, 0x3f80};
    float single = (float)vote;
    double wide = vote;

    if (type == BANYAN_FLOAT16)
        memcpy(out, &halves[vote], 2);
    else if (type == BANYAN_BFLOAT16)
        memcpy(out, &bfloats[vote], 2);
    else if (type == BANYAN_FLOAT32)
        memcpy(out, &single, 4);
    else
        memcpy(out, &wide, 8);
}

static int read_vote(banyan_datatype type, const unsigned char *in)
{
    size_t bytes = banyan_datatype_bytes(type);

    for (size_t i = 0; i < bytes; i++)
        if (in[i])
            return 1;
    return 0;
}

static banyan_status add_segment(banyan_engine_stream *stream, batch *b, void *data, size_t count,
                                 banyan_error *err)
{
    void *segments = stream->segments;

    if (!banyan_grow(&segments, (size_t)b->count, &stream->segment_capacity, sizeof *stream->segments))
        return banyan_fail_memory(err);
    stream->segments = segments;
    stream->segments[b->count++] = (banyan_segment){data, data, count};
    return BANYAN_SUCCESS;
}

/* The group's parts of one type. */
static banyan_status collect(banyan_engine_stream *stream, const banyan_engine_plan *plan,
                             const banyan_gradient_group *group, batch *b, banyan_error *err)
{
    for (int i = 0; i < group->part_count; i++) {
        const banyan_gradient_part *part = &plan->grouping->parts[group->first_part + i];
        const banyan_engine_tensor *tensor = &stream->train->tensors[plan->tensor_of[part->tensor]];
        size_t width = banyan_datatype_bytes(b->type);
        char *data = tensor->data ? tensor->data : tensor->own;
        banyan_status status;

        if (tensor->type != b->type)
            continue;
        status = add_segment(stream, b, data + part->offset_bytes, part->bytes / width, err);
        if (status)
            return status;
    }
    return BANYAN_SUCCESS;
}

/* The one place where the parts of an all-reduce come together: nothing is copied. */
static banyan_status reduce_segments(banyan_engine_stream *stream, const batch *b, banyan_error *err)
{
    banyan_status status = banyan_allreduce_segments(stream->segments, (size_t)b->count, b->type,
                                                     stream->train->config.op, stream->comm);

    return status ? banyan_fail(err, status, "%s", banyan_last_error(stream->comm)) : BANYAN_SUCCESS;
}

static banyan_status add_vote(banyan_engine_stream *stream, batch *b, int vote, banyan_error *err)
{
    write_vote(b->type, vote, stream->votes);
    return add_segment(stream, b, stream->votes, 1, err);
}

banyan_status banyan_engine_reduce(banyan_engine_stream *stream, const banyan_engine_plan *plan, int number,
                                   int *vote, banyan_error *err)
{
    const banyan_gradient_group *group = &plan->grouping->groups[number];
    banyan_status status = BANYAN_SUCCESS;
    int has_voted = !vote;

    for (int type = BANYAN_INT8; type <= BANYAN_BFLOAT16 + 1 && !status; type++) {
        int is_extra = type > BANYAN_BFLOAT16; /* nobody could take the vote along */
        batch b = {.type = is_extra ? BANYAN_FLOAT32 : (banyan_datatype)type};
        int votes_here = !has_voted && can_vote(b.type);

        if (!is_extra)
            status = collect(stream, plan, group, &b, err);
        if (status || (!b.count && !(is_extra && votes_here)))
            continue;
        if (votes_here)
            status = add_vote(stream, &b, *vote, err);
        if (!status)
            status = reduce_segments(stream, &b, err);
        if (!status && votes_here) {
            *vote = read_vote(b.type, stream->votes);
            has_voted = 1;
        }
    }
    return status;
}
