/* tests/unit/aggregator/store/test_object_owner.c - whose the objects of a root
 * are
 */
#include "aggregator/store/root_check.h"
#include "common/object_store/http_script.h"
#include "store/object_mark.h"
#include "store/object_owner.h"
#include "store/root.h"

#define ID "0123456789abcdef0123456789abcdef"
#define NO_KEY "HTTP/1.1 404 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>NoSuchKey</Code></Error>"
#define NO_BUCKET "HTTP/1.1 404 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>NoSuchBucket</Code></Error>"
#define DENIED "HTTP/1.1 403 x\r\nConnection: close\r\n\r\n" \
    "<Error><Code>AccessDenied</Code></Error>"
#define FINE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define LIST "HTTP/1.1 200 OK\r\nContent-Length: 39\r\n\r\n" \
    "<R><IsTruncated>false</IsTruncated></R>"

struct fixture {
    struct http_script *script;
    struct object_options opt;
    struct object_store *store;
    char owner[2 * OWNER_BYTES];
};

static void begin (struct fixture *f, const char *const *answers, size_t n)
{
    f->opt = (struct object_options){ .url = "s3://bucket/pre", .tries = 1,
                                      .proxy = "" };
    http_script_credentials ();
    f->script = http_script_start (answers, n);
    f->opt.endpoint = http_script_endpoint (f->script);
    assert_int_equal (object_store_open (&f->opt, &f->store, NULL), 0);
}

static void end (struct fixture *f)
{
    object_store_close (f->store);
    http_script_end (f->script);
}

/* The first one that asks is it; its token is in the root. */
static void test_first (void **state)
{
    static const char *const answers[] = { NO_KEY, FINE };
    const struct root *r = *state;
    char token[ROOT_ID_SIZE];
    struct fixture f;

    begin (&f, answers, 2);
    assert_int_equal (object_owner_check (f.store, r->dir, ID, NULL), 0);
    assert_int_equal (root_make_token (r->dir, token, NULL), 0);
    assert_non_null (strstr (http_script_request (f.script, 1),
                             "PUT /bucket/pre/" ID "/owner HTTP"));
    assert_non_null (strstr (http_script_request (f.script, 1), token));
    assert_non_null (strstr (http_script_request (f.script, 1), r->dir));
    end (&f);
}

/* Another one is named; to become the owner asks for nothing. */
static void test_other (void **state)
{
    struct fixture f;
    const char *answers[] = { f.owner, FINE };
    const struct root *r = *state;
    struct err err = { "" };

    http_script_padded (f.owner, sizeof (f.owner), "{\"owner\":\"x\",\"host\":"
                        "\"there\",\"root\":\"/r\",\"since\":\"then\"}",
                        OWNER_BYTES);
    begin (&f, answers, 2);
    assert_int_equal (object_owner_check (f.store, r->dir, ID, &err),
                      -ENOTUNIQ);
    assert_non_null (strstr (err.text, "there:/r since then"));
    assert_int_equal (object_owner_become (f.store, r->dir, ID, NULL), 0);
    assert_non_null (strstr (http_script_request (f.script, 1), "PUT "));
    end (&f);
}

/* An object that names nobody is an error, not a place to write. */
static void test_odd (void **state)
{
    struct fixture f;
    const char *answers[] = { f.owner };
    const struct root *r = *state;

    http_script_padded (f.owner, sizeof (f.owner), "", OWNER_BYTES);
    begin (&f, answers, 1);
    assert_int_equal (object_owner_check (f.store, r->dir, ID, NULL), -EBADMSG);
    end (&f);
}

/* What a service needs: without the right to delete it starts, and says so. */
static void test_probe (void **state)
{
    static const char *const answers[] = { NO_KEY, FINE, FINE, LIST, DENIED,
                                           NO_KEY, DENIED };
    const struct root *r = *state;
    struct err why = { "" }, err = { "" };
    struct fixture f;

    begin (&f, answers, 7);
    assert_int_equal (object_owner_probe (f.store, r->dir, ID, &why, &err), 0);
    assert_non_null (strstr (why.text, "cannot delete"));
    assert_non_null (strstr (http_script_request (f.script, 2),
                             "PUT /bucket/pre/" ID "/probe HTTP"));
    assert_non_null (strstr (http_script_request (f.script, 4),
                             "DELETE /bucket/pre/" ID "/probe HTTP"));
    why.text[0] = '\0';
    assert_int_equal (object_owner_probe (f.store, r->dir, ID, &why, &err),
                      -EACCES);
    assert_non_null (strstr (err.text, "cannot write"));
    end (&f);
}

/* A store that this root has not worked with has to be right; later, and if it is
 * away, a service starts in any case.
 */
static void test_start (void **state)
{
    static const char *const answers[] = { NO_BUCKET, NO_BUCKET, NULL };
    const struct root *r = *state;
    struct err why = { "" }, err = { "" };
    struct fixture f;

    assert_int_equal (root_make_id (r->dir, NULL), 0);
    begin (&f, answers, 3);
    assert_int_equal (object_owner_probe_first (r->dir, &f.opt, &why, &err),
                      -ENXIO);
    assert_non_null (strstr (err.text, "there is no bucket"));
    assert_string_equal (why.text, "");
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_place_write (r->dir, &f.opt, f.store, NULL), 0);
    assert_int_equal (object_owner_probe_first (r->dir, &f.opt, &why, &err), 0);
    assert_non_null (strstr (why.text, "there is no bucket"));
    f.opt.url = "s3://new/pre";
    assert_int_equal (object_owner_probe_first (r->dir, &f.opt, &why, &err), 0);
    assert_non_null (strstr (why.text, "s3://new/pre"));
    end (&f);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_first), ROOT_TEST (test_other), ROOT_TEST (test_odd),
        ROOT_TEST (test_probe), ROOT_TEST (test_start),
    };

    return object_store_is_built ()
               ? cmocka_run_group_tests (tests, NULL, NULL) : 77;
}
