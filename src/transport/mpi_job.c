/* SPDX-License-Identifier: Apache-2.0 */
/* transport/mpi_job.c: two of the engine's functions, with sentences. */
#include "transport/mpi_job.h"

#include "transport/plugin.h"

banyan_status banyan_mpi_job_join(const char *mpi, const char *folder, banyan_mpi_job *out, banyan_error *err)
{
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";
    banyan_status status =
        banyan_plugin_load(banyan_plugin_which_mpi(mpi, folder), folder, &out->engine, err);

    if (status)
        return status;
    if (!out->engine->job || !out->engine->gather)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "the engine %s knows no job", out->engine->name);
    status = out->engine->job(&out->rank, &out->size, why);
    return status ? banyan_fail(err, status, "mpi: %s", why) : BANYAN_SUCCESS;
}

banyan_status banyan_mpi_job_gather(const banyan_mpi_job *job, const void *mine, size_t bytes, void *all,
                                    int timeout_ms, banyan_error *err)
{
    char why[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";
    banyan_status status = job->engine->gather(mine, bytes, all, timeout_ms, why);

    return status ? banyan_fail(err, status, "mpi: %s", why) : BANYAN_SUCCESS;
}
