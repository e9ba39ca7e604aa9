/* SPDX-License-Identifier: Apache-2.0 */
/* transport/engines/ucx.c: the engine over UCP's tagged messages. UCX picks the way to each peer itself:
 * RDMA, shared memory, TCP; UCX_TLS and UCX_NET_DEVICES say otherwise.
 *
 * Every port has a context and a worker of its own; addresses travel over our bootstrap, which is
 * authenticated. A tag holds the sender's member number above ours. Endpoints are made with error handling,
 * so a peer that is gone is told by UCX and its sends end; where no way to the peer can do that, without:
 * then only the group's own watch finds it, and sends are not taken back.
 *
 * All memory is the host's, since what a rank receives it adds up there. UCX is told so: one that knows GPUs
 * would ask the driver about each address, and page-locked memory is known to the driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>

#include "transport/engine.h"

#define PATIENCE_S 1.0

typedef struct {
    ucp_ep_h ep; /* NULL: not connected */
    banyan_port *port;
    int member;
    int is_lost, is_told;
    ucs_status_t why;
} way;

struct banyan_port {
    int member, member_count;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    unsigned char **addresses; /* by member, copies */
    way *ways;                 /* by member */
    int done, lost_count;
    int has_no_errors;        /* no way here tells of lost peers */
    int is_withdrawn;         /* sends may be left that must not move any more */
    int sends;                /* under way */
    banyan_ticket **receives; /* under way: to be cancelled in the end */
    int receive_count, receive_capacity;
};

static banyan_status fail(char *why, banyan_status status, const char *what, ucs_status_t code)
{
    snprintf(why, BANYAN_MESSAGE_ENGINE_SENTENCE, "%s: %s", what, ucs_status_string(code));
    return status;
}

static banyan_status fail_memory(char *why)
{
    snprintf(why, BANYAN_MESSAGE_ENGINE_SENTENCE, "memory ran out");
    return BANYAN_SYSTEM_ERROR;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void free_port(banyan_port *port)
{
    for (int i = 0; port->addresses && i < port->member_count; i++)
        free(port->addresses[i]);
    if (port->address)
        ucp_worker_release_address(port->worker, port->address);
    if (port->worker)
        ucp_worker_destroy(port->worker);
    if (port->context)
        ucp_cleanup(port->context);
    free(port->addresses);
    free(port->ways);
    free(port->receives);
    free(port);
}

static ucs_status_t make_context(ucp_context_h *out)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
                           .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP,
                           .name = "banyan"};
    ucp_config_t *config = NULL;
    ucs_status_t code = ucp_config_read(NULL, NULL, &config);

    if (code != UCS_OK)
        return code;
    code = ucp_init(&params, config, out);
    ucp_config_release(config);
    return code;
}

static ucs_status_t start(banyan_port *port)
{
    ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucs_status_t code = make_context(&port->context);

    if (code == UCS_OK)
        code = ucp_worker_create(port->context, &params, &port->worker);
    if (code == UCS_OK)
        code = ucp_worker_get_address(port->worker, &port->address, &port->address_bytes);
    return code;
}

static banyan_status open_port(int member, int member_count, banyan_port **out, char *why)
{
    banyan_port *port = calloc(1, sizeof *port);
    ucs_status_t code;

    if (!port)
        return fail_memory(why);
    port->member = member;
    port->member_count = member_count;
    port->ways = calloc((size_t)member_count, sizeof *port->ways);
    port->addresses = calloc((size_t)member_count, sizeof *port->addresses);
    if (!port->ways || !port->addresses) {
        free_port(port);
        return fail_memory(why);
    }
    code = start(port);
    if (code != UCS_OK) {
        free_port(port);
        return fail(why, BANYAN_SYSTEM_ERROR, "UCX does not start", code);
    }
    *out = port;
    return BANYAN_SUCCESS;
}

static const void *address_of(const banyan_port *port, size_t *bytes)
{
    *bytes = port->address_bytes;
    return port->address;
}

static banyan_status meet(banyan_port *port, const void *const *addresses, const size_t *bytes,
                          int timeout_ms, char *why)
{
    (void)timeout_ms; /* nothing is waited for */
    for (int i = 0; i < port->member_count; i++) {
        port->ways[i] = (way){.port = port, .member = i};
        if (!bytes[i] || i == port->member)
            continue;
        port->addresses[i] = malloc(bytes[i]);
        if (!port->addresses[i])
            return fail_memory(why);
        memcpy(port->addresses[i], addresses[i], bytes[i]);
    }
    return BANYAN_SUCCESS;
}

static void lose(way *w, ucs_status_t code)
{
    if (w->is_lost)
        return;
    w->is_lost = 1;
    w->why = code;
    w->port->lost_count++;
}

static void hear_error(void *context, ucp_ep_h ep, ucs_status_t code)
{
    (void)ep;
    lose(context, code);
}

static banyan_status connect_peer(banyan_port *port, int peer, char *why)
{
    way *w = &port->ways[peer];
    ucs_status_t code = UCS_ERR_UNREACHABLE;
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address = (const ucp_address_t *)port->addresses[peer],
                              .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                              .err_handler = {.cb = hear_error, .arg = w}};

    if (!port->addresses[peer]) {
        snprintf(why, BANYAN_MESSAGE_ENGINE_SENTENCE, "it is in no process");
        return BANYAN_PEER_LOST;
    }
    if (!port->has_no_errors)
        code = ucp_ep_create(port->worker, &params, &w->ep);
    if (code == UCS_ERR_UNREACHABLE) {
        params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
        code = ucp_ep_create(port->worker, &params, &w->ep);
        port->has_no_errors |= code == UCS_OK;
    }
    if (code != UCS_OK) { /* it may have gone on purpose: others know why */
        w->ep = NULL;
        lose(w, code);
    }
    return BANYAN_SUCCESS;
}

static ucp_tag_t tag_of(int sender, int tag)
{
    return (ucp_tag_t)(unsigned)sender << 32 | (ucp_tag_t)(unsigned)tag;
}

static void finish(banyan_port *port, banyan_ticket *ticket, size_t bytes)
{
    ticket->request = NULL;
    ticket->bytes = bytes;
    ticket->is_done = 1;
    port->done++;
}

/* A send's context is its way: the ticket knows nothing of it. */
typedef struct {
    banyan_ticket *ticket;
    way *w;
} sending;

static void hear_sent(void *request, ucs_status_t code, void *context)
{
    sending *s = context;

    s->w->port->sends--;
    if (code == UCS_OK)
        finish(s->w->port, s->ticket, 0);
    else
        lose(s->w, code);
    free(s);
    ucp_request_free(request);
}

static banyan_status send_message(banyan_port *port, int peer, int tag, const void *memory, size_t bytes,
                                  banyan_ticket *ticket, char *why)
{
    sending *s = malloc(sizeof *s);
    ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                  UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                  .cb = {.send = hear_sent},
                                  .user_data = s,
                                  .memory_type = UCS_MEMORY_TYPE_HOST};
    ucs_status_ptr_t request;

    if (!port->ways[peer].ep) {
        free(s);
        return fail(why, BANYAN_PEER_LOST, "a send failed", UCS_ERR_NOT_CONNECTED);
    }
    if (!s)
        return fail_memory(why);
    *s = (sending){ticket, &port->ways[peer]};
    request = ucp_tag_send_nbx(port->ways[peer].ep, memory, bytes, tag_of(port->member, tag), &params);
    if (UCS_PTR_IS_PTR(request)) {
        port->sends++;
        return BANYAN_SUCCESS;
    }
    free(s);
    if (UCS_PTR_IS_ERR(request))
        return fail(why, BANYAN_PEER_LOST, "a send failed", UCS_PTR_STATUS(request));
    finish(port, ticket, 0);
    return BANYAN_SUCCESS;
}

static void forget_receive(banyan_port *port, const banyan_ticket *ticket)
{
    for (int i = 0; i < port->receive_count; i++)
        if (port->receives[i] == ticket) {
            port->receives[i] = port->receives[--port->receive_count];
            return;
        }
}

typedef struct {
    banyan_ticket *ticket;
    way *w;
} receiving;

static void hear_received(void *request, ucs_status_t code, const ucp_tag_recv_info_t *info, void *context)
{
    receiving *r = context;

    forget_receive(r->w->port, r->ticket);
    if (code == UCS_OK)
        finish(r->w->port, r->ticket, info->length);
    else
        r->ticket->request = NULL; /* cancelled, or its peer is lost, which UCX tells otherwise */
    if (code == UCS_ERR_MESSAGE_TRUNCATED)
        lose(r->w, code);
    free(r);
    ucp_request_free(request);
}

static int note_receive(banyan_port *port, banyan_ticket *ticket)
{
    if (port->receive_count == port->receive_capacity) {
        int more = port->receive_capacity ? 2 * port->receive_capacity : 64;
        banyan_ticket **longer = realloc(port->receives, (size_t)more * sizeof *longer);

        if (!longer)
            return 0;
        port->receives = longer;
        port->receive_capacity = more;
    }
    port->receives[port->receive_count++] = ticket;
    return 1;
}

static banyan_status receive_message(banyan_port *port, int peer, int tag, void *memory, size_t bytes,
                                     banyan_ticket *ticket, char *why)
{
    receiving *r = malloc(sizeof *r);
    /* Always through the callback: UCX does not reliably tell the length of what is there at once. */
    ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                  UCP_OP_ATTR_FLAG_NO_IMM_CMPL |
                                                  UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                  .cb = {.recv = hear_received},
                                  .user_data = r,
                                  .memory_type = UCS_MEMORY_TYPE_HOST};
    ucs_status_ptr_t request;

    if (!r || !note_receive(port, ticket)) {
        free(r);
        return fail_memory(why);
    }
    *r = (receiving){ticket, &port->ways[peer]};
    request = ucp_tag_recv_nbx(port->worker, memory, bytes, tag_of(peer, tag), ~(ucp_tag_t)0, &params);
    if (UCS_PTR_IS_PTR(request)) {
        if (!ticket->is_done)
            ticket->request = request;
        return BANYAN_SUCCESS;
    }
    forget_receive(port, ticket);
    free(r);
    return fail(why, BANYAN_PEER_LOST, "a receive failed", UCS_PTR_STATUS(request));
}

static int progress(banyan_port *port, int *lost, char *why)
{
    int done;

    *lost = -1;
    while (!port->is_withdrawn && ucp_worker_progress(port->worker))
        continue;
    for (int i = 0; i < port->member_count && port->lost_count && *lost < 0; i++)
        if (port->ways[i].is_lost && !port->ways[i].is_told) {
            port->ways[i].is_told = 1;
            port->lost_count--;
            *lost = i;
            snprintf(why, BANYAN_MESSAGE_ENGINE_SENTENCE, "%s", ucs_status_string(port->ways[i].why));
        }
    done = port->done;
    port->done = 0;
    return done;
}

static int descriptor(banyan_port *port)
{
    int fd = -1;

    return ucp_worker_get_efd(port->worker, &fd) == UCS_OK ? fd : -1;
}

static int is_calm(banyan_port *port)
{
    return !port->done && !port->lost_count && ucp_worker_arm(port->worker) == UCS_OK;
}

/* UCX copies short messages and calls them sent; what a socket did not take at once stays in the copy until
 * the next progress. A flush ends at once if there is no such copy. One that does not may need the peer's
 * progress, and is not waited for. */
static int holds_sends(banyan_port *port)
{
    ucp_request_param_t params = {0};
    ucs_status_ptr_t request = ucp_worker_flush_nbx(port->worker, &params);

    if (!UCS_PTR_IS_PTR(request))
        return 0;
    ucp_request_free(request);
    return 1;
}

static void move_until(banyan_port *port, const int *is_busy, double until_s)
{
    while (*is_busy && now_s() < until_s)
        ucp_worker_progress(port->worker);
}

/* Ends the connections: in order, or at once where the other side may be gone. UCX ends at once only what was
 * made with error handling; other sends get a moment, and are never moved again. */
static void disconnect(banyan_port *port, int is_forced)
{
    double until_s = now_s() + PATIENCE_S;

    for (int i = 0; i < port->member_count; i++) {
        way *w = &port->ways[i];
        int force = (is_forced || w->is_lost) && !port->has_no_errors;
        ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                      .flags = force ? UCP_EP_CLOSE_FLAG_FORCE : 0};
        ucs_status_ptr_t request;

        if (!w->ep || (is_forced && !force))
            continue;
        request = ucp_ep_close_nbx(w->ep, &params);
        w->ep = NULL;
        while (UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS &&
               now_s() < until_s)
            ucp_worker_progress(port->worker);
        if (UCS_PTR_IS_PTR(request))
            ucp_request_free(request);
    }
    move_until(port, &port->sends, until_s);
}

static void withdraw(banyan_port *port)
{
    disconnect(port, 1);
    port->is_withdrawn = 1;
}

static int close_port(banyan_port *port, int is_clean)
{
    int left;

    if (!port->is_withdrawn)
        disconnect(port, !is_clean);
    for (int i = port->receive_count - 1; i >= 0; i--)
        if (i < port->receive_count && port->receives[i]->request)
            ucp_request_cancel(port->worker, port->receives[i]->request);
    if (!port->sends)
        move_until(port, &port->receive_count, now_s() + PATIENCE_S);
    left = port->receive_count + port->sends;
    free_port(port);
    return left > 0;
}

__attribute__((visibility("default"))) const banyan_message_engine banyan_engine_plugin = {
    .abi = BANYAN_MESSAGE_ENGINE_ABI,
    .name = "ucx",
    .open = open_port,
    .address = address_of,
    .meet = meet,
    .connect = connect_peer,
    .send = send_message,
    .receive = receive_message,
    .progress = progress,
    .descriptor = descriptor,
    .is_calm = is_calm,
    .holds_sends = holds_sends,
    .withdraw = withdraw,
    .close = close_port,
};
