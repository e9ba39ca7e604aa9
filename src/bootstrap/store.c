/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/store.c: the meeting place.
 *
 *     rank r ── handshake, hello ──> store      rank r ── CARD (time-out, left of it, port, card) ──> store
 *     store ── CARDS (all of them, strangers) ──> ranks 0 to 16, or FAILED (status, sentence) ──> everybody
 *     store ── PARENT (its port and card) ──> other ranks     rank r ── FETCH ──> its parent ── CARDS ──> it
 *     rank r ── GOT ──> store
 *
 * All cards of n ranks are 512 n bytes: the store sends them to few, and each of those hands them on to its
 * children, ranks 16 r + 1 to 16 r + 16, through a store of its own that has nothing else to do. So no rank
 * sends more than 17 times all cards, and with a thousand ranks the last has them in the third step. A rank
 * whose parent cannot be reached asks the store itself (FETCH).
 *
 * Who loses its connection before it has the cards comes again; so the store stays until all have said that
 * they have them, unless who started it knows that they have. */
#include "bootstrap/store_internal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bootstrap/tree.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/descriptors.h"
#include "transport/bytes.h"
#include "transport/channel.h"
#include "transport/listener.h"

typedef struct {
    banyan_channel channel;
    int rank, has_card, is_told;
    int wants_all; /* its parent cannot be reached, or we are its parent */
} guest;

struct banyan_store {
    banyan_store *next_left; /* of the list below */
    banyan_listener *listener;
    int wake;
    pthread_t thread;
    _Atomic int is_ending, is_left, is_over;
    int64_t deadline_ns;
    int timeout_ms; /* what the first rank brought */
    int has_timeout;
    int size; /* 0: nobody has come */
    size_t guest_count, guest_capacity;
    guest *guests;
    int card_count, told_count, got_count;
    int is_parent; /* only hands on what it is given */
    int wanted;    /* ranks that are to get the cards from here, or to say that they have them */
    _Atomic int is_filled;
    _Atomic size_t sent_bytes;
    size_t card_bytes;        /* of all, and what is said of strangers; of a parent */
    unsigned char *cards;     /* by rank */
    uint32_t *ports;          /* by rank: where it hands them on */
    char *has_come, *has_got; /* by rank */
    banyan_status status;
    banyan_error reason;
};

/* Those of this process that serve although nobody waits for them. */
static struct {
    pthread_mutex_t lock;
    banyan_store *first;
} left = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char *banyan_ranks_format(const char *is_named, int size, char *buffer, size_t bytes)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (int i = 0, end; i < size; i = end) {
        end = i + 1;
        if (!is_named[i])
            continue;
        while (end < size && is_named[end])
            end++;
        if (used + 32 > bytes) {
            snprintf(buffer + used, bytes - used, "...");
            break;
        }
        used += (size_t)snprintf(buffer + used, bytes - used, end - i > 1 ? "%s%d-%d" : "%s%d",
                                 used ? ", " : "", i, end - 1);
    }
    return buffer;
}

static void refuse(banyan_store *store, banyan_status status, const char *sentence)
{
    if (store->status)
        return;
    store->status = status;
    snprintf(store->reason.text, sizeof store->reason.text, "%s", sentence);
}

static banyan_status ask(void *context, const banyan_hello *hello)
{
    banyan_store *store = context;

    if (hello->purpose != BANYAN_HELLO_STORE || hello->size < 1 || hello->size > BANYAN_MAX_RANKS ||
        hello->from < 0 || hello->from >= hello->size)
        return BANYAN_INVALID_ARGUMENT;
    return store->guest_count < 2 * (size_t)BANYAN_MAX_RANKS ? BANYAN_SUCCESS : BANYAN_UNSUPPORTED;
}

static void open_book(banyan_store *store, int size)
{
    banyan_error why = {""};
    banyan_status status;
    long spare = 0;

    store->cards = banyan_alloc((size_t)size * BANYAN_CARD_BYTES + BANYAN_STRANGERS_TEXT, 1);
    store->has_come = banyan_alloc((size_t)size, 1);
    store->has_got = banyan_alloc((size_t)size, 1);
    store->ports = banyan_alloc((size_t)size, sizeof *store->ports);
    store->size = size;
    store->wanted = store->is_parent ? store->wanted : size;
    if (!store->cards || !store->has_come || !store->has_got || !store->ports) {
        refuse(store, BANYAN_SYSTEM_ERROR, "the place where ranks meet has no memory");
        return;
    }
    status = banyan_descriptors_reserve(store->wanted, store->wanted + BANYAN_LISTENER_UNPROVEN,
                                        "the place where ranks meet", &spare, &why);
    if (status)
        refuse(store, status, why.text);
    else if (spare < BANYAN_LISTENER_UNPROVEN)
        banyan_listener_set_unproven(store->listener, (int)spare);
}

static void take(void *context, const banyan_hello *hello, int fd)
{
    banyan_store *store = context;
    char sentence[200];

    if (!banyan_grow((void **)&store->guests, store->guest_count, &store->guest_capacity,
                     sizeof *store->guests)) {
        close(fd);
        return;
    }
    store->guests[store->guest_count] = (guest){.rank = hello->from};
    banyan_channel_init(&store->guests[store->guest_count++].channel, fd, MOST_MESSAGE);
    if (!store->size) {
        open_book(store, hello->size);
    } else if (store->size != hello->size) {
        snprintf(sentence, sizeof sentence, "the number of ranks differs: rank %d says %d, rank %d says %d",
                 store->guests[0].rank, store->size, hello->from, hello->size);
        refuse(store, BANYAN_MISMATCH, sentence);
    }
}

/* A rank that leaves before all are there will have to come again. */
static void forget(banyan_store *store, guest *g)
{
    if (g->has_card && store->has_come[g->rank] && !store->status) {
        store->has_come[g->rank] = 0;
        store->card_count--;
    }
    banyan_channel_fini(&g->channel);
}

/* A rank whose connection was lost may come again before the loss is noticed here. */
static void forget_lost(banyan_store *store, const guest *newer, const banyan_card *card)
{
    banyan_card old = {0};

    if (!store->has_come[newer->rank])
        return;
    banyan_card_read(store->cards + (size_t)newer->rank * BANYAN_CARD_BYTES, &old, NULL);
    if (old.process != card->process || strcmp(old.host, card->host) != 0 ||
        strcmp(old.place, card->place) != 0)
        return;
    for (size_t i = 0; i < store->guest_count; i++)
        if (&store->guests[i] != newer && store->guests[i].rank == newer->rank && store->guests[i].has_card)
            forget(store, &store->guests[i]);
}

/* Every rank must hear from us before its own time is over, and some have waited long before they came. */
static void note_timeout(banyan_store *store, int timeout_ms, int left_ms)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)left_ms * 875000; /* of 1,000,000 */

    if (!store->has_timeout || deadline_ns < store->deadline_ns)
        store->deadline_ns = deadline_ns;
    if (store->has_timeout)
        return;
    store->has_timeout = 1;
    store->timeout_ms = timeout_ms;
    banyan_listener_set_timeout(store->listener, timeout_ms);
}

static void take_card(banyan_store *store, guest *g, const unsigned char *body, size_t bytes)
{
    banyan_card old = {0}, card = {0};
    char sentence[400];

    if (store->status)
        return;
    if (bytes != CARD_MESSAGE || g->has_card || store->is_parent ||
        banyan_card_read(body + CARD_HEAD, &card, NULL)) {
        banyan_channel_fini(&g->channel);
        return;
    }
    forget_lost(store, g, &card);
    g->has_card = 1;
    if (store->has_come[g->rank]) {
        banyan_card_read(store->cards + (size_t)g->rank * BANYAN_CARD_BYTES, &old, NULL);
        snprintf(sentence, sizeof sentence, "two processes say that they are rank %d: %d on %s and %d on %s",
                 g->rank, old.process, old.host, card.process, card.host);
        refuse(store, BANYAN_MISMATCH, sentence);
        return;
    }
    note_timeout(store, (int)(banyan_get32(body) & INT32_MAX), (int)(banyan_get32(body + 4) & INT32_MAX));
    memcpy(store->cards + (size_t)g->rank * BANYAN_CARD_BYTES, body + CARD_HEAD, BANYAN_CARD_BYTES);
    store->ports[g->rank] = banyan_get32(body + 8);
    store->has_come[g->rank] = 1;
    store->card_count++;
}

/* Who has no parent, or a parent that it cannot reach. */
static void note_fetch(banyan_store *store, guest *g)
{
    store->told_count -= g->is_told;
    g->is_told = 0;
    g->wants_all = 1;
    g->has_card |= store->is_parent;
}

static void note_got(banyan_store *store, const guest *g)
{
    store->got_count += g->is_told && !store->has_got[g->rank];
    store->has_got[g->rank] |= (char)g->is_told;
}

static void serve_guest(banyan_store *store, guest *g)
{
    const unsigned char *body;
    size_t bytes;
    int type;
    banyan_status status = banyan_channel_flush(&g->channel, NULL);

    if (!status)
        status = banyan_channel_fill(&g->channel, NULL);
    while (g->channel.fd >= 0 && banyan_channel_next(&g->channel, &type, &body, &bytes))
        if (type == CARD)
            take_card(store, g, body, bytes);
        else if (type == FETCH)
            note_fetch(store, g);
        else if (type == GOT)
            note_got(store, g);
        else
            forget(store, g);
    if (status && g->channel.fd >= 0)
        forget(store, g);
}

static void name_missing(banyan_store *store)
{
    char ranks[160], sentence[sizeof store->reason.text], strangers[BANYAN_STRANGERS_TEXT];

    for (int i = 0; i < store->size; i++)
        store->has_come[i] = !store->has_come[i];
    banyan_ranks_format(store->has_come, store->size, ranks, sizeof ranks);
    snprintf(sentence, sizeof sentence, "rank %s of %d did not come within %d ms%s", ranks, store->size,
             store->timeout_ms, banyan_listener_describe_strangers(store->listener, strangers));
    refuse(store, BANYAN_TIMEOUT, sentence);
}

static void send(banyan_store *store, guest *g, int type, const void *body, size_t bytes)
{
    atomic_fetch_add(&store->sent_bytes, bytes);
    banyan_channel_put(&g->channel, type, body, bytes, NULL);
    banyan_channel_flush(&g->channel, NULL);
}

static void send_failure(banyan_store *store, guest *g)
{
    unsigned char failure[4 + sizeof store->reason.text];
    size_t length = strlen(store->reason.text);

    banyan_put32(failure, (uint32_t)store->status);
    memcpy(failure + 4, store->reason.text, length);
    send(store, g, FAILED, failure, 4 + length);
}

static void send_cards(banyan_store *store, guest *g)
{
    size_t bytes = (size_t)store->size * BANYAN_CARD_BYTES;

    if (!store->is_parent)
        store->card_bytes =
            bytes + strlen(banyan_listener_describe_strangers(store->listener, (char *)store->cards + bytes));
    send(store, g, CARDS, store->cards, store->card_bytes);
}

/* 0: the rank gets its cards here. */
static int send_parent(banyan_store *store, guest *g)
{
    unsigned char body[PARENT_MESSAGE];
    int parent = banyan_tree_parent(BANYAN_STORE_CHILDREN, g->rank);

    if (parent <= 0 || g->wants_all || !store->ports[parent])
        return 0;
    banyan_put32(body, store->ports[parent]);
    memcpy(body + 4, store->cards + (size_t)parent * BANYAN_CARD_BYTES, BANYAN_CARD_BYTES);
    send(store, g, PARENT, body, sizeof body);
    return 1;
}

/* Everybody's cards, or where to get them, or why there are none. */
static void tell(banyan_store *store, guest *g)
{
    if (g->channel.fd < 0 || g->is_told || (!store->status && !g->has_card))
        return;
    if (store->status)
        send_failure(store, g);
    else if (!send_parent(store, g))
        send_cards(store, g);
    g->is_told = 1;
    store->told_count++;
}

/* Rank 0 last: its process often holds this very thread, and may end when it has heard. */
static void tell_all(banyan_store *store)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < store->guest_count; i++)
            if ((store->guests[i].rank == 0) == pass)
                tell(store, &store->guests[i]);
}

static void send_rest(banyan_store *store)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)store->timeout_ms * 1000000;

    for (size_t i = 0; i < store->guest_count; i++)
        if (store->guests[i].channel.fd >= 0)
            banyan_channel_send_all(&store->guests[i].channel, deadline_ns, NULL);
}

/* Waits for anything to do on the door or with a guest; one that does not read holds up no other. */
static void attend(banyan_store *store)
{
    int64_t left_ms = (store->deadline_ns - banyan_clock_ns()) / 1000000 + 1;
    struct pollfd *polled = banyan_alloc(store->guest_count + 2, sizeof *polled);
    size_t count = store->guest_count;
    uint64_t rings;

    if (!polled) {
        refuse(store, BANYAN_SYSTEM_ERROR, "the place where ranks meet has no memory");
        return;
    }
    polled[0] = (struct pollfd){.fd = banyan_listener_descriptor(store->listener), .events = POLLIN};
    polled[1] = (struct pollfd){.fd = store->wake, .events = POLLIN};
    for (size_t i = 0; i < count; i++)
        polled[2 + i] = (struct pollfd){
            .fd = store->guests[i].channel.fd,
            .events = banyan_channel_has_unsent(&store->guests[i].channel) ? POLLIN | POLLOUT : POLLIN};
    poll(polled, (nfds_t)(count + 2), left_ms < 1 ? 0 : left_ms > 500 ? 500 : (int)left_ms);
    if (polled[1].revents && read(store->wake, &rings, sizeof rings) < 0)
        rings = 0; /* somebody has rung and been heard */
    banyan_listener_progress(store->listener);
    for (size_t i = 0; i < count; i++)
        if (polled[2 + i].revents && store->guests[i].channel.fd >= 0)
            serve_guest(store, &store->guests[i]);
    banyan_free(polled);
}

static void forget_left(banyan_store *store)
{
    banyan_store **link = &left.first;

    pthread_mutex_lock(&left.lock);
    while (*link && *link != store)
        link = &(*link)->next_left;
    if (*link)
        *link = store->next_left;
    pthread_mutex_unlock(&left.lock);
}

static void destroy(banyan_store *store)
{
    forget_left(store);
    for (size_t i = 0; i < store->guest_count; i++)
        banyan_channel_fini(&store->guests[i].channel);
    banyan_listener_destroy(store->listener);
    if (store->wake >= 0)
        close(store->wake);
    banyan_free(store->guests);
    banyan_free(store->cards);
    banyan_free(store->ports);
    banyan_free(store->has_come);
    banyan_free(store->has_got);
    banyan_free(store);
}

/* Those who come after it has failed hear why, as long as the others would have waited for them. */
static void linger(banyan_store *store)
{
    store->deadline_ns = banyan_clock_ns() + (int64_t)store->timeout_ms * 1000000;
    tell_all(store);
    while (!atomic_load(&store->is_ending) && store->told_count < store->size &&
           banyan_clock_ns() < store->deadline_ns) {
        attend(store);
        tell_all(store);
    }
}

static void see_off(banyan_store *store)
{
    store->deadline_ns = banyan_clock_ns() + (int64_t)store->timeout_ms * 1000000;
    tell_all(store);
    while (!atomic_load(&store->is_ending) && store->got_count < store->wanted &&
           banyan_clock_ns() < store->deadline_ns) {
        attend(store);
        tell_all(store);
    }
}

/* Of a parent: until it has something to hand on. */
static void await_cards(banyan_store *store)
{
    while (!atomic_load(&store->is_ending) && !atomic_load(&store->is_filled) &&
           banyan_clock_ns() < store->deadline_ns)
        attend(store);
    if (atomic_load(&store->is_filled))
        see_off(store);
}

static void gather_cards(banyan_store *store)
{
    while (!atomic_load(&store->is_ending) && !store->status &&
           (!store->size || store->card_count < store->size)) {
        attend(store);
        if (banyan_clock_ns() >= store->deadline_ns) {
            if (!store->size)
                break;
            name_missing(store);
        }
    }
    if (store->status)
        linger(store);
    else if (store->size && store->card_count == store->size)
        see_off(store);
}

static void *serve(void *argument)
{
    banyan_store *store = argument;

    if (store->is_parent)
        await_cards(store);
    else
        gather_cards(store);
    send_rest(store);
    /* Whoever comes last frees it: we, or who stops it. */
    if (atomic_exchange(&store->is_over, 1))
        destroy(store);
    return NULL;
}

/* children: 0, or of how many it is the parent in a group of size ranks. */
static banyan_status start(const banyan_address *address, int low_port, int high_port,
                           const banyan_secret *secret, int children, int size, int patience_ms,
                           int timeout_ms, banyan_store **out, banyan_error *err)
{
    banyan_store *store = banyan_alloc(1, sizeof *store);
    banyan_door_handler handler = {store, ask, take};
    banyan_status status = BANYAN_SUCCESS;
    int error;

    *out = NULL;
    if (!store)
        return banyan_fail_memory(err);
    store->is_parent = children > 0;
    store->wanted = children;
    store->deadline_ns = banyan_clock_ns() + (int64_t)patience_ms * 1000000;
    store->timeout_ms = timeout_ms;
    store->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (store->wake < 0)
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "the place where ranks meet has no eventfd: %s%s",
                             strerror(errno), banyan_socket_advice(errno));
    if (!status)
        status = banyan_listener_create(address, low_port, high_port, secret, timeout_ms, &handler,
                                        &store->listener, err);
    if (!status && store->is_parent)
        open_book(store, size);
    error = status ? 0 : pthread_create(&store->thread, NULL, serve, store);
    if (error)
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR,
                             "cannot start a thread for the place where ranks meet: %s", strerror(error));
    if (status)
        destroy(store);
    else
        *out = store;
    return status;
}

banyan_status banyan_store_start(const banyan_address *address, int low_port, int high_port,
                                 const banyan_secret *secret, int patience_ms, int timeout_ms,
                                 banyan_store **out, banyan_error *err)
{
    return start(address, low_port, high_port, secret, 0, 0, patience_ms, timeout_ms, out, err);
}

banyan_status banyan_store_start_parent(const banyan_address *address, int low_port, int high_port,
                                        const banyan_secret *secret, int children, int size, int timeout_ms,
                                        banyan_store **out, banyan_error *err)
{
    return start(address, low_port, high_port, secret, children, size, timeout_ms, timeout_ms, out, err);
}

/* All cards have come: children may have them. */
void banyan_store_fill(banyan_store *store, const unsigned char *cards, size_t bytes)
{
    uint64_t one = 1;

    if (store->status)
        return;
    memcpy(store->cards, cards, bytes);
    store->card_bytes = bytes;
    atomic_store(&store->is_filled, 1);
    if (write(store->wake, &one, sizeof one) < 0)
        return; /* the counter is full: awake already */
}

size_t banyan_store_sent_bytes(const banyan_store *store)
{
    return atomic_load(&store->sent_bytes);
}

const banyan_address *banyan_store_address(const banyan_store *store)
{
    return banyan_listener_address(store->listener);
}

void banyan_store_stop(banyan_store *store)
{
    uint64_t one = 1;

    if (!store)
        return;
    atomic_store(&store->is_ending, 1);
    if (write(store->wake, &one, sizeof one) < 0)
        return;
    pthread_join(store->thread, NULL);
    destroy(store);
}

void banyan_store_leave(banyan_store *store)
{
    pthread_mutex_lock(&left.lock);
    store->next_left = left.first;
    left.first = store;
    pthread_mutex_unlock(&left.lock);
    pthread_detach(store->thread);
    if (atomic_exchange(&store->is_over, 1))
        destroy(store);
}

void banyan_store_dismiss(const banyan_address *address)
{
    uint64_t one = 1;

    pthread_mutex_lock(&left.lock);
    for (banyan_store *store = left.first; store; store = store->next_left) {
        const banyan_address *own = banyan_store_address(store);

        if (own->family != address->family || own->port != address->port || own->scope != address->scope ||
            memcmp(own->bytes, address->bytes, sizeof own->bytes) != 0)
            continue;
        atomic_store(&store->is_ending, 1);
        if (write(store->wake, &one, sizeof one) < 0)
            break; /* it looks again when its time-out has passed */
    }
    pthread_mutex_unlock(&left.lock);
}
