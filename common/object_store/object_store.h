/* common/object_store/object_store.h - objects in an S3-compatible store
 *
 * A store is a bucket and a prefix, "s3://BUCKET/PREFIX": keys here are what
 * follows the prefix.  Objects are written whole and never changed.  A client
 * belongs to one thread at a time, and its connection stays open between
 * requests.
 *
 * Each request is signed (AWS Signature 4) and has the SHA-256 and the MD5 of
 * its body, so the server refuses bytes that changed on their way.  Answers
 * that may be better next time (500, 502, 503, 504, SlowDown, a cut or silent
 * connection) are asked for again, after growing pauses.  A refusal of the
 * credentials makes the client read them again: if they are others, it asks once
 * more at once; else that stays the answer, and each later refusal does so again.
 * Credentials are in no log, no sentence of an error and no argument of a program.
 *
 * Errors, of each function that asks the store:
 *   -ENOENT        there is no such key (or upload)
 *   -ENXIO         there is no such bucket
 *   -EACCES        the credentials have no right to do this, also when read again
 *   -ENOKEY        no credentials were found
 *   -EKEYREJECTED  the store does not know them, or the signature is another, and
 *   -EKEYEXPIRED   they have expired, and reading them again gave no others
 *   -ETIME         the clocks differ too much: "the clock is N s behind"
 *   -EAGAIN        the store is overloaded or broken; it was asked several times
 *   -EHOSTUNREACH  no connection, or it was cut or silent, several times
 *   -EPERM         TLS: the server's certificate is not from a known CA
 *   -EBADMSG       what came or is there differs from what it has to be
 *   -EPROTO        the answer is not that of such a store
 *   -EINTR         *cancel is true
 *   -ENOMEM
 *
 * This folder: a client of S3.
 */
#ifndef ROLLCALL_OBJECT_STORE_H
#define ROLLCALL_OBJECT_STORE_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECT_KEY_MAX 1024             // bytes, S3's limit
#define OBJECT_ETAG_MAX 80
#define OBJECT_UPLOAD_MAX 512           // bytes of an upload's id
#define OBJECT_PART_BYTES ((size_t)8 << 20)     // of a large object; S3 wants at
                                                // least 5 MiB, at most 10,000

/* How a client waits: both may be NULL.  For tests. */
struct object_pauses {
    void (*pause) (void *arg, int64_t ns);
    double (*jitter) (void *arg);       // in [0, 1)
    void *arg;
};

struct object_options {
    const char *url;            // "s3://BUCKET" or "s3://BUCKET/PREFIX"
    const char *endpoint;       // "https://HOST:PORT"; NULL: AWS_ENDPOINT_URL, or
                                // Amazon's
    const char *region;         // NULL: AWS_REGION, or us-east-1
    const char *ca_file;        // PEM; NULL: those of the system
    const char *proxy;          // NULL: as https_proxy and no_proxy say
    uint64_t max_rate;          // bytes/s, in each direction; 0: no limit
    unsigned tries;             // of a request; 0: OBJECT_TRIES
    unsigned silence_s;         // without a byte, and a connection is cut; 0:
                                // OBJECT_SILENCE_S
    uint64_t least_rate;        // bytes/s: less counts as silence; 0: any counts
    struct object_pauses pauses;
    const atomic_bool *cancel;  // may be NULL
};

#define OBJECT_TRIES 6
#define OBJECT_SILENCE_S 30

struct object_store;

/* Whether this build can (libcurl was there when it was built). */
bool object_store_is_built (void);

/* Make a client; nothing is asked yet, but from now on this process leaves no core
 * files (model/secret.h).  -EINVAL: the URL or the endpoint is none, or the file of
 * certificates cannot be read; -ENOTSUP: this build has no libcurl; -ENOMEM.
 */
int object_store_open (const struct object_options *opt,
                       struct object_store **ret, struct err *err);
void object_store_close (struct object_store *s);       // s may be NULL
const char *object_store_url (const struct object_store *s);
const char *object_store_endpoint (const struct object_store *s);
const char *object_store_region (const struct object_store *s);

/* What a client has done, retries too. */
struct object_counts {
    uint64_t requests, again;   // sent; of these, once more
    uint64_t sent, received;    // bytes of bodies
};
struct object_counts object_store_counts (const struct object_store *s);

struct object_facts {
    char key[OBJECT_KEY_MAX + 1];
    uint64_t size;              // bytes
    char etag[OBJECT_ETAG_MAX]; // without quotes
};

/* Write an object of a few MiB.  One with this key is replaced. */
int object_put (struct object_store *s, const char *key, const void *data,
                size_t size, struct err *err);

/* Read exactly n bytes at 'at'.  -EBADMSG: the object is shorter. */
int object_get (struct object_store *s, const char *key, uint64_t at,
                void *out, size_t n, struct err *err);

/* Size and etag. */
int object_head (struct object_store *s, const char *key,
                 struct object_facts *ret, struct err *err);

/* It need not be there. */
int object_delete (struct object_store *s, const char *key, struct err *err);

/* All objects whose key begins with 'prefix', in the order of their keys, page
 * by page.  A negative result of 'fn' ends it and is returned.
 */
typedef int object_fn (void *arg, const struct object_facts *o);
int object_list (struct object_store *s, const char *prefix, object_fn *fn,
                 void *arg, struct err *err);

/* ---- files of any size ---- */

/* The hashes of the first parts of a file, made while it still grows: then an
 * upload has only to send.  Of one thread at a time.  object_sums_add hashes the
 * next n parts (OBJECT_SUMS_MAX at most), which are there and never change.
 * NULL, -ENOMEM: no memory; -EBADMSG: the file ends before; or the system's error.
 */
#define OBJECT_SUMS_MAX 8
struct object_sums *object_sums_create (void);
void object_sums_destroy (struct object_sums *s);       // s may be NULL
int object_sums_add (struct object_sums *s, int fd, size_t n, struct err *err);
size_t object_sums_parts (const struct object_sums *s); // s may be NULL: 0

struct object_file {
    const char *key;
    int fd;                     // borrowed; nobody writes to it
    uint64_t size;              // bytes, from its beginning
    const struct object_sums *sums;     // of its first parts, borrowed; or NULL

    // of the upload of a large one, "" if there is none: keep it, and the upload
    // goes on where it ended, also in another process.  'begun' is called when
    // there is a new one, before any part; NULL, or its negative result ends it
    char upload[OBJECT_UPLOAD_MAX];
    int (*begun) (void *arg, const char *upload, struct err *err);
    void *arg;

    char etag[OBJECT_ETAG_MAX]; // of the object, once it is whole
};

/* Write the file as an object, in parts if it has more than one; parts that the
 * store already has from 'upload' are not sent again; an upload that it does
 * not know any more is begun anew.  Then ask for what is there, and compare, as
 * object_check_file.  0: the object is whole.  -EBADMSG: the file is shorter, its
 * bytes are not those of 'sums', or the object differs; -EFBIG: it would have more than 10,000 parts.
 */
int object_put_file (struct object_store *s, struct object_file *f,
                     struct err *err);

/* Whether the object is there and has the bytes of the file: 0, -ENOENT,
 * -EBADMSG: it differs.  By size and etag, which is made of MD5s; if that is
 * another, as in a bucket that encrypts with keys of its own, the object is read
 * and compared byte by byte.
 */
int object_check_file (struct object_store *s, struct object_file *f,
                       struct err *err);

/* Uploads that were begun and not ended, of keys that begin with 'prefix'; and
 * give one up: its parts go.  It need not be there.
 */
typedef int object_upload_fn (void *arg, const char *key, const char *upload);
int object_list_uploads (struct object_store *s, const char *prefix,
                         object_upload_fn *fn, void *arg, struct err *err);
int object_abort (struct object_store *s, const char *key, const char *upload,
                  struct err *err);

#endif
