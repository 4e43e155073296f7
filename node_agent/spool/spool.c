/* node_agent/spool/spool.c - the agent's queue on local disk */
#include "spool/spool_private.h"

#include "base/clock.h"
#include "base/counter.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void spool_divide (struct spool *s, const char *host)
{
    PRINT (s->host, "%s", host);
}

/* ---- a damaged ledger ---- */

/* Set aside an unusable ledger, and the files that it describes, so that new
 * ones can be made.  Every capture will be sealed again.  The ledger stays
 * condemned until this is done.
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

        PRINT (from, "%s/%s", s->dir, names[i]);
        PRINT (name, "%s.%lld", names[i], (long long)clock_wall_ns ());
        rc = spool_set_file_aside (s, from, name, why, err);
    }
    memset (s->tally, 0, sizeof (s->tally));
    memset (s->saved, 0, sizeof (s->saved));
    s->made_dir = 0;
    s->damage[0] = '\0';
    PRINT (s->set_aside, "the ledger of %.200s was damaged (%.200s) and is in "
           "quarantine: all captures are read again", s->dir, why);
    counter_add (COUNTER_ITEMS_QUARANTINED, 1);
    if (rc < 0)
        return rc;
    spool_condemned_path (s, condemned);
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

/* ---- recovery ---- */

/* An earlier agent was sealing these captures: their files are not in the
 * ledger, so remove them; the captures become seen.
 */
static int undo_settled (struct spool *s, struct err *err)
{
    static const char next[] = "SELECT id FROM capture WHERE state<3 AND "
        "state=2 LIMIT 1";
    int64_t id;

    while ((id = db_number (spool_rows (s, NULL, next), 0)) > 0) {
        spool_unsettle (s, (uint64_t)id);
        if (db_number (spool_rows (s, NULL, next), 0) == id)
            return err_set (err, EIO, "cannot write to the spool %s", s->dir);
    }
    return 0;
}

/* Remove files of items that were acknowledged just before the end; one that
 * cannot be removed is left to the next start.  A row that only appears to say
 * so keeps its wrong sum.
 */
static int finish_durable (struct spool *s, struct err *err)
{
    int rc;

    item_release_all (s);
    if (s->nadvice == 0)
        return 0;
    rc = spool_ledger_begin (s, err);
    return rc < 0 ? rc : spool_ledger_finish (s, 0,
                                              "agent.spool.released.commit",
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

    spool_condemned_path (s, path);
    if (access (path, F_OK) == 0)
        return err_set (err, EBADMSG, "it was found to be damaged");
    rc = spool_ledger_open (s, err);
    if (rc == 0)
        rc = undo_settled (s, err);
    if (rc == 0)
        rc = finish_durable (s, err);
    if (rc == 0) {
        marks_load (s);
        keepers_load (s);
    }
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
        (void)spool_ledger_finish (s, 0, "agent.spool.close.commit", NULL);
    spool_ledger_close (s);
    fileio_close (s->lock);
    free (s);
}

void spool_log_captures (struct spool *s, enum log_level level)
{
    s->level = level;
}

void spool_on_reseal (struct spool *s, spool_reseal_fn *fn, void *arg)
{
    s->again = fn;
    s->again_arg = arg;
}
