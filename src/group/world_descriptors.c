/* SPDX-License-Identifier: Apache-2.0 */
/* group/world_descriptors.c: how many descriptors a rank will open, reserved before it opens them: who runs
 * out of them later cannot accept the others' connections, and they would be waited for in vain.
 *
 * Certain to be opened are those of this rank itself, the control connections of its place in the
 * tree, a pidfd and a pipe for two ranks of the same host where shared memory is used, and connections to two
 * ranks of other hosts. Which other pairs are connected is the plans' affair, so all of them are only
 * wanted. */
#include <stdio.h>
#include <string.h>

#include "bootstrap/tree.h"
#include "core/descriptors.h"
#include "group/world_internal.h"

/* Of this rank itself: first a listening socket, two event queues and an eventfd; later the status socket, an
 * event queue, an eventfd, a segment, a pipe, and two that are open for a moment, such as a connection that
 * has not proven itself yet. */
#define OWN_AT_FIRST 4
#define OWN_LATER 8
#define PER_LOCAL_RANK 2 /* a pidfd and the end of a pipe */

static long count_local(const banyan_world *world, const banyan_setup *setup)
{
    long count = 0;

    if (!world->size || (strcmp(setup->transport, "auto") != 0 && strncmp(setup->transport, "shm", 3) != 0))
        return 0; /* or not known yet */
    for (int i = 0; i < world->size; i++)
        count += i != world->rank && !strcmp(world->records[i].place, world->records[world->rank].place);
    return count;
}

banyan_status banyan_world_reserve_descriptors(const banyan_world *world, const banyan_setup *setup, int rank,
                                               int size, long *spare, banyan_error *err)
{
    long local = count_local(world, setup), remote = size - 1 - local;
    long connections = (long)world->meeting.connections * BANYAN_INTERFACES;
    long own = world->control ? OWN_LATER : OWN_AT_FIRST + OWN_LATER;
    int fanout = (int)banyan_settings_integer(world->settings, BANYAN_SETTING_CONTROL_FANOUT);
    long per_neighbour = world->interface_count > 1 ? 2 : 1; /* the spare connection */
    long certain = own + ((rank > 0) + banyan_tree_child_count(fanout, size, rank)) * per_neighbour +
                   (local < 2 ? local : 2) * PER_LOCAL_RANK;
    char what[64];

    if (connections > BANYAN_TCP_MAX_CONNECTIONS)
        connections = BANYAN_TCP_MAX_CONNECTIONS;
    snprintf(what, sizeof what, "rank %d of %d", rank, size);
    return banyan_descriptors_reserve(certain + (remote < 2 ? remote : 2) * world->meeting.connections,
                                      certain + local * PER_LOCAL_RANK + remote * connections +
                                          BANYAN_LISTENER_UNPROVEN + BANYAN_CONTROL_MAX_CONNECTIONS,
                                      what, spare, err);
}
