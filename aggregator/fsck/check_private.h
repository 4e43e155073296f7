/* aggregator/fsck/check_private.h - shared by the parts of a check */
#ifndef ROLLCALL_FSCK_CHECK_PRIVATE_H
#define ROLLCALL_FSCK_CHECK_PRIVATE_H

#include "fsck/check_root.h"
#include "store/db.h"
#include "store/record.h"
#include "store/segment.h"
#include "store/store.h"

struct check_gap {              // bytes of a segment that are not a record
    int64_t segment;
    uint64_t offset, size;
    bool unfinished;            // of a commit that was never acknowledged
};

struct check_bad {              // a damaged chunk or list
    struct store_chunk chunk;
    bool named;                 // as the content of an item
};

struct check {
    const char *root;
    bool repair;
    struct check_report *report;
    struct err *err;
    struct ledger *fresh;       // built from the records
    struct store *store;        // to read with
    struct segment *current;    // that is read
    int64_t *segments;          // their numbers, in order
    size_t nsegments;
    struct check_gap *gaps;
    size_t ngaps;
    struct check_bad *bad;
    size_t nbad;
    struct store_chunk *homeless;       // good, but their records are damaged
    size_t nhomeless;
    struct ledger *old;         // the existing one, NULL: not used
    int old_rc;                 // the reason then: -ENOENT, -EBADMSG, ...
    struct err old_why;
    bool differs;               // the ledger has to be rebuilt
    int64_t last_segment;       // as the old ledger says: up to where commits
    uint64_t last_end;          // were finished
    int64_t finished;           // the last item of them in c->fresh
};

/* Count and report damage. */
#define check_damage(c, ...) \
    ((void)(c)->report->damaged++, check_say (c, __VA_ARGS__))
void check_say (struct check *c, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* check_segments.c: read the records of all segments into c->fresh; then, with the old ledger
 * (NULL: there is none), find what is damaged.
 */
int check_segments (struct check *c);
int check_contents (struct check *c, sqlite3 *old);

/* Append chunks and lists without a record again, in a repaired root. */
int check_rehouse (struct check *c, struct store *s, struct ledger *l);

/* check_ledger.c: open the existing ledger; compare it with c->fresh, and copy
 * from it what records do not have.
 */
int check_open_old (struct check *c);
int check_old_ledger (struct check *c);

/* check_take_over.c: copy into c->fresh what only the old ledger 'db' has, and count
 * it as damage of the records: what was removed, before any contents are missed; then
 * all else.
 */
int check_take_deletions (struct check *c, sqlite3 *db);
int check_take_over (struct check *c, sqlite3 *db);

/* check_replace.c: set the old ledger aside, and put c->fresh, which is closed, in
 * its place.
 */
int check_replace_ledger (struct check *c);

/* The path of the ledger, with 'end' behind it: ".check" is the new one. */
void check_ledger_path (const struct check *c, const char *end,
                        char out[PATH_MAX]);

/* check_results.c: compare results with their digests. */
int check_results (struct check *c);

/* check_quarantine.c: set aside a copy of bytes of a segment, with the reason;
 * they stay in the segment, and later checks know them.  Of an item's content
 * the bytes are those of c->bad, if there are any.
 */
bool check_has_reason (struct check *c, const struct digest *id);
bool check_gap_is_aside (struct check *c, const struct check_gap *gap);
int check_quarantine_gap (struct check *c, const struct check_gap *gap);
int check_quarantine (struct check *c, const struct ledger_item *item,
                      const char *why);
int check_quarantine_chunk (struct check *c, const struct store_chunk *chunk);

#endif
