/* node_agent/agent/sealer.h - captures into sealed shipments, in a thread
 *
 * Reading a capture can take seconds; the agent's loop must go on meanwhile.
 * The thread extracts, packs, fsyncs and hashes; it never touches the ledger.
 * It rests between batches of rows and chunks of files, and breaks off there
 * when the agent ends: the next life begins that capture anew.
 * With raw files each is read once, for its hashes, and linked into the spool
 * if the file system lets us.  (Extraction has read some of them before: it
 * reads the parts that it wants, by mmap and through SQLite, and its bytes are
 * not a stream of chunks that could be hashed on the way.)
 */
#ifndef ROLLCALL_AGENT_SEALER_H
#define ROLLCALL_AGENT_SEALER_H

#include "analyse/own_analysis.h"
#include "base/buf.h"
#include "base/loop.h"
#include "discovery/watch.h"
#include "spool/spool.h"

struct bulk;
struct job_origin;
struct sealer;

#define SEALER_RAW_MAX (1u << 16)       // raw files of one capture: their
                                        // names take 10 MB until it is sealed

/* Of one that was given up waiting for (watch_flush). */
#define SEALER_UNFINISHED \
    "it was still being written when half of the deadline had passed"

/* What came of the analysis of a capture that was raw. */
struct sealer_analysis {
    const char *why;            // a sentence; NULL: nothing is known
    bool failed;
};

/* One capture's worth of work, and what came of it. */
struct sealed {
    struct watch_settled what;          // 'path' is this struct's own
    uint64_t id;                        // in the ledger
    char file[PATH_MAX];                // the shipment, number 0
    bool again;                         // an earlier try has failed
    char analysis[512];                 // what came of it; "": none is known
    bool analysis_failed;
    char name[MESSAGE_NAME_MAX];        // of the capture
    struct spool_new *items;            // rows first, then raw files
    size_t nitems;
    struct buf manifest;                // empty: is never to be released,
    struct err kept_why;                // for this reason
    uint64_t skipped;                   // raw files and directories left out
    struct err skipped_why;             // the first of them
    int64_t rank;                       // -1: none
    enum own_analysis own;              // whose captures it is one of
    char state[16];                     // of the capture
    int rc;                             // negative: 'err' says why
    bool moved;                         // -ENOENT: it, not a part of it
    struct err err;
};

/* The thread keeps to 'bulk', which is borrowed and must have been ended before
 * sealer_destroy.  'manifests': note which files a capture has, for its
 * release.  'done' is called from the loop for each; the sealed is freed
 * afterwards.
 */
int sealer_create (struct loop *loop, struct bulk *bulk, bool raw,
                   bool manifests,
                   void (*done) (void *arg, struct sealed *s), void *arg,
                   struct sealer **ret, struct err *err);
void sealer_destroy (struct sealer *s); // waits for the thread; NULL is fine

/* What the captures' evidence is to say beside what they show themselves: the
 * host, by its host_id, the job whose id was given, or NULL, and what is known of it
 * beside (or NULL; a capture's user is its owner then).  Before the first
 * sealer_add; they are borrowed.
 */
void sealer_sign (struct sealer *s, const char *host, const char *job,
                  const struct job_origin *about);

/* Queue a settled capture; 'file' is what spool_file says of number 0.  What
 * its disk cannot read fails it all, unless it is tried 'again': then the rows
 * are what could be read, and a raw file is left out.  Want of descriptors or
 * memory fails it always.  One that is not there any more at the end, or
 * another one, fails with -ENOENT, however much of it was read.  'analysis'
 * becomes the reason of a capture that is raw still; a failure that of a
 * partial one, too.  One that is not finished is partial at best, and has no
 * manifest.  0 or -ENOMEM.
 */
int sealer_add (struct sealer *s, const struct watch_settled *what,
                uint64_t id, const char *file, bool again,
                const struct sealer_analysis *analysis);

/* When the oldest of them was added (monotonic); 0: there is none. */
int64_t sealer_oldest_ns (struct sealer *s);

size_t sealer_pending (const struct sealer *s); // queued or under way

#endif
