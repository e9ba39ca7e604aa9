/* SPDX-License-Identifier: Apache-2.0 */
/* comm/train.c: the door of the training engine. */
#include "core/status.h"

banyan_status banyan_train_create(banyan_train **train, banyan_comm *comm, const banyan_train_config *config)
{
    (void)comm;
    (void)config;
    if (train)
        *train = NULL;
    return BANYAN_UNSUPPORTED;
}

banyan_status banyan_train_register(banyan_train *train, const char *name, void *data, size_t count,
                                    banyan_datatype type, int *tensor)
{
    (void)train;
    (void)name;
    (void)data;
    (void)count;
    (void)type;
    (void)tensor;
    return BANYAN_UNSUPPORTED;
}

banyan_status banyan_train_ready(banyan_train *train, int tensor, void *data)
{
    (void)train;
    (void)tensor;
    (void)data;
    return BANYAN_UNSUPPORTED;
}

banyan_status banyan_train_test(banyan_train *train, int tensor)
{
    (void)train;
    (void)tensor;
    return BANYAN_UNSUPPORTED;
}

banyan_status banyan_train_wait(banyan_train *train, int tensor, int timeout_ms)
{
    (void)train;
    (void)tensor;
    (void)timeout_ms;
    return BANYAN_UNSUPPORTED;
}

#define NOT_YET(name)                                                                                        \
    banyan_status banyan_train_##name(banyan_train *train)                                                   \
    {                                                                                                        \
        (void)train;                                                                                         \
        return BANYAN_UNSUPPORTED;                                                                           \
    }

NOT_YET(commit)
NOT_YET(begin)
NOT_YET(wait_all)
NOT_YET(replan)
NOT_YET(abort)
NOT_YET(destroy)

banyan_status banyan_train_get_stats(banyan_train *train, banyan_train_stats *stats)
{
    (void)train;
    (void)stats;
    return BANYAN_UNSUPPORTED;
}

banyan_status banyan_train_get_plan(banyan_train *train, char *buffer, size_t bytes, size_t *needed)
{
    (void)train;
    (void)buffer;
    (void)bytes;
    (void)needed;
    return BANYAN_UNSUPPORTED;
}

const char *banyan_train_last_error(const banyan_train *train)
{
    (void)train;
    return "";
}
