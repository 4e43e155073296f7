/* node_agent/spool/spool_wanted.c - raw files that the aggregator wants, or does
 * not
 */
#include "spool/spool_private.h"

#include "base/counter.h"
#include "base/vec.h"
#include "identity/fingerprint.h"
#include "spool/release_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT_ONCE 256             // items, in a transaction: 1.5 MB

/* ---- wanted ---- */

static bool is_at (const struct spool *s, const char *path, const char *place)
{
    char own[MESSAGE_PLACE_MAX] = "";

    if (*s->host)
        spool_place (s->host, path, own);
    return strcmp (own, place) == 0;
}

int spool_find_version (struct spool *s, const char *name, int64_t rank,
                        const char *place, struct spool_version *ret,
                        struct err *err)
{
    struct db_rows r = spool_rows (s, err,
        "SELECT id, path, fingerprint FROM capture WHERE name=?1 AND rank=?2 "
        "AND state IN (3, 6) AND " CAPTURE_IS_GOOD " ORDER BY id", name, rank);
    const char *fingerprint;
    struct spool_version v;
    bool found = false;
    int rc;

    while (db_row (&r, v.id, v.path, fingerprint)) {
        if (!is_at (s, v.path, place))
            continue;
        v.newest_ns = fingerprint_newest_ns (fingerprint);
        *ret = v;
        found = true;
    }
    rc = db_end (&r);
    return rc < 0 ? rc : found;
}

/* A file that was sealed again counts as it was sealed last. */
static int take_file (struct spool_raw_list *l, const char *path,
                      const struct spool_raw *raw)
{
    struct spool_raw *f = l->n > 0 ? &l->files[l->n - 1] : NULL;
    char *own = f && strcmp (f->path, path) == 0 ? f->path : NULL;

    if (!own && (!(own = strdup (path)) ||
                 !(f = vec_add (&l->files, &l->n, sizeof (*f))))) {
        free (own);
        return -ENOMEM;
    }
    *f = *raw;
    f->path = own;
    return 0;
}

int spool_list_raw (struct spool *s, uint64_t version, uint64_t from,
                    struct spool_raw_list *ret, struct err *err)
{
    struct db_rows r = spool_rows (s, err,
        "SELECT id, number, path, state, why FROM item NOT INDEXED WHERE "
        "id>=?2 AND capture=?1 AND kind=2 ORDER BY path, id", version, from);
    struct spool_raw raw = { NULL, SPOOL_NO_ROW, "" };
    const char *path;
    unsigned number;
    uint64_t id;

    *ret = (struct spool_raw_list){ .next_number = 1 };
    while (db_row (&r, id, number, path, raw.state, raw.why)) {
        if (ret->first == 0 || id < ret->first)
            ret->first = id;
        if (number >= ret->next_number)
            ret->next_number = number + 1;
        if (take_file (ret, path ? path : "", &raw) < 0)
            r.rc = err_set (err, ENOMEM, "no memory for the names of files");
    }
    return db_end (&r);
}

void spool_raw_list_fini (struct spool_raw_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free (l->files[i].path);
    free (l->files);
    *l = (struct spool_raw_list){ .files = NULL };
}

int spool_add_raw (struct spool *s, uint64_t version,
                   const struct spool_new *items, size_t n, struct err *err)
{
    char dir[PATH_MAX];
    int rc;

    spool_group_path (s, version, dir);
    // without a link in the spool there may be no directory
    if (n == 0 || ((rc = fileio_sync_dir (dir, err)) < 0 && rc != -ENOENT) ||
        (rc = spool_ledger_begin (s, err)) < 0)
        return n == 0 ? 0 : rc;
    rc = capture_reopen (s, version, SPOOL_IS_WANTED, (unsigned)n, err);
    if (rc == 0)
        rc = err_set (err, ESTALE, "the capture was set aside");
    for (size_t i = 0; i < n && rc >= 0; i++)
        rc = item_add (s, version, &items[i], err);
    rc = spool_ledger_finish (s, rc, "agent.spool.seal.commit", err);
    if (rc == 0)
        counter_add (COUNTER_ITEMS_SEALED, n);
    return rc;
}

/* ---- not wanted ---- */

static int forget_release (struct spool *s, uint64_t capture, struct err *err)
{
    char path[PATH_MAX];
    int rc = db_one (spool_rows (s, err, "SELECT path FROM capture WHERE id=?1",
                                 capture), path);

    return rc > 0 ? spool_forget_release (s, path, err) : rc;
}

/* Give up at most AT_ONCE items: 1 there may be more, 0 no. */
static int drop_some (struct spool *s, uint64_t *after, struct spool_item *list,
                      size_t *n, struct err *err)
{
    struct spool_item item;
    const char *why;
    int rc = 0;

    for (*n = 0; *n < AT_ONCE; ) {
        if ((rc = item_peek (s, ITEM_RAW, *after, &item, &why, err)) <= 0)
            return rc;
        *after = item.id;
        // what is damaged is set aside when it is offered
        if (why || !state_is_open (item.state) ||
            (item.own && fileio_is_last_link (item.file)))
            continue;
        rc = item_close (s, item.id, SPOOL_NOT_WANTED,
                         "the aggregator did not want it", err);
        if (rc < 0 || (rc = forget_release (s, item.capture_id, err)) < 0 ||
            (rc = capture_forget_raw (s, item.capture_id, err)) < 0)
            return rc;
        list[(*n)++] = item;
    }
    return 1;
}

int spool_forget_raw (struct spool *s, uint64_t capture, struct err *err)
{
    int rc = spool_ledger_begin (s, err);

    if (rc < 0)
        return rc;
    rc = capture_forget_raw (s, capture, err);
    return spool_ledger_finish (s, rc, "agent.spool.gone.commit", err);
}

int spool_drop_raw (struct spool *s, void (*fn) (void *arg, uint64_t item),
                    void *arg, struct err *err)
{
    struct spool_item *list = malloc (AT_ONCE * sizeof (*list));
    uint64_t after = 0;
    int rc = list ? 1 : err_set (err, ENOMEM, "no memory for raw files"), end;
    size_t n;

    while (rc > 0) {
        if ((rc = spool_ledger_begin (s, err)) < 0)
            break;
        rc = drop_some (s, &after, list, &n, err);
        end = spool_ledger_finish (s, rc, "agent.spool.gone.commit", err);
        rc = end < 0 ? end : rc;
        for (size_t i = 0; i < n && rc >= 0; i++) {
            fn (arg, list[i].id);
            if (list[i].own)
                (void)unlink (list[i].file);
        }
    }
    free (list);
    return rc < 0 ? rc : 0;
}
