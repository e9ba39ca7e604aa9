/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/wire_handshake.c: whatever a stranger sends to a listener: both sides of the handshake take it
 * in portions whose sizes are in the input, too. Without the secret nobody gets beyond the proof. */
#include <stdlib.h>
#include <string.h>

#include "transport/handshake.h"

static int feed(banyan_handshake *h, const uint8_t *data, size_t size)
{
    size_t portion = size ? data[0] + 1u : 1;

    while (size && !banyan_handshake_is_complete(h)) {
        size_t count = h->in_wanted - h->in_count;

        count = count < portion ? count : portion;
        count = count < size ? count : size;
        if (banyan_handshake_take(h, data, count, NULL))
            return 0;
        data += count;
        size -= count;
    }
    return banyan_handshake_is_complete(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_hello hello = {BANYAN_PROTOCOL, BANYAN_HELLO_DATA, 0, 2, 0, 1};
    banyan_handshake h;
    banyan_secret secret;

    banyan_auth_secret_from_text("nobody guesses this", &secret);
    if (banyan_handshake_accept(&h, &secret, NULL) || feed(&h, data, size))
        abort();
    if (banyan_handshake_connect(&h, &secret, &hello, NULL) || feed(&h, data, size))
        abort();
    return 0;
}
