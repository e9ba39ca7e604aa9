/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_replay.c: banyan train --replay: what a network costs a training run that was traced.
 *
 * The trace of one rank stands for all: ranks of one training run do the same. What is sent is planned once
 * for each collective, process group and size; where a collective comes in many sizes, some are planned,
 * each at least twice the one before, and times between them lie on straight lines. */
#include "train_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/json.h"
#include "train_cost.h"
#include "waiting.h"

enum { MAX_ROWS = 16, MAX_EXACT_SIZES = 24, BARRIER_BYTES = 4 };

/* A thing that is sent, however often. */
typedef struct {
    int kind, collective, group, self, peer;
    uint64_t bytes;
    int calls;
    double seconds; /* of one */
} request;

typedef struct {
    char algorithm[48];
    banyan_replay replay;
    double *kind_s; /* of all calls of each request, as requests are ordered */
} row;

typedef struct {
    const cli_arguments *arguments;
    const char *path;
    banyan_topology *topology;
    banyan_topology_info network;
    banyan_chakra *trace;
    banyan_json *groups;
    int rank_count;
    int request_count;
    request *requests;
    double *seconds; /* of each node */
    banyan_replay alone, recorded;
    int row_count;
    row rows[MAX_ROWS];
} replay;

static int is_sent(const banyan_chakra_node *node)
{
    return node->kind == BANYAN_CHAKRA_COLLECTIVE || node->kind == BANYAN_CHAKRA_SEND ||
           node->kind == BANYAN_CHAKRA_RECEIVE;
}

static request request_of(const banyan_chakra_node *node)
{
    return (request){.kind = (int)node->kind,
                     .collective = node->kind == BANYAN_CHAKRA_COLLECTIVE ? node->collective : 0,
                     .group = node->group,
                     .self = node->self,
                     .peer = node->peer,
                     .bytes = node->bytes};
}

/* Things of one kind lie together, in ascending order of their sizes. */
static int by_kind(const void *a, const void *b)
{
    const request *x = a, *y = b;
    int differs[] = {x->kind - y->kind, x->collective - y->collective, x->group - y->group, x->self - y->self,
                     x->peer - y->peer};

    for (int i = 0; i < 5; i++)
        if (differs[i])
            return differs[i];
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int is_same_kind(const request *a, const request *b)
{
    request key = *b;

    key.bytes = a->bytes;
    return !by_kind(a, &key);
}

static banyan_status gather_requests(replay *r, banyan_error *err)
{
    const banyan_chakra *trace = r->trace;
    int count = 0, kept = 0;

    for (int i = 0; i < trace->node_count; i++)
        count += is_sent(&trace->nodes[i]);
    r->requests = banyan_alloc((size_t)count, sizeof *r->requests);
    r->seconds = banyan_alloc((size_t)trace->node_count, sizeof *r->seconds);
    if (!r->requests || !r->seconds)
        return banyan_fail_memory(err);
    count = 0;
    for (int i = 0; i < trace->node_count; i++)
        if (is_sent(&trace->nodes[i]))
            r->requests[count++] = request_of(&trace->nodes[i]);
    qsort(r->requests, (size_t)count, sizeof *r->requests, by_kind);
    for (int i = 0; i < count; i++) {
        if (!kept || by_kind(&r->requests[kept - 1], &r->requests[i]))
            r->requests[kept++] = r->requests[i];
        r->requests[kept - 1].calls++;
    }
    r->request_count = kept;
    return BANYAN_SUCCESS;
}

/* The workers of a process group, as --active takes them. NULL: all. The list is that of --groups,
 * ASTRA-sim's form: {"NAME": [0, 1, ...]}. */
static banyan_status find_members(const replay *r, int group, char **out, int *count, banyan_error *err)
{
    const banyan_json *list =
        r->groups && group >= 0 ? banyan_json_field(r->groups, r->trace->groups[group]) : NULL;
    banyan_text text = BANYAN_TEXT_EMPTY;
    int64_t rank;

    *out = NULL;
    *count = r->rank_count;
    if (!list)
        return BANYAN_SUCCESS;
    *count = (int)banyan_json_count(list);
    for (size_t i = 0; i < banyan_json_count(list); i++) {
        if (!banyan_json_get_integer(banyan_json_item(list, i), &rank) || rank < 0 ||
            rank >= r->network.worker_count) {
            banyan_text_fini(&text);
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "--groups: member %zu of group %.40s is not a worker of %s", i,
                               r->trace->groups[group], r->network.name);
        }
        banyan_text_add(&text, "%s%d", i ? "," : "", (int)rank);
    }
    return banyan_text_take(&text, out, err);
}

/* The whole vector, of which a rank's input is a part in collectives that gather. */
static size_t vector_bytes(const request *what, int members)
{
    int gathers = what->collective == BANYAN_COLLECTIVE_ALLGATHER ||
                  what->collective == BANYAN_COLLECTIVE_GATHER ||
                  what->collective == BANYAN_COLLECTIVE_ALLTOALL;
    uint64_t bytes = what->bytes ? what->bytes : BARRIER_BYTES;

    return (size_t)(what->kind == BANYAN_CHAKRA_COLLECTIVE && gathers ? bytes * (uint64_t)members : bytes);
}

static banyan_status predict(const replay *r, const banyan_plan_config *config, double *seconds,
                             banyan_error *err)
{
    banyan_plan_info info = {.size = sizeof info};
    banyan_plan *plan;
    banyan_status status = banyan_plan_create(r->topology, config, &plan, err);

    if (!status)
        status = banyan_plan_get_info(plan, &info, err);
    *seconds = status ? 0 : info.predicted_s;
    banyan_plan_destroy(plan);
    return status;
}

/* The rank whose trace it is: files are called NAME.RANK.et. */
static int rank_of_file(const char *path)
{
    const char *end = strstr(path, ".et"), *at = end;
    int rank = 0;

    while (at && at > path && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at && at < end && sscanf(at, "%6d", &rank) == 1 ? rank : 0;
}

/* A message between two ranks is a broadcast among them. */
static banyan_status plan_message(const replay *r, request *what, banyan_error *err)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    int self = what->self < 0 ? rank_of_file(r->path) : what->self,
        higher = self > what->peer ? self : what->peer;
    char pair[32];

    if (what->peer < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the trace does not tell the other end of a message");
    if (higher >= r->network.worker_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the trace has a message of rank %d, but %s has %d workers", higher,
                           r->network.name, r->network.worker_count);
    if (self == what->peer)
        return BANYAN_SUCCESS;
    snprintf(pair, sizeof pair, "%d,%d", self, what->peer);
    config.active = pair;
    config.collective = "broadcast";
    config.bytes = vector_bytes(what, 2);
    return predict(r, &config, &what->seconds, err);
}

static banyan_status plan_collective(const replay *r, const char *algorithm, request *what, banyan_error *err)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    char *members;
    int count;
    banyan_status status = find_members(r, what->group, &members, &count, err);

    if (status)
        return status;
    config.active = members ? members : cli_get(r->arguments, "active");
    config.collective = banyan_collective_name((banyan_collective)what->collective);
    config.algorithm = algorithm;
    config.bytes = vector_bytes(what, count);
    status = count < 2 ? BANYAN_SUCCESS : predict(r, &config, &what->seconds, err);
    /* One algorithm may lack a collective: its cost is then that of the best one. */
    if (status && strcmp(algorithm, "auto") != 0 && what->collective != BANYAN_COLLECTIVE_ALLREDUCE) {
        config.algorithm = "auto";
        status = predict(r, &config, &what->seconds, err);
    }
    banyan_free(members);
    return status;
}

static void interpolate(const request *low, const request *high, request *what)
{
    double part = (double)(what->bytes - low->bytes) / (double)(high->bytes - low->bytes);

    what->seconds = low->seconds + part * (high->seconds - low->seconds);
}

/* The requests first .. end-1 are of one kind. */
static banyan_status plan_kind(replay *r, const char *algorithm, int first, int end, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int planned = first, is_exact = end - first <= MAX_EXACT_SIZES;

    for (int i = first; !status && i < end; i++) {
        request *what = &r->requests[i];

        if (!is_exact && i != first && i != end - 1 && what->bytes < 2 * r->requests[planned].bytes)
            continue;
        status = what->kind == BANYAN_CHAKRA_COLLECTIVE ? plan_collective(r, algorithm, what, err)
                                                        : plan_message(r, what, err);
        for (int between = planned + 1; !status && between < i; between++)
            interpolate(&r->requests[planned], what, &r->requests[between]);
        planned = i;
    }
    return status;
}

static banyan_status play(replay *r, row *to, banyan_error *err)
{
    for (int i = 0; i < r->trace->node_count; i++) {
        const banyan_chakra_node *node = &r->trace->nodes[i];
        request key = request_of(node), *found;

        if (!is_sent(node)) {
            r->seconds[i] = node->recorded_s;
            continue;
        }
        found = bsearch(&key, r->requests, (size_t)r->request_count, sizeof *r->requests, by_kind);
        r->seconds[i] = found->seconds;
    }
    for (int i = 0; i < r->request_count; i++)
        to->kind_s[i] = r->requests[i].seconds * r->requests[i].calls;
    return banyan_chakra_replay(r->trace, r->seconds, &to->replay, err);
}

static banyan_status add_row(replay *r, const char *algorithm, banyan_error *err)
{
    row *to = &r->rows[r->row_count++];
    cli_waiting waiting;
    banyan_status status = BANYAN_SUCCESS;

    snprintf(to->algorithm, sizeof to->algorithm, "%s", algorithm);
    to->kind_s = banyan_alloc((size_t)r->request_count, sizeof *to->kind_s);
    if (!to->kind_s)
        return banyan_fail_memory(err);
    cli_waiting_begin(&waiting, r->arguments, "planning, seconds");
    for (int first = 0, end; !status && first < r->request_count; first = end) {
        for (end = first; end < r->request_count && is_same_kind(&r->requests[first], &r->requests[end]);)
            end++;
        status = plan_kind(r, algorithm, first, end, err);
    }
    cli_waiting_end(&waiting);
    return status ? status : play(r, to, err);
}

static banyan_status add_rows(replay *r, banyan_error *err)
{
    const char *list = cli_get(r->arguments, "algo");
    banyan_status status = BANYAN_SUCCESS;

    for (list = list ? list : "auto"; !status && *list;) {
        size_t length = strcspn(list, ",");
        char name[48];

        snprintf(name, sizeof name, "%.*s", (int)(length < 47 ? length : 47), list);
        list += length + (list[length] == ',');
        status = r->row_count == MAX_ROWS
                     ? banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--algo has more than %d names", MAX_ROWS)
                     : add_row(r, name, err);
    }
    return status;
}

/* The trace as it was recorded, and with a network that takes no time. */
static banyan_status play_without(replay *r, banyan_error *err)
{
    banyan_status status;

    for (int i = 0; i < r->trace->node_count; i++)
        r->seconds[i] = r->trace->nodes[i].recorded_s;
    status = banyan_chakra_replay(r->trace, r->seconds, &r->recorded, err);
    for (int i = 0; i < r->trace->node_count; i++)
        if (is_sent(&r->trace->nodes[i]))
            r->seconds[i] = 0;
    return status ? status : banyan_chakra_replay(r->trace, r->seconds, &r->alone, err);
}

static const char *kind_name(const request *what)
{
    return what->kind == BANYAN_CHAKRA_SEND      ? "send"
           : what->kind == BANYAN_CHAKRA_RECEIVE ? "receive"
           : what->bytes                         ? banyan_collective_name((banyan_collective)what->collective)
                                                 : "barrier";
}

/* The totals of all requests of one name. */
typedef struct {
    const char *name;
    int calls;
    double bytes, seconds[MAX_ROWS];
} sums;

static int sum_kinds(const replay *r, sums *out)
{
    int count = 0;

    for (int i = 0; i < r->request_count; i++) {
        const request *what = &r->requests[i];
        int k = 0;

        while (k < count && strcmp(out[k].name, kind_name(what)) != 0)
            k++;
        if (k == count)
            out[count++] = (sums){.name = kind_name(what)};
        out[k].calls += what->calls;
        out[k].bytes += (double)what->bytes * what->calls;
        for (int j = 0; j < r->row_count; j++)
            out[k].seconds[j] += r->rows[j].kind_s[i];
    }
    return count;
}

static void print_row(const char *name, const banyan_replay *of, const banyan_replay *alone)
{
    char a[32], b[32], c[32];

    printf("%-18s %12s %12s %12s", name, banyan_show_seconds(of->end_s, a, sizeof a),
           banyan_show_seconds(of->communication_s, b, sizeof b),
           banyan_show_seconds(of->exposed_s, c, sizeof c));
    if (of->end_s > 0)
        printf(" %9.1f %%", 100 * (1 - alone->end_s / of->end_s));
    printf("\n");
}

static void print_table(const replay *r)
{
    sums kinds[BANYAN_COLLECTIVE_COUNT + 3];
    int count = sum_kinds(r, kinds);
    char bytes[32], time[32];

    printf("%s: %d nodes, Chakra %s, on %s with %d ranks\n", r->path, r->trace->node_count,
           *r->trace->version ? r->trace->version : "of no version", r->network.name, r->rank_count);
    if (r->trace->group_count && !r->groups)
        printf("the trace names process groups; without --groups all ranks take part in each\n");
    printf("%-18s %12s %12s", "sent by this rank", "calls", "bytes");
    for (int j = 0; j < r->row_count; j++)
        printf(" %12s", r->rows[j].algorithm);
    printf("\n");
    for (int k = 0; k < count; k++) {
        printf("%-18s %12d %12s", kinds[k].name, kinds[k].calls,
               banyan_show_bytes(kinds[k].bytes, bytes, sizeof bytes));
        for (int j = 0; j < r->row_count; j++)
            printf(" %12s", banyan_show_seconds(kinds[k].seconds[j], time, sizeof time));
        printf("\n");
    }
    printf("\n%-18s %12s %12s %12s %11s\n", "replayed with", "takes", "sending", "exposed", "network");
    for (int j = 0; j < r->row_count; j++)
        print_row(r->rows[j].algorithm, &r->rows[j].replay, &r->alone);
    print_row("no network", &r->alone, &r->alone);
    print_row("as recorded", &r->recorded, &r->alone);
}

static void add_figures(banyan_text *text, const banyan_replay *of)
{
    cli_json_number(text, "iteration_s", of->end_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "compute_s", of->compute_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "communication_s", of->communication_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "exposed_comm_s", of->exposed_s);
}

static void add_result(banyan_text *text, const replay *r, int j, const sums *kinds, int count)
{
    banyan_text_add(text, "%s\n{\"algorithm\":", j ? "," : "");
    banyan_text_add_json_string(text, r->rows[j].algorithm);
    banyan_text_add(text, ",");
    add_figures(text, &r->rows[j].replay);
    banyan_text_add(text, ",");
    cli_json_number(text, "network_s", r->rows[j].replay.end_s - r->alone.end_s);
    banyan_text_add(text, ",\"sent\":[");
    for (int k = 0; k < count; k++) {
        banyan_text_add(text, "%s{\"kind\":\"%s\",\"calls\":%d,", k ? "," : "", kinds[k].name,
                        kinds[k].calls);
        cli_json_number(text, "bytes", kinds[k].bytes);
        banyan_text_add(text, ",");
        cli_json_number(text, "seconds", kinds[k].seconds[j]);
        banyan_text_add(text, "}");
    }
    banyan_text_add(text, "]}");
}

static banyan_status print_json(const replay *r, banyan_error *err)
{
    sums kinds[BANYAN_COLLECTIVE_COUNT + 3];
    int count = sum_kinds(r, kinds);
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status;

    banyan_text_add(&text, "{\"trace\":");
    banyan_text_add_json_string(&text, r->path);
    banyan_text_add(&text, ",\"topology\":");
    banyan_text_add_json_string(&text, r->network.name);
    banyan_text_add(&text, ",\"nodes\":%d,\"groups\":%d,\"results\":[", r->trace->node_count,
                    r->trace->group_count);
    for (int j = 0; j < r->row_count; j++)
        add_result(&text, r, j, kinds, count);
    banyan_text_add(&text, "],\n\"without_network\":{");
    add_figures(&text, &r->alone);
    banyan_text_add(&text, "},\n\"recorded\":{");
    add_figures(&text, &r->recorded);
    banyan_text_add(&text, "}}");
    status = cli_print(&text, err);
    banyan_text_fini(&text);
    return status;
}

static banyan_status load_groups(const cli_arguments *arguments, banyan_json **out, banyan_error *err)
{
    const char *path = cli_get(arguments, "groups");
    banyan_status status;
    size_t length;
    char *text;

    if (!path)
        return BANYAN_SUCCESS;
    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = banyan_json_parse(text, length, out, err);
    if (!status && banyan_json_kind(*out) != BANYAN_JSON_OBJECT)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "it is not an object {\"NAME\": [RANK, ...]}");
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}

static banyan_status work(replay *r, banyan_error *err)
{
    banyan_status status = banyan_chakra_load(r->path, &r->trace, err);

    if (!status)
        status = banyan_topology_load(cli_get(r->arguments, "topo"), &r->topology, err);
    if (!status)
        status = banyan_topology_get_info(r->topology, &r->network, err);
    if (!status)
        status = banyan_topology_check(r->topology, cli_get(r->arguments, "active"), &r->rank_count, err);
    if (!status)
        status = load_groups(r->arguments, &r->groups, err);
    if (!status)
        status = gather_requests(r, err);
    if (!status)
        status = add_rows(r, err);
    if (!status)
        status = play_without(r, err);
    if (!status && cli_has(r->arguments, "json"))
        status = print_json(r, err);
    else if (!status)
        print_table(r);
    return status;
}

int cli_train_replay(const cli_arguments *arguments)
{
    replay *r;
    banyan_error err;
    banyan_status status;

    if (!cli_has(arguments, "topo"))
        return cli_usage_error(arguments, "--replay needs a network: --topo SPEC");
    r = banyan_alloc(1, sizeof *r);
    if (r) {
        *r = (replay){.arguments = arguments,
                      .path = cli_get(arguments, "replay"),
                      .network = {.size = sizeof r->network}};
        status = work(r, &err);
        for (int i = 0; i < r->row_count; i++)
            banyan_free(r->rows[i].kind_s);
        banyan_json_destroy(r->groups);
        banyan_chakra_destroy(r->trace);
        banyan_topology_destroy(r->topology);
        banyan_free(r->requests);
        banyan_free(r->seconds);
    } else {
        status = banyan_fail_memory(&err);
    }
    banyan_free(r);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}
