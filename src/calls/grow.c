/* SPDX-License-Identifier: Apache-2.0 */
/* calls/grow.c: a group with more ranks: spare ones, or those that were restarted.
 *
 * Members keep their ranks, newcomers have those above, and all meet by a unique id as the first group did
 * (calls/init.c). The old group is not needed for that, and is left as it is. */
#include <string.h>

#include "calls/comm.h"

static banyan_status check(const banyan_comm *comm, int size, banyan_error *err)
{
    const banyan_group *group = comm->group;

    if (!group->world)
        return banyan_fail(
            err, BANYAN_UNSUPPORTED,
            "ranks that are threads of one process make a new group with banyan_comm_init_all");
    if (size < group->setup.size)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a group of %d ranks cannot grow to %d",
                           group->setup.size, size);
    return BANYAN_SUCCESS;
}

/* What the old group was told; the network may have become another one with the ranks that join. */
static banyan_config inherit(const banyan_setup *setup)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;

    config.algorithm = setup->algorithm;
    config.transport = setup->transport;
    config.shrink = setup->shrink;
    config.timeout_ms = setup->timeout_ms;
    config.slice_bytes = setup->slice_bytes;
    return config;
}

banyan_status banyan_comm_grow(banyan_comm *comm, int size, banyan_unique_id id, int rank, banyan_comm **out,
                               const banyan_config *config)
{
    banyan_config known;
    banyan_status status;

    if (!out)
        return BANYAN_INVALID_ARGUMENT;
    *out = NULL;
    if (!comm)
        return banyan_comm_init_rank(out, size, id, rank, config);
    pthread_mutex_lock(&comm->lock);
    status = check(comm, size, &comm->err);
    known = inherit(&comm->group->setup);
    known.error = comm->err.text;
    known.error_bytes = sizeof comm->err.text;
    if (status)
        banyan_comm_report(config, &comm->err);
    else
        status = banyan_comm_init_rank(out, size, id, comm->rank, config ? config : &known);
    pthread_mutex_unlock(&comm->lock);
    return status;
}
