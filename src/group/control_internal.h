/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_internal.h: what a control is, for control.c (callers' side) and control_thread.c (the
 * thread's). */
#ifndef BANYAN_GROUP_CONTROL_INTERNAL_H
#define BANYAN_GROUP_CONTROL_INTERNAL_H

#include <pthread.h>

#include "group/control.h"
#include "group/status.h"
#include "transport/channel.h"

enum { READY = 1, BEAT, ABORT, LEFT, SILENT, PLAN, WANT, GATHER, GATHERED, CALL };

#define TO_ALL (-1)
#define KEY_WAKE UINT64_MAX
#define KEY_DOOR (UINT64_MAX - 1)
#define KEY_STATUS (UINT64_MAX - 2)
#define KEY_ANSWER (UINT64_MAX - 3)
#define FAREWELL_NS 2000000000

/* How long the hub's words are waited for at least: as long as a data connection's end is doubted. Otherwise
 * for a heartbeat, within which a hub that lives is heard of. */
#define VERDICT_NS 300000000

typedef struct letter letter;
struct letter {
    letter *next;
    int to, type;
    size_t bytes;
    unsigned char body[];
};

typedef struct {
    banyan_channel channel; /* fd -1: none */
    int64_t away_ns;        /* when its connection ended before all had joined; 0: it did not */
    int64_t heard_ns;
    uint32_t events;
    int64_t told_ns; /* when it last told its state; 0: never */
    banyan_rank_state state;
} member;

typedef struct banyan_status_answer banyan_status_answer;
typedef struct joiner joiner;
struct joiner {
    joiner *next;
    int fd, rank;
};

struct banyan_control {
    int rank, size, timeout_ms;
    int rank_count; /* the others are relays */
    int64_t beat_ns;
    banyan_secret secret;
    const banyan_card *cards;
    banyan_control_handler handler;
    banyan_listener *listener;
    int epoll, wake;
    int has_thread, has_lock;
    pthread_t thread;
    member *members; /* by rank; elsewhere than at the hub only member 0 has a connection */
    int connected;
    char status_folder[BANYAN_STATUS_FOLDER_TEXT];
    banyan_status_door status_door;
    int is_status_paused; /* the system has no descriptors for those who ask: until the next heartbeat */
    banyan_status_answer *answers; /* that are still being sent */
    int answer_count;
    unsigned char *gathering; /* at the hub */
    char *has_given;
    int given;
    size_t gathering_bytes;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    letter *outbox, **outbox_end;
    int is_stopping, is_ready;
    int is_hub_away; /* our connection to it ended before all had joined */
    int new_hub_fd;  /* the next one, for the thread; -1: none */
    banyan_status status;
    banyan_error reason;
    int is_final; /* no better words for it will come (banyan_control_failure) */
    int64_t awake_ns, paused_ns,
        pause_ended_ns;                  /* when the thread last looked, and how long it last could not */
    char *lost, *left, *silent, *joined; /* by rank */
    int64_t *silent_since_ns;
    joiner *joiners;
    int gather_is_done;
    unsigned char *gathered;
    size_t gathered_bytes;
};

/* control.c: with the lock held: notes the first failure, and returns whether this was it. */
int banyan_control_note_failure(banyan_control *control, banyan_status status, const char *sentence);

/* control.c: with the lock held: the words of the hub, or those that all have without it, replace our own.
 * Returns whether this was the first failure. */
int banyan_control_settle_failure(banyan_control *control, banyan_status status, const char *sentence);

/* control.c: with the lock held: whether this process itself was away for so long that the others may have
 * given it up; the sentence says so. */
int banyan_control_was_away(banyan_control *control, char *sentence, size_t bytes);
size_t banyan_control_write_abort(unsigned char *out, banyan_status status, int lost, const char *sentence);

/* status_report.c: what this rank knows, as JSON, to whoever stands at the door. */
void banyan_control_answer_status(banyan_control *control);
void banyan_control_watch_status(banyan_control *control, int is_watched);
void banyan_control_go_on_answering(banyan_control *control);
void banyan_control_drop_answers(banyan_control *control);

/* control_thread.c */
void *banyan_control_watch_over(void *argument);
void banyan_control_become_ready(banyan_control *control);
void banyan_control_lose_hub(banyan_control *control);
void banyan_control_take_member(banyan_control *control, int rank, int fd);
banyan_status banyan_control_ask_at_door(void *context, const banyan_hello *hello);
void banyan_control_take_at_door(void *context, const banyan_hello *hello, int fd);

#endif
