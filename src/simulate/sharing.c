/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/sharing.c: max-min fair rates, repaired where they changed.
 *
 * When weights change, we take the changed paths and those whose bottleneck is one of their links, and fill
 * these up from zero while all others keep their rates: the link that is full first sets the rate of its
 * paths, then the next one. The answer is right for the whole network if it is right at the rim:
 *
 *   - where a path of ours is held back by a link, no other path on that link may be faster;
 *   - where another path is held back by a link, the link must still be full and that path among its fastest.
 *
 * Paths that break this are taken in, and we fill again. Max-min fair rates are unique, so it does not matter
 * how we come to them. After a few attempts everything connected is taken in, so this ends soon. Cost: the
 * lists of the links that feel the change. */
#include "simulate/sharing.h"

#include <math.h>

#include "core/alloc.h"

#define SLACK 1e-9  /* relative: rates closer than this are equal */
#define PATIENCE 12 /* attempts before everything connected is taken in */

typedef struct {
    double key;
    int link;
} candidate;

struct banyan_sharing {
    const banyan_topology *topology;
    const banyan_paths *paths;

    int *weight, *settled_weight, *bottleneck; /* by path */
    double *rate, *rate_before;
    char *is_dirty;
    int *dirty, dirty_count;

    int *head, *next, *previous, *owner; /* the moving paths of a link, as a list of places (path, hop) */

    int *member, member_count; /* the paths that are being filled */
    unsigned *member_mark, *frozen_mark, mark, frozen;
    int *touched, touched_count; /* their links */
    unsigned *touched_mark, touch;
    double *residual, *level, *peak; /* by link; level: where it held members back, or infinity */
    long *unfrozen;                  /* by link: weight of members not yet frozen */
    candidate *heap;
    int heap_count;
    size_t work;
};

static int allocate(banyan_sharing *s, size_t paths, size_t links, size_t places)
{
    s->weight = banyan_alloc(paths, sizeof *s->weight);
    s->settled_weight = banyan_alloc(paths, sizeof *s->settled_weight);
    s->bottleneck = banyan_alloc(paths, sizeof *s->bottleneck);
    s->rate = banyan_alloc(paths, sizeof *s->rate);
    s->rate_before = banyan_alloc(paths, sizeof *s->rate_before);
    s->is_dirty = banyan_alloc(paths, sizeof *s->is_dirty);
    s->dirty = banyan_alloc(paths, sizeof *s->dirty);
    s->member = banyan_alloc(paths, sizeof *s->member);
    s->member_mark = banyan_alloc(paths, sizeof *s->member_mark);
    s->frozen_mark = banyan_alloc(paths, sizeof *s->frozen_mark);
    s->head = banyan_alloc(links, sizeof *s->head);
    s->next = banyan_alloc(places, sizeof *s->next);
    s->previous = banyan_alloc(places, sizeof *s->previous);
    s->owner = banyan_alloc(places, sizeof *s->owner);
    s->touched = banyan_alloc(links, sizeof *s->touched);
    s->touched_mark = banyan_alloc(links, sizeof *s->touched_mark);
    s->residual = banyan_alloc(links, sizeof *s->residual);
    s->level = banyan_alloc(links, sizeof *s->level);
    s->peak = banyan_alloc(links, sizeof *s->peak);
    s->unfrozen = banyan_alloc(links, sizeof *s->unfrozen);
    s->heap = banyan_alloc(links, sizeof *s->heap);
    return s->weight && s->settled_weight && s->bottleneck && s->rate && s->rate_before && s->is_dirty &&
           s->dirty && s->member && s->member_mark && s->frozen_mark && s->head && s->next && s->previous &&
           s->owner && s->touched && s->touched_mark && s->residual && s->level && s->peak && s->unfrozen &&
           s->heap;
}

banyan_status banyan_sharing_create(const banyan_topology *topology, const banyan_paths *paths,
                                    banyan_sharing **out, banyan_error *err)
{
    banyan_sharing *s = banyan_alloc(1, sizeof *s);

    *out = NULL;
    if (!s)
        return banyan_fail_memory(err);
    s->topology = topology;
    s->paths = paths;
    if (!allocate(s, (size_t)paths->path_count, (size_t)topology->link_count,
                  (size_t)paths->first[paths->path_count])) {
        banyan_sharing_destroy(s);
        return banyan_fail_memory(err);
    }
    for (int i = 0; i < topology->link_count; i++)
        s->head[i] = -1;
    for (int p = 0; p < paths->path_count; p++)
        for (int i = paths->first[p]; i < paths->first[p + 1]; i++)
            s->owner[i] = p;
    *out = s;
    return BANYAN_SUCCESS;
}

void banyan_sharing_destroy(banyan_sharing *s)
{
    if (!s)
        return;
    banyan_free(s->weight);
    banyan_free(s->settled_weight);
    banyan_free(s->bottleneck);
    banyan_free(s->rate);
    banyan_free(s->rate_before);
    banyan_free(s->is_dirty);
    banyan_free(s->dirty);
    banyan_free(s->member);
    banyan_free(s->member_mark);
    banyan_free(s->frozen_mark);
    banyan_free(s->head);
    banyan_free(s->next);
    banyan_free(s->previous);
    banyan_free(s->owner);
    banyan_free(s->touched);
    banyan_free(s->touched_mark);
    banyan_free(s->residual);
    banyan_free(s->level);
    banyan_free(s->peak);
    banyan_free(s->unfrozen);
    banyan_free(s->heap);
    banyan_free(s);
}

static void enter_lists(banyan_sharing *s, int path)
{
    for (int i = s->paths->first[path]; i < s->paths->first[path + 1]; i++) {
        int *head = &s->head[s->paths->link[i]];

        s->previous[i] = -1;
        s->next[i] = *head;
        if (*head >= 0)
            s->previous[*head] = i;
        *head = i;
    }
}

static void leave_lists(banyan_sharing *s, int path)
{
    for (int i = s->paths->first[path]; i < s->paths->first[path + 1]; i++) {
        if (s->previous[i] >= 0)
            s->next[s->previous[i]] = s->next[i];
        else
            s->head[s->paths->link[i]] = s->next[i];
        if (s->next[i] >= 0)
            s->previous[s->next[i]] = s->previous[i];
    }
}

void banyan_sharing_change(banyan_sharing *s, int path, int change)
{
    if (!s->weight[path])
        enter_lists(s, path);
    s->weight[path] += change;
    if (!s->weight[path])
        leave_lists(s, path);
    if (!s->is_dirty[path]) {
        s->is_dirty[path] = 1;
        s->dirty[s->dirty_count++] = path;
    }
}

/* Bandwidth that is neither with frozen members nor with paths outside, for each unit of weight. */
static double level_of(const banyan_sharing *s, int link)
{
    double left = s->residual[link];

    return left > 0 ? left / (double)s->unfrozen[link] : 0;
}

static int comes_before(candidate a, candidate b)
{
    return a.key < b.key || (a.key == b.key && a.link < b.link);
}

static void push(banyan_sharing *s, candidate c)
{
    int i = s->heap_count++;

    for (; i > 0 && comes_before(c, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = c;
}

static candidate pop(banyan_sharing *s)
{
    candidate top = s->heap[0], last = s->heap[--s->heap_count];
    int i = 0, child;

    for (; (child = 2 * i + 1) < s->heap_count; i = child) {
        if (child + 1 < s->heap_count && comes_before(s->heap[child + 1], s->heap[child]))
            child++;
        if (!comes_before(s->heap[child], last))
            break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = last;
    return top;
}

static void add_member(banyan_sharing *s, int path)
{
    if (s->member_mark[path] == s->mark)
        return;
    s->member_mark[path] = s->mark;
    s->rate_before[path] = s->rate[path];
    s->member[s->member_count++] = path;
}

/* What is left of a link for the members, and how many of them there are. */
static void prepare_link(banyan_sharing *s, int link)
{
    s->residual[link] = s->topology->links[link].bytes_per_s;
    s->unfrozen[link] = 0;
    s->level[link] = HUGE_VAL;
    for (int i = s->head[link]; i >= 0; i = s->next[i], s->work++) {
        int path = s->owner[i];

        if (s->member_mark[path] == s->mark)
            s->unfrozen[link] += s->weight[path];
        else
            s->residual[link] -= s->weight[path] * s->rate[path];
    }
}

static void touch_links(banyan_sharing *s)
{
    s->touch++;
    s->touched_count = 0;
    for (int i = 0; i < s->member_count; i++) {
        int path = s->member[i];

        for (int j = s->paths->first[path]; j < s->paths->first[path + 1]; j++) {
            int link = s->paths->link[j];

            if (s->touched_mark[link] == s->touch)
                continue;
            s->touched_mark[link] = s->touch;
            s->touched[s->touched_count++] = link;
            prepare_link(s, link);
        }
    }
}

static void freeze_path(banyan_sharing *s, int path, int link, double level)
{
    s->frozen_mark[path] = s->frozen;
    s->rate[path] = level;
    s->bottleneck[path] = link;
    for (int j = s->paths->first[path]; j < s->paths->first[path + 1]; j++) {
        int other = s->paths->link[j];

        s->residual[other] -= s->weight[path] * level;
        s->unfrozen[other] -= s->weight[path];
    }
}

/* A member that meets no other member needs no queue of links: its narrowest link sets its rate. */
static int fill_lone(banyan_sharing *s, int path)
{
    double level = HUGE_VAL;
    int narrow = -1;

    for (int j = s->paths->first[path]; j < s->paths->first[path + 1]; j++) {
        int link = s->paths->link[j];

        if (s->unfrozen[link] != s->weight[path])
            return 0;
        if (level_of(s, link) < level) {
            level = level_of(s, link);
            narrow = link;
        }
    }
    s->level[narrow] = level;
    freeze_path(s, path, narrow, level);
    return 1;
}

static void fill_many(banyan_sharing *s)
{
    s->heap_count = 0;
    for (int i = 0; i < s->touched_count; i++)
        if (s->unfrozen[s->touched[i]])
            push(s, (candidate){level_of(s, s->touched[i]), s->touched[i]});
    while (s->heap_count > 0) {
        candidate narrow = pop(s);
        int link = narrow.link;

        if (!s->unfrozen[link])
            continue;
        if (level_of(s, link) > narrow.key * (1 + 1e-14)) { /* others were frozen since: look again later */
            push(s, (candidate){level_of(s, link), link});
            continue;
        }
        s->level[link] = narrow.key;
        for (int i = s->head[link]; i >= 0; i = s->next[i], s->work++) {
            int path = s->owner[i];

            if (s->member_mark[path] == s->mark && s->frozen_mark[path] != s->frozen)
                freeze_path(s, path, link, narrow.key);
        }
    }
}

static void fill(banyan_sharing *s)
{
    int left = 0;

    touch_links(s);
    s->frozen++;
    s->work += (size_t)s->touched_count;
    for (int i = 0; i < s->member_count; i++)
        left += !fill_lone(s, s->member[i]);
    if (left)
        fill_many(s);
}

/* Takes in the paths of the link that are not right beside its members' new rates. */
static void mend_link(banyan_sharing *s, int link, int all)
{
    double capacity = s->topology->links[link].bytes_per_s, load = 0, fastest = 0;
    int outsiders = 0, is_full;

    for (int i = s->head[link]; i >= 0; i = s->next[i], s->work++) {
        int path = s->owner[i];

        load += s->weight[path] * s->rate[path];
        fastest = s->rate[path] > fastest ? s->rate[path] : fastest;
        outsiders += s->member_mark[path] != s->mark;
    }
    if (load > s->peak[link] * capacity)
        s->peak[link] = load / capacity;
    if (!outsiders)
        return;
    is_full = load > capacity * (1 - SLACK);
    for (int i = s->head[link]; i >= 0; i = s->next[i]) {
        int path = s->owner[i];

        if (s->member_mark[path] == s->mark)
            continue;
        if (all || s->rate[path] > s->level[link] * (1 + SLACK) ||
            (s->bottleneck[path] == link && (!is_full || s->rate[path] < fastest * (1 - SLACK))))
            add_member(s, path);
    }
}

/* A link is looked at once, however many of its paths have changed. */
static void add_held_back(banyan_sharing *s, int link)
{
    if (s->touched_mark[link] == s->touch)
        return;
    s->touched_mark[link] = s->touch;
    for (int i = s->head[link]; i >= 0; i = s->next[i], s->work++)
        if (s->bottleneck[s->owner[i]] == link)
            add_member(s, s->owner[i]);
}

static void gather_members(banyan_sharing *s)
{
    s->mark++;
    s->touch++;
    s->member_count = 0;
    for (int d = 0; d < s->dirty_count; d++) {
        int path = s->dirty[d];

        s->is_dirty[path] = 0;
        if (s->weight[path] == s->settled_weight[path])
            continue; /* one came as another went */
        s->settled_weight[path] = s->weight[path];
        if (s->weight[path])
            add_member(s, path);
        else
            s->rate[path] = 0;
        for (int j = s->paths->first[path]; j < s->paths->first[path + 1]; j++)
            add_held_back(s, s->paths->link[j]);
    }
    s->dirty_count = 0;
}

int banyan_sharing_settle(banyan_sharing *s, const int **changed)
{
    int attempt = 0, before;

    gather_members(s);
    do {
        before = s->member_count;
        if (!before)
            break;
        fill(s);
        for (int i = 0; i < s->touched_count; i++)
            mend_link(s, s->touched[i], attempt >= PATIENCE);
        attempt++;
    } while (s->member_count > before);
    *changed = s->member;
    return s->member_count;
}

double banyan_sharing_rate(const banyan_sharing *s, int path)
{
    return s->rate[path];
}

double banyan_sharing_rate_before(const banyan_sharing *s, int path)
{
    return s->rate_before[path];
}

const double *banyan_sharing_peak(const banyan_sharing *s)
{
    return s->peak;
}

size_t banyan_sharing_work(const banyan_sharing *s)
{
    return s->work;
}
