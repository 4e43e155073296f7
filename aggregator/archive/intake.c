/* aggregator/archive/intake.c - put into a root what no agent delivers */
#include "archive/intake_private.h"

#include "archive/audit.h"
#include "archive/request.h"
#include "archive/root_control.h"
#include "base/clock.h"
#include "base/vec.h"
#include "options/shell.h"
#include "store/fileio.h"
#include "store/root.h"
#include "store/store_commit.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORDS_MAX 4096        // of a commit, and of a batch ...
#define JOBS_NAMED_MAX 128      // ... whose answer names no more jobs than this
#define APPENDED_MAX (UINT64_C (256) << 20)     // bytes of a commit
#define RECORD_BYTES_MAX (64u << 20)            // of all records between two
#define OPEN_TRIES 3            // the aggregator may be ending

static int no_memory (struct err *err)
{
    return err_set (err, ENOMEM, "no memory for what is put into the root");
}

/* ---- opening ---- */

static int intake_create (struct intake **ret, struct err *err)
{
    struct intake *in = calloc (1, sizeof (*in));

    if (!in)
        return no_memory (err);
    (void)pthread_mutex_init (&in->lock, NULL);
    in->root_lock = in->scratch = -1;
    in->lease.fd = -1;
    in->put = (struct map)MAP (struct intake_put, DIGEST_SIZE / 8);
    buf_init (&in->records, RECORD_BYTES_MAX);
    *ret = in;
    return 0;
}

void intake_close (struct intake *in)
{
    if (!in)
        return;
    if (!in->served && in->store)
        store_revert (in->store);
    if (in->opened) {
        store_close (in->store);
        ledger_close (in->ledger);
    }
    lease_end (&in->lease);
    fileio_close (in->root_lock);
    fileio_close (in->scratch);
    vec_free_texts (in->jobs, in->njobs);
    free (in->withdrawn);
    buf_fini (&in->records);
    map_fini (&in->put);
    (void)pthread_mutex_destroy (&in->lock);
    free (in);
}

int intake_begin (struct ledger *ledger, struct store *store,
                  struct intake **ret, struct err *err)
{
    int rc = intake_create (ret, err);

    if (rc == 0) {
        (*ret)->ledger = ledger;
        (*ret)->store = store;
    }
    return rc;
}

/* Ask whether somebody serves the root: 1; 0: nobody has it any more. */
static int ask_served (const char *root, struct err *err)
{
    struct json *request = json_object (), *answer;
    bool served;
    int rc;

    json_add_text (request, "do", "take");
    json_add_text (request, "job", INTAKE_DIR);
    rc = control_ask (root, request, &answer, &served, err);
    if (rc < 0)
        return rc;
    json_free (answer);
    return served;
}

/* What root makes in the root of another user is a file that his service cannot
 * open, or cannot replace.
 */
static int check_owner (const char *root, struct err *err)
{
    const struct passwd *owner;
    char name[64], word[SHELL_WORD (sizeof (name))];
    struct stat st;

    if (geteuid () != 0 || stat (root, &st) < 0 || st.st_uid == 0)
        return 0;
    if ((owner = getpwuid (st.st_uid)))
        PRINT (name, "%s", owner->pw_name);
    else
        PRINT (name, "#%ld", (long)st.st_uid);
    return err_set (err, EPERM, "%s belongs to user %s, whose service could not "
                    "read what root puts there: sudo -u %s with the same "
                    "command", root, name, shell_word (name, word));
}

/* Lock the root, or learn that an aggregator serves it. */
static int take_root (struct intake *in, const char *root, bool make,
                      struct err *err)
{
    int rc = -EBUSY;

    for (unsigned i = 0; i < OPEN_TRIES && rc == -EBUSY; i++) {
        if ((in->root_lock = root_lock (root, make, err)) != -EBUSY)
            return in->root_lock < 0 ? in->root_lock : 0;
        if ((rc = ask_served (root, err)) == 1)
            in->served = true;
        rc = rc == 0 ? -EBUSY : rc;
    }
    return rc < 0 ? rc : 0;
}

static int open_files (struct intake *in, const char *root, bool make,
                       struct err *err)
{
    char path[PATH_MAX];
    int rc;

    if (!fileio_join (path, sizeof (path), root, "ledger.db"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    if (!make && access (path, F_OK) < 0)
        return err_sys (err, errno, "cannot open %s (is %s the --root of an "
                        "aggregator?)", path, root);
    in->opened = true;
    if (in->served)             // else nobody can collect anything
        (void)lease_take (root, "rollcall archive", &in->lease, NULL);
    rc = in->served ? ledger_open_quick (path, &in->ledger, err)
                    : ledger_open (path, &in->ledger, err);
    if (rc < 0)
        return rc;
    return in->served ? store_open_read (root, &in->store, err)
                      : store_open (root, in->ledger, &in->store, err);
}

int intake_open (const char *root, bool make, struct intake **ret,
                 struct err *err)
{
    struct intake *in;
    int rc = intake_create (&in, err);

    if (rc < 0)
        return rc;
    if ((rc = check_owner (root, err)) < 0 ||
        (rc = take_root (in, root, make, err)) < 0 ||
        (rc = open_files (in, root, make, err)) < 0) {
        intake_close (in);
        return rc;
    }
    intake_forget_batches (root);
    in->sums.served = in->served;
    *ret = in;
    return 0;
}

/* ---- committing ---- */

/* Call 'fn' with each record that is no content. */
static int each_record (struct intake *in,
                        int (*fn) (struct intake *in, const struct record *r,
                                   struct err *err), struct err *err)
{
    struct record *r = malloc (sizeof (*r));
    int rc = r ? 0 : no_memory (err);

    for (size_t at = 0; rc == 0 && at < in->records.size; at += r->size) {
        rc = record_decode (r, in->records.data + at, in->records.size - at,
                            err);
        if (rc == 0)
            rc = fn (in, r, err);
    }
    free (r);
    return rc;
}

static int append_record (struct intake *in, const struct record *r,
                          struct err *err)
{
    int rc = r->kind == RECORD_ITEM
                 ? ledger_has_item (in->ledger, &r->item, err) : 0;

    return rc != 0 ? rc < 0 ? rc : 0 : store_note (in->store, r, err);
}

static int note_job (struct intake *in, const char *job, struct err *err)
{
    for (size_t i = 0; i < in->njobs; i++) {
        if (strcmp (in->jobs[i], job) == 0)
            return 0;
    }
    return vec_add_text (&in->jobs, &in->njobs, job) < 0 ? no_memory (err) : 0;
}

static const char *job_of (const struct record *r)
{
    switch (r->kind) {
    case RECORD_ASSIGN:
        return r->assignment.job;
    case RECORD_FACT:
        return r->fact.job;
    case RECORD_DELETION:
        return r->deletion.job;
    default:
        return r->item.job;
    }
}

static int enter_record (struct intake *in, const struct record *r,
                         struct err *err)
{
    struct ledger_item item = r->item;
    int rc = r->kind == RECORD_ITEM
                 ? ledger_has_item (in->ledger, &item, err) : 0;

    if (rc != 0)
        return rc < 0 ? rc : 0;
    rc = store_enter (in->store, in->ledger, r, err);
    if (rc < 0 || (rc == 0 && r->kind != RECORD_JOB))
        return rc;
    if (r->kind != RECORD_ITEM)
        return note_job (in, job_of (r), err);
    if (*item.dir && (rc = ledger_choose_job (in->ledger, &item, err)) < 0)
        return rc;
    return note_job (in, item.job, err);
}

static int enter_all (void *arg, struct ledger *ledger, struct err *err)
{
    struct intake *in = arg;
    int rc = 0;

    for (uint32_t i = 0; i < in->put.n && rc == 0; i++) {
        const struct intake_put *p = map_at (&in->put, i);
        struct digest id;

        memcpy (id.bytes, p->id, DIGEST_SIZE);
        rc = ledger_add_content (ledger, &id, &p->place, err);
    }
    return rc < 0 ? rc : each_record (in, enter_record, err);
}

static void note_restored (void *arg, const struct ledger_item *item)
{
    (void)note_job (arg, item->job, NULL);
}

/* One line for a job's withdrawals that follow each other. */
static int write_audit (struct intake *in, struct err *err)
{
    int rc = 0;

    for (size_t i = 0, n; i < in->nwithdrawn && rc == 0; i += n) {
        const struct ledger_deletion *d = &in->withdrawn[i];
        struct audit line = {
            .verb = "withdraw", .user = "",
            .uid = in->opened ? (int64_t)geteuid () : -1,
            .job = d->job, .at_ns = d->at_ns,
        };

        for (n = 1; i + n < in->nwithdrawn && strcmp (d[n].job, d->job) == 0;)
            n++;
        line.captures = (int64_t)n;
        rc = audit_write (store_root (in->store), &line, err);
    }
    return rc;
}

static int append_all (void *arg, struct store *store, struct err *err)
{
    int rc = write_audit (arg, err);

    (void)store;
    return rc < 0 ? rc : each_record (arg, append_record, err);
}

static int commit (struct intake *in, struct err *err)
{
    const struct store_change change = { append_all, enter_all, in };
    int rc = store_commit (in->store, in->ledger, &change, err);

    return rc < 0 ? rc
                  : ledger_each_restored (in->ledger, note_restored, in, err);
}

/* A disk is not filled to its end: the ledger needs room, too. */
static int check_room (struct intake *in, struct err *err)
{
    return space_check_floor (&in->floor, store_root (in->store), err) == 0
               ? -ENOSPC : 0;
}

static int flush (struct intake *in, struct err *err)
{
    int rc;

    if (in->put.n == 0 && in->records.size == 0)
        return 0;
    if ((rc = check_room (in, err)) == 0)
        rc = in->served ? intake_deliver (in, err) : commit (in, err);
    map_clear (&in->put);
    buf_clear (&in->records);
    in->appended = 0;
    in->nrecords = in->njobs_named = 0;
    in->nwithdrawn = 0;
    if (in->served)
        ledger_end_read (in->ledger);
    return rc;
}

static bool is_due (const struct intake *in)
{
    return in->nrecords >= RECORDS_MAX || in->appended >= APPENDED_MAX ||
           (in->served && in->records.size + CONTENT_CHUNK > INTAKE_BATCH) ||
           in->njobs_named >= JOBS_NAMED_MAX || store_is_crowded (in->store);
}

/* The first failure is that of all later calls: nothing is half there. */
static int leave (struct intake *in, int rc, struct err *err)
{
    if (rc >= 0 && is_due (in))
        rc = flush (in, err);
    if (rc < 0 && !in->failed) {
        in->failed = rc;
        if (err)
            in->why = *err;
    }
    (void)pthread_mutex_unlock (&in->lock);
    return rc;
}

/* 0: go on. */
static int enter (struct intake *in, struct err *err)
{
    (void)pthread_mutex_lock (&in->lock);
    if (!in->failed)
        return 0;
    (void)pthread_mutex_unlock (&in->lock);
    if (err)
        *err = in->why;
    return in->failed;
}

int intake_flush (struct intake *in, struct err *err)
{
    int rc = enter (in, err);

    return rc < 0 ? rc : leave (in, flush (in, err), err);
}

/* ---- putting ---- */

static int has (struct intake *in, const struct digest *id, struct err *err)
{
    struct ledger_place place;
    struct intake_put key;
    int rc;

    memcpy (key.id, id->bytes, DIGEST_SIZE);
    if (map_get (&in->put, key.id))
        return 1;
    rc = ledger_find_content (in->ledger, id, &place, err);
    if (rc != 1 || !store_has (in->store, in->ledger, id, &place))
        return rc < 0 ? rc : 0;
    if (!in->verify)
        return 1;
    rc = store_check_content (in->store, in->ledger, id, &place, NULL);
    return rc == 0 ? 1 : rc == -EBADMSG || rc == -ENOENT ? 0
           : err_sys (err, -rc, "cannot read what is stored");
}

void intake_verify (struct intake *in)
{
    in->verify = true;
}

int intake_has (struct intake *in, const struct digest *id, struct err *err)
{
    int rc = enter (in, err);

    return rc < 0 ? rc : leave (in, has (in, id, err), err);
}

/* Into the store, or into the batch. */
static int put_content (struct intake *in, const struct record *r,
                        const void *bytes, struct ledger_place *place,
                        struct err *err)
{
    size_t n = (size_t)r->place.stored;

    memset (place, 0, sizeof (*place));
    if (in->served) {
        if (record_encode (r, &in->records) < 0)
            return no_memory (err);
        buf_put (&in->records, bytes, n);
        return in->records.failed ? no_memory (err) : 0;
    }
    return r->kind == RECORD_LIST
               ? store_put_list (in->store, &r->id, r->place.size, bytes,
                                 n / DIGEST_SIZE, place, err)
               : store_put_chunk (in->store, &r->id, r->place.size,
                                  (enum chunk_codec)r->place.form, bytes, n,
                                  place, err);
}

static int put_new (struct intake *in, const struct record *r,
                    const void *bytes, struct err *err)
{
    struct ledger_place place;
    struct intake_put key, *p;
    bool is_new;
    int rc = put_content (in, r, bytes, &place, err);

    if (rc < 0)
        return rc;
    memcpy (key.id, r->id.bytes, DIGEST_SIZE);
    if (!(p = map_put (&in->put, key.id, &is_new)))
        return no_memory (err);
    p->place = place;
    in->appended += r->place.stored;
    in->sums.chunks += r->kind == RECORD_CHUNK;
    in->sums.bytes += r->place.stored;
    return 0;
}

static int put (struct intake *in, const struct record *r, const void *bytes,
                struct err *err)
{
    int rc = has (in, &r->id, err);

    return rc < 0 ? rc : rc == 1 ? 0 : put_new (in, r, bytes, err);
}

int intake_put_chunk (struct intake *in, const struct digest *id,
                      uint64_t size, enum chunk_codec codec, const void *bytes,
                      size_t n, struct err *err)
{
    const struct record r = {
        .kind = RECORD_CHUNK, .id = *id,
        .place = { .size = size, .stored = n, .form = (enum ledger_form)codec },
    };
    int rc = enter (in, err);

    return rc < 0 ? rc : leave (in, put (in, &r, bytes, err), err);
}

static int put_list (struct intake *in, const struct record *r,
                     const struct digest *chunks, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        int rc = has (in, &chunks[i], err);

        if (rc <= 0)
            return rc < 0 ? rc : err_set (err, ENOENT, "a chunk of a content "
                                          "was removed meanwhile: try again");
    }
    return put (in, r, chunks, err);
}

int intake_put_list (struct intake *in, const struct digest *id, uint64_t size,
                     const struct digest *chunks, size_t n, struct err *err)
{
    const struct record r = {
        .kind = RECORD_LIST, .id = *id,
        .place = { .size = size, .stored = n * DIGEST_SIZE,
                   .form = FORM_LIST },
    };
    int rc = enter (in, err);

    return rc < 0 ? rc : leave (in, put_list (in, &r, chunks, n, err), err);
}

static int encode (struct intake *in, const struct record *r, struct err *err)
{
    const char *job = job_of (r);

    if (record_encode (r, &in->records) < 0)
        return no_memory (err);
    in->nrecords++;
    in->sums.items += r->kind == RECORD_ITEM;
    if (strcmp (in->last_job, job) != 0)
        in->njobs_named++;
    PRINT (in->last_job, "%s", job);
    return 0;
}

static struct ledger_deletion *find_withdrawn (const struct intake *in,
                                               const struct ledger_deletion *d)
{
    for (size_t i = in->nwithdrawn; i-- > 0;) {
        struct ledger_deletion *w = &in->withdrawn[i];

        if (w->seq == d->seq)
            return w;
    }
    return NULL;
}

struct withdrawing {
    struct intake *in;
    struct ledger_item *item;
    struct err *err;
};

static int withdraw_one (void *arg, const struct ledger_deletion *d)
{
    struct withdrawing *w = arg;
    struct intake *in = w->in;
    struct ledger_deletion *known = find_withdrawn (in, d);
    struct record r = { .kind = RECORD_DELETION, .deletion = *d };
    int64_t now = clock_wall_ns ();
    int rc = 0;

    if (known) {
        r.deletion.at_ns = known->at_ns;
    } else {
        r.deletion.gone = true;
        r.deletion.at_ns = now > d->at_ns ? now : d->at_ns + 1;
        if (vec_push (&in->withdrawn, &in->nwithdrawn, &r.deletion,
                      sizeof (r.deletion)) < 0)
            return no_memory (w->err);
        rc = encode (in, &r, w->err);
    }
    if (w->item->received_ns <= r.deletion.at_ns)
        w->item->received_ns = r.deletion.at_ns + 1;
    return rc;
}

/* What was removed on purpose is put again on purpose: withdraw the deletions,
 * in the commit that enters it.  It arrives after that.
 */
static int withdraw (struct intake *in, struct ledger_item *item,
                     struct err *err)
{
    struct withdrawing w = { in, item, err };
    int64_t at_ns;
    int rc;

    if (item->received_ns == 0)
        item->received_ns = clock_wall_ns ();
    if (in->served)             // its owner does that
        return 0;
    rc = ledger_each_deletion_of (in->ledger, item, withdraw_one, &w, err);
    if (rc < 0 || (rc = ledger_removed_at (in->ledger, item, &at_ns, err)) <= 0)
        return rc;
    if (item->received_ns <= at_ns)
        item->received_ns = at_ns + 1;
    return 0;
}

static int put_item (struct intake *in, const struct record *r,
                     struct err *err)
{
    struct record copy = *r;
    int rc = has (in, &r->item.content, err);

    if (rc <= 0)
        return rc < 0 ? rc : err_set (err, ENOENT, "the content of %s/%s was "
                                      "removed meanwhile: try again",
                                      r->item.capture, r->item.path);
    rc = withdraw (in, &copy.item, err);
    return rc < 0 ? rc : encode (in, &copy, err);
}

static int put_record (struct intake *in, const struct record *r,
                       struct err *err)
{
    return r->kind == RECORD_ITEM ? put_item (in, r, err)
                                  : encode (in, r, err);
}

int intake_put_record (struct intake *in, const struct record *r,
                       struct err *err)
{
    int rc = enter (in, err);

    return rc < 0 ? rc : leave (in, put_record (in, r, err), err);
}

/* ---- beside ---- */

int intake_find_job (struct intake *in, struct ledger_item *item,
                     struct err *err)
{
    int rc = enter (in, err);

    return rc < 0 ? rc
                  : leave (in, ledger_choose_job (in->ledger, item, err), err);
}

int intake_has_item (struct intake *in, const struct ledger_item *item,
                     struct err *err)
{
    int rc = enter (in, err);

    return rc < 0 ? rc
                  : leave (in, ledger_has_item (in->ledger, item, err), err);
}

static int count_item (void *arg, const struct ledger_item *item)
{
    *(uint64_t *)arg += !item->lost;
    return 0;
}

int intake_count_items (struct intake *in, const char *job, uint64_t *ret,
                        struct err *err)
{
    int rc = enter (in, err);

    *ret = 0;
    if (rc < 0)
        return rc;
    for (enum item_kind k = ITEM_ROWS; k <= ITEM_RAW && rc == 0; k++)
        rc = ledger_each (in->ledger, job, k, count_item, ret, err);
    return leave (in, rc, err);
}

struct asked_fact {
    const struct ledger_fact *fact;
    bool known;
};

static int compare_fact (void *arg, const struct ledger_fact *f)
{
    struct asked_fact *a = arg;

    a->known = a->known || (strcmp (f->key, a->fact->key) == 0 &&
                            (strcmp (f->key, FACT_TAG) != 0 ||
                             strcmp (f->value, a->fact->value) == 0));
    return 0;
}

static int knows (struct intake *in, const struct record *r, struct err *err)
{
    struct asked_fact a = { &r->fact, false };
    struct size_claims claims = { NULL, 0 };
    int rc;

    if (r->kind == RECORD_FACT) {
        rc = ledger_each_fact (in->ledger, r->fact.job, 0, compare_fact, &a,
                               err);
        return rc < 0 ? rc : a.known;
    }
    rc = ledger_size_claims (in->ledger, r->item.job, &claims, err);
    if (rc == 0)
        rc = size_claims_find (&claims, &r->word) != NULL;
    size_claims_fini (&claims);
    return rc;
}

int intake_knows (struct intake *in, const struct record *r, struct err *err)
{
    int rc = enter (in, err);

    return rc < 0 ? rc : leave (in, knows (in, r, err), err);
}

static int ask (struct intake *in, struct json *request, struct json **answer,
                struct err *err)
{
    bool served;
    int rc;

    if (in->served) {
        rc = control_ask (store_root (in->store), request, answer, &served,
                          err);
        ledger_end_read (in->ledger);
        return rc;
    }
    *answer = json_object ();
    rc = request_execute (in->ledger, in->store, request, *answer, err);
    json_free (request);
    if (rc < 0) {
        json_free (*answer);
        *answer = NULL;
    }
    return rc;
}

int intake_ask (struct intake *in, struct json *request, struct json **answer,
                struct err *err)
{
    int rc = enter (in, err);

    *answer = NULL;
    if (rc < 0) {
        json_free (request);
        return rc;
    }
    if ((rc = flush (in, err)) < 0)
        json_free (request);
    else
        rc = ask (in, request, answer, err);
    return leave (in, rc, err);
}

struct intake_sums intake_sums (struct intake *in)
{
    return in->sums;
}
