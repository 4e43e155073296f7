/* node_agent/identity/fingerprint.c - identify a version of a capture */
#include "identity/fingerprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void fingerprint_write (char out[FINGERPRINT_MAX], uint64_t files,
                        uint64_t bytes, int64_t newest_ns, bool done,
                        uint64_t sum)
{
    (void)snprintf (out, FINGERPRINT_MAX,
                    "%" PRIu64 "/%" PRIu64 "/%" PRId64 "/%d~%016" PRIx64,
                    files, bytes, newest_ns, done, sum);
}

int64_t fingerprint_newest_ns (const char *fingerprint)
{
    const char *plus = strchr (fingerprint, '+');
    int64_t ns = 0;
    int later = 0;

    if (sscanf (fingerprint, "%*[0-9]/%*[0-9]/%" SCNd64, &ns) != 1 || ns <= 0)
        return 0;
    if (plus && (sscanf (plus, "+%4d", &later) != 1 || later < 0))
        later = 0;
    return ns < INT64_MAX - later ? ns + later : ns;
}
