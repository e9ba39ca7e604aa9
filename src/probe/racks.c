/* SPDX-License-Identifier: Apache-2.0 */
/* probe/racks.c: which hosts hang on the same switch.
 *
 *     h0 h1      h2 h3        A flow lacks speed when neither its sender nor its receiver was at its limit. A
 *      \ /        \ /         trunk explains that as far as it is full while the flow crosses it: its load is
 *      r0 ======== r1         near the most that it ever was, and its flows could have done more.
 *           trunk             The racks to be found are those whose trunks leave the least unexplained.
 *
 * With wrong racks, loads of a supposed trunk do not repeat, so it is hardly ever full when it should be.
 * All groupings are tried where hosts are few; else a search begins at blocks of hosts in their order, at
 * hosts dealt in turn, and at a clustering (average linkage), and moves one host at a time or joins two
 * racks. An explanation is only a suspicion: rounds across and within these racks decide (rounds.c). What one
 * switch and a busy machine can do as well is no trunk.
 * Cost: loads * hosts * racks for a sweep of the search, of which there are a few. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/sort.h"
#include "probe/findings.h"

#define AGREES 0.9 /* a load that is as high as this share of another one agrees with it */
#define LONG_AGREES                                                                                          \
    0.75            /* likewise, of what was measured for longer: several flows at once are measured worse */
#define BEYOND 1.2  /* times the median of loads: more than what is measured wrong */
#define WRONG 1.6   /* times two loads that agree, a higher one is doubtful, but not beyond this */
#define WANTED 1.12 /* times its load: it held somebody up */
#define NOISE 0.06  /* speed that a flow may lack without a reason */
#define RACK_COSTS 0.2      /* unexplained squares that one more rack must save */
#define SUSPICION 0.5       /* of what is unexplained without racks, less must be left with them */
#define ODD_LACK 0.01       /* mean square that is unexplained in a round that is worth to be repeated */
#define PLAUSIBLE_LACK 0.04 /* mean square in all rounds that nobody has to explain: a fifth of the speed */
#define LEAST_LACK 0.002    /* mean square that a flow must lack before anybody asks why */
#define TRUNK_SHOWS 0.88    /* of what the same hosts do within their racks */
#define DISTURBED 12        /* one of that many rounds may have been disturbed by others */
#define ALL_GROUPINGS 8     /* hosts, of which all groupings are tried: 4140 of them */
#define SWEEPS 12
#define STARTS 3

typedef struct {
    const banyan_probe_findings *f;
    int hosts, loads;
    double *out, *in;            /* by host */
    double *lack, *wanted;       /* by load: unexplained so far; what hosts alone would allow; */
    double *used;                /* how near to their limits its hosts were */
    double *up, *down;           /* [round * hosts + rack]: loads, */
    double *up_full, *down_full; /* likewise: how full they were (before that: what was wanted of them) */
    double *up_most, *down_most; /* by rack: its limits */
    double *of_round;            /* unexplained */
    int *size;                   /* by rack */
    int *trial, *best, *start;   /* racks by host */
} fit;

static void free_fit(fit *t)
{
    banyan_free(t->out);
    banyan_free(t->in);
    banyan_free(t->lack);
    banyan_free(t->wanted);
    banyan_free(t->used);
    banyan_free(t->up);
    banyan_free(t->down);
    banyan_free(t->up_full);
    banyan_free(t->down_full);
    banyan_free(t->up_most);
    banyan_free(t->down_most);
    banyan_free(t->of_round);
    banyan_free(t->size);
    banyan_free(t->trial);
    banyan_free(t->best);
    banyan_free(t->start);
}

static banyan_status alloc_fit(fit *t, const banyan_probe_findings *f, banyan_error *err)
{
    size_t hosts = (size_t)f->host_count, cells = hosts * ((size_t)f->round_count + 1);

    *t = (fit){.f = f, .hosts = f->host_count, .loads = f->load_count};
    t->out = banyan_alloc(hosts, sizeof *t->out);
    t->in = banyan_alloc(hosts, sizeof *t->in);
    t->lack = banyan_alloc((size_t)f->load_count + 1, sizeof *t->lack);
    t->used = banyan_alloc((size_t)f->load_count + 1, sizeof *t->used);
    t->wanted = banyan_alloc((size_t)f->load_count + 1, sizeof *t->wanted);
    t->up = banyan_alloc(cells, sizeof *t->up);
    t->down = banyan_alloc(cells, sizeof *t->down);
    t->up_full = banyan_alloc(cells, sizeof *t->up_full);
    t->down_full = banyan_alloc(cells, sizeof *t->down_full);
    t->up_most = banyan_alloc(hosts, sizeof *t->up_most);
    t->down_most = banyan_alloc(hosts, sizeof *t->down_most);
    t->of_round = banyan_alloc((size_t)f->round_count + 1, sizeof *t->of_round);
    t->size = banyan_alloc(hosts, sizeof *t->size);
    t->trial = banyan_alloc(hosts, sizeof *t->trial);
    t->best = banyan_alloc(hosts, sizeof *t->best);
    t->start = banyan_alloc(hosts, sizeof *t->start);
    if (t->out && t->in && t->lack && t->used && t->wanted && t->up && t->down && t->up_full &&
        t->down_full && t->up_most && t->down_most && t->of_round && t->size && t->trial && t->best &&
        t->start)
        return BANYAN_SUCCESS;
    free_fit(t);
    return banyan_fail_memory(err);
}

/* The flow of the same round that comes back, or the flow itself. */
static int find_reverse(const banyan_probe_findings *f, int round, int flow)
{
    for (int i = banyan_probe_round_begin(f, round); i < f->rounds[round].end; i++)
        if (f->loads[i].src == f->loads[flow].dst && f->loads[i].dst == f->loads[flow].src)
            return i;
    return flow;
}

/* What each flow lacks: how far both its hosts were from their limits. A flow beside one that comes back gets
 * no more than that: what is under way is limited, and acknowledgements queue with it. So it lacks nothing
 * where that one is at a limit of its hosts. */
static void find_lacks(fit *t)
{
    const banyan_probe_findings *f = t->f;

    banyan_probe_host_speeds(f, t->out, t->in);
    for (int k = 0; k < f->round_count; k++) {
        double *out = t->up, *in = t->down; /* borrowed: by host, in this round */
        int begin = banyan_probe_round_begin(f, k);

        memset(out, 0, (size_t)t->hosts * sizeof *out);
        memset(in, 0, (size_t)t->hosts * sizeof *in);
        for (int i = begin; i < f->rounds[k].end; i++) {
            out[f->loads[i].src] += f->loads[i].bytes_per_s;
            in[f->loads[i].dst] += f->loads[i].bytes_per_s;
        }
        for (int i = begin; i < f->rounds[k].end; i++) {
            const banyan_probe_load *load = &f->loads[i];
            double sends = t->out[load->src] > 0 ? out[load->src] / t->out[load->src] : 1;
            double takes = t->in[load->dst] > 0 ? in[load->dst] / t->in[load->dst] : 1;

            t->used[i] = fmin(1, fmax(sends, takes));
        }
        for (int i = begin; i < f->rounds[k].end; i++) {
            double used = fmax(t->used[i], t->used[find_reverse(f, k, i)]);

            t->lack[i] = fmax(0, 1 - used - NOISE);
            t->wanted[i] = f->loads[i].bytes_per_s / fmax(used, 0.02);
        }
    }
}

static double square(double x)
{
    return x * x;
}

/* What one way of a trunk carries at most: its highest load, if another agrees. Where it stands alone above
 * two that agree, it was measured wrong: flows that did not quite meet. Else it is no limit: the highest load
 * of what is no trunk would explain whatever else went wrong in that round. */
static double find_limit(const fit *t, const double *loads)
{
    double first = 0, second = 0, third = 0;

    for (int k = 0; k < t->f->round_count; k++) {
        double load = loads[k * t->hosts];

        if (load > first) {
            third = second;
            second = first;
            first = load;
        } else if (load > second) {
            third = second;
            second = load;
        } else if (load > third) {
            third = load;
        }
    }
    if (second > AGREES * first)
        return first;
    return first < WRONG * second && third > AGREES * second ? second : 0;
}

/* The load of one way of a trunk, of its limit, where that held somebody up; else 0. A lone host's trunk is
 * its own cable: it has no limit here. */
static double fullness(double load, double wanted, double most)
{
    return most > 0 && wanted >= WANTED * most ? load / most : 0;
}

/* Loads of all trunks, where racks[i] is host i's. */
static void load_trunks(fit *t, const int *racks)
{
    const banyan_probe_findings *f = t->f;
    size_t cells = (size_t)t->hosts * (size_t)f->round_count;

    memset(t->up, 0, cells * sizeof *t->up);
    memset(t->down, 0, cells * sizeof *t->down);
    memset(t->up_full, 0, cells * sizeof *t->up_full);
    memset(t->down_full, 0, cells * sizeof *t->down_full);
    memset(t->size, 0, (size_t)t->hosts * sizeof *t->size);
    for (int i = 0; i < t->hosts; i++)
        t->size[racks[i]]++;
    for (int k = 0, i = 0; k < f->round_count; k++) {
        double *up = t->up + k * t->hosts, *down = t->down + k * t->hosts;

        for (; i < f->rounds[k].end; i++) {
            int from = racks[f->loads[i].src], to = racks[f->loads[i].dst];

            if (from == to)
                continue;
            up[from] += f->loads[i].bytes_per_s;
            down[to] += f->loads[i].bytes_per_s;
            t->up_full[k * t->hosts + from] += t->wanted[i];
            t->down_full[k * t->hosts + to] += t->wanted[i];
        }
    }
    for (int r = 0; r < t->hosts; r++) {
        int is_rack = t->size[r] > 1 && t->size[r] < t->hosts;

        t->up_most[r] = is_rack ? find_limit(t, t->up + r) : 0;
        t->down_most[r] = is_rack ? find_limit(t, t->down + r) : 0;
        for (size_t cell = (size_t)r; t->size[r] && cell < cells; cell += (size_t)t->hosts) {
            t->up_full[cell] = fullness(t->up[cell], t->up_full[cell], t->up_most[r]);
            t->down_full[cell] = fullness(t->down[cell], t->down_full[cell], t->down_most[r]);
        }
    }
}

/* How full the fullest trunk on the way of a flow is, or on that of its acknowledgements: where these queue,
 * as much is under way as may be, and the flow waits. */
static double fullness_of_ways(const fit *t, int round, int from, int to)
{
    if (from == to)
        return 0;
    return fmax(fmax(t->up_full[round * t->hosts + from], t->down_full[round * t->hosts + to]),
                fmax(t->up_full[round * t->hosts + to], t->down_full[round * t->hosts + from]));
}

/* Squares of what the flows of a round lack without a reason. */
static double unexplained_in(const fit *t, const int *racks, int round)
{
    const banyan_probe_findings *f = t->f;
    double sum = 0;

    for (int i = banyan_probe_round_begin(f, round); i < f->rounds[round].end; i++) {
        double full;

        if (!(t->lack[i] > 0))
            continue;
        full = fullness_of_ways(t, round, racks[f->loads[i].src], racks[f->loads[i].dst]);
        sum += square(fmin(t->lack[i], fmax(0, 1 - full - NOISE)));
    }
    return sum;
}

/* Squares of what flows lack without a reason, but for the worst rounds, and a price for each rack, be it of
 * one host: of networks that explain the same, the one with the fewest parts. */
static double unexplained(fit *t, const int *racks)
{
    int rounds = t->f->round_count;
    double sum = 0;

    load_trunks(t, racks);
    for (int k = 0; k < rounds; k++) {
        t->of_round[k] = unexplained_in(t, racks, k);
        sum += t->of_round[k];
    }
    for (int i = 0; i < rounds / DISTURBED; i++) {
        int worst = 0;

        for (int k = 1; k < rounds; k++)
            worst = t->of_round[k] > t->of_round[worst] ? k : worst;
        sum -= t->of_round[worst];
        t->of_round[worst] = 0;
    }
    for (int r = 0; r < t->hosts; r++)
        sum += t->size[r] > 0 ? RACK_COSTS : 0;
    return sum;
}

/* Keeps the grouping if it is better than the best so far. */
static double keep_better(fit *t, const int *racks, double best)
{
    double cost = unexplained(t, racks);

    if (cost < best - 1e-9) {
        memcpy(t->best, racks, (size_t)t->hosts * sizeof *racks);
        return cost;
    }
    return best;
}

/* All groupings, as restricted growth strings: a host's rack is at most one more than all before it have. */
static double try_all(fit *t, double best)
{
    int *racks = t->trial, last = t->hosts - 1;

    memset(racks, 0, (size_t)t->hosts * sizeof *racks);
    for (;;) {
        int i = last;

        best = keep_better(t, racks, best);
        for (; i > 0; i--) {
            int most = 0;

            for (int k = 0; k < i; k++)
                most = racks[k] > most ? racks[k] : most;
            if (racks[i] <= most)
                break;
        }
        if (i == 0)
            return best;
        racks[i]++;
        for (int k = i + 1; k <= last; k++)
            racks[k] = 0;
    }
}

static int count_racks(const fit *t, const int *racks)
{
    int count = 0;

    for (int i = 0; i < t->hosts; i++)
        count = racks[i] >= count ? racks[i] + 1 : count;
    return count;
}

/* The best place for one host; whether that is a new one. */
static int move_host(fit *t, int host, double *cost)
{
    int *racks = t->trial, before = racks[host], best = before, racks_there = count_racks(t, racks);

    for (int r = 0; r <= racks_there && r < t->hosts; r++) {
        double found;

        if (r == before)
            continue;
        racks[host] = r;
        found = unexplained(t, racks);
        if (found < *cost - 1e-9) {
            *cost = found;
            best = r;
        }
    }
    racks[host] = best;
    return best != before;
}

static int join_racks(fit *t, double *cost)
{
    int *racks = t->trial, count = count_racks(t, racks), has_joined = 0;

    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++) {
            double found;

            memcpy(t->start, racks, (size_t)t->hosts * sizeof *racks);
            for (int i = 0; i < t->hosts; i++)
                racks[i] = racks[i] == b ? a : racks[i];
            found = unexplained(t, racks);
            if (found < *cost - 1e-9) {
                *cost = found;
                has_joined = 1;
            } else {
                memcpy(racks, t->start, (size_t)t->hosts * sizeof *racks);
            }
        }
    return has_joined;
}

/* From t->trial downhill. Hosts that lack nothing anywhere are not worth a move. */
static double descend(fit *t, double best)
{
    double cost = unexplained(t, t->trial);

    for (int sweep = 0, moved = 1; sweep < SWEEPS && moved; sweep++) {
        moved = 0;
        for (int i = 0; i < t->hosts; i++)
            moved |= move_host(t, i, &cost);
        moved |= join_racks(t, &cost);
    }
    return keep_better(t, t->trial, best);
}

/* Average linkage: hosts between which flows lacked least are joined first; the best of all stages. */
static banyan_status cluster(fit *t, double *best, banyan_error *err)
{
    size_t cells = (size_t)t->hosts * (size_t)t->hosts;
    double *sum = banyan_alloc(cells, sizeof *sum), *count = banyan_alloc(cells, sizeof *count);
    int *racks = t->trial, n = t->hosts;

    if (!sum || !count) {
        banyan_free(sum);
        banyan_free(count);
        return banyan_fail_memory(err);
    }
    for (int i = 0; i < t->loads; i++) {
        int a = t->f->loads[i].src, b = t->f->loads[i].dst;

        sum[a * n + b] = sum[b * n + a] += t->lack[i];
        count[a * n + b] = count[b * n + a] += 1;
    }
    for (int i = 0; i < n; i++)
        racks[i] = i;
    for (int joined = 1; joined < n; joined++) {
        double nearest = HUGE_VAL;
        int a = 0, b = 0;

        for (int i = 0; i < n; i++)
            for (int k = i + 1; k < n && racks[i] == i; k++)
                if (racks[k] == k && count[i * n + k] > 0 && sum[i * n + k] / count[i * n + k] < nearest) {
                    nearest = sum[i * n + k] / count[i * n + k];
                    a = i;
                    b = k;
                }
        if (a == b)
            break;
        for (int i = 0; i < n; i++) {
            sum[i * n + a] = sum[a * n + i] = sum[a * n + i] + sum[b * n + i];
            count[i * n + a] = count[a * n + i] = count[a * n + i] + count[b * n + i];
            racks[i] = racks[i] == b ? a : racks[i];
        }
        *best = keep_better(t, racks, *best);
    }
    banyan_free(sum);
    banyan_free(count);
    return BANYAN_SUCCESS;
}

/* Racks are numbered by their first hosts. */
static void number_racks(const fit *t, int *racks, int *count)
{
    int *number = t->size;

    *count = 0;
    for (int i = 0; i < t->hosts; i++)
        number[i] = -1;
    for (int i = 0; i < t->hosts; i++) {
        if (number[racks[i]] < 0)
            number[racks[i]] = (*count)++;
        racks[i] = number[racks[i]];
    }
}

/* Blocks of hosts in order, and hosts dealt in turn; the best of them, and downhill from there. */
static banyan_status search(fit *t, double *best, banyan_error *err)
{
    banyan_status status;
    int count;

    for (int size = 2; size <= t->hosts / 2; size++)
        for (int is_dealt = 0; is_dealt < 2; is_dealt++) {
            int racks = (t->hosts + size - 1) / size;

            for (int i = 0; i < t->hosts; i++)
                t->trial[i] = is_dealt ? i % racks : i / size;
            *best = keep_better(t, t->trial, *best);
        }
    status = cluster(t, best, err);
    for (int again = 0; again < STARTS && !status; again++) {
        double before = *best;

        memcpy(t->trial, t->best, (size_t)t->hosts * sizeof *t->trial);
        number_racks(t, t->trial, &count);
        *best = descend(t, *best);
        if (*best >= before - 1e-9)
            break;
    }
    return status;
}

/* Racks are suspected where they explain most of what flows lack, and are worth their price. */
static int is_suspicion(int rack_count, double none, double best)
{
    double left = best - RACK_COSTS * rack_count, lacking = none - RACK_COSTS;

    return best < none && left < SUSPICION * lacking;
}

static int was_repeated(const banyan_probe_findings *f, int round)
{
    for (int k = round + 1; k < f->round_count; k++)
        if (f->rounds[k].kind == BANYAN_ROUND_AGAIN && f->rounds[k].grouping == (uint64_t)round)
            return 1;
    return 0;
}

/* Of the rounds that the racks do not explain, the worst that has not been repeated. */
static int find_odd_round(fit *t)
{
    const banyan_probe_findings *f = t->f;
    double most = 0;
    int odd = -1;

    load_trunks(t, f->rack_of);
    for (int k = 0; k < f->round_count; k++) {
        int count = f->rounds[k].end - banyan_probe_round_begin(f, k);
        double square =
            f->rounds[k].kind == BANYAN_ROUND_EXPLORE ? unexplained_in(t, f->rack_of, k) / count : 0;

        if (square > ODD_LACK && square > most && !was_repeated(f, k)) {
            most = square;
            odd = k;
        }
    }
    return odd;
}

banyan_status banyan_probe_group_hosts(banyan_probe_findings *f, banyan_error *err)
{
    fit t;
    double none, best;
    banyan_status status = alloc_fit(&t, f, err);

    if (status)
        return status;
    find_lacks(&t);
    none = best = unexplained(&t, t.best); /* all in rack 0 */
    if (none > LEAST_LACK * t.loads) {
        if (f->host_count <= ALL_GROUPINGS)
            best = try_all(&t, best);
        else
            status = search(&t, &best, err);
    }
    if (!status) {
        number_racks(&t, t.best, &f->rack_count);
        if (!is_suspicion(f->rack_count, none, best)) {
            memset(t.best, 0, (size_t)t.hosts * sizeof *t.best);
            f->rack_count = 1;
        }
        memcpy(f->rack_of, t.best, (size_t)t.hosts * sizeof *t.best);
        f->odd_round = find_odd_round(&t);
    }
    free_fit(&t);
    return status;
}

uint64_t banyan_probe_grouping(const banyan_probe_findings *f)
{
    uint64_t digest = 14695981039346656037u; /* FNV-1a */

    for (int i = 0; i < f->host_count; i++)
        digest = (digest ^ (uint64_t)f->rack_of[i]) * 1099511628211u;
    return digest;
}

uint64_t banyan_probe_trunk_number(const banyan_probe_findings *f, int rack, int is_out)
{
    return banyan_probe_grouping(f) + 2 * (uint64_t)rack + (uint64_t)is_out;
}

/* What a flow can do by the limits of its hosts, beside the one that comes back. */
static double find_most(const fit *t, int round, int flow)
{
    const banyan_probe_load *there = &t->f->loads[flow],
                            *back = &t->f->loads[find_reverse(t->f, round, flow)];

    return fmin(fmin(t->out[there->src], t->in[there->dst]), fmin(t->out[back->src], t->in[back->dst]));
}

/* How much of what they can do hosts did while all stayed within their racks: less than all where ranks are
 * short of processors, trunk or no trunk. */
static double find_calm(const fit *t, uint64_t grouping)
{
    const banyan_probe_findings *f = t->f;
    double sum = 0, could = 0;

    for (int k = 0; k < f->round_count; k++)
        for (int i = banyan_probe_round_begin(f, k); i < f->rounds[k].end; i++)
            if (f->rounds[k].kind == BANYAN_ROUND_WITHIN && f->rounds[k].grouping == grouping) {
                sum += f->loads[i].bytes_per_s;
                could += find_most(t, k, i);
            }
    return could > 0 ? sum / could : 1;
}

/* In one round across the racks: the load of one way of a trunk beside what its flows could have done. */
static double compare(const fit *t, int round, int rack, int is_out)
{
    const banyan_probe_findings *f = t->f;
    double sum = 0, could = 0;

    for (int i = banyan_probe_round_begin(f, round); i < f->rounds[round].end; i++) {
        int src = f->loads[i].src, dst = f->loads[i].dst;

        if (f->rack_of[src] == f->rack_of[dst] || f->rack_of[is_out ? src : dst] != rack)
            continue;
        sum += f->loads[i].bytes_per_s;
        could += find_most(t, round, i);
    }
    return could > 0 ? sum / could : 1;
}

/* The second highest of its loads, if that agrees with the highest. */
static double find_repeated(const fit *t, const double *loads)
{
    double first = 0, second = 0;

    for (int k = 0; k < t->f->round_count; k++) {
        second = fmax(second, fmin(first, loads[k * t->hosts]));
        first = fmax(first, loads[k * t->hosts]);
    }
    return second > AGREES * first ? second : 0;
}

/* The highest that a trunk carried twice while nobody else was at work. */
static double find_long(const fit *t, uint64_t number, const double *loads)
{
    double first = 0, second = 0;
    int count = 0;

    for (int k = 0; k < t->f->round_count; k++)
        if (t->f->rounds[k].kind == BANYAN_ROUND_LONG && t->f->rounds[k].grouping == number) {
            second = fmax(second, fmin(first, loads[k * t->hosts]));
            first = fmax(first, loads[k * t->hosts]);
            count++;
        }
    return count > 1 ? second : first;
}

/* Whether a trunk, when it was measured alone, carried about all that its hosts can do. */
static int is_free(const fit *t, uint64_t number)
{
    const banyan_probe_findings *f = t->f;
    double most = 0;

    for (int k = 0; k < f->round_count; k++) {
        double sum = 0, could = 0;

        if (f->rounds[k].kind != BANYAN_ROUND_LONG || f->rounds[k].grouping != number)
            continue;
        for (int i = banyan_probe_round_begin(f, k); i < f->rounds[k].end; i++) {
            const banyan_probe_load *load = &f->loads[i];
            int out_uses = 0, in_uses = 0;

            for (int j = banyan_probe_round_begin(f, k); j < f->rounds[k].end; j++) {
                out_uses += f->loads[j].src == load->src;
                in_uses += f->loads[j].dst == load->dst;
            }
            sum += load->bytes_per_s;
            could += fmin(t->out[load->src] / out_uses, t->in[load->dst] / in_uses);
        }
        most = fmax(most, could > 0 ? sum / could : 1);
    }
    return most > TRUNK_SHOWS;
}

/* The median of its loads while all hosts crossed the racks, or more that was seen twice, since trunks of
 * larger racks may hold flows up then; refined by all loads near that, or by what it carried alone. 0: most
 * tests do not show it. */
static double trunk_of(const fit *t, uint64_t grouping, int rack, int is_out, double *values)
{
    const banyan_probe_findings *f = t->f;
    const double *loads = (is_out ? t->up : t->down) + rack;
    double middle, longer = find_long(t, banyan_probe_trunk_number(f, rack, is_out), loads);
    int count = 0;

    for (int k = 0; k < f->round_count; k++)
        if (f->rounds[k].kind == BANYAN_ROUND_ACROSS && f->rounds[k].grouping == grouping)
            values[count++] = compare(t, k, rack, is_out);
    banyan_sort_doubles(values, (size_t)count);
    if (is_free(t, banyan_probe_trunk_number(f, rack, is_out)))
        return 0;
    if (!count || values[count / 2] > TRUNK_SHOWS * find_calm(t, grouping))
        return 0;
    count = 0;
    for (int k = 0; k < f->round_count; k++)
        if (f->rounds[k].kind == BANYAN_ROUND_ACROSS && f->rounds[k].grouping == grouping)
            values[count++] = loads[k * t->hosts];
    banyan_sort_doubles(values, (size_t)count);
    middle = values[count / 2];
    if (find_repeated(t, loads) > BEYOND * middle)
        middle = find_repeated(t, loads);
    if (longer > LONG_AGREES * middle)
        return longer;
    count = 0;
    for (int k = 0; k < f->round_count; k++)
        if (loads[k * t->hosts] > AGREES * middle && AGREES * loads[k * t->hosts] < middle)
            values[count++] = loads[k * t->hosts];
    banyan_sort_doubles(values, (size_t)count);
    return count ? values[count / 2] : middle;
}

/* The last racks that were suspected may not have been tested before the survey had to end. */
static int are_tested(const banyan_probe_findings *f, uint64_t grouping)
{
    int across = 0, within = 0;

    for (int k = 0; k < f->round_count; k++) {
        across += f->rounds[k].grouping == grouping && f->rounds[k].kind == BANYAN_ROUND_ACROSS;
        within += f->rounds[k].grouping == grouping && f->rounds[k].kind == BANYAN_ROUND_WITHIN;
    }
    return across > 1 && within > 1;
}

/* One trunk shows: the hosts before it and those behind it are two racks, whichever has the trunk. */
static void join_others(banyan_probe_findings *f)
{
    double out = 0, in = 0;
    int only = 0, others;

    while (!(f->rack_out[only] > 0) && !(f->rack_in[only] > 0))
        only++;
    out = f->rack_out[only];
    in = f->rack_in[only];
    for (int i = 0; i < f->host_count; i++)
        f->rack_of[i] = f->rack_of[i] != only;
    others = banyan_probe_rack_size(f, 1);
    f->rack_count = 2;
    f->rack_out[0] = out;
    f->rack_in[0] = in;
    f->rack_out[1] = others > 1 ? in : 0;
    f->rack_in[1] = others > 1 ? out : 0;
}

/* What the racks that were found explain of the speed that flows lacked. */
static void compare_with_plain(fit *t, banyan_probe_findings *f)
{
    double left = unexplained(t, f->rack_of) - RACK_COSTS * f->rack_count, none;

    memset(t->trial, 0, (size_t)t->hosts * sizeof *t->trial);
    none = unexplained(t, t->trial) - RACK_COSTS;
    f->lacking = none / (f->load_count > 0 ? f->load_count : 1);
    f->explained = f->rack_count > 1 && none > 0 ? fmax(0, 1 - left / none) : 0;
}

int banyan_probe_is_plausible(const banyan_probe_findings *f)
{
    return f->lacking <= PLAUSIBLE_LACK || f->explained > 1 - SUSPICION;
}

banyan_status banyan_probe_judge_racks(banyan_probe_findings *f, banyan_error *err)
{
    uint64_t grouping = banyan_probe_grouping(f);
    double *loads;
    int shown = 0;
    fit t;
    banyan_status status = alloc_fit(&t, f, err);

    if (status)
        return status;
    loads = banyan_alloc((size_t)f->round_count + 1, sizeof *loads);
    if (!loads) {
        free_fit(&t);
        return banyan_fail_memory(err);
    }
    find_lacks(&t);
    load_trunks(&t, f->rack_of);
    for (int r = 0; r < f->rack_count && f->rack_count > 1 && are_tested(f, grouping); r++) {
        f->rack_out[r] = t.size[r] > 1 ? trunk_of(&t, grouping, r, 1, loads) : 0;
        f->rack_in[r] = t.size[r] > 1 ? trunk_of(&t, grouping, r, 0, loads) : 0;
        shown += f->rack_out[r] > 0 || f->rack_in[r] > 0;
    }
    if (!shown) {
        f->rack_count = 1;
        memset(f->rack_of, 0, (size_t)f->host_count * sizeof *f->rack_of);
    } else if (shown == 1) {
        join_others(f);
    }
    compare_with_plain(&t, f);
    banyan_free(loads);
    free_fit(&t);
    return BANYAN_SUCCESS;
}
