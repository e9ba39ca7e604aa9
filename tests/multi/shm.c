/* SPDX-License-Identifier: Apache-2.0 */
/* The shm transport between processes: every algorithm, type and op gives the reference's bits, whichever way
 * the bytes go; and the fault matrix: killed, stopped, slow, missing, out of memory. Nothing is left behind.
 */
#include "multi/processes.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/random.h"
#include "execute/reference.h"
#include "execute/run.h"
#include "transport/shared.h"
#include "transport/shm.h"
#include "transport/shm_endpoint.h"
#include "unit/test.h"

static const banyan_transport *const shm = &banyan_transport_shm;

enum { LIMIT_S = 100, TIMEOUT_MS = 60000 };

static banyan_shm_meeting meeting_of(child *self, banyan_shm_way way, size_t slot_bytes)
{
    return (banyan_shm_meeting){
        .exchange = {child_allgather, self}, .deadline_ns = INT64_MAX, .slot_bytes = slot_bytes, .way = way};
}

static banyan_endpoint *open_in(child *self, banyan_shm_way way, size_t slot_bytes)
{
    banyan_shm_meeting meeting = meeting_of(self, way, slot_bytes);
    banyan_opening opening = {self->member, self->all->member_count, &meeting};
    banyan_endpoint *endpoint;
    banyan_error err = {""};

    REQUIRE(shm->open(&opening, &endpoint, &err) == BANYAN_SUCCESS, "%s", err.text);
    return endpoint;
}

/* Nobody leaves before all have come. */
static void meet(child *self)
{
    char mine = 1, all[MOST_PROCESSES];

    child_allgather(self, &mine, 1, all, 0, NULL);
}

/* ---- whole collectives ---- */

enum { MOST_CASES = 400 };

/* One collective: what goes in, and what must come out. */
typedef struct {
    const banyan_schedule *schedule;
    banyan_dependencies *dependencies;
    banyan_datatype type;
    banyan_op op;
    size_t count, slice_bytes;
    char *before[MOST_PROCESSES], *after[MOST_PROCESSES]; /* by rank */
} collective;

typedef struct {
    banyan_topology *topology;
    banyan_schedule *schedules[64];
    int schedule_count;
    collective cases[MOST_CASES];
    int case_count;
    char is_present[MOST_PROCESSES];
    banyan_shm_way way;
    size_t slot_bytes;
    int from_region;
} campaign;

static void add_case(campaign *c, const banyan_schedule *schedule, banyan_datatype type, banyan_op op,
                     size_t count, size_t slice_bytes)
{
    collective *one = &c->cases[c->case_count++];
    banyan_random random = {17 + count};
    size_t bytes = count * banyan_datatype_bytes(type);

    assert_true(c->case_count <= MOST_CASES);
    *one = (collective){
        .schedule = schedule, .type = type, .op = op, .count = count, .slice_bytes = slice_bytes};
    assert_int_equal(banyan_dependencies_derive(schedule, &one->dependencies, NULL), BANYAN_SUCCESS);
    for (int rank = 0; rank < schedule->active_count; rank++) {
        one->before[rank] = malloc(bytes + 1);
        one->after[rank] = malloc(bytes + 1);
        for (size_t i = 0; i < bytes; i++)
            one->before[rank][i] = (char)banyan_random_next(&random);
        memcpy(one->after[rank], one->before[rank], bytes);
    }
    assert_int_equal(banyan_reference_run(schedule, count, type, op, (void **)one->after, NULL),
                     BANYAN_SUCCESS);
    for (int i = 0; i < schedule->active_count; i++)
        c->is_present[schedule->active[i]] = 1;
    for (size_t i = 0; i < schedule->transfer_count; i++)
        c->is_present[schedule->transfers[i].src] = c->is_present[schedule->transfers[i].dst] = 1;
}

static const banyan_schedule *add_schedule(campaign *c, const char *algorithm, const char *active)
{
    banyan_problem problem = {.topology = c->topology, .collective = BANYAN_COLLECTIVE_ALLREDUCE};
    const banyan_algorithm *a = banyan_algorithm_find(algorithm);
    banyan_schedule *schedule = NULL;
    int *list;

    assert_non_null(a);
    assert_int_equal(banyan_topology_parse_active(c->topology, active, &list, &problem.active_count, NULL),
                     BANYAN_SUCCESS);
    problem.active = list;
    if (!banyan_algorithm_applies(a, &problem, NULL) && !banyan_algorithm_build(a, &problem, &schedule, NULL))
        c->schedules[c->schedule_count++] = schedule;
    banyan_free(list);
    return schedule;
}

static void begin(campaign *c, const char *spec)
{
    *c = (campaign){.schedule_count = 0};
    assert_int_equal(banyan_topology_load(spec, &c->topology, NULL), BANYAN_SUCCESS);
}

static void end(campaign *c)
{
    for (int i = 0; i < c->case_count; i++) {
        for (int rank = 0; rank < c->cases[i].schedule->active_count; rank++) {
            free(c->cases[i].before[rank]);
            free(c->cases[i].after[rank]);
        }
        banyan_dependencies_destroy(c->cases[i].dependencies);
    }
    for (int i = 0; i < c->schedule_count; i++)
        banyan_schedule_destroy(c->schedules[i]);
    banyan_topology_destroy(c->topology);
}

static void run_case(const collective *one, int number, banyan_endpoint *endpoint, int from_region)
{
    banyan_run_request request = {
        .count = one->count, .type = one->type, .op = one->op, .timeout_ms = TIMEOUT_MS};
    size_t bytes = one->count * banyan_datatype_bytes(one->type);
    banyan_program *program;
    banyan_runner *runner;
    banyan_error err = {""};
    void *memory = NULL;

    REQUIRE(!banyan_program_compile(one->schedule, one->dependencies, endpoint->member, &program, &err), "%s",
            err.text);
    REQUIRE(!banyan_runner_create(program, endpoint, one->slice_bytes, TIMEOUT_MS, &runner, &err), "%s",
            err.text);
    if (from_region)
        REQUIRE(!banyan_shared_alloc(bytes + 1, &memory, &err), "%s", err.text);
    else
        memory = malloc(bytes + 1);
    request.buffer = memory;
    if (program->rank >= 0 && bytes)
        memcpy(memory, one->before[program->rank], bytes);
    REQUIRE(!banyan_runner_run(runner, &request, &err), "case %d: %s", number, err.text);
    if (program->rank >= 0 && bytes)
        REQUIRE(!memcmp(memory, one->after[program->rank], bytes),
                "case %d (%s, %zu %s %s): rank %d differs from the reference", number,
                one->schedule->algorithm, one->count, banyan_datatype_string(one->type),
                banyan_op_string(one->op), program->rank);
    if (from_region)
        banyan_shared_free(memory, NULL);
    else
        free(memory);
    banyan_runner_destroy(runner);
    banyan_program_destroy(program);
}

static void run_campaign(child *self, void *argument)
{
    const campaign *c = argument;
    int fds = count_entries("/proc/self/fd");
    banyan_endpoint *endpoint = open_in(self, c->way, c->slot_bytes);

    for (int i = 0; i < c->case_count; i++)
        run_case(&c->cases[i], i, endpoint, c->from_region);
    shm->close(endpoint);
    REQUIRE(count_entries("/proc/self/fd") == fds, "descriptors are left");
}

static void launch(campaign *c, const char *what)
{
    processes p = {.member_count = c->topology->node_count,
                   .is_present = c->is_present,
                   .body = run_campaign,
                   .argument = c,
                   .seconds = LIMIT_S};
    int fds = count_entries("/proc/self/fd"), files = count_shared();

    run_processes(&p);
    check_all_ended_well(&p, what);
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    assert_int_equal(count_shared(), files);
}

static void add_every_algorithm(campaign *c, size_t count)
{
    for (int i = 0; i < banyan_algorithm_count(); i++) {
        const banyan_schedule *schedule = add_schedule(c, banyan_algorithm_at(i)->name, NULL);

        if (schedule)
            add_case(c, schedule, BANYAN_FLOAT32, BANYAN_SUM, count, 0);
    }
    assert_true(c->case_count > 5);
}

TEST(every_algorithm_gives_the_references_bits)
{
    static const char *const specs[] = {"hosts:2+3", "torus:2x4", "full:2"};
    campaign c;

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        begin(&c, specs[i]);
        add_every_algorithm(&c, 1037);
        launch(&c, specs[i]);
        end(&c);
    }
}

TEST(long_vectors_are_read_from_the_senders_process_or_go_through_slots)
{
    static const banyan_shm_way ways[] = {BANYAN_SHM_BEST, BANYAN_SHM_READ_PROCESS, BANYAN_SHM_ONLY_SLOTS};
    campaign c;

    begin(&c, "hosts:1+3");
    add_every_algorithm(&c, 40009);
    for (size_t i = 0; i < 3; i++) {
        c.way = ways[i];
        launch(&c, "one of the ways");
    }
    c.from_region = 1;
    launch(&c, "shared memory, streams");
    c.way = BANYAN_SHM_BEST;
    launch(&c, "shared memory, side by side");
    end(&c);
}

TEST(every_type_and_op_gives_the_references_bits)
{
    campaign c;
    const banyan_schedule *schedule;

    begin(&c, "switch:3");
    schedule = add_schedule(&c, "ring", NULL);
    for (int type = 0; type <= BANYAN_BFLOAT16; type++)
        for (int op = 0; op <= BANYAN_AVG; op++)
            if (banyan_datatype_bytes((banyan_datatype)type))
                add_case(&c, schedule, (banyan_datatype)type, (banyan_op)op, 4099, 0);
    assert_int_equal(c.case_count, 50);
    c.way = BANYAN_SHM_READ_PROCESS;
    launch(&c, "types");
    c.way = BANYAN_SHM_ONLY_SLOTS;
    launch(&c, "types in slots");
    end(&c);
}

/* How memory may lie: in place, apart, in parts of which some are apart, and anywhere in a line of the cache, other
 * ranks' elsewhere. */
static void run_lying(const collective *one, banyan_runner *runner, int rank, int way)
{
    size_t width = banyan_datatype_bytes(one->type), bytes = one->count * width;
    size_t offset = way == 1 ? 1 : way == 2 ? 16 : way == 3 ? (size_t)(rank + 1) * 8 : 0;
    char *input = malloc(bytes + 64), *result = malloc(bytes + 64);
    banyan_part parts[3] = {
        {0, result, input},
        {one->count / 3, input + one->count / 3 * width, input + one->count / 3 * width},
        {one->count / 2, result + one->count / 2 * width, input + one->count / 2 * width}};
    banyan_run_request request = {
        .count = one->count, .type = one->type, .op = one->op, .timeout_ms = TIMEOUT_MS};
    banyan_error err = {""};
    const char *found = result + offset;

    memcpy(input + offset, one->before[rank], bytes);
    request.buffer = result + offset;
    request.input = input + offset;
    if (way < 2) {
        request.buffer = input + offset;
        request.input = NULL;
        found = input + offset;
    } else if (way == 4) {
        request.parts = parts;
        request.part_count = 3;
    }
    REQUIRE(!banyan_runner_run(runner, &request, &err), "way %d: %s", way, err.text);
    if (way == 4)
        memcpy(result + parts[1].first * width, parts[1].into, (parts[2].first - parts[1].first) * width);
    REQUIRE(!memcmp(found, one->after[rank], bytes), "%zu %s %s, way %d: rank %d differs from the reference",
            one->count, banyan_datatype_string(one->type), banyan_op_string(one->op), way, rank);
    if (way == 2 || way == 3)
        REQUIRE(!memcmp(input + offset, one->before[rank], bytes), "way %d changes the input", way);
    free(input);
    free(result);
}

static void run_lying_campaign(child *self, void *argument)
{
    const campaign *c = argument;
    banyan_endpoint *endpoint = open_in(self, BANYAN_SHM_BEST, 0);

    for (int i = 0; i < c->case_count; i++) {
        banyan_program *program;
        banyan_runner *runner;
        banyan_error err = {""};

        REQUIRE(!banyan_program_compile(c->cases[i].schedule, c->cases[i].dependencies, endpoint->member,
                                        &program, &err) &&
                    !banyan_runner_create(program, endpoint, 0, TIMEOUT_MS, &runner, &err),
                "%s", err.text);
        for (int way = 0; way < 5; way++)
            run_lying(&c->cases[i], runner, program->rank, way);
        banyan_runner_destroy(runner);
        banyan_program_destroy(program);
    }
    shm->close(endpoint);
}

static void check_lying(const char *spec, size_t longest_bytes)
{
    static const size_t lengths[] = {33000, 65536, 131080, 300000};
    const banyan_schedule *schedule;
    campaign c;

    begin(&c, spec);
    schedule = add_schedule(&c, "ring", NULL);
    for (int type = 0; type <= BANYAN_BFLOAT16; type++)
        for (int op = type % 2; op <= BANYAN_AVG; op += 2)
            if (banyan_datatype_bytes((banyan_datatype)type))
                add_case(&c, schedule, (banyan_datatype)type, (banyan_op)op,
                         lengths[(type + op / 2) % 4] / banyan_datatype_bytes((banyan_datatype)type), 0);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, longest_bytes / 4, 0);
    {
        processes p = {.member_count = c.topology->node_count,
                       .is_present = c.is_present,
                       .body = run_lying_campaign,
                       .argument = &c,
                       .seconds = LIMIT_S};

        run_processes(&p);
        check_all_ended_well(&p, spec);
    }
    end(&c);
}

TEST(wherever_memory_lies_ranks_side_by_side_have_the_references_bits)
{
    check_lying("full:2", ((size_t)13 << 20) + 12); /* two stores' kinds: past the cache from 12 MiB on */
    check_lying("full:3", ((size_t)8 << 20) + 12);
}

TEST(slots_smaller_than_a_slice_and_not_of_whole_elements_do)
{
    static const char *const names[] = {"ring", "recursive-doubling", "direct", "binomial"};
    campaign c;

    begin(&c, "switch:4");
    c.way = BANYAN_SHM_ONLY_SLOTS;
    c.slot_bytes = 67;
    for (int i = 0; i < 4; i++) {
        const banyan_schedule *schedule = add_schedule(&c, names[i], NULL);

        add_case(&c, schedule, BANYAN_FLOAT64, BANYAN_SUM, 1000, 0);
        add_case(&c, schedule, BANYAN_INT8, BANYAN_MAX, 1000, 64);
    }
    launch(&c, "tiny slots");
    end(&c);
}

TEST(one_rank_no_elements_one_element_and_many_do)
{
    campaign c;
    const banyan_schedule *schedule;

    begin(&c, "switch:1");
    schedule = add_schedule(&c, "ring", NULL);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 100, 0);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 0, 0);
    launch(&c, "one rank");
    end(&c);
    begin(&c, "switch:5");
    schedule = add_schedule(&c, "ring", NULL);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 0, 0);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 1, 0);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 700001, 0);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 4, 0);
    launch(&c, "odd sizes");
    end(&c);
}

TEST(relays_take_part_and_switches_are_in_no_process)
{
    static const char *const names[] = {"forest", "multitree", "ring"};
    campaign c;

    begin(&c, "torus:2x3");
    for (int i = 0; i < 3; i++) {
        const banyan_schedule *schedule = add_schedule(&c, names[i], "0,4,5");

        if (schedule)
            add_case(&c, schedule, BANYAN_INT32, BANYAN_SUM, 5003, 0);
    }
    assert_true(c.case_count > 0);
    launch(&c, "relays");
    end(&c);
}

TEST(eight_ranks_share_two_cores)
{
    campaign c;

    begin(&c, "switch:8");
    for (int i = 0; i < 4; i++)
        add_case(&c, add_schedule(&c, "direct", NULL), BANYAN_FLOAT32, BANYAN_SUM, 100003, 0);
    launch(&c, "eight");
    end(&c);
}

/* ---- faults ---- */

typedef struct {
    campaign c;
    int victim;
    int signal; /* what it sends itself in its second run; 0: it sleeps for a while; -1: it does not come */
    int timeout_ms;
    banyan_status wanted; /* of all others; SUCCESS: any of TIMEOUT and REMOTE_ERROR */
    const char *words;
} fault;

static void run_into_fault(child *self, void *argument)
{
    fault *f = argument;
    banyan_endpoint *endpoint = open_in(self, f->c.way, f->c.slot_bytes);
    const collective *one = &f->c.cases[0];
    size_t bytes = one->count * banyan_datatype_bytes(one->type);
    banyan_run_request request = {
        .count = one->count, .type = one->type, .op = one->op, .timeout_ms = f->timeout_ms};
    banyan_program *program;
    banyan_runner *runner;
    banyan_error err = {""};
    banyan_status status;
    int64_t start_ns;

    run_case(one, 0, endpoint, 0);
    meet(self);
    if (self->member == f->victim && f->signal > 0)
        raise(f->signal);
    if (self->member == f->victim && f->signal < 0)
        pause();
    if (self->member == f->victim)
        usleep(400000);
    REQUIRE(!banyan_program_compile(one->schedule, one->dependencies, self->member, &program, &err), "%s",
            err.text);
    REQUIRE(!banyan_runner_create(program, endpoint, 0, TIMEOUT_MS, &runner, &err), "%s", err.text);
    request.buffer = malloc(bytes);
    memcpy(request.buffer, one->before[self->member], bytes);
    start_ns = banyan_clock_ns();
    status = banyan_runner_run(runner, &request, &err);
    if (!f->signal) {
        REQUIRE(!status, "%s", err.text);
    } else {
        REQUIRE(status == f->wanted ||
                    (!f->wanted && (status == BANYAN_TIMEOUT || status == BANYAN_REMOTE_ERROR)),
                "status %d: %s", (int)status, err.text);
        REQUIRE(strstr(err.text, f->words), "%s", err.text);
        REQUIRE(banyan_clock_ns() - start_ns < INT64_C(20000000000), "it took too long");
        REQUIRE(shm->failure(endpoint, &err) != BANYAN_SUCCESS, "the failure is forgotten");
    }
    free(request.buffer);
    banyan_runner_destroy(runner);
    banyan_program_destroy(program);
    shm->close(endpoint);
}

static void check_fault_one_way(fault *f, const char *what, banyan_shm_way way)
{
    processes p = {.member_count = 4, .body = run_into_fault, .argument = f, .seconds = 30};
    int files = count_shared();

    begin(&f->c, "full:4");
    f->c.way = way;
    add_case(&f->c, add_schedule(&f->c, "ring", NULL), BANYAN_FLOAT32, BANYAN_SUM, 200000, 0);
    if (f->signal && f->signal != SIGKILL)
        p.staying = f->victim + 1;
    run_processes(&p);
    for (int i = 0; i < 4; i++)
        if (i != f->victim && p.ends[i])
            fail_msg("%s: member %d ended with wait status %d", what, i, p.ends[i]);
    assert_int_equal(p.ends[f->victim] == 0, f->signal == 0);
    assert_int_equal(count_shared(), files);
    end(&f->c);
}

static void check_fault(fault *f, const char *what)
{
    check_fault_one_way(f, what, BANYAN_SHM_READ_PROCESS);
    check_fault_one_way(f, what, BANYAN_SHM_ONLY_SLOTS);
}

TEST(a_rank_that_is_killed_is_named_and_everybody_returns)
{
    fault f = {.victim = 2,
               .signal = SIGKILL,
               .timeout_ms = TIMEOUT_MS,
               .wanted = BANYAN_PEER_LOST,
               .words = "rank 2 (process "};

    check_fault(&f, "killed");
}

TEST(a_rank_that_is_stopped_is_waited_for_until_the_time_out)
{
    fault f = {.victim = 1, .signal = SIGSTOP, .timeout_ms = 700, .words = "waited 700 ms for rank "};

    check_fault(&f, "stopped");
}

TEST(a_rank_that_does_not_come_is_waited_for_until_the_time_out)
{
    fault f = {.victim = 0, .signal = -1, .timeout_ms = 700, .words = "waited 700 ms for rank "};

    check_fault(&f, "missing");
}

TEST(a_slow_rank_is_waited_for)
{
    fault f = {.victim = 3, .signal = 0, .timeout_ms = TIMEOUT_MS};

    check_fault(&f, "slow");
}

/* ---- the transport's own contract ---- */

/* Waits for the stream's next bytes, looking in between. */
static size_t peek_soon(banyan_endpoint *endpoint, int peer, int stream, const void **memory)
{
    size_t there = shm->peek(endpoint, peer, stream, memory);

    while (!there && !shm->wait(endpoint, banyan_clock_ns() + INT64_C(20000000000), NULL))
        there = shm->peek(endpoint, peer, stream, memory);
    return there;
}

static void offer_all(banyan_endpoint *endpoint, int peer, int stream, const char *memory, size_t bytes)
{
    while (bytes) {
        size_t taken = shm->offer(endpoint, peer, stream, memory, bytes);

        memory += taken;
        bytes -= taken;
        if (!taken)
            REQUIRE(!shm->wait(endpoint, banyan_clock_ns() + INT64_C(20000000000), NULL), "no room");
    }
}

/* More streams are asked for while others carry bytes; a sender that has left is still read. */
static void send_and_leave(child *self, void *argument)
{
    banyan_endpoint *endpoint = open_in(self, BANYAN_SHM_BEST, 0);
    banyan_error err = {""};
    const void *memory;
    char text[64];

    (void)argument;
    for (int streams = 1; streams <= 40; streams += 13) {
        REQUIRE(!shm->connect(endpoint, 1 - self->member, streams, streams, 0, &err), "%s", err.text);
        if (self->member == 0) {
            snprintf(text, sizeof text, "stream %d", streams - 1);
            offer_all(endpoint, 1, streams - 1, text, strlen(text) + 1);
            memset(text, 0, sizeof text); /* short pieces are sent at once */
        }
    }
    if (self->member == 0) {
        REQUIRE(shm->sent(endpoint, 1, 39) == 10, "%d bytes sent", (int)shm->sent(endpoint, 1, 39));
        shm->close(endpoint);
        meet(self);
        return;
    }
    for (int streams = 40; streams >= 1; streams -= 13) {
        snprintf(text, sizeof text, "stream %d", streams - 1);
        if (streams == 40)
            REQUIRE(peek_soon(endpoint, 0, 39, &memory), "nothing came");
        if (streams == 27) /* the other has closed by now */
            meet(self);
        REQUIRE(peek_soon(endpoint, 0, streams - 1, &memory) == strlen(text) + 1, "%s", text);
        REQUIRE(!strcmp(memory, text), "%s is not %s", (const char *)memory, text);
        shm->consume(endpoint, 0, streams - 1, strlen(text) + 1);
    }
    shm->close(endpoint);
}

TEST(streams_grow_and_outlive_their_sender)
{
    processes p = {.member_count = 2, .body = send_and_leave, .seconds = 30};

    /* Member 1 attaches all its streams when it first looks, so the sender waits for no more than that. */
    run_processes(&p);
    check_all_ended_well(&p, "leave");
}

static void report(child *self, void *argument)
{
    const banyan_shm_way *way = argument;
    banyan_endpoint *endpoint = open_in(self, *way, 0);
    banyan_error err = {""};
    char text[128];

    REQUIRE(shm->reaches(endpoint, 1 - self->member) && !shm->reaches(endpoint, 2), "who is there");
    REQUIRE(shm->connect(endpoint, 2, 1, 1, 0, &err) == BANYAN_UNSUPPORTED, "a switch");
    REQUIRE(strstr(err.text, "cannot reach member 2 through shared memory"), "%s", err.text);
    REQUIRE(shm->connect(endpoint, self->member, 1, 1, 0, &err) == BANYAN_INVALID_ARGUMENT, "itself");
    REQUIRE(shm->connect(endpoint, 1 - self->member, BANYAN_TRANSPORT_MAX_STREAMS + 1, 1, 0, &err) ==
                BANYAN_UNSUPPORTED,
            "too many");
    REQUIRE(!shm->connect(endpoint, 1 - self->member, 1, 1, 0, &err), "%s", err.text);
    shm->describe(endpoint, 1 - self->member, text, sizeof text);
    if (*way == BANYAN_SHM_ONLY_SLOTS)
        REQUIRE(!strcmp(text, "slots"), "%s", text);
    else
        REQUIRE(!strcmp(text, "read from its process") || strstr(text, "slots, because "), "%s", text);
    if (*way == BANYAN_SHM_READ_PROCESS)
        REQUIRE(!strstr(text, "faster"), "%s", text);
    meet(self);
    shm->close(endpoint);
}

TEST(each_pair_says_how_its_bytes_travel)
{
    banyan_shm_way ways[] = {BANYAN_SHM_BEST, BANYAN_SHM_READ_PROCESS, BANYAN_SHM_ONLY_SLOTS};
    processes p = {.member_count = 3, .is_present = "\1\1", .body = report, .seconds = 30};

    for (int i = 0; i < 3; i++) {
        p.argument = &ways[i];
        run_processes(&p);
        check_all_ended_well(&p, "report");
    }
}

/* As container engines do it by default. */
static void forbid_reading_processes(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    REQUIRE(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "%s", strerror(errno));
}

static void run_without_reading(child *self, void *argument)
{
    const campaign *c = argument;
    banyan_endpoint *endpoint;
    char text[128];

    forbid_reading_processes();
    endpoint = open_in(self, BANYAN_SHM_READ_PROCESS, 0);
    run_case(&c->cases[0], 0, endpoint, 0);
    shm->describe(endpoint, 1 - self->member, text, sizeof text);
    REQUIRE(!strcmp(text, "slots, because reading its process fails: Operation not permitted"), "%s", text);
    shm->close(endpoint);
}

TEST(where_reading_a_process_is_forbidden_slots_are_taken_and_the_reason_is_told)
{
    campaign c;
    processes p = {.member_count = 2, .body = run_without_reading, .argument = &c, .seconds = 30};

    begin(&c, "full:2");
    add_case(&c, add_schedule(&c, "ring", NULL), BANYAN_FLOAT32, BANYAN_SUM, 50001, 0);
    run_processes(&p);
    check_all_ended_well(&p, "forbidden");
    end(&c);
}

/* One member becomes another user, whom the kernel lets look into nobody's descriptors. */
static void open_as_strangers(child *self, void *argument)
{
    banyan_shm_meeting meeting = meeting_of(self, BANYAN_SHM_BEST, 0);
    banyan_opening opening = {self->member, 2, &meeting};
    banyan_endpoint *endpoint;
    banyan_error err = {""};
    banyan_status status;

    (void)argument;
    if (self->member == 1)
        REQUIRE(!setresuid(65534, 65534, 65534), "%s", strerror(errno));
    status = shm->open(&opening, &endpoint, &err);
    REQUIRE(!endpoint, "it was opened");
    if (self->member == 1)
        REQUIRE(status == BANYAN_SYSTEM_ERROR && strstr(err.text, "rank 0 (process ") &&
                    strstr(err.text, "Permission denied"),
                "%s", err.text);
    else
        REQUIRE(status == BANYAN_REMOTE_ERROR && strstr(err.text, "rank 1 cannot open its shared memory"),
                "%s", err.text);
    _exit(0); /* the leak checker may not look either */
}

TEST(processes_of_different_users_do_not_meet_and_both_hear_why)
{
    processes p = {.member_count = 2, .body = open_as_strangers, .seconds = 30};

    if (geteuid() != 0)
        skip();
    run_processes(&p);
    check_all_ended_well(&p, "strangers");
}

/* ---- sleeping in poll ---- */

static void sleep_in_poll(child *self, void *argument)
{
    banyan_endpoint *endpoint = open_in(self, BANYAN_SHM_BEST, 0);
    const void *memory;
    int naps = 0;

    (void)argument;
    REQUIRE(!shm->connect(endpoint, 1 - self->member, 1, 1, 0, NULL), "connect");
    if (self->member == 0) {
        for (int i = 0; i < 3; i++) {
            usleep(60000);
            offer_all(endpoint, 1, 0, "abc", 1);
        }
    } else {
        for (int got = 0; got < 3;) {
            struct pollfd look = {.fd = shm->sleep_fd(endpoint), .events = POLLIN};

            if (look.fd >= 0)
                naps += poll(&look, 1, 10000) == 1;
            REQUIRE(!shm->wait(endpoint, 0, NULL), "nothing after a knock");
            if (shm->peek(endpoint, 0, 0, &memory)) {
                shm->consume(endpoint, 0, 0, 1);
                got++;
            }
        }
        REQUIRE(naps >= 2, "%d naps", naps);
    }
    meet(self);
    shm->close(endpoint);
}

TEST(a_member_can_sleep_in_poll_and_is_woken)
{
    processes p = {.member_count = 2, .body = sleep_in_poll, .seconds = 30};

    run_processes(&p);
    check_all_ended_well(&p, "poll");
}

/* A ringer that has taken the flag and knocks only after the sleeper has gone on. */
static void get_a_late_knock(child *self, void *argument)
{
    banyan_endpoint *endpoint = open_in(self, BANYAN_SHM_BEST, 0);
    shm_endpoint *e = (shm_endpoint *)endpoint;
    struct pollfd look = {.events = POLLIN};

    (void)argument;
    look.fd = shm->sleep_fd(endpoint);
    REQUIRE(look.fd >= 0 && atomic_exchange(&e->own.header->polls, 0), "it is not about to sleep");
    REQUIRE(shm->wait(endpoint, 0, NULL) == BANYAN_TIMEOUT, "news out of nowhere");
    REQUIRE(write(e->own.header->knock_fd, "", 1) == 1, "no pipe");
    for (int i = 0; i < 3; i++) {
        look.fd = shm->sleep_fd(endpoint);
        REQUIRE(poll(&look, 1, 0) == (i == 0), "sleep %d: %s", i, i ? "disturbed again" : "not disturbed");
        REQUIRE(shm->wait(endpoint, 0, NULL) == BANYAN_TIMEOUT, "news out of nowhere");
    }
    shm->close(endpoint);
}

TEST(a_late_knock_disturbs_one_sleep_and_no_more)
{
    processes p = {.member_count = 1, .body = get_a_late_knock, .seconds = 30};

    run_processes(&p);
    check_all_ended_well(&p, "late knock");
}

/* ---- running out of memory ---- */

static void open_with_little_memory(child *self, void *argument)
{
    const long *calls = argument;
    banyan_shm_meeting meeting = meeting_of(self, BANYAN_SHM_BEST, 0);
    banyan_opening opening = {self->member, 2, &meeting};
    banyan_endpoint *endpoint;
    banyan_error err = {""};
    banyan_status status;
    int fds = count_entries("/proc/self/fd");

    if (self->member == 0)
        banyan_alloc_fail_after(*calls);
    status = shm->open(&opening, &endpoint, &err);
    REQUIRE((status == BANYAN_SUCCESS) == (endpoint != NULL), "%s", err.text);
    if (!status && self->member == 0)
        status = shm->connect(endpoint, 1, 5, 5, 0, &err);
    banyan_alloc_fail_after(-1);
    REQUIRE(!status || strlen(err.text) > 0, "no sentence");
    shm->close(endpoint);
    REQUIRE(count_entries("/proc/self/fd") == fds, "descriptors are left");
    exit(status ? 1 : 0);
}

TEST(every_allocation_may_fail_and_the_others_hear_of_it)
{
    processes p = {.member_count = 2, .body = open_with_little_memory, .seconds = 30};
    long calls = 0;

    p.argument = &calls;
    do {
        run_processes(&p);
        for (int i = 0; i < 2; i++)
            if (!WIFEXITED(p.ends[i]) || WEXITSTATUS(p.ends[i]) > 1)
                fail_msg("after %ld allocations member %d ended with wait status %d", calls, i, p.ends[i]);
        assert_true(++calls < 50);
    } while (p.ends[0]);
    assert_true(calls > 5);
}

/* ---- members as threads of one process ---- */

typedef struct {
    pthread_mutex_t lock;
    pthread_barrier_t barrier;
    char blobs[2][256];
} table;

typedef struct {
    table *table;
    int member;
    pthread_t thread;
    banyan_endpoint *endpoint;
} seat;

static banyan_status seat_allgather(void *context, const void *mine, size_t bytes, void *all,
                                    int64_t deadline_ns, banyan_error *err)
{
    seat *s = context;

    (void)deadline_ns;
    (void)err;
    memcpy(s->table->blobs[s->member], mine, bytes);
    pthread_barrier_wait(&s->table->barrier);
    for (int i = 0; i < 2; i++)
        memcpy((char *)all + (size_t)i * bytes, s->table->blobs[i], bytes);
    pthread_barrier_wait(&s->table->barrier);
    return BANYAN_SUCCESS;
}

static void *take_seat(void *argument)
{
    seat *s = argument;
    banyan_shm_meeting meeting = {.exchange = {seat_allgather, s}, .deadline_ns = INT64_MAX};
    banyan_opening opening = {s->member, 2, &meeting};

    shm->open(&opening, &s->endpoint, NULL);
    return NULL;
}

static void *abort_soon(void *argument)
{
    usleep(50000);
    shm->abort(argument, BANYAN_REMOTE_ERROR, "somebody pressed a button");
    shm->abort(argument, BANYAN_MISMATCH, "too late");
    return NULL;
}

TEST(an_abort_from_another_thread_wakes_all_and_the_first_one_counts)
{
    table t = {.blobs = {""}};
    seat seats[2];
    pthread_t thread;
    banyan_error err = {""};

    pthread_barrier_init(&t.barrier, NULL, 2);
    for (int i = 0; i < 2; i++) {
        seats[i] = (seat){.table = &t, .member = i};
        pthread_create(&seats[i].thread, NULL, take_seat, &seats[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(seats[i].thread, NULL);
    pthread_barrier_destroy(&t.barrier);
    assert_non_null(seats[0].endpoint);
    assert_int_equal(shm->wait(seats[1].endpoint, banyan_clock_ns() + 1000000, &err), BANYAN_TIMEOUT);
    pthread_create(&thread, NULL, abort_soon, seats[0].endpoint);
    for (int i = 0; i < 2; i++) {
        banyan_status status;

        do
            status = shm->wait(seats[i].endpoint, banyan_clock_ns() + INT64_C(20000000000), &err);
        while (!status);
        assert_int_equal(status, BANYAN_REMOTE_ERROR);
        CHECK_SAYS(err, "somebody pressed a button");
    }
    pthread_join(thread, NULL);
    shm->abort(seats[1].endpoint, BANYAN_MISMATCH, "much too late");
    assert_int_equal(shm->failure(seats[0].endpoint, &err), BANYAN_REMOTE_ERROR);
    for (int i = 0; i < 2; i++)
        shm->close(seats[i].endpoint);
}

TEST(wrong_openings_are_refused_with_a_sentence)
{
    banyan_shm_meeting meeting = {.slot_bytes = 3};
    banyan_opening openings[] = {{0, 0, &meeting}, {3, 2, &meeting}, {0, 1, NULL}, {0, 1, &meeting}};
    static const char *const words[] = {"1 to 4096 members", "member 3 of 2", "member 0 of 1",
                                        "64 bytes to 1 GiB, not 3"};
    banyan_endpoint *endpoint;
    banyan_error err = {""};

    for (int i = 0; i < 4; i++) {
        assert_int_equal(shm->open(&openings[i], &endpoint, &err), BANYAN_INVALID_ARGUMENT);
        assert_null(endpoint);
        CHECK_SAYS(err, words[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_the_references_bits),
        cmocka_unit_test(long_vectors_are_read_from_the_senders_process_or_go_through_slots),
        cmocka_unit_test(every_type_and_op_gives_the_references_bits),
        cmocka_unit_test(wherever_memory_lies_ranks_side_by_side_have_the_references_bits),
        cmocka_unit_test(slots_smaller_than_a_slice_and_not_of_whole_elements_do),
        cmocka_unit_test(one_rank_no_elements_one_element_and_many_do),
        cmocka_unit_test(relays_take_part_and_switches_are_in_no_process),
        cmocka_unit_test(eight_ranks_share_two_cores),
        cmocka_unit_test(a_rank_that_is_killed_is_named_and_everybody_returns),
        cmocka_unit_test(a_rank_that_is_stopped_is_waited_for_until_the_time_out),
        cmocka_unit_test(a_rank_that_does_not_come_is_waited_for_until_the_time_out),
        cmocka_unit_test(a_slow_rank_is_waited_for),
        cmocka_unit_test(streams_grow_and_outlive_their_sender),
        cmocka_unit_test(each_pair_says_how_its_bytes_travel),
        cmocka_unit_test(where_reading_a_process_is_forbidden_slots_are_taken_and_the_reason_is_told),
        cmocka_unit_test(processes_of_different_users_do_not_meet_and_both_hear_why),
        cmocka_unit_test(a_member_can_sleep_in_poll_and_is_woken),
        cmocka_unit_test(a_late_knock_disturbs_one_sleep_and_no_more),
        cmocka_unit_test(every_allocation_may_fail_and_the_others_hear_of_it),
        cmocka_unit_test(an_abort_from_another_thread_wakes_all_and_the_first_one_counts),
        cmocka_unit_test(wrong_openings_are_refused_with_a_sentence),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
