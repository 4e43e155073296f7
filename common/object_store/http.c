/* common/object_store/http.c - one HTTP request */
#include "object_store/http.h"

#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef ROLLCALL_CURL

#define CURL_DISABLE_TYPECHECK          // it takes functions, not pointers
#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/socket.h>

#define CONNECT_S 10L
#define BUFFER_BYTES (512L << 10)       // fewer calls than with curl's 64 kB

struct http {
    CURL *curl;
    struct http_options opt;
    char why[CURL_ERROR_SIZE];
};

struct taking {
    struct http *http;
    const struct http_request *q;
    struct http_answer *ret;
    size_t given;               // bytes of the file
    bool over;                  // there was more than room
    bool unread;                // the file could not be read
};

/* ---- the library: loaded by the first request, its start takes 5 ms ---- */

#define LIBRARY "libcurl.so.4"
#define FUNCTIONS(X) \
    X (global_init) X (easy_init) X (easy_cleanup) X (easy_reset) \
    X (easy_setopt) X (easy_getinfo) X (easy_perform) X (easy_strerror) \
    X (easy_header) X (getdate) X (slist_append) X (slist_free_all)

static struct {
#define X(name) __typeof__ (curl_##name) *name;
    FUNCTIONS (X)
#undef X
    bool whole;
    char why[200];
} lib;

static void load (void)
{
    void *so = dlopen (LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *why = so ? NULL : dlerror ();

    lib.whole = so != NULL;
#define X(name)                                                         \
    if (lib.whole && !(*(void **)&lib.name = dlsym (so, "curl_" #name))) { \
        lib.whole = false;                                              \
        why = dlerror ();                                               \
    }
    FUNCTIONS (X)
#undef X
    if (!lib.whole)
        PRINT (lib.why, "%s", why ? why : LIBRARY);
    else
        (void)lib.global_init (CURL_GLOBAL_DEFAULT);
}

static bool loaded (void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once (&once, load);
    return lib.whole;
}

bool http_is_built (void)
{
    return loaded ();
}

int http_create (const struct http_options *opt, struct http **ret,
                 struct err *err)
{
    struct http *h = NULL;

    if (!loaded ())
        return err_set (err, ENOTSUP, "an object store needs libcurl, and it "
                        "cannot be loaded: %s", lib.why);
    if (!(h = calloc (1, sizeof (*h))) || !(h->curl = lib.easy_init ())) {
        free (h);
        return err_set (err, ENOMEM, "no memory for a connection");
    }
    h->opt = *opt;
    *ret = h;
    return 0;
}

void http_destroy (struct http *h)
{
    if (h)
        lib.easy_cleanup (h->curl);
    free (h);
}

const char *http_header (struct http *h, const char *name)
{
    struct curl_header *found;

    return lib.easy_header (h->curl, name, 0, CURLH_HEADER, -1, &found) ==
                   CURLHE_OK
               ? found->value : NULL;
}

int64_t http_date (struct http *h)
{
    const char *text = http_header (h, "Date");

    return text ? (int64_t)lib.getdate (text, NULL) : -1;
}

/* ---- the body ---- */

static size_t take (char *bytes, size_t one, size_t n, void *arg)
{
    struct taking *t = arg;
    struct http_answer *a = t->ret;
    long status = 0;

    n *= one;
    (void)lib.easy_getinfo (t->http->curl, CURLINFO_RESPONSE_CODE, &status);
    if (t->q->out && status >= 200 && status < 300) {
        if (n > t->q->room - a->got) {
            t->over = true;
            return 0;
        }
        memcpy ((char *)t->q->out + a->got, bytes, n);
        a->got += n;
        return n;
    }
    buf_put (&a->body, bytes, n);
    t->over = a->body.failed;
    return t->over ? 0 : n;
}

static size_t give (char *out, size_t one, size_t n, void *arg)
{
    struct taking *t = arg;
    const struct http_request *q = t->q;
    size_t left = q->size - t->given;

    n = n * one < left ? n * one : left;
    if (fileio_pread_all (q->file, out, n, (off_t)(q->at + t->given)) < 0) {
        t->unread = true;
        return CURL_READFUNC_ABORT;
    }
    t->given += n;
    return n;
}

/* A connection that stayed open had been closed: from the beginning again. */
static int give_from (void *arg, curl_off_t at, int origin)
{
    struct taking *t = arg;

    t->given = (size_t)at;
    return origin == SEEK_SET ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static int look (void *arg, curl_off_t a, curl_off_t b, curl_off_t c,
                 curl_off_t d)
{
    const struct http *h = arg;

    (void)a, (void)b, (void)c, (void)d;
    return h->opt.cancel && atomic_load (h->opt.cancel);
}

/* ---- the request ---- */

/* No program that is started meanwhile gets the connection. */
static curl_socket_t open_socket (void *arg, curlsocktype purpose,
                                  struct curl_sockaddr *a)
{
    (void)arg;
    (void)purpose;
    return socket (a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* What is the same for each. */
static void set_connection (struct http *h)
{
    CURL *c = h->curl;
    curl_off_t rate = (curl_off_t)h->opt.max_rate;
    long silence = (long)h->opt.silence_s;
    long least = h->opt.least_rate > 0 ? (long)h->opt.least_rate : 1L;

    (void)lib.easy_setopt (c, CURLOPT_NOSIGNAL, 1L);
    (void)lib.easy_setopt (c, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)lib.easy_setopt (c, CURLOPT_FOLLOWLOCATION, 0L);
    (void)lib.easy_setopt (c, CURLOPT_PATH_AS_IS, 1L);
    (void)lib.easy_setopt (c, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    (void)lib.easy_setopt (c, CURLOPT_CONNECTTIMEOUT,
                           silence < CONNECT_S ? silence : CONNECT_S);
    (void)lib.easy_setopt (c, CURLOPT_LOW_SPEED_LIMIT, least);
    (void)lib.easy_setopt (c, CURLOPT_LOW_SPEED_TIME, silence);
    (void)lib.easy_setopt (c, CURLOPT_MAX_SEND_SPEED_LARGE, rate);
    (void)lib.easy_setopt (c, CURLOPT_MAX_RECV_SPEED_LARGE, rate);
    (void)lib.easy_setopt (c, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    (void)lib.easy_setopt (c, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
    (void)lib.easy_setopt (c, CURLOPT_ERRORBUFFER, h->why);
    (void)lib.easy_setopt (c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)lib.easy_setopt (c, CURLOPT_NOPROGRESS, 0L);
    (void)lib.easy_setopt (c, CURLOPT_XFERINFOFUNCTION, look);
    (void)lib.easy_setopt (c, CURLOPT_XFERINFODATA, h);
    if (h->opt.ca_file)
        (void)lib.easy_setopt (c, CURLOPT_CAINFO, h->opt.ca_file);
    if (h->opt.proxy)
        (void)lib.easy_setopt (c, CURLOPT_PROXY, h->opt.proxy);
}

static CURLcode set_signature (CURL *c, const struct http_request *q)
{
    char how[128];
    CURLcode rc;

    if (!q->region)
        return CURLE_OK;
    PRINT (how, "aws:amz:%.64s:s3", q->region);
    rc = lib.easy_setopt (c, CURLOPT_AWS_SIGV4, how);
    if (rc == CURLE_OK)
        rc = lib.easy_setopt (c, CURLOPT_USERNAME, q->key_id);
    if (rc == CURLE_OK)
        rc = lib.easy_setopt (c, CURLOPT_PASSWORD, q->secret);
    return rc;
}

static CURLcode set_body (CURL *c, const struct http_request *q,
                          struct taking *t)
{
    (void)lib.easy_setopt (c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->size);
    if (!q->from_file)
        return lib.easy_setopt (c, CURLOPT_POSTFIELDS, q->body ? q->body : "");
    (void)lib.easy_setopt (c, CURLOPT_POST, 1L);
    (void)lib.easy_setopt (c, CURLOPT_READFUNCTION, give);
    (void)lib.easy_setopt (c, CURLOPT_READDATA, t);
    (void)lib.easy_setopt (c, CURLOPT_SEEKFUNCTION, give_from);
    return lib.easy_setopt (c, CURLOPT_SEEKDATA, t);
}

static CURLcode set_request (struct http *h, const struct http_request *q,
                             struct taking *t)
{
    bool sends = q->body || strcmp (q->method, "PUT") == 0 ||
                 strcmp (q->method, "POST") == 0;
    CURL *c = h->curl;
    CURLcode rc;

    rc = lib.easy_setopt (c, CURLOPT_URL, q->url);
    if (rc == CURLE_OK && sends)
        rc = set_body (c, q, t);
    if (strcmp (q->method, "HEAD") == 0)
        (void)lib.easy_setopt (c, CURLOPT_NOBODY, 1L);
    else if (rc == CURLE_OK)
        rc = lib.easy_setopt (c, CURLOPT_CUSTOMREQUEST, q->method);
    return rc == CURLE_OK ? set_signature (c, q) : rc;
}

/* The headers.  Each is signed, so none may be in the list only to keep libcurl
 * from sending it ("Expect:").  NULL: no memory.
 */
static struct curl_slist *headers_of (const struct http_request *q)
{
    struct curl_slist *list = NULL, *more;

    for (size_t i = 0; i < q->nheaders; i++) {
        if (!(more = lib.slist_append (list, q->headers[i]))) {
            lib.slist_free_all (list);
            return NULL;
        }
        list = more;
    }
    return list;
}

static int say (const struct taking *t, CURLcode rc, struct err *err)
{
    const char *why = *t->http->why ? t->http->why : lib.easy_strerror (rc);

    switch (rc) {
    case CURLE_OK:
        return 0;
    case CURLE_OUT_OF_MEMORY:
        return err_set (err, ENOMEM, "no memory for a request");
    case CURLE_ABORTED_BY_CALLBACK:
        if (t->unread)
            return err_set (err, EBADMSG, "what is sent cannot be read");
        return err_set (err, EINTR, "interrupted");
    case CURLE_WRITE_ERROR:
        return err_set (err, EPROTO, t->over ? "the answer is larger than what "
                        "was asked for" : "%s", why);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return err_set (err, EPERM, "TLS: %s", why);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
        return err_set (err, EPROTO, "%s", why);
    default:
        return err_set (err, EHOSTUNREACH, "%s", why);
    }
}

int http_ask (struct http *h, const struct http_request *q,
              struct http_answer *ret, struct err *err)
{
    struct taking t = { .http = h, .q = q, .ret = ret };
    struct curl_slist *headers = headers_of (q);
    CURLcode rc = headers || q->nheaders == 0 ? CURLE_OK : CURLE_OUT_OF_MEMORY;
    long status = 0;

    ret->status = 0;
    ret->got = 0;
    buf_init (&ret->body, HTTP_BODY_MAX);
    lib.easy_reset (h->curl);          // the connection stays
    h->why[0] = '\0';
    set_connection (h);
    (void)lib.easy_setopt (h->curl, CURLOPT_HTTPHEADER, headers);
    (void)lib.easy_setopt (h->curl, CURLOPT_WRITEFUNCTION, take);
    (void)lib.easy_setopt (h->curl, CURLOPT_WRITEDATA, &t);
    if (rc == CURLE_OK)
        rc = set_request (h, q, &t);
    if (rc == CURLE_OK)
        rc = lib.easy_perform (h->curl);
    (void)lib.easy_getinfo (h->curl, CURLINFO_RESPONSE_CODE, &status);
    ret->status = (int)status;
    lib.slist_free_all (headers);
    return say (&t, rc, err);
}

#else

bool http_is_built (void)
{
    return false;
}

int http_create (const struct http_options *opt, struct http **ret,
                 struct err *err)
{
    (void)opt;
    (void)ret;
    return err_set (err, ENOTSUP, "this build of rollcall has no libcurl: it "
                    "cannot use an object store");
}

void http_destroy (struct http *h)
{
    (void)h;
}

int http_ask (struct http *h, const struct http_request *q,
              struct http_answer *ret, struct err *err)
{
    (void)h;
    (void)q;
    (void)ret;
    return err_set (err, ENOTSUP, "no libcurl");
}

const char *http_header (struct http *h, const char *name)
{
    (void)h;
    (void)name;
    return NULL;
}


int64_t http_date (struct http *h)
{
    (void)h;
    return -1;
}

#endif
