/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_close.c: leaving without throwing away what the peers have not got yet. Everybody is told
 * first, so that nobody who waits for one peer keeps another waiting. */
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "core/clock.h"
#include "transport/tcp_internal.h"

#define FAREWELL_NS 2000000000 /* closing waits so long for the peer's kernel to have everything */

static void say_bye(banyan_tcp_link *link)
{
    unsigned char bye[BANYAN_TCP_HEADER] = {0, 0, 0, BANYAN_TCP_BYE};
    int is_between_frames = !link->frame_count || !link->frames[link->first_frame].done;

    if (is_between_frames && send(link->fd, bye, sizeof bye, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return;
    shutdown(link->fd, SHUT_WR);
}

/* The kernel still counts what was unsent when the peer reset the connection: nobody will take it. */
static int is_reset(int fd)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || info.tcpi_state == TCP_CLOSE;
}

/* Closing a socket that still holds unread bytes makes the kernel throw away what the peer has not got
 * yet. */
static void drain(banyan_tcp_link *link, int64_t deadline_ns)
{
    struct timespec pause = {.tv_nsec = 1000000};
    char rest[4096];
    int unsent = 0;

    for (;;) {
        while (recv(link->fd, rest, sizeof rest, MSG_DONTWAIT) > 0)
            continue;
        if (ioctl(link->fd, SIOCOUTQ, &unsent) != 0 || !unsent || is_reset(link->fd) ||
            banyan_clock_ns() >= deadline_ns)
            return;
        nanosleep(&pause, NULL);
    }
}

void banyan_tcp_close_links(banyan_tcp_endpoint *e)
{
    int64_t deadline_ns = banyan_clock_ns() + FAREWELL_NS;

    banyan_tcp_deliver_rest(e, deadline_ns);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < e->base.member_count; i++)
            for (int k = 0; e->peers[i] && k < e->peers[i]->link_count; k++) {
                banyan_tcp_link *link = &e->peers[i]->links[k];

                if (link->state == BANYAN_LINK_OPEN && !pass)
                    say_bye(link);
                else if (link->state == BANYAN_LINK_OPEN && !banyan_first_failure_is_there(&e->failure))
                    drain(link, deadline_ns);
                if (pass)
                    banyan_tcp_end_link(e, link);
            }
}
