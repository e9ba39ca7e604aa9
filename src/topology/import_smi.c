/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_smi.c: the matrix that 'nvidia-smi topo -m' prints.
 *
 *             GPU0    GPU1    GPU2    GPU3    NIC0    CPU Affinity
 *     GPU0     X      NV2     PHB     SYS     PIX     0-19
 *
 * Each cell names the nearest place where the ways of two devices meet. Those places make a tree, which we
 * build back by merging devices level by level (union-find, O(D^2) for D devices):
 *
 *     PIX   one PCIe switch                  NODE  one NUMA node (also: the same CPU affinity)
 *     PXB   several of them in a row         SYS   the link between CPUs (formerly SOC)
 *     PHB   the CPU's host bridge            NV#   # NVLinks; it hides the PCIe place, which others may tell
 *
 * A meeting place becomes a switch where it joins at least two branches; the NUMA nodes become switches cpu0,
 * cpu1, ... and are cabled pairwise. GPUs are the workers g0, g1, ... of one host; NICs are switches at the
 * rim. NV# is a direct cable, unless some GPU would have more than 18 links (no GPU has): then NVLinks lead
 * to one NVSwitch. The text does not tell generations: an NVLink counts 20 GB/s (V100, A100), PCIe 12 GB/s
 * (generation 3, 16 lanes), the link between CPUs 10 GB/s. */
#include <string.h>

#include "core/alloc.h"
#include "topology/build.h"
#include "topology/hardware.h"
#include "topology/import.h"
#include "topology/names.h"
#include "topology/scan.h"

enum { MAX_DEVICES = 1024, MAX_NVLINKS = 18 };

/* Where two devices meet, the nearest first; a cell of NV# holds NVLINK + #. */
enum { SELF, PIX, PXB, PHB, NODE, SYS, LEVELS, UNSAID = LEVELS, NVLINK = 16 };

typedef struct {
    banyan_names names;    /* the devices, in the order of the columns */
    int count;             /* of them */
    int has_affinity;      /* is there a column with CPU affinities? */
    unsigned char *cell;   /* count x count */
    int *line;             /* of each device's row; 0: it has none */
    banyan_word *affinity; /* of a GPU, where its row tells */
    int *group[LEVELS];    /* group[l][i]: the first device of the group that i is in at level l */
    int *node;             /* in the topology */
    int pci_count, phb_count;
} matrix;

/* A copy without terminal escapes (ESC [ ... letter), which some versions print to underline the header. */
static size_t strip_escapes(const char *text, size_t length, char *out)
{
    size_t written = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\x1b') {
            out[written++] = text[i];
            continue;
        }
        if (i + 1 < length && text[i + 1] == '[')
            for (i += 2; i < length && text[i] != '\n' &&
                         ((unsigned char)text[i] < 0x40 || (unsigned char)text[i] > 0x7e);)
                i++;
        if (i < length && text[i] == '\n')
            out[written++] = '\n';
    }
    return written;
}

/* The number in 'GPU12', or -1. */
static int gpu_number(banyan_word word)
{
    int number;

    if (!banyan_word_begins(word, "GPU") ||
        !banyan_word_integer((banyan_word){word.at + 3, word.length - 3}, 999999, &number))
        return -1;
    return number;
}

static int gpu_number_of(const matrix *in, int device)
{
    const char *name = banyan_names_text(&in->names, device);

    return gpu_number((banyan_word){name, strlen(name)});
}

/* Ends the device columns: 'CPU Affinity', 'NUMA Affinity', 'GPU NUMA ID'. */
static int is_fact_column(banyan_word word)
{
    return banyan_word_is(word, "CPU") || banyan_word_is(word, "NUMA") || banyan_word_is(word, "GPU");
}

/* A header's first two words are devices; in a row the second is a cell. */
static int is_header(banyan_word line)
{
    banyan_word first, second;

    if (!banyan_word_take(&line, &first) || gpu_number(first) < 0)
        return 0;
    return !banyan_word_take(&line, &second) || gpu_number(second) >= 0 || is_fact_column(second) ||
           memchr(second.at, '_', second.length) || banyan_word_begins(second, "NIC");
}

static int find_header(banyan_scan *scan)
{
    while (banyan_scan_next_line(scan))
        if (is_header(scan->line))
            return 1;
    return 0;
}

static banyan_status read_header(matrix *in, const banyan_scan *scan, banyan_error *err)
{
    banyan_word rest = scan->line, word;
    banyan_status status;

    while (banyan_word_take(&rest, &word) && !is_fact_column(word)) {
        int id;

        status = banyan_word_check_name(word, scan->number, err);
        if (status)
            return status;
        if (in->count == MAX_DEVICES)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d devices", scan->number,
                               MAX_DEVICES);
        id = banyan_names_add(&in->names, word);
        if (id < 0)
            return banyan_fail_memory(err);
        if (id < in->count)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: there are two columns %s",
                               scan->number, banyan_word_show(word).text);
        in->count++;
    }
    in->has_affinity = word.length > 0;
    return BANYAN_SUCCESS;
}

static banyan_status make_room(matrix *in, banyan_error *err)
{
    size_t count = (size_t)in->count;
    int is_full = 1;

    in->cell = banyan_alloc(count * count, 1);
    in->line = banyan_alloc(count, sizeof *in->line);
    in->affinity = banyan_alloc(count, sizeof *in->affinity);
    in->node = banyan_alloc(count, sizeof *in->node);
    for (int l = 0; l < LEVELS; l++) {
        in->group[l] = banyan_alloc(count, sizeof **in->group);
        is_full &= in->group[l] != NULL;
    }
    if (!is_full || !in->cell || !in->line || !in->affinity || !in->node)
        return banyan_fail_memory(err);
    memset(in->cell, UNSAID, count * count);
    return BANYAN_SUCCESS;
}

/* -1: none of the words that we know. */
static int read_cell(banyan_word word)
{
    static const struct {
        const char *word;
        int level;
    } words[] = {{"X", SELF},    {"PIX", PIX}, {"PXB", PXB}, {"PHB", PHB},
                 {"NODE", NODE}, {"SYS", SYS}, {"SOC", SYS}, {"N/A", UNSAID}};
    int links;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (banyan_word_is(word, words[i].word))
            return words[i].level;
    if (banyan_word_begins(word, "NV") &&
        banyan_word_integer((banyan_word){word.at + 2, word.length - 2}, MAX_NVLINKS, &links) && links > 0)
        return NVLINK + links;
    return -1;
}

static banyan_status read_row(matrix *in, int device, banyan_word rest, int line, banyan_error *err)
{
    const char *name = banyan_names_text(&in->names, device);
    banyan_word word;

    if (in->line[device])
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %.60s has a row already (line %d)", line,
                           name, in->line[device]);
    in->line[device] = line;
    for (int j = 0; j < in->count; j++) {
        int cell;

        if (!banyan_word_take(&rest, &word))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "line %d: the row of %.60s ends after %d of %d cells", line, name, j,
                               in->count);
        cell = read_cell(word);
        if (cell < 0 || (cell == SELF) != (j == device))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %s between %.60s and %.60s is not %s",
                               line, banyan_word_show(word).text, name, banyan_names_text(&in->names, j),
                               j == device ? "X" : "one of NV1 to NV18, PIX, PXB, PHB, NODE, SYS");
        in->cell[device * in->count + j] = (unsigned char)cell;
    }
    if (in->has_affinity && banyan_word_take(&rest, &word) && !banyan_word_is(word, "N/A"))
        in->affinity[device] = word;
    return BANYAN_SUCCESS;
}

/* Rows follow the header; the first line that is neither blank nor a row ends them. */
static banyan_status read_rows(matrix *in, banyan_scan *scan, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    while (!status && banyan_scan_next_line(scan)) {
        banyan_word rest = scan->line, word;
        int device;

        if (!banyan_word_take(&rest, &word))
            continue;
        device = banyan_names_find(&in->names, word);
        if (device < 0)
            break;
        status = read_row(in, device, rest, scan->number, err);
    }
    for (int i = 0; !status && i < in->count; i++)
        if (!in->line[i] && gpu_number_of(in, i) >= 0)
            status =
                banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %.60s has a column, but no row follows",
                            scan->number, banyan_names_text(&in->names, i));
    return status;
}

/* Both halves must say the same; where only one says something, the other gets it too. */
static banyan_status mirror(matrix *in, banyan_error *err)
{
    for (int i = 0; i < in->count; i++)
        for (int j = 0; j < i; j++) {
            unsigned char *lower = &in->cell[i * in->count + j], *upper = &in->cell[j * in->count + i];

            if (*lower == UNSAID)
                *lower = *upper;
            if (*upper == UNSAID)
                *upper = *lower;
            if (*lower != *upper)
                return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                                   "line %d: what it says of %.60s and %.60s is not what line %d says",
                                   in->line[i], banyan_names_text(&in->names, i),
                                   banyan_names_text(&in->names, j), in->line[j]);
        }
    return BANYAN_SUCCESS;
}

static int find_group(int *group, int device)
{
    while (group[device] != device)
        device = group[device] = group[group[device]];
    return device;
}

/* Where NVLinks hide the PCIe place, the same CPUs, or no word of CPUs, mean the same NUMA node. */
static int is_near(const matrix *in, int i, int j)
{
    banyan_word a = in->affinity[i], b = in->affinity[j];

    return !a.length || !b.length || (a.length == b.length && !memcmp(a.at, b.at, a.length));
}

static void find_groups(matrix *in)
{
    for (int i = 0; i < in->count; i++)
        in->group[SELF][i] = i;
    for (int l = PIX; l <= NODE; l++) {
        int *group = in->group[l];

        memcpy(group, in->group[l - 1], (size_t)in->count * sizeof *group);
        for (int i = 0; i < in->count; i++)
            for (int j = 0; j < i; j++) {
                int cell = in->cell[i * in->count + j], a, b;

                if (cell > l && !(l == NODE && cell > NVLINK && is_near(in, i, j)))
                    continue;
                a = find_group(group, i);
                b = find_group(group, j);
                group[a > b ? a : b] = a > b ? b : a;
            }
        for (int i = 0; i < in->count; i++)
            group[i] = find_group(group, i);
    }
}

static void attach(matrix *in, banyan_topology_builder *builder, int level, int first, int parent);

/* Hangs the branches of a group below the parent. A single branch is no place of its own. */
static void attach_branches(matrix *in, banyan_topology_builder *builder, int level, int first, int parent)
{
    int branches = 0, last = first;

    for (int i = first; i < in->count; i++)
        if (in->group[level][i] == first && in->group[level - 1][i] == i) {
            branches++;
            last = i;
        }
    if (branches == 1 && level - 1 > SELF) {
        attach_branches(in, builder, level - 1, last, parent);
        return;
    }
    for (int i = first; i < in->count; i++)
        if (in->group[level][i] == first && in->group[level - 1][i] == i)
            attach(in, builder, level - 1, i, parent);
}

static int count_members(const matrix *in, int level, int first)
{
    int members = 0;

    for (int i = first; i < in->count; i++)
        members += in->group[level][i] == first;
    return members;
}

static void attach(matrix *in, banyan_topology_builder *builder, int level, int first, int parent)
{
    int members = count_members(in, level, first), place = in->node[first];

    /* The place is named for the level where all of them first come together. */
    while (members > 1 && count_members(in, level - 1, first) == members)
        level--;
    if (members > 1)
        place = level == PHB ? banyan_topology_add_switch_f(builder, "phb%d", in->phb_count++)
                             : banyan_topology_add_switch_f(builder, "pci%d", in->pci_count++);
    banyan_topology_add_cable(builder, place, parent, banyan_hardware_pcie(0, 0), BANYAN_HARDWARE_PCIE_S);
    if (members > 1)
        attach_branches(in, builder, level, first, place);
}

static void build_tree(matrix *in, banyan_topology_builder *builder)
{
    int *cpu = in->group[SYS], cpus = 0;

    for (int i = 0; i < in->count; i++)
        if (in->group[NODE][i] == i) {
            cpu[cpus] = banyan_topology_add_switch_f(builder, "cpu%d", cpus);
            attach_branches(in, builder, NODE, i, cpu[cpus++]);
        }
    for (int i = 0; i < cpus; i++)
        for (int j = 0; j < i; j++)
            banyan_topology_add_cable(builder, cpu[j], cpu[i], banyan_hardware_between_cpus(NULL, NULL, 0, 0),
                                      BANYAN_HARDWARE_BETWEEN_CPUS_S);
}

/* The NVLinks that a cell tells of; 0: none. */
static int nvlinks(const matrix *in, int i, int j)
{
    int cell = in->cell[i * in->count + j];

    return cell > NVLINK ? cell - NVLINK : 0;
}

/* More links than any GPU has: each then leads to a switch, and the cells count the same ones again. */
static int has_nvswitch(const matrix *in)
{
    for (int i = 0; i < in->count; i++) {
        int links = 0;

        for (int j = 0; j < in->count; j++)
            links += nvlinks(in, i, j);
        if (links > MAX_NVLINKS)
            return 1;
    }
    return 0;
}

static void build_nvlinks(const matrix *in, banyan_topology_builder *builder)
{
    int hub = has_nvswitch(in) ? banyan_topology_add_switch(builder, "nvswitch") : -1;

    for (int i = 0; i < in->count; i++) {
        int most = 0;

        for (int j = 0; j < in->count; j++) {
            int links = nvlinks(in, i, j);

            most = links > most ? links : most;
            if (links && hub < 0 && j > i)
                banyan_topology_add_cable(builder, in->node[i], in->node[j],
                                          links * banyan_hardware_nvlink(0), BANYAN_HARDWARE_NVLINK_S);
        }
        if (most && hub >= 0)
            banyan_topology_add_cable(builder, in->node[i], hub, most * banyan_hardware_nvlink(0),
                                      BANYAN_HARDWARE_NVSWITCH_S);
    }
}

static void build(matrix *in, banyan_topology_builder *builder)
{
    int host = banyan_topology_add_host(builder, "h0");

    for (int i = 0; i < in->count; i++)
        if (gpu_number_of(in, i) >= 0)
            in->node[i] = banyan_topology_add_worker_f(builder, host, "g%d", gpu_number_of(in, i));
    for (int i = 0; i < in->count; i++)
        if (gpu_number_of(in, i) < 0)
            in->node[i] = banyan_topology_add_switch(builder, banyan_names_text(&in->names, i));
    build_tree(in, builder);
    build_nvlinks(in, builder);
}

static banyan_status read_matrix(matrix *in, banyan_scan *scan, banyan_error *err)
{
    banyan_status status;

    if (!find_header(scan))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there is no line of columns GPU0, GPU1, ...");
    status = read_header(in, scan, err);
    if (!status)
        status = make_room(in, err);
    if (!status)
        status = read_rows(in, scan, err);
    if (!status)
        status = mirror(in, err);
    if (!status)
        find_groups(in);
    return status;
}

static void forget(matrix *in)
{
    banyan_names_fini(&in->names);
    banyan_free(in->cell);
    banyan_free(in->line);
    banyan_free(in->affinity);
    banyan_free(in->node);
    for (int l = 0; l < LEVELS; l++)
        banyan_free(in->group[l]);
}

static banyan_status parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_error problem;
    banyan_scan scan;
    matrix in = {0};
    char *plain = banyan_alloc(length, 1);
    banyan_status status =
        plain ? banyan_scan_check_text(text, length, &problem) : banyan_fail_memory(&problem);

    banyan_topology_builder_init(&builder, "nvidia-smi");
    if (!status) {
        banyan_scan_init(&scan, plain, strip_escapes(text, length, plain));
        status = read_matrix(&in, &scan, &problem);
    }
    if (status)
        banyan_topology_builder_fail(&builder, status, "%s", problem.text);
    else
        build(&in, &builder);
    forget(&in);
    banyan_free(plain);
    return banyan_topology_builder_finish(&builder, out, err);
}

static int looks_like(const char *text, size_t length)
{
    size_t limit = length < 16384 ? length : 16384;
    char plain[16384];
    banyan_scan scan;

    banyan_scan_init(&scan, plain, strip_escapes(text, limit, plain));
    return find_header(&scan);
}

const banyan_importer banyan_import_smi = {.name = "smi",
                                           .summary = "the matrix that nvidia-smi topo -m prints",
                                           .extension = ".smi",
                                           .looks_like = looks_like,
                                           .parse = parse};
