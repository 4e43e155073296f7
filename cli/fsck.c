/* cli/fsck.c - rollcall fsck: is what is on disk what it says it is? */
#include "cli.h"

#include "archive/check.h"
#include "base/json.h"
#include "spool/check.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_FAULTS 1           // some were found, repaired or not

struct fsck_options {
    bool repair, json;
};

static const struct option_spec options[] = {
    { "repair", 0, OPTION_FLAG, offsetof (struct fsck_options, repair), NULL,
      NULL, NULL, 0, 0,
      "Set aside what is damaged, so that it is made or sent again." },
    { "json", 0, OPTION_FLAG, offsetof (struct fsck_options, json), NULL, NULL,
      NULL, 0, 0, "Print each fault as one JSON object in a line." },
};

const struct command_spec fsck_command = {
    "rollcall fsck", "[OPTION]... agent|aggregator DIR",
    "Read all of an agent's spool or an aggregator's root, while none has it, "
    "and compare every row and every file with its checksum.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&fsck_command, status, __VA_ARGS__)

static void print_json (const char *file, const char *what, const char *done)
{
    struct json *j = json_object ();
    char *text;

    json_add_text (j, "file", file);
    json_add_text (j, "fault", what);
    json_add_text (j, "done", done);
    text = json_print (j, false);
    (void)puts (text ? text : "{}");
    free (text);
    json_free (j);
}

static void on_fault (void *arg, const char *file, const char *what,
                      const char *done)
{
    const struct fsck_options *opt = arg;

    if (opt->json)
        print_json (file, what, done);
    else
        (void)printf ("%s: %s%s%s\n", file, what, *done ? ": " : "", done);
}

static int fail_status (int rc)
{
    switch (rc) {
    case -ENOENT:
        return EX_NOINPUT;
    case -EBUSY:
        return EX_TEMPFAIL;
    default:
        return EX_IOERR;
    }
}

/* ---- an aggregator's root ---- */

static void on_sentence (void *arg, const char *sentence)
{
    const struct fsck_options *opt = arg;

    if (opt->json)
        print_json (NULL, sentence, NULL);
    else
        (void)puts (sentence);
}

static int check_root (const struct fsck_options *opt, const char *root)
{
    struct fsck_options copy = *opt;
    struct check_report r = { .say = on_sentence, .arg = &copy };
    struct err err = { "" };
    int rc = store_check (root, opt->repair, &r, &err);

    if (rc < 0)
        return FAIL (fail_status (rc), "%s", err.text);
    if (!opt->json)
        (void)printf ("%zu items, %zu contents of %llu bytes are in order, "
                      "%zu damaged%s, %zu left over\n", r.items, r.contents,
                      (unsigned long long)r.bytes, r.damaged,
                      r.damaged == 0 ? "" : opt->repair ? ", and repaired"
                          : " (--repair sets aside what is damaged)",
                      r.leftovers);
    rc = cli_flush (&fsck_command, 0);
    return rc ? rc : r.damaged > 0 ? EXIT_FAULTS : 0;
}

int verb_fsck (int argc, char **argv)
{
    struct fsck_options opt = { .repair = false };
    struct err err = { "" };
    int rest, status, n;

    if (!cli_options (&fsck_command, argc, argv, &opt, &rest, &status))
        return status;
    if (rest + 2 == argc && strcmp (argv[rest], "aggregator") == 0)
        return check_root (&opt, argv[rest + 1]);
    if (rest + 2 != argc || strcmp (argv[rest], "agent") != 0)
        return FAIL (EXIT_USAGE, "whose directory? (usage: %s %s)",
                     fsck_command.name, fsck_command.usage);
    n = spool_check (argv[rest + 1], opt.repair, on_fault, &opt, &err);
    if (n < 0)
        return FAIL (fail_status (n), "%s", err.text);
    if (!opt.json)
        (void)printf ("%d fault%s found%s\n", n, n == 1 ? "" : "s",
                      n == 0 ? "" : opt.repair ? ", and repaired"
                             : "; --repair sets aside what is damaged");
    status = cli_flush (&fsck_command, 0);
    return status ? status : n > 0 ? EXIT_FAULTS : 0;
}
