/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_news.c: what all ranks must hear: that the group is over and why, who has left, who is
 * silent.
 *
 *     a rank is lost:  its parent ── ABORT {status, lost, sentence} ──> ... ──> root ── ABORT ──> all
 *
 * The root's words are everybody's: those of whatever it heard of first. A rank says that another is lost
 * only of those below it: where a parent is lost, it may be the child that is cut off, so the child waits for
 * what the root says, from wherever it finds a refuge (control_climb.c). Where the root itself is lost, all
 * say the same of it. A goodbye goes the same way, so that it does not overtake what its sender said before.
 * What is said twice is heard once: flags tell what is known. */
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "group/control_internal.h"
#include "transport/bytes.h"

void banyan_control_become_ready(banyan_control *control)
{
    control->ready_ns = banyan_clock_ns();
    pthread_mutex_lock(&control->lock);
    control->is_ready = 1;
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
}

/* The group is over, in words that are final; lost -1: nobody is. spread is what our transports hear, and
 * through them the ranks of this host. */
void banyan_control_end_group(banyan_control *control, banyan_status status, int lost, const char *sentence,
                              const char *spread)
{
    unsigned char body[8 + sizeof control->reason.text];
    size_t bytes;
    int is_first, is_news;

    pthread_mutex_lock(&control->lock);
    is_first = banyan_control_settle_failure(control, status, sentence);
    is_news = !control->has_verdict || (lost >= 0 && !control->lost[lost]);
    if (lost >= 0 && lost != control->rank)
        control->lost[lost] = 1;
    bytes = banyan_control_write_abort(body, control->status, lost, control->reason.text);
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
    control->has_verdict = 1;
    control->suspicion.until_ns = 0;
    if (is_news)
        banyan_control_put_below(control, lost, ABORT, 0, body, bytes);
    if (is_first && control->handler.fail)
        control->handler.fail(control->handler.context, status, spread);
}

/* Where rank 0 has gone, all lose it and say the same. But it may be we who are cut off: others must not take
 * our word for it that it has gone. Who was away itself has more to say. */
void banyan_control_lose_root(banyan_control *control)
{
    const banyan_rank_record *record = &control->records[0];
    char sentence[300], spread[300];
    int was_away;

    pthread_mutex_lock(&control->lock);
    was_away = banyan_control_was_away(control, sentence, sizeof sentence);
    pthread_mutex_unlock(&control->lock);
    if (!was_away)
        snprintf(sentence, sizeof sentence,
                 "rank 0 (process %d on %.64s) was lost: the connection to it ended", record->process,
                 record->host);
    snprintf(spread, sizeof spread, "rank %d lost its connection to rank 0 (process %d on %.64s)",
             control->rank, record->process, record->host);
    banyan_control_end_group(control, BANYAN_PEER_LOST, 0, sentence, was_away ? sentence : spread);
}

/* The root will say what this means; only if it does not, our words count. */
static void suspect(banyan_control *control, int lost, banyan_status status, const char *sentence)
{
    int64_t patience_ns = banyan_control_verdict_ns(control);

    if (control->suspicion.until_ns || control->has_verdict)
        return;
    control->suspicion = (suspicion){banyan_clock_ns() + patience_ns, status, lost, ""};
    snprintf(control->suspicion.sentence, sizeof control->suspicion.sentence, "%s", sentence);
}

void banyan_control_check_suspicion(banyan_control *control, int64_t now_ns)
{
    suspicion s = control->suspicion;

    if (!s.until_ns || now_ns < s.until_ns)
        return;
    if (s.lost < control->rank) { /* for ourselves alone */
        pthread_mutex_lock(&control->lock);
        control->lost[s.lost] = 1;
        pthread_mutex_unlock(&control->lock);
        s.lost = -1;
    }
    banyan_control_end_group(control, s.status, s.lost, s.sentence, s.sentence);
}

static void tell_lost(banyan_control *control, int rank, banyan_status status, const char *sentence)
{
    unsigned char body[8 + sizeof control->suspicion.sentence];

    banyan_control_put_above(control, ABORT, 0, body,
                             banyan_control_write_abort(body, status, rank, sentence));
}

void banyan_control_name_lost(banyan_control *control, int rank, banyan_status status, const char *why)
{
    const banyan_rank_record *record = &control->records[rank];
    char sentence[sizeof control->suspicion.sentence];

    if (rank == 0 && status == BANYAN_PEER_LOST) {
        banyan_control_lose_root(control);
        return;
    }
    snprintf(sentence, sizeof sentence, "%s %d (process %d on %.64s) %s: %.200s",
             rank < control->rank_count ? "rank" : "relay",
             rank < control->rank_count ? rank : rank - control->rank_count, record->process, record->host,
             status == BANYAN_REMOTE_ERROR ? "sent what is not ours" : "was lost", why);
    if (control->rank == 0 || rank == 0) {
        banyan_control_end_group(control, status, rank, sentence, sentence);
        return;
    }
    if (rank > control->rank)
        tell_lost(control, rank, status, sentence);
    suspect(control, rank, status, sentence);
}

/* Until all have joined, nothing is lost with a connection that ends: who lives makes it again. */
static int may_return(banyan_control *control, int rank, banyan_status status)
{
    int may_return;

    pthread_mutex_lock(&control->lock);
    may_return =
        status == BANYAN_PEER_LOST && !control->is_ready && !control->status && !control->is_stopping;
    if (may_return && rank == control->parent)
        control->is_parent_away = 1;
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
    if (may_return && banyan_control_is_child(control, rank)) {
        control->members[rank].away_ns = banyan_clock_ns();
        banyan_control_note_away(control, rank);
    }
    return may_return;
}

void banyan_control_lose_member(banyan_control *control, int rank, banyan_status status, const char *why)
{
    int has_left, is_neighbour = rank == control->parent || rank > control->rank;

    banyan_control_unlink(control, rank);
    pthread_mutex_lock(&control->lock);
    has_left = control->left[rank] || control->members[rank].is_leaving;
    control->silent[rank] = 0;
    pthread_mutex_unlock(&control->lock);
    if (is_neighbour && !has_left && !may_return(control, rank, status))
        banyan_control_name_lost(control, rank, status, why);
}

/* With nobody above us it waits until somebody is (banyan_control_tell_own_news). */
static void keep_abort(banyan_control *control, banyan_status status, int lost, const char *sentence)
{
    int is_first;

    pthread_mutex_lock(&control->lock);
    if (lost >= 0)
        control->lost[lost] = 1;
    is_first = banyan_control_note_failure(control, status, sentence);
    pthread_mutex_unlock(&control->lock);
    if (is_first && control->handler.fail)
        control->handler.fail(control->handler.context, status, sentence);
}

void banyan_control_hear_abort(banyan_control *control, int from, const unsigned char *body, size_t bytes)
{
    char sentence[sizeof control->reason.text];
    banyan_status status;
    int lost;

    if (bytes < 8 || bytes - 8 >= sizeof sentence)
        return;
    status = (banyan_status)(banyan_get32(body) & 0xff);
    lost = (int)banyan_get32(body + 4);
    status = status ? status : BANYAN_REMOTE_ERROR;
    lost = lost < 0 || lost >= control->size ? -1 : lost;
    memcpy(sentence, body + 8, bytes - 8);
    sentence[bytes - 8] = '\0';
    if (from > control->rank && control->rank != 0) {
        banyan_control_put_above(control, ABORT, 0, body, bytes);
        if (!banyan_control_is_linked(control, control->parent) && control->refuge < 0)
            keep_abort(control, status, lost, sentence);
    } else if (lost == 0) {
        control->doubts_root |= control->rank != 0 && from != 0;
    } else {
        banyan_control_end_group(control, status, lost, sentence, sentence);
    }
}

void banyan_control_hear_left(banyan_control *control, int from, int rank, const unsigned char *body,
                              size_t bytes)
{
    int is_known;

    if (bytes != 8)
        return;
    if (from > control->rank && control->rank != 0) {
        control->members[rank].is_leaving = 1;
        control->left_after[rank] = banyan_get64(body);
        banyan_control_put_above(control, LEFT, rank, body, bytes);
        return;
    }
    if (rank == control->rank) {
        control->has_goodbye_returned = 1;
        banyan_control_put_below(control, -1, LEFT, rank, body, bytes);
        return;
    }
    pthread_mutex_lock(&control->lock);
    is_known = control->left[rank];
    control->left[rank] = 1;
    control->left_after[rank] = banyan_get64(body);
    pthread_mutex_unlock(&control->lock);
    if (is_known)
        return;
    banyan_control_put_below(control, -1, LEFT, rank, body, bytes);
    control->handler.left(control->handler.context, rank, banyan_get64(body));
}

/* Returns whether this is new. */
static int note_silent(banyan_control *control, int rank, int is_silent, int64_t since_ns)
{
    int was_silent;

    pthread_mutex_lock(&control->lock);
    was_silent = control->silent[rank];
    control->silent[rank] = (char)is_silent;
    control->silent_since_ns[rank] = since_ns;
    pthread_mutex_unlock(&control->lock);
    return was_silent != is_silent;
}

void banyan_control_hear_silent(banyan_control *control, int from, int rank, const unsigned char *body,
                                size_t bytes)
{
    if (bytes != 1 || rank == control->rank)
        return;
    if (from > control->rank && control->rank != 0) {
        banyan_control_put_above(control, SILENT, rank, body, bytes);
        return;
    }
    note_silent(control, rank, body[0] != 0, banyan_clock_ns() - SILENT_BEATS * control->beat_ns);
    banyan_control_put_below(control, rank, SILENT, rank, body, bytes);
}

/* What we know of a neighbour ourselves, or the root of anybody: those below a parent hear of it from us,
 * since nobody else may reach them; all else is the root's to tell. */
static void tell_silent(banyan_control *control, int rank, int is_silent, int64_t since_ns)
{
    unsigned char body[1] = {(unsigned char)is_silent};

    if (!note_silent(control, rank, is_silent, since_ns))
        return;
    if (control->rank != 0 && rank > control->rank)
        banyan_control_put_above(control, SILENT, rank, body, sizeof body);
    else
        banyan_control_put_below(control, rank, SILENT, rank, body, sizeof body);
}

void banyan_control_set_silent(banyan_control *control, int rank, int is_silent)
{
    tell_silent(control, rank, is_silent, control->members[rank].heard_ns);
}

/* At the root: ranks that are heard of through others alone. */
static void miss_distant(banyan_control *control, int64_t now_ns)
{
    for (int i = 1; i < control->size; i++) {
        int64_t told_ns = control->members[i].told_ns;

        if (banyan_control_is_linked(control, i) || control->left[i] || control->lost[i])
            continue;
        told_ns = told_ns > control->ready_ns ? told_ns : control->ready_ns;
        if (now_ns - told_ns > 2 * SILENT_BEATS * control->beat_ns)
            tell_silent(control, i, 1, told_ns);
    }
}

void banyan_control_miss_silent(banyan_control *control, int64_t now_ns)
{
    for (int i = 0; i < control->link_count; i++) {
        int rank = control->linked[i];

        if (now_ns - control->members[rank].heard_ns > SILENT_BEATS * control->beat_ns)
            banyan_control_set_silent(control, rank, 1);
    }
    if (control->rank == 0 && control->ready_ns)
        miss_distant(control, now_ns);
}

/* Flags and words do not change meanwhile: this thread alone changes them after the verdict. */
static void tell_failure(banyan_control *control, int rank, int lost)
{
    unsigned char body[8 + sizeof control->reason.text];
    size_t bytes;

    pthread_mutex_lock(&control->lock);
    bytes = banyan_control_write_abort(body, control->status, lost, control->reason.text);
    pthread_mutex_unlock(&control->lock);
    banyan_control_put(control, rank, ABORT, 0, body, bytes);
}

static void tell_left(banyan_control *control, int to, int rank)
{
    unsigned char body[8];

    banyan_put64(body, control->left_after[rank]);
    banyan_control_put(control, to, LEFT, rank, body, sizeof body);
}

void banyan_control_tell_all_news(banyan_control *control, int rank)
{
    const unsigned char is_silent[1] = {1};

    banyan_control_put(control, rank, BEAT, 0, NULL, 0);
    if (control->has_verdict)
        tell_failure(control, rank, -1);
    for (int i = 0; i < control->size; i++) {
        if (control->left[i])
            tell_left(control, rank, i);
        if (control->silent[i] && i != rank)
            banyan_control_put(control, rank, SILENT, i, is_silent, sizeof is_silent);
        if (control->has_verdict && control->lost[i] && i != 0 && i != rank)
            tell_failure(control, rank, i);
    }
}

/* What the root should have told those below us, that we leave and why the group is over, they hear from us
 * where it has not. */
void banyan_control_leave_words(banyan_control *control)
{
    unsigned char body[8 + sizeof control->reason.text], calls[8];
    size_t bytes = 0;

    pthread_mutex_lock(&control->lock);
    if (control->status && !control->has_verdict)
        bytes = banyan_control_write_abort(body, control->status, -1, control->reason.text);
    pthread_mutex_unlock(&control->lock);
    if (bytes)
        banyan_control_put_below(control, -1, ABORT, 0, body, bytes);
    banyan_put64(calls, control->left_after[control->rank]);
    if (!control->has_goodbye_returned)
        banyan_control_put_below(control, -1, LEFT, control->rank, calls, sizeof calls);
}

void banyan_control_tell_own_news(banyan_control *control)
{
    const suspicion *s = &control->suspicion;
    int has_failed;

    pthread_mutex_lock(&control->lock);
    has_failed = control->status != BANYAN_SUCCESS;
    pthread_mutex_unlock(&control->lock);
    if (s->until_ns && s->lost > control->rank)
        tell_lost(control, s->lost, s->status, s->sentence);
    else if (has_failed && !control->has_verdict)
        tell_failure(control, control->refuge, -1);
    for (int i = control->rank + 1; i < control->size; i++) {
        if (banyan_tree_child_toward(control->fanout, control->rank, i) < 0)
            continue;
        if (control->left[i] || control->members[i].is_leaving)
            tell_left(control, control->refuge, i);
        if (control->lost[i] && has_failed)
            tell_failure(control, control->refuge, i);
    }
}
