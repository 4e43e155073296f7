/* tests/unit/aggregator/archive/test_archive_stream.c - items in a pipe, there and back */
#include "aggregator/ledger/ledger_check.h"
#include "archive/archive_items.h"
#include "archive/archive_stream.h"

#include <fcntl.h>

static struct root *root;

static int put_one (void *arg, struct archive *a, const char *job)
{
    struct archive_items list;
    struct ledger_item item;

    (void)arg;
    assert_int_equal (archive_list (a, job, NULL, &list, NULL), 0);
    for (size_t i = 0; i < list.n; i++) {
        archive_item (&list, i, &item);
        assert_int_equal (archive_stream_put (a, &item), 0);
    }
    archive_items_fini (&list);
    return 0;
}

/* As a verb: what it prints is caught. */
static int print (int argc, char **argv)
{
    struct archive a;

    (void)argc;
    assert_int_equal (archive_open (root->dir, &a, NULL), 0);
    (void)put_one (NULL, &a, argv[1]);
    archive_close (&a);
    return 0;
}

static void enter_raw (const char *path, const char *bytes)
{
    struct ledger_item i = true_item ("c\n\x01 odd", bytes);

    i.kind = ITEM_RAW;
    i.newest_ns = 77;
    (void)snprintf (i.host, sizeof (i.host), "left");
    i.facts = (struct file_facts){ 0100640, 12345, -1, -1 };
    (void)snprintf (i.path, sizeof (i.path), "%s", path);
    assert_int_equal (enter (root, i, bytes), 1);
}

/* The stream of two items in a file; 'size' is how much of it there is. */
static FILE *stream (size_t size)
{
    char path[PATH_MAX];
    FILE *f = tmpfile ();
    int out;

    (void)snprintf (path, sizeof (path), "%s/stream", root->dir);
    assert_non_null (f);
    (void)fflush (stdout);
    out = dup (STDOUT_FILENO);
    assert_true (out >= 0 && dup2 (fileno (f), STDOUT_FILENO) >= 0);
    assert_int_equal (print (2, (char *[]){ path, (char[]){ "j" }, NULL }), 0);
    (void)fflush (stdout);
    assert_true (dup2 (out, STDOUT_FILENO) >= 0);
    (void)close (out);
    if (size > 0)
        assert_int_equal (ftruncate (fileno (f), (off_t)size), 0);
    rewind (f);
    return f;
}

static void test_there_and_back (void **state)
{
    struct ledger_item i;
    int64_t world = -1;
    FILE *f, *to = tmpfile ();
    char text[32] = "";
    const struct size_claim six = { .by = CLAIM_EXPECT, .world_size = 6 };

    root = *state;
    enter_raw ("dir/one", "first\n5\n");
    enter_raw ("two", "second");
    assert_int_equal (ledger_set_claim (root->l, "j", &six, NULL), 0);
    f = stream (0);
    assert_int_equal (archive_stream_next (f, &i, &world, NULL), 1);
    assert_string_equal (i.job, "j");
    assert_string_equal (i.capture, "c\n\x01 odd");
    assert_string_equal (i.path, "dir/one");
    assert_string_equal (i.host, "left");
    assert_int_equal (world, 6);
    assert_int_equal (i.rank, 4);
    assert_int_equal (i.newest_ns, 77);
    assert_int_equal (i.kind, ITEM_RAW);
    assert_int_equal (i.facts.mode, 0100640);
    assert_int_equal (i.facts.mtime_ns, 12345);
    assert_int_equal (archive_stream_fill (f, -1, NULL), 0);
    assert_int_equal (archive_stream_next (f, &i, &world, NULL), 1);
    assert_string_equal (i.path, "two");
    assert_int_equal (archive_stream_fill (f, fileno (to), NULL), 0);
    assert_int_equal (pread (fileno (to), text, sizeof (text) - 1, 0), 6);
    assert_string_equal (text, "second");
    assert_int_equal (archive_stream_next (f, &i, &world, NULL), 0);
    (void)fclose (f);
    (void)fclose (to);
}

/* Wherever it ends, half of a file is not taken for all of it. */
static void test_cut (void **state)
{
    struct ledger_item i;
    int64_t world = -1;
    long whole;
    FILE *f;
    int rc;

    root = *state;
    enter_raw ("one", "first");
    f = stream (0);
    (void)fseek (f, 0, SEEK_END);
    whole = ftell (f);
    (void)fclose (f);
    for (long n = 1; n < whole - 1; n++) {
        f = stream ((size_t)n);
        if ((rc = archive_stream_next (f, &i, &world, NULL)) == 1)
            rc = archive_stream_fill (f, -1, NULL);
        assert_int_equal (rc, -EPROTO);
        (void)fclose (f);
    }
}

/* Paths are checked: a service cannot have files written elsewhere. */
static void test_path (void **state)
{
    struct ledger_item i;
    int64_t world = -1;
    char text[4096];
    size_t n;
    char *at;
    FILE *f;

    root = *state;
    enter_raw ("abc", "first");
    f = stream (0);
    n = fread (text, 1, sizeof (text), f);
    at = memmem (text, n, "abc", 4);
    assert_non_null (at);
    memcpy (at, "../", 3);
    rewind (f);
    assert_int_equal (fwrite (text, 1, n, f), n);
    rewind (f);
    assert_int_equal (archive_stream_next (f, &i, &world, NULL), -EPROTO);
    (void)fclose (f);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_there_and_back), ROOT_TEST (test_cut),
        ROOT_TEST (test_path),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
