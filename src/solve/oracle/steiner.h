/* SPDX-License-Identifier: Apache-2.0 */
/* solve/oracle/steiner.h: which idle nodes should help a cheapest tree. Once they are known, the tree is a
 * plain spanning tree or arborescence on the terminals and them. */
#ifndef BANYAN_SOLVE_ORACLE_STEINER_H
#define BANYAN_SOLVE_ORACLE_STEINER_H

#include "solve/oracle/closure.h"

typedef struct banyan_steiner banyan_steiner;

/* Exact where at most BANYAN_STEINER_TERMINALS nodes of the closure are active, or are not (is_exact tells);
 * else a local search: flip one helper at a time while the tree gets cheaper. The closure must live on. */
banyan_status banyan_steiner_create(const banyan_closure *closure, banyan_steiner **out, banyan_error *err);
void banyan_steiner_destroy(banyan_steiner *steiner); /* accepts NULL */
int banyan_steiner_is_exact(const banyan_steiner *steiner);
int banyan_steiner_is_slow(const banyan_steiner *steiner); /* quick_tree takes less time */

/* After the closure was measured anew, before trees are asked for. */
void banyan_steiner_prepare(banyan_steiner *steiner, int transposed);

/* The same as tree, below, by local search always, which can be a careful one; the direction is all that has
 * to be known before. */
void banyan_steiner_turn(banyan_steiner *steiner, int transposed);
int64_t banyan_steiner_quick_tree(banyan_steiner *steiner, int root, int careful, banyan_trees *trees);

/* The cheapest tree from (transposed: to) the root, an index of the closure. Returns its cost, or -1; the
 * tree is appended to trees unless trees is NULL. */
int64_t banyan_steiner_tree(banyan_steiner *steiner, int root, banyan_trees *trees);

#endif
