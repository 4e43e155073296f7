/* tests/unit/common/base/test_log.c - one event, one line
 *
 * Standard error is a pipe while a line is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What log_end writes, from "level=" on (the time is not predictable). */
static const char *written (struct logline *l)
{
    static char text[2 * LOG_LINE_MAX];
    int saved = dup (STDERR_FILENO), p[2];
    const char *level;
    ssize_t n;

    assert_int_equal (pipe (p), 0);
    assert_true (dup2 (p[1], STDERR_FILENO) >= 0);
    log_end (l);
    assert_true (dup2 (saved, STDERR_FILENO) >= 0);
    (void)close (saved);
    (void)close (p[1]);
    n = read (p[0], text, sizeof (text) - 1);
    assert_true (n >= 0);
    (void)close (p[0]);
    text[n] = '\0';
    level = strstr (text, " level=");
    return level ? level + 1 : text;
}

static void test_line (void **state)
{
    struct logline l;

    (void)state;
    log_setup ("unit", LOG_LEVEL_INFO);
    l = log_line (LOG_LEVEL_WARN, "shipped");
    // ts=2026-11-21T06:20:00.123Z
    assert_memory_equal (l.text, "ts=2", 4);
    assert_memory_equal (l.text + 26, "Z level=", 8);
    log_str (&l, "capture", "n0_7");
    log_int (&l, "rank", -3);
    log_int (&l, "least", INT64_MIN);
    log_real (&l, "ms", 1.5);
    log_str (&l, "none", NULL);
    assert_string_equal (written (&l),
                         "level=warn prog=unit event=shipped capture=n0_7 "
                         "rank=-3 least=-9223372036854775808 ms=1.5\n");
}

/* Text of a stranger must not look like a line or a field of its own. */
static void test_quotes (void **state)
{
    struct logline l = log_line (LOG_LEVEL_INFO, "e");

    (void)state;
    log_str (&l, "a", "");
    log_str (&l, "b", "two words");
    log_str (&l, "c", "x\nlevel=error");
    log_str (&l, "d", "say \"hi\" \\");
    log_str (&l, "e", "k=v");
    log_str (&l, "f", "\x1b[2J");
    log_str (&l, "g", "caf\xc3\xa9");
    assert_string_equal (written (&l),
                         "level=info prog=unit event=e a=\"\" "
                         "b=\"two words\" c=\"x\\x0alevel=error\" "
                         "d=\"say \\\"hi\\\" \\\\\" e=\"k=v\" "
                         "f=\"\\x1b[2J\" g=caf\xc3\xa9\n");
}

/* A file name may have any bytes; a log is UTF-8, and no terminal is commanded:
 * U+009B begins an escape sequence of its own.
 */
static void test_no_utf8 (void **state)
{
    struct logline l = log_line (LOG_LEVEL_INFO, "e");

    (void)state;
    log_str (&l, "a", "caf\xe9");
    log_str (&l, "b", "\xc3");
    log_str (&l, "c", "\xed\xa0\x80");      // half of a pair
    log_str (&l, "d", "\x7f");
    log_str (&l, "e", "\xc2\x9b\x32J");
    assert_string_equal (written (&l),
                         "level=info prog=unit event=e a=\"caf\\xe9\" "
                         "b=\"\\xc3\" c=\"\\xed\\xa0\\x80\" d=\"\\x7f\" "
                         "e=\"\\xc2\\x9b2J\"\n");
}

/* No character is cut in two at the end of a long line. */
static void test_long_utf8 (void **state)
{
    char big[2 * LOG_LINE_MAX];
    uint64_t bad = 0;

    (void)state;
    for (size_t i = 0; i + 3 < sizeof (big); i += 3)
        memcpy (big + i, "\xe2\x82\xac", 4);
    for (size_t skip = 0; skip < 3; skip++) {
        char key[] = "abc", repaired[3 * LOG_LINE_MAX];
        struct logline l = log_line (LOG_LEVEL_ERROR, "e");
        const char *text;

        key[skip + 1] = '\0';
        log_str (&l, key, big);
        text = written (&l);
        (void)utf8_repair (text, strlen (text), repaired, &bad);
        assert_true (strlen (text) > LOG_LINE_MAX - 100);
        assert_int_equal (bad, 0);
    }
}

static void test_level (void **state)
{
    struct logline l;

    (void)state;
    log_setup ("unit", LOG_LEVEL_WARN);
    l = log_line (LOG_LEVEL_INFO, "quiet");
    assert_string_equal (written (&l), "");
    l = log_line (LOG_LEVEL_ERROR, "loud");
    assert_string_equal (written (&l), "level=error prog=unit event=loud\n");
    log_setup ("unit", LOG_LEVEL_DEBUG);
    l = log_line (LOG_LEVEL_DEBUG, "all");
    assert_string_equal (written (&l), "level=debug prog=unit event=all\n");
}

/* A long line is cut, ends in one newline and stays within its bytes. */
static void test_long (void **state)
{
    char big[3 * LOG_LINE_MAX];

    (void)state;
    for (size_t n = LOG_LINE_MAX - 120; n < LOG_LINE_MAX + 20; n++) {
        for (int quoted = 0; quoted < 2; quoted++) {
            struct logline l = log_line (LOG_LEVEL_ERROR, "e");
            const char *text;

            memset (big, quoted ? '\n' : 'x', n);
            big[n] = '\0';
            log_str (&l, "big", big);
            log_str (&l, "more", "y");
            text = written (&l);
            assert_true (strlen (text) < LOG_LINE_MAX);
            assert_int_equal (text[strlen (text) - 1], '\n');
            assert_ptr_equal (strchr (text, '\n'), text + strlen (text) - 1);
        }
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_line),
        cmocka_unit_test (test_quotes),
        cmocka_unit_test (test_no_utf8),
        cmocka_unit_test (test_long_utf8),
        cmocka_unit_test (test_level),
        cmocka_unit_test (test_long),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
