/* aggregator/archive/intake.c - put into a root what no agent delivers: open it,
 * and ask what is there
 */
#include "archive/intake_private.h"

#include "archive/request.h"
#include "archive/root_control.h"
#include "base/vec.h"
#include "ledger/ledger_gc.h"
#include "store/fileio.h"
#include "store/root.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_BYTES_MAX (64u << 20)            // of all records of a commit
#define OPEN_TRIES 3            // the aggregator may be ending

int intake_no_memory (struct err *err)
{
    return err_set (err, ENOMEM, "no memory for what is put into the root");
}

/* ---- opening ---- */

static int intake_create (struct intake **ret, struct err *err)
{
    struct intake *in = calloc (1, sizeof (*in));

    if (!in)
        return intake_no_memory (err);
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
    if ((rc = root_check_owner (root, err)) < 0 ||
        (rc = root_check_backup (root, err)) < 0 ||
        (rc = make ? root_check_new (root, err) : 0) < 0 ||
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

/* ---- asking ---- */

int intake_find_job (struct intake *in, struct ledger_item *item,
                     struct err *err)
{
    int rc = intake_enter (in, err);

    if (rc == 0)
        rc = intake_leave (in, ledger_choose_job (in->ledger, item, err), err);
    return rc;
}

bool intake_is_assumed (struct intake *in, const char *job)
{
    struct ledger_summary sum = { .assumed = 0 };
    int rc = intake_enter (in, NULL);

    if (rc == 0)
        (void)intake_leave (in, ledger_summary (in->ledger, job, &sum, NULL),
                            NULL);
    return sum.assumed > 0;
}

int intake_has_same (struct intake *in, const struct ledger_item *item,
                     struct err *err)
{
    int rc = intake_enter (in, err);
    struct ledger_item same;

    if (rc == 0)
        rc = intake_leave (in, ledger_find_same (in->ledger, item, &same, err),
                           err);
    return rc;
}

static int count_item (void *arg, const struct ledger_item *item)
{
    *(uint64_t *)arg += !item->lost;
    return 0;
}

int intake_count_items (struct intake *in, const char *job, uint64_t *ret,
                        struct err *err)
{
    int rc = intake_enter (in, err);

    *ret = 0;
    if (rc < 0)
        return rc;
    for (enum item_kind k = ITEM_ROWS; k <= ITEM_RAW && rc == 0; k++)
        rc = ledger_each (in->ledger, job, k, count_item, ret, err);
    return intake_leave (in, rc, err);
}

struct asked_fact {
    const struct ledger_fact *fact;
    bool known;
};

/* A command that ended with its job is not known: the job may come back.  One
 * that was forgotten is: it must not be written again.
 */
static int compare_fact (void *arg, const struct ledger_fact *f)
{
    struct asked_fact *a = arg;
    bool command = strcmp (a->fact->key, FACT_COMMAND) == 0;

    if (strcmp (f->key, a->fact->key) == 0)
        a->known = a->known ||
                   (command ? strcmp (f->value, FACT_NO_COMMAND) != 0
                            : strcmp (f->key, FACT_TAG) != 0 ||
                                  strcmp (f->value, a->fact->value) == 0);
    else if (command && strcmp (f->key, FACT_FORGOTTEN) == 0)
        a->known = a->known || !f->gone;
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
    int rc = intake_enter (in, err);

    return rc < 0 ? rc : intake_leave (in, knows (in, r, err), err);
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
    int rc = intake_enter (in, err);

    *answer = NULL;
    if (rc < 0) {
        json_free (request);
        return rc;
    }
    if ((rc = intake_flush_locked (in, err)) < 0)
        json_free (request);
    else
        rc = ask (in, request, answer, err);
    return intake_leave (in, rc, err);
}

struct intake_sums intake_sums (struct intake *in)
{
    return in->sums;
}
