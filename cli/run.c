/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run.c: banyan run: starts the ranks of a job on this machine, or in a test network of its own. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/quorum.h"
#include "cli.h"
#include "core/alloc.h"
#include "core/settings.h"
#include "core/value.h"
#include "nccl.h"
#include "run_job.h"

/* From SYSTEM_PORTS on, Linux gives ports to whoever connects (net.ipv4.ip_local_port_range). */
enum { FIRST_PORT = 20000, SYSTEM_PORTS = 32768 };

static const cli_option options[] = {
    {"ranks", 'n', "N", "how many ranks (default: the workers of --net, else 2)"},
    {"hosts", 0, "LIST",
     "the test network hosts:LIST,gbps=1, with these numbers of ranks per host: 2+3 (needs root)"},
    {"net", 0, "SPEC", "start them in a test network, a tree of hosts such as hosts:2+3,gbps=1 (needs root)"},
    {"queue", 0, "BYTES",
     "what waits in front of each cable of --net before packets are dropped (default: 1 MB)"},
    {"mtu", 0, "BYTES", "the largest packet of --net, 576 to 9000 (default: 1500)"},
    {"tag", 't', NULL, "put each line's rank in front of it"},
    {"nccl", 0, NULL, "NCCL in these ranks uses Banyan between nodes, as banyan nccl-env says"},
    {"spare", 0, "N", "up to N ranks may fail while the others go on (default: 0)"},
    {"timeout", 'T', "TIME", "end the job when it takes longer, with exit code 124"},
    {NULL, 0, NULL, NULL}};

static banyan_status make_secret(char *out, banyan_error *err)
{
    unsigned char bytes[32];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return BANYAN_SUCCESS;
}

/* Whether nobody has this port of 127.0.0.1 at this moment; *port 0: receives one. */
static int is_free(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), found;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    found = fd >= 0 && !bind(fd, (struct sockaddr *)&address, size) &&
            !getsockname(fd, (struct sockaddr *)&address, &size);
    if (fd >= 0)
        close(fd);
    *port = ntohs(address.sin_port);
    return found;
}

/* Torch's rank 0 listens only when its program has begun, seconds from now: at a port below those that the
 * system gives to whoever connects meanwhile. */
static int find_torch_port(int root_port)
{
    const int count = SYSTEM_PORTS - FIRST_PORT;

    for (int i = 0; i < count; i++) {
        int port = FIRST_PORT + (root_port + i) % count;

        if (is_free(&port))
            return port;
    }
    return FIRST_PORT;
}

/* Where ranks meet: at a port that nobody has at this moment; rank 0 takes it in the next. */
static banyan_status find_root(run_job *job, banyan_error *err)
{
    int port = 0;

    if (job->net) {
        run_host_address(job->tree->rank_hosts[0], job->root_host, sizeof job->root_host);
        port = RUN_NET_PORT;
        job->torch_port = RUN_NET_PORT + 1;
    } else {
        snprintf(job->root_host, sizeof job->root_host, "127.0.0.1");
        if (!is_free(&port))
            return banyan_fail(err, BANYAN_SYSTEM_ERROR, "no port can be had on 127.0.0.1: %s",
                               strerror(errno));
        job->torch_port = find_torch_port(port);
    }
    snprintf(job->root, sizeof job->root, "%s:%d", job->root_host, port);
    return BANYAN_SUCCESS;
}

static banyan_status choose_network(const cli_arguments *arguments, run_job *job, banyan_error *err)
{
    const char *hosts = cli_get(arguments, "hosts");

    job->spec = cli_get(arguments, "net");
    if (!hosts)
        return BANYAN_SUCCESS;
    if (job->spec)
        return banyan_fail(err, BANYAN_INVALID_USAGE, "--hosts and --net are two words for a test network");
    if (!*hosts || strspn(hosts, "0123456789+") != strlen(hosts) || strlen(hosts) > RUN_LONGEST_HOSTS)
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "--hosts %.60s is not a list such as 2+3, of at most %d letters; --net takes any network", hosts,
            RUN_LONGEST_HOSTS);
    snprintf(job->hosts_spec, sizeof job->hosts_spec, "hosts:%s,gbps=1", hosts);
    job->spec = job->hosts_spec;
    return BANYAN_SUCCESS;
}

/* Who may go on without those that fail is for the ranks' groups to say, and so for their settings. */
static banyan_status read_quorum(run_job *job, banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);

    if (!status) {
        status =
            banyan_quorum_parse(banyan_settings_string(settings, BANYAN_SETTING_SHRINK), &job->quorum, err);
        if (status)
            banyan_error_prefix(err, "BANYAN_SHRINK");
    }
    banyan_settings_destroy(settings);
    return status;
}

static void ignore_variable(void *context, const char *name, const char *value)
{
    (void)context;
    (void)name;
    (void)value;
}

/* An option about the cables of --net, in bytes; *bytes keeps its value where it is not given. */
static banyan_status read_cables(const cli_arguments *arguments, const run_job *job, const char *option,
                                 int64_t least, int64_t most, int64_t *bytes, banyan_error *err)
{
    const char *value = cli_get(arguments, option);
    banyan_status status;

    if (!value)
        return BANYAN_SUCCESS;
    if (!job->spec)
        return banyan_fail(err, BANYAN_INVALID_USAGE, "--%s is for the cables of a test network: --net",
                           option);
    status = banyan_value_bytes(value, bytes, err);
    if (!status && (*bytes < least || *bytes > most))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s is not between %lld and %lld bytes", value,
                             (long long)least, (long long)most);
    if (status) {
        char name[16];

        snprintf(name, sizeof name, "--%s", option);
        banyan_error_prefix(err, name);
    }
    return status;
}

static banyan_status read_options(const cli_arguments *arguments, run_job *job, banyan_error *err)
{
    const char *ranks = cli_get(arguments, "ranks"), *timeout = cli_get(arguments, "timeout"),
               *spare = cli_get(arguments, "spare");
    int64_t count = 2, spare_count = 0;
    banyan_status status = BANYAN_SUCCESS;

    job->command = arguments->command;
    job->is_tagged = cli_has(arguments, "tag");
    job->is_quiet = cli_has(arguments, "quiet");
    job->uses_nccl = cli_has(arguments, "nccl");
    if (job->uses_nccl)
        status = nccl_variables(0, ignore_variable, NULL, err); /* is the plugin there? */
    if (status)
        return status;
    if (!job->command)
        return banyan_fail(err, BANYAN_INVALID_USAGE, "no command is given; see 'banyan run --help'");
    status = choose_network(arguments, job, err);
    job->cables = (run_cables){RUN_NET_QUEUE_BYTES, RUN_NET_MTU_BYTES};
    if (!status)
        status = read_cables(arguments, job, "queue", RUN_NET_MIN_QUEUE_BYTES, INT32_MAX,
                             &job->cables.queue_bytes, err);
    if (!status)
        status = read_cables(arguments, job, "mtu", RUN_NET_MIN_MTU_BYTES, RUN_NET_MAX_MTU_BYTES,
                             &job->cables.mtu_bytes, err);
    if (status)
        return status;
    if (ranks) {
        status = banyan_value_integer(ranks, 1, RUN_MAX_RANKS, &count, err);
        if (status)
            banyan_error_prefix(err, "--ranks");
    }
    if (!status && spare) {
        status = banyan_value_integer(spare, 0, RUN_MAX_RANKS, &spare_count, err);
        if (status)
            banyan_error_prefix(err, "--spare");
        else
            status = read_quorum(job, err);
    }
    job->spare_count = (int)spare_count;
    if (!status && timeout) {
        status = banyan_value_seconds(timeout, 1, &job->timeout_s, err);
        if (!status && !(job->timeout_s > 0))
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s is not above 0", timeout);
        if (status)
            banyan_error_prefix(err, "--timeout");
    }
    job->rank_count = ranks || !job->spec ? (int)count : 0;
    return status;
}

static banyan_status load_tree(run_job *job, run_tree **out, banyan_error *err)
{
    banyan_topology *topology = NULL;
    banyan_status status = banyan_topology_load(job->spec, &topology, err);

    if (!status)
        status = run_tree_create(topology, out, err);
    banyan_topology_destroy(topology);
    if (status)
        return status;
    if (job->rank_count && job->rank_count != (*out)->rank_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--ranks %d, but %s has %d workers", job->rank_count,
                           job->spec, (*out)->rank_count);
    if ((*out)->rank_count > RUN_MAX_RANKS)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "%s has %d workers; at most %d ranks are started here",
                           job->spec, (*out)->rank_count, RUN_MAX_RANKS);
    job->rank_count = (*out)->rank_count;
    job->tree = *out;
    return BANYAN_SUCCESS;
}

static void print_json(const run_job *job, const run_outcome *outcome)
{
    printf("{\"ranks\":%d,\"root\":\"%s\",\"exit_code\":%d,\"failed_rank\":", job->rank_count, job->root,
           outcome->exit_code);
    if (outcome->failed_rank >= 0)
        printf("%d", outcome->failed_rank);
    else
        printf("null");
    printf(",\"ok\":%s}\n", outcome->exit_code ? "false" : "true");
}

static int run(const cli_arguments *arguments)
{
    run_job job = {.rank_count = 0};
    run_tree *tree = NULL;
    run_net *net = NULL;
    run_outcome outcome;
    banyan_error err = {""};
    banyan_status status = read_options(arguments, &job, &err);

    if (!status && job.spec)
        status = load_tree(&job, &tree, &err);
    if (!status && job.spec)
        status = run_net_create(tree, &job.cables, &net, &err);
    job.net = net;
    if (!status)
        status = make_secret(job.secret, &err);
    if (!status)
        status = find_root(&job, &err);
    if (!status)
        status = run_job_do(&job, &outcome, &err);
    run_net_destroy(net);
    if (!status && cli_has(arguments, "json"))
        print_json(&job, &outcome);
    run_tree_destroy(tree);
    return status ? cli_fail(arguments, status, &err) : outcome.exit_code;
}

const cli_verb cli_verb_run = {
    .name = "run",
    .usage = "[-n N] [--tag] [--nccl] [--spare N] [--timeout TIME] COMMAND [ARGUMENTS]\n"
             "--net SPEC [--queue BYTES] [--mtu BYTES] [--tag] [--nccl] [--spare N] [--timeout TIME] COMMAND "
             "[ARGUMENTS]\n"
             "--hosts LIST [--tag] [--nccl] [--spare N] [--timeout TIME] COMMAND [ARGUMENTS]",
    .summary = "starts the ranks of a job here, or in a test network of its own",
    .takes_command = 1,
    .options = options,
    .run = run};
