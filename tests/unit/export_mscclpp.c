/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/export_mscclpp.c: plans as MSCCL++ execution plans. A small machine runs what was written, its
 * thread blocks in random turns, and every rank must end with the sum. */
#include "unit/test.h"

#include "core/alloc.h"
#include "core/json.h"
#include "core/random.h"
#include "schedule/build.h"
#include "schedule/export.h"

enum { MAX_RANKS = 16, MAX_BLOCKS = 64, MAX_CHUNKS = 512, MAX_CONNECTIONS = 512, SEEDS = 8 };

typedef struct {
    int rank;
    const banyan_json *json, *operations, *channels, *buffers;
    size_t next;
    int is_dirty; /* threads have done something since they met last */
    int has_waited;
} thread_block;

typedef struct {
    const banyan_json *gpus;
    int ranks, chunks, block_count;
    thread_block blocks[MAX_BLOCKS * MAX_RANKS];
    uint64_t input[MAX_RANKS][MAX_CHUNKS], scratch[MAX_RANKS][MAX_CHUNKS];
    int peers[MAX_RANKS][MAX_CONNECTIONS], connections[MAX_RANKS];
    int signals[MAX_RANKS][MAX_CONNECTIONS]; /* that have come in, on each connection */
    int semaphores[MAX_RANKS][16];
} machine;

static const banyan_json *field(const banyan_json *object, const char *key)
{
    const banyan_json *value = banyan_json_field(object, key);

    if (!value)
        fail_msg("there is no \"%s\"", key);
    return value;
}

static int number(const banyan_json *value)
{
    int64_t out;

    assert_true(banyan_json_get_integer(value, &out));
    return (int)out;
}

static const char *string(const banyan_json *value)
{
    const char *out;

    assert_true(banyan_json_get_string(value, &out));
    return out;
}

static uint64_t contribution(int rank, int chunk)
{
    return (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u + (uint64_t)chunk * 0xbf58476d1ce4e5b9u;
}

static void load_blocks(machine *m, int rank, const banyan_json *gpu)
{
    const banyan_json *blocks = field(gpu, "threadblocks"),
                      *connected = field(banyan_json_item(field(gpu, "channels"), 0), "connected_to");

    m->connections[rank] = (int)banyan_json_count(connected);
    assert_true(m->connections[rank] <= MAX_CONNECTIONS);
    for (int i = 0; i < m->connections[rank]; i++)
        m->peers[rank][i] = number(banyan_json_item(connected, (size_t)i));
    for (size_t i = 0; i < banyan_json_count(blocks); i++) {
        const banyan_json *block = banyan_json_item(blocks, i);

        assert_int_equal(number(field(block, "id")), (int)i);
        assert_true(m->block_count < MAX_BLOCKS * MAX_RANKS);
        m->blocks[m->block_count++] = (thread_block){
            .rank = rank,
            .json = block,
            .operations = field(block, "ops"),
            .channels = field(banyan_json_item(field(block, "channels"), 0), "channel_ids"),
            .buffers = field(banyan_json_item(field(block, "remote_buffer_refs"), 0), "remote_buffer_ids")};
        assert_true(banyan_json_count(field(block, "ops")) <= 64);
        assert_true(banyan_json_count(m->blocks[m->block_count - 1].channels) <= 16);
    }
}

static void load(machine *m, const banyan_json *document)
{
    memset(m, 0, sizeof *m);
    assert_string_equal(string(field(document, "collective")), "allreduce");
    m->gpus = field(document, "gpus");
    m->ranks = (int)banyan_json_count(m->gpus);
    assert_true(m->ranks <= MAX_RANKS);
    for (int rank = 0; rank < m->ranks; rank++) {
        const banyan_json *gpu = banyan_json_item(m->gpus, (size_t)rank);

        assert_int_equal(number(field(gpu, "id")), rank);
        m->chunks = number(field(gpu, "input_chunks"));
        assert_true(m->chunks <= MAX_CHUNKS);
        assert_int_equal(number(field(gpu, "output_chunks")), m->chunks);
        for (int c = 0; c < m->chunks; c++)
            m->input[rank][c] = contribution(rank, c);
        load_blocks(m, rank, gpu);
    }
}

/* The k-th connection of a to b is the k-th of b to a. */
static int other_end(const machine *m, int rank, int connection)
{
    int peer = m->peers[rank][connection], which = 0;

    for (int i = 0; i < connection; i++)
        which += m->peers[rank][i] == peer;
    for (int i = 0; i < m->connections[peer]; i++)
        if (m->peers[peer][i] == rank && !which--)
            return i;
    fail_msg("rank %d has a connection to %d that has no other end", rank, peer);
    return -1;
}

static int connection_of(const thread_block *b, const banyan_json *operation, size_t i)
{
    int channel = number(banyan_json_item(field(operation, "channel_ids"), i));

    assert_true((size_t)channel < banyan_json_count(b->channels));
    return number(banyan_json_item(b->channels, (size_t)channel));
}

/* Signals, or waits; 0: it must wait on. */
static int exchange(machine *m, thread_block *b, const banyan_json *operation, int is_signal)
{
    size_t count = banyan_json_count(field(operation, "channel_ids"));

    assert_true(count <= 8);
    assert_true(!is_signal || !b->is_dirty); /* what others may read now is there for all threads */
    for (size_t i = 0; i < count && !is_signal; i++)
        if (!m->signals[b->rank][connection_of(b, operation, i)])
            return 0;
    for (size_t i = 0; i < count; i++) {
        int connection = connection_of(b, operation, i);

        if (is_signal)
            m->signals[m->peers[b->rank][connection]][other_end(m, b->rank, connection)]++;
        else
            m->signals[b->rank][connection]--;
    }
    b->has_waited |= !is_signal;
    return 1;
}

static uint64_t *memory(machine *m, const thread_block *b, const banyan_json *buffer)
{
    const banyan_json *type = banyan_json_field(buffer, "type"), *remote;
    int index = number(field(buffer, "index")), id;

    assert_true(index + number(field(buffer, "size")) <= m->chunks);
    if (type)
        return string(type)[0] == 's' ? &m->scratch[b->rank][index] : &m->input[b->rank][index];
    id = number(banyan_json_item(b->buffers, (size_t)number(field(buffer, "buffer_id"))));
    remote =
        banyan_json_item(field(banyan_json_item(m->gpus, (size_t)b->rank), "remote_buffers"), (size_t)id);
    assert_string_equal(string(field(remote, "type")), "i");
    return &m->input[number(field(remote, "rank"))][index];
}

/* Adds up all sources, or copies the only one. */
static void move(machine *m, thread_block *b, const banyan_json *operation)
{
    const banyan_json *sources = field(operation, "src_buff");
    const banyan_json *destination = banyan_json_item(field(operation, "dst_buff"), 0);
    uint64_t *to = memory(m, b, destination);

    assert_false(b->has_waited); /* the threads have met after the wait */
    for (int c = 0; c < number(field(destination, "size")); c++) {
        uint64_t sum = 0;

        for (size_t i = 0; i < banyan_json_count(sources); i++)
            sum += memory(m, b, banyan_json_item(sources, i))[c];
        to[c] = sum;
    }
    b->is_dirty = 1;
}

static int step(machine *m, thread_block *b)
{
    const banyan_json *operation = banyan_json_item(b->operations, b->next);
    const char *name = string(field(operation, "name"));
    int semaphore =
        strncmp(name, "sem_", 4) ? 0 : number(banyan_json_item(field(operation, "semaphore_ids"), 0));

    assert_true(semaphore < 16);
    if (!strcmp(name, "nop"))
        b->is_dirty = b->has_waited = 0;
    else if (!strcmp(name, "signal") || !strcmp(name, "wait")) {
        if (!exchange(m, b, operation, *name == 's'))
            return 0;
    } else if (!strcmp(name, "sem_release")) {
        assert_false(b->is_dirty);
        m->semaphores[b->rank][semaphore]++;
    } else if (!strcmp(name, "sem_acquire")) {
        if (!m->semaphores[b->rank][semaphore])
            return 0;
        m->semaphores[b->rank][semaphore]--;
        b->has_waited = 1;
    } else {
        move(m, b, operation);
    }
    b->next++;
    return 1;
}

static void run(machine *m, uint64_t seed, const char *what)
{
    banyan_random random = {seed};
    int idle = 0;

    for (int left = m->block_count; left;) {
        thread_block *b = &m->blocks[banyan_random_below(&random, m->block_count)];

        if (b->next == banyan_json_count(b->operations))
            continue;
        if (step(m, b)) {
            idle = 0;
            left -= b->next == banyan_json_count(b->operations);
        } else if (++idle > 100 * m->block_count) {
            fail_msg("%s: seed %llu: nothing goes on", what, (unsigned long long)seed);
        }
    }
    for (int chunk = 0; chunk < m->chunks; chunk++) {
        uint64_t sum = 0;

        for (int rank = 0; rank < m->ranks; rank++)
            sum += contribution(rank, chunk);
        for (int rank = 0; rank < m->ranks; rank++)
            if (m->input[rank][chunk] != sum)
                fail_msg("%s: seed %llu: chunk %d of rank %d is wrong", what, (unsigned long long)seed, chunk,
                         rank);
    }
    for (int rank = 0; rank < m->ranks; rank++)
        for (int i = 0; i < m->connections[rank]; i++)
            assert_int_equal(m->signals[rank][i], 0); /* the next run begins with none */
}

static void run_text(const char *text, const char *what)
{
    machine *m = malloc(sizeof *m);
    banyan_json *document;
    banyan_error err;

    if (banyan_json_parse(text, strlen(text), &document, &err))
        fail_msg("%s: %s", what, err.text);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        load(m, document);
        run(m, seed, what);
    }
    banyan_json_destroy(document);
    free(m);
}

TEST(every_algorithm_sums_up_on_small_networks)
{
    static const char *const networks[] = {"ring:2", "ring:5",    "switch:8", "torus:4x4",
                                           "dgx1",   "hosts:2+3", "full:6"};
    int written = 0, refused = 0;

    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++)
        for (int a = 0; banyan_algorithm_name(a); a++) {
            banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
            banyan_topology *topology;
            banyan_plan *plan;
            banyan_error err;
            char *text, what[96];

            snprintf(what, sizeof what, "%s on %s", banyan_algorithm_name(a), networks[n]);
            config.algorithm = banyan_algorithm_name(a);
            if (banyan_topology_generate(networks[n], &topology, &err))
                fail_msg("%s", err.text);
            if (!banyan_plan_create(topology, &config, &plan, NULL)) {
                banyan_status status = banyan_schedule_export(banyan_plan_schedule(plan), topology, "mscclpp",
                                                              NULL, &text, &err);

                if (status && status != BANYAN_UNSUPPORTED)
                    fail_msg("%s: %s", what, err.text);
                if (status)
                    refused++;
                else
                    run_text(text, what);
                written += !status;
                banyan_free(text);
            }
            banyan_plan_destroy(plan);
            banyan_topology_destroy(topology);
        }
    if (written < 60 || refused > written / 4)
        fail_msg("%d plans are written and %d refused", written, refused);
}

static banyan_schedule *make_exchange(int ranks)
{
    static const int active[] = {0, 1, 2, 3};
    static const int64_t cut[] = {0, 1};
    banyan_schedule *schedule;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, ranks, active, ranks);
    banyan_builder_cut(&b, 1, cut, 1);
    for (int i = 0; i < ranks; i++)
        for (int j = 0; j < ranks; j++)
            if (i != j)
                banyan_builder_reduce(&b, 0, i, j, 0, 1, 0);
    assert_int_equal(banyan_builder_finish(&b, &schedule, NULL), 0);
    return schedule;
}

TEST(two_ranks_that_add_to_each_other_use_scratch)
{
    banyan_schedule *schedule = make_exchange(2);
    char *text;

    assert_int_equal(banyan_schedule_export_mscclpp(schedule, &text, NULL), BANYAN_SUCCESS);
    assert_non_null(strstr(text, "\"scratch_chunks\":1"));
    assert_non_null(strstr(text, "\"name\":\"re\""));
    run_text(text, "an exchange");
    banyan_free(text);
    banyan_schedule_destroy(schedule);
}

TEST(what_does_not_fit_is_refused_by_name)
{
    banyan_schedule *schedule = make_exchange(3);
    banyan_error err;
    char *text;

    assert_int_equal(banyan_schedule_export_mscclpp(schedule, &text, &err), BANYAN_UNSUPPORTED);
    assert_null(text);
    assert_string_equal(err.text, "transfers 1 and 3 need the same scratch memory of rank 2 in round 0");
    schedule->collective = BANYAN_COLLECTIVE_BROADCAST;
    assert_int_equal(banyan_schedule_export_mscclpp(schedule, &text, &err), BANYAN_UNSUPPORTED);
    assert_string_equal(err.text, "MSCCL++ plans are written of all-reduces, and this is broadcast");
    banyan_schedule_destroy(schedule);
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_schedule *schedule = make_exchange(2);
    char *text = NULL;

    for (long calls = 0; !text; calls++) {
        banyan_status status;

        banyan_alloc_fail_after(calls);
        status = banyan_schedule_export_mscclpp(schedule, &text, NULL);
        banyan_alloc_fail_after(-1);
        assert_true(status == BANYAN_SYSTEM_ERROR || (!status && text));
    }
    banyan_free(text);
    banyan_schedule_destroy(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_sums_up_on_small_networks),
        cmocka_unit_test(two_ranks_that_add_to_each_other_use_scratch),
        cmocka_unit_test(what_does_not_fit_is_refused_by_name),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
