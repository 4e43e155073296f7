/* node_agent/agent/wanted_files.c - which files a WANT names */
#include "agent/wanted_files.h"

#include <string.h>

/* After a mismatch only the last * has to take one byte more: so the patterns
 * of a stranger cost no more than others.  (fnmatch(3) may take for ever.)
 */
static bool matches (const char *pattern, const char *text)
{
    const char *star = NULL, *taken = NULL;

    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            taken = text;
        } else if (*pattern == *text || *pattern == '?') {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++taken;
        } else {
            return false;
        }
    }
    return pattern[strspn (pattern, "*")] == '\0';
}

bool wanted_matches (const char *pattern, const char *path)
{
    const char *slash = strrchr (path, '/');

    return !*pattern || matches (pattern, path) ||
           (slash && !strchr (pattern, '/') && matches (pattern, slash + 1));
}
