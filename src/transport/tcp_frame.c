/* SPDX-License-Identifier: Apache-2.0 */
/* transport/tcp_frame.c: frames onto a link and off it.
 *
 * Out: a few frames are made ready (headers here, bytes where the user has them) and leave in one system
 * call. In: the body of a frame is read straight into its stream's ring, and whatever follows it into a small
 * buffer where the next headers are found. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "core/clock.h"
#include "transport/bytes.h"
#include "transport/tcp_internal.h"

#define READS 8                           /* system calls for one link before the others have their turn */
#define PATIENCE_BYTES ((size_t)16 << 10) /* the most that is worth waiting for */
#define PATIENCE_SHARE 256                /* of what has come, that much may wait together */
#define PAUSE_NS 5000000                  /* after such a pause a new run begins */

static banyan_tcp_frame *add_frame(banyan_tcp_link *link, int type, int stream, size_t bytes, uint64_t value)
{
    int place = (link->first_frame + link->frame_count++) % BANYAN_TCP_FRAMES;
    banyan_tcp_frame *frame = &link->frames[place];

    *frame = (banyan_tcp_frame){.bytes = bytes, .stream = -1};
    link->framed_bytes += BANYAN_TCP_HEADER + bytes;
    banyan_put32(frame->header, (uint32_t)type << 24 | (uint32_t)stream);
    banyan_put32(frame->header + 4, (uint32_t)bytes);
    banyan_put64(frame->header + 8, value);
    return frame;
}

static void place_credits(banyan_tcp_link *link)
{
    banyan_tcp_peer *peer = link->peer;

    for (int i = 0; i < peer->in_count && peer->credits_due && link->frame_count < BANYAN_TCP_FRAMES; i++) {
        banyan_tcp_in *in = peer->in[i];

        if (!in->is_credit_due)
            continue;
        if (in->granted < in->consumed + in->limit)
            in->granted = in->consumed + in->limit;
        in->is_credit_due = 0;
        peer->credits_due--;
        add_frame(link, BANYAN_TCP_CREDIT, i, 0, in->granted);
    }
}

static void place_losses(banyan_tcp_link *link)
{
    banyan_tcp_peer *peer = link->peer;

    for (int i = 0; i < peer->link_count && link->frame_count < BANYAN_TCP_FRAMES; i++)
        if (peer->links[i].is_lost_due) {
            add_frame(link, BANYAN_TCP_LOST, i, 0, peer->links[i].come_bytes);
            peer->links[i].is_lost_due = 0;
        }
}

static int is_heir(const banyan_tcp_link *link)
{
    return link->peer->heir == link->index && !link->peer->awaited;
}

static void place_again(banyan_tcp_link *link)
{
    banyan_tcp_peer *peer = link->peer;

    while (peer->again && link->frame_count < BANYAN_TCP_FRAMES) {
        banyan_tcp_kept *kept = peer->again;

        peer->again = kept->next;
        banyan_tcp_append_kept(link, kept);
        add_frame(link, BANYAN_TCP_DATA, kept->stream, kept->bytes, kept->at)->memory = kept->data;
    }
}

/* Returns whether there was something. */
static int place_stream(banyan_tcp_link *link, int stream, int lane, banyan_error *err, banyan_status *status)
{
    banyan_tcp_out *out = link->peer->out[stream];
    uint64_t *placed = &out->placed[lane];
    const char *memory;
    size_t bytes = banyan_tcp_ready(out, lane, &memory);
    banyan_tcp_frame *frame;

    if (!bytes)
        return 0;
    if (link->peer->is_kept) {
        banyan_tcp_kept *kept = banyan_tcp_keep(link, stream, *placed, memory, bytes);

        if (!kept) {
            *status = banyan_fail_memory(err);
            return 0;
        }
        memory = kept->data;
    }
    frame = add_frame(link, BANYAN_TCP_DATA, stream, bytes, *placed);
    frame->memory = memory;
    frame->stream = stream;
    frame->lane = lane;
    *placed = banyan_tcp_after(out, lane, *placed, bytes);
    return 1;
}

/* Of the next stream that the link, or one whose heir it is, may send something of. */
static int place_data(banyan_tcp_link *link, banyan_error *err, banyan_status *status)
{
    const banyan_tcp_peer *peer = link->peer;

    for (int tried = 0; tried < peer->out_count; tried++) {
        int stream = (link->next_stream + tried) % peer->out_count;

        for (int lane = 0; lane < peer->link_count && !*status; lane++)
            if ((lane == link->index || (peer->links[lane].is_inherited && is_heir(link))) &&
                place_stream(link, stream, lane, err, status)) {
                link->next_stream = (stream + 1) % peer->out_count;
                return 1;
            }
    }
    return 0;
}

/* They travel over one link, so that they stay in order; what comes out of order when that one is lost does
 * no harm. */
static int carries_credits(const banyan_tcp_link *link)
{
    for (int i = 0; i < link->index; i++)
        if (link->peer->links[i].state == BANYAN_LINK_OPEN)
            return 0;
    return 1;
}

/* Credits first: somebody waits for them. */
banyan_status banyan_tcp_place_frames(banyan_tcp_link *link, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (link->peer->credits_due && carries_credits(link))
        place_credits(link);
    place_losses(link);
    if (is_heir(link))
        place_again(link);
    while (link->frame_count < BANYAN_TCP_FRAMES && place_data(link, err, &status))
        continue;
    return status;
}

static void finish_frame(banyan_tcp_link *link, const banyan_tcp_frame *frame)
{
    link->first_frame = (link->first_frame + 1) % BANYAN_TCP_FRAMES;
    link->frame_count--;
    if (frame->stream >= 0)
        banyan_tcp_retire(link->peer->out[frame->stream], link->peer->link_count);
}

/* That much of the frame has gone to the kernel: what of it is body is sent. */
static void note_written(banyan_tcp_link *link, banyan_tcp_frame *frame, size_t count)
{
    size_t before = frame->done > BANYAN_TCP_HEADER ? frame->done - BANYAN_TCP_HEADER : 0, after;

    frame->done += count;
    after = frame->done > BANYAN_TCP_HEADER ? frame->done - BANYAN_TCP_HEADER : 0;
    if (frame->stream >= 0 && after > before) {
        banyan_tcp_out *out = link->peer->out[frame->stream];
        uint64_t *written = &out->written[frame->lane];

        *written = banyan_tcp_after(out, frame->lane, *written, after - before);
    }
    link->has_carried |= after > before;
}

static int list_parts(const banyan_tcp_link *link, struct iovec *parts, size_t *total)
{
    int count = 0;

    *total = 0;
    for (int i = 0; i < link->frame_count; i++) {
        const banyan_tcp_frame *f = &link->frames[(link->first_frame + i) % BANYAN_TCP_FRAMES];
        size_t of_body = f->done > BANYAN_TCP_HEADER ? f->done - BANYAN_TCP_HEADER : 0;

        if (f->done < BANYAN_TCP_HEADER)
            parts[count++] =
                (struct iovec){(void *)(uintptr_t)(f->header + f->done), BANYAN_TCP_HEADER - f->done};
        if (f->bytes)
            parts[count++] = (struct iovec){(void *)(uintptr_t)(f->memory + of_body), f->bytes - of_body};
        *total += BANYAN_TCP_HEADER + f->bytes - f->done;
    }
    return count;
}

static void account_written(banyan_tcp_link *link, size_t count, int *has_changed)
{
    while (count) {
        banyan_tcp_frame *f = &link->frames[link->first_frame];
        size_t left = BANYAN_TCP_HEADER + f->bytes - f->done;
        size_t part = count < left ? count : left;

        note_written(link, f, part);
        *has_changed |= f->stream >= 0;
        if (part < left)
            return;
        count -= part;
        finish_frame(link, f);
    }
}

banyan_status banyan_tcp_write(banyan_tcp_link *link, int *has_changed, banyan_error *err)
{
    struct iovec parts[2 * BANYAN_TCP_FRAMES];

    for (;;) {
        struct msghdr message = {.msg_iov = parts};
        ssize_t count;
        size_t total;

        banyan_status status = banyan_tcp_place_frames(link, err);

        if (status || !link->frame_count)
            return status;
        message.msg_iovlen = (size_t)list_parts(link, parts, &total);
        count = sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            link->sent_bytes += (uint64_t)count;
            account_written(link, (size_t)count, has_changed);
        }
        if ((count < 0 && errno == EAGAIN) || (count > 0 && (size_t)count < total)) {
            link->is_blocked = 1;
            return BANYAN_SUCCESS;
        }
        if (count < 0 && errno != EINTR)
            return banyan_fail(err, BANYAN_PEER_LOST, "%s", strerror(errno));
    }
}

/* The frame's place in the ring, in at most two parts. */
static int ring_parts(const banyan_tcp_link *link, struct iovec *parts)
{
    const banyan_tcp_in *in = link->peer->in[link->in_stream];
    size_t at = (size_t)(link->in_at % in->window);
    size_t first = in->window - at < link->in_left ? in->window - at : link->in_left;

    parts[0] = (struct iovec){in->ring + at, first};
    parts[1] = (struct iovec){in->ring, link->in_left - first};
    return first < link->in_left ? 2 : 1;
}

/* Bytes of the frame's body are in the ring. */
static void account_arrived(banyan_tcp_link *link, size_t count)
{
    banyan_tcp_arrive(link->peer->in[link->in_stream], link->in_at, count);
    link->in_at += count;
    link->in_left -= count;
}

static banyan_status begin_data(banyan_tcp_link *link, uint32_t stream, uint32_t bytes, uint64_t at,
                                banyan_error *err)
{
    banyan_tcp_peer *peer = link->peer;

    if (stream >= (uint32_t)peer->in_count)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "data for stream %u, which nobody asked for", stream);
    if (!banyan_tcp_claim(peer->in[stream], link->index, at, bytes))
        return banyan_fail(err, BANYAN_REMOTE_ERROR,
                           "%u bytes for stream %u at %llu, out of order or beyond what was granted", bytes,
                           stream, (unsigned long long)at);
    link->in_stream = (int)stream;
    link->in_left = bytes;
    link->in_at = at;
    return BANYAN_SUCCESS;
}

static banyan_status take_credit(banyan_tcp_link *link, uint32_t stream, uint64_t limit, banyan_error *err)
{
    banyan_tcp_peer *peer = link->peer;
    banyan_status status;

    if (stream >= BANYAN_TRANSPORT_MAX_STREAMS)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "credit for stream %u, which cannot be", stream);
    status = banyan_tcp_widen_out(peer, (int)stream + 1, err);
    if (status)
        return status;
    if (limit > peer->out[stream]->limit) /* else it is older than what came over another link */
        peer->out[stream]->limit = limit;
    return BANYAN_SUCCESS;
}

/* What it means is done by whoever has the endpoint (banyan_tcp_hear_lost). */
static banyan_status take_loss(banyan_tcp_link *link, uint32_t index, uint64_t come, banyan_error *err)
{
    banyan_tcp_peer *peer = link->peer;
    banyan_tcp_link *lost = index < (uint32_t)peer->link_count ? &peer->links[index] : NULL;

    if (!lost || lost == link || come > lost->sent_bytes)
        return banyan_fail(err, BANYAN_REMOTE_ERROR,
                           "the loss of connection %u after %llu bytes, which cannot be", index,
                           (unsigned long long)come);
    if (lost->is_heard_lost)
        return BANYAN_SUCCESS;
    lost->is_heard_lost = peer->has_news = 1;
    lost->peer_has = come;
    return BANYAN_SUCCESS;
}

static banyan_status take_header(banyan_tcp_link *link, const unsigned char *header, banyan_error *err)
{
    uint32_t word = banyan_get32(header), bytes = banyan_get32(header + 4);
    uint32_t type = word >> 24, stream = word & 0xffffffu;

    if (type == BANYAN_TCP_DATA)
        return begin_data(link, stream, bytes, banyan_get64(header + 8), err);
    if (type == BANYAN_TCP_CREDIT && !bytes)
        return take_credit(link, stream, banyan_get64(header + 8), err);
    if (type == BANYAN_TCP_LOST && !bytes)
        return take_loss(link, stream, banyan_get64(header + 8), err);
    if (type == BANYAN_TCP_BYE && !bytes) {
        link->heard_bye = 1;
        return BANYAN_SUCCESS;
    }
    return banyan_fail(err, BANYAN_REMOTE_ERROR, "a frame of type %u with %u bytes, which is none of ours",
                       type, bytes);
}

static void copy_to_ring(banyan_tcp_link *link, size_t count)
{
    struct iovec parts[2];
    size_t first;

    ring_parts(link, parts);
    first = count < parts[0].iov_len ? count : parts[0].iov_len;
    memcpy(parts[0].iov_base, link->in + link->in_begin, first);
    memcpy(parts[1].iov_base, link->in + link->in_begin + first, count - first);
    link->in_begin += count;
    account_arrived(link, count);
}

banyan_status banyan_tcp_parse(banyan_tcp_link *link, int *has_changed, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    while (!status && link->in_begin < link->in_end) {
        size_t there = link->in_end - link->in_begin;

        if (link->in_left) {
            copy_to_ring(link, there < link->in_left ? there : link->in_left);
            *has_changed = 1;
        } else if (there < BANYAN_TCP_HEADER) {
            break;
        } else {
            status = take_header(link, link->in + link->in_begin, err);
            link->in_begin += BANYAN_TCP_HEADER;
            *has_changed = 1;
        }
    }
    memmove(link->in, link->in + link->in_begin, link->in_end - link->in_begin);
    link->in_end -= link->in_begin;
    link->in_begin = 0;
    return status;
}

static banyan_status distribute(banyan_tcp_link *link, size_t count, int *has_changed, banyan_error *err)
{
    size_t of_body = count < link->in_left ? count : link->in_left;

    if (of_body) {
        account_arrived(link, of_body);
        *has_changed = 1;
    }
    link->in_end += count - of_body;
    return banyan_tcp_parse(link, has_changed, err);
}

/* Whoever sleeps need not wake for every packet of a long run: the kernel is told how much of the frame to
 * gather first. A run that has just begun, and the head of a frame, are told of at once. */
static void choose_patience(banyan_tcp_link *link)
{
    size_t worth = (size_t)(link->run_bytes / PATIENCE_SHARE);
    int patience;

    worth = worth < PATIENCE_BYTES ? worth : PATIENCE_BYTES;
    patience = (int)(link->in_left < worth ? link->in_left : worth);
    patience = patience > 0 ? patience : 1;
    if (patience != link->patience &&
        setsockopt(link->fd, SOL_SOCKET, SO_RCVLOWAT, &patience, sizeof patience) == 0)
        link->patience = patience;
}

static void note_run(banyan_tcp_link *link, size_t bytes)
{
    int64_t now_ns = banyan_clock_ns();

    link->run_bytes = (now_ns - link->read_ns > PAUSE_NS ? 0 : link->run_bytes) + bytes;
    link->read_ns = now_ns;
}

banyan_status banyan_tcp_read(banyan_tcp_link *link, int *has_changed, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    size_t total = 0;

    for (int i = 0; i < READS && !status; i++) {
        struct iovec parts[3];
        int used = link->in_left ? ring_parts(link, parts) : 0;
        size_t wanted = link->in_left + sizeof link->in - link->in_end;
        ssize_t count;

        parts[used] = (struct iovec){link->in + link->in_end, sizeof link->in - link->in_end};
        count = readv(link->fd, parts, used + 1);
        if (count == 0)
            return banyan_fail(err, BANYAN_PEER_LOST, "the connection was closed");
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            return banyan_fail(err, BANYAN_PEER_LOST, "%s", strerror(errno));
        if (count < 0)
            break;
        total += (size_t)count;
        link->come_bytes += (uint64_t)count;
        link->has_carried = 1;
        status = distribute(link, (size_t)count, has_changed, err);
        if ((size_t)count < wanted)
            break;
    }
    note_run(link, total);
    choose_patience(link);
    return status;
}
