/* tests/unit/aggregator/catalogue/catalogue_check.c - a root with jobs and a
 * result, and its catalogue
 */
#include "aggregator/catalogue/catalogue_check.h"

#include "builder/rollup.h"
#include "store/db.h"

void add_job (struct root *r, const char *job, int64_t received_ns)
{
    struct ledger_item item = true_item ("c", job);

    (void)snprintf (item.job, sizeof (item.job), "%s", job);
    item.received_ns = received_ns;
    assert_int_equal (enter (r, item, job), 1);
}

void add_fact (struct root *r, const char *job, const char *key,
               const char *value)
{
    struct ledger_fact f = { .at_ns = 7 };

    (void)snprintf (f.job, sizeof (f.job), "%s", job);
    (void)snprintf (f.key, sizeof (f.key), "%s", key);
    (void)snprintf (f.value, sizeof (f.value), "%s", value);
    assert_int_equal (ledger_set_fact (r->l, &f, NULL), 1);
}

void all_built (struct root *r, const char *job)
{
    assert_int_equal (ledger_set_built (r->l, job,
                                        ledger_newest (r->l, job, ITEM_ROWS),
                                        NULL, NULL), 0);
}

void publish_job (struct root *r, struct job *j, const char *name)
{
    char dir[PATH_MAX], path[PATH_MAX];

    (void)snprintf (dir, sizeof (dir), "%s/jobs/%s/cluster_analysis_output",
                    r->dir, name);
    (void)snprintf (path, sizeof (path), "%.*s/analysis.db", PATH_MAX - 16,
                    dir);
    assert_int_equal (fileio_mkdirs (dir, 0700, NULL), 0);
    assert_int_equal (db_exec (j->db, "COMMIT", NULL), 0);
    (void)unlink (path);
    assert_int_equal (db_execf (j->db, NULL, "VACUUM INTO %Q", path), 0);
    job_destroy (j);
}

struct job *make_result (void)
{
    struct job *j = job_make ();

    assert_int_equal (rollup_links (j->db, NULL), 0);
    assert_int_equal (rollup_derive (j->db, NULL, NULL), 0);
    run (j, "INSERT INTO Roster (rank, host, device_id, expected, state) VALUES"
            " (0, 'n0', 0, 1, 'present'), (1, 'n0', 1, 1, 'present'),"
            " (2, 'n1', 0, 1, 'missing');"
            "INSERT INTO Capture (id, rank, host, name, state, started_ns,"
            " ended_ns) VALUES (1, 0, 'n0', 'c', 'complete',"
            " 1764000000000000000, 1764000060000000000);"
            "INSERT INTO StepTraceTime (step, computing,"
            " communication_not_overlapped, overlapped, free, rank, capture)"
            " SELECT s, 70000, 25000, 0, 5000, r, 1 FROM (SELECT 1 AS s UNION"
            "  SELECT 2), (SELECT 0 AS r UNION SELECT 1);"
            "INSERT INTO Link (step, comm_group, src_rank, dst_rank,"
            " transport_type, type, transit_size, transit_time, large_size,"
            " large_time) VALUES ('step1', 1, 0, 1, 'HCCS', 'p2p', 200, 10,"
            " 200, 10);"
            "INSERT INTO Finding (kind, severity, rank, effect_percent, text)"
            " VALUES ('slow_rank', 'high', 1, 30, 'slow');"
            "INSERT INTO Job VALUES ('user', 'you'), ('command', 'train'),"
            " ('built_at', '2026-01-01T00:00:00Z')");
    return j;
}

struct opened open_catalogue (struct root *r)
{
    struct opened o = { NULL, NULL };
    struct err err = { "" };

    if (ledger_open_quick (r->db, &o.ledger, &err) < 0 ||
        catalogue_open (r->dir, o.ledger, NULL, &o.c, &err) < 0)
        fail_msg ("%s", err.text);
    return o;
}

void close_catalogue (struct opened *o)
{
    catalogue_close (o->c);
    ledger_close (o->ledger);
}

static int add_name (void *arg, const struct catalogue_job *j)
{
    char *text = arg;
    size_t used = strlen (text);

    (void)snprintf (text + used, 256 - used, "%s ", j->job);
    return 0;
}

const char *names (struct catalogue *c, struct catalogue_filter f)
{
    static char text[sizeof (struct err)];
    struct err err = { "" };

    text[0] = '\0';
    if (catalogue_each (c, &f, add_name, text, &err) < 0)
        (void)snprintf (text, sizeof (text), "%s", err.text);
    return text;
}
