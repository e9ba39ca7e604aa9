/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_net.c: hosts are namespaces, switches are bridges in one more namespace, cables are veth pairs, and
 * a token bucket at each end of a cable keeps the speed.
 *
 *     [ h0: eth0 ]════════[ c0a  bridge s0  c1a ]════════[ eth0 :h1 ]
 *       tbf out             tbf out      tbf out            tbf out
 *
 * Two figures matter, or the shaper beats physics at small sizes: segmentation offload hands over packets of
 * up to 12 kB, no more, and a bucket holds 0.2 ms of its rate but at least two such packets (25 kB and below
 * at 1 Gbit/s). `ip` and `tc` do the work, in batches, inside of the namespaces. A host has a name,
 * /etc/hosts, /dev/shm and boot id of its own, so that programs take it for another machine. */
#include "run_net.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/text.h"

#define GSO_BYTES 12000.0
#define MTU 1500
#define BUCKET_S 0.0002
#define QUEUE_BYTES 1000000
#define UNSHAPED_BYTES_PER_S 5e9 /* 40 Gbit/s and more: as fast as the machine can */

/* A process that keeps namespaces alive. */
typedef struct {
    pid_t pid;
} holder;

struct run_net {
    const run_tree *tree;
    holder *holders; /* by host, then the switches' */
    int holder_count;
};

const char *run_net_address(int host, char *buffer, size_t size)
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

static void add_hosts(banyan_text *text, const run_tree *tree)
{
    char address[24];

    banyan_text_add(text, "127.0.0.1 localhost\n");
    for (int i = 0; i < tree->host_count; i++)
        banyan_text_add(text, "%s %s\n", run_net_address(i, address, sizeof address), tree->names[i]);
}

/* Programs that look for another machine find one; it is no matter where this is not possible. */
static void disguise(const run_tree *tree, int host)
{
    banyan_text hosts = BANYAN_TEXT_EMPTY;
    char id[64];

    if (sethostname(tree->names[host], strlen(tree->names[host])) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"))
        return;
    add_hosts(&hosts, tree);
    snprintf(id, sizeof id, "00000000-0000-4000-8000-%06x%06x\n", (unsigned)getppid() & 0xffffff,
             (unsigned)host);
    if (!hosts.failed && write_file("/dev/shm/.hosts", hosts.bytes) && write_file("/dev/shm/.boot_id", id)) {
        (void)!mount("/dev/shm/.hosts", "/etc/hosts", NULL, MS_BIND, NULL);
        (void)!mount("/dev/shm/.boot_id", "/proc/sys/kernel/random/boot_id", NULL, MS_BIND, NULL);
        unlink("/dev/shm/.hosts");
        unlink("/dev/shm/.boot_id");
    }
    banyan_text_fini(&hosts);
}

/* What the kernel should do in a fresh network: no IPv6 (its addresses take seconds to settle), and no memory
 * of earlier connections, so that runs can be compared. */
static void tune_network(void)
{
    write_file("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    write_file("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
    write_file("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0");
}

/* The holder's life: never returns. host -1: the switches'. */
static void hold(const run_tree *tree, int host, int ready, pid_t parent)
{
    int flags = CLONE_NEWNET | (host < 0 ? 0 : CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS);
    int problem = 0, null;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setpgid(0, 0); /* a signal from the terminal is for the ranks */
    if (unshare(flags))
        problem = errno;
    if (!problem) {
        tune_network();
        if (host >= 0)
            disguise(tree, host);
    }
    (void)!write(ready, &problem, sizeof problem);
    null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(null, i);
    syscall(SYS_close_range, 3, ~0u, 0);
    for (;;)
        pause();
}

static banyan_status start_holder(run_net *net, int host, banyan_error *err)
{
    pid_t parent = getpid(), pid;
    int ready[2], problem = ECHILD;

    if (pipe2(ready, O_CLOEXEC))
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "a pipe cannot be made: %s", strerror(errno));
    pid = fork();
    if (!pid)
        hold(net->tree, host, ready[1], parent);
    close(ready[1]);
    if (pid > 0) {
        net->holders[net->holder_count++].pid = pid;
        if (read(ready[0], &problem, sizeof problem) != (ssize_t)sizeof problem)
            problem = ECHILD;
    } else {
        problem = errno;
    }
    close(ready[0]);
    if (problem)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "a network namespace cannot be made here: %s",
                           strerror(problem));
    return BANYAN_SUCCESS;
}

static int enter_namespace(pid_t pid, const char *kind)
{
    char path[48];
    int fd, result;

    snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, kind);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    result = setns(fd, 0);
    close(fd);
    return !result;
}

int run_net_enter(const run_net *net, int host)
{
    static const char *const kinds[] = {"net", "uts", "ipc", "mnt"};
    char folder[4096];
    const char *here = getcwd(folder, sizeof folder);

    for (int i = 0; i < 4; i++)
        if (!enter_namespace(net->holders[host].pid, kinds[i]))
            return 0;
    return !here || !chdir(here);
}

/* The child that becomes ip or tc; what it has to say goes to the pipe. */
static void become_tool(pid_t where, const char *tool, int input, int output)
{
    dup2(input, 0);
    dup2(output, 1);
    dup2(output, 2);
    if (!enter_namespace(where, "net"))
        _exit(126);
    execlp(tool, tool, "-batch", "-", (char *)NULL);
    _exit(127);
}

/* An anonymous file with the text, to be read from its beginning; -1: none. */
static int file_of(const char *text)
{
    int fd = memfd_create("banyan-batch", MFD_CLOEXEC);

    if (fd >= 0 && (write(fd, text, strlen(text)) != (ssize_t)strlen(text) || lseek(fd, 0, SEEK_SET))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Runs a batch of commands of the tool inside the holder's network. */
static banyan_status run_batch(const holder *where, const char *tool, const banyan_text *commands,
                               banyan_error *err)
{
    int input = commands->failed ? -1 : file_of(commands->bytes ? commands->bytes : "");
    int output = memfd_create("banyan-output", MFD_CLOEXEC), end = -1;
    char said[200] = "";
    pid_t pid = input >= 0 && output >= 0 ? fork() : -1;

    if (!pid)
        become_tool(where->pid, tool, input, output);
    if (pid > 0) {
        waitpid(pid, &end, 0);
        if (pread(output, said, sizeof said - 1, 0) < 0)
            said[0] = 0;
        said[strcspn(said, "\n")] = 0;
    }
    if (input >= 0)
        close(input);
    if (output >= 0)
        close(output);
    if (pid < 0)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s cannot be started: %s", tool, strerror(errno));
    if (WIFEXITED(end) && WEXITSTATUS(end) == 127)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR,
                           "the tool %s is not here (Debian has it in the package iproute2)", tool);
    if (end)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s failed: %s", tool, said);
    return BANYAN_SUCCESS;
}

/* The device of a cable's end: eth0 in a host, a port of a bridge otherwise. */
static const char *device(const run_tree *tree, int cable, int end, char *buffer, size_t size)
{
    if (tree->cables[cable].ends[end] < tree->host_count)
        snprintf(buffer, size, RUN_NET_INTERFACE);
    else
        snprintf(buffer, size, "c%d%c", cable, end ? 'b' : 'a');
    return buffer;
}

static const holder *holder_of(const run_net *net, int vertex)
{
    return &net->holders[vertex < net->tree->host_count ? vertex : net->tree->host_count];
}

/* Bridges and all cables, made in the switches' namespace; ends that belong elsewhere are born there. */
static banyan_status lay_out(const run_net *net, banyan_error *err)
{
    const run_tree *tree = net->tree;
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status;
    char names[2][16];

    for (int i = 0; i < tree->switch_count; i++)
        banyan_text_add(&text,
                        "link add s%d mtu %d type bridge stp_state 0 forward_delay 0\nlink set s%d up\n", i,
                        MTU, i);
    for (int i = 0; i < tree->cable_count; i++) {
        const int *ends = tree->cables[i].ends;

        banyan_text_add(&text, "link add name %s mtu %d netns %d type veth peer name %s mtu %d netns %d\n",
                        device(tree, i, 0, names[0], sizeof names[0]), MTU, (int)holder_of(net, ends[0])->pid,
                        device(tree, i, 1, names[1], sizeof names[1]), MTU,
                        (int)holder_of(net, ends[1])->pid);
        for (int end = 0; end < 2; end++)
            if (ends[end] >= tree->host_count)
                banyan_text_add(&text, "link set %s master s%d\n", names[end], ends[end] - tree->host_count);
    }
    status = run_batch(&net->holders[tree->host_count], "ip", &text, err);
    banyan_text_fini(&text);
    return status;
}

static void add_bucket(banyan_text *text, const char *name, double bytes_per_s)
{
    double burst = bytes_per_s * BUCKET_S;

    if (bytes_per_s >= UNSHAPED_BYTES_PER_S)
        return;
    if (burst < 2 * GSO_BYTES)
        burst = 2 * GSO_BYTES;
    banyan_text_add(text, "qdisc add dev %s root tbf rate %.0fbit burst %.0f limit %d\n", name,
                    8 * bytes_per_s, burst, QUEUE_BYTES);
}

/* Addresses, speeds and the limit on packets, for all ends in one namespace. host -1: the switches'. */
static banyan_status set_up(const run_net *net, int host, banyan_error *err)
{
    const run_tree *tree = net->tree;
    const holder *where = &net->holders[host < 0 ? tree->host_count : host];
    banyan_text links = BANYAN_TEXT_EMPTY, buckets = BANYAN_TEXT_EMPTY;
    banyan_status status;
    char name[16], address[24];

    banyan_text_add(&links, "link set lo up\n");
    if (host >= 0 && tree->cable_count)
        banyan_text_add(&links, "addr add %s/16 dev %s\n", run_net_address(host, address, sizeof address),
                        RUN_NET_INTERFACE);
    else if (host >= 0)
        banyan_text_add(&links, "addr add %s/16 dev lo\n", run_net_address(host, address, sizeof address));
    for (int i = 0; i < tree->cable_count; i++)
        for (int end = 0; end < 2; end++) {
            if (holder_of(net, tree->cables[i].ends[end]) != where)
                continue;
            device(tree, i, end, name, sizeof name);
            banyan_text_add(&links, "link set %s up gso_max_size %.0f gso_max_segs %.0f\n", name, GSO_BYTES,
                            GSO_BYTES / (MTU - 52));
            add_bucket(&buckets, name, tree->cables[i].bytes_per_s[end]);
        }
    status = run_batch(where, "ip", &links, err);
    if (!status && buckets.length)
        status = run_batch(where, "tc", &buckets, err);
    banyan_text_fini(&links);
    banyan_text_fini(&buckets);
    return status;
}

banyan_status run_net_create(const run_tree *tree, run_net **out, banyan_error *err)
{
    run_net *net;
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (geteuid() != 0)
        return banyan_fail(
            err, BANYAN_SYSTEM_ERROR,
            "a test network needs root: it is made of network namespaces (sudo banyan run --net ...)");
    net = banyan_alloc(1, sizeof *net);
    if (!net)
        return banyan_fail_memory(err);
    net->tree = tree;
    net->holders = banyan_alloc((size_t)tree->host_count + 1, sizeof *net->holders);
    if (!net->holders)
        status = banyan_fail_memory(err);
    for (int i = 0; i <= tree->host_count && !status; i++)
        status = start_holder(net, i < tree->host_count ? i : -1, err);
    if (!status)
        status = lay_out(net, err);
    for (int i = -1; i < tree->host_count && !status; i++)
        status = set_up(net, i, err);
    if (status)
        run_net_destroy(net);
    else
        *out = net;
    return status;
}

void run_net_destroy(run_net *net)
{
    if (!net)
        return;
    for (int i = 0; i < net->holder_count; i++) {
        kill(net->holders[i].pid, SIGKILL);
        waitpid(net->holders[i].pid, NULL, 0);
    }
    banyan_free(net->holders);
    banyan_free(net);
}
