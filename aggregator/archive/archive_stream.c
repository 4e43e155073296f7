/* aggregator/archive/archive_stream.c - items of an archive in a pipe
 *
 * An item is a line of numbers, six texts that end with NUL, and the id of its
 * content.  Pieces of its bytes follow, each after its size in a line; 0 ends
 * them, a negative errno does so with a reason, in a line, too.
 */
#include "archive/archive_stream.h"

#include "store/fileio.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_MAX (INT64_C (64) << 20)  // bytes; a chunk has 1 MiB

/* ---- writing ---- */

static int put_piece (void *arg, const void *bytes, size_t size)
{
    (void)arg;
    if (size == 0)
        return 0;
    return printf ("%zu\n", size) > 0 && fwrite (bytes, 1, size, stdout) == size
               ? 0 : -EPIPE;
}

int archive_stream_put (struct archive *a, const struct ledger_item *i)
{
    const char *const texts[] = { i->job, i->capture, i->path, i->dir,
                                  i->scope, i->host };
    const struct file_facts *f = &i->facts;
    struct err err = { "" };
    int rc;

    (void)printf ("%d %" PRId64 " %d %d %" PRId64 " %" PRIu32 " %" PRId64
                  " %" PRId64 " %" PRId64 " %" PRId64 "\n", (int)i->kind, i->rank,
                  i->superseded, i->shared_name, i->newest_ns, f->mode,
                  f->mtime_ns, f->uid, f->gid,
                  ledger_world_size (a->ledger, i->job));
    for (size_t k = 0; k < sizeof (texts) / sizeof (texts[0]); k++)
        (void)fwrite (texts[k], 1, strlen (texts[k]) + 1, stdout);
    (void)fwrite (i->content.bytes, 1, DIGEST_SIZE, stdout);
    rc = archive_read (a, i, put_piece, NULL, &err);
    if (rc < 0 && !ferror (stdout))
        (void)printf ("%d\n%s\n", rc, err.text);
    else
        (void)puts ("0");
    return ferror (stdout) ? -EPIPE : 0;
}

/* ---- reading ---- */

static int ended (struct err *err)
{
    return err_set (err, EPROTO, "the aggregator has not sent all of it");
}

static bool take_text (FILE *f, char *out, size_t size)
{
    int c = EOF;

    for (size_t i = 0; i < size && (c = getc (f)) != EOF; i++) {
        out[i] = (char)c;
        if (c == '\0')
            return true;
    }
    return false;
}

int archive_stream_next (FILE *f, struct ledger_item *i, int64_t *world_size,
                         struct err *err)
{
    int kind, superseded, shared;
    char line[256];

    memset (i, 0, sizeof (*i));
    if (!fgets (line, sizeof (line), f))
        return 0;
    if (sscanf (line, "%d %" SCNd64 " %d %d %" SCNd64 " %" SCNu32 " %" SCNd64
                " %" SCNd64 " %" SCNd64 " %" SCNd64, &kind, &i->rank, &superseded, &shared,
                &i->newest_ns, &i->facts.mode, &i->facts.mtime_ns,
                &i->facts.uid, &i->facts.gid, world_size) != 10 ||
        !take_text (f, i->job, sizeof (i->job)) ||
        !take_text (f, i->capture, sizeof (i->capture)) ||
        !take_text (f, i->path, sizeof (i->path)) ||
        !take_text (f, i->dir, sizeof (i->dir)) ||
        !take_text (f, i->scope, sizeof (i->scope)) ||
        !take_text (f, i->host, sizeof (i->host)) ||
        fread (i->content.bytes, 1, DIGEST_SIZE, f) != DIGEST_SIZE)
        return ended (err);
    i->kind = kind == ITEM_ROWS ? ITEM_ROWS : ITEM_RAW;
    i->superseded = superseded != 0;
    i->shared_name = shared != 0;
    return ledger_valid_item (i)
               ? 1 : err_set (err, EPROTO, "the aggregator has sent what is no "
                              "item");
}

/* 'out': -1: nowhere. */
static int copy_piece (FILE *f, int64_t size, int out, struct err *err)
{
    char bytes[65536];

    while (size > 0) {
        size_t n = fread (bytes, 1, size < (int64_t)sizeof (bytes)
                                        ? (size_t)size : sizeof (bytes), f);
        int rc = n == 0 ? ended (err)
                 : out < 0 ? 0 : fileio_write_all (out, bytes, n);

        if (n == 0)
            return rc;
        if (rc < 0)
            return err_sys (err, -rc, "cannot write it");
        size -= (int64_t)n;
    }
    return 0;
}

int archive_stream_fill (void *arg, int out, struct err *err)
{
    char line[ERR_TEXT_MAX + 2];
    FILE *f = arg;
    int64_t n;
    int rc;

    for (;;) {
        if (!fgets (line, sizeof (line), f) ||
            sscanf (line, "%" SCNd64, &n) != 1 || n > PIECE_MAX ||
            n < -4095)
            return ended (err);
        if (n == 0)
            return 0;
        if (n < 0) {
            if (!fgets (line, sizeof (line), f))
                return ended (err);
            line[strcspn (line, "\n")] = '\0';
            return err_set (err, (int)-n, "%s", line);
        }
        if ((rc = copy_piece (f, n, out, err)) < 0)
            return rc;
    }
}
