/* common/model/batch.h - some rows of one table, column by column
 *
 * The unit in which rows move: a reader fills a batch, gives it to a sink,
 * clears it and goes on, so memory is bounded for any input.
 *
 * A number is a double, NULL is a NaN (no source can hold one).  A text is a
 * reference into the batch's own bytes, equal texts share theirs as far as is
 * cheap, and reference 0 is NULL.
 */
#ifndef ROLLCALL_MODEL_BATCH_H
#define ROLLCALL_MODEL_BATCH_H

#include "base/err.h"
#include "model/schema.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BATCH_ROWS 4096u                // a bandwidth batch: 350 KiB
#define BATCH_TEXT_MAX (4u << 20)       // bytes; one text is at most 64 KiB
#define BATCH_TEXT_FULL (1u << 20)      // bytes; from here on it is flushed
#define BATCH_CACHE 256u                // slots, a power of two

#define BATCH_NULL_TEXT 0u

struct batch {
    enum table_id table;
    uint32_t nrows;
    uint32_t generation;                // rises when the batch is cleared
    double *real[TABLE_COLUMNS_MAX];    // NULL for columns of text
    uint32_t *text[TABLE_COLUMNS_MAX];  // NULL for columns of numbers
    char *bytes;                        // u32 length, bytes, NUL; repeated
    uint32_t bytes_used;
    uint32_t bytes_cap;
    uint32_t cache[BATCH_CACHE];
    bool failed;                        // no memory for a text
};

/* 0 or -ENOMEM. */
int batch_init (struct batch *b, enum table_id table, struct err *err);
void batch_fini (struct batch *b);      // also of a zeroed one
void batch_clear (struct batch *b);

/* True if the batch must be flushed before the next row. */
bool batch_full (const struct batch *b);

/* A reference to the text; BATCH_NULL_TEXT (and b->failed) without memory. */
uint32_t batch_text (struct batch *b, const char *s, size_t n);

/* The same, of one that was added lately; BATCH_NULL_TEXT: it may be new. */
uint32_t batch_known_text (const struct batch *b, const char *s, size_t n);

/* As batch_text, of a C string; NULL is SQL's NULL. */
static inline uint32_t batch_string (struct batch *b, const char *s)
{
    return s ? batch_text (b, s, strlen (s)) : BATCH_NULL_TEXT;
}

/* A text that many rows repeat: its reference is looked up once per table and
 * generation, so use it with at most one batch of each table at a time.  's' is
 * borrowed and must stay valid until the next _set.
 */
struct batch_repeat {
    const char *s;              // NULL is SQL's NULL
    size_t n;
    uint32_t ref[TABLE_COUNT];          // in the batch of each table
    uint32_t generation[TABLE_COUNT];   // 0: not looked up
};

void batch_repeat_set (struct batch_repeat *r, const char *s, size_t n);
uint32_t batch_repeat_ref (struct batch *b, struct batch_repeat *r);

/* The text behind a reference, NUL-terminated; NULL, of 0 bytes, for
 * BATCH_NULL_TEXT.
 */
static inline const char *batch_text_at (const struct batch *b, uint32_t ref,
                                         size_t *n)
{
    uint32_t size = 0;

    if (ref != BATCH_NULL_TEXT)
        memcpy (&size, b->bytes + ref - 4, sizeof (size));
    *n = size;
    return ref != BATCH_NULL_TEXT ? b->bytes + ref : NULL;
}

/* Where rows go.  Calls for one capture come from one thread. */
struct row_sink {
    /* Take the rows (the caller keeps the batch). */
    int (*rows) (void *arg, const struct batch *b, struct err *err);
    /* Drop all rows of this table from the current capture, because their
     * source is damaged; another source will be read.
     */
    int (*forget) (void *arg, enum table_id table, struct err *err);
    void *arg;
};

/* A sink that takes no rows.  Once *cancel is true, it fails with -EINTR. */
struct row_sink row_sink_none (const atomic_bool *cancel);

/* Give the rows to the sink, if there are any, and clear the batch.  -ENOMEM if
 * a text had no room; otherwise the sink's result.
 */
int batch_flush (struct batch *b, const struct row_sink *sink,
                 struct err *err);

#endif
