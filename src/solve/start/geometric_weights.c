/* SPDX-License-Identifier: Apache-2.0 */
/* solve/start/geometric_weights.c: what is left of a cable when all trees are done is lost, and with 64 trees
 * between all pairs of 48 workers a cable is in two or three of them. Trees of weights that fall by some per
 * cent from one to the next have, two and three at a time, sums very near to any width. So each cable plays a
 * game of its own: it is offered one weight after the other, and takes it or not; what it has left in the end
 * it loses. Whoever knows all weights plays that best by
 *
 *     loss(t, left)   = the less of  loss(t + 1, left)  and  fee(t) + loss(t + 1, left - weight(t))
 *     loss(end, left) = left
 *
 * where fees see to it that of all cables as many want a weight as a tree takes: where more do it rises. A
 * tree cannot have just the cables that want it, but it is the cheapest one with what it makes them lose as
 * costs. Cost: trees times (steps of the table + cables), some times over. */
#include "solve/start/geometric_weights.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/scratch.h"

#define STEPS 2048         /* steps of the table of losses, from nothing up to the widest thing */
#define ROUNDED_STEP 1e-6  /* part of a step by which what counts as a whole one may be rounded down */
#define ROW (STEPS + 4)    /* entries of a row: room for all steps, in whole fours */
#define FEE_ROUNDS 16      /* rounds in which fees are found */
#define LATER_FEE_ROUNDS 4 /* rounds once fees are known for weights that are nearly the same */
#define FIRST_FEE 0.3      /* part of its weight that is a tree's first fee */
/* part of its weight by which a fee changes for each tree wanted more than there is */
#define FEE_STEP 0.3
#define MAX_FEE_STEP 0.2   /* part of its weight by which a fee changes at most in a round */
#define WEIGHT_STEP 0.9    /* factor by which lower weights are tried */
#define HALVINGS 25        /* of the interval in which a weight is searched for */
#define LOWEST_WEIGHT 1e-4 /* part of the widest thing below which no weight is tried */
/* share by which all things without a price together may lack what they should have left, before they cost */
#define SPARE 0.1

/* Of the places for trees of a weight and more a part is taken; and each tree weighs as a part of the one
 * before. */
static const struct {
    double choice, fall;
} ways[] = {{0.68, 0.92}, {0.6, 0.91}, {0.65, 0.935}};

_Static_assert(sizeof ways / sizeof *ways == BANYAN_GEOMETRIC_ATTEMPTS, "one way each");

struct banyan_geometric_weights {
    int count, tree_count, tree;
    int used; /* steps of the table: a whole number of fours */
    double *width, *left, *price;
    double *weight, *heaviest, *fee, *wanted; /* per tree */
    double *steps;                            /* per tree: its weight in steps */
    double choice, fall;                      /* as above */
    double mean_price;                        /* of those with one */
    double tree_cost, step, all, rest;
    double
        /* what things without a price lack together of what they should have left, and a little more */
        scarce;
    float *loss;    /* [tree * ROW + left in steps], of one unit of price; one more for the end */
    float *shifted; /* a row of it, behind one that cannot be reached */
    banyan_scratch memory;
};

void banyan_geometric_weights_destroy(banyan_geometric_weights *fit)
{
    if (!fit)
        return;
    banyan_scratch_free(&fit->memory);
    banyan_free(fit);
}

/* What a thing loses of which that many steps are left. */
static double loss_at(const banyan_geometric_weights *fit, int tree, double at)
{
    return (double)fit->loss[(size_t)tree * ROW + (at < STEPS ? (size_t)at : STEPS)];
}

static double loss_of(const banyan_geometric_weights *fit, int tree, double left)
{
    return loss_at(fit, tree, left / fit->step + ROUNDED_STEP);
}

/* now[i] is the less of next[i] and before[i] + fee, four by four. */
static void lose_less(float *restrict now, const float *restrict next, const float *restrict before,
                      float fee, int count)
{
    for (int i = 0; i < count; i += 4)
        for (int k = i; k < i + 4; k++) {
            float taken = before[k] + fee;

            now[k] = taken < next[k] ? taken : next[k];
        }
}

/* As far as the widest of what is left. */
static void set_losses(banyan_geometric_weights *fit)
{
    int used = fit->used;

    for (int i = 0; i < used; i++)
        fit->loss[(size_t)fit->tree_count * ROW + (size_t)i] = (float)(i * fit->step);
    for (int t = fit->tree_count - 1; t >= fit->tree; t--) {
        float *now = fit->loss + (size_t)t * ROW, *next = now + ROW;
        int whole = (int)fmin(used, ceil(fit->weight[t] / fit->step - ROUNDED_STEP)),
            first = whole - whole % 4;

        memcpy(now, next, (size_t)first * sizeof *now);
        memcpy(fit->shifted + ROW, next,
               4 * sizeof *next); /* where the first four begin, some cannot be reached */
        lose_less(now + first, next + first, fit->shifted + ROW - (whole - first), (float)fit->fee[t], 4);
        if (first + 4 < used)
            lose_less(now + first + 4, next + first + 4, next + first + 4 - whole, (float)fit->fee[t],
                      used - first - 4);
    }
}

/* What things want if each could choose for itself, in prices for each tree. */
static void count_wanted(banyan_geometric_weights *fit)
{
    double in_steps = 1 / fit->step;

    for (int t = fit->tree; t < fit->tree_count; t++) {
        fit->wanted[t] = 0;
        fit->steps[t] = fit->weight[t] * in_steps;
    }
    for (int i = 0; i < fit->count; i++) {
        double at = fit->left[i] * in_steps + ROUNDED_STEP;

        for (int t = fit->tree; t < fit->tree_count && fit->price[i] > 0; t++) {
            double rest = at - fit->steps[t];

            if (rest >= 0 && fit->fee[t] + loss_at(fit, t + 1, rest) < loss_at(fit, t + 1, at)) {
                at = rest;
                fit->wanted[t] += fit->price[i];
            }
        }
    }
}

static void find_fees(banyan_geometric_weights *fit, int rounds)
{
    double widest = 0;

    for (int i = 0; i < fit->count; i++)
        widest = fmax(widest, fit->left[i]);
    fit->used = ((int)fmin(STEPS, widest / fit->step + ROUNDED_STEP) / 4 + 1) * 4;
    for (int round = 0; round < rounds; round++) {
        set_losses(fit);
        count_wanted(fit);
        for (int t = fit->tree; t < fit->tree_count; t++) {
            double part = FEE_STEP / (1 + 0.1 * round) * (fit->wanted[t] / fit->tree_cost - 1);

            fit->fee[t] += fit->weight[t] * fmax(-MAX_FEE_STEP, fmin(MAX_FEE_STEP, part));
        }
    }
    set_losses(fit);
}

/* Trees of the weight that all things together have room for. */
static double places_for(const banyan_geometric_weights *fit, double weight)
{
    double places = 0;

    for (int i = 0; i < fit->count; i++)
        places += fit->price[i] * floor(fit->left[i] / weight * (1 + 1e-9));
    return places / fit->tree_cost;
}

/* The heaviest weight of which there are that many places; between least and most. */
static double heaviest_with(const banyan_geometric_weights *fit, double places, double least, double most)
{
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (least + most) / 2;

        *(fit->choice * places_for(fit, middle) < places ? &most : &least) = middle;
    }
    return least;
}

/* The heaviest that each tree can be: of as many trees that are as heavy all things together hold no more
 * than a part. */
static void find_heaviest(banyan_geometric_weights *fit, double widest)
{
    double weight = widest, places = fit->choice * places_for(fit, weight);

    for (int t = 0; t < fit->tree_count; t++) {
        double before = weight;

        for (; places < t + 1 && weight > LOWEST_WEIGHT * widest;
             places = fit->choice * places_for(fit, weight)) {
            before = weight;
            weight *= WEIGHT_STEP;
        }
        if (before > weight) {
            weight = heaviest_with(fit, t + 1, weight, before);
            places = fit->choice * places_for(fit, weight);
        }
        fit->heaviest[t] = weight;
    }
}

/* What trees from the current one on weigh, if it weighs this and each later one a part of the one before. */
static double sum_falling(const banyan_geometric_weights *fit, double first, double part, double *weight)
{
    double sum = 0;

    for (int t = fit->tree; t < fit->tree_count; t++, first *= part) {
        double each = fmin(first, fit->heaviest[t]);

        sum += each;
        if (weight)
            weight[t] = each;
    }
    return sum;
}

/* From some weight on, but no more than most, each is lighter than the one before by the same part, but none
 * heavier than it can be, so that all come to the rate; where they cannot, they fall by less. */
static void choose_weights(banyan_geometric_weights *fit, double rate, double most)
{
    double part = pow(fit->fall, BANYAN_USUAL_TREES / fit->tree_count), least = 0, flat = 1;

    if (sum_falling(fit, most, part, NULL) < rate) {
        for (int i = 0; i < 50; i++) {
            double middle = (part + flat) / 2;

            *(sum_falling(fit, most, middle, NULL) < rate ? &part : &flat) = middle;
        }
        part = flat;
    } else {
        for (int i = 0; i < 50; i++) {
            double first = (least + most) / 2;

            *(sum_falling(fit, first, part, NULL) < rate ? &least : &most) = first;
        }
    }
    fit->rest = sum_falling(fit, most, part, fit->weight);
}

static banyan_status fit_init(banyan_geometric_weights *fit, const banyan_geometric_weights_problem *problem,
                              banyan_error *err)
{
    size_t count = (size_t)problem->count, trees = (size_t)problem->tree_limit;
    double worth = 0, widest = 0, priced = 0;

    fit->choice = ways[problem->attempt].choice;
    fit->fall = ways[problem->attempt].fall;
    fit->count = problem->count;
    fit->tree_count = problem->tree_limit;
    fit->width = banyan_scratch_take(&fit->memory, count, sizeof(double));
    fit->left = banyan_scratch_take(&fit->memory, count, sizeof(double));
    fit->price = banyan_scratch_take(&fit->memory, count, sizeof(double));
    fit->weight = banyan_scratch_take(&fit->memory, trees, sizeof(double));
    fit->heaviest = banyan_scratch_take(&fit->memory, trees, sizeof(double));
    fit->fee = banyan_scratch_take(&fit->memory, trees, sizeof(double));
    fit->wanted = banyan_scratch_take(&fit->memory, trees, sizeof(double));
    fit->steps = banyan_scratch_take(&fit->memory, trees, sizeof(double));
    fit->loss = banyan_scratch_take(&fit->memory, (trees + 1) * ROW, sizeof(float));
    fit->shifted = banyan_scratch_take(&fit->memory, (size_t)2 * ROW, sizeof(float));
    if (fit->memory.failed)
        return banyan_fail_memory(err);
    for (int i = 0; i < ROW; i++)
        fit->shifted[i] = HUGE_VALF;
    for (size_t i = 0; i < count; i++) {
        fit->width[i] = fit->left[i] = problem->width[i];
        fit->price[i] = problem->price[i];
        worth += problem->width[i] * problem->price[i];
        fit->mean_price += problem->price[i];
        priced += problem->price[i] > 0;
        widest = fmax(widest, problem->width[i]);
    }
    fit->mean_price /= fmax(1, priced);
    fit->tree_cost = worth / problem->bound;
    fit->step = widest / STEPS;
    find_heaviest(fit, widest);
    choose_weights(fit, problem->bound * problem->enough, problem->bound * problem->enough);
    fit->all = fit->rest;
    for (size_t t = 0; t < trees; t++)
        fit->fee[t] = FIRST_FEE * fit->weight[t];
    find_fees(fit, FEE_ROUNDS);
    return BANYAN_SUCCESS;
}

banyan_status banyan_geometric_weights_create(const banyan_geometric_weights_problem *problem,
                                              banyan_geometric_weights **out, banyan_error *err)
{
    banyan_geometric_weights *fit = banyan_alloc(1, sizeof *fit);
    banyan_status status = fit ? fit_init(fit, problem, err) : banyan_fail_memory(err);

    *out = NULL;
    if (status)
        banyan_geometric_weights_destroy(fit);
    else
        *out = fit;
    return status;
}

double banyan_geometric_weights_weight(const banyan_geometric_weights *fit)
{
    return fit->tree < fit->tree_count ? fit->weight[fit->tree] : 0;
}

double banyan_geometric_weights_rest(const banyan_geometric_weights *fit)
{
    return fit->rest;
}

double banyan_geometric_weights_left(const banyan_geometric_weights *fit, int thing)
{
    return fit->left[thing];
}

double banyan_geometric_weights_cost(const banyan_geometric_weights *fit, int thing)
{
    double weight = fit->weight[fit->tree], left = fit->left[thing];

    if (left < weight * (1 - 1e-9))
        return -1;
    if (fit->price[thing] <= 0)
        return fit->mean_price * (fmax(0, 1 - left / fit->rest * fit->all / fit->width[thing]) + fit->scarce);
    return fit->price[thing] * fmax(0, 1 + (loss_of(fit, fit->tree + 1, fmax(0, left - weight)) -
                                            loss_of(fit, fit->tree + 1, left)) /
                                               weight);
}

void banyan_geometric_weights_take(banyan_geometric_weights *fit, int thing, double weight)
{
    fit->left[thing] -= weight;
}

/* Whatever has no price of its own costs something once there is little of it: else trees take ever more of
 * it, till those to come have none, though each of them found things that had been spared. */
static void measure_free(banyan_geometric_weights *fit)
{
    double left = 0, width = 0;

    for (int i = 0; i < fit->count; i++)
        if (fit->price[i] <= 0) {
            left += fit->left[i];
            width += fit->width[i];
        }
    fit->scarce = width > 0 && fit->rest > 0 ? fmax(0, 1 + SPARE - left / width * fit->all / fit->rest) : 0;
}

void banyan_geometric_weights_next(banyan_geometric_weights *fit)
{
    fit->rest -= fit->weight[fit->tree++];
    measure_free(fit);
}

void banyan_geometric_weights_reprice(banyan_geometric_weights *fit, int thing, double price)
{
    fit->price[thing] = price;
}

void banyan_geometric_weights_lower(banyan_geometric_weights *fit, double most)
{
    for (int t = fit->tree; t < fit->tree_count; t++) /* as a part of the weight each stays what it was */
        fit->fee[t] /= fit->weight[t];
    choose_weights(fit, fit->rest, most);
    for (int t = fit->tree; t < fit->tree_count; t++)
        fit->fee[t] *= fit->weight[t];
    find_fees(fit, LATER_FEE_ROUNDS);
}
