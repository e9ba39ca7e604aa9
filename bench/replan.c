/* SPDX-License-Identifier: Apache-2.0 */
/* bench/replan.c: every cable of a network is lost in turn, or slows down: what a new plan takes, and what it
 * reaches.
 *
 *     bench_replan [SPEC [FACTOR]]        torus:8x8 and 0 (lost) unless told; 0.5: at half its bandwidth
 *
 * CPU time of planning and proving, the least of a few runs each, so that other programs disturb little. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "algorithms/algorithms.h"
#include "bound/bound.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "simulate/simulate.h"
#include "verify/verify.h"

enum { RUNS = 5 };

static void stop_on(banyan_status status, const banyan_error *err)
{
    if (!status)
        return;
    fprintf(stderr, "bench_replan: %s\n", err->text);
    exit(1);
}

/* Plans and proves the plan; the CPU seconds of the quickest run. */
static double plan_s(const banyan_topology *topology, banyan_schedule **out)
{
    banyan_problem problem = {.topology = topology,
                              .active = topology->workers,
                              .active_count = topology->worker_count,
                              .collective = BANYAN_COLLECTIVE_ALLREDUCE};
    double least_s = HUGE_VAL;
    banyan_verdict verdict;
    banyan_error err;

    *out = NULL;
    for (int run = 0; run < RUNS; run++) {
        double begin_s = banyan_clock_cpu_s();

        banyan_schedule_destroy(*out);
        stop_on(banyan_algorithm_build(banyan_algorithm_find("forest"), &problem, out, &err), &err);
        stop_on(banyan_verify(*out, topology, &verdict, &err), &err);
        stop_on(banyan_verdict_status(&verdict, &err), &err);
        least_s = fmin(least_s, banyan_clock_cpu_s() - begin_s);
    }
    return least_s;
}

typedef struct {
    int cables, deepest;
    double sum, worst, least_share;
} tally;

static void lose_cable(const banyan_topology *whole, const banyan_link *link, double factor, tally *t)
{
    banyan_topology *broken;
    banyan_schedule *anew;
    banyan_limits limits;
    banyan_rate rate;
    banyan_error err;
    double seconds, reached;
    const char *a = banyan_topology_node_name(whole, link->src),
               *b = banyan_topology_node_name(whole, link->dst);
    char spec[256];

    if (factor > 0)
        snprintf(spec, sizeof spec, "%s,degrade=%s-%s:%g", whole->name, a, b, factor);
    else
        snprintf(spec, sizeof spec, "%s,down=%s-%s", whole->name, a, b);
    stop_on(banyan_topology_load(spec, &broken, &err), &err);
    seconds = plan_s(broken, &anew);
    stop_on(banyan_bandwidth_limit(anew, broken, &limits, &err), &err);
    stop_on(banyan_bound_allreduce(broken, broken->workers, broken->worker_count, BANYAN_RELAYS_ADD, &rate,
                                   &reached, &err),
            &err);
    t->cables++;
    t->sum += seconds;
    t->worst = fmax(t->worst, seconds);
    t->least_share = fmin(t->least_share, limits.bytes_per_s / rate.bytes_per_s);
    t->deepest = limits.depth > t->deepest ? limits.depth : t->deepest;
    if (getenv("BANYAN_BENCH_EACH"))
        printf("%s %.3f ms %.5f %d\n", spec, 1e3 * seconds, limits.bytes_per_s / rate.bytes_per_s,
               limits.depth);
    banyan_rate_fini(&rate);
    banyan_schedule_destroy(anew);
    banyan_topology_destroy(broken);
}

int main(int argc, char **argv)
{
    double factor = argc > 2 ? atof(argv[2]) : 0, first_s;
    tally t = {.least_share = HUGE_VAL};
    banyan_topology *whole;
    banyan_schedule *old;
    banyan_limits limits;
    banyan_error err;

    stop_on(banyan_topology_load(argc > 1 ? argv[1] : "torus:8x8", &whole, &err), &err);
    first_s = plan_s(whole, &old);
    stop_on(banyan_bandwidth_limit(old, whole, &limits, &err), &err);
    for (int i = 0; i < whole->link_count; i++)
        if (whole->links[i].src < whole->links[i].dst)
            lose_cable(whole, &whole->links[i], factor, &t);
    printf("%s: first plan %.2f ms, %d trees, %d hops\n", whole->name, 1e3 * first_s, old->flow_count,
           limits.depth);
    printf("%d cables %s: a new plan in %.2f ms (mean), %.2f ms (worst); at least %.4f of the new bound; "
           "%d hops at most\n",
           t.cables, factor > 0 ? "slower" : "lost", 1e3 * t.sum / t.cables, 1e3 * t.worst, t.least_share,
           t.deepest);
    banyan_schedule_destroy(old);
    banyan_topology_destroy(whole);
    return 0;
}
