/* node_agent/extract/text/read_memory_csv.c - read memory_record.csv and
 * npu_module_mem.csv
 *
 * They have samples of the memory of each component, of which the peaks are
 * kept.  See doc/formats.md, "Memory".
 */
#include "extract/input/csv.h"
#include "extract/sink/capture_facts.h"
#include "extract/text/read_text.h"

#include "base/units.h"

#include <math.h>

enum { COMPONENT, AT, DEVICE, DEVICE_ID, ALLOCATED, RESERVED, ACTIVE,
       COLUMNS };

struct form {
    const char *file;
    const char *kinds[COLUMNS];         // MemoryPeak.kind; NULL: it is not
                                        // stored
    struct csv_column columns[COLUMNS];
};

static const struct form record = {
    "memory_record.csv", {
        [ALLOCATED] = "allocated", [RESERVED] = "reserved",
        [ACTIVE] = "active",
    }, {
        [COMPONENT] = { "Component", false },
        [AT] = { "Timestamp(us)", false },
        [DEVICE] = { "Device Type", true },
        [DEVICE_ID] = { "Device_id", true },
        [ALLOCATED] = { "Total Allocated(MB)", true },
        [RESERVED] = { "Total Reserved(MB)", false },
        [ACTIVE] = { "Total Active(MB)", true },
    },
};

static const struct form module = {
    "npu_module_mem.csv", {
        [RESERVED] = "module",
    }, {
        [COMPONENT] = { "Component", false },
        [AT] = { "Timestamp(us)", false },
        [DEVICE] = { "Device", true },
        [DEVICE_ID] = { "Device_id", true },
        [ALLOCATED] = { "Total Allocated(MB)", true },
        [RESERVED] = { "Total Reserved(MB)", false },
        [ACTIVE] = { "Total Active(MB)", true },
    },
};

/* Read a device: "NPU:3" and "3" are device 3, anything else is unknown. */
static bool read_device (struct csv *c, const int *where, double *ret)
{
    struct csv_field f;
    size_t i;

    *ret = NAN;
    if (!csv_field (c, where[where[DEVICE] >= 0 ? DEVICE : DEVICE_ID], &f))
        return false;
    for (i = f.n; i > 0 && f.s[i - 1] >= '0' && f.s[i - 1] <= '9'; i--)
        ;
    if (i < f.n && f.n - i < 10 && (i == 0 || f.s[i - 1] == ':'))
        (void)units_real (f.s + i, f.n - i, ret);
    return true;
}

static bool read_row (const struct form *form, struct csv *c,
                      const int *where)
{
    struct csv_field component;
    double device, at, v[COLUMNS];

    for (int col = ALLOCATED; col < COLUMNS; col++) {
        if (!csv_real (c, where[col], &v[col]))
            return false;
    }
    // most components never have memory
    if (!(v[ALLOCATED] > 0 || v[RESERVED] > 0 || v[ACTIVE] > 0))
        return true;
    if (!read_device (c, where, &device) || !csv_real (c, where[AT], &at) ||
        !csv_text (c, where[COMPONENT], CAPTURE_FACTS_NAME_MAX, &component))
        return false;
    for (int col = ALLOCATED; col < COLUMNS; col++) {
        if (form->kinds[col])
            capture_facts_peak (c->src, device, component.s, component.n,
                                form->kinds[col], v[col], at);
    }
    return true;
}

static enum reading read_file (const struct form *form, struct source *src,
                               struct err *err)
{
    int where[COLUMNS];
    struct csv c;
    enum reading how = csv_open (&c, src, src->out, form->file, err);
    bool ok;

    if (how != READING_WHOLE)
        return how;
    ok = csv_columns (&c, form->columns, COLUMNS, where);
    while (ok && csv_next (&c))
        ok = read_row (form, &c, where);
    return csv_close (&c, err);
}

enum reading read_memory_record (struct source *src, unsigned want,
                                 struct err *err)
{
    (void)want;
    return read_file (&record, src, err);
}

enum reading read_module_memory (struct source *src, unsigned want,
                                 struct err *err)
{
    (void)want;
    return read_file (&module, src, err);
}
