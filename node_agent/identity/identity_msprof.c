/* node_agent/identity/identity_msprof.c - identify the owner of a capture of
 * msprof
 *
 * A PROF_ directory has no profiler_info.  For each device that was used it has
 * a directory device_<N> with a file info.json.<N>; that of the lowest device
 * counts.  See doc/formats.md, "Captures of msprof".
 */
#include "identity/identity.h"
#include "identity/info_file.h"

#include "base/units.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The entries of the directory that matter. */
struct devices {
    int64_t lowest;             // CAPTURE_NO_DEVICE: none
    unsigned n;
    bool host;                  // the directory "host" is there
};

static void note_entry (void *arg, const char *name)
{
    struct devices *d = arg;
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

int source_open_iterations (struct source *src, char name[64])
{
    struct devices d = { .lowest = CAPTURE_NO_DEVICE };
    int rc = info_each_name (src->dir, note_entry, &d), dir, fd;

    if (rc < 0 || d.lowest == CAPTURE_NO_DEVICE)
        return rc < 0 ? rc : -ENOENT;
    (void)snprintf (name, 64, "device_%lld", (long long)d.lowest);
    if ((dir = fileio_open_dir_at (src->dir, name, NULL)) < 0)
        return dir;
    (void)snprintf (name, 64, "device_%lld/timeline", (long long)d.lowest);
    fd = fileio_open_dir_at (dir, "timeline", NULL);
    (void)close (dir);
    return fd;
}

/* The host's id orders captures without a rank.  It should be a text, but a
 * number is accepted.
 */
static void use_info (struct capture *c, const struct json *info)
{
    const struct json *uid = json_get (info, "hostUid");
    const char *host = json_text (json_get (info, "hostname"), "");
    int64_t number;

    if (info_rank (json_get (info, "rank_id"), &c->evidence.ranks.info))
        c->rank = c->evidence.ranks.info;       // -1: no rank was set
    if (*host) {
        PRINT (c->host, "%s", host);
        PRINT (c->evidence.host_name, "%s", host);
    }
    if (json_int (uid, &number))
        PRINT (c->host_uid, "%lld", (long long)number);
    else
        PRINT (c->host_uid, "%s", json_text (uid, ""));
}

static void read_device (struct source *src, int64_t device)
{
    char name[64], file[64], path[130];
    struct json *j;
    int dir;

    PRINT (name, "device_%lld", (long long)device);
    PRINT (file, "info.json.%lld", (long long)device);
    dir = fileio_open_dir_at (src->dir, name, NULL);
    source_transient_error (src, dir);
    if (dir < 0 || !source_has (dir, file, NULL)) {
        fileio_close (dir);
        return;
    }
    PRINT (path, "%s/%s", name, file);
    if ((j = info_read (src, dir, file, path)))
        use_info (src->capture, j);
    json_free (j);
    (void)close (dir);
}

static void read_db (struct source *src)
{
    struct profiler_db *db = NULL;

    if (profiler_db_open (src, src->event_dir, src->event_db, &db, NULL) !=
        READING_WHOLE)
        return;
    identity_note_db (db, src->capture);
    profiler_db_close (db);
}

int source_identify_msprof (struct source *src, struct err *err)
{
    struct devices d = { .lowest = CAPTURE_NO_DEVICE };
    int rc = info_each_name (src->dir, note_entry, &d);

    if (rc < 0)
        return err_sys (err, -rc, "cannot list the capture");
    src->has_prof = d.host || d.n > 0;
    if (src->event_db[0] && !src->glance)
        read_db (src);
    if (d.lowest == CAPTURE_NO_DEVICE)
        return 0;
    if (src->capture->device_id == CAPTURE_NO_DEVICE)
        src->capture->device_id = d.lowest;
    read_device (src, d.lowest);
    if (d.n > 1)
        capture_reason (src->capture, "it is of %u devices, of which only the "
                        "lowest (%lld) identifies it", d.n,
                        (long long)d.lowest);
    return 0;
}
