/* SPDX-License-Identifier: Apache-2.0 */
/* banyan.h: all-reduce for networks that are not uniform.
 *
 * Handles are opaque, functions return a banyan_status, and where a call can explain itself it does so in
 * one sentence: banyan_last_error(). Argument order, datatype, op and status numbers up to 8 are NCCL's, so
 * that wrappers map one to one. */
#ifndef BANYAN_H
#define BANYAN_H

#include <stddef.h>
#include <stdint.h>

#include <banyan/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BANYAN_VERSION_MAJOR 0
#define BANYAN_VERSION_MINOR 2
#define BANYAN_VERSION_PATCH 0
#define BANYAN_VERSION_CODE (BANYAN_VERSION_MAJOR * 10000 + BANYAN_VERSION_MINOR * 100 + BANYAN_VERSION_PATCH)

/* X(NAME, number, name, bytes). */
#define BANYAN_DATATYPE_MAP(X)                                                                               \
    X(INT8, 0, "int8", 1)                                                                                    \
    X(UINT8, 1, "uint8", 1)                                                                                  \
    X(INT32, 2, "int32", 4)                                                                                  \
    X(UINT32, 3, "uint32", 4)                                                                                \
    X(INT64, 4, "int64", 8)                                                                                  \
    X(UINT64, 5, "uint64", 8)                                                                                \
    X(FLOAT16, 6, "float16", 2)                                                                              \
    X(FLOAT32, 7, "float32", 4)                                                                              \
    X(FLOAT64, 8, "float64", 8)                                                                              \
    X(BFLOAT16, 9, "bfloat16", 2)

typedef enum {
#define BANYAN_DATATYPE_ENTRY(name, number, text, bytes) BANYAN_##name = number,
    BANYAN_DATATYPE_MAP(BANYAN_DATATYPE_ENTRY)
#undef BANYAN_DATATYPE_ENTRY
} banyan_datatype;

/* X(NAME, number, name). AVG is the sum divided by the number of active ranks. */
#define BANYAN_OP_MAP(X)                                                                                     \
    X(SUM, 0, "sum")                                                                                         \
    X(PROD, 1, "prod")                                                                                       \
    X(MAX, 2, "max")                                                                                         \
    X(MIN, 3, "min")                                                                                         \
    X(AVG, 4, "avg")

typedef enum {
#define BANYAN_OP_ENTRY(name, number, text) BANYAN_##name = number,
    BANYAN_OP_MAP(BANYAN_OP_ENTRY)
#undef BANYAN_OP_ENTRY
} banyan_op;

/* Their texts; static, never NULL, "unknown" for numbers outside the lists. */
BANYAN_API const char *banyan_datatype_string(banyan_datatype type);
BANYAN_API const char *banyan_op_string(banyan_op op);
BANYAN_API size_t banyan_datatype_bytes(banyan_datatype type); /* 0 for numbers outside the list */

/* The version of the library that is loaded, as BANYAN_VERSION_CODE. */
BANYAN_API int banyan_version(void);

/* A communicator: one rank's handle on a group that computes together. Calls on one handle happen one after
 * the other, from any thread; different handles are used from different threads at the same time. */
typedef struct banyan_comm banyan_comm;

/* How a group is set up. Begin with BANYAN_CONFIG_INITIALIZER, so that a program keeps working with a
 * library that knows more fields. A field that is NULL or 0 takes its value from the environment
 * (BANYAN_TOPO, BANYAN_ALGO, BANYAN_TIMEOUT_MS, BANYAN_SLICE_BYTES, BANYAN_TRANSPORT, BANYAN_SHRINK,
 * BANYAN_LEARN) or its default. Texts are copied. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    const char *topology; /* a file or a generator such as "hosts:2+3"; default: all ranks on one switch */
    const char *active; /* which workers of it are ranks 0, 1, ...: "0,2-4" or names; default: the first ones.
                           The others may relay. */
    const char *algorithm; /* as BANYAN_ALGO: a name of `banyan list`, "auto" for the best prediction at each
                              size, or one per collective: "allreduce:flexreduce,broadcast:ring" */
    int timeout_ms;        /* time limit of each call; default 30000 */
    size_t slice_bytes;    /* what flows through at once; default 128 KiB */
    char *error;           /* where a failed init writes its sentence; NULL: nowhere */
    size_t error_bytes;
    const char *transport; /* what carries bytes between processes: as BANYAN_TRANSPORT */
    const char *relays; /* workers that run a process but are not ranks (banyan_comm_relay): "2,3" or names */
    const char
        *shrink; /* which ranks may go on after a loss: "majority" of the last group, "any" or "at_least:N" */
    const char *learn; /* whether a group without a topology learns its network: "0", "1" or "once" */
} banyan_config;

#define BANYAN_CONFIG_MAGIC 0xba27a200u
#define BANYAN_CONFIG_INITIALIZER                                                                            \
    {                                                                                                        \
        sizeof(banyan_config), BANYAN_CONFIG_MAGIC, BANYAN_VERSION_CODE, NULL, NULL, NULL, 0, 0, NULL, 0,    \
            NULL, NULL, NULL, NULL                                                                           \
    }

/* Makes a group of size ranks inside this process, one handle for each; every handle is then used by a thread
 * of its own. config may be NULL. On failure no handle is made, and comms may be set to NULL.
 * INVALID_ARGUMENT: size, config, topology, active or algorithm are wrong, or the topology has too few
 * workers; VERSION_MISMATCH: config comes from a newer header than this library knows; SYSTEM_ERROR: no
 * memory. */
BANYAN_API banyan_status banyan_comm_init_all(banyan_comm **comms, int size, const banyan_config *config);

/* Groups whose ranks are processes, on one host or many. Each of these returns when all ranks have called it;
 * the meeting, the connections to rank 0 and the opening of transports take a time-out each at the most. On
 * failure *comm is NULL. Besides the statuses of init_all:
 *
 * TIMEOUT            the sentence names the ranks that did not come
 * MISMATCH           ranks disagree on their number, a setting or the secret; both are named, and both values
 * VERSION_MISMATCH   they speak different protocols or have different versions
 * PEER_LOST          a rank died meanwhile
 * INVALID_USAGE      no launcher, or the secret's file can be read by others */

/* What one process makes and gives to all others by whatever way it has; it holds the job's secret. */
typedef struct {
    char bytes[128];
} banyan_unique_id;

/* The process that calls it serves the meeting of the ranks, from a thread that ends by itself. */
BANYAN_API banyan_status banyan_get_unique_id(banyan_unique_id *id);

/* In the process that made it: nobody will come with this id any more, so its thread ends now. SUCCESS also
 * where it has ended already. */
BANYAN_API banyan_status banyan_release_unique_id(const banyan_unique_id *id);

BANYAN_API banyan_status banyan_comm_init_rank(banyan_comm **comm, int size, banyan_unique_id id, int rank,
                                               const banyan_config *config);

/* Rank, number of ranks and meeting place are what the launcher says: BANYAN_RANK, BANYAN_SIZE and
 * BANYAN_ROOT, torchrun, Open MPI, MVAPICH, Flux, JSM, PALS, MPICH and Intel MPI (PMI), Slurm, PMIx, Kubeflow
 * Trainer, Kubernetes. The secret is BANYAN_SECRET or the content of BANYAN_SECRET_FILE. */
BANYAN_API banyan_status banyan_comm_init_env(banyan_comm **comm, const banyan_config *config);

/* The ranks meet by the caller's own means (MPI, PyTorch's store, a file): all gets bytes from each of the
 * size ranks, in their order. It is called once, in every rank. Whoever can read what is exchanged can
 * join. */
typedef banyan_status (*banyan_allgather_function)(void *context, const void *mine, size_t bytes, void *all);
BANYAN_API banyan_status banyan_comm_init_exchange(banyan_comm **comm, int size, int rank,
                                                   banyan_allgather_function allgather, void *context,
                                                   const banyan_config *config);

/* Serves the group as a worker without data: relay i is the i-th worker of config->relays. Its ranks use
 * banyan_comm_init_rank with the same size, id and config; the group begins when all ranks and all relays
 * have come. Plans may then lead through the relays, which pass bytes on and add them up. Returns when rank 0
 * has destroyed its communicator, or with the failure that has ended the group, whose sentence is where
 * config->error points. A relay that is lost is a PEER_LOST for all others; a group that is shrunk has no
 * relays, and one that has some cannot be split. */
BANYAN_API banyan_status banyan_comm_relay(int size, banyan_unique_id id, int relay,
                                           const banyan_config *config);

/* Every rank calls it; those with the same color make a group, ordered by key, then by rank. A negative color
 * takes part in none: *out is NULL. The old group works on. */
BANYAN_API banyan_status banyan_comm_split(banyan_comm *comm, int color, int key, banyan_comm **out,
                                           const banyan_config *config);

/* Those who call it make a new group without the ranks that are lost, that do not come, or that are listed in
 * exclude; ranks keep their order, and plans are made anew. The old communicator is usually dead and still
 * has to be destroyed. TOO_FEW_RANKS: those who came are fewer than config->shrink asks for (by default more
 * than half of the old group, or half with rank 0); as long as it asks for that many, at most one group comes
 * of a communicator, with the same members on all ranks that return SUCCESS (docs/communicator.md). */
BANYAN_API banyan_status banyan_comm_shrink(banyan_comm *comm, const int *exclude, int exclude_count,
                                            banyan_comm **out, const banyan_config *config);

/* A new group of size ranks: those of comm, which keep their ranks, and newcomers, which pass NULL and their
 * rank (members' is not looked at). All meet by the id as in init_rank; it returns when all have come, at the
 * latest when the time-out has passed. The old group works on. config NULL: what the old group was told, but
 * for its network. */
BANYAN_API banyan_status banyan_comm_grow(banyan_comm *comm, int size, banyan_unique_id id, int rank,
                                          banyan_comm **out, const banyan_config *config);

/* Gives the handle back (NULL is fine); no call may be running on it. The others can finish what they have
 * begun with this rank; a call that would need it again returns PEER_LOST. The last one frees the group. */
BANYAN_API banyan_status banyan_comm_destroy(banyan_comm *comm);

/* Ends all calls of the whole group, running and future: they return REMOTE_ERROR. From any thread, also
 * while a call is running on this handle. The handles still have to be destroyed. */
BANYAN_API banyan_status banyan_comm_abort(banyan_comm *comm);

/* No later call of this rank takes longer than that many milliseconds, above 0; others keep their own
 * time-outs. Of a group that banyan_comm_init_all made, the ranks of all handles. From any thread. */
BANYAN_API banyan_status banyan_comm_set_timeout(banyan_comm *comm, int timeout_ms);

/* The failure that has ended the group, or SUCCESS while it works. From any thread. */
BANYAN_API banyan_status banyan_comm_get_async_error(banyan_comm *comm, banyan_status *async_error);

BANYAN_API banyan_status banyan_comm_rank(const banyan_comm *comm, int *rank);
BANYAN_API banyan_status banyan_comm_size(const banyan_comm *comm, int *size);

/* The sentence of the last call that failed on this handle: who, what, which value. Never NULL, empty when
 * none has. Valid until the next call on the handle. */
BANYAN_API const char *banyan_last_error(const banyan_comm *comm);

/* The collectives. Every rank makes the same calls in the same order, with the same count, type, op and root.
 * Each call returns when this rank's part is done and its buffers are the caller's again, at the latest when
 * the time-out has passed (the first call of a kind makes its plan before, which is not counted). Buffers
 * need no alignment; send and recv are in place, as each call says below, or do not overlap: anything between
 * is an INVALID_ARGUMENT. Results have the same bits on every rank, from run to run, and as the plan's order
 * of additions says (docs/execution.md).
 *
 * SUCCESS            done
 * INVALID_ARGUMENT   the call had no effect; the group works on
 * UNSUPPORTED        the algorithm that was asked for cannot do this on this topology; no effect
 * MISMATCH           ranks made different calls; the sentence names two of them and what they said
 * TIMEOUT            the sentence names who was waited for
 * PEER_LOST          a rank is gone
 * REMOTE_ERROR       another rank failed or aborted; its sentence
 * SYSTEM_ERROR       memory or threads ran out
 * After the last five the group is dead (destroy all handles) and the contents of recv are undefined. */

/* recv = op over all ranks' send, count elements everywhere. In place when send == recv. */
BANYAN_API banyan_status banyan_allreduce(const void *send, void *recv, size_t count, banyan_datatype type,
                                          banyan_op op, banyan_comm *comm);

/* The same over many buffers as if they were one: the elements of segment 0, then those of segment 1, and so
 * on. Nothing is gathered into one buffer before. Ranks need the same number of elements in all, not the same
 * segments; counts may be 0. */
typedef struct {
    const void *send;
    void *recv; /* the same as send, or it overlaps no segment's send; and no other segment's recv */
    size_t count;
} banyan_segment;

BANYAN_API banyan_status banyan_allreduce_segments(const banyan_segment *segments, size_t segment_count,
                                                   banyan_datatype type, banyan_op op, banyan_comm *comm);

/* send holds size * recv_count elements; rank r gets part r of the result in recv. In place when recv is
 * send + rank * recv_count elements: then only that part of send changes. */
BANYAN_API banyan_status banyan_reduce_scatter(const void *send, void *recv, size_t recv_count,
                                               banyan_datatype type, banyan_op op, banyan_comm *comm);

/* recv gets size * send_count elements: part r is rank r's send. In place when send is recv + rank *
 * send_count elements. */
BANYAN_API banyan_status banyan_all_gather(const void *send, void *recv, size_t send_count,
                                           banyan_datatype type, banyan_comm *comm);

/* recv = the root's send, on every rank. send is looked at on the root alone. In place when send == recv. */
BANYAN_API banyan_status banyan_broadcast(const void *send, void *recv, size_t count, banyan_datatype type,
                                          int root, banyan_comm *comm);

/* The root's recv = op over all ranks' send. recv is looked at on the root alone. In place when send ==
 * recv. */
BANYAN_API banyan_status banyan_reduce(const void *send, void *recv, size_t count, banyan_datatype type,
                                       banyan_op op, int root, banyan_comm *comm);

/* The root's recv gets size * send_count elements: part r is rank r's send. recv is looked at on the root
 * alone. In place there when send is recv + rank * send_count elements. */
BANYAN_API banyan_status banyan_gather(const void *send, void *recv, size_t send_count, banyan_datatype type,
                                       int root, banyan_comm *comm);

/* Rank r's recv = part r of the root's send, which holds size * recv_count elements and is looked at on the
 * root alone. In place there when recv is send + rank * recv_count elements. */
BANYAN_API banyan_status banyan_scatter(const void *send, void *recv, size_t recv_count, banyan_datatype type,
                                        int root, banyan_comm *comm);

/* send and recv hold a part of count elements for every rank: part r of recv = rank r's part for this rank.
 * They must not overlap. */
BANYAN_API banyan_status banyan_all_to_all(const void *send, void *recv, size_t count, banyan_datatype type,
                                           banyan_comm *comm);

/* Returns when every rank has called it. */
BANYAN_API banyan_status banyan_barrier(banyan_comm *comm);

/* The same, where all ranks are about to make calls on vectors of GPUs, each of its own device, or all on
 * vectors in the host's memory (BANYAN_HOST). MISMATCH: some rank is about to do the other, or makes another
 * call; the sentence names it. For programs with a communicator for each kind: the one that they leave. */
BANYAN_API banyan_status banyan_barrier_before(banyan_comm *comm, int device);

/* Memory that the ranks of a host reach in place: where the vectors of all ranks of a communicator lie in
 * such memory and all ranks are on one host, an all-reduce adds straight out of it and writes results
 * straight into it, instead of copying them from process to process. Everywhere else it is memory as any
 * other; results have the same bits. It belongs to the process and serves every communicator. It is zeroed,
 * begins with a page, and has a file descriptor, so ask for few large pieces rather than many small ones.
 * free takes what alloc gave (INVALID_ARGUMENT: it did not), or NULL, while no call uses it. */
BANYAN_API banyan_status banyan_mem_alloc(void **memory, size_t bytes);
BANYAN_API banyan_status banyan_mem_free(void *memory);

/* Vectors on GPUs (docs/gpu.md). A device is a number that the vendor's driver gives it, from 0 on. */
#define BANYAN_HOST (-1) /* instead of a device: the vector is in the host's memory */

/* Memory of a device; of banyan_mem_alloc for BANYAN_HOST. UNSUPPORTED: there is no such device.
 * SYSTEM_ERROR: it does not have that much memory. */
BANYAN_API banyan_status banyan_mem_alloc_on(void **memory, size_t bytes, int device);
BANYAN_API banyan_status banyan_mem_free_on(void *memory, int device);

/* An all-reduce in the order of a stream (a CUstream or cudaStream_t; NULL: the default one): it begins when
 * the stream has done what it was given before, and what the stream is given afterwards waits for the result.
 * It returns at once, also while the stream is being captured into a graph, which may then be launched any
 * number of times. Both vectors lie on the device. A rank whose vectors are in the host's memory passes
 * BANYAN_HOST, and its call returns when the result is there. All ranks make this call, each with the same
 * device every time; the first one takes as long as it takes the ranks to come together. Calls of one
 * communicator on different streams must not wait for one another in a circle.
 *
 * What goes wrong later ends the group: the stream goes on, the contents of recv are undefined,
 * banyan_comm_get_async_error and all later calls say what happened. The time-out counts from when this
 * rank's stream gets there.
 * UNHANDLED_CUDA_ERROR: a call of the driver failed, which the sentence names; the group is dead. */
BANYAN_API banyan_status banyan_allreduce_on(const void *send, void *recv, size_t count, banyan_datatype type,
                                             banyan_op op, banyan_comm *comm, int device, void *stream);

/* The other collectives in the order of a stream, likewise: the arguments are those of the calls without _on,
 * then the device and the stream. They go through the host, so they cannot be captured into a graph. */
BANYAN_API banyan_status banyan_broadcast_on(const void *send, void *recv, size_t count, banyan_datatype type,
                                             int root, banyan_comm *comm, int device, void *stream);
BANYAN_API banyan_status banyan_reduce_on(const void *send, void *recv, size_t count, banyan_datatype type,
                                          banyan_op op, int root, banyan_comm *comm, int device,
                                          void *stream);
BANYAN_API banyan_status banyan_reduce_scatter_on(const void *send, void *recv, size_t recv_count,
                                                  banyan_datatype type, banyan_op op, banyan_comm *comm,
                                                  int device, void *stream);
BANYAN_API banyan_status banyan_all_gather_on(const void *send, void *recv, size_t send_count,
                                              banyan_datatype type, banyan_comm *comm, int device,
                                              void *stream);
BANYAN_API banyan_status banyan_gather_on(const void *send, void *recv, size_t send_count,
                                          banyan_datatype type, int root, banyan_comm *comm, int device,
                                          void *stream);
BANYAN_API banyan_status banyan_scatter_on(const void *send, void *recv, size_t recv_count,
                                           banyan_datatype type, int root, banyan_comm *comm, int device,
                                           void *stream);
BANYAN_API banyan_status banyan_all_to_all_on(const void *send, void *recv, size_t count,
                                              banyan_datatype type, banyan_comm *comm, int device,
                                              void *stream);

/* An all-reduce that goes on while the caller does something else. Requests of one communicator, and blocking
 * calls beside them, are done one after the other in the order in which they were made. The buffers must
 * not be touched until the request is done. Free every request; freeing waits until it is done. */
typedef struct banyan_request banyan_request;

BANYAN_API banyan_status banyan_allreduce_async(const void *send, void *recv, size_t count,
                                                banyan_datatype type, banyan_op op, banyan_comm *comm,
                                                banyan_request **request);

/* The list of segments is copied; what they point to must not be touched until the request is done. */
BANYAN_API banyan_status banyan_allreduce_segments_async(const banyan_segment *segments, size_t segment_count,
                                                         banyan_datatype type, banyan_op op,
                                                         banyan_comm *comm, banyan_request **request);

/* The outcome, or IN_PROGRESS; wait looks for so long, a negative time-out until it is done (which a call's
 * own time-out sees to). */
BANYAN_API banyan_status banyan_request_test(banyan_request *request);
BANYAN_API banyan_status banyan_request_wait(banyan_request *request, int timeout_ms);
BANYAN_API void banyan_request_free(banyan_request *request); /* NULL is fine */

/* Training: gradients travel while backward still computes, in groups that are planned for this model on this
 * network (docs/training.md). One handle a rank:
 *
 *     create, register every gradient, commit                 once
 *     begin, ready each as backward yields it, wait_all       each iteration
 *
 * The first iterations are profiled; then rank 0 plans which gradients travel together and how many
 * all-reduces at a time, and all ranks run that, until ready times have drifted. Gradients may become ready
 * in any order, and in another one on every rank; ready, test, wait and abort may be called from any thread
 * at any time. The engine has communicators of its own: comm stays free for other calls, and must outlive
 * create and commit only.
 *
 * After SYSTEM_ERROR, REMOTE_ERROR, TIMEOUT, PEER_LOST or MISMATCH the engine is dead on all ranks: each call
 * returns that status. Destroy it, shrink the communicator, and make a new one. */
typedef struct banyan_train banyan_train;

typedef enum {
    BANYAN_TRAIN_UNUSED_ERROR = 0, /* wait_all fails with INVALID_USAGE and names it; the others' REMOTE_ERROR
                                      does, too, and the engine is dead */
    BANYAN_TRAIN_UNUSED_ZEROS = 1  /* it counts as zeros, and its memory, if there is any, gets the sum of the
                                      others' */
} banyan_train_unused;

/* Begin with BANYAN_TRAIN_CONFIG_INITIALIZER. What is NULL or 0 takes its default. Texts are copied. All but
 * done, context, error and error_bytes must be the same on all ranks. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    banyan_op op;           /* AVG (the initializer's) or SUM */
    const char *policy;     /* of `banyan list policies`, 'optimal' by default, 'ddp:2' for two streams */
    const char *cost;       /* 'linear:A,B[,GAMMA[,LINK]]'; default: measured in commit */
    int streams;            /* the most all-reduces at a time; default 4, at most 8 */
    int profile_iterations; /* how many are profiled, after one to warm up; default 3 */
    int measure_ms;         /* about so long commit measures; default 2000 */
    double drift;           /* plan again when ready times move by this share of backward, or steps are off
                               by this share from the plan's; default 0.1, negative: never */
    banyan_train_unused unused; /* what wait_all does with a gradient that was never ready */
    /* Called, usually by a thread of the engine, for each gradient that is reduced, or when the engine dies
     * for each that is not. Those of an iteration come before its wait_all returns. It may call ready and
     * test, and must not wait. */
    void (*done)(void *context, int tensor, banyan_status status);
    void *context;
    char *error; /* where a failed create writes its sentence; NULL: nowhere */
    size_t error_bytes;
} banyan_train_config;

#define BANYAN_TRAIN_CONFIG_MAGIC 0xba27a201u
#define BANYAN_TRAIN_CONFIG_INITIALIZER                                                                      \
    {                                                                                                        \
        sizeof(banyan_train_config), BANYAN_TRAIN_CONFIG_MAGIC, BANYAN_VERSION_CODE, BANYAN_AVG, NULL, NULL, \
            0, 0, 0, 0, BANYAN_TRAIN_UNUSED_ERROR, NULL, NULL, NULL, 0                                       \
    }

/* No communication yet. config may be NULL. */
BANYAN_API banyan_status banyan_train_create(banyan_train **train, banyan_comm *comm,
                                             const banyan_train_config *config);

/* One gradient: count elements at data, reduced in place; data may be NULL and come with ready. Ranks may
 * register in different orders: gradients that have the same name belong together, one line of up to 255
 * bytes. A name of NULL stands for 'tensor N', N being the number that *tensor gets: 0, 1, ... */
BANYAN_API banyan_status banyan_train_register(banyan_train *train, const char *name, void *data,
                                               size_t count, banyan_datatype type, int *tensor);

/* Every rank calls it once: the ranks compare what they have registered, and measure the network. MISMATCH
 * names two ranks and the gradient. */
BANYAN_API banyan_status banyan_train_commit(banyan_train *train);

/* Backward begins now. INVALID_USAGE: the iteration before has not been waited for. */
BANYAN_API banyan_status banyan_train_begin(banyan_train *train);

/* The gradient has its value; it is the engine's until it is reduced, and shares no memory with another that
 * is. data NULL: where it was last time. Without begin, the first one ready begins the iteration. */
BANYAN_API banyan_status banyan_train_ready(banyan_train *train, int tensor, void *data);

/* Of one gradient in this iteration, or the last: SUCCESS once it is reduced, IN_PROGRESS before. wait looks
 * for so long, a negative time-out until it is done. It is done at the latest when the communicator's
 * time-out has passed since the last gradient of the model was ready; a wait for one that never becomes ready
 * ends after that time as well, with TIMEOUT and its name. */
BANYAN_API banyan_status banyan_train_test(banyan_train *train, int tensor);
BANYAN_API banyan_status banyan_train_wait(banyan_train *train, int tensor, int timeout_ms);

/* Backward is over: returns when everything is reduced, and ends the iteration. What was not ready is treated
 * as the config says. Without an iteration there is nothing to wait for. */
BANYAN_API banyan_status banyan_train_wait_all(banyan_train *train);

/* Asks for a new plan; one rank is enough. It is made at the end of this iteration or the next. */
BANYAN_API banyan_status banyan_train_replan(banyan_train *train);

/* Ends it on all ranks, from any thread: what waits returns REMOTE_ERROR. */
BANYAN_API banyan_status banyan_train_abort(banyan_train *train);

/* Times are in seconds. Predicted ones are the plan's for this rank, 0 while none is made; measured ones are
 * this rank's, of up to 16 iterations since: medians, but means of exposed and comm. A step lasts from begin
 * until everything is reduced. */
typedef struct {
    size_t size; /* sizeof(banyan_train_stats), set by the caller */
    int tensors;
    int plan; /* 0 while profiling, then 1, 2, ... */
    int streams, groups;
    uint64_t iterations;
    double other_s; /* from wait_all's end to begin: optimizer and forward */
    double predicted_step_s, measured_step_s;
    double predicted_exposed_s,
        measured_exposed_s;     /* of a step, what comes after this rank's last gradient is ready */
    double measured_comm_s;     /* of a step, while something was in flight */
    double hidden_share;        /* 1 - exposed / comm, as measured */
    double bound_s;             /* no grouping has a shorter step */
    double drift;               /* as last seen, a share of backward */
    double start_s, s_per_byte; /* an all-reduce alone: start-up, and what a byte adds */
    double speed[9];            /* of each of 1, 2, ... at a time, against one alone */
    double planning_s;
    uint64_t digest; /* of the plan */
} banyan_train_stats;

BANYAN_API banyan_status banyan_train_get_stats(banyan_train *train, banyan_train_stats *stats);

/* The plan in its text form (banyan-grouping(5)) into the buffer, whose tensors are numbered in the plan's
 * order; *needed gets its length and one more, also where the buffer is too small (INVALID_ARGUMENT) or
 * NULL. */
BANYAN_API banyan_status banyan_train_get_plan(banyan_train *train, char *buffer, size_t bytes,
                                               size_t *needed);

/* The sentence of the last call that failed. Never NULL. Valid until another call fails on the handle. */
BANYAN_API const char *banyan_train_last_error(const banyan_train *train);

/* Gives everything back (NULL is fine); no other call may be running. In the middle of an iteration it ends
 * the engine on all ranks. */
BANYAN_API banyan_status banyan_train_destroy(banyan_train *train);

#ifdef __cplusplus
}
#endif
#endif
