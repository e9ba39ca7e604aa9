/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/wire_records.c: what comes over connections that have proven themselves, from a rank gone mad:
 * messages of the control tree, cut out of a stream, and records. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/rank_record.h"
#include "transport/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char bytes[BANYAN_RANK_RECORD_BYTES] = {0};
    const unsigned char *body;
    banyan_rank_record records[2];
    banyan_channel channel;
    size_t length;
    int ends[2], type;

    memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
    if (!banyan_rank_record_read(bytes, &records[0], NULL)) {
        records[1] = records[0];
        (void)banyan_rank_records_compare(records, 2, NULL);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
        return 0;
    banyan_channel_init(&channel, ends[0], 1 << 16);
    if (send(ends[1], data, size, MSG_NOSIGNAL) >= 0 && !banyan_channel_fill(&channel, NULL))
        while (banyan_channel_next(&channel, &type, &body, &length))
            (void)body;
    close(ends[1]);
    banyan_channel_fini(&channel);
    return 0;
}
