/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_climb.c: the way around a parent that is lost, silent or leaves.
 *
 *              root              Rank 5 asks its grandparent, and where that has no connection to spare the
 *            /   |   \           grandparent's other children, then higher ancestors up to the root.
 *           1  refuge 2 (lost)   Whoever takes it in tells it all that it has missed, and from then on all
 *                 \              news. Plans and exchanges do not come this way: none are due in a group
 *                  5             that has lost a rank or whose rank leaves, and what a stopped parent holds
 *                                arrives when it goes on.
 *
 * Where not even the root takes a connection, it is lost itself. Nothing here blocks; a rank that does not
 * answer is given as long as one may be silent. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/clock.h"
#include "group/control_internal.h"
#include "transport/bytes.h"

/* Before ranks are asked again one of which ended a connection just made: it may be dying at this moment. */
#define RETRY_NS 20000000

static int64_t silence_ns(const banyan_control *control)
{
    return SILENT_BEATS * control->beat_ns;
}

/* With the lock held. */
static int is_parent_useless(const banyan_control *control, int64_t now_ns)
{
    int parent = control->parent;

    if (control->doubts_root)
        return 1;
    if (banyan_control_is_linked(control, parent))
        return control->left[parent] || control->silent[parent];
    return control->is_ready || control->status || control->is_parent_gone ||
           now_ns - control->parent_ended_ns > silence_ns(control);
}

/* A root that has left or is lost has nothing more to say, and its children have nobody else to ask. */
static int needs_refuge(banyan_control *control, int64_t now_ns)
{
    int refuge = control->refuge, needs = 0;

    pthread_mutex_lock(&control->lock);
    if (control->parent > 0 && !control->left[0] && !control->lost[0] && is_parent_useless(control, now_ns))
        needs = refuge < 0 || control->silent[refuge] || (control->doubts_root && refuge != 0);
    if (control->is_seeking != needs)
        pthread_cond_broadcast(&control->changed);
    control->is_seeking = needs;
    pthread_mutex_unlock(&control->lock);
    return needs;
}

/* Our parent is as it should be again. */
static void leave_refuge(banyan_control *control, int64_t now_ns)
{
    int is_useless;

    if (control->refuge < 0)
        return;
    pthread_mutex_lock(&control->lock);
    is_useless = is_parent_useless(control, now_ns);
    pthread_mutex_unlock(&control->lock);
    if (is_useless || !banyan_control_is_linked(control, control->parent))
        return;
    banyan_control_put(control, control->refuge, MOVED, control->rank, NULL, 0);
    control->refuge = -1;
}

static void drop_approach(banyan_control *control)
{
    approach *a = &control->approach;

    if (a->fd >= 0)
        close(a->fd); /* and out of the epoll set */
    banyan_auth_forget(&a->handshake, sizeof a->handshake);
    a->fd = a->target = -1;
}

void banyan_control_stop_climbing(banyan_control *control)
{
    drop_approach(control);
    control->is_climbing = 0;
}

/* Nobody listens at the root. Where our parent is leaving, the root may leave, too, and our parent will hear
 * of it; where our parent has left before we could, the root has left like it. */
static void find_root_gone(banyan_control *control)
{
    unsigned char body[8];

    if (!control->left[control->parent]) {
        banyan_control_lose_root(control);
    } else if (!banyan_control_is_linked(control, control->parent)) {
        banyan_put64(body, control->left_after[control->parent]);
        banyan_control_hear_left(control, control->parent, 0, body, sizeof body);
    }
}

static void find_root_silent(banyan_control *control)
{
    member *root = &control->members[0];
    const member *parent = &control->members[control->parent];

    if (control->doubts_root) {
        banyan_control_lose_root(control);
        return;
    }
    if (parent->heard_ns > root->heard_ns)
        root->heard_ns = parent->heard_ns; /* the last we heard from above */
    control->misses_root = 1;
    banyan_control_set_silent(control, 0, 1);
}

/* There is a way to it again. */
static void find_root_again(banyan_control *control)
{
    if (control->misses_root)
        banyan_control_set_silent(control, 0, 0);
    control->misses_root = 0;
}

static void give_up_approach(banyan_control *control, banyan_status status, int is_refused)
{
    int target = control->approach.target;

    drop_approach(control);
    control->is_in_haste |= status == BANYAN_PEER_LOST;
    if (status == BANYAN_REMOTE_ERROR) /* it lives, and has no connection to spare or no way to the root */
        control->with_others = 1;
    else if (target == 0 && is_refused)
        find_root_gone(control);
    else if (target == 0 && status == BANYAN_TIMEOUT)
        find_root_silent(control);
}

static void arrive(banyan_control *control)
{
    approach *a = &control->approach;
    int former = control->refuge, target = a->target, fd = a->fd;

    epoll_ctl(control->epoll, EPOLL_CTL_DEL, fd, NULL);
    a->fd = -1;
    banyan_control_stop_climbing(control);
    if (former >= 0)
        banyan_control_put(control, former, MOVED, control->rank, NULL, 0);
    banyan_control_link(control, target, fd);
    control->refuge = target;
    banyan_control_set_silent(control, target, 0);
    banyan_control_tell_own_news(control);
}

/* The refuge has spoken, so it knows of us: a parent that waits for us before it leaves may go. */
void banyan_control_trust_refuge(banyan_control *control)
{
    if (control->left[control->parent])
        banyan_control_put(control, control->parent, MOVED, control->rank, NULL, 0);
}

static void watch_approach(banyan_control *control, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.u64 = KEY_REFUGE}};

    epoll_ctl(control->epoll, operation, control->approach.fd, &event);
}

static banyan_status shake_hands(banyan_control *control)
{
    approach *a = &control->approach;
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_CONTROL, control->rank, control->size, 0, 1};
    banyan_status status = BANYAN_SUCCESS;

    if (!a->is_connected) {
        status = banyan_socket_connected(a->fd, &control->records[a->target].address, NULL);
        if (status)
            return status;
        a->is_connected = 1;
        banyan_socket_tune(a->fd, 0);
        status = banyan_handshake_connect(&a->handshake, &control->secret, &hello, NULL);
    }
    return status ? status : banyan_handshake_step(&a->handshake, a->fd, "a refuge", NULL);
}

void banyan_control_go_on_climbing(banyan_control *control)
{
    approach *a = &control->approach;
    banyan_status status;

    if (a->fd < 0)
        return;
    errno = 0;
    status = shake_hands(control);
    if (!status)
        arrive(control);
    else if (status == BANYAN_IN_PROGRESS)
        watch_approach(control, EPOLL_CTL_MOD,
                       banyan_handshake_wants_write(&a->handshake) ? EPOLLIN | EPOLLOUT : EPOLLIN);
    else
        give_up_approach(control, status, !a->is_connected && errno == ECONNREFUSED);
}

static void approach_rank(banyan_control *control, int target, int64_t now_ns)
{
    approach *a = &control->approach;
    banyan_status status;

    a->target = target;
    a->is_connected = 0;
    a->deadline_ns = now_ns + silence_ns(control);
    errno = 0;
    status = banyan_socket_connect(&control->records[target].address, NULL, &a->fd, NULL);
    if (status)
        give_up_approach(control, status, errno == ECONNREFUSED);
    else
        watch_approach(control, EPOLL_CTL_ADD, EPOLLOUT);
}

/* The next one that may be of use; -1: there is none. */
static int choose_next(banyan_control *control)
{
    int target, is_of_use;

    do {
        target =
            banyan_tree_climb_next(&control->climb, control->fanout, control->size, control->with_others);
        if (target < 0)
            return -1;
        if (control->climb.index == 1) /* an ancestor */
            control->with_others = 0;
        pthread_mutex_lock(&control->lock);
        is_of_use = !banyan_control_is_linked(control, target) && !control->lost[target] &&
                    !control->left[target] && (target == 0 || !control->silent[target]) &&
                    (target == 0 || !control->doubts_root);
        pthread_mutex_unlock(&control->lock);
    } while (!is_of_use);
    return target;
}

void banyan_control_seek_refuge(banyan_control *control, int64_t now_ns)
{
    approach *a = &control->approach;
    int target;

    if (a->fd >= 0 && now_ns >= a->deadline_ns)
        give_up_approach(control, BANYAN_TIMEOUT, 0);
    if (!needs_refuge(control, now_ns)) {
        find_root_again(control);
        if (control->is_climbing)
            banyan_control_stop_climbing(control);
        leave_refuge(control, now_ns);
        return;
    }
    if (!control->is_climbing && now_ns >= control->next_climb_ns) {
        banyan_tree_climb_init(&control->climb, control->fanout, control->rank);
        control->is_climbing = 1;
        control->with_others = control->is_in_haste = 0;
    }
    while (control->is_climbing && a->fd < 0 && needs_refuge(control, now_ns)) {
        target = choose_next(control);
        if (target >= 0) {
            approach_rank(control, target, now_ns);
        } else {
            control->is_climbing = 0;
            control->next_climb_ns = now_ns + (control->is_in_haste ? RETRY_NS : control->beat_ns);
        }
    }
}

int64_t banyan_control_climb_deadline_ns(const banyan_control *control)
{
    if (control->approach.fd >= 0)
        return control->approach.deadline_ns;
    return control->is_seeking ? control->next_climb_ns : INT64_MAX; /* this thread writes it */
}
