/* tests/unit/common/store/dir_check.c - see dir_check.h */
#include "common/store/dir_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char dir[PATH_MAX];

int dir_setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");

    (void)state;
    (void)snprintf (dir, sizeof (dir), "%s/test_files.XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    return mkdtemp (dir) ? chdir (dir) : -1;
}

/* rm, and not the code under test: a bug there must not hide here. */
int dir_teardown (void **state)
{
    char command[PATH_MAX + 16];

    (void)state;
    if (chdir ("/") < 0)
        return -1;
    (void)snprintf (command, sizeof (command), "rm -rf '%s'", dir);
    return system (command);
}

void put_file (const char *name, const char *text)
{
    FILE *f = fopen (name, "w");

    assert_non_null (f);
    assert_int_equal (fwrite (text, 1, strlen (text), f), strlen (text));
    assert_int_equal (fclose (f), 0);
}

void assert_file (const char *name, const char *want)
{
    char text[256];
    FILE *f = fopen (name, "r");
    size_t n;

    assert_non_null (f);
    n = fread (text, 1, sizeof (text) - 1, f);
    text[n] = '\0';
    assert_int_equal (fclose (f), 0);
    assert_string_equal (text, want);
}

bool exists (const char *name)
{
    struct stat st;

    return lstat (name, &st) == 0;
}

unsigned count_entries (const char *name)
{
    DIR *d = opendir (name);
    unsigned n = 0;

    assert_non_null (d);
    while (readdir (d))
        n++;
    assert_int_equal (closedir (d), 0);
    return n - 2;               // "." and ".."
}
