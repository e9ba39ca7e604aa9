/* SPDX-License-Identifier: Apache-2.0 */
/* planner/explain.c: why a plan was chosen, in a sentence. */
#include <math.h>
#include <string.h>

#include "core/show.h"
#include "core/text.h"
#include "planner/planner.h"

static void add_time(banyan_text *text, double seconds)
{
    char buffer[32];

    banyan_text_add(text, "%s", banyan_show_seconds(seconds, buffer, sizeof buffer));
}

static void add_name(banyan_text *text, const banyan_plan *plan)
{
    banyan_text_add(text, "%s", plan->algorithm->name);
    if (plan->variant.key)
        banyan_text_add(text, " (%s %s)", plan->variant.key, plan->variant.value);
}

static void add_limit(banyan_text *text, const banyan_problem *problem, const banyan_plan *plan)
{
    char link[128];

    if (plan->limits.bottleneck >= 0)
        banyan_text_add(
            text, ", limited by link %s",
            banyan_topology_link_name(problem->topology, plan->limits.bottleneck, link, sizeof link));
}

/* Algorithms that apply but were not built, the reason of the first of them: who chose among the others
 * should know. */
static void add_left_out(banyan_text *text, const banyan_plan *plans, int count)
{
    const banyan_plan *first = NULL;

    for (int i = 0; i < count; i++) {
        if (!plans[i].is_left_out)
            continue;
        banyan_text_add(text, "%s", first ? ", " : "; without ");
        add_name(text, &plans[i]);
        first = first ? first : &plans[i];
    }
    if (first)
        banyan_text_add(text, ": %s", first->why_not.text);
}

/* Of a plan that was outrun only the bound is known. */
static double time_of(const banyan_plan *plan)
{
    return plan->schedule ? plan->predicted_s : plan->is_outrun ? plan->least_s : HUGE_VAL;
}

/* The fastest of another algorithm than the best, or count. */
static int find_next(const banyan_plan *plans, int count, int best)
{
    int next = count;

    for (int i = 0; i < count; i++)
        if (plans[i].algorithm != plans[best].algorithm && time_of(&plans[i]) < HUGE_VAL &&
            (next == count || time_of(&plans[i]) < time_of(&plans[next])))
            next = i;
    return next;
}

static void add_other(banyan_text *text, const banyan_problem *problem, const banyan_plan *plan, int is_next)
{
    banyan_text_add(text, "; %s", is_next ? "next " : "");
    add_name(text, plan);
    banyan_text_add(text, plan->schedule ? " " : " at least ");
    add_time(text, time_of(plan));
    add_limit(text, problem, plan);
}

/* The runner-up is the fastest plan of another algorithm; ring is shown because everybody knows it. */
banyan_status banyan_plan_explain(const banyan_problem *problem, const banyan_plan *plans, int count,
                                  int best, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    char size[32];
    int next = find_next(plans, count, best);

    add_name(&text, &plans[best]);
    banyan_text_add(&text, ": %s in ", banyan_show_bytes((double)problem->bytes, size, sizeof size));
    add_time(&text, plans[best].predicted_s);
    add_limit(&text, problem, &plans[best]);
    if (next < count)
        add_other(&text, problem, &plans[next], 1);
    for (int i = 0; i < count; i++)
        if (i != next && i != best && time_of(&plans[i]) < HUGE_VAL &&
            !strcmp(plans[i].algorithm->name, "ring"))
            add_other(&text, problem, &plans[i], 0);
    add_left_out(&text, plans, count);
    return banyan_text_take(&text, out, err);
}
