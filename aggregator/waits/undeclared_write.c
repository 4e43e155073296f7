/* aggregator/waits/undeclared_write.c - write the group of ops whose traces
 * declare none
 */
#include "waits/undeclared_private.h"

#include "store/db_rows.h"

#include <math.h>
#include <stdio.h>

static void group_id (const struct settling *s, char id[64],
                      char key[CAPTURE_HASH_MAX])
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i < s->nranks; i++)
        hash = (hash ^ (uint64_t)settling_side (s, i)->rank) *
               UINT64_C (0x100000001b3) + 1;
    (void)snprintf (id, 64, "undeclared:%u:%016llx", s->nranks,
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
        " FROM CommGroup", key, id, s->nranks);

    if (rc == 0)
        rc = db_prepare (s->db, "INSERT INTO CommGroupMember SELECT max(id), "
                                "?1, ?2 FROM CommGroup", &st, err);
    for (uint32_t i = 0; i < s->nranks && rc == 0; i++)
        rc = db_put (st, err, i, settling_side (s, i)->rank);
    (void)sqlite3_finalize (st);
    return rc;
}

static const char *const op_tables[] = {
    "CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix",
};

static const char was_null[] = "group_name is NULL";
static const char is_known[] = "it is taken from ops that end together on "
                               "all ranks";

/* Set the group in the ops, and in what their captures say about them. */
static int name_ops (struct settling *s, const char *key, struct err *err)
{
    int rc = db_exec (s->db, "CREATE TEMP TABLE side (capture INTEGER PRIMARY "
                             "KEY)", err);

    for (uint32_t i = 0; i < s->nsides && rc == 0; i++)
        rc = db_execf (s->db, err, "INSERT INTO temp.side VALUES (%lld)",
                       (long long)s->items[s->sides[i].item].id);
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

/* The number of ranks per op was unknown, and so was how much each must move.
 * For some ops the group may be larger than the present ranks.
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
        (s->nranks - 1.0) / s->nranks, (s->nranks - 1.0) / s->nranks, key,
        key);
}

/* ---- what Job says ---- */

static int64_t expected_ranks (struct settling *s)
{
    return db_int (s->db, "SELECT count(*) FROM Roster WHERE expected", 0);
}

static int undeclared_write_say (struct settling *s, const char *text,
                                 struct err *err)
{
    return db_do (s->db, err, "INSERT INTO Job SELECT printf('note.%03d',"
                  " count(*)), ?1 FROM Job WHERE key GLOB 'note.*'", text);
}

static int say_group (struct settling *s, struct err *err)
{
    int64_t expected = expected_ranks (s);
    char text[512], few[128] = "";

    if (s->nranks < expected)
        (void)snprintf (few, sizeof (few), ". Only %u of %lld ranks are here, "
                        "so these waits are lower bounds", s->nranks,
                        (long long)expected);
    (void)snprintf (text, sizeof (text), "the traces declare no groups. Their "
                    "ops count as those of one group of %u ranks, since all "
                    "ranks did the same ops, and %zu of them end together: "
                    "within %.3f ms, while one takes %.3f ms%s", s->nranks,
                    s->found.common, s->found.off_ms, s->found.median_ms, few);
    return undeclared_write_say (s, text, err);
}

int settling_refuse (struct settling *s, struct err *err)
{
    char text[512];

    (void)snprintf (text, sizeof (text), "the traces declare no groups. "
                    "group_name stays NULL, and there are no waits: "
                    "%s", s->why);
    return undeclared_write_say (s, text, err);
}

int settling_accept (struct settling *s, struct undeclared_clock *clocks,
                     struct err *err)
{
    // even on one clock, ends are not all equal
    bool right = s->own ||
                 s->most > ends_tolerance_ms (&s->found, s->device);
    char id[64], key[CAPTURE_HASH_MAX];
    int rc;

    group_id (s, id, key);
    rc = put_group (s, id, key, err);
    if (rc == 0)
        rc = name_ops (s, key, err);
    if (rc == 0 && s->nranks == expected_ranks (s))
        rc = fill_sizes (s, key, err);
    for (uint32_t i = 0; i < s->nsides && !right; i++)
        clocks[s->sides[i].item] = (struct undeclared_clock){ NAN, NAN };
    return rc < 0 ? rc : say_group (s, err);
}
