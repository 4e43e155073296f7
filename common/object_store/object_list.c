/* common/object_store/object_list.c - what is in a store, page by page */
#include "object_store/ask.h"

#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_MAX 2048          // bytes

/* A list of one kind: what it consists of, and where the next page begins. */
struct list {
    struct object_store *store;
    const char *what, *element; // of a question; of an answer
    bool uploads;
    char prefix[URL_PREFIX_MAX + 2 + OBJECT_KEY_MAX];   // with that of the store
    char key[TOKEN_MAX], id[OBJECT_UPLOAD_MAX];         // of the next page
    object_fn *object;          // one of them
    object_upload_fn *upload;
    void *arg;
    struct err *err;
};

static int say_odd (const struct list *l)
{
    return err_set (l->err, EPROTO, "%s: the store's list cannot be read",
                    l->store->url);
}

/* The key of an element of the list, without the prefix of the store: false if
 * it is none of ours.
 */
static bool take_key (const struct list *l, const char *s, size_t n,
                      char out[OBJECT_KEY_MAX + 1])
{
    size_t prefix = strlen (l->store->prefix);

    if (!answer_text (s, s + n, "Key", out, OBJECT_KEY_MAX + 1) ||
        strncmp (out, l->store->prefix, prefix) != 0)
        return false;
    memmove (out, out + prefix, strlen (out + prefix) + 1);
    return true;
}

static int take_object (const struct list *l, const char *s, size_t n)
{
    struct object_facts o;
    char text[OBJECT_ETAG_MAX + 32];
    int64_t size;

    if (!take_key (l, s, n, o.key) ||
        !answer_text (s, s + n, "Size", text, sizeof (text)) ||
        units_int (text, 0, INT64_MAX, &size) < 0)
        return say_odd (l);
    o.size = (uint64_t)size;
    if (!answer_text (s, s + n, "ETag", text, sizeof (text)))
        text[0] = '\0';
    object_etag (text, o.etag);
    return l->object (l->arg, &o);
}

static int take_upload (const struct list *l, const char *s, size_t n)
{
    char key[OBJECT_KEY_MAX + 1], id[OBJECT_UPLOAD_MAX];

    if (!take_key (l, s, n, key) ||
        !answer_text (s, s + n, "UploadId", id, sizeof (id)))
        return say_odd (l);
    return l->upload (l->arg, key, id);
}

/* Where the next page begins: 1: there is one; 0.  Never the same one again. */
static int take_next (struct list *l, const char *xml, const char *end)
{
    const char *name = l->uploads ? "NextKeyMarker" : "NextContinuationToken";
    char more[8], key[TOKEN_MAX], id[OBJECT_UPLOAD_MAX];

    PRINT (key, "%s", l->key);
    PRINT (id, "%s", l->id);
    if (!answer_text (xml, end, "IsTruncated", more, sizeof (more)))
        return say_odd (l);
    if (strcmp (more, "true") != 0)
        return 0;
    if (!answer_text (xml, end, name, l->key, sizeof (l->key)) || !*l->key)
        return say_odd (l);
    if (!answer_text (xml, end, "NextUploadIdMarker", l->id, sizeof (l->id)))
        l->id[0] = '\0';
    return strcmp (l->key, key) != 0 || strcmp (l->id, id) != 0 ? 1
           : say_odd (l);
}

static int list_page (struct list *l)
{
    const char *key = *l->key ? l->key : NULL, *id = *l->id ? l->id : NULL;
    struct ask q = { .what = l->what, .method = "GET", .nquery = 5, .query = {
                         { "list-type", l->uploads ? NULL : "2" },
                         { "prefix", l->prefix },
                         { "uploads", l->uploads ? "" : NULL },
                         { l->uploads ? "key-marker" : "continuation-token",
                           key },
                         { "upload-id-marker", id } } };
    const char *at, *end, *s;
    struct http_answer a;
    size_t n;
    int rc = object_ask (l->store, &q, &a, l->err), more;

    if (rc < 0)
        return rc;
    at = buf_text (&a.body);
    end = at + a.body.size;
    rc = more = take_next (l, at, end);
    while (rc >= 0 && answer_element (l->element, &at, end, &s, &n))
        rc = l->uploads ? take_upload (l, s, n) : take_object (l, s, n);
    buf_fini (&a.body);
    return rc < 0 ? rc : more;
}

static int list_all (struct list *l, struct object_store *s, const char *prefix,
                     void *arg, struct err *err)
{
    int rc;

    l->store = s;
    l->arg = arg;
    l->err = err;
    PRINT (l->prefix, "%s%s", s->prefix, prefix);
    do
        rc = list_page (l);
    while (rc > 0);
    return rc;
}

int object_list (struct object_store *s, const char *prefix, object_fn *fn,
                 void *arg, struct err *err)
{
    struct list l = { .what = "list", .element = "Contents", .object = fn };

    return list_all (&l, s, prefix, arg, err);
}

int object_list_uploads (struct object_store *s, const char *prefix,
                         object_upload_fn *fn, void *arg, struct err *err)
{
    struct list l = { .what = "list the uploads of", .element = "Upload",
                      .uploads = true, .upload = fn };

    return list_all (&l, s, prefix, arg, err);
}
