/* SPDX-License-Identifier: Apache-2.0 */
/* bench/rivals/yield.c: preloaded into MPICH, which polls without pause: where ranks outnumber cores it would
 * measure the scheduler. Every poll that does not wait gives the core away first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    static int (*next)(struct pollfd *, nfds_t, int);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "poll");
    if (!timeout)
        sched_yield();
    return next(fds, count, timeout);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    static int (*next)(int, struct epoll_event *, int, int);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "epoll_wait");
    if (!timeout)
        sched_yield();
    return next(epoll, events, most, timeout);
}
