/* aggregator/store/object_mark.c - which segments of a root are objects in a store
 */
#include "store/object_mark.h"

#include "base/buf.h"
#include "base/cmp.h"
#include "base/units.h"
#include "base/vec.h"
#include "json/json.h"
#include "ledger/ledger.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK_BYTES_MAX 4096
#define PLACE "place.json"
#define PLACE_BYTES_MAX 16384

// between what a mark says and what it becomes nobody else changes it
static pthread_mutex_t marks = PTHREAD_MUTEX_INITIALIZER;

void object_mark_key (const char *root_id, int64_t segment,
                      char out[OBJECT_MARK_KEY_MAX])
{
    (void)snprintf (out, OBJECT_MARK_KEY_MAX, "%.32s/segments/%08" PRId64,
                    root_id, segment);
}

static void dir_of (const char *root, bool gone, char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/" OBJECT_MARK_DIR "%s", root,
                    gone ? "/" OBJECT_MARK_GONE : "");
}

static void path_of (const char *root, bool gone, int64_t segment,
                     char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/" OBJECT_MARK_DIR "/%s%08" PRId64, root,
                    gone ? OBJECT_MARK_GONE "/" : "", segment);
}

static bool is_there (const char *root, bool gone, int64_t segment)
{
    char path[PATH_MAX];

    path_of (root, gone, segment, path);
    return access (path, F_OK) == 0;
}

int object_mark_begin (const char *root, struct err *err)
{
    char path[PATH_MAX];

    dir_of (root, true, path);
    return fileio_mkdirs (path, FILEIO_DIR_MODE, err);
}

/* ---- the place ---- */

int object_place_write (const char *root, const struct object_options *opt,
                        const struct object_store *s, struct err *err)
{
    // a password may be in the name of a proxy
    bool secret = opt->proxy && strchr (opt->proxy, '@');
    struct json *j = json_object ();
    char dir[PATH_MAX];

    dir_of (root, false, dir);
    json_add_text (j, "store", object_store_url (s));
    json_add_text (j, "endpoint", object_store_endpoint (s));
    json_add_text (j, "region", object_store_region (s));
    json_add_nonempty (j, "ca", opt->ca_file ? opt->ca_file : "");
    json_add_nonempty (j, "proxy", opt->proxy && !secret ? opt->proxy : "");
    return json_replace (j, true, dir, PLACE, FILEIO_FILE_MODE, err);
}

int object_place_read (const char *root, struct object_place *ret,
                       struct err *err)
{
    char path[PATH_MAX];
    struct json *j = NULL;
    struct buf text;
    int rc;

    *ret = (struct object_place){ .url = "" };
    (void)snprintf (path, sizeof (path), "%s/" OBJECT_MARK_DIR "/" PLACE, root);
    buf_init (&text, PLACE_BYTES_MAX);
    if ((rc = fileio_read_at (AT_FDCWD, path, &text, err)) == 0)
        j = json_parse ((const char *)text.data, text.size, NULL);
    buf_fini (&text);
    PRINT (ret->url, "%s", json_text (json_get (j, "store"), ""));
    PRINT (ret->endpoint, "%s", json_text (json_get (j, "endpoint"), ""));
    PRINT (ret->region, "%s", json_text (json_get (j, "region"), ""));
    PRINT (ret->ca_file, "%s", json_text (json_get (j, "ca"), ""));
    PRINT (ret->proxy, "%s", json_text (json_get (j, "proxy"), ""));
    json_free (j);
    return rc < 0 || *ret->url
               ? rc : err_set (err, EBADMSG, "%s does not say where the object "
                               "store is", path);
}

bool object_place_is (const struct object_place *place,
                      const struct object_store *s)
{
    return strcmp (place->url, object_store_url (s)) == 0 &&
           strcmp (place->endpoint, object_store_endpoint (s)) == 0;
}

static void fill (const char **option, const char *noted)
{
    if (!*option && *noted)
        *option = noted;
}

void object_place_fill (const struct object_place *place,
                        struct object_options *opt)
{
    fill (&opt->url, place->url);
    fill (&opt->endpoint, place->endpoint);
    fill (&opt->region, place->region);
    fill (&opt->ca_file, place->ca_file);
    fill (&opt->proxy, place->proxy);
}

/* ---- marks ---- */

/* What cannot be parsed may have said that bytes are elsewhere. */
static void parse (const struct buf *text, struct object_mark *ret)
{
    struct json *j = json_parse ((const char *)text->data, text->size, NULL);
    int64_t size;

    if (json_int (json_get (j, "size"), &size) && size >= 0 &&
        *json_text (json_get (j, "store"), "")) {
        ret->state = json_is_true (json_get (j, "whole")) ? OBJECT_WHOLE
                                                          : OBJECT_BEGUN;
        ret->size = (uint64_t)size;
        PRINT (ret->url, "%s", json_text (json_get (j, "store"), ""));
        PRINT (ret->upload, "%s", json_text (json_get (j, "upload"), ""));
        PRINT (ret->etag, "%s", json_text (json_get (j, "etag"), ""));
        ret->evicted = json_is_true (json_get (j, "evicted"));
        ret->freed = json_is_true (json_get (j, "freed"));
        ret->lost = json_is_true (json_get (j, "lost"));
    } else {
        ret->evicted = true;
    }
    json_free (j);
}

int object_mark_read (const char *root, int64_t segment,
                      struct object_mark *ret, struct err *err)
{
    char path[PATH_MAX];
    struct buf text;
    int rc;

    *ret = (struct object_mark){ .state = OBJECT_UNMARKED };
    path_of (root, false, segment, path);
    buf_init (&text, MARK_BYTES_MAX);
    if ((rc = fileio_read_at (AT_FDCWD, path, &text, err)) == 0)
        parse (&text, ret);
    ret->evicted = ret->evicted || rc == -EFBIG;
    buf_fini (&text);
    if (is_there (root, true, segment))
        ret->state = OBJECT_GONE;
    return rc == -ENOENT || rc == -EFBIG ? 0 : rc;
}

int object_mark_set (const char *root, int64_t segment,
                     const struct object_mark *mark, struct err *err)
{
    struct json *j = json_object ();
    char dir[PATH_MAX], name[24];
    int rc;

    json_add_text (j, "store", mark->url);
    json_add_int (j, "size", (int64_t)mark->size);
    json_add_bool (j, "whole", mark->state == OBJECT_WHOLE);
    json_add_nonempty (j, "upload", mark->upload);
    json_add_nonempty (j, "etag", mark->etag);
    json_add_bool (j, "evicted", mark->evicted);
    json_add_bool (j, "freed", mark->freed);
    json_add_bool (j, "lost", mark->lost);
    dir_of (root, false, dir);
    PRINT (name, "%08" PRId64, segment);
    (void)pthread_mutex_lock (&marks);
    if (is_there (root, true, segment)) {
        json_free (j);
        rc = err_set (err, ESTALE, "segment %" PRId64 " was collected",
                      segment);
    } else {
        rc = json_replace (j, false, dir, name, FILEIO_FILE_MODE, err);
    }
    (void)pthread_mutex_unlock (&marks);
    return rc;
}

int object_mark_condemn (const char *root, int64_t segment, int64_t copied_to,
                         struct err *err)
{
    char path[PATH_MAX], text[24];
    int rc = 0;

    dir_of (root, true, path);
    if (access (path, F_OK) < 0 && errno == ENOENT)
        return 0;
    path_of (root, true, segment, path);
    (void)pthread_mutex_lock (&marks);
    PRINT (text, "%" PRId64, copied_to);
    if (!is_there (root, true, segment))
        rc = fileio_replace (path, text, strlen (text), FILEIO_FILE_MODE, err);
    (void)pthread_mutex_unlock (&marks);
    return rc;
}

int64_t object_mark_copied_to (const char *root, int64_t segment)
{
    char path[PATH_MAX];
    struct buf text;
    int64_t ret = 0;

    path_of (root, true, segment, path);
    buf_init (&text, MARK_BYTES_MAX);
    if (fileio_read_at (AT_FDCWD, path, &text, NULL) < 0 ||
        units_int (buf_text (&text), 0, LEDGER_SEGMENT_MAX, &ret) < 0)
        ret = 0;
    buf_fini (&text);
    return ret;
}

/* The mark goes first: what is left of both says that it is gone. */
int object_mark_drop (const char *root, int64_t segment, struct err *err)
{
    char path[PATH_MAX];

    for (int gone = 0; gone < 2; gone++) {
        path_of (root, gone, segment, path);
        if (unlink (path) < 0 && errno != ENOENT)
            return err_sys (err, errno, "cannot remove %s", path);
        dir_of (root, gone, path);
        if (fileio_sync_dir (path, err) < 0)
            return -EIO;
    }
    return 0;
}

int object_mark_list (const char *root, bool gone, int64_t **numbers,
                      size_t *n, struct err *err)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *dir;
    int rc = 0;

    dir_of (root, gone, path);
    if (!(dir = opendir (path)))
        return errno == ENOENT ? 0 : err_sys (err, errno, "cannot read %s",
                                              path);
    while ((e = fileio_next_entry (dir, &rc))) {
        int64_t number;

        if (units_int (e->d_name, 0, LEDGER_SEGMENT_MAX, &number) == 0 &&
            (rc = vec_push (numbers, n, &number, sizeof (number))) < 0)
            break;
    }
    (void)closedir (dir);
    if (rc < 0)
        return err_sys (err, -rc, "cannot read %s", path);
    if (*n > 0)
        qsort (*numbers, *n, sizeof (**numbers), cmp_int64);
    return 0;
}
