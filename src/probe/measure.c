/* SPDX-License-Identifier: Apache-2.0 */
/* probe/measure.c: flows made of blocks, timed where they arrive.
 *
 *     |M..........|M..........|M..........|E..........|      first byte of a block: more follow, or the end
 *      ^ the first bytes are seen                      ^ the last ones
 *      |<──────────── what came after them ───────────>|
 *
 * A sender does not know how fast the way is, so it sends for a while and then says that this was all.
 * What counts is what arrives in the middle of this time, while all other flows are under way, too.
 * Receivers acknowledge blocks with a byte, and only that much is under way at a time: a switch that has to
 * throw packets away would make flows stall. */
#include "probe/measure.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/sort.h"

#define BLOCK_BYTES ((size_t)32768)
#define BLOCK_COUNT 64                   /* more than a cache close to the processor holds */
#define MOST_BYTES ((uint64_t)256 << 20) /* of one flow in one measurement */
#define DATA 0
#define ACKS 1 /* streams */
#define PING_BYTES 8
#define PINGS 12
#define MARKS 40       /* of a flow's progress */
#define WARM_SHARE 0.4 /* of its time until all others have begun, too, */
#define END_SHARE 0.95 /* and from which some may have ended */

struct banyan_probe_gauge {
    const banyan_probe_options *options;
    unsigned char *blocks, *last; /* first byte M, and E */
    unsigned char *scratch;
    uint64_t sent;
};

typedef struct {
    int peer;
    uint64_t begin, bytes; /* of this stream before, and in this measurement */
    uint64_t acks;         /* that have come */
    int64_t deadline_ns;   /* 0: nothing has left yet */
    int is_last;           /* the block under way */
} sending;

typedef struct {
    int peer, flow;
    uint64_t bytes, acks; /* acks: given */
    uint64_t acks_begin;  /* of this stream before */
    size_t in_block;
    int is_last; /* the block under way */
    int64_t first_ns, end_ns;
    int64_t mark_ns[MARKS]; /* when that much had come: */
    uint64_t mark_bytes[MARKS];
    int marks, is_reading; /* of what had come at the last mark, there may be more */
} receiving;

banyan_status banyan_probe_gauge_create(const banyan_probe_options *options, banyan_probe_gauge **out,
                                        banyan_error *err)
{
    banyan_probe_gauge *gauge = banyan_alloc(1, sizeof *gauge);

    *out = NULL;
    if (gauge) {
        gauge->options = options;
        gauge->blocks = banyan_alloc(BLOCK_COUNT + 1, BLOCK_BYTES);
        gauge->scratch = banyan_alloc(1, BLOCK_BYTES);
    }
    if (!gauge || !gauge->blocks || !gauge->scratch) {
        banyan_probe_gauge_destroy(gauge);
        return banyan_fail_memory(err);
    }
    gauge->last = gauge->blocks + BLOCK_COUNT * BLOCK_BYTES;
    for (int i = 0; i < BLOCK_COUNT; i++)
        gauge->blocks[(size_t)i * BLOCK_BYTES] = 'M';
    gauge->last[0] = 'E';
    *out = gauge;
    return BANYAN_SUCCESS;
}

void banyan_probe_gauge_destroy(banyan_probe_gauge *gauge)
{
    if (!gauge)
        return;
    banyan_free(gauge->blocks);
    banyan_free(gauge->scratch);
    banyan_free(gauge);
}

uint64_t banyan_probe_sent_bytes(const banyan_probe_gauge *gauge)
{
    return gauge->sent;
}

static banyan_status connect_peer(const banyan_probe_gauge *gauge, int peer, int64_t deadline_ns,
                                  banyan_error *err)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;

    return endpoint->transport->connect(endpoint, peer, 2, 2, deadline_ns, err);
}

/* How much is under way, and after how many blocks a receiver says so. */
typedef struct {
    int64_t length_ns;
    uint64_t under_way_bytes;
    uint64_t ack_blocks;
} pace;

static int take_acks(banyan_probe_gauge *gauge, sending *s)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    const void *memory;
    size_t there = endpoint->transport->peek(endpoint, s->peer, ACKS, &memory);

    if (!there)
        return 0;
    endpoint->transport->consume(endpoint, s->peer, ACKS, there);
    s->acks += there;
    return 1;
}

/* Returns whether anything moved. */
static int advance_sending(banyan_probe_gauge *gauge, sending *s, const pace *p)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    size_t in_block = s->bytes % BLOCK_BYTES, taken;
    const unsigned char *block;
    int64_t now_ns;
    int moved = take_acks(gauge, s);

    if ((s->is_last && !in_block) || s->bytes - s->acks * p->ack_blocks * BLOCK_BYTES >= p->under_way_bytes)
        return moved;
    now_ns = banyan_clock_ns();
    if (!s->deadline_ns && s->acks)
        s->deadline_ns = now_ns + p->length_ns;
    if (!in_block)
        s->is_last = (s->deadline_ns && now_ns >= s->deadline_ns) || s->bytes >= MOST_BYTES;
    block = s->is_last ? gauge->last : gauge->blocks + s->bytes / BLOCK_BYTES % BLOCK_COUNT * BLOCK_BYTES;
    taken = endpoint->transport->offer(endpoint, s->peer, DATA, block + in_block, BLOCK_BYTES - in_block);
    if (!taken && !in_block)
        s->is_last = 0; /* not begun yet */
    s->bytes += taken;
    return moved || taken > 0;
}

static int is_sent(const banyan_probe_gauge *gauge, const sending *s, const pace *p)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;

    return s->is_last && s->bytes % BLOCK_BYTES == 0 && s->acks == s->bytes / BLOCK_BYTES / p->ack_blocks &&
           endpoint->transport->sent(endpoint, s->peer, DATA) - s->begin >= s->bytes;
}

/* One byte, of any memory. */
static int give_acks(banyan_probe_gauge *gauge, receiving *r, const pace *p)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    int moved = 0;

    while (r->acks < r->bytes / BLOCK_BYTES / p->ack_blocks &&
           endpoint->transport->offer(endpoint, r->peer, ACKS, gauge->blocks, 1)) {
        r->acks++;
        moved = 1;
    }
    return moved;
}

static int is_received(const banyan_probe_gauge *gauge, const receiving *r, const pace *p)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;

    return r->is_last && !r->in_block && r->acks == r->bytes / BLOCK_BYTES / p->ack_blocks &&
           endpoint->transport->sent(endpoint, r->peer, ACKS) - r->acks_begin >= r->acks;
}

/* Marks are some time apart, and made when all that had come by then is read: what waited for a rank that was
 * not at work would be counted to the time after that. */
static void note_progress(receiving *r, const pace *p, int64_t now_ns)
{
    int64_t apart_ns = p->length_ns / (MARKS - 4), before_ns;

    r->end_ns = now_ns;
    if (!r->first_ns)
        r->first_ns = now_ns;
    before_ns = r->marks > 1 ? r->mark_ns[r->marks - 2] : r->first_ns;
    if (r->is_reading && r->marks && now_ns - before_ns < 2 * apart_ns)
        r->marks--;
    if (r->marks == MARKS || (r->marks && now_ns - r->mark_ns[r->marks - 1] < apart_ns))
        return;
    r->mark_ns[r->marks] = now_ns;
    r->mark_bytes[r->marks++] = r->bytes;
    r->is_reading = 1;
}

static int advance_receiving(banyan_probe_gauge *gauge, receiving *r, const pace *p)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    const void *memory;
    size_t there;
    int moved = give_acks(gauge, r, p);

    if (r->is_last && !r->in_block)
        return moved;
    there = endpoint->transport->peek(endpoint, r->peer, DATA, &memory);
    if (!there) {
        r->is_reading = 0;
        return moved;
    }
    if (!r->in_block)
        r->is_last = *(const unsigned char *)memory == 'E';
    there = there < BLOCK_BYTES - r->in_block ? there : BLOCK_BYTES - r->in_block;
    memcpy(gauge->scratch, memory, there); /* as one who adds it up would read it */
    endpoint->transport->consume(endpoint, r->peer, DATA, there);
    r->bytes += there;
    r->in_block = (r->in_block + there) % BLOCK_BYTES;
    note_progress(r, p, banyan_clock_ns());
    return 1;
}

/* What came between the first mark after the beginning and the last before the end. Flows that share a link
 * take turns at it, so only their means add up. */
static double rate_of(const receiving *r)
{
    double whole_ns = (double)(r->end_ns - r->first_ns);
    int begin = 0, end = r->marks - 1;

    while (begin < end && (double)(r->mark_ns[begin] - r->first_ns) < WARM_SHARE * whole_ns)
        begin++;
    while (end > begin && (double)(r->mark_ns[end] - r->first_ns) > END_SHARE * whole_ns)
        end--;
    if (begin >= end)
        return (double)r->bytes * 1e9 / fmax(whole_ns, 1);
    return (double)(r->mark_bytes[end] - r->mark_bytes[begin]) * 1e9 /
           fmax((double)(r->mark_ns[end] - r->mark_ns[begin]), 1);
}

/* Of frames with their headers, as links are described. */
static double wire_rate_of(const banyan_probe_gauge *gauge, const receiving *r)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    double wire_bytes =
        endpoint->transport->wire_bytes ? endpoint->transport->wire_bytes(endpoint, r->peer) : 1;

    return wire_bytes * rate_of(r);
}

static banyan_status time_out(const banyan_probe_gauge *gauge, int peer, banyan_error *err)
{
    return banyan_fail(err, BANYAN_TIMEOUT, "rank %d waited %d ms for rank %d to be measured",
                       gauge->options->rank, gauge->options->timeout_ms, peer);
}

typedef struct {
    sending *sends;
    receiving *receives;
    int send_count, receive_count;
} traffic;

static banyan_status move_all(banyan_probe_gauge *gauge, const traffic *t, const pace *p, int64_t deadline_ns,
                              banyan_error *err)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    banyan_status status = BANYAN_SUCCESS;

    while (!status) {
        int moved = 0, left = 0, peer = -1;

        for (int i = 0; i < t->send_count; i++) {
            moved |= advance_sending(gauge, &t->sends[i], p);
            if (!is_sent(gauge, &t->sends[i], p))
                left++, peer = t->sends[i].peer;
        }
        for (int i = 0; i < t->receive_count; i++) {
            moved |= advance_receiving(gauge, &t->receives[i], p);
            if (!is_received(gauge, &t->receives[i], p))
                left++, peer = t->receives[i].peer;
        }
        if (!left)
            return BANYAN_SUCCESS;
        if (!moved)
            status = endpoint->transport->wait(endpoint, deadline_ns, err);
        else if (banyan_clock_ns() > deadline_ns)
            status = BANYAN_TIMEOUT;
        if (status == BANYAN_TIMEOUT && !endpoint->transport->failure(endpoint, err))
            return time_out(gauge, peer, err);
    }
    return status;
}

/* The most flows that end in one rank: that many numbers each rank tells. */
static int most_into_one(const banyan_probe_flow *flows, int count, int size, int *places)
{
    int most = 1;

    memset(places, 0, (size_t)size * sizeof *places);
    for (int i = 0; i < count; i++)
        most = ++places[flows[i].dst] > most ? places[flows[i].dst] : most;
    memset(places, 0, (size_t)size * sizeof *places);
    return most;
}

/* Whoever shares does not move bytes any more. */
static banyan_status flush(const banyan_probe_options *o, int64_t deadline_ns, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (o->endpoint->transport->flush)
        status = o->endpoint->transport->flush(o->endpoint, deadline_ns, err);
    if (status != BANYAN_TIMEOUT || o->endpoint->transport->failure(o->endpoint, err))
        return status;
    return banyan_fail(err, BANYAN_TIMEOUT, "rank %d waited %d ms for others to take what it had sent",
                       o->rank, o->timeout_ms);
}

/* values[i] at the rank where flow i ends becomes values[i] everywhere. */
static banyan_status share(const banyan_probe_gauge *gauge, const banyan_probe_flow *flows, int count,
                           double *values, banyan_error *err)
{
    const banyan_probe_options *o = gauge->options;
    int *places = banyan_alloc((size_t)o->size, sizeof *places);
    int most = places ? most_into_one(flows, count, o->size, places) : 1;
    double *all = banyan_alloc((size_t)o->size * (size_t)most, sizeof *all);
    double *mine = banyan_alloc((size_t)most, sizeof *mine);
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)o->timeout_ms * 1000000;
    banyan_status status = places && all && mine ? flush(o, deadline_ns, err) : banyan_fail_memory(err);

    for (int i = 0, own = 0; i < count && !status; i++)
        if (flows[i].dst == o->rank)
            mine[own++] = values[i];
    if (!status)
        status = o->exchange.allgather(o->exchange.context, mine, (size_t)most * sizeof *mine, all,
                                       deadline_ns, err);
    for (int i = 0; i < count && !status; i++)
        values[i] = all[flows[i].dst * most + places[flows[i].dst]++];
    banyan_free(places);
    banyan_free(all);
    banyan_free(mine);
    return status;
}

static banyan_status prepare(banyan_probe_gauge *gauge, const banyan_probe_flow *flows, int count,
                             traffic *out, int64_t deadline_ns, banyan_error *err)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    int rank = gauge->options->rank;
    banyan_status status = BANYAN_SUCCESS;

    out->sends = banyan_alloc((size_t)count, sizeof *out->sends);
    out->receives = banyan_alloc((size_t)count, sizeof *out->receives);
    if (!out->sends || !out->receives)
        return banyan_fail_memory(err);
    for (int i = 0; i < count && !status; i++) {
        int is_ours = flows[i].src == rank, peer = is_ours ? flows[i].dst : flows[i].src;

        if (!is_ours && flows[i].dst != rank)
            continue;
        status = connect_peer(gauge, peer, deadline_ns, err);
        if (!status && is_ours)
            out->sends[out->send_count++] =
                (sending){.peer = peer, .begin = endpoint->transport->sent(endpoint, peer, DATA)};
        else if (!status)
            out->receives[out->receive_count++] = (receiving){
                .peer = peer, .flow = i, .acks_begin = endpoint->transport->sent(endpoint, peer, ACKS)};
    }
    return status;
}

/* Flows that meet must begin together: connections are made before. */
static banyan_status wait_for_all(const banyan_probe_gauge *gauge, int64_t deadline_ns, banyan_error *err)
{
    const banyan_probe_options *o = gauge->options;
    unsigned char nothing = 0, *all = banyan_alloc((size_t)o->size, 1);
    banyan_status status =
        all ? o->exchange.allgather(o->exchange.context, &nothing, 1, all, deadline_ns, err)
            : banyan_fail_memory(err);

    banyan_free(all);
    return status;
}

banyan_status banyan_probe_flows(banyan_probe_gauge *gauge, const banyan_probe_flow *flows, int count,
                                 double seconds, double under_way_bytes, double *bytes_per_s,
                                 banyan_error *err)
{
    pace p = {(int64_t)(seconds * 1e9), (uint64_t)under_way_bytes, 0};
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)gauge->options->timeout_ms * 1000000;
    traffic t = {0};
    banyan_status status = prepare(gauge, flows, count, &t, deadline_ns, err);

    if (!status)
        status = wait_for_all(gauge, deadline_ns, err);
    p.ack_blocks = p.under_way_bytes / BLOCK_BYTES / 4;
    p.ack_blocks = p.ack_blocks ? p.ack_blocks : 1;
    if (!status)
        status = move_all(gauge, &t, &p, deadline_ns, err);
    for (int i = 0; i < t.send_count; i++)
        gauge->sent += t.sends[i].bytes;
    for (int i = 0; i < t.receive_count && !status; i++)
        bytes_per_s[t.receives[i].flow] = wire_rate_of(gauge, &t.receives[i]);
    banyan_free(t.sends);
    banyan_free(t.receives);
    return status ? status : share(gauge, flows, count, bytes_per_s, err);
}

static banyan_status send_ping(banyan_probe_gauge *gauge, int peer, int64_t deadline_ns, banyan_error *err)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    banyan_status status = BANYAN_SUCCESS;
    size_t left = PING_BYTES;

    while (left && !status) {
        size_t taken = endpoint->transport->offer(endpoint, peer, DATA, gauge->blocks, left);

        left -= taken;
        if (!taken)
            status = endpoint->transport->wait(endpoint, deadline_ns, err);
    }
    gauge->sent += PING_BYTES - left;
    return status;
}

static banyan_status take_ping(banyan_probe_gauge *gauge, int peer, int64_t deadline_ns, banyan_error *err)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    banyan_status status = BANYAN_SUCCESS;
    const void *memory;
    size_t there, left = PING_BYTES;

    while (left && !status) {
        there = endpoint->transport->peek(endpoint, peer, DATA, &memory);
        if (there) {
            there = there < left ? there : left;
            endpoint->transport->consume(endpoint, peer, DATA, there);
            left -= there;
        } else {
            status = endpoint->transport->wait(endpoint, deadline_ns, err);
        }
    }
    return status;
}

/* What was offered must have left before the next measurement counts. */
static banyan_status finish_pings(const banyan_probe_gauge *gauge, int peer, uint64_t target,
                                  int64_t deadline_ns, banyan_error *err)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    banyan_status status = BANYAN_SUCCESS;

    while (!status && endpoint->transport->sent(endpoint, peer, DATA) < target)
        status = endpoint->transport->wait(endpoint, deadline_ns, err);
    return status;
}

static banyan_status ping(banyan_probe_gauge *gauge, int peer, int is_first, int64_t deadline_ns,
                          double *latency_s, banyan_error *err)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    double times[PINGS];
    banyan_status status = connect_peer(gauge, peer, deadline_ns, err);
    uint64_t before = status ? 0 : endpoint->transport->sent(endpoint, peer, DATA);

    for (int i = 0; i < PINGS && !status; i++) {
        int64_t begin_ns = banyan_clock_ns();

        status =
            is_first ? send_ping(gauge, peer, deadline_ns, err) : take_ping(gauge, peer, deadline_ns, err);
        if (!status)
            status = is_first ? take_ping(gauge, peer, deadline_ns, err)
                              : send_ping(gauge, peer, deadline_ns, err);
        times[i] = (double)(banyan_clock_ns() - begin_ns) * 0.5e-9;
    }
    if (!status)
        status = finish_pings(gauge, peer, before + PINGS * PING_BYTES, deadline_ns, err);
    if (status == BANYAN_TIMEOUT && !endpoint->transport->failure(endpoint, err))
        return time_out(gauge, peer, err);
    if (status)
        return status;
    banyan_sort_doubles(times, PINGS);
    *latency_s = times[PINGS / 2];
    return BANYAN_SUCCESS;
}

banyan_status banyan_probe_pings(banyan_probe_gauge *gauge, const banyan_probe_flow *pairs, int count,
                                 double *latency_s, banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)gauge->options->timeout_ms * 1000000;
    int rank = gauge->options->rank;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < count && !status; i++)
        if (pairs[i].src == rank || pairs[i].dst == rank)
            status = ping(gauge, pairs[i].src == rank ? pairs[i].dst : pairs[i].src, pairs[i].dst == rank,
                          deadline_ns, &latency_s[i], err);
    return status ? status : share(gauge, pairs, count, latency_s, err);
}
