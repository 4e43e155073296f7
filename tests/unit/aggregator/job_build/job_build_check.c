/* tests/unit/aggregator/job_build/job_build_check.c - shipments of a job, and a disk
 * that does not give them
 */
#include "aggregator/job_build/job_build_check.h"

#include "model/shipment.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX 65536

int64_t ship_rank;
off_t bad_from = -1;
ino_t bad_file;
pthread_barrier_t *meeting;
_Thread_local bool met;

ssize_t __real_pread (int fd, void *buf, size_t n, off_t at);
ssize_t __wrap_pread (int fd, void *buf, size_t n, off_t at);

ssize_t __wrap_pread (int fd, void *buf, size_t n, off_t at)
{
    struct stat st;

    if (bad_from >= 0 && at + (off_t)n > bad_from &&
        (!bad_file || (fstat (fd, &st) == 0 && st.st_ino == bad_file))) {
        if (meeting && !met)
            (void)pthread_barrier_wait (meeting);
        met = true;
        errno = EIO;
        return -1;
    }
    return __real_pread (fd, buf, n, at);
}

static size_t pack (const struct shipped *s, uint8_t bytes[BYTES_MAX])
{
    struct shipment_writer *w;
    struct capture c;
    uint64_t size;
    int fd = memfd_create ("shipment", MFD_CLOEXEC);

    assert_true (fd >= 0);
    capture_init (&c);
    c.rank = ship_rank;
    c.state = CAPTURE_COMPLETE;
    c.started_ns = s->started_ns;
    (void)snprintf (c.name, sizeof (c.name), "%s", s->name);
    (void)snprintf (c.host, sizeof (c.host), "%s", s->own_host);
    (void)snprintf (c.level, sizeof (c.level), "%s", s->level);
    w = shipment_writer_create (fd);
    assert_non_null (w);
    assert_int_equal (shipment_finish (w, &c, &size, NULL), 0);
    assert_true (size <= BYTES_MAX);
    assert_int_equal (pread (fd, bytes, size, 0), size);
    shipment_writer_destroy (w);
    capture_fini (&c);
    (void)close (fd);
    return size;
}

void ship (struct root *r, const struct shipped *s)
{
    struct ledger_item item = { .job = "j", .kind = ITEM_ROWS,
                                .newest_ns = 1, .rank = ship_rank };
    uint8_t bytes[BYTES_MAX];
    size_t size = pack (s, bytes);
    struct content_hash h;
    int known;

    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, bytes, size), 0);
    assert_int_equal (content_hash_end (&h, &item.content), 0);
    content_hash_fini (&h);
    (void)snprintf (item.host, sizeof (item.host), "%s", s->host);
    (void)snprintf (item.capture, sizeof (item.capture), "%s", s->name);
    known = ledger_find_content (r->l, &item.content, &item.place, NULL);
    if (known == 0) {
        assert_int_equal (store_put_chunk (r->s, &item.content, size,
                                           CODEC_PLAIN, bytes, size,
                                           &item.place, NULL), 0);
        assert_int_equal (ledger_add_content (r->l, &item.content,
                                              &item.place, NULL), 0);
    }
    assert_true (ledger_add_item (r->l, &item, NULL) >= 0);
}
