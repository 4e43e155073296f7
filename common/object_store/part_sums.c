/* common/object_store/part_sums.c - the hashes that go with each part */
#include "object_store/part_sums.h"

#include "base/vec.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>

#define SLICE ((size_t)64 << 10)        // bytes of each part; divides one

struct part_hasher {
    struct digester *sha256[PART_GROUP];
    uint8_t slices[PART_GROUP][SLICE];
};

struct part_hasher *part_hasher_create (void)
{
    struct part_hasher *h = calloc (1, sizeof (*h));

    for (size_t k = 0; k < PART_GROUP && h; k++) {
        if (!(h->sha256[k] = digester_create ())) {
            part_hasher_destroy (h);
            h = NULL;
        }
    }
    return h;
}

void part_hasher_destroy (struct part_hasher *h)
{
    for (size_t k = 0; k < PART_GROUP && h; k++)
        digester_destroy (h->sha256[k]);
    free (h);
}

int part_read (int fd, size_t i, uint64_t at, void *out, size_t n,
               struct err *err)
{
    int rc = fileio_pread_all (fd, out, n, (off_t)(i * OBJECT_PART_BYTES + at));

    if (rc == -ENODATA)
        return err_set (err, EBADMSG, "the file is shorter than it was");
    return rc < 0 ? err_sys (err, -rc, "cannot read the file") : 0;
}

int part_hash (struct part_hasher *h, int fd, size_t i, size_t n,
               struct part_sum *out, struct err *err)
{
    const uint8_t *slices[PART_GROUP];
    struct md5 md5[PART_GROUP];
    struct md5_lanes m;
    int rc = 0;

    md5_lanes_init (&m);
    for (size_t k = 0; k < PART_GROUP; k++)
        slices[k] = h->slices[k < n ? k : 0];
    for (size_t at = 0; at < OBJECT_PART_BYTES && rc == 0; at += SLICE) {
        for (size_t k = 0; k < n && rc == 0; k++) {
            rc = part_read (fd, i + k, at, h->slices[k], SLICE, err);
            if (rc == 0 && digest_add (h->sha256[k], h->slices[k], SLICE) < 0)
                rc = err_set (err, ENOMEM, "no memory to hash");
        }
        md5_lanes_add (&m, slices, SLICE);
    }
    md5_lanes_end (&m, md5);
    // each ends, also after a failure: the next part begins anew
    for (size_t k = 0; k < n; k++) {
        out[k].md5 = md5[k];
        if (digest_end (h->sha256[k], &out[k].sha256) < 0 && rc == 0)
            rc = err_set (err, ENOMEM, "no memory to hash");
    }
    return rc;
}

int part_hash_short (int fd, size_t i, size_t size, struct part_sum *out,
                     struct err *err)
{
    void *bytes = malloc (size + 1);
    int rc = bytes ? part_read (fd, i, 0, bytes, size, err)
                   : err_set (err, ENOMEM, "no memory to hash");

    if (rc == 0 && (digest_md5 (bytes, size, &out->md5) < 0 ||
                    digest_of (bytes, size, &out->sha256) < 0))
        rc = err_set (err, ENOMEM, "no memory to hash");
    free (bytes);
    return rc;
}

/* ---- before the file is whole ---- */

struct object_sums *object_sums_create (void)
{
    struct object_sums *s = calloc (1, sizeof (*s));

    if (s && !(s->hasher = part_hasher_create ())) {
        free (s);
        s = NULL;
    }
    return s;
}

void object_sums_destroy (struct object_sums *s)
{
    if (!s)
        return;
    part_hasher_destroy (s->hasher);
    free (s->list);
    free (s);
}

size_t object_sums_parts (const struct object_sums *s)
{
    return s ? s->n : 0;
}

int object_sums_add (struct object_sums *s, int fd, size_t n, struct err *err)
{
    struct part_sum sums[PART_GROUP];
    int rc;

    n = n < PART_GROUP ? n : PART_GROUP;
    if ((rc = part_hash (s->hasher, fd, s->n, n, sums, err)) < 0)
        return rc;
    for (size_t k = 0; k < n; k++) {
        if (vec_push (&s->list, &s->n, &sums[k], sizeof (*sums)) < 0)
            return err_set (err, ENOMEM, "no memory to hash");
    }
    return 0;
}
