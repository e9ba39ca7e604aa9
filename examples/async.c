/* SPDX-License-Identifier: Apache-2.0 */
/* examples/async.c: an all-reduce that runs while the program computes. Three processes on one host, which
 * are there before rank 0 makes the id, for with it comes a thread, and a process that has some had better
 * not fork: so the id reaches the others through a pipe.
 *
 *   cc async.c -lbanyan -o async && ./async */
#include <banyan/banyan.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3, COUNT = 1 << 20 };

static int work(banyan_unique_id id, int rank)
{
    float *gradient = malloc(COUNT * sizeof *gradient);
    banyan_comm *comm;
    banyan_request *request;
    banyan_status status =
        gradient ? banyan_comm_init_rank(&comm, RANKS, id, rank, NULL) : BANYAN_SYSTEM_ERROR;
    double elsewhere = 0;

    if (status)
        return 1;
    for (int i = 0; i < COUNT; i++)
        gradient[i] = (float)rank;
    status = banyan_allreduce_async(gradient, gradient, COUNT, BANYAN_FLOAT32, BANYAN_SUM, comm, &request);
    for (int i = 1; i < 1000000; i++) /* what the program has to do meanwhile */
        elsewhere += 1.0 / i;
    if (!status) {
        status = banyan_request_wait(request, -1);
        banyan_request_free(request);
    }
    if (status)
        fprintf(stderr, "rank %d: %s\n", rank, banyan_last_error(comm));
    else
        printf("rank %d: the sum is %g, and meanwhile 1 + 1/2 + 1/3 + ... became %.2f\n", rank,
               gradient[COUNT - 1], elsewhere);
    banyan_comm_destroy(comm);
    free(gradient);
    return status != BANYAN_SUCCESS;
}

int main(void)
{
    banyan_unique_id id;
    int ends[2], failed = 0;

    if (pipe(ends))
        return 1;
    for (int rank = 1; rank < RANKS; rank++)
        if (fork() == 0) {
            close(ends[1]);
            failed = read(ends[0], &id, sizeof id) != sizeof id || work(id, rank);
            _exit(failed | (fflush(stdout) != 0));
        }
    if (banyan_get_unique_id(&id))
        return 1;
    for (int rank = 1; rank < RANKS; rank++)
        failed |= write(ends[1], &id, sizeof id) != sizeof id;
    failed |= work(id, 0);
    for (int code; wait(&code) > 0;)
        failed |= code != 0;
    return failed;
}
