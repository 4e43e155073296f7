/* node_agent/identity/fingerprint.h - which version of a capture it is
 *
 * "<files>/<bytes>/<date of the newest in ns>/<done>~<sum>": what stat(2) says
 * of all files of a capture.  One that has another was changed.
 */
#ifndef ROLLCALL_IDENTITY_FINGERPRINT_H
#define ROLLCALL_IDENTITY_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

#define FINGERPRINT_MAX 96      // bytes; the longest has 87, with what
#define FINGERPRINT_BARE 81     // is put behind it

void fingerprint_write (char out[FINGERPRINT_MAX], uint64_t files,
                        uint64_t bytes, int64_t newest_ns, bool done,
                        uint64_t sum);

/* When the newest file of that version was written (ns since 1970), 0 if it
 * does not say.  "+N" at its end is so much later.
 */
int64_t fingerprint_newest_ns (const char *fingerprint);

#endif
