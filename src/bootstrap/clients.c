/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/clients.c: a listener and an array of channels, polled together. */
#include "bootstrap/clients.h"

#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#include "bootstrap/store_internal.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/descriptors.h"

static banyan_status ask(void *context, const banyan_hello *hello)
{
    banyan_clients *clients = context;

    if (hello->purpose != BANYAN_HELLO_STORE)
        return BANYAN_INVALID_ARGUMENT;
    return clients->handler.ask(clients->handler.context, hello);
}

static void take(void *context, const banyan_hello *hello, int fd)
{
    banyan_clients *clients = context;

    if (!banyan_grow((void **)&clients->list, clients->count, &clients->capacity, sizeof *clients->list)) {
        close(fd);
        return;
    }
    clients->list[clients->count] = (banyan_client){.rank = hello->from};
    banyan_channel_init(&clients->list[clients->count++].channel, fd, MAX_MESSAGE);
    if (clients->count > atomic_load(&clients->most))
        atomic_store(&clients->most, clients->count);
    if (clients->handler.take)
        clients->handler.take(clients->handler.context, hello);
}

static int is_full(void *context)
{
    return ((banyan_clients *)context)->count >= BANYAN_MAX_CLIENTS;
}

banyan_status banyan_clients_open(banyan_clients *clients, const banyan_address *address, int low_port,
                                  int high_port, const banyan_secret *secret, int timeout_ms,
                                  const banyan_client_handler *handler, banyan_error *err)
{
    banyan_listener_handler functions = {clients, ask, take, is_full};

    clients->handler = *handler;
    return banyan_listener_create(address, low_port, high_port, secret, timeout_ms, &functions,
                                  &clients->listener, err);
}

void banyan_clients_close(banyan_clients *clients)
{
    banyan_clients_drop(clients);
    banyan_listener_destroy(clients->listener);
    banyan_free(clients->list);
    clients->listener = NULL;
    clients->list = NULL;
    clients->capacity = 0;
}

banyan_status banyan_clients_reserve(banyan_clients *clients, int count, const char *what, banyan_error *err)
{
    long spare = BANYAN_LISTENER_UNPROVEN;
    banyan_status status =
        banyan_descriptors_reserve(count, count + BANYAN_LISTENER_UNPROVEN, what, &spare, err);

    if (!status && spare < BANYAN_LISTENER_UNPROVEN)
        banyan_listener_set_unproven(clients->listener, (int)spare);
    return status;
}

void banyan_clients_drop(banyan_clients *clients)
{
    for (size_t i = 0; i < clients->count; i++)
        banyan_channel_fini(&clients->list[i].channel);
    clients->count = 0;
}

static void serve(banyan_clients *clients, banyan_client *client)
{
    const unsigned char *body;
    size_t bytes;
    int type;
    banyan_status status = banyan_channel_flush(&client->channel, NULL);

    if (!status)
        status = banyan_channel_fill(&client->channel, NULL);
    while (client->channel.fd >= 0 && banyan_channel_next(&client->channel, &type, &body, &bytes))
        clients->handler.hear(clients->handler.context, client, type, body, bytes);
    if (status)
        banyan_channel_fini(&client->channel);
}

/* Removes those whose connection has ended, and ends those of whom nothing more is wanted. */
static void sweep(banyan_clients *clients)
{
    size_t kept = 0;

    for (size_t i = 0; i < clients->count; i++) {
        banyan_client *client = &clients->list[i];

        if (client->is_dismissed && !banyan_channel_has_unsent(&client->channel))
            banyan_channel_fini(&client->channel);
        else if (client->channel.fd < 0 && !client->is_dismissed)
            clients->handler.lose(clients->handler.context, client);
        if (client->channel.fd >= 0)
            clients->list[kept++] = *client;
    }
    clients->count = kept;
}

static int poll_timeout_ms(int64_t deadline_ns)
{
    int64_t left_ms = (deadline_ns - banyan_clock_ns()) / 1000000 + 1;

    return left_ms < 1 ? 0 : left_ms > 500 ? 500 : (int)left_ms;
}

int banyan_clients_attend(banyan_clients *clients, struct pollfd *other, int64_t deadline_ns)
{
    struct pollfd *polled = banyan_alloc(clients->count + 2, sizeof *polled);
    size_t count = clients->count;
    int has_room = clients->listener && !is_full(clients);

    if (!polled)
        return 0;
    polled[0] = *other;
    polled[1] = (struct pollfd){.fd = has_room ? banyan_listener_descriptor(clients->listener) : -1,
                                .events = POLLIN};
    for (size_t i = 0; i < count; i++)
        polled[2 + i] = (struct pollfd){
            .fd = clients->list[i].channel.fd,
            .events = banyan_channel_has_unsent(&clients->list[i].channel) ? POLLIN | POLLOUT : POLLIN};
    poll(polled, (nfds_t)(count + 2), poll_timeout_ms(deadline_ns));
    other->revents = polled[0].revents;
    if (has_room)
        banyan_listener_progress(clients->listener);
    for (size_t i = 0; i < count; i++)
        if (polled[2 + i].revents && clients->list[i].channel.fd >= 0)
            serve(clients, &clients->list[i]);
    sweep(clients);
    banyan_free(polled);
    return 1;
}

void banyan_clients_send(banyan_clients *clients, banyan_client *client, int type, const void *body,
                         size_t bytes)
{
    atomic_fetch_add(&clients->sent_bytes, bytes);
    if (banyan_channel_put(&client->channel, type, body, bytes, NULL))
        banyan_channel_fini(&client->channel); /* without memory: it comes again */
    else
        banyan_channel_flush(&client->channel, NULL);
}

void banyan_clients_send_rest(banyan_clients *clients, int64_t deadline_ns)
{
    for (size_t i = 0; i < clients->count; i++)
        if (clients->list[i].channel.fd >= 0)
            banyan_channel_send_all(&clients->list[i].channel, deadline_ns, NULL);
}
