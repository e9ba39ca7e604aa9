/* SPDX-License-Identifier: Apache-2.0 */
/* topology/nccl_places.c: one walk over the elements of NCCL's XML in document order, so that what is above
 * an element is known when it comes. A <pci> is a GPU where it holds one <gpu>, a switch for them where it
 * holds several, a NIC where it holds a <nic>, else a bridge; other devices are nothing to us. Cost: linear,
 * and the sorting of bus addresses and ranks. */
#include "topology/nccl_places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "topology/hardware.h"

int banyan_nccl_is(const banyan_nccl_places *in, int i, const char *name)
{
    return i >= 0 && !strcmp(in->xml->elements[i].name, name);
}

int banyan_nccl_line(const banyan_nccl_places *in, int i)
{
    return in->xml->elements[i].line;
}

banyan_status banyan_nccl_integer(const banyan_nccl_places *in, int i, const char *attribute, int low,
                                  int high, int absent, int *out, banyan_error *err)
{
    const char *value = banyan_xml_get(in->xml, i, attribute);

    *out = absent;
    return value && *value ? banyan_xml_integer(in->xml, i, attribute, low, high, out, err) : BANYAN_SUCCESS;
}

int banyan_nccl_begins(const banyan_nccl_places *in, int i, const char *attribute, const char *prefix)
{
    const char *value = banyan_xml_get(in->xml, i, attribute);

    return value && !strncmp(value, prefix, strlen(prefix));
}

/* '0000:1a:00.0' without its marks, as one number. */
static banyan_status read_busid(const banyan_nccl_places *in, int i, const char *attribute, uint64_t *out,
                                banyan_error *err)
{
    const char *value = banyan_xml_get(in->xml, i, attribute);
    int digits = 0;

    if (!value)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: <%.40s> lacks the attribute %s",
                           banyan_nccl_line(in, i), in->xml->elements[i].name, attribute);
    *out = 0;
    for (const char *c = value; *c; c++) {
        int digit = *c >= '0' && *c <= '9'                 ? *c - '0'
                    : (*c | 32) >= 'a' && (*c | 32) <= 'f' ? (*c | 32) - 'a' + 10
                                                           : -1;

        if (*c == ':' || *c == '.')
            continue;
        if (digit < 0 || ++digits > 16)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %s=\"%s\" is not a PCI address",
                               banyan_nccl_line(in, i), attribute,
                               banyan_word_show((banyan_word){value, strlen(value)}).text);
        *out = *out << 4 | (uint64_t)digit;
    }
    return BANYAN_SUCCESS;
}

/* '8 GT/s', '16.0 GT/s PCIe', 'Unknown speed' and nothing are what kernels say. */
static banyan_status read_pcie(const banyan_nccl_places *in, int i, double *bytes_per_s, banyan_error *err)
{
    const char *speed = banyan_xml_get(in->xml, i, "link_speed");
    banyan_word rest = {speed ? speed : "", speed ? strlen(speed) : 0}, word = rest;
    double gigatransfers = 0;
    int lanes;
    banyan_status status = banyan_nccl_integer(in, i, "link_width", 0, 255, 0, &lanes, err);

    if (status)
        return status;
    if (banyan_word_take(&rest, &word) && !banyan_word_begins(word, "Unknown") &&
        (!banyan_word_number(word, &gigatransfers) || gigatransfers < 0 || gigatransfers > 1000))
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT, "line %d: link_speed=\"%s\" is not a PCIe speed such as 8 GT/s",
            banyan_nccl_line(in, i), banyan_word_show((banyan_word){speed, strlen(speed)}).text);
    *bytes_per_s = banyan_hardware_pcie(gigatransfers, lanes);
    return BANYAN_SUCCESS;
}

static banyan_status place_cpu(banyan_nccl_places *in, int i, int system, banyan_error *err)
{
    const char *hash = banyan_xml_get(in->xml, i, "host_hash");
    char key[80];

    snprintf(key, sizeof key, "%d/%.60s", system, hash ? hash : "");
    in->places[i].role = CPU;
    in->places[i].cpu = i;
    in->places[i].host = banyan_names_add(&in->hosts, (banyan_word){key, strlen(key)});
    return in->places[i].host < 0 ? banyan_fail_memory(err) : BANYAN_SUCCESS;
}

static int count_children(const banyan_nccl_places *in, int i, const char *name)
{
    int count = 0;

    for (int child = i + 1; child < in->xml->elements[i].next; child = in->xml->elements[child].next)
        count += banyan_nccl_is(in, child, name);
    return count;
}

static banyan_status place_pci(banyan_nccl_places *in, int i, banyan_error *err)
{
    banyan_nccl_place *self = &in->places[i];
    void *addresses = in->addresses;
    int gpus = count_children(in, i, "gpu");
    banyan_status status = read_pcie(in, i, &self->bytes_per_s, err);

    if (gpus == 1 || (!in->has_gpu_elements && (banyan_nccl_begins(in, i, "class", "0x03") ||
                                                banyan_nccl_begins(in, i, "class", "0x12"))))
        self->role = GPU;
    else if (count_children(in, i, "nic") || banyan_nccl_begins(in, i, "class", "0x02"))
        self->role = NIC;
    else if (gpus ||
             !(banyan_nccl_begins(in, i, "class", "0x03") || banyan_nccl_begins(in, i, "class", "0x0680")))
        self->role = BRIDGE;
    if (status || self->role == NOTHING)
        return status;
    if (!banyan_grow(&addresses, (size_t)in->address_count, &in->address_capacity, sizeof *in->addresses))
        return banyan_fail_memory(err);
    in->addresses = addresses;
    in->addresses[in->address_count] = (banyan_nccl_address){self->system, self->host, i, 0};
    return read_busid(in, i, "busid", &in->addresses[in->address_count++].busid, err);
}

/* A GPU's element is <gpu>, or <pci> in files that know no <gpu>. */
static banyan_status keep_gpu(banyan_nccl_places *in, int i, banyan_error *err)
{
    void *gpus = in->gpus;
    banyan_nccl_gpu found = {.element = i, .system = in->places[i].system, .host = in->places[i].host};
    banyan_status status = banyan_nccl_integer(in, i, "rank", -1, INT_MAX, -1, &found.rank, err);

    if (!status)
        status = banyan_nccl_integer(in, i, "dev", -1, INT_MAX, -1, &found.device, err);
    if (status)
        return status;
    if (!banyan_grow(&gpus, (size_t)in->gpu_count, &in->gpu_capacity, sizeof *in->gpus))
        return banyan_fail_memory(err);
    in->gpus = gpus;
    in->gpus[in->gpu_count++] = found;
    return BANYAN_SUCCESS;
}

/* Elements come in document order, so what is above an element has its place already. */
static banyan_status place_element(banyan_nccl_places *in, int i, banyan_error *err)
{
    int up = in->xml->elements[i].parent;
    banyan_nccl_place *self = &in->places[i];
    const banyan_nccl_place *above = up < 0 ? NULL : &in->places[up];

    if (banyan_nccl_is(in, i, "system") &&
        (up < 0 || (banyan_nccl_is(in, up, "systems") && in->xml->elements[up].parent < 0))) {
        *self = (banyan_nccl_place){.role = SYSTEM, .system = in->system_count++};
        return BANYAN_SUCCESS;
    }
    if (!above || above->role == NOTHING)
        return BANYAN_SUCCESS;
    *self = (banyan_nccl_place){.system = above->system, .host = above->host, .up = up, .cpu = above->cpu};
    if (banyan_nccl_is(in, i, "cpu") && above->role == SYSTEM)
        return place_cpu(in, i, self->system, err);
    if (banyan_nccl_is(in, i, "pci") && (above->role == CPU || above->role == BRIDGE))
        return place_pci(in, i, err);
    if (banyan_nccl_is(in, i, "nic") && above->role == CPU) {
        self->role = NIC;
        self->bytes_per_s = BANYAN_HARDWARE_INSIDE_BYTES_PER_S;
    }
    if (banyan_nccl_is(in, i, "gpu") && banyan_nccl_is(in, up, "pci") &&
        (above->role == GPU || above->role == BRIDGE)) {
        self->role = GPU;
        self->up = above->role == GPU ? above->up : up;
        self->bytes_per_s = above->role == GPU ? above->bytes_per_s : BANYAN_HARDWARE_INSIDE_BYTES_PER_S;
        if (!above->first_gpu)
            in->places[up].first_gpu = i;
        return keep_gpu(in, i, err);
    }
    return BANYAN_SUCCESS;
}

static int by_busid(const void *a, const void *b)
{
    const banyan_nccl_address *x = a, *y = b;

    if (x->system != y->system)
        return x->system < y->system ? -1 : 1;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    if (x->busid != y->busid)
        return x->busid < y->busid ? -1 : 1;
    return 0;
}

/* Ranked GPUs first, by rank; then by host, device and line. A <system> is a run of its own. */
static int by_rank(const void *a, const void *b)
{
    const banyan_nccl_gpu *x = a, *y = b;
    const int keys[][2] = {{x->system, y->system}, {x->rank < 0, y->rank < 0}, {x->rank, y->rank},
                           {x->host, y->host},     {x->device, y->device},     {x->element, y->element}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static banyan_status order(banyan_nccl_places *in, banyan_error *err)
{
    if (in->address_count)
        qsort(in->addresses, (size_t)in->address_count, sizeof *in->addresses, by_busid);
    for (int i = 1; i < in->address_count; i++)
        if (!by_busid(&in->addresses[i - 1], &in->addresses[i])) {
            int a = banyan_nccl_line(in, in->addresses[i - 1].element),
                b = banyan_nccl_line(in, in->addresses[i].element);

            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: the busid is that of line %d already",
                               a > b ? a : b, a > b ? b : a);
        }
    if (in->gpu_count)
        qsort(in->gpus, (size_t)in->gpu_count, sizeof *in->gpus, by_rank);
    for (int i = 1; i < in->gpu_count; i++)
        if (in->gpus[i].rank >= 0 && in->gpus[i].rank == in->gpus[i - 1].rank &&
            in->gpus[i].system == in->gpus[i - 1].system)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: rank %d is that of line %d already",
                               banyan_nccl_line(in, in->gpus[i].element), in->gpus[i].rank,
                               banyan_nccl_line(in, in->gpus[i - 1].element));
    if (!in->gpu_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there is no GPU in the file");
    return BANYAN_SUCCESS;
}

banyan_status banyan_nccl_places_read(banyan_nccl_places *in, const char *text, size_t length,
                                      banyan_error *err)
{
    banyan_status status = length ? banyan_xml_parse(text, length, &in->xml, err)
                                  : banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the file is empty");

    if (status)
        return status;

    if (!banyan_nccl_is(in, 0, "system") && !banyan_nccl_is(in, 0, "systems"))
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT, "line %d: expected <system>, not <%s>", banyan_nccl_line(in, 0),
            banyan_word_show((banyan_word){in->xml->elements[0].name, strlen(in->xml->elements[0].name)})
                .text);
    in->places = banyan_alloc((size_t)in->xml->element_count, sizeof *in->places);
    if (!in->places)
        return banyan_fail_memory(err);
    for (int i = 0; i < in->xml->element_count; i++)
        in->has_gpu_elements |= banyan_nccl_is(in, i, "gpu");
    for (int i = 0; !status && i < in->xml->element_count; i++) {
        status = place_element(in, i, err);
        if (!status && in->places[i].role == GPU && !in->has_gpu_elements)
            status = keep_gpu(in, i, err);
    }
    for (int i = in->xml->element_count - 1; !status && i > 0; i--) {
        banyan_nccl_place *self = &in->places[i];

        self->is_useful += self->role == GPU || self->role == NIC;
        in->places[in->xml->elements[i].parent].is_useful += self->is_useful > 0;
    }
    return status ? status : order(in, err);
}

banyan_status banyan_nccl_find_target(const banyan_nccl_places *in, int i, int *out, banyan_error *err)
{
    banyan_nccl_address key = {.system = in->places[i].system, .host = in->places[i].host};
    const banyan_nccl_address *found;
    banyan_status status = read_busid(in, i, "target", &key.busid, err);

    *out = -1;
    if (status || !in->address_count)
        return status;
    found = bsearch(&key, in->addresses, (size_t)in->address_count, sizeof key, by_busid);
    if (found)
        *out = found->element;
    return BANYAN_SUCCESS;
}

void banyan_nccl_places_fini(banyan_nccl_places *in)
{
    banyan_xml_destroy(in->xml);
    banyan_names_fini(&in->hosts);
    banyan_free(in->places);
    banyan_free(in->gpus);
    banyan_free(in->addresses);
}
