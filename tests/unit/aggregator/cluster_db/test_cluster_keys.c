/* tests/unit/aggregator/cluster_db/test_cluster_keys.c - an index of more keys
 * than fit into memory at once, from several threads */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster_db/cluster_keys.h"
#include "cluster_db/cluster_names.h"
#include "store/db.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define BUFFERS 3               // of threads
#define RANKS 300
#define OPS 900                 // of a rank
#define BY_RANK "(step, group_name, rank, op, band)"
#define BY_GROUP "(group_name, step, op)"

static int left = -1;           // writes that succeed; negative: all

int __real_fileio_pwrite_all (int fd, const void *data, size_t size,
                              off_t offset);
int __wrap_fileio_pwrite_all (int fd, const void *data, size_t size,
                              off_t offset);

int __wrap_fileio_pwrite_all (int fd, const void *data, size_t size,
                              off_t offset)
{
    if (left == 0)
        return -ENOSPC;
    left--;
    return __real_fileio_pwrite_all (fd, data, size, offset);
}

struct place {
    char dir[64], path[80], temp[80];
    sqlite3 *db;                // of groups, then of the result
    struct cluster_groups *groups;
    struct page_file *file;
    struct page_writer *writers[BUFFERS];
    struct cluster_keys keys;
    struct key_buffer buffers[BUFFERS];
    struct texts steps[BUFFERS];
};

static void sql (struct place *p, const char *text)
{
    struct err err = { "" };

    if (db_exec (p->db, text, &err) < 0)
        fail_msg ("%s", err.text);
}

static int64_t number (struct place *p, const char *text)
{
    return db_int (p->db, text, -1);
}

/* Groups 1 to 3; their names are not in the order of their numbers. */
static void read_groups (struct place *p)
{
    assert_int_equal (sqlite3_open (":memory:", &p->db), SQLITE_OK);
    sql (p, "CREATE TABLE CommGroup (id INTEGER PRIMARY KEY, group_name,"
            " group_id, pg_name, type, size);"
            "CREATE TABLE CommGroupMember (comm_group, group_rank, rank);"
            "CREATE TABLE CommAnalyzerMatrix (group_name, rank, src_rank,"
            " dst_rank);"
            "INSERT INTO CommGroup VALUES (1, '77', '', '', '', 2),"
            " (2, '7', '', '', '', 2), (3, '8', '', '', '', 2);");
    assert_int_equal (cluster_groups_read (p->db, NULL, &p->groups, NULL), 0);
    (void)sqlite3_close (p->db);
}

static int setup (void **state)
{
    struct place *p = calloc (1, sizeof (*p));

    *state = p;
    (void)snprintf (p->dir, sizeof (p->dir), "/tmp/test_keys.XXXXXX");
    assert_non_null (mkdtemp (p->dir));
    (void)snprintf (p->path, sizeof (p->path), "%s/db", p->dir);
    (void)snprintf (p->temp, sizeof (p->temp), "%s/keys", p->dir);
    read_groups (p);
    return 0;
}

static int teardown (void **state)
{
    struct place *p = *state;

    left = -1;
    for (unsigned i = 0; i < BUFFERS; i++)
        texts_fini (&p->steps[i]);
    cluster_keys_fini (&p->keys);
    cluster_groups_destroy (p->groups);
    page_file_close (p->file);
    (void)sqlite3_close (p->db);
    (void)fileio_remove_tree (p->dir, NULL);
    free (p);
    return 0;
}

/* An empty table with its index, and a buffer and writer for each thread. */
static void begin (struct place *p, const char *columns)
{
    struct page_tree *rows;
    char text[160];

    assert_int_equal (sqlite3_open (p->path, &p->db), SQLITE_OK);
    (void)snprintf (text, sizeof (text), "CREATE TABLE t (step TEXT, rank"
                    " INTEGER, op TEXT, group_name TEXT, band TEXT);"
                    "CREATE INDEX t_key ON t %s", columns);
    sql (p, text);
    (void)sqlite3_close (p->db);
    p->db = NULL;
    assert_int_equal (page_file_open (p->path, &p->file, NULL), 0);
    assert_int_equal (page_file_tree (p->file, "t", &rows, NULL), 0);
    assert_int_equal (cluster_keys_create (&p->keys, p->temp, p->groups,
                                           strcmp (columns, BY_RANK) == 0,
                                           NULL), 0);
    assert_int_equal (access (p->temp, F_OK), -1);
    for (unsigned i = 0; i < BUFFERS; i++) {
        assert_int_equal (page_writer_open (rows, &p->writers[i], NULL), 0);
        assert_int_equal (key_buffer_open (&p->buffers[i], &p->keys,
                                           &p->steps[i], NULL), 0);
    }
}

struct row {
    char step[16], op[CLUSTER_NAME_SIZE];
    const char *band;
    uint32_t group;
};

/* Names of all sizes, some of which are the beginning of others; an op has
 * several rows, with other rows between some of them.
 */
static struct row row_of (unsigned rank, unsigned i)
{
    static const char *const bands[] = { "HCCS", "RDMA", "SIO" };
    unsigned op = i / 3 * 7919 % 97;
    struct row r = { .band = bands[i % 7 == 0 ? i % 3 : 1],
                     .group = 1 + (rank + i / 9) % 3 };

    (void)snprintf (r.step, sizeof (r.step), "step%u", 8 + (i / 100 + rank) % 4);
    (void)snprintf (r.op, sizeof (r.op), op % 4 ? "op%u" : "op%0*u",
                    op % 4 ? op : op * 5 % 490 + 1, op);
    return r;
}

static int add_rank (struct place *p, unsigned thread, unsigned rank,
                     struct err *err)
{
    struct texts *steps = &p->steps[thread];
    struct row last = { .band = NULL };
    int rc = page_writer_gap (p->writers[thread], NULL);

    for (unsigned i = 0; i < OPS && rc == 0; i++) {
        struct row r = row_of (rank, i);
        const char *group = cluster_groups_at (p->groups, r.group)->name;
        int64_t rowid = ((int64_t)rank << 32) + 1 + i;
        const char *band = p->keys.by_rank ? r.band : "";
        struct page_value values[] = {
            page_text (r.step, (uint32_t)strlen (r.step)), page_int (rank),
            page_text (r.op, (uint32_t)strlen (r.op)),
            page_text (group, (uint32_t)strlen (group)),
            page_text (r.band, (uint32_t)strlen (r.band)),
        };
        bool same = last.band && strcmp (last.op, r.op) == 0 &&
                    strcmp (last.step, r.step) == 0 && last.group == r.group &&
                    (last.band == r.band || *band == '\0');

        if (i % 50 == 49)
            continue;           // a row that is left out
        rc = page_writer_row (p->writers[thread], rowid, values, 5, NULL);
        if (rc == 0)
            rc = key_buffer_add (&p->buffers[thread],
                                 texts_intern (steps, r.step, strlen (r.step)),
                                 r.group, r.op, strlen (r.op), band, rowid,
                                 same, err);
        last = r;
    }
    return rc;
}

static int add_all (struct place *p, struct err *err)
{
    int rc = 0;

    for (unsigned rank = 0; rank < RANKS && rc == 0; rank++)
        rc = add_rank (p, rank / 4 % BUFFERS, rank, err);
    for (unsigned i = 0; i < BUFFERS; i++) {
        rc = key_buffer_close (&p->buffers[i], rc, err);
        assert_int_equal (page_writer_close (p->writers[i], NULL), 0);
    }
    return rc;
}

static int write_index (struct place *p, const atomic_bool *cancel,
                        struct err *err)
{
    struct page_writer *x = NULL;
    struct page_tree *index;
    int rc;

    assert_int_equal (page_file_tree (p->file, "t_key", &index, NULL), 0);
    assert_int_equal (page_writer_open (index, &x, NULL), 0);
    rc = cluster_keys_write (&p->keys, x, cancel, err);
    assert_int_equal (page_writer_close (x, NULL), 0);
    return rc;
}

/* SQLite says whether the index has each row, in order. */
static void whole (struct place *p, const char *columns)
{
    struct err err = { "" };

    begin (p, columns);
    if (add_all (p, &err) < 0 || write_index (p, NULL, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (p->keys.nruns > BUFFERS);      // of a thread, too
    assert_int_equal (page_file_finish (p->file, false, NULL), 0);
    page_file_close (p->file);
    p->file = NULL;
    assert_int_equal (sqlite3_open (p->path, &p->db), SQLITE_OK);
    assert_int_equal (number (p, "SELECT count(*) FROM t"),
                      RANKS * (OPS - OPS / 50));
    assert_int_equal (number (p, "SELECT integrity_check='ok' FROM "
                                 "pragma_integrity_check"), 1);
}

static void test_by_rank (void **state)
{
    whole (*state, BY_RANK);
}

static void test_by_group (void **state)
{
    whole (*state, BY_GROUP);
}

/* Without keys the index is empty. */
static void test_none (void **state)
{
    struct place *p = *state;

    begin (p, BY_RANK);
    for (unsigned i = 0; i < BUFFERS; i++) {
        assert_int_equal (key_buffer_close (&p->buffers[i], 0, NULL), 0);
        assert_int_equal (page_writer_close (p->writers[i], NULL), 0);
    }
    assert_int_equal (write_index (p, NULL, NULL), 0);
}

static void test_cancel (void **state)
{
    struct place *p = *state;
    atomic_bool cancel = true;
    struct err err = { "" };

    begin (p, BY_GROUP);
    assert_int_equal (add_all (p, &err), 0);
    assert_int_equal (write_index (p, &cancel, &err), -EINTR);
    assert_string_equal (err.text, "interrupted");
}

static void test_full (void **state)
{
    struct place *p = *state;
    struct err err = { "" };
    int64_t rowid = 1;
    char op[32];
    int rc = 0;

    begin (p, BY_RANK);
    left = 3;
    (void)texts_intern (&p->steps[0], "step", 4);
    for (; rc == 0; rowid++) {
        (void)snprintf (op, sizeof (op), "op%d", (int)rowid);
        rc = key_buffer_add (&p->buffers[0], 0, 1, op, strlen (op), "", rowid,
                             false, &err);
    }
    assert_int_equal (rc, -ENOSPC);
    assert_non_null (strstr (err.text, "No space left on device"));
    left = -1;
    for (unsigned i = 0; i < BUFFERS; i++) {
        assert_int_equal (key_buffer_close (&p->buffers[i], rc, NULL), rc);
        assert_int_equal (page_writer_close (p->writers[i], NULL), 0);
    }
}

int main (void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown (fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_by_rank),
        TEST (test_by_group),
        TEST (test_none),
        TEST (test_cancel),
        TEST (test_full),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
