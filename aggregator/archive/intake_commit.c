/* aggregator/archive/intake_commit.c - commit what was put into a root, or hand
 * it to the aggregator that has the root
 */
#include "archive/intake_private.h"

#include "base/vec.h"
#include "store/store_commit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS_MAX 4096        // of a commit, and of a batch ...
#define JOBS_NAMED_MAX 128      // ... whose answer names no more jobs than this
#define APPENDED_MAX (UINT64_C (256) << 20)     // bytes of a commit

/* Call 'fn' with each record that is no content. */
static int each_record (struct intake *in,
                        int (*fn) (struct intake *in, const struct record *r,
                                   struct err *err), struct err *err)
{
    struct record *r = malloc (sizeof (*r));
    int rc = r ? 0 : intake_no_memory (err);

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
    return vec_add_text (&in->jobs, &in->njobs, job) < 0
               ? intake_no_memory (err) : 0;
}

const char *intake_job_of (const struct record *r)
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
        return note_job (in, intake_job_of (r), err);
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

    if (in->nwithdrawn > 0 && !*in->by) {
        audit_name_user (getuid (), in->by);
        in->uid = (int64_t)getuid ();
    }
    for (size_t i = 0, n; i < in->nwithdrawn && rc == 0; i += n) {
        const struct ledger_deletion *d = &in->withdrawn[i];
        struct audit line = {
            .verb = "withdraw", .user = in->by, .uid = in->uid, .job = d->job,
            .at_ns = d->at_ns,
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

int intake_flush_locked (struct intake *in, struct err *err)
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

int intake_leave (struct intake *in, int rc, struct err *err)
{
    if (rc >= 0 && is_due (in))
        rc = intake_flush_locked (in, err);
    if (rc < 0 && !in->failed) {
        in->failed = rc;
        if (err)
            in->why = *err;
    }
    (void)pthread_mutex_unlock (&in->lock);
    return rc;
}

int intake_enter (struct intake *in, struct err *err)
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
    int rc = intake_enter (in, err);

    return rc < 0 ? rc : intake_leave (in, intake_flush_locked (in, err), err);
}
