/* tests/unit/common/object_store/test_object_store.c - what is asked, and asked
 * again, of a server that says what it is told
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object_store/ask.h"
#include "object_store/md5_lanes.h"

#include "base/clock.h"
#include "common/object_store/http_script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FINE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define ERROR(status, code) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" \
    "<Error><Code>" code "</Code></Error>"
#define BODY(text) "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" text

struct fixture {
    struct http_script *script;
    struct object_store *store;
    int64_t pauses[8];
    size_t npauses;
    struct err err;
};

static void pause_never (void *arg, int64_t ns)
{
    struct fixture *f = arg;

    f->pauses[f->npauses++ % 8] = ns;
}

static double no_jitter (void *arg)
{
    (void)arg;
    return 0;
}

static void begin (struct fixture *f, const char *const *answers, size_t n)
{
    struct object_options opt = {
        .url = "s3://bucket/pre", .tries = 4, .silence_s = 20, .proxy = "",
        .pauses = { pause_never, no_jitter, f },
    };

    *f = (struct fixture){ .script = http_script_start (answers, n) };
    http_script_credentials ();
    opt.endpoint = http_script_endpoint (f->script);
    assert_int_equal (object_store_open (&opt, &f->store, &f->err), 0);
}

static void end (struct fixture *f)
{
    object_store_close (f->store);
    http_script_end (f->script);
}

static void asked (const struct fixture *f, size_t i, const char *text)
{
    const char *request = http_script_request (f->script, i);

    assert_non_null (request);
    if (!strstr (request, text))
        fail_msg ("request %zu has no \"%s\": %s", i, text, request);
}

/* Each has both hashes, and they are signed. */
static void test_headers (void **state)
{
    static const char *const answers[] = { FINE, FINE };
    struct fixture f;

    (void)state;
    begin (&f, answers, 2);
    assert_int_equal (object_put (f.store, "a b", "hello\n", 6, &f.err), 0);
    asked (&f, 0, "PUT /bucket/pre/a%20b HTTP/1.1\r\n");
    asked (&f, 0, "x-amz-content-sha256: 5891b5b522d5df086d0ff0b110fbd9d21bb4fc"
           "7163af34d08286a2e846f6be03\r\n");
    asked (&f, 0, "Content-MD5: sZRqySSS0jR8YjW00mERhA==\r\n");
    asked (&f, 0, "Credential=ID/");
    asked (&f, 0, "/us-east-1/s3/aws4_request");
    asked (&f, 0, "SignedHeaders=content-md5;content-type;host;"
           "x-amz-content-sha256;x-amz-date, ");
    asked (&f, 0, "\r\n\r\nhello\n");
    (void)setenv ("AWS_SESSION_TOKEN", "session", 1);
    f.store->has_credentials = false;
    assert_int_equal (object_delete (f.store, "k", &f.err), 0);
    asked (&f, 1, "x-amz-security-token: session\r\n");
    asked (&f, 1, "host;x-amz-content-sha256;x-amz-date;x-amz-security-token");
    asked (&f, 1, "Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg==\r\n");
    assert_null (strstr (http_script_request (f.script, 0), "hidden"));
    end (&f);
}

static void test_again (void **state)
{
    static const char *const answers[] = {
        ERROR ("500 Oops", "InternalError"), NULL,
        "HTTP/1.1 503 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", FINE,
    };
    struct fixture f;

    (void)state;
    begin (&f, answers, 4);
    assert_int_equal (object_put (f.store, "k", "x", 1, &f.err), 0);
    assert_int_equal (f.npauses, 3);
    assert_int_equal (f.pauses[0], 100 * NS_PER_MS);
    assert_int_equal (f.pauses[1], 200 * NS_PER_MS);
    assert_int_equal (f.pauses[2], 7 * NS_PER_S);
    assert_int_equal (object_store_counts (f.store).requests, 4);
    assert_int_equal (object_store_counts (f.store).again, 3);
    end (&f);
}

static void test_pauses (void **state)
{
    (void)state;
    assert_int_equal (object_pause_ns (1, 0), 100 * NS_PER_MS);
    assert_int_equal (object_pause_ns (1, 0.5), 150 * NS_PER_MS);
    assert_int_equal (object_pause_ns (4, 0), 800 * NS_PER_MS);
    assert_int_equal (object_pause_ns (30, 0), 10 * NS_PER_S);
    assert_true (object_pause_ns (30, 0.999) <= 20 * NS_PER_S);
}

static void test_not_for_ever (void **state)
{
    static const char *const answers[] = {
        ERROR ("503 x", "SlowDown"), ERROR ("503 x", "SlowDown"),
        ERROR ("503 x", "SlowDown"), ERROR ("503 x", "SlowDown"),
        ERROR ("403 x", "AccessDenied"),
    };
    struct fixture f;

    (void)state;
    begin (&f, answers, 5);
    assert_int_equal (object_put (f.store, "k", "x", 1, &f.err), -EAGAIN);
    assert_string_equal (f.err.text, "cannot write s3://bucket/pre/k: asked 4 "
                         "times: SlowDown");
    assert_int_equal (object_put (f.store, "k", "x", 1, &f.err), -EACCES);
    assert_int_equal (f.npauses, 3);
    end (&f);
}

/* They are read again, and only if they are others the store is asked again. */
static void test_expired (void **state)
{
    static const char *const answers[] = {
        ERROR ("400 x", "ExpiredToken"), FINE, ERROR ("400 x", "ExpiredToken"),
    };
    struct fixture f;

    (void)state;
    begin (&f, answers, 3);
    (void)setenv ("AWS_SESSION_TOKEN", "old", 1);
    f.store->has_credentials = true;
    PRINT (f.store->credentials.key_id, "ID");
    PRINT (f.store->credentials.secret, "older");
    PRINT (f.store->credentials.token, "older");
    f.store->credentials.until_ns = INT64_MAX;
    assert_int_equal (object_put (f.store, "k", "x", 1, &f.err), 0);
    asked (&f, 0, "x-amz-security-token: older\r\n");
    asked (&f, 1, "x-amz-security-token: old\r\n");
    assert_int_equal (object_put (f.store, "k", "x", 1, &f.err), -EKEYEXPIRED);
    assert_non_null (strstr (f.err.text, "come from the environment"));
    assert_null (strstr (f.err.text, "hidden"));
    assert_int_equal (f.npauses, 0);
    end (&f);
}

static void test_skew (void **state)
{
    char answer[256];
    const char *const answers[] = { answer };
    struct fixture f;

    (void)state;
    http_script_refused (answer, "RequestTimeTooSkewed", -3600);
    begin (&f, answers, 1);
    assert_int_equal (object_delete (f.store, "k", &f.err), -ETIME);
    assert_non_null (strstr (f.err.text, "the clock of this machine is 36"));
    assert_non_null (strstr (f.err.text, " s ahead of that of the store"));
    end (&f);
}

static void test_get (void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 206 x\r\nContent-Length: 4\r\n\r\nabcd",
        "HTTP/1.1 206 x\r\nContent-Length: 2\r\n\r\nab",
        ("HTTP/1.1 200 x\r\nContent-Length: 9\r\nConnection: close\r\n\r\n"
         "123456789"),
        "HTTP/1.1 206 x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nab",
        "HTTP/1.1 206 x\r\nContent-Length: 4\r\n\r\nwxyz",
    };
    struct fixture f;
    char out[4];

    (void)state;
    begin (&f, answers, 5);
    assert_int_equal (object_get (f.store, "k", 10, out, 4, &f.err), 0);
    assert_memory_equal (out, "abcd", 4);
    asked (&f, 0, "Range: bytes=10-13\r\n");
    assert_int_equal (object_get (f.store, "k", 0, out, 4, &f.err), -EBADMSG);
    // more than was asked for never goes beyond the room
    assert_int_equal (object_get (f.store, "k", 0, out, 4, &f.err), -EPROTO);
    // cut in the middle, then whole
    assert_int_equal (object_get (f.store, "k", 0, out, 4, &f.err), 0);
    assert_memory_equal (out, "wxyz", 4);
    end (&f);
}

static int add_key (void *arg, const struct object_facts *o)
{
    struct buf *all = arg;

    buf_printf (all, "%s %llu %s;", o->key, (unsigned long long)o->size,
                o->etag);
    return 0;
}

static void test_list (void **state)
{
    static const char *const answers[] = {
        BODY ("<R><IsTruncated>true</IsTruncated><NextContinuationToken>a/b=&amp;"
              "</NextContinuationToken><Contents><Key>pre/x/1</Key><Size>5</Size>"
              "<ETag>&quot;e1&quot;</ETag></Contents></R>"),
        BODY ("<R><IsTruncated>false</IsTruncated><Contents><Key>pre/x/2</Key>"
              "<Size>6</Size></Contents></R>"),
        BODY ("<html>"),
        BODY ("<R><IsTruncated>false</IsTruncated><Contents><Key>else/2</Key>"
              "<Size>6</Size></Contents></R>"),
        // the same page for ever
        BODY ("<R><IsTruncated>true</IsTruncated><NextContinuationToken>t"
              "</NextContinuationToken></R>"),
        BODY ("<R><IsTruncated>true</IsTruncated><NextContinuationToken>t"
              "</NextContinuationToken></R>"),
    };
    struct fixture f;
    struct buf all;

    (void)state;
    buf_init (&all, 4096);
    begin (&f, answers, 6);
    assert_int_equal (object_list (f.store, "x/", add_key, &all, &f.err), 0);
    assert_string_equal (buf_text (&all), "x/1 5 e1;x/2 6 ;");
    asked (&f, 0, "GET /bucket?list-type=2&prefix=pre%2Fx%2F HTTP");
    asked (&f, 1, "GET /bucket?continuation-token=a%2Fb%3D%26&list-type=2&"
           "prefix=pre%2Fx%2F HTTP");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal (object_list (f.store, "", add_key, &all, &f.err),
                          -EPROTO);
    buf_fini (&all);
    end (&f);
}

static int note_upload (void *arg, const char *upload, struct err *err)
{
    char *all = arg;

    (void)err;
    strcat (all, upload);
    strcat (all, ";");
    return 0;
}

static void test_lanes (void **state)
{
    static const size_t sizes[] = { 0, 64, 4096 };
    struct md5 together[MD5_LANES], alone;
    uint8_t bytes[4096 * MD5_LANES];
    const uint8_t *at[MD5_LANES];
    struct md5_lanes m;

    (void)state;
    for (size_t i = 0; i < sizeof (bytes); i++)
        bytes[i] = (uint8_t)(i * i >> 7);
    for (size_t s = 0; s < sizeof (sizes) / sizeof (*sizes); s++) {
        md5_lanes_init (&m);
        for (size_t done = 0; done < sizes[s]; done += 64) {
            for (size_t l = 0; l < MD5_LANES; l++)
                at[l] = bytes + l * sizes[s] + done;
            md5_lanes_add (&m, at, 64);
        }
        md5_lanes_end (&m, together);
        for (size_t l = 0; l < MD5_LANES; l++) {
            assert_int_equal (digest_md5 (bytes + l * sizes[s], sizes[s],
                                          &alone), 0);
            assert_memory_equal (&together[l], &alone, sizeof (alone));
        }
    }
}

/* A file of two parts; the first upload is forgotten, the second one has the
 * first part already.
 */
static void test_upload (void **state)
{
    static const char *const answers[] = {
        ERROR ("404 x", "NoSuchUpload"),
        BODY ("<R><UploadId>new</UploadId></R>"),
        "HTTP/1.1 200 x\r\nETag: \"1\"\r\nConnection: close\r\n"
        "Content-Length: 0\r\n\r\n",
        ERROR ("403 x", "AccessDenied"),
        // resumed: what it says of the first part is its MD5
        BODY ("<R><IsTruncated>false</IsTruncated><Part><PartNumber>1"
              "</PartNumber><ETag>96995b58d4cbf6aaa9041b4f00c7f6ae</ETag></Part>"
              "</R>"),
        "HTTP/1.1 200 x\r\nETag: \"second\"\r\nConnection: close\r\n"
        "Content-Length: 0\r\n\r\n",
        BODY ("<R/>"),
        "HTTP/1.1 200 x\r\nContent-Length: 8388609\r\nETag: \"a5eb57d36bf73a68"
        "3183c5a0fb4a37ab-2\"\r\nConnection: close\r\n\r\n",
    };
    struct object_file file = { .key = "k", .size = OBJECT_PART_BYTES + 1,
                                .begun = note_upload };
    FILE *t = tmpfile ();
    char ids[64] = "";
    struct fixture f;

    (void)state;
    begin (&f, answers, 8);
    file.fd = fileno (t);
    file.arg = ids;
    PRINT (file.upload, "old");
    assert_int_equal (ftruncate (file.fd, (off_t)file.size), 0);
    assert_int_equal (object_put_file (f.store, &file, &f.err), -EACCES);
    assert_string_equal (ids, "new;");
    assert_string_equal (file.upload, "new");
    asked (&f, 0, "GET /bucket/pre/k?uploadId=old HTTP");
    asked (&f, 1, "POST /bucket/pre/k?uploads= HTTP");
    asked (&f, 3, "PUT /bucket/pre/k?partNumber=2&uploadId=new HTTP");
    assert_int_equal (object_put_file (f.store, &file, &f.err), 0);
    assert_string_equal (file.upload, "");
    asked (&f, 5, "PUT /bucket/pre/k?partNumber=2&uploadId=new HTTP");
    asked (&f, 6, "<PartNumber>1</PartNumber><ETag>&quot;96995b58d4cbf6aaa9041b"
           "4f00c7f6ae&quot;</ETag>");
    asked (&f, 6, "<PartNumber>2</PartNumber><ETag>&quot;second&quot;</ETag>");
    end (&f);
    (void)fclose (t);
}

#define CLOSED "HTTP/1.1 200 x\r\nETag: \"e\"\r\nConnection: close\r\n" \
    "Content-Length: 0\r\n\r\n"
#define BEGUN(id) BODY ("<R><UploadId>" id "</UploadId></R>")

static FILE *begin_zeros (struct fixture *f, struct object_file *file,
                          uint64_t size, const char *const *answers, size_t n)
{
    FILE *t = tmpfile ();

    begin (f, answers, n);
    *file = (struct object_file){ .key = "k", .size = size, .fd = fileno (t) };
    assert_int_equal (ftruncate (file->fd, (off_t)size), 0);
    return t;
}

/* Two connections send: each part goes once, whichever does it. */
static void test_two_lanes (void **state)
{
    static const char *const answers[] = {
        BEGUN ("u"), CLOSED, CLOSED, CLOSED, CLOSED, CLOSED, CLOSED, CLOSED,
        CLOSED, CLOSED, BODY ("<R/>"),
        ("HTTP/1.1 200 x\r\nContent-Length: 67108865\r\n"
         "ETag: \"2502284c8650f62cbf69b9d51e51891e-9\"\r\nConnection: close\r\n\r\n"),
    };
    struct object_file file;
    struct fixture f;
    FILE *t = begin_zeros (&f, &file, 8 * OBJECT_PART_BYTES + 1, answers, 12);
    char part[64];

    (void)state;
    assert_int_equal (object_put_file (f.store, &file, &f.err), 0);
    for (size_t n = 1; n < 10; n++) {
        size_t sent = 0;

        PRINT (part, "partNumber=%zu&uploadId=u HTTP", n);
        for (size_t i = 1; i < 10; i++)
            sent += strstr (http_script_request (f.script, i), part) != NULL;
        assert_int_equal (sent, 1);
    }
    assert_int_equal (object_store_counts (f.store).requests, 12);
    end (&f);
    (void)fclose (t);
}

/* A failure of one of them is that of all, and nothing is ended. */
static void test_lane_fails (void **state)
{
    static const char *const answers[] = {
        BEGUN ("u"), ERROR ("403 x", "AccessDenied"), CLOSED, CLOSED, CLOSED,
        CLOSED, CLOSED, CLOSED, CLOSED, CLOSED,
    };
    struct object_file file;
    struct fixture f;
    FILE *t = begin_zeros (&f, &file, 8 * OBJECT_PART_BYTES + 1, answers, 10);

    (void)state;
    assert_int_equal (object_put_file (f.store, &file, &f.err), -EACCES);
    assert_string_equal (file.upload, "u");
    for (size_t i = 1; http_script_request (f.script, i); i++)
        asked (&f, i, "PUT ");
    end (&f);
    (void)fclose (t);
}

/* With a limit of bytes/s there is one. */
static void test_one_lane (void **state)
{
    struct object_options opt = { .url = "s3://bucket", .endpoint = "http://h",
                                  .max_rate = 1 };
    struct object_store *s = NULL;

    (void)state;
    assert_int_equal (object_store_open (&opt, &s, NULL), 0);
    assert_null (object_twin (s));
    object_store_close (s);
}

/* An upload whose id nobody notes is given up, and so is one that cannot be ended:
 * the store would keep its parts.
 */
static int refuse (void *arg, const char *upload, struct err *err)
{
    (void)arg;
    (void)upload;
    return err_set (err, ENOSPC, "there is no room");
}

static void test_give_up (void **state)
{
    static const char *const answers[] = {
        BEGUN ("u"), FINE, BEGUN ("v"), CLOSED, CLOSED,
        ERROR ("400 x", "InvalidPart"), ERROR ("404 x", "NoSuchKey"),
        ERROR ("404 x", "NoSuchKey"), FINE, ERROR ("403 x", "AccessDenied"),
    };
    struct object_file file;
    struct fixture f;
    FILE *t = begin_zeros (&f, &file, OBJECT_PART_BYTES + 1, answers, 10);

    (void)state;
    file.begun = refuse;
    assert_int_equal (object_put_file (f.store, &file, &f.err), -ENOSPC);
    assert_string_equal (f.err.text, "there is no room");
    asked (&f, 1, "DELETE /bucket/pre/k?uploadId=u HTTP");
    assert_string_equal (file.upload, "");
    file.begun = NULL;
    assert_int_equal (object_put_file (f.store, &file, &f.err), -EACCES);
    asked (&f, 8, "DELETE /bucket/pre/k?uploadId=v HTTP");
    asked (&f, 9, "POST /bucket/pre/k?uploads= HTTP");
    assert_string_equal (file.upload, "");
    end (&f);
    (void)fclose (t);
}

/* Sums of parts that were made before are sent as they were: bytes that changed
 * since are refused, and not sent with a hash of what they became.
 */
#define SUMS_OF_ZEROS "x-amz-content-sha256: 2daeb1f36095b44b318410b3f4e8b5d989dc" \
    "c7bb023d1426c492dab0a3053e74\r\nContent-MD5: lplbWNTL9qqpBBtPAMf2rg==\r\n"
#define SUM_OF_ONE "x-amz-content-sha256: 6e340b9cffb37a989ca544e6bb780a2c78901d3f" \
    "b33738768511a30617afa01d\r\n"

static void test_sums (void **state)
{
    static const char *const answers[] = {
        BODY ("<R><UploadId>u</UploadId></R>"), FINE, FINE, FINE, FINE,
        BODY ("<R/>"),
        "HTTP/1.1 200 x\r\nContent-Length: 25165825\r\nETag: \"72899103df6285f4a65305011c19304b-4"
        "\"\r\nConnection: close\r\n\r\n",
        BODY ("<R><UploadId>v</UploadId></R>"), ERROR ("400 x", "BadDigest"),
        ERROR ("400 x", "BadDigest"), ERROR ("400 x", "BadDigest"),
        ERROR ("400 x", "BadDigest"),
    };
    struct object_file file = { .key = "k", .size = 3 * OBJECT_PART_BYTES + 1 };
    FILE *t = tmpfile ();
    struct fixture f;
    struct object_sums *sums = object_sums_create ();

    (void)state;
    begin (&f, answers, 12);
    file.fd = fileno (t);
    file.sums = sums;
    assert_int_equal (ftruncate (file.fd, (off_t)file.size), 0);
    assert_int_equal (object_sums_parts (NULL), 0);
    assert_int_equal (object_sums_add (sums, file.fd, 1, &f.err), 0);
    assert_int_equal (object_sums_add (sums, file.fd, 1, &f.err), 0);
    assert_int_equal (object_sums_parts (sums), 2);
    assert_int_equal (object_sums_add (sums, file.fd, 2, &f.err), -EBADMSG);
    assert_int_equal (object_sums_parts (sums), 2);
    assert_int_equal (object_put_file (f.store, &file, &f.err), 0);
    for (size_t i = 1; i < 4; i++)
        asked (&f, i, SUMS_OF_ZEROS);
    assert_int_equal (pwrite (file.fd, "x", 1, 0), 1);
    assert_int_equal (object_put_file (f.store, &file, &f.err), -EBADMSG);
    for (size_t i = 8; i < 12; i++)
        asked (&f, i, SUMS_OF_ZEROS);
    end (&f);
    object_sums_destroy (sums);
    (void)fclose (t);
}

/* A file that was cut meanwhile: what is less than a part is hashed. */
static void test_sums_cut (void **state)
{
    static const char *const answers[] = {
        BODY ("<R><UploadId>u</UploadId></R>"), FINE,
        ERROR ("403 x", "AccessDenied"), ERROR ("403 x", "AccessDenied"),
    };
    struct object_sums *sums = object_sums_create ();
    struct object_file file = { .key = "k", .sums = sums };
    FILE *t = tmpfile ();
    struct fixture f;

    (void)state;
    begin (&f, answers, 4);
    file.fd = fileno (t);
    assert_int_equal (ftruncate (file.fd, 2 * OBJECT_PART_BYTES), 0);
    assert_int_equal (object_sums_add (sums, file.fd, 2, &f.err), 0);
    file.size = OBJECT_PART_BYTES + 1;
    assert_int_equal (object_put_file (f.store, &file, &f.err), -EACCES);
    asked (&f, 1, SUMS_OF_ZEROS);
    asked (&f, 2, SUM_OF_ONE);
    file.size = 1;
    assert_int_equal (object_put_file (f.store, &file, &f.err), -EACCES);
    asked (&f, 3, SUM_OF_ONE);
    end (&f);
    object_sums_destroy (sums);
    (void)fclose (t);
}

/* What is there is looked at: another size is never taken for the file. */
static void test_verify (void **state)
{
    static const char *const answers[] = {
        FINE, "HTTP/1.1 200 x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n",
        FINE,
        ("HTTP/1.1 200 x\r\nContent-Length: 1\r\nETag: odd\r\n"
         "Connection: close\r\n\r\n"),
        "HTTP/1.1 206 x\r\nContent-Length: 1\r\nConnection: close\r\n\r\ny",
    };
    struct object_file file = { .key = "k", .size = 1 };
    FILE *t = tmpfile ();
    struct fixture f;

    (void)state;
    begin (&f, answers, 5);
    file.fd = fileno (t);
    assert_int_equal (write (file.fd, "x", 1), 1);
    assert_int_equal (object_put_file (f.store, &file, &f.err), -EBADMSG);
    assert_int_equal (object_put_file (f.store, &file, &f.err), -EBADMSG);
    assert_non_null (strstr (f.err.text, "differs from the file"));
    end (&f);
    (void)fclose (t);
}

static void test_open (void **state)
{
    struct object_options opt = { .url = "s3://bucket" };
    struct object_store *s = NULL;
    struct err err;

    (void)state;
    (void)unsetenv ("AWS_ENDPOINT_URL");
    opt.region = "eu-north-1";
    assert_int_equal (object_store_open (&opt, &s, &err), 0);
    assert_string_equal (s->endpoint, "https://s3.eu-north-1.amazonaws.com");
    assert_string_equal (object_store_url (s), "s3://bucket");
    object_store_close (s);
    (void)setenv ("AWS_ENDPOINT_URL", "http://127.0.0.1:9/", 1);
    opt.url = "s3://bucket/a/";
    assert_int_equal (object_store_open (&opt, &s, &err), 0);
    assert_string_equal (s->endpoint, "http://127.0.0.1:9");
    assert_string_equal (object_store_url (s), "s3://bucket/a");
    object_store_close (s);
    opt.url = "/var/lib";
    assert_int_equal (object_store_open (&opt, &s, &err), -EINVAL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_headers), cmocka_unit_test (test_again),
        cmocka_unit_test (test_pauses), cmocka_unit_test (test_not_for_ever),
        cmocka_unit_test (test_expired), cmocka_unit_test (test_skew),
        cmocka_unit_test (test_get), cmocka_unit_test (test_list),
        cmocka_unit_test (test_lanes), cmocka_unit_test (test_upload),
        cmocka_unit_test (test_two_lanes), cmocka_unit_test (test_lane_fails),
        cmocka_unit_test (test_one_lane), cmocka_unit_test (test_give_up),
        cmocka_unit_test (test_sums), cmocka_unit_test (test_sums_cut),
        cmocka_unit_test (test_verify),
        cmocka_unit_test (test_open),
    };

    // a build without libcurl says so, and has nothing else to test
    return object_store_is_built ()
               ? cmocka_run_group_tests (tests, NULL, NULL) : 77;
}
