/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/comm_start.c: what ranks tell each other before a group begins, and which launcher started
 * them. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/launch.h"
#include "bootstrap/rank_record.h"
#include "bootstrap/setup.h"
#include "bootstrap/store.h"
#include "test.h"

static banyan_rank_record make_record(int rank)
{
    banyan_rank_record record = {.protocol = 1,
                                 .version = 100,
                                 .byte_order = 1,
                                 .size = 3,
                                 .rank = rank,
                                 .process = 77,
                                 .host = "node7",
                                 .place = "here",
                                 .algorithm = "auto",
                                 .transport = "auto",
                                 .slice_bytes = 4096,
                                 .window_bytes = 1 << 20,
                                 .connections = 2,
                                 .old_rank = -1};

    record.address = (banyan_address){.family = AF_INET, .port = 4711, .bytes = {10, 0, 0, 7}};
    return record;
}

TEST(a_record_comes_back_as_it_was_written)
{
    banyan_rank_record record = make_record(2), back;
    unsigned char bytes[BANYAN_RANK_RECORD_BYTES];

    banyan_rank_record_write(&record, bytes);
    assert_int_equal(banyan_rank_record_read(bytes, &back, NULL), BANYAN_SUCCESS);
    assert_int_equal(back.rank, 2);
    assert_int_equal(back.old_rank, -1);
    assert_string_equal(back.host, "node7");
    assert_int_equal(back.address.port, 4711);
    assert_memory_equal(back.address.bytes, record.address.bytes, 16);
    assert_int_equal(back.slice_bytes, 4096);
}

TEST(records_that_hold_rubbish_are_refused)
{
    banyan_rank_record record = make_record(2), back;
    unsigned char bytes[BANYAN_RANK_RECORD_BYTES];
    banyan_error err;

    memset(bytes, 0, sizeof bytes);
    assert_int_equal(banyan_rank_record_read(bytes, &back, &err), BANYAN_REMOTE_ERROR);
    CHECK_SAYS(err, "empty");
    record.rank = 3;
    banyan_rank_record_write(&record, bytes);
    assert_int_equal(banyan_rank_record_read(bytes, &back, &err), BANYAN_REMOTE_ERROR);
    CHECK_SAYS(err, "rank 3 of 3");
    record.rank = 0;
    record.host[0] = '\n';
    banyan_rank_record_write(&record, bytes);
    assert_int_equal(banyan_rank_record_read(bytes, &back, &err), BANYAN_REMOTE_ERROR);
    CHECK_SAYS(err, "rubbish");
}

static banyan_status compare(void (*change)(banyan_rank_record *record), banyan_error *err)
{
    banyan_rank_record records[3] = {make_record(0), make_record(1), make_record(2)};

    change(&records[2]);
    return banyan_rank_records_compare(records, 3, err);
}

static void nothing(banyan_rank_record *record)
{
    (void)record;
}

static void protocol(banyan_rank_record *record)
{
    record->protocol = 2;
}

static void version(banyan_rank_record *record)
{
    record->version = 203;
}

static void byte_order(banyan_rank_record *record)
{
    record->byte_order = 1u << 24;
}

static void size(banyan_rank_record *record)
{
    record->size = 4;
}

static void rank(banyan_rank_record *record)
{
    record->rank = 1;
}

static void slices(banyan_rank_record *record)
{
    record->slice_bytes = 8192;
}

static void topology(banyan_rank_record *record)
{
    snprintf(record->topology, sizeof record->topology, "0123456789abcdef");
}

static void quorum(banyan_rank_record *record)
{
    record->quorum = 1;
}

TEST(each_disagreement_names_both_ranks_and_values)
{
    static const struct {
        void (*change)(banyan_rank_record *record);
        banyan_status status;
        const char *words;
    } cases[] = {
        {nothing, BANYAN_SUCCESS, ""},
        {protocol, BANYAN_VERSION_MISMATCH, "rank 0 speaks protocol 1, rank 2 speaks 2"},
        {version, BANYAN_VERSION_MISMATCH, "rank 0 has Banyan 0.1, rank 2 has 0.2"},
        {byte_order, BANYAN_MISMATCH,
         "rank 0 (node7) and rank 2 (node7) write numbers in different byte orders"},
        {size, BANYAN_MISMATCH, "the number of ranks differs: rank 0 has 3, rank 2 has 4"},
        {rank, BANYAN_MISMATCH, "the process that should be rank 2 (node7, process 77) says rank 1"},
        {slices, BANYAN_MISMATCH, "BANYAN_SLICE_BYTES differs: rank 0 has 4096, rank 2 has 8192"},
        {quorum, BANYAN_MISMATCH, "BANYAN_SHRINK differs: rank 0 has majority, rank 2 has any"},
        {topology, BANYAN_MISMATCH,
         "BANYAN_TOPO (digest) differs: rank 0 has none, rank 2 has 0123456789abcdef"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_error err = {""};

        assert_int_equal(compare(cases[i].change, &err), cases[i].status);
        CHECK_SAYS(err, cases[i].words);
    }
}

TEST(ranks_are_listed_in_ranges)
{
    char text[100], named[12] = {0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 1};

    assert_string_equal(banyan_ranks_format(named, 12, text, sizeof text), "2, 4-6, 10-11");
    assert_string_equal(banyan_ranks_format(named, 2, text, sizeof text), "");
}

/* 'NAME=VALUE' strings. */
static const char *look_up(void *context, const char *name)
{
    size_t length = strlen(name);

    for (const char *const *entry = context; *entry; entry++)
        if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

static banyan_status detect(const char *const *environment, banyan_launch *out, banyan_error *err)
{
    banyan_settings_sources sources = {.environment = environment};
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load_from(&sources, &settings, err);

    if (!status)
        status = banyan_launch_detect(settings, look_up, (void *)(uintptr_t)environment, out, err);
    banyan_settings_destroy(settings);
    return status;
}

TEST(every_launcher_is_recognised)
{
    static const char *const own[] = {"BANYAN_RANK=1", "BANYAN_SIZE=3", "BANYAN_ROOT=h:1", "RANK=7", NULL};
    static const char *const torchrun[] = {
        "RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=n", "MASTER_PORT=29500",
        NULL};
    static const char *const open_mpi[] = {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2",
                                           "OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_NAMESPACE=x", NULL};
    static const char *const pmi[] = {"PMI_RANK=0", "PMI_SIZE=2", "BANYAN_ROOT=h:2", NULL};
    static const char *const pmix[] = {"PMIX_RANK=3", "PMIX_NAMESPACE=prterun-1", NULL};
    static const char *const slurm_pmix[] = {"PMIX_RANK=1",
                                             "PMIX_NAMESPACE=slurm.pmix.42.0",
                                             "SLURM_PROCID=1",
                                             "SLURM_NTASKS=2",
                                             "SLURM_JOB_ID=42",
                                             "SLURM_STEP_NODELIST=n1,n2",
                                             NULL};
    static const char *const hydra[] = {"PMI_RANK=1", "PMI_SIZE=2", "PMI_FD=7", NULL};
    static const char *const slurm_told[] = {"SLURM_PROCID=1",
                                             "SLURM_NTASKS=2",
                                             "SLURM_JOB_ID=42",
                                             "PMI_FD=5",
                                             "SLURM_STEP_NODELIST=n1,n2",
                                             "BANYAN_ROOT=pmi",
                                             NULL};
    static const char *const file[] = {"PMI_RANK=1",
                                       "PMI_SIZE=2",
                                       "PMI_FD=7",
                                       "MASTER_ADDR=n",
                                       "MASTER_PORT=9",
                                       "BANYAN_ROOT=file:/shared/job 7",
                                       NULL};
    static const char *const pals[] = {"PALS_RANKID=4", "PMI_RANK=4", "PMI_SIZE=8", "BANYAN_ROOT=h:2", NULL};
    static const char *const trainer[] = {"PET_NODE_RANK=1",
                                          "PET_NNODES=2",
                                          "PET_MASTER_ADDR=t-0.t",
                                          "PET_MASTER_PORT=29400",
                                          "PET_NPROC_PER_NODE=auto",
                                          "JOB_COMPLETION_INDEX=1",
                                          NULL};
    static const char *const indexed[] = {"JOB_COMPLETION_INDEX=2", "WORLD_SIZE=3", "MASTER_ADDR=job-0.svc",
                                          "MASTER_PORT=29500", NULL};
    static const char *const mvapich[] = {"MV2_COMM_WORLD_RANK=0", "MV2_COMM_WORLD_SIZE=2", "BANYAN_ROOT=h:2",
                                          NULL};
    static const char *const slurm[] = {"SLURM_PROCID=3", "SLURM_NTASKS=8", "SLURM_JOB_ID=42",
                                        "SLURM_STEP_NODELIST=nid[004-007],x1", NULL};
    static const char *const flux[] = {"FLUX_TASK_RANK=5", "FLUX_JOB_SIZE=6", "FLUX_JOB_ID=f1",  "PMI_RANK=5",
                                       "PMI_SIZE=6",       "SLURM_PROCID=0",  "BANYAN_ROOT=h:3", NULL};
    static const char *const jsm[] = {"JSM_NAMESPACE_RANK=1", "JSM_NAMESPACE_SIZE=2",
                                      "JSM_NAMESPACE_LOCAL_SIZE=2", "LSB_JOBID=9", NULL};
    static const char *const lws[] = {"LWS_WORKER_INDEX=1", "LWS_GROUP_SIZE=4",
                                      "LWS_LEADER_ADDRESS=job-0.job.space", NULL};
    static const struct {
        const char *const *environment;
        const char *launcher, *root;
        int rank, size, is_told; /* rank 0 says where, through the launcher or a file */
    } cases[] = {
        {own, "BANYAN_RANK", "h:1", 1, 3, 0},
        {torchrun, "torchrun", "n:29501", 2, 4, 0},
        {open_mpi, "Open MPI", "127.0.0.1:", 1, 2, 0},
        {pmi, "PMI", "h:2", 0, 2, 0},
        {pmix, "PMIx", "", 3, 0, 1},
        {slurm_pmix, "Slurm", "n1:", 1, 2, 0},
        {hydra, "PMI", "", 1, 2, 1},
        {slurm_told, "Slurm", "", 1, 2, 1},
        {file, "PMI", "/shared/job 7", 1, 2, 1},
        {pals, "PALS", "h:2", 4, 8, 0},
        {trainer, "Kubeflow Trainer", "t-0.t:29401", 1, 2, 0},
        {indexed, "Kubernetes", "job-0.svc:29501", 2, 3, 0},
        {mvapich, "MVAPICH", "h:2", 0, 2, 0},
        {slurm, "Slurm", "nid004:", 3, 8, 0},
        {flux, "Flux", "h:3", 5, 6, 0},
        {jsm, "JSM", "127.0.0.1:", 1, 2, 0},
        {lws, "LeaderWorkerSet", "job-0.job.space:", 1, 4, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_launch launch;
        banyan_error err = {""};

        if (detect(cases[i].environment, &launch, &err))
            fail_msg("%s: %s", cases[i].launcher, err.text);
        assert_string_equal(launch.launcher, cases[i].launcher);
        assert_int_equal(launch.rank, cases[i].rank);
        assert_int_equal(launch.size, cases[i].size);
        assert_int_equal(strncmp(launch.root, cases[i].root, strlen(cases[i].root)), 0);
        assert_int_equal(launch.meeting != BANYAN_MEET_AT_ROOT, cases[i].is_told);
    }
}

/* torchrun's c10d backend has its store at any free port, and the one after it may be somebody's. */
TEST(ranks_do_not_meet_at_ports_that_the_system_gives_away)
{
    static const char *const ports[] = {"MASTER_PORT=32767", "MASTER_PORT=59973", "MASTER_PORT=65535"};
    int port[3];

    for (int i = 0; i < 3; i++) {
        const char *environment[] = {
            "RANK=2", "WORLD_SIZE=4", "MASTER_ADDR=n", "TORCHELASTIC_RUN_ID=none", ports[i], NULL};
        banyan_launch launch;

        assert_int_equal(detect(environment, &launch, NULL), 0);
        assert_int_equal(sscanf(launch.root, "n:%d", &port[i]), 1);
        assert_in_range(port[i], 1024, 32767);
    }
    assert_int_not_equal(port[1], port[2]); /* of another job of the same name */
}

/* Else ranks of two steps that run at once would meet each other. */
TEST(steps_of_a_slurm_job_meet_at_ports_of_their_own)
{
    static const char *const steps[] = {"SLURM_STEP_ID=0", "SLURM_STEP_ID=1"};
    banyan_launch launches[2];

    for (int i = 0; i < 2; i++) {
        const char *environment[] = {"SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_TASKS_PER_NODE=2",
                                     "SLURM_JOB_ID=7", steps[i],         NULL};

        assert_int_equal(detect(environment, &launches[i], NULL), 0);
        assert_int_equal(strncmp(launches[i].root, "127.0.0.1:", 10), 0);
    }
    assert_string_not_equal(launches[0].root, launches[1].root);
    assert_string_not_equal(launches[0].job, launches[1].job); /* nor do they have the same secret */
}

/* The network of a group has switches besides its ranks. */
TEST(as_many_ranks_as_the_manual_says_fit)
{
    banyan_setup setup;
    banyan_error err = {""};

    if (banyan_setup_init(&setup, NULL, BANYAN_MAX_RANKS, &err))
        fail_msg("%s", err.text);
    banyan_setup_fini(&setup);
    assert_int_equal(banyan_setup_init(&setup, NULL, BANYAN_MAX_RANKS + 1, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "a group has 1 to 4096 ranks, not 4097");
}

TEST(wrong_launcher_variables_are_named)
{
    static const char *const none[] = {NULL};
    static const char *const no_size[] = {"RANK=1", NULL};
    static const char *const above[] = {"RANK=4", "WORLD_SIZE=4", NULL};
    static const char *const no_root[] = {"PMI_RANK=0", "PMI_SIZE=2", NULL};
    static const char *const no_pmix[] = {"SLURM_PROCID=0", "SLURM_NTASKS=2", "BANYAN_ROOT=pmix", NULL};
    static const char *const many[] = {"PET_NODE_RANK=0",   "PET_NNODES=2",      "PET_NPROC_PER_NODE=8",
                                       "PET_MASTER_ADDR=h", "PET_MASTER_PORT=1", NULL};
    banyan_launch launch;
    banyan_error err;

    assert_int_equal(detect(none, &launch, &err), BANYAN_INVALID_USAGE);
    CHECK_SAYS(err, "no launcher started this process");
    assert_int_equal(detect(no_size, &launch, &err), BANYAN_INVALID_USAGE);
    CHECK_SAYS(err, "torchrun set RANK but not WORLD_SIZE");
    assert_int_equal(detect(above, &launch, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "RANK");
    assert_int_equal(detect(no_root, &launch, &err), BANYAN_INVALID_USAGE);
    CHECK_SAYS(err, "set BANYAN_ROOT=HOST:PORT");
    assert_int_equal(detect(no_pmix, &launch, &err), BANYAN_INVALID_USAGE);
    CHECK_SAYS(err, "BANYAN_ROOT=pmix, but Slurm has not set PMIX_NAMESPACE and PMIX_RANK");
    assert_int_equal(detect(many, &launch, &err), BANYAN_INVALID_USAGE);
    CHECK_SAYS(err, "PET_NPROC_PER_NODE=8 processes per node: start them with torchrun");
}

TEST(a_secret_file_must_be_its_owners_alone)
{
    char path[] = "/tmp/banyan-secret-XXXXXX", setting[80], secret[100];
    const char *environment[] = {setting, NULL};
    banyan_settings_sources sources = {.environment = environment};
    banyan_settings *settings = NULL;
    banyan_launch launch = {0};
    banyan_error err = {""};
    int fd = mkstemp(path);

    assert_true(fd >= 0 && write(fd, "hush hush\n", 10) == 10);
    close(fd);
    snprintf(setting, sizeof setting, "BANYAN_SECRET_FILE=%s", path);
    assert_int_equal(banyan_settings_load_from(&sources, &settings, NULL), 0);
    assert_int_equal(banyan_launch_secret(settings, &launch, secret, sizeof secret, &err), BANYAN_SUCCESS);
    assert_string_equal(secret, "hush hush");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(banyan_launch_secret(settings, &launch, secret, sizeof secret, &err),
                     BANYAN_INVALID_USAGE);
    CHECK_SAYS(err, "can be read by others (mode 640)");
    banyan_settings_destroy(settings);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_back_as_it_was_written),
        cmocka_unit_test(records_that_hold_rubbish_are_refused),
        cmocka_unit_test(each_disagreement_names_both_ranks_and_values),
        cmocka_unit_test(ranks_are_listed_in_ranges),
        cmocka_unit_test(every_launcher_is_recognised),
        cmocka_unit_test(ranks_do_not_meet_at_ports_that_the_system_gives_away),
        cmocka_unit_test(steps_of_a_slurm_job_meet_at_ports_of_their_own),
        cmocka_unit_test(as_many_ranks_as_the_manual_says_fit),
        cmocka_unit_test(wrong_launcher_variables_are_named),
        cmocka_unit_test(a_secret_file_must_be_its_owners_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
