/* tests/unit/node_agent/extract/kineto/trace_check.c - small traces, and what
 * was read of them */
#include "node_agent/extract/kineto/trace_check.h"

#include "store/fileio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char top[64];

int trace_setup (void **state)
{
    (void)state;
    (void)snprintf (top, sizeof (top), "/tmp/rollcall-trace-XXXXXX");
    return mkdtemp (top) ? 0 : -1;
}

int trace_teardown (void **state)
{
    (void)state;
    return fileio_remove_tree (top, NULL);
}

static void add (struct seen *s, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

static void add (struct seen *s, const char *fmt, ...)
{
    size_t used = strlen (s->rows);
    va_list ap;

    va_start (ap, fmt);
    (void)vsnprintf (s->rows + used, sizeof (s->rows) - used, fmt, ap);
    va_end (ap);
}

/* As few digits as give it back. */
static void add_number (struct seen *s, double v)
{
    char text[40];
    int digits = fabs (v) < 1e15 ? 14 : 16;     // no exponent

    do
        (void)snprintf (text, sizeof (text), "%.*g", ++digits, v);
    while (digits < 17 && strtod (text, NULL) != v);
    add (s, "|%s", text);
}

static int keep_rows (void *arg, const struct batch *b, struct err *err)
{
    const struct table *t = schema_table (b->table);

    (void)err;
    for (uint32_t i = 0; i < b->nrows; i++) {
        add (arg, "%s", t->name);
        for (unsigned col = 0; col < t->ncolumns; col++) {
            const char *text = NULL;
            size_t n;

            if (schema_is_text (&t->columns[col]))
                text = batch_text_at (b, b->text[col][i], &n);
            else if (!isnan (b->real[col][i])) {
                add_number (arg, b->real[col][i]);
                continue;
            }
            add (arg, "|%s", text ? text : "NULL");
        }
        add (arg, "\n");
    }
    return 0;
}

static int forget (void *arg, enum table_id table, struct err *err)
{
    (void)arg;
    (void)table;
    (void)err;
    fail ();                    // nothing else has these rows
    return 0;
}

static void write_file (char path[128], const char *name, const void *data,
                        size_t size)
{
    FILE *f;

    assert_true (fileio_join (path, 128, top, name));
    assert_non_null (f = fopen (path, "w"));
    assert_int_equal (fwrite (data, 1, size, f), size);
    assert_int_equal (fclose (f), 0);
}

static void read_steps (const char *name, const void *data, size_t size,
                        const char *steps, struct seen *seen)
{
    const struct row_sink sink = { keep_rows, forget, seen };
    struct steps_filter filter = { .nranges = 0 };
    struct err err = { "" };
    char path[128];

    if (steps)
        assert_int_equal (steps_parse (steps, &filter, &err), 0);
    write_file (path, name, data, size);
    seen->rows[0] = '\0';
    capture_init (&seen->capture);
    assert_int_equal (extract_capture (path, &filter, &sink, &seen->capture,
                                       &err), 0);
}

void trace_read (const char *name, const char *text, const char *steps,
                 struct seen *seen)
{
    read_steps (name, text, strlen (text), steps, seen);
}

void trace_read_bytes (const char *name, const void *data, size_t size,
                       struct seen *seen)
{
    read_steps (name, data, size, NULL, seen);
}

void trace_seen_fini (struct seen *seen)
{
    capture_fini (&seen->capture);
}

void trace_glance (const char *name, const char *text, struct capture *c)
{
    struct extract_look look;
    char path[128];

    write_file (path, name, text, strlen (text));
    capture_init (c);
    assert_int_equal (extract_glance (path, c, &look, NULL), 0);
}

static bool has (const struct seen *seen, const char *row)
{
    size_t n = strlen (row);

    for (const char *p = seen->rows; *p; p++) {
        if (strncmp (p, row, n) == 0)
            return true;
        if (!(p = strchr (p, '\n')))
            break;
    }
    return false;
}

void trace_has (const struct seen *seen, const char *row)
{
    if (!has (seen, row))
        fail_msg ("no row \"%s\" in\n%sreason: %s", row, seen->rows,
                  seen->capture.reason);
}

void trace_has_not (const struct seen *seen, const char *row)
{
    if (has (seen, row))
        fail_msg ("there is a row \"%s\" in\n%s", row, seen->rows);
}

void trace_reason (const struct seen *seen, const char *text)
{
    if (!strstr (seen->capture.reason, text))
        fail_msg ("no \"%s\" in \"%s\"", text, seen->capture.reason);
}
