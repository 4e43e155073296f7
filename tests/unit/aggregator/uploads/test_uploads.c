/* tests/unit/aggregator/uploads/test_uploads.c - segments on their way to a store
 */
#include "aggregator/ledger/ledger_check.h"
#include "base/clock.h"
#include "base/digest.h"
#include "common/object_store/http_script.h"
#include "store/object_mark.h"
#include "store/object_owner.h"
#include "store/root.h"
#include "object_store/part_sums.h"
#include "store/store_private.h"
#include "uploads/early_sums.h"
#include "uploads/stored.h"
#include "uploads/uploads.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define NOT_THERE "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n"
#define NO_KEY "HTTP/1.1 404 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>NoSuchKey</Code></Error>"
#define FINE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define DENIED "HTTP/1.1 403 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>AccessDenied</Code></Error>"

struct fixture {
    struct http_script *script;
    struct uploads *u;
    struct uploads_state now;
    char there[256];            // the answer to HEAD, when it is there
    char owner[2 * OWNER_BYTES];        // that this root is the owner
    const char *why;            // of begin; NULL: nothing is wrong
};

/* A sealed segment with some content: its size. */
static uint64_t sealed (struct root *r, const char *bytes)
{
    uint64_t size;

    (void)enter (r, true_item (bytes, bytes), bytes);
    size = r->s->committed;
    assert_int_equal (store_open_next (r->s, NULL), 0);
    return size;
}

/* The answer of a store that has segment 1. */
static void as_there (struct fixture *f, const struct root *r, uint64_t size)
{
    char path[PATH_MAX], hex[MD5_HEX_SIZE], *bytes = malloc (size);
    struct md5 md5;
    FILE *file;

    store_segment_path (r->dir, 1, path);
    file = fopen (path, "r");
    assert_int_equal (fread (bytes, 1, size, file), size);
    (void)fclose (file);
    assert_int_equal (digest_md5 (bytes, size, &md5), 0);
    md5_hex (&md5, hex);
    PRINT (f->there, "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\nETag: \"%s\""
           "\r\nConnection: close\r\n\r\n", (unsigned long long)size, hex);
    free (bytes);
}

static void begin_cache (struct fixture *f, struct root *r, uint64_t size,
                         const char *const *answers, size_t n)
{
    struct object_options opt = { .url = "s3://bucket/pre", .tries = 1,
                                  .proxy = "" };
    char token[ROOT_ID_SIZE], text[64];
    struct err err;

    assert_int_equal (root_make_token (r->dir, token, NULL), 0);
    PRINT (text, "{\"owner\":\"%s\"}", token);
    http_script_padded (f->owner, sizeof (f->owner), text, OWNER_BYTES);
    http_script_credentials ();
    f->script = http_script_start (answers, n);
    opt.endpoint = http_script_endpoint (f->script);
    assert_int_equal (uploads_start (r->dir, &opt, size,
                                     f->why ? f->why : "", &f->u, &err), 0);
}

static void begin (struct fixture *f, struct root *r,
                   const char *const *answers, size_t n)
{
    begin_cache (f, r, 0, answers, n);
}

static void end (struct fixture *f)
{
    uploads_stop (f->u);
    http_script_end (f->script);
}

/* Until something is so; it may take a pause of the thread. */
static void until (struct fixture *f, bool (*is_so) (const struct fixture *))
{
    struct timespec t = { 0, NS_PER_MS };

    for (unsigned i = 0; i < 60000; i++) {
        uploads_state (f->u, &f->now);
        if (is_so (f))
            return;
        (void)nanosleep (&t, NULL);
    }
    fail_msg ("it never became so");
}

static bool is_stored (const struct fixture *f)
{
    return f->now.stored == 1 && f->now.waiting == 0;
}

static bool has_failed (const struct fixture *f)
{
    return f->now.error != 0;
}

static bool has_first (const struct fixture *f)
{
    return uploads_have (f->u, 1);
}

static bool is_conflict (const struct fixture *f)
{
    return f->now.conflicts == 1;
}

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
    uint64_t size = sealed (r, "first");

    (void)enter (r, true_item ("b", "second"), "second");
    as_there (&f, r, size);
    begin (&f, r, answers, 7);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, has_failed);
    assert_int_equal (f.now.error, EACCES);
    assert_int_equal (f.now.waiting, 1);
    assert_int_equal (f.now.waiting_bytes, size);
    assert_true (f.now.since_ns > 0);
    assert_non_null (strstr (f.now.why, "AccessDenied"));
    assert_int_equal (uploads_offer (f.u, r->s), 0);    // nothing new
    until (&f, is_stored);
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
    end (&f);
    // the next life asks for nothing
    begin (&f, r, NULL, 0);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, is_stored);
    end (&f);
}

/* The store is away when a service begins: what it had is known. */
static void test_away_at_start (void **state)
{
    struct fixture f = { .u = NULL };
    struct root *r = *state;
    const char *answers[] = { NOT_THERE, NO_KEY, f.owner, FINE, f.there };
    uint64_t size = sealed (r, "first"), second;
    bool have;

    as_there (&f, r, size);
    begin (&f, r, answers, 5);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, is_stored);
    assert_true (f.now.answered);
    end (&f);
    second = sealed (r, "second");
    f.why = "it is away";
    begin_cache (&f, r, 1000000, NULL, 0);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    uploads_state (f.u, &f.now);
    have = uploads_have (f.u, 1);       // nobody has looked
    end (&f);
    assert_int_equal (f.now.waiting, 1);
    assert_int_not_equal (f.now.error, 0);
    assert_int_equal (f.now.stored, 1);
    assert_int_equal (f.now.stored_bytes, size);
    assert_int_equal (f.now.waiting_bytes, second);
    assert_true (f.now.local_bytes >= size + second);
    assert_false (f.now.answered);
    assert_false (have);
}

/* ---- hashes that are made while a segment fills ---- */

/* Chunks for some MiB, committed. */
static void fill (struct root *r, unsigned mib)
{
    uint64_t *bytes = malloc (CONTENT_CHUNK);
    struct ledger_place place;
    struct digest id;

    for (uint64_t i = 0; i < mib; i++) {
        for (size_t k = 0; k < CONTENT_CHUNK / sizeof (*bytes); k++)
            bytes[k] = i << 32 | k;
        assert_int_equal (digest_of (bytes, CONTENT_CHUNK, &id), 0);
        assert_int_equal (store_put_chunk (r->s, &id, CONTENT_CHUNK, CODEC_PLAIN,
                                           bytes, CONTENT_CHUNK, &place, NULL),
                          0);
    }
    assert_int_equal (store_sync (r->s, NULL), 0);
    store_committed (r->s);
    free (bytes);
}

static bool is_summed (const struct fixture *f)
{
    return f->now.summed == 8;
}

/* Segment 1, of 66 MiB, sealed; what its first part says now. */
static void begin_summed (struct fixture *f, struct root *r,
                          const char *const *answers, size_t n,
                          char sha256[DIGEST_HEX_SIZE])
{
    void *part = malloc (OBJECT_PART_BYTES);
    char path[PATH_MAX];
    struct digest d;
    int fd;

    begin (f, r, answers, n);
    fill (r, 60);
    assert_int_equal (uploads_offer (f->u, r->s), 0);
    fill (r, 6);
    uploads_state (f->u, &f->now);
    assert_int_equal (f->now.summed, 0);
    assert_int_equal (uploads_offer (f->u, r->s), 0);
    until (f, is_summed);
    store_segment_path (r->dir, 1, path);
    fd = open (path, O_RDONLY);
    assert_int_equal (pread (fd, part, OBJECT_PART_BYTES, 0), OBJECT_PART_BYTES);
    (void)close (fd);
    assert_int_equal (digest_of (part, OBJECT_PART_BYTES, &d), 0);
    digest_hex (&d, sha256);
    free (part);
    assert_int_equal (store_open_next (r->s, NULL), 0);
}

#define BEGUN "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" \
    "<R><UploadId>u</UploadId></R>"
#define BAD_DIGEST "HTTP/1.1 400 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>BadDigest</Code></Error>"

/* A byte that changed since is found by the store, since it gets the hash of what
 * was written; it is named, and not sent again with another hash.
 */
static void test_changed (void **state)
{
    struct fixture f = { .u = NULL };
    const char *answers[] = { NOT_THERE, NO_KEY, f.owner, BEGUN, BAD_DIGEST };
    char sha256[DIGEST_HEX_SIZE], path[PATH_MAX];
    struct root *r = *state;
    int fd;

    if (STORE_SEGMENT_MAX < UINT64_C (80) << 20)
        skip ();
    begin_summed (&f, r, answers, 5, sha256);
    store_segment_path (r->dir, 1, path);
    fd = open (path, O_WRONLY);
    assert_int_equal (pwrite (fd, "!", 1, 5000), 1);
    (void)close (fd);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, is_conflict);
    assert_non_null (strstr (http_script_request (f.script, 4),
                             "?partNumber=1&uploadId=u HTTP"));
    assert_non_null (strstr (http_script_request (f.script, 4), sha256));
    assert_string_equal (f.now.conflict, "segment 1 is damaged, and is not "
                         "uploaded: see rollcall fsck");
    assert_int_equal (f.now.waiting, 0);
    assert_int_equal (f.now.error, 0);
    assert_int_equal (http_script_count (f.script), 5);
    end (&f);
}

/* What changed on its way only is tried again. */
static void test_refused (void **state)
{
    struct fixture f = { .u = NULL };
    const char *answers[] = { NOT_THERE, NO_KEY, f.owner, BEGUN, BAD_DIGEST };
    char sha256[DIGEST_HEX_SIZE];
    struct root *r = *state;

    if (STORE_SEGMENT_MAX < UINT64_C (80) << 20)
        skip ();
    begin_summed (&f, r, answers, 5, sha256);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, has_failed);
    assert_int_equal (f.now.error, EBADMSG);
    assert_non_null (strstr (f.now.why, "BadDigest"));
    assert_int_equal (f.now.conflicts, 0);
    assert_int_equal (f.now.waiting, 1);
    end (&f);
}

/* Parts wait for each other, until the segment is nearly full. */
static void test_due (void **state)
{
    const uint64_t part = OBJECT_PART_BYTES, most = STORE_SEGMENT_MAX;
    struct early_sums e = { .segment = 0 };

    (void)state;
    if (most < UINT64_C (80) << 20)
        skip ();
    assert_int_equal (early_sums_due (&e, &(struct store_extent){ 0, 0 }), 0);
    assert_int_equal (early_sums_due (&e, &(struct store_extent){ 1, 8 * part }),
                      8);
    assert_int_equal (early_sums_due (&e, &(struct store_extent){
                                      1, 8 * part - 1 }), 0);
    assert_int_equal (early_sums_due (&e, &(struct store_extent){
                                      1, most - part }), 8);
    // those of a segment failed: its upload will say why
    e.segment = 1;
    assert_int_equal (early_sums_due (&e, &(struct store_extent){ 1, 8 * part }),
                      0);
    e.segment = 2;
    assert_int_equal (early_sums_add (&e, "/nowhere", &(struct store_extent){
                                      3, 9 * part }), 0);
    assert_int_equal (e.segment, 3);
    assert_null (early_sums_of (&e, 3));
    e.sums = object_sums_create ();
    assert_ptr_equal (early_sums_of (&e, 3), e.sums);
    e.sums->n = 24;
    assert_int_equal (early_sums_due (&e, &(struct store_extent){
                                      3, most - part }), 0);
    assert_int_equal (early_sums_due (&e, &(struct store_extent){
                                      3, most - part + 1 }), 7);
    e.sums->n = 31;
    assert_int_equal (early_sums_due (&e, &(struct store_extent){ 3, most }), 1);
    e.sums->n = 0;
    assert_null (early_sums_of (&e, 4));
    early_sums_forget (&e);
    assert_null (early_sums_of (&e, 3));
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

    (void)sealed (r, "first");
    begin (&f, r, answers, 2);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, is_conflict);
    assert_int_equal (f.now.waiting, 0);
    assert_non_null (strstr (f.now.conflict, "another root"));
    assert_false (uploads_have (f.u, 1));
    assert_int_equal (f.now.error, 0);
    assert_string_equal (f.now.why, "");
    assert_int_equal (object_mark_read (r->dir, 1, &m, NULL), 0);
    assert_int_equal (m.state, OBJECT_UNMARKED);
    end (&f);
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

    as_there (&f, r, sealed (r, "first"));
    begin (&f, r, answers, 9);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, is_conflict);
    assert_int_equal (f.now.waiting, 0);
    assert_false (uploads_have (f.u, 1));
    until (&f, is_stored_after_all);
    assert_string_equal (f.now.conflict, "");
    assert_int_equal (f.now.waiting_bytes, 0);
    until (&f, has_first);
    assert_int_equal (http_script_count (f.script), 9);
    end (&f);
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
    begin (&f, r, answers, 3);
    until (&f, is_deleted);
    assert_non_null (strstr (http_script_request (f.script, 1), "DELETE "));
    assert_non_null (strstr (http_script_request (f.script, 1),
                             "/segments/00000008?uploadId=id HTTP"));
    assert_non_null (strstr (http_script_request (f.script, 2),
                             "/segments/00000008 HTTP"));
    assert_int_equal (object_mark_read (r->dir, 8, &m, NULL), 0);
    assert_int_equal (m.state, OBJECT_UNMARKED);
    assert_int_equal (object_mark_read (r->dir, 9, &m, NULL), 0);
    assert_int_equal (m.state, OBJECT_BEGUN);
    end (&f);
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

    as_there (&f, r, sealed (r, "first"));
    (void)enter (r, true_item ("b", "second"), "second");
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 8, &m, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 8, 1, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 9, 2, NULL), 0);
    begin (&f, r, answers, 7);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, is_stored_first);
    assert_int_equal (f.now.deleted, 0);
    until (&f, is_deleted);
    end (&f);
    assert_int_equal (object_mark_list (r->dir, true, &gone, &n, NULL), 0);
    assert_int_equal (n, 1);
    assert_int_equal (gone[0], 9);
    free (gone);
}

/* How far the ledger is in the store is known when the segment is, not before. */
static void test_stored (void **state)
{
    struct fixture f = { .u = NULL };
    const char *answers[] = { NOT_THERE, NO_KEY, f.owner, FINE, f.there };
    struct stored s = { .hurry_ns = 0 };
    struct root *r = *state;
    uint64_t seq;

    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    begin (&f, r, answers, 5);
    stored_look (&s, f.u, r->s, r->l);
    assert_true (s.mark.epoch == ledger_mark (r->l).epoch && s.mark.seq == 0);
    (void)enter (r, true_item ("a", "first"), "first");
    seq = ledger_mark (r->l).seq;
    stored_look (&s, f.u, r->s, r->l);
    assert_int_equal (store_open_next (r->s, NULL), 0);
    stored_look (&s, f.u, r->s, r->l);
    assert_int_equal (s.mark.seq, 0);
    as_there (&f, r, r->s->sealed[0].end);
    assert_false (uploads_have (f.u, 1));
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, has_first);
    assert_false (uploads_have (f.u, 2));
    stored_look (&s, f.u, r->s, r->l);
    assert_int_equal (s.mark.seq, seq);
    (void)enter (r, true_item ("b", "second"), "second");
    stored_look (&s, f.u, r->s, r->l);
    stored_look (&s, f.u, r->s, r->l);
    assert_int_equal (s.mark.seq, seq);
    // a ledger that went back begins another epoch
    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    stored_look (&s, f.u, r->s, r->l);
    assert_int_equal (s.mark.seq, 0);
    end (&f);
}

/* The open segment is sealed sooner if somebody waits, and the store goes. */
static void test_hurry (void **state)
{
    struct uploads_state u = { .waiting = 0 };
    struct stored s = { .hurry_ns = 0 };
    const int64_t hour = 3600 * NS_PER_S, now = hour;

    (void)state;
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), hour);
    stored_hurry (&s, now);
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), STORED_HURRY_NS);
    assert_int_equal (stored_seal_after (&s, &u, 1, 1, now), 1);
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now + hour), hour);
    u.waiting = 1;
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), hour);
}

/* Hours in which somebody always waits, as an aggregator is away: so many segments
 * of at most so many bytes a second are sealed.  'latest': the longest that anything
 * waited.
 */
static unsigned seals_of (unsigned hours, uint64_t bytes_a_second,
                          int64_t *latest)
{
    const int64_t hour = 3600 * NS_PER_S, start = 100 * hour;
    struct uploads_state u = { .waiting = 0 };
    struct stored s = { .hurry_ns = 0 };
    int64_t since = start;
    uint64_t open = 0;
    unsigned n = 0;

    *latest = 0;
    for (int64_t now = start; now < start + hours * hour; now += NS_PER_S) {
        open += bytes_a_second;
        stored_hurry (&s, now);
        if (open < STORE_SEGMENT_MAX &&
            now - since < stored_seal_after (&s, &u, open, hour, now))
            continue;
        stored_sealed (&s, open, now);
        *latest = now - since > *latest ? now - since : *latest;
        since = now;
        open = 0;
        n++;
    }
    return n;
}

static void test_night (void **state)
{
    int64_t latest;

    (void)state;
    // a few at once, then one a minute
    assert_in_range (seals_of (8, 1000, &latest), 480, 480 + STORED_HURRIES);
    assert_true (latest <= STORED_HURRY_EVERY_NS + STORED_HURRY_NS);
    // large ones do not wait: they are few for their bytes
    assert_in_range (seals_of (8, STORED_HURRY_BYTES / 8, &latest), 3500,
                     3600 + 480 + STORED_HURRIES);
    assert_true (latest <= 8 * NS_PER_S);
}

/* Who waits now and then does not wait for a turn. */
static void test_turns (void **state)
{
    const int64_t hour = 3600 * NS_PER_S;
    struct uploads_state u = { .waiting = 0 };
    struct stored s = { .hurry_ns = 0 };
    int64_t now = hour;

    (void)state;
    for (unsigned i = 0; i < STORED_HURRIES; i++) {
        stored_hurry (&s, now);
        assert_int_equal (stored_seal_after (&s, &u, 1, hour, now),
                          STORED_HURRY_NS);
        stored_sealed (&s, 1, now);
    }
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), hour);
    assert_int_equal (stored_seal_after (&s, &u, STORED_HURRY_BYTES, hour, now),
                      STORED_HURRY_NS);
    stored_sealed (&s, STORED_HURRY_BYTES, now);        // takes no turn
    now += STORED_HURRY_EVERY_NS;
    stored_hurry (&s, now);
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), STORED_HURRY_NS);
    stored_sealed (&s, 1, now);
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), hour);
    now += hour;                // all have come back, and no more
    for (unsigned i = 0; i < STORED_HURRIES; i++)
        stored_sealed (&s, 1, now);
    stored_hurry (&s, now);
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), hour);
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

    as_there (&f, r, sealed (r, "first"));
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 8, &m, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 8, 0, NULL), 0);
    begin (&f, r, answers, 9);
    until (&f, has_failed);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, is_stored);
    until (&f, has_failed);
    assert_non_null (strstr (f.now.why, "AccessDenied"));
    end (&f);
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
    m.size = sealed (r, bytes);
    as_there (&f, r, m.size);
    etag = strchr (f.there, '"') + 1;
    PRINT (m.etag, "%.32s", etag);
    m.state = OBJECT_WHOLE;
    assert_int_equal (object_mark_set (r->dir, 1, &m, NULL), 0);
    begin_cache (&f, r, 1, answers, 3);
    until (&f, is_evicted);
    assert_non_null (strstr (http_script_request (f.script, 1), "DELETE "));
    end (&f);
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
    begin (&f, r, answers, 2);
    until (&f, is_deleted_twice);
    assert_int_equal (http_script_count (f.script), 2);
    assert_non_null (strstr (http_script_request (f.script, 1), "HEAD "));
    end (&f);
}

/* Who is not the owner any more writes and deletes nothing. */
static void test_not_owner (void **state)
{
    struct fixture f = { .u = NULL };
    char other[sizeof (f.owner)];
    const char *answers[] = { other, NOT_THERE, NO_KEY, other };
    struct root *r = *state;

    (void)sealed (r, "first");
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_condemn (r->dir, 9, 0, NULL), 0);
    http_script_padded (other, sizeof (other), "{\"owner\":\"other\","
                        "\"host\":\"there\"}", OWNER_BYTES);
    begin (&f, r, answers, 4);
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    until (&f, has_failed);
    assert_int_equal (f.now.error, ENOTUNIQ);
    assert_non_null (strstr (f.now.why, "another root with this id, there:"));
    assert_int_equal (f.now.stored, 0);
    assert_int_equal (f.now.deleted, 0);
    end (&f);
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

    begin (&f, r, answers, 5);
    uploads_state (f.u, &f.now);
    assert_string_not_equal (f.now.why, "");
    until (&f, has_failed);
    until (&f, is_fine);
    assert_int_equal (http_script_count (f.script), 5);
    end (&f);
}

/* Nothing that a commit may take back is offered. */
static int count (void *arg, const struct store_extent *e)
{
    (void)e;
    ++*(int *)arg;
    return 0;
}

static void test_sealed (void **state)
{
    struct root *r = *state;
    int n = 0;

    (void)sealed (r, "first");
    (void)sealed (r, "second");
    assert_int_equal (store_each_sealed (r->s, 0, count, &n), 0);
    assert_int_equal (n, 2);
    assert_int_equal (store_each_sealed (r->s, 1, count, &n), 0);
    assert_int_equal (n, 3);
    r->s->full[0].segment = 2;
    r->s->nfull = 1;
    n = 0;
    assert_int_equal (store_each_sealed (r->s, 0, count, &n), 0);
    assert_int_equal (n, 1);
    r->s->nfull = 0;
}

/* One that is not full is sealed by its age, when nothing waits for a commit. */
static void test_age (void **state)
{
    struct root *r = *state;

    assert_int_equal (store_seal_after (r->s, 0, NULL), 0);
    (void)enter (r, true_item ("a", "first"), "first");
    assert_int_equal (store_seal_after (r->s, NS_PER_S * 3600, NULL), 0);
    r->s->end++;
    assert_int_equal (store_open_extent (r->s).end, r->s->committed);
    assert_int_equal (store_seal_after (r->s, 0, NULL), 0);
    r->s->end--;
    assert_int_equal (r->s->segment, 1);
    assert_int_equal (store_seal_after (r->s, 0, NULL), 1);
    assert_int_equal (r->s->segment, 2);
    assert_int_equal (store_seal_after (r->s, 0, NULL), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_upload), ROOT_TEST (test_conflict),
        ROOT_TEST (test_conflict_over), ROOT_TEST (test_away_at_start),
        ROOT_TEST (test_stored), cmocka_unit_test (test_hurry),
        cmocka_unit_test (test_night), cmocka_unit_test (test_turns),
        ROOT_TEST (test_delete), ROOT_TEST (test_delete_later),
        ROOT_TEST (test_no_delete),
        ROOT_TEST (test_no_delete_cache), ROOT_TEST (test_delete_theirs),
        ROOT_TEST (test_not_owner), ROOT_TEST (test_probe),
        ROOT_TEST (test_changed), ROOT_TEST (test_refused),
        ROOT_TEST (test_due),
        ROOT_TEST (test_sealed), ROOT_TEST (test_age),
    };

    return object_store_is_built ()
               ? cmocka_run_group_tests (tests, NULL, NULL) : 77;
}
