/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/store.c: the store where ranks meet, which is the root of the join tree.
 *
 *     rank r ── handshake, hello ──> store      rank r ── RECORD ──> store
 *     store ── PARENT, and closes ──> rank r    rank r ── handshake, hello, ATTACH ──> its parent
 *     store ── RECORDS, or FAILED ──> its children ──> theirs, ...       GOT comes back the same way
 *
 * Every rank tells the store itself who it is, since that is the only address it knows; the store keeps the
 * connections of a few and sends the others to wait with a rank that has come before (bootstrap/join_tree.h).
 * All records of n ranks are 513 n bytes, which the store and each parent send to at most 16 children.
 *
 * Who loses the connection to its parent before it has the records visits the store again; its children do so
 * too. A parent says so when a child's connection ends (LOST), so the store knows who is there. It stays
 * until all have the records, unless who started it knows that they have. */
#include "bootstrap/store_internal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bootstrap/clients.h"
#include "bootstrap/join_tree.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "transport/bytes.h"

struct banyan_store {
    banyan_store *next_left; /* of the list below */
    banyan_clients clients;
    int wake;
    pthread_t thread;
    _Atomic int is_ending, is_over;
    int64_t deadline_ns;
    int timeout_ms; /* what the first rank brought */
    int has_timeout;
    int size; /* 0: nobody has come */
    int first_rank;
    banyan_join_tree tree;
    int is_complete;        /* all have come */
    int has_lost;           /* a child that may not have handed the records on */
    size_t record_bytes;    /* of the message below */
    unsigned char *records; /* RECORDS: by rank; children of each; strangers */
    uint32_t *ports;        /* by rank: where it takes children */
    char *has_heard;        /* by rank: from the store itself, that the meeting has failed */
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
    (void)context;
    return hello->size < 1 || hello->size > BANYAN_MAX_RANKS || hello->from < 0 || hello->from >= hello->size
               ? BANYAN_INVALID_ARGUMENT
               : BANYAN_SUCCESS;
}

static void open_book(banyan_store *store, const banyan_hello *hello)
{
    int size = hello->size;
    banyan_error why = {""};
    banyan_status status = banyan_join_tree_init(&store->tree, size, &why);

    store->size = size;
    store->first_rank = hello->from;
    store->records = banyan_alloc((size_t)size * RECORDS_PER_RANK + BANYAN_STRANGERS_TEXT, 1);
    store->has_heard = banyan_alloc((size_t)size, 1);
    store->ports = banyan_alloc((size_t)size, sizeof *store->ports);
    if (status || !store->records || !store->has_heard || !store->ports) {
        refuse(store, BANYAN_SYSTEM_ERROR, "the place where ranks meet has no memory");
        return;
    }
    status = banyan_clients_reserve(&store->clients, size < BANYAN_MAX_CLIENTS ? size : BANYAN_MAX_CLIENTS,
                                    "the place where ranks meet", &why);
    if (status)
        refuse(store, status, why.text);
}

static void take(void *context, const banyan_hello *hello)
{
    banyan_store *store = context;
    char sentence[200];

    if (!store->size) {
        open_book(store, hello);
    } else if (store->size != hello->size) {
        snprintf(sentence, sizeof sentence, "the number of ranks differs: rank %d says %d, rank %d says %d",
                 store->first_rank, store->size, hello->from, hello->size);
        refuse(store, BANYAN_MISMATCH, sentence);
    }
}

static int is_there(const banyan_store *store, int rank)
{
    return store->tree.nodes[rank].visit > 0;
}

/* A rank that leaves before all are there will have to come again. */
static void forget(banyan_store *store, int rank, int visit)
{
    if (!store->status && !store->is_complete && visit && store->tree.nodes[rank].visit == visit)
        banyan_join_tree_remove(&store->tree, rank);
}

static void lose(void *context, const banyan_client *client)
{
    banyan_store *store = context;

    store->has_lost |= client->is_told && !client->has_got;
    if (store->size && !store->status)
        forget(store, client->rank, client->visit);
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
    banyan_listener_set_timeout(store->clients.listener, timeout_ms);
}

static unsigned char *record_of(const banyan_store *store, int rank)
{
    return store->records + (size_t)rank * BANYAN_RANK_RECORD_BYTES;
}

static int is_same_process(const banyan_rank_record *one, const banyan_rank_record *other)
{
    return one->process == other->process && !strcmp(one->host, other->host) &&
           !strcmp(one->place, other->place);
}

static void send_failure(banyan_store *store, banyan_client *client, banyan_status status,
                         const char *sentence)
{
    unsigned char failure[FAILED_HEAD + sizeof store->reason.text];
    size_t length = strlen(sentence);

    banyan_put32(failure, (uint32_t)status);
    memcpy(failure + FAILED_HEAD, sentence, length);
    banyan_clients_send(&store->clients, client, FAILED, failure, FAILED_HEAD + length);
    client->is_told = 1;
}

/* Another process has come as the same rank before. */
static void refuse_second(banyan_store *store, banyan_client *client, const banyan_rank_record *old,
                          const banyan_rank_record *record)
{
    char sentence[400];

    snprintf(sentence, sizeof sentence, "two processes say that they are rank %d: %d on %s and %d on %s",
             client->rank, old->process, old->host, record->process, record->host);
    if (!store->is_complete)
        refuse(store, BANYAN_MISMATCH, sentence);
    else
        send_failure(store, client, BANYAN_MISMATCH, sentence);
}

/* The connection ends when the rank knows where to wait. */
static void send_parent(banyan_store *store, banyan_client *client, int parent)
{
    unsigned char body[PARENT_MESSAGE];

    banyan_put32(body, store->ports[parent]);
    banyan_put32(body + 4, (uint32_t)store->tree.nodes[parent].visit);
    memcpy(body + PARENT_HEAD, record_of(store, parent), BANYAN_RANK_RECORD_BYTES);
    banyan_clients_send(&store->clients, client, PARENT, body, sizeof body);
    client->is_dismissed = 1;
}

static void add_rank(banyan_store *store, banyan_client *client)
{
    int parent = banyan_join_tree_add(&store->tree, client->rank, client->visit, !store->ports[client->rank]);

    if (parent != BANYAN_JOIN_ROOT)
        send_parent(store, client, parent);
    store->is_complete = store->tree.count == store->size;
}

static void take_record(banyan_store *store, banyan_client *client, const unsigned char *body, size_t bytes)
{
    banyan_rank_record old = {0}, record = {0};
    int visit = bytes == RECORD_MESSAGE ? (int)(banyan_get32(body + 12) & INT32_MAX) : 0;

    if (!visit || client->visit || banyan_rank_record_read(body + RECORD_HEAD, &record, NULL)) {
        banyan_channel_fini(&client->channel);
        return;
    }
    if (is_there(store, client->rank)) {
        banyan_rank_record_read(record_of(store, client->rank), &old, NULL);
        if (!is_same_process(&old, &record)) {
            refuse_second(store, client, &old, &record);
            return;
        }
        if (visit <= store->tree.nodes[client->rank].visit) { /* an older connection, read later */
            banyan_channel_fini(&client->channel);
            return;
        }
        forget(store, client->rank, store->tree.nodes[client->rank].visit);
    }
    client->visit = visit;
    if (store->is_complete)
        return; /* it has lost the connection to its parent, and gets all records here */
    note_timeout(store, (int)(banyan_get32(body) & INT32_MAX), (int)(banyan_get32(body + 4) & INT32_MAX));
    memcpy(record_of(store, client->rank), body + RECORD_HEAD, BANYAN_RANK_RECORD_BYTES);
    store->ports[client->rank] = banyan_get32(body + 8);
    add_rank(store, client);
}

static void hear(void *context, banyan_client *client, int type, const unsigned char *body, size_t bytes)
{
    banyan_store *store = context;
    uint32_t lost = type == LOST && bytes == PAIR_MESSAGE ? banyan_get32(body) : UINT32_MAX;

    if (store->status)
        return;
    if (type == RECORD)
        take_record(store, client, body, bytes);
    else if (type == GOT)
        client->has_got = client->is_told;
    else if (lost < (uint32_t)store->size)
        forget(store, (int)lost, (int)(banyan_get32(body + 4) & INT32_MAX));
    else
        banyan_channel_fini(&client->channel);
}

static void name_missing(banyan_store *store)
{
    char ranks[160], sentence[sizeof store->reason.text], strangers[BANYAN_STRANGERS_TEXT];

    for (int i = 0; i < store->size; i++)
        store->has_heard[i] = !is_there(store, i);
    banyan_ranks_format(store->has_heard, store->size, ranks, sizeof ranks);
    snprintf(sentence, sizeof sentence, "rank %s of %d did not come within %d ms%s", ranks, store->size,
             store->timeout_ms, banyan_listener_describe_strangers(store->clients.listener, strangers));
    refuse(store, BANYAN_TIMEOUT, sentence);
}

/* Everybody's records, or why there are none. */
static void tell(banyan_store *store, banyan_client *client)
{
    if (client->channel.fd < 0 || client->is_told || client->is_dismissed)
        return;
    if (store->status) {
        send_failure(store, client, store->status, store->reason.text);
        if (store->has_heard && client->rank < store->size)
            store->has_heard[client->rank] = 1;
    } else if (store->is_complete && client->visit) {
        banyan_clients_send(&store->clients, client, RECORDS, store->records, store->record_bytes);
        client->is_told = 1;
    }
}

/* Rank 0 last: its process often holds this very thread, and may end when it has heard. */
static void tell_all(banyan_store *store)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < store->clients.count; i++)
            if ((store->clients.list[i].rank == 0) == pass)
                tell(store, &store->clients.list[i]);
}

/* Waits for anything to do. */
static void attend(banyan_store *store)
{
    struct pollfd wake = {.fd = store->wake, .events = POLLIN};
    uint64_t rings;

    if (!banyan_clients_attend(&store->clients, &wake, store->deadline_ns))
        refuse(store, BANYAN_SYSTEM_ERROR, "the place where ranks meet has no memory");
    if (wake.revents && read(store->wake, &rings, sizeof rings) < 0)
        rings = 0; /* somebody has rung and been heard */
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
    banyan_clients_close(&store->clients);
    if (store->wake >= 0)
        close(store->wake);
    banyan_join_tree_fini(&store->tree);
    banyan_free(store->records);
    banyan_free(store->ports);
    banyan_free(store->has_heard);
    banyan_free(store);
}

static int has_everybody_heard(const banyan_store *store)
{
    return store->has_heard && !memchr(store->has_heard, 0, (size_t)store->size);
}

/* Whether the records may still be on their way to somebody. */
static int is_anybody_without_records(const banyan_store *store)
{
    for (size_t i = 0; i < store->clients.count; i++)
        if (!store->clients.list[i].has_got)
            return 1;
    return store->has_lost;
}

static int may_go_on(const banyan_store *store)
{
    return !atomic_load(&store->is_ending) && banyan_clock_ns() < store->deadline_ns;
}

/* Those who come after it has failed hear why, as long as the others would have waited for them. So do those
 * who were on their way to a parent that has heard it before they came. */
static void linger(banyan_store *store)
{
    if (store->has_heard)
        memset(store->has_heard, 0, (size_t)store->size);
    tell_all(store);
    while (may_go_on(store) && !has_everybody_heard(store)) {
        attend(store);
        tell_all(store);
    }
}

static void write_records(banyan_store *store)
{
    unsigned char *counts = record_of(store, store->size);

    for (int i = 0; i < store->size; i++)
        counts[i] = (unsigned char)store->tree.nodes[i].child_count;
    store->record_bytes = (size_t)store->size * RECORDS_PER_RANK;
    store->record_bytes += strlen(banyan_listener_describe_strangers(
        store->clients.listener, (char *)store->records + store->record_bytes));
}

static void hand_out(banyan_store *store)
{
    write_records(store);
    tell_all(store);
    while (may_go_on(store) && is_anybody_without_records(store)) {
        attend(store);
        tell_all(store);
    }
}

static void gather(banyan_store *store)
{
    while (!atomic_load(&store->is_ending) && !store->status && !store->is_complete) {
        attend(store);
        if (banyan_clock_ns() < store->deadline_ns || store->is_complete)
            continue;
        if (!store->size)
            return;
        name_missing(store);
    }
    store->deadline_ns = banyan_clock_ns() + (int64_t)store->timeout_ms * 1000000;
    if (store->status)
        linger(store);
    else if (store->is_complete)
        hand_out(store);
}

static void *serve(void *argument)
{
    banyan_store *store = argument;

    gather(store);
    banyan_clients_send_rest(&store->clients, banyan_clock_ns() + (int64_t)store->timeout_ms * 1000000);
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
    banyan_client_handler handler = {store, ask, take, hear, lose};
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
        status = banyan_clients_open(&store->clients, address, low_port, high_port, secret, timeout_ms,
                                     &handler, err);
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

size_t banyan_store_sent_bytes(const banyan_store *store)
{
    return atomic_load(&store->clients.sent_bytes);
}

size_t banyan_store_most_connections(const banyan_store *store)
{
    return atomic_load(&store->clients.most);
}

const banyan_address *banyan_store_address(const banyan_store *store)
{
    return banyan_listener_address(store->clients.listener);
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
