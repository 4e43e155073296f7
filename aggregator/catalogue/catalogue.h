/* aggregator/catalogue/catalogue.h - what is known of the jobs of a root
 *
 * catalogue.db beside the ledger has a row for each job: what the ledger says of
 * it, and sums of its result.  It is a cache: it is made again from ledger and
 * results whenever it is missing, damaged or of another version, without a
 * word, and nothing of it is ever fsynced.  Who may not write it, reads a copy
 * in memory.
 *
 * This folder: the catalogue of a root, and lists of jobs from it.
 */
#ifndef ROLLCALL_CATALOGUE_CATALOGUE_H
#define ROLLCALL_CATALOGUE_CATALOGUE_H

#include "ledger/ledger.h"
#include "sqlite_pages/page_source.h"

#include <limits.h>
#include <sqlite3.h>

#define CATALOGUE_NAME "catalogue.db"

struct catalogue;

/* Open the catalogue of a root and bring it up to date.  'run_db' is the result
 * of the run that owns the root, or NULL.  The ledger is one for reading, and
 * belongs to the caller.  -EBADMSG: a row of the ledger is damaged; -EIO,
 * -ENOMEM.
 */
int catalogue_open (const char *root, struct ledger *ledger,
                    const char *run_db, struct catalogue **ret,
                    struct err *err);
void catalogue_close (struct catalogue *c);     // c may be NULL

/* What a copy lacks of the whole: how many jobs it has, and whether any of them
 * has a user or a tag.
 */
struct catalogue_beyond {
    int64_t jobs;
    bool users, tags;
};

/* An empty catalogue in memory, without a root, that the caller fills with rows
 * of another one (catalogue_db; the tables are in catalogue_schema.c).
 */
int catalogue_open_copy (struct catalogue **ret, struct err *err);
void catalogue_set_beyond (struct catalogue *c, struct catalogue_beyond all);

/* From now on there are only the jobs of this user, as the ledger says, whatever
 * is asked for; NULL: all.  The name is borrowed.
 */
void catalogue_show_only (struct catalogue *c, const char *user);

/* Enter the result of a job that was just built: for whoever has the root, in
 * any thread.  It leaves the ledger alone, and what fails to the next reader.
 */
void catalogue_note_build (const char *root, const char *job);

/* A row of the view "job": what --where can ask for, too.  A number that is not
 * known is -1, or NaN; a text is "".  Texts are valid in the callback only.
 * Times are UTC, as in 2026-11-24T09:30:00Z, so that they compare as texts.
 */
#define CATALOGUE_BASICS(TEXT, INT) \
    TEXT (job) TEXT (user) TEXT (tags) TEXT (id) TEXT (result) \
    TEXT (first_received) TEXT (last_received) INT (expected) INT (ranks) \
    INT (captures) INT (bytes) INT (in_roll) INT (present) INT (missing) \
    INT (failed) INT (partial) INT (raw) INT (unexpected)
#define CATALOGUE_DETAILS(TEXT, INT, REAL) \
    TEXT (scheduler_id) TEXT (command) INT (pinned) TEXT (began) TEXT (ended) \
    INT (world_size) INT (items) INT (quarantined) INT (assumed) \
    INT (by_hand) INT (hosts) INT (steps) REAL (step_ms) REAL (longest_ms) \
    REAL (computing_percent) REAL (comm_percent) REAL (free_percent) \
    INT (findings) INT (high) INT (medium) INT (low) INT (result_bytes) \
    TEXT (built) TEXT (known_by)

struct catalogue_job {
#define CATALOGUE_TEXT(name) const char *name;
#define CATALOGUE_INT(name) int64_t name;
#define CATALOGUE_REAL(name) double name;
    CATALOGUE_BASICS (CATALOGUE_TEXT, CATALOGUE_INT)
    CATALOGUE_DETAILS (CATALOGUE_TEXT, CATALOGUE_INT, CATALOGUE_REAL)
};

/* Which jobs are meant: all of those that are given; NULL and 0 are not. */
struct catalogue_filter {
    const char *job, *user, *tag, *host;
    const char *where;          // an SQL expression of the columns above
    int64_t since_ns;           // it began, or was first received, then or
                                // later; since 1970
    bool brief;                 // CATALOGUE_DETAILS are not read: not known
};

/* The jobs of a filter, by name.  -EINVAL: 'where' is no such expression, and
 * 'err' says why; -EINTR: it takes too long.
 */
int catalogue_each (struct catalogue *c, const struct catalogue_filter *f,
                    int (*fn) (void *arg, const struct catalogue_job *j),
                    void *arg, struct err *err);

/* "7 of 8 present, 1 missing"; "" without a result. */
#define CATALOGUE_ROLL_MAX 224        // for seven numbers of 20 characters
void catalogue_roll (const struct catalogue_job *j,
                     char out[CATALOGUE_ROLL_MAX]);

/* The path of a job's result; false: there is none.  Of a copy: on the machine
 * of the aggregator.
 */
bool catalogue_result_path (const struct catalogue *c, const char *job,
                            char path[PATH_MAX]);

/* Open the file of a job's result as it must be by whoever lists it (see
 * summary_read_back); the caller closes the source.  -ENOENT: there is none;
 * -EBADMSG: it is damaged, or its tables are of another version; -EACCES, -EIO,
 * and others of page_source_open.
 */
int catalogue_result_open (const struct catalogue *c, const char *job,
                           struct page_source **ret);

/* Whether another try may read a result that gave this error. */
bool catalogue_result_later (int rc);

/* Parse a date (2026-11-01, 2026-11-01T09:30:00Z), or how long ago (90m, 12h,
 * 7d, 4w): ns since 1970, UTC.  -EINVAL.
 */
int catalogue_since (const char *text, int64_t now_ns, int64_t *ret_ns);

/* How many jobs there are; whether any has a user, or a tag: the value of that
 * column.
 */
int64_t catalogue_count (struct catalogue *c);
bool catalogue_has_users (struct catalogue *c);
bool catalogue_has_tags (struct catalogue *c);

/* What a job's result has of each host, transport, kind of groups, and kind of
 * findings.
 */
enum catalogue_part_kind {
    CATALOGUE_HOSTS,            // n ranks; computing and step time, in ms
    CATALOGUE_LINKS,            // n links; GB/s, MB: transfers of 1 MB and more
    CATALOGUE_GROUPS,           // n groups; elapsed and wait time, in ms
    CATALOGUE_FINDINGS,         // n findings; percent of a step
};

struct catalogue_part {
    const char *name, *severity;        // severity: of findings, else ""
    int64_t n;
    double value, other;        // NaN: not known
};

int catalogue_each_part (struct catalogue *c, const char *job,
                         enum catalogue_part_kind kind,
                         int (*fn) (void *arg, const struct catalogue_part *p),
                         void *arg, struct err *err);

/* Check the filter before anything is printed: as catalogue_each. */
int catalogue_check (struct catalogue *c, const struct catalogue_filter *f,
                     struct err *err);

/* The database, for SELECTs, and the filter as a table of the ids of jobs:
 * temp.chosen (id).  Tables and columns are in catalogue_schema.c.  As
 * catalogue_each.
 */
int catalogue_choose (struct catalogue *c, const struct catalogue_filter *f,
                      struct err *err);
sqlite3 *catalogue_db (struct catalogue *c);

#endif
