/* tests/unit/common/store/test_db.c - which file is opened */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/db.h"
#include "store/fileio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names of files, whatever SQLite may make of them. */
static void no_path_is_a_uri (void **state)
{
    static const char *const names[] = {
        "file:a?mode=memory", "file:b?vfs=memdb", "file:c#d", "file:%41",
        "file:", "file::memory:", "a?mode=ro", "b#c%20d",
    };
    char dir[] = "/tmp/test_db-XXXXXX";

    (void)state;
    assert_non_null (mkdtemp (dir));
    assert_int_equal (chdir (dir), 0);
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        char path[100];
        sqlite3 *db = NULL;
        struct err err = { "" };

        assert_int_equal (db_open (names[i], SQLITE_OPEN_READWRITE |
                                   SQLITE_OPEN_CREATE, &db), 0);
        if (db_exec (db, "CREATE TABLE t (x)", &err) < 0)
            fail_msg ("%s: %s", names[i], err.text);
        (void)snprintf (path, sizeof (path), "%s/%s", dir, names[i]);
        assert_string_equal (sqlite3_db_filename (db, "main"), path);
        (void)sqlite3_close (db);
        assert_true (fileio_has (dir, names[i]));
    }
    assert_int_equal (chdir ("/"), 0);
    assert_int_equal (fileio_remove_tree (dir, NULL), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (no_path_is_a_uri) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
