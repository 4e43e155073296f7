/* tests/unit/common/json/test_status.c - a daemon's status, on a full disk, too
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/status.h"
#include "store/fileio.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM 1000               // what a reason may take

struct place {
    char dir[32], path[64], temp[96];
    char *last;
};

static void begin (struct place *p)
{
    memset (p, 0, sizeof (*p));
    (void)snprintf (p->dir, sizeof (p->dir), "/tmp/rollcall.XXXXXX");
    assert_non_null (mkdtemp (p->dir));
    (void)snprintf (p->path, sizeof (p->path), "%s/status.json", p->dir);
    (void)snprintf (p->temp, sizeof (p->temp), "%s.tmp.%ld", p->path,
                    (long)getpid ());
}

static void end (struct place *p)
{
    free (p->last);
    assert_int_equal (fileio_remove_tree (p->dir, NULL), 0);
}

static void say (struct place *p, const char *state, const char *why)
{
    struct json *j = status_begin ("test", "j", state);

    json_add_text (j, "why", why);
    status_write (j, p->path, &p->last);
}

static void says (const struct place *p, const char *state, const char *why)
{
    struct json *j;
    struct buf text;

    buf_init (&text, STATUS_MAX);
    assert_int_equal (fileio_read_at (AT_FDCWD, p->path, &text, NULL), 0);
    j = json_parse ((const char *)text.data, text.size, NULL);
    assert_non_null (j);
    assert_string_equal (json_text (json_get (j, "state"), ""), state);
    assert_string_equal (json_text (json_get (j, "why"), ""), why);
    json_free (j);
    buf_fini (&text);
}

/* No new file can be made, as on a full disk: the old one must not go on to
 * say that all is well, nor end in pieces of what was said before.
 */
static void test_no_room (void **state)
{
    char why[ROOM + 1];
    struct stat before, after;
    struct place p;

    (void)state;
    memset (why, 'x', ROOM);
    why[ROOM] = '\0';
    begin (&p);
    say (&p, "serving", "");
    says (&p, "serving", "");
    assert_int_equal (stat (p.path, &before), 0);
    assert_int_equal (mkdir (p.temp, 0700), 0);
    say (&p, "no-room", why);
    says (&p, "no-room", why);
    say (&p, "no-room", "less");
    says (&p, "no-room", "less");
    assert_int_equal (stat (p.path, &after), 0);
    assert_int_equal (after.st_ino, before.st_ino);
    assert_int_equal (after.st_size, before.st_size);   // no more room
    assert_int_equal (rmdir (p.temp), 0);
    say (&p, "serving", "");
    says (&p, "serving", "");
    end (&p);
}

/* What has not changed is not written again: the file may be gone. */
static void test_unchanged (void **state)
{
    struct place p;

    (void)state;
    begin (&p);
    say (&p, "serving", "");
    assert_int_equal (unlink (p.path), 0);
    say (&p, "serving", "");
    assert_int_equal (access (p.path, F_OK), -1);
    say (&p, "over", "");
    says (&p, "over", "");
    end (&p);
}

/* A process chooses its name: it could look like the fields behind it, and a
 * daemon seem to be another one.
 */
static void test_start_time (void **state)
{
    int64_t began = status_start_time (getpid ());
    char name[16];

    (void)state;
    assert_true (began > 0);
    assert_int_equal (prctl (PR_GET_NAME, name), 0);
    assert_int_equal (prctl (PR_SET_NAME, "a) R 1 (b"), 0);
    assert_int_equal (status_start_time (getpid ()), began);
    assert_int_equal (prctl (PR_SET_NAME, name), 0);
    assert_int_equal (status_start_time (0x7fffffff), 0);       // nobody
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_no_room),
        cmocka_unit_test (test_unchanged),
        cmocka_unit_test (test_start_time),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
