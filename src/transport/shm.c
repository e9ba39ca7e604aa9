/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm.c: members are processes of one host; the receiver reads the sender's memory where it can.
 *
 *   what is offered          how the receiver gets it                                copies
 *   shared memory            it has it mapped: added where it lies                   none
 *   a long piece             process_vm_readv, into the cache or where it belongs    one
 *   a short piece            slots in shared memory; sent at once                    two, in the cache
 *   where reading another process is forbidden, or slower: everything through slots  two
 *
 * Shared memory is read in place where all of the group are on this host. Where some are not, who waits for a
 * reader before it may go on also keeps the network waiting: 16 MiB between 2+3 ranks took 5 % longer than
 * through slots.
 *
 * Taking memory back (withdraw): what is read across processes is looked at again afterwards and thrown away
 * if the sender has withdrawn meanwhile. For regions both raise a flag and then look at the other's, as in
 * transport/memory.c. */
#include "transport/shm.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/shm_endpoint.h"
#include "transport/yields.h"

#define DEFAULT_SLOT_BYTES ((size_t)256 << 10) /* two halves */
#define MAX_SLOT_BYTES ((size_t)1 << 30)
#define SPINS_ALONE 2000 /* every member has a core: a wake-up costs more than a hundred looks */
#define SPINS_CROWDED 20
#define YIELDS_CROWDED 32

static shm_endpoint *own(banyan_endpoint *base)
{
    return (shm_endpoint *)base;
}

static void close_peer(shm_peer *peer)
{
    for (int way = 0; peer->chunks && way < SHM_WAYS; way++)
        for (int i = 0; i < SHM_CHUNKS; i++) {
            banyan_shm_unmap(&peer->chunks->own[way][i]);
            banyan_shm_unmap(&peer->chunks->theirs[way][i]);
        }
    banyan_free(peer->chunks);
    banyan_shm_peer_regions_fini(peer);
    banyan_shm_unmap(&peer->workspace);
    banyan_shm_segment_fini(&peer->segment);
    if (peer->pidfd >= 0)
        close(peer->pidfd);
    if (atomic_load(&peer->knock_fd))
        close(atomic_load(&peer->knock_fd) - 1);
    banyan_free(peer->to);
    banyan_free(peer->from);
}

static void close_endpoint(banyan_endpoint *base)
{
    shm_endpoint *e = own(base);

    if (!e)
        return;
    if (e->own.header)
        atomic_store(&e->own.header->is_closed, 1);
    for (int i = 0; e->peers && i < base->member_count; i++)
        close_peer(&e->peers[i]);
    banyan_shm_segment_fini(&e->own);
    for (int i = 0; i < 2; i++)
        if (e->knock[i] >= 0)
            close(e->knock[i]);
    banyan_free(e->peers);
    banyan_free(e->look);
    banyan_free(e->workspaces);
    banyan_free(e);
}

/* Everything that belongs to this member alone. */
static banyan_status create(const banyan_opening *opening, shm_endpoint **out, shm_name *name,
                            banyan_error *err)
{
    const banyan_shm_meeting *meeting = opening->meeting;
    shm_endpoint *e = banyan_alloc(1, sizeof *e);
    banyan_status status;

    if (!e)
        return banyan_fail_memory(err);
    e->base = (banyan_endpoint){&banyan_transport_shm, opening->member, opening->member_count};
    e->knock[0] = e->knock[1] = -1;
    e->own.fd = -1;
    e->way = meeting->way;
    e->peers = banyan_alloc((size_t)opening->member_count, sizeof *e->peers);
    e->look = banyan_alloc(SHM_LOOK_BYTES, 1);
    for (int i = 0; e->peers && i < opening->member_count; i++) {
        e->peers[i].pidfd = -1;
        e->peers[i].rank = meeting->ranks ? meeting->ranks[i] : i;
    }
    status = e->peers && e->look ? BANYAN_SUCCESS : banyan_fail_memory(err);
    if (!status)
        status = banyan_shm_segment_create(opening->member, opening->member_count,
                                           meeting->slot_bytes ? meeting->slot_bytes : DEFAULT_SLOT_BYTES,
                                           &e->own, name, err);
    if (status) {
        close_endpoint(&e->base);
        return status;
    }
    e->nonce = e->own.header->nonce;
    e->own.header->probe_address = (uint64_t)(uintptr_t)&e->nonce;
    e->own.header->look_address = (uint64_t)(uintptr_t)e->look;
    *out = e;
    return BANYAN_SUCCESS;
}

/* Before anybody relies on it: a kernel that is older than Linux 5.3 does not know them. */
static banyan_status try_pidfd(banyan_error *err)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    if (fd < 0)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "pidfd_open: %s", strerror(errno));
    close(fd);
    return BANYAN_SUCCESS;
}

/* Workspaces are for hosts whose ranks fit around a workspaces; elsewhere their address space would cost
 * every process a page of page tables per rank. */
static banyan_status attach_peer(shm_endpoint *e, int member, const shm_name *name, int has_workspaces,
                                 banyan_error *err)
{
    shm_peer *peer = &e->peers[member];
    banyan_status status = banyan_shm_segment_attach(name, member, e->base.member_count, &peer->segment, err);
    char text[64];

    if (!status && has_workspaces)
        status = banyan_shm_workspace_map(&peer->segment, &peer->workspace,
                                          err); /* while it is there for certain */
    if (status) {
        peer->segment.pid = name->pid;
        banyan_error_prefix(err, banyan_shm_member_name(e, member, text, sizeof text));
    }
    return status;
}

static int is_local(const shm_name *name, const shm_name *mine)
{
    return name->magic == mine->magic && name->host == mine->host && !name->is_broken;
}

/* Launchers bind ranks to cores, so one's own say nothing of how many there are. */
int banyan_shm_count_cores(const shm_name *names, int count, const shm_name *mine)
{
    cpu_set_t all, one;

    CPU_ZERO(&all);
    for (int i = 0; i < count; i++)
        if (is_local(&names[i], mine) && !sched_getaffinity(names[i].pid, sizeof one, &one))
            CPU_OR(&all, &all, &one);
    return CPU_COUNT(&all);
}

/* Maps the header of everybody on this host. */
static banyan_status attach_all(shm_endpoint *e, const shm_name *names, banyan_error *err)
{
    const shm_name *mine = &names[e->base.member];
    banyan_status status;
    int local = 0, ranks = 0, cores = banyan_shm_count_cores(names, e->base.member_count, mine);

    for (int i = 0; i < e->base.member_count; i++) {
        local += is_local(&names[i], mine);
        ranks += is_local(&names[i], mine) && e->peers[i].rank >= 0;
    }
    e->first_member = -1;
    e->is_whole = 1;
    status = try_pidfd(err);
    if (!status)
        status = banyan_shm_workspace_map(&e->own, &e->peers[e->base.member].workspace, err);
    for (int i = 0; i < e->base.member_count && !status; i++) {
        if (!is_local(&names[i], mine)) {
            e->is_whole &= names[i].magic == 0; /* in no process */
            continue;
        }
        if (e->first_member < 0)
            e->first_member = i;
        if (i != e->base.member)
            status = attach_peer(e, i, &names[i], ranks <= BANYAN_WORKSPACE_MAX_MEMBERS, err);
    }
    e->spins = local <= cores ? SPINS_ALONE : SPINS_CROWDED;
    e->team_yields = local <= cores ? 0 : YIELDS_CROWDED;
    e->wait_yields = banyan_transport_yields();
    return status;
}

/* Everybody hears how everybody fared. */
static banyan_status agree(const banyan_opening *opening, banyan_status status, banyan_error *err)
{
    const banyan_shm_meeting *meeting = opening->meeting;
    int32_t mine = (int32_t)status;
    int32_t *all = banyan_alloc((size_t)opening->member_count, sizeof *all);
    banyan_error other;
    banyan_status met;

    if (!all)
        return banyan_fail_memory(err);
    met = meeting->exchange.allgather(meeting->exchange.context, &mine, sizeof mine, all,
                                      meeting->deadline_ns, status ? &other : err);
    for (int i = 0; i < opening->member_count && !status && !met; i++)
        if (all[i] && meeting->ranks && meeting->ranks[i] < 0)
            met = banyan_fail(err, BANYAN_REMOTE_ERROR, "relay node %d cannot open its shared memory", i);
        else if (all[i])
            met = banyan_fail(err, BANYAN_REMOTE_ERROR, "rank %d cannot open its shared memory",
                              meeting->ranks ? meeting->ranks[i] : i);
    banyan_free(all);
    return status ? status : met;
}

static banyan_status check_opening(const banyan_opening *opening, banyan_error *err)
{
    const banyan_shm_meeting *meeting = opening->meeting;

    if (opening->member_count < 1 || opening->member_count > BANYAN_TRANSPORT_MAX_MEMBERS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a group has 1 to %d members, not %d",
                           BANYAN_TRANSPORT_MAX_MEMBERS, opening->member_count);
    if (!meeting || opening->member < 0 || opening->member >= opening->member_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "member %d of %d does not belong to this group",
                           opening->member, opening->member_count);
    if (meeting->slot_bytes && (meeting->slot_bytes < 64 || meeting->slot_bytes > MAX_SLOT_BYTES))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "slots have 64 bytes to 1 GiB, not %zu",
                           meeting->slot_bytes);
    return BANYAN_SUCCESS;
}

static banyan_status open_endpoint(const banyan_opening *opening, banyan_endpoint **out, banyan_error *err)
{
    const banyan_shm_meeting *meeting = opening->meeting;
    shm_endpoint *e = NULL;
    shm_name mine = {.magic = 0}, *names;
    banyan_status status = check_opening(opening, err), met;

    *out = NULL;
    if (status)
        return status;
    names = banyan_alloc((size_t)opening->member_count, sizeof *names);
    if (!names)
        return banyan_fail_memory(err);
    status = create(opening, &e, &mine, err);
    mine.is_broken = status != BANYAN_SUCCESS;
    met = meeting->exchange.allgather(meeting->exchange.context, &mine, sizeof mine, names,
                                      meeting->deadline_ns, status ? NULL : err);
    if (!status && !met)
        status = attach_all(e, names, err);
    banyan_free(names);
    if (!met)
        status = agree(opening, status, err);
    if (!status)
        status = met;
    if (status)
        close_endpoint(e ? &e->base : NULL);
    else
        *out = &e->base;
    return status;
}

static size_t offer(banyan_endpoint *base, int peer, int stream, const void *memory, size_t bytes)
{
    shm_endpoint *e = own(base);
    shm_place place;
    size_t taken;

    if (!banyan_shm_attach_sender(e, peer, stream))
        return 0;
    place = e->is_whole ? banyan_shm_place(e, memory, bytes) : (shm_place){.kind = SHM_IN_PROCESS};
    taken = banyan_shm_stream_offer(&e->peers[peer].to[stream], memory, bytes, &place);
    if (taken)
        banyan_shm_wake(e, peer);
    return taken;
}

static uint64_t sent(banyan_endpoint *base, int peer, int stream)
{
    return banyan_shm_stream_sent(&own(base)->peers[peer].to[stream]);
}

static void fail_reading(shm_endpoint *e, int peer, int problem)
{
    char name[64], sentence[200];

    banyan_shm_member_name(e, peer, name, sizeof name);
    if (problem == ESRCH)
        snprintf(sentence, sizeof sentence, "%s has ended without a word", name);
    else
        snprintf(sentence, sizeof sentence, "member %d cannot read the memory of %s: %s", e->base.member,
                 name, strerror(problem));
    banyan_shm_abort(&e->base, problem == ESRCH ? BANYAN_PEER_LOST : BANYAN_SYSTEM_ERROR, sentence);
}

/* Reads from the sender's process; 0 when it has withdrawn what it offered, or has gone. */
static size_t read_process(shm_endpoint *e, int peer, const shm_receiver *r, const shm_entry *entry,
                           void *into, size_t bytes)
{
    struct iovec here = {into, bytes}, there = {(void *)(uintptr_t)(entry->where + r->used), bytes};
    ssize_t got = process_vm_readv(e->peers[peer].segment.pid, &here, 1, &there, 1, 0);
    int problem = got < 0 ? errno : EFAULT;

    if (atomic_load(&r->theirs->is_withdrawn))
        return 0;
    if (got > 0)
        return (size_t)got;
    fail_reading(e, peer, problem);
    return 0;
}

static size_t look_into_process(shm_endpoint *e, int peer, const shm_receiver *r, const shm_entry *entry,
                                uint64_t left, const void **memory)
{
    uint64_t at = r->total - e->look_position;

    if (e->look_stream != r || r->total < e->look_position || at >= e->look_bytes) {
        e->look_stream = NULL;
        at = 0;
        e->look_position = r->total;
        e->look_bytes =
            read_process(e, peer, r, entry, e->look, left < SHM_LOOK_BYTES ? (size_t)left : SHM_LOOK_BYTES);
        if (!e->look_bytes)
            return 0;
        e->look_stream = r;
    }
    *memory = e->look + at;
    return (size_t)(e->look_bytes - at);
}

static size_t look_into_region(shm_endpoint *e, int peer, shm_receiver *r, const shm_entry *entry,
                               uint64_t left, const void **memory)
{
    const char *begin;

    atomic_store(&r->mine->is_looking, 1);
    begin = atomic_load(&r->theirs->is_withdrawn)
                ? NULL
                : banyan_shm_region_at(&e->peers[peer], entry->region, entry->generation, entry->where,
                                       entry->bytes);
    if (!begin) {
        atomic_store(&r->mine->is_looking, 0);
        if (!atomic_load(&r->theirs->is_withdrawn))
            fail_reading(e, peer, ENOMEM);
        return 0;
    }
    *memory = begin + r->used;
    return (size_t)left;
}

static size_t peek(banyan_endpoint *base, int peer, int stream, const void **memory)
{
    shm_endpoint *e = own(base);
    shm_receiver *r = &e->peers[peer].from[stream];
    const shm_entry *entry;
    uint64_t left;

    if (!banyan_shm_attach_receiver(e, peer, stream))
        return 0;
    entry = banyan_shm_stream_first(r, &left);
    if (!entry)
        return 0;
    if (entry->kind == SHM_IN_PROCESS)
        return look_into_process(e, peer, r, entry, left, memory);
    if (entry->kind == SHM_IN_REGION)
        return look_into_region(e, peer, r, entry, left, memory);
    *memory = banyan_shm_stream_slots(r, entry);
    return *memory ? (size_t)left : 0;
}

static void consume(banyan_endpoint *base, int peer, int stream, size_t bytes)
{
    shm_endpoint *e = own(base);
    shm_receiver *r = &e->peers[peer].from[stream];
    int is_news = bytes && banyan_shm_stream_drop(r, bytes);

    if (atomic_load_explicit(&r->mine->is_looking, memory_order_relaxed))
        atomic_store_explicit(&r->mine->is_looking, 0, memory_order_release);
    if (is_news)
        banyan_shm_wake(e, peer);
}

static size_t read_into(banyan_endpoint *base, int peer, int stream, void *into, size_t bytes, size_t unit)
{
    shm_endpoint *e = own(base);
    shm_receiver *r = &e->peers[peer].from[stream];
    const shm_entry *entry = NULL;
    const void *memory;
    uint64_t left = 0;

    if (banyan_shm_attach_receiver(e, peer, stream))
        entry = banyan_shm_stream_first(r, &left);
    if (!entry)
        return 0;
    bytes = (left < bytes ? (size_t)left : bytes) / unit * unit;
    if (!bytes)
        return 0;
    if (entry->kind == SHM_IN_PROCESS && e->look_stream != r) {
        bytes = read_process(e, peer, r, entry, into, bytes) / unit * unit;
    } else {
        size_t there = peek(base, peer, stream, &memory) / unit * unit;

        bytes = there < bytes ? there : bytes;
        if (bytes)
            memcpy(into, memory, bytes);
    }
    consume(base, peer, stream, bytes);
    return bytes;
}

/* A reader that is stopped in the middle of a look could hold us up for ever: after a while we go on. */
static void wait_for_look(shm_endpoint *e, int peer, const shm_incoming *half)
{
    int64_t patience_ns = banyan_clock_ns() + 1000000000;

    while (atomic_load(&half->is_looking) && !banyan_shm_is_lost(&e->peers[peer]) &&
           banyan_clock_ns() < patience_ns)
        sched_yield();
}

static void withdraw(banyan_endpoint *base)
{
    shm_endpoint *e = own(base);

    for (int peer = 0; peer < base->member_count; peer++)
        for (int i = 0; i < e->peers[peer].to_count; i++) {
            shm_sender *s = &e->peers[peer].to[i];

            atomic_store(&s->mine->is_withdrawn, 1);
            if (s->theirs)
                wait_for_look(e, peer, s->theirs);
        }
    banyan_shm_workspaces_withdraw(e);
}

static void wake(banyan_endpoint *base, int member)
{
    banyan_shm_wake(own(base), member);
}

static int reaches(const banyan_endpoint *base, int peer)
{
    const shm_endpoint *e = (const shm_endpoint *)base;

    return peer >= 0 && peer < base->member_count && e->peers[peer].segment.header != NULL;
}

static const char *describe(const banyan_endpoint *base, int peer, char *buffer, size_t size)
{
    const shm_peer *p = &((const shm_endpoint *)base)->peers[peer];

    if (!p->segment.header)
        snprintf(buffer, size, "not on this host");
    else if (p->reads_process)
        snprintf(buffer, size, "read from its process");
    else if (p->read_problem)
        snprintf(buffer, size, "slots, because reading its process fails: %s", strerror(p->read_problem));
    else if (((const shm_endpoint *)base)->way == BANYAN_SHM_BEST)
        snprintf(buffer, size, "slots, because a copy is faster here than reading its process");
    else
        snprintf(buffer, size, "slots");
    return buffer;
}

const banyan_transport banyan_transport_shm = {
    .name = "shm",
    .summary = "processes of one host; the receiver reads the sender's memory where it may, else slots",
    .reach = BANYAN_REACH_HOST,
    .reads_in_place = 0,
    .open = open_endpoint,
    .connect = banyan_shm_connect,
    .offer = offer,
    .sent = sent,
    .peek = peek,
    .consume = consume,
    .wait = banyan_shm_wait,
    .abort = banyan_shm_abort,
    .failure = banyan_shm_failure,
    .withdraw = withdraw,
    .close = close_endpoint,
    .read = read_into,
    .sleep_fd = banyan_shm_sleep_fd,
    .reaches = reaches,
    .describe = describe,
    .workspaces = banyan_shm_workspaces,
    .locate = banyan_shm_locate,
    .map = banyan_shm_map,
    .confirm = banyan_shm_confirm,
    .wake = wake,
};
