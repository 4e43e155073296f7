/* tests/fuzz/fuzz_rows.c - a sink that looks at all that comes */
#include "fuzz_rows.h"

#include "row_sinks.h"

#include <stdlib.h>
#include <string.h>

static int take_rows (void *arg, const struct batch *b, struct err *err)
{
    const struct table *t = schema_table (b->table);
    struct fuzz_rows_seen *seen = arg;

    (void)err;
    if (b->nrows > BATCH_ROWS)
        abort ();
    seen->rows += b->nrows;
    for (uint32_t i = 0; i < b->nrows; i++) {
        for (unsigned c = 0; c < t->ncolumns; c++) {
            size_t n = 0;
            const char *s;

            if (!b->text[c] || !(s = batch_text_at (b, b->text[c][i], &n)))
                continue;
            if (s[n] != '\0')
                abort ();
            seen->sum += n + strlen (s) + (n ? (uint8_t)s[n - 1] : 0);
        }
    }
    return 0;
}

struct row_sink fuzz_rows (struct fuzz_rows_seen *seen)
{
    return (struct row_sink){ take_rows, sink_forget_nothing, seen };
}
