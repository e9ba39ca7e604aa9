/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/partition.c: a network that falls into parts, silently, while its ranks compute; then all
 * shrink. Under the majority rule at most one part may go on, all of whose ranks have the same members and
 * the right sums; the others end in time and say why. Some cuts heal while the ranks shrink, at a random
 * moment.
 *
 *     [ rank 0 : eth0 ]──── c0 ┐                    ┌ c2 ────[ eth0 : ranks 2, 3 ]
 *     [ rank 1 : eth0 ]──── c1 ┴ bridge s0    s1 ───┴ c3 ────[ eth0 : rank 4 ]
 *
 * Every host is a network namespace, a part of the network is a bridge, and a cable is moved from one to the
 * other, so no interface goes down and nobody hears of it. Namespaces have no names: they end with their
 * processes. Needs root.
 *
 * BANYAN_PARTITIONS says how many rounds of all cuts there are (1 by default), BANYAN_SEED where the random
 * moments begin. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "core/random.h"
#include "jobs.h"

/* What is late on a crowded machine is tried again with twice the time; what is wrong is wrong at once. */
enum { FIRST_TIMEOUT_MS = 3000, LAST_TIMEOUT_MS = 12000, WELL = 0, WRONG = 1, LATE = 2 };
enum { COUNT = 1000, SENTENCE = 512, ALL_SIDES = 3 };

typedef struct {
    const char *name;
    const char *hosts; /* of each rank */
    const char *parts; /* of each host, after the cut */
    char survivor;     /* the part that goes on; '-': none may */
    int heals;         /* while they shrink */
} cut;

static const cut cuts[] = {
    {"two parts, the larger behind many silent ranks", "000000011111111", "01", '1', 0},
    {"two equal parts", "012345", "000111", '0', 0},
    {"three parts, one of them a majority", "0123456", "0112222", '2', 0},
    {"three parts without a majority", "0123456", "0011222", '-', 0},
    {"rank 0 alone", "0123456", "0111111", '1', 0},
    {"the last rank alone", "001122", "001", '0', 0},
    {"two parts that heal", "0123456", "0001111", '?', 1},
    {"three parts that heal", "0123456", "0011122", '?', 1},
};

/* What a rank has come to. */
typedef struct {
    _Atomic int has_network;
    banyan_status status;
    char sentence[SENTENCE];
    double seconds; /* of the shrink */
    int count, members[MOST_RANKS];
} report;

static uint64_t seed;
static int timeout_ms;
static const cut *current;

static report *report_of(job_memory *memory, int rank)
{
    return (report *)(void *)memory->results[rank];
}

static void pause_ms(long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *format, ...)
{
    char command[1000];
    va_list list;

    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    return system(command);
}

/* The first rank of a host makes its network, the others enter it. */
static int take_network(job_rank *self, pid_t *first)
{
    const char *hosts = current->hosts;
    int leader = (int)(strchr(hosts, hosts[self->rank]) - hosts);
    report *mine = report_of(self->memory, self->rank), *theirs = report_of(self->memory, leader);
    char path[64];
    int fd;

    if (leader == self->rank) {
        EXPECT(!unshare(CLONE_NEWNET), "unshare: %s", strerror(errno));
        *first = getpid();
        atomic_store(&mine->has_network, (int)getpid());
        return 0;
    }
    while (!atomic_load(&theirs->has_network))
        pause_ms(2);
    snprintf(path, sizeof path, "/proc/%d/ns/net", atomic_load(&theirs->has_network));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    EXPECT(fd >= 0 && !setns(fd, CLONE_NEWNET), "setns: %s", strerror(errno));
    close(fd);
    atomic_store(&mine->has_network, (int)getpid());
    return 0;
}

static banyan_status sum_ranks(banyan_comm *comm, int old_rank, float *sum)
{
    float data[COUNT];
    banyan_status status;

    for (int i = 0; i < COUNT; i++)
        data[i] = (float)(old_rank + 1);
    status = banyan_allreduce(data, data, COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm);
    *sum = data[COUNT - 1];
    return status;
}

/* Who is in the new group, and whether it computes. */
static int use(job_rank *self, banyan_comm *comm, report *mine)
{
    float sum, expected = 0;
    int size = 0;

    banyan_comm_size(comm, &size);
    if (banyan_all_gather(&self->rank, mine->members, 1, BANYAN_INT32, comm))
        return LATE;
    mine->count = size;
    for (int i = 0; i < size; i++)
        expected += (float)(mine->members[i] + 1);
    if (sum_ranks(comm, self->rank, &sum))
        return LATE;
    EXPECT(sum == expected, "%s: a sum of %g instead of %g", current->name, (double)sum, (double)expected);
    return WELL;
}

static int leave(job_rank *self, banyan_comm *comm, int descriptors, int threads)
{
    banyan_comm_destroy(comm);
    for (int i = 0; i < 6000; i++) {
        if (job_count_descriptors() <= descriptors && job_count_threads() <= threads)
            return 0;
        pause_ms(10);
    }
    EXPECT(0, "%d descriptors instead of %d, %d threads instead of %d are left", job_count_descriptors(),
           descriptors, job_count_threads(), threads);
}

static int live(job_rank *self)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    report *mine = report_of(self->memory, self->rank);
    int descriptors = job_count_descriptors(), threads = job_count_threads(), wrong = 0, calls = 0;
    banyan_comm *comm = NULL, *fresh = NULL;
    banyan_status status;
    pid_t first = 0;
    double begin_s;
    float sum;

    if (take_network(self, &first))
        return 1;
    job_wait_step(self->memory, 1); /* the cables are there */
    if (first)
        EXPECT(!run("ip addr add 10.78.0.%d/24 dev eth0 && ip link set eth0 up && ip link set lo up",
                    current->hosts[self->rank] - '0' + 1),
               "no address");
    pthread_barrier_wait(&self->memory->barrier);
    config.timeout_ms = timeout_ms;
    config.algorithm = "ring";
    config.error = mine->sentence;
    config.error_bytes = sizeof mine->sentence;
    status = banyan_comm_init_exchange(&comm, self->memory->size, self->rank, job_exchange, self, &config);
    mine->status = BANYAN_TIMEOUT;
    if (status) { /* nothing has been cut yet */
        atomic_fetch_add(&self->memory->step, 1);
        atomic_store(&self->memory->counted, 1);
        return LATE;
    }
    while (!(status = sum_ranks(comm, self->rank, &sum))) {
        if (calls++ == 0)
            atomic_fetch_add(&self->memory->step, 1);
        pause_ms(5);
    }
    if (!calls)
        atomic_fetch_add(&self->memory->step, 1); /* the test waits for all */
    atomic_store(&self->memory->counted, 1);
    begin_s = banyan_clock_s();
    mine->status = banyan_comm_shrink(comm, NULL, 0, &fresh, NULL);
    mine->seconds = banyan_clock_s() - begin_s;
    snprintf(mine->sentence, sizeof mine->sentence, "%s", banyan_last_error(comm));
    if (!mine->status)
        wrong = use(self, fresh, mine);
    banyan_comm_destroy(fresh);
    return leave(self, comm, descriptors, threads) ? WRONG : wrong;
}

/* Cables between the hosts and the bridge of the whole network, in the namespace that we are in. */
static int lay_cables(const job *j, int size)
{
    int wrong = 0;

    for (int i = 0; i < ALL_SIDES; i++)
        wrong |= run("ip link add s%d type bridge stp_state 0 forward_delay 0 && ip link set s%d up", i, i);
    for (int rank = 0; rank < size; rank++) {
        int host = current->hosts[rank] - '0';

        while (!atomic_load(&report_of(j->memory, rank)->has_network))
            pause_ms(2);
        if (strchr(current->hosts, current->hosts[rank]) == current->hosts + rank)
            wrong |= run("ip link add c%d type veth peer name eth0 netns %d && ip link set c%d master s0 up",
                         host, (int)j->processes[rank], host);
    }
    return wrong;
}

/* All cables in one go, for on a crowded machine ranks would shrink before the last was moved. A cable whose
 * host has ended is gone. */
static void move_cables(int heals)
{
    FILE *ip = popen("ip -force -batch - 2> /dev/null", "w");

    for (int host = 0; ip && current->parts[host]; host++)
        fprintf(ip, "link set c%d master s%c\n", host, heals ? '0' : current->parts[host]);
    if (ip)
        pclose(ip);
}

static int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int complain(const char *format, ...)
{
    va_list list;

    fprintf(stderr, "%s (seed %llu): ", current->name, (unsigned long long)seed);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return 1;
}

static char part_of(int rank)
{
    return current->parts[current->hosts[rank] - '0'];
}

static int part_size(char part, int size)
{
    int count = 0;

    for (int i = 0; i < size; i++)
        count += part_of(i) == part;
    return count;
}

/* All that have gone on are in one group, which is a majority, or half of all with rank 0. */
static int check_one_group(job_memory *memory, int size)
{
    const report *first = NULL;

    for (int i = 0; i < size; i++) {
        const report *r = report_of(memory, i);
        int is_member = 0;

        if (r->status || !r->count) /* it was too late to say who is in its group */
            continue;
        for (int k = 0; k < r->count; k++)
            is_member |= r->members[k] == i;
        if (!is_member || 2 * r->count < size || (2 * r->count == size && r->members[0] != 0))
            return complain("rank %d goes on in a group of %d of %d ranks", i, r->count, size);
        first = first ? first : r;
        if (r->count != first->count ||
            memcmp(r->members, first->members, sizeof(int) * (size_t)r->count) != 0)
            return complain("rank %d goes on in another group than the first", i);
    }
    return 0;
}

static int check_words(const report *r, int rank, int size)
{
    char words[100];

    snprintf(words, sizeof words, "cannot go on: %d of the last group's %d ranks",
             part_size(part_of(rank), size), size);
    return strstr(r->sentence, words) &&
           strstr(r->sentence, "BANYAN_SHRINK=majority asks for more than half, or half with rank 0");
}

/* Where the cut stays it is known who goes on, and what the others say. A shrink takes three time-outs at the
 * most. */
static int check_rank(const report *r, int rank, int size)
{
    int survives = part_of(rank) == current->survivor, is_well;

    is_well = survives ? !r->status && r->count == part_size(current->survivor, size)
                       : r->status == BANYAN_TOO_FEW_RANKS && check_words(r, rank, size);
    if ((is_well || current->heals) && r->seconds < 3e-3 * timeout_ms)
        return WELL;
    complain("late with a time-out of %d ms: rank %d: %s after %g s: %s", timeout_ms, rank,
             banyan_status_string(r->status), r->seconds, r->sentence);
    return LATE;
}

static int count_gone_on(job_memory *memory, int size)
{
    int count = 0;

    for (int i = 0; i < size; i++)
        count += !report_of(memory, i)->status;
    return count;
}

/* One job, in namespaces of its own: WRONG, LATE, or both. */
static int stage(void)
{
    int size = (int)strlen(current->hosts), found = WELL;
    banyan_random random = {.state = seed};
    job j;

    if (unshare(CLONE_NEWNET | CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", "/dev/shm", "tmpfs", 0, NULL))
        return complain("no namespaces: %s", strerror(errno));
    j = job_start(size, live);
    found |= lay_cables(&j, size) ? complain("no cables") : WELL;
    atomic_store(&j.memory->step, 1);
    job_wait_step(j.memory, 1 + size);
    move_cables(0);
    while (current->heals && !atomic_load(&j.memory->counted))
        pause_ms(2);
    if (current->heals) {
        pause_ms(banyan_random_below(&random, timeout_ms * 8 / 10));
        move_cables(1);
    }
    for (int i = 0; i < size; i++) {
        int how = job_end_rank(&j, i, JOB_SECONDS);

        found |= how == LATE ? LATE : how ? complain("rank %d ended with %d", i, how) : WELL;
    }
    found |= check_one_group(j.memory, size);
    for (int i = 0; i < size; i++)
        found |= check_rank(report_of(j.memory, i), i, size);
    if (job_count_entries("/dev/shm") > 2)
        found |= complain("%d segments are left", job_count_entries("/dev/shm") - 2);
    if (current->heals)
        printf("%s: %d of %d ranks go on\n", current->name, count_gone_on(j.memory, size), size);
    job_free(&j);
    return found;
}

static int perform(int (*function)(void))
{
    int how;
    pid_t process;

    fflush(NULL);
    process = fork();
    if (!process) {
        how = function();
        fflush(NULL);
        _exit(how);
    }
    waitpid(process, &how, 0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : WRONG;
}

static int try_cut(void)
{
    int found = LATE;

    for (timeout_ms = FIRST_TIMEOUT_MS; found == LATE && timeout_ms <= LAST_TIMEOUT_MS; timeout_ms *= 2)
        found = perform(stage);
    return found;
}

/* All cuts at the same time: they mostly wait. */
static int run_round(void)
{
    enum { CUTS = sizeof cuts / sizeof *cuts };
    pid_t stages[CUTS];
    int wrong = 0, how;

    fflush(NULL);
    for (int i = 0; i < CUTS; i++) {
        stages[i] = fork();
        assert_true(stages[i] >= 0);
        if (!stages[i]) {
            current = &cuts[i];
            seed = seed * CUTS + (uint64_t)i;
            _exit(try_cut());
        }
    }
    for (int i = 0; i < CUTS; i++) {
        waitpid(stages[i], &how, 0);
        wrong += how != 0;
    }
    return wrong;
}

/* 0: the reason is printed. */
static int has_namespaces(void)
{
    pid_t process;
    int how = 1;

    fflush(NULL);
    process = fork();
    if (!process)
        _exit(unshare(CLONE_NEWNET | CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
              run("ip link add s0 type bridge > /dev/null 2>&1"));
    waitpid(process, &how, 0);
    if (how)
        print_message("skipped: a network that can be cut is made of network namespaces, with root's rights, "
                      "the tool ip and a root folder that is a mount point\n");
    return !how;
}

static long setting(const char *name, long fallback)
{
    const char *text = getenv(name);

    return text && *text ? atol(text) : fallback;
}

TEST(of_a_network_that_is_cut_at_most_one_part_goes_on)
{
    long rounds = setting("BANYAN_PARTITIONS", 1);
    int descriptors = job_count_descriptors(), wrong = 0;

    if (!has_namespaces())
        skip();
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* whoever is left behind becomes ours */
    for (long i = 0; i < rounds; i++) {
        seed = (uint64_t)(setting("BANYAN_SEED", 1) + i);
        wrong += run_round();
    }
    assert_int_equal(wrong, 0);
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* no process, and with it no namespace */
    assert_int_equal(job_count_descriptors(), descriptors);
    print_message("%ld rounds of %zu cuts\n", rounds, sizeof cuts / sizeof *cuts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_network_that_is_cut_at_most_one_part_goes_on),
    };

    setenv("BANYAN_SOCKET_IFNAME", "eth0", 1);
    setenv("BANYAN_SOCKET_FAMILY", "AF_INET", 1);
    setenv("BANYAN_TRANSPORT", "auto", 1);
    setenv("BANYAN_STATUS_FOLDER", "off", 1);
    setenv("BANYAN_SHRINK", "majority", 0); /* with any the test shows what that gives up */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
