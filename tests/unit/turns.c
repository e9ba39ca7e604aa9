/* SPDX-License-Identifier: Apache-2.0 */
/* In which order processes that share a device copy. */
#include "device/turns.h"
#include "core/random.h"
#include "unit/test.h"

enum { MOST_RANKS = 9, CALLS = 3, MOST_CHUNKS = 7, MOST = CALLS * MOST_CHUNKS };

/* What the streams do, with each step of any of them at any time. */
typedef struct {
    banyan_turns turns[MOST_RANKS];
    banyan_turn_word words[MOST_RANKS];
    int done[MOST_RANKS], is_copying[MOST_RANKS];
} model;

static void init_model(model *m, int count)
{
    memset(m, 0, sizeof *m);
    for (int i = 0; i < count; i++)
        m->turns[i] = (banyan_turns){.index = i, .count = count, .own = &m->words[i]};
    for (int i = 0; i < count; i++)
        m->turns[i].next = &m->words[banyan_turns_next(&m->turns[i])];
}

/* Whether the copy before this one in its row has ended; first chunks have none. */
static int may_begin(const model *m, int rank, int call, int chunk, int chunks)
{
    int last = rank;

    while (last + 2 < m->turns[0].count)
        last += 2;
    return !chunk ||
           (rank > 1 ? m->done[rank - 2] > call * chunks + chunk : m->done[last] > call * chunks + chunk - 1);
}

static int step(model *m, int rank, int chunks)
{
    const banyan_turns *turns = &m->turns[rank];
    int call = m->done[rank] / chunks, chunk = m->done[rank] % chunks;

    if (m->done[rank] == CALLS * chunks)
        return 0;
    if (!m->is_copying[rank]) {
        if (banyan_turns_waits(turns, (size_t)chunk)) {
            if (!turns->own->value)
                return 0;
            turns->own->value = 0;
        }
        assert_true(may_begin(m, rank, call, chunk, chunks));
        m->is_copying[rank] = 1;
        return 1;
    }
    m->is_copying[rank] = 0;
    m->done[rank]++;
    if (banyan_turns_passes(turns, (size_t)chunk, (size_t)chunks)) {
        assert_int_equal(turns->next->value, 0); /* nobody is given the turn twice */
        turns->next->value = 1;
    }
    return 1;
}

TEST(copies_come_in_the_order_of_chunks_and_all_of_them_come)
{
    banyan_random random = {.state = 5};
    model m;

    for (int count = 2; count <= MOST_RANKS; count++)
        for (int chunks = 1; chunks <= MOST_CHUNKS; chunks++)
            for (int again = 0; again < 20; again++) {
                int idle = 0, left = 2 * count * CALLS * chunks;

                init_model(&m, count);
                while (left) {
                    int moved = step(&m, (int)banyan_random_below(&random, (uint64_t)count), chunks);

                    left -= moved;
                    idle = moved ? 0 : idle + 1;
                    assert_in_range(idle, 0, 10000);
                }
                for (int i = 0; i < count; i++)
                    assert_int_equal(m.words[i].value, 0);
            }
}

TEST(a_rank_alone_waits_for_nobody)
{
    assert_false(banyan_turns_waits(NULL, 3));
    assert_false(banyan_turns_passes(NULL, 3, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_come_in_the_order_of_chunks_and_all_of_them_come),
        cmocka_unit_test(a_rank_alone_waits_for_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
