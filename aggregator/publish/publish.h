/* aggregator/publish/publish.h - publish a result whole or not at all
 *
 * A result is built under a temporary name, checked, fsynced and renamed to its
 * final name.  Another tool's file of that name is kept; so is a result with
 * rows if the new one has none.
 *
 * This folder: publishing a result, and handling of existing files.
 */
#ifndef ROLLCALL_PUBLISH_PUBLISH_H
#define ROLLCALL_PUBLISH_PUBLISH_H

#include "base/err.h"
#include "publish/publish_lock.h"
#include "publish/scratch.h"
#include "sqlite_pages/page_sums.h"
#include "store/tree.h"

#include <limits.h>
#include <stdbool.h>

#define PUBLISH_APPLICATION_ID 0x524f4c4c       // "ROLL"
#define PUBLISH_OUTPUT_DIR "cluster_analysis_output"
#define PUBLISH_DB_NAME "analysis.db"   // the main file in it
#define PUBLISH_JOB_MAX 256             // bytes of a job's id, with its NUL

struct publish {
    struct tree above;          // the directory in which 'dir' was opened; or
                                // closed
    struct tree dir;            // of the results
    struct scratch work;        // temporary files, below 'dir' or local
    bool copied;                // 'work' is not on the final file system
    struct scratch near;        // if so, below 'dir', for the copy
    bool keep;                  // keep existing files in 'dir', even rollcall's
    struct publish_lock lock;   // of 'dir' while files are published
    struct stat put;            // analysis.db as it was published
};

/* Create and hold the output directory below 'out', or in its directory 'job'
 * if that is not NULL, and choose where to build: there, or on a local disk if
 * it is on a remote file system.  Temporary files of dead builds are removed
 * from both.  With a sentence: -ELOOP (the output directory is a symbolic
 * link), -EPERM (for root: it is another user's, and 'foreign' is false),
 * -ENOSYS (/proc is not mounted), -EACCES, -EROFS, -ENOSPC, ...
 */
int publish_open (struct publish *p, const char *out, const char *job,
                  bool foreign, struct err *err);

/* The same below a held 'out', which the caller still owns. */
int publish_open_in (struct publish *p, const struct tree *out, bool foreign,
                     struct err *err);

/* The same for results in the existing directory 'dir' itself. */
int publish_open_dir (struct publish *p, const char *dir, bool foreign,
                      struct err *err);

/* Remove the remaining temporary files; another one may publish. */
void publish_close (struct publish *p);

/* As publish_close; removes the output directory, too, if it is empty. */
void publish_drop (struct publish *p);

/* The path of a numbered temporary file for 'name', and that of the result of
 * this name: held paths (store/tree.h).  Use publish_tell to show them to a
 * user.
 */
int publish_temp (const struct publish *p, const char *name, unsigned number,
                  char path[PATH_MAX], struct err *err);
int publish_path (const struct publish *p, const char *name,
                  char path[PATH_MAX], struct err *err);
void publish_tell (const struct publish *p, struct err *err);

/* Check the pages of a finished database (sqlite_pages/page_check.h), which
 * nobody may have open, and fsync it.  'sums': as of page_check_sums.  -EIO says
 * that it is damaged.
 */
int publish_check_db (const char *path, unsigned threads,
                      struct page_sums *sums, struct err *err);

/* Call it before the first publish_finish.  A run that ends late does not
 * replace the result of another job that began later: its files go to
 * cluster_analysis_output.of-JOB beside it, and 'newer' gets the other job's id
 * (else "").  'began' is as Job.began_at; if it or 'job' is NULL, this job is
 * the newest.  Another publisher is waited for, as long as it lives
 * (publish_lock.h); -EINTR.  Where a file system has no locks, p->lock.held is
 * false then: each file is whole, but publish_finish tells whether those of two
 * builds were about to be mixed.
 */
int publish_choose (struct publish *p, const char *job, const char *began,
                    const struct publish_caller *caller,
                    char newer[PUBLISH_JOB_MAX], struct err *err);

/* Nothing more is going to be published: another one may. */
void publish_end (struct publish *p);

/* Copy a finished temporary file to the file system of the results if it is on
 * another one, so that publish_finish has only to rename it: before
 * publish_choose, for others do not wait meanwhile, and what is interrupted has
 * changed nothing.  -EINTR: *cancel, which may be NULL, became true.
 */
int publish_bring (struct publish *p, const char *temp,
                   const atomic_bool *cancel, struct err *err);

/* Move a finished, fsynced temporary file to its final name.  'is_ours' is
 * called with a held path.  An existing file that is not ours, or any if
 * p->keep is true, is first renamed to NAME.before-rollcall[.N], and 'kept'
 * gets that path (else ""), with the other files of a database
 * (existing_output.h); -EBUSY if a process writes it; -ESTALE: there are no
 * locks, and another build has replaced the analysis.db that was published
 * before; -EINTR as publish_bring.
 */
int publish_finish (struct publish *p, const char *temp,
                    const char *name, bool (*is_ours) (const char *path),
                    const atomic_bool *cancel, char kept[PATH_MAX],
                    struct err *err);

/* Whether a file is a database that rollcall wrote; one that cannot be read is
 * none, so before what belongs to it is removed ask for that, too: 1, 0, or the
 * system's error.
 */
bool publish_is_our_db (const char *path);
int publish_look_at_db (const char *path);

/* Whether it is one, and has rows of the profiler's four tables. */
bool publish_has_rows (const char *path);

#endif
