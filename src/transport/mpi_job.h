/* SPDX-License-Identifier: Apache-2.0 */
/* transport/mpi_job.h: the job that mpirun or srun started, as MPI sees it: how its processes meet without
 * any address. */
#ifndef BANYAN_TRANSPORT_MPI_JOB_H
#define BANYAN_TRANSPORT_MPI_JOB_H

#include "core/status.h"
#include "transport/engine.h"

typedef struct {
    const banyan_message_engine *engine;
    int rank, size;
} banyan_mpi_job;

/* Initialises MPI where the program has not. mpi and folder: BANYAN_MPI and BANYAN_PLUGIN_FOLDER. */
banyan_status banyan_mpi_job_join(const char *mpi, const char *folder, banyan_mpi_job *out,
                                  banyan_error *err);

/* all gets bytes from every process; each of them calls it. */
banyan_status banyan_mpi_job_gather(const banyan_mpi_job *job, const void *mine, size_t bytes, void *all,
                                    int timeout_ms, banyan_error *err);

#endif
