/* cli/jobs/open_jobs.c - the jobs of a root, or of PostgreSQL, opened */
#include "jobs/open_jobs.h"

#include "run/run.h"
#include "shared/root.h"
#include "shared/unbuilt.h"
#include "shared/view.h"
#include "store/fileio.h"
#include "store/root.h"

#include <errno.h>

int cli_jobs_open (const struct command_spec *c, const char *root,
                   struct cli_jobs *ret)
{
    char path[PATH_MAX], dir[PATH_MAX], db[PATH_MAX] = "";
    struct err err = { "" };
    int rc;

    *ret = (struct cli_jobs){ .ledger = NULL };
    if (!fileio_join (path, sizeof (path), root, "ledger.db"))
        return cli_fail (c, EX_NOINPUT, "path is too long: %s", root);
    if ((rc = ledger_open_quick (path, &ret->ledger, &err)) < 0)
        return cli_no_root (c, root, rc, &err);
    // the result of the run that owns the root
    if (!fileio_join (dir, sizeof (dir), root, "..") ||
        run_result_db (dir, db) < 0)
        db[0] = '\0';
    if (rc == 0)
        rc = catalogue_open (root, ret->ledger, *db ? db : NULL,
                             &ret->catalogue, &err);
    if (rc == 0) {
        ledger_end_read (ret->ledger);  // or whoever pages holds back its log
        catalogue_show_only (ret->catalogue, cli_visible_to ());
        ret->status = unbuilt_read (root);
        return 0;
    }
    cli_jobs_close (ret);
    return cli_fail (c, cli_input_status (rc), "%s", err.text);
}

void cli_jobs_close (struct cli_jobs *j)
{
    catalogue_close (j->catalogue);
    ledger_close (j->ledger);
    json_free (j->status);
    *j = (struct cli_jobs){ .ledger = NULL };
}

/* ---- PostgreSQL ---- */

static void tell_silent (void *arg, const char *name, int64_t seconds)
{
    if (seconds > 0)
        (void)cli_fail (arg, 0, PG_SILENT, name, (long long)seconds);
}

int cli_postgres_open (const struct command_spec *c, const char *uri,
                       struct pg **ret, struct err *err)
{
    int rc = pg_open (uri, ret, err);

    if (rc == 0)
        pg_on_silence (*ret, tell_silent, (void *)(uintptr_t)c);
    return rc;
}

int cli_postgres_check (const struct command_spec *c,
                        const struct cli_postgres *from)
{
    struct err err = { "" };
    int rc = pg_check_option (from->uri, from->cluster, &err);

    return rc < 0 ? cli_fail (c, cli_postgres_status (rc), "%s", err.text) : 0;
}

int cli_postgres_alone (const struct command_spec *c,
                        const struct cli_postgres *from,
                        const struct cli_where *where)
{
    return from->uri && (where->roots.said || where->aggregators)
               ? cli_fail (c, EXIT_USAGE, "--postgres has the jobs of all roots "
                           "that were pushed: leave out --aggregators and --root")
               : 0;
}

int cli_postgres_status (int rc)
{
    switch (rc) {
    case -EINVAL:
        return EXIT_USAGE;
    case -EAGAIN:
        return EX_TEMPFAIL;
    case -ENOSPC:
        return EX_CANTCREAT;
    case -EACCES:
    case -EEXIST:
        return EX_NOPERM;
    case -ENOENT:
    case -ENODATA:
    case -ESRCH:
        return EX_NOINPUT;
    case -EPROTO:
        return EX_DATAERR;
    case -ENOTSUP:
        return EX_UNAVAILABLE;
    default:
        return EX_IOERR;
    }
}

int cli_jobs_open_postgres (const struct command_spec *c,
                            const struct cli_postgres *from,
                            struct catalogue_filter *filter,
                            enum facts_use use, struct cli_jobs *ret)
{
    const struct load_options opt = { from->cluster, filter, use };
    struct err err = { "" };
    struct pg *p = NULL;
    int rc = cli_postgres_check (c, from);

    *ret = (struct cli_jobs){ .ledger = NULL };
    if (rc != 0)
        return rc;
    if ((rc = cli_postgres_open (c, from->uri, &p, &err)) == 0)
        rc = load_catalogue (p, &opt, &ret->catalogue, &err);
    pg_close (p);
    return rc < 0 ? cli_fail (c, cli_postgres_status (rc), "%s", err.text) : 0;
}
