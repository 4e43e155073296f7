/* tests/unit/aggregator/findings/job_check.c - a job's tables, which a test
 * fills */
#include "aggregator/findings/job_check.h"

#include "builder/row_file.h"
#include "builder/tables.h"
#include "publish/publish.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct job *job_make (void)
{
    struct job *j = calloc (1, sizeof (*j));
    struct row_file *file = NULL;
    const atomic_bool no = false;

    assert_non_null (j);
    (void)snprintf (j->dir, sizeof (j->dir), "/tmp/test_job.XXXXXX");
    assert_non_null (mkdtemp (j->dir));
    (void)snprintf (j->path, sizeof (j->path), "%s/db", j->dir);
    assert_int_equal (row_file_create (j->path, &file, NULL), 0);
    assert_int_equal (row_file_finish (file, NULL, 0, 1, &no, NULL), 0);
    row_file_close (file);
    assert_int_equal (db_open (j->path, SQLITE_OPEN_READWRITE, &j->db),
                      SQLITE_OK);
    assert_int_equal (db_execf (j->db, NULL, "PRAGMA application_id=%d;"
                                "PRAGMA user_version=%d; BEGIN",
                                PUBLISH_APPLICATION_ID,
                                TABLES_SCHEMA_VERSION), 0);
    assert_int_equal (tables_create (j->db, NULL), 0);
    return j;
}

void job_destroy (struct job *j)
{
    if (!sqlite3_get_autocommit (j->db))
        assert_int_equal (db_exec (j->db, "COMMIT", NULL), 0);
    (void)sqlite3_close (j->db);
    (void)unlink (j->path);
    assert_int_equal (rmdir (j->dir), 0);       // nothing else is left
    free (j);
}

void run (struct job *j, const char *sql)
{
    struct err err = { "" };

    if (db_exec (j->db, sql, &err) < 0)
        fail_msg ("%s", err.text);
}
