/* aggregator/builder/build_state.c - what a build leaves for the next one
 *
 * The file: a struct head, captures, sums, blocks, and the SHA-256 of all that.
 * It stays on the machine that wrote it, and another version of the program
 * ignores it.
 */
#include "builder/build_state.h"

#include "base/buf.h"
#include "model/result_schema.h"
#include "store/fileio.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE_NAME "build_state"
#define STATE_BYTES_MAX (1u << 30)

struct head {
    char magic[64];
    uint64_t ncaptures, nblocks;
    uint32_t page_size, npages;
};

static struct head head_of (const struct build_state *s)
{
    struct head h = { .ncaptures = s->ncaptures, .nblocks = s->blocks.n,
                      .page_size = s->pages.page_size, .npages = s->pages.n };

    PRINT (h.magic, "rollcall build_state 1 %s", ROLLCALL_VERSION);
    return h;
}

/* The next n things of the file; NULL: it is too short, or there is no memory.
 */
static void *take (const struct buf *b, size_t *at, uint64_t n, size_t size)
{
    void *list;

    if (n > (b->size - *at) / size || !(list = calloc (n + 1, size)))
        return NULL;
    memcpy (list, b->data + *at, n * size);
    *at += n * size;
    return list;
}

static bool parse (struct build_state *s, const struct buf *b)
{
    struct digest sum;
    struct head h, own;
    size_t at = sizeof (h);

    if (b->size < sizeof (h) + DIGEST_SIZE ||
        digest_of (b->data, b->size - DIGEST_SIZE, &sum) < 0 ||
        memcmp (&sum, b->data + b->size - DIGEST_SIZE, DIGEST_SIZE) != 0)
        return false;
    memcpy (&h, b->data, sizeof (h));
    s->ncaptures = h.ncaptures;
    s->blocks.n = h.nblocks;
    s->pages.page_size = h.page_size;
    s->pages.n = h.npages;
    own = head_of (s);
    return memcmp (&own, &h, sizeof (h)) == 0 &&
           (s->captures = take (b, &at, h.ncaptures, sizeof (*s->captures))) &&
           (s->pages.sums = take (b, &at, h.npages, sizeof (uint64_t))) &&
           (s->blocks.list = take (b, &at, h.nblocks,
                                   sizeof (*s->blocks.list))) &&
           at + DIGEST_SIZE == b->size;
}

void build_state_read (struct build_state *s, const struct tree *dir)
{
    struct buf b;

    *s = (struct build_state){ 0 };
    buf_init (&b, STATE_BYTES_MAX);
    if (fileio_read_at (dir->fd, STATE_NAME, &b, NULL) < 0 || !parse (s, &b))
        build_state_fini (s);
    buf_fini (&b);
}

void build_state_write (const struct build_state *s, const struct tree *dir)
{
    struct head h = head_of (s);
    struct digest sum = { { 0 } };
    struct buf b;

    buf_init (&b, STATE_BYTES_MAX);
    buf_put (&b, &h, sizeof (h));
    buf_put (&b, s->captures, s->ncaptures * sizeof (*s->captures));
    buf_put (&b, s->pages.sums, s->pages.n * sizeof (uint64_t));
    buf_put (&b, s->blocks.list, s->blocks.n * sizeof (*s->blocks.list));
    if (!b.failed && digest_of (b.data, b.size, &sum) == 0)
        buf_put (&b, sum.bytes, DIGEST_SIZE);
    if (s->pages.n == 0)
        (void)unlinkat (dir->fd, STATE_NAME, 0);
    else if (!b.failed)
        (void)tree_replace (dir, STATE_NAME, b.data, b.size, FILEIO_FILE_MODE,
                            NULL);
    buf_fini (&b);
}

void build_state_fini (struct build_state *s)
{
    page_sums_fini (&s->pages);
    free (s->captures);
    free (s->blocks.list);
    *s = (struct build_state){ 0 };
}
