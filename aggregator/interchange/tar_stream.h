/* aggregator/interchange/tar_stream.h - write and read tar files, member by
 * member (the only user of libarchive)
 *
 * Written is pax, which has times in ns, sizes above 8 GiB and names of any
 * bytes.  Read is every kind of tar, also gzip and zstd of one.  Memory does not
 * grow with the file.
 */
#ifndef ROLLCALL_INTERCHANGE_TAR_STREAM_H
#define ROLLCALL_INTERCHANGE_TAR_STREAM_H

#include "base/err.h"
#include "store/file_facts.h"

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

struct tar_writer;

/* Begin a tar file in 'fd', which is borrowed. */
int tar_writer_create (int fd, struct tar_writer **ret, struct err *err);
void tar_writer_destroy (struct tar_writer *w); // w may be NULL

/* Begin a member; then write its 'size' bytes. */
int tar_writer_begin (struct tar_writer *w, const char *name, uint64_t size,
                      const struct file_facts *facts, struct err *err);
int tar_writer_put (struct tar_writer *w, const void *data, size_t n,
                    struct err *err);
int tar_writer_finish (struct tar_writer *w, struct err *err);

struct tar_reader;

struct tar_member {
    char name[PATH_MAX];        // relative, without "." and ".."; "" if refused
    uint64_t size;
    struct file_facts facts;    // with its owner
    bool directory;
    char refused[256];          // why it is not taken, with its name; "": it is
};

/* Begin to read from 'fd', which is borrowed. */
int tar_reader_create (int fd, struct tar_reader **ret, struct err *err);
void tar_reader_destroy (struct tar_reader *r); // r may be NULL

/* The next member: 1; 0: the end; -EBADMSG: it is damaged, or no tar file. */
int tar_reader_next (struct tar_reader *r, struct tar_member *m,
                     struct err *err);

/* Read bytes of the member: how many, 0 at its end, or -EBADMSG. */
ssize_t tar_reader_get (struct tar_reader *r, void *data, size_t n,
                        struct err *err);

#endif
