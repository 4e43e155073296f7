/* cli/interchange/verb_backup.c - rollcall backup and restore: a root, and its copy */
#include "interchange/backup_verbs.h"

#include "base/units.h"
#include "interchange/backup.h"
#include "shared/command.h"
#include "store/root.h"

#include <errno.h>
#include <stdio.h>

struct backup_options {
    const char *root;
    bool copy, json;
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
    "rollcall restore", "[OPTION]... DIR ROOT",
    "Check a backup, and make a new root of it.",
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
    struct json *o;

    if (opt->json) {
        o = json_object ();
        json_add_int (o, "segments", (int64_t)s->segments);
        json_add_int (o, "bytes", (int64_t)s->bytes);
        json_add_int (o, "copied", (int64_t)s->copied);
        json_add_int (o, "linked", (int64_t)s->linked);
        return cli_flush (c, cli_print_json (o));
    }
    (void)printf ("%s: %llu segment%s, %llu bytes; copied %llu, linked %llu\n",
                  dir, (unsigned long long)s->segments, units_s (s->segments),
                  (unsigned long long)s->bytes, (unsigned long long)s->copied,
                  (unsigned long long)s->linked);
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

int verb_restore (int argc, char **argv)
{
    struct backup_options opt = { .root = NULL };
    int rest, status;

    if (!cli_options (&restore_command, argc, argv, &opt, &rest, &status))
        return status;
    if ((status = check_operands (&restore_command, argc - rest, 2,
                                  argv + rest)) != 0)
        return status;
    return work (&restore_command, &opt, backup_restore, argv[rest],
                 argv[rest + 1]);
}
