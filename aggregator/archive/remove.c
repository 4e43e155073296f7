/* aggregator/archive/remove.c - remove captures of a job on purpose */
#include "archive/remove.h"

#include "archive/audit.h"
#include "archive/job_facts.h"
#include "base/vec.h"
#include "options/shell.h"
#include "store/fileio.h"
#include "store/store_commit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT_ONCE 512             // versions in one commit: half a MB of memory

/* ---- what it is ---- */

/* The rank that is meant, or -1: a capture's name. */
static int64_t rank_of (const char *what)
{
    return *what && what[strspn (what, "0123456789")] == '\0'
               ? strtoll (what, NULL, 10) : -1;
}

static struct ledger_choice choice_of (const struct remove_what *what)
{
    int64_t rank = rank_of (what->what);

    return (struct ledger_choice){
        .job = what->job, .rank = rank,
        .capture = rank < 0 ? what->what : "",
    };
}

static int is_pinned (struct ledger *ledger, const char *job, bool *ret,
                      struct err *err)
{
    struct ledger_fact pin = { .gone = false };
    int rc;

    PRINT (pin.job, "%s", job);
    PRINT (pin.key, FACT_PIN);
    PRINT (pin.value, "1");
    rc = ledger_has_fact (ledger, &pin, err);
    *ret = rc == 1;
    return rc < 0 ? rc : 0;
}

static int say_none (struct ledger *ledger, const struct remove_what *what,
                     struct err *err)
{
    struct ledger_deletion d;
    char text[DELETION_TEXT_MAX], word[SHELL_WORD (MESSAGE_NAME_MAX)];
    int rc = ledger_last_deletion (ledger, what->job, &d, err);

    if (rc < 0)
        return rc;
    if (rc == 1)
        ledger_deletion_text (&d, text);
    if (rc == 1 && ledger_newest (ledger, what->job, ITEM_RAW) == 0)
        return err_set (err, ENOENT, "job %s was %s", what->job, text);
    if (*what->what)
        return err_set (err, ENOENT, "job %s has no capture and no rank %s: "
                        "rollcall archive ls %s lists them", what->job,
                        what->what, shell_word (what->job, word));
    return err_set (err, ENOENT, "there is no job %s in this root: rollcall "
                    "jobs lists its jobs", what->job);
}

/* All but 'shared'. */
static int sum_up (struct ledger *ledger, const struct remove_what *what,
                   struct removal *ret, struct err *err)
{
    struct ledger_choice choice = choice_of (what);
    struct ledger_chosen sum;
    int rc = ledger_sum_chosen (ledger, &choice, &sum, err);

    if (rc < 0)
        return rc;
    *ret = (struct removal){ .captures = sum.captures, .files = sum.items,
                             .bytes = sum.bytes,
                             .all = sum.items == sum.of_job };
    if (sum.items == 0)
        return say_none (ledger, what, err);
    return is_pinned (ledger, what->job, &ret->pinned, err);
}

int remove_plan (struct ledger *ledger, const struct remove_what *what,
                 struct removal *ret, struct err *err)
{
    struct ledger_choice choice = choice_of (what);
    int rc = sum_up (ledger, what, ret, err);

    return rc < 0 ? rc : ledger_sum_shared (ledger, &choice, &ret->shared, err);
}

/* ---- what was said of a job ---- */

/* What of it ends with the job's last capture. */
struct sayings {
    const struct remove_what *what;
    struct job_facts facts;
    struct size_claim expected;         // 0 ranks: no longer said
    bool claimed;
};

/* What comes again may have another command.  Tags stay: whoever imports the job
 * again has them, and rules of retention go by them.
 */
static int end_fact (void *arg, const struct ledger_fact *old)
{
    struct sayings *s = arg;
    struct ledger_fact f = *old;

    if (f.gone || strcmp (f.key, FACT_COMMAND) != 0 ||
        strcmp (f.value, FACT_NO_COMMAND) == 0)
        return 0;
    PRINT (f.value, FACT_NO_COMMAND);
    f.at_ns = s->what->now_ns;
    PRINT (f.by, "%s", s->what->by);
    return vec_push (&s->facts.list, &s->facts.n, &f, sizeof (f));
}

static int find_expected (struct ledger *ledger, struct sayings *s,
                          struct err *err)
{
    struct size_claims claims;
    int rc = ledger_size_claims (ledger, s->what->job, &claims, err);

    s->expected = (struct size_claim){ .by = CLAIM_EXPECT };
    for (size_t i = 0; i < claims.n && rc == 0; i++)
        s->claimed = s->claimed || (claims.list[i].by == CLAIM_EXPECT &&
                                    claims.list[i].world_size > 0);
    size_claims_fini (&claims);
    return rc;
}

static int note_end (const struct sayings *s, struct store *store,
                     struct err *err)
{
    int rc = job_facts_append (&s->facts, store, err);

    return rc < 0 || !s->claimed ? rc : store_note_claim (store, s->what->job,
                                                          &s->expected, err);
}

static int enter_end (const struct sayings *s, struct ledger *ledger,
                      struct err *err)
{
    int rc = job_facts_enter (&s->facts, ledger, err);

    return rc < 0 || !s->claimed ? rc : ledger_set_claim (ledger, s->what->job,
                                                          &s->expected, err);
}

/* What comes of the job again has its own command, and its own ranks. */
static int find_sayings (struct ledger *ledger, struct sayings *s,
                         struct err *err)
{
    int rc = ledger_each_fact (ledger, s->what->job, 0, end_fact, s, err);

    if (rc == -ENOMEM)
        rc = err_set (err, ENOMEM, "no memory for facts");
    return rc < 0 ? rc : find_expected (ledger, s, err);
}

/* ---- removing it ---- */

struct batch {
    const struct remove_what *what;
    struct ledger_deletion *list;
    size_t n;
    const struct sayings *end;  // of the job's last captures; else NULL
};

static int take (void *arg, const struct ledger_deletion *d)
{
    struct batch *b = arg;
    struct ledger_deletion copy = *d;

    copy.at_ns = b->what->now_ns > d->at_ns ? b->what->now_ns : d->at_ns + 1;
    PRINT (copy.by, "%s", b->what->by);
    return vec_push (&b->list, &b->n, &copy, sizeof (copy));
}

static int note_deletions (void *arg, struct store *store, struct err *err)
{
    const struct batch *b = arg;
    int rc = 0;

    for (size_t i = 0; i < b->n && rc == 0; i++)
        rc = store_note_deletion (store, &b->list[i], err);
    return rc < 0 || !b->end ? rc : note_end (b->end, store, err);
}

static int delete_versions (void *arg, struct ledger *ledger, struct err *err)
{
    const struct batch *b = arg;
    int rc = 0;

    for (size_t i = 0; i < b->n && rc >= 0; i++)
        rc = ledger_delete (ledger, &b->list[i], err);
    return rc < 0 || !b->end ? rc : enter_end (b->end, ledger, err);
}

static bool is_same (const struct ledger_deletion *a,
                     const struct ledger_deletion *b)
{
    return strcmp (a->scope, b->scope) == 0 && strcmp (a->dir, b->dir) == 0 &&
           a->rank == b->rank && strcmp (a->capture, b->capture) == 0 &&
           a->newest_ns == b->newest_ns;
}

/* Commit the removal of the next versions: how many, or none of 'last' is left,
 * which was removed before.  With the job's last ones ends what was said of it.
 */
static int remove_some (struct ledger *ledger, struct store *store,
                        const struct remove_what *what,
                        const struct sayings *end, struct ledger_deletion *last,
                        struct err *err)
{
    struct ledger_choice choice = choice_of (what);
    struct batch b = { .what = what };
    const struct store_change change = { note_deletions, delete_versions, &b };
    int rc = ledger_each_version (ledger, &choice, AT_ONCE + 1, take, &b, err);

    if (rc == -ENOMEM)
        rc = err_set (err, ENOMEM, "no memory to remove captures");
    if (rc == 0 && b.n > 0 && is_same (b.list, last))
        rc = err_set (err, EIO, "job %s: %s was removed, and is there all the "
                      "same", last->job, last->capture);
    if (b.n > AT_ONCE)
        b.n = AT_ONCE;
    else
        b.end = end;
    if (rc == 0 && b.n > 0) {
        *last = b.list[0];
        rc = store_commit (store, ledger, &change, err);
    }
    free (b.list);
    return rc < 0 ? rc : (int)b.n;
}

/* None that was removed is listed again: else it would go on for ever. */
static int remove_all (struct ledger *ledger, struct store *store,
                       const struct remove_what *what,
                       const struct sayings *end, struct err *err)
{
    struct ledger_deletion last = { .rank = -1 };
    int rc;

    while ((rc = remove_some (ledger, store, what, end, &last, err)) > 0)
        continue;
    return rc;
}

static int path_of_result (const struct store *store, const char *job,
                           char path[PATH_MAX], struct err *err)
{
    char jobs[PATH_MAX];

    if (!fileio_join (jobs, sizeof (jobs), store_root (store), "jobs") ||
        !fileio_join (path, PATH_MAX, jobs, job))
        return err_set (err, ENAMETOOLONG, "path is too long: %s",
                        store_root (store));
    return 0;
}

static int remove_result (const struct store *store, const char *job,
                          struct err *err)
{
    char path[PATH_MAX];
    int rc = path_of_result (store, job, path, err);

    return rc < 0 ? rc : fileio_remove_tree (path, err);
}

/* Finish a removal that was killed before it removed the result, or had written
 * what ends with the job: 1; 0: there was none.
 */
static int finish (struct ledger *ledger, struct store *store,
                   const struct remove_what *what, struct sayings *end,
                   struct err *err)
{
    const struct batch rest = { .what = what, .end = end };
    const struct store_change change = { note_deletions, delete_versions,
                                         (void *)(uintptr_t)&rest };
    struct ledger_deletion d;
    char path[PATH_MAX];
    int rc = ledger_last_deletion (ledger, what->job, &d, err);
    bool said, has_result;

    if (rc <= 0 || ledger_newest (ledger, what->job, ITEM_RAW) > 0 ||
        (rc = find_sayings (ledger, end, err)) < 0 ||
        (rc = path_of_result (store, what->job, path, err)) < 0)
        return rc < 0 ? rc : 0;
    said = end->facts.n > 0 || end->claimed;
    has_result = access (path, F_OK) == 0;
    if (said)
        rc = store_commit (store, ledger, &change, err);
    if (rc == 0 && has_result)
        rc = fileio_remove_tree (path, err);
    return rc < 0 ? rc : said || has_result;
}

/* ---- facts ---- */

static int note_fact (void *arg, struct store *store, struct err *err)
{
    return store_note_fact (store, arg, err);
}

/* Its result shows the fact once it is built again. */
static int enter_fact (void *arg, struct ledger *ledger, struct err *err)
{
    const struct ledger_fact *f = arg;
    int rc = ledger_set_fact (ledger, f, err);

    return rc >= 0 && ledger_built (ledger, f->job) != 0
               ? ledger_set_built (ledger, f->job, 0, NULL, err) : rc;
}

static int set_fact (struct ledger *ledger, struct store *store,
                     struct ledger_fact *f, struct err *err)
{
    const struct store_change change = { note_fact, enter_fact, f };

    return store_commit (store, ledger, &change, err);
}

static int apply (struct ledger *ledger, struct store *store,
                  const struct remove_what *what, const struct removal *r,
                  struct sayings *end, struct err *err)
{
    struct audit line = { .verb = what->verb, .user = what->by,
                          .uid = what->uid, .job = what->job,
                          .what = what->what, .at_ns = what->now_ns,
                          .captures = r->captures, .files = r->files,
                          .bytes = (int64_t)r->bytes };
    char word[SHELL_WORD (MESSAGE_NAME_MAX)];
    int rc;

    if (r->pinned)
        return err_set (err, EPERM, "job %s is pinned: rollcall archive unpin "
                        "%s lets it be removed", what->job,
                        shell_word (what->job, word));
    if (what->newest > 0 &&
        ledger_newest (ledger, what->job, ITEM_RAW) > what->newest)
        return err_set (err, EBUSY, "job %s has data that came after this was "
                        "decided", what->job);
    if ((rc = audit_write (store_root (store), &line, err)) == 0 && r->all)
        rc = find_sayings (ledger, end, err);
    if (rc < 0 || (rc = remove_all (ledger, store, what, r->all ? end : NULL,
                                    err)) < 0)
        return rc;
    return r->all ? remove_result (store, what->job, err) : 0;
}

int remove_apply (struct ledger *ledger, struct store *store,
                  const struct remove_what *what, struct removal *ret,
                  struct err *err)
{
    struct sayings end = { .what = what };
    struct err why = { "" };
    int rc = sum_up (ledger, what, ret, err);

    if (rc == -ENOENT) {
        int done = finish (ledger, store, what, &end, &why);

        ret->all = done == 1;
        rc = done == 0 ? rc : done == 1 ? 0 : err_set (err, -done, "%s",
                                                       why.text);
    } else if (rc == 0) {
        rc = apply (ledger, store, what, ret, &end, err);
    }
    job_facts_fini (&end.facts);
    return rc;
}

int remove_metadata (struct ledger *ledger, struct store *store,
                     const struct remove_what *what, struct err *err)
{
    const struct audit line = { .verb = what->verb, .user = what->by,
                                .uid = what->uid, .job = what->job,
                                .what = "command and environment",
                                .at_ns = what->now_ns };
    struct ledger_fact f = { .key = FACT_FORGOTTEN, .value = "1",
                             .at_ns = what->now_ns };
    int rc;

    PRINT (f.job, "%s", what->job);
    PRINT (f.by, "%s", what->by);
    if ((rc = ledger_has_fact (ledger, &f, err)) != 0)
        return rc < 0 ? rc : 0;
    if ((rc = audit_write (store_root (store), &line, err)) == 0)
        rc = set_fact (ledger, store, &f, err);
    return rc < 0 ? rc : 1;
}
