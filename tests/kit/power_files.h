/* tests/kit/power_files.h - files and directories as a disk sees them
 *
 * Each has what is durable, and what has been done since then in order.  A
 * file's bytes and size become durable by its fsync; a directory's entries by
 * that of the directory.  A rename is in two directories, but one step: it is
 * durable when either of them is.
 */
#ifndef ROLLCALL_KIT_POWER_FILES_H
#define ROLLCALL_KIT_POWER_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;

struct change {                 // of a file since its fsync
    bool truncate;
    uint64_t offset;
    const uint8_t *data;        // borrowed
    size_t size;
};

struct entry {                  // of a directory, or a step on one
    char *name;
    struct node *node;          // NULL in a step: removed
    struct node *partner;       // in a step: the other directory of a rename
    char *partner_name;
};

struct node {
    bool dir;
    uint8_t *old;               // a file's durable bytes
    size_t old_size, old_room;
    uint64_t size;              // with all changes
    struct change *changes;
    size_t nchanges;
    struct entry *entries[2];   // a directory's: durable, and now
    size_t nentries[2];
    struct entry *steps;        // between the two
    size_t nsteps;
};

struct node *node_new (bool dir);

/* What was done. */
void node_change (struct node *n, struct change c);
void node_sync (struct node *n);
void node_put (struct node *dir, const char *name, struct node *n);
void node_remove (struct node *dir, const char *name);
void node_rename (struct node *from, const char *name, struct node *to,
                  const char *new_name);
struct node *node_find (const struct node *dir, const char *name);

/* A power cut: keep, drop or tear what is not durable, by chance; 'draw (n)'
 * gives 0 to n-1.  After that nothing is pending.
 */
void node_cut (struct node *n, uint64_t (*draw) (uint64_t n));

/* Write 'n' and all below it as 'path'. */
int node_write (struct node *n, const char *path);

#endif
