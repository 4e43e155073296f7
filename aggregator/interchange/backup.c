/* aggregator/interchange/backup.c - back up a root
 *
 * This folder: what goes out of a root and comes into one: jobs as tar files,
 * backups.
 */
#include "interchange/backup_private.h"

#include "archive/audit.h"
#include "store/fileio.h"
#include "store/lease.h"
#include "store/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the ledger ---- */

/* The copy gets its name: from now on it is the new backup. */
static int publish (struct backup *b, const char *fresh)
{
    static const char *const ends[] = { "-wal", "-shm", "-journal" };
    char path[PATH_MAX], beside[PATH_MAX + 16];

    PRINT (path, "%s/segments", b->dir);
    if (fileio_sync_dir (path, b->err) < 0)
        return -EIO;
    PRINT (path, "%s/ledger.db", b->dir);
    for (size_t i = 0; i < sizeof (ends) / sizeof (ends[0]); i++) {
        PRINT (beside, "%s%s", path, ends[i]);
        (void)unlink (beside);  // of somebody who has looked at the former one
    }
    return fileio_rename (fresh, path, b->err);
}

int backup_copy_audit (const char *from, const char *to,
                       const atomic_bool *cancel, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    int rc;

    if (!fileio_join (path, sizeof (path), from, AUDIT_LOG))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", from);
    if (lstat (path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys (err, errno, "cannot stat %s",
                                              path);
    if (access (path, R_OK) < 0 && errno == EACCES)
        return audit_denied (from, "read", err);
    rc = backup_copy_segment (path, to, 0, (uint64_t)st.st_size, cancel, err);
    return rc < 0 ? rc : 1;
}

/* After the ledger: what was removed from that has a line by now. */
static int save_audit (struct backup *b)
{
    char fresh[PATH_MAX], path[PATH_MAX];
    int rc;

    PRINT (fresh, "%.4000s/" NEW_FILE, b->dir);
    PRINT (path, "%.4000s/" AUDIT_LOG, b->dir);
    rc = backup_copy_audit (b->root, fresh, b->how->cancel, b->err);
    return rc <= 0 ? rc : fileio_rename (fresh, path, b->err);
}

static int save_segments (struct backup *b, const char *fresh)
{
    struct ledger *l = NULL;
    uint64_t end;
    int rc = ledger_open_read (fresh, &l, b->err);

    memset (b->sums, 0, sizeof (*b->sums));
    if (rc == 0)
        rc = ledger_last_segment (l, &b->last, &end, b->err);
    if (rc == 0)
        rc = ledger_each_segment (l, backup_save_segment, b, b->err);
    if (rc == 0)
        rc = save_audit (b);
    if (rc == 0)
        rc = publish (b, fresh);
    if (rc == 0)
        backup_drop_unwanted (b, l);
    ledger_close (l);
    return rc;
}

/* Without a lease, -ENOENT may mean that a segment was removed meanwhile, and a
 * newer ledger does not have it any more.
 */
static int save (struct backup *b)
{
    char path[PATH_MAX], fresh[PATH_MAX];
    struct ledger *l = NULL;
    int rc;

    if (!fileio_join (path, sizeof (path), b->root, "ledger.db") ||
        !fileio_join (fresh, sizeof (fresh), b->dir, NEW_LEDGER))
        return err_set (b->err, ENAMETOOLONG, "path is too long: %s", b->dir);
    if ((rc = ledger_open_quick (path, &l, b->err)) < 0)
        return rc == -ENOENT ? err_set (b->err, ENOMEDIUM, "%s is not the root "
                                        "of an aggregator", b->root) : rc;
    rc = ledger_copy (l, fresh, b->err);
    ledger_close (l);
    return rc < 0 ? rc : save_segments (b, fresh);
}

/* One try: the ledger, then its segments, of which none is collected. */
static int save_once (struct backup *b)
{
    struct lease lease = LEASE_NONE;
    int rc;

    (void)lease_take (b->root, "rollcall backup", &lease, NULL);
    rc = save (b);
    lease_end (&lease);
    return rc;
}

/* A former backup must be of this root; a first one gets its id before anything
 * else.
 */
static int check_id (struct backup *b)
{
    char mine[ROOT_ID_SIZE], theirs[ROOT_ID_SIZE];
    int rc = root_need_id (b->root, mine, b->err);

    if (rc < 0)
        return rc;
    rc = root_read_id (b->dir, theirs, b->err);
    if (rc == -ENOENT && !fileio_has (b->dir, "ledger.db"))
        return root_write_id (b->dir, mine, b->err);
    if (rc == -ENOENT)
        return err_set (b->err, EEXIST, "the backup in %s does not say of which "
                        "root it is: choose another directory", b->dir);
    return rc < 0 || strcmp (mine, theirs) == 0
               ? rc : err_set (b->err, EEXIST, "the backup in %s is of another "
                               "root: choose another directory", b->dir);
}

/* What the former backup has, if there is one. */
static int read_former (struct backup *b)
{
    char path[PATH_MAX];
    struct ledger *l = NULL;
    int rc;

    if (!fileio_has (b->dir, "ledger.db") ||
        !fileio_join (path, sizeof (path), b->dir, "ledger.db"))
        return 0;
    // a damaged one has nothing that could be kept
    if ((rc = ledger_open_read (path, &l, NULL)) == 0)
        rc = ledger_each_segment (l, backup_note_extent, &b->former, NULL);
    ledger_close (l);
    return rc == -ENOMEM ? err_set (b->err, ENOMEM, "no memory for a backup")
                         : 0;
}

static bool is_of_backup (const char *name)
{
    return strncmp (name, "ledger.db", 9) == 0 ||
           strcmp (name, "segments") == 0 || strcmp (name, NEW_FILE) == 0 ||
           strcmp (name, AUDIT_LOG) == 0 ||
           strncmp (name, ROOT_ID, strlen (ROOT_ID)) == 0 ||
           // the cache of verbs that look into it
           strncmp (name, "catalogue.db", 12) == 0;
}

/* Only a backup, or nothing, may be there. */
static int check_dir (const char *dir, struct err *err)
{
    bool ours = root_is_backup (dir);
    struct dirent *e;
    int listed = 0, rc = 0;
    DIR *d;

    if (!ours && fileio_has (dir, "ledger.db"))
        return err_set (err, EEXIST, "%s is a root, not a backup", dir);
    if (!(d = opendir (dir)))
        return err_sys (err, errno, "cannot read %s", dir);
    while (rc == 0 && (e = fileio_next_entry (d, &listed))) {
        if (strcmp (e->d_name, "lock") != 0 &&
            strncmp (e->d_name, ROOT_BACKUP, strlen (ROOT_BACKUP)) != 0 &&
            !(ours && is_of_backup (e->d_name)))
            rc = err_set (err, EEXIST, "%s has something else in it (%.80s): "
                          "name a directory for the backup alone", dir,
                          e->d_name);
    }
    (void)closedir (d);
    return rc;
}

/* What became no part of the backup, also when it was killed. */
static void drop_new (const char *dir)
{
    static const char *const names[] = { NEW_LEDGER, NEW_FILE };
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        if (fileio_join (path, sizeof (path), dir, names[i]))
            (void)unlink (path);
    }
}

/* Cut a path off before its last name: false: it has one only. */
static bool go_up (char *path)
{
    size_t n = strlen (path);
    char *slash;

    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    if (!(slash = strrchr (path, '/')) || n == 1)
        return false;
    slash[slash == path] = '\0';
    return true;
}

/* A directory that is to be made is where the first one above it is. */
static int check_roots (const char *root, const char *dir, struct err *err)
{
    char path[PATH_MAX], named[PATH_MAX];
    struct stat a, b;
    bool itself = true;

    if (stat (root, &a) < 0)
        return err_sys (err, errno, "cannot open %s", root);
    PRINT (named, "%s%.4000s", *dir == '/' ? "" : "./", dir);
    while (!realpath (named, path)) {
        itself = false;
        if (!go_up (named))
            return 0;
    }
    do {
        if (stat (path, &b) == 0 && a.st_dev == b.st_dev &&
            a.st_ino == b.st_ino)
            return err_set (err, EEXIST, "%s is %sthe root itself: choose "
                            "another directory", dir, itself ? "" : "in ");
        itself = false;
    } while (go_up (path));
    return 0;
}

static int not_ours (const char *dir, struct err *err)
{
    return err_set (err, EPERM, "%s is another user's, who could lead elsewhere "
                    "what root writes there: run this as that user, or name "
                    "another directory", dir);
}

int backup_hold (const char *dir, struct tree *t, char held[TREE_HELD_MAX],
                 struct err *err)
{
    int rc;

    if (tree_check_path (dir, false, NULL) < 0)
        return not_ours (dir, err);
    if ((rc = fileio_mkdirs (dir, FILEIO_DIR_MODE, err)) < 0 ||
        (rc = tree_open (t, dir, err)) < 0)
        return rc;
    if (tree_check_owner (t, false, NULL) < 0)
        rc = not_ours (dir, err);
    if (rc == 0 && (rc = tree_can_hold (t, err)) == 0)
        rc = tree_hold (t, "", held, err);
    if (rc < 0)
        tree_close (t);
    return rc;
}

/* From here on nothing else changes the directory. */
static int mark (const struct backup *b)
{
    static const char text[] = "a backup: rollcall restore makes a root of it\n";
    char path[PATH_MAX];

    if (root_is_backup (b->dir))
        return 0;
    if (!fileio_join (path, sizeof (path), b->dir, ROOT_BACKUP))
        return err_set (b->err, ENAMETOOLONG, "path is too long: %s", b->dir);
    return fileio_replace (path, text, sizeof (text) - 1, FILEIO_FILE_MODE,
                           b->err);
}

/* Whose the segments are counts, since 'dir' is held. */
static int make_segments (const struct backup *b)
{
    char path[PATH_MAX], held[TREE_HELD_MAX];
    struct tree segments;
    int rc;

    if (!fileio_join (path, sizeof (path), b->dir, "segments"))
        return err_set (b->err, ENAMETOOLONG, "path is too long: %s", b->dir);
    if ((rc = backup_hold (path, &segments, held, b->err)) == 0)
        tree_close (&segments);
    return rc;
}

/* What a failure leaves: nobody takes half of a backup for one. */
static int tell_left (struct backup *b, int rc)
{
    const struct err why = b->err ? *b->err : (struct err){ "" };

    return err_set (b->err, -rc, "%s; %s", why.text,
                    fileio_has (b->dir, "ledger.db")
                        ? "the former backup is as it was"
                        : "this is no backup yet: repeat it");
}

static int make_held (struct backup *b)
{
    int lock, rc = check_dir (b->dir, b->err);
    bool begun;

    if (rc < 0)
        return rc;
    if ((lock = root_lock (b->dir, false, b->err)) < 0)
        return lock;
    if ((rc = mark (b)) == 0 && (rc = make_segments (b)) == 0 &&
        (rc = check_id (b)) == 0)
        rc = read_former (b);
    begun = rc == 0;
    rc = rc < 0 ? rc : -ENOENT;
    for (unsigned i = 0; i < BACKUP_TRIES && rc == -ENOENT; i++)
        rc = save_once (b);
    drop_new (b->dir);
    if (rc < 0 && rc != -ENOMEDIUM && begun)
        rc = tell_left (b, rc);
    free (b->former.list);
    (void)close (lock);
    // a segment that is missing at each try is not being collected
    return rc == -ENOMEDIUM ? -ENOENT : rc == -ENOENT ? -EBADMSG : rc;
}

/* Before anything is made for it. */
static int check_readable (const char *root, struct err *err)
{
    char id[ROOT_ID_SIZE], path[PATH_MAX];
    int rc = root_need_id (root, id, err);

    if (rc == 0 && fileio_join (path, sizeof (path), root, "ledger.db") &&
        faccessat (AT_FDCWD, path, R_OK, AT_EACCESS) < 0 && errno == EACCES)
        return err_sys (err, EACCES, "cannot open %s", path);
    return rc;
}

int backup_make (const char *root, const char *dir,
                 const struct backup_how *how, struct backup_sums *ret,
                 struct err *err)
{
    char held[TREE_HELD_MAX];
    struct backup b = { .root = root, .dir = held, .how = how, .sums = ret,
                        .err = err };
    int rc = check_roots (root, dir, err);
    struct tree t;

    if (rc == 0 && (rc = check_readable (root, err)) == -ENOMEDIUM)
        return -ENOENT;         // it is no root
    if (rc < 0 || (rc = backup_hold (dir, &t, held, err)) < 0)
        return rc;
    if ((rc = segments_create (root, &b.segments, err)) == 0)
        rc = make_held (&b);
    segments_destroy (b.segments);
    tree_tell (&t, err);
    tree_close (&t);
    return rc;
}
