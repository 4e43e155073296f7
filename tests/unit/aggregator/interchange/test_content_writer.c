/* tests/unit/aggregator/interchange/test_content_writer.c - contents, in parts
 * or as a whole, and what a root has of them
 */
#include "aggregator/store/root_check.h"

#include "interchange/content_writer.h"

#include <sys/mman.h>

enum kind { SAME, TEXT, NOISE };

struct made {
    int fd;
    char *bytes;
    size_t size;
    struct digest id;
};

static struct made make (size_t size, enum kind kind)
{
    struct made m = { memfd_create ("content", MFD_CLOEXEC), malloc (size + 1),
                      size, { { 0 } } };
    uint32_t x = 1;

    assert_true (m.fd >= 0);
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525 + 1013904223;
        m.bytes[i] = (char)(kind == SAME ? 'a' : kind == TEXT ? i % 1009 % 64
                                                              : x >> 24);
    }
    assert_int_equal (fileio_write_all (m.fd, m.bytes, size), 0);
    assert_int_equal (content_id_of_file (m.fd, size, &m.id, NULL), 0);
    return m;
}

static void forget (struct made *m)
{
    (void)close (m->fd);
    free (m->bytes);
}

static struct content_writer *begin (struct root *r, struct intake **in)
{
    struct content_writer *w = NULL;

    assert_int_equal (intake_begin (r->l, r->s, in, NULL), 0);
    assert_int_equal (content_writer_create (*in, CODEC_LZ4, &w, NULL), 0);
    return w;
}

static void end (struct content_writer *w, struct intake *in)
{
    content_writer_destroy (w);
    assert_int_equal (intake_flush (in, NULL), 0);
    intake_close (in);
}

static int compare (void *arg, const void *bytes, size_t n)
{
    const char **want = arg;

    assert_memory_equal (bytes, *want, n);
    *want += n;
    return 0;
}

static void is_there (struct root *r, const struct made *m)
{
    const char *want = m->bytes;
    struct ledger_place place;
    struct store_reader *in;

    assert_int_equal (ledger_find_content (r->l, &m->id, &place, NULL), 1);
    assert_int_equal (place.size, m->size);
    assert_int_equal (store_reader_open (r->s, r->l, &m->id, &place, &in, NULL),
                      0);
    assert_int_equal (store_reader_check (in, compare, &want, NULL, NULL), 0);
    assert_ptr_equal (want, m->bytes + m->size);
    store_reader_destroy (in);
}

/* In parts of this size. */
static void put_parts (struct content_writer *w, const struct made *m,
                       size_t part)
{
    struct digest id;
    uint64_t size;

    content_writer_begin (w, true);
    for (size_t at = 0; at < m->size; at += part)
        assert_int_equal (content_writer_add (w, m->bytes + at,
                                              m->size - at < part ? m->size - at
                                                                  : part, NULL),
                          0);
    assert_int_equal (content_writer_end (w, &id, &size, NULL), 0);
    assert_int_equal (size, m->size);
    assert_true (digest_is (&id, &m->id));
}

static void put_whole (struct content_writer *w, const struct made *m,
                       bool pack)
{
    struct digest id;
    int bad = 1;

    assert_int_equal (content_writer_put (w, m->fd, m->size, pack, &id, &bad,
                                          NULL), 0);
    assert_true (digest_is (&id, &m->id));
}

/* However it comes, it has one id, and nothing is stored twice. */
static void test_parts_and_whole (void **state)
{
    static const size_t sizes[] = {
        0, 1, CONTENT_CHUNK - 1, CONTENT_CHUNK, CONTENT_CHUNK + 1,
        2 * CONTENT_CHUNK, 3 * CONTENT_CHUNK - 5,
    };
    struct root *r = *state;

    for (size_t i = 0; i < sizeof (sizes) / sizeof (sizes[0]); i++) {
        struct made m = make (sizes[i], NOISE);
        struct content_writer *w;
        struct intake_sums once;
        struct intake *in;

        w = begin (r, &in);
        put_parts (w, &m, 333333);
        once = intake_sums (in);
        put_whole (w, &m, true);
        put_parts (w, &m, CONTENT_CHUNK);
        assert_int_equal (intake_sums (in).chunks, once.chunks);
        assert_int_equal (intake_sums (in).bytes, once.bytes);
        end (w, in);
        is_there (r, &m);
        forget (&m);
    }
}

/* How many bytes a chunk takes. */
static uint64_t stored (struct root *r, const struct made *m, bool pack)
{
    struct ledger_place place;
    struct intake *in;
    struct content_writer *w = begin (r, &in);

    put_whole (w, m, pack);
    end (w, in);
    assert_int_equal (ledger_find_content (r->l, &m->id, &place, NULL), 1);
    is_there (r, m);
    return place.stored;
}

static void test_packed (void **state)
{
    struct made text = make (600000, TEXT), noise = make (600000, NOISE);
    struct made same = make (600000, SAME);
    struct root *r = *state;

    assert_true (stored (r, &text, true) < 300000);
    assert_int_equal (stored (r, &noise, true), 600000);
    assert_int_equal (stored (r, &same, false), 600000);
    forget (&text);
    forget (&noise);
    forget (&same);
}

/* A file that gets shorter while it is read is none of the root's faults. */
static void test_short (void **state)
{
    struct made m = make (CONTENT_CHUNK + 5, NOISE);
    struct root *r = *state;
    struct intake *in;
    struct content_writer *w = begin (r, &in);
    struct digest id;
    int bad = 0;

    assert_int_equal (content_writer_put (w, m.fd, m.size + 1, true, &id, &bad,
                                          NULL), 0);
    assert_int_equal (bad, -EAGAIN);
    put_whole (w, &m, true);    // and the next one is as it should be
    end (w, in);
    is_there (r, &m);
    forget (&m);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_parts_and_whole), ROOT_TEST (test_packed),
        ROOT_TEST (test_short),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
