/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/cables.c: two hosts with two cables between them and two ranks each; cables are cut while the
 * group computes: by taking an interface down, or silently, so that packets vanish. The group must go on over
 * the other cable with right sums and one sentence about it; with both cut it must end in time.
 *
 * Hosts are network namespaces, ranks this very program. */
#include <sys/stat.h>
#include <unistd.h>

#include "jobs.h"

#define COUNT ((size_t)1 << 20) /* 4 MiB: some 100 ms over both cables */

enum { RANKS = 4, TIMEOUT_MS = 20000, USUAL_CALLS = 3, MOST_S = 5, JOIN_S = 120 };

static char place[64], left[32], right[32];

static int end_badly(const banyan_comm *comm, banyan_status status)
{
    printf("%s: %s\n", banyan_status_string(status), comm ? banyan_last_error(comm) : "");
    return 3;
}

static void fill(float *data, int factor)
{
    for (size_t i = 0; i < COUNT; i++)
        data[i] = (float)(factor * (int)(i % 7 + 1));
}

/* Computes until the first rank has done so for that long after its third call, of which the file 'begun'
 * tells; the first element tells all. */
static int live(double seconds)
{
    static float own[COUNT], data[COUNT], wanted[COUNT];
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_comm *comm = NULL;
    double begin_s = 0, longest_s = 0, usual_s = 0;
    int rank, is_over = 0, calls = 0;
    banyan_status status;

    config.timeout_ms = TIMEOUT_MS;
    status = banyan_comm_init_env(&comm, &config);
    if (status)
        return end_badly(NULL, status);
    banyan_comm_rank(comm, &rank);
    fill(own, rank + 1);
    fill(wanted, RANKS * (RANKS + 1) / 2);
    for (; !is_over; calls++) {
        double call_s = banyan_clock_s();

        memcpy(data, own, sizeof data);
        data[0] = rank == 0 && begin_s > 0 && call_s > begin_s + seconds;
        status = banyan_allreduce(data, data, COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm);
        if (status)
            break;
        call_s = banyan_clock_s() - call_s;
        longest_s = call_s > longest_s ? call_s : longest_s;
        if (calls == USUAL_CALLS - 1) {
            FILE *file = rank == 0 ? fopen("begun", "w") : NULL;

            usual_s = longest_s;
            begin_s = banyan_clock_s();
            if (file)
                fclose(file);
        }
        is_over = data[0] > 0;
        if (memcmp(data + 1, wanted + 1, sizeof data - sizeof *data) != 0) {
            printf("a wrong sum in call %d\n", calls);
            return 4;
        }
    }
    printf("%d calls, the longest %.3f s, before the cut %.3f\n", calls, longest_s, usual_s);
    if (status)
        end_badly(comm, status);
    banyan_comm_destroy(comm);
    return status ? 3 : 0;
}

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int shell(const char *format, ...)
{
    char command[2000];
    va_list arguments;
    int how;

    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    how = system(command);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static void unmake_hosts(void)
{
    shell("ip netns del %s 2>/dev/null; ip netns del %s 2>/dev/null", left, right);
}

static int make_hosts(void)
{
    int failed = shell("ip netns add %s 2>/dev/null && ip netns add %s 2>/dev/null", left, right);

    for (int i = 0; i < 2 && !failed; i++)
        failed = shell("ip link add eth%d netns %s type veth peer name eth%d netns %s 2>/dev/null", i, left,
                       i, right);
    for (int host = 0; host < 2 && !failed; host++) {
        const char *name = host ? right : left;

        failed = shell("ip -n %s link set lo up", name);
        for (int i = 0; i < 2 && !failed; i++)
            failed =
                shell("ip -n %s link set eth%d gso_max_size 12000 up && ip -n %s addr add 10.79.%d.%d/24 dev "
                      "eth%d && "
                      "ip netns exec %s tc qdisc add dev eth%d root tbf rate 200mbit burst 25kb latency 50ms",
                      name, i, name, i, host + 1, i, name, i);
    }
    return failed;
}

/* Starts the ranks, runs the cut in mid-job, and waits. Output, exit status and log of rank r lie in out.r,
 * code.r and log.r. */
static void run_job(int seconds, const char *cut)
{
    static int port = 0;
    char own[512];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);

    own[length > 0 ? length : 0] = 0;
    port = port ? port + 1 : 20000 + getpid() % 20000;
    assert_int_equal(make_hosts(), 0);
    shell(
        "cd %s; rm -f out.* code.* log.* begun\n"
        "for r in 3 2 1 0; do (\n"
        "  [ $r -lt 2 ] && host=%s || host=%s\n"
        "  BANYAN_TOPO= BANYAN_STATUS_FOLDER=off BANYAN_SECRET=cables BANYAN_SIZE=%d BANYAN_RANK=$r\n"
        "  export BANYAN_TOPO BANYAN_STATUS_FOLDER BANYAN_SECRET BANYAN_SIZE BANYAN_RANK\n"
        "  BANYAN_ROOT=10.79.0.1:%d BANYAN_SOCKET_IFNAME=eth BANYAN_DEBUG=WARN BANYAN_DEBUG_FILE=log.$r \\\n"
        "    timeout -k 5 %d ip netns exec $host '%s' rank %d > out.$r 2>&1\n"
        "  echo $? > code.$r ) & done\n"
        "for i in $(seq %d); do [ -e begun ] && break; sleep 0.1; done\n%s\nwait",
        place, left, right, RANKS, port, seconds + JOIN_S, own, seconds, 10 * JOIN_S, cut);
    unmake_hosts();
}

static void read_file(const char *name, int rank, char *out, size_t size)
{
    char path[200];
    FILE *file;
    size_t count = 0;

    snprintf(path, sizeof path, "%s/%s.%d", place, name, rank);
    file = fopen(path, "r");
    if (file) {
        count = fread(out, 1, size - 1, file);
        fclose(file);
    }
    out[count] = 0;
}

static int count_words(const char *text, const char *wanted)
{
    int count = 0;

    while ((text = strstr(text, wanted)) != NULL) {
        count++;
        text += strlen(wanted);
    }
    return count;
}

/* All ranks end well, and between them they name the cable: each at most once for each of its peers. */
static void check_that_it_went_on(const char *cable)
{
    char text[8000], log[8000], to[40];
    double longest_s, usual_s;
    int named = 0;

    snprintf(to, sizeof to, " from 10.79.%s.", cable);
    for (int r = 0; r < RANKS; r++) {
        int calls;

        read_file("out", r, text, sizeof text);
        print_message("rank %d: %s", r, text);
        read_file("log", r, log, sizeof log);
        if (sscanf(text, "%d calls, the longest %lf s, before the cut %lf", &calls, &longest_s, &usual_s) !=
            3)
            fail_msg("rank %d: %s%s", r, text, log);
        assert_true(longest_s < MOST_S + 2 * usual_s);
        assert_in_range(count_words(log, "that had not arrived"), 0, 2);
        assert_int_equal(count_words(log, "that had not arrived"), count_words(log, to));
        named += count_words(log, to);
        if (r == 0)
            print_message("%s", log);
        read_file("code", r, text, sizeof text);
        assert_string_equal(text, "0\n");
    }
    assert_true(named > 0);
}

TEST(an_interface_that_goes_down_does_not_end_the_group)
{
    char cut[200];

    snprintf(cut, sizeof cut, "ip -n %s link set eth1 down", left);
    run_job(6, cut);
    check_that_it_went_on("1");
}

/* From now on each host sends to an Ethernet address that nobody has: links stay up, and nothing arrives. */
static void drop_all(char *out, size_t size, int cable)
{
    const char *command =
        "ip -n %s neigh replace 10.79.%d.%d lladdr 02:00:00:00:00:01 dev eth%d nud permanent\n";
    int length = snprintf(out, size, command, left, cable, 2, cable);

    snprintf(out + length, size - (size_t)length, command, right, cable, 1, cable);
}

TEST(a_cable_on_which_packets_vanish_does_not_end_the_group)
{
    char cut[400];

    drop_all(cut, sizeof cut, 1);
    run_job(6, cut);
    check_that_it_went_on("1");
}

/* The one that control connections were made over. BANYAN_CABLES_SECONDS: more than a minute shows that their
 * systems may give these up. */
TEST(the_first_cable_may_be_cut_too)
{
    const char *seconds = getenv("BANYAN_CABLES_SECONDS");
    char cut[400];

    drop_all(cut, sizeof cut, 0);
    run_job(seconds ? atoi(seconds) : 8, cut);
    check_that_it_went_on("0");
}

/* As without a second cable: a sentence that names a rank of the other host, in time. */
TEST(with_both_cables_cut_the_group_ends_and_names_who_is_missing)
{
    char cut[800], one[400], two[400], text[8000];
    double begin_s = banyan_clock_s();

    drop_all(one, sizeof one, 0);
    drop_all(two, sizeof two, 1);
    snprintf(cut, sizeof cut, "%s%s", one, two);
    run_job(2 * TIMEOUT_MS / 1000, cut);
    print_message("ended after %.1f s\n", banyan_clock_s() - begin_s);
    for (int r = 0; r < RANKS; r++) {
        read_file("out", r, text, sizeof text);
        print_message("rank %d: %s", r, text);
        assert_true(strstr(text, "time") != NULL || strstr(text, "lost") != NULL);
        assert_non_null(strstr(text, "rank"));
        read_file("code", r, text, sizeof text);
        assert_string_equal(text, "3\n"); /* and not 'timeout's */
    }
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interface_that_goes_down_does_not_end_the_group),
        cmocka_unit_test(a_cable_on_which_packets_vanish_does_not_end_the_group),
        cmocka_unit_test(the_first_cable_may_be_cut_too),
        cmocka_unit_test(with_both_cables_cut_the_group_ends_and_names_who_is_missing),
    };
    int result;

    if (count == 3 && !strcmp(words[1], "rank"))
        return live(atof(words[2]));
    snprintf(left, sizeof left, "bnyl%d", (int)getpid());
    snprintf(right, sizeof right, "bnyr%d", (int)getpid());
    result = make_hosts();
    unmake_hosts();
    if (result) {
        fprintf(stderr, "skipped: two hosts with two cables cannot be made here\n");
        return 77;
    }
    snprintf(place, sizeof place, "/tmp/banyan-cables-XXXXXX");
    if (!mkdtemp(place))
        return 1;
    result = cmocka_run_group_tests(tests, NULL, NULL);
    shell("rm -rf %s", place);
    return result;
}
