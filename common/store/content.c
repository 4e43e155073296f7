/* common/store/content.c - identify content by its hash */
#include "store/content.h"

#include "base/vec.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void content_hash_init (struct content_hash *h)
{
    memset (h, 0, sizeof (*h));
}

void content_hash_fini (struct content_hash *h)
{
    free (h->chunks);
    content_hash_init (h);
}

int content_hash_add (struct content_hash *h, const void *chunk, size_t size)
{
    struct digest d;
    int rc = digest_of (chunk, size, &d);

    return rc < 0 ? rc : vec_push (&h->chunks, &h->n, &d, sizeof (d));
}

/* Inverted, so that no chunk has the id of a list. */
int content_list_id (const struct digest *chunks, size_t n, struct digest *id)
{
    int rc = digest_of (chunks, n * sizeof (*chunks), id);

    for (size_t i = 0; i < DIGEST_SIZE; i++)
        id->bytes[i] ^= 0xff;
    return rc;
}

int content_hash_end (const struct content_hash *h, struct digest *id)
{
    if (h->n == 0)
        return digest_of ("", 0, id);
    if (h->n > 1)
        return content_list_id (h->chunks, h->n, id);
    *id = h->chunks[0];
    return 0;
}

uint64_t content_chunks (uint64_t size)
{
    return (size + CONTENT_CHUNK - 1) / CONTENT_CHUNK;
}

int content_hash_file (int fd, uint64_t size, struct content_hash *h,
                       content_rest_fn *rest, void *arg, struct err *err)
{
    void *chunk = malloc (CONTENT_CHUNK);
    int rc = chunk ? 0 : -ENOMEM;

    for (uint64_t at = 0; at < size && rc == 0; at += CONTENT_CHUNK) {
        size_t n = size - at < CONTENT_CHUNK ? (size_t)(size - at)
                                             : CONTENT_CHUNK;

        if (rest && (rc = rest (arg)) < 0)
            break;
        rc = fileio_pread_all (fd, chunk, n, (off_t)at);
        if (rc == 0)
            rc = content_hash_add (h, chunk, n);
        if (size > CONTENT_SMALL)       // small files would need a disk read
                                        // each, once more
            (void)posix_fadvise (fd, (off_t)at, (off_t)n,       // once more
                                 POSIX_FADV_DONTNEED);
    }
    free (chunk);
    return rc < 0 ? err_sys (err, -rc, "cannot hash a file") : 0;
}

int content_id_of_file (int fd, uint64_t size, struct digest *id,
                        struct err *err)
{
    struct content_hash h;
    int rc;

    content_hash_init (&h);
    rc = content_hash_file (fd, size, &h, NULL, NULL, err);
    if (rc == 0 && (rc = content_hash_end (&h, id)) < 0)
        rc = err_sys (err, -rc, "cannot hash a file");
    content_hash_fini (&h);
    return rc;
}
