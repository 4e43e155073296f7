/* common/model/job_mark.h - the mark of a run's capture directory
 *
 * Directories that `rollcall run` creates for captures, and each capture that
 * `archive get` lays somewhere, have a file of that name, one JSON object:
 * {"job": ID, "rank": N, "world_size": N, "host": H}.  It is not part of a
 * capture.  Anybody may write one, so it has 4096 bytes at most.  Beside a mark
 * for all ranks a file may list captures below it, with what they do not say
 * themselves: rank, host and path of each, with a NUL behind each of these.
 */
#ifndef ROLLCALL_MODEL_JOB_MARK_H
#define ROLLCALL_MODEL_JOB_MARK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define JOB_MARK_NAME ".rollcall-job"
#define JOB_MARK_CAPTURES ".rollcall-captures"
#define SHIPMENT_NAME "rollcall.shipment"       // of a capture's rows, that
                                                // `archive get` lays into it
#define JOB_MARK_ID_MAX 256             // bytes of a job's id, and its NUL
#define JOB_MARK_HOST_MAX 256

struct job_mark {
    char job[JOB_MARK_ID_MAX];
    int64_t rank;                       // -1: of all ranks (OUT/captures)
    int64_t world_size;                 // -1: not known
    char host[JOB_MARK_HOST_MAX];       // of one capture; "": not known
};

/* A capture of the list. */
struct job_mark_capture {
    const char *path;                   // below the marked directory: its
    size_t size;                        // first bytes, so many
    const char *host;                   // "": not known
    int64_t rank;                       // -1: none
};

/* Whether a file of this name in a capture's own directory is rollcall's: it is
 * not part of the capture, and is not delivered.
 */
static inline bool job_mark_is_ours (const char *name)
{
    return strcmp (name, JOB_MARK_NAME) == 0 ||
           strcmp (name, SHIPMENT_NAME) == 0;
}

/* Mark the existing 'dir' before anything is written into it.  Repeating a mark
 * changes nothing.  In a rank's directory the mark replaces another job's.  A
 * mark for all ranks is never replaced, since captures of that job are there:
 * -EEXIST. Returns 0 or -errno.
 */
int job_mark_write (const char *dir, const char *job, int64_t rank,
                    int64_t world_size, struct err *err);

/* As job_mark_write for all ranks, with a list of captures, which replaces that
 * of an earlier mark.  -EFBIG: it has more than 16 MiB.
 */
int job_mark_list (const char *dir, const char *job, int64_t world_size,
                   const struct job_mark_capture *list, size_t n,
                   struct err *err);

/* The text of a mark, which the caller frees; NULL: no memory. */
char *job_mark_text (const struct job_mark *m);

/* The mark of a directory: 0, -ENOENT (none), -EBADMSG (a file of that name
 * that is not a mark), or another -errno.
 */
int job_mark_read (int dirfd, struct job_mark *ret);

/* The last marks that were read, since many captures are below one: that of the
 * directory of the captures, and that above it.  They begin as zeros.
 */
struct job_marks_read {
    bool is;
    uint64_t dev, ino;                  // of its directory
    int rc;                             // as job_mark_read says
    struct job_mark mark;
    struct buf texts;                   // of the list,
    struct job_mark_capture *list;      // which is sorted by path
    size_t n;
};
struct job_marks {
    struct job_marks_read last[2];
};

/* What the mark of the open directory 'above', or else that of the directory
 * above it, says of the capture 'name': 'rank' and 'host' are its own if the mark
 * lists it.  Returns what job_mark_read does, or -ENOMEM.
 */
int job_marks_find (struct job_marks *m, int above, const char *name,
                    struct job_mark *ret);
void job_marks_fini (struct job_marks *m);

#endif
