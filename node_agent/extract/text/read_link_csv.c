/* node_agent/extract/text/read_link_csv.c - read hccs.csv, pcie.csv, nic.csv
 * and roce.csv
 *
 * They have the load of links: two files have means and maxima, two have
 * samples, of which both are computed here.  See doc/formats.md, "Link
 * counters".
 */
#include "extract/input/csv.h"
#include "extract/sink/capture_facts.h"
#include "extract/text/read_text.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 128u          // bytes of the name of a counter that are
                                // stored
#define DEVICES_MAX 16          // of a file; further ones are added up as one
#define ROWS_MAX 1024u          // of one file

/* The name of a column: "Tx (MB/s)" is the counter "Tx" with the unit "MB/s".
 */
struct name {
    char s[NAME_SIZE];
    size_t n;                   // size of the name of the counter
    size_t unit, unit_n;        // position in 's'; 0: none
};

struct sums {
    double samples, sum, max;
};

struct links {
    struct csv csv;
    const char *link;
    struct batch batch;
    unsigned rows;
    bool counts[CSV_FIELDS_MAX];        // whether a field is a counter
    struct name names[CSV_FIELDS_MAX];
    double devices[DEVICES_MAX];
    struct sums sums[DEVICES_MAX][CSV_FIELDS_MAX];
    int ndevices;
};

static void split_name (struct name *name, struct csv_field f)
{
    const char *open;

    *name = (struct name){ .n = f.n < NAME_SIZE ? f.n : NAME_SIZE };
    memcpy (name->s, f.n ? f.s : "", name->n);
    if (name->n == 0 || name->s[name->n - 1] != ')' ||
        !(open = memrchr (name->s, '(', name->n)) || open == name->s)
        return;
    name->unit = (size_t)(open - name->s) + 1;
    name->unit_n = name->n - name->unit - 1;
    name->n = name->unit - 1;
    while (name->n > 0 && name->s[name->n - 1] == ' ')
        name->n--;
}

static void read_link_csv_put (struct links *l, double device,
                               const struct name *name,
                               double samples, double mean, double max)
{
    struct batch *b = &l->batch;
    uint32_t row = b->nrows;

    if (l->rows++ >= ROWS_MAX)
        return;
    b->real[LINK_DEVICE][row] = device;
    b->text[LINK_TYPE][row] = batch_text (b, l->link, strlen (l->link));
    b->text[LINK_COUNTER][row] = batch_text (b, name->s, name->n);
    b->text[LINK_UNIT][row] =
        name->unit ? batch_text (b, name->s + name->unit, name->unit_n)
                   : BATCH_NULL_TEXT;
    b->real[LINK_SAMPLES][row] = samples;
    b->real[LINK_MEAN][row] = mean;
    b->real[LINK_MAX][row] = max;
    b->nrows++;
}

/* Read a device; NaN if it is none. */
static bool read_device (struct csv *c, int i, double *ret)
{
    if (!csv_real (c, i, ret))
        return false;
    if (!(*ret >= 0 && *ret <= INT32_MAX))
        *ret = NAN;
    return true;
}

/* ---- means and maxima ---- */

enum { DEVICE, MODE, MOST, MEAN, MEAN_TOO, COLUMNS };

static bool read_mode (struct links *l, const int *where)
{
    struct csv *c = &l->csv;
    struct csv_field f;
    struct name name;
    double device, mean, most;

    if (!read_device (c, where[DEVICE], &device) ||
        !csv_real (c, where[where[MEAN] >= 0 ? MEAN : MEAN_TOO], &mean) ||
        !csv_real (c, where[MOST], &most) ||
        !csv_text (c, where[MODE], NAME_SIZE, &f))
        return false;
    split_name (&name, f);
    read_link_csv_put (l, device, &name, NAN, mean, most);
    return true;
}

static void read_modes (struct links *l)
{
    static const struct csv_column columns[COLUMNS] = {
        [DEVICE] = { "Device_id", true }, [MODE] = { "Mode", false },
        [MOST] = { "Max", false },        [MEAN] = { "Average", true },
        [MEAN_TOO] = { "Avg", true },
    };
    int where[COLUMNS];
    bool ok = csv_columns (&l->csv, columns, COLUMNS, where);

    while (ok && csv_next (&l->csv))
        ok = read_mode (l, where);
}

/* ---- samples ---- */

/* The sums of a device; the last ones are those of all further devices. */
static struct sums *sums_of (struct links *l, double device)
{
    int i = 0;

    while (i < l->ndevices && l->devices[i] != device &&
           !(isnan (device) && isnan (l->devices[i])))
        i++;
    if (i == DEVICES_MAX) {
        l->devices[--i] = NAN;
    } else if (i == l->ndevices) {
        l->devices[i] = device;
        l->ndevices++;
    }
    return l->sums[i];
}

static bool read_sample (struct links *l, const int *where)
{
    struct csv *c = &l->csv;
    struct sums *sums;
    double device, v;

    if (!read_device (c, where[0], &device))
        return false;
    sums = sums_of (l, device);
    for (int i = 0; i < CSV_FIELDS_MAX; i++) {
        if (!l->counts[i])
            continue;
        if (!csv_real (c, i, &v))
            return false;
        if (isnan (v))
            continue;
        sums[i].max = sums[i].samples == 0 ? v : fmax (sums[i].max, v);
        sums[i].sum += v;
        sums[i].samples++;
    }
    return true;
}

/* Take the names of all columns but those of device and time. */
static bool read_names (struct links *l, const int *where)
{
    struct csv *c = &l->csv;

    for (int i = 0; i < c->nfields; i++) {
        struct csv_field f;

        l->counts[i] = i != where[0] && i != where[1] && i != where[2];
        if (!csv_text (c, i, NAME_SIZE, &f))
            return false;
        split_name (&l->names[i], f);
    }
    return true;
}

static void read_samples (struct links *l)
{
    static const struct csv_column columns[] = {
        { "Device_id", true }, { "Timestamp(us)", false }, { "funcId", true },
    };
    int where[3];
    bool ok = csv_columns (&l->csv, columns, 3, where) &&
              read_names (l, where);

    while (ok && csv_next (&l->csv))
        ok = read_sample (l, where);
    for (int d = 0; d < l->ndevices; d++) {
        for (int i = 0; i < CSV_FIELDS_MAX; i++) {
            const struct sums *s = &l->sums[d][i];

            if (s->samples > 0)
                read_link_csv_put (l, l->devices[d], &l->names[i], s->samples,
                                   s->sum / s->samples, s->max);
        }
    }
}

/* ---- files ---- */

static const struct {
    const char *pattern, *link;
    void (*read) (struct links *l);
} files[] = {
    { "hccs?(_*).csv", "HCCS", read_modes },
    { "pcie?(_*).csv", "PCIE", read_modes },
    { "nic?(_*).csv", "NIC", read_samples },
    { "roce?(_*).csv", "ROCE", read_samples },
};

#define FILES (sizeof (files) / sizeof (files[0]))

/* Which of them a file is, or -1. */
static int which (const char *path)
{
    const char *slash = strrchr (path, '/');

    for (unsigned i = 0; slash && i < FILES; i++) {
        if (fnmatch (files[i].pattern, slash + 1, FNM_EXTMATCH) == 0)
            return (int)i;
    }
    return -1;
}

bool is_link_csv (const char *path)
{
    return which (path) >= 0;
}

enum reading read_link_csv (struct source *src, const char *path,
                            struct err *err)
{
    struct links *l = calloc (1, sizeof (*l));
    int i = which (path);
    enum reading how;

    if (!l) {
        src->stopped = err_set (err, ENOMEM, "no memory to read %s", path);
        return READING_STOPPED;
    }
    l->link = files[i].link;
    how = csv_open (&l->csv, src, src->dir, path, err);
    if (how == READING_WHOLE) {
        src->stopped = batch_init (&l->batch, TABLE_LINK, err);
        if (!src->stopped) {
            files[i].read (l);
            (void)source_flush (src, &l->batch, err);
        }
        batch_fini (&l->batch);
        how = csv_close (&l->csv, err);
    }
    free (l);
    return how;
}
