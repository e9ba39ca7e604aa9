/* SPDX-License-Identifier: Apache-2.0 */
/* examples/allreduce.c: four threads add up their vectors.
 *
 *     cc allreduce.c $(pkg-config --cflags --libs banyan) -pthread && ./a.out
 *
 * Each thread is one rank and has a handle of its own. The network is said in one string: here two hosts with
 * two ranks each; leave it out and all ranks sit on one switch. */
#include <banyan/banyan.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 4, COUNT = 1 << 20 };

static void check(banyan_status status, const char *sentence)
{
    if (status) {
        fprintf(stderr, "%s: %s\n", banyan_status_string(status), sentence);
        exit(1);
    }
}

static void *train(void *argument)
{
    banyan_comm *comm = argument;
    float *gradient = malloc(COUNT * sizeof *gradient);
    int rank;

    if (!gradient)
        exit(1);
    check(banyan_comm_rank(comm, &rank), banyan_last_error(comm));
    for (int i = 0; i < COUNT; i++)
        gradient[i] = (float)(rank + 1);

    /* In place: what was this rank's gradient becomes the average of all. */
    check(banyan_allreduce(gradient, gradient, COUNT, BANYAN_FLOAT32, BANYAN_AVG, comm),
          banyan_last_error(comm));

    printf("rank %d: every element is %g\n", rank, (double)gradient[COUNT - 1]);
    free(gradient);
    banyan_comm_destroy(comm);
    return NULL;
}

int main(void)
{
    banyan_comm *comms[RANKS];
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    pthread_t threads[RANKS];
    char sentence[256] = "";

    config.topology = "hosts:2+2";
    config.error = sentence;
    config.error_bytes = sizeof sentence;
    check(banyan_comm_init_all(comms, RANKS, &config), sentence);
    for (int i = 0; i < RANKS; i++)
        pthread_create(&threads[i], NULL, train, comms[i]);
    for (int i = 0; i < RANKS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
