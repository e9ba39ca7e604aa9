/* SPDX-License-Identifier: Apache-2.0 */
/* The progress bar: seen on a terminal (a pseudo one here), wiped at its end, and silent everywhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above first */
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "core/progress.h"

typedef struct {
    int master, slave;
} terminal;

static terminal open_terminal(unsigned short columns)
{
    terminal t = {.master = posix_openpt(O_RDWR | O_NOCTTY), .slave = -1};
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    struct termios mode;

    if (t.master < 0) {
        print_message("this machine has no pseudo terminals, so the bar cannot be looked at\n");
        skip();
    }
    assert_int_equal(grantpt(t.master), 0);
    assert_int_equal(unlockpt(t.master), 0);
    t.slave = open(ptsname(t.master), O_RDWR | O_NOCTTY);
    assert_true(t.slave >= 0);
    assert_int_equal(tcgetattr(t.slave, &mode), 0);
    cfmakeraw(&mode);
    assert_int_equal(tcsetattr(t.slave, TCSANOW, &mode), 0);
    assert_int_equal(ioctl(t.slave, TIOCSWINSZ, &size), 0);
    assert_int_equal(fcntl(t.master, F_SETFL, O_NONBLOCK), 0);
    return t;
}

static const char *seen(terminal t, char *buffer, size_t size)
{
    ssize_t got = read(t.master, buffer, size - 1);

    buffer[got > 0 ? got : 0] = 0;
    return buffer;
}

static void close_terminal(terminal t)
{
    close(t.slave);
    close(t.master);
}

/* As if the last drawing were long ago. */
static void set_now(banyan_progress *progress, size_t done)
{
    progress->drawn_ns = INT64_MIN / 2;
    banyan_progress_set(progress, done);
}

static void a_terminal_shows_the_bar_and_it_is_wiped_at_the_end(void **state)
{
    terminal t = open_terminal(60);
    banyan_progress progress;
    char buffer[512];

    (void)state;
    banyan_progress_begin(&progress, t.slave, 0, "verifying", 8);
    assert_string_equal(seen(t, buffer, sizeof buffer), "");
    set_now(&progress, 4);
    assert_string_equal(seen(t, buffer, sizeof buffer),
                        "\rverifying  [#################------------------]  50 %  4/8\x1b[K");
    set_now(&progress, 9);
    assert_non_null(strstr(seen(t, buffer, sizeof buffer), "##] 100 %  8/8"));
    banyan_progress_end(&progress);
    assert_string_equal(seen(t, buffer, sizeof buffer), "\r\x1b[K");
    set_now(&progress, 9);
    banyan_progress_end(&progress);
    assert_string_equal(seen(t, buffer, sizeof buffer), "");
    close_terminal(t);
}

static void the_step_is_named_and_the_time_left_guessed(void **state)
{
    terminal t = open_terminal(80);
    banyan_progress progress;
    char buffer[512];

    (void)state;
    banyan_progress_begin(&progress, t.slave, 0, "planning", 8);
    banyan_progress_name(&progress, "forest");
    progress.begun_ns -= (int64_t)30e9;
    set_now(&progress, 4);
    assert_string_equal(
        seen(t, buffer, sizeof buffer),
        "\rplanning forest  [################----------------]  50 %  4/8  about 30 s left\x1b[K");
    progress.begun_ns -= (int64_t)3570e9;
    set_now(&progress, 4);
    assert_non_null(strstr(seen(t, buffer, sizeof buffer), "4/8  about 60 min left"));
    progress.begun_ns -= (int64_t)3600e9;
    set_now(&progress, 2);
    assert_non_null(strstr(seen(t, buffer, sizeof buffer), "2/8  about 6 h left"));
    set_now(&progress, 0);
    assert_null(strstr(seen(t, buffer, sizeof buffer), "left"));
    banyan_progress_end(&progress);
    close_terminal(t);
}

static void quick_steps_do_not_redraw(void **state)
{
    terminal t = open_terminal(60);
    banyan_progress progress;
    char buffer[512];

    (void)state;
    banyan_progress_begin(&progress, t.slave, 0, "planning", 8);
    progress.drawn_ns = INT64_MAX / 2;
    for (size_t i = 0; i < 8; i++)
        banyan_progress_set(&progress, i);
    banyan_progress_end(&progress);
    assert_string_equal(seen(t, buffer, sizeof buffer), "");
    close_terminal(t);
}

static void a_narrow_terminal_gets_the_share_alone(void **state)
{
    terminal t = open_terminal(20);
    banyan_progress progress;
    char buffer[512];

    (void)state;
    banyan_progress_begin(&progress, t.slave, 0, "verifying", 1000);
    set_now(&progress, 250);
    assert_string_equal(seen(t, buffer, sizeof buffer), "\r 25 %\x1b[K");
    close_terminal(t);
}

static void without_a_total_it_counts(void **state)
{
    terminal t = open_terminal(0);
    banyan_progress progress;
    char buffer[512];

    (void)state;
    banyan_progress_begin(&progress, t.slave, 0, "reading", 0);
    set_now(&progress, 12);
    assert_string_equal(seen(t, buffer, sizeof buffer), "\rreading  12\x1b[K");
    close_terminal(t);
}

static void pipes_and_quiet_users_see_nothing(void **state)
{
    terminal t = open_terminal(60);
    banyan_progress progress;
    int ends[2];
    char buffer[512];

    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    banyan_progress_begin(&progress, ends[1], 0, "verifying", 8);
    set_now(&progress, 4);
    banyan_progress_end(&progress);
    assert_true(read(ends[0], buffer, sizeof buffer) < 0);
    banyan_progress_begin(&progress, t.slave, 1, "verifying", 8);
    set_now(&progress, 4);
    banyan_progress_end(&progress);
    assert_string_equal(seen(t, buffer, sizeof buffer), "");
    close(ends[0]);
    close(ends[1]);
    close_terminal(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_shows_the_bar_and_it_is_wiped_at_the_end),
        cmocka_unit_test(the_step_is_named_and_the_time_left_guessed),
        cmocka_unit_test(quick_steps_do_not_redraw),
        cmocka_unit_test(a_narrow_terminal_gets_the_share_alone),
        cmocka_unit_test(without_a_total_it_counts),
        cmocka_unit_test(pipes_and_quiet_users_see_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
