/* SPDX-License-Identifier: Apache-2.0 */
/* bench/first_allreduce.c: joins the job that a launcher has started, all-reduces 1 KiB once, and prints when
 * that was done, in seconds of CLOCK_REALTIME. With USE_MPI it is the same program over MPI.
 * bench/first_allreduce.py starts it. */
#include <stdio.h>
#include <time.h>

#ifdef USE_MPI
#include <mpi.h>
#else
#include <banyan/banyan.h>
#endif

enum { COUNT = 256 };

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int report(int size, float sum)
{
    if (sum != (float)size) {
        fprintf(stderr, "the sum of %d ones is %g\n", size, (double)sum);
        return 1;
    }
    printf("done %.6f\n", now_s());
    return 0;
}

int main(int count, char **words)
{
    float data[COUNT], sums[COUNT];
    int size = 0, wrong;

    (void)count;
    (void)words;
    for (int i = 0; i < COUNT; i++)
        data[i] = 1;
#ifdef USE_MPI
    MPI_Init(&count, &words);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(data, sums, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    wrong = report(size, sums[COUNT - 1]);
    MPI_Finalize();
#else
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    char sentence[512] = "";
    banyan_comm *comm = NULL;

    config.error = sentence;
    config.error_bytes = sizeof sentence;
    if (banyan_comm_init_env(&comm, &config)) {
        fprintf(stderr, "%s\n", sentence);
        return 1;
    }
    banyan_comm_size(comm, &size);
    if (banyan_allreduce(data, sums, COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm)) {
        fprintf(stderr, "%s\n", banyan_last_error(comm));
        return 1;
    }
    wrong = report(size, sums[COUNT - 1]);
    banyan_comm_destroy(comm);
#endif
    return wrong;
}
