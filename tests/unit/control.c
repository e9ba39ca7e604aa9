/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/control.c: messages in the control tree: each goes where it should, through ranks that only pass
 * it on. The ranks are threads of this process, and what they hear is written down. */
#include "test.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "group/control_internal.h"

enum { MOST_RANKS = 40, TIMEOUT_MS = 60000, PATIENCE_S = 60 };

typedef struct {
    int plans, calls, wants_of[MOST_RANKS], lefts, fails;
    size_t plan_bytes;
    char sentence[512];
} heard;

typedef struct {
    banyan_control *control;
    pthread_t thread;
    int rank;
    banyan_status status;
    banyan_error err;
    unsigned char all[4 * MOST_RANKS];
    heard heard;
} node;

static struct {
    int size;
    banyan_secret secret;
    banyan_rank_record records[MOST_RANKS];
    node nodes[MOST_RANKS];
    pthread_mutex_t lock;
} group = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void hear_fail(void *context, banyan_status status, const char *sentence)
{
    node *n = context;

    (void)status;
    pthread_mutex_lock(&group.lock);
    n->heard.fails++;
    snprintf(n->heard.sentence, sizeof n->heard.sentence, "%s", sentence);
    pthread_mutex_unlock(&group.lock);
}

static void hear_data(void *context, const banyan_hello *hello, int fd)
{
    (void)context;
    (void)hello;
    close(fd);
}

static void hear_left(void *context, int rank, uint64_t calls)
{
    node *n = context;

    pthread_mutex_lock(&group.lock);
    n->heard.lefts += calls == (uint64_t)rank;
    pthread_mutex_unlock(&group.lock);
}

static void hear_want(void *context, int rank, const unsigned char *body, size_t bytes)
{
    node *n = context;

    pthread_mutex_lock(&group.lock);
    n->heard.wants_of[rank] += bytes == 1 && body[0] == (unsigned char)rank;
    pthread_mutex_unlock(&group.lock);
}

static void hear_plan(void *context, const unsigned char *body, size_t bytes)
{
    node *n = context;

    pthread_mutex_lock(&group.lock);
    n->heard.plans += body[bytes - 1] == 7;
    n->heard.plan_bytes = bytes;
    pthread_mutex_unlock(&group.lock);
}

static void hear_call(void *context, const unsigned char *body, size_t bytes)
{
    node *n = context;

    pthread_mutex_lock(&group.lock);
    n->heard.calls += bytes == 1 && body[0] == (unsigned char)n->rank;
    pthread_mutex_unlock(&group.lock);
}

static void *start(void *argument)
{
    node *n = argument;
    banyan_control_handler handler = {n,         hear_fail, hear_data, hear_left, hear_want,
                                      hear_plan, hear_call, NULL,      NULL,      NULL};

    n->status = banyan_control_start(n->control, n->rank, group.size, group.records, &group.secret,
                                     TIMEOUT_MS, &handler, &n->err);
    return NULL;
}

static void *gather(void *argument)
{
    node *n = argument;
    unsigned char mine[4] = {(unsigned char)n->rank, 1, 2, 3};

    n->status = banyan_control_gather(n->control, mine, sizeof mine, n->all,
                                      banyan_clock_ns() + PATIENCE_S * (int64_t)1000000000, &n->err);
    return NULL;
}

static void *stop(void *argument)
{
    node *n = argument;

    banyan_control_stop(n->control, (uint64_t)n->rank);
    return NULL;
}

/* As ranks of a job do it: all at once. */
static void do_all(void *(*function)(void *))
{
    for (int i = 0; i < group.size; i++)
        assert_int_equal(pthread_create(&group.nodes[i].thread, NULL, function, &group.nodes[i]), 0);
    for (int i = 0; i < group.size; i++) {
        pthread_join(group.nodes[i].thread, NULL);
        if (group.nodes[i].status)
            fail_msg("rank %d: %s", i, group.nodes[i].err.text);
    }
}

static void open_group(int size, int fanout, int address_count)
{
    banyan_address local = {.family = AF_INET, .bytes = {127, 0, 0, 1}};
    banyan_address second = {.family = AF_INET, .bytes = {127, 0, 0, 2}};

    group.size = size;
    banyan_auth_secret_from_text("tree", &group.secret);
    for (int i = 0; i < size; i++) {
        node *n = &group.nodes[i];

        *n = (node){.rank = i};
        assert_int_equal(banyan_control_create(size, TIMEOUT_MS, &local, 0, 0, &n->control, NULL), 0);
        banyan_control_set_fanout(n->control, fanout);
        group.records[i] = (banyan_rank_record){.rank = i, .process = 1000 + i, .host = "here"};
        group.records[i].address = *banyan_control_address(n->control);
        if (address_count > 1)
            assert_int_equal(
                banyan_control_listen_also(n->control, &second, 0, 0, &group.records[i].others[0], NULL), 0);
    }
    do_all(start);
}

/* What scale.c counts for more ranks: plans and exchanges leave a rank once for each child. Heartbeats and
 * other short messages are beside them. */
static void check_bytes(size_t of_each_child)
{
    for (int i = 0; i < group.size; i++) {
        const banyan_control *control = group.nodes[i].control;
        size_t copies = (size_t)banyan_tree_child_count(control->fanout, group.size, i) * of_each_child;
        uint64_t in, out;

        banyan_control_count_bytes(control, &in, &out);
        assert_in_range(out, copies, copies + of_each_child / 2);
        assert_true(i == 0 || in >= of_each_child);
    }
}

static void close_group(size_t of_each_child)
{
    do_all(stop);
    if (of_each_child)
        check_bytes(of_each_child);
    for (int i = 0; i < group.size; i++)
        banyan_control_destroy(group.nodes[i].control);
}

/* Looks again until it is so, for as long as a busy machine may need. */
static int comes_true(int (*claim)(void))
{
    struct timespec pause = {.tv_nsec = 1000000};

    for (int i = 0; i < PATIENCE_S * 1000; i++) {
        int is_true;

        pthread_mutex_lock(&group.lock);
        is_true = claim();
        pthread_mutex_unlock(&group.lock);
        if (is_true)
            return 1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int all_have_the_plan(void)
{
    for (int i = 1; i < group.size; i++)
        if (group.nodes[i].heard.plans != 1)
            return 0;
    return group.nodes[0].heard.plans == 0;
}

static int the_root_has_all_wishes(void)
{
    for (int i = 1; i < group.size; i++)
        if (group.nodes[0].heard.wants_of[i] != 1)
            return 0;
    return 1;
}

static int each_was_called_once(void)
{
    for (int i = 1; i < group.size; i++)
        if (group.nodes[i].heard.calls != 1)
            return 0;
    return 1;
}

static int all_have_failed(void)
{
    for (int i = 0; i < group.size; i++)
        if (group.nodes[i].heard.fails != 1)
            return 0;
    return 1;
}

static void exchange_all(void)
{
    do_all(gather);
    for (int i = 0; i < group.size; i++)
        for (int k = 0; k < group.size; k++)
            assert_int_equal(group.nodes[i].all[4 * k], k);
}

/* Of all ranks' connections, those to their first or to their second addresses: how many there are, counted
 * at both ends; they end where that is asked for. */
static int find_connections(int is_second, int is_cut)
{
    int count = 0;

    for (int fd = 3; fd < 1024; fd++) {
        banyan_address local, other;

        if (banyan_socket_peer(fd, &other) && banyan_socket_local(fd, &local) && other.bytes[0] == 127 &&
            (local.bytes[3] == 2 || other.bytes[3] == 2) == is_second) {
            count++;
            if (is_cut)
                shutdown(fd, SHUT_RDWR);
        }
    }
    return count;
}

static int all_have_spares(void)
{
    return find_connections(1, 0) == 2 * (group.size - 1);
}

/* Each message goes over both connections of a pair and is heard once; none is missing when one ends. */
static void check_spares(int size, int fanout, int is_second_cut)
{
    unsigned char plan[100000] = {[sizeof plan - 1] = 7};

    open_group(size, fanout, 2);
    exchange_all();
    assert_true(comes_true(all_have_spares));
    exchange_all();
    assert_int_equal(banyan_control_publish(group.nodes[0].control, plan, sizeof plan, NULL), 0);
    find_connections(is_second_cut, 1);
    for (int i = 1; i < size; i++) {
        unsigned char name = (unsigned char)i;

        assert_int_equal(banyan_control_want(group.nodes[i].control, &name, 1, NULL), 0);
        assert_int_equal(banyan_control_tell(group.nodes[0].control, i, &name, 1, NULL), 0);
    }
    exchange_all();
    assert_true(comes_true(all_have_the_plan));
    assert_true(comes_true(the_root_has_all_wishes));
    assert_true(comes_true(each_was_called_once));
    close_group(0);
    for (int i = 0; i < size; i++)
        assert_int_equal(group.nodes[i].heard.fails, 0);
}

TEST(either_of_two_connections_to_a_parent_may_end)
{
    check_spares(3, 2, 0);
    check_spares(7, 2, 1);
}

static void pass_messages(int size, int fanout)
{
    unsigned char plan[100000] = {[sizeof plan - 1] = 7};

    open_group(size, fanout, 1);
    exchange_all();
    exchange_all();
    assert_int_equal(banyan_control_publish(group.nodes[0].control, plan, sizeof plan, NULL), 0);
    for (int i = 1; i < size; i++) {
        unsigned char name = (unsigned char)i;

        assert_int_equal(banyan_control_want(group.nodes[i].control, &name, 1, NULL), 0);
        assert_int_equal(banyan_control_tell(group.nodes[0].control, i, &name, 1, NULL), 0);
    }
    assert_true(comes_true(all_have_the_plan));
    assert_true(comes_true(the_root_has_all_wishes));
    assert_true(comes_true(each_was_called_once));
    close_group(sizeof plan + 2 * 4 * (size_t)size);
    for (int i = 0; i < size; i++)
        assert_int_equal(group.nodes[i].heard.fails, 0); /* nobody takes a goodbye for a loss */
}

TEST(plans_wishes_calls_and_exchanges_reach_whom_they_are_for)
{
    pass_messages(1, 2);
    pass_messages(2, 2);
    pass_messages(15, 2);
    pass_messages(MOST_RANKS, 3);
    pass_messages(MOST_RANKS, 16);
}

TEST(what_one_rank_says_ends_the_group_in_the_same_words_for_all)
{
    open_group(MOST_RANKS, 2, 1);
    banyan_control_abort(group.nodes[MOST_RANKS - 1].control, BANYAN_REMOTE_ERROR, "a leaf has had enough");
    assert_true(comes_true(all_have_failed));
    for (int i = 0; i < MOST_RANKS; i++) {
        banyan_error err;

        assert_int_equal(banyan_control_verdict(group.nodes[i].control, &err), BANYAN_REMOTE_ERROR);
        assert_string_equal(err.text, "a leaf has had enough");
        assert_string_equal(group.nodes[i].heard.sentence, "a leaf has had enough");
    }
    close_group(0);
}

TEST(of_two_failures_the_one_that_the_root_hears_of_first_is_everybodys)
{
    char first[512];

    open_group(MOST_RANKS, 2, 1);
    for (int i = MOST_RANKS - 8; i < MOST_RANKS; i++) {
        char sentence[40];

        snprintf(sentence, sizeof sentence, "rank %d has had enough", i);
        banyan_control_abort(group.nodes[i].control, BANYAN_REMOTE_ERROR, sentence);
    }
    assert_true(comes_true(all_have_failed));
    for (int i = 0; i < MOST_RANKS; i++) {
        banyan_error err;

        banyan_control_verdict(group.nodes[i].control, &err);
        if (i == 0)
            snprintf(first, sizeof first, "%s", err.text);
        assert_string_equal(err.text, first);
    }
    close_group(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_wishes_calls_and_exchanges_reach_whom_they_are_for),
        cmocka_unit_test(either_of_two_connections_to_a_parent_may_end),
        cmocka_unit_test(what_one_rank_says_ends_the_group_in_the_same_words_for_all),
        cmocka_unit_test(of_two_failures_the_one_that_the_root_hears_of_first_is_everybodys),
    };

    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
