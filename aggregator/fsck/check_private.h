/* aggregator/fsck/check_private.h - shared by the parts of a check */
#ifndef ROLLCALL_FSCK_CHECK_PRIVATE_H
#define ROLLCALL_FSCK_CHECK_PRIVATE_H

#include "fsck/check_root.h"
#include "store/db.h"
#include "store/record.h"
#include "store/store.h"

struct check_gap {              // bytes of a segment that are not a record
    int64_t segment;
    uint64_t offset, size;
    bool unfinished;            // of a commit that was never acknowledged
};

struct check_bad {              // damaged content
    struct ledger_item item;
    struct err why;
};

struct check {
    const char *root;
    bool repair;
    struct check_report *report;
    struct err *err;
    struct ledger *fresh;       // built from the records
    struct store *store;        // to read with
    int64_t *segments;          // their numbers, in order
    size_t nsegments;
    struct check_gap *gaps;
    size_t ngaps;
    struct check_bad *bad;
    size_t nbad;
    struct ledger *old;         // the existing one, NULL: not used
    int old_rc;                 // the reason then: -ENOENT, -EBADMSG, ...
    struct err old_why;
    bool differs;               // the ledger has to be rebuilt
    int64_t last_segment;       // as the old ledger says
    uint64_t last_end;
};

/* Count and report damage. */
#define check_damage(c, ...) \
    ((void)(c)->report->damaged++, check_say (c, __VA_ARGS__))
void check_say (struct check *c, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* check_segments.c: list the numbers that are names in a directory of the root;
 * read the records of all segments into c->fresh.
 */
int check_list_names (const char *root, const char *name, int64_t **numbers,
                      size_t *n, struct err *err);
int check_segments (struct check *c);

/* check_ledger.c: open the existing ledger; compare it with c->fresh, and copy
 * from it what records do not have; replace it by c->fresh if they differ.
 */
int check_open_old (struct check *c);
int check_old_ledger (struct check *c);
int check_replace_ledger (struct check *c);

/* The path of the ledger, with 'end' behind it: ".check" is the new one. */
void check_ledger_path (const struct check *c, const char *end,
                        char out[PATH_MAX]);

/* check_results.c: compare results with their digests. */
int check_results (struct check *c);

/* check_blobs.c: find files that no record refers to; and set aside, with the
 * reason, a file or bytes of a segment (these also stay in the segment, and
 * later checks know them).
 */
int check_blobs (struct check *c);
bool check_has_reason (struct check *c, const struct digest *id);
bool check_gap_is_aside (struct check *c, const struct check_gap *gap);
int check_quarantine_gap (struct check *c, const struct check_gap *gap);
int check_quarantine (struct check *c, const struct ledger_item *item,
                      const char *why);

#endif
