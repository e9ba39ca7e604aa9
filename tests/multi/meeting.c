/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/meeting.c: more ranks than the store keeps connections for meet, and one with which others wait
 * is killed, started again, or stopped. */
#include "multi/jobs.h"

#include <sys/socket.h>

#include "bootstrap/join_tree.h"
#include "bootstrap/store.h"

/* Rank INNER comes first, so that those who come after the sixteenth wait with it; rank 0 comes last. */
enum { RANKS = BANYAN_JOIN_CHILDREN + 8, INNER = 5, SHORTEST_MS = 6000 };
enum { INNER_COMES = 1, OTHERS_COME, OTHERS_HAVE_COME, RANK_0_COMES };

static const banyan_secret secret = {{2, 7}};
static int timeout_ms;
static int short_ms; /* a time-out that passes */

typedef struct {
    banyan_status status;
    banyan_error err;
} outcome;

static banyan_address *meeting_place(job_rank *self)
{
    return (banyan_address *)self->memory->results[MOST_RANKS - 1];
}

static banyan_status visit(job_rank *self, banyan_error *err)
{
    banyan_store_visit visit = {.address = *meeting_place(self), .secret = &secret, .timeout_ms = timeout_ms};
    banyan_rank_record records[RANKS];
    banyan_rank_record mine = {.protocol = BANYAN_PROTOCOL,
                               .size = RANKS,
                               .rank = self->rank,
                               .process = (int)getpid(),
                               .address = {.family = AF_INET, .bytes = {127, 0, 0, 1}}};
    banyan_status status = banyan_store_exchange(&visit, &mine, records, err);

    for (int i = 0; !status && i < RANKS; i++)
        if (records[i].rank != i)
            status = banyan_fail(err, BANYAN_INTERNAL_ERROR, "the record of rank %d is that of %d", i,
                                 records[i].rank);
    return status;
}

static void await_connections(const banyan_store *store, size_t count)
{
    while (banyan_store_most_connections(store) < count)
        usleep(1000);
}

/* Rank 0's process serves the store; it says when others may come. */
static banyan_store *serve(job_rank *self)
{
    banyan_address address = {.family = AF_INET, .bytes = {127, 0, 0, 1}};
    banyan_store *store;

    if (banyan_store_start(&address, 0, 0, &secret, CALL_MS, timeout_ms, &store, NULL))
        abort();
    *meeting_place(self) = *banyan_store_address(store);
    atomic_store(&self->memory->step, INNER_COMES);
    await_connections(store, 1);
    usleep(200000);
    atomic_store(&self->memory->step, OTHERS_COME);
    await_connections(store, BANYAN_JOIN_CHILDREN);
    usleep(1000000); /* the others have reached rank INNER */
    atomic_store(&self->memory->step, OTHERS_HAVE_COME);
    return store;
}

static int meet(job_rank *self)
{
    outcome *own = (outcome *)self->memory->results[self->rank];
    banyan_store *store = NULL;

    if (self->rank == 0)
        store = serve(self);
    job_wait_step(self->memory, self->rank == 0       ? RANK_0_COMES
                                : self->rank == INNER ? INNER_COMES
                                                      : OTHERS_COME);
    own->status = visit(self, &own->err);
    atomic_fetch_add(&self->memory->counted, 1);
    while (atomic_load(&self->memory->counted) < RANKS - 1) /* what some have, they hand on */
        usleep(1000);
    banyan_store_stop(store);
    return 0;
}

static job start(int ms)
{
    job j;

    timeout_ms = ms;
    j = job_start(RANKS, meet);
    job_wait_step(j.memory, OTHERS_HAVE_COME);
    return j;
}

/* All but rank INNER say the same. */
static void finish(job *j, banyan_status status, const char *words)
{
    int wrong = 0;

    for (int r = 0; r < RANKS; r++) {
        const outcome *own = (outcome *)j->memory->results[r];

        if (r == INNER)
            continue;
        wrong += job_end_rank(j, r, JOB_SECONDS) != 0;
        if (own->status == status && strstr(own->err.text, words))
            continue;
        fprintf(stderr, "rank %d: %s: %s\n", r, banyan_status_string(own->status), own->err.text);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void end_inner(job *j)
{
    kill(j->processes[INNER], SIGKILL);
    job_end_rank(j, INNER, JOB_SECONDS);
}

TEST(a_rank_with_which_others_wait_dies_and_is_named_by_all)
{
    char words[80];
    job j = start(short_ms);

    end_inner(&j);
    atomic_store(&j.memory->step, RANK_0_COMES);
    snprintf(words, sizeof words, "rank %d of %d did not come within %d ms", INNER, RANKS, short_ms);
    finish(&j, BANYAN_TIMEOUT, words);
    job_free(&j);
}

TEST(a_rank_with_which_others_wait_dies_and_is_started_again)
{
    job j = start(CALL_MS);

    end_inner(&j);
    usleep(300000);
    j.processes[INNER] = fork();
    if (!j.processes[INNER]) {
        job_rank self = {j.memory, INNER};

        _exit(meet(&self));
    }
    atomic_store(&j.memory->step, RANK_0_COMES);
    finish(&j, BANYAN_SUCCESS, "");
    assert_int_equal(job_end_rank(&j, INNER, JOB_SECONDS), 0);
    job_free(&j);
}

TEST(a_rank_with_which_others_wait_is_stopped_and_they_get_all_from_the_store)
{
    job j = start(short_ms);

    kill(j.processes[INNER], SIGSTOP);
    atomic_store(&j.memory->step, RANK_0_COMES);
    finish(&j, BANYAN_SUCCESS, "");
    end_inner(&j);
    job_free(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_with_which_others_wait_dies_and_is_named_by_all),
        cmocka_unit_test(a_rank_with_which_others_wait_dies_and_is_started_again),
        cmocka_unit_test(a_rank_with_which_others_wait_is_stopped_and_they_get_all_from_the_store),
    };

    job_stay_here();
    short_ms = job_short_ms(RANKS);
    short_ms = short_ms < SHORTEST_MS ? SHORTEST_MS : short_ms; /* ranks pause for more than a second */
    return cmocka_run_group_tests_name("meeting", tests, NULL, NULL);
}
