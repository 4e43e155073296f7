/* aggregator/fsck/check_quarantine.c - copies of what is damaged, with reasons
 */
#include "fsck/check_private.h"

#include "store/fileio.h"

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

    (void)snprintf (out, PATH_MAX, "%s/" STORE_QUARANTINE, c->root);
    rc = fileio_mkdirs (out, FILEIO_DIR_MODE, c->err);
    (void)snprintf (out, PATH_MAX, "%s/" STORE_QUARANTINE "/%s%s", c->root,
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

static struct ledger_place gap_place (const struct check_gap *g)
{
    return (struct ledger_place){ .segment = g->segment, .offset = g->offset,
                                  .stored = g->size };
}

bool check_has_reason (struct check *c, const struct digest *id)
{
    char hex[DIGEST_HEX_SIZE];

    digest_hex (id, hex);
    return store_is_aside (c->root, hex);
}

bool check_gap_is_aside (struct check *c, const struct check_gap *gap)
{
    struct ledger_place place = gap_place (gap);
    char name[64];

    store_gap_name (&place, name);
    return store_is_aside (c->root, name);
}

static int copy_block (int in, int out, off_t at, size_t n)
{
    char block[65536];
    int rc = fileio_pread_all (in, block, n, at);

    return rc < 0 ? rc : fileio_write_all (out, block, n);
}

/* Copy bytes of a segment to a new file. */
static int copy_bytes (struct check *c, const struct ledger_place *place,
                       const char *to)
{
    char from[PATH_MAX];
    int in, out, rc;

    store_segment_path (c->root, place->segment, from);
    in = open (from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0)                 // what no longer exists cannot be set aside
        return 0;
    out = open (to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                FILEIO_FILE_MODE);
    rc = out < 0 ? -errno : 0;
    for (uint64_t at = 0; at < place->stored && rc == 0; at += 65536) {
        uint64_t left = place->stored - at;

        rc = copy_block (in, out, (off_t)(place->offset + at),
                         left < 65536 ? (size_t)left : 65536);
    }
    (void)close (in);
    rc = fileio_close_written (out, rc);
    return rc < 0 && rc != -ENODATA ? err_sys (c->err, -rc, "cannot write %s",
                                               to) : 0;
}

/* Copy bytes to a name in the quarantine, with a text. */
static int set_aside (struct check *c, const char *name,
                      const struct ledger_place *place, const char *why)
{
    char to[PATH_MAX];
    int rc = quarantine_path (c, name, "", to);

    if (rc == 0)
        rc = write_reason (c, name, why);
    return rc < 0 || !place ? rc : copy_bytes (c, place, to);
}

int check_quarantine_gap (struct check *c, const struct check_gap *gap)
{
    struct ledger_place place = gap_place (gap);
    char name[64];

    store_gap_name (&place, name);
    return set_aside (c, name, &place, "these bytes of a segment are not a "
                                       "record\n");
}

int check_quarantine_chunk (struct check *c, const struct store_chunk *chunk)
{
    char hex[DIGEST_HEX_SIZE];

    digest_hex (&chunk->id, hex);
    return set_aside (c, hex, &chunk->place, "a chunk, or a list of chunks, "
                                             "that is damaged\n");
}

int check_quarantine (struct check *c, const struct ledger_item *i,
                      const char *why)
{
    const struct ledger_place *place = NULL;
    char hex[DIGEST_HEX_SIZE], text[4096];

    for (size_t k = 0; k < c->nbad; k++) {
        if (digest_is (&c->bad[k].chunk.id, &i->content))
            place = &c->bad[k].chunk.place;
    }
    digest_hex (&i->content, hex);
    PRINT (text, "%s\njob %s\nkind %s\nrank %lld\ncapture %s\npath %s\nhost "
           "%s\n", why, i->job, i->kind == ITEM_ROWS ? "rows" : "raw",
           (long long)i->rank, i->capture, i->path, i->host);
    return set_aside (c, hex, place, text);
}
