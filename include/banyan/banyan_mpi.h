/* SPDX-License-Identifier: Apache-2.0 */
/* banyan/banyan_mpi.h: a group whose ranks are those of an MPI communicator. For programs that are compiled
 * with an MPI compiler (mpicc); libbanyan itself does not need MPI.
 *
 *     MPI_Init(&argc, &argv);
 *     banyan_comm_init_mpi(&comm, MPI_COMM_WORLD, NULL);
 *
 * MPI is only how the ranks find each other here; what carries their bytes then is BANYAN_TRANSPORT's or the
 * config's to say, and may be MPI as well ("mpi", "shm+mpi"). Call it before MPI_Finalize, and destroy the
 * communicator before, too. */
#ifndef BANYAN_BANYAN_MPI_H
#define BANYAN_BANYAN_MPI_H

#include <banyan/banyan.h>
#include <mpi.h>

static inline banyan_status banyan_mpi_allgather(void *context, const void *mine, size_t bytes, void *all)
{
    return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, *(MPI_Comm *)context) ==
                   MPI_SUCCESS
               ? BANYAN_SUCCESS
               : BANYAN_SYSTEM_ERROR;
}

/* Every rank of the MPI communicator calls it; ranks keep their numbers. The exchange at its start is MPI's
 * and waits as long as MPI waits; from then on our time-outs hold. Statuses: as banyan_comm_init_exchange. */
static inline banyan_status banyan_comm_init_mpi(banyan_comm **comm, MPI_Comm mpi,
                                                 const banyan_config *config)
{
    int rank = 0, size = 1;

    MPI_Comm_rank(mpi, &rank);
    MPI_Comm_size(mpi, &size);
    return banyan_comm_init_exchange(comm, size, rank, banyan_mpi_allgather, &mpi, config);
}

#endif
