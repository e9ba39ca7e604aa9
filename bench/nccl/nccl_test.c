/* SPDX-License-Identifier: Apache-2.0 */
/* bench/nccl/nccl_test.c: banyan-nccl-test: times NCCL's all-reduce and prints nccl-tests' columns, for
 * machines that have NCCL but not nccl-tests. libnccl.so.2 and libcuda.so.1 are loaded when it runs, so
 * neither is needed to build it.
 *
 * One process per rank, told by RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, as torchrun and
 * `banyan run --nccl` set them. Time is rank 0's, over all iterations of a size, as nccl-tests does it. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    char bytes[128];
} unique_id;

typedef uint64_t device_pointer;

/* X(result, name, arguments) */
#define NCCL_FUNCTIONS(X)                                                                                    \
    X(int, ncclGetVersion, (int *))                                                                          \
    X(int, ncclGetUniqueId, (unique_id *))                                                                   \
    X(int, ncclCommInitRank, (void **, int, unique_id, int))                                                 \
    X(int, ncclCommDestroy, (void *))                                                                        \
    X(int, ncclCommAbort, (void *))                                                                          \
    X(int, ncclCommGetAsyncError, (void *, int *))                                                           \
    X(int, ncclAllReduce, (device_pointer, device_pointer, size_t, int, int, void *, void *))                \
    X(const char *, ncclGetErrorString, (int))                                                               \
    X(const char *, ncclGetLastError, (void *))
#define CUDA_FUNCTIONS(X)                                                                                    \
    X(int, cuInit, (unsigned))                                                                               \
    X(int, cuDeviceGetCount, (int *))                                                                        \
    X(int, cuDeviceGet, (int *, int))                                                                        \
    X(int, cuDeviceGetName, (char *, int, int))                                                              \
    X(int, cuDevicePrimaryCtxRetain, (void **, int))                                                         \
    X(int, cuCtxSetCurrent, (void *))                                                                        \
    X(int, cuMemAlloc_v2, (device_pointer *, size_t))                                                        \
    X(int, cuMemFree_v2, (device_pointer))                                                                   \
    X(int, cuMemcpyHtoD_v2, (device_pointer, const void *, size_t))                                          \
    X(int, cuMemcpyDtoH_v2, (void *, device_pointer, size_t))                                                \
    X(int, cuStreamCreate, (void **, unsigned))                                                              \
    X(int, cuStreamQuery, (void *))

#define DECLARE(result, name, arguments) static result(*name) arguments;
NCCL_FUNCTIONS(DECLARE)
CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

enum { FLOAT32 = 7, SUM = 0, NOT_READY = 600 };
enum { LONGEST_WAIT_S = 120 };
enum { MOST_QUEUED = 500 }; /* a full queue of CUDA blocks its caller, who then hears of no error */

typedef struct {
    size_t first, last, factor;
    int iterations, warm_up;
    const char *json;
} request;

typedef struct {
    int rank, size, local;
    void *comm, *stream;
    device_pointer send, recv;
    float *host;
} job;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "banyan-nccl-test: %s: %s\n", what, why);
    exit(1);
}

static void check_nccl(const job *j, int result, const char *what)
{
    char why[700];

    if (!result)
        return;
    snprintf(why, sizeof why, "%s; %s", ncclGetErrorString(result), ncclGetLastError(j->comm));
    fail(what, why);
}

static void check_cuda(int result, const char *what)
{
    char why[40];

    snprintf(why, sizeof why, "CUDA error %d", result);
    if (result)
        fail(what, why);
}

static void *load_from(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (!found)
        fail(name, "the library does not have it");
    return found;
}

static void load_libraries(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *nccl;

    if (!cuda)
        fail("libcuda.so.1", dlerror());
    nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (!nccl)
        fail("libnccl.so.2", dlerror());
#define LOAD(result, name, arguments) *(void **)&(name) = load_from(library, #name);
    {
        void *library = nccl;
        NCCL_FUNCTIONS(LOAD)
        library = cuda;
        CUDA_FUNCTIONS(LOAD)
    }
#undef LOAD
}

static int read_number(const char *name, int fallback)
{
    const char *text = getenv(name);

    return text && *text ? atoi(text) : fallback;
}

/* ---- The id, from rank 0 to the others. */

static void give_id(const unique_id *id, int others)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct timeval patience = {.tv_sec = LONGEST_WAIT_S};

    address.sin_port = htons((uint16_t)read_number("MASTER_PORT", 29500));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024))
        fail("MASTER_PORT", strerror(errno));
    for (int i = 0; i < others; i++) {
        int other = accept(listener, NULL, NULL);

        if (other < 0 || send(other, id, sizeof *id, MSG_NOSIGNAL) != (ssize_t)sizeof *id)
            fail("giving the id to the other ranks", strerror(errno));
        close(other);
    }
    close(listener);
}

static void get_id(unique_id *id)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    const char *host = getenv("MASTER_ADDR"), *port = getenv("MASTER_PORT");
    struct timespec pause = {.tv_nsec = 50000000};

    if (getaddrinfo(host ? host : "127.0.0.1", port ? port : "29500", &hints, &found))
        fail("MASTER_ADDR", "the name is not known");
    for (int i = 0; i < 20 * LONGEST_WAIT_S; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (!connect(fd, found->ai_addr, found->ai_addrlen) &&
            recv(fd, id, sizeof *id, MSG_WAITALL) == (ssize_t)sizeof *id) {
            close(fd);
            freeaddrinfo(found);
            return;
        }
        close(fd);
        nanosleep(&pause, NULL);
    }
    fail("rank 0", "it has not given the id");
}

/* ---- Measuring. */

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Polls, so that an error of NCCL ends the wait. */
static void finish(const job *j)
{
    double until_s = now_s() + LONGEST_WAIT_S;
    int error = 0, state;

    while ((state = cuStreamQuery(j->stream)) == NOT_READY) {
        if (!ncclCommGetAsyncError(j->comm, &error) && error) {
            char why[700];

            snprintf(why, sizeof why, "%s; %s", ncclGetErrorString(error), ncclGetLastError(j->comm));
            ncclCommAbort(j->comm);
            fail("the all-reduce failed", why);
        }
        if (now_s() > until_s)
            fail("the all-reduce", "it has not ended after 120 s");
    }
    check_cuda(state, "the stream");
}

static float value(int rank, size_t i)
{
    return (float)(rank + 1) + (float)(i % 13);
}

static long count_wrong(const job *j, size_t count, device_pointer result)
{
    long wrong = 0;

    check_cuda(cuMemcpyDtoH_v2(j->host, result, count * sizeof *j->host), "copying the result");
    for (size_t i = 0; i < count; i++) {
        float sum = (float)(j->size * (j->size + 1) / 2) + (float)j->size * (float)(i % 13);

        wrong += j->host[i] != sum;
    }
    return wrong;
}

static void fill(const job *j, size_t count, device_pointer to)
{
    for (size_t i = 0; i < count; i++)
        j->host[i] = value(j->rank, i);
    check_cuda(cuMemcpyHtoD_v2(to, j->host, count * sizeof *j->host), "copying the input");
}

typedef struct {
    double time_us, algorithm_gbps, bus_gbps;
    long wrong;
} figures;

static figures measure(const job *j, const request *r, size_t bytes, int is_in_place)
{
    size_t count = bytes / sizeof(float);
    device_pointer to = is_in_place ? j->send : j->recv;
    figures f = {.wrong = 0};
    double begin_s;

    fill(j, count, j->send);
    check_nccl(j, ncclAllReduce(j->send, to, count, FLOAT32, SUM, j->comm, j->stream), "ncclAllReduce");
    finish(j);
    f.wrong = count_wrong(j, count, to);
    for (int i = 0; i < r->warm_up; i++)
        check_nccl(j, ncclAllReduce(j->send, to, count, FLOAT32, SUM, j->comm, j->stream), "ncclAllReduce");
    finish(j);
    begin_s = now_s();
    for (int i = 0; i < r->iterations; i++) {
        check_nccl(j, ncclAllReduce(j->send, to, count, FLOAT32, SUM, j->comm, j->stream), "ncclAllReduce");
        if (i % MOST_QUEUED == MOST_QUEUED - 1)
            finish(j);
    }
    finish(j);
    f.time_us = (now_s() - begin_s) * 1e6 / r->iterations;
    f.algorithm_gbps = (double)bytes / f.time_us / 1e3;
    f.bus_gbps = f.algorithm_gbps * 2 * (j->size - 1) / j->size;
    return f;
}

static void print_figures(const figures *f)
{
    printf(" %9.1f %7.2f %7.2f %6ld", f->time_us, f->algorithm_gbps, f->bus_gbps, f->wrong);
}

static void write_json(FILE *file, const figures *f, const char *name)
{
    fprintf(file, "\"%s\":{\"time\":%.3f,\"alg_bw\":%.4f,\"bus_bw\":%.4f,\"nwrong\":%ld}", name, f->time_us,
            f->algorithm_gbps, f->bus_gbps, f->wrong);
}

static int measure_all(const job *j, const request *r)
{
    FILE *json = r->json && j->rank == 0 ? fopen(r->json, "w") : NULL;
    double bus_sum = 0;
    int lines = 0, version = 0;
    long wrong = 0;

    ncclGetVersion(&version);
    if (r->json && j->rank == 0 && !json)
        fail(r->json, strerror(errno));
    if (json)
        fprintf(json, "{\"nccl_version\":%d,\"ranks\":%d,\"iterations\":%d,\"results\":[", version, j->size,
                r->iterations);
    if (j->rank == 0)
        printf(
            "# NCCL %d, %d ranks, %d iterations\n#\n"
            "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   "
            "algbw   busbw #wrong\n"
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  "
            "(GB/s)  (GB/s)\n",
            version, j->size, r->iterations);
    for (size_t bytes = r->first; bytes <= r->last; bytes *= r->factor, lines++) {
        figures out = measure(j, r, bytes, 0), in = measure(j, r, bytes, 1);

        wrong += out.wrong + in.wrong;
        bus_sum += out.bus_gbps + in.bus_gbps;
        if (j->rank)
            continue;
        printf("%12zu  %12zu  %8s  %6s  %6d", bytes, bytes / sizeof(float), "float", "sum", -1);
        print_figures(&out);
        print_figures(&in);
        printf("\n");
        fflush(stdout);
        if (!json)
            continue;
        fprintf(json, "%s{\"size\":%zu,\"count\":%zu,\"type\":\"float\",\"redop\":\"sum\",", lines ? "," : "",
                bytes, bytes / sizeof(float));
        write_json(json, &out, "out_of_place");
        fprintf(json, ",");
        write_json(json, &in, "in_place");
        fprintf(json, "}");
    }
    if (j->rank == 0)
        printf("# Out of bounds values : %ld %s\n# Avg bus bandwidth    : %g\n#\n"
               "# Collective test concluded: all_reduce_perf\n",
               wrong, wrong ? "FAILED" : "OK", lines ? bus_sum / 2 / lines : 0.0);
    if (json) {
        fprintf(json, "],\"out_of_bounds\":{\"count\":%ld,\"okay\":%s}}\n", wrong, wrong ? "false" : "true");
        fclose(json);
    }
    return wrong != 0;
}

/* ---- Options: nccl-tests' letters. */

static size_t read_size(const char *text)
{
    char *end;
    size_t size = strtoul(text, &end, 10);

    return *end == 'K' || *end == 'k'   ? size << 10
           : *end == 'M' || *end == 'm' ? size << 20
           : *end == 'G' || *end == 'g' ? size << 30
                                        : size;
}

static void read_options(int count, char **words, request *r)
{
    int letter;

    *r = (request){.first = 1 << 10, .last = 64 << 20, .factor = 4, .iterations = 20, .warm_up = 5};
    while ((letter = getopt(count, words, "b:e:f:n:w:J:h")) != -1)
        switch (letter) {
        case 'b':
            r->first = read_size(optarg);
            break;
        case 'e':
            r->last = read_size(optarg);
            break;
        case 'f':
            r->factor = read_size(optarg);
            break;
        case 'n':
            r->iterations = atoi(optarg);
            break;
        case 'w':
            r->warm_up = atoi(optarg);
            break;
        case 'J':
            r->json = optarg;
            break;
        default:
            printf(
                "banyan-nccl-test [-b FIRST] [-e LAST] [-f FACTOR] [-n ITERATIONS] [-w WARM_UP] [-J FILE]\n"
                "times NCCL's all-reduce of float sums, with nccl-tests' options and columns; ranks by "
                "RANK,\n"
                "WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT\n");
            exit(letter == 'h' ? 0 : 2);
        }
    if (r->first < sizeof(float) || r->factor < 2 || r->last < r->first || r->iterations < 1)
        fail("options",
             "sizes begin with 4 bytes, the factor is 2 or more, and there is an iteration at least");
}

static void open_device(job *j)
{
    int devices = 0, device = 0;
    void *context = NULL;

    check_cuda(cuInit(0), "cuInit");
    check_cuda(cuDeviceGetCount(&devices), "cuDeviceGetCount");
    check_cuda(cuDeviceGet(&device, devices ? j->local % devices : 0), "cuDeviceGet");
    check_cuda(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check_cuda(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check_cuda(cuStreamCreate(&j->stream, 0), "cuStreamCreate"); /* in order with copies */
}

int main(int count, char **words)
{
    job j = {.rank = read_number("RANK", 0), .size = read_number("WORLD_SIZE", 1)};
    unique_id id;
    request r;
    int result;

    j.local = read_number("LOCAL_RANK", j.rank);
    read_options(count, words, &r);
    load_libraries();
    open_device(&j);
    if (j.rank == 0) {
        check_nccl(&j, ncclGetUniqueId(&id), "ncclGetUniqueId");
        give_id(&id, j.size - 1);
    } else {
        get_id(&id);
    }
    check_nccl(&j, ncclCommInitRank(&j.comm, j.size, id, j.rank), "ncclCommInitRank");
    check_cuda(cuMemAlloc_v2(&j.send, r.last), "cuMemAlloc");
    check_cuda(cuMemAlloc_v2(&j.recv, r.last), "cuMemAlloc");
    j.host = malloc(r.last);
    if (!j.host)
        fail("memory", "there is none");
    result = measure_all(&j, &r);
    check_nccl(&j, ncclCommDestroy(j.comm), "ncclCommDestroy");
    return result;
}
