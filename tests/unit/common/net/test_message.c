/* tests/unit/common/net/test_message.c - what goes over the wire, and what is
 * refused */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/capture.h"
#include "net/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const enum message_type all[] = {
    MESSAGE_HELLO, MESSAGE_RANK,    MESSAGE_OFFER,   MESSAGE_CHUNK,
    MESSAGE_GONE,  MESSAGE_NOTE,    MESSAGE_DONE,    MESSAGE_PING,
    MESSAGE_WELCOME, MESSAGE_REFUSED, MESSAGE_GET,   MESSAGE_ACK,
    MESSAGE_STOP,  MESSAGE_ROLL,    MESSAGE_WANT,    MESSAGE_HAVE,
    MESSAGE_DIVIDED, MESSAGE_KEPT, MESSAGE_STORED,
    MESSAGE_ASK,   MESSAGE_MORE,    MESSAGE_OUTPUT,  MESSAGE_END,
};

#define TYPES (sizeof (all) / sizeof (all[0]))

/* A message with something in every member. */
static void fill (struct message *m, enum message_type type)
{
    memset (m, 0, sizeof (*m));
    m->type = type;
    (void)snprintf (m->job, sizeof (m->job), "run-1");
    (void)snprintf (m->host, sizeof (m->host), "n0");
    (void)snprintf (m->host_key, sizeof (m->host_key), "0123456789abcdef");
    m->world_size = 1024;
    m->rank = 1023;
    m->local_rank = 7;
    m->phase = RANK_ENDED;
    m->status = type == MESSAGE_END ? 66 : -1;
    m->stream = ANSWER_SAID;
    m->command = (struct command_end){ INT64_C (1) << 60, 15, 143 };
    m->mpi_rank = 3;
    m->mpi_size = 4;
    m->item = UINT64_C (1) << 40;
    m->kind = ITEM_RAW;
    memset (m->content.bytes, 0xa5, DIGEST_SIZE);
    m->size = 123456789;
    (void)snprintf (m->capture, sizeof (m->capture), "n0_1_ascend_pt");
    (void)snprintf (m->path, sizeof (m->path), "PROF_1/device_0/a.b");
    m->facts = (struct file_facts){ S_IFREG | 0640, -5, 1000, 0 };
    m->part = PART_LIST;
    m->offset = UINT64_C (5) << 20;
    m->length = CONTENT_CHUNK;
    m->codec = CODEC_LZ4;
    m->sent_ns = 5;
    m->wall_ns = 6;
    m->clock_offset_ns = -7;
    m->clock_error_ns = 8;
    m->newest_ns = INT64_C (1) << 60;
    m->reason = REFUSAL_VERSION;
    m->left_items = 9;
    m->left_captures = 10;
    m->mark = (struct ledger_mark){ UINT64_MAX, 11 };
    m->lost = true;
    m->doubtful = 12;
    (void)snprintf (m->place, sizeof (m->place), "0123456789abcdef");
    m->complete = m->home = true;
    m->raw = RAW_UNDECIDED;
    m->have = HAVE_NOT_HERE;
    m->files = 15;
    m->came = 13;
    m->gone = 2;
    (void)snprintf (m->text, sizeof (m->text), "a sentence, with \xc3\xa4");
}

static int round_trip (const struct message *in, struct message *out)
{
    struct buf b;
    int rc;

    buf_init (&b, 65536);
    message_encode (in, &b);
    assert_false (b.failed);
    rc = message_decode (out, b.data, b.size, NULL);
    buf_fini (&b);
    return rc;
}

static void test_round_trip (void **state)
{
    struct message in, out;

    (void)state;
    for (size_t i = 0; i < TYPES; i++) {
        fill (&in, all[i]);
        assert_int_equal (round_trip (&in, &out), 0);
        assert_int_equal (out.type, all[i]);
        assert_string_not_equal (message_name (all[i]), "unknown");
    }
    fill (&in, MESSAGE_OFFER);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_true (out.item == in.item && out.size == in.size);
    assert_int_equal (out.rank, 1023);
    assert_int_equal (out.kind, ITEM_RAW);
    assert_string_equal (out.path, in.path);
    assert_string_equal (out.place, in.place);
    assert_memory_equal (&out.content, &in.content, DIGEST_SIZE);
    assert_true (out.facts.mode == in.facts.mode && out.facts.gid == 0 &&
                 out.facts.mtime_ns == -5 && out.facts.uid == 1000);
    in.facts.mode |= S_ISUID;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_MORE);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_true (out.item == in.item && out.size == in.size);
    fill (&in, MESSAGE_OUTPUT);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_int_equal (out.stream, ANSWER_SAID);
    assert_true (out.offset == in.offset);
    in.stream = ANSWER_STREAMS;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_END);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_true (out.status == 66 && out.size == in.size);
    assert_memory_equal (&out.content, &in.content, DIGEST_SIZE);
    assert_string_equal (out.text, in.text);
    in.status = 256;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    in.status = -1;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_GET);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_int_equal (out.part, PART_LIST);
    in.part++;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_RANK);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_int_equal (out.status, -1);
    assert_int_equal (out.local_rank, 7);
    assert_true (out.mpi_rank == 3 && out.mpi_size == 4);
    assert_memory_equal (&out.command, &in.command, sizeof (in.command));
    assert_string_equal (out.text, in.text);
    fill (&in, MESSAGE_PING);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_true (out.left_items == 9 && out.left_captures == 10);
    fill (&in, MESSAGE_ACK);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_true (out.mark.epoch == UINT64_MAX && out.mark.seq == 11);
    fill (&in, MESSAGE_KEPT);
    in.hurry = true;
    assert_int_equal (round_trip (&in, &out), 0);
    assert_true (out.hurry);
    fill (&in, MESSAGE_STORED);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_true (out.mark.epoch == UINT64_MAX && out.mark.seq == 11);
    fill (&in, MESSAGE_DIVIDED);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_true (out.home);
    assert_string_equal (out.text, in.text);
    fill (&in, MESSAGE_WELCOME);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_true (out.lost);
    assert_int_equal (out.raw, RAW_UNDECIDED);
    fill (&in, MESSAGE_WANT);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_true (out.item == in.item && out.rank == 1023);
    assert_string_equal (out.capture, in.capture);
    assert_string_equal (out.path, in.path);
    assert_string_equal (out.place, in.place);
    fill (&in, MESSAGE_HAVE);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_int_equal (out.have, HAVE_NOT_HERE);
    assert_true (out.files == 15 && out.came == 13 && out.gone == 2);
    assert_string_equal (out.text, in.text);
    fill (&in, MESSAGE_DONE);
    assert_int_equal (round_trip (&in, &out), 0);
    assert_int_equal (out.doubtful, 12);
}

/* Cut short: refused at every length.  With bytes behind it: a member that this
 * version does not have, which is to be said.
 */
static void test_sizes (void **state)
{
    struct message in, out;
    struct buf b;

    (void)state;
    for (size_t i = 0; i < TYPES; i++) {
        fill (&in, all[i]);
        buf_init (&b, 65536);
        message_encode (&in, &b);
        for (size_t n = 0; n < b.size; n++)
            assert_int_equal (message_decode (&out, b.data, n, NULL),
                              -EBADMSG);
        buf_put (&b, "", 1);
        assert_int_equal (message_decode (&out, b.data, b.size, NULL),
                          -EPROTONOSUPPORT);
        buf_fini (&b);
    }
}

/* Another version, or a type that it does not have, is told apart from
 * nonsense: it is answered in words.
 */
static void test_version (void **state)
{
    static const uint8_t newer[] = { 2, 0, 1, 0 }, older[] = { 0, 0, 1, 0 };
    static const uint8_t unknown[] = { 1, 0, 99, 0 };
    struct err err = { "" };
    struct message m;

    (void)state;
    assert_int_equal (message_decode (&m, newer, sizeof (newer), &err),
                      -EPROTONOSUPPORT);
    assert_non_null (strstr (err.text, "version 2"));
    assert_non_null (strstr (err.text, "it has 1"));
    assert_int_equal (message_decode (&m, older, sizeof (older), &err),
                      -EPROTONOSUPPORT);
    assert_int_equal (message_decode (&m, unknown, sizeof (unknown), &err),
                      -EPROTONOSUPPORT);
    assert_non_null (strstr (err.text, "type 99"));
}

/* Names from the wire become keys and parts of paths: nothing that could lead
 * out of a directory may pass.
 */
static void test_paths (void **state)
{
    static const char *const bad[] = {
        "/etc/passwd", "..", "../x", "a/../b", "a/..", "./a", "a//b", "a/",
        "a/./b",
    };
    static const char *const good[] = { "a", "a/b", "..a", "a..b/c.d", "...",
                                        "a b/\xc3\xa4" };
    struct message in, out;

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        fill (&in, MESSAGE_OFFER);
        (void)snprintf (in.path, sizeof (in.path), "%s", bad[i]);
        assert_int_equal (round_trip (&in, &out), -EBADMSG);
    }
    for (size_t i = 0; i < sizeof (good) / sizeof (good[0]); i++) {
        fill (&in, MESSAGE_OFFER);
        (void)snprintf (in.path, sizeof (in.path), "%s", good[i]);
        assert_int_equal (round_trip (&in, &out), 0);
    }
    fill (&in, MESSAGE_OFFER);          // no file can be called so
    (void)snprintf (in.path, sizeof (in.path), "a/%0*d", 256, 0);
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_OFFER);
    (void)snprintf (in.capture, sizeof (in.capture), "../../x");
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_HELLO);
    (void)snprintf (in.job, sizeof (in.job), "a/b");
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_HELLO);
    in.job[0] = '\0';        // it only asks
    assert_int_equal (round_trip (&in, &out), 0);
}

/* What an invited node says is read on the terminal of an administrator. */
static void test_shown (void **state)
{
    struct message in, out;

    (void)state;
    fill (&in, MESSAGE_NOTE);
    (void)snprintf (in.text, sizeof (in.text), "no \x1b[2J capture\xff");
    assert_int_equal (round_trip (&in, &out), 0);
    assert_string_equal (out.text, "no \\x1b[2J capture\\xff");
    fill (&in, MESSAGE_HELLO);
    (void)snprintf (in.host, sizeof (in.host), "h\x07");
    assert_int_equal (round_trip (&in, &out), 0);
    assert_string_equal (out.host, "h\\x07");
}

/* Numbers that would index, allocate or loop are bounded. */
static void test_bounds (void **state)
{
    struct message in, out;

    (void)state;
    fill (&in, MESSAGE_RANK);
    in.rank = -1;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    in.rank = INT64_C (1) << 17;
    assert_int_equal (round_trip (&in, &out), -EPROTONOSUPPORT);
    fill (&in, MESSAGE_RANK);
    in.mpi_rank = in.mpi_size;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    in.mpi_rank = 0;
    in.mpi_size = (INT64_C (1) << 17) + 1;
    assert_int_equal (round_trip (&in, &out), -EPROTONOSUPPORT);
    in.mpi_size = 0;            // nothing was said, and yet a rank
    in.mpi_rank = 1;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_RANK);
    in.command.signal = 128;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_RANK);
    in.command.status = 256;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_RANK);
    in.command.ns = -1;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_HELLO);
    in.world_size = (INT64_C (1) << 17) + 1;    // one word, and all memory
    assert_int_equal (round_trip (&in, &out), -EPROTONOSUPPORT);
    fill (&in, MESSAGE_OFFER);
    in.rank = INT64_C (1) << 17;
    assert_int_equal (round_trip (&in, &out), -EPROTONOSUPPORT);
    in.rank = CAPTURE_WORLD_LIMIT;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_OFFER);
    in.size = CONTENT_SIZE_MAX + 1;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_OFFER);
    in.kind = ITEM_ROWS;        // rows have no path
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_GET);
    in.length = CONTENT_CHUNK + 1;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_CHUNK);
    in.codec = CODECS;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_REFUSED);
    in.reason = 3;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_WELCOME);
    in.raw = RAW_UNDECIDED + 1;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_HAVE);
    in.have = HAVE_NOT_HERE + 1;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_HAVE);
    in.gone = 3;                // of 15, of which 13 came
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    in.gone = UINT64_MAX;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_WANT);
    (void)snprintf (in.path, sizeof (in.path), "../x");
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    in.path[0] = '\0';          // all files
    assert_int_equal (round_trip (&in, &out), 0);
    in.rank = CAPTURE_WORLD_LIMIT;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_WANT);
    in.capture[0] = '\0';
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_HELLO);
    in.world_size = -5;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_HELLO);
    in.clock_offset_ns = INT64_MAX;     // sums of it are no numbers
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
    fill (&in, MESSAGE_HELLO);
    in.clock_error_ns = INT64_MAX;
    assert_int_equal (round_trip (&in, &out), -EBADMSG);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip), cmocka_unit_test (test_sizes),
        cmocka_unit_test (test_version),    cmocka_unit_test (test_paths),
        cmocka_unit_test (test_shown),    cmocka_unit_test (test_bounds),
        };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
