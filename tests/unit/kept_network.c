/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/kept_network.c: networks that were learnt, from one job to the next (calls/kept_network.h). */
#include "unit/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calls/kept_network.h"
#include "core/alloc.h"
#include "core/file.h"

enum { SIZE = 5 };

static char folder[] = "/tmp/banyan-kept-XXXXXX";
static banyan_rank_record records[SIZE]; /* as in hosts:2+3 */

static int set_up(void **state)
{
    static const int host_of[SIZE] = {0, 0, 1, 1, 1};

    (void)state;
    for (int i = 0; i < SIZE; i++) {
        snprintf(records[i].host, sizeof records[i].host, "node%d", host_of[i]);
        snprintf(records[i].place, sizeof records[i].place, "boot%d", host_of[i]);
    }
    return mkdtemp(folder) == NULL;
}

/* The path of the only file there. */
static void find_file(char *path, size_t size)
{
    DIR *listing = opendir(folder);
    struct dirent *entry;

    path[0] = 0;
    while ((entry = readdir(listing)))
        if (entry->d_name[0] != '.')
            snprintf(path, size, "%s/%s", folder, entry->d_name);
    closedir(listing);
}

static int tear_down(void **state)
{
    char path[400];

    (void)state;
    find_file(path, sizeof path);
    unlink(path);
    return rmdir(folder);
}

static void save(const char *spec)
{
    banyan_topology *t;
    banyan_error err = {""};

    if (banyan_topology_load(spec, &t, &err) || banyan_kept_network_save(folder, records, SIZE, t, &err))
        fail_msg("%s", err.text);
    banyan_topology_destroy(t);
}

TEST(what_was_saved_is_there_for_the_same_hosts)
{
    banyan_topology *t;
    banyan_error err = {""};
    char *text = NULL;

    save("hosts:2+3,gbps=1");
    assert_int_equal(banyan_kept_network_load(folder, records, SIZE, &text, &err), 0);
    assert_non_null(text);
    assert_int_equal(banyan_kept_network_parse(text, records, SIZE, &t, &err), 0);
    assert_int_equal(t->worker_count, SIZE);
    banyan_topology_destroy(t);
    banyan_free(text);
}

TEST(other_hosts_have_nothing)
{
    banyan_rank_record others[SIZE];
    char *text = NULL;

    save("hosts:2+3,gbps=1");
    memcpy(others, records, sizeof others);
    snprintf(others[4].host, sizeof others[4].host, "node7");
    assert_int_equal(banyan_kept_network_load(folder, others, SIZE, &text, NULL), 0);
    assert_null(text);
    assert_int_equal(banyan_kept_network_load(folder, records, SIZE - 1, &text, NULL), 0);
    assert_null(text);
}

TEST(a_host_that_has_started_again_is_the_same)
{
    banyan_rank_record later[SIZE];
    char *text = NULL;

    save("hosts:2+3,gbps=1");
    memcpy(later, records, sizeof later);
    for (int i = 2; i < SIZE; i++)
        snprintf(later[i].place, sizeof later[i].place, "boot again");
    assert_int_equal(banyan_kept_network_load(folder, later, SIZE, &text, NULL), 0);
    assert_non_null(text);
    banyan_free(text);
}

TEST(what_is_older_than_a_week_is_not_used)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - 8 * 24 * 3600},
                                {.tv_sec = time(NULL) - 8 * 24 * 3600}};
    char path[400], *text = NULL;

    save("hosts:2+3,gbps=1");
    find_file(path, sizeof path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(banyan_kept_network_load(folder, records, SIZE, &text, NULL), 0);
    assert_null(text);
}

TEST(a_network_of_other_ranks_is_refused_with_a_sentence)
{
    static const struct {
        const char *spec, *sentence;
    } wrong[] = {
        {"hosts:2+2", "4 workers, not 5"}, {"hosts:3+2", "rank 2 is on another host"}, {"hosts:5", "rank 2"}};
    banyan_error err = {""};
    char *text = NULL;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        save(wrong[i].spec);
        assert_int_not_equal(banyan_kept_network_load(folder, records, SIZE, &text, &err), 0);
        assert_null(text);
        if (!strstr(err.text, wrong[i].sentence) || !strstr(err.text, "network-"))
            fail_msg("%s: %s", wrong[i].spec, err.text);
    }
}

TEST(a_broken_file_is_refused_and_names_itself)
{
    banyan_error err = {""};
    char path[400], *text = NULL;

    save("hosts:2+3");
    find_file(path, sizeof path);
    assert_int_equal(banyan_file_save(path, "{", 1, NULL), 0);
    assert_int_not_equal(banyan_kept_network_load(folder, records, SIZE, &text, &err), 0);
    assert_non_null(strstr(err.text, path));
}

TEST(survives_the_failure_of_each_allocation)
{
    char *text = NULL;

    save("hosts:2+3,gbps=1");
    for (int calls = 0; !text; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_kept_network_load(folder, records, SIZE, &text, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_saved_is_there_for_the_same_hosts),
        cmocka_unit_test(other_hosts_have_nothing),
        cmocka_unit_test(a_host_that_has_started_again_is_the_same),
        cmocka_unit_test(what_is_older_than_a_week_is_not_used),
        cmocka_unit_test(a_network_of_other_ranks_is_refused_with_a_sentence),
        cmocka_unit_test(a_broken_file_is_refused_and_names_itself),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
