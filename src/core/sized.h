/* SPDX-License-Identifier: Apache-2.0 */
/* core/sized.h: structs of the public headers that may grow: each begins with the size that its user's
 * header knew, so an older program works with a newer library. */
#ifndef BANYAN_CORE_SIZED_H
#define BANYAN_CORE_SIZED_H

#include "core/status.h"

/* How every config begins. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
} banyan_sized_head;

/* Copies the caller's config over *out, which holds the initializer of this library's version: what an
 * older config lacks stays as it is there. given may be NULL. name: of the type, for the sentence. */
banyan_status banyan_sized_read(const void *given, void *out, const char *name, banyan_error *err);

/* Copies as much of *own as the caller's info has room for; size is sizeof *own. */
banyan_status banyan_sized_write(const void *own, size_t size, void *info, const char *name,
                                 banyan_error *err);

/* Copies the caller's struct of pointers into *out, which is size bytes of zeros. */
banyan_status banyan_sized_take(const void *given, void *out, size_t size, const char *name,
                                banyan_error *err);

#endif
