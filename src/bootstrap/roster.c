/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/roster.c: fields of four and eight bytes, big-endian like all that ranks send each other
 * (transport/bytes.h). */
#include "bootstrap/roster.h"

#include <string.h>

#include "transport/bytes.h"

enum { NUMBER_BYTES = 8, MEMBER_BYTES = 4 };

void banyan_roster_write_change(unsigned char out[BANYAN_ROSTER_CHANGE_BYTES], int rank, int is_there)
{
    banyan_put32(out, (uint32_t)rank << 1 | (uint32_t)(is_there != 0));
}

int banyan_roster_read_change(const unsigned char in[BANYAN_ROSTER_CHANGE_BYTES], int size, int *rank,
                              int *is_there)
{
    uint32_t word = banyan_get32(in);

    if (word >> 1 >= (uint32_t)size)
        return 0;
    *rank = (int)(word >> 1);
    *is_there = (int)(word & 1);
    return 1;
}

size_t banyan_roster_bytes(int count)
{
    return NUMBER_BYTES + MEMBER_BYTES * (size_t)count;
}

size_t banyan_roster_write(unsigned char *out, uint64_t number, const int *members, int count)
{
    banyan_put64(out, number);
    for (int i = 0; i < count; i++)
        banyan_put32(out + banyan_roster_bytes(i), (uint32_t)members[i]);
    return banyan_roster_bytes(count);
}

int banyan_roster_read(const unsigned char *in, size_t bytes, int size, uint64_t *number, int *members,
                       int *count)
{
    if (bytes < banyan_roster_bytes(1) || bytes > banyan_roster_bytes(size) ||
        (bytes - NUMBER_BYTES) % MEMBER_BYTES)
        return 0;
    *number = banyan_get64(in);
    *count = (int)((bytes - NUMBER_BYTES) / MEMBER_BYTES);
    for (int i = 0; i < *count; i++) {
        uint32_t member = banyan_get32(in + banyan_roster_bytes(i));

        if (member >= (uint32_t)size || (i && (int)member <= members[i - 1]))
            return 0;
        members[i] = (int)member;
    }
    return 1;
}

void banyan_roster_write_record(unsigned char out[BANYAN_ROSTER_RECORD_BYTES], int rank,
                                const unsigned char record[BANYAN_RANK_RECORD_BYTES])
{
    banyan_put32(out, (uint32_t)rank);
    memcpy(out + 4, record, BANYAN_RANK_RECORD_BYTES);
}

int banyan_roster_read_record(const unsigned char in[BANYAN_ROSTER_RECORD_BYTES], int count)
{
    uint32_t rank = banyan_get32(in);

    return rank < (uint32_t)count ? (int)rank : -1;
}
