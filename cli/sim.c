/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sim.c: banyan sim SPEC: how long algorithms take on a network that nobody needs to own. */
#include "sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/progress.h"

static const cli_option options[] = {
    {"algo", 'a', "NAMES", "algorithms, such as ring,double-tree, or all that apply (default: all)"},
    {"schedule", 's', "FILE", "simulate the schedule in this file instead"},
    {"active", 0, "RANKS", "workers that hold data, such as 0,1,4-7 (default: all)"},
    {"collective", 0, "NAME",
     "allreduce, reducescatter, allgather, broadcast, reduce, gather, scatter or alltoall (default: "
     "allreduce)"},
    {"root", 0, "RANK", "root of broadcast and reduce (default: 0)"},
    {"bytes", 'b', "SIZES", "sizes of the vector, such as 1MiB,64MiB (default: 64MiB)"},
    {"model", 'm', "NAME", "fluid, walk or flit (default: fluid)"},
    {"slice", 0, "SIZE",
     "transfers travel in messages of this size, or whole (default: chosen for each schedule)"},
    {"service", 0, "KIND",
     "messages with one route: shared, all at once, or turns, one by one (default: turns)"},
    {"lockstep", 0, NULL, "a round begins when the one before has ended everywhere"},
    {"overhead", 0, "TIME", "what every message costs before its first byte, such as 2us (default: 0)"},
    {"reduce-speed", 0, "RATE", "bytes that a worker adds per second, such as 128GB (default: no limit)"},
    {"flow", 0, "KIND", "flit: packet, or message for one head flit per message (default: packet)"},
    {"flit", 0, "SETTINGS", "flit: clock=1GHz,vcs=4,buffer=318,adder=0,... as banyan-sim(1) lists them"},
    {"tables", 0, NULL, "flit: print the schedule tables of the network interfaces instead"},
    {"trace", 0, "FILE", "write when each transfer began and ended, for chrome://tracing or Perfetto"},
    {NULL, 0, NULL, NULL}};

/* One row: an algorithm, or a schedule from a file, at a size. */
typedef struct {
    const banyan_schedule *schedule;
    banyan_schedule_info facts;
    banyan_prediction_info outcome;
    size_t bytes;
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
    return *r->facts.algorithm ? r->facts.algorithm : "schedule";
}

static double algorithm_bandwidth(const row *r)
{
    return (double)r->bytes / r->outcome.total_s;
}

/* What the flit engine counts beside. */
static void add_flit_json(banyan_text *text, const banyan_prediction_info *info)
{
    banyan_text_add(
        text,
        ",\"cycles\":%lld,\"applied_cycles\":%lld,\"clock_hz\":%.17g,\"flit_hops\":%lld,\"link_flits\":%lld,"
        "\"head_flits\":%lld,\"arbitrations\":%lld,\"table_entries\":%lld,\"table_bits\":%lld,"
        "\"normal_packets\":%lld,\"normal_mean_cycles\":%.17g,\"normal_worst_cycles\":%lld",
        (long long)info->cycles, (long long)info->applied_cycles, info->clock_hz, (long long)info->flit_hops,
        (long long)info->link_flits, (long long)info->head_flits, (long long)info->arbitrations,
        (long long)info->table_entries, (long long)info->table_bits, (long long)info->normal_packets,
        info->normal_mean_cycles, (long long)info->normal_worst_cycles);
}

static void add_json(sim *s, const row *r)
{
    double factor = cli_bus_factor(r->facts.collective, r->facts.active_count);
    banyan_text *text = &s->json;
    char name[128];

    banyan_text_add(text, "%s\n{\"algorithm\":", s->row_count ? "," : "");
    banyan_text_add_json_string(text, name_of(r));
    banyan_text_add(text, ",\"bytes\":%zu,\"model\":\"%s\",", r->bytes, s->request.config.model);
    cli_json_number(text, "seconds", r->outcome.total_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "closed_form_s", r->outcome.closed_form_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "algbw", algorithm_bandwidth(r));
    banyan_text_add(text, ",");
    cli_json_number(text, "busbw", algorithm_bandwidth(r) * factor);
    banyan_text_add(text, ",");
    cli_json_number(text, "utilization", r->outcome.utilization);
    banyan_text_add(text, ",\"bottleneck\":");
    if (r->outcome.bottleneck >= 0)
        banyan_text_add_json_string(text,
                                    banyan_topology_link_name(s->request.question.topology,
                                                              r->outcome.bottleneck, name, sizeof name));
    else
        banyan_text_add(text, "null");
    banyan_text_add(text, ",");
    cli_json_number(text, "bottleneck_utilization", r->outcome.bottleneck_share);
    banyan_text_add(text, ",\"transfers\":%zu,\"messages\":%zu", r->outcome.transfer_count,
                    r->outcome.message_count);
    if (sim_request_is_flit(&s->request))
        add_flit_json(text, &r->outcome);
    banyan_text_add(text, "}");
}

static void print_head(const sim *s, const row *r)
{
    printf("%s: %s over %d workers, %s model\n\n", s->request.question.network.name, r->facts.collective,
           r->facts.active_count, s->request.config.model);
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
    double factor = cli_bus_factor(r->facts.collective, r->facts.active_count);
    char size[32], time[32], form[32], rate[32], bus[32], used[32], busiest[32], link[128] = "-";
    char note[48] = "";

    if (sim_request_is_flit(&s->request))
        snprintf(note, sizeof note, ", %lld cycles", (long long)r->outcome.cycles);
    if (!s->row_count)
        print_head(s, r);
    if (r->outcome.bottleneck >= 0)
        banyan_topology_link_name(s->request.question.topology, r->outcome.bottleneck, link, sizeof link);
    printf("%-20s %10s %12s %12s %12s %12s %6s  %s (%s)%s\n", name_of(r),
           banyan_show_bytes((double)r->bytes, size, sizeof size),
           banyan_show_seconds(r->outcome.total_s, time, sizeof time),
           banyan_show_seconds(r->outcome.closed_form_s, form, sizeof form),
           banyan_show_rate(algorithm_bandwidth(r), rate, sizeof rate),
           banyan_show_rate(algorithm_bandwidth(r) * factor, bus, sizeof bus),
           format_share(r->outcome.utilization, used, sizeof used), link,
           format_share(r->outcome.bottleneck_share, busiest, sizeof busiest), note);
    fflush(stdout);
}

static banyan_status write_trace(const sim *s, const row *r, const banyan_prediction *prediction,
                                 banyan_error *err)
{
    const char *path = cli_get(s->request.arguments, "trace");
    banyan_export_config config = BANYAN_EXPORT_CONFIG_INITIALIZER;
    banyan_status status;
    char *text;

    if (!path)
        return BANYAN_SUCCESS;
    config.bytes = r->bytes;
    config.prediction = prediction;
    status = banyan_schedule_export(r->schedule, s->request.question.topology, "trace", &config, &text, err);
    if (status)
        return status;
    status = banyan_file_save(path, text, strlen(text), err);
    banyan_free(text);
    return status;
}

/* --tables: what the network interfaces would be loaded with. */
static banyan_status show_tables(sim *s, const row *r, banyan_error *err)
{
    banyan_export_config config = BANYAN_EXPORT_CONFIG_INITIALIZER;
    banyan_status status;
    char *text;

    config.bytes = r->bytes;
    config.flow = s->request.config.flow;
    config.flit = s->request.config.flit;
    config.slice_bytes = s->request.config.slice_bytes;
    status = banyan_schedule_export(r->schedule, s->request.question.topology, "tables", &config, &text, err);
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

static banyan_status predict(sim *s, const row *r, banyan_prediction **out, banyan_error *err)
{
    banyan_status status;

    s->label = name_of(r);
    s->request.config.progress = show_progress;
    s->request.config.context = s;
    status = banyan_schedule_predict(r->schedule, s->request.question.topology, r->bytes, &s->request.config,
                                     out, err);
    if (!s->label)
        banyan_progress_end(&s->bar);
    return status;
}

static banyan_status simulate(sim *s, const banyan_schedule *schedule, size_t bytes, banyan_error *err)
{
    row r = {schedule, {.size = sizeof r.facts}, {.size = sizeof r.outcome}, bytes};
    banyan_prediction *prediction = NULL;
    banyan_status status = banyan_schedule_get_info(schedule, &r.facts, err);

    if (!status && cli_has(s->request.arguments, "tables"))
        return show_tables(s, &r, err);
    if (!status)
        status = predict(s, &r, &prediction, err);
    if (!status)
        status = banyan_prediction_get_info(prediction, &r.outcome, err);
    if (!status)
        status = write_trace(s, &r, prediction, err);
    if (!status && cli_has(s->request.arguments, "json"))
        add_json(s, &r);
    else if (!status)
        print_row(s, &r);
    s->row_count++;
    banyan_prediction_destroy(prediction);
    return status;
}

/* With 'all', what does not apply is told at the end; what was named has to apply. */
static banyan_status skip(sim *s, const char *algorithm, banyan_status status, int is_first,
                          const banyan_error *err)
{
    size_t length = strlen(s->not_here);

    if (status != BANYAN_UNSUPPORTED || !s->request.takes_all)
        return status;
    if (is_first)
        snprintf(s->not_here + length, sizeof s->not_here - length, "  %s: %s\n", algorithm, err->text);
    return BANYAN_SUCCESS;
}

/* Where several algorithms are asked, those that lack a parameter are asked without. */
static int takes_parameters(const sim *s, const char *algorithm)
{
    for (const char *const *key = s->request.question.parameters; *key; key += 2)
        if (!banyan_algorithm_takes(algorithm, *key))
            return 0;
    return 1;
}

static banyan_status simulate_algorithm(sim *s, const char *algorithm, int size, banyan_error *err)
{
    banyan_plan_config config = s->request.question.config;
    size_t bytes = s->request.sizes[size];
    banyan_plan *plan;
    banyan_status status;

    config.algorithm = algorithm;
    config.bytes = bytes ? bytes : 1; /* nothing to send is planned as if it were little */
    config.effort = "estimate";       /* the prediction that counts comes later */
    config.executor = sim_request_is_flit(&s->request) ? "interface" : "banyan";
    if (s->request.algorithm_count > 1 && !takes_parameters(s, algorithm))
        config.parameters = NULL;
    status = banyan_plan_create(s->request.question.topology, &config, &plan, err);
    if (status)
        return skip(s, algorithm, status, size == 0, err);
    status = simulate(s, banyan_plan_schedule(plan), bytes, err);
    banyan_plan_destroy(plan);
    return status;
}

static banyan_status simulate_given(sim *s, size_t bytes, banyan_error *err)
{
    banyan_status status = simulate(s, s->request.given, bytes, err);

    if (status)
        banyan_error_prefix(err, cli_get(s->request.arguments, "schedule"));
    return status;
}

static banyan_status simulate_all(sim *s, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; !status && i < s->request.size_count; i++) {
        if (s->request.given)
            status = simulate_given(s, s->request.sizes[i], err);
        for (int j = 0; !status && j < s->request.algorithm_count; j++)
            status = simulate_algorithm(s, s->request.algorithms[j], i, err);
    }
    return status;
}

static banyan_status print_json(sim *s, banyan_error *err)
{
    banyan_text whole = BANYAN_TEXT_EMPTY;

    banyan_text_add(&whole, "{\"topology\":");
    banyan_text_add_json_string(&whole, s->request.question.network.name);
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
        printf("\ndo not apply to this network:\n%s", s->not_here);
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
