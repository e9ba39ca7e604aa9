/* SPDX-License-Identifier: Apache-2.0 */
/* device/gpu_context.c: how gpu*.c call the driver: in the device's context, and with a sentence for what
 * fails. */
#include "device/gpu_internal.h"

enum { RELAXED = 2 }; /* a thread may allocate while a stream is being captured */

banyan_status banyan_gpu_fail(const gpu *g, int error, const char *what, banyan_error *err)
{
    const char *text = NULL;

    if (g->driver->error_text)
        g->driver->error_text(error, &text);
    return banyan_fail(err, BANYAN_UNHANDLED_CUDA_ERROR, "%s device %d: %s failed with error %d (%s)",
                       g->head.table->name, g->head.ordinal, what, error, text ? text : "no text");
}

/* Every call is made in the device's context, whatever the thread has had before. */
banyan_status banyan_gpu_enter(const gpu *g, banyan_error *err)
{
    int error = g->driver->context_push(g->context);

    return error ? banyan_gpu_fail(g, error, "entering its context", err) : BANYAN_SUCCESS;
}

void banyan_gpu_leave(const gpu *g)
{
    void *context;

    g->driver->context_pop(&context);
}

int banyan_gpu_relax(const gpu *g)
{
    int mode = RELAXED;

    if (g->driver->capture_mode)
        g->driver->capture_mode(&mode);
    return mode;
}

void banyan_gpu_restore(const gpu *g, int mode)
{
    if (g->driver->capture_mode)
        g->driver->capture_mode(&mode);
}
