/* tests/unit/aggregator/uploads/test_cache.c - segments that are let go */
#include "aggregator/ledger/ledger_check.h"
#include "base/clock.h"
#include "base/digest.h"
#include "common/object_store/http_script.h"
#include "store/object_mark.h"
#include "store/segment.h"
#include "store/store_private.h"
#include "uploads/cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#define BYTES 40000             // of a content
#define NOT_THERE "HTTP/1.1 404 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>NoSuchKey</Code></Error>"
#define EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: \"o\"\r\n" \
    "Connection: close\r\n\r\n"

struct fixture {
    struct root *r;
    struct http_script *script;
    struct object_store *store;
    struct cache c;
    struct cache_state now;
    struct store_extent lost;
    char id[64], there[256];    // the answer to HEAD, when it is there
    atomic_bool stop;
};

static uint64_t blocks (struct fixture *f)
{
    char path[PATH_MAX];
    struct stat st;

    store_segment_path (f->r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* Segment 1 is sealed, and marked with this etag. */
static void begin (struct fixture *f, struct root *r,
                   const char *const *answers, size_t n)
{
    struct object_options opt = { .url = "s3://bucket/pre", .tries = 1,
                                  .proxy = "" };
    struct object_mark m = { .state = OBJECT_WHOLE, .url = "s3://bucket/pre",
                             .etag = "e" };
    char text[BYTES + 1];

    http_script_credentials ();
    memset (text, 'x', BYTES);
    text[BYTES] = '\0';
    (void)enter (r, true_item ("a", text), text);
    m.size = r->s->committed;
    assert_int_equal (store_open_next (r->s, NULL), 0);
    f->r = r;
    f->script = http_script_start (answers, n);
    opt.endpoint = http_script_endpoint (f->script);
    assert_int_equal (object_store_open (&opt, &f->store, NULL), 0);
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_place_write (r->dir, &opt, f->store, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 1, &m, NULL), 0);
    PRINT (f->there, "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\nETag: \"e\""
           "\r\nConnection: close\r\n\r\n", (unsigned long long)m.size);
    f->c = (struct cache){ .root = r->dir, .id = "0123", .store = f->store,
                           .most = 1, .stop = &f->stop };
}

static void end (struct fixture *f)
{
    object_store_close (f->store);
    http_script_end (f->script);
}

static int64_t written_ns (struct fixture *f)
{
    char path[PATH_MAX];
    struct stat st;

    store_segment_path (f->r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    return clock_ns (&st.st_mtim);
}

static bool is_marked (struct fixture *f)
{
    struct object_mark m;

    assert_int_equal (object_mark_read (f->r->dir, 1, &m, NULL), 0);
    return m.evicted;
}

/* It goes if the object is still there, once; then it is read from there.  For the
 * collection it is as old as it was.
 */
static void test_goes (void **state)
{
    struct fixture f = { .r = NULL };
    const char *answers[] = { f.there };
    uint64_t had;
    int64_t then;

    begin (&f, *state, answers, 1);
    had = blocks (&f);
    then = written_ns (&f);
    f.c.most = 0;               // without a limit nothing goes
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_true (f.now.local >= had);
    f.c.most = 1;
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_int_equal (f.now.evicted, 1);
    assert_true (is_marked (&f));
    assert_true (blocks (&f) + BYTES / 2 < had);
    assert_int_equal (written_ns (&f), then);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_int_equal (f.now.evicted, 1);
    assert_int_equal (http_script_count (f.script), 1);
    end (&f);
}

/* One that somebody cut when it was there holds up no others. */
static void test_cut (void **state)
{
    struct fixture f = { .r = NULL };
    const char *answers[] = { f.there };
    struct object_mark m;
    char path[PATH_MAX];
    uint64_t had;

    begin (&f, *state, answers, 1);
    had = blocks (&f);
    assert_int_equal (object_mark_read (f.r->dir, 1, &m, NULL), 0);
    store_segment_path (f.r->dir, 1, path);
    assert_int_equal (truncate (path, (off_t)m.size - 1), 0);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_true (blocks (&f) + BYTES / 2 < had);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_int_equal (http_script_count (f.script), 1);
    end (&f);
}

/* One that a process left half-way is ended by the next; if its object is gone, it
 * is not taken for whole.
 */
static void test_half_way (void **state)
{
    struct fixture f = { .r = NULL };
    const char *answers[] = { NOT_THERE, NOT_THERE, f.there };
    struct object_mark m;
    uint64_t had;

    begin (&f, *state, answers, 3);
    had = blocks (&f);
    assert_int_equal (object_mark_read (f.r->dir, 1, &m, NULL), 0);
    m.evicted = true;
    assert_int_equal (object_mark_set (f.r->dir, 1, &m, NULL), 0);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_true (is_marked (&f));
    assert_int_equal (blocks (&f), had);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_true (blocks (&f) + BYTES / 2 < had);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_int_equal (http_script_count (f.script), 3);
    end (&f);
}

/* The checksum of rows that are only there is computed when the store is back. */
static void test_sum_later (void **state)
{
    struct fixture f = { .r = NULL };
    const char *answers[] = { f.there, NULL };
    struct root *r = *state;
    struct ledger_item item = { .who = "key", .kind = ITEM_ROWS };
    struct ledger_place place;
    char text[BYTES + 1];

    begin (&f, r, answers, 2);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    memset (text, 'x', BYTES);
    assert_int_equal (digest_of (text, BYTES, &item.content), 0);
    assert_int_equal (ledger_find_content (r->l, &item.content, &place, NULL), 1);
    segments_ask (r->s->segments, SEGMENTS_HURRY);
    assert_int_equal (store_sum_rows (r->s, r->l, &item, &place), 0);
    assert_true (r->s->unsummed);
    assert_int_equal (store_sum_later (r->s, r->l, NULL), 0);
    assert_true (r->s->unsummed);       // it was away just now
    segments_ask (r->s->segments, SEGMENTS_PATIENT);
    r->s->sum_ns = INT64_MAX;           // it took its share
    assert_int_equal (store_sum_later (r->s, r->l, NULL), 0);
    assert_true (r->s->unsummed);
    r->s->sum_ns = 0;
    assert_int_equal (store_sum_later (r->s, r->l, NULL), 0);
    assert_false (r->s->unsummed);
    end (&f);
}

/* An object that is gone, or another, is uploaded again. */
static void test_lost (void **state)
{
    struct fixture f = { .r = NULL };
    const char *answers[] = { NOT_THERE, NOT_THERE };
    struct object_mark m;
    uint64_t had;

    begin (&f, *state, answers, 2);
    had = blocks (&f);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 1);
    assert_int_equal (f.lost.segment, 1);
    assert_int_equal (blocks (&f), had);
    assert_int_equal (object_mark_read (f.r->dir, 1, &m, NULL), 0);
    assert_int_equal (m.state, OBJECT_BEGUN);
    assert_int_equal (f.lost.end, m.size);
    end (&f);
}

/* What a backup has a link to stays whole, unasked, and so does a damaged chunk. */
static void test_stays (void **state)
{
    struct fixture f = { .r = NULL };
    const char *answers[] = { f.there };
    char path[PATH_MAX], other[PATH_MAX];
    uint64_t had;
    int fd;

    begin (&f, *state, answers, 1);
    had = blocks (&f);
    store_segment_path (f.r->dir, 1, path);
    PRINT (other, "%s/linked", f.r->dir);
    assert_int_equal (link (path, other), 0);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_int_equal (f.now.linked, 1);
    assert_int_equal (http_script_count (f.script), 0);
    assert_int_equal (blocks (&f), had);
    assert_false (is_marked (&f));
    assert_int_equal (unlink (other), 0);
    fd = open (path, O_WRONLY);
    assert_int_equal (pwrite (fd, "y", 1, BYTES / 2), 1);
    (void)close (fd);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_int_equal (blocks (&f), had);
    assert_int_equal (f.now.evicted, 0);
    end (&f);
}

/* Without its mark: what is a hole is looked for in the store. */
static void test_adopt (void **state)
{
    struct fixture f = { .r = NULL };
    const char *answers[] = { f.there, EMPTY, NOT_THERE, NOT_THERE };
    struct store_extent e = { 1, 0 };
    struct object_mark m;
    struct err err = { "" };
    char path[PATH_MAX];
    int fd;

    begin (&f, *state, answers, 4);
    assert_int_equal (object_mark_read (f.r->dir, 1, &m, NULL), 0);
    e.end = m.size;
    store_segment_path (f.r->dir, 1, path);
    fd = open (path, O_RDONLY);
    assert_int_equal (cache_adopt (&f.c, &e, fd, NULL), 0);
    assert_int_equal (cache_trim (&f.c, &f.now, &f.lost, NULL), 0);
    assert_int_equal (object_mark_drop (f.r->dir, 1, NULL), 0);
    for (int i = 0; i < 2; i++) {       // of another size; not there
        assert_int_equal (cache_adopt (&f.c, &e, fd, &err), -EBADMSG);
        assert_non_null (strstr (err.text, "segment 1 is damaged"));
    }
    assert_false (is_marked (&f));
    (void)close (fd);
    end (&f);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_goes), ROOT_TEST (test_cut), ROOT_TEST (test_lost), ROOT_TEST (test_stays),
        ROOT_TEST (test_adopt), ROOT_TEST (test_half_way),
        ROOT_TEST (test_sum_later),
    };

    return object_store_is_built ()
               ? cmocka_run_group_tests (tests, NULL, NULL) : 77;
}
