/* common/object_store/http.h - one HTTP request (the only user of libcurl) */
#ifndef ROLLCALL_OBJECT_STORE_HTTP_H
#define ROLLCALL_OBJECT_STORE_HTTP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>

#define HTTP_BODY_MAX ((size_t)8 << 20) // bytes of an answer that is kept; a page
                                        // of 1000 keys has less

struct http_options {
    const char *ca_file, *proxy;        // NULL: the system's, the environment's
    uint64_t max_rate;          // bytes/s; 0: no limit
    unsigned silence_s;         // without a byte, and a connection is cut; at
                                // most so long it takes to connect, or 10 s
    uint64_t least_rate;        // bytes/s: less is silence; 0: any is none
    const atomic_bool *cancel;  // may be NULL
};

struct http_request {
    const char *method;         // "GET", "HEAD", "PUT", "POST", "DELETE"
    const char *url;            // percent-encoded; sent and signed as it is
    char **headers;             // "Name: value"
    size_t nheaders;
    const void *body;
    bool from_file;             // it is in 'file' instead, from 'at' on
    int file;
    uint64_t at;
    size_t size;                // bytes of it
    const char *region;         // of the signature; NULL: unsigned
    const char *key_id, *secret;
    void *out;                  // where the body of a 2xx goes, up to 'room'
    size_t room;                // bytes; NULL: into the answer's
};

struct http_answer {
    int status;
    struct buf body;
    size_t got;                 // bytes that went to 'out'
};

struct http;

bool http_is_built (void);

/* -ENOTSUP: no libcurl in this build; -ENOMEM. */
int http_create (const struct http_options *opt, struct http **ret,
                 struct err *err);
void http_destroy (struct http *h);     // h may be NULL

/* Send it and read the answer, whose body the caller frees, in any case.  0:
 * there is one, of any status; -EHOSTUNREACH: no connection, or it was cut or
 * silent; -EPERM: the certificate is not from a known CA; -EPROTO: no HTTP, or
 * more than fits; -EBADMSG: the file cannot be read; -EINTR; -ENOMEM.  Redirections are not followed: a signature
 * is for one host.
 */
int http_ask (struct http *h, const struct http_request *q,
              struct http_answer *ret, struct err *err);

/* A header of the last answer, until the next request; NULL: it has none. */
const char *http_header (struct http *h, const char *name);

/* What its header Date says, in seconds since 1970; -1: nothing. */
int64_t http_date (struct http *h);

#endif
