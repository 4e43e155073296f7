/* node_agent/offline_analysis/memory.c - measure the memory for another program */
#include "offline_analysis/memory.h"

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS "/sys/fs/cgroup"

/* Get the rest of the first line that begins with 'start'.  False: there is
 * none.
 */
static bool find_line (const char *path, const char *start, char *out,
                       int max)
{
    FILE *f = fopen (path, "re");
    size_t n = strlen (start);
    bool found = false;

    while (f && !found && fgets (out, max, f)) {
        found = strncmp (out, start, n) == 0;
        if (found)
            memmove (out, out + n, strlen (out + n) + 1);
    }
    if (f)
        (void)fclose (f);
    out[found ? strcspn (out, "\n") : 0] = '\0';
    return found;
}

static uint64_t meminfo (const char *root, const char *name)
{
    char path[PATH_MAX], line[128];

    PRINT (path, "%s/proc/meminfo", root);
    return find_line (path, name, line, sizeof (line))
               ? strtoull (line, NULL, 10) * 1024 : 0;
}

/* A number in a group's file, after 'start'.  UINT64_MAX: there is none, or it
 * is "max".
 */
static uint64_t group_number (const char *root, const char *group,
                              const char *file, const char *start)
{
    char path[PATH_MAX], line[64], *end;
    uint64_t v;

    if (snprintf (path, sizeof (path), "%s" GROUPS "%s/%s", root, group,
                  file) >= (int)sizeof (path) ||
        !find_line (path, start, line, sizeof (line)))
        return UINT64_MAX;
    v = strtoull (line, &end, 10);
    return end == line || *end ? UINT64_MAX : v;
}

/* The memory that a group uses, without file pages that the kernel can reclaim.
 */
static uint64_t group_used (const char *root, const char *group)
{
    uint64_t all = group_number (root, group, "memory.current", "");
    uint64_t files = group_number (root, group, "memory.stat",
                                   "inactive_file ");

    if (all == UINT64_MAX)
        return 0;
    return files < all ? all - files : all;
}

/* The lowest limit of the groups, from that of this process up to the root.
 * With 'used' their use is subtracted.
 */
static uint64_t bound (const char *root, uint64_t bytes, bool used)
{
    char path[PATH_MAX], group[1024], *slash;

    PRINT (path, "%s/proc/self/cgroup", root);
    if (!find_line (path, "0::", group, sizeof (group)))
        return bytes;
    do {
        uint64_t most = group_number (root, group, "memory.max", "");
        uint64_t now = used && most != UINT64_MAX
                           ? group_used (root, group) : 0;

        most = most > now ? most - now : 0;
        bytes = most < bytes ? most : bytes;
        if ((slash = strrchr (group, '/')))
            *slash = '\0';
    } while (slash);
    return bytes;
}

uint64_t memory_total (const char *root)
{
    return bound (root, meminfo (root, "MemTotal:"), false);
}

uint64_t memory_available (const char *root)
{
    return bound (root, meminfo (root, "MemAvailable:"), true);
}
