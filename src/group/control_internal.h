/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_internal.h: what a control is, for control.c (callers' side) and the files of its thread:
 * control_thread.c (the loop), control_links.c (connections and who is behind them), control_news.c (what all
 * must hear), control_climb.c (the way around a lost parent), control_gather.c. */
#ifndef BANYAN_GROUP_CONTROL_INTERNAL_H
#define BANYAN_GROUP_CONTROL_INTERNAL_H

#include <pthread.h>

#include "bootstrap/tree.h"
#include "group/control.h"
#include "group/status.h"
#include "transport/channel.h"

/* A message's word: its type, and the rank that it is about: who sent it on its way up, whom it is for (CALL)
 * on its way down.
 *
 * Between a parent and a child, in order: READY, PLAN, CALL, GATHERED down; JOINED, AWAY, WANT, GATHER up.
 * News, which also go to and from a refuge and may come twice: BEAT, ABORT, LEFT, SILENT. MOVED: whoever is
 * above may close this link, nobody is lost. START, the first message of a spare connection: how many went
 * before it. */
enum { READY = 1, BEAT, ABORT, LEFT, SILENT, PLAN, WANT, GATHER, GATHERED, CALL, JOINED, AWAY, MOVED, START };

#define WORD_TYPE_BITS 8

#define NEWS (-1) /* where a letter goes: to the root, and from there to all */
#define KEY_WAKE UINT64_MAX
#define KEY_LISTENER (UINT64_MAX - 1)
#define KEY_STATUS (UINT64_MAX - 2)
#define KEY_ANSWER (UINT64_MAX - 3)
#define KEY_REFUGE (UINT64_MAX - 4)
#define KEY_ORPHAN (UINT64_MAX - 5)
#define KEY_SPARE (UINT64_MAX - 6)
#define BANYAN_SPARE_UNKNOWN UINT64_MAX
#define MAX_ORPHANS 16 /* at a time */
#define FAREWELL_NS 2000000000

/* A rank that was not heard of for that many heartbeats is silent. The root hears of ranks far down through
 * others, one of which may be silent itself until it is passed by: it allows them twice as many. */
#define SILENT_BEATS 3

/* How long the root's words are waited for at least: as long as a data connection's end is doubted. Otherwise
 * for a heartbeat, within which a root that lives is heard of. */
#define VERDICT_NS 300000000

typedef struct letter letter;
struct letter {
    letter *next;
    int to, type;
    size_t bytes;
    unsigned char body[];
};

/* A second connection that carries the same (control_spare.c). */
typedef struct {
    banyan_channel channel;
    uint32_t events;
    uint64_t heard; /* messages over it, and before it began */
} spare_link;

typedef struct {
    banyan_channel channel; /* fd -1: none */
    int64_t away_ns;        /* when its connection ended before all had joined; 0: it did not */
    int64_t heard_ns;
    uint32_t events;   /* that are waited for; EPOLLOUT: the system did not take all that was put */
    spare_link *spare; /* NULL: none */
    int has_had_spare, is_spare_over;
    uint64_t put_count, heard_count; /* messages since this rank is linked, */
    uint64_t heard_over;             /* and of these over the first connection */
    int is_leaving;                  /* it has said goodbye; the root has not told all yet */
    int is_looked_after;             /* at the root (control_orphans.c) */
    int64_t told_ns;                 /* at the root: when it last told its state; 0: never */
    banyan_rank_state state;
} member;

/* A connection that is being made to a rank that may take us in. */
typedef struct {
    int target, fd; /* -1: none */
    int is_connected;
    int64_t deadline_ns;
    banyan_handshake handshake;
} approach;

/* A connection to a rank of which only its system is asked whether it lives. */
typedef struct {
    int rank, fd; /* -1: none */
    int64_t deadline_ns;
} orphan;

/* What a neighbour's end will be taken for, if the root does not say better in time. */
typedef struct {
    int64_t until_ns; /* 0: nothing */
    banyan_status status;
    int lost;
    char sentence[400];
} suspicion;

typedef struct banyan_status_answer banyan_status_answer;
typedef struct joiner joiner;
struct joiner {
    joiner *next;
    int fd, rank;
};

struct banyan_control {
    int rank, size, timeout_ms;
    int rank_count; /* the others are relays */
    int fanout;
    int parent;           /* -1: we are the root */
    int most_connections; /* that this rank holds */
    int64_t beat_ns;
    banyan_secret secret;
    const banyan_rank_record *records;
    banyan_control_handler handler;
    banyan_listener *listener;
    int epoll, wake;
    int has_thread, has_lock;
    pthread_t thread;
    /* The thread's own: */
    member *members; /* by rank */
    int *linked;     /* ranks that we have a connection to */
    int link_count;
    int joined_count; /* at the root */
    int refuge;       /* rank that has taken us in beside or instead of our parent; -1: none */
    approach approach, spare_approach;
    orphan orphans[MAX_ORPHANS];
    int has_goodbye_returned; /* all ranks have been told that we leave */
    banyan_tree_climb climb;
    int is_climbing, with_others, is_in_haste;
    int64_t next_climb_ns, next_spare_ns;
    int misses_root; /* we have found no way to it, and said so to those below */
    int doubts_root; /* our parent says that the root is lost: we look ourselves */
    suspicion suspicion;
    int has_verdict;         /* the root's words for the end of the group have come */
    int64_t parent_ended_ns; /* since when there is no connection to it */
    int64_t ready_ns;
    int64_t farewell_ns;          /* until when those below us may move; 0: we stay */
    uint64_t bytes_in, bytes_out; /* of connections that are closed */
    char status_folder[BANYAN_STATUS_FOLDER_TEXT];
    banyan_status_socket status_socket;
    int is_status_paused; /* the system has no descriptors for those who ask: until the next heartbeat */
    banyan_status_answer *answers; /* that are still being sent */
    int answer_count;
    unsigned char *gathering; /* at the root */
    char *has_given;
    int given;
    size_t gathering_bytes;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    letter *outbox, **outbox_end;
    int is_stopping, is_ready;
    int is_parent_away; /* our connection to it ended before all had joined, or was not made yet */
    int is_parent_gone; /* and cannot be made again */
    int new_parent_fd;  /* the next one, for the thread; -1: none */
    int is_seeking;     /* the thread looks for a refuge */
    banyan_status status;
    banyan_error reason;
    int is_final; /* no better words for it will come (banyan_control_failure) */
    int64_t awake_ns, paused_ns,
        pause_ended_ns;                  /* when the thread last looked, and how long it last could not */
    char *lost, *left, *silent, *joined; /* by rank */
    char *is_heard;                      /* at the root, by rank: something has come from it */
    int64_t *silent_since_ns;
    uint64_t *left_after;           /* calls, by rank */
    joiner *joiners, **joiners_end; /* the oldest first */
    int joiner_event;               /* -1: none */
    int gather_is_done;
    unsigned char *gathered;
    size_t gathered_bytes;
};

/* control.c: for other callers than the thread. The last two with the lock held: post puts a message into the
 * outbox, 0 where there is no memory; wait_for_change returns 0 when the deadline has passed. */
void banyan_control_wake(banyan_control *control);
int banyan_control_post(banyan_control *control, int to, int type, const void *body, size_t bytes);
int banyan_control_wait_for_change(banyan_control *control, int64_t deadline_ns);

/* control.c: with the lock held: notes the first failure, and returns whether this was it. */
int banyan_control_note_failure(banyan_control *control, banyan_status status, const char *sentence);

/* control.c: with the lock held: the words of the root, or those that all have without it, replace our own.
 * Returns whether this was the first failure. */
int banyan_control_settle_failure(banyan_control *control, banyan_status status, const char *sentence);

/* control.c: with the lock held: whether this process itself was away for so long that the others may have
 * given it up; the sentence says so. */
int banyan_control_was_away(banyan_control *control, char *sentence, size_t bytes);
size_t banyan_control_write_abort(unsigned char *out, banyan_status status, int lost, const char *sentence);
int64_t banyan_control_verdict_ns(const banyan_control *control);

/* status_report.c: what this rank knows, as JSON, to whoever connects to the status socket. */
void banyan_control_answer_status(banyan_control *control);
void banyan_control_watch_status(banyan_control *control, int is_watched);
void banyan_control_go_on_answering(banyan_control *control);
void banyan_control_drop_answers(banyan_control *control);

/* control_thread.c */
void *banyan_control_watch_over(void *argument);
int banyan_control_hear(banyan_control *control, int from, uint32_t word, const unsigned char *body,
                        size_t bytes); /* 0: not a message that may come from there */

/* control_links.c: connections, and what goes over which of them. above is parent and refuge, below is
 * children and ranks that we have taken in. */
int banyan_control_is_linked(const banyan_control *control, int rank);
int banyan_control_is_child(const banyan_control *control, int rank);
int banyan_control_is_rooted(banyan_control *control);
void banyan_control_put(banyan_control *control, int rank, int type, int about, const void *body,
                        size_t bytes);
void banyan_control_put_children(banyan_control *control, int type, int about, const void *body,
                                 size_t bytes);
void banyan_control_put_above(banyan_control *control, int type, int about, const void *body, size_t bytes);
void banyan_control_put_below(banyan_control *control, int but, int type, int about, const void *body,
                              size_t bytes);
void banyan_control_link(banyan_control *control, int rank, int fd);
void banyan_control_unlink(banyan_control *control, int rank);
void banyan_control_take_spare(banyan_control *control, int rank, int fd);
void banyan_control_drop_spare(banyan_control *control, int rank);
int banyan_control_is_full(const banyan_control *control, int rank);
void banyan_control_flush_links(banyan_control *control);
void banyan_control_count_bytes(const banyan_control *control, uint64_t *in, uint64_t *out);
void banyan_control_join(banyan_control *control, int rank);
void banyan_control_note_away(banyan_control *control, int rank);
void banyan_control_take_member(banyan_control *control, int rank, int fd);
banyan_status banyan_control_ask_at_listener(void *context, const banyan_hello *hello);
void banyan_control_take_at_listener(void *context, const banyan_hello *hello, int fd);

/* control_news.c: what ends the group, who has left, who is silent. */
void banyan_control_become_ready(banyan_control *control);
void banyan_control_lose_root(banyan_control *control);
void banyan_control_lose_member(banyan_control *control, int rank, banyan_status status, const char *why);
void banyan_control_name_lost(banyan_control *control, int rank, banyan_status status, const char *why);
void banyan_control_end_group(banyan_control *control, banyan_status status, int lost, const char *sentence,
                              const char *spread);
void banyan_control_check_suspicion(banyan_control *control, int64_t now_ns);
void banyan_control_hear_abort(banyan_control *control, int from, const unsigned char *body, size_t bytes);
void banyan_control_hear_left(banyan_control *control, int from, int rank, const unsigned char *body,
                              size_t bytes);
void banyan_control_hear_silent(banyan_control *control, int from, int rank, const unsigned char *body,
                                size_t bytes);
void banyan_control_set_silent(banyan_control *control, int rank, int is_silent);
void banyan_control_miss_silent(banyan_control *control, int64_t now_ns);
void banyan_control_tell_all_news(banyan_control *control, int rank); /* to one that we have taken in */
void banyan_control_leave_words(banyan_control *control);             /* to those below */
void banyan_control_tell_own_news(banyan_control *control);           /* to one that has taken us in */

/* control_climb.c */
void banyan_control_seek_refuge(banyan_control *control, int64_t now_ns);
void banyan_control_go_on_climbing(banyan_control *control); /* the socket is ready */
void banyan_control_trust_refuge(banyan_control *control);
void banyan_control_stop_climbing(banyan_control *control);
int64_t banyan_control_climb_deadline_ns(const banyan_control *control);

/* control_spare.c */
void banyan_control_seek_spare(banyan_control *control, int64_t now_ns);
void banyan_control_go_on_sparing(banyan_control *control); /* the socket is ready */
void banyan_control_stop_sparing(banyan_control *control);
int banyan_control_next(banyan_control *control, int rank, int *word, const unsigned char **body,
                        size_t *bytes); /* 0: no message */
banyan_status banyan_control_fill(banyan_control *control, int rank, banyan_error *err);
int banyan_control_go_on_with_spare(banyan_control *control, int rank); /* 0: there is none */

/* control_orphans.c */
void banyan_control_look_after_orphans(banyan_control *control, int64_t now_ns);
void banyan_control_hear_of_orphans(banyan_control *control);
void banyan_control_drop_orphans(banyan_control *control);

/* control_gather.c */
void banyan_control_collect(banyan_control *control, int from, const unsigned char *body, size_t bytes);
void banyan_control_finish_gather(banyan_control *control, const unsigned char *all, size_t bytes);

#endif
