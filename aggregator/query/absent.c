/* aggregator/query/absent.c - explain which ranks and steps a result lacks */
#include "query/absent.h"

#include "store/db_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LISTED_MAX 8            // more are only counted
#define LIST_SIZE 256           // bytes

static const char ranks_sql[] = "SELECT rank FROM Roster ORDER BY rank";

static const char steps_sql[] =
    "SELECT step FROM (SELECT step FROM StepTraceTime WHERE step IS NOT NULL"
    "  UNION SELECT substr(step,5) FROM OpTime"
    "  WHERE step LIKE 'step%') ORDER BY CAST(step AS INTEGER), step";

/* The cheapest test comes first: nearly all steps are in the first table.
 * OpTime has the steps of CommAnalyzerTime.
 */
static const char has_step_sql[] =
    "SELECT EXISTS (SELECT 1 FROM StepTraceTime WHERE step=?1) OR"
    " EXISTS (SELECT 1 FROM OpTime WHERE step='step'||?1) OR"
    " EXISTS (SELECT 1 FROM CommAnalyzerMatrix WHERE step='step'||?1)";

/* "0, 1, 2 and 61 more", or "none". */
static void absent_list (sqlite3 *db, const char *sql, char out[LIST_SIZE])
{
    struct db_rows r = db_rows (db, NULL, sql);
    size_t used = 0, n = 0;

    (void)snprintf (out, LIST_SIZE, "none");
    for (; db_step (&r); n++) {
        if (n < LISTED_MAX)
            used += (size_t)snprintf (out + used, LIST_SIZE - used, "%s%.20s",
                                      n ? ", " : "", db_text (r.st, 0));
    }
    if (n > LISTED_MAX)
        (void)snprintf (out + used, LIST_SIZE - used, " and %zu more",
                        n - LISTED_MAX);
    (void)db_end (&r);
}

int absent_check (sqlite3 *db, int64_t rank, const char *step,
                  struct err *err)
{
    char there[LIST_SIZE];

    // the check is skipped if the roster cannot be read
    if (rank >= 0 && !db_number (db_rows (db, NULL, "SELECT count(*) FROM "
                                          "Roster WHERE rank=?1", rank), 1)) {
        absent_list (db, ranks_sql, there);
        return err_set (err, ENODATA, "there is no rank %lld in this result; "
                        "its ranks: %s", (long long)rank, there);
    }
    if (step && !db_number (db_rows (db, NULL, has_step_sql, step), 1)) {
        absent_list (db, steps_sql, there);
        return err_set (err, ENODATA, "there is no step %.100s in this result; "
                        "its steps: %s", step, there);
    }
    return 0;
}

/* Write "rank 3 is missing: no capture of it was found"; false if it is
 * present.
 */
static bool is_not_present (sqlite3 *db, int64_t rank, struct err *err)
{
    char state[32], reason[512];

    if (rank < 0 ||
        db_one (db_rows (db, NULL, "SELECT ifnull(state, 'not present'), "
                         "ifnull(reason, 'the reason is not known') FROM "
                         "Roster WHERE rank=?1 AND state<>'present'", rank),
                state, reason) <= 0)
        return false;
    (void)err_set (err, ENODATA, "rank %lld is %.20s: %.300s", (long long)rank,
                   state, reason);
    return true;
}

int absent_explain (sqlite3 *db, int64_t rank, const char *step,
                    struct err *err)
{
    char whose[32] = "this result";
    int rc = absent_check (db, rank, step, err);

    if (rc < 0 || is_not_present (db, rank, err))
        return -ENODATA;
    if (rank >= 0)
        PRINT (whose, "rank %lld", (long long)rank);
    return err_set (err, ENODATA, "no communication op and no step of "
                    "%s%s%.100s has a start time", whose, step ? ", step " : "",
                    step ? step : "");
}

/* Tables that captures may lack, and what is in them. */
static const struct {
    const char *table, *empty, *what;
} contents[] = {
    { "OperatorStatistic", "SELECT NOT EXISTS (SELECT 1 FROM OperatorStatistic)",
      "operators" },
    { "CommAnalyzerTime", "SELECT NOT EXISTS (SELECT 1 FROM CommAnalyzerTime)",
      "communication operators" },
    { "MemoryPeak", "SELECT NOT EXISTS (SELECT 1 FROM MemoryPeak)",
      "peaks of memory" },
    { "Link", "SELECT NOT EXISTS (SELECT 1 FROM Link)", "links" },
};

const char *absent_why (sqlite3 *db, const char *sql, int64_t rank,
                        char out[ABSENT_WHY_MAX])
{
    char state[32], reason[ABSENT_WHY_MAX - 128] = "";

    out[0] = '\0';
    if (rank >= 0 &&
        db_one (db_rows (db, NULL, "SELECT state, ifnull(reason, '') FROM "
                                   "Roster WHERE rank=?1 AND state IN "
                                   "('missing', 'failed', 'raw')", rank),
                state, reason) > 0)
        (void)snprintf (out, ABSENT_WHY_MAX, "rank %lld is %s%s%s",
                        (long long)rank, state, *reason ? ": " : "", reason);
    for (size_t i = 0; i < sizeof (contents) / sizeof (contents[0]) && !*out;
         i++) {
        if (strstr (sql, contents[i].table) &&
            db_number (db_rows (db, NULL, contents[i].empty), 0))
            (void)snprintf (out, ABSENT_WHY_MAX, "the captures of this result "
                            "have no %s", contents[i].what);
    }
    return out;
}
