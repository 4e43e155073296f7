/* aggregator/publish/result_parts.h - a result whose rows of ops lie in several
 * files
 *
 * A result above a size has its largest tables in parts beside analysis.db, by
 * host.  analysis.db has an index of them: tables Part and PartRange
 * (doc/format-analysis-db.md, "Parts").  Each part has a name of its own for
 * each build, so that renaming analysis.db replaces all of them at once.
 */
#ifndef ROLLCALL_PUBLISH_RESULT_PARTS_H
#define ROLLCALL_PUBLISH_RESULT_PARTS_H

#include "base/digest.h"
#include "publish/publish.h"
#include "sqlite_pages/page_scan.h"

#define PARTS_MAX 128u          // files of a result: readers have all of them
                                // open
#define PARTS_TABLES 4u         // that lie in parts
#define PARTS_ID_SIZE 17        // of a build, with the NUL

/* Their names, and the columns of each, as in CREATE TABLE; the last of them
 * has neither rank nor capture.
 */
extern const char *const parts_tables[PARTS_TABLES];
void parts_columns (unsigned table, char *out, size_t max);

/* Of analysis.db, and of each part, which has its own row only, without bytes
 * and sum.
 */
#define PARTS_SCHEMA \
    "CREATE TABLE Part (part INTEGER PRIMARY KEY, file TEXT, id TEXT," \
    " bytes INTEGER, sum TEXT, hosts INTEGER, ranks TEXT, first_row INTEGER," \
    " last_row INTEGER, time_rows INTEGER, bandwidth_rows INTEGER," \
    " matrix_rows INTEGER, link_rows INTEGER);" \
    "CREATE TABLE PartRange (first_row INTEGER PRIMARY KEY, last_row INTEGER," \
    " part INTEGER)"

/* SQL: all tables and views of a result, in the order that they have in one
 * file, wherever they are: name, type, place.
 */
#define PARTS_SCHEMA_SQL \
    "(SELECT name, type, rowid AS place FROM sqlite_schema WHERE name\n" \
    "  NOT IN ('Part', 'PartRange') UNION ALL SELECT column1, 'table',\n" \
    "  column2 FROM\n" \
    "  (VALUES ('CommAnalyzerTime', -3), ('CommAnalyzerBandwidth', -2),\n" \
    "  ('CommAnalyzerMatrix', -1), ('LinkRow', 0.5+(SELECT rowid FROM\n" \
    "  sqlite_schema WHERE name='PacketTime'))) WHERE EXISTS (SELECT 1 FROM\n" \
    "  sqlite_schema WHERE name='PartRange') AND NOT EXISTS (SELECT 1 FROM\n" \
    "  sqlite_schema WHERE name=column1))"

void parts_name (char name[NAME_MAX + 1], const char *id, unsigned part);

/* Whether it is such a name, and so no path. */
bool parts_is_name (const char *name);

/* The sum of a file: a SHA-256 over those of its pages. */
int parts_sum (const struct page_sums *sums, char hex[DIGEST_HEX_SIZE]);

/* Whether the database has its rows of ops in parts; whether it is a part. */
bool parts_are_beside (sqlite3 *db);
bool parts_is_one (sqlite3 *db);

/* As page_source_of, with the tables that lie in parts; the source has the
 * parts open.  A part that is missing, or not the one that the index names, is
 * an error only for who reads its rows: -EBADMSG, with a sentence that says
 * what to do.  -EBUSY: a build replaced the result meanwhile; open it
 * again.
 */
int parts_source_of (sqlite3 *db, const atomic_bool *cancel,
                     struct page_source **ret, struct err *err);

/* Call 'each' with the name, the size and the sum of each part that the index
 * names, until it fails; nothing happens if there are no parts.  -EBADMSG: the
 * index is damaged.
 */
int parts_each (sqlite3 *db, int (*each) (void *arg, const char *file,
                                          int64_t bytes, const char *sum,
                                          struct err *err),
                void *arg, struct err *err);

/* Check the pages of the parts of the analysis.db at 'path', and their sums, by
 * so many threads; 0 also if it has none.  -EBADMSG: one is missing, damaged or
 * another one, and 'err' says which and what to do; -EBUSY: a build has replaced
 * the result meanwhile, and removed them.  Others: it could not be read.
 */
int parts_check (const char *path, unsigned threads, struct err *err);

/* The same for one of them, as parts_each gives it, in this directory. */
int parts_check_one (const char *dir, const char *name, int64_t bytes,
                     const char *sum, unsigned threads, struct err *err);

/* ---- former_parts.c ---- */

struct parts_names {
    char **list;
    size_t n;
};

void parts_names_fini (struct parts_names *names);

/* The names of the parts of the result in place, before it is replaced; none if
 * they are not known.  The caller calls parts_names_fini.
 */
void parts_note (const struct publish *p, struct parts_names *ret);

/* Remove those of 'replaced' from the results' directory, and, with the lock
 * that publish_choose takes, all others, for then they are of builds that died;
 * but none that a result there names, also one that was kept under another name.
 * What cannot be removed stays.  -EIO: it is not known what one file names, so
 * some parts that are not of 'replaced' stay, and 'err' says which file it is.
 */
int parts_clean (const struct publish *p, const struct parts_names *replaced,
                 struct err *err);

/* ---- part_tables.c ---- */

/* Let statements of a connection read the tables that lie in parts, as if they
 * were in the file, also by the views in it.  Nothing happens if there are no
 * parts.  Errors of a part are those of the statement that reads it.
 */
int part_tables_add (sqlite3 *db, struct err *err);

#endif
