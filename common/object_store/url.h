/* common/object_store/url.h - names of objects in URLs, and their queries
 *
 * What is signed is what is sent: each byte that is not unreserved (RFC 3986) is
 * "%XX", and the parameters of a query are in the order of their encoded names.
 */
#ifndef ROLLCALL_OBJECT_STORE_URL_H
#define ROLLCALL_OBJECT_STORE_URL_H

#include "base/buf.h"
#include "base/err.h"

#define URL_MAX 8192            // bytes

/* Append a text, encoded; 'slashes' stay as they are in a path. */
void url_encode (struct buf *out, const char *text, bool slashes);

struct url_parameter {
    const char *name, *value;   // value NULL: it is left out
};

/* Append "?name=value&..." of at most URL_PARAMETERS parameters, sorted; nothing
 * if there are none.
 */
#define URL_PARAMETERS 8
void url_query (struct buf *out, const struct url_parameter *list, size_t n);

/* The parts of "s3://BUCKET/PREFIX".  -EINVAL: 'err' says what is wrong with
 * it.  'prefix' is "", or ends in a slash.
 */
#define URL_BUCKET_MAX 63
#define URL_PREFIX_MAX 512
int url_split (const char *url, char bucket[URL_BUCKET_MAX + 1],
               char prefix[URL_PREFIX_MAX + 2], struct err *err);

/* Whether a text is "http://HOST" or "https://HOST", perhaps with a port and a
 * path, and without name and password, query or blanks: 0 or -EINVAL.
 */
int url_check_endpoint (const char *endpoint, struct err *err);

#endif
