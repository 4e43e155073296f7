/* common/model/beside.c - what a profiler leaves beside its capture */
#include "model/beside.h"

#include <string.h>

const char *const beside_ends[BESIDE_MAX] = { "_op_arg", "_op_args" };

bool beside_begins (const char *name, const char *path)
{
    size_t n = strlen (name), part = strcspn (path, "/");

    for (size_t i = 0; i < BESIDE_MAX; i++) {
        size_t end = strlen (beside_ends[i]);

        if (part == n + end && strncmp (path, name, n) == 0 &&
            strncmp (path + n, beside_ends[i], end) == 0)
            return true;
    }
    return false;
}

size_t beside_size (const char *name, const char *path)
{
    size_t part = strcspn (path, "/");

    return path[part] == '/' && beside_begins (name, path) ? part : 0;
}
