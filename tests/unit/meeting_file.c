/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/meeting_file.c: what rank 0 writes arrives whole; files of others and files left over are
 * named. */
#include "bootstrap/meeting_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/test.h"

enum { TEXT = 9, LONG_MS = 60000 };

static char folder[] = "/tmp/banyan-meeting-XXXXXX", path[80];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/place", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void write_file(const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), mode), 0);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void *tell_late(void *unused)
{
    char text[TEXT] = "01234567";

    usleep(20000);
    write_file("0123", 0600); /* a reader may see the beginning alone */
    usleep(20000);
    unlink(path);
    if (banyan_meeting_file_share(path, 0, text, sizeof text, 0, NULL))
        abort();
    return unused;
}

TEST(the_others_wait_until_all_of_it_is_there)
{
    char text[TEXT] = "";
    struct stat facts;
    banyan_error err = {""};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, tell_late, NULL), 0);
    if (banyan_meeting_file_share(path, 3, text, sizeof text, LONG_MS, &err))
        fail_msg("%s", err.text);
    pthread_join(thread, NULL);
    assert_string_equal(text, "01234567");
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    banyan_meeting_file_remove(path);
    assert_int_not_equal(access(path, F_OK), 0);
}

TEST(rank_0_does_not_take_a_file_that_is_there)
{
    char text[TEXT] = "01234567";
    banyan_error err = {""};

    write_file("76543210", 0600);
    assert_int_equal(banyan_meeting_file_share(path, 0, text, sizeof text, LONG_MS, &err),
                     BANYAN_INVALID_USAGE);
    CHECK_SAYS(err, "the file is there: it belongs to another job, or to one that was killed");
    assert_int_equal(unlink(path), 0);
}

TEST(a_file_that_others_can_read_is_not_believed)
{
    char text[TEXT] = "";
    banyan_error err = {""};

    write_file("76543210", 0644);
    assert_int_equal(banyan_meeting_file_share(path, 1, text, sizeof text, LONG_MS, &err),
                     BANYAN_INVALID_USAGE);
    CHECK_SAYS(err, "it is not a file that this user alone can read");
    assert_int_equal(unlink(path), 0);
}

TEST(a_folder_that_is_not_there_and_a_rank_0_that_does_not_come_are_named)
{
    char text[TEXT] = "01234567";
    banyan_error err = {""};

    assert_int_equal(banyan_meeting_file_share(path, 1, text, sizeof text, 20, &err), BANYAN_TIMEOUT);
    CHECK_SAYS(err, "rank 0 has not written it within 0.02 s");
    assert_int_equal(banyan_meeting_file_share("/no/such/folder", 0, text, sizeof text, 20, &err),
                     BANYAN_SYSTEM_ERROR);
    CHECK_SAYS(err, "BANYAN_ROOT=file:/no/such/folder: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_others_wait_until_all_of_it_is_there),
        cmocka_unit_test(rank_0_does_not_take_a_file_that_is_there),
        cmocka_unit_test(a_file_that_others_can_read_is_not_believed),
        cmocka_unit_test(a_folder_that_is_not_there_and_a_rank_0_that_does_not_come_are_named),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
