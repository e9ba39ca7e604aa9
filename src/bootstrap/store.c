/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/store.c: the meeting place.
 *
 *     rank r ── handshake, hello ──> store      rank r ── CARD (time-out, what is left of it, card) ──> store
 *     store ── CARDS (all of them, strangers) ──> everybody, or FAILED (status, sentence)
 *     rank r ── GOT ──> store
 *
 * Who loses its connection before it has the cards comes again; so the store stays until all have said that
 * they have them, unless who started it knows that they have. */
#include "bootstrap/store.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/descriptors.h"
#include "transport/bytes.h"
#include "transport/channel.h"
#include "transport/dial.h"
#include "transport/listener.h"
#include "transport/transport.h"

enum { CARD = 1, CARDS, FAILED, GOT };
enum { CARD_MESSAGE = 8 + BANYAN_CARD_BYTES };
#define RETRY_NS 20000000 /* before a lost connection is made again */
enum { MOST_MESSAGE = BANYAN_TRANSPORT_MAX_MEMBERS * BANYAN_CARD_BYTES + BANYAN_STRANGERS_TEXT };

typedef struct {
    banyan_channel channel;
    int rank, has_card, is_told;
} guest;

struct banyan_store {
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
    unsigned char *cards;     /* by rank */
    char *has_come, *has_got; /* by rank */
    banyan_status status;
    banyan_error reason;
};

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

    if (hello->purpose != BANYAN_HELLO_STORE || hello->size < 1 ||
        hello->size > BANYAN_TRANSPORT_MAX_MEMBERS || hello->from < 0 || hello->from >= hello->size)
        return BANYAN_INVALID_ARGUMENT;
    return store->guest_count < 2 * (size_t)BANYAN_TRANSPORT_MAX_MEMBERS ? BANYAN_SUCCESS
                                                                         : BANYAN_UNSUPPORTED;
}

static void open_book(banyan_store *store, int size)
{
    banyan_error why = {""};
    banyan_status status;
    long spare = 0;

    store->cards = banyan_alloc((size_t)size * BANYAN_CARD_BYTES + BANYAN_STRANGERS_TEXT, 1);
    store->has_come = banyan_alloc((size_t)size, 1);
    store->has_got = banyan_alloc((size_t)size, 1);
    store->size = size;
    if (!store->cards || !store->has_come || !store->has_got) {
        refuse(store, BANYAN_SYSTEM_ERROR, "the place where ranks meet has no memory");
        return;
    }
    status = banyan_descriptors_reserve(size, size + BANYAN_LISTENER_UNPROVEN, "the place where ranks meet",
                                        &spare, &why);
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
    if (bytes != CARD_MESSAGE || g->has_card || banyan_card_read(body + 8, &card, NULL)) {
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
    memcpy(store->cards + (size_t)g->rank * BANYAN_CARD_BYTES, body + 8, BANYAN_CARD_BYTES);
    store->has_come[g->rank] = 1;
    store->card_count++;
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

    banyan_status status = banyan_channel_fill(&g->channel, NULL);

    while (g->channel.fd >= 0 && banyan_channel_next(&g->channel, &type, &body, &bytes))
        if (type == CARD)
            take_card(store, g, body, bytes);
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

/* Everybody's cards, or why there are none. */
static void tell(banyan_store *store, guest *g)
{
    unsigned char failure[4 + sizeof store->reason.text];
    size_t length = strlen(store->reason.text), bytes = (size_t)store->size * BANYAN_CARD_BYTES;

    if (g->channel.fd < 0 || g->is_told || (!store->status && !g->has_card))
        return;
    banyan_put32(failure, (uint32_t)store->status);
    memcpy(failure + 4, store->reason.text, length);
    if (store->status)
        banyan_channel_put(&g->channel, FAILED, failure, 4 + length, NULL);
    else
        banyan_channel_put(
            &g->channel, CARDS, store->cards,
            bytes + strlen(banyan_listener_describe_strangers(store->listener, (char *)store->cards + bytes)),
            NULL);
    banyan_channel_flush(&g->channel, NULL);
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

/* Waits for anything to do on the door or with a guest. */
static void attend(banyan_store *store)
{
    int64_t left_ms = (store->deadline_ns - banyan_clock_ns()) / 1000000 + 1;
    struct pollfd *polled = banyan_alloc(store->guest_count + 2, sizeof *polled);
    size_t count = store->guest_count;

    if (!polled) {
        refuse(store, BANYAN_SYSTEM_ERROR, "the place where ranks meet has no memory");
        return;
    }
    polled[0] = (struct pollfd){.fd = banyan_listener_descriptor(store->listener), .events = POLLIN};
    polled[1] = (struct pollfd){.fd = store->wake, .events = POLLIN};
    for (size_t i = 0; i < count; i++)
        polled[2 + i] = (struct pollfd){.fd = store->guests[i].channel.fd, .events = POLLIN};
    poll(polled, (nfds_t)(count + 2), left_ms < 1 ? 0 : left_ms > 500 ? 500 : (int)left_ms);
    banyan_listener_progress(store->listener);
    for (size_t i = 0; i < count; i++)
        if (polled[2 + i].revents && store->guests[i].channel.fd >= 0)
            serve_guest(store, &store->guests[i]);
    banyan_free(polled);
}

static void destroy(banyan_store *store)
{
    for (size_t i = 0; i < store->guest_count; i++)
        banyan_channel_fini(&store->guests[i].channel);
    banyan_listener_destroy(store->listener);
    if (store->wake >= 0)
        close(store->wake);
    banyan_free(store->guests);
    banyan_free(store->cards);
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
    send_rest(store);
    while (!atomic_load(&store->is_ending) && store->got_count < store->size &&
           banyan_clock_ns() < store->deadline_ns) {
        attend(store);
        tell_all(store);
        send_rest(store);
    }
}

static void *serve(void *argument)
{
    banyan_store *store = argument;

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
    send_rest(store);
    /* Whoever comes last frees it: we, or who stops it. */
    if (atomic_exchange(&store->is_over, 1))
        destroy(store);
    return NULL;
}

banyan_status banyan_store_start(const banyan_address *address, int low_port, int high_port,
                                 const banyan_secret *secret, int patience_ms, int timeout_ms,
                                 banyan_store **out, banyan_error *err)
{
    banyan_store *store = banyan_alloc(1, sizeof *store);
    banyan_door_handler handler = {store, ask, take};
    banyan_status status = BANYAN_SUCCESS;
    int error;

    *out = NULL;
    if (!store)
        return banyan_fail_memory(err);
    store->deadline_ns = banyan_clock_ns() + (int64_t)patience_ms * 1000000;
    store->timeout_ms = timeout_ms;
    store->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (store->wake < 0)
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "the place where ranks meet has no eventfd: %s%s",
                             strerror(errno), banyan_socket_advice(errno));
    if (!status)
        status = banyan_listener_create(address, low_port, high_port, secret, timeout_ms, &handler,
                                        &store->listener, err);
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
    pthread_detach(store->thread);
    if (atomic_exchange(&store->is_over, 1))
        destroy(store);
}

static banyan_status read_cards(const unsigned char *body, size_t bytes, int size, banyan_card *cards,
                                char strangers[BANYAN_STRANGERS_TEXT], banyan_error *err)
{
    size_t of_cards = (size_t)size * BANYAN_CARD_BYTES;
    banyan_status status = BANYAN_SUCCESS;

    if (bytes < of_cards || bytes - of_cards >= BANYAN_STRANGERS_TEXT)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "the place where ranks meet sent %zu bytes of cards",
                           bytes);
    for (int i = 0; i < size && !status; i++)
        status = banyan_card_read(body + (size_t)i * BANYAN_CARD_BYTES, &cards[i], err);
    memcpy(strangers, body + of_cards, bytes - of_cards);
    strangers[bytes - of_cards] = '\0';
    return status;
}

/* Where it does not arrive, the store stays longer than it has to, and nothing else. */
static void say_got(banyan_channel *channel)
{
    if (!banyan_channel_put(channel, GOT, NULL, 0, NULL))
        banyan_channel_flush(channel, NULL);
}

static banyan_status talk(banyan_channel *channel, const banyan_card *mine, banyan_store_visit *visit,
                          int64_t deadline_ns, banyan_card *cards, banyan_error *err)
{
    int64_t left_ms = (deadline_ns - banyan_clock_ns()) / 1000000;
    unsigned char message[CARD_MESSAGE];
    const unsigned char *body = NULL;
    size_t bytes = 0;
    int type = 0;
    banyan_status status;

    banyan_put32(message, (uint32_t)visit->timeout_ms);
    banyan_put32(message + 4, left_ms > 0 ? (uint32_t)left_ms : 0);
    banyan_card_write(mine, message + 8);
    status = banyan_channel_put(channel, CARD, message, sizeof message, err);
    if (!status)
        status = banyan_channel_send_all(channel, deadline_ns, err);
    if (!status)
        status = banyan_channel_wait_message(channel, deadline_ns, &type, &body, &bytes, err);
    if (status) {
        banyan_error_prefix(err, "the place where ranks meet");
        return status;
    }
    if (type == CARDS) {
        status = read_cards(body, bytes, mine->size, cards, visit->strangers, err);
        say_got(channel);
        return status;
    }
    if (type != FAILED || bytes < 4)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "the place where ranks meet sent rubbish");
    return banyan_fail(err, (banyan_status)(banyan_get32(body) & 0xff), "%.*s", (int)(bytes - 4),
                       (const char *)body + 4);
}

static banyan_status visit_once(banyan_store_visit *visit, int *has_met, int64_t deadline_ns,
                                banyan_card *mine, banyan_card *cards, banyan_error *err)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_STORE, mine->rank, mine->size, 0, 1};
    char text[BANYAN_ADDRESS_TEXT], other[BANYAN_ADDRESS_TEXT + 40];
    banyan_address local = {0};
    banyan_channel channel;
    banyan_status status;
    int fd;

    snprintf(other, sizeof other, "the meeting place at %s", banyan_address_format(&visit->address, text));
    status = *has_met
                 ? banyan_dial_again(&visit->address, visit->secret, &hello, other, deadline_ns, &fd, err)
                 : banyan_dial(&visit->address, visit->secret, &hello, other, deadline_ns, &fd, err);
    if (status)
        return status;
    banyan_socket_local(fd, &local);
    banyan_channel_init(&channel, fd, MOST_MESSAGE);
    if (!*has_met && visit->prepare)
        status = visit->prepare(visit->context, &local, mine, err);
    *has_met = 1;
    if (!status)
        status = talk(&channel, mine, visit, deadline_ns, cards, err);
    banyan_channel_fini(&channel);
    return status;
}

banyan_status banyan_store_exchange(banyan_store_visit *visit, banyan_card *mine, banyan_card *cards,
                                    banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)visit->timeout_ms * 1000000;
    struct timespec pause = {.tv_nsec = RETRY_NS};
    banyan_status status = BANYAN_PEER_LOST, lost = BANYAN_SUCCESS;
    banyan_error why = {""};
    int has_met = 0;

    while (status == BANYAN_PEER_LOST && (!lost || banyan_clock_ns() + RETRY_NS < deadline_ns)) {
        if (lost)
            nanosleep(&pause, NULL);
        status = visit_once(visit, &has_met, deadline_ns, mine, cards, &why);
        /* Where we have been before and are refused now, nobody is any more: what was lost is what there is
         * to tell. */
        if (lost && status == BANYAN_SYSTEM_ERROR)
            return lost;
        if (status)
            banyan_fail(err, status, "%s", why.text);
        lost = status;
    }
    return status;
}
