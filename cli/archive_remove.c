/* cli/archive_remove.c - rollcall archive rm, prune and gc: what deletes */
#include "cli.h"
#include "interchange/archive_verb.h"

#include "archive/archive.h"
#include "archive/remove.h"
#include "archive/retention.h"
#include "archive/root_control.h"
#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "options/shell.h"
#include "store/gc.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FAIL(opt, status, ...) cli_fail ((opt)->command, status, __VA_ARGS__)

/* Print a document, or end the plan in text. */
static int finish (const struct archive_remove_options *opt, struct json *doc)
{
    if (doc)
        return cli_flush (opt->command, cli_print_json (doc));
    if (!opt->apply)
        (void)printf ("nothing was changed: --apply does it\n");
    return cli_flush (opt->command, 0);
}

/* Whether this user cannot be told what would go; it is said. */
static bool is_blind (const struct archive_remove_options *opt,
                      const char *verb)
{
    if (opt->apply || !cli_needs_view (opt->root))
        return false;
    (void)FAIL (opt, 0, "only users who can read the root see what %s would "
                "remove; an operator of it can have that done without a look: "
                "archive %s --apply", verb, verb);
    return true;
}

/* ---- rm ---- */

static struct json *ask_rm (const char *job, const char *what,
                            const char *verb, int64_t newest)
{
    struct json *request = json_object ();

    json_add_text (request, "do", what ? "rm" : "forget");
    json_add_text (request, "job", job);
    json_add_nonempty (request, "what", what ? what : "");
    json_add_text (request, "verb", verb);
    json_add_text (request, "by", archive_my_name ());
    json_add_int (request, "uid", (int64_t)getuid ());
    json_add_int (request, "newest", newest);
    return request;
}

/* Remove it, or forget its command and environment ('what' is NULL). */
static int ask (const struct archive_remove_options *opt,
                struct control_root *root, const char *job, const char *what,
                const char *verb)
{
    struct json *answer;
    int status = cli_ask_again (opt->command, root,
                                ask_rm (job, what, verb, 0), &answer);

    if (status == 0)
        json_free (answer);
    return status;
}

static void print_removal (const struct archive_remove_options *opt,
                           const char *job, const struct removal *r)
{
    char shown[UTF8_ESCAPED (MESSAGE_NAME_MAX)], bytes[16], shared[16];

    units_bytes_text (r->bytes, bytes);
    units_bytes_text (r->shared, shared);
    (void)printf ("%s of job %s: %lld capture%s, %lld file%s, %s%s\n",
                  opt->apply ? "removed" : "to be removed",
                  utf8_escape (job, UTF8_COLUMN, shown),
                  (long long)r->captures, units_s ((uint64_t)r->captures),
                  (long long)r->files, units_s ((uint64_t)r->files), bytes,
                  r->all ? ", which is all of it, and its result" : "");
    if (r->shared > 0)
        (void)printf ("%s of that stay, since other captures have the same "
                      "files\n", shared);
    if (opt->apply)
        (void)printf ("rollcall archive gc --unused 0 --apply frees the "
                      "bytes\n");
}

/* What no removal here can reach. */
static void print_rest (const struct cli_rest *rest)
{
    const char *const all[][2] = { { "raw files", rest->raw_at },
                                   { "rows", rest->home } };
    char shown[UTF8_ESCAPED (FACT_VALUE_MAX)];

    for (size_t i = 0; i < 2; i++) {
        if (*all[i][1])
            (void)printf ("%s of this job are at %s, and stay there\n",
                          all[i][0], utf8_escape (all[i][1], UTF8_COLUMN,
                                                  shown));
    }
}

static struct json *removal_json (const struct archive_remove_options *opt,
                                  const char *job, const struct removal *r,
                                  const struct cli_rest *rest)
{
    struct json *doc = json_object ();

    json_add_text (doc, "job", job);
    json_add_int (doc, "captures", r->captures);
    json_add_int (doc, "files", r->files);
    json_add_int (doc, "bytes", (int64_t)r->bytes);
    json_add_int (doc, "shared", (int64_t)r->shared);
    json_add_bool (doc, "all", r->all);
    json_add_bool (doc, "pinned", r->pinned);
    json_add_nonempty (doc, FACT_RAW_AT, rest->raw_at);
    json_add_nonempty (doc, FACT_HOME, rest->home);
    json_add_bool (doc, "applied", opt->apply);
    return doc;
}

/* For an operator, who cannot read the root to see what goes. */
static int rm_asked (const struct archive_remove_options *opt, const char *job,
                     const char *what)
{
    struct removal r = { .all = !*what };
    struct cli_rest rest;
    struct json *answer;
    bool served;
    int status = cli_ask (opt->command, opt->root,
                          ask_rm (job, what, "archive rm", 0), &answer,
                          &served);

    if (status != 0)
        return status;
    if (opt->json)
        return finish (opt, answer);
    r.captures = cli_number (answer, "captures");
    r.files = cli_number (answer, "files");
    r.bytes = (uint64_t)cli_number (answer, "bytes");
    PRINT (rest.raw_at, "%s", json_text (json_get (answer, FACT_RAW_AT), ""));
    PRINT (rest.home, "%s", json_text (json_get (answer, FACT_HOME), ""));
    json_free (answer);
    print_removal (opt, job, &r);
    print_rest (&rest);
    return finish (opt, NULL);
}

int archive_rm (const struct archive_remove_options *opt, const char *job,
                const char *what)
{
    char word[SHELL_WORD (MESSAGE_NAME_MAX)];
    struct remove_what w = { .job = job, .what = what ? what : "" };
    struct control_root root = CONTROL_ROOT (opt->root);
    struct err err = { "" };
    struct removal r = { .all = true };
    struct cli_rest rest;
    struct archive a;
    int status, rc;

    if (is_blind (opt, "rm"))
        return EX_NOPERM;
    if (opt->apply && cli_needs_view (opt->root))
        return rm_asked (opt, job, w.what);
    if ((status = cli_open_archive (opt->command, opt->root, &a)) != 0)
        return status;
    rc = remove_plan (a.ledger, &w, &r, &err);
    cli_rest_read (a.ledger, job, &rest);
    archive_close (&a);
    // with --apply, a result may be left of it
    if (rc < 0 && (rc != -ENOENT || !opt->apply))
        return FAIL (opt, rc == -ENOENT ? EX_NOINPUT : EX_IOERR, "%s",
                     err.text);
    if (r.pinned)
        return FAIL (opt, EX_NOPERM, "job %s is pinned: rollcall archive unpin "
                     "%s lets it be removed", job, shell_word (job, word));
    if (opt->apply)
        status = ask (opt, &root, job, w.what, "archive rm");
    control_release (&root);
    if (status != 0)
        return status;
    if (!opt->json) {
        print_removal (opt, job, &r);
        print_rest (&rest);
    }
    return finish (opt, opt->json ? removal_json (opt, job, &r, &rest) : NULL);
}

/* ---- prune ---- */

static int add_limit (const struct archive_remove_options *opt,
                      const struct archive_prune_options *how,
                      enum retention_limit which, const char *text,
                      struct retention_rules *rules)
{
    char value[FACT_TAG_MAX + 64];
    struct err err = { "" };

    if (!text)
        return 0;
    PRINT (value, "%.*s%s%.32s", FACT_TAG_MAX, how->tag ? how->tag : "",
           how->tag ? "=" : "", text);
    return retention_add (rules, which, value, &err) < 0
               ? FAIL (opt, EXIT_USAGE, "%s", err.text) : 0;
}

/* 0, or the status after a message. */
static int read_rules (const struct archive_remove_options *opt,
                       const struct archive_prune_options *how,
                       struct retention_rules *ret)
{
    const char *const texts[] = { how->keep_days, how->keep_last,
                                  how->max_size };
    int status = 0;

    *ret = (struct retention_rules){ .only_tag = how->tag != NULL,
                                     .forget_days = how->forget_days };
    if (how->tag && !ledger_valid_tag (how->tag))
        return FAIL (opt, EXIT_USAGE, "\"%.80s\" is not a tag: "
                     FACT_TAG_RULE, how->tag);
    for (int i = RETENTION_DAYS; i <= RETENTION_SIZE && status == 0; i++)
        status = add_limit (opt, how, (enum retention_limit)i, texts[i], ret);
    if (status == 0 && ret->n == 0 && ret->forget_days == 0)
        return FAIL (opt, EXIT_USAGE, "prune: which jobs? --keep-days, "
                     "--keep-last or --max-size say what is kept");
    return status;
}

static int plan_prune (const struct archive_remove_options *opt,
                       const struct retention_rules *rules,
                       struct retention_plan *ret)
{
    struct err err = { "" };
    struct archive a;
    int status = cli_open_archive (opt->command, opt->root, &a), rc;

    if (status != 0)
        return status;
    rc = retention_plan (a.ledger, a.store, rules, clock_wall_ns (), ret,
                         &err);
    archive_close (&a);
    return rc < 0 ? FAIL (opt, EX_IOERR, "%s", err.text) : 0;
}

static void print_pruned (const struct archive_remove_options *opt,
                          const struct retention_job *j)
{
    char shown[UTF8_ESCAPED (MESSAGE_NAME_MAX)], bytes[16];

    units_bytes_text (j->bytes, bytes);
    if (j->forgets)
        (void)printf ("%s of job %s: its command and environment\n",
                      opt->apply ? "forgotten" : "to be forgotten",
                      utf8_escape (j->job, UTF8_COLUMN, shown));
    if (!j->goes && !j->pinned)
        return;
    (void)printf ("%s job %s: %lld capture%s, %lld file%s, %s; %s\n",
                  j->pinned ? "pinned, and stays:"
                  : opt->apply ? "removed" : "to be removed:",
                  utf8_escape (j->job, UTF8_COLUMN, shown),
                  (long long)j->captures, units_s ((uint64_t)j->captures),
                  (long long)j->files, units_s ((uint64_t)j->files), bytes,
                  j->why);
}

static void add_pruned (struct json *list, const struct retention_job *j)
{
    struct json *o = json_push_object (list);

    json_add_text (o, "job", j->job);
    json_add_int (o, "captures", j->captures);
    json_add_int (o, "files", j->files);
    json_add_int (o, "bytes", (int64_t)j->bytes);
    json_add_int (o, "last_ns", j->last_ns);
    json_add_bool (o, "pinned", j->pinned);
    json_add_bool (o, "goes", j->goes);
    json_add_bool (o, "forgets", j->forgets);
    json_add_text (o, "why", j->why);
}

/* Remove a job, unless that is no longer right: then say so. */
static int prune_job (const struct archive_remove_options *opt,
                      struct control_root *root, struct retention_plan *p,
                      struct retention_job *j)
{
    struct json *answer;
    const char *why;
    int status = cli_ask_again (opt->command, root,
                                ask_rm (j->job, "", "archive prune",
                                        j->newest), &answer);

    if (status != 0)
        return status;
    if ((why = json_text (json_get (answer, "stays"), NULL))) {
        (void)fprintf (stderr, "rollcall archive prune: %s\n", why);
        j->goes = false;
        p->going--;
        p->bytes -= j->bytes;
    }
    json_free (answer);
    return 0;
}

/* Remove, and tell, one job after the other, oldest first. */
static int prune_jobs (const struct archive_remove_options *opt,
                       struct retention_plan *p, struct json *list)
{
    struct control_root root = CONTROL_ROOT (opt->root);
    int status = 0;

    for (size_t i = p->n; i > 0 && status == 0; i--) {
        struct retention_job *j = &p->jobs[i - 1];

        if (j->goes && opt->apply)
            status = prune_job (opt, &root, p, j);
        else if (j->forgets && opt->apply)
            status = ask (opt, &root, j->job, NULL, "archive prune");
        if (status == 0 && (j->goes || j->pinned || j->forgets)) {
            if (list)
                add_pruned (list, j);
            else
                print_pruned (opt, j);
        }
    }
    control_release (&root);
    return status;
}

int archive_prune (const struct archive_remove_options *opt,
                   const struct archive_prune_options *how)
{
    struct retention_rules rules;
    struct retention_plan p;
    struct json *doc = NULL;
    char bytes[16];
    int status;

    if ((status = read_rules (opt, how, &rules)) != 0 ||
        (status = plan_prune (opt, &rules, &p)) != 0)
        return status;
    doc = opt->json ? json_object () : NULL;
    status = prune_jobs (opt, &p, doc ? json_add_array (doc, "jobs") : NULL);
    json_add_int (doc, "removed", (int64_t)p.going);
    json_add_int (doc, "bytes", (int64_t)p.bytes);
    json_add_bool (doc, "applied", opt->apply);
    units_bytes_text (p.bytes, bytes);
    if (!doc && status == 0)
        (void)printf ("%zu of %zu job%s, %s\n", p.going, p.n, units_s (p.n),
                      bytes);
    retention_free (&p);
    if (status == 0)
        return finish (opt, doc);
    json_free (doc);
    return status;
}

/* ---- gc ---- */

#define ASK_MS 100              // between questions to an aggregator
#define HELD_MAX 100            // such questions while a lease keeps everything

static int plan_gc (const struct archive_remove_options *opt,
                    const struct gc_options *how, struct gc_report *ret)
{
    struct err err = { "" };
    struct archive a;
    int status = cli_open_archive (opt->command, opt->root, &a), rc;

    if (status != 0)
        return status;
    rc = gc_run (a.ledger, a.store, how, ret, &err);
    archive_close (&a);
    return rc < 0 ? FAIL (opt, EX_IOERR, "%s", err.text) : 0;
}

static struct json *ask_gc (const struct gc_options *how, int64_t run)
{
    struct json *request = json_object ();

    json_add_text (request, "do", "gc");
    json_add_text (request, "by", archive_my_name ());
    json_add_int (request, "uid", (int64_t)getuid ());
    json_add_int (request, "grace_s", how->grace_s);
    json_add_int (request, "percent", how->least_percent);
    if (run > 0)
        json_add_int (request, "run", run);
    return request;
}

static uint64_t number_of (const struct json *answer, const char *name)
{
    int64_t n = 0;

    (void)json_int (json_get (answer, name), &n);
    return (uint64_t)n;
}

/* Have it done, and wait for it. */
static int run_gc (const struct archive_remove_options *opt,
                   const struct gc_options *how, struct gc_report *ret)
{
    const struct timespec pause = { .tv_nsec = ASK_MS * NS_PER_MS };
    bool running = true, served;
    struct json *answer;
    int64_t run = 0;
    int status, held = 0;

    while (running && held < HELD_MAX) {
        if (run > 0)
            (void)nanosleep (&pause, NULL);
        if ((status = cli_ask (opt->command, opt->root, ask_gc (how, run),
                               &answer, &served)) != 0)
            return status;
        running = json_is_true (json_get (answer, "running"));
        (void)json_int (json_get (answer, "run"), &run);
        *ret = (struct gc_report){
            .unused = number_of (answer, "unused"),
            .freed = number_of (answer, "freed"),
            .copied = number_of (answer, "copied"),
            .segments = (size_t)number_of (answer, "segments"),
            .damaged = (size_t)number_of (answer, "damaged"),
            .away = (size_t)number_of (answer, "away"),
        };
        PRINT (ret->held, "%s", json_text (json_get (answer, "held"), ""));
        held = *ret->held ? held + 1 : 0;
        json_free (answer);
    }
    return 0;
}

static struct json *gc_json (const struct archive_remove_options *opt,
                             const struct gc_report *r)
{
    struct json *doc = json_object ();

    json_add_int (doc, "unused", (int64_t)r->unused);
    json_add_int (doc, "freed", (int64_t)r->freed);
    json_add_int (doc, "copied", (int64_t)r->copied);
    json_add_int (doc, "segments", (int64_t)r->segments);
    json_add_int (doc, "damaged", (int64_t)r->damaged);
    json_add_int (doc, "away", (int64_t)r->away);
    json_add_nonempty (doc, "held", r->held);
    json_add_bool (doc, "applied", opt->apply);
    return doc;
}

static void print_gc (const struct archive_remove_options *opt,
                      const struct gc_options *how, const struct gc_report *r)
{
    char unused[16], freed[16], copied[16], left[16];

    units_bytes_text (r->unused, unused);
    units_bytes_text (r->freed, freed);
    units_bytes_text (r->copied, copied);
    (void)printf ("%s are not used; %s %s, in %zu segment%s", unused, freed,
                  opt->apply ? "were freed" : "can be freed", r->segments,
                  units_s (r->segments));
    if (r->copied > 0)
        (void)printf ("; %s there that are in use %s copied elsewhere", copied,
                      opt->apply ? "were" : "are");
    (void)fputc ('\n', stdout);
    if (r->unused > r->freed && how->least_percent > 0 && !*r->held) {
        units_bytes_text (r->unused - r->freed, left);
        (void)printf ("%s stay in segments of which less than %lld %% are not "
                      "used: --unused 0 frees these, too\n", left,
                      (long long)how->least_percent);
    }
    if (r->damaged > 0)
        (void)printf ("%zu damaged segment%s stay: rollcall fsck aggregator "
                      "says more\n", r->damaged, units_s (r->damaged));
    if (r->away > 0)
        (void)printf ("%zu segment%s stay: what is used of them is in the object "
                      "store, and could not be read\n", r->away,
                      units_s (r->away));
}

int archive_gc (const struct archive_remove_options *opt, int64_t grace_s,
                int64_t percent)
{
    const struct gc_options how = {
        .grace_s = grace_s, .least_percent = percent,
        .now_ns = clock_wall_ns (), .plan = !opt->apply,
    };
    struct gc_report r = { .segments = 0 };
    int status;

    if (is_blind (opt, "gc"))
        return EX_NOPERM;
    status = opt->apply ? run_gc (opt, &how, &r) : plan_gc (opt, &how, &r);
    if (status != 0)
        return status;
    if (!opt->json)
        print_gc (opt, &how, &r);
    if ((status = finish (opt, opt->json ? gc_json (opt, &r) : NULL)) != 0)
        return status;
    return *r.held ? FAIL (opt, EX_TEMPFAIL, "it is not finished: %s keeps "
                           "what is left; try again later", r.held) : 0;
}
