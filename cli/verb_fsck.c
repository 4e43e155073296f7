/* cli/verb_fsck.c - rollcall fsck: check that stored data is intact */
#include "cli_derive.h"

#include "base/units.h"
#include "find_result.h"
#include "fsck/check_objects.h"
#include "json/json.h"
#include "options/store_options.h"
#include "publish/result_parts.h"
#include "publish/rows_digest.h"
#include "spool/check_spool.h"
#include "query/finished.h"
#include "spool/spool.h"
#include "sqlite_pages/page_check.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define EXIT_FAULTS 1           // some were found, repaired or not
#define RESULT_TRIES 5          // builds may replace a result while it is read

struct fsck_options {
    struct result_place place;
    bool repair, json, delete_orphans, take_over;
    struct object_options store;        // url, or NULL
};

static const struct option_spec options[] = {
    OPTION_SWITCH ("repair", 0, struct fsck_options, repair,
      "Set damaged data aside, so that it is made or sent again."),
    OPTION_SWITCH ("json", 0, struct fsck_options, json,
      "Print each fault as one JSON object in a line."),
    OPTION (TEXT, "store", 0, struct fsck_options, store.url, "URL", NULL,
      "ROLLCALL_STORE",
      "aggregator: compare its segments with its objects in this store, too: "
      "s3://BUCKET/PREFIX, as for rollcall-aggregator."),
    STORE_OPTIONS (struct fsck_options, store),
    OPTION_SWITCH_BESIDE ("store", "delete-orphans", struct fsck_options,
      delete_orphans,
      "Delete objects of this root in the store that have no segment here. If "
      "the root is a copy from a backup, they may be all that is left of what "
      "came later."),
    OPTION_SWITCH_BESIDE ("store", "take-over", struct fsck_options, take_over,
      "From now on the objects with this root's id belong to this root: the one "
      "that wrote them, from whose backup this one was made, is gone for good."),
    CLI_RESULT_OPTIONS (struct fsck_options),
};

static const struct command_spec fsck_command = {
    "rollcall fsck", "[OPTION]... agent DIR | aggregator [DIR] | result [" CLI_RESULT_USAGE "]",
    "Read an agent's spool or an aggregator's root that is not in use, and "
    "compare every row and every file with its checksum; or check a result.",
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
    case -EACCES:
    case -EPERM:
    case -ENOTUNIQ:
        return EX_NOPERM;
    case -EBADMSG:
        return EX_DATAERR;
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

static void hint_at_etags (size_t n)
{
    bool one = n == 1;

    (void)printf ("%zu of the objects %s than before, and %s read: --repair "
                  "notes the new %s, or the next check reads %s again\n", n,
                  one ? "has another etag" : "have other etags",
                  one ? "was" : "were", one ? "one" : "ones",
                  one ? "it" : "them");
}

/* Its objects in a store. */
static int check_store (const struct fsck_options *opt, const char *root)
{
    struct check_objects_options how = { opt->store, opt->repair,
                                         opt->delete_orphans, opt->take_over };
    struct fsck_options copy = *opt;
    struct check_report r = { .say = on_sentence, .arg = &copy };
    struct check_objects_report found;
    struct err err = { "" };
    char bytes[16];
    int rc = check_objects (root, &how, &r, &found, &err);

    if (rc < 0)
        return FAIL (fail_status (rc), "%s", err.text);
    units_bytes_text (found.bytes, bytes);
    if (!opt->json)
        (void)printf ("in the store: %zu object%s of %s, %zu hole%s, "
                      "%zu orphan%s, %zu upload%s that nobody goes on with, %zu "
                      "not marked\n", found.objects, units_s (found.objects),
                      bytes, found.holes, units_s (found.holes), found.orphans,
                      units_s (found.orphans), found.uploads,
                      units_s (found.uploads), found.unmarked);
    if (!opt->json && !opt->repair && found.others > 0)
        hint_at_etags (found.others);
    rc = cli_flush (&fsck_command, 0);
    return rc ? rc : found.holes + found.orphans + found.uploads > 0
                         ? EXIT_FAULTS : 0;
}

static int check_segments (const struct fsck_options *opt, const char *root)
{
    struct fsck_options copy = *opt;
    struct check_report r = { .say = on_sentence, .arg = &copy };
    struct err err = { "" };
    char bytes[16], away[16];
    int rc = store_check (root, opt->repair, &r, &err);

    if (rc < 0)
        return FAIL (fail_status (rc), "%s", err.text);
    units_bytes_text (r.bytes, bytes);
    units_bytes_text (r.away_bytes, away);
    if (!opt->json)
        (void)printf ("in order: %zu item%s, %zu content%s of %s, %zu result%s; %zu damaged%s, %zu left over\n", r.items,
                      units_s (r.items), r.contents, units_s (r.contents),
                      bytes, r.results, units_s (r.results), r.damaged,
                      r.damaged == 0 ? "" : opt->repair ? ", and repaired"
                          : " (--repair sets damaged data aside)",
                      r.leftovers);
    if (!opt->json && r.away > 0)
        (void)printf ("%zu of the contents, of %s, are only in the object store, "
                      "and were not read: rollcall archive verify reads them\n",
                      r.away, away);
    rc = cli_flush (&fsck_command, 0);
    return rc ? rc : r.damaged > 0 ? EXIT_FAULTS : 0;
}

/* The store first: what it has lost of segments that are only there is damage, and
 * is repaired as such.  If it cannot be asked, what is here can still be checked.
 */
static int check_root (const struct fsck_options *opt, const char *root)
{
    int there = opt->store.url ? check_store (opt, root) : 0, here;

    if (there == EX_TEMPFAIL || there == EX_NOINPUT ||
        (there > EXIT_FAULTS && opt->repair))
        return there;
    here = check_segments (opt, root);
    return there > here ? there : here;
}

/* ---- an agent's spool ---- */

/* "; STATE/spool-JOB is one" in 'out', if 'dir' is the state of an agent. */
static void name_spool (const char *dir, char out[PATH_MAX])
{
    DIR *d = opendir (dir);
    struct dirent *e;

    out[0] = '\0';
    while (d && !out[0] && (e = readdir (d))) {
        if (strncmp (e->d_name, SPOOL_PREFIX, strlen (SPOOL_PREFIX)) == 0)
            (void)snprintf (out, PATH_MAX, "; %.2000s/%s is one", dir,
                            e->d_name);
    }
    if (d)
        (void)closedir (d);
}

static int check_spool (const struct fsck_options *opt, const char *dir)
{
    struct fsck_options copy = *opt;
    struct err err = { "" };
    char near[PATH_MAX] = "";
    int n = spool_check (dir, opt->repair, on_fault, &copy, &err), status;

    if (n == -ENOENT)
        name_spool (dir, near);
    if (n < 0)
        return FAIL (fail_status (n), "%s%s", err.text, near);
    if (!opt->json)
        (void)printf ("%d fault%s found%s\n", n, n == 1 ? "" : "s",
                      n == 0 ? "" : opt->repair ? ", and repaired"
                             : "; --repair sets damaged data aside");
    status = cli_flush (&fsck_command, 0);
    return status ? status : n > 0 ? EXIT_FAULTS : 0;
}

/* ---- a result ---- */

static void print_result (const struct fsck_options *opt, const char *path,
                          const struct digest *d, const char *damage)
{
    char hex[DIGEST_HEX_SIZE];
    struct json *j;
    char *text;

    digest_hex (d, hex);
    if (!opt->json) {
        (void)printf ("%s: %s%s\n", path, damage ? damage : "in order; rows ",
                      damage ? "" : hex);
        return;
    }
    j = json_object ();
    json_add_text (j, "file", path);
    json_add_text (j, damage ? "fault" : "rows", damage ? damage : hex);
    text = json_print (j, false);
    (void)puts (text ? text : "{}");
    free (text);
    json_free (j);
}

static int read_result (const char *path, const char *file, unsigned threads,
                        struct digest *d, struct err *err)
{
    int rc = page_check_file (file, threads, err);

    if (rc == 0)
        rc = parts_check (path, threads, err);
    return rc < 0 ? rc : rows_digest (path, threads, NULL, d, err);
}

static int check_result (const struct fsck_options *opt, int n,
                         char *const *operands)
{
    char path[PATH_MAX], file[PATH_MAX];        // without links
    struct digest d = { { 0 } };
    struct err err = { "" };
    unsigned threads = cli_processors ();
    int status = cli_find_operand (&fsck_command, n, operands, &opt->place,
                                   path);
    struct sqlite3 *db = NULL;
    int rc = 0;

    if (status)
        return status;
    for (int i = 0; i == 0 || (rc == -EBUSY && i < RESULT_TRIES); i++)
        rc = read_result (path, realpath (path, file) ? file : path, threads, &d,
                          &err);
    if (rc == -EIO && (status = cli_open_result (&fsck_command, path, true,
                                                 &db)) != 0)
        return status;          // SQLite cannot read its schema
    (void)sqlite3_close (db);
    if (rc < 0 && rc != -EBADMSG)
        return FAIL (fail_status (rc), "%s", err.text);
    print_result (opt, path, &d, rc < 0 ? err.text : NULL);
    status = cli_flush (&fsck_command, 0);
    return status ? status : rc < 0 ? EXIT_FAULTS : 0;
}

/* ---- the verb ---- */

/* Whether what was given of a store can be: 0, or an exit status. */
static int check_store_options (const struct fsck_options *opt)
{
    struct object_store *s = NULL;
    struct err err = { "" };
    int rc = opt->store.url ? object_store_open (&opt->store, &s, &err) : 0;

    object_store_close (s);
    return rc < 0 ? FAIL (EXIT_USAGE, "--store: %s", err.text) : 0;
}

int verb_fsck (int argc, char **argv)
{
    struct fsck_options opt = { .json = false };
    const char *whose, *dir;
    int rest, status;

    if (!cli_options (&fsck_command, argc, argv, &opt, &rest, &status))
        return status;
    // repaired files must be as private as those that daemons create
    (void)umask (umask (077) | 027);
    whose = opt.place.asked = rest < argc ? argv[rest] : "";
    dir = rest + 1 < argc ? argv[rest + 1] : NULL;
    if (!*whose)
        return FAIL (EXIT_USAGE, "name agent, aggregator or result, and a directory "
                     "(usage: %s %s)",
                     fsck_command.name, fsck_command.usage);
    if (strcmp (whose, "result") == 0)
        return check_result (&opt, argc - rest - 1, argv + rest + 1);
    if (strcmp (whose, "agent") != 0 && strcmp (whose, "aggregator") != 0)
        return FAIL (EXIT_USAGE, "%s: use agent, aggregator or result", whose);
    if (rest + 2 < argc)
        return FAIL (EXIT_USAGE, "unexpected argument \"%s\"", argv[rest + 2]);
    if (strcmp (whose, "aggregator") == 0)
        return (status = check_store_options (&opt)) != 0
                   ? status
                   : check_root (&opt, dir ? dir
                                           : cli_first_root (&opt.place.where));
    if (!dir)
        return FAIL (EXIT_USAGE, "agent: name the spool (STATE/spool-JOB)");
    return check_spool (&opt, dir);
}
