/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/build.h: making a schedule by appending transfers.
 * Failures are remembered: append freely, and finish says what went wrong first. */
#ifndef BANYAN_SCHEDULE_BUILD_H
#define BANYAN_SCHEDULE_BUILD_H

#include "schedule/schedule.h"

typedef struct {
    banyan_schedule *schedule;
    size_t transfer_capacity, route_capacity, link_capacity;
    size_t moves, most_moves; /* pieces that all transfers move; 0: any number may */
    banyan_status status;
    banyan_error err;
} banyan_builder;

/* active: node ids, strictly ascending; they are copied. root is a rank (0 where it means nothing). */
void banyan_builder_init(banyan_builder *builder, banyan_collective collective, int root, int node_count,
                         const int *active, int active_count);

/* Exactly one of these before finish: pieces of equal size, or any cut points (copied).
 * For collectives with parts: piece p belongs to the rank whose equal share of the vector, or in an
 * all-to-all of a row, holds its beginning, unless owners are set. */
void banyan_builder_cut_evenly(banyan_builder *builder, int piece_count);
void banyan_builder_cut(banyan_builder *builder, int64_t whole, const int64_t *cut, int piece_count);
void banyan_builder_set_owners(banyan_builder *builder, const int *owner);

/* The schedule's barrier, if it has one. */
void banyan_builder_set_barrier(banyan_builder *builder, int round);

/* More moves than that are UNSUPPORTED: a transfer of three pieces is three. */
void banyan_builder_limit_moves(banyan_builder *builder, size_t most);

/* A route for transfers to name; equal consecutive ones are not merged. Returns its index, or -1 on
 * failure. */
int banyan_builder_add_route(banyan_builder *builder, const int *links, int count);

/* Appends; rounds may come in any order (finish sorts them, keeping the order within a round). */
void banyan_builder_add(banyan_builder *builder, banyan_transfer transfer);

/* The two common forms, on the default route: add into dst, overwrite dst. */
void banyan_builder_reduce(banyan_builder *builder, int round, int src, int dst, int first_piece,
                           int piece_count, int flow);
void banyan_builder_copy(banyan_builder *builder, int round, int src, int dst, int first_piece,
                         int piece_count, int flow);

/* Remembers a failure that the caller saw (the first one stays). */
void banyan_builder_fail(banyan_builder *builder, banyan_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Checks ids and ranges, sorts by round and gives the schedule away. The builder is empty after. */
banyan_status banyan_builder_finish(banyan_builder *builder, banyan_schedule **out, banyan_error *err);

#endif
