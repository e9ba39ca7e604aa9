/* SPDX-License-Identifier: Apache-2.0 */
/* calls/learning.c: when to measure, when to plan anew.
 *
 * A survey (probe/survey.h) begins after the second large call and takes a few measurements after each of
 * the next ones. Some more calls say what the old plan takes. Rank 0 plans for what was found, and all
 * switch to that plan if it, or the pacing of its connections, promises GAIN; if its first calls take longer
 * than those, they switch back; if they take less than they could, the network has changed meanwhile. From
 * then on the ranks compare now and then how long a call took (calls/call_time.h) with how long it took at
 * first (calls/drift.h). Calls that take clearly more or less time, one after another, until they have lost
 * or saved what a survey takes, mean another network: it is surveyed again. A survey that changed nothing
 * doubles the pause before the next. What calls do not show, such as a link that is avoided and has come
 * back, a survey every PERIOD_S finds.
 *
 * A network that the last job of these hosts has learnt (calls/kept_network.h) takes the place of the first
 * survey: its plan is on trial like any other, and the survey follows if calls take another time than they
 * should there.
 *
 * Cost while watching: one exchange of 72 bytes over the control tree, at most every WATCH_S, and at most
 * WATCH_SHARE of the time where it takes long, up to MAX_WATCH_S. */
#include "calls/learning.h"

#include <math.h>
#include <string.h>

#include "calls/call.h"
#include "calls/call_time.h"
#include "calls/drift.h"
#include "calls/kept_network.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/sort.h"
#include "group/pacing.h"
#include "probe/infer.h"
#include "probe/survey.h"

#define MIN_CALL_BYTES ((size_t)256 << 10) /* shorter calls tell of latencies, not of links */
#define WATCH_S 0.1                        /* between two exchanges, about; and more */
#define MAX_WATCH_S 0.5                    /* where they take long, */
#define WATCH_SHARE 0.02                   /* so that they take no larger share of the time */
#define FIRST_CALLS 2
#define MIN_STEPS 4 /* measurements after one call */
#define MAX_STEPS 200
#define STEP_S 0.015   /* about what one takes */
#define STEP_SHARE 0.5 /* of a call's time may go into measurements after it, where it is long */
#define GAIN 0.05
#define PAUSE_S 1.0       /* after a survey that led to a better plan, */
#define FIRST_PAUSE_S 4.0 /* and after one that did not, though calls had been strange: then it doubles */
#define CALM_PAUSES 16.0  /* without a survey: then what surveys found before does not count any more */
#define PERIOD_S 60.0 /* what calls do not show, such as a link that is avoided, is looked for so often; */
#define MAX_PAUSE_S 600.0 /* this doubles, too, while nothing is found, up to here */
#define CLASSES 40
#define SAMPLES BANYAN_DRIFT_SAMPLES /* of calls' times, whose median counts, */
#define MAX_SAMPLES 9                /* and where these differ by more than STEADY */
#define STEADY 1.25

typedef enum { WAITING, SURVEYING, ON_TRIAL, WATCHING, OFF } stage;

/* How long calls of one class took, and how long they were: the last of a stage. */
typedef struct {
    double times_s[MAX_SAMPLES];
    size_t bytes[MAX_SAMPLES];
    int count;
} sample;

struct banyan_learning {
    banyan_probe_options options;
    const char **words;
    banyan_survey *survey;
    stage stage;
    int calls, steps;
    int is_struck;             /* the survey began because calls were strange */
    size_t bytes, watch_bytes; /* since the last exchange, and until the next */
    double pause_s, period_s;  /* before a survey that calls ask for, and before any */
    double surveyed_s;         /* by rank 0's clock */
    double survey_s;           /* what the last survey took, at rank 0 */
    banyan_drift drift;
    int class;                 /* of the calls that plans are compared by */
    sample before, after;      /* with the old plan, after the survey, and with the new one on trial */
    int is_surveyed;           /* what the old plan takes is missing: measurements disturb calls */
    banyan_topology *previous; /* that the old plan was made for */
    int is_warm;               /* the plan on trial has had its first call, in which connections are made */
    int is_promised;           /* the model of time says that the plan on trial is better */
    int has_failed;            /* such a plan did not keep that promise: something was measured wrong */
    int was_measured;          /* or guessed */
    double exchanged_s;        /* the end of the last exchange, by this rank's clock; 0: none yet */
    double exchange_s;         /* how long it held this rank up, */
    double all_exchange_s;     /* and the one before it all ranks, on average */
    double spent_s;            /* measuring in this survey, at rank 0, */
    uint64_t sent_before;      /* what this rank has sent in others, */
    double sent_bytes;         /* and all ranks in this one, at the last exchange */
    int is_spent;              /* the survey's budget */
    char *kept;  /* rank 0's, until the ranks have it: what the last job of these hosts learnt */
    int is_kept; /* the network of the plan on trial comes from there */
};

static banyan_status gather(void *context, const void *mine, size_t bytes, void *all, int64_t deadline_ns,
                            banyan_error *err)
{
    return banyan_control_gather(banyan_world_control(context), mine, bytes, all, deadline_ns, err);
}

static int has_several_hosts(const banyan_rank_record *records, int size)
{
    for (int i = 1; i < size; i++)
        if (strcmp(records[0].place, records[i].place) != 0)
            return 1;
    return 0;
}

static int can_learn(const banyan_comm *comm)
{
    const banyan_setup *setup = &comm->group->setup;
    banyan_world *world = comm->group->world;

    return world && setup->is_default_topology && setup->learn != BANYAN_LEARN_NEVER && !setup->forced &&
           !strcmp(setup->algorithm, "auto") && banyan_world_is_tcp(world) &&
           has_several_hosts(banyan_world_records(world), setup->size);
}

static const char *folder_of(const banyan_comm *comm)
{
    return comm->rank == 0 ? banyan_world_setting(comm->group->world, BANYAN_SETTING_LEARN_FOLDER) : "";
}

/* What cannot be used is told, and learnt anew. */
static void load_kept(const banyan_comm *comm, banyan_learning *l)
{
    banyan_world *world = comm->group->world;
    banyan_error why = {""};

    if (*folder_of(comm) && banyan_kept_network_load(folder_of(comm), banyan_world_records(world),
                                                     l->options.size, &l->kept, &why))
        BANYAN_WARN(comm->group->setup.log, "the network that was kept is of no use: %s", why.text);
}

static void keep(const banyan_comm *comm, const banyan_topology *topology)
{
    banyan_world *world = comm->group->world;
    banyan_error why = {""};

    if (!*folder_of(comm))
        return;
    if (!banyan_probe_is_plausible(banyan_survey_findings(comm->learning->survey))) {
        BANYAN_INFO(comm->group->setup.log, GRAPH,
                    "the network that was learnt is not kept: it does not explain what was measured");
        return;
    }
    if (banyan_kept_network_save(folder_of(comm), banyan_world_records(world), comm->learning->options.size,
                                 topology, &why))
        BANYAN_WARN(comm->group->setup.log, "the network that was learnt cannot be kept: %s", why.text);
}

banyan_status banyan_learning_create(banyan_comm *comm, banyan_learning **out, banyan_error *err)
{
    banyan_world *world = comm->group->world;
    int size = comm->group->setup.size;
    const banyan_rank_record *records;
    banyan_learning *l;

    *out = NULL;
    if (!can_learn(comm))
        return BANYAN_SUCCESS;
    l = banyan_alloc(1, sizeof *l);
    if (l)
        l->words = banyan_alloc(2 * (size_t)size, sizeof *l->words);
    if (!l || !l->words) {
        banyan_learning_destroy(l);
        return banyan_fail_memory(err);
    }
    records = banyan_world_records(world);
    for (int i = 0; i < size; i++) {
        l->words[i] = records[i].place;
        l->words[size + i] = records[i].host;
    }
    l->options = (banyan_probe_options){.endpoint = comm->endpoint,
                                        .exchange = {gather, world},
                                        .rank = comm->rank,
                                        .size = size,
                                        .hosts = l->words,
                                        .names = l->words + size,
                                        .timeout_ms = comm->group->setup.timeout_ms};
    load_kept(comm, l);
    *out = l;
    return BANYAN_SUCCESS;
}

void banyan_learning_destroy(banyan_learning *learning)
{
    if (!learning)
        return;
    banyan_survey_destroy(learning->survey);
    banyan_topology_destroy(learning->previous);
    banyan_free(learning->words);
    banyan_free(learning->kept);
    banyan_free(learning);
}

typedef struct {
    banyan_call_time call;
    double now_s, exchange_s;
    uint64_t has_kept;                              /* a network */
    double spent_s, most_s, sent_bytes, most_bytes; /* in this survey, and what it may take; 0: anything */
} report;

static double sent_now(const banyan_learning *l)
{
    return l->survey ? (double)(banyan_survey_sent_bytes(l->survey) - l->sent_before) : 0;
}

/* The call that has just ended here. */
static banyan_call_time time_of(const banyan_learning *l, double seconds)
{
    double end_s = l->exchanged_s > 0 ? banyan_clock_s() - l->exchanged_s : 0;

    return (banyan_call_time){end_s - seconds, end_s};
}

/* Everybody's; *seconds is what the call took for all, *now_s rank 0's clock. Rank 0 says what a survey may
 * take, and whether it has a network to share. */
static banyan_status exchange(banyan_comm *comm, double mine_s, double *seconds, double *now_s)
{
    banyan_learning *l = comm->learning;
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)l->options.timeout_ms * 1000000;
    report mine = {
        time_of(l, mine_s), banyan_clock_s(),
        l->exchange_s,      l->kept != NULL,
        l->spent_s,         banyan_world_seconds(comm->group->world, BANYAN_SETTING_LEARN_SECONDS),
        sent_now(l),        (double)banyan_world_integer(comm->group->world, BANYAN_SETTING_LEARN_BYTES)};
    banyan_call_time *times = banyan_alloc((size_t)l->options.size, sizeof *times);
    report *all = banyan_alloc((size_t)l->options.size, sizeof *all);
    banyan_status status = all && times
                               ? gather(comm->group->world, &mine, sizeof mine, all, deadline_ns, &comm->err)
                               : banyan_fail_memory(&comm->err);

    l->exchanged_s = banyan_clock_s();
    l->exchange_s = l->exchanged_s - mine.now_s;
    l->sent_bytes = l->all_exchange_s = 0;
    for (int i = 0; i < l->options.size && !status; i++) {
        times[i] = all[i].call;
        l->all_exchange_s += all[i].exchange_s / l->options.size;
        l->sent_bytes += all[i].sent_bytes;
    }
    l->is_spent = !status && ((all[0].most_s > 0 && all[0].spent_s > all[0].most_s) ||
                              (all[0].most_bytes > 0 && l->sent_bytes > all[0].most_bytes));
    l->survey_s = status ? 0 : all[0].spent_s;
    *seconds = status ? mine_s : banyan_call_time_of_all(times, l->options.size);
    *now_s = status ? 0 : all[0].now_s;
    if (l->stage == WAITING)
        l->is_kept = !status && all[0].has_kept;
    banyan_free(times);
    banyan_free(all);
    return status;
}

static int class_of(size_t bytes)
{
    int class = 0;

    for (; bytes > 1; bytes /= 2)
        class ++;
    return class < CLASSES ? class : CLASSES - 1;
}

static double per_byte(const sample *s, int call)
{
    return s->times_s[call] / (double)s->bytes[call];
}

static void drop_oldest(sample *s, int count)
{
    s->count -= count;
    memmove(s->bytes, s->bytes + count, (size_t)s->count * sizeof *s->bytes);
    memmove(s->times_s, s->times_s + count, (size_t)s->count * sizeof *s->times_s);
}

static void note_time(sample *s, size_t bytes, double seconds)
{
    if (s->count == MAX_SAMPLES)
        drop_oldest(s, 1);
    s->bytes[s->count] = bytes;
    s->times_s[s->count++] = seconds;
}

/* Calls of a class differ in length: the one whose time per byte is the median. */
static int middle_of(const sample *s)
{
    double sorted[MAX_SAMPLES];
    int middle = 0;

    for (int i = 0; i < s->count; i++)
        sorted[i] = per_byte(s, i);
    banyan_sort_doubles(sorted, (size_t)s->count);
    while (per_byte(s, middle) != sorted[s->count / 2])
        middle++;
    return middle;
}

/* Of the last SAMPLES. */
static int is_steady(const sample *s)
{
    double fastest = HUGE_VAL, slowest = 0;

    for (int i = s->count - SAMPLES; i < s->count; i++) {
        fastest = fmin(fastest, per_byte(s, i));
        slowest = fmax(slowest, per_byte(s, i));
    }
    return slowest <= STEADY * fastest;
}

/* Whether they still get faster, as while congestion control learns what new connections may send. */
static int gets_faster(const sample *s)
{
    int last = s->count - 1, is_fastest = 1;

    for (int i = s->count - SAMPLES; i < last; i++)
        is_fastest &= per_byte(s, last) < per_byte(s, i);
    return is_fastest;
}

/* Whether the median says what calls take: of the last SAMPLES, or where something makes them take now more
 * and now less time, of MAX_SAMPLES. */
static int is_complete(sample *s)
{
    if (s->count < SAMPLES)
        return 0;
    if (s->count < MAX_SAMPLES && is_steady(s))
        drop_oldest(s, s->count - SAMPLES);
    return s->count == SAMPLES ? is_steady(s) : s->count == MAX_SAMPLES;
}

static double median_per_byte(const sample *s)
{
    return per_byte(s, middle_of(s));
}

static banyan_status begin_survey(banyan_comm *comm, size_t bytes, double call_s)
{
    banyan_learning *l = comm->learning;
    double steps = STEP_SHARE * call_s / STEP_S;

    l->steps = steps < MIN_STEPS ? MIN_STEPS : steps > MAX_STEPS ? MAX_STEPS : (int)steps;
    l->stage = SURVEYING;
    l->is_kept = 0;
    l->before.count = l->after.count = 0;
    l->class = class_of(bytes);
    l->is_surveyed = 0;
    l->spent_s = l->sent_bytes = 0;
    l->sent_before = l->survey ? banyan_survey_sent_bytes(l->survey) : 0;
    if (!l->survey)
        return banyan_survey_create(&l->options, &l->survey, &comm->err);
    banyan_survey_restart(l->survey);
    return BANYAN_SUCCESS;
}

/* For those who ask: what this survey, or an earlier job, has found. */
static void show(const banyan_comm *comm, const banyan_topology *topology)
{
    const banyan_learning *l = comm->learning;
    banyan_picture facts = {.origin = BANYAN_PICTURE_KEPT};

    if (!l->is_kept) {
        const banyan_probe_findings *f = banyan_survey_findings(l->survey);

        facts = (banyan_picture){.origin = BANYAN_PICTURE_LEARNT,
                                 .rack_count = f->rack_count,
                                 .explained = f->explained,
                                 .measurement_count = banyan_survey_step_count(l->survey)};
    }
    banyan_world_show_network(comm->group->world, &facts, topology);
}

/* All plans are made anew, for this network; returns the one before. */
static banyan_topology *use(banyan_comm *comm, banyan_topology *topology, int is_measured)
{
    banyan_topology *before = comm->group->setup.topology;

    banyan_group_plans_destroy(comm->group->plans);
    comm->group->plans = NULL;
    comm->group->setup.topology = topology;
    comm->group->setup.is_measured = is_measured;
    return before;
}

static void finish(banyan_comm *comm, int is_better)
{
    banyan_learning *l = comm->learning;
    const sample *now = is_better ? &l->after : &l->before;

    if (is_better)
        l->pause_s = PAUSE_S;
    else if (l->is_struck || l->has_failed)
        l->pause_s = fmin(fmax(2 * l->pause_s, FIRST_PAUSE_S), MAX_PAUSE_S);
    l->period_s = is_better || l->is_struck ? PERIOD_S : fmin(fmax(2 * l->period_s, PERIOD_S), MAX_PAUSE_S);
    l->stage = comm->group->setup.learn == BANYAN_LEARN_ALWAYS ? WATCHING : OFF;
    l->surveyed_s = 0; /* the next exchange brings rank 0's clock */
    banyan_drift_restart(&l->drift);
    for (int i = 0; i < now->count; i++)
        banyan_drift_learn(&l->drift, now->bytes[i], now->times_s[i]);
}

/* What rank 0 has decided, and what everybody makes of the same findings. */
typedef struct {
    uint64_t is_better;
    uint64_t is_promised; /* by the model of time, and not by what pacing may do */
    uint64_t is_expected; /* calls take as long as the network that was kept lets expect */
    char digest[24];
} verdict;

static banyan_status agree(banyan_comm *comm, const verdict *mine, verdict *first, int *is_same)
{
    banyan_learning *l = comm->learning;
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)l->options.timeout_ms * 1000000;
    verdict *all = banyan_alloc((size_t)l->options.size, sizeof *all);
    banyan_status status = all ? gather(comm->group->world, mine, sizeof *mine, all, deadline_ns, &comm->err)
                               : banyan_fail_memory(&comm->err);

    *is_same = 1;
    for (int i = 0; i < l->options.size && !status; i++)
        *is_same &= !memcmp(all[i].digest, all[0].digest, sizeof all[0].digest);
    if (!status)
        *first = all[0];
    banyan_free(all);
    return status;
}

/* No model of time knows what connections lose that push each other aside. Where they are to be paced from
 * now on, the most that this can save is what calls take beyond the new plan's time. */
static double promise_of_pacing(const banyan_comm *comm, const banyan_topology *topology,
                                const banyan_group_plan *anew)
{
    const sample *now = &comm->learning->before;
    banyan_setup measured = comm->group->setup;
    banyan_error ignored = {""};
    double expected_s = 0;

    if (!anew->is_paced || measured.is_measured || !now->count)
        return 0;
    measured.is_measured = 1;
    if (banyan_group_plan_predict(&measured, topology, anew, now->bytes[middle_of(now)], &expected_s,
                                  &ignored))
        return 0;
    return expected_s > 0 ? now->times_s[middle_of(now)] / expected_s - 1 : 0;
}

/* Rank 0: whether it pays to try a plan for this network. What cannot be planned does not. */
static int is_better(banyan_comm *comm, banyan_topology *topology, const banyan_group_plan *plan,
                     uint64_t *is_promised)
{
    const banyan_setup *setup = &comm->group->setup;
    banyan_group_plan *anew = NULL;
    banyan_error why = {""};
    double gain = 0;
    banyan_status status = banyan_group_plan_anew(setup, topology, plan, &anew, &gain, &why);

    if (status) {
        BANYAN_WARN(setup->log, "no plan for the network that was learnt: %s", why.text);
        return 0;
    }
    BANYAN_INFO(setup->log, GRAPH, "what was learnt promises %.1f %%: %s instead of %s", 100 * gain,
                anew->schedule->algorithm ? anew->schedule->algorithm : "?",
                plan->schedule->algorithm ? plan->schedule->algorithm : "?");
    *is_promised = gain >= GAIN;
    if (!*is_promised) {
        gain = promise_of_pacing(comm, topology, anew);
        if (gain >= GAIN)
            BANYAN_INFO(setup->log, GRAPH, "it is tried, since pacing may save up to %.1f %%", 100 * gain);
    }
    if (gain < GAIN)
        banyan_group_plans_destroy(anew);
    else
        banyan_world_keep_plan(comm->group->world, anew);
    return gain >= GAIN;
}

static void log_findings(const banyan_comm *comm)
{
    const banyan_survey *survey = comm->learning->survey;
    const banyan_probe_findings *f = banyan_survey_findings(survey);

    BANYAN_INFO(comm->group->setup.log, GRAPH,
                "surveyed %d hosts in %.2g s: %d rack%s, which explain %.0f %% of what flows lacked; %d "
                "measurements so far",
                f->host_count, comm->learning->spent_s, f->rack_count, f->rack_count == 1 ? "" : "s",
                100 * f->explained, banyan_survey_step_count(survey));
}

/* Rank 0: whether a call of the plan took as long as it should on this network. One that was surveyed a
 * moment ago is doubted only where calls are faster than it allows: what makes them slower need not be the
 * network. */
static int is_expected(const banyan_comm *comm, const banyan_topology *topology,
                       const banyan_group_plan *plan, size_t bytes, double seconds)
{
    banyan_error ignored = {""};
    double expected_s = 0;

    if (banyan_group_plan_predict(&comm->group->setup, topology, plan, bytes, &expected_s, &ignored))
        return !comm->learning->is_kept;
    BANYAN_INFO(comm->group->setup.log, GRAPH, "%zu bytes take %.3g s, and %.3g s on the network that was %s",
                bytes, seconds, expected_s, comm->learning->is_kept ? "kept" : "surveyed");
    if (seconds >= BANYAN_DRIFT_SLOWER * expected_s && comm->learning->is_kept)
        return 0;
    return seconds > BANYAN_DRIFT_FASTER * expected_s;
}

/* Puts the plan for a network on trial, where all ranks know the same one and it pays; takes the network
 * over. *is_used: that, or, for a network that was kept, what is in use is as good there. */
static banyan_status adopt(banyan_comm *comm, banyan_topology *topology, const banyan_group_plan *plan,
                           size_t bytes, double seconds, int *is_used)
{
    banyan_learning *l = comm->learning;
    verdict mine = {0}, first = {0};
    int is_same = 1;
    banyan_status status;

    banyan_topology_digest(topology, mine.digest);
    if (comm->rank == 0)
        mine.is_better = (uint64_t)is_better(comm, topology, plan, &mine.is_promised);
    if (comm->rank == 0 && l->is_kept && !mine.is_better)
        mine.is_expected = (uint64_t)is_expected(comm, topology, plan, bytes, seconds);
    status = agree(comm, &mine, &first, &is_same);
    if (!status && is_same)
        show(comm, topology);
    *is_used = !status && is_same && (first.is_better || first.is_expected);
    if (!status && is_same && first.is_better) {
        banyan_topology_destroy(l->previous);
        l->was_measured = comm->group->setup.is_measured;
        l->previous = use(comm, topology, 1);
        topology = NULL;
        l->is_promised = (int)first.is_promised;
        l->stage = ON_TRIAL;
        l->is_warm = 0;
        status = banyan_world_suit_window(comm->group->world, 1, &comm->err);
    } else if (is_same && (!l->is_kept || first.is_expected)) {
        if (!l->is_kept)
            keep(comm, topology);
        finish(comm, 0);
    } else if (!is_same) {
        l->stage = OFF;
        BANYAN_WARN(comm->group->setup.log,
                    "ranks infer different networks from the same measurements: learning is over");
    }
    banyan_topology_destroy(topology);
    return status;
}

/* The survey is done. */
static banyan_status judge(banyan_comm *comm, const banyan_group_plan *plan, size_t bytes, double seconds)
{
    banyan_topology *topology = NULL;
    int is_used;
    banyan_status status =
        banyan_probe_infer(banyan_survey_findings(comm->learning->survey), &topology, &comm->err);

    return status ? status : adopt(comm, topology, plan, bytes, seconds, &is_used);
}

/* Begins with what the last job has learnt, if that promises something; else with a survey. */
static banyan_status recall(banyan_comm *comm, const banyan_group_plan *plan, size_t bytes, double seconds)
{
    banyan_learning *l = comm->learning;
    banyan_topology *topology = NULL;
    char *text = NULL;
    int is_used = 0;
    banyan_status status = banyan_world_share_text(comm->group->world, l->kept, &text, &comm->err);

    banyan_free(l->kept);
    l->kept = NULL;
    if (!status)
        status = banyan_kept_network_parse(text, banyan_world_records(comm->group->world), l->options.size,
                                           &topology, &comm->err);
    banyan_free(text);
    l->class = class_of(bytes);
    l->before.count = l->after.count = 0;
    note_time(&l->before, bytes, seconds);
    if (!status)
        status = adopt(comm, topology, plan, bytes, seconds, &is_used);
    return status || is_used || l->stage == OFF ? status : begin_survey(comm, bytes, seconds);
}

/* What a call of the class took, for all ranks. */
static banyan_status note_call(banyan_comm *comm, size_t bytes, double mine_s, sample *s)
{
    double seconds, now_s;
    banyan_status status;

    if (class_of(bytes) != comm->learning->class)
        return BANYAN_SUCCESS;
    status = exchange(comm, mine_s, &seconds, &now_s);
    if (!status)
        note_time(s, bytes, seconds);
    return status;
}

/* The plan on trial may have proved better; is the network still the one that it was made for? */
static banyan_status check_network(banyan_comm *comm, const banyan_group_plan *plan, int *is_right)
{
    const sample *now = &comm->learning->after;
    verdict mine = {0}, first = {0};
    int is_same;
    banyan_status status;

    if (comm->rank == 0)
        mine.is_expected = (uint64_t)is_expected(comm, comm->group->setup.topology, plan,
                                                 now->bytes[middle_of(now)], now->times_s[middle_of(now)]);
    status = agree(comm, &mine, &first, &is_same);
    *is_right = (int)first.is_expected;
    return status;
}

/* A plan that does not keep its promise goes. */
static banyan_status try_plan(banyan_comm *comm, const banyan_group_plan *plan, size_t bytes, double mine_s)
{
    banyan_learning *l = comm->learning;
    int is_better, is_right = 1;
    banyan_status status;

    if (!l->is_warm) {
        l->is_warm = 1;
        return BANYAN_SUCCESS;
    }
    status = note_call(comm, bytes, mine_s, &l->after);
    if (status || !is_complete(&l->after) || gets_faster(&l->after))
        return status;
    status = check_network(comm, plan, &is_right);
    if (status)
        return status;
    is_better = median_per_byte(&l->after) <= median_per_byte(&l->before);
    l->has_failed = !is_better && l->is_promised;
    BANYAN_INFO(comm->group->setup.log, GRAPH, "the new plan takes %.3g s, the old one took %.3g s: it %s",
                l->after.times_s[middle_of(&l->after)], l->before.times_s[middle_of(&l->before)],
                is_better ? "stays" : "goes");
    if (!is_better) {
        l->previous = use(comm, l->previous, l->was_measured);
        status = banyan_world_suit_window(comm->group->world, l->was_measured, &comm->err);
    }
    banyan_topology_destroy(l->previous);
    l->previous = NULL;
    if (is_better && is_right && !l->is_kept)
        keep(comm, comm->group->setup.topology);
    if (!is_right || (l->is_kept && !is_better))
        return status ? status : begin_survey(comm, bytes, l->after.times_s[middle_of(&l->after)]);
    finish(comm, is_better);
    return status;
}

/* More than it may take: the plan stays as it is. */
static void end_survey(banyan_comm *comm)
{
    BANYAN_INFO(comm->group->setup.log, GRAPH,
                "the survey ends after %.3g s and %.3g bytes, which is all it may take",
                comm->learning->spent_s, comm->learning->sent_bytes);
    finish(comm, 0);
}

/* Calls with the old plan after the last measurement, then the verdict. */
static banyan_status time_old_plan(banyan_comm *comm, const banyan_group_plan *plan, size_t bytes,
                                   double mine_s)
{
    banyan_learning *l = comm->learning;
    banyan_status status;

    if (!l->before.count)
        l->class = class_of(bytes);
    status = note_call(comm, bytes, mine_s, &l->before);
    return status || !is_complete(&l->before) ? status : judge(comm, plan, bytes, mine_s);
}

static banyan_status survey(banyan_comm *comm, const banyan_group_plan *plan, size_t bytes, double mine_s)
{
    banyan_learning *l = comm->learning;
    double seconds, begin_s;
    banyan_status status;

    if (l->is_surveyed)
        return time_old_plan(comm, plan, bytes, mine_s);
    status = exchange(comm, mine_s, &seconds, &begin_s);
    if (!status && l->is_spent)
        end_survey(comm);
    if (status || l->is_spent)
        return status;
    begin_s = banyan_clock_s();
    banyan_pacing_lift(comm->endpoint);
    for (int i = 0; i < l->steps && !status && !l->is_surveyed; i++)
        status = banyan_survey_step(l->survey, &l->is_surveyed, &comm->err);
    l->spent_s += banyan_clock_s() - begin_s;
    if (status)
        comm->endpoint->transport->withdraw(comm->endpoint); /* the survey's memory may be under way */
    else if (l->is_surveyed)
        log_findings(comm);
    return status;
}

/* What a survey takes: as much as the last one, or, where there was none, what one should. */
static double survey_seconds(const banyan_learning *l)
{
    return l->survey_s > 0 ? l->survey_s : STEP_S * banyan_probe_round_guess(l->options.size);
}

/* Whoever is kept from its processor, or leaves calls late, holds all others up in an exchange. */
static double watch_seconds(const banyan_learning *l)
{
    return fmin(fmax(WATCH_S, l->all_exchange_s / WATCH_SHARE), MAX_WATCH_S);
}

static banyan_status watch(banyan_comm *comm, size_t bytes, double mine_s)
{
    banyan_learning *l = comm->learning;
    double seconds, now_s, quiet_s;
    banyan_status status;

    l->bytes += bytes;
    if (l->bytes < l->watch_bytes)
        return BANYAN_SUCCESS;
    status = exchange(comm, mine_s, &seconds, &now_s);
    if (status)
        return status;
    l->is_struck =
        banyan_drift_note(&l->drift, bytes, seconds, (double)l->bytes / (double)bytes, survey_seconds(l)) ||
        l->has_failed;
    l->bytes = 0;
    l->watch_bytes = (size_t)(fmin(watch_seconds(l) / fmax(seconds, 1e-6), 1e6) * (double)bytes);
    l->surveyed_s = l->surveyed_s > 0 ? l->surveyed_s : now_s;
    quiet_s = now_s - l->surveyed_s;
    if (quiet_s < (l->is_struck ? l->pause_s : fmax(l->period_s, l->pause_s)))
        return BANYAN_SUCCESS;
    if (quiet_s > CALM_PAUSES * l->pause_s)
        l->pause_s = 0;
    BANYAN_INFO(comm->group->setup.log, GRAPH, "%zu bytes now take %.3g s: the network is surveyed again",
                bytes, seconds);
    return begin_survey(comm, bytes, seconds);
}

static banyan_status wait(banyan_comm *comm, const banyan_group_plan *plan, size_t bytes, double mine_s)
{
    double seconds, now_s;
    banyan_status status;

    if (++comm->learning->calls < FIRST_CALLS)
        return BANYAN_SUCCESS;
    status = exchange(comm, mine_s, &seconds, &now_s);
    if (!status && comm->learning->is_kept)
        return recall(comm, plan, bytes, seconds);
    return status ? status : begin_survey(comm, bytes, seconds);
}

int banyan_learning_goes_on(const banyan_comm *comm, size_t bytes)
{
    const banyan_learning *l = comm->learning;

    return l && bytes >= MIN_CALL_BYTES && l->stage != WATCHING && l->stage != OFF;
}

banyan_status banyan_learning_note(banyan_comm *comm, const banyan_call *call, const banyan_group_plan *plan,
                                   size_t bytes, double seconds)
{
    banyan_status status = BANYAN_SUCCESS;

    if (call->collective != BANYAN_COLLECTIVE_ALLREDUCE || bytes < MIN_CALL_BYTES)
        return BANYAN_SUCCESS;
    switch (comm->learning->stage) {
    case WAITING:
        status = wait(comm, plan, bytes, seconds);
        break;
    case SURVEYING:
        status = survey(comm, plan, bytes, seconds);
        break;
    case ON_TRIAL:
        status = try_plan(comm, plan, bytes, seconds);
        break;
    case WATCHING:
        status = watch(comm, bytes, seconds);
        break;
    case OFF:
        break;
    }
    return status ? banyan_calls_hear_verdict(comm, status) : status;
}
