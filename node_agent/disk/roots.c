/* node_agent/disk/roots.c - the directories below which captures may be removed
 */
#include "disk/roots.h"

#include "store/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct root {
    const char *dir;            // as it was given
    char *began;                // where it led to at the start; NULL: nowhere
};

struct roots {
    struct root *list;
    size_t n;
};

struct roots *roots_create (const char *const *dirs, size_t n)
{
    struct roots *r = calloc (1, sizeof (*r));

    if (!r || !(r->list = calloc (n ? n : 1, sizeof (*r->list)))) {
        free (r);
        return NULL;
    }
    for (; r->n < n; r->n++) {
        struct root *x = &r->list[r->n];

        *x = (struct root){ dirs[r->n], realpath (dirs[r->n], NULL) };
        if (!x->began && errno == ENOMEM) {
            roots_destroy (r);
            return NULL;
        }
    }
    return r;
}

void roots_destroy (struct roots *r)
{
    for (size_t i = 0; r && i < r->n; i++)
        free (r->list[i].began);
    if (r)
        free (r->list);
    free (r);
}

static bool is_below (const char *path, const char *root)
{
    size_t n = strlen (root);

    if (n == 1)                         // "/"
        n = 0;
    return strncmp (path, root, n) == 0 &&
           (path[n] == '/' || path[n] == '\0');
}

int roots_check (const struct roots *r, const char *path, struct err *err)
{
    char now[PATH_MAX];

    for (size_t i = 0; i < r->n; i++) {
        if (r->list[i].began && is_below (path, r->list[i].began))
            return 0;
    }
    for (size_t i = 0; i < r->n; i++) {
        if (tree_resolve (r->list[i].dir, now) == 0 && is_below (path, now))
            return 0;
    }
    return err_set (err, EXDEV, "%s was found through a link that replaced a "
                    "watched directory and that belongs neither to root, nor "
                    "to this user, nor to the owner of its target: restart the "
                    "agent if that is intended", path);
}
