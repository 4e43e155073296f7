/* tests/unit/aggregator/query/test_grid.c - rows and columns, and how wide they
 * are */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/grid.h"
#include "query/labels.h"
#include "query/text_table.h"

#include <stdlib.h>
#include <string.h>

static char *text;
static size_t text_size;

static void is (struct grid *g, FILE *f, const char *want)
{
    assert_int_equal (grid_finish (g), 0);
    assert_int_equal (fflush (f), 0);
    assert_string_equal (text, want);
}

/* Two rows of a number, a text, and what is not there. */
static void same_rows (enum grid_format format, const char *want)
{
    static const char *const names[] = { "n", "name", "n" };
    FILE *f = open_memstream (&text, &text_size);
    struct grid *g = grid_create (f, format, 0);

    assert_non_null (g);
    grid_head (g, names, 3);
    grid_int (g, 7);
    grid_word (g, "a,b");
    grid_null (g);
    grid_real (g, 0.25);
    grid_word (g, "");
    grid_blob (g, "\x01", 1);
    is (g, f, want);
    grid_destroy (g);
    (void)fclose (f);
    free (text);
}

static void test_forms (void **state)
{
    (void)state;
    same_rows (GRID_CSV, "n,name,n\r\n7,\"a,b\",\r\n0.25,\"\",X'01'\r\n");
    same_rows (GRID_JSON,
               "[\n{\"n\": 7, \"name\": \"a,b\", \"n_2\": null},\n"
               "{\"n\": 0.25, \"name\": \"\", \"n_2\": \"X'01'\"}\n]\n");
    same_rows (GRID_TABLE, "   n  name  n\n"
                           "7     a,b   -\n"
                           "0.25        X'01'\n");
}

static void test_empty (void **state)
{
    static const char *const names[] = { "a" };
    static const char *const want[] = { "a\n(no rows)\n", "a\r\n", "a\r\n",
                                        "[]\n" };

    (void)state;
    for (int format = GRID_TABLE; format <= GRID_JSON; format++) {
        struct grid *g;
        FILE *f = open_memstream (&text, &text_size);

        g = grid_create (f, (enum grid_format)format, 0);
        grid_head (g, names, 1);
        is (g, f, want[format]);
        grid_destroy (g);
        (void)fclose (f);
        free (text);
    }
}

/* A text is wrapped in its column, a number never, and a terminal obeys nothing. */
static void test_wrap (void **state)
{
    static const char *const names[] = { "n", "what" };
    FILE *f = open_memstream (&text, &text_size);
    struct grid *g = grid_create (f, GRID_TABLE, 16);

    (void)state;
    grid_head (g, names, 2);
    grid_int (g, 123456);
    grid_word (g, "a long story");
    grid_int (g, 1);
    grid_word (g, "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc"
                  "\xa2");              // five wide ones: 10 columns
    grid_int (g, 2);
    grid_word (g, "\x1b[2J");
    is (g, f, "     n  what\n"
              "123456  a long\n"
              "        story\n"
              "     1  \xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\n"
              "        \xe6\xbc\xa2\n"
              "     2  \\x1b[2J\n");
    grid_destroy (g);
    (void)fclose (f);
    free (text);
}

/* Points are below each other, and a header gives way to its column. */
static void test_numbers (void **state)
{
    static const char *const names[] = { "a_long_name", "r", "us" };
    FILE *f = open_memstream (&text, &text_size);
    struct grid *g = grid_create (f, GRID_TABLE, 34);

    (void)state;
    grid_head (g, names, 3);
    grid_real (g, 10.25);
    grid_int (g, 3);
    grid_real (g, 1763978400006642.2);
    grid_int (g, 7);
    grid_null (g);
    grid_real (g, 0.03769999999999997);
    is (g, f, "   a_  r                     us\n"
              "long_\n"
              " name\n"
              "10.25  3  1763978400006642.2\n"
              " 7     -                 0.0377\n");
    grid_destroy (g);
    (void)fclose (f);
    free (text);
}

/* Rows are printed as they come once the look-ahead is over: what is kept does
 * not grow with them.
 */
static void test_look_ahead (void **state)
{
    static const char *const names[] = { "n" };
    FILE *f = open_memstream (&text, &text_size);
    struct grid *g = grid_create (f, GRID_TABLE, 0);

    (void)state;
    grid_head (g, names, 1);
    for (int i = 1; i < GRID_LOOK_AHEAD_ROWS; i++)
        grid_int (g, 1);
    (void)fflush (f);
    assert_int_equal (text_size, 0);
    grid_int (g, 1);
    (void)fflush (f);
    assert_int_equal (text_size, 2 * (1 + GRID_LOOK_AHEAD_ROWS));
    grid_int (g, 12345);                // wider than all before
    (void)fflush (f);
    assert_int_equal (text_size, 2 * (1 + GRID_LOOK_AHEAD_ROWS) + 6);
    assert_int_equal (grid_finish (g), 0);
    grid_destroy (g);
    (void)fclose (f);
    free (text);
}

/* A column that was empty so far has room for a few letters in each line. */
static void test_empty_column (void **state)
{
    static const char *const names[] = { "" };
    FILE *f = open_memstream (&text, &text_size);
    struct grid *g = grid_create (f, GRID_TABLE, 16);

    (void)state;
    grid_head (g, names, 1);
    for (int i = 0; i < GRID_LOOK_AHEAD_ROWS; i++)
        grid_word (g, "");
    grid_word (g, "a story that is longer than the line");
    assert_int_equal (grid_finish (g), 0);
    (void)fflush (f);
    assert_string_equal (text + GRID_LOOK_AHEAD_ROWS, "a story\nthat is\n"
                         "longer\nthan the\nline\n");
    grid_destroy (g);
    (void)fclose (f);
    free (text);
}

/* What is said of a row stands below it, also when it goes beyond the width, and
 * a table without names has no head.
 */
static void test_lines (void **state)
{
    static const char *const names[] = { "", "" };
    FILE *f = open_memstream (&text, &text_size);
    struct grid *g = grid_create (f, GRID_TABLE, 16);

    (void)state;
    grid_head (g, names, 2);
    grid_word (g, "one");
    grid_int (g, 1);
    grid_line (g, "it waits for\nan answer");
    grid_word (g, "two");
    grid_int (g, 22);
    is (g, f, "one   1\n"
              "  it waits\n"
              "    for\\nan\n"
              "    answer\n"
              "two  22\n");
    grid_destroy (g);
    (void)fclose (f);
    free (text);
}

/* A list is divided at its commas.  Where a column that is whole takes the room,
 * words are not divided: the lines would be too long anyway.
 */
static void test_words (void **state)
{
    static const char *const names[] = { "job", "tags" };

    (void)state;
    for (size_t width = 14; width <= 30; width += 16) {
        FILE *f = open_memstream (&text, &text_size);
        struct grid *g = grid_create (f, GRID_TABLE, width);

        grid_head (g, names, 2);
        grid_keep_whole (g, 0);
        grid_word (g, "a-long-name");
        grid_word (g, "before-upgrade,nightly");
        assert_int_equal (grid_finish (g), 0);
        (void)fflush (f);
        assert_string_equal (text, "job          tags\n"
                                   "a-long-name  before-upgrade,\n"
                                   "             nightly\n");
        grid_destroy (g);
        (void)fclose (f);
        free (text);
    }
}

/* Names of jobs, times and paths are copied: they are not divided, and the head
 * of such a column is.  Why there are no rows is told.
 */
static void test_whole (void **state)
{
    static const char *const names[] = { "job or run", "result" };
    FILE *f = open_memstream (&text, &text_size);
    struct grid *g = grid_create (f, GRID_TABLE, 24);

    (void)state;
    grid_head (g, names, 2);
    grid_keep_whole (g, 0);
    grid_word (g, "run-2026-a_b/c");
    grid_word (g, "it is built: 8 of 8");
    assert_int_equal (grid_finish (g), 0);
    (void)fflush (f);
    assert_string_equal (text, "job or run      result\n"
                               "run-2026-a_b/c  it is\n"
                               "                built: 8\n"
                               "                of 8\n");
    grid_destroy (g);
    rewind (f);
    g = grid_create (f, GRID_TABLE, 0);
    grid_head (g, names, 2);
    assert_int_equal (grid_finish_why (g, "none of 2 jobs matches"), 0);
    (void)fflush (f);
    assert_non_null (strstr (text, "\n(no rows: none of 2 jobs matches)\n"));
    grid_destroy (g);
    (void)fclose (f);
    free (text);
}

static void wrapped (size_t width, const char *lines, const char *want)
{
    struct buf out;

    buf_init (&out, 4096);
    labels_put (&out, width, lines);
    assert_string_equal (buf_text (&out), want);
    buf_fini (&out);
}

/* Texts go on below themselves; labels, paths and what a pipe gets stay. */
static void test_labels (void **state)
{
    (void)state;
    wrapped (0, "ranks         5 of 8 present, 3 missing\n",
             "ranks         5 of 8 present, 3 missing\n");
    wrapped (30, "ranks         5 of 8 present, 3 missing\njob           a\n",
             "ranks         5 of 8 present,\n"
             "              3 missing\n"
             "job           a\n");
    wrapped (24, "  rank 3: it wrote no capture below /a/very/long/path/of/it\n",
             "  rank 3: it wrote no\n"
             "    capture below\n"
             "    /a/very/long/path/of/it\n");
    wrapped (10, "\n\nx", "\n\nx");
    wrapped (4, "  next   look", "  next   look");
    wrapped (9, "  next   look there", "  next\n    look\n    there");
    wrapped (8, "\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4 b",
             "\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4\n  b");
}

static void test_share (void **state)
{
    static const struct {
        size_t wide[3], hard[3], total, got[3];
    } rows[] = {
        { { 4, 5, 6 }, { 0, 0, 0 }, 19, { 4, 5, 6 } },          // it fits
        { { 4, 30, 6 }, { 0, 0, 0 }, 24, { 4, 10, 6 } },
        { { 20, 30, 6 }, { 0, 0, 0 }, 30, { 10, 10, 6 } },
        { { 20, 30, 6 }, { 20, 0, 0 }, 38, { 20, 8, 6 } },      // a number
        { { 20, 30, 6 }, { 0, 0, 0 }, 1, { 8, 8, 6 } },         // it cannot
    };

    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct column v[3] = { { .wide = 0 } };

        for (int k = 0; k < 3; k++) {
            v[k].wide = rows[i].wide[k];
            v[k].hard = rows[i].hard[k];
        }
        columns_share (v, 3, rows[i].total);
        for (int k = 0; k < 3; k++)
            assert_int_equal (v[k].wide, rows[i].got[k]);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_forms),
        cmocka_unit_test (test_empty),
        cmocka_unit_test (test_wrap),
        cmocka_unit_test (test_words),
        cmocka_unit_test (test_numbers),
        cmocka_unit_test (test_look_ahead),
        cmocka_unit_test (test_empty_column),
        cmocka_unit_test (test_lines), cmocka_unit_test (test_whole), cmocka_unit_test (test_labels),
        cmocka_unit_test (test_share),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
