/* tests/kit/power_replay.c - the directory as it is after a power cut
 *
 *     power_replay LOG ROOT                        print the number of records
 *     power_replay LOG ROOT MOMENT SEED VICTIM OUT
 *
 * Does the first MOMENT records of LOG (power_recorder.c), whose paths are
 * below ROOT, and writes the outcome as OUT.  VICTIM is the name below ROOT of
 * whose machine the power was cut, "all", or "none"; what is not that one's is
 * as it was at that moment.  Prints how many ACKs had been sent.
 */
#include "power_files.h"
#include "power_log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FDS_MAX 4096
#define PIDS_MAX 256            // processes in one log

static struct node *open_files[PIDS_MAX][FDS_MAX];
static int32_t pids[PIDS_MAX];
static struct node *top;
static const char *root;
static size_t root_length;
static unsigned long acks;
static uint64_t state;

static uint64_t draw (uint64_t below)       // splitmix64
{
    uint64_t z = (state += UINT64_C (0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

static struct node **file_of (const struct power_record *r)
{
    size_t i = 0;

    while (i < PIDS_MAX - 1 && pids[i] && pids[i] != r->pid)
        i++;
    pids[i] = r->pid;
    return &open_files[i][r->fd < FDS_MAX ? r->fd : 0];
}

/* The directory that holds 'path', and the last name; directories that were
 * there before the log began are made up.  NULL for ROOT itself.
 */
static struct node *parent_of (const char *path, char name[NAME_MAX + 1])
{
    struct node *dir = top, *next;
    const char *p = path + root_length;

    for (;;) {
        size_t n;

        p += strspn (p, "/");
        n = strcspn (p, "/");
        if (n == 0 || n > NAME_MAX)
            return NULL;
        memcpy (name, p, n);
        name[n] = '\0';
        p += n;
        if (p[strspn (p, "/")] == '\0')
            return dir;
        next = node_find (dir, name);
        if (!next) {
            next = node_new (true);
            node_put (dir, name, next);
            node_sync (dir);
        }
        dir = next;
    }
}

static void do_open (const struct power_record *r, const char *path)
{
    char name[NAME_MAX + 1];
    struct node *dir = parent_of (path, name);
    struct node *n = dir ? node_find (dir, name) : top;

    if (!n) {                   // MADE, or there before the log began
        n = node_new ((r->offset & POWER_DIR) != 0);
        node_put (dir, name, n);
        if (r->offset & POWER_DIR)
            node_sync (dir);
    }
    if (r->offset & POWER_CUT && !(r->offset & POWER_MADE))
        node_change (n, (struct change){ .truncate = true });
    *file_of (r) = n;
}

static const uint8_t *map_file (const char *path, size_t *size)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *p;

    if (fd < 0 || fstat (fd, &st) < 0) {
        perror (path);
        exit (1);
    }
    *size = (size_t)st.st_size;
    p = mmap (NULL, *size ? *size : 1, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close (fd);
    if (p == MAP_FAILED)
        exit (1);
    return p;
}

/* A link to a file that was there before, and lasts: its bytes are still to be
 * had there.
 */
static void do_link_from_outside (const char *from, const char *to)
{
    char name[NAME_MAX + 1];
    struct node *dir = parent_of (to, name), *n = node_new (false);
    size_t size;
    const uint8_t *data = map_file (from, &size);

    node_change (n, (struct change){ false, 0, data, size });
    node_sync (n);
    node_put (dir, name, n);
}

static void do_names (const struct power_record *r, const char *path)
{
    char name[NAME_MAX + 1], other[NAME_MAX + 1];
    const char *second = path + strlen (path) + 1;
    struct node *dir, *to;

    if (r->op == POWER_LINK && (strncmp (path, root, root_length) != 0 ||
                                path[root_length] != '/')) {
        do_link_from_outside (path, second);
        return;
    }
    if (!(dir = parent_of (path, name)))
        return;
    switch (r->op) {
    case POWER_RENAME:
        if ((to = parent_of (second, other)))
            node_rename (dir, name, to, other);
        break;
    case POWER_LINK:
        if ((to = parent_of (second, other)) && node_find (dir, name))
            node_put (to, other, node_find (dir, name));
        break;
    case POWER_MKDIR:
        node_put (dir, name, node_new (true));
        break;
    default:
        node_remove (dir, name);
    }
}

/* Everything is as it was: all of it becomes durable. */
static void keep_all (struct node *n)
{
    node_sync (n);
    for (size_t i = 0; n->dir && i < n->nentries[1]; i++)
        keep_all (n->entries[1][i].node);
}

static void do_record (const struct power_record *r, const char *path,
                       const uint8_t *data)
{
    struct node *n = r->fd >= 0 ? *file_of (r) : NULL;

    switch (r->op) {
    case POWER_OPEN:
        do_open (r, path);
        break;
    case POWER_WRITE:
        if (n)
            node_change (n, (struct change){ false, r->offset, data, r->size });
        break;
    case POWER_TRUNCATE:
        if (n)
            node_change (n, (struct change){ true, r->offset, NULL, 0 });
        break;
    case POWER_SYNC:
        if (n)
            node_sync (n);
        break;
    case POWER_ACK:
        acks++;
        break;
    case POWER_SYNC_ALL:
        keep_all (top);
        break;
    default:
        do_names (r, path);
    }
}

static void cut (const char *victim)
{
    node_sync (top);
    for (size_t i = 0; i < top->nentries[1]; i++) {
        struct node *n = top->entries[1][i].node;

        if (strcmp (victim, "all") == 0 ||
            strcmp (victim, top->entries[1][i].name) == 0)
            node_cut (n, draw);
        else
            keep_all (n);
    }
}

int main (int argc, char **argv)
{
    unsigned long moment = argc > 3 ? strtoul (argv[3], NULL, 10) : 0, i = 0;
    const uint8_t *log;
    size_t size, at = 0;

    if (argc != 3 && argc != 7) {
        fprintf (stderr, "usage: power_replay LOG ROOT [MOMENT SEED VICTIM "
                 "OUT]\n");
        return 2;
    }
    root = argv[2];
    root_length = strlen (root);
    top = node_new (true);
    log = map_file (argv[1], &size);
    for (; at + sizeof (struct power_record) <= size; i++) {
        struct power_record r;
        const uint8_t *path = log + at + sizeof (r);

        memcpy (&r, log + at, sizeof (r));
        if (r.magic != POWER_MAGIC) {
            fprintf (stderr, "record %lu is not one\n", i);
            return 1;
        }
        if (argc == 7 && i == moment)
            break;
        if (argc == 7)
            do_record (&r, (const char *)path, path + r.path);
        at += sizeof (r) + r.path + r.size;
    }
    if (argc == 3) {
        printf ("%lu\n", i);
        return 0;
    }
    state = strtoull (argv[4], NULL, 10);
    cut (argv[5]);
    printf ("%lu\n", acks);
    if (node_write (top, argv[6]) < 0) {
        perror (argv[6]);
        return 1;
    }
    return 0;
}
