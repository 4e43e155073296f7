/* common/object_store/object_list.c - what is in a store, page by page */
#include "object_store/ask.h"

#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_MAX 2048          // bytes

/* One page of XML. */
struct page {
    struct object_store *store;
    const char *at, *end;
    struct err *err;
};

static int say_odd (const struct page *p)
{
    return err_set (p->err, EPROTO, "%s: the store's list cannot be read",
                    p->store->url);
}

/* The key of an element of the list, without the prefix of the store: false if
 * it is none of ours.
 */
static bool take_key (const struct page *p, const char *s, size_t n,
                      char out[OBJECT_KEY_MAX + 1])
{
    size_t prefix = strlen (p->store->prefix);

    if (!answer_text (s, s + n, "Key", out, OBJECT_KEY_MAX + 1) ||
        strncmp (out, p->store->prefix, prefix) != 0)
        return false;
    memmove (out, out + prefix, strlen (out + prefix) + 1);
    return true;
}

/* The text of an element of the page; "" if it is not there. */
static bool page_says (const struct page *p, const char *name, char *out,
                       size_t room)
{
    if (answer_text (p->at, p->end, name, out, room))
        return true;
    *out = '\0';
    return false;
}

/* ---- objects ---- */

static int each_object (struct page *p, object_fn *fn, void *arg)
{
    struct object_facts o;
    char text[OBJECT_ETAG_MAX + 32];
    const char *s;
    size_t n;
    int rc = 0;

    while (rc == 0 && answer_element ("Contents", &p->at, p->end, &s, &n)) {
        int64_t size;

        if (!take_key (p, s, n, o.key) ||
            !answer_text (s, s + n, "Size", text, sizeof (text)) ||
            units_int (text, 0, INT64_MAX, &size) < 0)
            return say_odd (p);
        o.size = (uint64_t)size;
        if (!answer_text (s, s + n, "ETag", text, sizeof (text)))
            text[0] = '\0';
        object_etag (text, o.etag);
        rc = fn (arg, &o);
    }
    return rc;
}

/* The page behind 'token', which becomes that of the next one: 1: there is one;
 * 0, negative.
 */
static int list_page (struct object_store *s, const char *prefix,
                      char token[TOKEN_MAX], object_fn *fn, void *arg,
                      struct err *err)
{
    struct ask q = { .what = "list", .method = "GET", .nquery = 3, .query = {
                         { "list-type", "2" }, { "prefix", prefix },
                         { "continuation-token", *token ? token : NULL } } };
    struct http_answer a;
    struct page p = { .store = s, .err = err };
    char more[8];
    int rc = object_ask (s, &q, &a, err);

    if (rc < 0)
        return rc;
    p.at = buf_text (&a.body);
    p.end = p.at + a.body.size;
    if (!page_says (&p, "IsTruncated", more, sizeof (more)))
        rc = say_odd (&p);
    else if (strcmp (more, "true") != 0)
        token[0] = '\0';
    else if (!page_says (&p, "NextContinuationToken", token, TOKEN_MAX))
        rc = say_odd (&p);
    if (rc == 0)
        rc = each_object (&p, fn, arg);
    buf_fini (&a.body);
    return rc < 0 ? rc : *token != '\0';
}

int object_list (struct object_store *s, const char *prefix, object_fn *fn,
                 void *arg, struct err *err)
{
    char whole[URL_PREFIX_MAX + 2 + OBJECT_KEY_MAX], token[TOKEN_MAX] = "";
    int rc;

    PRINT (whole, "%s%s", s->prefix, prefix);
    do
        rc = list_page (s, whole, token, fn, arg, err);
    while (rc > 0);
    return rc;
}

/* ---- uploads that were not ended ---- */

struct upload_page {
    char key[OBJECT_KEY_MAX + 1], id[OBJECT_UPLOAD_MAX];        // the next one
};

static int each_upload (struct page *p, object_upload_fn *fn, void *arg)
{
    char key[OBJECT_KEY_MAX + 1], id[OBJECT_UPLOAD_MAX];
    const char *s;
    size_t n;
    int rc = 0;

    while (rc == 0 && answer_element ("Upload", &p->at, p->end, &s, &n)) {
        if (!take_key (p, s, n, key) ||
            !answer_text (s, s + n, "UploadId", id, sizeof (id)))
            return say_odd (p);
        rc = fn (arg, key, id);
    }
    return rc;
}

static int uploads_page (struct object_store *s, const char *prefix,
                         struct upload_page *next, object_upload_fn *fn,
                         void *arg, struct err *err)
{
    struct ask q = { .what = "list the uploads of", .method = "GET",
                     .nquery = 4, .query = {
                         { "uploads", "" }, { "prefix", prefix },
                         { "key-marker", *next->key ? next->key : NULL },
                         { "upload-id-marker", *next->id ? next->id : NULL } } };
    struct http_answer a;
    struct page p = { .store = s, .err = err };
    char more[8];
    int rc = object_ask (s, &q, &a, err);

    if (rc < 0)
        return rc;
    p.at = buf_text (&a.body);
    p.end = p.at + a.body.size;
    (void)page_says (&p, "IsTruncated", more, sizeof (more));
    (void)page_says (&p, "NextKeyMarker", next->key, sizeof (next->key));
    (void)page_says (&p, "NextUploadIdMarker", next->id, sizeof (next->id));
    rc = each_upload (&p, fn, arg);
    buf_fini (&a.body);
    return rc < 0 ? rc : strcmp (more, "true") == 0 && *next->key;
}

int object_list_uploads (struct object_store *s, const char *prefix,
                         object_upload_fn *fn, void *arg, struct err *err)
{
    char whole[URL_PREFIX_MAX + 2 + OBJECT_KEY_MAX];
    struct upload_page next = { "", "" };
    int rc;

    PRINT (whole, "%s%s", s->prefix, prefix);
    do
        rc = uploads_page (s, whole, &next, fn, arg, err);
    while (rc > 0);
    return rc;
}
