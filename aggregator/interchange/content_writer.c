/* aggregator/interchange/content_writer.c - read contents, and put their chunks into a root */
#include "interchange/content_writer.h"

#include "base/vec.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PACKED_MAX (4 * CONTENT_CHUNK)  // bytes of a frame while it is made

struct content_writer {
    struct intake *in;
    enum chunk_codec codec;
    void *arg;
    uint8_t *chunk;             // CONTENT_CHUNK bytes, 'used' of them
    size_t used;
    struct buf packed;
    struct pack_trial trial;
    bool pack;
    struct digest *ids;         // of the chunks before
    size_t n;
    uint64_t size;
};

static int no_memory (struct err *err)
{
    return err_set (err, ENOMEM, "no memory to read a file");
}

int content_writer_create (struct intake *in, enum chunk_codec codec,
                           struct content_writer **ret, struct err *err)
{
    struct content_writer *w = calloc (1, sizeof (*w));

    if (!w || !(w->chunk = malloc (CONTENT_CHUNK))) {
        free (w);
        return no_memory (err);
    }
    buf_init (&w->packed, PACKED_MAX);
    w->in = in;
    w->codec = codec;
    *ret = w;
    return 0;
}

void content_writer_destroy (struct content_writer *w)
{
    if (!w)
        return;
    buf_fini (&w->packed);
    free (w->ids);
    free (w->chunk);
    free (w);
}

void content_writer_set_arg (struct content_writer *w, void *arg)
{
    w->arg = arg;
}

void *content_writer_arg (const struct content_writer *w)
{
    return w->arg;
}

void content_writer_begin (struct content_writer *w, bool pack)
{
    w->used = w->n = 0;
    w->size = 0;
    w->pack = pack;
    w->trial = (struct pack_trial){ 0, 0 };
    free (w->ids);
    w->ids = NULL;
}

static int put_chunk (struct content_writer *w, const struct digest *id,
                      struct err *err)
{
    bool smaller = w->pack && pack_smaller (&w->trial, w->n, w->codec,
                                            w->chunk, w->used, &w->packed);

    return intake_put_chunk (w->in, id, w->used,
                             smaller ? w->codec : CODEC_PLAIN,
                             smaller ? w->packed.data : w->chunk,
                             smaller ? w->packed.size : w->used, err);
}

/* Put what is in the buffer, all of a chunk. */
static int end_chunk (struct content_writer *w, struct err *err)
{
    struct digest id;
    int rc = digest_of (w->chunk, w->used, &id);

    if (rc < 0)
        return no_memory (err);
    if ((rc = intake_has (w->in, &id, err)) == 0)
        rc = put_chunk (w, &id, err);
    if (rc < 0)
        return rc;
    if (vec_push (&w->ids, &w->n, &id, sizeof (id)) < 0)
        return no_memory (err);
    w->size += w->used;
    w->used = 0;
    return 0;
}

int content_writer_add (struct content_writer *w, const void *data, size_t n,
                        struct err *err)
{
    while (n > 0) {
        size_t some = CONTENT_CHUNK - w->used < n ? CONTENT_CHUNK - w->used
                                                  : n;
        int rc;

        memcpy (w->chunk + w->used, data, some);
        w->used += some;
        data = (const uint8_t *)data + some;
        n -= some;
        if (w->used == CONTENT_CHUNK && (rc = end_chunk (w, err)) < 0)
            return rc;
    }
    return 0;
}

int content_writer_end (struct content_writer *w, struct digest *id,
                        uint64_t *size, struct err *err)
{
    int rc = 0;

    if (w->used > 0 || w->n == 0)
        rc = end_chunk (w, err);
    if (rc < 0)
        return rc;
    *size = w->size;
    *id = w->ids[0];
    if (w->n == 1)
        return 0;
    if (content_list_id (w->ids, w->n, id) < 0)
        return no_memory (err);
    rc = intake_has (w->in, id, err);
    return rc != 0 ? rc < 0 ? rc : 0
                   : intake_put_list (w->in, id, w->size, w->ids, w->n, err);
}

int content_writer_put (struct content_writer *w, int fd, uint64_t size,
                        bool pack, struct digest *id, int *bad,
                        struct err *err)
{
    uint64_t got;
    int rc = 0;

    content_writer_begin (w, pack);
    for (uint64_t at = 0; at < size && rc == 0; at += CONTENT_CHUNK) {
        size_t n = size - at < CONTENT_CHUNK ? (size_t)(size - at)
                                             : CONTENT_CHUNK;

        if ((*bad = fileio_pread_all (fd, w->chunk, n, (off_t)at)) < 0) {
            *bad = *bad == -ENODATA ? -EAGAIN : *bad;
            return 0;
        }
        w->used = n;
        rc = end_chunk (w, err);
    }
    return rc < 0 ? rc : content_writer_end (w, id, &got, err);
}

int content_temp (const char *dir, struct err *err)
{
    char path[PATH_MAX];
    int fd;

    if (!dir)
        dir = getenv ("TMPDIR");
    if (!dir || !*dir)
        dir = "/tmp";
    fd = open (dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    PRINT (path, "%s/rollcall-XXXXXX", dir);
    if ((fd = mkostemp (path, O_CLOEXEC)) < 0)
        return err_sys (err, errno, "cannot create a file in %s", dir);
    (void)unlink (path);
    return fd;
}
