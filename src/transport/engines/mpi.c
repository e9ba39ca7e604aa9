/* SPDX-License-Identifier: Apache-2.0 */
/* transport/engines/mpi.c: the engine over MPI's point-to-point calls, any MPI of version 3 or later.
 *
 * Every group has a communicator of its own, made of its members alone, so nobody else's messages meet ours.
 * A program that has called MPI_Init keeps its MPI; else we call it, and MPI_Finalize when the process exits,
 * unless a rank was lost: MPI promises nothing after that, so it is then left alone, and later groups of this
 * process are told to take another transport. All calls are non-blocking except for the one that makes the
 * communicator, for which MPI knows no other way: it has a thread of its own, which is left behind where
 * somebody does not come.
 *
 * Where MPI was initialised for one thread only, only the thread that opened the port may use it; where its
 * calls must not overlap, ours take turns. MPI is one for the process: hence the static state. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transport/engine.h"

#define PATIENCE_S 0.2 /* closing waits so long for MPI to let go of our memory */

typedef struct {
    int is_send, peer;
    banyan_ticket *ticket;
} pending;

struct banyan_port {
    int member, member_count;
    pthread_t owner;
    int world_rank;
    unsigned char address[4];
    int *rank_of; /* by member: in our communicator; -1: nobody there */
    MPI_Comm comm;
    MPI_Request *requests; /* under way */
    pending *things;       /* of each of them */
    int *indices;
    MPI_Status *statuses;
    int count, capacity;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int thread_level;
static _Atomic int is_broken;

static void begin_turn(void)
{
    if (thread_level < MPI_THREAD_MULTIPLE)
        pthread_mutex_lock(&turn);
}

static void end_turn(void)
{
    if (thread_level < MPI_THREAD_MULTIPLE)
        pthread_mutex_unlock(&turn);
}

static banyan_status fail(char *why, banyan_status status, const char *sentence)
{
    snprintf(why, BANYAN_MESSAGE_ENGINE_SENTENCE, "%s", sentence);
    return status;
}

static banyan_status fail_mpi(char *why, banyan_status status, const char *what, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    MPI_Error_string(error, text, &length);
    snprintf(why, BANYAN_MESSAGE_ENGINE_SENTENCE, "%s: %.150s", what, text);
    return status;
}

static void finalize(void)
{
    int is_finalized = 0;

    MPI_Finalized(&is_finalized);
    if (!is_finalized && !is_broken)
        MPI_Finalize();
}

static banyan_status need_mpi(char *why)
{
    int is_there = 0, is_over = 0;

    MPI_Finalized(&is_over);
    if (is_over)
        return fail(why, BANYAN_UNSUPPORTED, "this process has called MPI_Finalize");
    if (is_broken)
        return fail(why, BANYAN_PEER_LOST, "MPI is not used any more since a rank was lost");
    MPI_Initialized(&is_there);
    if (!is_there) {
        int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &thread_level);

        if (error)
            return fail(why, BANYAN_SYSTEM_ERROR, "MPI_Init_thread failed");
        atexit(finalize);
    }
    MPI_Query_thread(&thread_level);
    return BANYAN_SUCCESS;
}

static int is_our_thread(const banyan_port *port)
{
    return thread_level >= MPI_THREAD_SERIALIZED || pthread_equal(port->owner, pthread_self());
}

static const char wrong_thread[] =
    "MPI was initialised for one thread: calls that go on in the background need "
    "MPI_THREAD_SERIALIZED or more from MPI_Init_thread";

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static banyan_status know_job(int *rank, int *size, char *why)
{
    banyan_status status = need_mpi(why);

    if (status)
        return status;
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return BANYAN_SUCCESS;
}

/* Both buffers are MPI's until it is done: after a time-out they are left to it. */
static banyan_status gather(const void *mine, size_t bytes, void *all, int timeout_ms, char *why)
{
    double until_s = now_s() + timeout_ms * 1e-3;
    int size = 0, error, is_done = 0;
    struct timespec pause = {.tv_nsec = 100000};
    MPI_Request request;
    char *memory;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memory = malloc(bytes * ((size_t)size + 1));
    if (!memory)
        return fail(why, BANYAN_SYSTEM_ERROR, "memory ran out");
    memcpy(memory, mine, bytes);
    begin_turn();
    error = MPI_Iallgather(memory, (int)bytes, MPI_BYTE, memory + bytes, (int)bytes, MPI_BYTE, MPI_COMM_WORLD,
                           &request);
    while (!error && !is_done && now_s() < until_s) {
        error = MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        if (!is_done)
            nanosleep(&pause, NULL);
    }
    end_turn();
    if (error)
        return fail_mpi(why, BANYAN_SYSTEM_ERROR, "MPI_Iallgather", error);
    if (!is_done) {
        snprintf(why, BANYAN_MESSAGE_ENGINE_SENTENCE, "not all %d processes of the MPI job came within %d ms",
                 size, timeout_ms);
        is_broken = 1;
        return BANYAN_TIMEOUT;
    }
    memcpy(all, memory + bytes, bytes * (size_t)size);
    free(memory);
    return BANYAN_SUCCESS;
}

static void free_port(banyan_port *port)
{
    free(port->rank_of);
    free(port->requests);
    free(port->things);
    free(port->indices);
    free(port->statuses);
    free(port);
}

static banyan_status open_port(int member, int member_count, banyan_port **out, char *why)
{
    banyan_status status = need_mpi(why);
    banyan_port *port;

    if (status)
        return status;
    port = calloc(1, sizeof *port);
    if (port)
        port->rank_of = calloc((size_t)member_count, sizeof *port->rank_of);
    if (!port || !port->rank_of) {
        free(port);
        return fail(why, BANYAN_SYSTEM_ERROR, "memory ran out");
    }
    port->member = member;
    port->member_count = member_count;
    port->owner = pthread_self();
    port->comm = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &port->world_rank);
    memcpy(port->address, &port->world_rank, sizeof port->address);
    *out = port;
    return BANYAN_SUCCESS;
}

static const void *address_of(const banyan_port *port, size_t *bytes)
{
    *bytes = sizeof port->address;
    return port->address;
}

/* Members in their order, as ranks of the world. Returns how many; 0: two are the same process, or one is of
 * another world. */
static int list_members(banyan_port *port, const void *const *addresses, const size_t *bytes, int world_size,
                        int *ranks)
{
    int count = 0;

    for (int i = 0; i < port->member_count; i++) {
        port->rank_of[i] = -1;
        if (bytes[i] != sizeof(int))
            continue;
        memcpy(&ranks[count], addresses[i], sizeof(int));
        if (ranks[count] < 0 || ranks[count] >= world_size)
            return 0;
        for (int k = 0; k < count; k++)
            if (ranks[k] == ranks[count])
                return 0;
        port->rank_of[i] = count++;
    }
    return count;
}

/* The making of a communicator: by a thread of its own, which may stay behind. Freed by whoever comes
 * last. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_done, is_left;
    MPI_Group group;
    MPI_Comm comm;
    int error;
} making;

static void free_making(making *m)
{
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static void *make(void *context)
{
    making *m = context;
    MPI_Comm comm = MPI_COMM_NULL;
    int error = MPI_Comm_create_group(MPI_COMM_WORLD, m->group, 0, &comm), is_left;

    pthread_mutex_lock(&m->lock);
    m->comm = comm;
    m->error = error;
    m->is_done = 1;
    is_left = m->is_left;
    pthread_cond_signal(&m->changed);
    pthread_mutex_unlock(&m->lock);
    if (is_left)
        free_making(m);
    return NULL;
}

/* Returns 0 when the maker is left alone with it. */
static int wait_for(making *m, int timeout_ms)
{
    struct timespec until;
    int is_done, problem = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&m->lock);
    while (!m->is_done && !problem)
        problem = pthread_cond_timedwait(&m->changed, &m->lock, &until);
    is_done = m->is_done;
    m->is_left = !is_done;
    pthread_mutex_unlock(&m->lock);
    return is_done;
}

/* MPI knows no call for this that does not block, so another thread waits for those who do not come. */
static banyan_status make_in_time(MPI_Group group, int timeout_ms, MPI_Comm *out, char *why)
{
    making *m = calloc(1, sizeof *m);
    pthread_condattr_t monotonic;
    pthread_t thread;
    int error;

    if (!m)
        return fail(why, BANYAN_SYSTEM_ERROR, "memory ran out");
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&m->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    m->group = group;
    if (pthread_create(&thread, NULL, make, m)) {
        free_making(m);
        return fail(why, BANYAN_SYSTEM_ERROR, "a thread cannot be started");
    }
    if (!wait_for(m, timeout_ms)) {
        pthread_detach(thread);
        is_broken = 1;
        snprintf(why, BANYAN_MESSAGE_ENGINE_SENTENCE,
                 "not all ranks came to MPI_Comm_create_group within %d ms", timeout_ms);
        return BANYAN_TIMEOUT;
    }
    pthread_join(thread, NULL);
    *out = m->comm;
    error = m->error;
    free_making(m);
    return error ? fail_mpi(why, BANYAN_SYSTEM_ERROR, "MPI_Comm_create_group", error) : BANYAN_SUCCESS;
}

/* Where one thread at a time may call MPI, a thread that stays behind would keep all others out. */
static banyan_status make_communicator(MPI_Group group, int timeout_ms, MPI_Comm *out, char *why)
{
    int error;

    if (thread_level >= MPI_THREAD_MULTIPLE)
        return make_in_time(group, timeout_ms, out, why);
    begin_turn();
    error = MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, out);
    end_turn();
    return error ? fail_mpi(why, BANYAN_SYSTEM_ERROR, "MPI_Comm_create_group", error) : BANYAN_SUCCESS;
}

static banyan_status meet(banyan_port *port, const void *const *addresses, const size_t *bytes,
                          int timeout_ms, char *why)
{
    int *ranks = calloc((size_t)port->member_count, sizeof *ranks), count, world_size = 0;
    MPI_Group world, group;
    banyan_status status;

    if (!ranks)
        return fail(why, BANYAN_SYSTEM_ERROR, "memory ran out");
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    count = list_members(port, addresses, bytes, world_size, ranks);
    if (!count) {
        free(ranks);
        return fail(why, BANYAN_INVALID_USAGE,
                    "the ranks are not processes of one MPI job: start them with mpirun or srun");
    }
    begin_turn();
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, ranks, &group);
    MPI_Group_free(&world);
    end_turn();
    free(ranks);
    status = make_communicator(group, timeout_ms, &port->comm, why);
    if (status == BANYAN_TIMEOUT) /* the maker that stayed behind still reads the group */
        return status;
    begin_turn();
    MPI_Group_free(&group);
    if (!status)
        MPI_Comm_set_errhandler(port->comm, MPI_ERRORS_RETURN);
    end_turn();
    return status;
}

static banyan_status connect_peer(banyan_port *port, int peer, char *why)
{
    return port->rank_of[peer] < 0 ? fail(why, BANYAN_PEER_LOST, "it is in no process") : BANYAN_SUCCESS;
}

static int make_room(banyan_port *port)
{
    int more = port->capacity ? 2 * port->capacity : 64;
    size_t count = (size_t)more;
    void *requests, *things, *indices, *statuses;

    if (port->count < port->capacity)
        return 1;
    requests = realloc(port->requests, count * sizeof *port->requests);
    port->requests = requests ? requests : port->requests;
    things = realloc(port->things, count * sizeof *port->things);
    port->things = things ? things : port->things;
    indices = realloc(port->indices, count * sizeof *port->indices);
    port->indices = indices ? indices : port->indices;
    statuses = realloc(port->statuses, count * sizeof *port->statuses);
    port->statuses = statuses ? statuses : port->statuses;
    if (!requests || !things || !indices || !statuses)
        return 0;
    port->capacity = more;
    return 1;
}

static banyan_status begin(banyan_port *port, int is_send, int peer, int tag, void *memory, size_t bytes,
                           banyan_ticket *ticket, char *why)
{
    int error;

    if (!is_our_thread(port))
        return fail(why, BANYAN_UNSUPPORTED, wrong_thread);
    if (!make_room(port))
        return fail(why, BANYAN_SYSTEM_ERROR, "memory ran out");
    begin_turn();
    error = is_send ? MPI_Isend(memory, (int)bytes, MPI_BYTE, port->rank_of[peer], tag, port->comm,
                                &port->requests[port->count])
                    : MPI_Irecv(memory, (int)bytes, MPI_BYTE, port->rank_of[peer], tag, port->comm,
                                &port->requests[port->count]);
    end_turn();
    if (error)
        return fail_mpi(why, BANYAN_PEER_LOST, is_send ? "MPI_Isend" : "MPI_Irecv", error);
    port->things[port->count++] = (pending){is_send, peer, ticket};
    return BANYAN_SUCCESS;
}

static banyan_status send_message(banyan_port *port, int peer, int tag, const void *memory, size_t bytes,
                                  banyan_ticket *ticket, char *why)
{
    return begin(port, 1, peer, tag, (void *)(size_t)memory, bytes, ticket, why);
}

static banyan_status receive_message(banyan_port *port, int peer, int tag, void *memory, size_t bytes,
                                     banyan_ticket *ticket, char *why)
{
    return begin(port, 0, peer, tag, memory, bytes, ticket, why);
}

/* The last one takes the place of one that is done. */
static void drop(banyan_port *port, int index)
{
    port->count--;
    port->requests[index] = port->requests[port->count];
    port->things[index] = port->things[port->count];
}

static int compare_down(const void *a, const void *b)
{
    const int *x = a, *y = b;

    return (*x < *y) - (*x > *y);
}

static int progress(banyan_port *port, int *lost, char *why)
{
    int done = 0, error, count;

    *lost = -1;
    if (!is_our_thread(port)) {
        fail(why, BANYAN_UNSUPPORTED, wrong_thread);
        return -1;
    }
    begin_turn();
    error = MPI_Testsome(port->count, port->requests, &done, port->indices, port->statuses);
    end_turn();
    if (error && error != MPI_ERR_IN_STATUS) {
        fail_mpi(why, BANYAN_SYSTEM_ERROR, "MPI_Testsome", error);
        return -1;
    }
    if (done == MPI_UNDEFINED)
        return 0;
    for (int i = 0; i < done; i++) {
        pending *thing = &port->things[port->indices[i]];

        if (error && port->statuses[i].MPI_ERROR != MPI_SUCCESS &&
            port->statuses[i].MPI_ERROR != MPI_ERR_PENDING) {
            *lost = thing->peer;
            fail_mpi(why, BANYAN_PEER_LOST, thing->is_send ? "MPI_Isend" : "MPI_Irecv",
                     port->statuses[i].MPI_ERROR);
            continue;
        }
        MPI_Get_count(&port->statuses[i], MPI_BYTE, &count);
        thing->ticket->bytes = thing->is_send || count < 0 ? 0 : (size_t)count;
        thing->ticket->is_done = 1;
    }
    qsort(port->indices, (size_t)done, sizeof *port->indices, compare_down);
    for (int i = 0; i < done; i++)
        drop(port, port->indices[i]);
    return done;
}

static void distrust(void)
{
    is_broken = 1;
}

/* Receives that nobody waits for any more. Returns what MPI does not let go. */
static int cancel_rest(banyan_port *port)
{
    double until_s = now_s() + PATIENCE_S;
    int done = 0;

    for (int i = 0; i < port->count; i++)
        if (!port->things[i].is_send)
            MPI_Cancel(&port->requests[i]);
    while (port->count && now_s() < until_s) {
        if (MPI_Testsome(port->count, port->requests, &done, port->indices, port->statuses) &&
            done == MPI_UNDEFINED)
            break;
        if (done == MPI_UNDEFINED)
            break;
        qsort(port->indices, (size_t)done, sizeof *port->indices, compare_down);
        for (int i = 0; i < done; i++)
            drop(port, port->indices[i]);
    }
    for (int i = 0; i < port->count; i++)
        MPI_Request_free(&port->requests[i]);
    return port->count;
}

static int close_port(banyan_port *port, int is_clean)
{
    int left = 0, is_over = 0;

    MPI_Finalized(&is_over);
    if (!is_over && is_our_thread(port)) {
        begin_turn();
        left = cancel_rest(port);
        /* With messages under way, the number of this communicator must not be given to another. */
        if (port->comm != MPI_COMM_NULL && is_clean && !left)
            MPI_Comm_free(&port->comm);
        end_turn();
    }
    free_port(port);
    return left > 0;
}

__attribute__((visibility("default"))) const banyan_message_engine banyan_engine_plugin = {
    .abi = BANYAN_MESSAGE_ENGINE_ABI,
    .name = "mpi",
    .keeps_memory = 1,
    .job = know_job,
    .gather = gather,
    .open = open_port,
    .address = address_of,
    .meet = meet,
    .connect = connect_peer,
    .send = send_message,
    .receive = receive_message,
    .progress = progress,
    .distrust = distrust,
    .close = close_port,
};
