/* tests/unit/node_agent/spool/manifest_check.c - what manifest_check.h declares
 */
#include "node_agent/spool/manifest_check.h"

char dir[64];

const char *in_dir (const char *name)
{
    static char path[4][256];
    static unsigned n;
    char *at = path[n++ % 4];

    (void)snprintf (at, sizeof (path[0]), "%s/%s", dir, name);
    return at;
}

void put (const char *name, const char *text)
{
    FILE *f = fopen (in_dir (name), "w");

    assert_non_null (f);
    assert_true (fputs (text, f) >= 0);
    assert_int_equal (fclose (f), 0);
}

int make_capture (void **state)
{
    (void)state;
    (void)strcpy (dir, "/tmp/test_manifest.XXXXXX");
    if (!mkdtemp (dir) || mkdir (in_dir ("c"), 0700) < 0 ||
        mkdir (in_dir ("c/sub"), 0700) < 0)
        return -1;
    put ("outside", "not of the capture");
    put ("c/a", "1");
    put ("c/sub/b", "22");
    put ("c/z", "333");
    return 0;
}

int remove_capture (void **state)
{
    char command[128];

    (void)state;
    (void)snprintf (command, sizeof (command), "rm -rf '%s'", dir);
    return system (command);
}

struct buf take (void)
{
    struct buf b;
    size_t files = 0;

    buf_init (&b, MANIFEST_MAX);
    assert_int_equal (manifest_take (in_dir ("c"), &b, &files, NULL), 0);
    assert_int_equal (files, 3);
    return b;
}
