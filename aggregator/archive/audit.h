/* aggregator/archive/audit.h - the log of what was removed from a root, and kept
 *
 * ROOT/audit.log has a line of JSON for each act: "time" (UTC), "uid", "user",
 * "verb", "job", "what", "captures", "files" and "bytes", as far as they apply.
 * A line is durable before the act: so one that failed may have a line too, but
 * none is without.
 */
#ifndef ROLLCALL_ARCHIVE_AUDIT_H
#define ROLLCALL_ARCHIVE_AUDIT_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

#define AUDIT_LOG "audit.log"

struct audit {
    const char *verb;           // as the user names it: "archive rm", ...
    const char *user;           // who asked for it
    int64_t uid;                // -1: unknown
    const char *job, *what;     // "" or NULL: not said
    int64_t captures, files, bytes;     // 0: not said
    int64_t at_ns;              // since 1970
};

/* The name of a user, or the number if there is none. */
#define AUDIT_USER_MAX 64
void audit_name_user (uid_t uid, char out[AUDIT_USER_MAX]);

/* Say that this user may not 'do' ("read") the log of a root, whose it is, and
 * what gives it back: -EACCES.
 */
int audit_denied (const char *root, const char *what, struct err *err);

/* Append a line, fsynced.  Negative: the act must not take place. */
int audit_write (const char *root, const struct audit *a, struct err *err);

#endif
