/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_job.h: the processes of one job: started together, watched, and ended together. */
#ifndef BANYAN_CLI_RUN_JOB_H
#define BANYAN_CLI_RUN_JOB_H

#include "run_net.h"

enum { RUN_MAX_RANKS = 1024, RUN_LONGEST_HOSTS = 200 };

typedef struct {
    char *const *command; /* ends with NULL */
    int rank_count;
    int is_tagged;     /* each line of output begins with its rank */
    int is_quiet;      /* say nothing about failures */
    int uses_nccl;     /* NCCL's variables are set for the plugin */
    int spare_count;   /* up to this many ranks may fail before the others are ended, */
    int quorum;        /* as long as those that are left may go on (bootstrap/quorum.h) */
    double timeout_s;  /* 0: none */
    const char *spec;  /* of the network; NULL: none */
    run_cables cables; /* of it */
    char hosts_spec[RUN_LONGEST_HOSTS + 20];
    const run_tree *tree;
    const run_net *net;
    char root_host[24], root[64], secret[65];
    int torch_port; /* on root_host, where torch keeps its store */
} run_job;

typedef struct {
    int exit_code;
    int failed_rank; /* -1: none */
    char how[512];   /* 'exited with code 7'; empty: nothing failed */
} run_outcome;

/* Returns when all ranks have ended. SYSTEM_ERROR only when nothing could be started. */
banyan_status run_job_do(const run_job *job, run_outcome *out, banyan_error *err);

/* A pid for the watcher to kill, with its group, when this process dies before it has said that all is
 * well. */
typedef struct {
    int fd;
    pid_t pid;
} run_watcher;

banyan_status run_watcher_start(run_watcher *out, banyan_error *err);
void run_watcher_add(const run_watcher *watcher, pid_t pid);
void run_watcher_remove(const run_watcher *watcher, pid_t pid);
void run_watcher_end(run_watcher *watcher);

/* Copies what ranks write to our own output, line by line, each behind its rank. */
typedef struct {
    int fd; /* -1: at its end */
    int to;
    int rank;
    size_t length;
    char line[4096];
} run_pipe;

void run_pipe_copy(run_pipe *pipe, int width); /* what is there now */
void run_pipe_finish(run_pipe *pipe, int width);

#endif
