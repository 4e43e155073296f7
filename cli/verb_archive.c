/* cli/verb_archive.c - rollcall archive: list, extract and verify stored data,
 * and mark jobs
 */
#include "cli.h"

#include "archive/archive.h"
#include "options/shell.h"
#include "base/units.h"
#include "base/utf8.h"
#include "query/grid.h"
#include "store/fileio.h"
#include "store/tree.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct archive_options {
    const char *root;
    int64_t width;
    bool json, superseded, owner, foreign;
};

static const struct option_spec options[] = {
    CLI_ROOT_OPTION (struct archive_options),
    CLI_WIDTH_OPTION (struct archive_options),
    OPTION_SWITCH ("json", 0, struct archive_options, json,
      "Print one JSON object."),
    OPTION_SWITCH ("superseded", 0, struct archive_options, superseded,
      "get: write superseded versions instead of the current ones."),
    OPTION_SWITCH ("owner", 0, struct archive_options, owner,
      "get: restore owner and group, too, if the agent delivered them (--owner "
      "there). Only root can."),
    CLI_FOREIGN_OPTION (struct archive_options, foreign),
};

static const struct command_spec archive_command = {
    "rollcall archive",
    "[OPTION]... ls [JOB] | get JOB CAPTURE|RANK DIR | verify [JOB] | "
    "tag|untag JOB TAG... | pin|unpin JOB",
    "List an aggregator's captures, get one back byte for byte, check every "
    "hash, and mark jobs with tags and pins.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&archive_command, status, __VA_ARGS__)

#define SHIPMENT_NAME "rollcall.shipment"       // of a capture's rows

static const char *kind_name (enum item_kind k)
{
    return k == ITEM_ROWS ? "rows" : "raw";
}

static const char *state_of (const struct ledger_item *i)
{
    return i->lost ? "quarantined" : i->superseded ? "superseded" : "stored";
}

/* Call 'fn' for each item of a job, or of all jobs if it is NULL.  Returns the
 * number of items, or a negative errno after a message.
 */
static long for_items (struct archive *a, const char *job,
                       int (*fn) (void *arg, struct archive *a,
                                  const struct ledger_item *item), void *arg)
{
    struct err err = { "" };
    char **names = NULL;
    size_t n = 0;
    long count = 0;
    int rc = archive_jobs (a, &names, &n, &err);

    for (size_t i = 0; i < n; i++) {
        struct archive_items list = { NULL, 0 };

        if (rc == 0 && (!job || strcmp (job, names[i]) == 0))
            rc = archive_list (a, names[i], &list, &err);
        for (size_t k = 0; k < list.n && rc == 0; k++, count++)
            rc = fn (arg, a, &list.items[k]);
        free (list.items);
        free (names[i]);
    }
    free (names);
    if (rc < 0 && err.text[0])
        (void)FAIL (0, "%s", err.text);
    return rc < 0 ? rc : count;
}

static int nothing_of (const struct archive *a, const char *job)
{
    return FAIL (EX_NOINPUT, "%s has nothing of a job %s: rollcall jobs lists "
                 "its jobs", a->root, job);
}

/* ---- ls ---- */

#define HASH_SHOWN 16           // characters

/* One of the two, or neither: lines for scripts. */
struct item_list {
    struct json *array;
    struct grid *g;
};

static void print_item (const struct ledger_item *i, const char *hex)
{
    char job[UTF8_ESCAPED (MESSAGE_NAME_MAX)];
    char capture[UTF8_ESCAPED (MESSAGE_NAME_MAX)];
    char path[UTF8_ESCAPED (MESSAGE_PATH_MAX)];

    (void)printf ("%s\t%lld\t%s\t%s\t%s\t%llu\t%s\t%.*s\n",
                  utf8_escape (i->job, UTF8_COLUMN, job), (long long)i->rank,
                  utf8_escape (i->capture, UTF8_COLUMN, capture),
                  kind_name (i->kind),
                  *i->path ? utf8_escape (i->path, UTF8_COLUMN, path) : "-",
                  (unsigned long long)i->place.size, state_of (i), HASH_SHOWN,
                  hex);
}

static void add_item_row (struct grid *g, const struct ledger_item *i,
                          const char *hex)
{
    grid_word (g, i->job);
    grid_int (g, i->rank);
    grid_word (g, i->capture);
    grid_word (g, kind_name (i->kind));
    grid_word (g, *i->path ? i->path : NULL);
    grid_int (g, (int64_t)i->place.size);
    grid_word (g, state_of (i));
    grid_text (g, hex, HASH_SHOWN);
}

static int list_item (void *arg, struct archive *a,
                      const struct ledger_item *i)
{
    const struct item_list *list = arg;
    char hex[DIGEST_HEX_SIZE], mode[8];
    struct json *o;

    (void)a;
    digest_hex (&i->content, hex);
    if (list->g) {
        add_item_row (list->g, i, hex);
        return 0;
    }
    if (!list->array) {
        print_item (i, hex);
        return 0;
    }
    o = json_push_object (list->array);
    json_add_text (o, "job", i->job);
    json_add_int (o, "rank", i->rank);
    json_add_text (o, "capture", i->capture);
    json_add_text (o, "kind", kind_name (i->kind));
    json_add_nonempty (o, "path", i->path);
    json_add_text (o, "host", i->host);
    json_add_int (o, "bytes", (int64_t)i->place.size);
    if (i->facts.mode) {
        PRINT (mode, "%04o", (unsigned)i->facts.mode & FILE_FACTS_MODE);
        json_add_text (o, "mode", mode);
        json_add_int (o, "mtime_ns", i->facts.mtime_ns);
    }
    json_add_text (o, "state", state_of (i));
    json_add_text (o, "content", hex);
    return 0;
}

static int verb_archive_list (const struct archive_options *opt,
                              struct archive *a,
                              const char *job)
{
    static const char *const names[] = { "job", "rank", "capture", "kind",
                                         "path", "bytes", "state", "content" };
    struct json *doc = opt->json ? json_object () : NULL;
    struct item_list l = {
        .array = doc ? json_add_array (doc, "items") : NULL,
        .g = !doc && (opt->width >= 0 || isatty (STDOUT_FILENO))
                 ? grid_create (stdout, GRID_TABLE, cli_width (opt->width))
                 : NULL,
    };
    int rc = 0;
    long n;

    if (l.g)
        grid_head (l.g, names, sizeof (names) / sizeof (names[0]));
    n = for_items (a, job, list_item, &l);
    if (l.g && n > 0)
        rc = grid_finish (l.g);
    grid_destroy (l.g);
    if (n <= 0 && (n < 0 || job)) {
        json_free (doc);
        return n < 0 ? EX_IOERR : nothing_of (a, job);
    }
    return cli_flush (&archive_command, opt->json ? cli_print_json (doc) : rc);
}

/* ---- verify ---- */

struct verifying {
    const struct archive_options *opt;
    struct json *damaged;
    unsigned long long bytes;
    size_t bad;
};

static int verify_item (void *arg, struct archive *a,
                        const struct ledger_item *i)
{
    struct verifying *v = arg;
    char text[2 * MESSAGE_PATH_MAX + ERR_TEXT_MAX];
    char shown[UTF8_ESCAPED (sizeof (text))];
    struct err err = { "" };
    struct json *o;

    v->bytes += i->place.size;
    if (archive_check (a, i, &err) == 0)
        return 0;
    v->bad++;
    if (!v->opt->json) {
        PRINT (text, "job %s rank %lld %s%s%s: %s", i->job, (long long)i->rank,
               i->capture, *i->path ? "/" : "", i->path, err.text);
        (void)printf ("damaged: %s\n",
                      utf8_escape (text, UTF8_COLUMN, shown));
        return 0;
    }
    o = json_push_object (v->damaged);
    json_add_text (o, "job", i->job);
    json_add_int (o, "rank", i->rank);
    json_add_text (o, "capture", i->capture);
    json_add_nonempty (o, "path", i->path);
    json_add_text (o, "reason", err.text);
    return 0;
}

static int verify (const struct archive_options *opt, struct archive *a,
                   const char *job)
{
    struct json *doc = opt->json ? json_object () : NULL;
    struct verifying v = { opt, json_add_array (doc, "damaged"), 0, 0 };
    long n = for_items (a, job, verify_item, &v);
    int rc;

    if (n <= 0 && (n < 0 || job)) {
        json_free (doc);
        return n < 0 ? EX_IOERR : nothing_of (a, job);
    }
    json_add_int (doc, "items", n);
    json_add_int (doc, "bytes", (int64_t)v.bytes);
    json_add_int (doc, "stored", (int64_t)a->read);
    if (!opt->json)
        (void)printf ("%ld item%s, %llu bytes, stored in %llu, %zu damaged\n",
                      n, units_s ((uint64_t)n), v.bytes,
                      (unsigned long long)a->read, v.bad);
    rc = cli_flush (&archive_command, opt->json ? cli_print_json (doc) : 0);
    return rc ? rc : v.bad > 0;
}

/* ---- get ---- */

struct getting {
    const char *job, *what, *dir;
    struct tree out;            // 'dir', once there is something to get
    int64_t rank;               // -1: 'what' is the name of a capture
    bool superseded;            // those, and only those
    bool owner;                 // restore it
    bool foreign;               // it may be another user's
    size_t files, bad, shipments;       // of the files
    int64_t got;                // the rank of one of them
};

/* The path in DIR: CAPTURE/PATH for a raw file, CAPTURE/rollcall.shipment for
 * rows.  It is below rankN/ if captures of several ranks share a name, and
 * below the capture's place if another directory had the same name and rank
 * ('apart').  A path may have any number of superseded versions, each followed
 * by the name that ls gives it.
 */
static bool target_path (const struct getting *g, const struct ledger_item *i,
                         bool apart, char path[PATH_MAX])
{
    char between[32] = "", hex[DIGEST_HEX_SIZE];
    int n;

    digest_hex (&i->content, hex);
    if (i->shared_name)
        PRINT (between, "rank%lld/", (long long)i->rank);
    n = snprintf (path, PATH_MAX, "%s%s%s%s/%s%s%.*s", apart ? i->dir : "",
                  apart ? "/" : "", between, i->capture,
                  i->kind == ITEM_ROWS ? SHIPMENT_NAME : i->path,
                  g->superseded ? "~" : "", g->superseded ? 16 : 0, hex);
    return n > 0 && n < PATH_MAX;
}

static int open_out (struct getting *g, struct err *err)
{
    int rc = tree_make_out (g->dir, FILEIO_DIR_MODE, g->foreign, err);

    if (rc == 0)
        rc = tree_open (&g->out, g->dir, err);
    if (rc == 0 && (rc = tree_check_owner (&g->out, g->foreign, err)) < 0)
        tree_close (&g->out);
    return rc;
}

static int get_item (void *arg, struct archive *a, const struct ledger_item *i)
{
    struct getting *g = arg;
    struct err err = { "" };
    char path[PATH_MAX];
    int rc;

    if (i->superseded != g->superseded ||
        ((g->rank < 0 || i->rank != g->rank) &&
         strcmp (i->capture, g->what) != 0))
        return 0;
    if (!g->out.path[0] && (rc = open_out (g, &err)) < 0)
        return FAIL (rc, "%s", err.text);
    if (!target_path (g, i, false, path))
        return FAIL (-ENAMETOOLONG, "path is too long: %s", g->dir);
    rc = archive_get (a, i, &g->out, path, g->owner, &err);
    if (rc == -EEXIST && g->files > 0 && *i->dir &&
        target_path (g, i, true, path))
        rc = archive_get (a, i, &g->out, path, g->owner, &err);
    if (rc == -EBADMSG || rc == -ENOENT || rc == -ENOTDIR ||
        rc == -ENAMETOOLONG || rc == -ELOOP || rc == -EXDEV ||
        (rc == -EEXIST && g->files > 0)) {
        g->bad++;               // the others are worth having
        rc = FAIL (0, "%s/%s: %s", g->dir, path, err.text);
    } else if (rc == -EEXIST) {
        (void)FAIL (rc, "%s/%s exists, and nothing is overwritten: name a "
                    "directory that does not have it", g->dir, path);
    } else if (rc < 0) {
        (void)FAIL (rc, "%s/%s: %s", g->dir, path, err.text);
    } else {
        g->files++;
        g->shipments += i->kind == ITEM_ROWS;
        g->got = i->rank;
    }
    return rc;
}

static void tell_got (const struct getting *g)
{
    size_t raw = g->files - g->shipments;
    char job[SHELL_WORD (MESSAGE_NAME_MAX)];

    if (raw > 0)
        (void)printf ("%zu raw file%s", raw, units_s (raw));
    if (g->shipments == 1)
        (void)printf ("%s" SHIPMENT_NAME, raw > 0 ? " and " : "");
    else if (g->shipments > 1 || raw == 0)
        (void)printf ("%s%zu shipment%s", raw > 0 ? " and " : "",
                      g->shipments, units_s (g->shipments));
    (void)printf (" in %s%s", g->dir, g->bad ? ", others are damaged or cannot "
                                               "be written" : "");
    if (raw == 0 && g->bad == 0)
        (void)printf (": rows only. Raw files of rank %lld were not delivered: "
                      "rollcall fetch --rank %lld %s asks for them",
                      (long long)g->got, (long long)g->got,
                      shell_word (g->job, job));
    (void)fputc ('\n', stdout);
}

static int get (const struct archive_options *opt, struct archive *a,
                const char *job, const char *what, const char *dir)
{
    struct getting g = { .job = job, .what = what, .dir = dir, .rank = -1,
                         .superseded = opt->superseded,
                         .owner = opt->owner,
                         .foreign = opt->foreign };
    char word[SHELL_WORD (MESSAGE_NAME_MAX)];
    long n;

    (void)units_rank (what, &g.rank);
    n = for_items (a, job, get_item, &g);
    tree_close (&g.out);
    if (n < 0)
        return cli_output_status ((int)n);
    if (n == 0)
        return nothing_of (a, job);
    if (g.files + g.bad == 0)
        return FAIL (EX_NOINPUT, "job %s has no capture and no rank %s%s: "
                     "rollcall archive ls %s lists them", job, what,
                     g.superseded ? " with superseded versions" : "",
                     shell_word (job, word));
    tell_got (&g);
    return cli_flush (&archive_command, 0) ? EX_IOERR : g.bad > 0;
}

/* ---- tags and pins ---- */

static void print_marks (const char *job, const struct json *answer)
{
    const struct json *tags = json_get (answer, "tags");
    char shown[UTF8_ESCAPED (MESSAGE_NAME_MAX)];

    (void)printf ("job %s: %s", utf8_escape (job, UTF8_COLUMN, shown),
                  json_count (tags) > 0 ? "tags" : "no tags");
    for (const struct json *t = json_first (tags); t; t = json_next (t))
        (void)printf (" %s", json_text (t, ""));
    (void)printf ("; %s\n", json_is_true (json_get (answer, "pinned"))
                                ? "pinned" : "not pinned");
}

/* The name of whoever asks, for a record of who changed what. */
static const char *my_name (void)
{
    const struct passwd *me = getpwuid (getuid ());
    static char number[24];

    if (me)
        return me->pw_name;
    PRINT (number, "%ld", (long)getuid ());
    return number;
}

/* tag, untag, pin or unpin, then the job, then tags. */
static int mark (const struct archive_options *opt, int argc, char **argv)
{
    struct json *request = json_object (), *answer, *tags;
    bool served;
    int status;

    json_add_text (request, "do", argv[0]);
    json_add_text (request, "job", argv[1]);
    json_add_text (request, "by", my_name ());
    tags = argc > 2 ? json_add_array (request, "tags") : NULL;
    for (int i = 2; i < argc; i++)
        json_push_text (tags, argv[i]);
    if ((status = cli_ask (&archive_command, opt->root, request, &answer,
                           &served)) != 0)
        return status;
    if (opt->json)
        return cli_flush (&archive_command, cli_print_json (answer));
    print_marks (argv[1], answer);
    json_free (answer);
    return cli_flush (&archive_command, 0);
}

/* ---- the verb ---- */

/* The commands, with the least and the largest number of words behind them. */
static const struct archive_verb {
    const char *name, *usage;
    int least, most;
    bool marks;
} verbs[] = {
    { "ls", "[JOB]", 0, 1, false },
    { "get", "JOB CAPTURE|RANK DIR", 3, 3, false },
    { "verify", "[JOB]", 0, 1, false },
    { "tag", "JOB TAG...", 2, FACT_TAGS_MAX + 1, true },
    { "untag", "JOB TAG...", 2, FACT_TAGS_MAX + 1, true },
    { "pin", "JOB", 1, 1, true },
    { "unpin", "JOB", 1, 1, true },
};

static const struct archive_verb *find_verb (const char *name)
{
    for (size_t i = 0; i < sizeof (verbs) / sizeof (verbs[0]); i++) {
        if (strcmp (verbs[i].name, name) == 0)
            return &verbs[i];
    }
    return NULL;
}


static int dispatch (const struct archive_options *opt, struct archive *a,
                     int argc, char **argv)
{
    if (strcmp (argv[0], "ls") == 0)
        return verb_archive_list (opt, a, argc == 2 ? argv[1] : NULL);
    if (strcmp (argv[0], "verify") == 0)
        return verify (opt, a, argc == 2 ? argv[1] : NULL);
    return get (opt, a, argv[1], argv[2], argv[3]);
}

/* NULL: the user was told what is missing or superfluous. */
static const struct archive_verb *understand (int argc, char **argv)
{
    static const char *const missing[] = {      // of get
        "which job, which capture or rank, and to which directory",
        "which capture or rank of that job, and to which directory",
        "to which directory",
    };
    const struct archive_verb *v = find_verb (argc > 0 ? argv[0] : "");

    if (!v)
        (void)FAIL (0, "%s%s: use ls, get, verify, tag, untag, pin or unpin (%s "
                    "--help says more)", argc > 0 ? "unknown command archive "
                                                  : "name a command",
                    argc > 0 ? argv[0] : "", archive_command.name);
    else if (argc - 1 > v->most)
        (void)FAIL (0, "unexpected argument \"%s\"", argv[v->most + 1]);
    else if (argc - 1 < v->least)
        (void)FAIL (0, "%s: %s? (usage: %s %s %s)", v->name, v->marks
                        ? argc == 1 ? "which job" : "which tags"
                        : missing[argc - 1],
                    archive_command.name, v->name, v->usage);
    else if (strcmp (v->name, "get") == 0 && !*argv[3])
        (void)FAIL (0, "get: DIR is empty");
    else if (v->marks && !cli_valid_job (argv[1]))
        (void)FAIL (0, "\"%s\" is not the name of a job", argv[1]);
    else
        return v;
    return NULL;
}

int verb_archive (int argc, char **argv)
{
    struct archive_options opt = { .width = -1 };
    const struct archive_verb *v;
    struct archive a;
    int rest, status;

    if (!cli_options (&archive_command, argc, argv, &opt, &rest, &status))
        return status;
    if (!(v = understand (argc - rest, argv + rest)))
        return EXIT_USAGE;
    if (v->marks)
        return mark (&opt, argc - rest, argv + rest);
    if ((status = cli_open_archive (&archive_command, opt.root, &a)) != 0)
        return status;
    status = dispatch (&opt, &a, argc - rest, argv + rest);
    archive_close (&a);
    return status;
}
