/* SPDX-License-Identifier: Apache-2.0 */
/* group/control_gather.c: everybody's bytes to everybody: each rank's part goes up to the root, and all of
 * them together come down. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "group/control_internal.h"

void banyan_control_finish_gather(banyan_control *control, const unsigned char *all, size_t bytes)
{
    unsigned char *copy = banyan_alloc(bytes, 1);

    if (copy)
        memcpy(copy, all, bytes);
    pthread_mutex_lock(&control->lock);
    banyan_free(control->gathered);
    control->gathered = copy;
    control->gathered_bytes = copy ? bytes : 0;
    control->gather_is_done = 1;
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
}

/* At the root: one rank's part. */
void banyan_control_collect(banyan_control *control, int from, const unsigned char *body, size_t bytes)
{
    char sentence[160];

    if (!control->given) {
        banyan_free(control->gathering);
        control->gathering = banyan_alloc((size_t)control->size, bytes ? bytes : 1);
        control->gathering_bytes = bytes;
        memset(control->has_given, 0, (size_t)control->size);
    }
    if (!control->gathering || control->has_given[from] || bytes != control->gathering_bytes) {
        snprintf(sentence, sizeof sentence, "rank %d exchanges %zu bytes, another rank %zu", from, bytes,
                 control->gathering_bytes);
        banyan_control_end_group(control, BANYAN_MISMATCH, -1, sentence, sentence);
        return;
    }
    memcpy(control->gathering + (size_t)from * bytes, body, bytes);
    control->has_given[from] = 1;
    if (++control->given < control->size)
        return;
    control->given = 0;
    banyan_control_put_children(control, GATHERED, 0, control->gathering, (size_t)control->size * bytes);
    banyan_control_finish_gather(control, control->gathering, (size_t)control->size * bytes);
}
