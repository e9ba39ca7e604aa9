/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/bits.h: numbers whose sums depend on the order of additions, and what threads of one process
 * make of them: what processes must compute as well, bit by bit, over whatever carries their bytes. */
#ifndef BANYAN_TESTS_BITS_H
#define BANYAN_TESTS_BITS_H

#include <banyan/banyan.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { COUNT = 5003, MOST_THREADS = 16 };

static const banyan_datatype types[] = {BANYAN_FLOAT32, BANYAN_BFLOAT16, BANYAN_INT8, BANYAN_FLOAT64};
enum { TYPES = sizeof types / sizeof *types };

/* Numbers whose sums depend on the order of additions. */
static inline void fill(int rank, banyan_datatype type, void *out)
{
    uint32_t seed = (uint32_t)rank * 2654435761u + 12345u;

    for (int i = 0; i < COUNT; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (type == BANYAN_FLOAT32)
            ((float *)out)[i] = (float)(int)(seed >> 8) * 1e-5f;
        else if (type == BANYAN_FLOAT64)
            ((double *)out)[i] = (double)(int)(seed >> 4) * 1e-7;
        else if (type == BANYAN_BFLOAT16)
            ((uint16_t *)out)[i] = (uint16_t)(0x3f00u + (seed >> 25));
        else
            ((int8_t *)out)[i] = (int8_t)(seed >> 24);
    }
}

typedef struct {
    banyan_comm *comm;
    int rank;
    double data[COUNT];
    banyan_datatype type;
    banyan_status status;
} thread_rank;

static inline void *run_thread(void *argument)
{
    thread_rank *t = argument;

    fill(t->rank, t->type, t->data);
    t->status = banyan_allreduce(t->data, t->data, COUNT, t->type, BANYAN_SUM, t->comm);
    return NULL;
}

/* What threads of one process compute; 0: this algorithm does not apply. */
static inline int expect_bits_of(const char *algorithm, const char *topology, const char *active, int size,
                                 banyan_datatype type, void *out)
{
    banyan_config config = BANYAN_CONFIG_INITIALIZER;
    static thread_rank ranks[MOST_THREADS];
    banyan_comm *comms[MOST_THREADS];
    pthread_t threads[MOST_THREADS];

    config.algorithm = algorithm;
    config.topology = topology;
    config.active = active;
    if (banyan_comm_init_all(comms, size, &config))
        return 0;
    for (int i = 0; i < size; i++) {
        ranks[i] = (thread_rank){.comm = comms[i], .rank = i, .type = type};
        pthread_create(&threads[i], NULL, run_thread, &ranks[i]);
    }
    for (int i = 0; i < size; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < size; i++)
        banyan_comm_destroy(comms[i]);
    if (ranks[0].status)
        return 0;
    memcpy(out, ranks[0].data, COUNT * banyan_datatype_bytes(type));
    return 1;
}

static inline int expect_bits(const char *algorithm, const char *topology, int size, banyan_datatype type,
                              void *out)
{
    return expect_bits_of(algorithm, topology, NULL, size, type, out);
}

#endif
