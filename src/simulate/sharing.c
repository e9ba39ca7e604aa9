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
 * how we come to them. After a few attempts everything connected is taken in, so this ends soon.
 *
 * A link knows the sum of its paths' rates, a list of those that it holds back, and a ceiling that none of
 * its paths exceeds, so the others on it are looked at only where the ceiling says that one may be too fast.
 * Cost: the places (path, hop) of the paths that feel the change. */
#include "simulate/sharing.h"

#include <math.h>

#include "core/alloc.h"

#define SLACK 1e-9  /* relative: rates closer than this are equal */
#define PATIENCE 12 /* attempts before everything connected is taken in */

typedef struct {
    double key;
    int link;
} candidate;

typedef struct {
    int weight, solved_weight;
    int bottleneck;               /* the link that holds it back, or -1 */
    int held_next, held_previous; /* among those that this link holds back */
    unsigned member_mark, frozen_mark;
    int is_dirty;
    double rate;
    double alone; /* bandwidth, if no other path has a link of it; else 0 */
} path_state;

typedef struct {
    double capacity;
    double load;    /* weight times rate of all its paths; while filling, of all but members */
    double ceiling; /* no path on it is faster */
    double peak;
    int path_count; /* places on it, moving or not */
    int head;       /* first place of a moving path, or -1 */
    int held;       /* first path that it holds back, or -1 */

    /* While filling: */
    unsigned touched_mark;
    int member_head; /* first place of a member, or -1 */
    long unfrozen;   /* weight of members not yet frozen */
    double residual; /* bandwidth that is left */
    double level;    /* where it holds members back, or infinity */
    double fastest;  /* of its members */
} link_state;

struct banyan_sharing {
    const banyan_paths *paths;
    path_state *path;
    link_state *link;
    int *next, *previous, *owner, *member_next; /* by place: lists of a link's paths */
    int *dirty, dirty_count;
    int *member, member_count;   /* the paths that are being filled */
    int *touched, touched_count; /* their links */
    unsigned mark, frozen, touch;
    candidate *heap;
    int heap_count;
    size_t work;
};

static int allocate(banyan_sharing *s, size_t paths, size_t links, size_t places)
{
    s->path = banyan_alloc(paths, sizeof *s->path);
    s->link = banyan_alloc(links, sizeof *s->link);
    s->next = banyan_alloc(places, sizeof *s->next);
    s->previous = banyan_alloc(places, sizeof *s->previous);
    s->owner = banyan_alloc(places, sizeof *s->owner);
    s->member_next = banyan_alloc(places, sizeof *s->member_next);
    s->dirty = banyan_alloc(paths, sizeof *s->dirty);
    s->member = banyan_alloc(paths, sizeof *s->member);
    s->touched = banyan_alloc(links, sizeof *s->touched);
    s->heap = banyan_alloc(links, sizeof *s->heap);
    return s->path && s->link && s->next && s->previous && s->owner && s->member_next && s->dirty &&
           s->member && s->touched && s->heap;
}

/* The narrowest of its links, if nobody else has a place on any of them. */
static double find_alone(const banyan_sharing *s, int path)
{
    double narrowest = HUGE_VAL;

    for (int i = s->paths->first[path]; i < s->paths->first[path + 1]; i++) {
        const link_state *link = &s->link[s->paths->link[i]];

        if (link->path_count > 1)
            return 0;
        narrowest = fmin(narrowest, link->capacity);
    }
    return s->paths->first[path] < s->paths->first[path + 1] ? narrowest : 0;
}

banyan_status banyan_sharing_create(const banyan_topology *topology, const banyan_paths *paths,
                                    banyan_sharing **out, banyan_error *err)
{
    banyan_sharing *s = banyan_alloc(1, sizeof *s);

    *out = NULL;
    if (!s)
        return banyan_fail_memory(err);
    s->paths = paths;
    if (!allocate(s, (size_t)paths->path_count, (size_t)topology->link_count,
                  (size_t)paths->first[paths->path_count])) {
        banyan_sharing_destroy(s);
        return banyan_fail_memory(err);
    }
    for (int i = 0; i < topology->link_count; i++)
        s->link[i] = (link_state){.capacity = topology->links[i].bytes_per_s, .head = -1, .held = -1};
    for (int p = 0; p < paths->path_count; p++) {
        s->path[p].bottleneck = -1;
        for (int i = paths->first[p]; i < paths->first[p + 1]; i++) {
            s->owner[i] = p;
            s->link[paths->link[i]].path_count++;
        }
    }
    for (int p = 0; p < paths->path_count; p++)
        s->path[p].alone = find_alone(s, p);
    *out = s;
    return BANYAN_SUCCESS;
}

void banyan_sharing_destroy(banyan_sharing *s)
{
    if (!s)
        return;
    banyan_free(s->path);
    banyan_free(s->link);
    banyan_free(s->next);
    banyan_free(s->previous);
    banyan_free(s->owner);
    banyan_free(s->member_next);
    banyan_free(s->dirty);
    banyan_free(s->member);
    banyan_free(s->touched);
    banyan_free(s->heap);
    banyan_free(s);
}

static void enter_lists(banyan_sharing *s, int path)
{
    for (int i = s->paths->first[path]; i < s->paths->first[path + 1]; i++) {
        link_state *link = &s->link[s->paths->link[i]];

        s->previous[i] = -1;
        s->next[i] = link->head;
        if (link->head >= 0)
            s->previous[link->head] = i;
        link->head = i;
        if (s->path[path].rate > link->ceiling) /* it left and is back at once */
            link->ceiling = s->path[path].rate;
    }
}

static void leave_lists(banyan_sharing *s, int path)
{
    for (int i = s->paths->first[path]; i < s->paths->first[path + 1]; i++) {
        link_state *link = &s->link[s->paths->link[i]];

        if (s->previous[i] >= 0)
            s->next[s->previous[i]] = s->next[i];
        else
            link->head = s->next[i];
        if (s->next[i] >= 0)
            s->previous[s->next[i]] = s->previous[i];
        if (link->head < 0)
            link->load = link->ceiling = 0; /* so that rounding does not add up for ever */
    }
}

static void add_load(banyan_sharing *s, int path, double load)
{
    for (int i = s->paths->first[path]; i < s->paths->first[path + 1]; i++)
        s->link[s->paths->link[i]].load += load;
}

void banyan_sharing_change(banyan_sharing *s, int path, int change)
{
    path_state *p = &s->path[path];

    if (!p->weight)
        enter_lists(s, path);
    p->weight += change;
    if (p->rate > 0)
        add_load(s, path, change * p->rate);
    if (!p->weight)
        leave_lists(s, path);
    if (!p->is_dirty) {
        p->is_dirty = 1;
        s->dirty[s->dirty_count++] = path;
    }
}

static void hold_back(banyan_sharing *s, int path, int link)
{
    path_state *p = &s->path[path];
    int *first = &s->link[link].held;

    p->bottleneck = link;
    p->held_previous = -1;
    p->held_next = *first;
    if (*first >= 0)
        s->path[*first].held_previous = path;
    *first = path;
}

static void let_go(banyan_sharing *s, int path)
{
    path_state *p = &s->path[path];

    if (p->bottleneck < 0)
        return;
    if (p->held_previous >= 0)
        s->path[p->held_previous].held_next = p->held_next;
    else
        s->link[p->bottleneck].held = p->held_next;
    if (p->held_next >= 0)
        s->path[p->held_next].held_previous = p->held_previous;
    p->bottleneck = -1;
}

/* Bandwidth that is neither with frozen members nor with paths outside, for each unit of weight. */
static double level_of(const link_state *link)
{
    return link->residual > 0 ? link->residual / (double)link->unfrozen : 0;
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

/* Members have no share in their links' load until all rates are known. */
static void add_member(banyan_sharing *s, int path)
{
    path_state *p = &s->path[path];

    if (p->member_mark == s->mark)
        return;
    p->member_mark = s->mark;
    let_go(s, path);
    if (p->rate > 0)
        add_load(s, path, -p->weight * p->rate);
    s->member[s->member_count++] = path;
}

static void touch_link(banyan_sharing *s, int number)
{
    link_state *link = &s->link[number];

    link->touched_mark = s->touch;
    link->member_head = -1;
    link->unfrozen = 0;
    link->residual = link->capacity - link->load;
    link->level = HUGE_VAL;
    link->fastest = 0;
    s->touched[s->touched_count++] = number;
}

static void touch_links(banyan_sharing *s)
{
    s->touch++;
    s->touched_count = 0;
    for (int i = 0; i < s->member_count; i++) {
        int path = s->member[i];

        for (int j = s->paths->first[path]; j < s->paths->first[path + 1]; j++, s->work++) {
            link_state *link = &s->link[s->paths->link[j]];

            if (link->touched_mark != s->touch)
                touch_link(s, s->paths->link[j]);
            link->unfrozen += s->path[path].weight;
            s->member_next[j] = link->member_head;
            link->member_head = j;
        }
    }
}

static void freeze_path(banyan_sharing *s, int path, int link, double level)
{
    path_state *p = &s->path[path];

    p->frozen_mark = s->frozen;
    p->rate = level;
    p->bottleneck = link; /* it joins the link's list when all rates are known */
    for (int j = s->paths->first[path]; j < s->paths->first[path + 1]; j++) {
        link_state *other = &s->link[s->paths->link[j]];

        other->residual -= p->weight * level;
        other->unfrozen -= p->weight;
        other->fastest = level > other->fastest ? level : other->fastest;
    }
}

/* A member that meets no other member needs no queue of links: its narrowest link sets its rate. */
static int fill_lone(banyan_sharing *s, int path)
{
    double level = HUGE_VAL;
    int narrow = -1;

    for (int j = s->paths->first[path]; j < s->paths->first[path + 1]; j++) {
        const link_state *link = &s->link[s->paths->link[j]];

        if (link->unfrozen != s->path[path].weight)
            return 0;
        if (level_of(link) < level) {
            level = level_of(link);
            narrow = s->paths->link[j];
        }
    }
    s->link[narrow].level = level;
    freeze_path(s, path, narrow, level);
    return 1;
}

static void fill_many(banyan_sharing *s)
{
    s->heap_count = 0;
    for (int i = 0; i < s->touched_count; i++)
        if (s->link[s->touched[i]].unfrozen)
            push(s, (candidate){level_of(&s->link[s->touched[i]]), s->touched[i]});
    while (s->heap_count > 0) {
        candidate narrow = pop(s);
        link_state *link = &s->link[narrow.link];

        if (!link->unfrozen)
            continue;
        if (level_of(link) > narrow.key * (1 + 1e-14)) { /* others were frozen since: look again later */
            push(s, (candidate){level_of(link), narrow.link});
            continue;
        }
        link->level = narrow.key;
        for (int i = link->member_head; i >= 0; i = s->member_next[i], s->work++)
            if (s->path[s->owner[i]].frozen_mark != s->frozen)
                freeze_path(s, s->owner[i], narrow.link, narrow.key);
    }
}

static void fill(banyan_sharing *s)
{
    int left = 0;

    touch_links(s);
    s->frozen++;
    for (int i = 0; i < s->member_count; i++)
        left += !fill_lone(s, s->member[i]);
    if (left)
        fill_many(s);
}

/* Takes in all paths of the link that are faster than this, and finds out how fast the others are. */
static void take_in_faster(banyan_sharing *s, link_state *link, double limit)
{
    double fastest = 0;

    for (int i = link->head; i >= 0; i = s->next[i], s->work++) {
        path_state *p = &s->path[s->owner[i]];

        if (p->member_mark == s->mark)
            continue;
        if (p->rate > limit)
            add_member(s, s->owner[i]);
        else
            fastest = p->rate > fastest ? p->rate : fastest;
    }
    link->ceiling = fastest;
}

static void take_in_held(banyan_sharing *s, link_state *link)
{
    while (link->held >= 0) {
        add_member(s, link->held); /* which lets it go */
        s->work++;
    }
}

/* Takes in the paths of the link that are not right beside its members' new rates. */
static void mend_link(banyan_sharing *s, link_state *link, int all)
{
    if (all)
        take_in_faster(s, link, -1);
    else if (link->ceiling > link->level * (1 + SLACK))
        take_in_faster(s, link, link->level * (1 + SLACK));
    if (link->held >= 0 &&
        (link->residual > link->capacity * SLACK || s->path[link->held].rate < link->fastest * (1 - SLACK)))
        take_in_held(s, link);
}

/* A link is looked at once, however many of its paths have changed. */
static void gather_held(banyan_sharing *s, int number)
{
    link_state *link = &s->link[number];

    if (link->touched_mark == s->touch)
        return;
    link->touched_mark = s->touch;
    take_in_held(s, link);
}

/* Keeps the paths whose weight is not what it was; those that move no more are let go first, lest they be
 * gathered as somebody's neighbours. */
static void sort_out_dirty(banyan_sharing *s)
{
    int kept = 0;

    for (int d = 0; d < s->dirty_count; d++) {
        int path = s->dirty[d];
        path_state *p = &s->path[path];

        p->is_dirty = 0;
        if (p->weight == p->solved_weight)
            continue; /* one came as another went */
        p->solved_weight = p->weight;
        s->dirty[kept++] = path;
        if (p->weight)
            continue;
        let_go(s, path);
        p->rate = 0;
    }
    s->dirty_count = kept;
}

static void gather_members(banyan_sharing *s)
{
    s->mark++;
    s->touch++;
    s->member_count = 0;
    sort_out_dirty(s);
    for (int d = 0; d < s->dirty_count; d++) {
        int path = s->dirty[d];

        if (s->path[path].weight)
            add_member(s, path);
        for (int j = s->paths->first[path]; j < s->paths->first[path + 1]; j++)
            gather_held(s, s->paths->link[j]);
    }
    s->dirty_count = 0;
}

/* Members take their places in the books of their links. */
static void enter_books(banyan_sharing *s)
{
    for (int i = 0; i < s->member_count; i++) {
        int path = s->member[i];

        hold_back(s, path, s->path[path].bottleneck);
        add_load(s, path, s->path[path].weight * s->path[path].rate);
    }
    for (int i = 0; i < s->touched_count; i++) {
        link_state *link = &s->link[s->touched[i]];

        if (link->fastest > link->ceiling)
            link->ceiling = link->fastest;
        if (link->load > link->peak * link->capacity)
            link->peak = link->load / link->capacity;
    }
}

int banyan_sharing_solve(banyan_sharing *s, const int **changed)
{
    int attempt = 0, before;

    if (!s->dirty_count)
        return 0;
    gather_members(s);
    do {
        before = s->member_count;
        if (!before)
            break;
        fill(s);
        for (int i = 0; i < s->touched_count; i++)
            mend_link(s, &s->link[s->touched[i]], attempt >= PATIENCE);
        attempt++;
    } while (s->member_count > before);
    enter_books(s);
    *changed = s->member;
    return s->member_count;
}

double banyan_sharing_rate(const banyan_sharing *s, int path)
{
    return s->path[path].rate;
}

double banyan_sharing_alone(const banyan_sharing *s, int path)
{
    return s->path[path].alone;
}

void banyan_sharing_use_alone(banyan_sharing *s, int path)
{
    for (int i = s->paths->first[path]; i < s->paths->first[path + 1]; i++) {
        link_state *link = &s->link[s->paths->link[i]];

        link->peak = s->path[path].alone / link->capacity;
    }
}

double banyan_sharing_peak(const banyan_sharing *s, int link)
{
    return s->link[link].peak;
}

size_t banyan_sharing_work(const banyan_sharing *s)
{
    return s->work;
}
