/* node_agent/extract/input/capture_file.h - read a file of a capture in one
 * pass
 *
 * A file that changes while it is read is detected: then its content is not
 * reliable.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_CAPTURE_FILE_H
#define ROLLCALL_EXTRACT_INPUT_CAPTURE_FILE_H

#include "extract/sink/source.h"
#include "json/scan.h"

#include <sys/stat.h>

struct capture_file {
    int dir;                    // borrowed
    const char *name;
    const struct source *src;   // borrowed
    int fd;
    struct inflate *gz;         // borrowed; NULL: it is not compressed
    struct stat st;             // at the time of opening
};

/* Open a file.  READING_WHOLE: it is open; READING_ABSENT; READING_DAMAGED: it
 * is empty, a link, or cannot be read.
 */
enum reading capture_file_open (struct capture_file *w,
                                const struct source *src,
                                int dir, const char *name, struct err *err);

/* A scan_read_fn for its content, unpacked by 'gz' if that is set.  'arg' is
 * the struct capture_file.
 */
ssize_t capture_file_read (void *arg, void *buf, size_t size);

/* The verdict after the last byte that is needed.  's' is the scanner that read
 * it, or NULL.
 */
enum reading capture_file_verdict (struct capture_file *w, const struct scan *s,
                                   struct err *err);

void capture_file_close (struct capture_file *w);

#endif
