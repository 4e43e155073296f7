/* tests/unit/node_agent/extract/input/test_trace_skip.c - where containers of a
 * trace end: as going on byte by byte finds it, in each way, with each byte at
 * each place of a block
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/input/trace_skip.h"
#include "extract/input/trace_text.h"

#include <stdlib.h>
#include <string.h>

/* The same, as trace_skip.h says it. */
static const char *quote_after (const char *p, const char *end)
{
    for (; p < end && (unsigned char)*p >= ' '; p++) {
        if (*p == '\\')
            p++;
        else if (*p == '"' && strchr (",:}] \n\r\t", p[1]))   // or a NUL
            return p;
    }
    return NULL;
}

static const char *skip_bytes (const char *p, const char *end)
{
    const char open = *p, close = open == '{' ? '}' : ']';
    unsigned depth = 0;

    for (; p < end && *p; p++) {
        if (*p == '"' && !(p = quote_after (p + 1, end)))
            return NULL;
        depth += *p == open;
        if (*p == close && --depth == 0)
            return p + 1;
    }
    return NULL;
}

/* The bytes in memory of their own, so that a sanitizer sees what is read
 * behind the zeros that must follow.
 */
static void check (const char *bytes, size_t n)
{
    char *own = malloc (n + TRACE_PAD);

    assert_non_null (own);
    memcpy (own, bytes, n);
    memset (own + n, 0, TRACE_PAD);
    for (size_t end = 1; end <= n; end = end < n && end + 3 > n ? n : end + 3) {
        const char *want = skip_bytes (own, own + end);

        assert_ptr_equal (trace_skip (own, own + end), want);
        for (enum trace_skip_way way = 0; way < TRACE_SKIP_WAYS; way++) {
            if (trace_skip_has (way))
                assert_ptr_equal (trace_skip_in (way, own, own + end), want);
        }
        if (end == n)
            break;
    }
    free (own);
}

/* With each number of blanks before it, so that each byte is once the last one
 * of a block.
 */
static void check_text (const char *text, size_t size)
{
    char bytes[512];

    for (size_t shift = 0; shift <= BLOCK_BYTES; shift++) {
        bytes[0] = text[0];
        memset (bytes + 1, ' ', shift);
        memcpy (bytes + 1 + shift, text + 1, size - 1);
        check (bytes, shift + size);
    }
}

#define TEXT(t) check_text (t, sizeof (t) - 1)

static void test_ends (void **state)
{
    (void)state;
    TEXT ("{}");
    TEXT ("[]x");
    TEXT ("{\"a\": 1, \"b\": [1, {\"c\": \"}\"}], \"d\": {}}, {");
    TEXT ("[[1, 2], [], \"]\", [[[3]]]]]");
    TEXT ("{\"a\": ]}");        // the other kind is not counted
    TEXT ("{\"a\": [}");
}

static void test_strings (void **state)
{
    (void)state;
    TEXT ("{\"a\\\"}\": \"\\\\\"}");
    TEXT ("{\"a\": \"\\\\\\\"}\", \"b\": \"\\\\\\\\\"}");
    TEXT ("{\"a\": \"an \"unescaped\" one}\", \"b\": 1}");
    TEXT ("{\"a\": \"\"\"}\"}}");
    TEXT ("{\"a\": \"b\"x}\"}");
    TEXT ("{\"\xff\": \"\x80\xc3\xa9\"}");
    TEXT ("{\\}");              // outside of strings it means nothing
    TEXT ("{\\\"a\": 1}\"}");
}

static void test_damaged (void **state)
{
    (void)state;
    TEXT ("{\"a\": 1");
    TEXT ("{\"a\": \"b}");
    TEXT ("{\"a\": \"b\\");
    TEXT ("{\"a\": \"b\n\"}");
    TEXT ("{\"a\": \"b\t\"}");
    TEXT ("{\"a\": \"b\\\n\"}");
    TEXT ("{\"a\": \"b\"\x01}\"}");
    TEXT ("{\0}");
    TEXT ("{\"a\0\"}");
    TEXT ("{\"a\\\0\"}");
    TEXT ("{\"a\"\0}");
}

/* Each kind of byte at each place of three blocks: in a container, and in a
 * string of it.
 */
static void test_places (void **state)
{
    static const char odd[] = "\"\\{}[],: \n\x01\0\x7f\x80";

    (void)state;
    for (unsigned i = 0; i < sizeof (odd) - 1; i++) {
        for (unsigned at = 1; at < 3 * BLOCK_BYTES; at++) {
            char bytes[4 * BLOCK_BYTES];

            memset (bytes, 'x', sizeof (bytes));
            bytes[0] = '{';
            bytes[sizeof (bytes) - 9] = '}';
            bytes[at] = odd[i];
            check (bytes, sizeof (bytes));
            bytes[1] = bytes[sizeof (bytes) - 10] = '"';
            check (bytes, sizeof (bytes));
        }
    }
}

static void test_random (void **state)
{
    static const char few[] = "\"\"\"\"\\{}[],:  x\n\0y";
    unsigned seed = 21;

    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        char bytes[3 * BLOCK_BYTES + 7];
        unsigned kinds = i % 3 == 0 ? sizeof (few) - 1 : i % 3 == 1 ? 14 : 4;
        size_t n = 1 + (size_t)rand_r (&seed) % sizeof (bytes);

        for (size_t j = 0; j < n; j++)
            bytes[j] = rand_r (&seed) % 4 ? 'z'
                                          : few[(unsigned)rand_r (&seed) %
                                                kinds];
        bytes[0] = i & 1 ? '{' : '[';
        if (n > 20)
            bytes[n - 3] = i & 1 ? '}' : ']';
        check (bytes, n);
    }
}

/* As many levels as there are bytes. */
static void test_deep (void **state)
{
    char bytes[2000];

    (void)state;
    memset (bytes, '[', 1000);
    memset (bytes + 1000, ']', 1000);
    check (bytes, sizeof (bytes));
    bytes[1999] = 'x';
    check (bytes, sizeof (bytes));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_ends),
        cmocka_unit_test (test_strings),
        cmocka_unit_test (test_damaged),
        cmocka_unit_test (test_places),
        cmocka_unit_test (test_random),
        cmocka_unit_test (test_deep),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
