/* tests/unit/node_agent/extract/test_kernel_details.c - kernels, folded by what
 * they are */
#include "node_agent/extract/sink/capture_facts_check.h"

#include "extract/rows/kernel_fold.h"

#include <math.h>
#include <stdlib.h>

#define HEAD "Step Id,Device_id,Name,Type,Accelerator Core,Start Time(us)," \
    "Duration(us),Input Shapes,aicore_time(us),aic_total_cycles," \
    "aic_mac_time(us),aic_mac_ratio\n"
#define FILE_NAME OUT "kernel_details.csv"

/* One row for each device, step, name, type, core and shapes; ops are none.
 * Counters are means of what ran, without those that are 0 and times of which
 * there is the ratio.
 */
static void test_rows (void **state)
{
    (void)state;
    make_capture ();
    capture_put (FILE_NAME, HEAD
        "13,4,mm,MatMul,AI_CORE,10\t,2.5,\"\"\"4,8;8,2\"\"\",2,100,1,0.5\r\n"
        "13,4,hcom_send__1_0_1,hcom,COMMUNICATION,11\t,7,N/A,N/A,N/A,N/A,N/A\n"
        "13,4,mm,MatMul,AI_CORE,12\t,1.5,\"\"\"4,8;8,2\"\"\",1,300,1,0.25\n"
        "13,4,mm,MatMul,AI_CORE,14\t,1,\"\"\"4,4\"\"\",0,0,0,0\n"
        "13,5,mm,MatMul,AI_CORE,14\t,1,\"\"\"4,4\"\"\",0,0,0,0\n"
        "14,4,cpu,Cast,AI_CPU,20\t,3,N/A,N/A,N/A,N/A,N/A\n"
        ",4,cpu,,AI_CPU,30\t,3,,,,,\n");
    check (TABLE_KERNEL,
           "4|13|mm|MatMul|AI_CORE|4,8;8,2|2|4|1.5|2.5|{\"aicore_time\":1.5,"
           "\"aic_total_cycles\":200,\"aic_mac_ratio\":0.375}\n"
           "4|13|mm|MatMul|AI_CORE|4,4|1|1|1|1|NULL\n"
           "5|13|mm|MatMul|AI_CORE|4,4|1|1|1|1|NULL\n"
           "4|14|cpu|Cast|AI_CPU|NULL|1|3|3|3|NULL\n"
           "4|NULL|cpu|NULL|AI_CPU|NULL|1|3|3|3|NULL\n", CAPTURE_COMPLETE, "");
}

/* The columns of old files, and of other orders of rows. */
static void test_old (void **state)
{
    (void)state;
    make_capture ();
    capture_put (FILE_NAME, "Name,Accelerator Core,Start Time(us),"
                 "Duration(us),vec_ratio,a<b_ratio\nb,AIV,1,2,0.5,9\n"
                 "a,HCCL,2,9,,\nb,AIV,3,4,,1\n");
    check (TABLE_KERNEL, "|NULL|b|NULL|AIV|NULL|2|6|2|4|"
           "{\"vec_ratio\":0.25}\n", CAPTURE_COMPLETE, "");
}

/* Of a part of a file there are no sums, and nothing else is lost. */
static void test_bad (void **state)
{
    (void)state;
    make_capture ();
    capture_put (FILE_NAME, HEAD "13,4,a,b,c,1,2,,,,,\n13,4,a,b,c,1,-1,,,,,\n");
    check (TABLE_KERNEL, "", CAPTURE_PARTIAL,
           "kernel_details.csv: line 3: not a duration: \"-1\" "
           "(CommAnalyzerTime, KernelDetail)");
    check (TABLE_STEP, "|13|1|0|0|0|0|0|0|0|\n", CAPTURE_PARTIAL, "");
    capture_put (FILE_NAME, HEAD "13,4,a,b,c,1,2,,x,,,\n");
    check (TABLE_KERNEL, "", CAPTURE_PARTIAL, "line 2: not a number: \"x\"");
    capture_put (FILE_NAME, HEAD "x,4,a,b,c,1,2,,,,,\n");
    check (TABLE_KERNEL, "", CAPTURE_PARTIAL, "line 2: not a step: \"x\"");
    capture_put (FILE_NAME, "Name\n");
    check (TABLE_KERNEL, "", CAPTURE_PARTIAL, "no column \"Accelerator Core\"");
}

/* ---- bounds ---- */

static bool number_text (void *arg, int64_t number, size_t max, const char **s,
                         size_t *n)
{
    char *text = arg;

    *n = (size_t)snprintf (text, max, "%lld", (long long)number);
    *s = text;
    return true;
}

static const char *number_step (void *arg, uint32_t step, char out[32])
{
    (void)arg;
    (void)snprintf (out, 32, "%u", step);
    return out;
}

struct sums {
    uint64_t rows, others;
    double count, total;
    char last[64];              // device and step of the last row
};

static int keep_sums (void *arg, const struct batch *b, struct err *err)
{
    struct sums *s = arg;

    (void)err;
    for (uint32_t i = 0; b->table == TABLE_KERNEL && i < b->nrows; i++) {
        const char *name = batch_text_at (b, b->text[KERNEL_NAME][i],
                                          &(size_t){ 0 });
        const char *step = batch_text_at (b, b->text[KERNEL_STEP][i],
                                          &(size_t){ 0 });

        s->rows++;
        s->others += strcmp (name, KERNEL_OTHERS) == 0;
        s->count += b->real[KERNEL_COUNT][i];
        s->total += b->real[KERNEL_TOTAL][i];
        (void)snprintf (s->last, sizeof (s->last), "%g %s",
                        b->real[KERNEL_DEVICE][i], step ? step : "NULL");
    }
    return 0;
}

static void give_sums (struct kernel_fold *f, struct sums *s)
{
    const struct row_sink sink = { keep_sums, sink_forget_nothing, s };
    char text[KERNEL_SHAPES_BYTES];
    struct kernel_names names = { text, number_text, number_step, { NULL } };
    struct capture c;
    struct source src = { .capture = &c, .sink = &sink };
    struct err err = { "" };

    memset (s, 0, sizeof (*s));
    capture_init (&c);
    assert_true (kernel_fold_give (f, &src, &names, &err));
    capture_fini (&c);
    kernel_fold_fini (f);
}

/* Of more than fit there is one row for each device and step: nothing is lost,
 * and those that were there before go on.
 */
static void test_others (void **state)
{
    struct kernel_key k = { 4, 13, 0, 0, 1, 2, 3 };
    struct kernel_fold f = { .nmetrics = 0 };
    struct sums s;

    (void)state;
    for (uint32_t i = 0; i < 2 * KERNEL_ROWS_MAX; i++) {
        k.name = i;
        k.step = 13 + (i & 1);
        assert_int_equal (kernel_fold_add (&f, &k, 1, NULL), 0);
    }
    k = (struct kernel_key){ 4, 13, 0, 0, 1, 2, 3 };
    assert_int_equal (kernel_fold_add (&f, &k, 1, NULL), 0);
    assert_int_equal (((struct kernel_row *)f.rows.records)->count, 2);
    give_sums (&f, &s);
    assert_int_equal (s.rows, KERNEL_ROWS_MAX + 2);
    assert_int_equal (s.others, 2);
    assert_true (s.count == 2 * KERNEL_ROWS_MAX + 1 && s.total == s.count);
    assert_string_equal (s.last, "4 14");
}

/* More steps than that are one row, of none of them. */
static void test_steps_without_end (void **state)
{
    struct kernel_key k = { 4, 0, 0, 0, 1, 2, 3 };
    struct kernel_fold f = { .nmetrics = 0 };
    struct sums s;

    (void)state;
    for (k.step = 0; k.step < 3 * KERNEL_ROWS_MAX; k.step++)
        assert_int_equal (kernel_fold_add (&f, &k, 2, NULL), 0);
    give_sums (&f, &s);
    assert_int_equal (s.rows, 2 * KERNEL_ROWS_MAX + 1);
    assert_true (s.count == 3 * KERNEL_ROWS_MAX);
    assert_string_equal (s.last, "nan NULL");
}

/* So it is with texts that fill the memory there is for them. */
static void test_long_texts (void **state)
{
    const size_t rows = 20000, max = rows * 1100;
    char *text = malloc (max), *shape = malloc (1025);
    size_t used;
    struct capture c;
    struct sums s;
    const struct row_sink sink = { keep_sums, sink_forget_nothing, &s };

    (void)state;
    assert_true (text && shape);
    make_capture ();
    memset (shape, '1', 1000);
    shape[1000] = '\0';
    used = (size_t)snprintf (text, max, "%s", HEAD);
    for (size_t i = 0; i < rows; i++)
        used += (size_t)snprintf (text + used, max - used, "13,4,k,t,c,1,1,"
                                  "%zu%s,,,,\n", i, shape);
    capture_put (FILE_NAME, text);
    memset (&s, 0, sizeof (s));
    assert_int_equal (capture_read (&sink, &c), 0);
    capture_fini (&c);
    assert_int_equal (s.others, 1);
    assert_true (s.rows > 10000 && s.rows < rows);
    assert_true (s.count == (double)rows && s.total == s.count);
    free (text);
    free (shape);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_rows, extras_setup,
                                         capture_teardown),
        cmocka_unit_test_setup_teardown (test_old, extras_setup,
                                         capture_teardown),
        cmocka_unit_test_setup_teardown (test_bad, extras_setup,
                                         capture_teardown),
        cmocka_unit_test_setup_teardown (test_long_texts, extras_setup,
                                         capture_teardown),
        cmocka_unit_test (test_others),
        cmocka_unit_test (test_steps_without_end),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
