/* SPDX-License-Identifier: Apache-2.0 */
/* planner/planner.h: from a problem to a plan that is built, proven and predicted, and the choice among
 * plans. */
#ifndef BANYAN_PLANNER_H
#define BANYAN_PLANNER_H

#include "algorithms/algorithms.h"
#include "planner/messages.h"
#include "simulate/simulate.h"
#include "solve/net/work.h"

struct banyan_plan {
    const banyan_algorithm *algorithm;
    banyan_schedule *schedule; /* NULL when the algorithm does not apply */
    banyan_limits limits;
    int has_limits;
    banyan_message_costs costs;
    double least_s;     /* no prediction is lower: the costs, and, if there are limits, the fullest link */
    double network_s;   /* on the links alone, at the problem's size, by the model below */
    double predicted_s; /* the same with what messages cost ranks and links beside (planner/messages.h) */
    int is_paced;       /* for connections that are paced to their shares (simulate/paces.h) */
    const char *model;  /* who predicted: 'fluid', or 'walk' where that would take too long */
    double planning_s;  /* building and proving, CPU time */
    banyan_work work;   /* the solving in it */
    banyan_parameter variant; /* the setting that a patient planner chose; key NULL: none */
    /* It applies, but could not be built: the network is too large, or a solver is missing. */
    int is_left_out;
    int is_outrun; /* it was built, but least_s alone is more than what the choice looks at */
    banyan_error why_not;
    char *explanation; /* why it was chosen among others; the plan's own, NULL where nothing was chosen */
    size_t bytes;      /* the size that was predicted */
};

/* Builds with one algorithm, proves and predicts. PLAN_INVALID if the proof fails: then nothing is given
 * out. */
banyan_status banyan_plan_make(const banyan_algorithm *algorithm, const banyan_problem *problem,
                               banyan_plan *out, banyan_error *err);

/* Every algorithm; those that do not apply say why. Sorted by prediction, the unapplicable last. The caller
 * frees with banyan_plans_destroy. */
banyan_status banyan_plan_all(const banyan_problem *problem, banyan_plan **out, int *count,
                              banyan_error *err);

/* Predictions of real networks are no better than this: plans whose predictions differ by less are told apart
 * by how much they ask of links and ranks. */
#define BANYAN_PLAN_SIMILAR 1.08

/* How 'auto' chooses, in a job and on the command line: how hard it looks unless told, and which of the plans
 * it takes (count: none). usable, where it is given, says whether a schedule can run where it is wanted. */
banyan_effort banyan_plan_default_effort(const banyan_problem *problem);

/* What a user asked for, or that default where text is NULL. Only 'banyan tune' may ask for timed plans. */
banyan_status banyan_plan_read_effort(const char *text, const banyan_problem *problem, banyan_effort *out,
                                      banyan_error *err);
typedef int banyan_plan_usable(const void *context, const banyan_schedule *schedule);
int banyan_plan_best(const banyan_problem *problem, const banyan_plan *plans, int count,
                     banyan_plan_usable *usable, const void *context);

/* What a schedule, of whatever origin, is predicted to take; its own routes do not count. */
banyan_status banyan_plan_predict(const banyan_problem *problem, const banyan_schedule *schedule,
                                  double *seconds, banyan_error *err);

/* How predictions cut the problem's vector, and what messages add to the time on the network: for those who
 * predict a plan at other sizes. */
size_t banyan_plan_slice(const banyan_plan *plan, const banyan_problem *problem);
double banyan_plan_with_messages(double network_s, const banyan_message_costs *costs);

/* The order of banyan_plan_all, for qsort. */
int banyan_plan_order(const void *a, const void *b);

/* The same with the effort chosen; banyan_plan_all measures. */
banyan_status banyan_plan_candidates(const banyan_problem *problem, banyan_effort effort, banyan_plan **out,
                                     int *count, banyan_error *err);

/* The same with a limit: TIMEOUT where banyan_clock_ns() passes deadline_ns (0: never) before the last
 * candidate is made. Which plan is chosen never depends on time. */
banyan_status banyan_plan_candidates_until(const banyan_problem *problem, banyan_effort effort,
                                           int64_t deadline_ns, banyan_plan **out, int *count,
                                           banyan_error *err);

/* For those who want nothing but the choice: candidates of many messages that banyan_plan_best cannot take,
 * since their least_s is too high beside the prediction of a usable one, are neither proven nor predicted:
 * they have no schedule, and is_outrun is set. */
banyan_status banyan_plan_contenders(const banyan_problem *problem, banyan_effort effort, int64_t deadline_ns,
                                     banyan_plan_usable *usable, const void *context, banyan_plan **out,
                                     int *count, banyan_error *err);

/* Predictions above this are not looked at by banyan_plan_best, where the best one is that. */
double banyan_plan_highest_s(double best_s);

/* The algorithms of a list such as 'ring,forest', each once, which the caller frees; NULL, 'auto' and 'all'
 * give NULL and the number of all algorithms. */
banyan_status banyan_plan_select(const char *names, const banyan_algorithm ***out, int *count,
                                 banyan_error *err);

/* The same as banyan_plan_candidates_until of the algorithms that were selected. */
banyan_status banyan_plan_candidates_of(const banyan_problem *problem, banyan_effort effort,
                                        const banyan_algorithm *const *algorithms, int algorithm_count,
                                        int64_t deadline_ns, banyan_plan **out, int *count,
                                        banyan_error *err);

/* Why the best of the sorted plans was chosen, in a sentence: 'forest: 64 MiB in 12.1 ms, limited by link
 * h0->net; next flexreduce 12.4 ms; ring 18.4 ms'. The caller frees *out. */
banyan_status banyan_plan_explain(const banyan_problem *problem, const banyan_plan *plans, int count,
                                  int best, char **out, banyan_error *err);

/* The algorithm of that name; a sentence guesses what was meant. */
banyan_status banyan_plan_find(const char *name, const banyan_algorithm **out, banyan_error *err);

/* The plan of the named algorithm, or, for 'auto', the best one. */
banyan_status banyan_plan_choose(const char *algorithm, const banyan_problem *problem, banyan_plan *out,
                                 banyan_error *err);

/* The same of a named algorithm, predicted as the effort says. */
banyan_status banyan_plan_choose_named(const char *algorithm, const banyan_problem *problem,
                                       banyan_effort effort, banyan_plan *out, banyan_error *err);

/* Whether the algorithm has options for all of the problem's parameters; where many algorithms are asked, the
 * others are asked without. */
int banyan_plan_takes_parameters(const banyan_algorithm *algorithm, const banyan_problem *problem);

void banyan_plan_fini(banyan_plan *plan);
void banyan_plans_destroy(banyan_plan *plans, int count);

#endif
