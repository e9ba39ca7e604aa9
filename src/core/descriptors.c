/* SPDX-License-Identifier: Apache-2.0 */
/* core/descriptors.c: RLIMIT_NOFILE and /proc/self/fd. A soft limit is there for programs that use select(2),
 * which sees no descriptor above 1023; a process that needs more raises it itself, as systemd and its
 * documentation recommend. */
#include "core/descriptors.h"

#include <dirent.h>
#include <limits.h>
#include <sys/resource.h>

/* Those that are open now; 0 where /proc is not there. */
static long count_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    long count = -1; /* the folder's own */

    if (!folder)
        return 0;
    while ((entry = readdir(folder)))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static long limit_of(rlim_t value)
{
    return value == RLIM_INFINITY || value > LONG_MAX ? LONG_MAX : (long)value;
}

static void raise_soft(struct rlimit *limit, long goal)
{
    struct rlimit higher = *limit;

    if (limit_of(limit->rlim_cur) >= goal)
        return;
    higher.rlim_cur = limit_of(limit->rlim_max) > goal ? (rlim_t)goal : limit->rlim_max;
    if (!setrlimit(RLIMIT_NOFILE, &higher))
        *limit = higher;
}

banyan_status banyan_descriptors_reserve(long needed, long wanted, const char *what, long *spare,
                                         banyan_error *err)
{
    long open = count_open(), allowed;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return BANYAN_SUCCESS; /* then the call that fails will say so */
    raise_soft(&limit, open + wanted);
    allowed = limit_of(limit.rlim_cur);
    if (allowed < open + needed)
        return banyan_fail(
            err, BANYAN_SYSTEM_ERROR,
            "%s needs %ld file descriptors beside the %ld that are open, and this process may have "
            "%ld; raise the hard limit ('ulimit -Hn') to at least %ld",
            what, needed, open, allowed, open + needed);
    if (spare)
        *spare = allowed - open - needed;
    return BANYAN_SUCCESS;
}
