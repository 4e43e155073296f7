/* tests/unit/aggregator/store/test_segment.c - bytes here, or in an object store */
#include "aggregator/store/root_check.h"
#include "common/object_store/http_script.h"
#include "store/object_mark.h"
#include "store/record.h"
#include "store/segment.h"

#include <fcntl.h>
#include <sys/stat.h>

#define BLOCK 4096
#define BLOCKS 8
#define DENIED "HTTP/1.1 403 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>AccessDenied</Code></Error>"
#define AWAY "HTTP/1.1 503 x\r\nConnection: close\r\n\r\n"

struct fixture {
    struct root *r;
    struct http_script *script;
    struct segments *of;
    struct segment f;
    char bytes[BLOCK * BLOCKS], got[BLOCK * BLOCKS];
};

/* What the store answers for n bytes of this letter. */
static char *answer (char letter, size_t n)
{
    char *text = malloc (n + 128);
    int head = snprintf (text, 128, "HTTP/1.1 206 x\r\nContent-Length: %zu\r\n"
                         "Connection: close\r\n\r\n", n);

    memset (text + head, letter, n);
    text[(size_t)head + n] = '\0';
    return text;
}

/* Segment 7: a block of each letter from 'a' on; all but the first and the last
 * are holes.
 */
static void begin (struct fixture *f, struct root *r, bool marked,
                   const char *const *answers, size_t n)
{
    struct object_mark m = { .state = OBJECT_WHOLE, .url = "s3://bucket/pre",
                             .size = BLOCK * BLOCKS, .evicted = true };
    char path[PATH_MAX];
    int fd;

    memset (f, 0, sizeof (*f));
    f->r = r;
    f->script = http_script_start (answers, n);
    http_script_credentials ();
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    http_script_place (f->script, r->dir);
    for (size_t i = 0; i < BLOCKS; i++)
        memset (f->bytes + i * BLOCK, 'a' + (int)i, BLOCK);
    store_segment_path (r->dir, 7, path);
    fd = open (path, O_RDWR | O_CREAT, 0600);
    assert_int_equal (write (fd, f->bytes, sizeof (f->bytes)),
                      sizeof (f->bytes));
    if (fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BLOCK,
                   BLOCK * (BLOCKS - 2)) < 0)
        skip ();                // no file system of an aggregator
    (void)close (fd);
    if (marked)
        assert_int_equal (object_mark_set (r->dir, 7, &m, NULL), 0);
    assert_int_equal (segments_create (r->dir, &f->of, NULL), 0);
    assert_int_equal (segment_open (f->of, 7, &f->f, NULL), 0);
}

static void end (struct fixture *f)
{
    segment_close (&f->f);
    segments_destroy (f->of);
    http_script_end (f->script);
}

/* What is here is not asked for; holes of a copied root are zeros. */
static void test_here (void **state)
{
    struct fixture f;

    begin (&f, *state, false, NULL, 0);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, 0), 0);
    assert_memory_equal (f.got, f.bytes, BLOCK);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, 2 * BLOCK), 0);
    assert_int_equal (f.got[0], 0);
    assert_false (segment_is_far (&f.f, BLOCK, 2 * BLOCK));
    assert_int_equal (segment_read (&f.f, f.got, 1, sizeof (f.bytes)),
                      -ENODATA);
    assert_int_equal (http_script_count (f.script), 0);
    end (&f);
}

/* If its mark cannot be read, or is damaged, a hole is not taken for zeros. */
static void mark_is_wrong (struct root *r, bool unreadable)
{
    char *c = answer ('c', BLOCK), path[PATH_MAX];
    const char *answers[] = { c };
    struct fixture f;

    begin (&f, r, false, answers, 1);
    PRINT (path, "%s/store/00000007", r->dir);
    if (unreadable)
        assert_int_equal (mkdir (path, 0700), 0);
    else
        assert_true (close (open (path, O_WRONLY | O_CREAT, 0600)) == 0);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, 2 * BLOCK), 0);
    assert_memory_equal (f.got, f.bytes + 2 * BLOCK, BLOCK);
    end (&f);
    free (c);
}

static void test_unreadable (void **state)
{
    mark_is_wrong (*state, true);
}

static void test_damaged_mark (void **state)
{
    mark_is_wrong (*state, false);
}

/* What begins or ends in a hole is seen, too. */
static void test_edges (void **state)
{
    static const char *const answers[] = { AWAY, AWAY, AWAY, AWAY };
    struct fixture f;

    begin (&f, *state, true, answers, 4);
    segments_ask (f.of, SEGMENTS_HERE);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, 0), 0);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK + 1, 0), -EREMOTEIO);
    assert_int_equal (segment_read (&f.f, f.got, 2, 7 * BLOCK - 1), -EREMOTEIO);
    assert_int_equal (segment_read (&f.f, f.got, 2, 7 * BLOCK), 0);
    assert_int_equal (segment_read (&f.f, f.got, sizeof (f.got), 0),
                      -EREMOTEIO);
    end (&f);
}

static void test_far (void **state)
{
    char *c = answer ('c', BLOCK);
    const char *answers[] = { c };
    struct fixture f;

    begin (&f, *state, true, answers, 1);
    assert_int_equal (segment_read (&f.f, f.got, 100, BLOCK - 100), 0);
    assert_memory_equal (f.got, f.bytes + BLOCK - 100, 100);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, 2 * BLOCK), 0);
    assert_memory_equal (f.got, f.bytes + 2 * BLOCK, BLOCK);
    assert_int_equal (http_script_count (f.script), 1);
    assert_non_null (strstr (http_script_request (f.script, 0),
                             "Range: bytes=8192-12287\r\n"));
    assert_non_null (strstr (http_script_request (f.script, 0),
                             "/segments/00000007 HTTP"));
    end (&f);
    free (c);
}

/* Reads that follow each other, up to the last hole: three questions. */
struct run {
    struct fixture f;
    char *answers[3];
};

static void begin_run (struct run *a, struct root *r)
{
    a->answers[0] = answer ('b', BLOCK);
    a->answers[1] = answer ('c', 2 * BLOCK);
    a->answers[2] = answer ('e', 3 * BLOCK);
    begin (&a->f, r, true, (const char *const *)a->answers, 3);
    a->f.f.until = 7 * BLOCK;
}

static void end_run (struct run *a)
{
    assert_int_equal (http_script_count (a->f.script), 3);
    assert_non_null (strstr (http_script_request (a->f.script, 1),
                             "Range: bytes=8192-16383\r\n"));
    assert_non_null (strstr (http_script_request (a->f.script, 2),
                             "Range: bytes=16384-28671\r\n"));
    end (&a->f);
    for (size_t i = 0; i < 3; i++)
        free (a->answers[i]);
}

/* They get more at once, but nothing behind what is wanted. */
static void test_ahead (void **state)
{
    struct run a;

    begin_run (&a, *state);
    for (uint64_t i = 1; i < 7; i++)
        assert_int_equal (segment_read (&a.f.f, a.f.got, BLOCK, i * BLOCK), 0);
    end_run (&a);
}

/* No byte is asked for twice, wherever a question has ended. */
static void test_across (void **state)
{
    struct segment *f;
    struct run a;

    begin_run (&a, *state);
    f = &a.f.f;
    assert_int_equal (segment_read (f, a.f.got, BLOCK, BLOCK), 0);
    assert_int_equal (segment_read (f, a.f.got, BLOCK * 3 / 2, 2 * BLOCK), 0);
    assert_int_equal (segment_read (f, a.f.got, BLOCK * 3 / 2, BLOCK * 7 / 2), 0);
    assert_int_equal (a.f.got[BLOCK / 2 - 1], 'c');
    assert_int_equal (a.f.got[BLOCK / 2], 'e');
    end_run (&a);
}

/* Of a root that is not here all is read there. */
static void test_no_root (void **state)
{
    char *a = answer ('a', BLOCK);
    const char *answers[] = { a };
    struct object_place place;
    struct segments *of;
    struct segment far;
    struct fixture f;

    begin (&f, *state, true, answers, 1);
    assert_int_equal (object_place_read (f.r->dir, &place, NULL), 0);
    assert_int_equal (segments_create_far (&place, "0123456789", &of, NULL), 0);
    assert_int_equal (segment_open (of, 7, &far, NULL), 0);
    assert_true (segment_is_far (&far, 1, 0));
    assert_int_equal (segment_read (&far, f.got, BLOCK, 0), 0);
    assert_memory_equal (f.got, f.bytes, BLOCK);
    assert_non_null (strstr (http_script_request (f.script, 0),
                             "/pre/0123456789/segments/00000007 HTTP"));
    segment_close (&far);
    segments_destroy (of);
    end (&f);
    free (a);
}

/* It is said why; after a failure each question is asked once. */
static void test_away (void **state)
{
    static const char *const answers[] = { DENIED, AWAY };
    struct err err = { "" };
    struct fixture f;

    begin (&f, *state, true, answers, 2);
    assert_int_equal (segment_read (&f.f, f.got, 1, BLOCK), -EREMOTEIO);
    segments_why (f.of, &err);
    assert_non_null (strstr (err.text, "segment 7 is not here any more"));
    assert_non_null (strstr (err.text, "AccessDenied"));
    assert_int_equal (segment_read (&f.f, f.got, 1, BLOCK), -EREMOTEIO);
    assert_int_equal (http_script_count (f.script), 2);
    segments_ask (f.of, SEGMENTS_HERE);
    assert_int_equal (segment_read (&f.f, f.got, 1, BLOCK), -EREMOTEIO);
    assert_int_equal (http_script_count (f.script), 2);
    end (&f);
}

/* Who hurries asks twice, and then, for a while, does not ask; an answer that is
 * no is one.
 */
static void test_hurry (void **state)
{
    char *b = answer ('b', BLOCK);
    const char *answers[] = { DENIED, b, AWAY, AWAY, AWAY };
    struct err err = { "" };
    struct fixture f;

    begin (&f, *state, true, answers, 5);
    segments_ask (f.of, SEGMENTS_HURRY);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, BLOCK), -EREMOTEIO);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, BLOCK), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal (segment_read (&f.f, f.got, BLOCK, 3 * BLOCK),
                          -EREMOTEIO);
    segments_why (f.of, &err);
    assert_non_null (strstr (err.text, "asked 2 times"));
    assert_int_equal (http_script_count (f.script), 4);
    end (&f);
    free (b);
}

/* What comes with another hash is asked for once more. */
static void test_hash (void **state)
{
    char *bad = answer ('x', BLOCK), *good = answer ('c', BLOCK);
    const char *answers[] = { bad, good };
    struct ledger_place p = { .segment = 7, .offset = 2 * BLOCK,
                              .stored = BLOCK, .size = BLOCK,
                              .form = FORM_PLAIN };
    struct record_reader reader;
    struct digest id;
    struct fixture f;

    begin (&f, *state, true, answers, 2);
    assert_int_equal (digest_of (f.bytes + 2 * BLOCK, BLOCK, &id), 0);
    assert_int_equal (record_reader_init (&reader), 0);
    assert_int_equal (record_check (&reader, &f.f, &p, &id), 0);
    assert_int_equal (http_script_count (f.script), 2);
    record_reader_fini (&reader);
    end (&f);
    free (bad);
    free (good);
}

/* What is kept is read again without a question, until it was wrong. */
static void test_keep (void **state)
{
    const char *answers[] = { answer ('x', BLOCK), answer ('y', BLOCK),
                              answer ('z', BLOCK) };
    struct fixture f;

    begin (&f, *state, true, answers, 3);
    segments_keep (f.of, SEGMENTS_KEEP);
    for (uint64_t at = 2; at < 4; at++)
        assert_int_equal (segment_read (&f.f, f.got, BLOCK, at * BLOCK), 0);
    segments_keep (f.of, SEGMENTS_KEPT);
    segment_close (&f.f);
    assert_int_equal (segment_open (f.of, 7, &f.f, NULL), 0);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, 2 * BLOCK), 0);
    assert_int_equal (f.got[0], 'x');
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, 3 * BLOCK), 0);
    assert_int_equal (f.got[BLOCK - 1], 'y');
    assert_int_equal (http_script_count (f.script), 2);
    segment_forget (&f.f);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, 3 * BLOCK), 0);
    assert_int_equal (f.got[0], 'z');
    segments_keep (f.of, SEGMENTS_FORGET);
    end (&f);
    for (size_t i = 0; i < 3; i++)
        free ((char *)answers[i]);
}

/* What is kept is not asked for on the way to what follows. */
static void test_keep_ahead (void **state)
{
    const char *answers[] = { answer ('e', BLOCK), answer ('c', BLOCK),
                              answer ('d', BLOCK) };
    struct fixture f;

    begin (&f, *state, true, answers, 3);
    segments_keep (f.of, SEGMENTS_KEEP);
    assert_int_equal (segment_read (&f.f, f.got, BLOCK, 4 * BLOCK), 0);
    assert_false (segments_have_kept (f.of, 7, BLOCK, 4 * BLOCK));
    segments_keep (f.of, SEGMENTS_KEPT);
    assert_true (segments_have_kept (f.of, 7, BLOCK, 4 * BLOCK));
    assert_false (segments_have_kept (f.of, 7, 2 * BLOCK, 4 * BLOCK));
    assert_false (segments_have_kept (f.of, 6, BLOCK, 4 * BLOCK));
    segment_close (&f.f);
    assert_int_equal (segment_open (f.of, 7, &f.f, NULL), 0);
    f.f.until = 6 * BLOCK;
    for (uint64_t i = 2; i < 5; i++) {
        assert_int_equal (segment_read (&f.f, f.got, BLOCK, i * BLOCK), 0);
        assert_int_equal (f.got[0], 'a' + (int)i);
    }
    assert_int_equal (http_script_count (f.script), 3);
    assert_non_null (strstr (http_script_request (f.script, 2),
                             "Range: bytes=12288-16383\r\n"));
    end (&f);
    for (size_t i = 0; i < 3; i++)
        free ((char *)answers[i]);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_keep), ROOT_TEST (test_keep_ahead),
        ROOT_TEST (test_here), ROOT_TEST (test_far), ROOT_TEST (test_ahead),
        ROOT_TEST (test_across), ROOT_TEST (test_no_root),
        ROOT_TEST (test_away), ROOT_TEST (test_hash),
        ROOT_TEST (test_hurry), ROOT_TEST (test_unreadable),
        ROOT_TEST (test_damaged_mark), ROOT_TEST (test_edges),
    };

    return object_store_is_built ()
               ? cmocka_run_group_tests (tests, NULL, NULL) : 77;
}
