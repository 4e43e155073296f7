/* common/object_store/ask.c - one question to the store, asked until answered */
#include "object_store/ask.h"

#include "base/clock.h"
#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_FIRST_NS (200 * NS_PER_MS)
#define PAUSE_MAX_NS (20 * NS_PER_S)
#define RETRY_AFTER_MAX_S 120           // for longer, the caller comes again
#define RENEW_BEFORE_NS (300 * NS_PER_S)        // credentials end
#define SKEW_MAX_S 900                  // S3 takes signatures of so long ago

/* ---- pauses ---- */

int64_t object_pause_ns (unsigned n, double jitter)
{
    int64_t full = PAUSE_FIRST_NS;

    while (--n > 0 && full < PAUSE_MAX_NS)
        full *= 2;
    if (full > PAUSE_MAX_NS)
        full = PAUSE_MAX_NS;
    return full / 2 + (int64_t)((double)(full / 2) * jitter);
}

static void pause_before (struct object_store *s, unsigned n)
{
    const char *after = http_header (s->http, "Retry-After");
    int64_t ns = object_pause_ns (n, s->pauses.jitter (s->pauses.arg)), wanted;

    if (after && units_int (after, 0, RETRY_AFTER_MAX_S, &wanted) == 0 &&
        ns < wanted * NS_PER_S)
        ns = wanted * NS_PER_S;
    s->pauses.pause (s->pauses.arg, ns);
}

/* ---- credentials ---- */

/* Read them, if there are none or those that there are end soon; then a failure
 * can wait until they have.
 */
static int have_credentials (struct object_store *s, struct err *err)
{
    struct credentials now;
    int rc;

    if (s->has_credentials &&
        s->credentials.until_ns - RENEW_BEFORE_NS > clock_wall_ns ())
        return 0;
    rc = credentials_read (&now, err);
    if (rc == 0) {
        s->credentials = now;
        s->has_credentials = true;
    }
    credentials_wipe (&now);
    return s->has_credentials ? 0 : rc;
}

/* After the store refused those that there are: 1, there are others now; 0: they are
 * the same.
 */
static int renew (struct object_store *s, struct err *err)
{
    struct credentials now;
    int rc = credentials_read (&now, err);

    if (rc == 0 && !credentials_are (&now, &s->credentials)) {
        s->credentials = now;
        rc = 1;
    }
    credentials_wipe (&now);
    return rc;
}

/* ---- a request ---- */

static void put_url (const struct object_store *s, const struct ask *q,
                     struct buf *out)
{
    buf_printf (out, "%s/%s", s->endpoint, s->bucket);
    if (q->key) {
        buf_put (out, "/", 1);
        url_encode (out, s->prefix, true);
        url_encode (out, q->key, true);
    }
    url_query (out, q->query, q->nquery);
}

/* The headers that are the same for each try. */
static int put_headers (const struct ask *q, char ***list, size_t *n)
{
    char hex[DIGEST_HEX_SIZE], base64[MD5_BASE64_SIZE];
    const void *body = q->body ? q->body : "";
    struct digest sha256;
    struct md5 md5;
    int rc = q->sha256 ? 0 : digest_of (body, q->size, &sha256);

    if (rc == 0 && !q->md5)
        rc = digest_md5 (body, q->size, &md5);
    if (rc < 0)
        return rc;
    digest_hex (q->sha256 ? q->sha256 : &sha256, hex);
    md5_base64 (q->md5 ? q->md5 : &md5, base64);
    rc = vec_print_text (list, n, "x-amz-content-sha256: %s", hex);
    if (rc == 0)
        rc = vec_print_text (list, n, "Content-MD5: %s", base64);
    if (rc == 0 && (q->body || q->from_file))
        rc = vec_add_text (list, n, "Content-Type: application/octet-stream");
    if (rc == 0 && q->header)
        rc = vec_add_text (list, n, q->header);
    return rc;
}

/* Once, with the credentials of now. */
static int send_once (struct object_store *s, const struct ask *q,
                      struct http_request *h, size_t nheaders,
                      struct http_answer *ret, struct err *err)
{
    char token[CREDENTIAL_TOKEN_MAX + 32];
    int rc;

    PRINT (token, "x-amz-security-token: %s", s->credentials.token);
    h->headers[nheaders] = token;
    h->nheaders = nheaders + (*s->credentials.token != '\0');
    h->key_id = s->credentials.key_id;
    h->secret = s->credentials.secret;
    s->counts.requests++;
    rc = http_ask (s->http, h, ret, err);
    explicit_bzero (token, sizeof (token));
    h->headers[nheaders] = NULL;
    s->counts.sent += q->size;
    s->counts.received += ret->got + ret->body.size;
    return rc;
}

/* ---- what came ---- */

/* How far this machine's clock is ahead of the store's; false: the store does not
 * say.
 */
static bool skew_of (struct object_store *s, int64_t *ret_s)
{
    int64_t theirs = http_date (s->http);

    *ret_s = clock_wall_ns () / NS_PER_S - theirs;
    return theirs >= 0;
}

static int say_skew (struct object_store *s, struct err *err)
{
    int64_t off;

    if (!skew_of (s, &off))
        return err_set (err, ETIME, "the clocks of this machine and of the "
                        "store differ too much");
    return err_set (err, ETIME, "the clock of this machine is %lld s %s that "
                    "of the store", (long long)(off < 0 ? -off : off),
                    off < 0 ? "behind" : "ahead of");
}

/* A signature has the time in it: some stores call one of another time wrong. */
static bool is_skewed (struct object_store *s, const struct answer *a)
{
    int64_t off;

    return a->error == ETIME ||
           (a->error == EKEYREJECTED && skew_of (s, &off) &&
            (off > SKEW_MAX_S || off < -SKEW_MAX_S));
}

/* 'why': what reading the credentials again has said, or "". */
static int say_answer (struct object_store *s, const struct answer *a,
                       int status, const struct err *why, struct err *err)
{
    const char *from = s->credentials.from, *colon = *a->message ? ": " : "";
    const char *again = *why->text ? "; they cannot be read again: " : "";

    if (is_skewed (s, a))
        return say_skew (s, err);
    if (a->error == ENXIO)
        return err_set (err, ENXIO, "there is no bucket %s", s->bucket);
    if (!*a->code)
        return err_set (err, a->error, "the store answers with status %d",
                        status);
    if (a->error == EKEYEXPIRED)
        return err_set (err, EKEYEXPIRED, "%s: the credentials come from %s, and "
                        "have to be renewed there%s%s", a->code, from, again,
                        why->text);
    if (a->error == EKEYREJECTED)
        return err_set (err, EKEYREJECTED, "%s%s%s: the store does not take the "
                        "credentials of %s%s%s", a->code, colon, a->message,
                        from, again, why->text);
    return err_set (err, a->error, "%s%s%s", a->code, colon, a->message);
}

/* Try once: 0, -errno; *again: the next try may do better; *now: without a pause.
 */
static int try_once (struct object_store *s, const struct ask *q,
                     struct http_request *h, size_t nheaders,
                     struct http_answer *ret, bool *again, bool *now,
                     struct err *err)
{
    struct err why = { "" };
    struct answer a;
    int rc = have_credentials (s, err);

    *again = *now = false;
    if (rc < 0)
        return rc;
    rc = send_once (s, q, h, nheaders, ret, err);
    if (rc == 0) {
        a = answer_judge (ret->status, buf_text (&ret->body), ret->body.size);
        if (a.kind == ANSWER_FINE)
            return 0;
        *now = a.kind == ANSWER_RENEW && renew (s, &why) > 0;
        *again = *now || a.kind == ANSWER_AGAIN;
        rc = say_answer (s, &a, ret->status, &why, err);
    } else {
        *again = rc == -EHOSTUNREACH;
    }
    buf_fini (&ret->body);
    return rc;
}

static int try_all (struct object_store *s, const struct ask *q,
                    struct http_request *h, size_t nheaders,
                    struct http_answer *ret, struct err *err)
{
    bool again, now;
    unsigned n = 0;
    int rc;

    for (;;) {
        rc = try_once (s, q, h, nheaders, ret, &again, &now, err);
        if (!again || ++n >= s->tries)
            break;
        if (!now)
            pause_before (s, n);
        if (s->cancel && atomic_load (s->cancel))
            return err_set (err, EINTR, "interrupted");
        s->counts.again++;
    }
    if (rc < 0 && n > 1)
        rc = err_prefix (err, rc, "asked %u times", n);
    return rc;
}

int object_ask (struct object_store *s, const struct ask *q,
                struct http_answer *ret, struct err *err)
{
    struct http_request h = { .method = q->method, .body = q->body,
                              .from_file = q->from_file, .file = q->file,
                              .at = q->at, .size = q->size,
                              .region = s->region,
                              .out = q->out, .room = q->room };
    char **headers = NULL;
    struct buf url;
    size_t n = 0;
    int rc = put_headers (q, &headers, &n);

    buf_init (&url, URL_MAX);
    put_url (s, q, &url);
    if (rc < 0)
        rc = err_sys (err, -rc, "cannot hash a request");
    else if (url.failed ||
             !(h.headers = calloc (n + 1, sizeof (*h.headers))))
        rc = err_set (err, ENOMEM, "no memory for a request");
    if (rc == 0) {
        memcpy (h.headers, headers, n * sizeof (*headers));
        h.url = buf_text (&url);
        rc = try_all (s, q, &h, n, ret, err);
    }
    free (h.headers);
    vec_free_texts (headers, n);
    buf_fini (&url);
    return rc == 0 ? 0 : err_prefix (err, rc, "cannot %s %s%s%s", q->what,
                                     s->url, q->key ? "/" : "",
                                     q->key ? q->key : "");
}

void object_etag (const char *text, char out[OBJECT_ETAG_MAX])
{
    size_t n = 0;

    for (; text && *text && n < OBJECT_ETAG_MAX - 1; text++) {
        if (*text != '"')
            out[n++] = *text;
    }
    out[n] = '\0';
}
