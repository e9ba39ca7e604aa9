/* SPDX-License-Identifier: Apache-2.0 */
/* core/sized.c: reads and fills structs whose first field is their size. */
#include "core/sized.h"

#include <string.h>

#include <banyan/banyan.h>

static size_t size_of(const void *sized)
{
    size_t size;

    memcpy(&size, sized, sizeof size);
    return size;
}

static banyan_status fail_newer(const char *name, size_t given, size_t own, banyan_error *err)
{
    return banyan_fail(err, BANYAN_VERSION_MISMATCH,
                       "the %s has %zu bytes, this library (version %d) knows %zu: update the library", name,
                       given, BANYAN_VERSION_CODE, own);
}

banyan_status banyan_sized_read(const void *given, void *out, const char *name, banyan_error *err)
{
    banyan_sized_head own, theirs;

    if (!given)
        return BANYAN_SUCCESS;
    memcpy(&own, out, sizeof own);
    memcpy(&theirs, given, sizeof theirs);
    if (theirs.size < sizeof theirs || theirs.magic != own.magic)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the %s does not begin with its initializer", name);
    if (theirs.size > own.size)
        return fail_newer(name, theirs.size, own.size, err);
    memcpy(out, given, theirs.size);
    return BANYAN_SUCCESS;
}

static banyan_status check_size(const void *sized, size_t own, const char *name, banyan_error *err)
{
    if (!sized)
        return banyan_fail_null(name, err);
    if (size_of(sized) < sizeof(size_t))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "size of the %s is %zu: set it to sizeof(%s)", name,
                           size_of(sized), name);
    return size_of(sized) > own ? fail_newer(name, size_of(sized), own, err) : BANYAN_SUCCESS;
}

banyan_status banyan_sized_write(const void *own, size_t size, void *info, const char *name,
                                 banyan_error *err)
{
    banyan_status status = check_size(info, size, name, err);
    size_t theirs;

    if (status)
        return status;
    theirs = size_of(info);
    memcpy((char *)info + sizeof theirs, (const char *)own + sizeof theirs, theirs - sizeof theirs);
    return BANYAN_SUCCESS;
}

banyan_status banyan_sized_take(const void *given, void *out, size_t size, const char *name,
                                banyan_error *err)
{
    banyan_status status = check_size(given, size, name, err);

    if (!status)
        memcpy(out, given, size_of(given));
    return status;
}
