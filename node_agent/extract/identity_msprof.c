/* node_agent/extract/identity_msprof.c - whose a capture of msprof's is
 *
 * A PROF_ directory has no profiler_info.  It has a directory device_<N> for
 * each device that was used, with a file info.json.<N> in it, and that of the
 * lowest device counts.  See doc/formats.md, "Captures of msprof".
 */
#include "extract/extractor.h"

#include "base/fileio.h"
#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INFO_MAX (1u << 20)     // bytes of an info.json.<N>: has some 10 kB

/* What the directory lists. */
struct devices {
    int64_t lowest;             // CAPTURE_NO_DEVICE: none
    unsigned n;
    bool host;                  // the directory "host" is there
};

static void note_entry (struct devices *d, const char *name)
{
    int64_t device;

    if (strcmp (name, "host") == 0)
        d->host = true;
    if (strncmp (name, "device_", 7) != 0 ||
        units_int (name + 7, 0, INT32_MAX, &device) < 0)
        return;
    d->n++;
    if (d->lowest == CAPTURE_NO_DEVICE || device < d->lowest)
        d->lowest = device;
}

static int list_devices (struct source *src, struct devices *d)
{
    int fd = fileio_open_dir_at (src->dir, ".", NULL);
    DIR *dir = fd < 0 ? NULL : fdopendir (fd);
    struct dirent *e;
    int rc = -errno;

    if (!dir) {
        if (fd >= 0)
            (void)close (fd);
        return rc;
    }
    while ((e = fileio_next_entry (dir, &rc)))
        note_entry (d, e->d_name);
    (void)closedir (dir);
    return rc;
}

/* The file as a tree; NULL if it is absent or damaged, with the reason. */
static struct json *read_json (int dir, const char *name, struct err *err)
{
    struct json *j = NULL;
    char *fixed = NULL;
    uint64_t bad = 0;
    struct buf text;

    buf_init (&text, INFO_MAX);
    if (fileio_read_at (dir, name, &text, err) == 0) {
        if ((fixed = malloc (3 * text.size + 1))) {
            size_t n = utf8_repair (buf_text (&text), text.size, fixed, &bad);

            if (!(j = json_parse (fixed, n, err)))
                (void)err_prefix (err, 0, "%s", name);
        } else {
            (void)err_set (err, ENOMEM, "no memory to read %s", name);
        }
    }
    if (j && !json_is_object (j)) {
        (void)err_set (err, EBADMSG, "%s: not a JSON object", name);
        json_free (j);
        j = NULL;
    }
    free (fixed);
    buf_fini (&text);
    return j;
}

/* A rank is a number or a text; -1 says that none was set. */
static void use_rank (struct capture *c, const struct json *j)
{
    const char *text = json_text (j, NULL);
    int64_t rank = CAPTURE_NO_RANK;

    if (text ? units_int (text, 0, CAPTURE_WORLD_MAX - 1, &rank) == 0
             : json_int (j, &rank) && rank >= 0 && rank < CAPTURE_WORLD_MAX)
        c->rank = rank;
}

/* The host's id orders captures of no rank: a number would not do as a text,
 * but is accepted.
 */
static void use_info (struct capture *c, const struct json *info)
{
    const struct json *uid = json_get (info, "hostUid");
    const char *host = json_text (json_get (info, "hostname"), "");
    int64_t number;

    use_rank (c, json_get (info, "rank_id"));
    if (*host)
        (void)snprintf (c->host, sizeof (c->host), "%s", host);
    if (json_int (uid, &number))
        (void)snprintf (c->host_uid, sizeof (c->host_uid), "%lld",
                        (long long)number);
    else
        (void)snprintf (c->host_uid, sizeof (c->host_uid), "%s",
                        json_text (uid, ""));
}

static void read_device (struct source *src, int64_t device)
{
    char name[64], file[64];
    struct err err = { "" };
    struct json *j;
    int dir;

    (void)snprintf (name, sizeof (name), "device_%lld", (long long)device);
    (void)snprintf (file, sizeof (file), "info.json.%lld", (long long)device);
    dir = fileio_open_dir_at (src->dir, name, NULL);
    if (dir < 0 || !source_has (dir, file, NULL)) {
        if (dir >= 0)
            (void)close (dir);
        return;
    }
    src->has_info = true;
    if ((j = read_json (dir, file, &err))) {
        use_info (src->capture, j);
    } else {
        capture_reason (src->capture, "%s/%s", name, err.text);
        src->damaged = true;
    }
    json_free (j);
    (void)close (dir);
}

int source_identify_msprof (struct source *src, struct err *err)
{
    struct devices d = { .lowest = CAPTURE_NO_DEVICE };
    int rc = list_devices (src, &d);

    if (rc < 0)
        return err_sys (err, -rc, "cannot list the capture");
    src->has_prof = d.host || d.n > 0;
    if (d.lowest == CAPTURE_NO_DEVICE)
        return 0;
    if (src->capture->device_id == CAPTURE_NO_DEVICE)
        src->capture->device_id = d.lowest;
    read_device (src, d.lowest);
    if (d.n > 1)
        capture_reason (src->capture, "it is of %u devices, of which only "
                        "the lowest (%lld) tells whose it is", d.n,
                        (long long)d.lowest);
    return 0;
}
