/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/wire_pmi.c: answers of a launcher (PMI-1): what is found in a line fits, and stands in it. */
#include "bootstrap/pmi.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"cmd", "rc", "kvsname", "value"};
    char line[2048] = "", out[64];

    memcpy(line, data, size < sizeof line - 1 ? size : sizeof line - 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (banyan_pmi_field(line, names[i], out, sizeof out) && !strstr(line, out))
            abort();
    return 0;
}
