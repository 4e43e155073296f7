/* tests/unit/node_agent/extract/text/test_read_communication.c - transports
 * that carried nothing, beside those that did
 *
 * One that is written as another one that carried nothing is not read again:
 * a row must not be lost because of that.
 */
#include "node_agent/extract/capture_check.h"

#include "base/buf.h"

#define OUT "ASCEND_PROFILER_OUTPUT/"
#define TIMES \
    "\"Communication Time Info\": {\"Start Timestamp(us)\": %d, \"Elapse " \
    "Time(ms)\": 1, \"Transit Time(ms)\": 1, \"Wait Time(ms)\": 0, " \
    "\"Synchronization Time(ms)\": 0, \"Idle Time(ms)\": 0}"

/* The sum of what the rows of a table have in a column, and their number. */
struct sum {
    double size;
    uint64_t rows;
};

static int take_rows (void *arg, const struct batch *b, struct err *err)
{
    struct sum *sum = arg;

    (void)err;
    for (uint32_t i = 0; b->table == TABLE_BANDWIDTH && i < b->nrows; i++) {
        sum->size += b->real[BW_SIZE][i];
        sum->rows++;
    }
    return 0;
}

static struct sum read_text (const char *text, struct capture *c)
{
    struct sum sum = { 0, 0 };
    const struct row_sink sink = { take_rows, sink_forget_nothing, &sum };

    capture_put (OUT "communication.json", text);
    assert_int_equal (capture_read (&sink, c), 0);
    return sum;
}

static void put_transport (struct buf *b, const char *name, const char *size,
                           const char *more)
{
    buf_printf (b, "\"%s\": {\"Transit Size(MB)\": %s, \"Transit Time(ms)\": "
                "0, \"Bandwidth(GB/s)\": 0, \"Large Packet Ratio\": 0, \"Size "
                "Distribution\": {%s}}", name, size, more);
}

/* 3000 ops are several buffers; idle ones are written in two ways. */
static void test_idle (void **state)
{
    uint64_t rows = 0;
    double want = 0;
    struct capture c;
    struct sum sum;
    struct buf b;

    (void)state;
    buf_init (&b, 8u << 20);
    buf_printf (&b, "{\"step1\": {\"p2p\": {}, \"collective\": {");
    for (int i = 0; i < 3000; i++) {
        char size[16];

        (void)snprintf (size, sizeof (size), "%d", i % 7);
        want += i % 7 * (i % 3 ? 1 : 2);
        rows += i % 7 == 0 ? 0 : i % 3 ? 1 : 2;
        buf_printf (&b, "%s\"hcom_allReduce__%d@1\": {" TIMES
                    ", \"Communication Bandwidth Info\": {", i ? ", " : "",
                    i, i);
        put_transport (&b, "RDMA", "0", "");
        buf_put (&b, ", ", 2);
        put_transport (&b, "HCCS", size, "");
        buf_put (&b, ", ", 2);
        put_transport (&b, "PCIE", i % 3 ? "0" : size, "");
        buf_put (&b, ", ", 2);
        put_transport (&b, "SDMA", i % 2 ? "0" : "0.0",
                       i % 5 ? "" : "\"1\": [2, 3]");
        buf_put (&b, "}}", 2);
    }
    buf_printf (&b, "}}}");
    sum = read_text (buf_text (&b), &c);
    assert_true (sum.size == want);
    assert_int_equal (sum.rows, rows);
    capture_fini (&c);
    buf_fini (&b);
}

/* What is wrong behind one that is known is found. */
static void test_behind (void **state)
{
    struct capture c;
    struct buf b;

    (void)state;
    for (int i = 0; i < 2; i++) {
        buf_init (&b, 1u << 20);
        buf_printf (&b, "{\"step1\": {\"p2p\": {}, \"collective\": {"
                    "\"hcom_allReduce__1@1\": {" TIMES
                    ", \"Communication Bandwidth Info\": {", 1);
        put_transport (&b, "RDMA", "0", "");
        buf_put (&b, ", ", 2);
        put_transport (&b, i ? "RDMA" : "HCCS", "0", "");
        buf_printf (&b, "%s}}}}}", i ? "" : " x");
        (void)read_text (buf_text (&b), &c);
        if (!strstr (c.reason, i ? "\"RDMA\" occurs twice"
                                 : "'x' where ',' or '}' was expected"))
            fail_msg ("%s", c.reason);
        capture_fini (&c);
        buf_fini (&b);
    }
}

static int setup (void **state)
{
    (void)state;
    return capture_begin ("a_ascend_pt");
}

int main (void)
{
#define IN_TOP(f) cmocka_unit_test_setup_teardown (f, setup, capture_teardown)
    const struct CMUnitTest tests[] = {
        IN_TOP (test_idle), IN_TOP (test_behind),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
