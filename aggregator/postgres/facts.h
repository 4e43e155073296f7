/* aggregator/postgres/facts.h - the facts of a job, as tables
 *
 * One list for all: which tables PostgreSQL has, and where their rows come from:
 * the catalogue of a root, or a job's result.  The tables of the catalogue have
 * the same columns there, so that its questions get the same answers.
 */
#ifndef ROLLCALL_POSTGRES_FACTS_H
#define ROLLCALL_POSTGRES_FACTS_H

#include "catalogue/catalogue.h"
#include "ledger/ledger_facts.h"

enum facts_source { FACTS_CATALOGUE, FACTS_RESULT };

/* Who needs a table's rows in a copy of the catalogue: nobody; any list; those
 * that say what the ledger knows of a job; trend.
 */
enum facts_use { FACTS_PUSHED, FACTS_LIST, FACTS_CLAIMS, FACTS_TREND };

/* What a row of a table of a result becomes: a row; the same, unless its step is
 * left out; with those of the same first columns one, the sums of the others; or it
 * is a group, and gets its kind, how many members it has, and sums of its times.
 */
enum facts_rows { FACTS_EACH, FACTS_COUNTED, FACTS_SUMMED, FACTS_GROUPS };

struct facts_table {
    const char *name;           // in schema "rollcall"
    const char *columns;        // of 'into', and of the same names there
    const char *types;          // of all columns, behind "job" and "at", or of
                                // "job" behind "id", "cluster", "at" and "sum":
                                // 'i' bigint, 'f' double precision, 't' text
    enum facts_source source;
    // of the catalogue: SQLite, in the order of the columns there, with the job's
    // id as ?1; of "job" with its result's path as ?2, and its name as ?3
    const char *select, *from;
    enum facts_use use;
    const char *into;           // then: the table of the catalogue
    // of a result: a table, what becomes a row, and where columns are in it: of
    // all, but of FACTS_GROUPS only of the sums
    const char *table;
    enum facts_rows rows;
    size_t sums;                // so many columns, the last ones, are sums
    unsigned char at[14];       // or COPY_ROWID
};

#define FACTS_QUERY_MAX 1200    // bytes of a statement about one table
#define FACTS_TABLES 16         // the first is "job"
extern const struct facts_table facts_tables[FACTS_TABLES];

/* Enter rows into a table of a copy of the catalogue: the number of the job, then
 * the columns, as texts; NULL is NULL.  0; -ENOMEM or as db_run.
 */
struct facts_insert {
    sqlite3_stmt *st;
    const char *types;
};
int facts_insert_begin (sqlite3 *db, const struct facts_table *t,
                        struct facts_insert *ret, struct err *err);
int facts_insert_row (const struct facts_insert *f, const char *const row[],
                      struct err *err);
void facts_insert_end (struct facts_insert *f); // also of a zeroed one

/* An expression of SQLite (row_sum_register): a checksum of what is known of a
 * row of job_row, another one after each change.
 */
extern const char *const facts_sum;

/* Tables of this connection for what only the ledger knows: temp.claim,
 * temp.clock and temp.rest, as in facts_tables.
 */
int facts_make_temp (sqlite3 *db, struct err *err);

/* The claims of a job's number of ranks, the clocks of its hosts, and where its
 * rest is, as ledger_each_claim, ledger_each_clock and ledger_each_fact (of which
 * there are only key and value), from these tables.
 */
int facts_each_claim (struct catalogue *c, const char *job,
                      int (*fn) (void *arg, const struct size_claim *w),
                      void *arg, struct err *err);
int facts_each_clock (struct catalogue *c, const char *job,
                      int (*fn) (void *arg, const struct ledger_clock *clock),
                      void *arg, struct err *err);
int facts_each_rest (struct catalogue *c, const char *job,
                     int (*fn) (void *arg, const struct ledger_fact *f),
                     void *arg, struct err *err);

/* Whether it says where the rest of a divided job is. */
bool facts_is_rest (const struct ledger_fact *f);

#endif
