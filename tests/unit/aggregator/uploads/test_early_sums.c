/* tests/unit/aggregator/uploads/test_early_sums.c - hashes that are made while a
 * segment fills
 */
#include "base/digest.h"
#include "object_store/part_sums.h"
#include "uploads/early_sums.h"
#include "uploads_check.h"

#include <fcntl.h>
#include <unistd.h>

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

    fixture_begin (f, r, answers, n);
    fill (r, 60);
    assert_int_equal (uploads_offer (f->u, r->s), 0);
    fill (r, 6);
    uploads_state (f->u, &f->now);
    assert_int_equal (f->now.summed, 0);
    assert_int_equal (uploads_offer (f->u, r->s), 0);
    fixture_until (f, is_summed);
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
    fixture_until (&f, is_conflict);
    assert_non_null (strstr (http_script_request (f.script, 4),
                             "?partNumber=1&uploadId=u HTTP"));
    assert_non_null (strstr (http_script_request (f.script, 4), sha256));
    assert_string_equal (f.now.conflict, "segment 1 is damaged, and is not "
                         "uploaded: see rollcall fsck");
    assert_int_equal (f.now.waiting, 0);
    assert_int_equal (f.now.error, 0);
    assert_int_equal (http_script_count (f.script), 5);
    fixture_end (&f);
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
    fixture_until (&f, has_failed);
    assert_int_equal (f.now.error, EBADMSG);
    assert_non_null (strstr (f.now.why, "BadDigest"));
    assert_int_equal (f.now.conflicts, 0);
    assert_int_equal (f.now.waiting, 1);
    fixture_end (&f);
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

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_changed),
        ROOT_TEST (test_refused),
        ROOT_TEST (test_due),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
