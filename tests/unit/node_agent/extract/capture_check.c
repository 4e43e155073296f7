/* tests/unit/node_agent/extract/capture_check.c - captures that a test makes,
 * and reads */
#include "node_agent/extract/capture_check.h"

static char top[64], chosen[256];

int capture_begin (const char *name)
{
    (void)snprintf (top, sizeof (top), "/tmp/rollcall-capture-XXXXXX");
    if (!mkdtemp (top))
        return -1;
    capture_choose (name);
    return 0;
}

int capture_setup (void **state)
{
    (void)state;
    return capture_begin ("capture");
}

int capture_teardown (void **state)
{
    (void)state;
    return fileio_remove_tree (top, NULL);
}

void capture_choose (const char *name)
{
    assert_true (fileio_join (chosen, sizeof (chosen), top, name));
}

const char *capture_chosen (void)
{
    return chosen;
}

const char *capture_path (const char *name)
{
    static char path[512];
    char *slash;

    assert_true (fileio_join (path, sizeof (path), chosen, name));
    slash = strrchr (path, '/');
    *slash = '\0';
    assert_int_equal (fileio_mkdirs (path, 0700, NULL), 0);
    *slash = '/';
    return path;
}

void capture_put (const char *name, const char *text)
{
    capture_put_bytes (name, text, strlen (text));
}

void capture_put_bytes (const char *name, const void *data, size_t size)
{
    FILE *f = fopen (capture_path (name), "w");

    assert_non_null (f);
    assert_int_equal (fwrite (data, 1, size, f), size);
    assert_int_equal (fclose (f), 0);
}

int capture_read (const struct row_sink *sink, struct capture *c)
{
    struct err err = { "" };

    capture_init (c);
    return extract_capture (chosen, NULL, sink, c, &err);
}
