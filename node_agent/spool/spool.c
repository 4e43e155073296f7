/* node_agent/spool/spool.c - what is to be delivered, on local disk */
#include "spool/spool_private.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/fault.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define PLACE_DIGITS 16         // of the hash: 64 bits tell directories apart

void spool_place (const char *host, const char *path,
                  char out[MESSAGE_PLACE_MAX])
{
    const char *slash = strrchr (path, '/');
    char hex[DIGEST_HEX_SIZE];
    struct digest d = { { 0 } };
    struct buf b;

    buf_init (&b, PATH_MAX + MESSAGE_NAME_MAX);
    buf_put (&b, host, strlen (host) + 1);
    buf_put (&b, path, slash ? (size_t)(slash - path) : 0);
    (void)digest_of (b.data, b.size, &d);
    buf_fini (&b);
    digest_hex (&d, hex);
    (void)snprintf (out, MESSAGE_PLACE_MAX, "%.*s", PLACE_DIGITS, hex);
}

void spool_divide (struct spool *s, const char *host)
{
    (void)snprintf (s->host, sizeof (s->host), "%s", host);
}

/* ---- the directory ---- */

int spool_lock_dir (struct spool *s, struct err *err)
{
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/lock", s->dir);
    s->lock = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->lock < 0)
        return err_sys (err, errno, "cannot open %s", path);
    if (flock (s->lock, LOCK_EX | LOCK_NB) < 0)
        return err_set (err, EBUSY, "another agent has the spool %s", s->dir);
    return 0;
}

int spool_make_dirs (struct spool *s, struct err *err)
{
    static const char *const names[] = { SPOOL_ITEMS, SPOOL_QUARANTINE };
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        (void)snprintf (path, sizeof (path), "%s/%s", s->dir, names[i]);
        if (mkdir (path, 0700) < 0 && errno != EEXIST)
            return err_sys (err, errno, "cannot make directory %s", path);
    }
    return fileio_sync_dir (s->dir, err);
}

void spool_group_path (const struct spool *s, uint64_t id,
                       char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/" SPOOL_ITEMS "/%llu", s->dir,
                    (unsigned long long)(id >> FILES_SHIFT));
}

void spool_file_path (const struct spool *s, uint64_t id, unsigned number,
                      char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/" SPOOL_ITEMS "/%llu/%llu-%u", s->dir,
                    (unsigned long long)(id >> FILES_SHIFT),
                    (unsigned long long)id, number);
}

int spool_file (struct spool *s, uint64_t id, unsigned number,
                char path[PATH_MAX], struct err *err)
{
    char dir[PATH_MAX];
    int rc = 0;

    spool_file_path (s, id, number, path);
    spool_group_path (s, id, dir);
    // somebody may have removed it
    if (s->made_dir == (id >> FILES_SHIFT) + 1 && access (dir, F_OK) == 0)
        return 0;
    if ((rc = spool_make_dirs (s, err)) < 0)
        return rc;
    if ((rc = FAULT ("agent.spool.mkdir")) < 0)
        return err_sys (err, -rc, "cannot make directory %s", dir);
    if (mkdir (dir, 0700) < 0 && errno != EEXIST)
        return err_sys (err, errno, "cannot make directory %s", dir);
    (void)snprintf (dir, sizeof (dir), "%s/" SPOOL_ITEMS, s->dir);
    if ((rc = fileio_sync_dir (dir, err)) == 0)
        s->made_dir = (id >> FILES_SHIFT) + 1;
    return rc;
}

int spool_remove_files (struct spool *s, uint64_t id, struct err *err)
{
    char path[PATH_MAX], prefix[32];
    struct dirent *e;
    DIR *dir;
    int n, rc = FAULT ("agent.spool.remove.unlink");

    if (rc < 0)
        return err_sys (err, -rc, "cannot remove files of %s", s->dir);
    spool_group_path (s, id, path);
    if (!(dir = opendir (path)))
        return errno == ENOENT ? 0 : err_sys (err, errno, "cannot read %s",
                                              path);
    n = snprintf (prefix, sizeof (prefix), "%llu-", (unsigned long long)id);
    while ((e = readdir (dir))) {
        if (strncmp (e->d_name, prefix, (size_t)n) == 0)
            (void)unlinkat (dirfd (dir), e->d_name, 0);
    }
    (void)closedir (dir);
    return 0;
}

/* ---- quarantine ---- */

static int write_reason (const char *path, const char *why, struct err *err)
{
    char text[ERR_TEXT_MAX + 128], date[32];
    time_t now = (time_t)(clock_wall_ns () / NS_PER_S);
    struct tm tm;
    int n, rc = FAULT ("agent.spool.quarantine.reason");

    if (rc < 0)
        return err_sys (err, -rc, "cannot write %s", path);
    (void)gmtime_r (&now, &tm);
    (void)strftime (date, sizeof (date), "%Y-%m-%dT%H:%M:%SZ", &tm);
    n = snprintf (text, sizeof (text), "%s set aside by rollcall-agent: %s\n",
                  date, why);
    return fileio_replace (path, text, (size_t)n < sizeof (text)
                                           ? (size_t)n : sizeof (text) - 1,
                           0600, err);
}

int spool_set_file_aside (struct spool *s, const char *file, const char *name,
                          const char *why, struct err *err)
{
    char to[PATH_MAX], reason[PATH_MAX];
    int rc;

    if ((rc = spool_make_dirs (s, err)) < 0)
        return rc;              // somebody may have removed them
    (void)snprintf (to, sizeof (to), "%s/" SPOOL_QUARANTINE "/%s", s->dir,
                    name);
    (void)snprintf (reason, sizeof (reason), "%s/" SPOOL_QUARANTINE
                    "/%s.reason", s->dir, name);
    if ((rc = write_reason (reason, why, err)) < 0 || !file)
        return rc;
    if ((rc = FAULT ("agent.spool.quarantine.rename")) < 0)
        return err_sys (err, -rc, "cannot rename %s", file);
    if (rename (file, to) < 0 && errno != ENOENT)
        return err_sys (err, errno, "cannot rename %s to %s", file, to);
    return 0;
}

static void condemned_path (const struct spool *s, char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/condemned", s->dir);
}

/* A ledger that cannot be used: it and the files that it speaks of make room
 * for new ones.  Every capture will be sealed again.  It stays condemned until
 * that is done.
 */
static int set_ledger_aside (struct spool *s, const char *why,
                             struct err *err)
{
    static const char *const names[] = { SPOOL_LEDGER, SPOOL_LEDGER "-wal",
                                         SPOOL_ITEMS };
    char condemned[PATH_MAX];
    int rc = 0;

    spool_ledger_close (s);
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]) && rc == 0;
         i++) {
        char from[PATH_MAX], name[64];

        (void)snprintf (from, sizeof (from), "%s/%s", s->dir, names[i]);
        (void)snprintf (name, sizeof (name), "%s.%lld", names[i],
                        (long long)clock_wall_ns ());
        rc = spool_set_file_aside (s, from, name, why, err);
    }
    memset (s->tally, 0, sizeof (s->tally));
    memset (s->saved, 0, sizeof (s->saved));
    s->made_dir = 0;
    s->damage[0] = '\0';
    (void)snprintf (s->set_aside, sizeof (s->set_aside), "the ledger of %.200s "
                    "was damaged (%.200s) and is in quarantine: all captures "
                    "are read again", s->dir, why);
    counter_add (COUNTER_ITEMS_QUARANTINED, 1);
    if (rc < 0)
        return rc;
    condemned_path (s, condemned);
    (void)unlink (condemned);
    return spool_make_dirs (s, err);
}

const char *spool_set_aside (const struct spool *s)
{
    return *s->set_aside ? s->set_aside : NULL;
}

const char *spool_damage (const struct spool *s)
{
    return *s->damage ? s->damage : NULL;
}

void spool_mark_damaged (struct spool *s, const char *why)
{
    char path[PATH_MAX];

    condemned_path (s, path);
    (void)fileio_replace (path, why, strlen (why), 0600, NULL);
}

/* ---- recovery ---- */

/* Captures that an earlier life was sealing: their files are not in the
 * ledger, so they go, and the captures are only seen.
 */
static int undo_settled (struct spool *s, struct err *err)
{
    static const char next[] = "SELECT id FROM capture WHERE state<3 AND "
        "state=2 LIMIT 1";
    int64_t id;

    while ((id = ledger_int (s, next, 0)) > 0) {
        spool_unsettle (s, (uint64_t)id);
        if (ledger_int (s, next, 0) == id)
            return err_set (err, EIO, "cannot write to the spool %s", s->dir);
    }
    return 0;
}

uint64_t spool_next_durable (struct spool *s, uint64_t id)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT id FROM item INDEXED BY item_durable WHERE state=6 AND id>?1 "
        "AND sum IS " ITEM_SUM ("state", "at", "why") " ORDER BY id LIMIT 1",
        NULL);
    uint64_t next = 0;

    (void)sqlite3_bind_int64 (st, 1, (int64_t)id);
    if (st && sqlite3_step (st) == SQLITE_ROW)
        next = (uint64_t)sqlite3_column_int64 (st, 0);
    spool_ledger_end (s, st);
    return next > id ? next : 0;        // else an index is out of order
}

/* Files of items that were acknowledged just before the end; one that cannot
 * be removed now is left for the next start.  A row that only seems to say so
 * keeps its wrong sum.
 */
static int finish_durable (struct spool *s, struct err *err)
{
    uint64_t id = 0;
    int rc;

    while ((id = spool_next_durable (s, id)) > 0)
        item_release (s, id);
    if (s->nadvice == 0)
        return 0;
    rc = spool_ledger_begin (s, err);
    return rc < 0 ? rc : spool_ledger_commit (s, "agent.spool.released.commit",
                                              err);
}

/* ---- life ---- */

struct spool *spool_new_struct (const char *dir, struct err *err)
{
    struct spool *s = calloc (1, sizeof (*s));

    if (!s) {
        (void)err_set (err, ENOMEM, "no memory for the spool");
        return NULL;
    }
    s->lock = -1;
    if ((size_t)snprintf (s->dir, sizeof (s->dir), "%s", dir) >=
        sizeof (s->dir)) {
        (void)err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
        free (s);
        return NULL;
    }
    return s;
}

static int recover (struct spool *s, struct err *err)
{
    char path[PATH_MAX];
    int rc;

    condemned_path (s, path);
    if (access (path, F_OK) == 0)
        return err_set (err, EBADMSG, "it was found to be damaged");
    rc = spool_ledger_open (s, err);
    if (rc == 0)
        rc = undo_settled (s, err);
    if (rc == 0)
        rc = finish_durable (s, err);
    if (rc == 0)
        redeliver_load (s);
    return *s->damage ? err_set (err, EBADMSG, "%s", s->damage) : rc;
}

static int open_spool (struct spool *s, struct err *err)
{
    const char *remote;
    struct err why = { "" };
    int rc = fileio_mkdirs (s->dir, 0700, err);

    if (rc == 0 && (remote = fileio_remote_fs (s->dir)))
        rc = err_set (err, ENOTSUP, "%s is on a shared file system (%s), where "
                      "a spool is not safe: choose a local directory", s->dir,
                      remote);
    if (rc < 0 || (rc = spool_lock_dir (s, err)) < 0 ||
        (rc = spool_make_dirs (s, err)) < 0)
        return rc;
    if ((rc = recover (s, &why)) == -EBADMSG) {
        if ((rc = set_ledger_aside (s, why.text, err)) < 0)
            return rc;
        rc = recover (s, &why);
    }
    if (rc < 0)
        return err_set (err, -rc, "%s", why.text);
    s->in_use = true;
    return 0;
}

int spool_open (const char *dir, struct spool **ret, struct err *err)
{
    struct spool *s = spool_new_struct (dir, err);
    int rc;

    if (!s)
        return -ENOMEM;
    if ((rc = open_spool (s, err)) < 0) {
        spool_close (s);
        return rc;
    }
    *ret = s;
    return 0;
}

void spool_close (struct spool *s)
{
    if (!s)
        return;
    if (s->db && s->nadvice > 0 && spool_ledger_begin (s, NULL) == 0)
        (void)spool_ledger_commit (s, "agent.spool.close.commit", NULL);
    spool_ledger_close (s);
    if (s->lock >= 0)
        (void)close (s->lock);
    free (s);
}

sqlite3 *spool_db (struct spool *s)
{
    return s->db;
}

void spool_on_reseal (struct spool *s, spool_reseal_fn *fn, void *arg)
{
    s->again = fn;
    s->again_arg = arg;
}
