/* aggregator/interchange/export_job.h - a job of a root as a tar file
 *
 * doc/format-export.md has the format.
 */
#ifndef ROLLCALL_INTERCHANGE_EXPORT_JOB_H
#define ROLLCALL_INTERCHANGE_EXPORT_JOB_H

#include "archive/archive.h"

#define EXPORT_MARK "rollcall-export.json"      // the first member
#define EXPORT_MANIFEST "rollcall-manifest.jsonl"       // the last one
#define EXPORT_FORMAT "rollcall-export"
#define EXPORT_VERSION 1
#define EXPORT_LINE_MAX 65536           // bytes of a line of the manifest
#define EXPORT_RECORD "record"          // of a line: a record, in hexadecimal

struct export_sums {
    uint64_t files, bytes;
    size_t lost;                // items whose content is not there, or damaged
};

/* Write the job to 'fd'.  'lose' is called for each item that is left out, with
 * the reason.  -ENOENT: there is no such job; -EINTR: *cancel is true.
 */
int export_job (struct archive *a, const char *job, int fd,
                void (*lose) (void *arg, const struct ledger_item *item,
                              const struct err *why),
                void *arg, const atomic_bool *cancel, struct export_sums *ret,
                struct err *err);

#endif
