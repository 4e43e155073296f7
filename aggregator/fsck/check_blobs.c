/* aggregator/fsck/check_blobs.c - unreferenced files, and the quarantine
 *
 * This folder: check and repair a root.
 */
#include "fsck/check_private.h"

#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void check_say (struct check *c, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list ap;

    va_start (ap, fmt);
    (void)vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    if (c->report->say)
        c->report->say (c->report->arg, text);
}

static int quarantine_path (struct check *c, const char *name,
                            const char *end, char out[PATH_MAX])
{
    int rc;

    (void)snprintf (out, PATH_MAX, "%s/" CHECK_QUARANTINE, c->root);
    rc = fileio_mkdirs (out, FILEIO_DIR_MODE, c->err);
    (void)snprintf (out, PATH_MAX, "%s/" CHECK_QUARANTINE "/%s%s", c->root,
                    name, end);
    return rc;
}

static int write_reason (struct check *c, const char *name, const char *text)
{
    char path[PATH_MAX];
    int rc = quarantine_path (c, name, ".reason", path);

    return rc < 0 ? rc : fileio_replace (path, text, strlen (text),
                                         FILEIO_FILE_MODE, c->err);
}

static void gap_name (const struct check_gap *g, char out[64])
{
    (void)snprintf (out, 64, "segment-%08lld-%llu-%llu", (long long)g->segment,
                    (unsigned long long)g->offset,
                    (unsigned long long)g->size);
}

static bool has_reason (struct check *c, const char *name)
{
    char path[PATH_MAX];

    PRINT (path, "%s/" CHECK_QUARANTINE "/%s.reason", c->root, name);
    return access (path, F_OK) == 0;
}

bool check_has_reason (struct check *c, const struct digest *id)
{
    char hex[DIGEST_HEX_SIZE];

    digest_hex (id, hex);
    return has_reason (c, hex);
}

bool check_gap_is_aside (struct check *c, const struct check_gap *gap)
{
    char name[64];

    gap_name (gap, name);
    return has_reason (c, name);
}

static int copy_bytes (struct check *c, const struct ledger_item *i,
                       const char *to)
{
    struct err why;
    int in = store_read (c->store, &i->content, &i->place, &why);
    int out = in < 0 ? -1 : open (to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                                  FILEIO_FILE_MODE);
    char block[65536];
    int rc = in < 0 ? 0 : out < 0 ? -errno : 0;

    for (uint64_t at = 0; in >= 0 && at < i->place.size && rc == 0;) {
        size_t n = i->place.size - at < sizeof (block)
                       ? (size_t)(i->place.size - at) : sizeof (block);

        if ((rc = fileio_pread_all (in, block, n,
                                    (off_t)(i->place.offset + at))) == 0)
            rc = fileio_write_all (out, block, n);
        at += n;
    }
    fileio_close (in);
    rc = fileio_close_written (out, rc);
    // a file that no longer exists cannot be set aside
    return rc < 0 && rc != -ENODATA ? err_sys (c->err, -rc, "cannot write %s",
                                               to) : 0;
}

int check_quarantine_gap (struct check *c, const struct check_gap *gap)
{
    struct ledger_item bytes = { .place = { gap->segment, gap->offset,
                                            gap->size } };
    char name[64], to[PATH_MAX];
    int rc;

    gap_name (gap, name);
    rc = quarantine_path (c, name, "", to);
    if (rc == 0)
        rc = write_reason (c, name, "these bytes of a segment are not a "
                                    "record\n");
    return rc < 0 ? rc : copy_bytes (c, &bytes, to);
}

int check_quarantine (struct check *c, const struct ledger_item *i,
                      const char *why)
{
    char hex[DIGEST_HEX_SIZE], to[PATH_MAX], from[PATH_MAX];
    char text[4096];
    int rc;

    digest_hex (&i->content, hex);
    rc = quarantine_path (c, hex, "", to);
    PRINT (text, "%s\njob %s\nkind %s\nrank %lld\ncapture %s\npath %s\nhost "
           "%s\nsegment %lld\noffset %llu\nsize %llu\n", why, i->job,
           i->kind == ITEM_ROWS ? "rows" : "raw", (long long)i->rank,
           i->capture, i->path, i->host, (long long)i->place.segment,
           (unsigned long long)i->place.offset,
           (unsigned long long)i->place.size);
    if (rc == 0)
        rc = write_reason (c, hex, text);
    if (rc < 0)
        return rc;
    if (i->place.segment > 0)
        return copy_bytes (c, i, to);
    store_blob_path (c->root, &i->content, from);
    return access (from, F_OK) < 0 ? 0 : fileio_rename (from, to, c->err);
}

static int check_blob (struct check *c, const char *prefix, const char *name)
{
    char hex[DIGEST_HEX_SIZE + 8], from[PATH_MAX], to[PATH_MAX];
    struct ledger_place place;
    struct digest id;
    int rc;

    PRINT (hex, "%.2s%.66s", prefix, name);
    PRINT (from, "%s/blobs/%s/%s", c->root, prefix, name);
    if (digest_parse (hex, &id) == 0) {
        rc = ledger_find_content (c->fresh, &id, &place, c->err);
        if (rc < 0 || (rc == 1 && place.segment == 0))
            return rc < 0 ? rc : 0;
    }
    c->report->leftovers++;
    check_say (c, "%s: nothing refers to it%s", from,
               c->repair ? "; it is set aside" : "");
    if (!c->repair)
        return 0;
    if ((rc = quarantine_path (c, hex, "", to)) == 0)
        rc = write_reason (c, hex, "no record and no row refers to this "
                           "file\n");
    return rc < 0 ? rc : fileio_rename (from, to, c->err);
}

static int check_dir (struct check *c, const char *prefix)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *dir;
    int rc = 0;

    PRINT (path, "%s/blobs/%s", c->root, prefix);
    if (!(dir = opendir (path)))
        return 0;
    while (rc == 0 && (e = readdir (dir))) {
        if (e->d_name[0] != '.')
            rc = check_blob (c, prefix, e->d_name);
    }
    (void)closedir (dir);
    return rc;
}

int check_blobs (struct check *c)
{
    int rc = 0;

    for (unsigned i = 0; i < 256 && rc == 0; i++) {
        char prefix[3];

        PRINT (prefix, "%02x", i);
        rc = check_dir (c, prefix);
    }
    return rc;
}
