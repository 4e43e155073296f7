/* cli/verb_archive.c - rollcall archive: its options and commands, of which verify
 * and marking a job are here
 */
#include "cli.h"
#include "interchange/archive_verb.h"

#include "archive/archive.h"
#include "archive/archive_verify.h"
#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_spec options[] = {
    CLI_WHERE_OPTIONS (struct archive_options, where),
    CLI_WIDTH_OPTION (struct archive_options),
    OPTION_SWITCH ("json", 0, struct archive_options, json,
      "Print one JSON object."),
    OPTION_SWITCH ("superseded", 0, struct archive_options, superseded,
      "get: write superseded versions instead of the current ones."),
    OPTION_SWITCH ("owner", 0, struct archive_options, owner,
      "get: restore owner and group, too, if the agent delivered them (--owner "
      "there). Only root can. add: store them."),
    CLI_FOREIGN_OPTION (struct archive_options, foreign),
    OPTION (TEXT, "job", 'J', struct archive_options, job, "ID", NULL, NULL,
      "add, import: the job of the captures. Without it they are divided into "
      "jobs by their content, and an exported job keeps its name."),
    OPTION (LIST, "tag", 't', struct archive_options, tags, "TAG", NULL, NULL,
      "add, import: give their jobs this tag (may be repeated). prune: only jobs "
      "with this tag."),
    OPTION_SWITCH ("raw", 0, struct archive_options, raw,
      "add: raw files, too, which is the default."),
    OPTION_SWITCH ("verify", 0, struct archive_options, verify,
      "add, import: read what is stored already, and replace what is damaged."),
    OPTION_SWITCH ("deep", 0, struct archive_options, deep,
      "verify: also unpack each chunk, and compare its SHA-256."),
    OPTION_SWITCH ("merge", 0, struct archive_options, merge,
      "import: an exported job also into a job of that name with other items."),
    OPTION (TEXT, "file", 'F', struct archive_options, file, "PATTERN", NULL,
      NULL, "get: only raw files whose path, or last name, is like that, with * "
      "for any bytes and ? for one."),
    OPTION_SWITCH ("no-raw", 0, struct archive_options, no_raw,
      "add: only the rows of captures, no raw files."),
    OPTION (TEXT, "compress", 0, struct archive_options, compress, "CODEC",
      "lz4", NULL, PACK_COMPRESS_HELP),
    OPTION_NUMBER ("threads", 'j', struct archive_options, threads, "N", NULL,
      NULL, 1, 64, "add, get: threads. Without it: one for each CPU."),
    OPTION_SWITCH ("apply", 0, struct archive_options, apply,
      "rm, prune, gc: do it. Without this, only what would happen is printed."),
    OPTION (TEXT, "keep-days", 0, struct archive_options, prune.keep_days, "N",
      NULL, NULL, "prune: keep jobs that had new data within N days."),
    OPTION (TEXT, "keep-last", 0, struct archive_options, prune.keep_last, "N",
      NULL, NULL, "prune: keep the last N jobs."),
    OPTION (TEXT, "max-size", 0, struct archive_options, prune.max_size,
      "SIZE", NULL, NULL,
      "prune: of those, remove the oldest until the others take at most SIZE: "
      "500G; the least is 1M."),
    OPTION_NUMBER ("forget-metadata-after", 0, struct archive_options,
      prune.forget_days, "DAYS", "0", NULL, 0, 36500,
      "prune: forget command and environment of jobs without new data for so "
      "long, in lists and results; 0: never."),
    OPTION (DURATION, "grace", 0, struct archive_options, grace_ns, "TIME",
      "24h", NULL,
      "gc: keep chunks of files that did not arrive completely for so long."),
    OPTION_NUMBER ("unused", 0, struct archive_options, percent, "PERCENT",
      "20", NULL, 0, 100,
      "gc: empty each segment of which at least so much is not used."),
};

static const struct command_spec archive_command = {
    "rollcall archive",
    "[OPTION]... ls [JOB] | get JOB [CAPTURE|RANK] DIR | result JOB | "
    "verify [JOB] | "
    "add DIR... | export JOB FILE | import FILE | tag|untag JOB TAG... | "
    "pin|unpin JOB | rm JOB [CAPTURE|RANK] | prune | gc",
    "Put captures into a root, list them, get them back byte for byte, check "
    "what is stored, mark jobs with tags and pins, and remove what is not needed.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&archive_command, status, __VA_ARGS__)

static int nothing_of (const struct archive *a, const char *job)
{
    return cli_no_job (&archive_command, a->root, job,
                       ARCHIVE_JOBS_LISTED);
}

/* ---- verify ---- */

struct verifying {
    const struct archive_options *opt;
    struct json *damaged;
    struct archive_verified sums;
    size_t bad, faults;         // items; what is wrong with no item
};

static int tell_damaged (void *arg, const struct ledger_item *i,
                         const struct err *why)
{
    struct verifying *v = arg;
    char text[2 * MESSAGE_PATH_MAX + ERR_TEXT_MAX];
    char shown[UTF8_ESCAPED (sizeof (text))];
    struct json *o;

    v->bad += i != NULL;
    v->faults += i == NULL;
    if (!v->opt->json) {
        if (i)
            PRINT (text, "job %s rank %lld %s%s%s: %s", i->job,
                   (long long)i->rank, i->capture, *i->path ? "/" : "",
                   i->path, why->text);
        else
            PRINT (text, "%s", why->text);
        (void)printf ("damaged: %s\n",
                      utf8_escape (text, UTF8_COLUMN, shown));
        return 0;
    }
    o = json_push_object (v->damaged);
    if (i) {
        json_add_text (o, "job", i->job);
        json_add_int (o, "rank", i->rank);
        json_add_text (o, "capture", i->capture);
        json_add_nonempty (o, "path", i->path);
    }
    json_add_text (o, "reason", why->text);
    return 0;
}

static int verify_item (void *arg, struct archive *a,
                        const struct ledger_item *i)
{
    struct verifying *v = arg;
    struct err why = { "" };
    int rc;

    v->sums.items++;
    v->sums.bytes += i->place.size;
    rc = archive_check (a, i, &why);
    if (rc == -EACCES || rc == -EPERM)
        return FAIL (rc, "%s", why.text);
    return rc == 0 ? 0 : tell_damaged (v, i, &why);
}

/* As for_items. */
static long verify_items (struct verifying *v, struct archive *a,
                          const char *job)
{
    struct err err = { "" };
    int rc = 0;

    if (job)
        rc = (int)cli_each_item (&archive_command, a, job, false, verify_item,
                                 v);
    else if ((rc = archive_verify (a, tell_damaged, v, &v->sums, &err)) < 0)
        (void)FAIL (0, "%s", err.text);
    if (job)
        v->sums.stored = a->read;
    return rc < 0 ? rc : (long)v->sums.items;
}

/* The end of the line with the sums. */
static void tell_faults (const struct verifying *v)
{
    if (v->opt->json)
        return;
    if (v->faults > 0)
        (void)printf ("; %zu fault%s of segments", v->faults,
                      units_s (v->faults));
    (void)fputc ('\n', stdout);
}

static int verify (const struct archive_options *opt, struct archive *a,
                   const char *job)
{
    struct json *doc = opt->json ? json_object () : NULL;
    struct verifying v = { .opt = opt,
                           .damaged = json_add_array (doc, "damaged") };
    char bytes[16], stored[16];
    long n;
    int rc;

    a->deep = opt->deep;
    n = verify_items (&v, a, job);

    if (n <= 0 && (n < 0 || job)) {
        json_free (doc);
        return n == -EACCES || n == -EPERM ? EX_NOPERM
               : n == -EBADMSG             ? EX_DATAERR
               : n < 0                     ? EX_IOERR : nothing_of (a, job);
    }
    json_add_int (doc, "items", n);
    json_add_int (doc, "bytes", (int64_t)v.sums.bytes);
    json_add_int (doc, "stored", (int64_t)v.sums.stored);
    units_bytes_text (v.sums.bytes, bytes);
    units_bytes_text (v.sums.stored, stored);
    if (!opt->json)
        (void)printf ("%ld item%s, %s, stored in %s, %zu damaged", n,
                      units_s ((uint64_t)n), bytes, stored, v.bad);
    tell_faults (&v);
    if (v.bad + v.faults > 0)
        (void)FAIL (0, "rollcall archive add --verify DIR, with the captures "
                    "that are damaged in DIR, repairs them (with --job JOB if "
                    "rollcall jobs says that its id was given, else without); "
                    "if a segment is "
                    "missing or cut short, or has bytes that are not a record, "
                    "rollcall fsck aggregator --repair %s comes first",
                    a->root);
    rc = cli_flush (&archive_command, opt->json ? cli_print_json (doc) : 0);
    return rc ? rc : v.bad + v.faults > 0;
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

/* tag, untag, pin or unpin, then the job, then tags. */
static int mark (const struct archive_options *opt, int argc, char **argv)
{
    struct json *request = json_object (), *answer, *tags;
    bool served;
    int status;

    json_add_text (request, "do", argv[0]);
    json_add_text (request, "job", argv[1]);
    json_add_text (request, "by", archive_my_name ());
    json_add_int (request, "uid", (int64_t)getuid ());
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
    const char *asks;           // what is missing
} verbs[] = {
    { "ls", "[JOB]", 0, 1, false, NULL },
    { "get", "JOB [CAPTURE|RANK] DIR", 2, 3, false, NULL },
    { "result", "JOB [PART]", 1, 2, false, "which job" },
    { "verify", "[JOB]", 0, 1, false, NULL },
    { "add", "DIR...", 1, INT_MAX, false, "which directory" },
    { "export", "JOB FILE", 2, 2, false, "which job, and to which file" },
    { "import", "FILE", 1, 1, false, "which file" },
    { "tag", "JOB TAG...", 2, FACT_TAGS_MAX + 1, true, NULL },
    { "untag", "JOB TAG...", 2, FACT_TAGS_MAX + 1, true, NULL },
    { "pin", "JOB", 1, 1, true, NULL },
    { "unpin", "JOB", 1, 1, true, NULL },
    { "rm", "JOB [CAPTURE|RANK]", 1, 2, false, "which job" },
    { "prune", "", 0, 0, false, NULL },
    { "gc", "", 0, 0, false, NULL },
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
        return archive_ls (opt, a, argc == 2 ? argv[1] : NULL);
    if (strcmp (argv[0], "result") == 0)
        return archive_result (opt, a, argv[1], argc > 2 ? argv[2] : NULL);
    if (strcmp (argv[0], "verify") == 0)
        return verify (opt, a, argc == 2 ? argv[1] : NULL);
    return archive_export (opt, a, argv[1], argv[2]);
}

static bool is_get (const struct archive_verb *v)
{
    return strcmp (v->name, "get") == 0;
}

static bool names_job (const struct archive_verb *v)
{
    return v->marks || strcmp (v->name, "rm") == 0;
}

/* Those that delete; -1: another one. */
static int remove_something (const struct archive_options *opt,
                             const struct archive_verb *v, int argc,
                             char **argv)
{
    const struct archive_remove_options r = {
        .command = &archive_command, .root = opt->root, .json = opt->json,
        .apply = opt->apply,
    };

    if (strcmp (v->name, "rm") == 0)
        return archive_rm (&r, argv[1], argc > 2 ? argv[2] : NULL);
    if (strcmp (v->name, "prune") == 0 && opt->tags.n > 1)
        return FAIL (EXIT_USAGE, "prune: name one tag");
    if (strcmp (v->name, "prune") == 0) {
        struct archive_prune_options how = opt->prune;

        how.tag = opt->tags.n > 0 ? opt->tags.items[0] : NULL;
        return archive_prune (&r, &how);
    }
    return strcmp (v->name, "gc") == 0
               ? archive_gc (&r, opt->grace_ns / NS_PER_S, opt->percent) : -1;
}

/* NULL: the user was told what is missing or superfluous. */
static const struct archive_verb *understand (int argc, char **argv)
{
    static const char *const missing[] = {      // of get
        "which job, and to which directory", "to which directory",
    };
    const struct archive_verb *v = find_verb (argc > 0 ? argv[0] : "");
    int64_t rank;

    if (!v)
        (void)FAIL (0, "%s%s: use ls, get, result, verify, add, export, import, tag, "
                    "untag, pin, unpin, rm, prune or gc (%s --help says more)",
                    argc > 0 ? "unknown command archive "
                                                  : "name a command",
                    argc > 0 ? argv[0] : "", archive_command.name);
    else if (argc - 1 > v->most)
        (void)FAIL (0, "unexpected argument \"%s\" (usage: %s %s%s%s)",
                    argv[v->most + 1], archive_command.name, v->name,
                    *v->usage ? " " : "", v->usage);
    else if (argc - 1 < v->least)
        (void)FAIL (0, "%s: %s? (usage: %s %s %s)", v->name,
                    v->marks ? argc == 1 ? "which job" : "which tags"
                    : v->asks ? v->asks : missing[argc - 1],
                    archive_command.name, v->name, v->usage);
    else if (is_get (v) && !*argv[argc - 1])
        (void)FAIL (0, "get: DIR is empty");
    else if (is_get (v) && argc == 3 && units_rank (argv[2], &rank) == 0)
        (void)FAIL (0, "get: to which directory? (\"%s\" means a rank, and ./%s "
                    "a directory)", argv[2], argv[2]);
    else if (names_job (v) && !cli_valid_job (argv[1]))
        (void)FAIL (0, "\"%s\" is not the name of a job", argv[1]);
    else
        return v;
    return NULL;
}

/* add and import: the options, checked. */
static int put (const struct archive_options *opt, int argc, char **argv)
{
    if (opt->raw && opt->no_raw)
        return FAIL (EXIT_USAGE, "--raw and --no-raw exclude each other");
    if (opt->job && !cli_valid_job (opt->job))
        return FAIL (EXIT_USAGE, "\"%s\" is not the name of a job", opt->job);
    for (size_t i = 0; i < opt->tags.n; i++) {
        if (!ledger_valid_tag (opt->tags.items[i]))
            return FAIL (EXIT_USAGE, "\"%.80s\" is not a tag: " FACT_TAG_RULE,
                         opt->tags.items[i]);
    }
    if (cli_empty_dir (&archive_command, argc - 1, argv + 1))
        return EXIT_USAGE;
    return strcmp (argv[0], "add") == 0
               ? archive_add (opt, argc - 1, argv + 1)
               : archive_import (opt, argv[1]);
}

static int at_root (struct archive_options *opt, const struct archive_verb *v,
                    int argc, char **argv)
{
    struct archive a;
    int status;

    if (strcmp (v->name, "add") == 0 || strcmp (v->name, "import") == 0)
        return put (opt, argc, argv);
    if (v->marks)
        return mark (opt, argc, argv);
    if ((status = remove_something (opt, v, argc, argv)) >= 0)
        return status;
    if (is_get (v))
        return archive_get_of_root (opt, argc, argv);
    if (cli_needs_view (opt->root)) {
        if (isatty (STDOUT_FILENO))
            opt->width = (int64_t)cli_width (opt->width);
        return cli_view (&archive_command, opt->root, opt, argc, argv);
    }
    status = strcmp (v->name, "ls") == 0
                 ? cli_open_lists (&archive_command, opt->root, &a)
                 : cli_open_archive (&archive_command, opt->root, &a);
    if (status != 0)
        return status;
    status = dispatch (opt, &a, argc, argv);
    archive_close (&a);
    return status;
}

/* ls and get ask several aggregators, and nothing else does. */
static int at_several (const struct archive_options *opt,
                       const struct archive_verb *v, int argc, char **argv)
{
    if (is_get (v))
        return archive_get_of_all (opt, argc, argv);
    if (strcmp (v->name, "ls") == 0)
        return archive_ls_of_all (opt, argc > 1 ? argv[1] : NULL);
    return FAIL (EXIT_USAGE, "%s works on one root: only ls and get ask "
                 "several aggregators", v->name);
}

int verb_archive (int argc, char **argv)
{
    struct archive_options opt = { .width = -1 };
    const struct archive_verb *v;
    int rest, status;

    if (!cli_options (&archive_command, argc, argv, &opt, &rest, &status))
        return status;
    opt.command = &archive_command;
    opt.root = cli_first_root (&opt.where);
    if (!(v = understand (argc - rest, argv + rest)))
        return EXIT_USAGE;
    if (cli_asks_several (&opt.where))
        return at_several (&opt, v, argc - rest, argv + rest);
    return at_root (&opt, v, argc - rest, argv + rest);
}
