/* SPDX-License-Identifier: Apache-2.0 */
/* engine/measure.c: what an all-reduce costs here, alone and beside others.
 *
 * Sizes from 64 bytes on, of which start-ups are learned, each four times the one before, up to the whole
 * model or as far as the time that is granted reaches: the median of some runs, and of that the slowest
 * rank's. Then the same for two at a time, on a second communicator; and as long as one more stream moves
 * more in all, for one more.
 *
 * Every number that decides what is done next is agreed on first, so that all ranks do the same. */
#include <math.h>
#include <string.h>

#include "calls/learning.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "engine/engine.h"

enum {
    MIN_BYTES = 64,
    MAX_RUNS = 9,
    MIN_RUNS = 2,
    LEARNING_CALLS =
        12 /* about as many as it takes to survey some hosts and to try a plan (docs/learning.md) */
};

#define MAX_BYTES ((size_t)256 << 20) /* in memory at a time for this */
#define SHARE_ALONE 0.6               /* of the time; the rest is for several at a time */
#define STILL_GROWING 1.03            /* one more stream is looked at while the last one gave that much */

typedef struct {
    banyan_train *train;
    char *memory[BANYAN_MAX_STREAMS];
    size_t room;
    int count; /* sizes that are measured */
    double bytes[BANYAN_MAX_POINTS], seconds[BANYAN_MAX_POINTS];
    double spent_s, learning_s;
} measurement;

/* The largest of all ranks' values. */
static banyan_status agree(banyan_train *train, double *value, banyan_error *err)
{
    banyan_comm *comm = train->streams[0].comm;
    banyan_status status = banyan_allreduce(value, value, 1, BANYAN_FLOAT64, BANYAN_MAX, comm);

    return status ? banyan_fail(err, status, "%s", banyan_last_error(comm)) : BANYAN_SUCCESS;
}

static banyan_status add_stream(banyan_train *train, banyan_error *err)
{
    banyan_engine_stream *stream = &train->streams[train->stream_count];
    banyan_comm *parent = train->streams[0].comm;
    banyan_status status = banyan_comm_clone(parent, &stream->comm, err);

    if (status)
        return status;
    pthread_mutex_lock(&train->lock);
    stream->train = train;
    stream->number = train->stream_count++;
    pthread_mutex_unlock(&train->lock);
    return BANYAN_SUCCESS;
}

static banyan_status make_room(measurement *m, size_t bytes, int streams, banyan_error *err)
{
    for (int s = 0; s < streams; s++) {
        if (m->memory[s] && bytes <= m->room)
            continue;
        banyan_free(m->memory[s]);
        m->memory[s] = banyan_alloc(bytes > m->room ? bytes : m->room, 1);
        if (!m->memory[s])
            return banyan_fail_memory(err);
    }
    if (bytes > m->room) {
        for (int s = streams; s < BANYAN_MAX_STREAMS; s++) {
            banyan_free(m->memory[s]);
            m->memory[s] = NULL;
        }
        m->room = bytes;
    }
    return BANYAN_SUCCESS;
}

/* That many all-reduces of this size at a time, until all are done. */
static banyan_status run_once(measurement *m, size_t bytes, int streams, double *seconds, banyan_error *err)
{
    banyan_request *requests[BANYAN_MAX_STREAMS] = {NULL};
    banyan_engine_stream *all = m->train->streams;
    double begin_s = banyan_clock_s();
    banyan_status status = BANYAN_SUCCESS;
    size_t count = bytes / 4;

    for (int s = 1; s < streams && !status; s++)
        status = banyan_allreduce_async(m->memory[s], m->memory[s], count, BANYAN_FLOAT32, BANYAN_SUM,
                                        all[s].comm, &requests[s]);
    if (!status)
        status = banyan_allreduce(m->memory[0], m->memory[0], count, BANYAN_FLOAT32, BANYAN_SUM, all[0].comm);
    for (int s = 0; s < streams; s++) {
        banyan_status outcome = s && requests[s] ? banyan_request_wait(requests[s], -1) : status;

        if (outcome)
            status = banyan_fail(err, outcome, "%s", banyan_last_error(all[s].comm));
        banyan_request_free(requests[s]);
    }
    *seconds = banyan_clock_s() - begin_s;
    return status;
}

/* A group that was told no network surveys it at the end of its first large calls, and then plans anew: what
 * they take is not what later ones will. They are made here until that is over, in all for as long at most
 * as measuring may take. */
static banyan_status let_it_learn(measurement *m, size_t bytes, int streams, banyan_error *err)
{
    double begin_s = banyan_clock_s(), seconds, goes_on;
    double until_s = begin_s + m->train->config.measure_ms / 1e3 - m->learning_s;
    banyan_status status;

    do {
        goes_on = 0;
        for (int s = 0; s < streams && banyan_clock_s() < until_s; s++)
            goes_on = fmax(goes_on, banyan_learning_goes_on(m->train->streams[s].comm, bytes));
        status = agree(m->train, &goes_on, err);
        if (!status)
            status = make_room(m, bytes, streams, err);
        if (!status && goes_on > 0)
            status = run_once(m, bytes, streams, &seconds, err);
    } while (!status && goes_on > 0);
    m->learning_s += banyan_clock_s() - begin_s;
    return status;
}

/* The first run makes the plan and the connections, the next one says how many more there is time for. */
static banyan_status run_some(measurement *m, size_t bytes, int streams, double budget_s, double *seconds,
                              banyan_error *err)
{
    double runs_s[MAX_RUNS], first_s;
    int runs;
    banyan_status status = make_room(m, bytes, streams, err);

    if (!status)
        status = run_once(m, bytes, streams, &first_s, err);
    if (!status)
        status = let_it_learn(m, bytes, streams, err);
    if (!status)
        status = run_once(m, bytes, streams, &first_s, err);
    if (!status)
        status = agree(m->train, &first_s, err);
    if (status)
        return status;
    runs = (int)fmin(MAX_RUNS, fmax(MIN_RUNS, budget_s / fmax(first_s, 1e-9)));
    for (int i = 0; i < runs && !status; i++)
        status = run_once(m, bytes, streams, &runs_s[i], err);
    m->spent_s += (runs + 2) * first_s;
    *seconds = status ? 0 : banyan_median(runs_s, runs);
    return status ? status : agree(m->train, seconds, err);
}

static size_t model_bytes(const banyan_train *train)
{
    size_t bytes = 0;

    for (int i = 0; i < train->tensor_count; i++)
        bytes += train->tensors[i].count * banyan_datatype_bytes(train->tensors[i].type);
    return bytes;
}

/* What is learnt is judged by calls of the size after which it is: the largest of which there is time for
 * that many. */
static size_t size_to_learn_by(const measurement *m, size_t least, size_t most)
{
    double rate = m->bytes[m->count - 1] / m->seconds[m->count - 1];
    size_t bytes = (size_t)(rate * m->train->config.measure_ms / 1e3 / LEARNING_CALLS) / 8 * 8;

    return bytes < least ? least : bytes < most ? bytes : most;
}

static banyan_status measure_alone(measurement *m, double budget_s, banyan_error *err)
{
    size_t whole = model_bytes(m->train);
    size_t most = (whole < MAX_BYTES ? whole : MAX_BYTES) / 8 * 8;

    for (size_t bytes = MIN_BYTES;; bytes *= 4) {
        int is_last = bytes >= most && m->count > 1;
        banyan_status status;

        if (is_last && (double)most > m->bytes[m->count - 1])
            bytes = most;
        /* At twice the time of its share of bytes, two runs and two to warm up. */
        if (m->count > 2 &&
            m->spent_s + 4 * m->seconds[m->count - 1] * (double)bytes / m->bytes[m->count - 1] > budget_s)
            return BANYAN_SUCCESS;
        if (m->count > 2 && banyan_learning_goes_on(m->train->streams[0].comm, bytes)) {
            status = let_it_learn(m, size_to_learn_by(m, bytes, most), 1, err);
            if (status)
                return status;
        }
        status = run_some(m, bytes, 1, budget_s / 24, &m->seconds[m->count], err);
        if (status)
            return status;
        m->bytes[m->count++] = (double)bytes;
        if (is_last || m->count == BANYAN_MAX_POINTS)
            return BANYAN_SUCCESS;
    }
}

/* Small models on fast memory: all sizes may take the same time, which is no cost to plan by. */
static void make_it_grow(measurement *m)
{
    for (int i = 1; i < m->count; i++)
        m->seconds[i] = fmax(m->seconds[i], m->seconds[i - 1] * 1.001);
}

/* The largest size that was measured and leaves time for some runs; its index. */
static int choose_size(const measurement *m, double budget_s)
{
    int i = m->count - 1;

    while (i > 0 && m->seconds[i] * 10 > budget_s)
        i--;
    return i;
}

static banyan_status measure_together(measurement *m, int most, double budget_s, banyan_error *err)
{
    double speeds[BANYAN_MAX_STREAMS] = {1}, best = 1;
    int i = choose_size(m, budget_s), count = 1;
    banyan_cost *cost = &m->train->cost;

    while (count < most) {
        double alone_s, seconds, gain;
        banyan_status status = add_stream(m->train, err);

        if (!status)
            status = run_some(m, (size_t)m->bytes[i], 1, budget_s / 8, &alone_s, err);
        if (!status)
            status = run_some(m, (size_t)m->bytes[i], count + 1, budget_s / 8, &seconds, err);
        if (status)
            return status;
        speeds[count] = fmin(1, fmax(alone_s - cost->start_s, alone_s * 0.05) /
                                    fmax(seconds - cost->start_s, alone_s * 0.05));
        gain = (count + 1) * speeds[count];
        count++;
        if (gain < best * STILL_GROWING) {
            /* Runs differ by as much: it hides start-ups, but nothing says that it moves more. */
            speeds[count - 1] = fmin(speeds[count - 1], best / count);
            break;
        }
        best = gain;
    }
    return banyan_cost_set_speeds(cost, speeds, count, err);
}

static banyan_status measure(measurement *m, int most_streams, banyan_error *err)
{
    double budget_s = m->train->config.measure_ms / 1e3, error;
    banyan_status status = measure_alone(m, SHARE_ALONE * budget_s, err);

    if (status)
        return status;
    make_it_grow(m);
    status = banyan_cost_table(m->bytes, m->seconds, m->count, &m->train->cost, &error, err);
    return status ? status : measure_together(m, most_streams, (1 - SHARE_ALONE) * budget_s, err);
}

/* Where the cost is known: as many as move more, and one to hide start-ups. */
static int worthwhile_streams(const banyan_cost *cost, int most)
{
    int streams = most < 2 ? most : 2;

    while (streams < most &&
           (streams + 1) * cost->speed[streams + 1] > streams * cost->speed[streams] * STILL_GROWING)
        streams++;
    return streams;
}

banyan_status banyan_engine_measure(banyan_train *train, banyan_error *err)
{
    int most = train->policy_streams ? train->policy_streams : train->config.streams;
    measurement m = {.train = train};
    banyan_status status = BANYAN_SUCCESS;

    if (!*train->cost_text) {
        status = measure(&m, most, err);
    } else {
        if (!train->policy_streams)
            most = worthwhile_streams(&train->cost, most);
    }
    while (!status && train->stream_count < most && (train->policy_streams || *train->cost_text))
        status = add_stream(train, err);
    for (int s = 0; s < BANYAN_MAX_STREAMS; s++)
        banyan_free(m.memory[s]);
    return status;
}
