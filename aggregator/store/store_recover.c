/* aggregator/store/store_recover.c - open a store, after a crash too
 *
 * The ledger records how far each segment is accounted for.  Behind that there
 * may be records of the last commit, which was not finished.  Whole records are
 * entered: nobody was told, but an agent did offer them.  The rest is cut off.
 * If the ledger is an older one (from a backup), much more follows, all of it
 * acknowledged: so nothing is cut off that has a whole record behind it.  And
 * what collecting has moved since may be in any order: all of it is entered in
 * one transaction, and items whose content follows behind them once more.
 */
#include "store/store_private.h"

#include "base/cmp.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/fileio.h"
#include "store/object_mark.h"
#include "store/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- records that were not committed ---- */

struct tail {
    struct store *store;
    struct ledger *ledger;
    struct err *err;
    uint64_t at;                // end of what was checked
    uint64_t end;               // end of the last whole record
    bool lists;                 // there were some
    bool again;                 // the content of an item was not met yet
};

int store_enter (struct store *s, struct ledger *ledger,
                 const struct record *r, struct err *err)
{
    const struct ledger_item *i = &r->item;
    struct ledger_place place;
    struct ledger_item item;
    int rc;

    switch (r->kind) {
    case RECORD_CHUNK:
    case RECORD_LIST:
        return ledger_add_content (ledger, &r->id, &r->place, err);
    case RECORD_JOB:
        return ledger_set_claim (ledger, i->job, &r->word, err);
    case RECORD_ASSIGN:
        return ledger_assign (ledger, &r->assignment, err);
    case RECORD_BOUND:
        return ledger_bind (ledger, &r->bound, err);
    case RECORD_FACT:
        return ledger_set_fact (ledger, &r->fact, err);
    case RECORD_DELETION:
        return ledger_delete (ledger, &r->deletion, err);
    case RECORD_ITEM:
        break;
    }
    item = *i;
    rc = ledger_find_content (ledger, &i->content, &place, err);
    if (rc <= 0 || (rc = ledger_has_item (ledger, i, err)) < 0)
        return rc;
    if (rc == 0)
        item.rows = store_sum_rows (s, ledger, i, &place);
    return ledger_add_item (ledger, &item, err);
}

static int store_recover_enter (void *arg, const struct record *r, int bad,
                                const struct ledger_place *gap)
{
    struct tail *t = arg;
    uint64_t size = r ? r->size + record_inside (r) : gap->stored;
    int rc;

    t->at += size;
    if (!r || bad < 0)
        return 0;
    t->lists = t->lists || r->kind == RECORD_LIST;
    if ((rc = store_enter (t->store, t->ledger, r, t->err)) < 0)
        return rc;
    if (rc == 0 && r->kind == RECORD_ITEM)
        t->again = t->again || ledger_has_item (t->ledger, &r->item, NULL) == 0;
    t->store->recovered.records++;
    t->store->recovered.entered += size;
    t->store->recovered.between += t->at - size - t->end;
    t->end = t->at;
    return 0;
}

/* Cut the open segment after its last whole record, and record its end. */
static int cut_behind (struct tail *t)
{
    struct store *s = t->store;

    if (ftruncate (s->segment_fd, (off_t)t->end) < 0 ||
        fdatasync (s->segment_fd) < 0)
        return err_sys (t->err, errno, "cannot cut segment %" PRId64,
                        s->segment);
    return t->end == s->committed ? 0
               : ledger_set_segment (t->ledger, s->segment, t->end, t->err);
}

/* Enter the records of the open segment from 'committed' on. */
static int roll_forward (struct tail *t)
{
    struct store *s = t->store;
    struct segment f = { .of = s->segments, .number = s->segment };
    struct stat st;
    int rc;

    t->at = t->end = s->committed;
    if (fstat (s->segment_fd, &st) < 0)
        return err_sys (t->err, errno, "cannot read segment %" PRId64,
                        s->segment);
    if ((uint64_t)st.st_size < s->committed)
        return err_set (t->err, EBADMSG, "segment %" PRId64 " of %s is cut "
                        "short: rollcall fsck aggregator --repair lists what "
                        "is missing", s->segment, s->root);
    f.fd = s->segment_fd;
    rc = record_scan (&f, s->committed, (uint64_t)st.st_size, true,
                      store_recover_enter, t, t->err);
    if (rc < 0 || (rc = cut_behind (t)) < 0)
        return rc;
    s->recovered.cut += (uint64_t)st.st_size - t->end;
    s->end = s->committed = t->end;
    return 0;
}

/* The contents are here by now; an item without one was not acknowledged. */
static int enter_again (void *arg, const struct record *r, int bad,
                        const struct ledger_place *gap)
{
    struct tail *t = arg;
    int rc;

    (void)gap;
    if (!r || bad < 0 || r->kind != RECORD_ITEM)
        return 0;
    rc = store_enter (t->store, t->ledger, r, t->err);
    return rc < 0 ? rc : 0;
}

static int roll_again (struct tail *t, int64_t segment, uint64_t from)
{
    struct segment f;
    struct stat st;
    int rc = segment_open (t->store->segments, segment, &f, t->err);

    if (rc == 0 && fstat (f.fd, &st) < 0)
        rc = err_sys (t->err, errno, "cannot read segment %" PRId64, segment);
    if (rc == 0)
        rc = record_scan (&f, from, (uint64_t)st.st_size, true, enter_again, t,
                          t->err);
    segment_close (&f);
    return rc;
}

struct store_recovered store_recovered (const struct store *s)
{
    return s->recovered;
}

/* ---- all records once more ---- */

static int refer_item (void *arg, const struct ledger_item *item)
{
    struct tail *t = arg;

    return store_put_item (t->store, item, t->err);
}

static int refer_assignment (void *arg, const struct ledger_assignment *a)
{
    struct tail *t = arg;

    return store_note_assignment (t->store, a, t->err);
}

static int refer_bound (void *arg, const struct ledger_bound *b)
{
    struct tail *t = arg;

    return store_note_bound (t->store, b, t->err);
}

static int refer_fact (void *arg, const struct ledger_fact *f)
{
    struct tail *t = arg;

    return store_note_fact (t->store, f, t->err);
}

static int refer_deletion (void *arg, const struct ledger_deletion *d)
{
    struct tail *t = arg;

    return store_note_deletion (t->store, d, t->err);
}

static int refer_job (void *arg, const struct ledger_job *job)
{
    struct tail *t = arg;
    struct size_claims claims;
    int rc = ledger_size_claims (t->ledger, job->id, &claims, t->err);

    for (size_t i = 0; i < claims.n && rc == 0; i++)
        rc = store_note_claim (t->store, job->id, &claims.list[i], t->err);
    size_claims_fini (&claims);

    for (enum item_kind k = ITEM_ROWS; k <= ITEM_RAW && rc == 0; k++)
        rc = ledger_each (t->ledger, job->id, k, refer_item, t, t->err);
    return rc;
}

/* Open an empty segment; the current one will do if nothing was ever committed
 * to it.
 */
static int open_empty (struct store *s, struct ledger *ledger,
                       struct err *err)
{
    int64_t last = ledger_last_used (ledger);
    int rc = 0;

    if (s->segment <= last || s->committed > 0 || s->distrusted ||
        !store_is_there (s))
        rc = store_open_from (s, (s->segment > last ? s->segment : last) + 1,
                              err);
    if (rc == 0 && ftruncate (s->segment_fd, 0) < 0)
        rc = err_sys (err, errno, "cannot cut segment %" PRId64, s->segment);
    if (rc == 0)
        s->end = s->committed = 0;
    return rc;
}

int store_write_all (struct store *s, struct ledger *ledger, struct err *err)
{
    struct tail t = { .store = s, .ledger = ledger, .err = err };
    int rc = open_empty (s, ledger, err);

    if (rc == 0)
        rc = ledger_each_deletion (ledger, NULL, refer_deletion, &t, err);
    if (rc == 0)
        rc = ledger_each_job (ledger, ITEM_RAW, refer_job, &t, err);
    if (rc == 0)
        rc = ledger_each_assignment (ledger, NULL, refer_assignment, &t, err);
    if (rc == 0)
        rc = ledger_each_bound (ledger, refer_bound, &t, err);
    if (rc == 0)
        rc = ledger_each_fact (ledger, NULL, 0, refer_fact, &t, err);
    return rc < 0 ? rc : store_sync (s, err);
}

int store_account_all (struct store *s, struct ledger *ledger,
                       struct err *err)
{
    int rc = store_account (s, ledger, err);

    return rc < 0 ? rc : ledger_set_segment (ledger, s->segment, s->end, err);
}

/* After a repair some records are damaged.  A new segment gets a record for
 * each item, with the place of its content.
 */
int store_describe (struct store *s, struct ledger *ledger, struct err *err)
{
    int rc = store_write_all (s, ledger, err);

    if (rc == 0)
        rc = ledger_begin (ledger, err);
    if (rc < 0)
        return rc;
    rc = ledger_finish (ledger, store_account_all (s, ledger, err), err);
    if (rc == 0)
        store_committed (s);
    return rc;
}

/* ---- the segments that are there ---- */

int store_list_segments (const char *root, int64_t **numbers, size_t *n,
                         struct err *err)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *dir;
    int rc = 0;

    if (!fileio_join (path, sizeof (path), root, "segments"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    if (!(dir = opendir (path)))
        return errno == ENOENT ? err_set (err, ENOENT, "%s is not the root of "
                                          "an aggregator: it has no segments",
                                          root)
                               : err_sys (err, errno, "cannot read %s", path);
    while (rc == 0 && (e = readdir (dir))) {
        int64_t number;

        if (units_int (e->d_name, 0, LEDGER_SEGMENT_MAX, &number) == 0 &&
            vec_push (numbers, n, &number, sizeof (number)) < 0)
            rc = err_set (err, ENOMEM, "no memory for the names of segments");
    }
    (void)closedir (dir);
    if (rc == 0 && *n > 0)
        qsort (*numbers, *n, sizeof (**numbers), cmp_int64);
    return rc;
}

/* Whether any segment has data: those that could not be fsynced are empty. */
static bool has_data (const struct store *s, const int64_t *numbers, size_t n)
{
    char path[PATH_MAX];
    struct stat st;

    for (size_t i = 0; i < n; i++) {
        store_segment_path (s->root, numbers[i], path);
        if (stat (path, &st) == 0 && st.st_size > 0)
            return true;
    }
    return false;
}

/* Enter a segment in the ledger before anything is appended: if a ledger knows
 * of no segment although there are some, the original ledger was lost.
 */
static int begin (struct store *s, struct ledger *ledger,
                  const int64_t *numbers, size_t n, struct err *err)
{
    int rc;

    if (has_data (s, numbers, n))
        return err_set (err, EBADMSG, "%s has segments, but its ledger.db is "
                        "empty or gone: rollcall fsck aggregator --repair "
                        "rebuilds it", s->root);
    rc = store_open_segment (s, 1, err);
    return rc < 0 ? rc : ledger_set_segment (ledger, 1, 0, err);
}

/* Go on behind what the ledger knows.  Numbers may be missing, that of its last
 * segment too: collecting removes segments.
 */
static int enter_segments (struct tail *t, int64_t last, const int64_t *numbers,
                           size_t n)
{
    struct store *s = t->store;
    uint64_t from = s->committed;
    int rc = 0;

    if (n == 0 || numbers[n - 1] < last) {
        numbers = &last;
        n = 1;
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (numbers[i] < last)
            continue;
        s->committed = s->end = numbers[i] == last ? from : 0;
        if ((rc = store_open_segment (s, numbers[i], t->err)) == 0)
            rc = roll_forward (t);
    }
    for (size_t i = 0; i < n && rc == 0 && t->again; i++) {
        if (numbers[i] >= last)
            rc = roll_again (t, numbers[i], numbers[i] == last ? from : 0);
    }
    return rc;
}

static int resume (struct store *s, struct ledger *ledger, int64_t last,
                   const int64_t *numbers, size_t n, struct err *err)
{
    struct tail t = { .store = s, .ledger = ledger, .err = err };
    int rc = ledger_begin (ledger, err);

    if (rc < 0)
        return rc;
    rc = enter_segments (&t, last, numbers, n);
    if (rc == 0 && t.lists)
        rc = store_drop_broken (s, ledger, err);
    if (rc == 0 && (t.lists || t.again))
        rc = store_sum_all_rows (s, ledger, err);
    return ledger_finish (ledger, rc, err);
}

static int store_recover (struct store *s, struct ledger *ledger,
                          struct err *err)
{
    int64_t last = 0, *numbers = NULL;
    size_t n = 0;
    int rc = ledger_last_segment (ledger, &last, &s->end, err);

    s->committed = s->end;
    if (rc == 0)
        rc = store_list_segments (s->root, &numbers, &n, err);
    if (rc == 0)
        rc = last == 0 ? begin (s, ledger, numbers, n, err)
                       : resume (s, ledger, last, numbers, n, err);
    free (numbers);
    return rc;
}

/* ---- opening ---- */

static int store_alloc (const char *root, struct store **ret, struct err *err)
{
    struct store *s = calloc (1, sizeof (*s));

    if (!s)
        return err_set (err, ENOMEM, "no memory for the store");
    s->segment_fd = -1;
    *ret = s;
    if (strlen (root) >= sizeof (s->root))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    PRINT (s->root, "%s", root);
    return 0;
}

static int store_recover_create (const char *root, struct store **ret,
                                 struct err *err)
{
    int rc = store_alloc (root, ret, err);

    return rc < 0 ? rc : segments_create (root, &(*ret)->segments, err);
}

/* A segment of which an object store has something never changes again.  It is the
 * last one if a crash took the name of the next one, or that was collected.
 */
static int leave_stored (struct store *s, struct err *err)
{
    struct object_mark m;
    int rc = object_mark_read (s->root, s->segment, &m, err);

    if (rc < 0 || (m.state == OBJECT_UNMARKED && !m.evicted))
        return rc;
    return store_open_next (s, err);
}

int store_open (const char *root, struct ledger *ledger, struct store **ret,
                struct err *err)
{
    const char *remote = fileio_remote_fs (root);
    struct store *s = NULL;
    int rc = store_recover_create (root, &s, err);

    if (rc == 0 && remote)
        rc = err_set (err, ENOTSUP, "%s is on a shared file system (%s), where "
                      "a ledger is not safe: choose a local directory", root,
                      remote);
    if (rc == 0)
        rc = store_make_dirs (s, err);
    if (rc == 0) {
        segments_ask (s->segments, SEGMENTS_HURRY);     // it can sum later
        rc = store_recover (s, ledger, err);
        segments_ask (s->segments, SEGMENTS_PATIENT);
    }
    if (rc == 0)
        rc = store_load_sealed (s, ledger, err);
    if (rc == 0)
        rc = leave_stored (s, err);
    if (rc < 0) {
        store_close (s);
        return rc;
    }
    *ret = s;
    return 0;
}

int store_open_read (const char *root, struct store **ret, struct err *err)
{
    struct store *s = NULL;
    int rc = store_recover_create (root, &s, err);

    if (rc < 0)
        store_close (s);
    else
        *ret = s;
    return rc;
}

int store_open_far (const struct object_place *place, const char *root_id,
                    struct store **ret, struct err *err)
{
    struct store *s = NULL;
    int rc = store_alloc ("", &s, err);

    if (rc == 0)
        rc = segments_create_far (place, root_id, &s->segments, err);
    if (rc < 0) {
        store_close (s);
        return rc;
    }
    segments_ask (s->segments, SEGMENTS_HURRY);
    *ret = s;
    return 0;
}

void store_close (struct store *s)
{
    if (!s)
        return;
    fileio_close (s->segment_fd);
    segments_destroy (s->segments);
    free (s->sealed);
    free (s);
}
