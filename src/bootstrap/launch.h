/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/launch.h: which launcher started this process, and what it says about the job. */
#ifndef BANYAN_BOOTSTRAP_LAUNCH_H
#define BANYAN_BOOTSTRAP_LAUNCH_H

#include "core/auth.h"
#include "core/settings.h"

/* Where ranks meet: at an address that all know, or where rank 0 tells through the launcher or a file. */
typedef enum {
    BANYAN_MEET_AT_ROOT,
    BANYAN_MEET_BY_PMI,
    BANYAN_MEET_BY_PMIX,
    BANYAN_MEET_BY_FILE
} banyan_launch_meeting;

typedef struct {
    const char *launcher; /* 'torchrun' */
    int rank, size;       /* size 0: PMIx knows (bootstrap/pmix.h) */
    banyan_launch_meeting meeting;
    int pmi_fd;
    int local_rank, local_size; /* among the ranks of this host; -1 and 0: not said */
    char root[280];             /* HOST:PORT where ranks meet, or the file; empty: not known */
    char job[200];              /* what is the same in all processes of the job and no other; may be empty */
} banyan_launch;

/* Gives the value of an environment variable, or NULL. */
typedef const char *(*banyan_lookup)(void *context, const char *name);

/* The first that has set its variables, in the order of the table in launch.c, after BANYAN_RANK.
 * INVALID_USAGE when none has. */
banyan_status banyan_launch_detect(const banyan_settings *settings, banyan_lookup lookup, void *context,
                                   banyan_launch *out, banyan_error *err);

/* The job's secret: BANYAN_SECRET, or the file of BANYAN_SECRET_FILE, which nobody else may be able to read,
 * or, without either, one that follows from the job's name alone: that keeps jobs apart, not attackers
 * away. */
banyan_status banyan_launch_secret(const banyan_settings *settings, const banyan_launch *launch, char *buffer,
                                   size_t bytes, banyan_error *err);

/* Where BANYAN_SECRET or BANYAN_SECRET_FILE is set, a secret that was told to others becomes one that only
 * those who have that setting know; else it stays as it is. */
banyan_status banyan_launch_bind_secret(banyan_secret *secret, banyan_error *err);

#endif
