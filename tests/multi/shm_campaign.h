/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/shm_campaign.h: whole collectives between processes over the shm transport, against the
 * reference's bits. */
#ifndef BANYAN_TESTS_SHM_CAMPAIGN_H
#define BANYAN_TESTS_SHM_CAMPAIGN_H

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/random.h"
#include "execute/reference.h"
#include "execute/run.h"
#include "multi/processes.h"
#include "transport/shared.h"
#include "transport/shm.h"
#include "unit/test.h"

static const banyan_transport *const shm = &banyan_transport_shm;

enum { LIMIT_S = 100, TIMEOUT_MS = 60000 };

static inline banyan_shm_meeting meeting_of(child *self, banyan_shm_way way, size_t slot_bytes)
{
    return (banyan_shm_meeting){
        .exchange = {child_allgather, self}, .deadline_ns = INT64_MAX, .slot_bytes = slot_bytes, .way = way};
}

static inline banyan_endpoint *open_in(child *self, banyan_shm_way way, size_t slot_bytes)
{
    banyan_shm_meeting meeting = meeting_of(self, way, slot_bytes);
    banyan_opening opening = {self->member, self->all->member_count, &meeting};
    banyan_endpoint *endpoint;
    banyan_error err = {""};

    REQUIRE(shm->open(&opening, &endpoint, &err) == BANYAN_SUCCESS, "%s", err.text);
    return endpoint;
}

/* Nobody leaves before all have come. */
static inline void meet(child *self)
{
    char mine = 1, all[MOST_PROCESSES];

    child_allgather(self, &mine, 1, all, 0, NULL);
}

/* ---- whole collectives ---- */

enum { MOST_CASES = 400 };

/* One collective: what goes in, and what must come out. */
typedef struct {
    const banyan_schedule *schedule;
    banyan_dependencies *dependencies;
    banyan_datatype type;
    banyan_op op;
    size_t count, slice_bytes;
    char *before[MOST_PROCESSES], *after[MOST_PROCESSES]; /* by rank */
} collective;

typedef struct {
    banyan_topology *topology;
    banyan_schedule *schedules[64];
    int schedule_count;
    collective cases[MOST_CASES];
    int case_count;
    char is_present[MOST_PROCESSES];
    banyan_shm_way way;
    size_t slot_bytes;
    int from_region;
} campaign;

static inline void add_case(campaign *c, const banyan_schedule *schedule, banyan_datatype type, banyan_op op,
                            size_t count, size_t slice_bytes)
{
    collective *one = &c->cases[c->case_count++];
    banyan_random random = {17 + count};
    size_t bytes = count * banyan_datatype_bytes(type);

    assert_true(c->case_count <= MOST_CASES);
    *one = (collective){
        .schedule = schedule, .type = type, .op = op, .count = count, .slice_bytes = slice_bytes};
    assert_int_equal(banyan_dependencies_derive(schedule, &one->dependencies, NULL), BANYAN_SUCCESS);
    for (int rank = 0; rank < schedule->active_count; rank++) {
        one->before[rank] = malloc(bytes + 1);
        one->after[rank] = malloc(bytes + 1);
        for (size_t i = 0; i < bytes; i++)
            one->before[rank][i] = (char)banyan_random_next(&random);
        memcpy(one->after[rank], one->before[rank], bytes);
    }
    assert_int_equal(banyan_reference_run(schedule, count, type, op, (void **)one->after, NULL),
                     BANYAN_SUCCESS);
    for (int i = 0; i < schedule->active_count; i++)
        c->is_present[schedule->active[i]] = 1;
    for (size_t i = 0; i < schedule->transfer_count; i++)
        c->is_present[schedule->transfers[i].src] = c->is_present[schedule->transfers[i].dst] = 1;
}

static inline const banyan_schedule *add_schedule(campaign *c, const char *algorithm, const char *active)
{
    banyan_problem problem = {.topology = c->topology, .collective = BANYAN_COLLECTIVE_ALLREDUCE};
    const banyan_algorithm *a = banyan_algorithm_find(algorithm);
    banyan_schedule *schedule = NULL;
    int *list;

    assert_non_null(a);
    assert_int_equal(banyan_topology_parse_active(c->topology, active, &list, &problem.active_count, NULL),
                     BANYAN_SUCCESS);
    problem.active = list;
    if (!banyan_algorithm_applies(a, &problem, NULL) && !banyan_algorithm_build(a, &problem, &schedule, NULL))
        c->schedules[c->schedule_count++] = schedule;
    banyan_free(list);
    return schedule;
}

static inline void begin(campaign *c, const char *spec)
{
    *c = (campaign){.schedule_count = 0};
    assert_int_equal(banyan_topology_load(spec, &c->topology, NULL), BANYAN_SUCCESS);
}

static inline void end(campaign *c)
{
    for (int i = 0; i < c->case_count; i++) {
        for (int rank = 0; rank < c->cases[i].schedule->active_count; rank++) {
            free(c->cases[i].before[rank]);
            free(c->cases[i].after[rank]);
        }
        banyan_dependencies_destroy(c->cases[i].dependencies);
    }
    for (int i = 0; i < c->schedule_count; i++)
        banyan_schedule_destroy(c->schedules[i]);
    banyan_topology_destroy(c->topology);
}

static inline void run_case(const collective *one, int number, banyan_endpoint *endpoint, int from_region)
{
    banyan_run_request request = {
        .count = one->count, .type = one->type, .op = one->op, .timeout_ms = TIMEOUT_MS};
    size_t bytes = one->count * banyan_datatype_bytes(one->type);
    banyan_program *program;
    banyan_runner *runner;
    banyan_error err = {""};
    void *memory = NULL;

    REQUIRE(!banyan_program_compile(one->schedule, one->dependencies, endpoint->member, &program, &err), "%s",
            err.text);
    REQUIRE(!banyan_runner_create(program, endpoint, one->slice_bytes, TIMEOUT_MS, &runner, &err), "%s",
            err.text);
    if (from_region)
        REQUIRE(!banyan_shared_memory_alloc(bytes + 1, &memory, &err), "%s", err.text);
    else
        memory = malloc(bytes + 1);
    request.buffer = memory;
    if (program->rank >= 0 && bytes)
        memcpy(memory, one->before[program->rank], bytes);
    REQUIRE(!banyan_runner_run(runner, &request, &err), "case %d: %s", number, err.text);
    if (program->rank >= 0 && bytes)
        REQUIRE(!memcmp(memory, one->after[program->rank], bytes),
                "case %d (%s, %zu %s %s): rank %d differs from the reference", number,
                one->schedule->algorithm, one->count, banyan_datatype_string(one->type),
                banyan_op_string(one->op), program->rank);
    if (from_region)
        banyan_shared_memory_free(memory, NULL);
    else
        free(memory);
    banyan_runner_destroy(runner);
    banyan_program_destroy(program);
}

static inline void run_campaign(child *self, void *argument)
{
    const campaign *c = argument;
    int fds = count_entries("/proc/self/fd");
    banyan_endpoint *endpoint = open_in(self, c->way, c->slot_bytes);

    for (int i = 0; i < c->case_count; i++)
        run_case(&c->cases[i], i, endpoint, c->from_region);
    shm->close(endpoint);
    REQUIRE(count_entries("/proc/self/fd") == fds, "descriptors are left");
}

static inline void launch(campaign *c, const char *what)
{
    processes p = {.member_count = c->topology->node_count,
                   .is_present = c->is_present,
                   .body = run_campaign,
                   .argument = c,
                   .seconds = LIMIT_S};
    int fds = count_entries("/proc/self/fd"), files = count_shared();

    run_processes(&p);
    check_all_ended_well(&p, what);
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    assert_int_equal(count_shared(), files);
}

#endif
