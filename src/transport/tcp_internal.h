/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_internal.h: streams, links and peers, for the tcp_*.c files.
 *
 * A pair of members has one or several connections (links). A link carries frames: a header of 16 bytes
 * {type and stream, bytes, value} and, for DATA, that many bytes of one stream, whose place in it is the
 * value. Where there are several links, a stream's bytes are dealt to them in stripes (tcp_deal.c), the
 * faster ones getting more:
 *
 *     stream 0, two links:   |  link 0  |  link 1  |  link 0  |  link 0  |  link 1  ...   each 16 KiB
 *
 * A stripe stays with its link, so its bytes come in order, and the receiver has but to count them.
 * A receiver grants credit: up to which byte of a stream the sender may go. Whatever is on its way has room
 * in the stream's ring, so a link is always read to its end and no stream can hold up another.
 *
 * Of links over several interfaces each may be lost without harm. What leaves is copied and kept until the
 * other kernel has acknowledged it (tcp_keep.c). When a link is lost, both ends read it to its end, close it,
 * and tell each other over another link how many bytes came (LOST). Then another link, the heir, carries what
 * did not come and whatever else the lost one had been dealt (tcp_lost.c). */
#ifndef BANYAN_TRANSPORT_TCP_INTERNAL_H
#define BANYAN_TRANSPORT_TCP_INTERNAL_H

#include <pthread.h>

#include "transport/first_failure.h"
#include "transport/tcp.h"

#define BANYAN_TCP_SLOTS 16u /* offers of one stream; a power of two */
#define BANYAN_TCP_FRAMES 16 /* that a link has ready for one system call */
#define BANYAN_TCP_FRAME_BYTES ((size_t)64 << 10)
#define BANYAN_TCP_STRIPE_BYTES ((uint64_t)16 << 10)
#define BANYAN_TCP_DEALT 1024u /* stripes of a stream that links may have; a power of two */
#define BANYAN_TCP_NOWHERE UINT64_MAX
#define BANYAN_TCP_HEADER 16

typedef enum {
    BANYAN_TCP_DATA = 1, /* value: where in the stream it belongs */
    BANYAN_TCP_CREDIT,   /* value: up to where the stream may go */
    BANYAN_TCP_BYE,      /* the end of the connection is meant */
    BANYAN_TCP_LOST      /* of the link that stands for the stream; value: bytes that came over it in all */
} banyan_tcp_type;

typedef struct {
    const char *memory;
    size_t bytes;
} banyan_tcp_slot;

typedef struct {
    banyan_tcp_slot slots[BANYAN_TCP_SLOTS];
    unsigned first, filled;
    uint64_t base, end;                           /* where the first slot begins and the last one ends */
    uint64_t limit;                               /* credit */
    uint64_t placed[BANYAN_TCP_MAX_CONNECTIONS];  /* by link: its next byte to put into a frame, */
    uint64_t written[BANYAN_TCP_MAX_CONNECTIONS]; /* and to give to the kernel; NOWHERE: it has no stripe */
    uint64_t dealt;                               /* stripes that links have got */
    unsigned char *owner; /* by stripe, modulo BANYAN_TCP_DEALT: the link; NULL: there is but one */
} banyan_tcp_out;

typedef struct {
    uint32_t claimed, come; /* bytes that its link has begun to send, and that are here */
    int link;               /* whose it is, once it has begun; -1: that one is lost, any may go on */
} banyan_tcp_stripe;

typedef struct {
    char *ring;
    size_t window; /* of the ring, */
    size_t limit;  /* and what may be under way: at most that */
    uint64_t consumed, granted;
    uint64_t arrived;           /* all before it is here */
    banyan_tcp_stripe *stripes; /* from there on, modulo their count; NULL: bytes come in order */
    uint64_t stripe_count;
    int is_credit_due;
} banyan_tcp_in;

/* The body of a frame that may have to be sent again. */
typedef struct banyan_tcp_kept banyan_tcp_kept;
struct banyan_tcp_kept {
    banyan_tcp_kept *next;
    uint64_t begin; /* how many bytes its link carries before it */
    uint64_t at;    /* where it belongs in its stream */
    const char *data;
    size_t bytes;
    int stream;
    int is_again; /* it was sent over a link that is lost */
    int is_block; /* it has room for a stripe, and is used again */
    char memory[];
};

typedef struct {
    unsigned char header[BANYAN_TCP_HEADER];
    const char *memory;
    size_t bytes, done; /* done counts the header, too */
    int stream;         /* -1: no data, or data that is sent again */
    int lane;           /* the link that it was dealt to */
} banyan_tcp_frame;

typedef enum {
    BANYAN_LINK_NONE,
    BANYAN_LINK_CONNECTING,
    BANYAN_LINK_SHAKING,
    BANYAN_LINK_RETRYING, /* its handshake was cut short: it is begun again at retry_ns */
    BANYAN_LINK_OPEN,
    BANYAN_LINK_ENDED
} banyan_link_state;

typedef struct banyan_tcp_peer banyan_tcp_peer;

typedef struct {
    banyan_tcp_peer *peer;
    const banyan_address *to; /* the peer's */
    int index, fd;
    banyan_link_state state;
    banyan_handshake *handshake; /* while connecting */
    int tries;
    int64_t begun_ns, retry_ns; /* the first try, and the next */
    int is_blocked;             /* the socket is full: waiting until it is writable */
    int said_bye, heard_bye;
    int has_carried; /* data has left or something has come: it cannot be made again */
    banyan_tcp_frame frames[BANYAN_TCP_FRAMES];
    int first_frame, frame_count;
    int next_stream;
    unsigned char in[4096];
    size_t in_begin, in_end;
    int in_stream;
    size_t in_left;     /* bytes of the frame that are still to come, */
    uint64_t in_at;     /* and where in the stream they belong */
    uint64_t run_bytes; /* that have come without a pause, */
    int64_t read_ns;    /* the last of them at this time */
    int patience;       /* what the kernel gathers before it wakes us; 0: not told yet */
    /* What dealing goes by, where there are several links (tcp_deal.c). */
    double weight, turn;
    uint64_t sent_bytes;   /* that the kernel of this connection ever took, heads and all, */
    uint64_t waiting;      /* of which that many were not acknowledged at the last look, */
    uint64_t seen_through; /* and that many were when the interval began */
    int is_busy;           /* at every look since then */
    double rate;           /* bytes a second; 0: not known */
    /* Where there are several links (tcp_keep.c, tcp_lost.c). */
    uint64_t framed_bytes;             /* where the last frame that was made ready ends */
    uint64_t come_bytes;               /* that were ever read */
    uint64_t forgotten_bytes;          /* up to which there are no copies any more */
    banyan_tcp_kept *kept, *last_kept; /* in the order in which they left */
    int is_lost;                       /* ended, but not the peer */
    int is_lost_due;                   /* the peer is not told yet */
    int is_heard_lost;                 /* the peer has said what came over it: */
    uint64_t peer_has;                 /* that many bytes; */
    int is_inherited;                  /* and another link does its work */
    char *why_lost;
} banyan_tcp_link;

struct banyan_tcp_peer {
    int member;
    int is_active; /* we connect */
    int is_begun;
    int out_count, in_count;
    banyan_tcp_out **out;
    banyan_tcp_in **in;
    int credits_due;
    int is_deferred; /* something short was offered: it waits for what follows, until the next wait */
    int link_count;
    banyan_tcp_link *links;
    int is_kept;             /* what leaves is, since its links lead over several interfaces */
    int heir;                /* the link that does the work of lost ones */
    int awaited;             /* lost links of which the peer has not said what came */
    int has_news;            /* it has said so of another one */
    banyan_tcp_kept *again;  /* to be sent again */
    banyan_tcp_kept *blocks; /* that are not in use */
    double turn;             /* whose it was last */
    double pace;             /* bytes a second that may leave; 0: as many as will */
    int64_t seen_ns;         /* when the interval began that rates are found in */
};

typedef struct banyan_tcp_accepted banyan_tcp_accepted; /* a connection that was handed over */

typedef struct {
    banyan_endpoint base;
    const banyan_tcp_meeting *meeting;
    banyan_tcp_peer **peers; /* by member; NULL until needed */
    int epoll, wake;
    int has_changed;
    int has_deferred;   /* a peer is deferred */
    int retrying;       /* links that are */
    int has_several;    /* there are peers whose links lead over several interfaces */
    int64_t watched_ns; /* when these were last asked whether they are answered */
    int is_tended;      /* there may be such peers: all but who is failing holds this lock */
    pthread_mutex_t inside;
    int64_t left_ns; /* when the caller's last wait ended */
    int is_withdrawn;
    int yields;  /* before a wait sleeps */
    int suspect; /* a peer whose connection ended without a word; -1: none */
    int64_t suspect_since_ns;
    char *why_suspect;
    pthread_mutex_t lock;
    banyan_tcp_accepted *accepted; /* guarded by lock */
    banyan_first_failure failure;
} banyan_tcp_endpoint;

/* tcp_fail.c */
void banyan_tcp_wake(banyan_tcp_endpoint *e);
void banyan_tcp_abort(banyan_endpoint *base, banyan_status status, const char *sentence);

/* tcp_end.c */
const char *banyan_tcp_name(const banyan_tcp_endpoint *e, int member, char *buffer, size_t size);
void banyan_tcp_close_socket(banyan_tcp_endpoint *e, banyan_tcp_link *link);
void banyan_tcp_end_link(banyan_tcp_endpoint *e, banyan_tcp_link *link);
void banyan_tcp_forget_frames(banyan_tcp_link *link);
void banyan_tcp_lose_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, banyan_status status,
                          const char *why);
int banyan_tcp_can_do_without(const banyan_tcp_link *link);
void banyan_tcp_give_up_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, const char *why);

/* tcp_link.c */
banyan_status banyan_tcp_fail_watch(banyan_error *err);
int banyan_tcp_may_have_several(const banyan_tcp_endpoint *e);             /* interfaces to one peer */
banyan_tcp_peer *banyan_tcp_make_peer(banyan_tcp_endpoint *e, int member); /* NULL: no memory */
void banyan_tcp_retry_links(banyan_tcp_endpoint *e, int64_t now_ns);       /* those whose time has come */
int64_t banyan_tcp_next_retry_ns(const banyan_tcp_endpoint *e);            /* INT64_MAX: none */
banyan_status banyan_tcp_begin_links(banyan_tcp_endpoint *e, banyan_tcp_peer *peer, banyan_error *err);
void banyan_tcp_flush_link(banyan_tcp_endpoint *e, banyan_tcp_link *link);
void banyan_tcp_flush_peer(banyan_tcp_endpoint *e, banyan_tcp_peer *peer);
void banyan_tcp_serve_link(banyan_tcp_endpoint *e, banyan_tcp_link *link, uint32_t events);
void banyan_tcp_install_accepted(banyan_tcp_endpoint *e);

/* tcp_keep.c */
banyan_tcp_kept *banyan_tcp_keep(banyan_tcp_link *link, int stream, uint64_t at, const char *memory,
                                 size_t bytes); /* NULL: no memory */
void banyan_tcp_append_kept(banyan_tcp_link *link, banyan_tcp_kept *kept);
void banyan_tcp_forget_acknowledged(banyan_tcp_link *link, uint64_t acknowledged);
uint64_t banyan_tcp_take_back(banyan_tcp_link *link, uint64_t come); /* returns bytes to be sent again */
void banyan_tcp_drop_kept(banyan_tcp_peer *peer);

/* tcp_lost.c */
void banyan_tcp_hear_lost(banyan_tcp_endpoint *e, banyan_tcp_peer *peer);

/* tcp_watch.c */
void banyan_tcp_watch_links(banyan_tcp_endpoint *e, int64_t now_ns);
int64_t banyan_tcp_next_watch_ns(const banyan_tcp_endpoint *e); /* INT64_MAX: there is nothing to watch */
void banyan_tcp_deliver_rest(banyan_tcp_endpoint *e, int64_t deadline_ns);

/* tcp_close.c: says goodbye on every connection and ends it. */
void banyan_tcp_close_links(banyan_tcp_endpoint *e);

/* tcp_stream.c */
uint64_t banyan_tcp_after(const banyan_tcp_out *out, int link, uint64_t offset, uint64_t bytes);
uint64_t banyan_tcp_written(const banyan_tcp_out *out, int links);
void banyan_tcp_give(banyan_tcp_out *out, int link); /* the next stripe */
banyan_status banyan_tcp_widen_out(banyan_tcp_peer *peer, int count, banyan_error *err);
banyan_status banyan_tcp_widen_in(banyan_tcp_peer *peer, int count, size_t window, banyan_error *err);
void banyan_tcp_retire(banyan_tcp_out *out, int links);
size_t banyan_tcp_ready(const banyan_tcp_out *out, int link, const char **memory);
int banyan_tcp_claim(banyan_tcp_in *in, int link, uint64_t at, uint64_t bytes); /* 0: they cannot come now */
void banyan_tcp_arrive(banyan_tcp_in *in, uint64_t at, uint64_t bytes);
void banyan_tcp_release(banyan_tcp_in *in, int link); /* what has not come over it, another one may bring */
void banyan_tcp_free_streams(banyan_tcp_peer *peer);

/* tcp_deal.c: gives the links of a peer that has several what there is to send. */
void banyan_tcp_deal(banyan_tcp_peer *peer);
uint64_t banyan_tcp_waiting_bytes(const banyan_tcp_link *link); /* that its peer has not acknowledged */

/* tcp_frame.c: a failure is a sentence without the peer's name. */
banyan_status banyan_tcp_place_frames(banyan_tcp_link *link, banyan_error *err);
banyan_status banyan_tcp_write(banyan_tcp_link *link, int *has_changed, banyan_error *err);
banyan_status banyan_tcp_read(banyan_tcp_link *link, int *has_changed, banyan_error *err);

/* Takes the bytes that lie in link->in apart; for tests and the fuzzer, too. */
banyan_status banyan_tcp_parse(banyan_tcp_link *link, int *has_changed, banyan_error *err);

#endif
