/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/launch.c: a table of launchers and the names of their variables. */
#include "bootstrap/launch.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/digest.h"
#include "core/file.h"
#include "core/value.h"

enum { MAX_RANKS = 1 << 20 };
/* From SYSTEM_PORTS on, Linux gives ports to whoever connects (net.ipv4.ip_local_port_range). */
enum { FIRST_PORT = 20000, SYSTEM_PORTS = 32768 };

#define FILE_PREFIX "file:"

typedef struct {
    const char *launcher;
    const char *rank, *size;             /* size NULL: PMIx knows */
    const char *local_rank, *local_size; /* NULL: not told */
    const char *job[2];                  /* the first that is set */
    const char *step; /* of several that one job may run at once; NULL: one job, one step */
} known_launcher;

static const known_launcher known[] = {
    {"torchrun",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     {"TORCHELASTIC_RUN_ID", "MASTER_PORT"},
     NULL},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"},
     NULL},
    {"MVAPICH",
     "MV2_COMM_WORLD_RANK",
     "MV2_COMM_WORLD_SIZE",
     "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE",
     {"PMI_JOBID", "SLURM_JOB_ID"},
     NULL},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", NULL, {"FLUX_JOB_ID", NULL}, NULL},
    {"JSM",
     "JSM_NAMESPACE_RANK",
     "JSM_NAMESPACE_SIZE",
     "JSM_NAMESPACE_LOCAL_RANK",
     "JSM_NAMESPACE_LOCAL_SIZE",
     {"PMIX_NAMESPACE", "LSB_JOBID"},
     NULL},
    {"PALS",
     "PALS_RANKID",
     "PMI_SIZE",
     "PALS_LOCAL_RANKID",
     "PMI_LOCAL_SIZE",
     {"PALS_APID", "PBS_JOBID"},
     NULL},
    {"PMI",
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS",
     {"PMI_JOBID", "SLURM_JOB_ID"},
     NULL},
    {"Slurm",
     "SLURM_PROCID",
     "SLURM_NTASKS",
     "SLURM_LOCALID",
     "SLURM_TASKS_PER_NODE",
     {"SLURM_JOB_ID", NULL},
     "SLURM_STEP_ID"},
    {"PMIx", "PMIX_RANK", NULL, NULL, NULL, {"PMIX_NAMESPACE", NULL}, NULL},
    {"Kubeflow Trainer", "PET_NODE_RANK", "PET_NNODES", NULL, NULL, {"PET_MASTER_ADDR", NULL}, NULL},
    {"LeaderWorkerSet", "LWS_WORKER_INDEX", "LWS_GROUP_SIZE", NULL, NULL, {"LWS_LEADER_ADDRESS", NULL}, NULL},
    {"Kubernetes", "JOB_COMPLETION_INDEX", "WORLD_SIZE", NULL, NULL, {NULL, NULL}, NULL},
};

static banyan_status read_number(const char *name, const char *text, int low, int high, int *out,
                                 banyan_error *err)
{
    int64_t value = 0;
    banyan_status status = banyan_value_integer(text, low, high, &value, err);

    if (status)
        banyan_error_prefix(err, name);
    else
        *out = (int)value;
    return status;
}

/* What the launcher says about this host is a help, never an error. */
static void read_local(const known_launcher *l, banyan_lookup lookup, void *context, banyan_launch *out)
{
    const char *rank = l->local_rank ? lookup(context, l->local_rank) : NULL;
    const char *size = l->local_size ? lookup(context, l->local_size) : NULL;
    const char *step = l->step ? lookup(context, l->step) : NULL;

    out->local_rank = -1;
    if (rank && read_number(l->local_rank, rank, 0, MAX_RANKS, &out->local_rank, NULL))
        out->local_rank = -1;
    if (size && read_number(l->local_size, size, 1, MAX_RANKS, &out->local_size, NULL))
        out->local_size = 0;
    for (int i = 0; i < 2 && !out->job[0]; i++) {
        const char *job = l->job[i] ? lookup(context, l->job[i]) : NULL;

        if (job)
            snprintf(out->job, sizeof out->job, "%s:%.130s%s%.20s", l->launcher, job, step ? "." : "",
                     step ? step : "");
    }
}

static banyan_status read_known(const known_launcher *l, banyan_lookup lookup, void *context,
                                banyan_launch *out, banyan_error *err)
{
    const char *size = l->size ? lookup(context, l->size) : NULL;
    banyan_status status = BANYAN_SUCCESS;

    out->launcher = l->launcher;
    if (l->size && !size)
        return banyan_fail(err, BANYAN_INVALID_USAGE, "%s set %s but not %s", l->launcher, l->rank, l->size);
    if (size)
        status = read_number(l->size, size, 1, MAX_RANKS, &out->size, err);
    if (!status)
        status = read_number(l->rank, lookup(context, l->rank), 0, (size ? out->size : MAX_RANKS) - 1,
                             &out->rank, err);
    if (!status)
        read_local(l, lookup, context, out);
    return status;
}

/* A port that every process of the job finds, out of the way of the system's own choices. */
static int port_of(const char *job)
{
    banyan_digest digest;

    banyan_digest_init(&digest);
    banyan_digest_add_string(&digest, job);
    return FIRST_PORT + (int)(digest.value % (SYSTEM_PORTS - FIRST_PORT));
}

/* torch's own store has MASTER_PORT: ours is the next one, unless the system gives away such ports. */
static int port_beside(const char *job, int master_port)
{
    char text[sizeof((banyan_launch *)0)->job + 20];

    snprintf(text, sizeof text, "%s:%d", job, master_port);
    return master_port + 1 < SYSTEM_PORTS ? master_port + 1 : port_of(text);
}

/* 'nid[001-004],x' begins with nid001. */
static void first_host(const char *list, char *out, size_t size)
{
    size_t head = strcspn(list, "[,"), number = 0;

    if (list[head] == '[')
        number = strcspn(list + head + 1, "-,]");
    snprintf(out, size, "%.*s%.*s", (int)(head < 200 ? head : 200), list, (int)(number < 40 ? number : 40),
             list[head] == '[' ? list + head + 1 : "");
}

/* One process per node is a rank by what a node is told; with several, torchrun knows which is which. */
static banyan_status check_trainer(banyan_lookup lookup, void *context, const banyan_launch *launch,
                                   banyan_error *err)
{
    const char *each = lookup(context, "PET_NPROC_PER_NODE");
    int count = 1;

    if (strcmp(launch->launcher, "Kubeflow Trainer") != 0 || !each ||
        read_number("PET_NPROC_PER_NODE", each, 1, MAX_RANKS, &count, NULL) || count == 1)
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_INVALID_USAGE,
                       "Kubeflow Trainer asks for PET_NPROC_PER_NODE=%d processes per node: start them with "
                       "torchrun",
                       count);
}

static void find_root(banyan_lookup lookup, void *context, banyan_launch *out)
{
    int is_trainer = !strcmp(out->launcher, "Kubeflow Trainer");
    const char *address = lookup(context, is_trainer ? "PET_MASTER_ADDR" : "MASTER_ADDR");
    const char *port = lookup(context, is_trainer ? "PET_MASTER_PORT" : "MASTER_PORT");
    const char *nodes = lookup(context, "SLURM_STEP_NODELIST");
    const char *leader = lookup(context, "LWS_LEADER_ADDRESS");
    int number = 0;
    char host[256];

    if (address && port && !read_number("MASTER_PORT", port, 1, 65535, &number, NULL))
        snprintf(out->root, sizeof out->root, strchr(address, ':') ? "[%.200s]:%d" : "%.200s:%d", address,
                 port_beside(out->job, number));
    else if (out->job[0] && (out->size == 1 || out->local_size == out->size))
        snprintf(out->root, sizeof out->root, "127.0.0.1:%d", port_of(out->job));
    else if (out->job[0] && leader)
        snprintf(out->root, sizeof out->root, "%.200s:%d", leader, port_of(out->job));
    else if (out->job[0] && nodes) {
        first_host(nodes, host, sizeof host);
        snprintf(out->root, sizeof out->root, "%s:%d", host, port_of(out->job));
    }
}

static int has_pmix(banyan_lookup lookup, void *context)
{
    return lookup(context, "PMIX_NAMESPACE") && lookup(context, "PMIX_RANK");
}

static int has_pmi(banyan_lookup lookup, void *context, int *fd)
{
    const char *socket = lookup(context, "PMI_FD");

    return socket && !read_number("PMI_FD", socket, 0, MAX_RANKS, fd, NULL);
}

/* BANYAN_ROOT=file:PATH. */
static banyan_status meet_by_file(const char *path, banyan_launch *out, banyan_error *err)
{
    if (!*path || strlen(path) >= sizeof out->root)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "BANYAN_ROOT=file:PATH: a path has 1 to %zu bytes",
                           sizeof out->root - 1);
    out->meeting = BANYAN_MEET_BY_FILE;
    snprintf(out->root, sizeof out->root, "%s", path);
    return BANYAN_SUCCESS;
}

/* BANYAN_ROOT is an address, or says through what rank 0 tells the others where it is; where nobody says,
 * PMIx does if it is there, which other users of it do not mind, else PMI. */
static banyan_status find_meeting(banyan_lookup lookup, void *context, const char *root, banyan_launch *out,
                                  banyan_error *err)
{
    int is_pmi = !strcmp(root, "pmi"), is_pmix = !strcmp(root, "pmix");

    if (!strncmp(root, FILE_PREFIX, strlen(FILE_PREFIX)))
        return meet_by_file(root + strlen(FILE_PREFIX), out, err);
    if (*root && !is_pmi && !is_pmix)
        snprintf(out->root, sizeof out->root, "%.270s", root);
    if (!is_pmi && !is_pmix && out->size && (out->root[0] || out->size == 1))
        return BANYAN_SUCCESS;
    if (!is_pmi && has_pmix(lookup, context))
        out->meeting = BANYAN_MEET_BY_PMIX;
    else if (!is_pmix && out->size && has_pmi(lookup, context, &out->pmi_fd))
        out->meeting = BANYAN_MEET_BY_PMI;
    else if (is_pmi || is_pmix)
        return banyan_fail(err, BANYAN_INVALID_USAGE, "BANYAN_ROOT=%s, but %s has not set %s", root,
                           out->launcher, is_pmi ? "PMI_FD" : "PMIX_NAMESPACE and PMIX_RANK");
    else
        return banyan_fail(
            err, BANYAN_INVALID_USAGE,
            "%s does not say where ranks meet: set BANYAN_ROOT=HOST:PORT, an address of rank 0",
            out->launcher);
    out->root[0] = '\0';
    return BANYAN_SUCCESS;
}

static banyan_status read_own(const banyan_settings *settings, banyan_launch *out, banyan_error *err)
{
    out->launcher = "BANYAN_RANK";
    out->rank = (int)banyan_settings_integer(settings, BANYAN_SETTING_RANK);
    out->size = (int)banyan_settings_integer(settings, BANYAN_SETTING_SIZE);
    out->local_rank = (int)banyan_settings_integer(settings, BANYAN_SETTING_LOCAL_RANK);
    out->local_size = (int)banyan_settings_integer(settings, BANYAN_SETTING_LOCAL_SIZE);
    if (out->rank >= out->size)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "BANYAN_RANK=%d is not below BANYAN_SIZE=%d",
                           out->rank, out->size);
    return BANYAN_SUCCESS;
}

banyan_status banyan_launch_detect(const banyan_settings *settings, banyan_lookup lookup, void *context,
                                   banyan_launch *out, banyan_error *err)
{
    const char *root = banyan_settings_string(settings, BANYAN_SETTING_ROOT);
    banyan_status status = BANYAN_INVALID_USAGE;

    *out = (banyan_launch){0};
    if (banyan_settings_integer(settings, BANYAN_SETTING_RANK) >= 0)
        status = read_own(settings, out, err);
    for (size_t i = 0; i < sizeof known / sizeof *known && !out->launcher; i++)
        if (lookup(context, known[i].rank))
            status = read_known(&known[i], lookup, context, out, err);
    if (!out->launcher)
        return banyan_fail(
            err, BANYAN_INVALID_USAGE,
            "no launcher started this process: use banyan run, torchrun, mpirun or srun, or set "
            "BANYAN_RANK, BANYAN_SIZE and BANYAN_ROOT");
    if (status)
        return status;
    find_root(lookup, context, out);
    status = check_trainer(lookup, context, out, err);
    return status ? status : find_meeting(lookup, context, root, out, err);
}

static banyan_status load_secret(const char *path, char *buffer, size_t bytes, banyan_error *err)
{
    struct stat about;
    char *text = NULL;
    size_t length = 0;
    banyan_status status;

    if (stat(path, &about) == 0 && about.st_mode & (S_IRWXG | S_IRWXO))
        return banyan_fail(err, BANYAN_INVALID_USAGE,
                           "the secret in %.200s can be read by others (mode %03o): chmod 600 it", path,
                           (unsigned)about.st_mode & 0777u);
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    if (!length || length >= bytes)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the secret in %.200s has %zu bytes, not 1 to %zu",
                             path, length, bytes - 1);
    else
        memcpy(buffer, text, length + 1);
    memset(text, 0, length);
    banyan_free(text);
    return status;
}

banyan_status banyan_launch_secret(const banyan_settings *settings, const banyan_launch *launch, char *buffer,
                                   size_t bytes, banyan_error *err)
{
    const char *secret = banyan_settings_string(settings, BANYAN_SETTING_SECRET);
    const char *file = banyan_settings_string(settings, BANYAN_SETTING_SECRET_FILE);

    if (*secret && strlen(secret) < bytes)
        snprintf(buffer, bytes, "%s", secret);
    else if (*secret)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "BANYAN_SECRET is longer than %zu bytes", bytes - 1);
    else if (*file)
        return load_secret(file, buffer, bytes, err);
    else
        snprintf(buffer, bytes, "job %s at %s", launch->job, launch->root);
    return BANYAN_SUCCESS;
}

banyan_status banyan_launch_bind_secret(banyan_secret *secret, banyan_error *err)
{
    banyan_settings *settings = NULL;
    banyan_launch none = {.rank = 0};
    banyan_secret own, both;
    char text[4096] = "";
    banyan_status status = banyan_settings_load(&settings, err);

    if (status)
        return status;
    if (*banyan_settings_string(settings, BANYAN_SETTING_SECRET) ||
        *banyan_settings_string(settings, BANYAN_SETTING_SECRET_FILE)) {
        status = banyan_launch_secret(settings, &none, text, sizeof text, err);
        banyan_auth_secret_from_text(text, &own);
        for (int i = 0; i < BANYAN_AUTH_BYTES; i++)
            both.bytes[i] = own.bytes[i] ^ secret->bytes[i];
        banyan_auth_secret_derive(&both, "bound", 0, secret);
        banyan_auth_forget(text, sizeof text);
        banyan_auth_forget(&own, sizeof own);
        banyan_auth_forget(&both, sizeof both);
    }
    banyan_settings_destroy(settings);
    return status;
}
