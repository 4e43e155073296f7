/* tests/kit/power_files.c - files and directories as a disk sees them */
#include "power_files.h"

#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096               // what a disk writes at once, mostly
#define SECTOR 512              // what it writes at once for certain

enum { DURABLE, NOW };

static void *grow (void *p, size_t n, size_t size)
{
    if ((n & (n - 1)) == 0 && !(p = realloc (p, (n ? 2 * n : 1) * size)))
        abort ();
    return p;
}

static char *copy (const char *s)
{
    char *p = strdup (s);

    if (!p)
        abort ();
    return p;
}

struct node *node_new (bool dir)
{
    struct node *n = calloc (1, sizeof (*n));

    if (!n)
        abort ();
    n->dir = dir;
    return n;
}

/* ---- files ---- */

void node_change (struct node *n, struct change c)
{
    n->changes = grow (n->changes, n->nchanges, sizeof (c));
    n->changes[n->nchanges++] = c;
    if (c.truncate)
        n->size = c.offset;
    else if (c.offset + c.size > n->size)
        n->size = c.offset + c.size;
}

static void resize (struct node *n, size_t size)
{
    if (size > n->old_room) {
        n->old_room = 2 * size;
        if (!(n->old = realloc (n->old, n->old_room)))
            abort ();
    }
    if (size > n->old_size)
        memset (n->old + n->old_size, 0, size - n->old_size);
    n->old_size = size;
}

static void apply_all (struct node *n)
{
    for (size_t i = 0; i < n->nchanges; i++) {
        const struct change *c = &n->changes[i];

        if (c->truncate) {
            resize (n, c->offset);
            continue;
        }
        if (c->offset + c->size > n->old_size)
            resize (n, c->offset + c->size);
        memcpy (n->old + c->offset, c->data, c->size);
    }
    n->nchanges = 0;
}

/* The page at 'at' after the first 'count' changes. */
static void page_after (const struct node *n, uint64_t at, size_t count,
                        uint8_t page[PAGE])
{
    memset (page, 0, PAGE);
    if (at < n->old_size)
        memcpy (page, n->old + at,
                n->old_size - at < PAGE ? n->old_size - at : PAGE);
    for (size_t i = 0; i < count; i++) {
        const struct change *c = &n->changes[i];
        uint64_t from = c->offset > at ? c->offset : at;
        uint64_t to = c->truncate || c->offset + c->size > at + PAGE
                          ? at + PAGE : c->offset + c->size;

        if (from >= to)
            continue;
        if (c->truncate)
            memset (page + (from - at), 0, to - from);
        else
            memcpy (page + (from - at), c->data + (from - c->offset),
                    to - from);
    }
}

static uint64_t size_after (const struct node *n, size_t count)
{
    uint64_t size = n->old_size;

    for (size_t i = 0; i < count; i++) {
        const struct change *c = &n->changes[i];

        if (c->truncate)
            size = c->offset;
        else if (c->offset + c->size > size)
            size = c->offset + c->size;
    }
    return size;
}

/* How many of 'n' steps were done: none, all, or some. */
static size_t how_many (size_t n, uint64_t (*draw) (uint64_t n))
{
    uint64_t luck = draw (3);

    return luck == 0 ? 0 : luck == 1 ? n : (size_t)draw (n + 1);
}

static void cut_file (struct node *n, uint64_t (*draw) (uint64_t n))
{
    uint64_t most = n->old_size;
    uint64_t size = size_after (n, how_many (n->nchanges, draw));
    uint8_t *out, page[PAGE], other[PAGE];

    for (size_t i = 0; i <= n->nchanges; i++) {
        if (size_after (n, i) > most)
            most = size_after (n, i);
    }
    if (!(out = calloc (1, most + PAGE)))
        abort ();
    for (uint64_t at = 0; at < most; at += PAGE) {
        page_after (n, at, how_many (n->nchanges, draw), page);
        if (draw (8) == 0) {            // torn
            size_t sectors = (size_t)draw (PAGE / SECTOR);

            page_after (n, at, how_many (n->nchanges, draw), other);
            memcpy (page, other, sectors * SECTOR);
        }
        memcpy (out + at, page, PAGE);
    }
    free (n->old);
    n->old = out;
    n->old_room = most + PAGE;
    n->old_size = size;
    n->nchanges = 0;
}

/* ---- directories ---- */

static void set_entry (struct node *dir, int when, const char *name,
                       struct node *node)
{
    struct entry *e = dir->entries[when];
    size_t *n = &dir->nentries[when];

    for (size_t i = 0; i < *n; i++) {
        if (strcmp (e[i].name, name) != 0)
            continue;
        if (node) {
            e[i].node = node;
            return;
        }
        free (e[i].name);
        e[i] = e[--*n];         // the order does not matter
        return;
    }
    if (!node)
        return;
    if (!(e = realloc (e, (*n + 1) * sizeof (*e))))
        abort ();
    dir->entries[when] = e;
    e[(*n)++] = (struct entry){ .name = copy (name), .node = node };
}

static void add_step (struct node *dir, const char *name, struct node *node,
                      struct node *partner, const char *partner_name)
{
    set_entry (dir, NOW, name, node);
    dir->steps = grow (dir->steps, dir->nsteps, sizeof (*dir->steps));
    dir->steps[dir->nsteps++] = (struct entry){
        copy (name), node, partner, partner_name ? copy (partner_name) : NULL,
    };
}

struct node *node_find (const struct node *dir, const char *name)
{
    for (size_t i = 0; i < dir->nentries[NOW]; i++) {
        if (strcmp (dir->entries[NOW][i].name, name) == 0)
            return dir->entries[NOW][i].node;
    }
    return NULL;
}

void node_put (struct node *dir, const char *name, struct node *n)
{
    add_step (dir, name, n, NULL, NULL);
}

void node_remove (struct node *dir, const char *name)
{
    add_step (dir, name, NULL, NULL, NULL);
}

void node_rename (struct node *from, const char *name, struct node *to,
                  const char *new_name)
{
    struct node *n = node_find (from, name);

    if (!n)
        return;
    if (from == to) {           // one directory: both are one step
        add_step (to, new_name, n, from, name);
        set_entry (from, NOW, name, NULL);
        return;
    }
    add_step (to, new_name, n, NULL, NULL);
    add_step (from, name, NULL, to, new_name);
}

/* Make the first 'count' steps durable. */
static void do_steps (struct node *dir, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct entry *s = &dir->steps[i];

        if (!s->node && s->partner) {   // moved elsewhere: there, too
            struct node *n = NULL;

            for (size_t k = 0; k < dir->nentries[DURABLE]; k++) {
                if (strcmp (dir->entries[DURABLE][k].name, s->name) == 0)
                    n = dir->entries[DURABLE][k].node;
            }
            if (n)
                set_entry (s->partner, DURABLE, s->partner_name, n);
        }
        set_entry (dir, DURABLE, s->name, s->node);
        if (s->node && s->partner)      // renamed within
            set_entry (dir, DURABLE, s->partner_name, NULL);
    }
}

void node_sync (struct node *n)
{
    if (!n->dir) {
        apply_all (n);
        return;
    }
    do_steps (n, n->nsteps);
    n->nsteps = 0;
}

static void cut_dir (struct node *n, uint64_t (*draw) (uint64_t n))
{
    do_steps (n, how_many (n->nsteps, draw));
    n->nsteps = 0;
}

/* All directories first: a rename may put something into another one. */
static void cut_dirs (struct node *n, uint64_t (*draw) (uint64_t n))
{
    for (size_t i = 0; i < n->nentries[NOW]; i++) {
        if (n->entries[NOW][i].node->dir)
            cut_dirs (n->entries[NOW][i].node, draw);
    }
    cut_dir (n, draw);
}

static void cut_files (struct node *n, uint64_t (*draw) (uint64_t n))
{
    for (size_t i = 0; i < n->nentries[DURABLE]; i++) {
        struct node *below = n->entries[DURABLE][i].node;

        if (below->dir)
            cut_files (below, draw);
        else if (below->nchanges > 0)
            cut_file (below, draw);
    }
}

void node_cut (struct node *n, uint64_t (*draw) (uint64_t n))
{
    cut_dirs (n, draw);
    cut_files (n, draw);
}

/* ---- writing out ---- */

static int write_file (struct node *n, const char *path)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int rc = fd < 0 ? -errno : fileio_write_all (fd, n->old, n->old_size);

    if (fd >= 0)
        (void)close (fd);
    return rc;
}

int node_write (struct node *n, const char *path)
{
    int rc = 0;

    if (!n->dir)
        return write_file (n, path);
    if (mkdir (path, 0700) < 0 && errno != EEXIST)
        return -errno;
    for (size_t i = 0; i < n->nentries[DURABLE] && rc == 0; i++) {
        char below[PATH_MAX];

        if (!fileio_join (below, sizeof (below), path,
                          n->entries[DURABLE][i].name))
            return -ENAMETOOLONG;
        rc = node_write (n->entries[DURABLE][i].node, below);
    }
    return rc;
}
