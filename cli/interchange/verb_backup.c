/* cli/interchange/verb_backup.c - rollcall backup and restore: a root, and its copy */
#include "interchange/backup_verbs.h"

#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "interchange/restore.h"
#include "options/store_options.h"
#include "shared/command.h"
#include "store/root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct backup_options {
    const char *root;
    bool copy, json;
    struct object_options store;        // url, or NULL
    const char *id;                     // of the root in it; NULL: the only one
};

static const struct option_spec backup_rows[] = {
    OPTION (TEXT, "root", 'r', struct backup_options, root, "DIR", ROOT_DEFAULT,
      ROOT_VARIABLE, "The aggregator's root."),
    OPTION_SWITCH ("copy", 0, struct backup_options, copy,
      "Copy full segments even if DIR is on the same file system, where they "
      "could be linked."),
    OPTION_SWITCH ("json", 0, struct backup_options, json,
      "Print one JSON object."),
};

static const struct option_spec restore_rows[] = {
    OPTION (TEXT, "store", 0, struct backup_options, store.url, "URL", NULL, NULL,
      "Instead of a backup: take over the objects of a root that is gone for "
      "good, s3://BUCKET/PREFIX, as for rollcall-aggregator."),
    OPTION_BESIDE ("store", TEXT, "root-id", struct backup_options, id, "ID",
      NULL, NULL, "Which of the roots there. Without it: the only one."),
    STORE_OPTIONS (struct backup_options, store),
    OPTION_SWITCH ("json", 0, struct backup_options, json,
      "Print one JSON object."),
};

static const struct command_spec backup_command = {
    "rollcall backup", "[OPTION]... DIR",
    "Back up an aggregator's root, also while it is served; only what is new is "
    "copied.",
    backup_rows, sizeof (backup_rows) / sizeof (backup_rows[0]),
};

static const struct command_spec restore_command = {
    "rollcall restore", "[OPTION]... DIR ROOT | --store URL [OPTION]... ROOT",
    "Check a backup, and make a new root of it; or make one of the objects of a "
    "root that is gone.",
    restore_rows, sizeof (restore_rows) / sizeof (restore_rows[0]),
};

static int fail (const struct command_spec *c, int rc, const struct err *err)
{
    if (rc == -EINTR)
        return cli_interrupted (c, "nothing has changed");
    return cli_fail (c, rc == -ENOENT    ? EX_NOINPUT
                        : rc == -EBADMSG ? EX_DATAERR
                        : rc == -EBUSY   ? EX_TEMPFAIL
                        : rc == -ENOSPC || rc == -EEXIST ? EX_CANTCREAT
                        : rc == -EACCES || rc == -EPERM ? EX_NOPERM
                                                        : EX_IOERR,
                     "%s", err->text);
}

static int tell (const struct command_spec *c, const struct backup_options *opt,
                 const char *dir, const struct backup_sums *s)
{
    char bytes[16], copied[16], linked[16];
    struct json *o;

    if (opt->json) {
        o = json_object ();
        json_add_int (o, "segments", (int64_t)s->segments);
        json_add_int (o, "bytes", (int64_t)s->bytes);
        json_add_int (o, "copied", (int64_t)s->copied);
        json_add_int (o, "linked", (int64_t)s->linked);
        return cli_flush (c, cli_print_json (o));
    }
    units_bytes_text (s->bytes, bytes);
    units_bytes_text (s->copied, copied);
    units_bytes_text (s->linked, linked);
    (void)printf ("%s: %llu segment%s, %s; copied %s", dir,
                  (unsigned long long)s->segments, units_s (s->segments), bytes,
                  copied);
    if (s->linked > 0)
        (void)printf (", linked %s (on disk only once, shared with the root; "
                      "--copy copies it)", linked);
    (void)putchar ('\n');
    return cli_flush (c, 0);
}

/* So many operands, none of them empty: 0, or an exit status. */
static int check_operands (const struct command_spec *c, int n, int wanted,
                           char **operands)
{
    if (n != wanted)
        return cli_fail (c, EXIT_USAGE, "usage: %s %s", c->name, c->usage);
    return cli_empty_dir (c, n, operands) ? EXIT_USAGE : 0;
}

/* As backup_make, or backup_restore. */
typedef int backup_fn (const char *from, const char *to,
                       const struct backup_how *how, struct backup_sums *ret,
                       struct err *err);

static int work (const struct command_spec *c, const struct backup_options *opt,
                 backup_fn *fn, const char *from, const char *to)
{
    const struct backup_how how = { opt->copy, &cli_cancelled };
    struct backup_sums sums = { 0, 0, 0, 0 };
    struct err err = { "" };
    int rc;

    cli_catch_signals ();
    rc = fn (from, to, &how, &sums, &err);
    return rc < 0 ? fail (c, rc, &err) : tell (c, opt, to, &sums);
}

int verb_backup (int argc, char **argv)
{
    struct backup_options opt = { .root = NULL };
    int rest, status;

    if (!cli_options (&backup_command, argc, argv, &opt, &rest, &status))
        return status;
    if ((status = check_operands (&backup_command, argc - rest, 1,
                                  argv + rest)) != 0)
        return status;
    return work (&backup_command, &opt, backup_make, opt.root, argv[rest]);
}

/* ---- an object store ---- */

static void on_sentence (void *arg, const char *sentence)
{
    (void)arg;
    (void)fprintf (stderr, "rollcall restore: %s\n", sentence);
}

static void print_root (const struct stored_root *r)
{
    const struct object_owner *o = &r->owner;
    char from[sizeof (o->host) + sizeof (o->root) + sizeof (o->since) + 16];
    char shown[UTF8_ESCAPED (sizeof (from))], bytes[16];

    // whoever may write there says so
    PRINT (from, "%s%s%s%s%s", *o->token ? o->host : "not known",
           *o->root ? ":" : "", o->root, *o->since ? " since " : "", o->since);
    units_bytes_text (r->bytes, bytes);
    (void)fprintf (stderr, "  %s: %llu segment%s, %s, of %s\n", r->id,
                   (unsigned long long)r->segments, units_s (r->segments), bytes,
                   utf8_escape (from, UTF8_COLUMN, shown));
}

/* Which of the roots: its id in 'id', or an exit status. */
static int choose_root (const struct backup_options *opt, char id[ROOT_ID_SIZE])
{
    const struct command_spec *c = &restore_command;
    struct stored_root *list = NULL;
    struct object_store *s = NULL;
    struct err err = { "" };
    size_t n = 0, found = 0;
    int rc = object_store_open (&opt->store, &s, &err), status = 0;

    if (rc < 0)
        return cli_fail (c, EXIT_USAGE, "--store: %s", err.text);
    rc = restore_list (s, &list, &n, &err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (!opt->id || strcmp (list[i].id, opt->id) == 0) {
            (void)memcpy (id, list[i].id, ROOT_ID_SIZE);
            found++;
        }
    }
    if (rc < 0)
        status = fail (c, rc, &err);
    else if (found != 1)
        status = cli_fail (c, found == 0 ? EX_NOINPUT : EXIT_USAGE,
                           found > 0 ? "%s has several roots: choose one with "
                                       "--root-id%s"
                           : opt->id ? "%s has no such root%s"
                                     : "%s has no objects of a root%s",
                           object_store_url (s), n > 0 ? ":" : "");
    for (size_t i = 0; i < n && rc == 0 && found != 1; i++)
        print_root (&list[i]);
    object_store_close (s);
    free (list);
    return status;
}

static int tell_taken (const struct backup_options *opt, const char *root,
                       const struct restore_sums *s)
{
    char newest[CLOCK_TEXT_MAX] = "", bytes[16], read[16];
    struct json *o;

    if (s->newest_ns > 0)
        clock_text (s->newest_ns, newest);
    if (opt->json) {
        o = json_object ();
        json_add_int (o, "segments", (int64_t)s->segments);
        json_add_int (o, "bytes", (int64_t)s->bytes);
        json_add_int (o, "read", (int64_t)s->read);
        json_add_int (o, "jobs", (int64_t)s->jobs);
        json_add_int (o, "lacking", (int64_t)s->lacking);
        json_add_int (o, "damaged", (int64_t)s->damaged);
        json_add_nonempty (o, "newest", newest);
        return cli_flush (&restore_command, cli_print_json (o));
    }
    units_bytes_text (s->bytes, bytes);
    units_bytes_text (s->read, read);
    (void)printf ("%s: %llu segment%s, %s, which stay in the store; read %s; "
                  "%zu job%s, %zu known to lack something\n", root,
                  (unsigned long long)s->segments, units_s (s->segments), bytes,
                  read, s->jobs, units_s (s->jobs), s->lacking);
    (void)printf ("what arrived after %s was not in the store: agents that still "
                  "have it deliver it again\n",
                  *newest ? newest : "the beginning");
    return cli_flush (&restore_command, 0);
}

static int take_over (struct backup_options *opt, const char *root)
{
    struct restore_sums sums;
    struct err err = { "" };
    char id[ROOT_ID_SIZE] = "";
    int status = choose_root (opt, id), rc;

    if (status)
        return status;
    cli_catch_signals ();
    opt->store.cancel = &cli_cancelled;
    rc = restore_from_store (&opt->store, id, root, on_sentence, NULL, &sums,
                             &err);
    if (rc < 0)
        return fail (&restore_command, rc, &err);
    status = tell_taken (opt, root, &sums);
    return status ? status : sums.damaged > 0 ? EX_DATAERR : 0;
}

int verb_restore (int argc, char **argv)
{
    struct backup_options opt = { .root = NULL };
    int rest, status;

    if (!cli_options (&restore_command, argc, argv, &opt, &rest, &status))
        return status;
    if ((status = check_operands (&restore_command, argc - rest,
                                  opt.store.url ? 1 : 2, argv + rest)) != 0)
        return status;
    if (opt.store.url)
        return take_over (&opt, argv[rest]);
    return work (&restore_command, &opt, backup_restore, argv[rest],
                 argv[rest + 1]);
}
