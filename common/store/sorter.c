/* common/store/sorter.c - sort any number of records
 *
 * The last record of each run is kept, so that a run that continues the order
 * of the previous one is appended to it.  RUNS_MERGED runs of one level are
 * merged into one of the next level, so the number of runs and of their buffers
 * is bounded.
 */
#include "store/sorter.h"

#include "store/sorter_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MERGED 64u         // runs of one level that are merged
#define RUNS_MAX 256u           // four levels: 64^4 times SORTER_MEMORY
#define BLOCK_RECORDS 16u       // sorted by insertion

struct sorter {
    unsigned words, keys;
    size_t cap, n, next;        // records in memory
    int64_t *mem, *scratch;
    bool ordered;               // 'mem' is sorted so far
    struct sorter_file file;
    struct sorter_run runs[RUNS_MAX];
    unsigned nruns;
    struct sorter_reader *readers;      // readers of the last merge
    unsigned *heap;             // indexes of readers, least record first
    unsigned nheap;
    int failed;
    struct err why;
};

struct sorter *sorter_create (unsigned words, unsigned keys)
{
    struct sorter *s = calloc (1, sizeof (*s));

    if (!s)
        return NULL;
    s->words = words;
    s->keys = keys;
    s->file = (struct sorter_file){ .words = words, .fd = -1 };
    s->ordered = true;
    s->cap = SORTER_MEMORY / (words * sizeof (int64_t));
    s->mem = malloc (SORTER_MEMORY);
    if (!s->mem) {
        sorter_destroy (s);
        return NULL;
    }
    return s;
}

static void drop_readers (struct sorter *s)
{
    for (unsigned i = 0; s->readers && i < RUNS_MAX; i++)
        sorter_reader_fini (&s->readers[i]);
    free (s->readers);
    free (s->heap);
    s->readers = NULL;
    s->heap = NULL;
    s->nheap = 0;
}

void sorter_destroy (struct sorter *s)
{
    if (!s)
        return;
    drop_readers (s);
    sorter_file_close (&s->file);
    free (s->mem);
    free (s->scratch);
    free (s);
}

static int fail (struct sorter *s, int rc, const char *what)
{
    s->failed = err_set (&s->why, rc, "%s: %s", what, strerror (rc));
    return s->failed;
}

static int failed (const struct sorter *s, struct err *err)
{
    if (s->failed && err)
        *err = s->why;
    return s->failed;
}

static int sorter_compare (const struct sorter *s, const int64_t *a,
                           const int64_t *b)
{
    for (unsigned k = 0; k < s->keys; k++) {
        if (a[k] != b[k])
            return a[k] < b[k] ? -1 : 1;
    }
    return 0;
}

/* ---- in memory ---- */

/* The end of the sorted stretch that begins at 'i'. */
static size_t stretch (const struct sorter *s, const int64_t *v, size_t i)
{
    const int64_t *p = v + i * s->words;

    for (i++; i < s->n; i++, p += s->words) {
        if (sorter_compare (s, p, p + s->words) > 0)
            break;
    }
    return i;
}

/* Merge [a, b) and [b, c) of 'from', both sorted, into 'to'. */
static void merge_two (const struct sorter *s, const int64_t *from,
                       int64_t *to, size_t a, size_t b, size_t c)
{
    size_t w = s->words, size = w * sizeof (int64_t), j = b;
    int64_t *out = to + a * w;

    while (a < b && j < c) {
        const int64_t *p = from + a * w, *q = from + j * w;

        if (sorter_compare (s, p, q) <= 0) {
            memcpy (out, p, size);
            a++;
        } else {
            memcpy (out, q, size);
            j++;
        }
        out += w;
    }
    memcpy (out, from + a * w, (b - a) * size);
    memcpy (out + (b - a) * w, from + j * w, (c - j) * size);
}

/* Sort [from, to) by insertion, which suffices where order is only locally
 * wrong.
 */
static void sort_block (struct sorter *s, size_t from, size_t to)
{
    size_t w = s->words, size = w * sizeof (int64_t);
    int64_t moved[SORTER_WORDS_MAX];

    for (size_t i = from + 1; i < to; i++) {
        int64_t *at = s->mem + i * w;
        size_t j = i;

        if (sorter_compare (s, at - w, at) <= 0)
            continue;
        memcpy (moved, at, size);
        while (j > from && sorter_compare (s, s->mem + (j - 1) * w, moved) > 0)
            j--;
        memmove (s->mem + (j + 1) * w, s->mem + j * w, (i - j) * size);
        memcpy (s->mem + j * w, moved, size);
    }
}

/* A merge sort that uses stretches which are sorted already. */
static int sort_memory (struct sorter *s)
{
    bool again = !s->ordered;

    for (size_t i = 0; again && i < s->n; i += BLOCK_RECORDS)
        sort_block (s, i, i + BLOCK_RECORDS < s->n ? i + BLOCK_RECORDS : s->n);
    if (again && !s->scratch && !(s->scratch = malloc (SORTER_MEMORY)))
        return fail (s, ENOMEM, "cannot sort");
    while (again) {
        int64_t *swap = s->mem;

        again = false;
        for (size_t a = 0, c; a < s->n; a = c) {
            size_t b = stretch (s, s->mem, a);

            c = b < s->n ? stretch (s, s->mem, b) : b;
            merge_two (s, s->mem, s->scratch, a, b, c);
            again = again || a > 0 || c < s->n;
        }
        s->mem = s->scratch;
        s->scratch = swap;
    }
    s->ordered = true;
    return 0;
}

/* ---- on disk ---- */

/* Append records to the last run. */
static int write_records (struct sorter *s, struct sorter_run *run,
                          const int64_t *v, size_t n)
{
    int rc;

    if (s->file.fd < 0 && (rc = sorter_file_open (&s->file)) < 0)
        return fail (s, -rc, "cannot make a file to sort in $TMPDIR");
    rc = sorter_file_write (&s->file, run, v, n);
    return rc < 0 ? fail (s, -rc, "cannot write to a file in $TMPDIR") : 0;
}

static int read_record (struct sorter *s, unsigned reader)
{
    int rc = sorter_file_read (&s->file, &s->readers[reader]);

    return rc < 0 ? fail (s, -rc, "cannot read a file in $TMPDIR") : rc;
}

/* Of equal records that of the earlier run comes first, which keeps their
 * order.
 */
static bool before (const struct sorter *s, unsigned a, unsigned b)
{
    int c = sorter_compare (s, s->readers[a].record, s->readers[b].record);

    return c < 0 || (c == 0 && a < b);
}

static void sift (struct sorter *s, unsigned i)
{
    for (;;) {
        unsigned child = 2 * i + 1, least = s->heap[i];

        if (child >= s->nheap)
            return;
        if (child + 1 < s->nheap &&
            before (s, s->heap[child + 1], s->heap[child]))
            child++;
        if (before (s, least, s->heap[child]))
            return;
        s->heap[i] = s->heap[child];
        s->heap[child] = least;
        i = child;
    }
}

/* Begin to merge the runs from 'from' on. */
static int start_merge (struct sorter *s, unsigned from)
{
    s->readers = calloc (RUNS_MAX, sizeof (*s->readers));
    s->heap = calloc (RUNS_MAX, sizeof (*s->heap));
    if (!s->readers || !s->heap)
        return fail (s, ENOMEM, "cannot sort");
    for (unsigned i = from; i < s->nruns; i++) {
        const struct sorter_run *run = &s->runs[i];

        s->readers[i] = (struct sorter_reader){
            .at = run->first, .left = run->bytes, .count = run->count };
        if (read_record (s, i) == 1)
            s->heap[s->nheap++] = i;
        if (s->failed)
            return s->failed;
    }
    for (unsigned i = s->nheap / 2; i-- > 0;)
        sift (s, i);
    return 0;
}

static int next_merged (struct sorter *s, int64_t *record)
{
    int rc;

    if (s->nheap == 0)
        return 0;
    memcpy (record, s->readers[s->heap[0]].record,
            s->words * sizeof (*record));
    if ((rc = read_record (s, s->heap[0])) < 0)
        return rc;
    if (rc == 0)
        s->heap[0] = s->heap[--s->nheap];
    sift (s, 0);
    return 1;
}

/* Merge the last runs, which are of one level, into one of the next. */
static int merge_level (struct sorter *s)
{
    unsigned from = s->nruns - RUNS_MERGED;
    struct sorter_run all = { .first = s->file.bytes,
                              .level = s->runs[from].level + 1 };
    int64_t *out = s->scratch ? s->scratch : malloc (SORTER_MEMORY);
    size_t n = 0;
    int rc;

    s->scratch = out;
    if (!out)
        return fail (s, ENOMEM, "cannot sort");
    rc = start_merge (s, from);
    while (rc == 0 && (rc = next_merged (s, out + n * s->words)) == 1) {
        rc = ++n == s->cap ? write_records (s, &all, out, n) : 0;
        n = n == s->cap ? 0 : n;
    }
    if (rc == 0)
        rc = write_records (s, &all, out, n);
    drop_readers (s);
    s->nruns = from;
    s->runs[s->nruns++] = all;
    return rc;
}

static bool level_is_full (const struct sorter *s)
{
    return s->nruns >= RUNS_MERGED &&
           s->runs[s->nruns - RUNS_MERGED].level ==
               s->runs[s->nruns - 1].level;
}

/* Write the records in memory as a run, or append them to the last one. */
static int spill (struct sorter *s)
{
    struct sorter_run *run = s->nruns > 0 ? &s->runs[s->nruns - 1] : NULL;

    if (sort_memory (s) < 0)
        return s->failed;
    if (!run || run->first + run->bytes != s->file.bytes ||
        sorter_compare (s, run->last, s->mem) > 0) {
        if (s->nruns == RUNS_MAX)
            return fail (s, E2BIG, "cannot sort");
        run = &s->runs[s->nruns++];
        *run = (struct sorter_run){ .first = s->file.bytes };
    }
    if (write_records (s, run, s->mem, s->n) < 0)
        return s->failed;
    s->n = 0;
    while (level_is_full (s) && !s->failed)
        (void)merge_level (s);
    return s->failed;
}

/* ---- the outside ---- */

int sorter_add (struct sorter *s, const int64_t *record, struct err *err)
{
    int64_t *at;

    if (s->failed || (s->n == s->cap && spill (s) < 0))
        return failed (s, err);
    at = s->mem + s->n * s->words;
    memcpy (at, record, s->words * sizeof (*record));
    if (s->n > 0 && s->ordered)
        s->ordered = sorter_compare (s, at - s->words, at) <= 0;
    s->n++;
    return 0;
}

int sorter_finish (struct sorter *s, struct err *err)
{
    s->next = 0;
    if (s->failed || s->nruns == 0) {
        if (!s->failed)
            (void)sort_memory (s);
    } else if (s->n == 0 || spill (s) == 0) {
        (void)start_merge (s, 0);
    }
    free (s->scratch);
    s->scratch = NULL;
    if (s->nruns > 0) {
        free (s->mem);
        s->mem = NULL;
    }
    return failed (s, err);
}

int sorter_next (struct sorter *s, int64_t *record, struct err *err)
{
    if (s->failed)
        return failed (s, err);
    if (s->nruns > 0) {
        int rc = next_merged (s, record);

        return rc < 0 ? failed (s, err) : rc;
    }
    if (s->next == s->n)
        return 0;
    memcpy (record, s->mem + s->next++ * s->words,
            s->words * sizeof (*record));
    return 1;
}
