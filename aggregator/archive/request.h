/* aggregator/archive/request.h - a user's corrections of a root
 *
 * An aggregator executes them when asked over control.sock; a verb does so
 * itself when none serves the root (root_control.h).
 *
 *     {"do": "expect", "job": ID, "world_size": N}    N ranks; 0: as others say
 *     {"do": "merge", "job": ID, "from": ID}          all of it to 'job'
 *     {"do": "split", "job": ID, "captures": [NAME or rankN, ...]}
 *     {"do": "fetch", "job": ID, "ranks": [N, ...], "file": PATTERN or "",
 *      "request": N}       have agents deliver raw files; only by an aggregator
 *     {"do": "tag", "job": ID, "tags": [TAG, ...], "by": USER}
 *     {"do": "untag", ...}                            as tag
 *     {"do": "pin", "job": ID, "by": USER}            keep it
 *     {"do": "unpin", "job": ID, "by": USER}
 *     {"do": "rm", "job": ID, "what": CAPTURE or RANK or "", "by": USER,
 *      "uid": N, "verb": VERB, "newest": N}           remove it (archive/remove.h)
 *     {"do": "forget", "job": ID, "by": USER, "uid": N}
 *                                                     its command and environment
 *     {"do": "gc", "by": USER, "uid": N, "grace_s": N, "percent": N, "run": N}
 *                                                     collect (store/gc.h)
 *
 *     {"do": "take", "job": ID, "batch": NAME}        take a batch of records
 *                                                     (intake.h); "": none
 *     {"do": "report", "job": ID, "ranks": [...]}     what agents reported of
 *                                                     ranks in another root
 *     {"do": "divide", "job": SCOPE}                  assign what is open to jobs
 *
 * An aggregator sets "by" and "uid" itself.  VERB: "archive rm" or "archive prune".
 *
 * After the last two, "jobs" has those that changed.  After merge and split, 'answer' has "job", which has the captures now,
 * "captures", the number of their versions, and "jobs": all whose captures
 * changed.  After tag to unpin, "jobs" is empty, and "tags" and "pinned" say
 * what the job has now.  After rm, "captures", "files" and "bytes" were removed; or,
 * with "newest", "stays" says why the job stays.
 * After gc, "running" is true if an aggregator goes on with it: the same with
 * "run" of the answer asks again; "unused", "freed", "copied" and "held" are those
 * of struct gc_report, "segments" those that were removed.
 * The answer to fetch is in
 * doc/format-store.md.
 */
#ifndef ROLLCALL_ARCHIVE_REQUEST_H
#define ROLLCALL_ARCHIVE_REQUEST_H

#include "json/json.h"
#include "store/gc.h"
#include "store/store.h"

/* Execute a request; it is durable on return.  Runs in its own transaction, so
 * nothing uncommitted may be appended to the store.  0, with the result in
 * 'answer'; -EINVAL (also a request that needs a service), -ENOENT (no such
 * job), -EPERM (rm of a pinned job), or as ledger and store.
 */
int request_execute (struct ledger *ledger, struct store *store,
                     const struct json *request, struct json *answer,
                     struct err *err);

/* Whether only an aggregator can execute it: "fetch", as agents have to be asked.
 * And why it cannot be where none serves the root, by a ledger that is only
 * read: -EHOSTUNREACH, -ENOENT (no such job), or as ledger.
 */
bool request_needs_service (const struct json *request);
int request_refuse_unserved (struct ledger *l, const char *root,
                             const struct json *request, struct err *err);

/* For an aggregator that executes "gc" step by step: what is asked for, a line of
 * the audit log, and the answer.
 */
void request_gc_options (const struct json *asked, struct gc_options *ret);
int request_audit_gc (const char *root, const struct json *asked,
                      struct err *err);
void request_gc_answer (const struct gc_report *r, struct json *answer);

#endif
