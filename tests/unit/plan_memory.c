/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/plan_memory.c: the calls of plan.h when memory runs out: one sentence, nothing given out,
 * nothing leaked. */
#include <banyan/plan.h>

#include "core/alloc.h"
#include "test.h"

/* One call after the other, as a program makes them; whatever it got is given back. */
static banyan_status use_everything(banyan_error *err)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_topology *topology = NULL, *damaged = NULL;
    banyan_bounds *bounds = NULL;
    banyan_plan *plan = NULL;
    banyan_verdict *verdict = NULL;
    banyan_prediction *prediction = NULL;
    banyan_comparison *comparison = NULL;
    char *text = NULL, *page = NULL;
    banyan_status status = banyan_topology_load("ring:3", &topology, err);

    config.algorithm = "ring";
    if (!status)
        status = banyan_topology_damage(topology, "degrade=g0-g1:0.5", &damaged, err);
    if (!status)
        status = banyan_bounds_create(damaged, NULL, &bounds, err);
    if (!status)
        status = banyan_plan_create(damaged, &config, &plan, err);
    if (!status)
        status = banyan_schedule_verify(banyan_plan_schedule(plan), damaged, &verdict, err);
    if (!status)
        status =
            banyan_schedule_predict(banyan_plan_schedule(plan), damaged, 1 << 20, NULL, &prediction, err);
    if (!status)
        status = banyan_schedule_export(banyan_plan_schedule(plan), damaged, "trace", NULL, &text, err);
    if (!status)
        status = banyan_comparison_create(damaged, &config, &comparison, err);
    if (!status)
        status = banyan_report_create(damaged, &config, NULL, &page, NULL, err);
    banyan_free(page);
    banyan_free(text);
    banyan_comparison_destroy(comparison);
    banyan_prediction_destroy(prediction);
    banyan_verdict_destroy(verdict);
    banyan_plan_destroy(plan);
    banyan_bounds_destroy(bounds);
    banyan_topology_destroy(damaged);
    banyan_topology_destroy(topology);
    return status;
}

TEST(each_allocation_may_fail)
{
    banyan_status status = BANYAN_SYSTEM_ERROR;
    banyan_error err;
    long calls = 0;

    for (; status; calls++) {
        memset(&err, 0, sizeof err);
        banyan_alloc_fail_after(calls);
        status = use_everything(&err);
        banyan_alloc_fail_after(-1);
        if (status && (status != BANYAN_SYSTEM_ERROR || !strstr(err.text, "memory")))
            fail_msg("allocation %ld: status %d, '%s'", calls, (int)status, err.text);
    }
    assert_true(calls > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_may_fail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
