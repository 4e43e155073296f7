/* node_agent/identity/fingerprint.h - identify a version of a capture
 *
 * "<files>/<bytes>/<date of the newest in ns>/<done>~<sum>" summarizes what
 * stat(2) says of all files of a capture.  If it differs, the capture was
 * changed.
 */
#ifndef ROLLCALL_IDENTITY_FINGERPRINT_H
#define ROLLCALL_IDENTITY_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

#define FINGERPRINT_MAX 96      // bytes, with what an agent appends
#define FINGERPRINT_BARE 81     // at most, without that
#define FINGERPRINT_RAW "/raw"  // an agent appends it if raw files are sealed

void fingerprint_write (char out[FINGERPRINT_MAX], uint64_t files,
                        uint64_t bytes, int64_t newest_ns, bool done,
                        uint64_t sum);

/* When the newest file of that version was written (ns since 1970); 0 if the
 * text is no fingerprint.  A suffix "+N" adds N ns.
 */
int64_t fingerprint_newest_ns (const char *fingerprint);

#endif
