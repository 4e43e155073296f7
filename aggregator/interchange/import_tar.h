/* aggregator/interchange/import_tar.h - a tar file into a root
 *
 * One that export_job wrote, or an ordinary one with captures in it, which is
 * unpacked.
 */
#ifndef ROLLCALL_INTERCHANGE_IMPORT_TAR_H
#define ROLLCALL_INTERCHANGE_IMPORT_TAR_H

#include "archive/intake.h"
#include "base/pack.h"
#include "interchange/tar_stream.h"
#include "store/tree.h"

struct import_sums {
    char job[MESSAGE_NAME_MAX]; // of an export
    uint64_t files, bytes;
    size_t refused;             // members that were not taken
    uint64_t elsewhere;         // items of versions that the root has assigned
                                // to another job, where they stay
};

/* Read the first member: 1 if it is the mark of an export, whose job is in
 * ret->job; 0: of an ordinary tar file, with its first member in 'first' (its
 * name and 'refused' are empty if there is none); -EBADMSG: damaged, or an
 * export of another version.
 */
int import_begin (struct tar_reader *from, struct tar_member *first,
                  struct import_sums *ret, struct err *err);

struct import_options {
    const char *root;           // whose disk has what is noted meanwhile
    enum chunk_codec codec;
    const char *job;            // in the root; NULL: that of the export
    bool merge;                 // also into a job with other items
};

/* Put the rest of an export into the root; its names only when all of it has
 * come and each hash is right.  What the root says already stays, and no other job
 * changes.  -EBADMSG: the file is damaged, cut short, or was changed; -EEXIST: the
 * root has a job of that name with items that the export lacks; -EFBIG: more than
 * 10,000,000 members, or a manifest of more than 16 GiB; -ENOSPC.
 */
int import_export (struct tar_reader *from, struct intake *in,
                   const struct import_options *opt, const atomic_bool *cancel,
                   struct import_sums *ret, struct err *err);

/* Unpack an ordinary tar file into a directory, from 'first' on.  Only regular
 * files are taken; 'refuse' gets a sentence for each other member.  Nothing is
 * written elsewhere.  -ENOSPC: the disk is full, or nearly, also of files; -EFBIG:
 * more than 10,000,000 files.
 */
int import_unpack (struct tar_reader *from, struct tar_member *first,
                   const struct tree *to, bool owner,
                   void (*refuse) (void *arg, const char *why), void *arg,
                   const atomic_bool *cancel,
                   struct import_sums *ret, struct err *err);

#endif
