/* common/object_store/object_store.c - a client, and single objects */
#include "object_store/ask.h"

#include "base/clock.h"
#include "base/units.h"
#include "model/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS (50 * NS_PER_MS)       // a pause ends so soon after a cancel

/* ---- a client ---- */

bool object_store_is_built (void)
{
    return http_is_built ();
}

static void sleep_for (void *arg, int64_t ns)
{
    const struct object_store *s = arg;

    while (ns > 0 && !(s->cancel && atomic_load (s->cancel))) {
        struct timespec t = { 0, (long)(ns < SLICE_NS ? ns : SLICE_NS) };

        (void)nanosleep (&t, NULL);
        ns -= t.tv_nsec;
    }
}

static double random_part (void *arg)
{
    uint32_t bits = 0;

    (void)arg;
    (void)getrandom (&bits, sizeof (bits), GRND_NONBLOCK);
    return (double)bits / ((double)UINT32_MAX + 1);
}

static const char *first_of (const char *given, const char *variable,
                             const char *other, const char *fallback)
{
    const char *value = given;

    if (!value || !*value)
        value = getenv (variable);
    if ((!value || !*value) && other)
        value = getenv (other);
    return value && *value ? value : fallback;
}

static int set_place (struct object_store *s, const struct object_options *opt,
                      struct err *err)
{
    const char *endpoint = first_of (opt->endpoint, "AWS_ENDPOINT_URL_S3",
                                     "AWS_ENDPOINT_URL", "");
    size_t n = strlen (endpoint);
    int rc = url_split (opt->url, s->bucket, s->prefix, err);

    if (rc < 0)
        return rc;
    PRINT (s->url, "s3://%s%s%.*s", s->bucket, *s->prefix ? "/" : "",
           (int)(*s->prefix ? strlen (s->prefix) - 1 : 0), s->prefix);
    PRINT (s->region, "%s", first_of (opt->region, "AWS_REGION",
                                      "AWS_DEFAULT_REGION", "us-east-1"));
    if (n == 0) {
        PRINT (s->endpoint, "https://s3.%s.amazonaws.com", s->region);
        return 0;
    }
    if ((rc = url_check_endpoint (endpoint, err)) < 0)
        return rc;
    while (n > 0 && endpoint[n - 1] == '/')
        n--;
    if (n >= sizeof (s->endpoint))
        return err_set (err, EINVAL, "the endpoint is too long");
    PRINT (s->endpoint, "%.*s", (int)n, endpoint);
    return 0;
}

static int set_copies (struct object_store *s, const struct object_options *opt,
                       struct err *err)
{
    s->ca_file = opt->ca_file ? strdup (opt->ca_file) : NULL;
    s->proxy = opt->proxy ? strdup (opt->proxy) : NULL;
    if (opt->ca_file && access (opt->ca_file, R_OK) < 0)
        return err_sys (err, errno, "cannot read certificates from %s",
                        opt->ca_file), -EINVAL;
    return (opt->ca_file && !s->ca_file) || (opt->proxy && !s->proxy)
               ? err_set (err, ENOMEM, "no memory for the object store") : 0;
}

int object_store_open (const struct object_options *opt,
                       struct object_store **ret, struct err *err)
{
    struct object_store *s = calloc (1, sizeof (*s));
    int rc;

    secret_forbid_cores ();     // credentials would be in one
    if (!s)
        return err_set (err, ENOMEM, "no memory for the object store");
    s->how = (struct http_options){
        .max_rate = opt->max_rate, .cancel = opt->cancel,
        .least_rate = opt->least_rate,
        .silence_s = opt->silence_s ? opt->silence_s : OBJECT_SILENCE_S,
    };
    s->tries = opt->tries ? opt->tries : OBJECT_TRIES;
    s->cancel = opt->cancel;
    s->pauses = opt->pauses;
    if (!s->pauses.jitter)
        s->pauses.jitter = random_part;
    if (!s->pauses.pause) {
        s->pauses.pause = sleep_for;
        s->pauses.arg = s;
    }
    rc = set_place (s, opt, err);
    if (rc == 0)
        rc = set_copies (s, opt, err);
    s->how.ca_file = s->ca_file;
    s->how.proxy = s->proxy;
    if (rc == 0)
        rc = http_create (&s->how, &s->http, err);
    if (rc < 0) {
        object_store_close (s);
        return rc;
    }
    *ret = s;
    return 0;
}

/* Its texts are those of the first one. */
struct object_store *object_twin (struct object_store *s)
{
    struct object_store *t;

    if (s->twin || s->how.max_rate > 0 || !(t = malloc (sizeof (*t))))
        return s->twin;
    *t = *s;
    t->ca_file = t->proxy = NULL;
    t->counts = (struct object_counts){ .requests = 0 };
    t->http = NULL;
    if (http_create (&s->how, &t->http, NULL) == 0) {
        s->twin = t;
        return t;
    }
    object_store_close (t);
    return NULL;
}

void object_store_close (struct object_store *s)
{
    if (!s)
        return;
    object_store_close (s->twin);
    http_destroy (s->http);
    credentials_wipe (&s->credentials);
    free (s->ca_file);
    free (s->proxy);
    free (s);
}

const char *object_store_url (const struct object_store *s)
{
    return s->url;
}

const char *object_store_endpoint (const struct object_store *s)
{
    return s->endpoint;
}

const char *object_store_region (const struct object_store *s)
{
    return s->region;
}

struct object_counts object_store_counts (const struct object_store *s)
{
    struct object_counts all = s->counts;

    if (s->twin) {
        all.requests += s->twin->counts.requests;
        all.again += s->twin->counts.again;
        all.sent += s->twin->counts.sent;
        all.received += s->twin->counts.received;
    }
    return all;
}

/* ---- single objects ---- */

int object_put (struct object_store *s, const char *key, const void *data,
                size_t size, struct err *err)
{
    struct ask q = { .what = "write", .method = "PUT", .key = key,
                     .body = data, .size = size };
    struct http_answer a;
    int rc = object_ask (s, &q, &a, err);

    if (rc == 0)
        buf_fini (&a.body);
    return rc;
}

int object_get (struct object_store *s, const char *key, uint64_t at,
                void *out, size_t n, struct err *err)
{
    char range[64];
    struct ask q = { .what = "read", .method = "GET", .key = key,
                     .header = range, .out = out, .room = n };
    struct http_answer a;
    int rc;

    if (n == 0)
        return 0;
    PRINT (range, "Range: bytes=%llu-%llu", (unsigned long long)at,
           (unsigned long long)(at + n - 1));
    rc = object_ask (s, &q, &a, err);
    if (rc == 0)
        buf_fini (&a.body);
    return rc < 0 || a.got == n
               ? rc : err_set (err, EBADMSG, "%s/%s has %zu bytes at %llu, not "
                               "%zu", s->url, key, a.got,
                               (unsigned long long)at, n);
}

/* The size in the headers of the last answer; false: it is in none. */
static bool take_size (struct object_store *s, uint64_t *ret)
{
    const char *text = http_header (s->http, "Content-Range");
    int64_t size;

    if (text && (text = strrchr (text, '/')))
        text++;
    else
        text = http_header (s->http, "Content-Length");
    if (!text || units_int (text, 0, INT64_MAX, &size) < 0)
        return false;
    *ret = (uint64_t)size;
    return true;
}

/* An error of HEAD has no body that says why: a read of one byte tells, and it
 * has the same headers.
 */
int object_head (struct object_store *s, const char *key,
                 struct object_facts *ret, struct err *err)
{
    struct ask q = { .what = "look at", .method = "HEAD", .key = key };
    struct http_answer a;
    int rc = object_ask (s, &q, &a, err);

    if (rc == -EACCES || rc == -EPROTO || rc == -ENOENT) {
        q.method = "GET";
        q.header = "Range: bytes=0-0";
        rc = object_ask (s, &q, &a, err);
    }
    if (rc < 0)
        return rc;
    buf_fini (&a.body);
    PRINT (ret->key, "%s", key);
    object_etag (http_header (s->http, "ETag"), ret->etag);
    return take_size (s, &ret->size)
               ? 0 : err_set (err, EPROTO, "the store does not say how large "
                              "%s/%s is", s->url, key);
}

int object_delete (struct object_store *s, const char *key, struct err *err)
{
    struct ask q = { .what = "delete", .method = "DELETE", .key = key };
    struct http_answer a;
    int rc = object_ask (s, &q, &a, err);

    if (rc == 0)
        buf_fini (&a.body);
    return rc == -ENOENT ? 0 : rc;
}
