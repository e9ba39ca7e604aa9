/* SPDX-License-Identifier: Apache-2.0 */
/* planner/explain.c: why a plan was chosen, in a sentence. */
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

/* The runner-up is the fastest plan of another algorithm; ring is shown because everybody knows it. */
banyan_status banyan_plan_explain(const banyan_problem *problem, const banyan_plan *plans, int count,
                                  int best, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    char size[32];
    int next = 0;

    add_name(&text, &plans[best]);
    banyan_text_add(&text, ": %s in ", banyan_show_bytes((double)problem->bytes, size, sizeof size));
    add_time(&text, plans[best].predicted_s);
    add_limit(&text, problem, &plans[best]);
    while (next < count && plans[next].schedule && plans[next].algorithm == plans[best].algorithm)
        next++;
    for (int i = next; i < count && plans[i].schedule; i++) {
        if (i != next && (strcmp(plans[i].algorithm->name, "ring") != 0 || i == best))
            continue;
        banyan_text_add(&text, "; %s", i == next ? "next " : "");
        add_name(&text, &plans[i]);
        banyan_text_add(&text, " ");
        add_time(&text, plans[i].predicted_s);
        add_limit(&text, problem, &plans[i]);
    }
    add_left_out(&text, plans, count);
    return banyan_text_take(&text, out, err);
}
