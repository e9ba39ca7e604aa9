/* SPDX-License-Identifier: Apache-2.0 */
/* transport/interface.c: which of the machine's addresses others should reach us at.
 *
 *     eth            interfaces whose name begins with eth          =eth0,eth1   exactly these
 *     ^docker,lo     all but those that begin so                    ^=eth0       all but exactly this
 *     10.1.0.0/16    the interface with an address in this network  10.1.2.3     this very address
 *
 * Where several fit, the order of the wish decides, then that of the system. Addresses that only this cable
 * knows (IPv6 link-local) are taken only when they are asked for by number. Loopback is found only where it
 * is named, or where there is nothing else. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/socket.h"

#define LONGEST_WORD 80

static int read_address(const struct sockaddr *from, banyan_address *out)
{
    *out = (banyan_address){0};
    if (!from)
        return 0;
    out->family = from->sa_family;
    if (from->sa_family == AF_INET)
        memcpy(out->bytes, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    else if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const void *)from;

        memcpy(out->bytes, &six->sin6_addr, 16);
        out->scope = IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) ? six->sin6_scope_id : 0;
    }
    return from->sa_family == AF_INET || from->sa_family == AF_INET6;
}

static int is_in_network(const banyan_address *address, const banyan_address *network, int bits)
{
    for (int i = 0; i < bits; i++) {
        unsigned differs = (unsigned)(address->bytes[i / 8] ^ network->bytes[i / 8]);

        if (differs >> (7 - i % 8) & 1u)
            return 0;
    }
    return address->family == network->family;
}

/* Reads '10.0.0.0/8' or '::1'; 0 when the word is no such thing. */
static int read_network(const char *word, banyan_address *network, int *bits)
{
    char number[LONGEST_WORD];
    const char *slash = strchr(word, '/');
    size_t length = slash ? (size_t)(slash - word) : strlen(word);

    *network = (banyan_address){0};
    memcpy(number, word, length);
    number[length] = '\0';
    if (inet_pton(AF_INET, number, network->bytes) == 1)
        network->family = AF_INET;
    else if (inet_pton(AF_INET6, number, network->bytes) == 1)
        network->family = AF_INET6;
    else
        return 0;
    *bits = network->family == AF_INET ? 32 : 128;
    if (slash) {
        char *end;
        long wished = strtol(slash + 1, &end, 10);

        if (end == slash + 1 || *end || wished < 0 || wished > *bits)
            return 0;
        *bits = (int)wished;
    }
    return 1;
}

static int fits_word(const struct ifaddrs *candidate, const banyan_address *address, const char *word,
                     int is_exact)
{
    banyan_address network;
    int bits;

    if (read_network(word, &network, &bits))
        return is_in_network(address, &network, bits);
    if (address->scope)
        return 0;
    return is_exact ? !strcmp(candidate->ifa_name, word) : !strncmp(candidate->ifa_name, word, strlen(word));
}

/* The next word of a list; 0 at its end, -1 for one that is too long or empty. */
static int next_word(const char **list, char word[LONGEST_WORD])
{
    size_t length = strcspn(*list, ",");

    if (!**list)
        return 0;
    if (!length || length >= LONGEST_WORD)
        return -1;
    memcpy(word, *list, length);
    word[length] = '\0';
    *list += length;
    *list += **list == ',';
    return 1;
}

static int is_usable(const struct ifaddrs *candidate, int family, banyan_address *address)
{
    return candidate->ifa_flags & IFF_UP && read_address(candidate->ifa_addr, address) &&
           (!family || address->family == family);
}

/* What has been found so far. */
typedef struct {
    banyan_interface *all;
    int count, most, family;
} finds;

static int count_bits(const struct sockaddr *mask)
{
    banyan_address address;
    int bits = 0;

    if (!read_address(mask, &address))
        return 0;
    for (; bits < (address.family == AF_INET ? 32 : 128); bits++)
        if (!(address.bytes[bits / 8] >> (7 - bits % 8) & 1))
            break;
    return bits;
}

static void add(finds *f, const struct ifaddrs *found, const banyan_address *address)
{
    banyan_interface *next = &f->all[f->count];

    if (f->count == f->most)
        return;
    for (int i = 0; i < f->count; i++)
        if (!strcmp(f->all[i].name, found->ifa_name))
            return;
    *next = (banyan_interface){.address = *address, .network_bits = count_bits(found->ifa_netmask)};
    snprintf(next->name, sizeof next->name, "%s", found->ifa_name);
    f->family = address->family; /* the others are reached in the same way */
    f->count++;
}

static void find_listed(const struct ifaddrs *all, const char *list, int is_exact, finds *f)
{
    char word[LONGEST_WORD];
    banyan_address address;

    while (next_word(&list, word) > 0)
        for (const struct ifaddrs *i = all; i; i = i->ifa_next)
            if (is_usable(i, f->family, &address) && fits_word(i, &address, word, is_exact))
                add(f, i, &address);
}

static int is_listed(const struct ifaddrs *candidate, const banyan_address *address, const char *list,
                     int is_exact)
{
    char word[LONGEST_WORD];

    while (next_word(&list, word) > 0)
        if (fits_word(candidate, address, word, is_exact))
            return 1;
    return 0;
}

/* Loopback only where there is nothing else: others cannot reach it. */
static void find_unlisted(const struct ifaddrs *all, const char *list, int is_exact, int family, finds *f)
{
    banyan_address address;

    for (int loopback = 0; loopback < 2 && !f->count; loopback++)
        for (const struct ifaddrs *i = all; i; i = i->ifa_next)
            if (is_usable(i, family, &address) && !address.scope &&
                !(i->ifa_flags & IFF_LOOPBACK) == !loopback && !is_listed(i, &address, list, is_exact))
                add(f, i, &address);
}

static int is_well_formed(const char *list)
{
    char word[LONGEST_WORD];
    int more;

    while ((more = next_word(&list, word)) > 0)
        continue;
    return more == 0;
}

int banyan_interface_leads_to(const banyan_interface *interface, const banyan_address *to)
{
    return interface->network_bits && is_in_network(to, &interface->address, interface->network_bits);
}

void banyan_interface_complete(banyan_interface *interface)
{
    struct ifaddrs *all = NULL;
    banyan_address address;

    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (is_usable(i, interface->address.family, &address) &&
            !memcmp(address.bytes, interface->address.bytes, sizeof address.bytes)) {
            interface->network_bits = count_bits(i->ifa_netmask);
            snprintf(interface->name, sizeof interface->name, "%s", i->ifa_name);
        }
    freeifaddrs(all);
}

static banyan_status find(const char *list, int is_negated, finds *f, banyan_error *err)
{
    int is_exact = *list == '=';
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) != 0)
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "the network interfaces cannot be listed: %s",
                           strerror(errno));
    if (!is_negated)
        find_listed(all, list + is_exact, is_exact, f);
    else if (f->family)
        find_unlisted(all, list + is_exact, is_exact, f->family, f);
    else
        for (int i = 0; i < 2 && !f->count; i++)
            find_unlisted(all, list + is_exact, is_exact, i ? AF_INET6 : AF_INET, f);
    freeifaddrs(all);
    return BANYAN_SUCCESS;
}

banyan_status banyan_interface_choose(const char *wish, int family, int most, banyan_interface *out,
                                      int *count, banyan_error *err)
{
    const char *list = *wish ? wish : "^docker";
    int is_negated = *list == '^';
    finds f = {.all = out, .most = *wish ? most : 1, .family = family};
    banyan_status status;

    list += is_negated;
    if (!list[*list == '='] || !is_well_formed(list + (*list == '=')))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "BANYAN_SOCKET_IFNAME=%.100s is not a list like eth0,ib or =eth0 or ^docker,lo",
                           wish);
    status = find(list, is_negated, &f, err);
    if (!status && !f.count)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                             "no interface that is up fits BANYAN_SOCKET_IFNAME=%.100s%s",
                             *wish ? wish : "(empty)",
                             family == AF_INET6 ? " with an IPv6 address"
                             : family           ? " with an IPv4 address"
                                                : "");
    *count = f.count;
    return status;
}
