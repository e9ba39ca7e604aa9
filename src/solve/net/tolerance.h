/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/tolerance.h: how exact computed numbers are, as shares of themselves. */
#ifndef BANYAN_SOLVE_NET_TOLERANCE_H
#define BANYAN_SOLVE_NET_TOLERANCE_H

#define BANYAN_SAME 1e-9          /* a linear program's own precision: what differs by less is the same */
#define BANYAN_NEARLY_SAME 1e-7   /* the same for sums of what such programs found, and for whole numbers */
#define BANYAN_EXACTLY_SAME 1e-10 /* and for what is computed from the program's result in one step */

#endif
