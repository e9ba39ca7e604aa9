/* SPDX-License-Identifier: Apache-2.0 */
/* bench/simultaneous.c: joins the job that a launcher has started and measures one all-reduce at a time and
 * two at a time, as Fig. 4 and 5 of the ASC-WFBP paper do: float32 sums of 8 KiB to 8 MiB, one and two in
 * turn. Of each the slowest rank counts, and of all calls the median; rank 0 prints one line of JSON. The
 * algorithm is the settings'. bench/asc_live.py starts it. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <banyan/banyan.h>

enum { SMALLEST = 8 << 10, LARGEST = 8 << 20, CALLS = 9, WARM = 2, PAIR = 2 };

static banyan_comm *comms[PAIR];
static float *data[PAIR];

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void check(banyan_status status, const banyan_comm *comm)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", banyan_last_error(comm));
    exit(1);
}

/* Seconds until all are done, on the slowest rank. */
static double run(size_t bytes, int at_a_time)
{
    banyan_request *requests[PAIR];
    double begin_s, seconds;

    check(banyan_barrier(comms[0]), comms[0]);
    begin_s = now_s();
    for (int i = 0; i < at_a_time; i++)
        check(banyan_allreduce_async(data[i], data[i], bytes / 4, BANYAN_FLOAT32, BANYAN_SUM, comms[i],
                                     &requests[i]),
              comms[i]);
    for (int i = 0; i < at_a_time; i++) {
        check(banyan_request_wait(requests[i], -1), comms[i]);
        banyan_request_free(requests[i]);
    }
    seconds = now_s() - begin_s;
    check(banyan_allreduce(&seconds, &seconds, 1, BANYAN_FLOAT64, BANYAN_MAX, comms[0]), comms[0]);
    return seconds;
}

static int compare(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static void measure(size_t bytes, double median[PAIR])
{
    double seconds[PAIR][CALLS];

    for (int call = -WARM; call < CALLS; call++)
        for (int i = 0; i < PAIR; i++) {
            double found = run(bytes, i + 1);

            if (call >= 0)
                seconds[i][call] = found;
        }
    for (int i = 0; i < PAIR; i++) {
        qsort(seconds[i], CALLS, sizeof **seconds, compare);
        median[i] = seconds[i][CALLS / 2];
    }
}

int main(void)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    char sentence[512] = "";
    int rank = 0;

    config.error = sentence;
    config.error_bytes = sizeof sentence;
    if (banyan_comm_init_env(&comms[0], &config)) {
        fprintf(stderr, "%s\n", sentence);
        return 1;
    }
    banyan_comm_rank(comms[0], &rank);
    check(banyan_comm_split(comms[0], 0, rank, &comms[1], NULL), comms[0]);
    for (int i = 0; i < PAIR; i++)
        data[i] = calloc(LARGEST, 1);
    if (!data[0] || !data[1])
        return 1;
    for (size_t bytes = SMALLEST; bytes <= LARGEST; bytes *= 2) {
        double median[PAIR];

        measure(bytes, median);
        if (!rank)
            printf("%s{\"bytes\": %zu, \"one_s\": %.7f, \"two_s\": %.7f}", bytes == SMALLEST ? "[" : ", ",
                   bytes, median[0], median[1]);
    }
    if (!rank)
        printf("]\n");
    for (int i = PAIR; i-- > 0;) {
        banyan_comm_destroy(comms[i]);
        free(data[i]);
    }
    return 0;
}
