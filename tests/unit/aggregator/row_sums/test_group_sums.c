/* tests/unit/aggregator/row_sums/test_group_sums.c - sums of groups, and rows of
 * ranks */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "row_sums/group_sums.h"
#include "row_sums/rank_rows.h"
#include "store/db.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int setup (void **state)
{
    sqlite3 *db;

    assert_int_equal (sqlite3_open (":memory:", &db), SQLITE_OK);
    assert_int_equal (db_exec (db, "CREATE TABLE rows (a TEXT, b TEXT, x, y,"
                                   " rank INTEGER)", NULL), 0);
    *state = db;
    return 0;
}

static int teardown (void **state)
{
    (void)sqlite3_close (*state);
    return 0;
}

/* Add rows of texts and two values each; NULL and NaN are NULL. */
struct row {
    const char *a, *b;
    double number, x, y;
};

static void add (struct group_sums *g, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *texts[] = { rows[i].a, rows[i].b };
        uint32_t keys[2];

        for (int k = 0; k < 2; k++)
            keys[k] = texts[k] ? group_sums_intern (g, texts[k],
                                                    strlen (texts[k]))
                               : TEXTS_NONE;
        assert_int_equal (group_sums_add (g, keys, rows[i].number,
                                          (double[]){ rows[i].x, rows[i].y },
                                          NULL), 0);
    }
}

/* "a|b|number|rows|x|y " of each group. */
static const char *shown (struct group_sums *g)
{
    static char text[1024];
    size_t used = 0;

    group_sums_sort (g);
    for (uint32_t i = 0; i < g->sums.n; i++) {
        const struct group_sum *s = map_at (&g->sums, i);
        const char *of[2];

        for (int k = 0; k < 2; k++)
            of[k] = s->texts[k] == TEXTS_NONE
                        ? "NULL" : texts_at (&g->texts, s->texts[k]);
        used += (size_t)snprintf (text + used, sizeof (text) - used,
                                  "%s|%s|%g|%d|%g|%g ", of[0], of[1],
                                  s->number, (int)s->rows, s->values[0],
                                  s->values[1]);
    }
    return text;
}

/* In the order and with the NULLs of GROUP BY: a text that is empty, or the
 * same in another column, is not the same as one that is not there; the second
 * value is the largest.
 */
static void test_groups (void **state)
{
    struct group_sums g = { .ntexts = 2, .nsums = 1, .nvalues = 2 };
    const struct row rows[] = {
        { "b", "a", 0, 1, 2 }, { "b", NULL, 0, 1, NAN },
        { NULL, "b", 0, 4, 1 }, { "b", "a", -0.0, 0.5, NAN },
        { "b", "", 0, NAN, NAN }, { "a", "b", 0, 7, 7 },
        { "b", "a", 0, NAN, 1.5 },
    };

    (void)state;
    add (&g, rows, sizeof (rows) / sizeof (rows[0]));
    assert_string_equal (shown (&g), "NULL|b|0|1|4|1 a|b|0|1|7|7 b|NULL|0|1|1|"
                                     "nan b||0|1|nan|nan b|a|0|3|1.5|2 ");
    group_sums_fini (&g);
}

/* Numbers are sorted as such, and NULL is a number of its own. */
static void test_numbers (void **state)
{
    struct group_sums g = { .ntexts = 2, .nsums = 2, .nvalues = 2 };
    const struct row rows[] = {
        { "a", "a", 10, 1, 1 }, { "a", "a", 9.5, 1, 1 },
        { "a", "a", NAN, 1, 1 }, { "a", "a", 10, 1, 1 },
        { "a", "a", -NAN, 1, 1 },
    };

    (void)state;
    add (&g, rows, sizeof (rows) / sizeof (rows[0]));
    assert_string_equal (shown (&g), "a|a|nan|2|2|2 a|a|9.5|1|1|1 a|a|10|2|2|2"
                                     " ");
    group_sums_fini (&g);
}

/* Nothing is left of what was summed before, and many groups find room. */
static void test_again (void **state)
{
    struct group_sums g = { .ntexts = 2, .nsums = 2, .nvalues = 2 };

    (void)state;
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < 1000; i++) {
            char name[16];
            const struct row row = { "x", name, 0, 1, 2 };

            (void)snprintf (name, sizeof (name), "%d", i / 2);
            add (&g, &row, 1);
        }
        assert_int_equal (g.sums.n, 500);
        for (uint32_t i = 0; i < g.sums.n; i++) {
            const struct group_sum *s = map_at (&g.sums, i);

            assert_int_equal (s->rows, 2);
            assert_true (s->values[0] == 2 && s->values[1] == 4);
        }
        group_sums_clear (&g);
    }
    group_sums_fini (&g);
}

static int note (void *arg, const struct rank_rows *rows, struct err *err)
{
    char *text = arg;

    (void)err;
    (void)snprintf (text + strlen (text), 64, "%lld:%lld-%lld ",
                    (long long)rows->rank, (long long)rows->first,
                    (long long)rows->last);
    return rows->rank == 7 ? -EINTR : 0;
}

/* Ranks in order, whatever order their rows have, with an index or without. */
static void test_ranks (void **state)
{
    sqlite3 *db = *state;

    for (int i = 0; i < 2; i++) {
        char text[256] = "";

        assert_int_equal (rank_rows_each (db, "rows", note, text, NULL), 0);
        assert_string_equal (text, "");
        assert_int_equal (db_exec (db, "INSERT INTO rows (rank) VALUES (5),"
                                       " (5), (NULL), (0), (3), (0), (-1)",
                                   NULL), 0);
        assert_int_equal (rank_rows_each (db, "main.rows", note, text, NULL),
                          0);
        assert_string_equal (text, "0:4-6 3:5-5 5:1-2 ");
        assert_int_equal (db_exec (db, "DELETE FROM rows; CREATE INDEX IF NOT"
                                       " EXISTS r ON rows(rank)", NULL), 0);
    }
}

/* What fails for a rank ends it. */
static void test_failure (void **state)
{
    char text[256] = "";
    sqlite3 *db = *state;

    assert_int_equal (db_exec (db, "INSERT INTO rows (rank) VALUES (9), (7)",
                               NULL), 0);
    assert_int_equal (rank_rows_each (db, "rows", note, text, NULL), -EINTR);
    assert_string_equal (text, "7:2-2 ");
}

#define TEST(fn) cmocka_unit_test_setup_teardown (fn, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_groups),
        TEST (test_numbers),
        TEST (test_again),
        TEST (test_ranks),
        TEST (test_failure),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
