/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_host.c: a host has a network, host name, /etc/hosts, /dev/shm and boot id of its own, so that
 * programs take it for another machine. Two hosts that shared a boot id would send bytes through memory
 * instead of the cable, so a host that cannot have its own is an error.
 *
 * Entering a mount namespace moves a process to the root folder of that namespace, which is outside of a
 * chroot. Root and working folder are therefore opened before and taken up again after. */
#include "run_host.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

const char *run_host_address(int host, char *buffer, size_t size)
{
    snprintf(buffer, size, "10.77.%d.%d", host / 250, host % 250 + 1);
    return buffer;
}

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    int well = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return well;
}

/* Namespaces are found by process number. A /proc that was mounted in another PID namespace has other
 * processes under the same numbers, whose network would be changed instead. */
static banyan_status check_proc(banyan_error *err)
{
    char shown[16] = "", own[16];

    snprintf(own, sizeof own, "%d", (int)getpid());
    if (readlink("/proc/self", shown, sizeof shown - 1) > 0 && strcmp(shown, own) != 0)
        return banyan_fail(
            err, BANYAN_SYSTEM_ERROR,
            "/proc has the processes of another PID namespace: in it, this process is %s, not %s "
            "(mount one that belongs here: mount -t proc proc /proc, or unshare --mount-proc)",
            shown, own);
    return BANYAN_SUCCESS;
}

/* A mount namespace, and the root and working folder that a process has in it. */
typedef struct {
    int mounts, root, folder;
} view;

static int open_of(const char *process, const char *name, int flags)
{
    char path[48];

    snprintf(path, sizeof path, "/proc/%s/%s", process, name);
    return open(path, flags | O_CLOEXEC);
}

static banyan_status open_view(const char *process, view *out, banyan_error *err)
{
    *out = (view){-1, -1, -1};
    out->mounts = open_of(process, "ns/mnt", O_RDONLY);
    if (out->mounts >= 0)
        out->root = open_of(process, "root", O_PATH | O_DIRECTORY);
    if (out->root >= 0)
        out->folder = open_of(process, "cwd", O_PATH | O_DIRECTORY);
    if (out->folder < 0)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR,
                           "the files of process %s cannot be found: %s (a test network needs /proc)",
                           process, strerror(errno));
    return BANYAN_SUCCESS;
}

static void close_view(const view *v)
{
    const int all[] = {v->mounts, v->root, v->folder};

    for (int i = 0; i < 3; i++)
        if (all[i] >= 0)
            close(all[i]);
}

/* From the top of the namespace, where setns leads, to the view's own folders. */
static banyan_status take_up_folders(const view *v, banyan_error *err)
{
    if (fchdir(v->root) || chroot(".") || fchdir(v->folder))
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "the root folder cannot be kept: %s", strerror(errno));
    return BANYAN_SUCCESS;
}

/* What is mounted in this namespace from now on stays in it. That is said of the whole tree, at its top,
 * since the root folder of a chroot need not be a mount point. */
static banyan_status keep_mounts_private(banyan_error *err)
{
    view own;
    banyan_status status = open_view("self", &own, err);

    if (!status && (setns(own.mounts, CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)))
        status =
            banyan_fail(err, BANYAN_SYSTEM_ERROR, "mounts cannot be made private here: %s", strerror(errno));
    if (!status)
        status = take_up_folders(&own, err);
    close_view(&own);
    return status;
}

static void add_hosts(banyan_text *text, const run_tree *tree)
{
    char address[24];

    banyan_text_add(text, "127.0.0.1 localhost\n");
    for (int i = 0; i < tree->host_count; i++)
        banyan_text_add(text, "%s %s\n", run_host_address(i, address, sizeof address), tree->names[i]);
}

/* Lays the text over a file. */
static banyan_status cover(const char *path, const char *text, banyan_error *err)
{
    static const char source[] = "/dev/shm/.banyan";
    int well = write_file(source, text) && !mount(source, path, NULL, MS_BIND, NULL), problem = errno;

    unlink(source);
    if (!well)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s cannot be covered: %s", path, strerror(problem));
    return BANYAN_SUCCESS;
}

static banyan_status cover_files(const run_tree *tree, int host, banyan_error *err)
{
    banyan_text hosts = BANYAN_TEXT_EMPTY;
    banyan_status status;
    char id[64];

    snprintf(id, sizeof id, "00000000-0000-4000-8000-%06x%06x\n", (unsigned)getppid() & 0xffffff,
             (unsigned)host);
    status = cover(BOOT_ID, id, err);
    add_hosts(&hosts, tree);
    if (!status && hosts.failed)
        status = banyan_fail_memory(err);
    if (!status && !access("/etc/hosts", F_OK)) /* a small root folder may have none */
        status = cover("/etc/hosts", hosts.bytes, err);
    banyan_text_fini(&hosts);
    return status;
}

static banyan_status disguise(const run_tree *tree, int host, banyan_error *err)
{
    banyan_status status = keep_mounts_private(err);

    if (status)
        return status;
    if (sethostname(tree->names[host], strlen(tree->names[host])))
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "no host name can be set: %s", strerror(errno));
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"))
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "nothing can be mounted on /dev/shm: %s",
                           strerror(errno));
    return cover_files(tree, host, err);
}

/* What the kernel should do in a fresh network: no IPv6 (whose addresses need seconds), and no memory
 * of earlier connections, so that runs can be compared. */
static void tune_network(void)
{
    write_file("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    write_file("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
    write_file("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0");
}

static banyan_status make_host(const run_tree *tree, int host, banyan_error *err)
{
    int flags = CLONE_NEWNET | (host < 0 ? 0 : CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS);
    banyan_status status = BANYAN_SUCCESS;

    if (unshare(flags))
        return banyan_fail(
            err, BANYAN_SYSTEM_ERROR,
            "a network namespace cannot be made here: %s (it takes root, and in a container the "
            "capability SYS_ADMIN)",
            strerror(errno));
    tune_network();
    if (host >= 0)
        status = disguise(tree, host, err);
    if (status)
        banyan_error_prefix(err, tree->names[host]);
    return status;
}

/* The holder's life: never returns. Its first words say what failed; empty: nothing. */
static void hold(const run_tree *tree, int host, int ready, pid_t parent)
{
    banyan_error problem = {""};
    int null;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setpgid(0, 0); /* a signal from the terminal is for the ranks */
    (void)make_host(tree, host, &problem);
    (void)!write(ready, &problem, sizeof problem);
    null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(null, i);
    syscall(SYS_close_range, 3, ~0u, 0);
    for (;;)
        pause();
}

banyan_status run_host_start(const run_tree *tree, int host, pid_t *holder, banyan_error *err)
{
    pid_t parent = getpid(), pid;
    banyan_error problem = {"the process that holds a host has ended"};
    banyan_status status = check_proc(err);
    int ready[2];

    if (status)
        return status;
    if (pipe2(ready, O_CLOEXEC))
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "a pipe cannot be made: %s", strerror(errno));
    pid = fork();
    if (!pid)
        hold(tree, host, ready[1], parent);
    close(ready[1]);
    if (pid < 0)
        snprintf(problem.text, sizeof problem.text, "no process can be started: %s", strerror(errno));
    else if (read(ready[0], &problem, sizeof problem) == (ssize_t)sizeof problem && !*problem.text)
        *holder = pid;
    else
        run_host_end(pid);
    close(ready[0]);
    return *problem.text ? banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s", problem.text) : BANYAN_SUCCESS;
}

void run_host_end(pid_t holder)
{
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
}

static banyan_status enter_namespace(const char *process, const char *name, banyan_error *err)
{
    int fd = open_of(process, name, O_RDONLY), well = fd >= 0 && !setns(fd, 0), problem = errno;

    if (fd >= 0)
        close(fd);
    if (!well)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "/proc/%s/%s cannot be entered: %s", process, name,
                           strerror(problem));
    return BANYAN_SUCCESS;
}

banyan_status run_host_enter_network(pid_t holder, banyan_error *err)
{
    char process[16];

    snprintf(process, sizeof process, "%d", (int)holder);
    return enter_namespace(process, "ns/net", err);
}

banyan_status run_host_enter(pid_t holder, banyan_error *err)
{
    char process[16];
    view its;
    banyan_status status;

    snprintf(process, sizeof process, "%d", (int)holder);
    status = open_view(process, &its, err);
    if (!status)
        status = enter_namespace(process, "ns/net", err);
    if (!status)
        status = enter_namespace(process, "ns/uts", err);
    if (!status)
        status = enter_namespace(process, "ns/ipc", err);
    if (!status)
        status = enter_namespace(process, "ns/mnt", err);
    if (!status)
        status = take_up_folders(&its, err);
    close_view(&its);
    return status;
}
