/* SPDX-License-Identifier: Apache-2.0 */
/* probe/rounds.c: which measurement tells most, given all before it.
 *
 *     explore    every host to one other, in shifts of the hosts' order (beyond EVERY_SHIFT hosts those by
 *                powers of two, and random orders); some hosts to two others each, and two to one
 *     test       the racks that explain best what was seen: all hosts across them, then all within, twice;
 *                where that changes the explanation, the new racks are tested in turn
 *     long       hosts that seem slower than others, to a fast one of their rack, nobody else at work: a
 *                switch or a busy machine may hold up many at once, and lets pass what it saved up before
 *     both       a host whose neighbours are slower and whose flows to other racks are held up by the trunk:
 *                to both at once, twice, which shows how fast it is itself
 *     trunks     a rack's hosts to others, or back, for longer, and nobody else at work
 *
 * A trunk shows when many flows meet in it, so all hosts are at work in most rounds. Rounds grow with the
 * logarithm of the number of hosts, bytes with hosts * log(hosts). The choice is a pure function of the
 * findings: every rank makes the same. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/random.h"
#include "probe/findings.h"

#define EVERY_SHIFT 6 /* up to that many hosts, all shifts */
#define SHIFTS 5      /* above, up to POWERS_FROM hosts */
#define POWERS_FROM 9
#define RANDOM_ORDERS 3
#define FAN_HOSTS 32 /* above, one flow per host has to do */
#define TESTS 3      /* of each kind: the median counts */
#define MOST_TESTS 12
#define MAX_AGAIN 2 /* rounds that are repeated */
#define MAX_TRIES 4 /* of what has not been measured twice the same */
#define SAME 0.95   /* of another rate: measured the same */
#define AS_BEST 0.9 /* of the best: short flows are hardly measured better than that */
#define AS_FAST                                                                                              \
    0.9 /* of its flows across racks: what a flow within one must reach to tell its host's speed */

static int count_powers(int hosts)
{
    int count = 0;

    for (int shift = 1; shift <= hosts / 2; shift *= 2)
        count++;
    return count;
}

static int count_shifts(int hosts)
{
    if (hosts < POWERS_FROM)
        return hosts <= EVERY_SHIFT ? hosts - 1 : SHIFTS;
    return count_powers(hosts) + 1 + RANDOM_ORDERS;
}

/* That many hosts send at once, each to two others. */
static int fan_senders(int hosts)
{
    return hosts / 3;
}

/* One way. */
static int count_fans(int hosts)
{
    return hosts < 3 || hosts > FAN_HOSTS ? 0 : (hosts + fan_senders(hosts) - 1) / fan_senders(hosts);
}

int banyan_probe_round_guess(int host_count)
{
    return host_count < 2 ? 0 : count_shifts(host_count) + 2 * count_fans(host_count) + 2 * TESTS;
}

static int add_shift(const int *order, int hosts, int shift, int *pairs)
{
    for (int i = 0; i < hosts; i++) {
        pairs[2 * i] = order ? order[i] : i;
        pairs[2 * i + 1] = order ? order[(i + shift) % hosts] : (i + shift) % hosts;
    }
    return hosts;
}

static void draw_order(int *order, int count, int number)
{
    banyan_random random = {.state = (uint64_t)number};

    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int k = banyan_random_below(&random, i + 1), kept = order[i];

        order[i] = order[k];
        order[k] = kept;
    }
}

/* The number-th fan: the senders, or receivers, are a part of the hosts, and the others serve two by two. */
static int add_fan(int hosts, int number, int is_out, int *pairs)
{
    int each = fan_senders(hosts), first = number * each, count = 0;

    for (int k = 0; k < 2 * each; k++) {
        int one = (first + k / 2) % hosts, other = (first + each + k) % hosts;

        pairs[2 * count] = is_out ? one : other;
        pairs[2 * count++ + 1] = is_out ? other : one;
    }
    return count;
}

static banyan_status explore(const banyan_probe_findings *f, int number, int *pairs, int *count,
                             banyan_error *err)
{
    int hosts = f->host_count, powers = hosts < POWERS_FROM ? 0 : count_powers(hosts), *order;

    if (number >= count_shifts(hosts)) {
        number -= count_shifts(hosts);
        *count = add_fan(hosts, number / 2, number % 2 == 0, pairs);
        return BANYAN_SUCCESS;
    }
    if (hosts < POWERS_FROM || number <= powers) {
        int shift = hosts < POWERS_FROM ? number + 1 : number < powers ? 1 << number : hosts / 2;

        *count = add_shift(NULL, hosts, shift, pairs);
        return BANYAN_SUCCESS;
    }
    order = banyan_alloc((size_t)hosts, sizeof *order);
    if (!order)
        return banyan_fail_memory(err);
    draw_order(order, hosts, number);
    *count = add_shift(order, hosts, 1, pairs);
    banyan_free(order);
    return BANYAN_SUCCESS;
}

/* What a host seemed to do with several flows is believed when it happens again. */
static int confirm(const banyan_probe_findings *f, int *pairs)
{
    for (int is_out = 0; is_out < 2; is_out++) {
        int host = banyan_probe_find_doubtful(f, is_out);

        if (host >= 0)
            return add_fan(f->host_count, host / fan_senders(f->host_count), is_out, pairs);
    }
    return 0;
}

static int largest_rack(const banyan_probe_findings *f)
{
    int largest = 0;

    for (int r = 0; r < f->rack_count; r++)
        if (banyan_probe_rack_size(f, r) > largest)
            largest = banyan_probe_rack_size(f, r);
    return largest;
}

/* Hosts rack by rack, the largest first. */
static void sort_by_rack(const banyan_probe_findings *f, int *order)
{
    int count = 0;

    for (int size = f->host_count; size; size--)
        for (int r = 0; r < f->rack_count; r++)
            for (int i = 0; i < f->host_count && banyan_probe_rack_size(f, r) == size; i++)
                if (f->rack_of[i] == r)
                    order[count++] = i;
}

/* Shifted by the size of the largest rack, nobody stays within its own, as far as that can be. No two tests
 * are the same. */
static banyan_status cross(const banyan_probe_findings *f, int number, int *pairs, int *count,
                           banyan_error *err)
{
    int *order = banyan_alloc((size_t)f->host_count, sizeof *order), largest = largest_rack(f);
    int more = f->host_count - 2 * largest, shift = largest + (more > 0 ? number / 2 % (more + 1) : 0);

    if (!order)
        return banyan_fail_memory(err);
    sort_by_rack(f, order);
    *count = add_shift(order, f->host_count, number % 2 ? f->host_count - shift : shift, pairs);
    banyan_free(order);
    return BANYAN_SUCCESS;
}

static int next_of_rack(const banyan_probe_findings *f, int host)
{
    int next = (host + 1) % f->host_count;

    while (f->rack_of[next] != f->rack_of[host])
        next = (next + 1) % f->host_count;
    return next;
}

/* Each host to one of its rack: the next, or a later one. */
static int stay(const banyan_probe_findings *f, int number, int *pairs)
{
    int count = 0;

    for (int i = 0; i < f->host_count; i++) {
        int size = banyan_probe_rack_size(f, f->rack_of[i]), next = i;

        for (int step = 0; size > 1 && step <= number % (size - 1); step++)
            next = next_of_rack(f, next);
        if (next != i) {
            pairs[2 * count] = i;
            pairs[2 * count++ + 1] = next;
        }
    }
    return count;
}

static int count_kind(const banyan_probe_findings *f, banyan_round_kind kind)
{
    int count = 0;

    for (int i = 0; i < f->round_count; i++)
        count += f->rounds[i].kind == kind;
    return count;
}

static int count_tests(const banyan_probe_findings *f, banyan_round_kind kind, uint64_t grouping)
{
    int count = 0;

    for (int i = 0; i < f->round_count; i++)
        count += f->rounds[i].kind == kind && f->rounds[i].grouping == grouping;
    return count;
}

static banyan_status test(const banyan_probe_findings *f, banyan_round_kind *kind, uint64_t *grouping,
                          int *pairs, int *count, banyan_error *err)
{
    int across, within;

    if (f->rack_count < 2)
        return BANYAN_SUCCESS;
    *grouping = banyan_probe_grouping(f);
    across = count_tests(f, BANYAN_ROUND_ACROSS, *grouping);
    within = count_tests(f, BANYAN_ROUND_WITHIN, *grouping);
    if ((across >= TESTS && within >= TESTS) ||
        count_kind(f, BANYAN_ROUND_ACROSS) + count_kind(f, BANYAN_ROUND_WITHIN) >= MOST_TESTS)
        return BANYAN_SUCCESS;
    *kind = across <= within ? BANYAN_ROUND_ACROSS : BANYAN_ROUND_WITHIN;
    if (*kind == BANYAN_ROUND_ACROSS)
        return cross(f, count_kind(f, BANYAN_ROUND_ACROSS), pairs, count, err);
    *count = stay(f, count_kind(f, BANYAN_ROUND_WITHIN), pairs);
    return BANYAN_SUCCESS;
}

/* The host at one end of a load, or at the other. */
static int end_of(const banyan_probe_load *load, int is_src)
{
    return is_src ? load->src : load->dst;
}

/* By host: the best of its short flows, out and in. */
static void find_best_short(const banyan_probe_findings *f, double *best_out, double *best_in)
{
    for (int k = 0; k < f->round_count; k++)
        for (int i = banyan_probe_round_begin(f, k); i < f->rounds[k].end && !banyan_probe_is_long(f, k);
             i++) {
            const banyan_probe_load *load = &f->loads[i];

            best_out[load->src] = fmax(best_out[load->src], load->bytes_per_s);
            best_in[load->dst] = fmax(best_in[load->dst], load->bytes_per_s);
        }
}

/* A host with which a short flow was about as fast as the best one, and that is not at work in this round;
 * of the same rack, where there is one; -1: none. is_busy NULL: none is. */
static int find_partner(const banyan_probe_findings *f, int host, int is_out, double best,
                        const char *is_busy)
{
    int found = -1;

    for (int k = 0; k < f->round_count; k++)
        for (int i = banyan_probe_round_begin(f, k); i < f->rounds[k].end && !banyan_probe_is_long(f, k);
             i++) {
            int peer = end_of(&f->loads[i], !is_out);

            if (end_of(&f->loads[i], is_out) != host || f->loads[i].bytes_per_s < AS_BEST * best ||
                is_busy[peer])
                continue;
            if (f->rack_of[peer] == f->rack_of[host])
                return peer;
            found = peer;
        }
    return found;
}

/* Until two long flows agree, and short ones do not promise more; that some do may be a mistake. */
static int needs_long(const banyan_probe_findings *f, int host, int is_out, double best)
{
    double first = 0, second = 0;
    int tries = 0;

    for (int k = 0; k < f->round_count; k++)
        for (int i = banyan_probe_round_begin(f, k); i < f->rounds[k].end && banyan_probe_is_long(f, k); i++)
            if (end_of(&f->loads[i], is_out) == host) {
                second = fmax(second, fmin(first, f->loads[i].bytes_per_s));
                first = fmax(first, f->loads[i].bytes_per_s);
                tries++;
            }
    return tries < MAX_TRIES && (tries < 2 || second < SAME * first || second < AS_BEST * best);
}

/* Each host to or from one with which it was fast: nobody else keeps them waiting then. */
static banyan_status take_long(const banyan_probe_findings *f, int *pairs, int *count, banyan_error *err)
{
    size_t hosts = (size_t)f->host_count;
    double *best = banyan_alloc(2 * hosts, sizeof *best);
    char *is_busy = banyan_alloc(hosts, 1);

    *count = 0;
    if (!best || !is_busy) {
        banyan_free(best);
        banyan_free(is_busy);
        return banyan_fail_memory(err);
    }
    find_best_short(f, best, best + hosts);
    for (int is_out = 1; is_out >= 0; is_out--)
        for (int host = 0; host < f->host_count; host++) {
            double most = best[(is_out ? 0 : f->host_count) + host];
            int peer = is_busy[host] || !needs_long(f, host, is_out, most)
                           ? -1
                           : find_partner(f, host, is_out, most, is_busy);

            if (peer < 0)
                continue;
            is_busy[host] = is_busy[peer] = 1;
            pairs[2 * *count] = is_out ? host : peer;
            pairs[2 * (*count)++ + 1] = is_out ? peer : host;
        }
    banyan_free(best);
    banyan_free(is_busy);
    return BANYAN_SUCCESS;
}

/* The hosts of a rack, each to another host outside, as far as there are enough; or the other way round. */
static int cross_trunk(const banyan_probe_findings *f, int rack, int is_out, int *pairs)
{
    int count = 0, other = 0;

    for (int i = 0; i < f->host_count; i++) {
        if (f->rack_of[i] != rack)
            continue;
        while (f->rack_of[other] == rack)
            other = (other + 1) % f->host_count;
        pairs[2 * count] = is_out ? i : other;
        pairs[2 * count++ + 1] = is_out ? other : i;
        other = (other + 1) % f->host_count;
    }
    return count;
}

/* What a round carried in all. */
static double sum_of(const banyan_probe_findings *f, int round)
{
    double sum = 0;

    for (int i = banyan_probe_round_begin(f, round); i < f->rounds[round].end; i++)
        sum += f->loads[i].bytes_per_s;
    return sum;
}

/* Until two measurements agree. */
static int needs_trunk(const banyan_probe_findings *f, uint64_t number)
{
    double first = 0, second = 0;
    int tries = 0;

    for (int k = 0; k < f->round_count; k++)
        if (f->rounds[k].kind == BANYAN_ROUND_LONG && f->rounds[k].grouping == number) {
            second = fmax(second, fmin(first, sum_of(f, k)));
            first = fmax(first, sum_of(f, k));
            tries++;
        }
    return tries < 2 || (second < SAME * first && tries < MAX_TRIES);
}

/* The next trunk that is to be measured alone, and its number among these racks. */
static int take_trunk(const banyan_probe_findings *f, uint64_t *number, int *pairs)
{
    for (int rack = 0; rack < f->rack_count; rack++)
        for (int is_out = 0; is_out < 2; is_out++) {
            *number = banyan_probe_trunk_number(f, rack, is_out);
            if (banyan_probe_rack_size(f, rack) > 1 && needs_trunk(f, *number))
                return cross_trunk(f, rack, is_out, pairs);
        }
    return 0;
}

/* A host's best flow alone, within its rack or across; *peer is the other end of it. */
static double best_flow(const banyan_probe_findings *f, int host, int is_out, int is_within, int *peer)
{
    double best = 0;

    for (int i = 0; i < f->load_count; i++) {
        int own = is_out ? f->loads[i].src : f->loads[i].dst,
            other = is_out ? f->loads[i].dst : f->loads[i].src;

        if (own == host && (f->rack_of[other] == f->rack_of[host]) == is_within &&
            f->loads[i].bytes_per_s > best) {
            best = f->loads[i].bytes_per_s;
            *peer = other;
        }
    }
    return best;
}

/* Rounds in which a host had flows within its rack and across at the same time. */
static int count_both(const banyan_probe_findings *f, int host, int is_out)
{
    int count = 0;

    for (int k = 0; k < f->round_count; k++) {
        int within = 0, across = 0;

        for (int i = banyan_probe_round_begin(f, k); i < f->rounds[k].end; i++) {
            int own = is_out ? f->loads[i].src : f->loads[i].dst,
                other = is_out ? f->loads[i].dst : f->loads[i].src;

            within += own == host && f->rack_of[other] == f->rack_of[host];
            across += own == host && f->rack_of[other] != f->rack_of[host];
        }
        count += within && across;
    }
    return count;
}

/* The next host of whose speed only others' limits are known. */
static int send_both_ways(const banyan_probe_findings *f, int *pairs)
{
    for (int is_out = 0; is_out < 2; is_out++)
        for (int host = 0; host < f->host_count; host++) {
            int peers[2] = {0};
            double within = best_flow(f, host, is_out, 1, &peers[0]),
                   across = best_flow(f, host, is_out, 0, &peers[1]);

            if (!(within > 0) || within > AS_FAST * across || count_both(f, host, is_out) >= 2)
                continue;
            for (int i = 0; i < 2; i++) {
                pairs[2 * i] = is_out ? host : peers[i];
                pairs[2 * i + 1] = is_out ? peers[i] : host;
            }
            return 2;
        }
    return 0;
}

/* A round that was disturbed is not explained by any racks, nor is the only one that fills the trunks. */
static int repeat(const banyan_probe_findings *f, uint64_t *round, int *pairs)
{
    int first, count;

    if (f->odd_round < 0 || count_kind(f, BANYAN_ROUND_AGAIN) >= MAX_AGAIN)
        return 0;
    *round = (uint64_t)f->odd_round;
    first = banyan_probe_round_begin(f, f->odd_round);
    count = f->rounds[f->odd_round].end - first;
    for (int i = 0; i < count; i++) {
        pairs[2 * i] = f->loads[first + i].src;
        pairs[2 * i + 1] = f->loads[first + i].dst;
    }
    return count;
}

static banyan_status group(banyan_probe_findings *f, banyan_error *err)
{
    return f->host_count < 4 ? BANYAN_SUCCESS : banyan_probe_group_hosts(f, err);
}

/* Between rounds of pairs racks stay what they are: it takes long to find others. */
static banyan_status take_pairs(banyan_probe_findings *f, int *pairs, int *count, banyan_error *err)
{
    int were_pairs = banyan_probe_is_long(f, f->round_count - 1);
    banyan_status status = were_pairs ? BANYAN_SUCCESS : group(f, err);

    if (!status)
        status = take_long(f, pairs, count, err);
    if (status || *count || !were_pairs)
        return status;
    status = group(f, err);
    return status ? status : take_long(f, pairs, count, err);
}

/* What is still in doubt of racks and hosts. */
static banyan_status clear_doubts(banyan_probe_findings *f, banyan_round_kind *kind, uint64_t *grouping,
                                  int *pairs, int *count, banyan_error *err)
{
    banyan_status status = take_pairs(f, pairs, count, err);

    *kind = BANYAN_ROUND_LONG;
    if (!status && !*count && f->host_count >= 4) {
        *kind = BANYAN_ROUND_AGAIN;
        *count = repeat(f, grouping, pairs);
    }
    if (!status && !*count && f->host_count >= 4)
        status = test(f, kind, grouping, pairs, count, err);
    if (status || *count)
        return status;
    *kind = BANYAN_ROUND_EXPLORE;
    *count = confirm(f, pairs); /* after the tests: many single flows at once may have been held up before */
    if (!*count && f->rack_count > 1)
        *count = send_both_ways(f, pairs);
    return BANYAN_SUCCESS;
}

/* Then the racks are what they are. */
static int has_begun_trunks(const banyan_probe_findings *f)
{
    const banyan_probe_round *last = &f->rounds[f->round_count - 1];

    return last->kind == BANYAN_ROUND_LONG && last->grouping;
}

banyan_status banyan_probe_next_round(banyan_probe_findings *findings, banyan_round_kind *kind,
                                      uint64_t *grouping, int *pairs, int *count, banyan_error *err)
{
    int hosts = findings->host_count, explored;
    banyan_status status = BANYAN_SUCCESS;

    *kind = BANYAN_ROUND_EXPLORE;
    *grouping = 0;
    *count = 0;
    if (hosts < 2)
        return BANYAN_SUCCESS;
    explored = count_shifts(hosts) + 2 * count_fans(hosts);
    if (findings->round_count < explored)
        return explore(findings, findings->round_count, pairs, count, err);
    if (!has_begun_trunks(findings))
        status = clear_doubts(findings, kind, grouping, pairs, count, err);
    if (!status && !*count && findings->rack_count > 1) {
        *kind = BANYAN_ROUND_LONG;
        *count = take_trunk(findings, grouping, pairs);
    }
    return status;
}
