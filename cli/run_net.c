/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_net.c: hosts are namespaces, switches are bridges in one more namespace, cables are veth pairs, and
 * a token bucket at each end of a cable keeps the speed.
 *
 *     [ h0: eth0 ]════════[ c0a  bridge s0  c1a ]════════[ eth0 :h1 ]
 *       tbf out             tbf out      tbf out            tbf out
 *
 * Two figures matter, or the shaper beats physics at small sizes: segmentation offload hands over packets of
 * up to 12 kB, no more, and a bucket holds 0.2 ms of its rate but at least two such packets (25 kB and below
 * at 1 Gbit/s). `ip` and `tc` do the work, in batches, inside of the namespaces (cli/run_host.c). */
#include "run_net.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/text.h"

#define GSO_BYTES 12000.0
#define BUCKET_S 0.0002
#define UNSHAPED_BYTES_PER_S 5e9 /* 40 Gbit/s and more: as fast as the machine can */

struct run_net {
    const run_tree *tree;
    pid_t *holders; /* by host, then the switches' */
    int holder_count;
    run_cables cables;
};

banyan_status run_net_enter(const run_net *net, int host, banyan_error *err)
{
    banyan_error problem;
    banyan_status status = run_host_enter(net->holders[host], &problem);

    if (status)
        banyan_fail(err, status, "cannot enter host %s: %.400s", net->tree->names[host], problem.text);
    return status;
}

/* The child that becomes ip or tc; what it has to say goes to the pipe. */
static void become_tool(pid_t where, const char *tool, int input, int output)
{
    banyan_error problem;

    dup2(input, 0);
    dup2(output, 1);
    dup2(output, 2);
    if (run_host_enter_network(where, &problem)) {
        dprintf(2, "%s\n", problem.text);
        _exit(126);
    }
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
static banyan_status run_batch(pid_t where, const char *tool, const banyan_text *commands, banyan_error *err)
{
    int input = commands->failed ? -1 : file_of(commands->bytes ? commands->bytes : "");
    int output = memfd_create("banyan-output", MFD_CLOEXEC), end = -1;
    char said[200] = "";
    pid_t pid = input >= 0 && output >= 0 ? fork() : -1;

    if (!pid)
        become_tool(where, tool, input, output);
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
                           "the tool %s is not installed (Debian has it in the package iproute2)", tool);
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

static pid_t holder_of(const run_net *net, int vertex)
{
    return net->holders[vertex < net->tree->host_count ? vertex : net->tree->host_count];
}

/* Bridges and all cables, made in the switches' namespace; ends that belong elsewhere are born there. */
static banyan_status lay_out(const run_net *net, banyan_error *err)
{
    const run_tree *tree = net->tree;
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status;
    char names[2][16];
    int mtu = (int)net->cables.mtu_bytes;

    for (int i = 0; i < tree->switch_count; i++)
        banyan_text_add(&text,
                        "link add s%d mtu %d type bridge stp_state 0 forward_delay 0\nlink set s%d up\n", i,
                        mtu, i);
    for (int i = 0; i < tree->cable_count; i++) {
        const int *ends = tree->cables[i].ends;

        banyan_text_add(&text, "link add name %s mtu %d netns %d type veth peer name %s mtu %d netns %d\n",
                        device(tree, i, 0, names[0], sizeof names[0]), mtu, (int)holder_of(net, ends[0]),
                        device(tree, i, 1, names[1], sizeof names[1]), mtu, (int)holder_of(net, ends[1]));
        for (int end = 0; end < 2; end++)
            if (ends[end] >= tree->host_count)
                banyan_text_add(&text, "link set %s master s%d\n", names[end], ends[end] - tree->host_count);
    }
    status = run_batch(net->holders[tree->host_count], "ip", &text, err);
    banyan_text_fini(&text);
    return status;
}

static void add_bucket(banyan_text *text, const char *name, double bytes_per_s, int64_t queue_bytes)
{
    double burst = bytes_per_s * BUCKET_S;

    if (bytes_per_s >= UNSHAPED_BYTES_PER_S)
        return;
    if (burst < 2 * GSO_BYTES)
        burst = 2 * GSO_BYTES;
    banyan_text_add(text, "qdisc add dev %s root tbf rate %.0fbit burst %.0f limit %lld\n", name,
                    8 * bytes_per_s, burst, (long long)queue_bytes);
}

/* Addresses, speeds and the limit on packets, for all ends in one namespace. host -1: the switches'. */
static banyan_status set_up(const run_net *net, int host, banyan_error *err)
{
    const run_tree *tree = net->tree;
    pid_t where = net->holders[host < 0 ? tree->host_count : host];
    banyan_text links = BANYAN_TEXT_EMPTY, buckets = BANYAN_TEXT_EMPTY;
    banyan_status status;
    char name[16], address[24];

    banyan_text_add(&links, "link set lo up\n");
    if (host >= 0 && tree->cable_count)
        banyan_text_add(&links, "addr add %s/16 dev %s\n", run_host_address(host, address, sizeof address),
                        RUN_NET_INTERFACE);
    else if (host >= 0)
        banyan_text_add(&links, "addr add %s/16 dev lo\n", run_host_address(host, address, sizeof address));
    for (int i = 0; i < tree->cable_count; i++)
        for (int end = 0; end < 2; end++) {
            if (holder_of(net, tree->cables[i].ends[end]) != where)
                continue;
            device(tree, i, end, name, sizeof name);
            banyan_text_add(&links, "link set %s up gso_max_size %.0f gso_max_segs %.0f\n", name, GSO_BYTES,
                            GSO_BYTES / (double)(net->cables.mtu_bytes - 52));
            add_bucket(&buckets, name, tree->cables[i].bytes_per_s[end], net->cables.queue_bytes);
        }
    status = run_batch(where, "ip", &links, err);
    if (!status && buckets.length)
        status = run_batch(where, "tc", &buckets, err);
    banyan_text_fini(&links);
    banyan_text_fini(&buckets);
    return status;
}

banyan_status run_net_create(const run_tree *tree, const run_cables *cables, run_net **out, banyan_error *err)
{
    run_net *net;
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (geteuid() != 0)
        return banyan_fail(
            err, BANYAN_SYSTEM_ERROR,
            "a test network needs root: it is made of network namespaces (sudo banyan run --net ..., or "
            "unshare -r banyan run --net ... where users may make them)");
    net = banyan_alloc(1, sizeof *net);
    if (!net)
        return banyan_fail_memory(err);
    net->tree = tree;
    net->cables = *cables;
    net->holders = banyan_alloc((size_t)tree->host_count + 1, sizeof *net->holders);
    if (!net->holders)
        status = banyan_fail_memory(err);
    for (int i = 0; i <= tree->host_count && !status; i++) {
        status = run_host_start(tree, i < tree->host_count ? i : RUN_HOST_SWITCHES, &net->holders[i], err);
        net->holder_count += !status;
    }
    if (!status)
        status = lay_out(net, err);
    for (int i = RUN_HOST_SWITCHES; i < tree->host_count && !status; i++)
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
    for (int i = 0; i < net->holder_count; i++)
        run_host_end(net->holders[i]);
    banyan_free(net->holders);
    banyan_free(net);
}
