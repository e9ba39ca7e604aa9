/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_rocm.c: what 'rocm-smi --showtopo' prints: tables between pairs of GPUs, one below the
 * other, and the NUMA node of each.
 *
 *     ============ Hops between two GPUs ============         ===== Link Type between two GPUs =====
 *            GPU0   GPU1   GPU2                                      GPU0   GPU1   GPU2
 *     GPU0   0      1      2                                  GPU0   0      XGMI   PCIE
 *
 * XGMI at one hop, or where the hops are not told, is a cable of one link; at more hops it leads through
 * another GPU, whose cables are in the table too. Every GPU also has a PCIe link to the CPU of its NUMA node,
 * cpu0, cpu1, ..., which are cabled pairwise. The text does not tell generations: an XGMI link counts 24
 * GB/s, PCIe 12 GB/s, the link between CPUs 10 GB/s (topology/hardware.c). Weights are not used. */
#include <string.h>

#include "core/alloc.h"
#include "topology/build.h"
#include "topology/hardware.h"
#include "topology/import.h"
#include "topology/scan.h"

enum { MAX_GPUS = 1024, MAX_NUMA = 4096, MAX_HOPS = 255 };

typedef enum { UNTOLD, SELF, XGMI, PCIE } link_type;

typedef struct {
    int count;           /* of GPUs: they are numbered 0, 1, ... as the columns are */
    unsigned char *type; /* count x count */
    unsigned char *hops; /* likewise; 0: untold */
    int *numa;           /* of each GPU; -1: untold */
    int has_types;
    banyan_error *err;
} tables;

static banyan_status complain(const tables *in, int line, const char *what)
{
    return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: %s", line, what);
}

/* The number in 'GPU12', or -1. */
static int gpu_number(banyan_word word)
{
    int number;

    if (!banyan_word_begins(word, "GPU") ||
        !banyan_word_integer((banyan_word){word.at + 3, word.length - 3}, MAX_GPUS - 1, &number))
        return -1;
    return number;
}

/* The columns must be GPU0, GPU1, ...; the first table says how many there are. */
static banyan_status read_columns(tables *in, const banyan_scan *scan)
{
    banyan_word rest = scan->line, word;
    size_t count;
    int columns = 0;

    while (banyan_word_take(&rest, &word))
        if (gpu_number(word) != columns++)
            return complain(in, scan->number, "the columns of a table are not GPU0, GPU1, ...");
    if (in->count && columns != in->count)
        return complain(in, scan->number, "this table has not as many GPUs as the one before");
    if (in->count || !columns)
        return columns ? BANYAN_SUCCESS : complain(in, scan->number, "a table has no columns");
    in->count = columns;
    count = (size_t)columns;
    in->type = banyan_alloc(count * count, 1);
    in->hops = banyan_alloc(count * count, 1);
    in->numa = banyan_alloc(count, sizeof *in->numa);
    if (!in->type || !in->hops || !in->numa)
        return banyan_fail_memory(in->err);
    for (size_t i = 0; i < count; i++)
        in->numa[i] = -1;
    return BANYAN_SUCCESS;
}

static int read_type(banyan_word word)
{
    if (banyan_word_is(word, "XGMI"))
        return XGMI;
    if (banyan_word_is(word, "PCIE"))
        return PCIE;
    return banyan_word_is(word, "N/A") || banyan_word_is(word, "XXXX") ? UNTOLD : -1;
}

static banyan_status read_row(tables *in, int row, banyan_word rest, int line, unsigned char *table)
{
    for (int column = 0; column < in->count; column++) {
        banyan_word word;
        int value = SELF;

        if (!banyan_word_take(&rest, &word))
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                               "line %d: the row of GPU%d ends after %d of %d cells", line, row, column,
                               in->count);
        if (table == in->type && row != column)
            value = read_type(word);
        if (table == in->hops && row != column && !banyan_word_integer(word, MAX_HOPS, &value))
            value = banyan_word_is(word, "N/A") ? 0 : -1;
        if (value < 0)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                               "line %d: %s between GPU%d and GPU%d is not %s", line,
                               banyan_word_show(word).text, row, column,
                               table == in->type ? "XGMI or PCIE" : "a number of hops");
        table[row * in->count + column] = (unsigned char)value;
    }
    return BANYAN_SUCCESS;
}

/* The rows below a title; a table of other things has NULL for its cells. */
static banyan_status read_table(tables *in, banyan_scan *scan, int is_types)
{
    int rows = 0, title = scan->number;
    banyan_status status = banyan_scan_next_line(scan)
                               ? read_columns(in, scan)
                               : complain(in, scan->number, "the text ends in a table");

    for (; !status && rows < in->count; rows++) {
        banyan_word rest, word;

        if (!banyan_scan_next_line(scan))
            return complain(in, scan->number, "the text ends in a table");
        rest = scan->line;
        banyan_word_take(&rest, &word);
        if (gpu_number(word) != rows)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                               "line %d: expected the row of GPU%d in the table of line %d", scan->number,
                               rows, title);
        status = read_row(in, rows, rest, scan->number, is_types ? in->type : in->hops);
    }
    in->has_types |= is_types;
    return status;
}

/* 'GPU[3] : (Topology) Numa Node: 1', in older versions 'GPU 3 :'. */
static banyan_status read_numa(tables *in, const banyan_scan *scan)
{
    banyan_word line = banyan_word_trim(scan->line), number, node = {0};
    banyan_word rest = line;
    int gpu, numa;

    while (banyan_word_take(&rest, &number))
        node = number;
    number = (banyan_word){line.at + 3, 0};
    while (number.at < line.at + line.length && (*number.at == '[' || *number.at == ' '))
        number.at++;
    while (number.at + number.length < line.at + line.length && number.at[number.length] >= '0' &&
           number.at[number.length] <= '9')
        number.length++;
    if (!banyan_word_integer(number, MAX_GPUS - 1, &gpu) || gpu >= in->count)
        return complain(in, scan->number, "this GPU is in no table");
    if (banyan_word_is(node, "-1"))
        return BANYAN_SUCCESS;
    if (!banyan_word_integer(node, MAX_NUMA - 1, &numa))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: %s is not the number of a NUMA node",
                           scan->number, banyan_word_show(node).text);
    in->numa[gpu] = numa;
    return BANYAN_SUCCESS;
}

static int holds(banyan_word line, const char *text)
{
    return memmem(line.at, line.length, text, strlen(text)) != NULL;
}

static banyan_status read_lines(tables *in, banyan_scan *scan)
{
    banyan_status status = BANYAN_SUCCESS;

    while (!status && banyan_scan_next_line(scan)) {
        if (holds(scan->line, "Hops between two GPUs"))
            status = read_table(in, scan, 0);
        else if (holds(scan->line, "Link Type between two GPUs"))
            status = read_table(in, scan, 1);
        else if (banyan_word_begins(banyan_word_trim(scan->line), "GPU") && holds(scan->line, "Numa Node:"))
            status = read_numa(in, scan);
    }
    if (!status && !in->has_types)
        status =
            banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "there is no table Link Type between two GPUs");
    return status;
}

/* Is there a cable between the two? Where only one half tells, it counts. */
static int has_cable(const tables *in, int a, int b)
{
    int there = a * in->count + b, back = b * in->count + a;
    int hops = in->hops[there] ? in->hops[there] : in->hops[back];

    return (in->type[there] == XGMI || in->type[back] == XGMI) && hops <= 1;
}

static banyan_status check_halves(const tables *in)
{
    for (int a = 0; a < in->count; a++)
        for (int b = 0; b < a; b++) {
            int there = in->type[a * in->count + b], back = in->type[b * in->count + a];

            if (there && back && there != back)
                return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                                   "the two halves of the table of link types differ for GPU%d and GPU%d", b,
                                   a);
        }
    return BANYAN_SUCCESS;
}

static void build(const tables *in, banyan_topology_builder *builder)
{
    int host = banyan_topology_add_host(builder, "h0"), cpus = 0;
    int cpu_of[MAX_NUMA]; /* the switch of each NUMA node, + 1 */

    memset(cpu_of, 0, sizeof cpu_of);
    for (int i = 0; i < in->count; i++)
        banyan_topology_add_worker_f(builder, host, "g%d", i);
    for (int i = 0; i < in->count; i++) {
        int numa = in->numa[i] < 0 ? 0 : in->numa[i];

        if (!cpu_of[numa]) {
            cpu_of[numa] = banyan_topology_add_switch_f(builder, "cpu%d", numa) + 1;
            cpus++;
        }
        banyan_topology_add_cable(builder, i, cpu_of[numa] - 1, banyan_hardware_pcie(0, 0),
                                  BANYAN_HARDWARE_PCIE_S);
    }
    for (int a = in->count; a < in->count + cpus; a++)
        for (int b = in->count; b < a; b++)
            banyan_topology_add_cable(builder, b, a, banyan_hardware_between_cpus(NULL, NULL, 0, 0),
                                      BANYAN_HARDWARE_BETWEEN_CPUS_S);
    for (int a = 0; a < in->count; a++)
        for (int b = a + 1; b < in->count; b++)
            if (has_cable(in, a, b))
                banyan_topology_add_cable(builder, a, b, banyan_hardware_xgmi(NULL),
                                          BANYAN_HARDWARE_NVLINK_S);
}

static banyan_status parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_error problem;
    banyan_scan scan;
    tables in = {.err = &problem};
    banyan_status status = banyan_scan_check_text(text, length, &problem);

    banyan_scan_init(&scan, text, length);
    banyan_topology_builder_init(&builder, "rocm-smi");
    if (!status)
        status = read_lines(&in, &scan);
    if (!status)
        status = check_halves(&in);
    if (status)
        banyan_topology_builder_fail(&builder, status, "%s", problem.text);
    else
        build(&in, &builder);
    banyan_free(in.type);
    banyan_free(in.hops);
    banyan_free(in.numa);
    return banyan_topology_builder_finish(&builder, out, err);
}

static int looks_like(const char *text, size_t length)
{
    banyan_word beginning = {text, length < 65536 ? length : 65536};

    return holds(beginning, "Link Type between two GPUs") || holds(beginning, "Hops between two GPUs");
}

const banyan_importer banyan_import_rocm = {.name = "rocm",
                                            .summary = "the tables that rocm-smi --showtopo prints",
                                            .extension = ".rocm",
                                            .looks_like = looks_like,
                                            .parse = parse};
