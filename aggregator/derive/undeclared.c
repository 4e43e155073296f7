/* aggregator/derive/undeclared.c - the group of ops whose traces declare none */
#include "derive/undeclared.h"

#include "base/db.h"
#include "derive/arrival.h"
#include "derive/ends.h"
#include "derive/texts.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDS_MAX (1u << 21)     // of all ranks: 64 MB
#define ENDS_OF_ONE 1024u       // of one rank: enough to tell
#define US_PER_MS 1000.0

/* A capture with ops of no named group. */
struct side {
    size_t item;                // its index, of items and clocks
    int64_t rank;
    uint64_t count, sum;        // of its ops, but for the last step's
    uint64_t last_count;        // and of these
    uint64_t all;
};

struct settling {
    sqlite3 *db;
    const struct roll_item *items;
    size_t n;
    struct side *sides;
    uint32_t nsides, *side_of;  // of an item, or UINT32_MAX
    struct end *ends;
    size_t nends;
    uint64_t every;             // of so many ops one is compared
    double origin_us;           // of the first op: doubles stay exact
    bool device, own, mixed;    // whose ops; whose clocks
    char last[64];              // step in which the profiler stopped, or ""
    double *offset, *residue;   // of each side
    struct ends found;
    char why[256];
};

/* ---- what there is ---- */

static int64_t item_of (const struct settling *s, int64_t capture)
{
    const struct roll_item *item;

    if (capture < 1 || (uint64_t)capture > s->n)
        return -1;
    item = &s->items[capture - 1];
    return item->rank >= 0 && !item->doubt && !item->skip &&
                   strcmp (item->capture.framework, "kineto") == 0
               ? capture - 1 : -1;
}

static const char sides_sql[] =
    "SELECT capture, count(*), min(start_timestamp),"
    " sum(hccl_op_name LIKE 'nccl!_%' ESCAPE '!'),"
    " sum(hccl_op_name LIKE 'gloo!_%' ESCAPE '!')"
    " FROM CommAnalyzerTime WHERE group_name IS NULL GROUP BY capture"
    " ORDER BY capture";

static void add_side (struct settling *s, sqlite3_stmt *st, int64_t item)
{
    int64_t all = sqlite3_column_int64 (st, 1);
    bool device = sqlite3_column_int64 (st, 3) == all;
    bool host = sqlite3_column_int64 (st, 4) == all;
    bool own = s->items[item].capture.started_ns == 0;
    double first = sqlite3_column_double (st, 2);

    s->mixed = s->mixed || (!device && !host) ||
               (s->nsides > 0 && (device != s->device || own != s->own));
    s->device = device;
    s->own = own;
    s->origin_us = s->nsides == 0 || first < s->origin_us ? first
                                                          : s->origin_us;
    s->side_of[item] = s->nsides;
    s->sides[s->nsides++] = (struct side){
        .item = (size_t)item, .rank = s->items[item].rank,
        .all = (uint64_t)all };
    s->every = (uint64_t)all / ENDS_OF_ONE + 1 > s->every
                   ? (uint64_t)all / ENDS_OF_ONE + 1 : s->every;
}

static int find_sides (struct settling *s, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int code, rc = db_prepare (s->db, sides_sql, &st, err);

    while (rc == 0 && (code = sqlite3_step (st)) != SQLITE_DONE) {
        int64_t item;

        if (code != SQLITE_ROW)
            rc = db_error (s->db, "cannot read ops", err);
        else if ((item = item_of (s, sqlite3_column_int64 (st, 0))) >= 0)
            add_side (s, st, item);
    }
    (void)sqlite3_finalize (st);
    while (s->nsides > 0 && ENDS_MAX / s->nsides < ENDS_OF_ONE / s->every)
        s->every *= 2;
    return rc;
}

/* The step in which the profilers stopped: an op that had not ended is not in
 * the trace of a host.
 */
static int find_last (struct settling *s, struct err *err)
{
    static const char sql[] =
        "SELECT step FROM (SELECT DISTINCT step FROM CommAnalyzerTime WHERE"
        " group_name IS NULL) ORDER BY CAST(substr(step, 5) AS INTEGER) DESC";
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (s->db, sql, &st, err);

    if (rc == 0 && sqlite3_step (st) == SQLITE_ROW &&
        sqlite3_column_text (st, 0))
        (void)snprintf (s->last, sizeof (s->last), "%s",
                        (const char *)sqlite3_column_text (st, 0));
    if (rc == 0 && sqlite3_step (st) != SQLITE_ROW)
        s->last[0] = '\0';      // there is no other
    (void)sqlite3_finalize (st);
    return rc;
}

/* ---- the sequences ---- */

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

enum { SEEN_CAPTURE, SEEN_STEP, SEEN_OP, SEEN_START, SEEN_ELAPSE };

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
        key, (uint32_t)(side - s->sides), start / US_PER_MS,
        start / US_PER_MS + elapse };
}

static void take_op (struct settling *s, sqlite3_stmt *st)
{
    int64_t item = item_of (s, sqlite3_column_int64 (st, SEEN_CAPTURE));
    uint64_t key = hash_column (st, SEEN_OP, hash_column (st, SEEN_STEP, 0));
    struct side *side;

    if (item < 0 || s->side_of[item] == UINT32_MAX)
        return;
    side = &s->sides[s->side_of[item]];
    if (is_last (s, st, SEEN_STEP)) {
        side->last_count++;
    } else {
        side->count++;
        side->sum += key;
    }
    take_end (s, side, st, key);
}

/* Sizes are part of the sequence, as far as they are known. */
static void take_size (struct settling *s, sqlite3_stmt *st)
{
    int64_t item = item_of (s, sqlite3_column_int64 (st, SEEN_CAPTURE));
    uint64_t key = hash_column (st, SEEN_OP, hash_column (st, SEEN_STEP, 1));

    if (item >= 0 && s->side_of[item] != UINT32_MAX &&
        !is_last (s, st, SEEN_STEP))
        s->sides[s->side_of[item]].sum += hash_column (st, SEEN_START, key);
}

static int each (struct settling *s, const char *sql,
                 void (*take) (struct settling *s, sqlite3_stmt *st),
                 struct err *err)
{
    sqlite3_stmt *st = NULL;
    int code, rc = db_prepare (s->db, sql, &st, err);

    while (rc == 0 && (code = sqlite3_step (st)) != SQLITE_DONE) {
        if (code == SQLITE_ROW)
            take (s, st);
        else
            rc = db_error (s->db, "cannot read ops", err);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

/* ---- judging ---- */

static bool refuse (struct settling *s, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

static bool refuse (struct settling *s, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    (void)vsnprintf (s->why, sizeof (s->why), fmt, ap);
    va_end (ap);
    return false;
}

static bool same_sequences (struct settling *s)
{
    for (uint32_t i = 1; i < s->nsides; i++) {
        const struct side *a = &s->sides[0], *b = &s->sides[i];

        if (b->rank == s->sides[i - 1].rank)
            return refuse (s, "rank %lld has several captures",
                           (long long)b->rank);
        if (a->count != b->count || a->sum != b->sum ||
            (s->device && a->last_count != b->last_count))
            return refuse (s, "ranks %lld and %lld did not do the same ops, "
                           "of the same sizes, in each step",
                           (long long)a->rank, (long long)b->rank);
    }
    return true;
}

static bool is_one_group (struct settling *s)
{
    const struct ends *e = &s->found;

    if (ends_agree (e, s->device))
        return true;
    if (e->common < 2)
        return refuse (s, "fewer than two ops are on all ranks");
    if (e->off_ms > ends_tolerance_ms (e, s->device))
        return refuse (s, "whatever the offsets of the clocks are, their ends "
                       "are up to %.3f ms apart: %.3f ms would be those of "
                       "one group", e->off_ms,
                       ends_tolerance_ms (e, s->device));
    return refuse (s, "of %zu ops a rank ended before another one came",
                   e->early);
}

/* ---- the group ---- */

static void group_id (const struct settling *s, char id[64],
                      char key[CAPTURE_HASH_MAX])
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i < s->nsides; i++)
        hash = (hash ^ (uint64_t)s->sides[i].rank) *
               UINT64_C (0x100000001b3) + 1;
    (void)snprintf (id, 64, "undeclared:%u:%016llx", s->nsides,
                    (unsigned long long)hash);
    capture_group_hash (id, key);
}

static int put_group (struct settling *s, const char *id, const char *key,
                      struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_execf (
        s->db, err,
        "INSERT INTO CommGroup (id, group_name, group_id, type, size)"
        " SELECT ifnull(max(id), 0)+1, '%s', '%s', 'collective', %u"
        " FROM CommGroup", key, id, s->nsides);

    if (rc == 0)
        rc = db_prepare (s->db, "INSERT INTO CommGroupMember SELECT max(id), "
                                "?1, ?2 FROM CommGroup", &st, err);
    for (uint32_t i = 0; i < s->nsides && rc == 0; i++) {
        (void)sqlite3_bind_int64 (st, 1, i);
        (void)sqlite3_bind_int64 (st, 2, s->sides[i].rank);
        rc = db_run (st, err);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static const char *const op_tables[] = {
    "CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix",
};

static const char was_null[] = "group_name is NULL";
static const char is_known[] = "it is that of all whose ops end together";

/* The ops, and what their captures say of them. */
static int name_ops (struct settling *s, const char *key, struct err *err)
{
    int rc = db_exec (s->db, "CREATE TEMP TABLE side (capture INTEGER PRIMARY "
                             "KEY)", err);

    for (uint32_t i = 0; i < s->nsides && rc == 0; i++)
        rc = db_execf (s->db, err, "INSERT INTO temp.side VALUES (%lld)",
                       (long long)s->sides[i].item + 1);
    for (size_t i = 0; i < sizeof (op_tables) / sizeof (op_tables[0]) &&
                       rc == 0; i++)
        rc = db_execf (s->db, err,
                       "UPDATE %s SET group_name='%s' WHERE group_name IS NULL"
                       " AND capture IN (SELECT capture FROM temp.side)",
                       op_tables[i], key);
    if (rc == 0)
        rc = db_execf (s->db, err,
                       "UPDATE Capture SET reason=replace(reason, '%s', '%s');"
                       "UPDATE Roster SET reason=replace(reason, '%s', '%s');"
                       "DROP TABLE temp.side",
                       was_null, is_known, was_null, is_known);
    return rc;
}

/* How many ranks an op has was not known, and with it what each must move; of
 * some the group may be larger than those that are here.
 */
static int fill_sizes (struct settling *s, const char *key, struct err *err)
{
    return db_execf (
        s->db, err,
        "UPDATE CommAnalyzerBandwidth SET package_size=package_size*CASE WHEN"
        " hccl_op_name LIKE '%%!_allReduce!_!_%%' ESCAPE '!' THEN 2*%.17g WHEN"
        " hccl_op_name LIKE '%%!_reduce!_!_%%' ESCAPE '!' OR"
        " hccl_op_name LIKE '%%!_broadcast!_!_%%' ESCAPE '!' OR type='p2p'"
        " THEN 1 ELSE %.17g END WHERE transit_size IS NULL AND"
        " group_name='%s';"
        "UPDATE CommAnalyzerBandwidth SET transit_size=package_size WHERE"
        " transit_size IS NULL AND group_name='%s'",
        (s->nsides - 1.0) / s->nsides, (s->nsides - 1.0) / s->nsides, key,
        key);
}

/* ---- saying ---- */

static int64_t expected_ranks (struct settling *s)
{
    return db_int (s->db, "SELECT count(*) FROM Roster WHERE expected", 0);
}

static int say (struct settling *s, const char *text, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (s->db, "INSERT INTO Job SELECT printf('note.%03d',"
                                " count(*)), ?1 FROM Job WHERE key GLOB"
                                " 'note.*'", &st, err);

    if (rc == 0) {
        db_bind_text (st, 1, text);
        rc = db_run (st, err);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static int say_group (struct settling *s, struct err *err)
{
    int64_t expected = expected_ranks (s);
    char text[512], few[128] = "";

    if (s->nsides < expected)
        (void)snprintf (few, sizeof (few), "; these are %u of %lld: their "
                        "waits are lower bounds", s->nsides,
                        (long long)expected);
    (void)snprintf (text, sizeof (text), "the traces declare no groups: "
                    "their ops are taken for those of one group of %u ranks, "
                    "since all did the same, and %zu of them end together (to "
                    "%.3f ms, of %.3f ms that one takes)%s", s->nsides,
                    s->found.common, s->found.off_ms, s->found.median_ms, few);
    return say (s, text, err);
}

static int say_refusal (struct settling *s, struct err *err)
{
    char text[512];

    (void)snprintf (text, sizeof (text), "the traces declare no groups, and "
                    "group_name stays NULL, without waits: %s", s->why);
    return say (s, text, err);
}

/* ---- all ---- */

static int accept_group (struct settling *s, struct undeclared_clock *clocks,
                         struct err *err)
{
    char id[64], key[CAPTURE_HASH_MAX];
    bool right = s->own;
    int rc;

    // ends of one clock are not all equal, either
    for (uint32_t i = 0; i < s->nsides; i++)
        right = right || fabs (s->offset[i]) >
                             ends_tolerance_ms (&s->found, s->device);
    group_id (s, id, key);
    rc = put_group (s, id, key, err);
    if (rc == 0)
        rc = name_ops (s, key, err);
    if (rc == 0 && s->nsides == expected_ranks (s))
        rc = fill_sizes (s, key, err);
    for (uint32_t i = 0; i < s->nsides && right; i++)
        clocks[s->sides[i].item] = (struct undeclared_clock){
            s->offset[i], s->residue[i] };
    return rc < 0 ? rc : say_group (s, err);
}

static int judge (struct settling *s, struct undeclared_clock *clocks,
                  struct err *err)
{
    int rc = 0;

    if (s->mixed) {
        (void)refuse (s, "they are of several kinds, or clocks, or their "
                      "times are not those of the ops");
        return say_refusal (s, err);
    }
    if (!s->device)
        rc = find_last (s, err);
    if (rc == 0)
        rc = each (s, "SELECT capture, step, hccl_op_name, start_timestamp, "
                      "elapse_time FROM CommAnalyzerTime WHERE group_name IS "
                      "NULL", take_op, err);
    if (rc == 0)
        rc = each (s, "SELECT capture, step, hccl_op_name, package_size FROM "
                      "CommAnalyzerBandwidth WHERE group_name IS NULL",
                   take_size, err);
    if (rc < 0)
        return rc;
    if (!same_sequences (s))
        return say_refusal (s, err);
    if (!ends_compare (s->ends, s->nends, s->nsides, s->device, s->offset,
                       s->residue, &s->found))
        return err_set (err, ENOMEM, "no memory for groups");
    return is_one_group (s) ? accept_group (s, clocks, err)
                            : say_refusal (s, err);
}

static int settle (struct settling *s, struct undeclared_clock *clocks,
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
    if (rc < 0 || s->nsides < 2)
        return rc;
    for (uint32_t i = 0; i < s->nsides; i++)
        ops += s->sides[i].all;
    s->ends = malloc ((ops < ENDS_MAX ? ops : ENDS_MAX) * sizeof (*s->ends));
    s->offset = calloc (s->nsides, sizeof (*s->offset));
    s->residue = calloc (s->nsides, sizeof (*s->residue));
    if (!s->ends || !s->offset || !s->residue)
        return err_set (err, ENOMEM, "no memory for groups");
    return judge (s, clocks, err);
}

int undeclared_settle (sqlite3 *db, const struct roll_item *items, size_t n,
                       struct undeclared_clock *clocks, struct err *err)
{
    struct settling s = { .db = db, .items = items, .n = n, .every = 1 };
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        clocks[i] = (struct undeclared_clock){ NAN, NAN };
    if (db_int (db, "SELECT count(*) FROM CommGroup WHERE size>0", 1) == 0)
        rc = settle (&s, clocks, err);
    free (s.sides);
    free (s.side_of);
    free (s.ends);
    free (s.offset);
    free (s.residue);
    return rc;
}
