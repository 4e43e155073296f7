/* node_agent/extract/sink/capture_facts.c - collect facts from several files of
 * a capture
 *
 * This folder: an open capture and what is sent of it: rows, facts, evidence,
 * and verdicts.
 */
#include "extract/sink/capture_facts.h"

#include "base/texts.h"
#include "base/utf8.h"
#include "model/secret.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KINDS_MAX 8u            // kinds that share the row of all others
#define OTHERS "(others)"       // component for values without room

_Static_assert(CAPTURE_FACTS_INFO_MAX + 1 <= BATCH_ROWS &&
                   CAPTURE_FACTS_INFO_MAX * (CAPTURE_FACTS_VALUE_MAX +
                                             2 * CAPTURE_FACTS_NAME_MAX) <
                       BATCH_TEXT_MAX,
               "the rows of CaptureInfo fit one batch");

struct file {
    char *path;
    uint64_t bytes;
    bool read;
};

/* The key of a peak.  Its two texts are hashes, which do not collide by chance.
 */
struct peak {
    double device;              // NaN: none
    uint64_t component, kind;
};

struct capture_facts {
    struct batch info, peaks;   // their rows are changed in place
    struct map peak_rows;       // as the rows of 'peaks'
    uint64_t more_info;         // rows without room
    struct file files[CAPTURE_FACTS_FILES_MAX + 1];     // sorted by path
    size_t nfiles;
    uint64_t more_files, more_bytes;
    bool failed;                // no memory
};

struct capture_facts *capture_facts_new (void)
{
    struct capture_facts *x = calloc (1, sizeof (*x));

    if (x && (batch_init (&x->info, TABLE_INFO, NULL) < 0 ||
              batch_init (&x->peaks, TABLE_MEMORY, NULL) < 0)) {
        capture_facts_free (x);
        return NULL;
    }
    if (x)
        x->peak_rows = (struct map)MAP (struct peak, 3);
    return x;
}

void capture_facts_free (struct capture_facts *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->nfiles; i++)
        free (x->files[i].path);
    batch_fini (&x->info);
    batch_fini (&x->peaks);
    map_fini (&x->peak_rows);
    free (x);
}

/* ---- CaptureInfo ---- */

/* How many bytes of a text are stored: all, or as many whole characters as
 * leave room for "..." after them.
 */
static size_t cut (char *out, const char *s, size_t n, size_t max)
{
    if (n <= max) {
        memcpy (out, s, n);
        return n;
    }
    n = utf8_cut (s, n, max - 3);
    memcpy (out, s, n);
    memcpy (out + n, "...", 3);
    return n + 3;
}

static bool text_is (const struct batch *b, unsigned column, uint32_t row,
                     const char *s, size_t n)
{
    size_t size;
    const char *have = batch_text_at (b, b->text[column][row], &size);

    return have && size == n && memcmp (have, s, n) == 0;
}

static void add_info (struct batch *b, const char *kind, const char *name,
                      size_t name_size, const char *value, size_t value_size)
{
    uint32_t row = b->nrows;

    b->text[INFO_KIND][row] = batch_text (b, kind, strlen (kind));
    b->text[INFO_NAME][row] = batch_text (b, name, name_size);
    b->text[INFO_VALUE][row] = value ? batch_text (b, value, value_size)
                                     : BATCH_NULL_TEXT;
    b->nrows++;
}

void capture_facts_info (struct source *src, const char *kind, const char *name,
                         size_t name_size, const char *value, size_t value_size)
{
    struct capture_facts *x = src->extras;
    char key[CAPTURE_FACTS_NAME_MAX], text[CAPTURE_FACTS_VALUE_MAX];
    bool secret;

    if (!x)
        return;
    secret = secret_name (name, name_size) ||
             (value && secret_value (value, value_size));
    name_size = cut (key, name, name_size, sizeof (key));
    for (uint32_t i = 0; i < x->info.nrows; i++) {
        if (text_is (&x->info, INFO_NAME, i, key, name_size) &&
            text_is (&x->info, INFO_KIND, i, kind, strlen (kind)))
            return;
    }
    if (x->info.nrows == CAPTURE_FACTS_INFO_MAX) {
        x->more_info++;
        return;
    }
    if (value && secret && value_size > 0) {
        value_size = strlen (CAPTURE_FACTS_NOT_SHOWN);
        memcpy (text, CAPTURE_FACTS_NOT_SHOWN, value_size);
    } else if (value) {
        value_size = cut (text, value, value_size, sizeof (text));
    }
    add_info (&x->info, kind, key, name_size, value ? text : NULL, value_size);
}

static void tell_more_info (struct capture_facts *x)
{
    char name[48];
    int n = snprintf (name, sizeof (name), "(%llu more)",
                      (unsigned long long)x->more_info);

    if (x->more_info > 0)
        add_info (&x->info, "more", name, (size_t)n, NULL, 0);
}

/* ---- MemoryPeak ---- */

static struct peak key_of (double device, const char *component, size_t n,
                           const char *kind)
{
    return (struct peak){ device, texts_hash (component, n),
                          texts_hash (kind, strlen (kind)) };
}

static void put_peak (struct batch *b, uint32_t row, double peak, double at)
{
    b->real[MEMORY_PEAK][row] = peak;
    b->real[MEMORY_AT][row] = at;
}

void capture_facts_peak (struct source *src, double device,
                         const char *component,
                         size_t component_size, const char *kind, double peak,
                         double at)
{
    struct capture_facts *x = src->extras;
    struct batch *b;
    char name[CAPTURE_FACTS_NAME_MAX];
    struct peak key;
    const struct peak *known;
    uint32_t row;
    bool is_new;

    if (!x || !(peak > 0))
        return;
    b = &x->peaks;
    device = device >= 0 && device <= INT32_MAX ? device + 0.0  // no -0
                                                : NAN;
    component_size = cut (name, component, component_size, sizeof (name));
    key = key_of (device, name, component_size, kind);
    known = map_get (&x->peak_rows, &key);
    if (!known && b->nrows >= CAPTURE_FACTS_PEAKS_MAX) {
        device = NAN;
        component_size = strlen (OTHERS);
        memcpy (name, OTHERS, component_size);
        key = key_of (device, name, component_size, kind);
        known = map_get (&x->peak_rows, &key);
    }
    if (known) {
        row = (uint32_t)(known - (const struct peak *)x->peak_rows.records);
        if (peak > b->real[MEMORY_PEAK][row])
            put_peak (b, row, peak, at);
        return;
    }
    row = b->nrows;
    if (row >= CAPTURE_FACTS_PEAKS_MAX + KINDS_MAX)
        return;
    if (!map_put (&x->peak_rows, &key, &is_new)) {
        x->failed = true;
        return;
    }
    b->real[MEMORY_DEVICE][row] = device;
    b->text[MEMORY_COMPONENT][row] = batch_text (b, name, component_size);
    b->text[MEMORY_KIND][row] = batch_text (b, kind, strlen (kind));
    put_peak (b, row, peak, at);
    b->nrows++;
}

/* ---- OtherFile ---- */

void capture_facts_file (struct source *src, const char *path, uint64_t bytes)
{
    struct capture_facts *x = src->extras;
    size_t low = 0, high;
    char *copy;

    if (!x)
        return;
    for (high = x->nfiles; low < high;) {
        size_t mid = (low + high) / 2;

        if (strcmp (x->files[mid].path, path) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == CAPTURE_FACTS_FILES_MAX) {
        x->more_files++;
        x->more_bytes += bytes;
        return;
    }
    if (!(copy = strdup (path))) {
        x->failed = true;
        return;
    }
    memmove (&x->files[low + 1], &x->files[low],
             (x->nfiles - low) * sizeof (x->files[0]));
    x->files[low] = (struct file){ .path = copy, .bytes = bytes };
    if (++x->nfiles > CAPTURE_FACTS_FILES_MAX) { // the last one has no room
        x->nfiles--;
        x->more_files++;
        x->more_bytes += x->files[x->nfiles].bytes;
        free (x->files[x->nfiles].path);
    }
}

bool capture_facts_has_file (const struct source *src,
                             bool (*is_one) (const char *path))
{
    const struct capture_facts *x = src->extras;

    for (size_t i = 0; x && i < x->nfiles; i++) {
        if (!x->files[i].read && is_one (x->files[i].path))
            return true;
    }
    return false;
}

enum reading capture_facts_read_files (struct source *src,
                                       bool (*is_one) (const char *path),
                                       enum reading (*read) (
                                           struct source *src,
                                           const char *path, struct err *err),
                                       struct err *err)
{
    struct capture_facts *x = src->extras;
    enum reading all = READING_ABSENT;

    for (size_t i = 0; i < x->nfiles && all != READING_STOPPED; i++) {
        struct err why = { "" };
        enum reading how;

        if (x->files[i].read || !is_one (x->files[i].path))
            continue;
        how = read (src, x->files[i].path, &why);
        x->files[i].read = how != READING_ABSENT;
        if (how == READING_STOPPED ||
            (how != READING_ABSENT && all != READING_DAMAGED)) {
            all = how;
            *err = why;
        }
    }
    return all;
}

static void add_file (struct batch *b, const char *path, size_t n,
                      uint64_t bytes)
{
    b->text[FILE_PATH][b->nrows] = batch_text (b, path, n);
    b->real[FILE_BYTES][b->nrows] = (double)bytes;
    b->nrows++;
}

static void list_files (const struct capture_facts *x, struct batch *b)
{
    char fixed[3 * PATH_MAX];

    for (size_t i = 0; i < x->nfiles; i++) {
        size_t n = strnlen (x->files[i].path, PATH_MAX);
        uint64_t bad = 0;

        if (x->files[i].read)
            continue;
        n = utf8_repair (x->files[i].path, n, fixed, &bad);
        add_file (b, fixed, n, x->files[i].bytes);
    }
    if (x->more_files > 0) {
        int n = snprintf (fixed, sizeof (fixed), "(%llu more)",
                          (unsigned long long)x->more_files);

        add_file (b, fixed, (size_t)n, x->more_bytes);
    }
}

static bool send_files (struct source *src, struct err *err)
{
    struct batch b;
    bool ok;

    if ((src->stopped = batch_init (&b, TABLE_FILE, err)) < 0)
        return false;
    list_files (src->extras, &b);
    ok = source_flush (src, &b, err);
    batch_fini (&b);
    return ok;
}

bool capture_facts_send (struct source *src, struct err *err)
{
    struct capture_facts *x = src->extras;

    if (!x)
        return true;
    if (x->failed) {
        src->stopped = err_set (err, ENOMEM, "no memory for the list of "
                                "files");
        return false;
    }
    tell_more_info (x);
    return source_flush (src, &x->info, err) &&
           source_flush (src, &x->peaks, err) && send_files (src, err);
}
