/* aggregator/store/store_presence.c - detect files that were removed or cut
 *
 * A process that has a file open does not notice when somebody removes it below
 * the root.
 */
#include "store/store_private.h"

#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// checked in one turn: it takes 1 or 2 ms, each second
#define SEGMENTS_MAX 256                // 64 GiB of them

/* The size of a file: -1 if it does not exist, INT64_MAX if it is unknown. */
static int64_t size_of (const char *path)
{
    struct stat st;

    if (lstat (path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? -1 : INT64_MAX;
    return S_ISREG (st.st_mode) ? st.st_size : -1;
}

bool store_has_place (const struct store *s, const struct ledger_place *place)
{
    char path[PATH_MAX];

    store_segment_path (s->root, place->segment, path);
    return size_of (path) >= (int64_t)(place->offset + place->stored);
}

/* Chunks of a content lie together: each segment is looked at once. */
struct looking {
    const struct store *store;
    int64_t segment, size;
};

static int has_chunk (void *arg, const struct store_chunk *chunk)
{
    const struct ledger_place *p = &chunk->place;
    struct looking *l = arg;
    char path[PATH_MAX];

    if (l->segment != p->segment) {
        store_segment_path (l->store->root, p->segment, path);
        l->segment = p->segment;
        l->size = size_of (path);
    }
    return l->size >= (int64_t)(p->offset + p->stored) ? 0 : -ENOENT;
}

bool store_has (const struct store *s, struct ledger *ledger,
                const struct digest *id, const struct ledger_place *place)
{
    struct looking l = { s, 0, -1 };

    return store_has_place (s, place) &&
           (place->form != FORM_LIST ||
            store_each_chunk (s, ledger, id, place, has_chunk, &l, NULL) !=
                -ENOENT);
}

/* ---- checking ---- */

static int look_at_segment (const struct store *s,
                            const struct store_extent *one,
                            struct store_lost *ret, struct err *err)
{
    char path[PATH_MAX];
    int64_t size;

    store_segment_path (s->root, one->segment, path);
    size = size_of (path);
    if (size >= (int64_t)one->end)
        return 0;
    ret->records = ret->records || one->end > 0;
    return store_add_extent (&ret->segments, &ret->nsegments, one->segment,
                       size < 0 ? 0 : (uint64_t)size, err);
}

static int look_at_segments (struct store *s, bool all, struct store_lost *ret,
                             struct err *err)
{
    struct store_extent open = { s->segment, s->committed };
    size_t n = all || s->nsealed < SEGMENTS_MAX ? s->nsealed : SEGMENTS_MAX;
    int rc = look_at_segment (s, &open, ret, err);

    for (size_t i = 0; i < n && rc == 0; i++, s->looked++) {
        if (s->looked >= s->nsealed)
            s->looked = 0;
        rc = look_at_segment (s, &s->sealed[s->looked], ret, err);
    }
    return rc;
}

void store_lost_fini (struct store_lost *lost)
{
    free (lost->segments);
    memset (lost, 0, sizeof (*lost));
}

int store_look (struct store *s, bool all, struct store_lost *ret,
                struct err *err)
{
    int rc;

    memset (ret, 0, sizeof (*ret));
    rc = look_at_segments (s, all, ret, err);
    if (rc == 0 && !all && ret->nsegments > 0) {
        store_lost_fini (ret);
        return store_look (s, true, ret, err);
    }
    // a complete copy: writing it need not wait for a commit
    if (rc == 0 && ret->nsegments == 0 && s->end == s->committed &&
        !store_is_there (s))
        rc = store_open_next (s, err);
    if (rc < 0)
        store_lost_fini (ret);
    return rc < 0 ? rc : ret->nsegments > 0;
}

/* ---- repairing ---- */

/* Contents that have lost a chunk, or the list of them. */
struct broken {
    const struct store *store;
    struct ledger *ledger;
    struct digest *ids;
    size_t n;
};

static int take_chunk (void *arg, const struct store_chunk *chunk)
{
    (void)arg;
    (void)chunk;
    return 0;
}

static int look_at_list (void *arg, const struct digest *id,
                         const struct ledger_place *place)
{
    struct broken *b = arg;
    int rc = store_each_chunk (b->store, b->ledger, id, place, take_chunk, NULL,
                               NULL);

    return rc != -ENOENT && rc != -EBADMSG
               ? rc : vec_push (&b->ids, &b->n, id, sizeof (*id));
}

int store_drop_broken (const struct store *s, struct ledger *ledger,
                       struct err *err)
{
    struct broken b = { s, ledger, NULL, 0 };
    int rc = ledger_each_list (ledger, look_at_list, &b, err);

    for (size_t i = 0; i < b.n && rc == 0; i++)
        rc = ledger_drop_content (ledger, &b.ids[i], err);
    free (b.ids);
    return rc == -ENOMEM ? err_set (err, ENOMEM, "no memory for the store")
                         : rc;
}

static int drop_all (const struct store *s, struct ledger *ledger,
                     const struct store_lost *lost, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < lost->nsegments && rc == 0; i++)
        rc = ledger_lose_segment (ledger, lost->segments[i].segment,
                                  lost->segments[i].end, err);
    return rc < 0 ? rc : store_drop_broken (s, ledger, err);
}

/* Continue in a new segment if the records have to be written again, or if the
 * open segment is gone.
 */
static int move_on (struct store *s, struct ledger *ledger,
                    const struct store_lost *lost, struct err *err)
{
    int rc = store_make_dirs (s, err);

    if (rc < 0 || lost->nsegments == 0)
        return rc;
    if (!store_is_there (s)) {
        s->distrusted = true;
        // what is committed need not write to it
        if (!lost->records)
            return store_open_next (s, err);
    }
    if (!lost->records)
        return 0;
    rc = store_write_all (s, ledger, err);
    return rc < 0 ? rc : store_account_all (s, ledger, err);
}

int store_repair (struct store *s, struct ledger *ledger,
                  const struct store_lost *lost,
                  void (*fn) (void *arg, const struct ledger_item *item),
                  void *arg, struct err *err)
{
    int rc = ledger_begin (ledger, err), any = 0;

    if (rc == 0)
        rc = drop_all (s, ledger, lost, err);
    if (rc == 0 && (rc = any = ledger_note_loss (ledger, fn, arg, err)) >= 0)
        rc = move_on (s, ledger, lost, err);
    if ((rc = ledger_finish (ledger, rc, err)) < 0) {
        store_revert (s);
        return rc;
    }
    store_committed (s);
    rc = store_load_sealed (s, ledger, err);
    return rc < 0 ? rc : any;
}

/* ---- what was set aside ---- */

void store_gap_name (const struct ledger_place *g, char out[64])
{
    (void)snprintf (out, 64, "segment-%08lld-%llu-%llu", (long long)g->segment,
                    (unsigned long long)g->offset,
                    (unsigned long long)g->stored);
}

bool store_is_aside (const char *root, const char *name)
{
    char path[PATH_MAX];

    PRINT (path, "%s/" STORE_QUARANTINE "/%s.reason", root, name);
    return access (path, F_OK) == 0;
}
