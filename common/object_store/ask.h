/* common/object_store/ask.h - one question to the store, asked until answered;
 * shared by the parts of this folder
 */
#ifndef ROLLCALL_OBJECT_STORE_ASK_H
#define ROLLCALL_OBJECT_STORE_ASK_H

#include "base/digest.h"
#include "object_store/answer.h"
#include "object_store/credentials.h"
#include "object_store/http.h"
#include "object_store/object_store.h"
#include "object_store/url.h"

struct object_store {
    char url[8 + URL_BUCKET_MAX + URL_PREFIX_MAX];
    char bucket[URL_BUCKET_MAX + 1], prefix[URL_PREFIX_MAX + 2];
    char endpoint[512], region[64];
    char *ca_file, *proxy;      // or NULL
    struct http_options how;    // of its connection
    struct http *http;
    struct object_store *twin;  // object_twin; NULL: none yet
    struct credentials credentials;
    bool has_credentials;
    unsigned tries;
    struct object_pauses pauses;
    const atomic_bool *cancel;
    struct object_counts counts;
};

struct ask {
    const char *what;           // for a person: "cannot WHAT KEY: ..."
    const char *method;
    const char *key;            // NULL: the bucket itself
    struct url_parameter query[URL_PARAMETERS];
    size_t nquery;
    const char *header;         // one more, "Range: bytes=0-9"; or NULL
    const void *body;
    bool from_file;             // the body is in 'file' instead, at 'at'
    int file;
    uint64_t at;
    size_t size;
    const struct digest *sha256;        // of the body, and its MD5; both, or NULL:
    const struct md5 *md5;              // they are computed
    void *out;                  // as http_request
    size_t room;
};

/* Ask; the caller frees the body of the answer if it was 0, a status of 2xx.
 * Errors are those of object_store.h.
 */
int object_ask (struct object_store *s, const struct ask *q,
                struct http_answer *ret, struct err *err);

/* A second client like this one, with a connection of its own, for another thread;
 * its counts are those of the first one, too.  It is kept until that is closed.
 * NULL: no memory, or the first one has a limit of bytes/s, which two would double.
 */
struct object_store *object_twin (struct object_store *s);

/* The pause before the n-th repetition, from 1. */
int64_t object_pause_ns (unsigned n, double jitter);

/* An etag without its quotes; "" if there is none. */
void object_etag (const char *text, char out[OBJECT_ETAG_MAX]);

#endif
