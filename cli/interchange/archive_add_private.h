/* cli/interchange/archive_add_private.h - rollcall archive add, between its
 * files: archive_add_group.c lists captures and reads a group of them at one
 * time, archive_add_read.c reads their bytes, and archive_add_items.c puts the
 * names of what was read
 */
#ifndef ROLLCALL_INTERCHANGE_ARCHIVE_ADD_PRIVATE_H
#define ROLLCALL_INTERCHANGE_ARCHIVE_ADD_PRIVATE_H

#include "archive_verb.h"

#include "discovery/find.h"
#include "extract/extract.h"
#include "identity/recall.h"
#include "interchange/content_writer.h"
#include "store/tree.h"
#include "world/host.h"

#include <sys/stat.h>

#define ADD_SCOPE "default"     // of services that were given no job
#define ADD_THREADS_MAX 64

struct add_file {
    size_t capture;             // in the group
    char *path;                 // as the item is called
    struct stat st;
    struct digest content;
    int rc;                     // -EAGAIN: it changed; another: it was not read
};

struct add_capture {
    const char *path;           // where it was found, for people
    char held[TREE_HELD_MAX];   // where it is read
    const char *name;
    char job[MESSAGE_NAME_MAX]; // given; "": as the scope is divided
    struct recalled recalled;
    char host[CAPTURE_NAME_MAX];        // "": nothing says it
    int parent;                 // the directory above it, open
    struct extract_look look;   // before it was read
    int64_t rank;
    char capture_name[MESSAGE_NAME_MAX];
    struct digest rows;
    size_t nfiles;
    bool changed, failed, done;
    struct err why;
};

/* A version of a capture whose job the scope's division finds. */
struct add_scoped {
    char capture[MESSAGE_NAME_MAX], place[MESSAGE_PLACE_MAX];
    int64_t rank, newest_ns;
};

/* Captures that are read at one time. */
struct add_group {
    struct adding_all *all;
    struct add_capture *captures;
    size_t n;
    struct add_file *files;
    size_t nfiles;
};

struct adding_all {
    struct adding *a;
    struct job_marks marks;
    bool told_of_mark;          // the first one that is broken
    struct content_writer *writers[ADD_THREADS_MAX];
    unsigned threads;
    char host[HOST_NAME_MAX_BYTES], host_id[HOST_KEY_SIZE];
    struct texts jobs;          // that got captures
    struct add_scoped *scoped;  // captures that no job was given for
    size_t nscoped;
    size_t captures, files, failed;
    uint64_t bytes;
};

/* Name something that is not added: it costs that only.  'file' may be NULL. */
void add_tell (struct adding_all *all, const char *path, const char *file,
               const char *why);

/* The same for what nobody need miss, as a link: the exit status stays. */
void add_note (const struct adding_all *all, const char *path,
               const char *file, const char *why);

/* Put the captures that were found, and flush: negative only if the root, or
 * memory, failed.
 */
int add_found (struct adding_all *all, const struct found_list *found,
               struct err *err);

/* Put the content of a raw file; the rows of a capture, with its name and rank.
 * What cannot be read is noted in 'f' or 'c'; negative only if the root failed.
 */
int add_read_file (struct add_group *g, struct add_file *f,
                   struct content_writer *w, struct err *err);
int add_read_rows (struct add_capture *c, struct content_writer *w,
                   struct err *err);

/* Put the items of capture 'i' of a group, which was read. */
int add_items (struct add_group *g, size_t i, struct err *err);

#endif
