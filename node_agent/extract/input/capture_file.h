/* node_agent/extract/input/capture_file.h - a file of a capture, read in one
 * pass
 *
 * Detects a file that changed while it was read: then its content is not
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
    struct inflate *gz;         // borrowed; NULL: its bytes are as they are
    struct stat st;             // as it was when it was opened
};

/* READING_WHOLE (it is open), READING_ABSENT, or READING_DAMAGED for a file
 * that is empty, a link, or cannot be read.
 */
enum reading capture_file_open (struct capture_file *w,
                                const struct source *src,
                                int dir, const char *name, struct err *err);

/* Its next bytes, unpacked by 'gz' if that was set, for scanners: 'arg' is the
 * watched.
 */
ssize_t capture_file_read (void *arg, void *buf, size_t size);

/* The verdict on reading, after the last wanted byte: 's' is NULL if no scanner
 * read it.
 */
enum reading capture_file_verdict (struct capture_file *w, const struct scan *s,
                                   struct err *err);

void capture_file_close (struct capture_file *w);

#endif
