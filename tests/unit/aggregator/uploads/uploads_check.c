/* tests/unit/aggregator/uploads/uploads_check.c - what uploads_check.h declares
 */
#include "uploads_check.h"

#include "base/clock.h"
#include "base/digest.h"

#include <time.h>

uint64_t seal_one (struct root *r, const char *bytes)
{
    uint64_t size;

    (void)enter (r, true_item (bytes, bytes), bytes);
    size = r->s->committed;
    assert_int_equal (store_open_next (r->s, NULL), 0);
    return size;
}

void as_there (struct fixture *f, const struct root *r, uint64_t size)
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

void fixture_begin_cache (struct fixture *f, struct root *r, uint64_t size,
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

void fixture_begin (struct fixture *f, struct root *r,
                    const char *const *answers, size_t n)
{
    fixture_begin_cache (f, r, 0, answers, n);
}

void fixture_end (struct fixture *f)
{
    uploads_stop (f->u);
    http_script_end (f->script);
}

void fixture_until (struct fixture *f, bool (*is_so) (const struct fixture *))
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

bool is_stored (const struct fixture *f)
{
    return f->now.stored == 1 && f->now.waiting == 0;
}

bool has_failed (const struct fixture *f)
{
    return f->now.error != 0;
}

bool has_first (const struct fixture *f)
{
    return uploads_have (f->u, 1);
}

bool is_conflict (const struct fixture *f)
{
    return f->now.conflicts == 1;
}
