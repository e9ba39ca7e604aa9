/* SPDX-License-Identifier: Apache-2.0 */
/* group/status_report.c: what one rank knows about the group, as JSON (docs/verbs/banyan-status.md). The root
 * knows what all have told it with their heartbeats; the others know themselves and who is lost. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/text.h"
#include "group/control_internal.h"
#include "transport/socket.h"

#define PATIENCE_NS 5000000000 /* with a slow reader */
#define MAX_ANSWERS 16         /* at once */

static void add_state(banyan_text *text, const banyan_rank_record *record, int rank,
                      const banyan_rank_state *state, double age_s)
{
    banyan_text_add(text, "{\"rank\":%d,\"host\":", rank);
    banyan_text_add_json_string(text, record->host);
    banyan_text_add(text,
                    ",\"process\":%d,\"begun\":%llu,\"done\":%llu,\"since_s\":%.3f,\"age_s\":%.3f,\"call\":",
                    record->process, (unsigned long long)state->begun, (unsigned long long)state->done,
                    state->since_s + age_s, age_s);
    banyan_text_add_json_string(text, state->call);
    banyan_text_add(text, ",\"control_connections\":%d,\"control_bytes_in\":%llu,\"control_bytes_out\":%llu}",
                    state->control_connections, (unsigned long long)state->control_bytes_in,
                    (unsigned long long)state->control_bytes_out);
}

/* With the lock held, as far as flags are concerned; members are the thread's own. */
static void write_report(banyan_control *control, banyan_text *text)
{
    banyan_rank_state mine = {0};
    int64_t now_ns = banyan_clock_ns();
    int count = 0;

    if (control->handler.state)
        control->handler.state(control->handler.context, &mine);
    mine.control_connections = control->link_count;
    banyan_control_count_bytes(control, &mine.control_bytes_in, &mine.control_bytes_out);
    banyan_text_add(text,
                    "{\"format\":\"banyan-rank-status\",\"version\":1,\"group\":\"%s\",\"size\":%d,\"self\":",
                    control->status_socket.group, control->size);
    add_state(text, &control->records[control->rank], control->rank, &mine, 0);
    banyan_text_add(text, ",\"peers\":[");
    for (int i = 0; i < control->size; i++)
        if (control->members[i].told_ns) {
            banyan_text_add(text, count++ ? "," : "");
            add_state(text, &control->records[i], i, &control->members[i].state,
                      (double)(now_ns - control->members[i].told_ns) * 1e-9);
        }
    banyan_text_add(text, "]");
    pthread_mutex_lock(&control->lock);
    banyan_text_add_json_set(text, "lost", control->lost, control->size);
    banyan_text_add_json_set(text, "left", control->left, control->size);
    banyan_text_add_json_set(text, "silent", control->silent, control->size);
    banyan_text_add(text, ",\"failure\":");
    banyan_text_add_json_string(text, control->status ? control->reason.text : "");
    pthread_mutex_unlock(&control->lock);
    if (control->handler.network)
        control->handler.network(control->handler.context, text);
    banyan_text_add(text, "}\n");
}

/* Whoever may enter the folder is us or root; this is a second lock. */
static int is_welcome(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;

    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && (who.uid == geteuid() || who.uid == 0);
}

struct banyan_status_answer {
    banyan_status_answer *next;
    int fd;
    int64_t deadline_ns;
    size_t sent;
    banyan_text text;
};

static void drop(banyan_control *control, banyan_status_answer **place)
{
    banyan_status_answer *answer = *place;

    *place = answer->next;
    control->answer_count--;
    close(answer->fd); /* and out of the epoll set */
    banyan_text_fini(&answer->text);
    banyan_free(answer);
}

/* A socket's buffer holds a few hundred kilobytes, a report of thousands of ranks is longer: nobody waits for
 * the reader, and the rest leaves when there is room. */
void banyan_control_go_on_answering(banyan_control *control)
{
    int64_t now_ns = banyan_clock_ns();

    for (banyan_status_answer **place = &control->answers, *answer; (answer = *place) != NULL;) {
        ssize_t count = send(answer->fd, answer->text.bytes + answer->sent,
                             answer->text.length - answer->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        int is_full = count < 0 && (errno == EAGAIN || errno == EINTR);

        answer->sent += count > 0 ? (size_t)count : 0;
        if ((count < 0 && !is_full) || answer->sent == answer->text.length || now_ns > answer->deadline_ns)
            drop(control, place);
        else
            place = &answer->next;
    }
}

void banyan_control_drop_answers(banyan_control *control)
{
    while (control->answers)
        drop(control, &control->answers);
}

static void answer(banyan_control *control, int fd)
{
    struct epoll_event event = {.events = EPOLLOUT, .data = {.u64 = KEY_ANSWER}};
    banyan_status_answer *a = banyan_alloc(1, sizeof *a);

    if (!a) {
        close(fd);
        return;
    }
    *a = (banyan_status_answer){.next = control->answers,
                                .fd = fd,
                                .deadline_ns = banyan_clock_ns() + PATIENCE_NS,
                                .text = BANYAN_TEXT_EMPTY};
    control->answers = a;
    control->answer_count++;
    write_report(control, &a->text);
    if (a->text.failed || epoll_ctl(control->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        drop(control, &control->answers);
}

void banyan_control_watch_status(banyan_control *control, int is_watched)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = KEY_STATUS}};

    epoll_ctl(control->epoll, is_watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, control->status_socket.fd, &event);
    control->is_status_paused = !is_watched;
}

void banyan_control_answer_status(banyan_control *control)
{
    int fd;

    banyan_control_go_on_answering(control); /* those who have been too slow make room */
    while ((fd = accept4(control->status_socket.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        if (is_welcome(fd) && control->answer_count < MAX_ANSWERS)
            answer(control, fd);
        else
            close(fd);
    if (banyan_socket_is_shortage(errno))
        banyan_control_watch_status(control, 0);
    banyan_control_go_on_answering(control);
}
