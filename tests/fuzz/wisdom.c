/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as wisdom: what is accepted writes and reads back as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "planner/wisdom.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_wisdom wisdom, again;
    char *text, *same;

    if (banyan_wisdom_parse((const char *)data, size, &wisdom, NULL))
        return 0;
    if (banyan_wisdom_format(&wisdom, &text, NULL) || banyan_wisdom_parse(text, strlen(text), &again, NULL) ||
        banyan_wisdom_format(&again, &same, NULL) || strcmp(text, same) != 0)
        abort();
    banyan_free(text);
    banyan_free(same);
    banyan_wisdom_fini(&wisdom);
    banyan_wisdom_fini(&again);
    return 0;
}
