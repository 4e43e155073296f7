/* tests/unit/common/json/test_key_predictor.c - members of objects that are
 * written alike: as scan_member reads them, wherever the buffer ends */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/json/scan_check.h"
#include "json/key_predictor.h"

#include <stdlib.h>

#define FIELDS 4

static const struct predicted_key fields[FIELDS] = {
    SCAN_FIELD ("name"), SCAN_FIELD ("ts"), SCAN_FIELD ("args"),
    SCAN_FIELD ("transport type"),
};

static int field_of (const struct scan *s)
{
    for (int i = 0; i < FIELDS; i++) {
        if (scan_key_is (s, fields[i].key))
            return i;
    }
    return SCAN_OTHER;
}

/* The next member, by its key or as the last time. */
static int next_field (struct scan *s, struct key_predictor *h, bool *first)
{
    if (h)
        return key_predictor_next (h, s);
    return scan_member (s, first) ? field_of (s) : SCAN_DONE;
}

/* A list of objects: "<field>:<value>," for each member. */
static void dump_objects (struct source src, struct key_predictor *h,
                          struct buf *out)
{
    struct scan s;

    buf_clear (out);
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    enter_prefix (&s, &src);
    if (h)
        key_predictor_init (h, fields, FIELDS);
    if (scan_array (&s)) {
        for (bool any = true; scan_element (&s, &any);) {
            bool first = true;
            int field;

            if (!scan_object (&s))
                break;
            if (h)
                key_predictor_begin (h);
            while ((field = next_field (&s, h, &first)) != SCAN_DONE) {
                buf_printf (out, "%d:", field);
                dump_value (&s, out);
                buf_printf (out, ",");
                if (s.failed)
                    break;
            }
            buf_printf (out, ";");
        }
    }
    (void)scan_end (&s);
    buf_printf (out, "%s %llu", s.err.text, (unsigned long long)s.bad_utf8);
    scan_fini (&s);
}

static void check_alike (const char *doc)
{
    struct buf want, out;
    struct key_predictor h;
    // keys are remembered if as much follows them as there usually is
    size_t n = strlen (doc), size = n + SCAN_AHEAD + 64;
    char *text = malloc (size);

    assert_non_null (text);
    memset (text, ' ', size);
    memcpy (text, doc, n);
    buf_init (&want, 1u << 20);
    buf_init (&out, 1u << 20);
    for (size_t left = 0; left <= n + 2; left++) {
        size_t prefix = left ? SCAN_BUFFER - left : 0;

        dump_objects (source (text, size, prefix, SCAN_BUFFER), NULL, &want);
        for (size_t i = 0; i < CHUNKS; i++) {
            dump_objects (source (text, size, prefix, chunks[i]), &h, &out);
            if (strcmp (buf_text (&out), buf_text (&want)) != 0)
                fail_msg ("%.60s: %zu bytes in the buffer, reads of %zu: "
                          "%.200s, not %.200s", doc, left, chunks[i],
                          buf_text (&out), buf_text (&want));
        }
    }
    buf_fini (&want);
    buf_fini (&out);
    free (text);
}

static void test_same_order (void **state)
{
    (void)state;
    check_alike ("[{\"name\": \"a\", \"ts\": 1, \"x\": {}, \"args\": 2}, "
                 "{\"name\": \"b\", \"ts\": 3, \"x\": [], \"args\": 4}, "
                 "{\"name\": \"c\", \"ts\": 5, \"x\": 1, \"args\": 6}]");
    check_alike ("[{\"ts\":1,\"name\":2},{\"ts\":3,\"name\":4},{}, "
                 "{\"ts\":5}]");
    check_alike ("[{\n    \"name\": 1,\n    \"transport type\": 2\n}, "
                 "{\n    \"name\": 3,\n    \"transport type\": 4\n}]");
}

/* What differs from the last time is read as if nothing was known. */
static void test_other_order (void **state)
{
    (void)state;
    check_alike ("[{\"name\": 1, \"ts\": 2}, {\"ts\": 3, \"name\": 4}, "
                 "{\"name\": 5, \"tsx\": 6}, {\"name\": 7,\"ts\": 8}, "
                 "{\"nam\": 9, \"ts\" : 1}, {\"name\" : 2, \"ts\": 3}, "
                 "{\"name\": 4, \"ts\":  5}, { \"name\": 6}]");
}

/* Keys that are not what they look like. */
static void test_odd_keys (void **state)
{
    (void)state;
    check_alike ("[{\"\\u006eame\": 1, \"t\\u0073\": 2}, "
                 "{\"\\u006eame\": 3, \"t\\u0073\": 4}]");
    check_alike ("[{\"name\xff\": 1, \"ts\xc3\xa9\": 2}, "
                 "{\"name\xff\": 3, \"ts\xc3\xa9\": 4}]");
    check_alike ("[{\"\": 1, \"\": 2}, {\"\": 3, \"\": 4}]");
}

/* The same sentence at the same byte. */
static void test_damage (void **state)
{
    (void)state;
    check_alike ("[{\"name\": 1, \"ts\": 2}, {\"name\": 3, \"ts\" 4}]");
    check_alike ("[{\"name\": 1, \"ts\": 2}, {\"name\": 3, \"ts\": }]");
    check_alike ("[{\"name\": 1, \"ts\": 2}, {\"name\": 3 \"ts\": 4}]");
    check_alike ("[{\"name\": 1, \"ts\": 2}, {, \"ts\": 4}]");
    check_alike ("[{\"name\": 1, \"ts\": 2}, {\"name\": 3, }]");
    check_alike ("[{\"name\": 1, \"ts\": 2}, {\"name\": 3, \"ts\": ");
    check_alike ("[{\"name\": 1, \"ts\": 2}, {\"name\": 3, \"t");
    check_alike ("[{\"name\": 1, \"ts\": 2}, {\"name\": 3, \"ts\": 4]");
}

/* More members than there are places. */
static void test_many_members (void **state)
{
    struct buf doc;

    (void)state;
    buf_init (&doc, 1u << 16);
    for (int o = 0; o < 2; o++) {       // short: it is cut at each byte
        buf_printf (&doc, "%s", o ? "},{" : "[{");
        for (unsigned i = 0; i < KEY_PREDICTOR_TEXTS + 3; i++)
            buf_printf (&doc, "%s\"%u\":%u", i ? "," : "", i, i % 10);
    }
    buf_printf (&doc, "}]");
    check_alike (buf_text (&doc));
    buf_fini (&doc);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_same_order),
        cmocka_unit_test (test_other_order),
        cmocka_unit_test (test_odd_keys),
        cmocka_unit_test (test_damage),
        cmocka_unit_test (test_many_members),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
