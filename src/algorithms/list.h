/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/list.h: every algorithm, one line each. X(NAME) stands for banyan_algorithm_NAME in its own
 * file. */
X(ring)
X(bidirectional_ring)
X(recursive_doubling)
X(halving_doubling)
X(double_tree)
X(binomial)
X(parameter_server)
X(parameter_servers)
X(direct)
X(multitree)
X(forest)
