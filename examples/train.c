/* SPDX-License-Identifier: Apache-2.0 */
/* examples/train.c: a small network learns, four ranks at once, with gradients that travel while backward
 * computes.
 *
 * 8 numbers in, 32 neurons, one number out; each rank has a quarter of the samples. Every step, the averages
 * of the ranks' gradients are those of the whole set, so the loss falls as if one process had done it all:
 * the program does both and compares. Ranks are threads here; with processes, take banyan_comm_init_env
 * instead of banyan_comm_init_all and start the program with `banyan run -n 4`.
 *
 *     cc train.c $(pkg-config --cflags --libs banyan) -lm -pthread && ./a.out */
#include <banyan/banyan.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, SAMPLES = 256, IN = 8, HIDDEN = 32, STEPS = 500 };

typedef struct {
    float w1[HIDDEN][IN], b1[HIDDEN], w2[HIDDEN], b2;
} network;

typedef struct {
    banyan_comm *comm; /* NULL: alone */
    int first, count;  /* its samples */
    double loss[STEPS];
    int failed;
} worker;

static float inputs[SAMPLES][IN], targets[SAMPLES];

/* The same numbers everywhere, between -1 and 1. */
static float number(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1 << 23) - 1;
}

static void generate(void)
{
    unsigned state = 7;

    for (int i = 0; i < SAMPLES; i++) {
        for (int j = 0; j < IN; j++)
            inputs[i][j] = number(&state);
        targets[i] = sinf(2 * inputs[i][0]) * inputs[i][1] + 0.5f * inputs[i][2];
    }
}

static void begin(network *net)
{
    float *all = (float *)net;
    unsigned state = 1;

    for (size_t i = 0; i < sizeof *net / sizeof(float); i++)
        all[i] = 0.3f * number(&state);
}

/* Tells the engine that a gradient has its value; alone there is nobody to tell. */
static int tell(banyan_train *train, int tensor)
{
    return train ? banyan_train_ready(train, tensor, NULL) != BANYAN_SUCCESS : 0;
}

/* Forward, then backward from the last layer to the first. Returns the loss; the gradient is the mean over
 * our samples. */
static double step(const worker *me, const network *net, network *gradient, banyan_train *train, int *failed)
{
    static _Thread_local float hidden[SAMPLES][HIDDEN], error[SAMPLES];
    double loss = 0;

    for (int i = 0; i < me->count; i++) {
        const float *x = inputs[me->first + i];
        float y = net->b2;

        for (int h = 0; h < HIDDEN; h++) {
            float sum = net->b1[h];

            for (int j = 0; j < IN; j++)
                sum += net->w1[h][j] * x[j];
            hidden[i][h] = tanhf(sum);
            y += net->w2[h] * hidden[i][h];
        }
        error[i] = y - targets[me->first + i];
        loss += 0.5 * error[i] * error[i] / me->count;
    }
    *failed |= train && banyan_train_begin(train) != BANYAN_SUCCESS;
    memset(gradient, 0, sizeof *gradient);
    for (int i = 0; i < me->count; i++)
        gradient->b2 += error[i] / (float)me->count;
    *failed |= tell(train, 0);
    for (int i = 0; i < me->count; i++)
        for (int h = 0; h < HIDDEN; h++)
            gradient->w2[h] += error[i] * hidden[i][h] / (float)me->count;
    *failed |= tell(train, 1);
    for (int i = 0; i < me->count; i++)
        for (int h = 0; h < HIDDEN; h++) {
            float slope = error[i] * net->w2[h] * (1 - hidden[i][h] * hidden[i][h]) / (float)me->count;

            gradient->b1[h] += slope;
            for (int j = 0; j < IN; j++)
                gradient->w1[h][j] += slope * inputs[me->first + i][j];
        }
    *failed |= tell(train, 2);
    *failed |= tell(train, 3);
    return loss;
}

static banyan_train *make_engine(banyan_comm *comm, network *gradient)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER; /* averages, and the optimal plan */
    banyan_train *train = NULL;

    config.measure_ms = 100;
    if (banyan_train_create(&train, comm, &config))
        return NULL;
    banyan_train_register(train, "b2", &gradient->b2, 1, BANYAN_FLOAT32,
                          NULL); /* these get numbers 0, 1, ... */
    banyan_train_register(train, "w2", gradient->w2, HIDDEN, BANYAN_FLOAT32, NULL);
    banyan_train_register(train, "b1", gradient->b1, HIDDEN, BANYAN_FLOAT32, NULL);
    banyan_train_register(train, "w1", gradient->w1, HIDDEN * IN, BANYAN_FLOAT32, NULL);
    if (!banyan_train_commit(train))
        return train;
    fprintf(stderr, "commit: %s\n", banyan_train_last_error(train));
    banyan_train_destroy(train);
    return NULL;
}

static void *learn(void *argument)
{
    worker *me = argument;
    network net, gradient;
    float *weights = (float *)&net, *slopes = (float *)&gradient;
    banyan_train *train = me->comm ? make_engine(me->comm, &gradient) : NULL;

    me->failed = me->comm && !train;
    begin(&net);
    for (int s = 0; s < STEPS && !me->failed; s++) {
        me->loss[s] = step(me, &net, &gradient, train, &me->failed);
        if (train && banyan_train_wait_all(train)) { /* from here on the gradients are averages */
            fprintf(stderr, "step %d: %s\n", s, banyan_train_last_error(train));
            me->failed = 1;
        }
        for (size_t i = 0; i < sizeof net / sizeof(float); i++)
            weights[i] -= 0.25f * slopes[i];
    }
    banyan_train_destroy(train);
    return NULL;
}

int main(void)
{
    static worker workers[RANKS], alone = {.count = SAMPLES};
    banyan_comm *comms[RANKS];
    pthread_t threads[RANKS];
    double worst = 0;

    generate();
    learn(&alone);
    if (banyan_comm_init_all(comms, RANKS, NULL))
        return 1;
    for (int r = 0; r < RANKS; r++) {
        workers[r] = (worker){.comm = comms[r], .first = r * SAMPLES / RANKS, .count = SAMPLES / RANKS};
        pthread_create(&threads[r], NULL, learn, &workers[r]);
    }
    for (int r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
    for (int r = 0; r < RANKS; r++)
        banyan_comm_destroy(comms[r]);
    for (int s = 0; s < STEPS; s++) {
        double loss = 0;

        for (int r = 0; r < RANKS; r++) {
            loss += workers[r].loss[s] / RANKS;
            if (workers[r].failed)
                return 1;
        }
        worst = fmax(worst, fabs(loss / alone.loss[s] - 1));
        if (s % 100 == 0 || s == STEPS - 1)
            printf("step %3d   loss with %d ranks %.6f   alone %.6f\n", s, RANKS, loss, alone.loss[s]);
    }
    printf("the two differ by at most %.1e of the loss, which fell to %.3f of what it was\n", worst,
           alone.loss[STEPS - 1] / alone.loss[0]);
    return worst > 1e-3 || alone.loss[STEPS - 1] > 0.2 * alone.loss[0];
}
