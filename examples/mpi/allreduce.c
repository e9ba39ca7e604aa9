/* SPDX-License-Identifier: Apache-2.0 */
/* An all-reduce in an MPI program, carried by MPI. Build and run:
 *     mpicc allreduce.c -o allreduce $(pkg-config --cflags --libs banyan)
 *     mpirun -n 4 ./allreduce */
#include <banyan/banyan_mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    banyan_comm *comm = NULL;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    config.transport = "mpi"; /* or shm+mpi: shared memory within a host */
    if (banyan_comm_init_mpi(&comm, MPI_COMM_WORLD, &config))
        MPI_Abort(MPI_COMM_WORLD, 1);

    float value = (float)(rank + 1);
    if (banyan_allreduce(&value, &value, 1, BANYAN_FLOAT32, BANYAN_SUM, comm))
        fprintf(stderr, "%s\n", banyan_last_error(comm));
    printf("rank %d: the sum is %g\n", rank, (double)value);

    banyan_comm_destroy(comm);
    return MPI_Finalize();
}
