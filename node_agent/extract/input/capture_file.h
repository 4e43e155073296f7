/* node_agent/extract/input/capture_file.h - a file of a capture, read in one
 * pass
 *
 * Notices when the file changed while it was read: then what was read is not to
 * be trusted.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_CAPTURE_FILE_H
#define ROLLCALL_EXTRACT_INPUT_CAPTURE_FILE_H

#include "extract/sink/source.h"
#include "json/scan.h"

#include <sys/stat.h>

struct watched {
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
enum reading watched_open (struct watched *w, const struct source *src,
                           int dir, const char *name, struct err *err);

/* Its next bytes, unpacked by 'gz' if that was set, for scanners: 'arg' is the
 * watched.
 */
ssize_t watched_read (void *arg, void *buf, size_t size);

/* True when it is no longer the file that was opened. */
bool watched_changed (const struct watched *w);

/* How reading went, after the last byte that was wanted: 's' is NULL when it
 * was not read by a scanner.
 */
enum reading watched_verdict (struct watched *w, const struct scan *s,
                              struct err *err);

void watched_close (struct watched *w);

#endif
