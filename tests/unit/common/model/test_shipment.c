/* tests/unit/common/model/test_shipment.c - rows packed to travel come out the
 * same, and nothing that was damaged on the way comes out as if it were whole
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/shipment.h"
#include "store/fileio.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROWS 5000u              // more than one batch

/* What a sink got: a running sum over everything, and counts. */
struct seen {
    uint64_t sum;
    uint32_t rows[TABLE_COUNT];
    unsigned forgotten;
    int fail_after;             // rows calls before it fails; -1: never
};

static void add (struct seen *s, const void *data, size_t n)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < n; i++)
        s->sum = (s->sum ^ p[i]) * 0x100000001b3u;
}

static int take_rows (void *arg, const struct batch *b, struct err *err)
{
    const struct table *t = schema_table (b->table);
    struct seen *s = arg;

    if (s->fail_after == 0)
        return err_set (err, ENOSPC, "the sink is full");
    s->fail_after -= s->fail_after > 0;
    s->rows[b->table] += b->nrows;
    for (uint32_t i = 0; i < b->nrows; i++) {
        for (unsigned c = 0; c < t->ncolumns; c++) {
            size_t n = 0;
            const char *text;

            if (b->real[c]) {
                add (s, &b->real[c][i], sizeof (double));
            } else if ((text = batch_text_at (b, b->text[c][i], &n))) {
                add (s, text, n);
            }
        }
    }
    return 0;
}

static int forget (void *arg, enum table_id table, struct err *err)
{
    struct seen *s = arg;

    (void)err;
    s->rows[table] = 0;
    s->forgotten++;
    return 0;
}

static struct row_sink sink_of (struct seen *s)
{
    memset (s, 0, sizeof (*s));
    s->fail_after = -1;
    return (struct row_sink){ take_rows, forget, s };
}

static int memory_file (void)
{
    int fd = memfd_create ("shipment", MFD_CLOEXEC);

    assert_true (fd >= 0);
    return fd;
}

/* The same rows into any sink. */
static void give_rows (const struct row_sink *sink, uint32_t rows)
{
    struct batch b;
    char name[32];

    assert_int_equal (batch_init (&b, TABLE_MATRIX, NULL), 0);
    for (uint32_t i = 0; i < rows; i++) {
        for (unsigned c = 0; c < schema_table (TABLE_MATRIX)->ncolumns; c++) {
            int n = snprintf (name, sizeof (name), "t%u-%u", c, i % 77);

            if (b.real[c])
                b.real[c][b.nrows] = i % 9 ? i * 0.1 : (double)NAN;
            else if (c == MATRIX_TRANSPORT && i % 5 == 0)
                b.text[c][b.nrows] = BATCH_NULL_TEXT;
            else
                b.text[c][b.nrows] = batch_text (&b, name, (size_t)n);
        }
        b.nrows++;
        if (batch_full (&b))
            assert_int_equal (batch_flush (&b, sink, NULL), 0);
    }
    assert_int_equal (batch_flush (&b, sink, NULL), 0);
    batch_fini (&b);
}

static void fill_capture (struct capture *c)
{
    int32_t *members = calloc (3, sizeof (*members));

    capture_init (c);
    c->rank = 3;
    c->world_size = 8;
    c->state = CAPTURE_PARTIAL;
    (void)snprintf (c->name, sizeof (c->name), "n0_1_ascend_pt");
    (void)snprintf (c->host, sizeof (c->host), "n0");
    c->ended_ns = INT64_C (1764246878131995321);        // not a double
    capture_reason (c, "a \"reason\" with \\ and \xc3\xa4");
    assert_int_equal (capture_note_step (c, "13", 2), 0);
    assert_int_equal (capture_note_step (c, "", 0), 0);
    members[1] = 3;
    members[2] = 7;
    assert_int_equal (capture_add_group (c, "group_name_0", "tp", members, 3,
                                         NULL), 0);
}

static uint64_t make_shipment (int fd, uint32_t rows)
{
    struct shipment_writer *w = shipment_writer_create (fd);
    struct capture c;
    uint64_t size = 0;

    assert_non_null (w);
    fill_capture (&c);
    give_rows (shipment_sink (w), rows);
    assert_int_equal (shipment_finish (w, &c, &size, NULL), 0);
    capture_fini (&c);
    shipment_writer_destroy (w);
    return size;
}

static int replay (int fd, off_t offset, uint64_t size,
                   const struct row_sink *sink, struct capture *c,
                   struct err *err)
{
    struct byte_source from = byte_source_of (fd, offset, size);

    return shipment_replay (&from, sink, c, err);
}

static int read_meta (int fd, off_t offset, uint64_t size, struct capture *c,
                      struct err *err)
{
    struct byte_source from = byte_source_of (fd, offset, size);

    return shipment_read_meta (&from, c, err);
}

/* Rows, NULLs, texts and metadata are what they were. */
static void test_round_trip (void **state)
{
    int fd = memory_file ();
    uint64_t size = make_shipment (fd, ROWS);
    struct seen want, got;
    struct row_sink direct = sink_of (&want), replayed = sink_of (&got);
    struct capture c;

    (void)state;
    assert_int_equal (lseek (fd, 0, SEEK_END), size);
    give_rows (&direct, ROWS);
    capture_init (&c);
    assert_int_equal (replay (fd, 0, size, &replayed, &c, NULL), 0);
    assert_int_equal (got.rows[TABLE_MATRIX], ROWS);
    assert_true (got.sum == want.sum);
    assert_int_equal (c.rank, 3);
    assert_int_equal (c.state, CAPTURE_PARTIAL);
    assert_true (c.ended_ns == INT64_C (1764246878131995321));
    assert_string_equal (c.reason, "a \"reason\" with \\ and \xc3\xa4");
    assert_int_equal (c.nsteps, 2);
    assert_string_equal (c.steps[1], "");
    assert_int_equal (c.ngroups, 1);
    assert_int_equal (c.groups[0].members[2], 7);
    capture_fini (&c);
    (void)close (fd);
}

/* In a segment other shipments lie before and behind it. */
static void test_offset (void **state)
{
    int alone = memory_file (), segment = memory_file ();
    uint64_t size = make_shipment (alone, 100);
    char *bytes = malloc (size);
    struct seen got;
    struct row_sink sink = sink_of (&got);
    struct capture c;

    (void)state;
    assert_int_equal (fileio_pread_all (alone, bytes, size, 0), 0);
    assert_int_equal (fileio_pwrite_all (segment, bytes, size, 777), 0);
    assert_int_equal (fileio_pwrite_all (segment, bytes, size,
                                         (off_t)(777 + size)), 0);
    capture_init (&c);
    assert_int_equal (replay (segment, 777, size, &sink, &c, NULL),
                      0);
    assert_int_equal (got.rows[TABLE_MATRIX], 100);
    capture_fini (&c);
    capture_init (&c);
    assert_int_equal (read_meta (segment, 777, size, &c, NULL), 0);
    assert_string_equal (c.name, "n0_1_ascend_pt");
    capture_fini (&c);
    free (bytes);
    (void)close (alone);
    (void)close (segment);
}

/* A table that was begun from a damaged source is taken back. */
static void test_forget (void **state)
{
    int fd = memory_file ();
    struct shipment_writer *w = shipment_writer_create (fd);
    const struct row_sink *sink = shipment_sink (w);
    struct seen got;
    struct row_sink replayed = sink_of (&got);
    struct capture c;
    uint64_t size;

    (void)state;
    give_rows (sink, 50);
    assert_int_equal (sink->forget (sink->arg, TABLE_MATRIX, NULL), 0);
    give_rows (sink, 20);
    fill_capture (&c);
    assert_int_equal (shipment_finish (w, &c, &size, NULL), 0);
    capture_fini (&c);
    capture_init (&c);
    assert_int_equal (replay (fd, 0, size, &replayed, &c, NULL), 0);
    assert_int_equal (got.forgotten, 1);
    assert_int_equal (got.rows[TABLE_MATRIX], 20);
    capture_fini (&c);
    shipment_writer_destroy (w);
    (void)close (fd);
}

/* The sink's own failure is passed on as it is. */
static void test_sink_fails (void **state)
{
    int fd = memory_file ();
    uint64_t size = make_shipment (fd, ROWS);
    struct seen got;
    struct row_sink sink = sink_of (&got);
    struct err err = { "" };
    struct capture c;

    (void)state;
    got.fail_after = 1;
    capture_init (&c);
    assert_int_equal (replay (fd, 0, size, &sink, &c, &err),
                      -ENOSPC);
    assert_string_equal (err.text, "the sink is full");
    capture_fini (&c);
    (void)close (fd);
}

/* No byte can be changed, and no end cut off, without being noticed: a
 * shipment that is damaged on a disk must never become wrong rows.
 */
static void test_damage (void **state)
{
    int fd = memory_file ();
    uint64_t size = make_shipment (fd, 40);
    struct seen got;
    struct row_sink sink = sink_of (&got);
    struct capture c;
    uint8_t byte, flipped;

    (void)state;
    for (uint64_t i = 0; i < size; i++) {
        assert_int_equal (fileio_pread_all (fd, &byte, 1, (off_t)i), 0);
        flipped = byte ^ (uint8_t)(1u << (i % 8));
        assert_int_equal (fileio_pwrite_all (fd, &flipped, 1, (off_t)i), 0);
        capture_init (&c);
        assert_int_equal (replay (fd, 0, size, &sink, &c, NULL),
                          -EBADMSG);
        capture_fini (&c);
        assert_int_equal (fileio_pwrite_all (fd, &byte, 1, (off_t)i), 0);
    }
    for (uint64_t n = 0; n < size; n++) {
        capture_init (&c);
        assert_int_equal (replay (fd, 0, n, &sink, &c, NULL),
                          -EBADMSG);
        capture_fini (&c);
    }
    (void)close (fd);
}

/* A part whose checksum holds may still be somebody's who means harm: a text
 * that ends one byte behind its bytes would take in what was there before.
 */
static void test_text_ends_outside (void **state)
{
    struct seen got;
    struct row_sink sink = sink_of (&got);

    (void)state;
    for (uint32_t outside = 0; outside < 2; outside++) {
        int fd = memory_file ();
        struct shipment_writer *w = shipment_writer_create (fd);
        const struct row_sink *to = shipment_sink (w);
        struct capture c;
        struct err err = { "" };
        struct batch b;
        uint64_t size;
        int rc;

        assert_int_equal (batch_init (&b, TABLE_FILE, NULL), 0);
        // zeros from the first part lie where the second one ends
        b.text[FILE_PATH][0] = batch_text (&b, "\0\0\0\0\0\0\0\0\0\0", 10);
        b.real[FILE_BYTES][0] = 1;
        b.nrows = 1;
        assert_int_equal (batch_flush (&b, to, NULL), 0);
        b.text[FILE_PATH][0] = batch_text (&b, "path", 4);
        b.real[FILE_BYTES][0] = 1;
        b.nrows = 1;
        b.bytes_used = b.text[FILE_PATH][0] + 5 - outside;
        assert_int_equal (to->rows (to->arg, &b, NULL), 0);
        batch_fini (&b);
        fill_capture (&c);
        assert_int_equal (shipment_finish (w, &c, &size, NULL), 0);
        capture_fini (&c);
        shipment_writer_destroy (w);
        capture_init (&c);
        rc = replay (fd, 0, size, &sink, &c, &err);
        assert_int_equal (rc, outside ? -EBADMSG : 0);
        if (outside)
            assert_non_null (strstr (err.text, "a text lies outside"));
        assert_int_equal (got.rows[TABLE_FILE], outside ? 3 : 2);
        capture_fini (&c);
        (void)close (fd);
    }
}

/* A part of more bytes than any has is damage, not a lack of memory: one such
 * shipment must not keep the others from being read.
 */
static void test_large_part (void **state)
{
    const uint8_t head[] = "RCSHIP\r\n\1\0\0\0\0\0\0\0"
                           "\3\1\0\0\0\0\0\x0a\0\0\0";      // 160 MiB
    const uint8_t foot[] = "\x10\0\0\0\0\0\0\0RCSHEND\n";
    const off_t size = (off_t)200 << 20;
    int fd = memory_file ();
    struct capture c;

    (void)state;
    assert_int_equal (fileio_pwrite_all (fd, head, sizeof (head), 0), 0);
    assert_int_equal (fileio_pwrite_all (fd, foot, 16, size - 16), 0);
    capture_init (&c);
    assert_int_equal (read_meta (fd, 0, (uint64_t)size, &c, NULL),
                      -EBADMSG);
    capture_fini (&c);
    (void)close (fd);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip), cmocka_unit_test (test_offset),
        cmocka_unit_test (test_forget),     cmocka_unit_test (test_sink_fails),
        cmocka_unit_test (test_damage),     cmocka_unit_test (test_large_part),
        cmocka_unit_test (test_text_ends_outside),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
