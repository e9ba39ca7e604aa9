/* SPDX-License-Identifier: Apache-2.0 */
/* bound/bound.h: how good can it get? The best possible rate of a collective on a network, with a proof that
 * a few lines of code can check: banyan_bound_check_certificate.
 *
 * Rates are bytes of vector per second as size grows (latency 0, everything pipelined). For all-gather and
 * reduce-scatter the vector is the whole gathered or scattered one. */
#ifndef BANYAN_BOUND_H
#define BANYAN_BOUND_H

#include "bound/check.h"
#include "bound/network.h"
#include "solve/net/fraction.h"
#include "topology/topology.h"

/* A cut: the network in two parts. A partition: in several, every link between parts counts equally. Prices:
 * links count differently. Cuts: several cuts with weights, and potentials of nodes (bound/check.h). An
 * all-reduce bound rests on prices: whatever trees carry a byte to one place and back to all, they pay at
 * least some sum, and all links together can be paid only that much. Cuts prove that sum; where idle nodes
 * add they cannot always, and the cheapest trees are searched for. */
typedef enum {
    BANYAN_CERTIFICATE_NONE, /* a lone worker: no limit */
    BANYAN_CERTIFICATE_CUT,
    BANYAN_CERTIFICATE_PARTITION,
    BANYAN_CERTIFICATE_PRICES,
    BANYAN_CERTIFICATE_CUTS
} banyan_certificate_kind;

typedef struct {
    banyan_certificate_kind kind;
    int node_count, link_count; /* the topology's */
    int part_count;
    int *part;      /* by node: its part, or -1 where it does not matter */
    int64_t *price; /* by link; links that cross parts have a price above 0 */

    /* What proves it: of all-gather and reduce-scatter, kind cuts, and of an all-reduce wherever cuts do.
     * reduce: the all-reduce's trees into a root, if cuts for these are others. */
    banyan_cut_family family, reduce;
} banyan_certificate;

typedef struct {
    double bytes_per_s;       /* infinite for a lone worker */
    banyan_fraction fraction; /* bytes_per_s = fraction * unit; den 0: not a short fraction */
    double unit;              /* bytes per second */
    int exact;                /* bandwidths were whole multiples of the unit, so the fraction is exact */
    int is_tight;             /* some packing of trees is known to reach it, to 1e-6; else nobody knows */
    banyan_certificate certificate;
} banyan_rate;

typedef struct {
    banyan_relays relays;
    banyan_rate allreduce, allgather, reducescatter;
    double
        reached_bytes_per_s; /* an all-reduce packing that was found on the way, equal to the bound where it
                                   is tight; 0: none was looked for */
} banyan_bound;

/* For the active workers (node ids, ascending). INVALID_ARGUMENT where they are not connected. */
banyan_status banyan_bound_find(const banyan_topology *topology, const int *active, int active_count,
                                banyan_relays relays, banyan_bound *out, banyan_error *err);
void banyan_bound_fini(banyan_bound *bound);

/* The same for those who have some seconds: where idle workers help, a bound that trees do not reach may be
 * lowered by a search. */
banyan_status banyan_bound_search(const banyan_topology *topology, const int *active, int active_count,
                                  banyan_relays relays, banyan_bound *out, banyan_error *err);

/* Only the all-reduce rate, for those who ask often. */
banyan_status banyan_bound_allreduce(const banyan_topology *topology, const int *active, int active_count,
                                     banyan_relays relays, banyan_rate *out, double *reached_bytes_per_s,
                                     banyan_error *err);
void banyan_rate_fini(banyan_rate *rate);
const char *banyan_rate_tightness(const banyan_rate *rate); /* "proven" or "unknown" */

/* The bound that a bound's certificates prove: prices of the all-reduce, and the cuts of the others.
 * Nothing else of it is trusted; its rates only say how much is worth trying to prove, and what it says to be
 * tight is taken over unchecked. PLAN_INVALID with a sentence where a certificate proves less than its rate
 * claims. */
banyan_status banyan_bound_derive(const banyan_topology *topology, const int *active, int active_count,
                                  const banyan_bound *claimed, banyan_bound *out, banyan_error *err);

/* As banyan_bound_derive, where only the verdict is wanted. */
banyan_status banyan_bound_check_certificate(const banyan_topology *topology, const int *active,
                                             int active_count, const banyan_bound *bound, banyan_error *err);

/* The all-reduce certificate in words: 'links h0-net and h1-net: every byte must cross them once each way'.
 * The caller frees *out. */
banyan_status banyan_bound_explain(const banyan_topology *topology, const int *active, int active_count,
                                   const banyan_bound *bound, char **out, banyan_error *err);

#endif
