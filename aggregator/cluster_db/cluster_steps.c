/* aggregator/cluster_db/cluster_steps.c - the small tables of
 * cluster_analysis.db */
#include "cluster_db/cluster_steps.h"

#include "base/buf.h"
#include "base/units.h"
#include "cluster_db/cluster_names.h"
#include "cluster_db/parallel_layout.h"
#include "model/capture.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ARGS "distributed_args."        // before a size's name in CaptureInfo
#define TEXT_MAX (2u << 20)     // bytes: the ranks of a stage

static const char tables_sql[] =
    "CREATE TABLE ClusterStepTraceTime (step TEXT, type TEXT, \"index\" TEXT,"
    " computing NUMERIC, communication_not_overlapped NUMERIC,"
    " overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC,"
    " bubble NUMERIC, communication_not_overlapped_and_exclude_receive NUMERIC,"
    " preparing NUMERIC, dp_index INTEGER, pp_index INTEGER,"
    " tp_index INTEGER);"
    "CREATE TABLE HostInfo (hostUid TEXT, hostName TEXT);"
    "CREATE TABLE RankDeviceMap (rankId INTEGER, deviceId INTEGER,"
    " hostUid TEXT, profilePath TEXT);"
    "CREATE TEMP TABLE Place (rank INTEGER PRIMARY KEY, dp INTEGER,"
    " pp INTEGER, tp INTEGER, stage INTEGER);"
    "CREATE TEMP TABLE Stage (stage INTEGER PRIMARY KEY, ranks TEXT);";

/* ---- sizes of the parallel dimensions ---- */

struct args {
    struct parallel_sizes sizes;
    int sequence;               // 0, 1; -1: not known
};

static const struct {
    const char *name;
    size_t at;                  // in struct parallel_sizes
} dimensions[] = {
    { "tensor_model_parallel_size", offsetof (struct parallel_sizes, tensor) },
    { "pipeline_model_parallel_size",
      offsetof (struct parallel_sizes, pipeline) },
    { "data_parallel_size", offsetof (struct parallel_sizes, data) },
    { "context_parallel_size", offsetof (struct parallel_sizes, context) },
    { "expert_model_parallel_size",
      offsetof (struct parallel_sizes, expert) },
    { "world_size", offsetof (struct parallel_sizes, world) },
};

#define DIMENSIONS (sizeof (dimensions) / sizeof (dimensions[0]))
#define SEQUENCE "sequence_parallel"

static int64_t *size_at (struct parallel_sizes *s, size_t i)
{
    return (int64_t *)((char *)s + dimensions[i].at);
}

static void take_arg (struct args *a, const char *name, const char *value)
{
    if (strcmp (name, SEQUENCE) == 0)
        a->sequence = strcasecmp (value, "true") == 0    ? 1
                      : strcasecmp (value, "false") == 0 ? 0 : -1;
    for (size_t i = 0; i < DIMENSIONS; i++) {
        if (strcmp (name, dimensions[i].name) == 0)
            (void)units_int (value, 1, INT32_MAX, size_at (&a->sizes, i));
    }
}

static bool has_all (struct args *a)
{
    bool all = a->sequence >= 0;

    for (size_t i = 0; i < DIMENSIONS; i++)
        all = all && *size_at (&a->sizes, i) > 0;
    return all;
}

/* Take the sizes from the first rank that knows all of them, or else from the
 * first that knows any.
 */
static int read_args (sqlite3 *db, struct args *ret, struct err *err)
{
    struct args now = { .sequence = -1 }, first = now;
    struct db_rows r = db_rows (db, err,
        "SELECT rank, substr(name, 18), value FROM a.CaptureInfo WHERE "
        "kind='metadata' AND substr(name, 1, 17)='" ARGS "' AND value IS NOT "
        "NULL AND rank IS NOT NULL ORDER BY rank, capture, rowid");
    int64_t rank = -1, next;
    const char *name, *value;

    while (db_row (&r, next, name, value)) {
        if (next != rank) {
            if (has_all (&now))
                break;
            if (first.sizes.world == 0)
                first = now;
            now = (struct args){ .sequence = -1 };
            rank = next;
        }
        take_arg (&now, name, value);
    }
    *ret = has_all (&now) || first.sizes.world == 0 ? now : first;
    return db_end (&r);
}

/* Write nothing unless all sizes are known: viewers take missing ones for
 * zeros.
 */
static int write_base (sqlite3 *db, struct args *a, struct err *err)
{
    struct buf text;
    int rc;

    if (!has_all (a))
        return 0;
    buf_init (&text, 4096);
    for (size_t i = 0; i < DIMENSIONS; i++) {
        if (i + 1 == DIMENSIONS)
            buf_printf (&text, ", \"" SEQUENCE "\": %s",
                        a->sequence ? "true" : "false");
        buf_printf (&text, "%s\"%s\": %lld", i ? ", " : "", dimensions[i].name,
                    (long long)*size_at (&a->sizes, i));
    }
    rc = db_execf (db, err, "CREATE TABLE ClusterBaseInfo (key TEXT, value "
                   "TEXT);INSERT INTO ClusterBaseInfo VALUES "
                   "('distributed_args', '{%q}')", buf_text (&text));
    buf_fini (&text);
    return rc;
}

/* ---- places of ranks ---- */

static int find_stages (const struct cluster_groups *groups,
                        struct stages *stages, struct err *err)
{
    size_t n = cluster_groups_count (groups);
    struct parallel_group *list = calloc (n, sizeof (*list));
    int rc;

    if (!list)
        return err_set (err, ENOMEM, "no memory for stages");
    for (size_t i = 1; i < n; i++) {
        const struct cluster_group *g = cluster_groups_at (groups,
                                                           (uint32_t)i);

        if (g->ranks)           // numbers may have gaps
            list[i] = (struct parallel_group){ g->pg_name,
                                               strcmp (g->type, "p2p") == 0,
                                               g->ranks, g->nranks };
        else
            list[i].pg_name = "";
    }
    list[0].pg_name = "";
    rc = stages_find (list, n, stages, err);
    free (list);
    return rc;
}

/* For each stage the ranks in it: 'next' is the next rank of the same one. */
static int32_t *link_stages (const struct stages *s)
{
    int32_t *next = malloc (2 * ((size_t)s->nranks + 1) * sizeof (*next));
    int32_t *first = next + s->nranks;

    for (uint32_t r = 0; next && r < s->nranks; r++)
        first[r] = -1;
    for (uint32_t r = s->nranks; next && r-- > 0;) {
        if (s->of[r] < 0)
            continue;
        next[r] = first[s->of[r]];
        first[s->of[r]] = (int32_t)r;
    }
    return next;
}

static int put_stage_texts (sqlite3 *db, const struct stages *s,
                            struct err *err)
{
    int32_t *next = link_stages (s);
    sqlite3_stmt *st = NULL;
    struct buf text;
    int rc = db_prepare (db, "INSERT INTO Stage VALUES (?1, ?2)", &st, err);

    buf_init (&text, TEXT_MAX);
    for (uint32_t top = 0; next && top < s->nranks && rc == 0; top++) {
        if (s->of[top] != (int32_t)top)
            continue;
        buf_clear (&text);
        for (int32_t r = (int32_t)top; r >= 0; r = next[r])
            buf_printf (&text, "%c%d", r > (int32_t)top ? ',' : '(', r);
        buf_put (&text, ")", 1);
        rc = db_put (st, err, top, buf_text (&text));
        if (text.failed)
            rc = -ENOMEM;
    }
    if (!next || rc == -ENOMEM)
        rc = err_set (err, ENOMEM, "no memory for stages");
    (void)sqlite3_finalize (st);
    buf_fini (&text);
    free (next);
    return rc;
}

static int put_places (sqlite3 *db, struct args *a, const struct stages *s,
                       struct err *err)
{
    int64_t highest = db_int (db, "SELECT max(rank) FROM a.StepTraceTime", -1);
    bool usable = parallel_usable (&a->sizes, highest);
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, "INSERT INTO Place VALUES (?1,?2,?3,?4,?5)", &st,
                         err);

    for (int64_t r = 0; r <= highest && r < CAPTURE_WORLD_LIMIT && rc == 0;
         r++) {
        struct parallel_index x = { 0, 0, 0 };
        bool staged;

        if (usable)
            x = parallel_of (&a->sizes, r);
        staged = s->any && r < s->nranks && s->of[r] >= 0;
        rc = db_put (st, err, r, x.data, x.pipeline, x.tensor,
                     db_known (staged, staged ? s->of[r] : 0));
    }
    (void)sqlite3_finalize (st);
    return rc;
}

/* ---- tables ---- */

/* clean(name), clean_step(name): as viewers accept it; NULL is NULL. */
static void sql_clean (sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const char *text = (const char *)sqlite3_value_text (argv[0]);
    const size_t *max = sqlite3_user_data (ctx);
    char name[CLUSTER_NAME_SIZE];

    (void)argc;
    if (!text)
        return;
    cluster_clean (text, (size_t)sqlite3_value_bytes (argv[0]), *max, name);
    sqlite3_result_text (ctx, name, -1, SQLITE_TRANSIENT);
}

static int add_functions (sqlite3 *db, struct err *err)
{
    static size_t name_max = CLUSTER_NAME_MAX, step_max = CLUSTER_STEP_MAX;
    int code = sqlite3_create_function (db, "clean", 1, SQLITE_UTF8, &name_max,
                                        sql_clean, NULL, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_create_function (db, "clean_step", 1, SQLITE_UTF8,
                                        &step_max, sql_clean, NULL, NULL);
    return code == SQLITE_OK ? 0 : db_error (db, "cannot add functions", err);
}

#define TIMES \
    "max(s.computing), max(s.communication_not_overlapped)," \
    " max(s.overlapped), max(s.communication), max(s.free), max(s.stage)," \
    " max(s.bubble), max(s.communication_not_overlapped_and_exclude_receive)," \
    " max(s.preparing)"

/* A rank that used several devices has one row, as does a stage. */
static int write_steps (sqlite3 *db, struct err *err)
{
    return db_exec (
        db,
        "INSERT INTO ClusterStepTraceTime SELECT clean_step(ifnull(s.step,'')),"
        " 'rank', CAST(s.rank AS TEXT), " TIMES ", p.dp, p.pp, p.tp"
        " FROM a.StepTraceTime s JOIN Place p ON p.rank=s.rank"
        " GROUP BY s.rank, ifnull(s.step,'')"
        " ORDER BY s.rank, CAST(s.step AS INTEGER), s.step;"
        // the list of a stage's ranks may be long: it is joined last
        "WITH x(step, stage, a, b, c, d, e, f, g, h, i) AS (SELECT"
        " ifnull(s.step,''), p.stage, " TIMES " FROM a.StepTraceTime s CROSS"
        " JOIN Place p ON p.rank=s.rank WHERE p.stage NOTNULL GROUP BY 1, 2)"
        "INSERT INTO ClusterStepTraceTime SELECT clean_step(x.step), 'stage',"
        " y.ranks, a, b, c, d, e, f, g, h, i, 'NA', 'NA', 'NA'"
        " FROM x JOIN Stage y ON y.stage=x.stage"
        " ORDER BY CAST(nullif(x.step,'') AS INTEGER), x.step, x.stage", err);
}

/* A host without an id is identified by its name. */
static int write_hosts (sqlite3 *db, struct err *err)
{
    return db_exec (
        db,
        "CREATE TEMP TABLE HostOf AS SELECT r.rank,"
        " coalesce(r.device_id, min(d.device)) AS device,"
        " clean(c.name) AS path,"
        " clean(max(CASE WHEN i.name='hostUid' THEN i.value END)) AS uid,"
        " clean(coalesce(max(CASE WHEN i.name='hostName' THEN i.value END),"
        "  r.host)) AS host"
        " FROM a.Roster r"
        " JOIN (SELECT rank, max(id), name FROM a.Capture WHERE state IN"
        "  ('complete','partial') GROUP BY rank) c ON c.rank=r.rank"
        " LEFT JOIN (SELECT rank, min(deviceId) AS device FROM"
        "  a.StepTraceTime GROUP BY rank) d ON d.rank=r.rank"
        " LEFT JOIN (SELECT rank, name, value FROM a.CaptureInfo WHERE"
        "  kind='host') i ON i.rank=r.rank GROUP BY r.rank;"
        "INSERT INTO HostInfo SELECT DISTINCT coalesce(uid, host),"
        " coalesce(host, '') FROM HostOf WHERE coalesce(uid, host) IS NOT NULL"
        " ORDER BY 1, 2;"
        "INSERT INTO RankDeviceMap SELECT rank, device,"
        " coalesce(uid, host, ''), path FROM HostOf ORDER BY rank", err);
}

int cluster_steps_write (sqlite3 *db, const struct cluster_groups *groups,
                         struct err *err)
{
    struct stages stages = { NULL, 0, false };
    struct args args;
    int rc = add_functions (db, err);

    if (rc == 0)
        rc = db_exec (db, tables_sql, err);
    if (rc == 0)
        rc = read_args (db, &args, err);
    if (rc == 0)
        rc = write_base (db, &args, err);
    if (rc == 0)
        rc = find_stages (groups, &stages, err);
    if (rc == 0 && stages.any)
        rc = put_stage_texts (db, &stages, err);
    if (rc == 0)
        rc = put_places (db, &args, &stages, err);
    stages_fini (&stages);
    if (rc == 0)
        rc = write_steps (db, err);
    return rc < 0 ? rc : write_hosts (db, err);
}
