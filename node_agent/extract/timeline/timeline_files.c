/* node_agent/extract/timeline/timeline_files.c - find the files of a timeline
 *
 * torch_npu and MindSpore write trace_view.json.  msprof writes
 * msprof_<time>.json or, if that is too large, msprof_slice_<k>_<time>.json
 * with k from 0; each export has its own time, and the latest counts.  In 2023
 * it wrote msprof_<device>_<model>_<iteration>.json, and all of these count;
 * they contain the files hccl_... beside them.
 */
#include "extract/timeline/read_timeline.h"
#include "extract/timeline/timeline.h"

#include "base/units.h"
#include "base/vec.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME_SIZE sizeof (((struct timeline_files *)0)->names[0])
#define SLICES_MAX 4096u

/* Parse time and number in the name of a file of msprof.  False: it is none. */
static bool msprof_name (const char *name, int64_t *time, int64_t *slice)
{
    const char *p = name;
    char digits[24];
    size_t n;

    *slice = -1;
    if (strlen (name) >= NAME_SIZE || strncmp (p, "msprof_", 7) != 0)
        return false;
    p += 7;
    for (int i = 0; i < 2; i++) {
        if (i == 0 && strncmp (p, "slice_", 6) != 0)
            continue;
        p += i == 0 ? 6 : 0;
        n = strspn (p, "0123456789");
        if (n == 0 || n >= sizeof (digits))
            return false;
        memcpy (digits, p, n);
        digits[n] = '\0';
        if (units_int (digits, 0, INT64_MAX, i == 0 ? slice : time) < 0)
            return false;
        p += n;
        if (i == 0 && *p++ != '_')
            return false;
    }
    return strcmp (p, ".json") == 0;
}

/* Whether it is msprof_<device>_<model>_<iteration>.json. */
static bool iteration_name (const char *name)
{
    const char *p = name;

    if (strlen (name) >= NAME_SIZE || strncmp (p, "msprof", 6) != 0)
        return false;
    p += 6;
    for (int i = 0; i < 3; i++) {
        size_t n = *p == '_' ? strspn (p + 1, "0123456789") : 0;

        if (n == 0)
            return false;
        p += 1 + n;
    }
    return strcmp (p, ".json") == 0;
}

static int by_name (const void *pa, const void *pb)
{
    return strcmp (pa, pb);
}

static int by_slice (const void *pa, const void *pb)
{
    int64_t time, a = 0, b = 0;

    (void)msprof_name (pa, &time, &a);
    (void)msprof_name (pb, &time, &b);
    return a < b ? -1 : a > b;
}

static int add_name (struct timeline_files *f, const char *name)
{
    char (*names)[CAPTURE_NAME_MAX];

    if (f->n == SLICES_MAX)
        return 0;
    if (!(names = vec_one_more (f->names, f->n, NAME_SIZE)))
        return -ENOMEM;
    f->names = names;
    (void)snprintf (f->names[f->n++], NAME_SIZE, "%s", name);
    return 0;
}

/* Find a slice that is missing or was not listed.  They are numbered from 0. */
static void find_gap (struct timeline_files *f)
{
    int64_t time, slice;

    for (uint32_t i = 0; i < f->n && !f->gap; i++) {
        if (!msprof_name (f->names[i], &time, &slice) || slice < 0)
            continue;           // it is not sliced
        f->gap = slice != i;
        f->missing = i;
    }
    if (f->n == SLICES_MAX && !f->gap) {
        f->gap = true;
        f->missing = SLICES_MAX;
    }
}

static int list_msprof (const struct source *src, struct timeline_files *f)
{
    int fd = fileio_open_dir_at (src->out, ".", NULL), rc = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir (fd);
    int64_t latest = -1, time, slice;
    struct dirent *e;

    if (!dir) {
        source_transient_error (src, fd < 0 ? fd : -errno);
        if (fd >= 0)
            (void)close (fd);
        return 0;
    }
    while (rc == 0 && (e = fileio_next_entry (dir, &rc))) {
        if (src->iterations && iteration_name (e->d_name))
            rc = add_name (f, e->d_name);
        if (src->iterations || !msprof_name (e->d_name, &time, &slice) ||
            time < latest)
            continue;
        if (time > latest)
            f->n = 0;           // those are an older export
        latest = time;
        rc = add_name (f, e->d_name);
    }
    source_transient_error (src, rc);
    (void)closedir (dir);
    if (f->n > 1)
        qsort (f->names, f->n, NAME_SIZE,
               src->iterations ? by_name : by_slice);
    find_gap (f);
    return rc == -ENOMEM ? rc : 0;
}

int timeline_list (const struct source *src, struct timeline_files *ret)
{
    *ret = (struct timeline_files){ .names = NULL };
    if (src->form == FORM_TRACE)
        return src->trace == TRACE_TORCH_NPU ? add_name (ret, src->file) : 0;
    if (src->out < 0)
        return 0;
    if (src->form == FORM_MSPROF)
        return list_msprof (src, ret);
    if (src->form == FORM_ASCEND && source_has (src->out, "trace_view.json",
                                                NULL))
        return add_name (ret, "trace_view.json");
    return 0;
}

bool timeline_is_there (const struct source *src, uint64_t *size)
{
    struct timeline_files f;
    uint64_t one, sum = 0;
    bool any = false;

    if (timeline_list (src, &f) == 0) {
        for (uint32_t i = 0; i < f.n; i++) {
            if (source_has (timeline_dir (src), f.names[i], &one)) {
                any = true;
                sum += one;
            }
        }
    }
    free (f.names);
    if (size)
        *size = sum;
    return any;
}
