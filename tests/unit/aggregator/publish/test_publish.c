/* tests/unit/aggregator/publish/test_publish.c - files get their final names */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "publish/publish.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct publish_caller nobody = { NULL, NULL, NULL };

static char out[64];
static struct publish p, q;

static int start (void **state)
{
    (void)state;
    (void)snprintf (out, sizeof (out), "/tmp/test_publish-XXXXXX");
    return mkdtemp (out) && publish_open (&p, out, NULL, true, NULL) == 0 &&
           publish_open (&q, out, NULL, true, NULL) == 0 ? 0 : -1;
}

static int end (void **state)
{
    (void)state;
    publish_close (&p);
    publish_close (&q);
    return fileio_remove_tree (out, NULL);
}

static bool is_ours (const char *path)
{
    (void)path;
    return true;
}

/* A finished file of this content, with its temporary name in 'temp'. */
static void make (struct publish *by, const char *name, const char *content,
                  char temp[PATH_MAX])
{
    FILE *f;

    assert_int_equal (publish_temp (by, name, 0, temp, NULL), 0);
    assert_non_null (f = fopen (temp, "w"));
    assert_true (fputs (content, f) >= 0);
    assert_int_equal (fclose (f), 0);
}

static int finish (struct publish *by, const char *name, const char *content,
                   struct err *err)
{
    char temp[PATH_MAX], kept[PATH_MAX];

    make (by, name, content, temp);
    return publish_finish (by, temp, name, is_ours, NULL, kept, err);
}

/* "": there is none. */
static const char *content_of (const char *name)
{
    static char text[64];
    FILE *f;
    size_t n = 0;
    char path[PATH_MAX];

    assert_true (fileio_join (path, sizeof (path), p.dir.path, name));
    if ((f = fopen (path, "r"))) {
        n = fread (text, 1, sizeof (text) - 1, f);
        (void)fclose (f);
    }
    text[n] = '\0';
    return text;
}

static void what_was_brought_has_only_to_be_renamed (void **state)
{
    char temp[PATH_MAX], kept[PATH_MAX];

    (void)state;
    p.copied = true;
    make (&p, "a", "new", temp);
    assert_int_equal (publish_bring (&p, temp, NULL, NULL), 0);
    assert_string_equal (content_of ("a"), "");
    assert_int_equal (unlink (temp), 0);
    assert_int_equal (publish_bring (&p, temp, NULL, NULL), 0);
    assert_int_equal (publish_finish (&p, temp, "a", is_ours, NULL, kept, NULL),
                      0);
    assert_string_equal (content_of ("a"), "new");
    // and others after it, which were not brought
    assert_int_equal (finish (&p, "a", "newer", NULL), 0);
    assert_string_equal (content_of ("a"), "newer");
}

static void a_copy_can_be_interrupted (void **state)
{
    const atomic_bool cancel = true;
    char temp[PATH_MAX], kept[PATH_MAX];

    (void)state;
    p.copied = true;
    make (&p, "a", "new", temp);
    assert_int_equal (publish_bring (&p, temp, &cancel, NULL), -EINTR);
    assert_int_equal (publish_finish (&p, temp, "a", is_ours, &cancel, kept,
                                      NULL), -EINTR);
    assert_string_equal (content_of ("a"), "");
    // nothing that looks like the whole file is left
    assert_int_equal (publish_finish (&p, temp, "a", is_ours, NULL, kept, NULL),
                      0);
    assert_string_equal (content_of ("a"), "new");
}

static void without_locks_files_of_two_builds_are_not_mixed (void **state)
{
    struct err err = { "" };

    (void)state;
    assert_int_equal (finish (&p, PUBLISH_DB_NAME, "of p", NULL), 0);
    assert_int_equal (finish (&p, "beside", "of p", NULL), 0);
    assert_int_equal (finish (&q, PUBLISH_DB_NAME, "of q", NULL), 0);
    assert_int_equal (finish (&p, "beside", "of p", &err), -ESTALE);
    assert_non_null (strstr (err.text, "has no locks"));
    assert_int_equal (finish (&q, "beside", "of q", NULL), 0);
    assert_string_equal (content_of ("beside"), "of q");
}

/* Then a viewer may have put another file there. */
static void with_a_lock_nobody_is_suspected (void **state)
{
    char newer[PUBLISH_JOB_MAX];

    (void)state;
    assert_int_equal (publish_choose (&p, NULL, NULL, &nobody, newer, NULL), 0);
    assert_int_equal (finish (&p, PUBLISH_DB_NAME, "of p", NULL), 0);
    assert_int_equal (finish (&q, PUBLISH_DB_NAME, "of q", NULL), 0);
    assert_int_equal (finish (&p, "beside", "of p", NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, start, end)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (what_was_brought_has_only_to_be_renamed),
        TEST (a_copy_can_be_interrupted),
        TEST (without_locks_files_of_two_builds_are_not_mixed),
        TEST (with_a_lock_nobody_is_suspected),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
