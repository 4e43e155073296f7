/* tests/unit/aggregator/fsck/test_check_objects.c - objects whose etags are other
 * ones than when they were compared
 */
#include "aggregator/ledger/ledger_check.h"
#include "base/digest.h"
#include "common/object_store/http_script.h"
#include "fsck/check_objects.h"
#include "store/object_mark.h"
#include "store/root.h"
#include "store/store_private.h"

#include <fcntl.h>

#define BYTES 40000             // of a content
#define NO_UPLOADS "HTTP/1.1 200 x\r\nConnection: close\r\n\r\n" \
    "<R><IsTruncated>false</IsTruncated></R>"

struct fixture {
    struct root *r;
    struct http_script *script;
    struct object_mark m;
    char path[PATH_MAX];        // of segment 1
    char list[512], head[256], other[BYTES + 4096];
    char said[2048];
    struct check_objects_report found;
};

static void say (void *arg, const char *sentence)
{
    struct fixture *f = arg;

    PRINT (f->said, "%s", sentence);
}

/* Segment 1 is sealed, has two chunks, and is marked with the etag "e"; the store has
 * an object of its size, with this etag, and other bytes.
 */
static void begin (struct fixture *f, struct root *r, const char *etag)
{
    char text[BYTES + 1], id[ROOT_ID_SIZE];

    *f = (struct fixture){ .r = r, .m = { .state = OBJECT_WHOLE, .etag = "e",
                                          .url = "s3://bucket/pre" } };
    memset (text, 'x', BYTES);
    text[BYTES] = '\0';
    (void)enter (r, true_item ("a", text), text);
    f->m.size = r->s->committed;
    assert_int_equal (store_open_next (r->s, NULL), 0);
    store_segment_path (r->dir, 1, f->path);
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 1, &f->m, NULL), 0);
    assert_int_equal (root_read_id (r->dir, id, NULL), 0);
    PRINT (f->list, "HTTP/1.1 200 x\r\nConnection: close\r\n\r\n<R><IsTruncated>"
           "false</IsTruncated><Contents><Key>pre/%s/segments/00000001</Key>"
           "<Size>%llu</Size><ETag>%s</ETag></Contents></R>", id,
           (unsigned long long)f->m.size, etag);
    PRINT (f->head, "HTTP/1.1 200 x\r\nContent-Length: %llu\r\nETag: \"%s\"\r\n"
           "Connection: close\r\n\r\n", (unsigned long long)f->m.size, etag);
    http_script_padded (f->other, sizeof (f->other), "other", (int)f->m.size);
}

static void check (struct fixture *f, const char *const *answers, size_t n)
{
    struct check_report report = { .say = say, .arg = f };
    struct check_objects_options opt = {
        .store = { .url = "s3://bucket/pre", .tries = 1, .proxy = "" },
    };
    struct err err = { "" };

    http_script_credentials ();
    f->script = http_script_start (answers, n);
    opt.store.endpoint = http_script_endpoint (f->script);
    if (check_objects (f->r->dir, &opt, &report, &f->found, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (http_script_count (f->script), n);
    http_script_end (f->script);
}

/* That of the bytes, as the store makes it now. */
static void etag_of (struct fixture *f, char out[MD5_HEX_SIZE])
{
    char *bytes = malloc (f->m.size);
    FILE *file = fopen (f->path, "r");
    struct md5 md5;

    assert_int_equal (fread (bytes, 1, f->m.size, file), f->m.size);
    (void)fclose (file);
    assert_int_equal (digest_md5 (bytes, f->m.size, &md5), 0);
    md5_hex (&md5, out);
    free (bytes);
}

static void test_same (void **state)
{
    struct fixture f;
    const char *answers[] = { f.list, f.head, f.head, NO_UPLOADS };
    char etag[MD5_HEX_SIZE];

    begin (&f, *state, "e");
    check (&f, (const char *[]){ f.list, NO_UPLOADS }, 2);
    assert_int_equal (f.found.objects, 1);
    assert_int_equal (f.found.others, 0);
    etag_of (&f, etag);
    PRINT (f.list, "%s", NO_UPLOADS);   // an older list
    PRINT (f.head, "HTTP/1.1 200 x\r\nContent-Length: %llu\r\nETag: \"%s\"\r\n"
           "Connection: close\r\n\r\n", (unsigned long long)f.m.size, etag);
    check (&f, answers, 4);
    assert_int_equal (f.found.objects, 1);
    assert_int_equal (f.found.bytes, f.m.size);
    assert_int_equal (f.found.others, 1);
    assert_int_equal (f.found.holes, 0);
    assert_string_equal (f.said, "");
}

/* Of the same size. */
static void test_other (void **state)
{
    struct fixture f;
    const char *answers[] = { f.list, f.head, f.head, f.other, NO_UPLOADS };

    begin (&f, *state, "other");
    check (&f, answers, 5);
    assert_int_equal (f.found.objects, 0);
    assert_int_equal (f.found.holes, 1);
    assert_string_equal (f.said, "segment 1 counts as stored in s3://bucket/pre, "
                         "and has other bytes there");
}

/* Only its hash says what the object has to have; what came wrong is asked for
 * again.
 */
static void test_let_go (void **state)
{
    struct fixture f;
    const char *answers[] = { f.list, f.head, f.other, f.other, NO_UPLOADS };
    int fd;

    begin (&f, *state, "other");
    fd = open (f.path, O_RDWR);
    if (fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 8192) < 0)
        skip ();
    (void)close (fd);
    f.m.evicted = true;
    assert_int_equal (object_mark_set (f.r->dir, 1, &f.m, NULL), 0);
    http_script_padded (f.other, sizeof (f.other), "other",
                        BYTES + RECORD_CONTENT_SIZE);
    check (&f, answers, 5);
    assert_int_equal (f.found.holes, 1);
    assert_string_equal (f.said, "segment 1 counts as stored in s3://bucket/pre, "
                         "and has other bytes there: its contents are lost; "
                         "--repair names them");
}

/* It was cut, whether it was let go or not: that does not end the check. */
static void test_cut (void **state)
{
    const char want[] = "segment 1 is damaged here: whether its object in "
        "s3://bucket/pre is right is not known";
    struct fixture f;
    const char *answers[] = { f.list, f.head, NO_UPLOADS };

    begin (&f, *state, "other");
    assert_int_equal (truncate (f.path, (off_t)f.m.size - 1), 0);
    for (int evicted = 0; evicted < 2; evicted++) {
        f.m.evicted = evicted;
        assert_int_equal (object_mark_set (f.r->dir, 1, &f.m, NULL), 0);
        f.said[0] = '\0';
        check (&f, answers, 3);
        assert_int_equal (f.found.holes, 0);
        assert_string_equal (f.said, want);
    }
}

/* Its file is not there: a check of the root says so. */
static void test_removed (void **state)
{
    struct fixture f;
    const char *answers[] = { f.list, f.head, NO_UPLOADS };

    begin (&f, *state, "other");
    assert_int_equal (unlink (f.path), 0);
    check (&f, answers, 3);
    assert_int_equal (f.found.holes, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_same), ROOT_TEST (test_other), ROOT_TEST (test_let_go),
        ROOT_TEST (test_cut), ROOT_TEST (test_removed),
    };

    return object_store_is_built ()
               ? cmocka_run_group_tests (tests, NULL, NULL) : 77;
}
