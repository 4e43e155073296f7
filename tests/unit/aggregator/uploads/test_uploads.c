/* tests/unit/aggregator/uploads/test_uploads.c - segments on their way to a store
 */
#include "store/object_mark.h"
#include "uploads_check.h"

#include <unistd.h>

static bool is_deleted (const struct fixture *f)
{
    return f->now.deleted == 1;
}

/* It is sealed and committed, goes there, is looked at, and is marked.  What is
 * open stays here.  A refusal is tried again.
 */
static void test_upload (void **state)
{
    struct root *r = *state;
    struct object_mark m;
    struct fixture f = { .u = NULL };
    const char *answers[] = { DENIED, DENIED, NOT_THERE, NO_KEY, f.owner, FINE,
                              f.there };
    uint64_t size = seal_one (r, "first");

    (void)enter (r, true_item ("b", "second"), "second");
    as_there (&f, r, size);
    fixture_begin (&f, r, answers, 7);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, has_failed);
    assert_int_equal (f.now.error, EACCES);
    assert_int_equal (f.now.waiting, 1);
    assert_int_equal (f.now.waiting_bytes, size);
    assert_true (f.now.since_ns > 0);
    assert_non_null (strstr (f.now.why, "AccessDenied"));
    assert_int_equal (uploads_offer (f.u, r->s), 0);    // nothing new
    fixture_until (&f, is_stored);
    assert_int_equal (f.now.stored_bytes, size);
    assert_int_equal (f.now.since_ns, 0);
    assert_string_equal (f.now.why, "");
    assert_int_equal (http_script_count (f.script), 7);
    assert_non_null (strstr (http_script_request (f.script, 4), "/owner HTTP"));
    assert_non_null (strstr (http_script_request (f.script, 5),
                             "/segments/00000001 HTTP"));
    assert_int_equal (object_mark_read (r->dir, 1, &m, NULL), 0);
    assert_int_equal (m.state, OBJECT_WHOLE);
    assert_int_equal (m.size, size);
    assert_string_equal (m.url, "s3://bucket/pre");
    fixture_end (&f);
    // the next life asks for nothing
    fixture_begin (&f, r, NULL, 0);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_stored);
    fixture_end (&f);
}

/* The store is away when a service begins: what it had is known. */
static void test_away_at_start (void **state)
{
    struct fixture f = { .u = NULL };
    struct root *r = *state;
    const char *answers[] = { NOT_THERE, NO_KEY, f.owner, FINE, f.there };
    uint64_t size = seal_one (r, "first"), second;
    bool have;

    as_there (&f, r, size);
    fixture_begin (&f, r, answers, 5);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_stored);
    assert_true (f.now.answered);
    fixture_end (&f);
    second = seal_one (r, "second");
    f.why = "it is away";
    fixture_begin_cache (&f, r, 1000000, NULL, 0);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    uploads_state (f.u, &f.now);
    have = uploads_have (f.u, 1);       // nobody has looked
    fixture_end (&f);
    assert_int_equal (f.now.waiting, 1);
    assert_int_not_equal (f.now.error, 0);
    assert_int_equal (f.now.stored, 1);
    assert_int_equal (f.now.stored_bytes, size);
    assert_int_equal (f.now.waiting_bytes, second);
    assert_true (f.now.local_bytes >= size + second);
    assert_false (f.now.answered);
    assert_false (have);
}

/* An object of that name with other bytes is never written over. */
static void test_conflict (void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 200 x\r\nContent-Length: 3\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 x\r\nContent-Length: 3\r\nConnection: close\r\n\r\n",
    };
    struct fixture f = { .u = NULL };
    struct root *r = *state;
    struct object_mark m;

    (void)seal_one (r, "first");
    fixture_begin (&f, r, answers, 2);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_conflict);
    assert_int_equal (f.now.waiting, 0);
    assert_non_null (strstr (f.now.conflict, "another root"));
    assert_false (uploads_have (f.u, 1));
    assert_int_equal (f.now.error, 0);
    assert_string_equal (f.now.why, "");
    assert_int_equal (object_mark_read (r->dir, 1, &m, NULL), 0);
    assert_int_equal (m.state, OBJECT_UNMARKED);
    fixture_end (&f);
}

/* Once somebody has removed that object, the segment goes there. */
static bool is_stored_after_all (const struct fixture *f)
{
    return is_stored (f) && f->now.conflicts == 0;
}

static void test_conflict_over (void **state)
{
    static const char other[] = "HTTP/1.1 200 x\r\nContent-Length: 3\r\n"
        "ETag: \"other\"\r\nConnection: close\r\n\r\n";
    struct fixture f = { .u = NULL };
    const char *answers[] = { other, other, NOT_THERE, NO_KEY, NOT_THERE, NO_KEY,
                              f.owner, FINE, f.there };
    struct root *r = *state;

    as_there (&f, r, seal_one (r, "first"));
    fixture_begin (&f, r, answers, 9);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_conflict);
    assert_int_equal (f.now.waiting, 0);
    assert_false (uploads_have (f.u, 1));
    fixture_until (&f, is_stored_after_all);
    assert_string_equal (f.now.conflict, "");
    assert_int_equal (f.now.waiting_bytes, 0);
    fixture_until (&f, has_first);
    assert_int_equal (http_script_count (f.script), 9);
    fixture_end (&f);
}

/* Somebody has removed or cut the file of a segment before it went there.  Once the
 * ledger has lost what it had, nobody waits for it, and what is left goes there.
 */
static bool is_over (const struct fixture *f)
{
    return has_first (f) && f->now.conflicts == 0;
}

static void forget (void *arg, const struct ledger_item *item)
{
    (void)arg;
    (void)item;
}

static void repair (struct root *r)
{
    struct store_lost lost;

    assert_int_equal (store_look (r->s, true, &lost, NULL), 1);
    assert_true (store_repair (r->s, r->l, &lost, forget, NULL, NULL) >= 0);
    store_lost_fini (&lost);
}

static void test_removed (void **state)
{
    struct fixture f = { .u = NULL };
    struct root *r = *state;
    char path[PATH_MAX];

    (void)seal_one (r, "first");
    store_segment_path (r->dir, 1, path);
    assert_int_equal (unlink (path), 0);
    fixture_begin (&f, r, NULL, 0);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_conflict);
    assert_int_equal (f.now.waiting, 0);
    assert_non_null (strstr (f.now.conflict, "segment 1 was removed"));
    assert_int_equal (uploads_offer (f.u, r->s), 0);    // it is still in the ledger
    uploads_state (f.u, &f.now);
    assert_int_equal (f.now.conflicts, 1);
    assert_false (uploads_have (f.u, 1));
    repair (r);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    uploads_state (f.u, &f.now);
    assert_int_equal (f.now.conflicts, 0);
    assert_string_equal (f.now.conflict, "");
    fixture_until (&f, is_over);
    fixture_end (&f);
}

static void test_cut (void **state)
{
    struct fixture f = { .u = NULL };
    const char *answers[] = { NOT_THERE, NO_KEY, f.owner, FINE, f.there };
    struct root *r = *state;
    char path[PATH_MAX];
    uint64_t size = seal_one (r, "first");

    store_segment_path (r->dir, 1, path);
    assert_int_equal (truncate (path, (off_t)size - 1), 0);
    as_there (&f, r, size - 1);
    fixture_begin (&f, r, answers, 5);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_conflict);
    assert_int_equal (http_script_count (f.script), 0);
    repair (r);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_over);
    assert_non_null (strstr (http_script_request (f.script, 3),
                             "/segments/00000001 HTTP"));
    fixture_end (&f);
}

/* One that was cut when all of it was there has its object, also in later lives. */
static void test_cut_later (void **state)
{
    struct fixture f = { .u = NULL };
    const char *answers[] = { NOT_THERE, NO_KEY, f.owner, FINE, f.there };
    struct root *r = *state;
    char path[PATH_MAX];
    uint64_t size = seal_one (r, "first");

    as_there (&f, r, size);
    fixture_begin (&f, r, answers, 5);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_stored);
    fixture_end (&f);
    store_segment_path (r->dir, 1, path);
    assert_int_equal (truncate (path, (off_t)size - 1), 0);
    repair (r);
    fixture_begin (&f, r, NULL, 0);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    uploads_state (f.u, &f.now);
    assert_int_equal (f.now.waiting, 0);
    assert_int_equal (f.now.stored, 1);
    fixture_until (&f, is_over);
    fixture_end (&f);
}

/* While the thread asks for the object of one that is stuck, the ledger loses that:
 * it does not come back.
 */
static bool is_stuck_and_failed (const struct fixture *f)
{
    return is_conflict (f) && has_failed (f);
}

static bool is_asked (const struct fixture *f)
{
    return http_script_count (f->script) == 7;
}

static void test_lost_meanwhile (void **state)
{
    static const char other[] = "HTTP/1.1 200 x\r\nContent-Length: 3\r\n"
        "ETag: \"other\"\r\nConnection: close\r\n\r\n";
    struct fixture f = { .u = NULL };
    const char *answers[] = { DENIED, DENIED, other, other, DENIED, DENIED,
                              NOT_THERE, NO_KEY,
                              NOT_THERE, NO_KEY, f.owner, FINE, f.there };
    struct root *r = *state;
    char path[PATH_MAX];

    as_there (&f, r, seal_one (r, "first"));
    (void)seal_one (r, "second");
    fixture_begin (&f, r, answers, 13);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_stuck_and_failed);
    http_script_hold (f.script);
    fixture_until (&f, is_asked);
    store_segment_path (r->dir, 2, path);
    assert_int_equal (unlink (path), 0);
    repair (r);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    http_script_go_on (f.script);
    fixture_until (&f, is_stored);
    assert_int_equal (f.now.conflicts, 0);
    assert_string_equal (f.now.conflict, "");
    fixture_end (&f);
}

/* What the collection removed goes there, too, and only that. */
static void test_delete (void **state)
{
    struct object_mark m = { .state = OBJECT_BEGUN, .url = "s3://bucket/pre",
                             .size = 3, .upload = "id" };
    struct fixture f = { .u = NULL };
    const char *answers[] = { f.owner, FINE, FINE };
    struct root *r = *state;

    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 8, &m, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 9, &m, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 8, 0, NULL), 0);
    fixture_begin (&f, r, answers, 3);
    fixture_until (&f, is_deleted);
    assert_non_null (strstr (http_script_request (f.script, 1), "DELETE "));
    assert_non_null (strstr (http_script_request (f.script, 1),
                             "/segments/00000008?uploadId=id HTTP"));
    assert_non_null (strstr (http_script_request (f.script, 2),
                             "/segments/00000008 HTTP"));
    assert_int_equal (object_mark_read (r->dir, 8, &m, NULL), 0);
    assert_int_equal (m.state, OBJECT_UNMARKED);
    assert_int_equal (object_mark_read (r->dir, 9, &m, NULL), 0);
    assert_int_equal (m.state, OBJECT_BEGUN);
    fixture_end (&f);
}

/* It is deleted once what was alive in it is there, too: 8 was copied into 1, and 9,
 * which never went there, into 2.
 */
static bool is_stored_first (const struct fixture *f)
{
    return f->now.stored == 1;
}

static void test_delete_later (void **state)
{
    struct object_mark m = { .state = OBJECT_WHOLE, .url = "s3://bucket/pre",
                             .etag = "mine" };
    struct fixture f = { .u = NULL };
    struct root *r = *state;
    const char *answers[] = { NOT_THERE, NO_KEY, f.owner, FINE, f.there, f.owner,
                              FINE };
    int64_t *gone = NULL;
    size_t n = 0;

    as_there (&f, r, seal_one (r, "first"));
    (void)enter (r, true_item ("b", "second"), "second");
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 8, &m, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 8, 1, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 9, 2, NULL), 0);
    fixture_begin (&f, r, answers, 7);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_stored_first);
    assert_int_equal (f.now.deleted, 0);
    fixture_until (&f, is_deleted);
    fixture_end (&f);
    assert_int_equal (object_mark_list (r->dir, true, &gone, &n, NULL), 0);
    assert_int_equal (n, 1);
    assert_int_equal (gone[0], 9);
    free (gone);
}

/* Without the right to delete, segments go there all the same. */
static void test_no_delete (void **state)
{
    struct fixture f = { .u = NULL };
    const char *answers[] = { f.owner, DENIED, f.owner, DENIED, NOT_THERE, NO_KEY,
                              f.owner, FINE, f.there };
    struct object_mark m = { .state = OBJECT_BEGUN, .url = "s3://bucket/pre" };
    struct root *r = *state;
    int64_t *gone = NULL;
    size_t n = 0;

    as_there (&f, r, seal_one (r, "first"));
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 8, &m, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 8, 0, NULL), 0);
    fixture_begin (&f, r, answers, 9);
    fixture_until (&f, has_failed);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, is_stored);
    fixture_until (&f, has_failed);
    assert_non_null (strstr (f.now.why, "AccessDenied"));
    fixture_end (&f);
    assert_int_equal (object_mark_list (r->dir, true, &gone, &n, NULL), 0);
    assert_int_equal (n, 1);
    free (gone);
}

/* ... and bytes are let go here. */
static bool is_evicted (const struct fixture *f)
{
    return f->now.evicted == 1;
}

static void test_no_delete_cache (void **state)
{
    struct object_mark m = { .state = OBJECT_BEGUN, .url = "s3://bucket/pre" };
    struct fixture f = { .u = NULL };
    const char *answers[] = { f.owner, DENIED, f.there };
    char bytes[40001], *etag;
    struct root *r = *state;

    memset (bytes, 'x', 40000);
    bytes[40000] = '\0';
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 8, &m, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 8, 0, NULL), 0);
    m.size = seal_one (r, bytes);
    as_there (&f, r, m.size);
    etag = strchr (f.there, '"') + 1;
    PRINT (m.etag, "%.32s", etag);
    m.state = OBJECT_WHOLE;
    assert_int_equal (object_mark_set (r->dir, 1, &m, NULL), 0);
    fixture_begin_cache (&f, r, 1, answers, 3);
    fixture_until (&f, is_evicted);
    assert_non_null (strstr (http_script_request (f.script, 1), "DELETE "));
    fixture_end (&f);
}

/* The object of another root with this id stays: nothing was written here, or
 * something else is there now.
 */
static bool is_deleted_twice (const struct fixture *f)
{
    return f->now.deleted == 2;
}

static void test_delete_theirs (void **state)
{
    struct object_mark m = { .state = OBJECT_WHOLE, .url = "s3://bucket/pre",
                             .size = 3, .etag = "mine" };
    struct fixture f = { .u = NULL };
    const char *answers[] = {
        f.owner, "HTTP/1.1 200 x\r\nContent-Length: 3\r\nETag: \"other\"\r\n"
        "Connection: close\r\n\r\n",
    };
    struct root *r = *state;

    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 8, &m, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 8, 0, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 9, 0, NULL), 0);
    fixture_begin (&f, r, answers, 2);
    fixture_until (&f, is_deleted_twice);
    assert_int_equal (http_script_count (f.script), 2);
    assert_non_null (strstr (http_script_request (f.script, 1), "HEAD "));
    fixture_end (&f);
}

/* Who is not the owner any more writes and deletes nothing. */
static void test_not_owner (void **state)
{
    struct fixture f = { .u = NULL };
    char other[sizeof (f.owner)];
    const char *answers[] = { other, NOT_THERE, NO_KEY, other };
    struct root *r = *state;

    (void)seal_one (r, "first");
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 9, 0, NULL), 0);
    http_script_padded (other, sizeof (other), "{\"owner\":\"other\","
                        "\"host\":\"there\"}", OWNER_BYTES);
    fixture_begin (&f, r, answers, 4);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, has_failed);
    assert_int_equal (f.now.error, ENOTUNIQ);
    assert_non_null (strstr (f.now.why, "another root with this id, there:"));
    assert_int_equal (f.now.stored, 0);
    assert_int_equal (f.now.deleted, 0);
    fixture_end (&f);
}

/* A store that was away at the start is asked for all before it is used. */
static bool is_fine (const struct fixture *f)
{
    return f->now.error == 0 && !*f->now.why;
}

static void test_probe (void **state)
{
    struct fixture f = { .why = "it was away" };
    const char *answers[] = {
        DENIED, f.owner, FINE, "HTTP/1.1 200 OK\r\nContent-Length: 39\r\n\r\n"
        "<R><IsTruncated>false</IsTruncated></R>", FINE,
    };
    struct root *r = *state;

    fixture_begin (&f, r, answers, 5);
    uploads_state (f.u, &f.now);
    assert_string_not_equal (f.now.why, "");
    fixture_until (&f, has_failed);
    fixture_until (&f, is_fine);
    assert_int_equal (http_script_count (f.script), 5);
    fixture_end (&f);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_upload),
        ROOT_TEST (test_conflict),
        ROOT_TEST (test_conflict_over),
        ROOT_TEST (test_away_at_start),
        ROOT_TEST (test_removed),
        ROOT_TEST (test_cut),
        ROOT_TEST (test_cut_later),
        ROOT_TEST (test_lost_meanwhile),
        ROOT_TEST (test_delete),
        ROOT_TEST (test_delete_later),
        ROOT_TEST (test_no_delete),
        ROOT_TEST (test_no_delete_cache),
        ROOT_TEST (test_delete_theirs),
        ROOT_TEST (test_not_owner),
        ROOT_TEST (test_probe),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
