/* SPDX-License-Identifier: Apache-2.0 */
/* transport/engine.h: what a library that passes messages (MPI, UCX) must do for us, and nothing else.
 *
 * An engine lives in a shared object of its own (src/transport/engines/), so that libbanyan needs neither
 * library: transport/plugin.h loads it when it is asked for, and transport/messages.h makes streams of its
 * messages. The two are built together and agree on BANYAN_MESSAGE_ENGINE_ABI: this is no promise to others.
 * An engine uses nothing of ours but this header and the numbers of banyan_status. */
#ifndef BANYAN_TRANSPORT_ENGINE_H
#define BANYAN_TRANSPORT_ENGINE_H

#include <banyan/banyan.h>
#include <stddef.h>

#define BANYAN_MESSAGE_ENGINE_ABI 3u
#define BANYAN_MESSAGE_ENGINE_TAGS 4097 /* 0..4096 */
#define BANYAN_MESSAGE_ENGINE_SENTENCE 200

/* A send or a receive. The caller's; the engine keeps its address until it is done. */
typedef struct {
    int is_done;
    size_t bytes;  /* a receive: how many came */
    void *request; /* the engine's own */
} banyan_ticket;

typedef struct banyan_port banyan_port; /* one member's end; the engine's own */

typedef struct {
    unsigned abi;
    const char *name;
    int keeps_memory; /* a send that was begun cannot be taken back */

    /* Functions that can fail return a banyan_status and write one sentence into why. One thread at a time
     * calls them. */
    /* An engine that knows the job (MPI): who we are in it, and a way to exchange bytes before there is any
     * group; every process of the job calls it. Else NULL. */
    banyan_status (*job)(int *rank, int *size, char why[BANYAN_MESSAGE_ENGINE_SENTENCE]);
    banyan_status (*gather)(const void *mine, size_t bytes, void *all, int timeout_ms,
                            char why[BANYAN_MESSAGE_ENGINE_SENTENCE]);

    banyan_status (*open)(int member, int member_count, banyan_port **out,
                          char why[BANYAN_MESSAGE_ENGINE_SENTENCE]);

    /* What the others need to know of this member; borrowed from the port. */
    const void *(*address)(const banyan_port *port, size_t *bytes);

    /* Everybody's address, by member; bytes 0: nobody there. All members call it at the same time. */
    banyan_status (*meet)(banyan_port *port, const void *const *addresses, const size_t *bytes,
                          int timeout_ms, char why[BANYAN_MESSAGE_ENGINE_SENTENCE]);

    banyan_status (*connect)(banyan_port *port, int peer, char why[BANYAN_MESSAGE_ENGINE_SENTENCE]);

    /* Messages with one tag from one peer meet the receives for them in the order in which both were made. A
     * message is never longer than the receive that waits for it. */
    banyan_status (*send)(banyan_port *port, int peer, int tag, const void *memory, size_t bytes,
                          banyan_ticket *ticket, char why[BANYAN_MESSAGE_ENGINE_SENTENCE]);
    banyan_status (*receive)(banyan_port *port, int peer, int tag, void *memory, size_t bytes,
                             banyan_ticket *ticket, char why[BANYAN_MESSAGE_ENGINE_SENTENCE]);

    /* Moves things on without waiting. Returns how many tickets have been done since the last time; -1: the
     * engine is of no use any more. *lost is a peer that is gone, each is told once; -1: none. */
    int (*progress)(banyan_port *port, int *lost, char why[BANYAN_MESSAGE_ENGINE_SENTENCE]);

    /* A descriptor that is readable when progress would find something; NULL: the engine must be asked again
     * and again. is_calm says that one may sleep on it now. */
    int (*descriptor)(banyan_port *port);
    int (*is_calm)(banyan_port *port);

    /* Whether a send that is done may still lie in a buffer that only progress empties. It has left when a
     * later send to the same peer is done. NULL: never. */
    int (*holds_sends)(banyan_port *port);

    /* A rank was lost, and the library promises nothing after that: no new ports. From any thread; may be
     * NULL. */
    void (*distrust)(void);

    /* Ends all sends at once; where keeps_memory, NULL. */
    void (*withdraw)(banyan_port *port);

    /* Gives everything back; is_clean: no message is under way in either direction. Returns 1 when the
     * library still holds memory that it was given for a send or receive: that must not be freed. */
    int (*close)(banyan_port *port, int is_clean);
} banyan_message_engine;

/* The one symbol of the shared object. */
#define BANYAN_ENGINE_SYMBOL "banyan_engine_plugin"
extern const banyan_message_engine banyan_engine_plugin;

#endif
