/* cli/jobs/verb_push.c - rollcall push: a root's jobs into PostgreSQL */
#include "jobs/verb_push.h"

#include "base/units.h"
#include "base/utf8.h"
#include "postgres/push.h"
#include "postgres/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOLD_MAX 10             // jobs that are left out

static const struct option_spec options[] = {
    CLI_ROOT_OPTION (struct push_verb),
    OPTION (TEXT, "postgres", 0, struct push_verb, to.uri, "URI", NULL,
      PG_VARIABLE,
      "The database: postgresql://HOST/DATABASE, or service=NAME. A password "
      "belongs into a password file (~/.pgpass, PGPASSFILE)."),
    OPTION_SWITCH ("all", 'a', struct push_verb, all,
      "Push all jobs that have changed since they were pushed."),
    OPTION_SWITCH ("migrate", 0, struct push_verb, migrate,
      "First make the tables, or bring those of an older version up to date."),
    OPTION (TEXT, "cluster", 0, struct push_verb, to.cluster, "NAME", NULL,
      PG_CLUSTER_VARIABLE,
      "What to call this root there, which no other root may then use. "
      "Without it: the name of this host."),
    OPTION_SWITCH_BESIDE ("all", "prune", struct push_verb, prune,
      "With --all: remove there what this root has no more. Without it, jobs "
      "stay."),
    OPTION_SWITCH_BESIDE ("all", "rebind", struct push_verb, rebind,
      "With --all: from now on that name is this root's, and no more that of "
      "the root which had it, or that which this root had."),
    OPTION_SWITCH_BESIDE ("all", "follow", struct push_verb, follow,
      "For a service: with --all, go on until the end of standard input, "
      "which names jobs that have changed."),
    OPTION_SWITCH ("json", 0, struct push_verb, json,
      "Print one JSON object."),
};

static const struct command_spec push_command = {
    "rollcall push", "[OPTION]... JOB | --all | --migrate",
    "Push what is known of jobs, but no op, into PostgreSQL, which answers "
    "for all clusters and for years.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&push_command, status, __VA_ARGS__)

/* ---- the tables ---- */

static int migrate (const struct push_verb *opt, struct pg *p)
{
    struct err err = { "" };
    bool has_reader = false;
    int64_t from;
    int rc = schema_migrate (p, &from, &has_reader, &err);

    if (rc < 0)
        return FAIL (cli_postgres_status (rc), "%s", err.text);
    if (!opt->json && from == (int64_t)pg_migration_count)
        (void)printf ("%s: its tables are of version %lld already\n",
                      pg_name (p), (long long)from);
    else if (!opt->json)
        (void)printf ("%s: tables of version %zu%s\n", pg_name (p),
                      pg_migration_count, from == 0 ? " made" : "");
    if (!has_reader)
        (void)FAIL (0, "there is no role " SCHEMA_READER ", which could only "
                    "read: this user may not make one");
    return 0;
}

/* ---- jobs ---- */

static void tell_no_part (void *arg, const char *job, const char *why)
{
    char shown[UTF8_ESCAPED (MESSAGE_NAME_MAX)], text[UTF8_ESCAPED (ERR_TEXT_MAX)];
    size_t *told = arg;

    if ((*told)++ < TOLD_MAX)
        (void)FAIL (0, "job %s is left out: %s",
                    utf8_escape (job, UTF8_COLUMN, shown),
                    utf8_escape (why, UTF8_COLUMN, text));
}

static int tell (const struct push_verb *opt, const struct pg *p,
                 const struct push_sums *s)
{
    struct json *o;

    if (opt->json) {
        o = json_object ();
        json_add_int (o, "jobs", s->jobs);
        json_add_int (o, "rows", s->rows);
        json_add_int (o, "transactions", s->transactions);
        json_add_int (o, "pruned", s->pruned);
        json_add_int (o, "unnamed", s->unnamed);
        json_add_int (o, "no_part", s->no_part);
        json_add_int (o, "unreadable", s->unreadable);
        return cli_flush (&push_command, cli_print_json (o));
    }
    (void)printf ("%s: %lld job%s, %lld row%s in %lld transaction%s",
                  pg_name (p), (long long)s->jobs,
                  units_s ((uint64_t)s->jobs), (long long)s->rows,
                  units_s ((uint64_t)s->rows), (long long)s->transactions,
                  units_s ((uint64_t)s->transactions));
    if (opt->prune)
        (void)printf ("; %lld removed", (long long)s->pruned);
    (void)puts ("");
    if (s->unnamed > 0)
        (void)FAIL (0, "%lld job%s left out: a name that is not UTF-8",
                    (long long)s->unnamed, units_s ((uint64_t)s->unnamed));
    if (s->no_part > TOLD_MAX)
        (void)FAIL (0, "%lld more jobs are left out for want of a part",
                    (long long)s->no_part - TOLD_MAX);
    if (s->unreadable > 0)
        (void)FAIL (0, "%lld result%s could not be read: only their sums are "
                    "there%s", (long long)s->unreadable,
                    units_s ((uint64_t)s->unreadable),
                    s->later > 0 ? "; push again" : "");
    return cli_flush (&push_command, 0);
}

static int push (const struct push_verb *opt, struct pg *p, const char *job)
{
    size_t told = 0;
    const struct push_options how = { .cluster = opt->to.cluster, .job = job,
                                      .root_id = opt->root_id,
                                      .rebind = opt->rebind,
                                      .prune = opt->prune,
                                      .no_part = tell_no_part, .arg = &told };
    struct err err = { "" };
    struct push_sums sums;
    struct cli_jobs jobs;
    int status = cli_jobs_open (&push_command, opt->root, &jobs), rc;

    if (status != 0)
        return status;
    rc = push_jobs (p, jobs.catalogue, jobs.ledger, &how, &sums, &err);
    cli_jobs_close (&jobs);
    if (rc < 0)
        return FAIL (cli_postgres_status (rc), "%s", err.text);
    rc = tell (opt, p, &sums);
    return job && rc == 0 && sums.no_part > 0 ? EX_CANTCREAT : rc;
}

static int run (struct push_verb *opt, const char *job)
{
    struct err err = { "" };
    struct pg *p;
    int rc, status = 0;

    if ((job || opt->all) &&
        (rc = root_need_id (opt->root, opt->root_id, &err)) < 0)
        return FAIL (rc == -ENOMEDIUM ? EX_NOINPUT : cli_postgres_status (rc),
                     "%s", err.text);
    if (opt->follow)
        return push_follow (opt);
    if ((rc = cli_postgres_open (&push_command, opt->to.uri, &p, &err)) < 0)
        return FAIL (cli_postgres_status (rc), "%s", err.text);
    if (opt->migrate)
        status = migrate (opt, p);
    if (status == 0 && (job || opt->all))
        status = push (opt, p, job);
    pg_close (p);
    return status ? status : cli_flush (&push_command, 0);
}

int verb_push (int argc, char **argv)
{
    struct push_verb opt = { .root = NULL };
    char host[HOST_NAME_MAX + 1] = "";
    int rest, status;
    bool one;

    if (!cli_options (&push_command, argc, argv, &opt, &rest, &status))
        return status;
    opt.command = &push_command;
    one = rest < argc;
    if (argc - rest > 1 || (one && opt.all) ||
        (!one && !opt.all && !opt.migrate))
        return FAIL (EXIT_USAGE, "name one job, or --all, or --migrate");
    if (one && !cli_valid_job (argv[rest]))
        return FAIL (EXIT_USAGE, "\"%s\" is not the name of a job",
                     argv[rest]);
    if (gethostname (host, sizeof (host) - 1) == 0 && !opt.to.cluster)
        opt.to.cluster = host;
    if (!opt.to.uri)
        return FAIL (EXIT_USAGE, "name the database with --postgres or "
                     PG_VARIABLE);
    status = cli_postgres_check (&push_command, &opt.to);
    return status ? status : run (&opt, one ? argv[rest] : NULL);
}
