/* SPDX-License-Identifier: Apache-2.0 */
/* core/shared_object.h: the parts of Banyan that lie in shared objects of their own, because they need a
 * library that most processes do without: banyan-NAME.so, found beside the library or the program and loaded
 * when it is asked for. */
#ifndef BANYAN_CORE_SHARED_OBJECT_H
#define BANYAN_CORE_SHARED_OBJECT_H

#include <stddef.h>

#include "core/status.h"

enum { BANYAN_SHARED_OBJECT_PATH_SIZE = 4096 + 64 };

/* Where banyan-NAME.so is, without loading it; 0: nowhere. folder: look only there; "": beside the library,
 * beside the program, and where they were installed. */
int banyan_shared_object_find(const char *name, const char *folder, char *path, size_t size);

/* The same for a shared object that has another name, which others load: libnccl-net-banyan.so. */
int banyan_shared_object_find_file(const char *file, char *path, size_t size);

/* UNSUPPORTED: it is not there (the sentence says that it is built where needs is installed), or it cannot be
 * loaded. A loaded one stays loaded. flags: RTLD_LOCAL or RTLD_GLOBAL. */
banyan_status banyan_shared_object_open(const char *name, const char *folder, const char *needs, int flags,
                                        void **out, banyan_error *err);

#endif
