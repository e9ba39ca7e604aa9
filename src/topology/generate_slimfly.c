/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_slimfly.c: routers that are at most two hops apart, with nearly as few ports as possible:
 * the graphs of McKay, Miller and Siran.
 *
 * There are two times Q x Q routers, (0, x, y) and (1, m, c), with numbers modulo Q:
 *   (0, x, y) - (0, x, z)  where y - z is in X,
 *   (1, m, c) - (1, m, e)  where c - e is in X',
 *   (0, x, y) - (1, m, c)  where y = m x + c.
 * X and X' are powers of a primitive root p. For Q = 4 w + 1 these are the even and the odd powers; for
 * Q = 4 w - 1, X has the powers 0, 2, ..., 2w - 2 and 2w - 1, 2w + 1, ..., 4w - 3, and X' is p X. Each router
 * has (3 Q - 1) / 2 cables in the first case and (3 Q + 1) / 2 in the second.
 *
 * Besta and Hoefler, "Slim Fly: A Cost Effective Low-Diameter Network Topology", SC 2014; Hafner, "Geometric
 * realisation of the graphs of McKay-Miller-Siran", J. Combinatorial Theory B 90, 2004. Prime powers would do
 * as well; only odd primes are built here. By default a router has half as many workers as cables. */
#include "topology/generator.h"

/* The largest Q whose 2 Q^2 routers can have a worker each. */
#define MAX_Q 181

static int is_odd_prime(int q)
{
    for (int d = 2; d * d <= q; d++)
        if (q % d == 0)
            return 0;
    return q > 2;
}

/* The least number whose powers modulo the prime q are all of 1 .. q - 1. */
static int find_primitive_root(int q)
{
    for (int root = 2;; root++) {
        int order = 1;

        for (int power = root; power != 1; power = power * root % q)
            order++;
        if (order == q - 1)
            return root;
    }
}

/* Marks X in in_x[0][0 .. q) and X' in in_x[1][0 .. q). */
static void mark_differences(int q, char in_x[2][MAX_Q])
{
    int root = find_primitive_root(q), half = (q + 1) / 4 * 2, power = 1;

    for (int i = 0; i < q - 1; i++) {
        int is_in = q % 4 == 1 ? i % 2 == 0 : i < half - 1 ? i % 2 == 0 : i % 2 == 1;

        in_x[0][power] = (char)is_in;
        in_x[1][power * root % q] = (char)is_in;
        power = power * root % q;
    }
}

static void join_routers(const banyan_generator_request *request, banyan_topology_builder *builder, int q,
                         int first)
{
    const banyan_generator_settings *settings = &request->settings;
    char in_x[2][MAX_Q] = {{0}};

    mark_differences(q, in_x);
    for (int half = 0; half < 2; half++)
        for (int line = 0; line < q; line++)
            for (int a = 0; a < q; a++)
                for (int b = a + 1; b < q; b++)
                    if (in_x[half][b - a])
                        banyan_topology_add_cable(builder, first + (half * q + line) * q + a,
                                                  first + (half * q + line) * q + b, settings->bytes_per_s,
                                                  settings->latency_s);
    for (int x = 0; x < q; x++)
        for (int m = 0; m < q; m++)
            for (int c = 0; c < q; c++)
                banyan_topology_add_cable(builder, first + x * q + (m * x + c) % q, first + (q + m) * q + c,
                                          settings->bytes_per_s, settings->latency_s);
}

static void build_slimfly(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int q = banyan_shape_value(&request->shape, 0, 0);
    int radix = (3 * q + (q % 4 == 1 ? -1 : 1)) / 2;
    int each = request->shape.part_count > 1 ? banyan_shape_value(&request->shape, 1, 0) : (radix + 1) / 2;
    double routers = 2.0 * q * q;
    int first;

    if (!is_odd_prime(q)) {
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT, "%s: %d is not an odd prime",
                                     request->spec, q);
        return;
    }
    if (!banyan_generator_fits(request, builder, routers * each, routers * (radix + 2.0 * each)))
        return;
    first = (int)routers * each;
    banyan_generator_add_workers(builder, first);
    for (int r = 0; r < (int)routers; r++) {
        banyan_generator_add_switch(request, builder, "r", r);
        for (int i = 0; i < each; i++)
            banyan_topology_add_cable(builder, r * each + i, first + r, request->settings.bytes_per_s,
                                      request->settings.latency_s);
    }
    join_routers(request, builder, q, first);
}

const banyan_generator banyan_generator_slimfly = {
    .info = {"slimfly", "slimfly:Q[xP]",
             "Slim Fly of 2 Q^2 routers r0.., at most two hops apart, for an odd prime Q; P workers a router "
             "(half its cables); 100 Gb/s and 1 us a cable"},
    .least_parts = 1,
    .most_parts = 2,
    .options = BANYAN_GENERATOR_SWITCH,
    .defaults = {.bytes_per_s = BANYAN_GBPS(100), .latency_s = BANYAN_DEFAULT_LATENCY_S},
    .build = build_slimfly,
};
