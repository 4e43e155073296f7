/* common/object_store/answer.c - what a store says: errors, and its XML
 *
 * These documents are flat, have no attributes that matter, and no elements of
 * one name within each other: looking for tags is enough.
 */
#include "object_store/answer.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- XML ---- */

/* The tag "<name>", "<name ...>" or "</name>" at or behind 'p': where it
 * begins, and *behind it.  NULL: none.
 */
static const char *find_tag (const char *p, const char *end, const char *open,
                             const char *name, const char **behind)
{
    size_t nopen = strlen (open), n = strlen (name);

    for (; p && (p = memchr (p, '<', (size_t)(end - p))); p++) {
        const char *q = p + nopen + n;

        if ((size_t)(end - p) <= nopen + n || memcmp (p, open, nopen) != 0 ||
            memcmp (p + nopen, name, n) != 0 || !strchr ("> \t\r\n/", *q))
            continue;
        if (!(q = memchr (q, '>', (size_t)(end - q))))
            return NULL;
        *behind = q + 1;
        return p;
    }
    return NULL;
}

bool answer_element (const char *name, const char **at, const char *end,
                     const char **ret, size_t *n)
{
    const char *begin, *close, *behind;

    if (!find_tag (*at, end, "<", name, &begin))
        return false;
    if (begin[-2] == '/') {             // <name/>
        close = behind = begin;
    } else if (!(close = find_tag (begin, end, "</", name, &behind))) {
        return false;
    }
    *ret = begin;
    *n = (size_t)(close - begin);
    *at = behind;
    return true;
}

/* An entity at 's', "&...;": the bytes that it stands for, into 'out' (at most
 * 4); *used is what it takes.  0: it is none.
 */
static size_t entity (const char *s, size_t n, char *out, size_t *used)
{
    static const struct {
        const char *name;
        char c;
    } known[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' },
                  { "&quot;", '"' }, { "&apos;", '\'' } };
    const char *semicolon = memchr (s, ';', n < 12 ? n : 12);
    unsigned long code;
    char *stop;

    for (size_t i = 0; i < sizeof (known) / sizeof (*known); i++) {
        *used = strlen (known[i].name);
        if (n >= *used && memcmp (s, known[i].name, *used) == 0) {
            *out = known[i].c;
            return 1;
        }
    }
    if (!semicolon || n < 4 || s[1] != '#')
        return 0;
    code = s[2] == 'x' ? strtoul (s + 3, &stop, 16) : strtoul (s + 2, &stop, 10);
    *used = (size_t)(semicolon - s) + 1;
    return stop == semicolon && code > 0 && code <= 0x10ffff
               ? utf8_put (out, (unsigned)code) : 0;
}

bool answer_text (const char *xml, const char *end, const char *name,
                  char *out, size_t room)
{
    const char *s;
    size_t n, used = 0;

    if (!answer_element (name, &xml, end, &s, &n))
        return false;
    for (size_t i = 0; i < n;) {
        char bytes[4] = { s[i] };
        size_t took = 1, k = 1;

        if (s[i] == '&' && !(k = entity (s + i, n - i, bytes, &took))) {
            took = k = 1;
            bytes[0] = '&';
        }
        if (used + k >= room)
            return false;
        memcpy (out + used, bytes, k);
        used += k;
        i += took;
    }
    out[used] = '\0';
    return true;
}

/* ---- errors ---- */

static const struct known_code {
    const char *code;
    enum answer_kind kind;
    int error;
} codes[] = {
    { "AccessDenied", ANSWER_RENEW, EACCES },
    { "AllAccessDisabled", ANSWER_NO, EACCES },
    { "AccountProblem", ANSWER_NO, EACCES },
    { "NoSuchKey", ANSWER_NO, ENOENT },
    { "NoSuchUpload", ANSWER_NO, ENOENT },
    { "NoSuchBucket", ANSWER_NO, ENXIO },
    { "InvalidBucketName", ANSWER_NO, ENXIO },
    { "InvalidAccessKeyId", ANSWER_RENEW, EKEYREJECTED },
    { "SignatureDoesNotMatch", ANSWER_RENEW, EKEYREJECTED },
    { "AuthorizationHeaderMalformed", ANSWER_RENEW, EKEYREJECTED },
    { "ExpiredToken", ANSWER_RENEW, EKEYEXPIRED },
    { "TokenRefreshRequired", ANSWER_RENEW, EKEYEXPIRED },
    { "InvalidToken", ANSWER_RENEW, EKEYREJECTED },
    { "RequestTimeTooSkewed", ANSWER_NO, ETIME },
    { "RequestExpired", ANSWER_NO, ETIME },
    { "InvalidRange", ANSWER_NO, EBADMSG },
    { "BadDigest", ANSWER_AGAIN, EBADMSG },
    { "InvalidDigest", ANSWER_NO, EPROTO },
    { "XAmzContentSHA256Mismatch", ANSWER_AGAIN, EBADMSG },
    { "IncompleteBody", ANSWER_AGAIN, EBADMSG },
    { "InvalidPart", ANSWER_NO, EBADMSG },
    { "SlowDown", ANSWER_AGAIN, EAGAIN },
    { "InternalError", ANSWER_AGAIN, EAGAIN },
    { "ServiceUnavailable", ANSWER_AGAIN, EAGAIN },
    { "OperationAborted", ANSWER_AGAIN, EAGAIN },
    { "RequestTimeout", ANSWER_AGAIN, EHOSTUNREACH },
};

static bool by_code (struct answer *a)
{
    for (size_t i = 0; i < sizeof (codes) / sizeof (*codes); i++) {
        if (strcmp (codes[i].code, a->code) == 0) {
            a->kind = codes[i].kind;
            a->error = codes[i].error;
            return true;
        }
    }
    return false;
}

static void by_status (struct answer *a, int status)
{
    bool again = status >= 500 || status == 429 || status == 408;

    a->kind = again ? ANSWER_AGAIN : ANSWER_NO;
    a->error = again ? EAGAIN : status == 404 ? ENOENT
               : status == 403 || status == 401 ? EACCES
               : status == 416 ? EBADMSG : EPROTO;
}

struct answer answer_judge (int status, const char *body, size_t size)
{
    const char *end = body + size, *at = body, *inside;
    struct answer a = { .kind = ANSWER_FINE };
    size_t n;

    if (size > 0 && answer_element ("Error", &at, end, &inside, &n)) {
        (void)answer_text (inside, inside + n, "Code", a.code, sizeof (a.code));
        (void)answer_text (inside, inside + n, "Message", a.message,
                           sizeof (a.message));
        if (status < 300 && !*a.code)
            status = 500;
    }
    if (status >= 200 && status < 300 && !*a.code)
        return a;
    if (!*a.code || !by_code (&a))
        by_status (&a, status < 300 ? 500 : status);
    return a;
}
