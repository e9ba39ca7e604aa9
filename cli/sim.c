/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sim.c: banyan sim SPEC: how long algorithms take on a network that nobody needs to own. */
#include "sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "closed_form.h"
#include "core/alloc.h"
#include "core/file.h"
#include "core/progress.h"
#include "planner/planner.h"
#include "schedule/export.h"
#include "schedule/slice.h"
#include "sim_flit.h"

static const cli_option options[] = {
    {"algo", 'a', "NAMES", "algorithms, such as ring,double-tree, or all that apply (default: all)"},
    {"schedule", 's', "FILE", "simulate the schedule in this file instead"},
    {"active", 0, "RANKS", "workers that hold data, such as 0,1,4-7 (default: all)"},
    {"collective", 0, "NAME",
     "allreduce, reducescatter, allgather, broadcast or reduce (default: allreduce)"},
    {"root", 0, "RANK", "root of broadcast and reduce (default: 0)"},
    {"bytes", 'b', "SIZES", "sizes of the vector, such as 1MiB,64MiB (default: 64MiB)"},
    {"model", 'm', "NAME", "fluid, walk or flit (default: fluid)"},
    {"slice", 0, "SIZE",
     "transfers travel in messages of this size, or whole (default: chosen for each schedule)"},
    {"service", 0, "KIND",
     "messages with one route: shared, all at once, or turns, one by one (default: turns where sliced)"},
    {"lockstep", 0, NULL, "a round begins when the one before has ended everywhere"},
    {"overhead", 0, "TIME", "what every message costs before its first byte, such as 2us (default: 0)"},
    {"reduce-speed", 0, "RATE", "bytes that a worker adds a second, such as 128GB (default: no limit)"},
    {"flow", 0, "KIND", "flit: packet, or message for one head flit a message (default: packet)"},
    {"flit", 0, "SETTINGS", "flit: clock=1GHz,vcs=4,buffer=318,adder=0,... as banyan-sim(1) lists them"},
    {"tables", 0, NULL, "flit: print the schedule tables of the network interfaces instead"},
    {"trace", 0, "FILE", "write when each transfer began and ended, for chrome://tracing or Perfetto"},
    {NULL, 0, NULL, NULL}};

/* One row: an algorithm, or a schedule from a file, at a size. */
typedef struct {
    const banyan_algorithm *algorithm; /* NULL: from a file */
    banyan_schedule *schedule;
    banyan_schedule *sliced; /* the same one where it was cut here, else NULL */
    size_t bytes;
    sim_outcome outcome;
    double closed_form_s;
} row;

typedef struct {
    sim_request request;
    banyan_progress bar;
    const char *label; /* of the bar, which begins with the first news */
    banyan_text json;
    int row_count;
    char not_here[4096];
} sim;

static void show_progress(void *context, size_t done, size_t total)
{
    sim *s = context;

    if (s->label) {
        banyan_progress_begin(&s->bar, STDERR_FILENO, cli_has(s->request.arguments, "quiet"), s->label,
                              total);
        s->label = NULL;
    }
    banyan_progress_set(&s->bar, done);
}

static const char *name_of(const row *r)
{
    if (r->algorithm)
        return r->algorithm->name;
    return r->schedule->algorithm && *r->schedule->algorithm ? r->schedule->algorithm : "schedule";
}

static double algorithm_bandwidth(const row *r)
{
    return (double)r->bytes / r->outcome.timeline->total_s;
}

static void add_json(sim *s, const row *r)
{
    double factor = cli_bus_factor(r->schedule->collective, r->schedule->active_count);
    banyan_text *text = &s->json;
    char name[128];

    banyan_text_add(text, "%s\n{\"algorithm\":", s->row_count ? "," : "");
    banyan_text_add_json_string(text, name_of(r));
    banyan_text_add(text, ",\"bytes\":%zu,\"model\":\"%s\",", r->bytes, s->request.engine->name);
    cli_json_number(text, "seconds", r->outcome.timeline->total_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "closed_form_s", r->closed_form_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "algbw", algorithm_bandwidth(r));
    banyan_text_add(text, ",");
    cli_json_number(text, "busbw", algorithm_bandwidth(r) * factor);
    banyan_text_add(text, ",");
    cli_json_number(text, "utilization", r->outcome.utilization);
    banyan_text_add(text, ",\"bottleneck\":");
    if (r->outcome.bottleneck >= 0)
        banyan_text_add_json_string(
            text,
            banyan_topology_link_name(s->request.problem.topology, r->outcome.bottleneck, name, sizeof name));
    else
        banyan_text_add(text, "null");
    banyan_text_add(text, ",");
    cli_json_number(text, "bottleneck_utilization", r->outcome.busiest);
    banyan_text_add(text, ",\"transfers\":%zu,\"messages\":%zu%s}", r->schedule->transfer_count,
                    r->outcome.message_count, r->outcome.json);
}

static void print_head(const sim *s)
{
    printf("%s: %s over %d workers, %s model\n\n", s->request.problem.topology->name,
           banyan_collective_name(s->request.given ? s->request.given->collective
                                                   : s->request.problem.problem.collective),
           s->request.given ? s->request.given->active_count : s->request.problem.problem.active_count,
           s->request.engine->name);
    printf("%-20s %10s %12s %12s %12s %12s %6s  %s\n", "algorithm", "size", "time", "closed form", "algbw",
           "busbw", "used", "bottleneck");
}

static const char *format_share(double share, char *buffer, size_t size)
{
    snprintf(buffer, size, isfinite(share) ? "%.1f %%" : "-", 100 * share);
    return buffer;
}

static void print_row(const sim *s, const row *r)
{
    double factor = cli_bus_factor(r->schedule->collective, r->schedule->active_count);
    char size[32], time[32], form[32], rate[32], bus[32], used[32], busiest[32], link[128] = "-";

    if (!s->row_count)
        print_head(s);
    if (r->outcome.bottleneck >= 0)
        banyan_topology_link_name(s->request.problem.topology, r->outcome.bottleneck, link, sizeof link);
    printf("%-20s %10s %12s %12s %12s %12s %6s  %s (%s)%s%s\n", name_of(r),
           banyan_show_bytes((double)r->bytes, size, sizeof size),
           banyan_show_seconds(r->outcome.timeline->total_s, time, sizeof time),
           banyan_show_seconds(r->closed_form_s, form, sizeof form),
           banyan_show_rate(algorithm_bandwidth(r), rate, sizeof rate),
           banyan_show_rate(algorithm_bandwidth(r) * factor, bus, sizeof bus),
           format_share(r->outcome.utilization, used, sizeof used), link,
           format_share(r->outcome.busiest, busiest, sizeof busiest), *r->outcome.note ? ", " : "",
           r->outcome.note);
    fflush(stdout);
}

static banyan_status write_trace(const sim *s, const row *r, banyan_error *err)
{
    const char *path = cli_get(s->request.arguments, "trace");
    banyan_status status;
    char *text;

    if (!path)
        return BANYAN_SUCCESS;
    status = banyan_schedule_export_trace(r->schedule, r->outcome.timeline, r->bytes, cli_node_name,
                                          s->request.problem.topology, &text, err);
    if (status)
        return status;
    status = banyan_file_save(path, text, strlen(text), err);
    banyan_free(text);
    return status;
}

/* --tables: what the network interfaces would be loaded with. */
static banyan_status show_tables(sim *s, const row *r, banyan_error *err)
{
    char *text;
    banyan_status status =
        sim_flit_tables(&s->request.settings, r->schedule, s->request.problem.topology, r->bytes, &text, err);

    if (status)
        return status;
    if (cli_has(s->request.arguments, "json")) {
        banyan_text_add(&s->json, "%s\n{\"algorithm\":", s->row_count ? "," : "");
        banyan_text_add_json_string(&s->json, name_of(r));
        banyan_text_add(&s->json, ",\"bytes\":%zu,\"tables\":", r->bytes);
        banyan_text_add_json_string(&s->json, text);
        banyan_text_add(&s->json, "}");
    } else {
        printf("%s%s, %zu bytes: %s", s->row_count ? "\n" : "", name_of(r), r->bytes, text);
    }
    s->row_count++;
    banyan_free(text);
    return BANYAN_SUCCESS;
}

/* The flit engine sends transfers whole: slices are made in the schedule. */
static banyan_status slice(const sim *s, row *r, banyan_error *err)
{
    size_t slice_bytes = s->request.settings.fluid.slice_bytes;
    banyan_schedule *sliced;
    banyan_status status;

    if (!slice_bytes || s->request.engine->run != sim_flit_run)
        return BANYAN_SUCCESS;
    status = banyan_schedule_slice(
        r->schedule, banyan_schedule_slice_count(r->schedule, r->bytes, slice_bytes), &sliced, err);
    if (status)
        return status;
    if (r->schedule != s->request.given)
        banyan_schedule_destroy(r->schedule);
    r->schedule = r->sliced = sliced;
    return BANYAN_SUCCESS;
}

static banyan_status simulate(sim *s, row *r, banyan_error *err)
{
    const banyan_topology *topology = s->request.problem.topology;
    banyan_status status = cli_closed_form(r->algorithm, r->schedule, topology, (double)r->bytes,
                                           s->request.settings.fluid.overhead_s, &r->closed_form_s, err);

    if (!status)
        status = slice(s, r, err);
    if (!status && cli_has(s->request.arguments, "tables") && s->request.engine->run == sim_flit_run)
        return show_tables(s, r, err);
    s->label = name_of(r);
    if (!status)
        status =
            s->request.engine->run(&s->request.settings, r->schedule, topology, r->bytes, &r->outcome, err);
    if (!s->label)
        banyan_progress_end(&s->bar);
    if (!status)
        status = write_trace(s, r, err);
    if (!status && cli_has(s->request.arguments, "json"))
        add_json(s, r);
    else if (!status)
        print_row(s, r);
    s->row_count++;
    banyan_timeline_destroy(r->outcome.timeline);
    return status;
}

/* With «all», what does not apply is told at the end; what was named has to apply. */
static banyan_status skip(sim *s, const banyan_algorithm *algorithm, banyan_status status, int is_first,
                          const banyan_error *err)
{
    size_t length = strlen(s->not_here);

    if (status != BANYAN_UNSUPPORTED || !s->request.takes_all)
        return status;
    if (is_first)
        snprintf(s->not_here + length, sizeof s->not_here - length, "  %s: %s\n", algorithm->name, err->text);
    return BANYAN_SUCCESS;
}

static banyan_status simulate_algorithm(sim *s, const banyan_algorithm *algorithm, int size,
                                        banyan_error *err)
{
    banyan_problem problem = s->request.problem.problem;
    row r = {.algorithm = algorithm, .bytes = s->request.sizes[size]};
    banyan_status status;

    problem.bytes = r.bytes;
    problem.is_size_open = 0;
    problem.is_streamed = s->request.engine->run != sim_flit_run;
    if (s->request.algorithm_count > 1 && !banyan_plan_takes_parameters(algorithm, &problem))
        problem.parameter_count = 0;
    status = banyan_algorithm_applies(algorithm, &problem, err);
    if (!status)
        status = banyan_algorithm_build(algorithm, &problem, &r.schedule, err);
    if (status)
        return skip(s, algorithm, status, size == 0, err);
    status = simulate(s, &r, err);
    banyan_schedule_destroy(r.schedule);
    return status;
}

static banyan_status simulate_all(sim *s, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < s->request.size_count; i++) {
        row r = {.schedule = s->request.given, .bytes = s->request.sizes[i]};

        if (s->request.given)
            status = simulate(s, &r, err);
        banyan_schedule_destroy(r.sliced);
        for (int j = 0; !status && j < s->request.algorithm_count; j++)
            status = simulate_algorithm(s, s->request.algorithms[j], i, err);
    }
    return status;
}

static banyan_status print_json(sim *s, banyan_error *err)
{
    banyan_text whole = BANYAN_TEXT_EMPTY;

    banyan_text_add(&whole, "{\"topology\":");
    banyan_text_add_json_string(&whole, s->request.problem.topology->name);
    banyan_text_add(&whole, ",\"results\":[");
    banyan_text_add_bytes(&whole, s->json.bytes ? s->json.bytes : "", s->json.length);
    whole.failed |= s->json.failed;
    banyan_text_add(&whole, "]}");
    return cli_print(&whole, err);
}

static banyan_status work(sim *s, banyan_error *err)
{
    banyan_status status = simulate_all(s, err);

    if (status)
        return status;
    if (cli_has(s->request.arguments, "json"))
        return print_json(s, err);
    if (*s->not_here && !cli_has(s->request.arguments, "quiet"))
        printf("\nnot here:\n%s", s->not_here);
    cli_say_written(s->request.arguments, cli_get(s->request.arguments, "trace"));
    return BANYAN_SUCCESS;
}

static int run(const cli_arguments *arguments)
{
    sim s = {.json = BANYAN_TEXT_EMPTY};
    banyan_error err;
    banyan_status status;

    if (!arguments->word_count)
        return cli_usage_error(arguments, "name a network: a file or a string such as hosts:2+3");
    status = sim_request_read(arguments, &s.request, &err);
    s.request.settings.fluid.progress = show_progress;
    s.request.settings.fluid.context = &s;
    if (!status)
        status = work(&s, &err);
    banyan_text_fini(&s.json);
    sim_request_fini(&s.request);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_sim = {
    .name = "sim",
    .usage = "SPEC [--algo NAMES|all] [--bytes SIZES] [--model fluid|walk|flit] [--slice SIZE] [--lockstep]\n"
             "SPEC --model flit [--flow packet|message] [--flit SETTINGS] [--tables] [--algo NAMES] [--bytes "
             "SIZES]\n"
             "SPEC --schedule FILE [--bytes SIZES] [--trace FILE]",
    .summary = "simulate algorithms on a network, at any size",
    .word_limit = 1,
    .takes_parameters = 1,
    .options = options,
    .run = run};
