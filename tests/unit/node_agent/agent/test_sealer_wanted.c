/* tests/unit/node_agent/agent/test_sealer_wanted.c - raw files that are not
 * wanted, and those that are asked for later
 */
#include "node_agent/agent/sealer_check.h"

#include <fcntl.h>

/* Raw files that are not wanted after all are left out, but not those that exist
 * nowhere else.
 */
static void test_left (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    put (f, "a.json", 1);
    put (f, "b.json", 1);
    put (f, "c.json", 1);
    (void)snprintf (path, sizeof (path), "%s", in (f, "b.json"));
    f->left = path;
    seal (f);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 2);
    assert_string_equal (f->raw_path, "b.json");
    assert_int_equal (links (f), 1);
    f->left = in (f, "none");
    seal (f);
    assert_int_equal (f->nitems, 1);
    assert_int_equal (links (f), 0);
}

static void seal_wanted (struct fixture *f, struct seal_wanted *w)
{
    assert_int_equal (sealer_add_wanted (f->sealer, f->capture, 1, f->shipment,
                                         f->again, w), 0);
    run (f);
}

static struct seal_wanted *wanted (const char *pattern)
{
    struct seal_wanted *w = calloc (1, sizeof (*w));

    assert_non_null (w);
    (void)snprintf (w->pattern, sizeof (w->pattern), "%s", pattern);
    w->known.next_number = 3;
    return w;
}

/* No rows, and no file but those that are wanted and not in the spool yet. */
static void test_wanted (void **state)
{
    struct fixture *f = *state;
    struct seal_wanted *w = wanted ("*.json");
    char link[PATH_MAX];

    put (f, "a.json", 1);
    put (f, "b.json", 1);
    put (f, "data", 1);
    assert_non_null (w->known.files = calloc (1, sizeof (*w->known.files)));
    w->known.files[0] = (struct spool_raw){ strdup ("a.json"), SPOOL_DURABLE,
                                            "" };
    w->known.n = 1;
    seal_wanted (f, w);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 1);
    assert_string_equal (f->raw_path, "b.json");
    assert_int_equal (access (f->shipment, F_OK), -1);
    // its link has a number that no other file of the version has
    (void)snprintf (link, sizeof (link), "%s/1-3", f->dir);
    assert_int_equal (access (link, F_OK), 0);
}

/* One that was given up is sealed again. */
static void test_wanted_again (void **state)
{
    struct fixture *f = *state;
    struct seal_wanted *w = wanted ("");

    put (f, "a.json", 1);
    assert_non_null (w->known.files = calloc (1, sizeof (*w->known.files)));
    w->known.files[0] = (struct spool_raw){ strdup ("a.json"), SPOOL_UNWANTED,
                                            "" };
    w->known.n = 1;
    seal_wanted (f, w);
    assert_int_equal (f->nitems, 1);
}

/* What was written since then is not what the rows are of. */
static void test_wanted_later (void **state)
{
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    struct fixture *f = *state;
    struct seal_wanted *w = wanted ("");

    put (f, "a.json", 1);
    put (f, "b.json", 1);
    assert_int_equal (utimensat (AT_FDCWD, in (f, "a.json"), old, 0), 0);
    w->newest_ns = 2000 * NS_PER_S;
    seal_wanted (f, w);
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 1);
    assert_string_equal (f->raw_path, "a.json");
    assert_int_equal (f->skipped, 1);
    assert_non_null (strstr (f->why.text, "b.json: it was written to after"));
}

/* Whoever may move another's file into his capture must not get to see it. */
static void test_wanted_of_others (void **state)
{
    struct fixture *f = *state;

    if (geteuid () != 0)
        skip ();
    put (f, "a.json", 1);
    put (f, "b.json", 1);
    assert_int_equal (chown (in (f, "b.json"), 1234, (gid_t)-1), 0);
    seal_wanted (f, wanted (""));
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 1);
    assert_string_equal (f->raw_path, "a.json");
    assert_non_null (strstr (f->why.text, "b.json: it is another user's"));
}

/* Nothing of it is left in the spool. */
static void test_wanted_fails (void **state)
{
    struct fixture *f = *state;
    char link[PATH_MAX];

    put (f, "a.json", 1);
    put (f, "z", BAD_SIZE);
    bad_with = -EIO;
    seal_wanted (f, wanted (""));
    assert_int_equal (f->rc, -EIO);
    (void)snprintf (link, sizeof (link), "%s/1-3", f->dir);
    assert_int_equal (access (link, F_OK), -1);
    f->again = true;            // the others come
    seal_wanted (f, wanted (""));
    assert_int_equal (f->rc, 0);
    assert_int_equal (f->nitems, 1);
    assert_int_equal (f->skipped, 1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        SEALER_TEST (test_left),
        SEALER_TEST (test_wanted),
        SEALER_TEST (test_wanted_again),
        SEALER_TEST (test_wanted_later),
        SEALER_TEST (test_wanted_of_others),
        SEALER_TEST (test_wanted_fails),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
