/* cli/shared/unbuilt.c - results that a service could not build, as its status says
 */
#include "shared/unbuilt.h"

#include "shared/command.h"

#include "base/units.h"
#include "json/status.h"
#include "store/fileio.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *unbuilt_text (const struct json *entry, char out[UNBUILT_TEXT_MAX])
{
    const char *hint = json_text (json_get (entry, "hint"), "");
    int64_t n = cli_number (entry, "tries");

    (void)snprintf (out, UNBUILT_TEXT_MAX, "its result could not be built since "
                    "%s (%lld %s): %.512s%s%.512s; it is tried again by itself",
                    json_text (json_get (entry, "since"), "?"), (long long)n,
                    n == 1 ? "try" : "tries",
                    json_text (json_get (entry, "why"), "?"),
                    *hint ? "; " : "", hint);
    return out;
}

struct json *unbuilt_read (const char *root)
{
    char path[PATH_MAX];
    struct json *j = NULL;
    struct buf text;
    bool alive = false;

    buf_init (&text, STATUS_MAX);
    if (fileio_join (path, sizeof (path), root, STATUS_NAME))
        j = status_read (path, &text, &alive);
    buf_fini (&text);
    if (alive)
        return j;
    json_free (j);              // the next one builds all that is missing
    return NULL;
}

const struct json *unbuilt_find (const struct json *status, const char *job)
{
    const struct json *k = json_first (json_get (status, "unbuilt"));

    while (k && strcmp (json_text (json_get (k, "job"), ""), job) != 0)
        k = json_next (k);
    return k;
}
