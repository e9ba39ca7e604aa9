/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_orphans.c: at the root: ranks whose parent is lost and who have not turned up since.
 *
 * One that lives finds a refuge by itself within a heartbeat or two. Who does not may be slow, or may have
 * died together with its parent, in which case nobody holds a connection to it that could end. The system
 * knows: where a process has died, nobody listens at its port any more. So the root tries to connect, at most
 * once to each; a connection that is refused is a rank that is lost, and its children are looked after next.
 * A few at a time, and nothing here blocks. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/clock.h"
#include "group/control_internal.h"

static int is_overdue(const banyan_control *control, int rank, int64_t now_ns)
{
    const member *m = &control->members[rank];
    int parent = banyan_tree_parent(control->fanout, rank);

    return parent > 0 && control->lost[parent] && !control->lost[rank] && !control->left[rank] &&
           !m->is_looked_after && !banyan_control_is_linked(control, rank) &&
           now_ns - m->told_ns > 2 * control->beat_ns;
}

static void find_dead(banyan_control *control, int rank)
{
    banyan_control_name_lost(control, rank, BANYAN_PEER_LOST, "nobody listens at its port any more");
}

static void look_after(banyan_control *control, orphan *o, int rank, int64_t now_ns)
{
    struct epoll_event event = {.events = EPOLLOUT, .data = {.u64 = KEY_ORPHAN}};
    banyan_status status;

    control->members[rank].is_looked_after = 1;
    errno = 0;
    status = banyan_socket_connect(&control->records[rank].address, NULL, &o->fd, NULL);
    if (status && errno == ECONNREFUSED)
        find_dead(control, rank);
    if (status)
        return;
    o->rank = rank;
    o->deadline_ns = now_ns + SILENT_BEATS * control->beat_ns;
    epoll_ctl(control->epoll, EPOLL_CTL_ADD, o->fd, &event);
}

static void close_orphan(orphan *o)
{
    close(o->fd); /* and out of the epoll set */
    o->fd = -1;
}

void banyan_control_hear_of_orphans(banyan_control *control)
{
    int64_t now_ns = banyan_clock_ns();

    for (int i = 0; i < MAX_ORPHANS; i++) {
        orphan *o = &control->orphans[i];
        banyan_status status;

        if (o->fd < 0 || (!banyan_socket_wait(o->fd, POLLOUT, 0) && now_ns < o->deadline_ns))
            continue;
        errno = 0;
        status = banyan_socket_connected(o->fd, &control->records[o->rank].address, NULL);
        close_orphan(o);
        if (status && errno == ECONNREFUSED)
            find_dead(control, o->rank);
    }
}

void banyan_control_look_after_orphans(banyan_control *control, int64_t now_ns)
{
    int rank = 1;

    if (control->rank != 0 || !control->has_verdict)
        return;
    banyan_control_hear_of_orphans(control);
    for (int i = 0; i < MAX_ORPHANS; i++) {
        while (rank < control->size && control->orphans[i].fd < 0) {
            if (is_overdue(control, rank, now_ns))
                look_after(control, &control->orphans[i], rank, now_ns);
            rank++;
        }
    }
}

void banyan_control_drop_orphans(banyan_control *control)
{
    for (int i = 0; i < MAX_ORPHANS; i++)
        if (control->orphans[i].fd >= 0)
            close_orphan(&control->orphans[i]);
}
