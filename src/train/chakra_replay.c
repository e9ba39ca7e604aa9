/* SPDX-License-Identifier: Apache-2.0 */
/* train/chakra_replay.c: plays a trace: list scheduling over five resources that each do one thing at a time.
 *
 *     accelerator  [ forward ][ backward .. ]
 *     collectives                  [ all-reduce ]
 *                                  '-- hidden --''- exposed
 *
 * Two heaps: nodes that run, by their end, and, for each resource, nodes that wait for it, by when they were
 * ready. O((N + E) log N). */
#include <math.h>

#include "core/alloc.h"
#include "core/heap.h"
#include "train/chakra.h"

/* Resources are the kinds of nodes; OTHER is without limit. */
enum { RESOURCES = BANYAN_CHAKRA_COLLECTIVE + 1 };

typedef struct {
    const banyan_chakra *trace;
    const double *seconds;
    int *left;              /* how many each node still waits for */
    int *first, *dependent; /* who waits for node i: dependent[first[i] .. first[i+1]) */
    banyan_heap running, waiting[RESOURCES];
    int is_busy[RESOURCES];
    int running_count[RESOURCES];
    double now_s;
    banyan_replay sums;
    int has_failed; /* memory ran out */
} player;

static void push(player *in, banyan_heap *to, double key, int node)
{
    in->has_failed |= !banyan_heap_push(to, key, node);
}

static void start(player *in, int node)
{
    banyan_chakra_kind kind = in->trace->nodes[node].kind;

    in->is_busy[kind] = kind != BANYAN_CHAKRA_OTHER;
    in->running_count[kind]++;
    push(in, &in->running, in->now_s + in->seconds[node], node);
}

static void make_ready(player *in, int node)
{
    banyan_chakra_kind kind = in->trace->nodes[node].kind;

    if (in->is_busy[kind])
        push(in, &in->waiting[kind], in->now_s, node);
    else
        start(in, node);
}

/* Counts the time until the next event by what runs in it. */
static void pass(player *in, double until_s)
{
    double span = until_s - in->now_s;
    int computes = in->running_count[BANYAN_CHAKRA_HOST] || in->running_count[BANYAN_CHAKRA_DEVICE];
    int sends = in->running_count[BANYAN_CHAKRA_SEND] || in->running_count[BANYAN_CHAKRA_RECEIVE] ||
                in->running_count[BANYAN_CHAKRA_COLLECTIVE];

    in->sums.compute_s += computes ? span : 0;
    in->sums.communication_s += sends ? span : 0;
    in->sums.exposed_s += sends && !computes ? span : 0;
    in->now_s = until_s;
}

static void finish(player *in, int node)
{
    banyan_chakra_kind kind = in->trace->nodes[node].kind;

    in->running_count[kind]--;
    in->is_busy[kind] = 0;
    for (int i = in->first[node]; i < in->first[node + 1]; i++)
        if (!--in->left[in->dependent[i]])
            make_ready(in, in->dependent[i]);
    if (!in->is_busy[kind] && in->waiting[kind].count)
        start(in, banyan_heap_pop(&in->waiting[kind]).number);
}

static int index_dependents(player *in)
{
    const banyan_chakra *trace = in->trace;
    size_t count = (size_t)trace->node_count;
    int *filled;

    in->left = banyan_alloc(count, sizeof *in->left);
    in->first = banyan_alloc(count + 2, sizeof *in->first);
    in->dependent = banyan_alloc((size_t)trace->wait_count, sizeof *in->dependent);
    if (!in->left || !in->first || !in->dependent)
        return 0;
    for (int i = 0; i < trace->wait_count; i++)
        in->first[trace->waits[i] + 2]++;
    for (size_t i = 2; i < count + 2; i++)
        in->first[i] += in->first[i - 1];
    filled = in->first + 1; /* ends where the next one's begins */
    for (int i = 0; i < trace->node_count; i++) {
        const banyan_chakra_node *node = &trace->nodes[i];

        in->left[i] = node->wait_count;
        for (int w = node->first_wait; w < node->first_wait + node->wait_count; w++)
            in->dependent[filled[trace->waits[w]]++] = i;
    }
    return 1;
}

static banyan_status play(player *in, banyan_error *err)
{
    int done = 0;

    for (int i = 0; i < in->trace->node_count; i++)
        if (!in->left[i])
            make_ready(in, i);
    for (; in->running.count && !in->has_failed; done++) {
        banyan_heap_item next = banyan_heap_pop(&in->running);

        pass(in, next.key);
        finish(in, next.number);
    }
    if (in->has_failed)
        return banyan_fail_memory(err);
    for (int i = 0; i < in->trace->node_count && done < in->trace->node_count; i++)
        if (in->left[i])
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "node %llu waits, directly or not, for itself",
                               (unsigned long long)in->trace->nodes[i].id);
    in->sums.end_s = in->now_s;
    return BANYAN_SUCCESS;
}

banyan_status banyan_chakra_replay(const banyan_chakra *trace, const double *seconds, banyan_replay *out,
                                   banyan_error *err)
{
    player in = {.trace = trace, .seconds = seconds};
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < trace->node_count && !status; i++)
        if (!isfinite(seconds[i]) || seconds[i] < 0)
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "node %llu takes %g s",
                                 (unsigned long long)trace->nodes[i].id, seconds[i]);
    if (!status)
        status = index_dependents(&in) ? play(&in, err) : banyan_fail_memory(err);
    if (!status)
        *out = in.sums;
    banyan_free(in.left);
    banyan_free(in.first);
    banyan_free(in.dependent);
    banyan_heap_fini(&in.running);
    for (int r = 0; r < RESOURCES; r++)
        banyan_heap_fini(&in.waiting[r]);
    return status;
}
