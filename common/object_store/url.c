/* common/object_store/url.c - names of objects in URLs, and their queries */
#include "object_store/url.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_unreserved (char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c >= '0' && c <= '9') || (c && strchr ("-._~", c));
}

void url_encode (struct buf *out, const char *text, bool slashes)
{
    for (; *text; text++) {
        if (is_unreserved (*text) || (slashes && *text == '/'))
            buf_put (out, text, 1);
        else
            buf_printf (out, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

/* ---- queries ---- */

static int compare (const void *pa, const void *pb)
{
    const struct buf *a = pa, *b = pb;

    // as strcmp of the names: '=' would come behind '-' and '.'
    return strcmp ((const char *)a->data, (const char *)b->data);
}

void url_query (struct buf *out, const struct url_parameter *list, size_t n)
{
    struct buf parts[URL_PARAMETERS];
    size_t used = 0;

    for (size_t i = 0; i < n && used < URL_PARAMETERS; i++) {
        struct buf *b = &parts[used];

        if (!list[i].value)
            continue;
        buf_init (b, URL_MAX);
        url_encode (b, list[i].name, false);
        buf_put (b, "", 1);
        url_encode (b, list[i].value, false);
        buf_put (b, "", 1);
        out->failed = out->failed || b->failed;
        if (!b->failed)
            used++;
        else
            buf_fini (b);
    }
    if (used > 1)
        qsort (parts, used, sizeof (*parts), compare);
    for (size_t i = 0; i < used; i++) {
        const char *name = (const char *)parts[i].data;

        buf_printf (out, "%c%s=%s", i == 0 ? '?' : '&', name,
                    name + strlen (name) + 1);
        buf_fini (&parts[i]);
    }
}

/* ---- what users name ---- */

static bool is_bucket (const char *s, size_t n)
{
    if (n < 3 || n > URL_BUCKET_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= '0' && s[i] <= '9') &&
            s[i] != '-' && s[i] != '.')
            return false;
    }
    return s[0] != '.' && s[0] != '-';
}

/* No prefix may make two names of one object: "a//b", "a/../b". */
static bool is_prefix (const char *s)
{
    while (*s) {
        size_t n = strcspn (s, "/");

        if (n == 0 || (n <= 2 && strspn (s, ".") >= n))
            return false;
        for (size_t i = 0; i < n; i++) {
            if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
                return false;
        }
        s += n + (s[n] == '/');
    }
    return true;
}

int url_split (const char *url, char bucket[URL_BUCKET_MAX + 1],
               char prefix[URL_PREFIX_MAX + 2], struct err *err)
{
    const char *rest;
    size_t n;

    if (strncmp (url, "s3://", 5) != 0)
        return err_set (err, EINVAL, "%s is no object store: s3://BUCKET/PREFIX"
                        " is expected", url);
    url += 5;
    n = strcspn (url, "/");
    if (!is_bucket (url, n))
        return err_set (err, EINVAL, "\"%.*s\" is no name of a bucket: 3 to 63 "
                        "small letters, digits, '-' and '.' are expected",
                        (int)(n < 80 ? n : 80), url);
    rest = url[n] ? url + n + 1 : "";
    if (strlen (rest) > URL_PREFIX_MAX || !is_prefix (rest))
        return err_set (err, EINVAL, "%.80s is no prefix in a bucket: at most "
                        "%d bytes, without \"//\", \".\" and \"..\", are "
                        "expected", rest, URL_PREFIX_MAX);
    memcpy (bucket, url, n);
    bucket[n] = '\0';
    n = strlen (rest);
    memcpy (prefix, rest, n + 1);
    if (n > 0 && rest[n - 1] != '/')
        memcpy (prefix + n, "/", 2);
    return 0;
}

int url_check_endpoint (const char *endpoint, struct err *err)
{
    const char *host = strstr (endpoint, "://");
    size_t scheme = host ? (size_t)(host - endpoint) : 0;

    if (host && ((scheme == 4 && strncmp (endpoint, "http", 4) == 0) ||
                 (scheme == 5 && strncmp (endpoint, "https", 5) == 0)) &&
        host[3] && !strchr ("/:", host[3]) && !strpbrk (endpoint, "@?# \t\r\n"))
        return 0;
    // a name and a password may be in it: it is not repeated
    return err_set (err, EINVAL, "the endpoint of the object store has to be "
                    "http://HOST:PORT or https://HOST:PORT, without a user");
}
