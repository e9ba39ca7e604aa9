/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/list.h: every paper, one line each. X(NAME) stands for banyan_paper_NAME in its own file,
 * whose name is NAME. */
X(flexreduce)
X(treepacking)
X(hierarchical)
X(multitree)
X(asc)
X(field)
