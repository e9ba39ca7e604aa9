/* SPDX-License-Identifier: Apache-2.0 */
/* group/control.c: the callers' side. They put messages into an outbox and wake the thread
 * (control_thread.c); what they ask about (failure, lost, silent) is under the lock. */
#include "group/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/store.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "group/control_internal.h"
#include "transport/bytes.h"

#define SILENT_WORDS "been silent for"

void banyan_control_wake(banyan_control *control)
{
    uint64_t one = 1;

    if (write(control->wake, &one, sizeof one) < 0)
        return; /* the counter is full: awake already */
}

/* With the lock held. */
int banyan_control_post(banyan_control *control, int to, int type, const void *body, size_t bytes)
{
    letter *l = banyan_alloc(1, sizeof *l + bytes);

    if (!l)
        return 0;
    *l = (letter){.to = to, .type = type, .bytes = bytes};
    if (bytes)
        memcpy(l->body, body, bytes);
    *control->outbox_end = l;
    control->outbox_end = &l->next;
    banyan_control_wake(control);
    return 1;
}

/* With the lock held. 0: the deadline has passed. */
int banyan_control_wait_for_change(banyan_control *control, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};

    return pthread_cond_timedwait(&control->changed, &control->lock, &until) != ETIMEDOUT;
}

size_t banyan_control_write_abort(unsigned char *out, banyan_status status, int lost, const char *sentence)
{
    size_t length = strlen(sentence);

    banyan_put32(out, (uint32_t)status);
    banyan_put32(out + 4, (uint32_t)lost);
    memcpy(out + 8, sentence, length);
    return 8 + length;
}

/* Notes the first failure. Returns whether this was it. With the lock held. */
int banyan_control_note_failure(banyan_control *control, banyan_status status, const char *sentence)
{
    if (control->status)
        return 0;
    control->status = status;
    snprintf(control->reason.text, sizeof control->reason.text, "%s", sentence);
    pthread_cond_broadcast(&control->changed);
    return 1;
}

int banyan_control_settle_failure(banyan_control *control, banyan_status status, const char *sentence)
{
    int is_first = !control->status;

    if (!control->is_final) {
        control->status = BANYAN_SUCCESS;
        banyan_control_note_failure(control, status, sentence);
        control->is_final = 1;
    }
    return is_first;
}

/* The others give up who is silent for a whole time-out; who was so before the last one has been heard of
 * since. */
int banyan_control_was_away(banyan_control *control, char *sentence, size_t bytes)
{
    int64_t timeout_ns = (int64_t)control->timeout_ms * 1000000, now_ns = banyan_clock_ns();
    int64_t away_ns = now_ns - control->awake_ns;

    if (!control->awake_ns) /* not begun */
        return 0;
    if (away_ns < timeout_ns && now_ns - control->pause_ended_ns < timeout_ns)
        away_ns = control->paused_ns;
    if (away_ns < timeout_ns)
        return 0;
    snprintf(sentence, bytes,
             "rank %d was itself stopped, or got no processor time, for %.1f s, so that the others may have "
             "given it up",
             control->rank, (double)away_ns * 1e-9);
    return 1;
}

/* Whose sign of life is missing: '; rank 3 has been silent for 2.1 s', or "". With the lock held. */
static void describe_silent(banyan_control *control, char *buffer, size_t bytes)
{
    char ranks[120];
    int64_t now_ns = banyan_clock_ns();
    double longest_s = 0;
    int count = 0;

    buffer[0] = '\0';
    for (int i = 0; i < control->size; i++)
        if (control->silent[i]) {
            double s = (double)(now_ns - control->silent_since_ns[i]) * 1e-9;

            longest_s = s > longest_s ? s : longest_s;
            count++;
        }
    if (count)
        snprintf(buffer, bytes, "; rank%s %s %s " SILENT_WORDS " %.1f s", count > 1 ? "s" : "",
                 banyan_ranks_format(control->silent, control->size, ranks, sizeof ranks),
                 count > 1 ? "have" : "has", longest_s);
}

void banyan_control_abort(banyan_control *control, banyan_status status, const char *sentence)
{
    char silent[200] = "", away[200], whole[sizeof control->reason.text];
    unsigned char body[8 + sizeof whole];
    int is_first;

    pthread_mutex_lock(&control->lock);
    if (status == BANYAN_TIMEOUT && banyan_control_was_away(control, away, sizeof away))
        sentence = away;
    else if (status == BANYAN_TIMEOUT &&
             !strstr(sentence, SILENT_WORDS)) /* else a rank of this host has told us */
        describe_silent(control, silent, sizeof silent);
    snprintf(whole, sizeof whole, "%.300s%s", sentence, silent);
    is_first = banyan_control_note_failure(control, status, whole);
    if (is_first && control->rank == 0)
        control->is_final = 1;
    if (is_first)
        banyan_control_post(control, NEWS, ABORT, body, banyan_control_write_abort(body, status, -1, whole));
    pthread_mutex_unlock(&control->lock);
    if (is_first && control->handler.fail)
        control->handler.fail(control->handler.context, status, whole);
}

banyan_status banyan_control_failure(banyan_control *control, banyan_error *err)
{
    banyan_status status;

    pthread_mutex_lock(&control->lock);
    status = control->status ? banyan_fail(err, control->status, "%s", control->reason.text) : BANYAN_SUCCESS;
    pthread_mutex_unlock(&control->lock);
    return status;
}

int64_t banyan_control_verdict_ns(const banyan_control *control)
{
    int64_t silence_ns = SILENT_BEATS * control->beat_ns;

    return silence_ns > VERDICT_NS ? silence_ns : VERDICT_NS;
}

/* Longer while the thread looks for somebody who has heard them. */
banyan_status banyan_control_verdict(banyan_control *control, banyan_error *err)
{
    int64_t patience_ns = control->beat_ns > VERDICT_NS ? control->beat_ns : VERDICT_NS;
    int64_t begun_ns = banyan_clock_ns();

    pthread_mutex_lock(&control->lock);
    while (control->status && !control->is_final && !control->left[0]) {
        int64_t deadline_ns =
            begun_ns + (control->is_seeking ? banyan_control_verdict_ns(control) : patience_ns);

        if (!banyan_control_wait_for_change(control, deadline_ns) && banyan_clock_ns() >= deadline_ns)
            control->is_final = 1; /* nobody has other words for it */
    }
    pthread_mutex_unlock(&control->lock);
    return banyan_control_failure(control, err);
}

static int ask_flag(banyan_control *control, const char *flags, int rank)
{
    int answer;

    pthread_mutex_lock(&control->lock);
    answer = flags[rank];
    pthread_mutex_unlock(&control->lock);
    return answer;
}

int banyan_control_is_lost(banyan_control *control, int rank)
{
    return ask_flag(control, control->lost, rank);
}

/* What others than the root know of each other they have heard from it. */
int64_t banyan_control_silent_since_ns(banyan_control *control, int rank)
{
    int64_t since_ns = 0;

    pthread_mutex_lock(&control->lock);
    if (control->silent[rank] && (control->rank == 0 || rank == 0 || !control->lost[0]))
        since_ns = control->silent_since_ns[rank];
    pthread_mutex_unlock(&control->lock);
    return since_ns;
}

static banyan_status post_locked(banyan_control *control, int to, int type, const void *body, size_t bytes,
                                 banyan_error *err)
{
    int fits;

    pthread_mutex_lock(&control->lock);
    fits = banyan_control_post(control, to, type, body, bytes);
    pthread_mutex_unlock(&control->lock);
    return fits ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

banyan_status banyan_control_publish(banyan_control *control, const void *body, size_t bytes,
                                     banyan_error *err)
{
    return post_locked(control, NEWS, PLAN, body, bytes, err);
}

banyan_status banyan_control_tell(banyan_control *control, int relay, const void *body, size_t bytes,
                                  banyan_error *err)
{
    return post_locked(control, relay, CALL, body, bytes, err);
}

banyan_status banyan_control_want(banyan_control *control, const void *body, size_t bytes, banyan_error *err)
{
    return post_locked(control, 0, WANT, body, bytes, err);
}

banyan_status banyan_control_gather(banyan_control *control, const void *mine, size_t bytes, void *all,
                                    int64_t deadline_ns, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    pthread_mutex_lock(&control->lock);
    control->gather_is_done = 0;
    if (!banyan_control_post(control, 0, GATHER, mine, bytes))
        status = banyan_fail_memory(err);
    while (!status && !control->gather_is_done) {
        if (control->status)
            status = banyan_fail(err, control->status, "%s", control->reason.text);
        else if (!banyan_control_wait_for_change(control, deadline_ns))
            status =
                banyan_fail(err, BANYAN_TIMEOUT, "rank %d waited in vain for all ranks to exchange %zu bytes",
                            control->rank, bytes);
    }
    if (!status && control->gathered_bytes != (size_t)control->size * bytes)
        status = banyan_fail(err, BANYAN_MISMATCH, "ranks exchanged different numbers of bytes");
    if (!status && bytes)
        memcpy(all, control->gathered, (size_t)control->size * bytes);
    pthread_mutex_unlock(&control->lock);
    return status;
}

void banyan_control_announce_joiners(banyan_control *control, int event)
{
    uint64_t one = 1;

    pthread_mutex_lock(&control->lock);
    control->joiner_event = event;
    if (event >= 0 && control->joiners && write(event, &one, sizeof one) < 0)
        one = 0; /* the counter is full */
    pthread_mutex_unlock(&control->lock);
}

int banyan_control_next_joiner(banyan_control *control, int64_t deadline_ns, int *rank)
{
    joiner *j;
    int fd = -1;

    pthread_mutex_lock(&control->lock);
    while (!control->joiners && banyan_control_wait_for_change(control, deadline_ns))
        continue;
    j = control->joiners;
    if (j) {
        control->joiners = j->next;
        if (!j->next)
            control->joiners_end = &control->joiners;
        fd = j->fd;
        *rank = j->rank;
        banyan_free(j);
    }
    pthread_mutex_unlock(&control->lock);
    return fd;
}
