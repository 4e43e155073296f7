/* tests/unit/node_agent/extract/input/test_trace_keys.c - members of a trace's
 * objects, as trace_member reads them, whatever was remembered before
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "extract/input/trace_keys.h"

#include <stdio.h>
#include <stdlib.h>

#define FIELDS 3

static const struct predicted_key fields[FIELDS] = {
    SCAN_FIELD ("ts"), SCAN_FIELD ("name"), SCAN_FIELD ("External id"),
};

static int field_of (struct span key)
{
    for (int i = 0; i < FIELDS; i++) {
        if (span_is (key, fields[i].key))
            return i;
    }
    return TRACE_KEY_OTHER;
}

/* "<field>:<type><value>;" for each member, and where the object ended. */
static void by_member (const char *p, const char *end, struct buf *out)
{
    const char *start = p++;
    struct span key, v;
    int more;
    char type;

    while ((more = trace_member (&p, end, &key, &v, &type)) == 1)
        buf_printf (out, "%d:%c%.*s;", field_of (key), type, (int)v.n, v.s);
    buf_printf (out, "%d %td\n", more, more < 0 ? 0 : p - start);
}

static void by_keys (struct key_predictor *k, const char *p, const char *end,
                     struct buf *out)
{
    const char *start = p++;
    struct span v;
    int key;

    key_predictor_begin (k);
    while ((key = trace_keys_next (k, &p, end)) >= TRACE_KEY_OTHER) {
        char type = *p;

        if (!(p = trace_value (p, end, &v)))
            break;
        buf_printf (out, "%d:%c%.*s;", key, type, (int)v.n, v.s);
    }
    buf_printf (out, "%d %td\n", key == TRACE_KEY_END ? 0 : -1,
                key == TRACE_KEY_END ? p - start : 0);
}

/* Read an object with all its ends. */
static void check (struct key_predictor *k, const char *text, bool ends)
{
    size_t n = strlen (text);
    char *own = calloc (1, n + TRACE_PAD);
    struct buf a, b;

    assert_non_null (own);
    memcpy (own, text, n);
    buf_init (&a, 4096);
    buf_init (&b, 4096);
    for (size_t end = ends ? 1 : n; end <= n; end++) {
        buf_clear (&a);
        buf_clear (&b);
        by_member (own, own + end, &a);
        by_keys (k, own, own + end, &b);
        buf_put (&a, "", 1);
        buf_put (&b, "", 1);
        assert_string_equal ((char *)b.data, (char *)a.data);
    }
    buf_fini (&a);
    buf_fini (&b);
    free (own);
}

static const char *const objects[] = {
    "{\"ts\": 1.5, \"name\": \"a\", \"External id\": 3}",
    "{\"ts\": 2.5, \"name\": \"b\", \"External id\": 4}",
    "{\"ts\":2.5, \"name\": \"b\",  \"External id\": 4 }",
    "{\n  \"ts\": 1, \"cat\": \"c\", \"name\": \"a\",\n \"args\": {\"x\": 1}}",
    "{\"ts\" : 1,\"name\"\t:\"b\"}",
    "{\"ts\":  1,\"name\":\n\n\"b\",}",
    "{\"ts\": ,\"name\": \"b\"}",
    "{\"ts\": 1 \"name\": \"b\"}",
    "{\"t\\u0073\": 1, \"na\"me\": \"b\"}",
    "{\"a key that is longer than all that is remembered\": 1, \"ts\": 2}",
    "{}", "{ }", "{,}", "{\"ts\"}", "{\"ts\":", "{\"ts\": 1", "{\"ts\": }",
    "{\"a\": [1, 2], \"b\": {\"c\": {}}, \"ts\": -7}",
};

#define OBJECTS (sizeof (objects) / sizeof (objects[0]))

/* Each object after each other one, complete and cut anywhere. */
static void test_pairs (void **state)
{
    static struct key_predictor k;

    (void)state;
    for (unsigned i = 0; i < OBJECTS; i++) {
        key_predictor_init (&k, fields, FIELDS);
        for (unsigned j = 0; j < OBJECTS; j++) {
            check (&k, objects[i], false);
            check (&k, objects[j], true);
        }
    }
}

/* More texts than there is room for, and more after one than are remembered. */
static void test_many (void **state)
{
    static struct key_predictor k;

    (void)state;
    key_predictor_init (&k, fields, FIELDS);
    for (unsigned i = 0; i < 5 * KEY_PREDICTOR_TEXTS; i++) {
        char text[100];

        (void)snprintf (text, sizeof (text), "{\"k%u\": 1,%*s\"ts\": 3, "
                        "\"name\": \"x\"%*s}", i % 100, (int)(i % 7), "",
                        (int)(i % 3), "");
        check (&k, text, i % 10 == 0);
        assert_true (k.n <= KEY_PREDICTOR_TEXTS);
    }
}

/* What follows the same text as the last time is not looked up again. */
static void test_remembered (void **state)
{
    static const struct predicted_key none[] = { SCAN_FIELD ("x") };
    static struct key_predictor k;
    char text[64 + TRACE_PAD] = "{\"ts\": 1}";
    const char *p = text + 1;

    (void)state;
    key_predictor_init (&k, fields, FIELDS);
    assert_int_equal (trace_keys_next (&k, &p, text + 9), 0);
    k.fields = none;
    p = text + 1;
    key_predictor_begin (&k);
    assert_int_equal (trace_keys_next (&k, &p, text + 9), 0);
    assert_int_equal (*p, '1');
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_pairs),
        cmocka_unit_test (test_many),
        cmocka_unit_test (test_remembered),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
