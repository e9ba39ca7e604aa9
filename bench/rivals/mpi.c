/* SPDX-License-Identifier: Apache-2.0 */
/* bench/rivals/mpi.c: MPI_Allreduce of float32 sums, checked and timed as `banyan bench` does it: a barrier,
 * a row of calls, the mean of the slowest rank. Compiled once for each MPI; sizes are arguments BYTES:CALLS.
 * Rank 0 prints one line of JSON for each. Send and receive buffers are apart, and of MPI's own memory. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static float input(int rank, size_t i)
{
    return (float)(rank + 1) * (float)(i % 97);
}

static double count_wrong(const float *recv, size_t count, int ranks)
{
    double wrong = 0;

    for (size_t i = 0; i < count; i++)
        wrong += recv[i] != (float)(ranks * (ranks + 1) / 2) * (float)(i % 97);
    return wrong;
}

static void measure(size_t bytes, int calls, int rank, int ranks)
{
    size_t count = bytes / sizeof(float);
    float *send, *recv;
    double mine[2], worst[2], begin;

    if (MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &send) ||
        MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &recv))
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < count; i++) {
        send[i] = input(rank, i);
        recv[i] = 0;
    }
    for (int i = 0; i < (calls > 50 ? 20 : 1); i++)
        MPI_Allreduce(send, recv, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    mine[1] = count_wrong(recv, count, ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        MPI_Allreduce(send, recv, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    mine[0] = (MPI_Wtime() - begin) / calls;
    MPI_Reduce(mine, worst, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("{\"bytes\": %zu, \"seconds\": %.9f, \"wrong\": %.0f}\n", bytes, worst[0], worst[1]);
    fflush(stdout);
    MPI_Free_mem(send);
    MPI_Free_mem(recv);
}

int main(int argc, char **argv)
{
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i < argc; i++) {
        char *rest;
        size_t bytes = strtoull(argv[i], &rest, 10);

        measure(bytes, *rest == ':' ? atoi(rest + 1) : 1, rank, ranks);
    }
    MPI_Finalize();
    return 0;
}
