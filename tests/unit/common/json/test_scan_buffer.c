/* tests/unit/common/json/test_scan_buffer.c - what the scanner keeps of its
 * input: the end of the buffer at every place, and reads that fail */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/json/scan_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the end of the buffer at every place ---- */

/* The same dump, or the same error that far behind the prefix, with the
 * buffer's end at 'from' to 'to' bytes behind the start of the document.
 */
static void check_ends (const char *doc, size_t size, size_t from, size_t to,
                        size_t step)
{
    struct buf want, got;
    char error[ERR_TEXT_MAX];
    unsigned long at;
    int n = 0;

    buf_init (&want, 16u << 20);
    buf_init (&got, 16u << 20);
    dump (source (doc, size, 0, 1 << 20), &want);
    for (size_t k = from; k < to; k += step) {
        size_t prefix = SCAN_BUFFER - k;
        const char *expect = buf_text (&want);

        if (sscanf (expect, "!byte %lu:%n", &at, &n) == 1) {
            (void)snprintf (error, sizeof (error), "!byte %lu:%s",
                            at + prefix, expect + n);
            expect = error;
        }
        dump (source (doc, size, prefix, chunks[k % CHUNKS]), &got);
        if (strcmp (buf_text (&got), expect) != 0)
            fail_msg ("%.40s: the buffer ends at %zu: %.200s, not %.200s",
                      doc, k, buf_text (&got), expect);
        skip_over (source (doc, size, prefix, chunks[k % CHUNKS]), &got);
        if (strcmp (buf_text (&got), expect[0] == '!' ? expect : "") != 0)
            fail_msg ("%.40s: the buffer ends at %zu: skipped: %.200s", doc,
                      k, buf_text (&got));
    }
    buf_fini (&want);
    buf_fini (&got);
}

static const char all_tokens[] =
    "{\"plain\": \"abc\", \"esc\\u0041\\n\": \"\\ud83d\\ude00\\t\xc3\xa9\xff\","
    " \"n\":[0,-0,1.5e3,20.90254161267816,1764246877386327.512,"
    "123456789012345678901234567890],\"w\":[true,false,null],\"e\":[{},[],"
    "\"\"], \"Transit Size(MB)\" :{\"a\":{\"b\":[[1]]}}}";

/* Each token is the one at which the buffer is filled again: fewer than
 * SCAN_AHEAD bytes are left there.
 */
static void test_refill_everywhere (void **state)
{
    static const char *const tails[] = {
        "[1234567890.12345678]", "null", "true", "false", "\"ab\\n\"",
        "12345", "-1.5e-7", "{\"key\":\"value\"}", "nulx", "1.e5",
    };
    size_t n = sizeof (all_tokens) - 1;
    char doc[8192];

    (void)state;
    check_ends (all_tokens, n, SCAN_AHEAD - 5, SCAN_AHEAD + n + 5, 1);
    check_ends (all_tokens, n, 0, n + 5, 1);
    // cut, too: the end of the file right behind the end of the buffer
    for (size_t cut = 1; cut < n; cut += 3) {
        check_ends (all_tokens, cut, cut, cut + 1, 1);
        check_ends (all_tokens, cut, cut + SCAN_AHEAD, cut + SCAN_AHEAD + 1,
                    1);
    }
    // many blanks before a token leave fewer bytes behind them than were
    // asked for: no number or word may be cut there
    for (size_t t = 0; t < sizeof (tails) / sizeof (tails[0]); t++) {
        size_t tail = strlen (tails[t]);

        memset (doc, ' ', SCAN_AHEAD - 1);
        memcpy (doc + SCAN_AHEAD - 1, tails[t], tail);
        check_ends (doc, SCAN_AHEAD - 1 + tail, SCAN_AHEAD,
                    SCAN_AHEAD + tail + 1, 1);
    }
}

/* Bytes are skipped if all of them are there, wherever the buffer ends. */
static void test_same (void **state)
{
    static const char doc[] = "{\"a\":0}  ";

    (void)state;
    for (size_t k = 0; k < 24; k++) {
        struct source src = source (doc, sizeof (doc) - 1, SCAN_BUFFER - k, 3);
        struct scan s;

        assert_int_equal (scan_init (&s, source_read, &src), 0);
        enter_prefix (&s, &src);
        assert_false (scan_same (&s, "{\"a\":1}", 7));
        assert_false (scan_same (&s, "{\"a\":0}   ", 10));
        assert_true (scan_same (&s, "{\"a\":0}", 7));
        assert_false (scan_same (&s, "\0", 1));
        assert_true (scan_same (&s, "  ", 2));
        assert_false (scan_same (&s, "", 1));   // the zeros behind the end
        assert_true (scan_end (&s));
        scan_fini (&s);
    }
}

/* Strings longer than what is ahead lie across the buffer's end: at a plain
 * byte, an escape, each byte of a sequence, the quote.
 */
static void test_long_strings (void **state)
{
    static const char *const parts[] = {
        "x", "\\u20ac", "\\ud83d\\ude00", "\xe2\x82\xac", "\\\\", "\xff",
    };

    (void)state;
    for (size_t p = 0; p < sizeof (parts) / sizeof (parts[0]); p++) {
        size_t size, times = 9000 / strlen (parts[p]);
        char *doc = repeat ("{\"k\":\"", parts[p], times, "\" , \"l\":1}",
                            &size);

        check_ends (doc, size, 5000, 5030, 1);
        check_ends (doc, size, size - 20, size + 2, 1);
        free (doc);
        doc = repeat ("{\"", parts[p], times, "\" :2,\"l\":1}", &size);
        check_ends (doc, size, 5000, 5015, 1);
        check_ends (doc, size, size - 20, size + 2, 1);
        free (doc);
    }
}

/* One escape or sequence behind many plain bytes: it is not looked at before
 * all of it is there.
 */
static void test_long_then_escape (void **state)
{
    static const char *const parts[] = {
        "\\u20acy", "\\ud83d\\ude00y", "\xe2\x82\xacy", "\\\\", "\\\"",
        "\xf0\x9f\x98\x80", "\\ud83dy", "\\u12", "\xf0\x9f\x98y", "\ny",
    };

    (void)state;
    for (size_t p = 0; p < sizeof (parts) / sizeof (parts[0]); p++) {
        char tail[40];
        size_t size;
        char *doc;

        (void)snprintf (tail, sizeof (tail), "%s\":1}", parts[p]);
        doc = repeat ("{\"", "x", 5000, tail, &size);
        check_ends (doc, size, 5000, size + 2, 1);
        free (doc);
        (void)snprintf (tail, sizeof (tail), "%s\"", parts[p]);
        doc = repeat ("\"", "x", 5000, tail, &size);
        check_ends (doc, size, 5000, size + 2, 1);
        free (doc);
    }
}

/* Blanks without end, between any two tokens. */
static void test_long_blanks (void **state)
{
    static const char *const tokens[] = { "{", "\"a\"", ":", "[", "1", ",",
                                          "\"b\"", "]", "}" };
    const size_t n = sizeof (tokens) / sizeof (tokens[0]);
    size_t size = (n + 1) * 70000;
    char *doc = malloc (size + 1);

    (void)state;
    assert_non_null (doc);
    for (size_t run = 0; run < 3; run++) {
        static const size_t runs[] = { 4095, 4099, 70000 };
        size_t used = 0;

        for (size_t t = 0; t <= n; t++) {
            for (size_t i = 0; i < runs[run] - 4; i++)
                doc[used++] = " \t\r\n"[i % 4];
            if (t < n) {
                memcpy (doc + used, tokens[t], strlen (tokens[t]));
                used += strlen (tokens[t]);
            }
        }
        doc[used] = '\0';
        check_n (doc, used, "{1'a':[1,1'b',],}");
    }
    free (doc);
}

/* '{"k":', blanks, the token, '}': asked for without a look at it first, so
 * that one call passes the blanks and takes the token.  The buffer ends at
 * 'end' bytes behind the document's start.
 */
static void check_token (const char *token, size_t blanks, size_t end,
                         size_t fail_at)
{
    size_t size;
    char *doc = repeat ("{\"k\":", " ", blanks, token, &size);
    struct source src = source (doc, size, SCAN_BUFFER - end, 100000);
    const char *text = NULL;
    bool first = true, ok;
    double v = 0;
    struct scan s;
    size_t n = 0;

    if (fail_at < size)
        src.fail_at = src.prefix + fail_at;
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    enter_prefix (&s, &src);
    assert_true (scan_object (&s));
    assert_true (scan_member (&s, &first));
    if (token[0] == '1')
        ok = scan_real (&s, &v) && v == 1234567890.125;
    else if (token[0] == '"')
        ok = scan_text (&s, &text, &n) && n == 5 &&
             memcmp (text, "ab\ncd", n) == 0;
    else
        ok = token[0] == 'n' ? scan_null (&s) : scan_skip (&s);
    if (ok && fail_at < size)
        fail_msg ("%s: cut at %zu, and taken", token, fail_at);
    if (!ok && fail_at >= size)
        fail_msg ("%s: the buffer ends at %zu: %s", token, end, s.err.text);
    if (ok)
        assert_false (scan_member (&s, &first));
    assert_int_equal (scan_end (&s), ok);
    scan_fini (&s);
    free (doc);
}

/* Blanks leave fewer bytes behind them than there were before: a token there
 * must neither be cut by the buffer's end nor, cut by a failing read, pass
 * for a whole one.
 */
static void test_blanks_before_token (void **state)
{
    static const char *const tokens[] = { "1234567890.125}", "null}", "true}",
                                          "false}", "\"ab\\ncd\"}" };
    const size_t blanks = SCAN_AHEAD + 100, start = blanks + 5;

    (void)state;
    for (size_t t = 0; t < sizeof (tokens) / sizeof (tokens[0]); t++) {
        size_t n = strlen (tokens[t]);

        for (size_t i = 0; i <= n + 1; i++)
            check_token (tokens[t], blanks, start + i, SIZE_MAX);
        for (size_t i = 0; i < n; i++)
            check_token (tokens[t], blanks, SCAN_AHEAD + 50, start + i);
    }
}

/* The key stays readable while its value begins behind the buffer's end. */
static void test_key_stays (void **state)
{
    static const char doc[] = "{\"key_of_it\"   :   1}";

    (void)state;
    for (size_t k = 0; k < SCAN_AHEAD + 40; k += k < 40 ? 1 : k < SCAN_AHEAD
         - 5 ? 97 : 1) {
        struct source src = source (doc, sizeof (doc) - 1, SCAN_BUFFER - k,
                                    2);
        struct scan s;
        bool first = true;

        assert_int_equal (scan_init (&s, source_read, &src), 0);
        enter_prefix (&s, &src);
        assert_true (scan_object (&s));
        assert_true (scan_member (&s, &first));
        assert_true (scan_key_is (&s, "key_of_it"));
        assert_false (scan_key_is (&s, "key_of_i"));
        assert_false (scan_key_is (&s, "key_of_itx"));
        scan_fini (&s);
    }
}

/* ---- reading fails ---- */

/* At every byte: the failure is told, and no number or word that was cut by
 * it is handed out.
 */
static void test_read_error (void **state)
{
    static const char doc[] = "{\"a\":[12,345.678],\"b\":\"text\",\"c\":null}";
    struct buf whole, got;
    char want[80];

    (void)state;
    buf_init (&whole, 1000);
    buf_init (&got, 1000);
    dump (source (doc, sizeof (doc) - 1, 0, 100), &whole);
    for (size_t at = 0; at < sizeof (doc); at++) {
        struct source src = source (doc, sizeof (doc) - 1, 0, 3);
        struct scan s;

        src.fail_at = at;
        dump (src, &got);
        (void)snprintf (want, sizeof (want), "!byte %zu: cannot read: %s", at,
                        strerror (EIO));
        assert_string_equal (buf_text (&got), want);
        src.at = 0;
        skip_over (src, &got);
        assert_string_equal (buf_text (&got), want);
        // what was handed out before it, is right
        buf_clear (&got);
        src.at = 0;
        assert_int_equal (scan_init (&s, source_read, &src), 0);
        dump_value (&s, &got);
        assert_true (s.failed);
        assert_null (strstr (buf_text (&got), "1,"));
        assert_null (strstr (buf_text (&got), "12"));
        scan_fini (&s);
    }
    for (size_t at = 0; at < sizeof (doc); at++) {
        struct source src = source (doc, sizeof (doc) - 1, SCAN_BUFFER, 3);

        src.fail_at = src.prefix + at;
        dump (src, &got);
        (void)snprintf (want, sizeof (want), "!byte %zu: cannot read: %s",
                        src.prefix + at, strerror (EIO));
        assert_string_equal (buf_text (&got), want);
    }
    buf_fini (&whole);
    buf_fini (&got);
}

static void test_read_fd (void **state)
{
    static const char doc[] = "[1,\"two\"]";
    struct scan s;
    struct buf out;
    int p[2], closed = -1;

    (void)state;
    buf_init (&out, 1000);
    assert_int_equal (pipe (p), 0);
    assert_int_equal (write (p[1], doc, sizeof (doc) - 1), sizeof (doc) - 1);
    (void)close (p[1]);
    assert_int_equal (scan_init (&s, scan_read_fd, &p[0]), 0);
    dump_value (&s, &out);
    assert_true (scan_end (&s));
    assert_string_equal (buf_text (&out), "[1,3'two',]");
    scan_fini (&s);
    (void)close (p[0]);
    assert_int_equal (scan_init (&s, scan_read_fd, &closed), 0);
    assert_int_equal (scan_peek (&s), 0);
    assert_true (s.failed);
    assert_non_null (strstr (s.err.text, "byte 0: cannot read: "));
    scan_fini (&s);
    buf_fini (&out);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_refill_everywhere),
        cmocka_unit_test (test_same),
        cmocka_unit_test (test_long_strings),
        cmocka_unit_test (test_long_then_escape),
        cmocka_unit_test (test_long_blanks),
        cmocka_unit_test (test_blanks_before_token),
        cmocka_unit_test (test_key_stays),
        cmocka_unit_test (test_read_error),
        cmocka_unit_test (test_read_fd),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
