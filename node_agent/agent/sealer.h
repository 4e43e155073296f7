/* node_agent/agent/sealer.h - captures into sealed shipments, in a thread
 *
 * Reading a capture can take seconds, and the agent's loop must not wait for
 * it.  The thread extracts, packs, fsyncs and hashes; it never touches the
 * ledger.  It pauses between batches of rows and chunks of files, and stops
 * there when the agent ends: the next agent starts that capture again.  Each
 * raw file is read once, for its hashes, and linked into the spool if the file
 * system allows it.  (Extraction cannot hash files on the way: it reads only
 * parts of them, by mmap and through SQLite.)
 */
#ifndef ROLLCALL_AGENT_SEALER_H
#define ROLLCALL_AGENT_SEALER_H

#include "offline_analysis/own_analysis.h"
#include "base/buf.h"
#include "base/loop.h"
#include "discovery/watch.h"
#include "spool/spool.h"

struct bulk;
struct job_origin;
struct sealer;

/* The reason of a capture that was sealed unfinished (watch_flush). */
#define SEALER_UNFINISHED \
    "it was still being written when half of the deadline had passed"

/* The result of the analysis of a capture that was raw. */
struct sealer_analysis {
    const char *why;            // a sentence; NULL: nothing is known
    bool failed;
};

/* Raw files that are wanted of a version that was sealed before. */
struct seal_wanted {
    char pattern[MESSAGE_PATH_MAX];     // as in agent/wanted_files.h
    struct spool_raw_list known;        // those that are in the spool already
    int64_t newest_ns;                  // later files are of another version;
                                        // 0: not known
};

/* One capture to seal, and the result. */
struct sealed {
    struct watch_settled what;          // 'path' belongs to this struct
    uint64_t id;                        // in the ledger
    char file[PATH_MAX];                // the shipment, number 0
    bool again;                         // an earlier try failed
    bool raw;                           // its raw files, too
    struct seal_wanted *wanted;         // only these files; NULL: the capture
    bool owner;                         // keep the owners of raw files
    int64_t user;                       // whose rows they are said to be: a uid,
                                        // or -1
    char analysis[512];                 // its result; "": none is known
    bool analysis_failed;
    char name[MESSAGE_NAME_MAX];        // of the capture
    struct spool_new *items;            // rows first, then raw files
    size_t nitems;
    struct buf manifest;                // empty: never to be released,
    struct err kept_why;                // for this reason
    uint64_t skipped;                   // raw files and directories left out
    struct err skipped_why;             // the first of them
    int64_t rank;                       // -1: none
    enum own_analysis own;              // the profiler that wrote it
    char state[16];                     // of the capture
    int rc;                             // negative: 'err' says why
    bool moved;                         // -ENOENT: all of it, not a part
    struct err err;
};

/* The thread obeys 'bulk', which is borrowed and must have been ended before
 * sealer_destroy.  'raw': raw files of captures are sealed, too, until
 * sealer_set_raw.  'manifests': record which files a capture has, for its
 * release.  'done' is called from the loop for each capture, which is freed
 * afterwards.
 */
int sealer_create (struct loop *loop, struct bulk *bulk, bool raw,
                   bool manifests,
                   void (*done) (void *arg, struct sealed *s), void *arg,
                   struct sealer **ret, struct err *err);
void sealer_destroy (struct sealer *s); // waits for the thread; NULL is fine
void sealer_set_raw (struct sealer *s, bool raw);       // of later captures

/* Add to the evidence of all captures: the host by its host_id, the id of the
 * job that was given, or NULL, and what else is known of the job (or NULL: a
 * capture's owner is its user).  Call it before the first sealer_add; the
 * arguments are borrowed.
 */
void sealer_sign (struct sealer *s, const char *host, const char *job,
                  const struct job_origin *about);

/* Keep the owners of raw files.  Call it before the first sealer_add. */
void sealer_keep_owners (struct sealer *s);

/* Queue a settled capture; 'file' is spool_file's path for number 0. If the
 * disk cannot read a file, the capture fails, unless it is tried 'again': then
 * readable rows are kept, and an unreadable raw file is left out.  A lack of
 * descriptors or memory always fails it.  A capture that was removed or
 * replaced meanwhile fails with -ENOENT. 'analysis' becomes the reason of a
 * capture that is still raw, and, if it failed, of a partial one.  An
 * unfinished capture is partial at best and has no manifest.  0 or -ENOMEM.
 */
int sealer_add (struct sealer *s, const struct watch_settled *what,
                uint64_t id, const char *file, bool again,
                const struct sealer_analysis *analysis);

/* Queue the raw files that are wanted of a sealed version, of which nothing else
 * may be queued.  Takes over 'wanted'.  A file that was written to later, is
 * another user's than the capture (without 'about'), or cannot be read the second
 * time ('again'), is left out.  0 or -ENOMEM.
 */
int sealer_add_wanted (struct sealer *s, const char *path, uint64_t id,
                       const char *file, bool again,
                       struct seal_wanted *wanted);

/* When the oldest pending capture was added (monotonic); 0: there is none. */
int64_t sealer_oldest_ns (struct sealer *s);

size_t sealer_pending (const struct sealer *s); // queued or under way

#endif
