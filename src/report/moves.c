/* SPDX-License-Identifier: Apache-2.0 */
/* report/moves.c: rounds to steps, and the choice of pieces. Cost: a few walks over the transfers. */
#include "report/moves.h"

#include <math.h>

#include "core/alloc.h"

enum { MAX_MOVES = 36000, MAX_PIECES = 2048, MAX_LOADS = 80000, MIN_STEPS = 16 };

/* Marks `keep` of all pieces, evenly spread, and counts in before[p] those below p. */
static void mark_pieces(int *before, int all, int keep)
{
    before[0] = 0;
    for (int64_t p = 0; p < all; p++)
        before[p + 1] = before[p] + (p * keep / all != (p + 1) * keep / all);
}

static int is_kept(const int *before, const banyan_transfer *t)
{
    return before[t->first_piece + t->piece_count] > before[t->first_piece];
}

static size_t count_kept(const banyan_schedule *schedule, const int *before)
{
    size_t count = 0;

    for (size_t i = 0; i < schedule->transfer_count; i++)
        count += (size_t)is_kept(before, &schedule->transfers[i]);
    return count;
}

/* As many pieces as fit. A single piece that does not fit is kept none the less, and cut. */
static int choose_pieces(const banyan_schedule *schedule, int *before)
{
    int keep = schedule->piece_count < MAX_PIECES ? schedule->piece_count : MAX_PIECES;
    double fit = (double)schedule->piece_count * MAX_MOVES / (double)(schedule->transfer_count + 1);

    if (schedule->transfer_count > MAX_MOVES && fit < keep)
        keep = fit < 1 ? 1 : (int)fit;
    mark_pieces(before, schedule->piece_count, keep);
    while (keep > 1 && schedule->transfer_count > MAX_MOVES && count_kept(schedule, before) > MAX_MOVES) {
        keep /= 2;
        mark_pieces(before, schedule->piece_count, keep);
    }
    return keep;
}

static banyan_status keep_moves(const banyan_schedule *schedule, banyan_report_moves *m, banyan_error *err)
{
    int *before = banyan_alloc((size_t)schedule->piece_count + 1, sizeof *before), everything;
    size_t most = schedule->transfer_count < MAX_MOVES ? schedule->transfer_count : MAX_MOVES;

    m->transfers = banyan_alloc(most, sizeof *m->transfers);
    m->pieces = banyan_alloc((size_t)schedule->piece_count, sizeof *m->pieces);
    if (!before || !m->transfers || !m->pieces) {
        banyan_free(before);
        return banyan_fail_memory(err);
    }
    choose_pieces(schedule, before);
    for (int p = 0; p < schedule->piece_count; p++)
        if (before[p + 1] > before[p])
            m->pieces[m->piece_count++] = p;
    everything = schedule->transfer_count <= MAX_MOVES;
    for (size_t i = 0; i < schedule->transfer_count && m->count < most; i++)
        if (everything || is_kept(before, &schedule->transfers[i]))
            m->transfers[m->count++] = i;
    banyan_free(before);
    return BANYAN_SUCCESS;
}

static int count_rounds_per_step(const banyan_report *report)
{
    int links = report->topology->link_count, rounds = report->schedule->round_count;
    int most = MAX_LOADS / (links > 0 ? links : 1);

    if (most < MIN_STEPS)
        most = MIN_STEPS;
    return rounds > most ? (rounds + most - 1) / most : 1;
}

static void measure_steps(const banyan_report *report, banyan_report_moves *m)
{
    const banyan_schedule *schedule = report->schedule;
    size_t links = (size_t)report->topology->link_count;

    for (int step = 0; step < m->step_count; step++)
        m->begin_s[step] = HUGE_VAL;
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        double share = banyan_schedule_share(schedule, t->first_piece, t->piece_count);
        int step = t->round / m->rounds_per_step, path = report->path_of[i];

        for (int j = report->path_first[path]; j < report->path_first[path + 1]; j++)
            m->load[(size_t)step * links + (size_t)report->path_link[j]] += share;
        m->begin_s[step] = fmin(m->begin_s[step], report->predicted->begin_s[i]);
        m->end_s[step] = fmax(m->end_s[step], report->predicted->end_s[i]);
    }
}

static banyan_status keep_steps(const banyan_report *report, banyan_report_moves *m, banyan_error *err)
{
    size_t links = (size_t)report->topology->link_count, steps;

    m->rounds_per_step = count_rounds_per_step(report);
    m->step_count = (report->schedule->round_count + m->rounds_per_step - 1) / m->rounds_per_step;
    steps = (size_t)m->step_count;
    m->load = banyan_alloc(steps * links, sizeof *m->load);
    m->begin_s = banyan_alloc(steps, sizeof *m->begin_s);
    m->end_s = banyan_alloc(steps, sizeof *m->end_s);
    if (!m->load || !m->begin_s || !m->end_s)
        return banyan_fail_memory(err);
    measure_steps(report, m);
    return BANYAN_SUCCESS;
}

banyan_status banyan_report_moves_find(const banyan_report *report, banyan_report_moves *out,
                                       banyan_error *err)
{
    banyan_status status;

    *out = (banyan_report_moves){0};
    status = keep_steps(report, out, err);
    if (!status)
        status = keep_moves(report->schedule, out, err);
    if (status)
        banyan_report_moves_fini(out);
    return status;
}

void banyan_report_moves_fini(banyan_report_moves *moves)
{
    banyan_free(moves->load);
    banyan_free(moves->begin_s);
    banyan_free(moves->end_s);
    banyan_free(moves->transfers);
    banyan_free(moves->pieces);
    *moves = (banyan_report_moves){0};
}
