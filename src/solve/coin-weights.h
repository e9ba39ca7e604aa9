/* SPDX-License-Identifier: Apache-2.0 */
/* solve/coin-weights.h: which weights trees get that are made up as a sum of money is of coins; solve/coins.c tells why. */
#ifndef BANYAN_SOLVE_COIN_WEIGHTS_H
#define BANYAN_SOLVE_COIN_WEIGHTS_H

typedef struct {
    double quanta; /* that all weigh together; 0: their number is too small for any good */
    int doublings; /* from a quantum to the heaviest weight */
    double spare;  /* times that an arc's room for a weight is not used by it */
} banyan_coin_weights;

/* half: trees that half a quantum on each arc with a price could bear; loss: the part of the rate that may be lost; limit:
 * trees at most. As much to spare and as little loss as their number allows. Pairs of trees are counted as trees are. */
banyan_coin_weights banyan_coin_weights_choose(double half, double loss, int limit);

#endif
