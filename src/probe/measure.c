/* SPDX-License-Identifier: Apache-2.0 */
/* probe/measure.c: flows made of blocks, timed where they arrive.
 *
 *     |M..........|M..........|M..........|E..........|      first byte of a block: more follow, or the end
 *      ^ the first bytes are seen                      ^ the last ones
 *      |<──────────── what came after them ───────────>|
 *
 * A sender does not know how fast the way is, so it sends for a while and then says that this was all.
 * Receivers acknowledge blocks with a byte, and only that much is under way at a time: a switch that has to
 * throw packets away would make flows stall.
 *
 * The rate is the median of means: what arrived is cut into segments, and of their rates the median counts. A
 * process or a system that is kept from its processor stalls a flow, and what was under way then arrives at
 * once: one segment too slow and one too fast, however long it took. Flows that share a link take turns; a
 * segment of as much as may be under way has all turns in it. Where a flow is alone, segments are smaller.
 * (Nemirovsky and Yudin, "Problem Complexity and Method Efficiency in Optimization", 1983.) */
#include "probe/measure.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/sort.h"

#define BLOCK_BYTES ((size_t)16384)
#define BLOCK_COUNT 128 /* more than a cache close to the processor holds */
#define DATA 0
#define ACKS 1 /* streams */
#define PING_BYTES 8
#define PINGS 12
#define MAX_MARKS 96      /* of a flow's progress */
#define WARM_SHARE 0.25   /* of its time until all others have begun, too, */
#define END_SHARE 0.95    /* and from which some may have ended */
#define MARKS_UNDER_WAY 4 /* in as much as may be under way */
#define STALLS 0.5        /* times the usual rate: a flow that is slower was kept waiting */
#define MIN_SEGMENTS 3    /* of fewer no median is better than the mean of all */
#define TARGET_SEGMENTS 6 /* a flow goes on until it has that many, */
#define MAX_STRETCH 4     /* but not for longer than this many times what was asked for */

struct banyan_probe_gauge {
    const banyan_probe_options *options;
    unsigned char *blocks, *last; /* first byte M, and E */
    unsigned char *scratch;
    uint64_t sent;
    double spent_s;
    double all_bytes, all_s; /* of all ranks, and of rank 0 */
};

/* How long a flow is, how much of it is under way, and after how many blocks a receiver says so. */
typedef struct {
    int64_t length_ns;
    uint64_t max_bytes, under_way_bytes;
    uint64_t ack_blocks;
} pace;

typedef struct {
    int peer;
    uint64_t begin, bytes; /* of this stream before, and in this measurement */
    uint64_t acks;         /* that have come */
    int64_t begin_ns;      /* when the first acknowledgement came; 0: none has */
    int is_last;           /* the block under way */
    pace pace;
} sending;

typedef struct {
    int peer, flow, is_alone;
    uint64_t bytes, acks; /* acks: given */
    uint64_t acks_begin;  /* of this stream before */
    size_t in_block;
    int is_last; /* the block under way */
    int64_t first_ns, end_ns;
    int64_t mark_ns[MAX_MARKS]; /* when that much had come: */
    uint64_t mark_bytes[MAX_MARKS], apart_bytes;
    int marks;
    pace pace;
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

void banyan_probe_spend_time(banyan_probe_gauge *gauge, double seconds)
{
    gauge->spent_s += seconds;
}

double banyan_probe_all_bytes(const banyan_probe_gauge *gauge)
{
    return gauge->all_bytes;
}

double banyan_probe_all_seconds(const banyan_probe_gauge *gauge)
{
    return gauge->all_s;
}

static banyan_status connect_peer(const banyan_probe_gauge *gauge, int peer, int64_t deadline_ns,
                                  banyan_error *err)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;

    return endpoint->transport->connect(endpoint, peer, 2, 2, deadline_ns, err);
}

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

/* When it has taken as long as it should; one that stalls goes on until there is enough of it. */
static int is_over(const sending *s, int64_t now_ns)
{
    int64_t took_ns = now_ns - s->begin_ns;

    if (s->bytes >= s->pace.max_bytes)
        return 1;
    if (!s->begin_ns || took_ns < s->pace.length_ns)
        return 0;
    return s->bytes >= TARGET_SEGMENTS * s->pace.under_way_bytes ||
           took_ns >= MAX_STRETCH * s->pace.length_ns;
}

/* Returns whether anything moved. */
static int advance_sending(banyan_probe_gauge *gauge, sending *s)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    size_t in_block = s->bytes % BLOCK_BYTES, taken;
    const unsigned char *block;
    int moved = take_acks(gauge, s);

    if ((s->is_last && !in_block) ||
        s->bytes - s->acks * s->pace.ack_blocks * BLOCK_BYTES >= s->pace.under_way_bytes)
        return moved;
    if (!in_block) {
        int64_t now_ns = banyan_clock_ns();

        if (!s->begin_ns && s->acks)
            s->begin_ns = now_ns;
        s->is_last = is_over(s, now_ns);
    }
    block = s->is_last ? gauge->last : gauge->blocks + s->bytes / BLOCK_BYTES % BLOCK_COUNT * BLOCK_BYTES;
    taken = endpoint->transport->offer(endpoint, s->peer, DATA, block + in_block, BLOCK_BYTES - in_block);
    if (!taken && !in_block)
        s->is_last = 0; /* not begun yet */
    s->bytes += taken;
    return moved || taken > 0;
}

static int is_sent(const banyan_probe_gauge *gauge, const sending *s)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;

    return s->is_last && s->bytes % BLOCK_BYTES == 0 &&
           s->acks == s->bytes / BLOCK_BYTES / s->pace.ack_blocks &&
           endpoint->transport->sent(endpoint, s->peer, DATA) - s->begin >= s->bytes;
}

/* One byte, of any memory. */
static int give_acks(banyan_probe_gauge *gauge, receiving *r)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    int moved = 0;

    while (r->acks < r->bytes / BLOCK_BYTES / r->pace.ack_blocks &&
           endpoint->transport->offer(endpoint, r->peer, ACKS, gauge->blocks, 1)) {
        r->acks++;
        moved = 1;
    }
    return moved;
}

static int is_received(const banyan_probe_gauge *gauge, const receiving *r)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;

    return r->is_last && !r->in_block && r->acks == r->bytes / BLOCK_BYTES / r->pace.ack_blocks &&
           endpoint->transport->sent(endpoint, r->peer, ACKS) - r->acks_begin >= r->acks;
}

/* When marks run out, every second one goes, and those to come are twice as far apart. */
static void thin_marks(receiving *r)
{
    r->marks /= 2;
    for (int i = 0; i < r->marks; i++) {
        r->mark_ns[i] = r->mark_ns[2 * i];
        r->mark_bytes[i] = r->mark_bytes[2 * i];
    }
    r->apart_bytes *= 2;
}

/* A mark is made when all that had come is read: what waited for a rank that was not at work would else be
 * counted to the time after that. A rank that never gets there makes one when more has come than can wait. */
static void mark_progress(receiving *r, int is_all_read)
{
    uint64_t since = r->bytes - (r->marks ? r->mark_bytes[r->marks - 1] : 0);

    if (since < r->apart_bytes || (!is_all_read && since < 2 * r->pace.under_way_bytes))
        return;
    if (r->marks == MAX_MARKS)
        thin_marks(r);
    r->mark_ns[r->marks] = r->end_ns;
    r->mark_bytes[r->marks++] = r->bytes;
}

static int advance_receiving(banyan_probe_gauge *gauge, receiving *r)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    const void *memory;
    size_t there;
    int moved = give_acks(gauge, r);

    if (r->is_last && !r->in_block)
        return moved;
    there = endpoint->transport->peek(endpoint, r->peer, DATA, &memory);
    if (!there) {
        mark_progress(r, 1);
        return moved;
    }
    if (!r->in_block)
        r->is_last = *(const unsigned char *)memory == 'E';
    there = there < BLOCK_BYTES - r->in_block ? there : BLOCK_BYTES - r->in_block;
    memcpy(gauge->scratch, memory, there); /* as one who adds it up would read it */
    endpoint->transport->consume(endpoint, r->peer, DATA, there);
    r->bytes += there;
    r->in_block = (r->in_block + there) % BLOCK_BYTES;
    r->end_ns = banyan_clock_ns();
    if (!r->first_ns)
        r->first_ns = r->end_ns;
    mark_progress(r, 0);
    return 1;
}

/* Of what came between two marks. */
static double rate_between(const receiving *r, int from, int to)
{
    return (double)(r->mark_bytes[to] - r->mark_bytes[from]) * 1e9 /
           fmax((double)(r->mark_ns[to] - r->mark_ns[from]), 1);
}

static double median(double *values, int count)
{
    banyan_sort_doubles(values, (size_t)count);
    return (values[count / 2] + values[(count - 1) / 2]) / 2;
}

/* The median of all segments from mark to mark; 0: hardly any is left but stalls and what was under way
 * meanwhile, as where a fast flow waits for its hosts each time that much is sent. */
static double rate_of_steady(const receiving *r, int begin, int end)
{
    double rates[MAX_MARKS], usual;
    uint64_t late_until = 0;
    int count = 0, steady = 0;

    for (int i = begin; i < end; i++)
        rates[count++] = rate_between(r, i, i + 1);
    usual = count ? median(rates, count) : 0;
    for (int i = begin; i < end; i++)
        if (rate_between(r, i, i + 1) < STALLS * usual)
            late_until = r->mark_bytes[i] + r->pace.under_way_bytes;
        else
            steady += r->mark_bytes[i] >= late_until;
    return steady < MIN_SEGMENTS ? 0 : usual;
}

/* Segments of as much as may be under way; where they are too few, the mean of all that they are cut from. */
static double rate_of_shared(const receiving *r, int begin, int end)
{
    double rates[MAX_MARKS];
    int count = 0;

    for (int i = begin + 1, last = begin; i <= end; i++)
        if (r->mark_bytes[i] - r->mark_bytes[last] >= r->pace.under_way_bytes) {
            rates[count++] = rate_between(r, last, i);
            last = i;
        }
    return count < MIN_SEGMENTS ? rate_between(r, begin, end) : median(rates, count);
}

static double rate_of(const receiving *r)
{
    double whole_ns = (double)(r->end_ns - r->first_ns), steady;
    int begin = 0, end = r->marks - 1;

    while (begin < end && (double)(r->mark_ns[begin] - r->first_ns) < WARM_SHARE * whole_ns)
        begin++;
    while (end > begin && (double)(r->mark_ns[end] - r->first_ns) > END_SHARE * whole_ns)
        end--;
    if (begin >= end)
        return (double)r->bytes * 1e9 / fmax(whole_ns, 1);
    steady = r->is_alone ? rate_of_steady(r, begin, end) : 0;
    return steady > 0 ? steady : rate_of_shared(r, begin, end);
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

static banyan_status move_all(banyan_probe_gauge *gauge, const traffic *t, int64_t deadline_ns,
                              banyan_error *err)
{
    banyan_endpoint *endpoint = gauge->options->endpoint;
    banyan_status status = BANYAN_SUCCESS;

    while (!status) {
        int moved = 0, left = 0, peer = -1;

        for (int i = 0; i < t->send_count; i++) {
            moved |= advance_sending(gauge, &t->sends[i]);
            if (!is_sent(gauge, &t->sends[i]))
                left++, peer = t->sends[i].peer;
        }
        for (int i = 0; i < t->receive_count; i++) {
            moved |= advance_receiving(gauge, &t->receives[i]);
            if (!is_received(gauge, &t->receives[i]))
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

/* values[i] at the rank where flow i ends becomes values[i] everywhere; beside them each rank tells what it
 * has sent and spent. */
static banyan_status share(banyan_probe_gauge *gauge, const banyan_probe_flow *flows, int count,
                           double *values, banyan_error *err)
{
    const banyan_probe_options *o = gauge->options;
    int *places = banyan_alloc((size_t)o->size, sizeof *places);
    int most = places ? most_into_one(flows, count, o->size, places) : 1, own = 0, each = most + 2;
    double *all = banyan_alloc((size_t)o->size * (size_t)each, sizeof *all);
    double *mine = banyan_alloc((size_t)each, sizeof *mine);
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)o->timeout_ms * 1000000;
    banyan_status status = places && all && mine ? flush(o, deadline_ns, err) : banyan_fail_memory(err);

    for (int i = 0; i < count && !status; i++)
        if (flows[i].dst == o->rank)
            mine[own++] = values[i];
    if (!status) {
        mine[most] = (double)gauge->sent;
        mine[most + 1] = gauge->spent_s;
        status = o->exchange.allgather(o->exchange.context, mine, (size_t)each * sizeof *mine, all,
                                       deadline_ns, err);
    }
    for (int i = 0; i < count && !status; i++)
        values[i] = all[flows[i].dst * each + places[flows[i].dst]++];
    if (!status) {
        gauge->all_bytes = 0;
        gauge->all_s = all[most + 1];
        for (int i = 0; i < o->size; i++)
            gauge->all_bytes += all[i * each + most];
    }
    banyan_free(places);
    banyan_free(all);
    banyan_free(mine);
    return status;
}

static pace pace_of(const banyan_probe_flow *flow)
{
    pace p = {.length_ns = (int64_t)(flow->seconds * 1e9),
              .max_bytes = (uint64_t)flow->max_bytes,
              .under_way_bytes = (uint64_t)flow->under_way_bytes};

    p.ack_blocks = p.under_way_bytes / BLOCK_BYTES / 4;
    p.ack_blocks = p.ack_blocks ? p.ack_blocks : 1;
    return p;
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
                (sending){.peer = peer,
                          .begin = endpoint->transport->sent(endpoint, peer, DATA),
                          .pace = pace_of(&flows[i])};
        else if (!status)
            out->receives[out->receive_count++] =
                (receiving){.peer = peer,
                            .flow = i,
                            .is_alone = flows[i].is_alone,
                            .acks_begin = endpoint->transport->sent(endpoint, peer, ACKS),
                            .apart_bytes = (uint64_t)flows[i].under_way_bytes / MARKS_UNDER_WAY,
                            .pace = pace_of(&flows[i])};
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
                                 double *bytes_per_s, banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)gauge->options->timeout_ms * 1000000;
    traffic t = {0};
    banyan_status status = prepare(gauge, flows, count, &t, deadline_ns, err);

    if (!status)
        status = wait_for_all(gauge, deadline_ns, err);
    if (!status)
        status = move_all(gauge, &t, deadline_ns, err);
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
    *latency_s = times[PINGS / 4]; /* longer ones waited for a processor */
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
