/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/meeting_file.c: rank 0 writes, the others look for it again and again.
 *
 * The file is created exclusively, which is atomic on NFS as well, and written at once; a reader that sees
 * less than all of it looks again. A file of another user is not believed: where everybody may create files,
 * somebody could have been there first. */
#include "bootstrap/meeting_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

/* Between looks: short where rank 0 is about to write, longer where a thousand ranks look at one server. */
enum { FIRST_PAUSE_MS = 2, MAX_PAUSE_MS = 256 };

static banyan_status fail_system(const char *path, banyan_error *err)
{
    return banyan_fail(err, BANYAN_SYSTEM_ERROR, "BANYAN_ROOT=file:%s: %s", path, strerror(errno));
}

static banyan_status put(const char *path, const char *text, size_t length, banyan_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t written;

    if (fd < 0 && errno == EEXIST)
        return banyan_fail(
            err, BANYAN_INVALID_USAGE,
            "BANYAN_ROOT=file:%s: the file is there: it belongs to another job, or to one that "
            "was killed while it started; name another file, or remove it",
            path);
    if (fd < 0)
        return fail_system(path, err);
    written = write(fd, text, length);
    if (close(fd) || written != (ssize_t)length) {
        banyan_status status = fail_system(path, err);

        unlink(path);
        return status;
    }
    return BANYAN_SUCCESS;
}

/* IN_PROGRESS: it is not there, or not yet whole. */
static banyan_status look(const char *path, char *text, size_t length, banyan_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts;
    ssize_t got = -1;
    int is_ours;

    if (fd < 0)
        return errno == ENOENT ? BANYAN_IN_PROGRESS : fail_system(path, err);
    is_ours = !fstat(fd, &facts) && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
              !(facts.st_mode & (S_IRWXG | S_IRWXO));
    if (is_ours)
        got = read(fd, text, length);
    close(fd);
    if (!is_ours)
        return banyan_fail(err, BANYAN_INVALID_USAGE,
                           "BANYAN_ROOT=file:%s: it is not a file that this user alone can read", path);
    return got == (ssize_t)length ? BANYAN_SUCCESS : BANYAN_IN_PROGRESS;
}

static banyan_status await(const char *path, char *text, size_t length, int timeout_ms, banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)timeout_ms * 1000000;
    long pause_ms = FIRST_PAUSE_MS;
    banyan_status status;

    while ((status = look(path, text, length, err)) == BANYAN_IN_PROGRESS) {
        struct timespec pause = {.tv_nsec = pause_ms * 1000000};

        if (banyan_clock_ns() >= deadline_ns)
            return banyan_fail(err, BANYAN_TIMEOUT,
                               "BANYAN_ROOT=file:%s: rank 0 has not written it within %.2f s", path,
                               timeout_ms * 1e-3);
        nanosleep(&pause, NULL);
        if (pause_ms < MAX_PAUSE_MS)
            pause_ms *= 2;
    }
    if (!status)
        text[length] = '\0';
    return status;
}

banyan_status banyan_meeting_file_share(const char *path, int rank, char *text, size_t bytes, int timeout_ms,
                                        banyan_error *err)
{
    return rank == 0 ? put(path, text, bytes - 1, err) : await(path, text, bytes - 1, timeout_ms, err);
}

void banyan_meeting_file_remove(const char *path)
{
    unlink(path);
}
