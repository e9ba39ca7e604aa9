/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/shm.c: the shm transport's contract, and its faults: killed, stopped, slow, missing, out of
 * memory. Nothing is left behind. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "multi/shm_campaign.h"
#include "transport/shm_endpoint.h"

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
    banyan_status status;
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
            status = shm->wait(endpoint, 0, NULL); /* a knock may come late, after what it told of */
            REQUIRE(!status || status == BANYAN_TIMEOUT, "%s", banyan_status_string(status));
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

/* Whoever has knocked at a member before has its pipe open, and may be the last one that has. */
static void wake_the_dead(child *self, void *argument)
{
    banyan_endpoint *endpoint = open_in(self, BANYAN_SHM_BEST, 0);
    shm_endpoint *e = (shm_endpoint *)endpoint;
    struct timespec pause = {.tv_nsec = 1000000};

    (void)argument;
    signal(SIGPIPE, SIG_DFL); /* whatever this was started by */
    REQUIRE(!shm->connect(endpoint, 1 - self->member, 1, 1, 0, NULL), "connect");
    for (int i = 0; i < 2; i++) {
        while (self->member == 1 && shm->sleep_fd(endpoint) < 0)
            shm->wait(endpoint, 0, NULL);
        meet(self);
        if (self->member == 1 && i)
            kill(getpid(), SIGKILL);
        while (i && !banyan_shm_is_lost(&e->peers[1]))
            nanosleep(&pause, NULL);
        if (self->member == 0)
            banyan_shm_wake(e, 1);
        if (!i)
            meet(self);
    }
    shm->close(endpoint);
}

TEST(a_wake_of_a_member_that_has_died_does_no_harm)
{
    processes p = {.member_count = 2, .body = wake_the_dead, .seconds = 30};

    run_processes(&p);
    assert_int_equal(p.ends[0], 0);
    assert_true(WIFSIGNALED(p.ends[1]) && WTERMSIG(p.ends[1]) == SIGKILL);
}

/* ---- who is watched ---- */

static int count_pidfds(void)
{
    char path[40], target[40];
    int count = 0;

    for (int fd = 0; fd < 256; fd++) {
        ssize_t length;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        length = readlink(path, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = '\0';
        count += strstr(target, "pidfd") != NULL;
    }
    return count;
}

/* Member 3 dies before its neighbour connects to it: the neighbour finds that out, and tells all. */
static void watch_the_next(child *self, void *argument)
{
    banyan_endpoint *endpoint = open_in(self, BANYAN_SHM_BEST, 0);
    banyan_status status = BANYAN_SUCCESS;
    banyan_error err = {""};

    (void)argument;
    REQUIRE(count_pidfds() == 0, "%d pidfds before anybody is connected", count_pidfds());
    if (self->member < 2)
        REQUIRE(!shm->connect(endpoint, 1 - self->member, 1, 1, 0, &err), "%s", err.text);
    if (self->member < 2)
        REQUIRE(count_pidfds() == 1, "%d pidfds with one peer", count_pidfds());
    meet(self);
    if (self->member == 3)
        kill(getpid(), SIGKILL);
    if (self->member == 2) {
        while (banyan_shm_segment_is_held(&((shm_endpoint *)endpoint)->peers[3].segment))
            usleep(1000);
        REQUIRE(!shm->connect(endpoint, 3, 1, 1, 0, &err), "%s", err.text);
        REQUIRE(count_pidfds() <= 1, "%d pidfds", count_pidfds());
    }
    while (!status || status == BANYAN_TIMEOUT)
        status = shm->wait(endpoint, banyan_clock_ns() + INT64_C(20000000000), &err);
    REQUIRE(status == BANYAN_PEER_LOST && strstr(err.text, "rank 3 (process "), "%s", err.text);
    shm->close(endpoint);
}

TEST(only_peers_of_plans_are_watched_and_one_that_died_before_is_found)
{
    processes p = {.member_count = 4, .body = watch_the_next, .seconds = 60};

    run_processes(&p);
    for (int i = 0; i < 3; i++)
        assert_int_equal(p.ends[i], 0);
    assert_true(WIFSIGNALED(p.ends[3]) && WTERMSIG(p.ends[3]) == SIGKILL);
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
} participant;

static banyan_status participant_allgather(void *context, const void *mine, size_t bytes, void *all,
                                           int64_t deadline_ns, banyan_error *err)
{
    participant *s = context;

    (void)deadline_ns;
    (void)err;
    memcpy(s->table->blobs[s->member], mine, bytes);
    pthread_barrier_wait(&s->table->barrier);
    for (int i = 0; i < 2; i++)
        memcpy((char *)all + (size_t)i * bytes, s->table->blobs[i], bytes);
    pthread_barrier_wait(&s->table->barrier);
    return BANYAN_SUCCESS;
}

static void *take_part(void *argument)
{
    participant *s = argument;
    banyan_shm_meeting meeting = {.exchange = {participant_allgather, s}, .deadline_ns = INT64_MAX};
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
    participant participants[2];
    pthread_t thread;
    banyan_error err = {""};

    pthread_barrier_init(&t.barrier, NULL, 2);
    for (int i = 0; i < 2; i++) {
        participants[i] = (participant){.table = &t, .member = i};
        pthread_create(&participants[i].thread, NULL, take_part, &participants[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(participants[i].thread, NULL);
    pthread_barrier_destroy(&t.barrier);
    assert_non_null(participants[0].endpoint);
    assert_int_equal(shm->wait(participants[1].endpoint, banyan_clock_ns() + 1000000, &err), BANYAN_TIMEOUT);
    pthread_create(&thread, NULL, abort_soon, participants[0].endpoint);
    for (int i = 0; i < 2; i++) {
        banyan_status status;

        do
            status = shm->wait(participants[i].endpoint, banyan_clock_ns() + INT64_C(20000000000), &err);
        while (!status);
        assert_int_equal(status, BANYAN_REMOTE_ERROR);
        CHECK_SAYS(err, "somebody pressed a button");
    }
    pthread_join(thread, NULL);
    shm->abort(participants[1].endpoint, BANYAN_MISMATCH, "much too late");
    assert_int_equal(shm->failure(participants[0].endpoint, &err), BANYAN_REMOTE_ERROR);
    for (int i = 0; i < 2; i++)
        shm->close(participants[i].endpoint);
}

TEST(wrong_openings_are_refused_with_a_sentence)
{
    banyan_shm_meeting meeting = {.slot_bytes = 3};
    banyan_opening openings[] = {{0, 0, &meeting}, {3, 2, &meeting}, {0, 1, NULL}, {0, 1, &meeting}};
    static const char *const words[] = {"1 to 16384 members", "member 3 of 2", "member 0 of 1",
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
        cmocka_unit_test(a_wake_of_a_member_that_has_died_does_no_harm),
        cmocka_unit_test(only_peers_of_plans_are_watched_and_one_that_died_before_is_found),
        cmocka_unit_test(every_allocation_may_fail_and_the_others_hear_of_it),
        cmocka_unit_test(an_abort_from_another_thread_wakes_all_and_the_first_one_counts),
        cmocka_unit_test(wrong_openings_are_refused_with_a_sentence),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
