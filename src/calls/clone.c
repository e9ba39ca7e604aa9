/* SPDX-License-Identifier: Apache-2.0 */
/* calls/clone.c: another communicator of the same ranks. Where they are processes it is a split of one color;
 * where they are threads of this process, the first to come makes the handles of all, and the others find
 * theirs. */
#include "calls/comm.h"
#include "core/alloc.h"

struct banyan_clone {
    banyan_clone *next;
    uint64_t number; /* the how-manieth clone of the group */
    int left;        /* handles that are not taken */
    banyan_comm *comms[];
};

static banyan_status make_clone(banyan_group *group, uint64_t number, banyan_clone **out, banyan_error *err)
{
    int size = group->setup.size, *ranks = banyan_alloc((size_t)size, sizeof *ranks);
    banyan_clone *clone = banyan_alloc(1, sizeof *clone + (size_t)size * sizeof *clone->comms);
    banyan_setup setup = {0};
    banyan_status status = ranks && clone ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (int i = 0; i < size && !status; i++)
        ranks[i] = i;
    if (!status)
        status = banyan_setup_inherit(&setup, &group->setup, NULL, ranks, size, err);
    if (!status)
        status = banyan_comm_open_all(&setup, clone->comms, err);
    banyan_setup_fini(&setup);
    banyan_free(ranks);
    if (status) {
        banyan_free(clone);
        return status;
    }
    clone->number = number;
    clone->left = size;
    clone->next = group->clones;
    *out = group->clones = clone;
    return BANYAN_SUCCESS;
}

static banyan_status take_handle(banyan_comm *comm, banyan_comm **out, banyan_error *err)
{
    banyan_group *group = comm->group;
    banyan_clone **link = &group->clones, *clone;
    uint64_t number = comm->child_count++;
    banyan_status status = BANYAN_SUCCESS;

    while (*link && (*link)->number != number)
        link = &(*link)->next;
    clone = *link;
    if (!clone) {
        status = make_clone(group, number, &clone, err);
        link = &group->clones;
    }
    if (status)
        return status;
    *out = clone->comms[comm->rank];
    clone->comms[comm->rank] = NULL;
    if (--clone->left)
        return BANYAN_SUCCESS;
    *link = clone->next;
    banyan_free(clone);
    return BANYAN_SUCCESS;
}

banyan_status banyan_comm_clone(banyan_comm *comm, banyan_comm **out, banyan_error *err)
{
    banyan_status status;

    *out = NULL;
    if (comm->group->world) {
        status = banyan_comm_split(comm, 0, comm->rank, out, NULL);
        return status ? banyan_fail(err, status, "%s", banyan_last_error(comm)) : BANYAN_SUCCESS;
    }
    pthread_mutex_lock(&comm->lock);
    pthread_mutex_lock(&comm->group->lock);
    status = take_handle(comm, out, err);
    pthread_mutex_unlock(&comm->group->lock);
    pthread_mutex_unlock(&comm->lock);
    return status;
}

void banyan_clones_destroy(banyan_group *group)
{
    while (group->clones) {
        banyan_clone *clone = group->clones;

        group->clones = clone->next;
        for (int i = 0; i < group->setup.size; i++)
            banyan_comm_destroy(clone->comms[i]);
        banyan_free(clone);
    }
}
