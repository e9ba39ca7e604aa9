/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/registered_bits.c: vectors in memory of banyan_mem_alloc have the same bits as anywhere else,
 * whoever has such memory. Each variant and size meets two of the four types, in turn; with BANYAN_TEST_ALL
 * all. */
#include "core/random.h"
#include "jobs.h"

enum { MOST_COUNT = 50021 };

static const char *const variants[] = {"all in place",      "all apart",         "one byte into a page",
                                       "rank 0 in private", "rank 1 in private", "inputs in private",
                                       "rank 0 in place",   "parts of one piece"};
enum { VARIANTS = 8 };

typedef struct {
    char *input, *result;
} vectors;

/* Where this rank's vectors lie in a variant; a is shared, b too, c and d are private. */
static vectors choose(int variant, int rank, char *a, char *b, char *c, char *d)
{
    switch (variant) {
    case 0:
        return (vectors){a, a};
    case 1:
        return (vectors){a, b};
    case 2:
        return (vectors){a + 1, b + 3};
    case 3:
        return rank == 0 ? (vectors){c, d} : (vectors){a, b};
    case 4:
        return rank == 1 ? (vectors){c, d} : (vectors){a, b};
    case 5:
        return (vectors){c, b};
    case 6:
        return rank == 0 ? (vectors){b, b} : (vectors){a, b};
    default:
        return (vectors){a + 64, a + 128 + 8 * MOST_COUNT};
    }
}

static void fill(int rank, unsigned seed, banyan_datatype type, size_t count, void *into)
{
    banyan_random random = {.state = seed * 64 + (unsigned)rank};

    for (size_t i = 0; i < count; i++) {
        float value = (float)banyan_random_below(&random, 2000001) / 1e3f - 1e3f;

        if (type == BANYAN_FLOAT32)
            memcpy((char *)into + 4 * i, &value, 4);
        else
            for (size_t k = 0; k < banyan_datatype_bytes(type); k++)
                ((char *)into)[i * banyan_datatype_bytes(type) + k] = (char)banyan_random_below(&random, 100);
    }
}

typedef struct {
    char *shared[2], *private_one[2];
    char *expected;
} memory;

static int take_memory(memory *m)
{
    for (int i = 0; i < 2; i++) {
        if (banyan_mem_alloc((void **)&m->shared[i], 17 * MOST_COUNT + 4096))
            return 0;
        m->private_one[i] = malloc(8 * MOST_COUNT);
    }
    m->expected = malloc(8 * MOST_COUNT);
    return m->private_one[0] && m->private_one[1] && m->expected;
}

static void give_back(memory *m)
{
    for (int i = 0; i < 2; i++) {
        banyan_mem_free(m->shared[i]);
        free(m->private_one[i]);
    }
    free(m->expected);
}

/* The same call from private memory says what the bits must be. */
static int compare(job_rank *self, banyan_comm *comm, const memory *m, int variant, banyan_datatype type,
                   banyan_op op, size_t count, unsigned seed)
{
    size_t bytes = count * banyan_datatype_bytes(type);
    vectors v = choose(variant, self->rank, m->shared[0], m->shared[1], m->private_one[0], m->private_one[1]);

    fill(self->rank, seed, type, count, m->expected);
    EXPECT(!banyan_allreduce(m->expected, m->expected, count, type, op, comm), "%s", banyan_last_error(comm));
    fill(self->rank, seed, type, count, v.input);
    EXPECT(!banyan_allreduce(v.input, v.result, count, type, op, comm), "%s: %s", variants[variant],
           banyan_last_error(comm));
    EXPECT(!memcmp(v.result, m->expected, bytes), "%s, %zu of %s: other bits", variants[variant], count,
           banyan_datatype_string(type));
    if (v.input != v.result) {
        fill(self->rank, seed, type, count, m->expected);
        EXPECT(!memcmp(v.input, m->expected, bytes), "%s: the input has changed", variants[variant]);
    }
    return 0;
}

static int compute_everywhere(job_rank *self)
{
    static const size_t counts[] = {1, 8191, MOST_COUNT};
    static const char *const algorithms[] = {"ring", "auto"};
    static const banyan_datatype types[] = {BANYAN_FLOAT32, BANYAN_BFLOAT16, BANYAN_INT8, BANYAN_FLOAT64};
    static const banyan_op ops[] = {BANYAN_SUM, BANYAN_AVG, BANYAN_MAX, BANYAN_PROD};
    int descriptors = job_count_descriptors();
    memory m;

    EXPECT(take_memory(&m), "no memory");
    for (int a = 0; a < 2; a++) {
        banyan_config config = BANYAN_CONFIG_INITIALIZER;
        banyan_comm *comm = NULL;

        config.algorithm = algorithms[a];
        config.timeout_ms = CALL_MS;
        EXPECT(!banyan_comm_init_exchange(&comm, self->memory->size, self->rank, job_exchange, self, &config),
               "init");
        for (int variant = 0; variant < VARIANTS; variant++)
            for (unsigned i = 0; i < 3; i++)
                for (int k = 0; k < 4; k++)
                    if (((variant + a + (int)i + k) % 2 == 0 || getenv("BANYAN_TEST_ALL")) &&
                        compare(self, comm, &m, variant, types[k], ops[k], counts[i], i))
                        return 1;
        banyan_comm_destroy(comm);
    }
    give_back(&m);
    for (int i = 0; i < 6000 && job_count_descriptors() != descriptors; i++)
        usleep(10000);
    EXPECT(job_count_descriptors() == descriptors, "%d descriptors instead of %d", job_count_descriptors(),
           descriptors);
    return 0;
}

TEST(wherever_vectors_lie_the_bits_are_the_same)
{
    job_run(2, compute_everywhere);
    job_run(3, compute_everywhere);
    job_run(5, compute_everywhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wherever_vectors_lie_the_bits_are_the_same),
    };

    job_stay_here();
    return setenv("BANYAN_TRANSPORT", "auto", 1) || cmocka_run_group_tests_name("auto", tests, NULL, NULL) ||
           setenv("BANYAN_TRANSPORT", "tcp", 1) || cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
}
