/* tests/unit/common/base/test_pack.c - LZ4 frames, whole and damaged */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_MAX (64u << 20)

/* Bytes of which about a third compresses away. */
static uint8_t *make_raw (size_t size)
{
    uint8_t *raw = malloc (size ? size : 1);
    uint32_t x = 1;

    assert_non_null (raw);
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525u + 1013904223u;
        raw[i] = i % 3 == 0 ? 'r' : (uint8_t)(x >> 30);
    }
    return raw;
}

static void check_round_trip (size_t size)
{
    uint8_t *raw = make_raw (size), *back = malloc (size ? size : 1);
    struct buf frame;
    struct err err;

    assert_non_null (back);
    buf_init (&frame, FRAME_MAX);
    buf_put (&frame, "before", 6);      // a frame is appended
    assert_int_equal (pack_frame (raw, size, &frame, &err), 0);
    assert_memory_equal (frame.data, "before\x04\x22\x4d\x18", 10);
    memset (back, 0xee, size);
    assert_int_equal (pack_open (frame.data + 6, frame.size - 6, back, size,
                                 &err), 0);
    assert_memory_equal (raw, back, size);
    buf_fini (&frame);
    free (raw);
    free (back);
}

/* Sizes around LZ4's block sizes: 64 KiB to 4 MiB. */
static void test_round_trip (void **state)
{
    static const size_t sizes[] = {
        0, 1, 2, 13, 65535, 65536, 65537, 262144, 262145, 1 << 20,
        (1 << 20) + 1, 4 << 20, (4 << 20) + 1, (9 << 20) + 12345,
    };

    (void)state;
    for (size_t i = 0; i < sizeof (sizes) / sizeof (sizes[0]); i++)
        check_round_trip (sizes[i]);
}

/* The stated size is the frame's: neither less nor more is accepted. */
static void test_other_size (void **state)
{
    uint8_t *raw = make_raw (1000), back[1002];
    struct buf frame;
    struct err err = { "" };

    (void)state;
    buf_init (&frame, FRAME_MAX);
    assert_int_equal (pack_frame (raw, 1000, &frame, NULL), 0);
    assert_int_equal (pack_open (frame.data, frame.size, back, 999, &err),
                      -EBADMSG);
    assert_true (err.text[0] != '\0');
    assert_int_equal (pack_open (frame.data, frame.size, back, 1001, NULL),
                      -EBADMSG);
    assert_int_equal (pack_open (frame.data, frame.size, back, 0, NULL),
                      -EBADMSG);
    buf_fini (&frame);
    free (raw);
}

/* Cut anywhere, or with bytes behind it, a frame is refused. */
static void test_cut (void **state)
{
    uint8_t *raw = make_raw (1000), back[1000];
    struct buf frame;

    (void)state;
    buf_init (&frame, FRAME_MAX);
    assert_int_equal (pack_frame (raw, 1000, &frame, NULL), 0);
    for (size_t n = 0; n < frame.size; n++) {
        uint8_t *copy = malloc (n ? n : 1);     // for the sanitizer

        assert_non_null (copy);
        memcpy (copy, frame.data, n);
        assert_int_equal (pack_open (copy, n, back, 1000, NULL), -EBADMSG);
        free (copy);
    }
    buf_put (&frame, "", 1);
    assert_int_equal (pack_open (frame.data, frame.size, back, 1000, NULL),
                      -EBADMSG);
    frame.size--;
    assert_int_equal (pack_frame (raw, 0, &frame, NULL), 0);    // a second
    assert_int_equal (pack_open (frame.data, frame.size, back, 1000, NULL),
                      -EBADMSG);
    buf_fini (&frame);
    free (raw);
}

/* Damage to any byte is noticed, or changes nothing of what comes out. */
static void check_damage (const struct buf *frame, const uint8_t *raw,
                          size_t size)
{
    uint8_t *copy = malloc (frame->size), *back = malloc (size + 1);
    unsigned accepted = 0;

    assert_non_null (copy);
    assert_non_null (back);
    for (size_t at = 0; at < frame->size; at++) {
        for (unsigned flip = 1; flip < 256; flip++) {
            int rc;

            if (size > 1000 && (flip & (flip - 1)) != 0)
                continue;       // large frames: single bits only
            memcpy (copy, frame->data, frame->size);
            copy[at] ^= (uint8_t)flip;
            back[size] = 0xee;
            rc = pack_open (copy, frame->size, back, size, NULL);
            assert_int_equal (back[size], 0xee);
            if (rc == 0) {
                accepted++;
                assert_memory_equal (back, raw, size);
            } else {
                assert_int_equal (rc, -EBADMSG);
            }
        }
    }
    assert_int_equal (accepted, 0);
    free (copy);
    free (back);
}

static void test_damage (void **state)
{
    static const size_t sizes[] = { 1, 40, 700, 3000 };

    (void)state;
    for (size_t i = 0; i < sizeof (sizes) / sizeof (sizes[0]); i++) {
        uint8_t *raw = make_raw (sizes[i]);
        struct buf frame;

        buf_init (&frame, FRAME_MAX);
        assert_int_equal (pack_frame (raw, sizes[i], &frame, NULL), 0);
        check_damage (&frame, raw, sizes[i]);
        buf_fini (&frame);
        free (raw);
    }
}

static void test_no_frame (void **state)
{
    uint8_t back[16];

    (void)state;
    assert_int_equal (pack_open ("", 0, back, 16, NULL), -EBADMSG);
    assert_int_equal (pack_open ("", 0, back, 0, NULL), -EBADMSG);
    assert_int_equal (pack_open ("not a frame at all", 18, back, 16, NULL),
                      -EBADMSG);
    // a skippable frame holds nothing that could be right
    assert_int_equal (pack_open ("\x50\x2a\x4d\x18\x00\x00\x00\x00", 8, back,
                                 16, NULL), -EBADMSG);
}

/* No room: the content of 'out' stays as it was. */
static void test_out_full (void **state)
{
    uint8_t *raw = make_raw (1000);
    struct buf frame;
    struct err err = { "" };

    (void)state;
    buf_init (&frame, 100);
    buf_put (&frame, "abc", 3);
    assert_int_equal (pack_frame (raw, 1000, &frame, &err), -ENOMEM);
    assert_true (err.text[0] != '\0');
    assert_int_equal (frame.size, 3);
    buf_fini (&frame);
    free (raw);
}

/* Each codec that this build has gives the bytes back, and tells damage, a wrong
 * size and more than one frame.
 */
static void test_codecs (void **state)
{
    uint8_t *raw = make_raw (50000), *back = malloc (PACK_ROOM);
    const void *got;

    (void)state;
    for (unsigned c = CODEC_PLAIN; c < CODECS; c++) {
        struct buf b;

        buf_init (&b, 4 * FRAME_MAX);
        if (!(pack_codecs () >> c & 1)) {
            assert_int_equal (pack_chunk (c, raw, 50000, &b), -ENOTSUP);
            assert_int_equal (pack_chunk_open (c, "x", 1, back, 9, true, &got),
                              -ENOTSUP);
            continue;
        }
        assert_int_equal (pack_chunk (c, raw, 50000, &b), 0);
        assert_int_equal (pack_chunk_open (c, b.data, b.size, back, 50000,
                                           true, &got), 0);
        assert_memory_equal (got, raw, 50000);
        assert_ptr_equal (got, c == CODEC_PLAIN ? (void *)b.data : back);
        assert_int_equal (pack_chunk_open (c, b.data, b.size - 1, back, 50000,
                                           true, &got), -EBADMSG);
        assert_int_equal (pack_chunk_open (c, b.data, b.size, back, 49999,
                                           true, &got), -EBADMSG);
        b.data[b.size / 2] ^= 1;
        assert_int_equal (pack_chunk_open (c, b.data, b.size, back, 50000,
                                           true, &got), c ? -EBADMSG : 0);
        b.data[b.size / 2] ^= 1;
        if (c != CODEC_PLAIN) {
            assert_int_equal (pack_chunk (c, raw, 50000, &b), 0);
            assert_int_equal (pack_chunk_open (c, b.data, b.size, back, 50000,
                                               true, &got), -EBADMSG);
        }
        buf_fini (&b);
    }
    assert_int_equal (pack_chunk_open (CODECS, "x", 1, back, 1, true, &got),
                      -EBADMSG);
    free (raw);
    free (back);
}

static void test_names (void **state)
{
    enum chunk_codec codec = CODEC_PLAIN;
    struct err err = { "" };

    (void)state;
    assert_int_equal (pack_parse_codec ("lz4", &codec, &err), 0);
    assert_int_equal (codec, CODEC_LZ4);
    assert_int_equal (pack_parse_codec ("none", &codec, &err), 0);
    assert_int_equal (codec, CODEC_PLAIN);
    assert_int_equal (pack_parse_codec ("zip", &codec, &err), -EINVAL);
    assert_non_null (strstr (err.text, "lz4, zstd, none"));
}

/* Trying to pack what does not get smaller costs the job's node as much as
 * encrypting it.
 */
static void test_packing_is_given_up (void **state)
{
    const size_t size = 256 << 10;
    uint8_t *noise = malloc (size), *text = make_raw (size);
    struct pack_trial t = { 0, 0 };
    unsigned tried = 0;
    struct buf out;

    (void)state;
    assert_non_null (noise);
    for (size_t i = 0, x = 1; i < size; i++, x = x * 1664525u + 1013904223u)
        noise[i] = (uint8_t)(x >> 24);
    buf_init (&out, FRAME_MAX);
    for (uint64_t i = 0; i < 1024; i++) {
        tried += i >= t.plain_until;
        assert_false (pack_smaller (&t, i, CODEC_LZ4, noise, size, &out));
    }
    assert_in_range (tried, 32, 40);
    t.plain_until = 1024;
    assert_true (pack_smaller (&t, 1024, CODEC_LZ4, text, size, &out));
    assert_true (out.size < size);
    assert_true (pack_smaller (&t, 1025, CODEC_LZ4, text, size, &out));
    assert_false (pack_smaller (&t, 1026, CODEC_PLAIN, text, size, &out));
    buf_fini (&out);
    free (noise);
    free (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip),
        cmocka_unit_test (test_other_size),
        cmocka_unit_test (test_cut),
        cmocka_unit_test (test_damage),
        cmocka_unit_test (test_no_frame),
        cmocka_unit_test (test_out_full),
        cmocka_unit_test (test_codecs), cmocka_unit_test (test_names),
        cmocka_unit_test (test_packing_is_given_up),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
