/* node_agent/identity/info_file.c - read profiler_info*.json and info.json.<N>
 */
#include "identity/info_file.h"

#include "base/units.h"
#include "base/utf8.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#define INFO_MAX (1u << 20)     // bytes of such a file, which usually has 10 kB

int info_each_name (int dirfd, void (*note) (void *arg, const char *name),
                    void *arg)
{
    DIR *dir = fileio_list (dirfd, ".");
    struct dirent *e;
    int rc;

    if (!dir)
        return -errno;
    while ((e = fileio_next_entry (dir, &rc)))
        note (arg, e->d_name);
    (void)closedir (dir);
    return rc;
}

/* Parse JSON text.  Text that is not UTF-8 is repaired first, and *bad is the
 * number of bad bytes.  NULL if it is no JSON object.
 */
static struct json *parse (struct buf *text, uint64_t *bad, struct err *err)
{
    struct json *j = NULL;
    char *fixed = malloc (3 * text->size + 1);
    size_t n;

    if (!fixed) {
        (void)err_set (err, ENOMEM, "no memory");
        return NULL;
    }
    n = utf8_repair (buf_text (text), text->size, fixed, bad);
    j = json_parse (fixed, n, err);
    free (fixed);
    if (j && !json_is_object (j)) {
        (void)err_set (err, EBADMSG, "not a JSON object");
        json_free (j);
        j = NULL;
    }
    return j;
}

struct json *info_read (struct source *src, int dir, const char *name,
                        const char *what)
{
    struct json *j = NULL;
    struct buf text;
    struct err err = { "" };
    uint64_t bad = 0;
    int rc;

    buf_init (&text, INFO_MAX);
    rc = fileio_read_at (dir, name, &text, &err);
    source_transient_error (src, rc);
    if (rc == 0 && text.size == 0)
        rc = err_set (&err, EBADMSG, "%s is empty", what);
    else if (rc == 0 && !(j = parse (&text, &bad, &err)))
        rc = err_prefix (&err, -EBADMSG, "%s", what);
    else if (bad > 0)
        rc = err_set (&err, EBADMSG, "%s: not valid UTF-8 (%llu byte%s read as "
                      "U+FFFD)", what, (unsigned long long)bad,
                      units_s (bad));
    if (rc < 0 && rc != -ENOENT) {
        capture_reason (src->capture, "%s", err.text);
        src->damaged = true;
    }
    buf_fini (&text);
    return j;
}

bool info_rank (const struct json *j, int64_t *ret)
{
    const char *text = json_text (j, NULL);

    if (text)
        return units_int (text, 0, capture_world_max - 1, ret) == 0;
    return json_int (j, ret) && *ret >= 0 && *ret < capture_world_max;
}

bool info_ns (const struct json *j, int64_t *ret)
{
    double v;

    if (!json_number (j, &v) || v < 1 || v >= 9e18)
        return false;
    *ret = (int64_t)v;
    return true;
}
