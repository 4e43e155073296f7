/* aggregator/postgres/facts.c - the facts of a job, as tables */
#include "postgres/facts.h"

#include "base/buf.h"
#include "postgres/copy_rows.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INSERT_MAX 4096

// the columns of the catalogue's job_row, but its id; and where its result is.
// 'bytes': those of all its files
#define JOB_FACTS(bytes) "name, newest, built_seq, world_size, ranks, captures," \
    " items, bytes, first_ns, last_ns, lost, divided, assumed, by_hand," \
    " state, \"user\", scheduler_id, command, tags, pinned, file_ino, file_ns," \
    " " bytes ", expected, present, missing, failed, partial, raw," \
    " unexpected, began_ns, ended_ns, hosts, steps, step_us, longest_us," \
    " computing_us, comm_us, free_us, high, medium, low, built, its_user," \
    " its_scheduler_id, its_command, known_by"
#define JOB_COLUMNS JOB_FACTS ("file_bytes")
#define JOB_ROW JOB_FACTS ("file_bytes+ifnull(part_bytes, 0)")
#define JOB_TYPES "tiiiiiiiiiiiiii" "ttttiiii" "iiiiiii" "iiiifffffiiit" "tttt" "t"

#define CATALOGUE(name, columns, types, from, use, into) \
    { name, columns, types, FACTS_CATALOGUE, columns, from " WHERE job=?1", \
      use, into, NULL, FACTS_EACH, 0, { 0 } }
#define RESULT(name, types, table, rows, sums, ...) \
    { name, NULL, types, FACTS_RESULT, NULL, NULL, FACTS_PUSHED, NULL, table, \
      rows, sums, { __VA_ARGS__ } }
#define KEY COPY_ROWID

const struct facts_table facts_tables[FACTS_TABLES] = {
    { "job", JOB_COLUMNS ", path", JOB_TYPES, FACTS_CATALOGUE, JOB_ROW ", ?2",
      "job_row WHERE id=?1 AND name=?3", FACTS_LIST, "job_row", NULL, FACTS_EACH, 0,
      { 0 } },
    CATALOGUE ("job_host", "host, ranks, computing_us, step_us", "tiff",
               "host", FACTS_TREND, "host"),
    CATALOGUE ("job_claim", "seq, source, who, host, world_size", "iitti",
               "temp.claim", FACTS_CLAIMS, "claim"),
    CATALOGUE ("job_clock", "seq, host_key, host, offset_ns, error_ns", "ittii",
               "temp.clock", FACTS_CLAIMS, "clock"),
    CATALOGUE ("job_rest", "seq, key, value", "itt", "temp.rest", FACTS_CLAIMS,
               "rest"),
    CATALOGUE ("job_tag", "tag", "t", "tag", FACTS_TREND, "tag"),
    CATALOGUE ("job_link", "transport, links, mb, ms", "tiff", "link",
               FACTS_TREND, "link"),
    CATALOGUE ("job_slow", "kind, host, device, rank, peer_host, peer_device,"
               " peer, percent", "ttiitiif", "slow", FACTS_TREND, "slow"),
    CATALOGUE ("job_group", "kind, groups, ops, elapse_ms, wait_ms", "tiiff",
               "grp", FACTS_PUSHED, NULL),
    CATALOGUE ("job_finding", "kind, severity, n, percent", "ttif", "finding",
               FACTS_PUSHED, NULL),
    RESULT ("roster", "itiiittiiii", "Roster", FACTS_EACH, 0,
            KEY, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    RESULT ("capture", "iitittttttiiii", "Capture", FACTS_EACH, 0,
            KEY, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13),
    RESULT ("finding", "itttiiiffftftt", "Finding", FACTS_EACH, 0,
            KEY, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13),
    // those of view StepCounted
    RESULT ("rank_step", "iitfffffff", "StepTraceTime", FACTS_COUNTED, 0,
            11, 0, 1, 2, 3, 4, 6, 7, 8, 10),
    // over all steps
    RESULT ("link_sum", "iittffff", "Link", FACTS_SUMMED, 4,
            2, 3, 4, 5, 6, 7, 9, 10),
    // by comm_group: ops, elapse_time, wait_time, synchronization_time,
    // transit_time
    RESULT ("group_sum", "itttiiiffff", "GroupTime", FACTS_GROUPS, 5,
            1, 3, 4, 5, 6, 7),
};

const char *const facts_sum = "row_sum (" JOB_ROW ","
    " (SELECT group_concat(source||' '||world_size||' '||who||' '||host)"
    "  FROM temp.claim WHERE job=job_row.id),"
    " (SELECT group_concat(offset_ns||' '||error_ns||' '||host_key||' '||host)"
    "  FROM temp.clock WHERE job=job_row.id),"
    " (SELECT group_concat(key||' '||value)"
    "  FROM temp.rest WHERE job=job_row.id))";

int facts_make_temp (sqlite3 *db, struct err *err)
{
    return db_exec (db, "CREATE TEMP TABLE IF NOT EXISTS claim (job INTEGER,"
                    " seq INTEGER, source INTEGER, who TEXT, host TEXT,"
                    " world_size INTEGER, PRIMARY KEY (job, seq)) WITHOUT"
                    " ROWID;"
                    "CREATE TEMP TABLE IF NOT EXISTS clock (job INTEGER,"
                    " seq INTEGER, host_key TEXT, host TEXT,"
                    " offset_ns INTEGER, error_ns INTEGER,"
                    " PRIMARY KEY (job, seq)) WITHOUT ROWID;"
                    "CREATE TEMP TABLE IF NOT EXISTS rest (job INTEGER,"
                    " seq INTEGER, key TEXT, value TEXT,"
                    " PRIMARY KEY (job, seq)) WITHOUT ROWID", err);
}

#define FROM_OF(table) " FROM temp." table " WHERE job=(SELECT id FROM " \
    "job_row WHERE name=?1) ORDER BY seq"

int facts_each_claim (struct catalogue *c, const char *job,
                      int (*fn) (void *arg, const struct size_claim *w),
                      void *arg, struct err *err)
{
    struct db_rows r = db_rows (catalogue_db (c), err, "SELECT source, who,"
                                " host, world_size" FROM_OF ("claim"), job);
    struct size_claim w = { .noted = true };
    int by;

    while (db_row (&r, by, w.who, w.host, w.world_size)) {
        w.by = (enum size_claim_by)by;
        r.rc = fn (arg, &w);
    }
    return db_end (&r);
}

int facts_each_clock (struct catalogue *c, const char *job,
                      int (*fn) (void *arg, const struct ledger_clock *clock),
                      void *arg, struct err *err)
{
    struct db_rows r = db_rows (catalogue_db (c), err, "SELECT host_key, host,"
                                " offset_ns, error_ns" FROM_OF ("clock"), job);
    struct ledger_clock k;

    while (db_row (&r, k.host_key, k.host, k.offset_ns, k.error_ns))
        r.rc = fn (arg, &k);
    return db_end (&r);
}

bool facts_is_rest (const struct ledger_fact *f)
{
    return !f->gone && (strcmp (f->key, FACT_HOME) == 0 ||
                        strcmp (f->key, FACT_RAW_AT) == 0);
}

int facts_each_rest (struct catalogue *c, const char *job,
                     int (*fn) (void *arg, const struct ledger_fact *f),
                     void *arg, struct err *err)
{
    struct db_rows r = db_rows (catalogue_db (c), err, "SELECT key, value"
                                FROM_OF ("rest"), job);
    struct ledger_fact f = { .gone = false };

    while (db_row (&r, f.key, f.value))
        r.rc = fn (arg, &f);
    return db_end (&r);
}

/* ---- into a catalogue ---- */

int facts_insert_begin (sqlite3 *db, const struct facts_table *t,
                        struct facts_insert *ret, struct err *err)
{
    struct buf sql;
    int rc;

    *ret = (struct facts_insert){ .types = t->types };
    buf_init (&sql, INSERT_MAX);
    buf_printf (&sql, "INSERT INTO %s (%s, %s) VALUES (?1", t->into,
                t == facts_tables ? "id" : "job", t->columns);
    for (size_t i = 0; t->types[i]; i++)
        buf_printf (&sql, ",?%zu", i + 2);
    buf_put (&sql, ")", 1);
    rc = sql.failed ? err_set (err, ENOMEM, "no memory for jobs")
                    : db_prepare (db, buf_text (&sql), &ret->st, err);
    buf_fini (&sql);
    return rc;
}

int facts_insert_row (const struct facts_insert *f, const char *const row[],
                      struct err *err)
{
    (void)sqlite3_bind_text (f->st, 1, row[0], -1, SQLITE_TRANSIENT);
    for (int i = 1; f->types[i - 1]; i++) {
        // SQLite makes integers of texts, too, but its reals may lose a bit
        if (f->types[i - 1] == 'f' && row[i])
            (void)sqlite3_bind_double (f->st, i + 1, strtod (row[i], NULL));
        else
            (void)sqlite3_bind_text (f->st, i + 1, row[i], -1,
                                     SQLITE_TRANSIENT);
    }
    return db_run (f->st, err);
}

void facts_insert_end (struct facts_insert *f)
{
    (void)sqlite3_finalize (f->st);
    f->st = NULL;
}
