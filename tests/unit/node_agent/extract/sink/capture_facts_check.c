/* tests/unit/node_agent/extract/sink/capture_facts_check.c - a capture of one
 * step and what a test puts beside it, and the rows that come of that */
#include "node_agent/extract/sink/capture_facts_check.h"

#include <math.h>

#define STEPS \
    "Step,Computing,Communication(Not Overlapped),Overlapped," \
    "Communication,Free,Stage,Bubble,Communication(Not Overlapped and " \
    "Exclude Receive)\n13,1,0,0,0,0,0,0,0\n"

struct kept kept;

int extras_setup (void **state)
{
    (void)state;
    return capture_begin ("rank_0_ascend_pt");
}

void make_capture (void)
{
    assert_int_equal (fileio_remove_tree (capture_chosen (), NULL), 0);
    capture_put ("profiler_info_0.json",
                 "{\"config\":{\"experimental_config\":{\"_profiler_level\":"
                 "\"Level0\"}}}");
    capture_put (OUT "step_trace_time.csv", STEPS);
}

static void keep_value (struct kept *k, const struct batch *b, unsigned col,
                        uint32_t row)
{
    size_t used = strlen (k->text), size, left = sizeof (k->text) - used;
    const char *sep = col > 0 ? "|" : "";
    const char *text;

    if (b->real[col] && isnan (b->real[col][row])) {
        (void)snprintf (k->text + used, left, "%s", sep);
    } else if (b->real[col]) {
        (void)snprintf (k->text + used, left, "%s%.17g", sep,
                        b->real[col][row]);
    } else {
        text = batch_text_at (b, b->text[col][row], &size);
        (void)snprintf (k->text + used, left, "%s%s", sep,
                        text ? text : "NULL");
    }
}

static int keep_rows (void *arg, const struct batch *b, struct err *err)
{
    struct kept *k = arg;

    (void)err;
    for (uint32_t row = 0; b->table == k->table && row < b->nrows; row++) {
        for (unsigned c = 0; c < schema_table (b->table)->ncolumns; c++)
            keep_value (k, b, c, row);
        (void)snprintf (k->text + strlen (k->text),
                        sizeof (k->text) - strlen (k->text), "\n");
        k->rows++;
    }
    return 0;
}

void read_table (enum table_id table, struct capture *c)
{
    const struct row_sink sink = { keep_rows, sink_forget_nothing, &kept };

    kept.table = table;
    kept.text[0] = '\0';
    kept.rows = 0;
    assert_int_equal (capture_read (&sink, c), 0);
}

void check (enum table_id table, const char *rows, enum capture_state state,
            const char *reason)
{
    struct capture c;

    read_table (table, &c);
    assert_string_equal (kept.text, rows);
    if (c.state != state || !strstr (c.reason, reason))
        fail_msg ("%s: no \"%s\" in \"%s\"", capture_state_name (c.state),
                  reason, c.reason);
    capture_fini (&c);
}

void check_many (enum table_id table, size_t rows, const char *row)
{
    struct capture c;

    read_table (table, &c);
    assert_int_equal (c.state, CAPTURE_COMPLETE);
    assert_int_equal (kept.rows, rows);
    assert_non_null (strstr (kept.text, row));
    capture_fini (&c);
}
