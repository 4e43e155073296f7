/* node_agent/control/cgroup.c - the control groups of a process */
#include "control/cgroup.h"

#include "base/buf.h"
#include "store/fileio.h"

#include <stddef.h>
#include <string.h>

#define TEXT_MAX (64u << 10)            // bytes: about 12 lines with a path
                                        // each

char *cgroup_read (int process)
{
    char *text = NULL;
    struct buf b;

    buf_init (&b, TEXT_MAX);
    if (fileio_read_at (process, "cgroup", &b, NULL) == 0)
        text = strdup (buf_text (&b));
    buf_fini (&b);
    return text;
}

/* Find the path in a line "ID:CONTROLLERS:PATH", or NULL. */
static const char *path_of (const char *line)
{
    const char *colon = strchr (line, ':');

    colon = colon ? strchr (colon + 1, ':') : NULL;
    return colon ? colon + 1 : NULL;
}

/* Find the path of the same hierarchy in another text, or NULL. */
static const char *cgroup_find (const char *text, const char *line,
                                size_t before)
{
    for (; text && *text; text = strchr (text, '\n')) {
        text += *text == '\n';
        if (strncmp (text, line, before) == 0)
            return text + before;
    }
    return NULL;
}

static bool is_below (const char *path, const char *group, size_t n)
{
    return strncmp (path, group, n) == 0 &&
           (path[n] == '/' || path[n] == '\n' || path[n] == '\0');
}

bool cgroup_is_within (const char *in, const char *group)
{
    bool proper = false;

    if (!in || !group)
        return false;
    while (*group) {
        size_t size = strcspn (group, "\n");
        const char *path = path_of (group), *other;

        if (!path || !(other = cgroup_find (in, group, (size_t)(path - group))))
            return false;
        if (path[0] == '/' && path + 1 != group + size) {
            proper = true;
            if (!is_below (other, path, (size_t)(group + size - path)))
                return false;
        }
        group += size + (group[size] == '\n');
    }
    return proper;
}
