/* SPDX-License-Identifier: Apache-2.0 */
/* planner/predict.c: the fluid simulator where it takes about a second at the most, else the walk.
 *
 * The limits are counts, not times, so that every machine predicts the same. */
#include "planner/predict.h"

#include "simulate/fluid.h"
#include "simulate/simulate.h"

#define MAX_TRANSFERS 300000
#define MAX_WORK 20000000

banyan_status banyan_predict(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes,
                             size_t slice_bytes, banyan_timeline **out, const char **model, banyan_error *err)
{
    const banyan_fluid_options options = {.slice_bytes = slice_bytes, .work_limit = MAX_WORK};
    banyan_status status = BANYAN_UNSUPPORTED;
    banyan_fluid_result result;

    *out = NULL;
    *model = "fluid";
    if (schedule->transfer_count <= MAX_TRANSFERS)
        status = banyan_fluid(schedule, topology, bytes, &options, &result, err);
    if (!status) {
        *out = result.timeline;
        result.timeline = NULL; /* the caller's now */
        banyan_fluid_fini(&result);
    }
    if (status != BANYAN_UNSUPPORTED)
        return status;
    *model = "walk";
    return banyan_walk(schedule, topology, bytes, slice_bytes, out, err);
}

banyan_status banyan_predict_paced(const banyan_schedule *schedule, const banyan_topology *topology,
                                   size_t bytes, size_t slice_bytes, double *seconds, banyan_error *err)
{
    const banyan_fluid_options options = {.slice_bytes = slice_bytes, .work_limit = MAX_WORK, .is_paced = 1};
    banyan_fluid_result result;
    banyan_status status = banyan_fluid(schedule, topology, bytes, &options, &result, err);

    if (!status) {
        *seconds = result.timeline->total_s;
        banyan_fluid_fini(&result);
    }
    return status;
}
