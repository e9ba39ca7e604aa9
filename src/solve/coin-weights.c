/* SPDX-License-Identifier: Apache-2.0 */
/* solve/coin-weights.c: all trees weigh Q quanta, and each weight that is half of another takes about 2 h trees, where h is
 * what half a quantum of each arc could bear: so the number of trees says how many such weights there can be. */
#include "solve/coin-weights.h"

#include <math.h>

#define ROUNDING 0.35  /* of the loss that is allowed is the finest weight's, if there can be so many trees */
#define SURELY 0.9     /* of the trees that are allowed are expected at most */
#define HEAVIEST 3.0   /* times the mean weight */
#define MOST_SPARE 2.0 /* trees of a weight that each arc could bear in addition */
#define MOST_LOSS 20.0 /* times what is allowed, if the trees are too few for it */
#define MOST_DOUBLINGS 12

/* About how many trees there will be: what is left over of a weight is twice as much in the next. */
static double expected_trees(double half, double quanta, int doublings, double spare)
{
    double heavy = quanta / exp2(doublings) - (2 * spare + 1) * half * (1 - exp2(-doublings));

    return (2 * spare + 1) * half * doublings + fmax(1, heavy);
}

/* The fewest doublings that do with the number of trees, or -1: none do. */
static int fewest_doublings(double half, double quanta, double spare, int limit)
{
    for (int k = 0; k <= MOST_DOUBLINGS; k++)
        if (exp2(k) * limit <= HEAVIEST * quanta && expected_trees(half, quanta, k, spare) <= SURELY * limit)
            return k;
    return -1;
}

banyan_coin_weights banyan_coin_weights_choose(double half, double loss, int limit)
{
    double wanted = fmax(4, half / (ROUNDING * loss));
    int k;

    for (double spare = MOST_SPARE; spare > 0.1; spare /= 2)
        if ((k = fewest_doublings(half, wanted, spare, limit)) >= 0)
            return (banyan_coin_weights){ceil(wanted), k, spare};
    for (double quanta = wanted; quanta >= fmax(4, half / (MOST_LOSS * loss)); quanta *= 0.9)
        if ((k = fewest_doublings(half, quanta, 0, limit)) >= 0)
            return (banyan_coin_weights){ceil(quanta), k, 0};
    return (banyan_coin_weights){0, 0, 0};
}
