/* aggregator/cluster_db/cluster_part.c - make one big table of
 * cluster_analysis.db
 */
#include "cluster_db/cluster_part.h"

#include "base/units.h"
#include "sums/rank_rows.h"
#include "model/capture.h"
#include "store/db_rows.h"
#include "store/tree.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URI_MAX (3 * PATH_MAX + 64)

/* ---- functions for the statements ---- */

static void sql_take (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct cluster_part *p = sqlite3_user_data (ctx);
    bool taken = p->table->take (p, argv);

    (void)argc;
    if (p->no_memory)
        sqlite3_result_error_nomem (ctx);
    else
        sqlite3_result_int (ctx, taken);
}

static void sql_group (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const struct cluster_part *p = sqlite3_user_data (ctx);

    (void)argc;
    (void)argv;
    sqlite3_result_text (ctx, cluster_groups_at (p->groups, p->group)->name, -1,
                         SQLITE_STATIC);
}

static void sql_step (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const struct cluster_part *p = sqlite3_user_data (ctx);

    (void)argc;
    (void)argv;
    sqlite3_result_text (ctx, texts_at (&p->steps, p->step), -1, SQLITE_STATIC);
}

/* link_end(0), link_end(1): the global ranks of a link. */
static void sql_link_end (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const struct cluster_part *p = sqlite3_user_data (ctx);

    (void)argc;
    sqlite3_result_double (ctx, sqlite3_value_int (argv[0]) ? p->dst : p->src);
}

static void sql_transport (sqlite3_context *ctx, int argc,
                           sqlite3_value **argv)
{
    const struct cluster_part *p = sqlite3_user_data (ctx);

    (void)argc;
    (void)argv;
    sqlite3_result_text (ctx, p->transport, -1, SQLITE_STATIC);
}

static void sql_needs_sanitizing (sqlite3_context *ctx, int argc,
                                  sqlite3_value **argv)
{
    const struct cluster_part *p = sqlite3_user_data (ctx);

    (void)argc;
    (void)argv;
    sqlite3_result_int (ctx, p->needs_sanitizing);
}

/* clean(name), clean_step(name). */
static void sql_clean (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const char *text = (const char *)sqlite3_value_text (argv[0]);
    size_t n = text ? (size_t)sqlite3_value_bytes (argv[0]) : 0;
    size_t max = sqlite3_user_data (ctx) ? CLUSTER_STEP_MAX : CLUSTER_NAME_MAX;
    char name[CLUSTER_NAME_SIZE];

    (void)argc;
    if (!text)
        return;
    cluster_clean (text, n, max, name);
    sqlite3_result_text (ctx, name, -1, SQLITE_TRANSIENT);
}

/* ratio(part, rest) and rate(MB, ms): NULL if an argument is not known. */
static void sql_ratio (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    double (*fn) (double, double) = sums_ratio;

    (void)argc;
    if (sqlite3_user_data (ctx))
        fn = sums_rate;
    if (sqlite3_value_type (argv[0]) != SQLITE_NULL &&
        sqlite3_value_type (argv[1]) != SQLITE_NULL)
        sqlite3_result_double (ctx, fn (sqlite3_value_double (argv[0]),
                                        sqlite3_value_double (argv[1])));
}

static void sql_round4 (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3_result_double (ctx, sums_round4 (sqlite3_value_double (argv[0])));
}

static int add_functions (struct cluster_part *p, struct err *err)
{
    const struct {
        const char *name;
        int args;
        void *data;
        void (*fn) (sqlite3_context *, int, sqlite3_value **);
    } list[] = {
        { "take", p->table->take_args, p, sql_take },
        { "group_taken", 0, p, sql_group },
        { "step_taken", 0, p, sql_step },
        { "link_end", 1, p, sql_link_end },
        { "link_transport", 0, p, sql_transport },
        { "needs_sanitizing", 0, p, sql_needs_sanitizing },
        { "clean", 1, NULL, sql_clean },
        { "clean_step", 1, p, sql_clean },
        { "ratio", 2, NULL, sql_ratio },
        { "rate", 2, p, sql_ratio },
        { "round4", 1, NULL, sql_round4 },
    };

    for (size_t i = 0; i < sizeof (list) / sizeof (list[0]); i++) {
        if (sqlite3_create_function (p->db, list[i].name, list[i].args,
                                     SQLITE_UTF8, list[i].data, list[i].fn,
                                     NULL, NULL) != SQLITE_OK)
            return db_error (p->db, "cannot add functions", err);
    }
    return 0;
}

/* ---- rows ---- */

static uint32_t group_of (struct cluster_part *p, sqlite3_value *group)
{
    const char *name = (const char *)sqlite3_value_text (group);
    size_t n = name ? (size_t)sqlite3_value_bytes (group) : 0;
    unsigned i = n > 0 ? (unsigned)texts_hash (name, n) % CLUSTER_LOOKUPS : 0;

    if (n == 0)
        return CLUSTER_GROUP_NONE;
    if (n >= sizeof (p->lookups[i].name))
        return cluster_groups_find (p->groups, name, n, p->rank);
    if (strcmp (p->lookups[i].name, name) != 0) {
        memcpy (p->lookups[i].name, name, n + 1);
        p->lookups[i].group = cluster_groups_find (p->groups, name, n,
                                                   p->rank);
    }
    return p->lookups[i].group;
}

/* Most rows have the same step as the row before. */
static bool set_step (struct cluster_part *p, sqlite3_value *step)
{
    const char *text = (const char *)sqlite3_value_text (step);
    char name[CLUSTER_NAME_SIZE];

    text = text && *text ? text : CLUSTER_STEP;
    if (strcmp (p->step_text, text) == 0)
        return true;
    cluster_step (p->known_steps, text, name);
    p->step = texts_intern (&p->steps, name, strlen (name));
    p->no_memory = p->no_memory || p->step == TEXTS_NONE;
    p->step_text[0] = '\0';
    if (strlen (text) < sizeof (p->step_text))
        memcpy (p->step_text, text, strlen (text) + 1);
    return !p->no_memory;
}

bool cluster_part_take (struct cluster_part *p, sqlite3_value *rank,
                        sqlite3_value *op, sqlite3_value *group,
                        sqlite3_value *step)
{
    const char *name = (const char *)sqlite3_value_text (op);

    if (sqlite3_value_type (rank) == SQLITE_NULL ||
        sqlite3_value_int64 (rank) != p->rank || !name ||
        strcmp (name, CLUSTER_TOTAL) == 0 || !set_step (p, step))
        return false;
    p->needs_sanitizing = !cluster_is_clean (name,
                                             (size_t)sqlite3_value_bytes (op),
                                             CLUSTER_NAME_MAX);
    p->group = group_of (p, group);
    p->used[p->group] = 1;
    if (p->group == CLUSTER_GROUP_NONE)
        p->strays[p->rank / 8] |= (uint8_t)(1u << p->rank % 8);
    return true;
}

/* ---- totals ---- */

void *cluster_part_sum (struct cluster_part *p, struct map *m, uint64_t b,
                        uint64_t c, bool *is_new)
{
    const struct cluster_key key = {
        { (uint64_t)p->step << 32 | p->group, b, c } };
    void *sum = map_put (m, &key, is_new);

    p->no_memory = p->no_memory || !sum;
    return sum;
}

static uint32_t key_step (const struct cluster_key *k)
{
    return (uint32_t)(k->word[0] >> 32);
}

static uint32_t key_group (const struct cluster_key *k)
{
    return (uint32_t)k->word[0];
}

static int64_t step_number (const char *step)
{
    int64_t n = -1;

    (void)units_int (step + strlen (CLUSTER_STEP), 0, INT64_MAX, &n);
    return n;
}

static int compare_steps (const struct texts *steps, uint32_t a, uint32_t b)
{
    int64_t x = step_number (texts_at (steps, a));
    int64_t y = step_number (texts_at (steps, b));

    if (x != y)
        return x < y ? -1 : 1;
    return strcmp (texts_at (steps, a), texts_at (steps, b));
}

static int compare_keys (const void *pa, const void *pb, void *arg)
{
    const struct cluster_part *p = arg;
    const struct cluster_key *a = pa, *b = pb;
    uint32_t x = key_step (a), y = key_step (b);

    if (x != y)
        return compare_steps (&p->steps, x, y);
    for (unsigned i = 0; i < 3; i++) {
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    }
    return 0;
}

static void bind_key (struct cluster_part *p, const struct cluster_key *k)
{
    (void)db_bind (p->total, DB_VALUES (
                       p->rank, texts_at (&p->steps, key_step (k)),
                       cluster_groups_at (p->groups, key_group (k))->name));
}

int cluster_part_totals (struct cluster_part *p,
                         void (*bind) (struct cluster_part *p,
                                       const void *sum),
                         struct err *err)
{
    int rc = 0;

    if (p->sums.n > 0)
        qsort_r (p->sums.records, p->sums.n, p->sums.size, compare_keys, p);
    for (uint32_t i = 0; i < p->sums.n && rc == 0; i++) {
        const void *sum = map_at (&p->sums, i);

        bind_key (p, sum);
        bind (p, sum);
        rc = db_run (p->total, err);
    }
    return rc;
}

void cluster_part_bind_sum (struct cluster_part *p, int i, const struct sum *s)
{
    if (s->known)
        (void)sqlite3_bind_double (p->total, i, s->value);
    else
        (void)sqlite3_bind_null (p->total, i);
}

/* ---- the table ---- */

/* Write a path as a URI, with special characters escaped.  Nobody writes the
 * file, so it is opened without locks, which remote file systems may lack.
 */
static int write_uri (char out[URI_MAX], const char *path)
{
    bool held = tree_is_held (path);
    size_t n = (size_t)sprintf (out, "file:");

    for (; *path; path++) {
        if (isalnum ((unsigned char)*path) || strchr ("/._-", *path))
            out[n++] = *path;
        else
            n += (size_t)sprintf (out + n, "%%%02X", (unsigned char)*path);
    }
    n += (size_t)sprintf (out + n, "?immutable=1&mode=ro");
    if (held)                   // else it is opened as the main file is
        n += (size_t)sprintf (out + n, "&vfs=%s", db_held_vfs ());
    return (int)n;
}

int cluster_part_open (const char *path, const char *analysis_db,
                       const atomic_bool *cancel, sqlite3 **ret,
                       struct err *err)
{
    char uri[URI_MAX];
    int rc;

    if (db_open (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                           SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI,
                 ret) != SQLITE_OK)
        return db_error (*ret, path, err);
    db_cancel (*ret, cancel);
    rc = db_exec (*ret, "PRAGMA page_size=32768;PRAGMA auto_vacuum=NONE;"
                        "PRAGMA encoding='UTF-8';PRAGMA journal_mode=OFF;"
                        "PRAGMA synchronous=OFF;PRAGMA locking_mode=EXCLUSIVE;"
                        "PRAGMA secure_delete=OFF;PRAGMA cache_size=-16384",
                  err);
    (void)write_uri (uri, analysis_db);
    return rc < 0 ? rc : db_execf (*ret, err, "ATTACH %Q AS a", uri);
}

static int take_rank (void *arg, const struct rank_rows *rows,
                      struct err *err)
{
    struct cluster_part *p = arg;
    int rc;

    if (rows->rank >= CAPTURE_WORLD_MAX)
        return 0;
    p->rank = rows->rank;
    memset (p->lookups, 0, sizeof (p->lookups));
    map_clear (&p->sums);
    if ((rc = db_put (p->insert, err, rows->first, rows->last)) < 0)
        return rc;
    return p->table->finish (p, err);
}

static int cluster_part_fill (struct cluster_part *p, struct err *err)
{
    const struct cluster_table *t = p->table;
    char source[64];
    int rc = db_prepare (p->db, t->insert, &p->insert, err);

    (void)snprintf (source, sizeof (source), "a.%s", t->source);
    if (rc == 0)
        rc = db_prepare (p->db, t->insert_total, &p->total, err);
    if (rc == 0)
        rc = rank_rows_each (p->db, source, take_rank, p, err);
    (void)sqlite3_finalize (p->insert);
    (void)sqlite3_finalize (p->total);
    p->insert = p->total = NULL;
    return rc;
}

int cluster_part_make (struct cluster_part *p, const char *path,
                       const char *analysis_db, const atomic_bool *cancel,
                       struct err *err)
{
    const struct cluster_table *t = p->table;
    int rc = cluster_part_open (path, analysis_db, cancel, &p->db, err);

    if (rc < 0)
        return rc;
    p->sums = (struct map){ .words = 3, .size = t->sum_bytes };
    p->state = calloc (1, t->state_bytes + 1);
    p->used = calloc (cluster_groups_count (p->groups), 1);
    p->strays = calloc (CAPTURE_WORLD_MAX / 8, 1);
    if (!p->state || !p->used || !p->strays)
        return err_set (err, ENOMEM, "no memory for %s", t->name);
    if ((rc = add_functions (p, err)) < 0 ||
        (rc = db_exec (p->db, "BEGIN", err)) < 0 ||
        (rc = db_exec (p->db, t->create, err)) < 0 ||
        (rc = cluster_part_fill (p, err)) < 0)
        return rc;
    if (t->finish_table && (rc = t->finish_table (p, err)) < 0)
        return rc;
    rc = db_exec (p->db, t->index, err);
    return rc < 0 ? rc : db_exec (p->db, "COMMIT", err);
}

void cluster_part_close (struct cluster_part *p)
{
    (void)sqlite3_close (p->db);
    p->db = NULL;
}

void cluster_part_fini (struct cluster_part *p)
{
    cluster_part_close (p);
    if (p->state && p->table->fini)
        p->table->fini (p->state);
    free (p->state);
    free (p->used);
    free (p->strays);
    texts_fini (&p->steps);
    map_fini (&p->sums);
}
