/* tests/unit/common/model/test_batch.c - some rows of one table, column by
 * column */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers and texts have their columns, and no column has both. */
static void test_columns (void **state)
{
    (void)state;
    for (unsigned id = 0; id < TABLE_COUNT; id++) {
        const struct table *t = schema_table ((enum table_id)id);
        struct batch b;

        assert_int_equal (batch_init (&b, (enum table_id)id, NULL), 0);
        for (unsigned c = 0; c < TABLE_COLUMNS_MAX; c++) {
            bool text = c < t->ncolumns && schema_is_text (&t->columns[c]);

            assert_int_equal (b.text[c] != NULL, text);
            assert_int_equal (b.real[c] != NULL, c < t->ncolumns && !text);
            if (b.text[c])
                b.text[c][BATCH_ROWS - 1] = 1;      // all rows have room
            if (b.real[c])
                b.real[c][BATCH_ROWS - 1] = 1;
        }
        assert_int_equal (b.nrows, 0);
        assert_false (batch_full (&b));
        batch_fini (&b);
        batch_fini (&b);                            // a zeroed one
    }
}

static void check_text (const struct batch *b, uint32_t ref, const char *want,
                        size_t want_n)
{
    size_t n = 12345;
    const char *s = batch_text_at (b, ref, &n);

    assert_non_null (s);
    assert_int_equal (n, want_n);
    assert_memory_equal (s, want, n);
    assert_int_equal (s[n], '\0');
}

static void test_text (void **state)
{
    struct batch b;
    uint32_t one, two, empty, nul;
    size_t n;

    (void)state;
    assert_int_equal (batch_init (&b, TABLE_TIME, NULL), 0);
    one = batch_text (&b, "hcom_allReduce__0@group", 15);   // not terminated
    two = batch_text (&b, "", 0);
    nul = batch_text (&b, "a\0b", 3);
    // the empty text is not SQL's NULL
    assert_int_not_equal (one, BATCH_NULL_TEXT);
    assert_int_not_equal (two, BATCH_NULL_TEXT);
    assert_null (batch_text_at (&b, BATCH_NULL_TEXT, &n));
    check_text (&b, one, "hcom_allReduce_", 15);
    check_text (&b, two, "", 0);
    check_text (&b, nul, "a\0b", 3);
    // equal texts share their bytes, unequal ones of one start do not
    assert_int_equal (batch_text (&b, "hcom_allReduce_", 15), one);
    empty = batch_text (&b, "", 0);
    assert_int_equal (empty, two);
    assert_int_not_equal (batch_text (&b, "hcom_allReduce", 14), one);
    assert_int_not_equal (batch_text (&b, "a", 1), nul);
    batch_fini (&b);
}

/* Very many texts: the bytes move, references stay right. */
static void test_text_many (void **state)
{
    enum { MANY = 30000 };
    uint32_t *refs = calloc (MANY, sizeof (*refs));
    struct batch b;
    char name[64];

    (void)state;
    assert_non_null (refs);
    assert_int_equal (batch_init (&b, TABLE_TIME, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        int n = snprintf (name, sizeof (name), "hcom_%d_allReduce", i);

        refs[i] = batch_text (&b, name, (size_t)n);
    }
    assert_false (b.failed);
    for (int i = 0; i < MANY; i++) {
        int n = snprintf (name, sizeof (name), "hcom_%d_allReduce", i);

        check_text (&b, refs[i], name, (size_t)n);
    }
    free (refs);
    batch_fini (&b);
}

static void test_full_rows (void **state)
{
    struct batch b;

    (void)state;
    assert_int_equal (batch_init (&b, TABLE_STEP, NULL), 0);
    b.nrows = BATCH_ROWS - 1;
    assert_false (batch_full (&b));
    b.nrows++;
    assert_true (batch_full (&b));
    batch_clear (&b);
    assert_false (batch_full (&b));
    batch_fini (&b);
}

/* A row's texts, each of the most a reader gives, always fit a batch that is
 * not full: otherwise good input would be refused.
 */
static void test_full_text (void **state)
{
    char *big = malloc (65536);
    struct batch b;

    (void)state;
    assert_non_null (big);
    memset (big, 'x', 65536);
    assert_int_equal (batch_init (&b, TABLE_MATRIX, NULL), 0);
    for (unsigned i = 0; !batch_full (&b); i++) {
        assert_true (i < 64);
        for (unsigned c = 0; c < TABLE_COLUMNS_MAX; c++) {
            memcpy (big + 65532, &(uint32_t){ i << 8 | c }, 4);
            assert_int_not_equal (batch_text (&b, big, 65536),
                                  BATCH_NULL_TEXT);
        }
    }
    assert_false (b.failed);
    free (big);
    batch_fini (&b);
}

static int count_rows (void *arg, const struct batch *b, struct err *err)
{
    unsigned *calls = arg;

    (void)err;
    (*calls)++;
    return b->nrows == 13 ? -EIO : 0;
}

/* Without room the text is NULL and the flush fails: never a wrong row. */
static void test_text_overflow (void **state)
{
    char *big = calloc (1, BATCH_TEXT_MAX);
    unsigned calls = 0;
    struct row_sink sink = { .rows = count_rows, .arg = &calls };
    struct batch b;
    struct err err = { "" };

    (void)state;
    assert_non_null (big);
    assert_int_equal (batch_init (&b, TABLE_TIME, NULL), 0);
    assert_int_equal (batch_text (&b, big, BATCH_TEXT_MAX), BATCH_NULL_TEXT);
    assert_true (b.failed);
    b.nrows = 1;
    assert_int_equal (batch_flush (&b, &sink, &err), -ENOMEM);
    assert_true (err.text[0] != '\0');
    assert_int_equal (calls, 0);
    assert_false (b.failed);            // usable again
    assert_int_equal (b.nrows, 0);
    assert_int_not_equal (batch_text (&b, "a", 1), BATCH_NULL_TEXT);
    free (big);
    batch_fini (&b);
}

static void test_flush (void **state)
{
    unsigned calls = 0;
    struct row_sink sink = { .rows = count_rows, .arg = &calls };
    struct batch b;

    (void)state;
    assert_int_equal (batch_init (&b, TABLE_TIME, NULL), 0);
    assert_int_equal (batch_flush (&b, &sink, NULL), 0);    // nothing to give
    assert_int_equal (calls, 0);
    b.nrows = 1;
    assert_int_equal (batch_flush (&b, &sink, NULL), 0);
    assert_int_equal (calls, 1);
    assert_int_equal (b.nrows, 0);
    b.nrows = 13;
    assert_int_equal (batch_flush (&b, &sink, NULL), -EIO);
    assert_int_equal (calls, 2);
    assert_int_equal (b.nrows, 0);      // not given twice
    batch_fini (&b);
}

/* A reference of before the clear must not be given out after it. */
static void test_clear_forgets (void **state)
{
    struct batch b;
    uint32_t ref;

    (void)state;
    assert_int_equal (batch_init (&b, TABLE_TIME, NULL), 0);
    (void)batch_text (&b, "first", 5);
    ref = batch_text (&b, "second", 6);
    check_text (&b, ref, "second", 6);
    batch_clear (&b);
    (void)batch_text (&b, "a text that is longer than both", 31);
    ref = batch_text (&b, "second", 6);
    check_text (&b, ref, "second", 6);
    batch_fini (&b);
}

static void test_repeat (void **state)
{
    struct batch_repeat r = { .s = NULL }, none;
    struct batch b;
    uint32_t ref;

    (void)state;
    assert_int_equal (batch_init (&b, TABLE_TIME, NULL), 0);
    assert_int_equal (batch_repeat_ref (&b, &r), BATCH_NULL_TEXT);
    batch_repeat_set (&none, NULL, 0);
    assert_int_equal (batch_repeat_ref (&b, &none), BATCH_NULL_TEXT);
    batch_repeat_set (&r, "step13", 6);
    ref = batch_repeat_ref (&b, &r);
    check_text (&b, ref, "step13", 6);
    assert_int_equal (batch_repeat_ref (&b, &r), ref);
    batch_clear (&b);
    (void)batch_text (&b, "something else", 14);
    ref = batch_repeat_ref (&b, &r);    // looked up again
    check_text (&b, ref, "step13", 6);
    batch_repeat_set (&r, "step14", 6);
    ref = batch_repeat_ref (&b, &r);
    check_text (&b, ref, "step14", 6);
    batch_fini (&b);
}

/* Texts that begin alike share a slot now and then: none must come out as the
 * longer one that is there.
 */
static void test_text_beginnings (void **state)
{
    struct batch b;

    (void)state;
    assert_int_equal (batch_init (&b, TABLE_INFO, NULL), 0);
    for (unsigned i = 0; i < 1000; i++) {
        char text[32];
        int n = snprintf (text, sizeof (text), "op-%u-name", i * 7919);

        check_text (&b, batch_text (&b, text, (size_t)n), text, (size_t)n);
        for (int k = 1; k < n; k++)
            check_text (&b, batch_text (&b, text, (size_t)k), text, (size_t)k);
    }
    batch_fini (&b);
}

/* Who wants a capture only can still be interrupted. */
static void test_no_sink (void **state)
{
    atomic_bool cancel = false;
    const struct row_sink none = row_sink_none (&cancel);
    struct batch b;

    (void)state;
    assert_int_equal (batch_init (&b, TABLE_INFO, NULL), 0);
    assert_int_equal (none.rows (none.arg, &b, NULL), 0);
    assert_int_equal (none.forget (none.arg, TABLE_INFO, NULL), 0);
    atomic_store (&cancel, true);
    assert_int_equal (none.rows (none.arg, &b, NULL), -EINTR);
    batch_fini (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_columns),
        cmocka_unit_test (test_text),
        cmocka_unit_test (test_text_many),
        cmocka_unit_test (test_text_beginnings),
        cmocka_unit_test (test_full_rows),
        cmocka_unit_test (test_full_text),
        cmocka_unit_test (test_text_overflow),
        cmocka_unit_test (test_flush),
        cmocka_unit_test (test_clear_forgets),
        cmocka_unit_test (test_repeat),
        cmocka_unit_test (test_no_sink),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
