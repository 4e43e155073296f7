/* aggregator/waits/undeclared.c - find the group of ops whose traces declare
 * none
 *
 * A rank may have several captures, each with its own clock.  The first
 * captures of all ranks are compared, then the second ones, and so on.
 */
#include "waits/undeclared_private.h"

#include "base/texts.h"
#include "store/db_rows.h"
#include "waits/arrival.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDS_MAX (1u << 21)     // of all ranks: 64 MB
#define ENDS_OF_ONE 1024u       // ops of one rank: enough to decide
#define ROUNDS_MAX 64u          // captures of a rank: rows are read for each
#define US_PER_MS 1000.0

/* ---- captures and their facts ---- */

static int64_t item_of (const struct settling *s, int64_t capture)
{
    size_t i = select_place (s->items, s->n, capture);
    const struct select_item *item = &s->items[i];

    return i < s->n && item->rank >= 0 && !item->doubt && !item->skip &&
                   strcmp (item->capture.framework, "kineto") == 0
               ? (int64_t)i : -1;
}

static const char sides_sql[] =
    "SELECT capture, count(*), min(start_timestamp),"
    " sum(hccl_op_name LIKE 'nccl!_%' ESCAPE '!'),"
    " sum(hccl_op_name LIKE 'gloo!_%' ESCAPE '!')"
    " FROM CommAnalyzerTime WHERE group_name IS NULL GROUP BY rank, capture"
    " ORDER BY rank, capture";

static void add_side (struct settling *s, sqlite3_stmt *st, int64_t item)
{
    int64_t all = sqlite3_column_int64 (st, 1);
    bool device = sqlite3_column_int64 (st, 3) == all;
    bool host = sqlite3_column_int64 (st, 4) == all;
    bool own = s->items[item].capture.started_ns == 0;
    double first = sqlite3_column_double (st, 2);
    uint32_t round;
    bool again;

    // without Kineto, NCCL ranges only show when ops were launched
    s->mixed = s->mixed || (!device && !host) || (device && own) ||
               (s->nsides > 0 && (device != s->device || own != s->own));
    s->device = device;
    s->own = own;
    s->origin_us = s->nsides == 0 || first < s->origin_us ? first
                                                          : s->origin_us;
    again = s->nsides > 0 && s->sides[s->nsides - 1].rank ==
                                 s->items[item].rank;
    round = again ? s->sides[s->nsides - 1].round + 1 : 0;
    s->nranks += !again;
    s->nrounds = round + 1 > s->nrounds ? round + 1 : s->nrounds;
    s->side_of[item] = s->nsides;
    s->sides[s->nsides++] = (struct side){
        .item = (size_t)item, .rank = s->items[item].rank, .round = round,
        .who = s->nranks - 1, .all = (uint64_t)all };
    s->every = (uint64_t)all / ENDS_OF_ONE + 1 > s->every
                   ? (uint64_t)all / ENDS_OF_ONE + 1 : s->every;
}

static int find_sides (struct settling *s, struct err *err)
{
    struct db_rows r = db_rows (s->db, err, sides_sql);

    while (db_step (&r)) {
        int64_t item = item_of (s, sqlite3_column_int64 (r.st, 0));

        if (item >= 0)
            add_side (s, r.st, item);
    }
    while (s->nsides > 0 && ENDS_MAX / s->nsides < ENDS_OF_ONE / s->every)
        s->every *= 2;
    return db_end (&r);
}

/* ---- the sequences ---- */

enum { SEEN_CAPTURE, SEEN_STEP, SEEN_OP, SEEN_START, SEEN_ELAPSE };

/* The side of a row; NULL if its capture is not compared. */
static struct side *side_of_row (struct settling *s, sqlite3_stmt *st)
{
    int64_t item = item_of (s, sqlite3_column_int64 (st, SEEN_CAPTURE));
    struct side *side;

    if (item < 0 || s->side_of[item] == UINT32_MAX)
        return NULL;
    side = &s->sides[s->side_of[item]];
    return side->round == s->round ? side : NULL;
}

static int64_t step_number (const char *step)
{
    return strncmp (step, "step", 4) == 0 ? strtoll (step + 4, NULL, 10) : -1;
}

/* The step in which the profiler stopped: a host's trace lacks ops that had not
 * ended.  A single step does not show whether it is that one.
 */
static void take_last (struct settling *s, sqlite3_stmt *st)
{
    const char *step = (const char *)sqlite3_column_text (st, SEEN_STEP);

    if (!step || !side_of_row (s, st))
        return;
    if (s->nsteps == 0 || step_number (step) > step_number (s->last)) {
        (void)snprintf (s->last, sizeof (s->last), "%s", step);
        s->nsteps++;
    } else if (strcmp (step, s->last) != 0) {
        s->nsteps++;
    }
}

static uint64_t hash_column (sqlite3_stmt *st, int column, uint64_t seed)
{
    const char *text = (const char *)sqlite3_column_text (st, column);
    size_t n = (size_t)sqlite3_column_bytes (st, column);

    return (texts_hash (text ? text : "", text ? n : 0) ^ seed) *
           UINT64_C (0x9e3779b97f4a7c15);
}

static bool is_last (const struct settling *s, sqlite3_stmt *st, int column)
{
    const char *step = (const char *)sqlite3_column_text (st, column);

    return s->last[0] && step && strcmp (step, s->last) == 0;
}

static void take_end (struct settling *s, struct side *side, sqlite3_stmt *st,
                      uint64_t key)
{
    const char *op = (const char *)sqlite3_column_text (st, SEEN_OP);
    double start = sqlite3_column_double (st, SEEN_START) - s->origin_us;
    double elapse = sqlite3_column_double (st, SEEN_ELAPSE);

    if (!op || (key >> 20) % s->every != 0 || s->nends == ENDS_MAX ||
        !arrival_is_mutual (op, strlen (op)) || !isfinite (start) ||
        !(elapse >= 0))
        return;
    s->ends[s->nends++] = (struct end){
        key, side->who, start / US_PER_MS,
        start / US_PER_MS + elapse };
}

static void take_op (struct settling *s, sqlite3_stmt *st)
{
    uint64_t key = hash_column (st, SEEN_OP, hash_column (st, SEEN_STEP, 0));
    struct side *side = side_of_row (s, st);

    if (!side)
        return;
    if (is_last (s, st, SEEN_STEP)) {
        side->last_count++;
    } else {
        side->count++;
        side->sum += key;
    }
    take_end (s, side, st, key);
}

/* Sizes are part of the sequence if they are known. */
static void take_size (struct settling *s, sqlite3_stmt *st)
{
    uint64_t key = hash_column (st, SEEN_OP, hash_column (st, SEEN_STEP, 1));
    struct side *side = side_of_row (s, st);

    if (side && !is_last (s, st, SEEN_STEP))
        side->sum += hash_column (st, SEEN_START, key);
}

static int undeclared_each (struct settling *s, const char *sql,
                            void (*take) (struct settling *s, sqlite3_stmt *st),
                            struct err *err)
{
    struct db_rows r = db_rows (s->db, err, sql);

    while (db_step (&r))
        take (s, r.st);
    return db_end (&r);
}

/* ---- judging ---- */

static bool undeclared_refuse (struct settling *s, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

static bool undeclared_refuse (struct settling *s, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    (void)vsnprintf (s->why, sizeof (s->why), fmt, ap);
    va_end (ap);
    return false;
}

static bool same_sequences (struct settling *s)
{
    const struct side *a = settling_side (s, 0);

    for (uint32_t i = 1; i < s->nranks; i++) {
        const struct side *b = settling_side (s, i);

        if (a->count != b->count || a->sum != b->sum ||
            (s->device && a->last_count != b->last_count))
            return undeclared_refuse (
                s,
                "ranks %lld and %lld did not do the same ops, "
                "of the same sizes, in each step",
                (long long)a->rank, (long long)b->rank);
    }
    return true;
}

static bool is_one_group (struct settling *s, const struct ends *e)
{
    if (ends_agree (e, s->device))
        return true;
    if (e->common < 2)
        return undeclared_refuse (s, "fewer than two ops are on all ranks");
    if (e->off_ms > ends_tolerance_ms (e, s->device))
        return undeclared_refuse (
            s,
            "with all clocks aligned, the ranks still end an op up to %.3f ms "
            "apart; ranks of one group would end it within %.3f ms",
            e->off_ms, ends_tolerance_ms (e, s->device));
    return undeclared_refuse (s,
                              "in %zu ops a rank ended before another one "
                              "began",
                              e->early);
}

/* ---- all ---- */

/* Keep the offsets of this round, and the worst results so far. */
static void keep_round (struct settling *s, struct undeclared_clock *clocks,
                        const struct ends *e)
{
    for (uint32_t i = 0; i < s->nranks; i++) {
        clocks[settling_side (s, i)->item] = (struct undeclared_clock){
            s->offset[i], s->residue[i] };
        s->most = fmax (s->most, fabs (s->offset[i]));
    }
    s->found.common += e->common;
    if (e->off_ms >= s->found.off_ms) {
        s->found.off_ms = e->off_ms;
        s->found.median_ms = e->median_ms;
    }
}

/* Compare one capture of each rank.  *one: they form one group. */
static int judge_round (struct settling *s, struct undeclared_clock *clocks,
                        bool *one, struct err *err)
{
    static const char times[] =
        "SELECT capture, step, hccl_op_name, start_timestamp, elapse_time"
        " FROM CommAnalyzerTime WHERE group_name IS NULL";
    static const char sizes[] =
        "SELECT capture, step, hccl_op_name, package_size"
        " FROM CommAnalyzerBandwidth WHERE group_name IS NULL";
    struct ends e;
    int rc = 0;

    s->nends = s->nsteps = 0;
    if (!s->device)
        rc = undeclared_each (s, times, take_last, err);
    if (s->nsteps < 2)
        s->last[0] = '\0';
    if (rc == 0)
        rc = undeclared_each (s, times, take_op, err);
    if (rc == 0)
        rc = undeclared_each (s, sizes, take_size, err);
    if (rc < 0 || !(*one = same_sequences (s)))
        return rc;
    if (!ends_compare (s->ends, s->nends, s->nranks, s->device, s->offset,
                       s->residue, &e))
        return err_set (err, ENOMEM, "no memory for groups");
    if ((*one = is_one_group (s, &e)))
        keep_round (s, clocks, &e);
    return 0;
}

static int undeclared_judge (struct settling *s,
                             struct undeclared_clock *clocks,
                             struct err *err)
{
    bool one = false;
    int rc = 0;

    if (s->mixed)
        (void)undeclared_refuse (
            s, "they are of several kinds or clocks, or do not have the times "
               "of the ops");
    else if (s->nsides != s->nranks * s->nrounds || s->nrounds > ROUNDS_MAX)
        (void)undeclared_refuse (s,
                                 "some ranks have more captures than others");
    else
        one = true;
    for (s->round = 0; s->round < s->nrounds && one && rc == 0; s->round++)
        rc = judge_round (s, clocks, &one, err);
    s->round = 0;
    if (rc == 0 && one)
        return settling_accept (s, clocks, err);
    settling_forget (clocks, s->n);
    return rc < 0 ? rc : settling_refuse (s, err);
}

static int undeclared_resolve (struct settling *s,
                               struct undeclared_clock *clocks,
                               struct err *err)
{
    uint64_t ops = 0;
    int rc;

    s->sides = calloc (s->n + 1, sizeof (*s->sides));
    s->side_of = malloc ((s->n + 1) * sizeof (*s->side_of));
    if (!s->sides || !s->side_of)
        return err_set (err, ENOMEM, "no memory for groups");
    memset (s->side_of, 0xff, (s->n + 1) * sizeof (*s->side_of));
    rc = find_sides (s, err);
    if (rc < 0 || s->nranks < 2)
        return rc;
    for (uint32_t i = 0; i < s->nsides; i++)
        ops += s->sides[i].all;
    s->ends = malloc ((ops < ENDS_MAX ? ops : ENDS_MAX) * sizeof (*s->ends));
    s->offset = calloc (s->nranks, sizeof (*s->offset));
    s->residue = calloc (s->nranks, sizeof (*s->residue));
    if (!s->ends || !s->offset || !s->residue)
        return err_set (err, ENOMEM, "no memory for groups");
    return undeclared_judge (s, clocks, err);
}

int undeclared_settle (sqlite3 *db, const struct select_item *items, size_t n,
                       struct undeclared_clock *clocks, struct err *err)
{
    struct settling s = { .db = db, .items = items, .n = n, .every = 1 };
    int rc = 0;

    settling_forget (clocks, n);
    if (db_int (db, "SELECT count(*) FROM CommGroup WHERE size>0", 1) == 0)
        rc = undeclared_resolve (&s, clocks, err);
    free (s.sides);
    free (s.side_of);
    free (s.ends);
    free (s.offset);
    free (s.residue);
    return rc;
}
