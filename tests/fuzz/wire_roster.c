/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/wire_roster.c: what a survivor gone mad may send to others that shrink with it. Whatever is
 * taken names ranks that exist, and comes back as it was. */
#include "bootstrap/roster.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_list(const uint8_t *data, size_t size)
{
    unsigned char back[8 + 4 * SIZE];
    int members[SIZE], count = 0;
    uint64_t number = 0;

    if (banyan_roster_read(data, size, SIZE, &number, members, &count) &&
        (count < 1 || count > SIZE || banyan_roster_write(back, number, members, count) != size ||
         memcmp(back, data, size) != 0))
        abort();
}

static void read_change(const uint8_t *data)
{
    unsigned char back[BANYAN_ROSTER_CHANGE_BYTES];
    int rank = -1, is_there = -1;

    if (!banyan_roster_read_change(data, SIZE, &rank, &is_there))
        return;
    banyan_roster_write_change(back, rank, is_there);
    if (rank < 0 || rank >= SIZE || memcmp(back, data, sizeof back) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_list(data, size);
    for (size_t i = 0; i + BANYAN_ROSTER_CHANGE_BYTES <= size; i += BANYAN_ROSTER_CHANGE_BYTES)
        read_change(data + i);
    for (size_t i = 0; i + BANYAN_ROSTER_RECORD_BYTES <= size; i += BANYAN_ROSTER_RECORD_BYTES)
        if (banyan_roster_read_record(data + i, SIZE) >= SIZE)
            abort();
    return 0;
}
