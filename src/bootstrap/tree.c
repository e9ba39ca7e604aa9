/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/tree.c: arithmetic on the numbers of ranks; O(depth) each. */
#include "bootstrap/tree.h"

int banyan_tree_parent(int fanout, int rank)
{
    return rank > 0 ? (rank - 1) / fanout : -1;
}

int banyan_tree_level(int fanout, int rank)
{
    int level = 0;

    while ((rank = banyan_tree_parent(fanout, rank)) >= 0)
        level++;
    return level;
}

int banyan_tree_first_child(int fanout, int rank)
{
    return fanout * rank + 1;
}

int banyan_tree_child_count(int fanout, int size, int rank)
{
    int left = size - banyan_tree_first_child(fanout, rank);

    return left < 0 ? 0 : left < fanout ? left : fanout;
}

int banyan_tree_child_toward(int fanout, int rank, int other)
{
    int parent;

    while ((parent = banyan_tree_parent(fanout, other)) > rank)
        other = parent;
    return parent == rank ? other : -1;
}

void banyan_tree_climb_init(banyan_tree_climb *climb, int fanout, int rank)
{
    *climb = (banyan_tree_climb){.rank = rank, .below = banyan_tree_parent(fanout, rank)};
}

/* The index-th sibling of climb->below, from 1 to fanout - 1; all of them come once. */
static int sibling_at(const banyan_tree_climb *climb, int fanout, int above, int index)
{
    int first = banyan_tree_first_child(fanout, above);
    int step = 1 + (climb->rank + index - 1) % (fanout - 1);

    return first + (climb->below - first + step) % fanout;
}

int banyan_tree_climb_next(banyan_tree_climb *climb, int fanout, int size, int with_others)
{
    int above;

    while ((above = banyan_tree_parent(fanout, climb->below)) >= 0) {
        int index = climb->index++;

        if (index == 0)
            return above;
        if (with_others && index < fanout) {
            int other = sibling_at(climb, fanout, above, index);

            if (other < size)
                return other;
            continue;
        }
        climb->below = above;
        climb->index = 0;
    }
    return -1;
}
