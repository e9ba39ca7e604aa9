/* SPDX-License-Identifier: Apache-2.0 */
/* transport/handshake.c: the handshake as a machine that is fed bytes, so that it runs on any socket and in a
 * fuzzer. */
#include "transport/handshake.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/bytes.h"

/* The last byte changes with the handshake itself. */
static const unsigned char magic[8] = {'b', 'a', 'n', 'y', 'a', 'n', 0, 2};

enum {
    GREETING = sizeof magic + BANYAN_AUTH_BYTES,
    ANSWER = sizeof magic + 2 * BANYAN_AUTH_BYTES,
    PROOF = BANYAN_AUTH_BYTES,
    VERDICT = 8,
    CONFIRMATION = 4
};

/* Connector: 0 awaits the greeting, 1 the proof, 2 the verdict. Acceptor: 0 awaits the answer, 1 the hello,
 * and, after its own verdict, 2 the confirmation. */
enum { VERDICT_IS_DUE = 8, COMPLETE = 9 };

static void put_out(banyan_handshake *h, const void *bytes, size_t count)
{
    memcpy(h->out + h->out_end, bytes, count);
    h->out_end += count;
}

static void expect(banyan_handshake *h, int step, size_t bytes)
{
    h->step = step;
    h->in_count = 0;
    h->in_wanted = bytes;
}

banyan_status banyan_handshake_accept(banyan_handshake *h, const banyan_secret *secret, banyan_error *err)
{
    *h = (banyan_handshake){.is_acceptor = 1, .secret = *secret};
    put_out(h, magic, sizeof magic);
    expect(h, 0, ANSWER);
    banyan_status status = banyan_auth_random(h->own_nonce, sizeof h->own_nonce, err);
    put_out(h, h->own_nonce, sizeof h->own_nonce);
    return status;
}

banyan_status banyan_handshake_connect(banyan_handshake *h, const banyan_secret *secret,
                                       const banyan_hello *hello, banyan_error *err)
{
    *h = (banyan_handshake){.secret = *secret, .hello = *hello};
    expect(h, 0, GREETING);
    return banyan_auth_random(h->own_nonce, sizeof h->own_nonce, err);
}

static void answer(banyan_handshake *h)
{
    unsigned char proof[BANYAN_AUTH_BYTES];

    memcpy(h->other_nonce, h->in + sizeof magic, BANYAN_AUTH_BYTES);
    banyan_auth_prove(&h->secret, "connect", h->other_nonce, h->own_nonce, proof);
    h->out_begin = h->out_end = 0;
    put_out(h, magic, sizeof magic);
    put_out(h, h->own_nonce, sizeof h->own_nonce);
    put_out(h, proof, sizeof proof);
    expect(h, 1, PROOF);
}

static void say_hello(banyan_handshake *h)
{
    unsigned char hello[BANYAN_HELLO_BYTES];
    const int fields[] = {h->hello.protocol, h->hello.purpose, h->hello.from,
                          h->hello.size,     h->hello.index,   h->hello.count};

    for (int i = 0; i < 6; i++)
        banyan_put32(hello + 4 * i, (uint32_t)fields[i]);
    h->out_begin = h->out_end = 0;
    put_out(h, hello, sizeof hello);
    expect(h, 2, VERDICT);
}

static void confirm(banyan_handshake *h)
{
    unsigned char word[CONFIRMATION];

    banyan_put32(word, (uint32_t)h->hello.protocol);
    h->out_begin = h->out_end = 0;
    put_out(h, word, sizeof word);
}

static banyan_status take_connector(banyan_handshake *h, banyan_error *err)
{
    unsigned char proof[BANYAN_AUTH_BYTES];

    if (h->step == 0) {
        answer(h);
    } else if (h->step == 1) {
        banyan_auth_prove(&h->secret, "accept", h->other_nonce, h->own_nonce, proof);
        if (!banyan_auth_is_equal(proof, h->in, sizeof proof))
            return banyan_fail(err, BANYAN_MISMATCH, "it does not hold the same secret");
        say_hello(h);
    } else {
        h->other_protocol = (int)banyan_get32(h->in);
        h->verdict = (banyan_status)banyan_get32(h->in + 4);
        expect(h, COMPLETE, 0);
        if (h->other_protocol != h->hello.protocol)
            return banyan_fail(err, BANYAN_VERSION_MISMATCH, "it speaks protocol %d, this process speaks %d",
                               h->other_protocol, h->hello.protocol);
        if (h->verdict)
            return banyan_fail(err, BANYAN_REMOTE_ERROR, "it refuses the connection: %s",
                               banyan_status_string(h->verdict));
        confirm(h);
    }
    return BANYAN_SUCCESS;
}

/* Zeros prove nothing, so nobody learns from them; a connector that holds another secret is told at once. */
static void refuse_proof(banyan_handshake *h)
{
    static const unsigned char zeros[PROOF];

    h->out_begin = h->out_end = 0;
    put_out(h, zeros, sizeof zeros);
}

static banyan_status take_acceptor(banyan_handshake *h, banyan_error *err)
{
    unsigned char proof[BANYAN_AUTH_BYTES];

    if (h->step == 0) {
        memcpy(h->other_nonce, h->in + sizeof magic, BANYAN_AUTH_BYTES);
        banyan_auth_prove(&h->secret, "connect", h->own_nonce, h->other_nonce, proof);
        if (!banyan_auth_is_equal(proof, h->in + sizeof magic + BANYAN_AUTH_BYTES, sizeof proof)) {
            refuse_proof(h);
            return banyan_fail(err, BANYAN_MISMATCH, "it does not hold the same secret");
        }
        banyan_auth_prove(&h->secret, "accept", h->own_nonce, h->other_nonce, proof);
        h->out_begin = h->out_end = 0;
        put_out(h, proof, sizeof proof);
        expect(h, 1, BANYAN_HELLO_BYTES);
    } else if (h->step == 1) {
        h->hello = (banyan_hello){(int)banyan_get32(h->in),      (int)banyan_get32(h->in + 4),
                                  (int)banyan_get32(h->in + 8),  (int)banyan_get32(h->in + 12),
                                  (int)banyan_get32(h->in + 16), (int)banyan_get32(h->in + 20)};
        expect(h, VERDICT_IS_DUE, 0);
    } else {
        if ((int)banyan_get32(h->in) != h->hello.protocol)
            return banyan_fail(err, BANYAN_REMOTE_ERROR, "it confirms another protocol than it announced");
        expect(h, COMPLETE, 0);
    }
    return BANYAN_SUCCESS;
}

/* Both sides begin with the magic: what is not ours is known by its first bytes. */
static banyan_status check_magic(const banyan_handshake *h, banyan_error *err)
{
    size_t count = h->in_count < sizeof magic ? h->in_count : sizeof magic;

    if (h->step != 0 || !memcmp(h->in, magic, count))
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_REMOTE_ERROR,
                       "what %s there is not Banyan, or a version that shakes hands differently",
                       h->is_acceptor ? "connects from" : "listens");
}

banyan_status banyan_handshake_take(banyan_handshake *h, const void *bytes, size_t count, banyan_error *err)
{
    banyan_status status;

    memcpy(h->in + h->in_count, bytes, count);
    h->in_count += count;
    status = check_magic(h, err);
    if (status || h->in_count < h->in_wanted || h->step >= VERDICT_IS_DUE)
        return status;
    return h->is_acceptor ? take_acceptor(h, err) : take_connector(h, err);
}

int banyan_handshake_awaits_verdict(const banyan_handshake *h)
{
    return h->step == VERDICT_IS_DUE;
}

int banyan_handshake_is_proven(const banyan_handshake *h)
{
    return h->step > 0;
}

int banyan_handshake_is_complete(const banyan_handshake *h)
{
    return h->step == COMPLETE;
}

banyan_handshake_reach banyan_handshake_reached(const banyan_handshake *h)
{
    return h->step == 0 ? BANYAN_REACHED_PORT : h->step == 1 ? BANYAN_REACHED_BANYAN : BANYAN_REACHED_PEER;
}

void banyan_handshake_give_verdict(banyan_handshake *h, banyan_status verdict)
{
    unsigned char words[VERDICT];

    banyan_put32(words, BANYAN_PROTOCOL);
    banyan_put32(words + 4, (uint32_t)verdict);
    h->out_begin = h->out_end = 0;
    put_out(h, words, sizeof words);
    expect(h, verdict ? COMPLETE : 2, verdict ? 0 : CONFIRMATION);
}

int banyan_handshake_wants_write(const banyan_handshake *h)
{
    return h->out_begin < h->out_end;
}

/* 1: all is out; 0: the socket is full. */
static int send_out(banyan_handshake *h, int socket, banyan_status *status, const char *other,
                    banyan_error *err)
{
    while (h->out_begin < h->out_end) {
        ssize_t count = send(socket, h->out + h->out_begin, h->out_end - h->out_begin, MSG_NOSIGNAL);

        if (count > 0) {
            h->out_begin += (size_t)count;
        } else if (errno == EAGAIN || errno == EINTR) {
            return 0;
        } else {
            *status = banyan_fail(err, BANYAN_PEER_LOST, "the connection to %s was lost: %s", other,
                                  strerror(errno));
            return 0;
        }
    }
    return 1;
}

banyan_status banyan_handshake_step(banyan_handshake *h, int socket, const char *other, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (;;) {
        unsigned char bytes[BANYAN_HANDSHAKE_LARGEST];
        ssize_t count;

        if (!send_out(h, socket, &status, other, err))
            return status ? status : BANYAN_IN_PROGRESS;
        if (h->step >= VERDICT_IS_DUE)
            return BANYAN_SUCCESS;
        count = recv(socket, bytes, h->in_wanted - h->in_count, 0);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
            return banyan_fail(err, BANYAN_PEER_LOST, "%s ended the connection during the handshake%s%s",
                               other, count ? ": " : "", count ? strerror(errno) : "");
        if (count < 0)
            return BANYAN_IN_PROGRESS;
        status = banyan_handshake_take(h, bytes, (size_t)count, err);
        if (status) {
            banyan_status ignored = BANYAN_SUCCESS;

            send_out(h, socket, &ignored, other, NULL); /* a refusal */
            if (err)
                banyan_error_prefix(err, other);
            return status;
        }
    }
}
