/* aggregator/store/object_owner.c - whose the objects of a root are */
#include "store/object_owner.h"

#include "json/json.h"
#include "options/shell.h"
#include "store/object_mark.h"
#include "store/root.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUICK_SILENCE_S 5

static void key_of (const char *id, const char *name,
                    char out[OBJECT_MARK_KEY_MAX])
{
    (void)snprintf (out, OBJECT_MARK_KEY_MAX, "%.32s/%s", id, name);
}

int object_owner_read (struct object_store *s, const char *id, struct object_owner *ret,
                struct err *err)
{
    char key[OBJECT_MARK_KEY_MAX], text[OWNER_BYTES];
    struct json *j;
    int rc;

    key_of (id, OWNER_NAME, key);
    if ((rc = object_get (s, key, 0, text, sizeof (text), err)) < 0)
        return rc;
    j = json_parse (text, sizeof (text), NULL);
    PRINT (ret->token, "%s", json_text (json_get (j, "owner"), ""));
    PRINT (ret->host, "%s", json_text (json_get (j, "host"), ""));
    PRINT (ret->root, "%s", json_text (json_get (j, "root"), ""));
    PRINT (ret->since, "%s", json_text (json_get (j, "since"), ""));
    json_free (j);
    return *ret->token ? 0 : err_set (err, EBADMSG, "%s/%s names no owner",
                                      object_store_url (s), key);
}

/* What this root says of itself. */
static int describe (const char *root, struct object_owner *ret, struct err *err)
{
    char path[PATH_MAX];
    int rc = root_make_token (root, ret->token, err);

    if (rc < 0)
        return rc;
    if (gethostname (ret->host, sizeof (ret->host) - 1) < 0)
        ret->host[0] = '\0';
    PRINT (ret->root, "%.500s", realpath (root, path) ? path : root);
    clock_text (clock_wall_ns (), ret->since);
    return 0;
}

static int write_owner (struct object_store *s, const char *id,
                        const struct object_owner *o, struct err *err)
{
    char key[OBJECT_MARK_KEY_MAX], padded[OWNER_BYTES];
    struct json *j = json_object ();
    char *text;
    int rc;

    json_add_text (j, "owner", o->token);
    json_add_text (j, "host", o->host);
    json_add_text (j, "root", o->root);
    json_add_text (j, "since", o->since);
    text = json_print (j, false);
    json_free (j);
    memset (padded, ' ', sizeof (padded));
    if (!text || strlen (text) > sizeof (padded)) {
        rc = err_set (err, ENOMEM, "cannot describe the owner of objects");
    } else {
        memcpy (padded, text, strlen (text));
        key_of (id, OWNER_NAME, key);
        rc = object_put (s, key, padded, sizeof (padded), err);
    }
    free (text);
    return rc;
}

int object_owner_become (struct object_store *s, const char *root, const char *id,
                  struct err *err)
{
    struct object_owner mine = { .host = "" };
    int rc = describe (root, &mine, err);

    return rc < 0 ? rc : write_owner (s, id, &mine, err);
}

int object_owner_check (struct object_store *s, const char *root, const char *id,
                 struct err *err)
{
    char token[ROOT_ID_SIZE], word[SHELL_WORD (PATH_MAX)];
    struct object_owner o;
    int rc = root_make_token (root, token, err);

    if (rc < 0)
        return rc;
    rc = object_owner_read (s, id, &o, err);
    if (rc == -ENOENT)
        return object_owner_become (s, root, id, err);
    if (rc < 0 || strcmp (o.token, token) == 0)
        return rc;
    return err_set (err, ENOTUNIQ, "the objects of %s/%.32s are those of "
                    "another root with this id, %s:%s since %s: one of them "
                    "was made of what the other one had; give this one another "
                    "PREFIX, or, if that one is gone for good, rollcall fsck "
                    "aggregator --store %s --take-over %s",
                    object_store_url (s), id, o.host, o.root, o.since,
                    object_store_url (s), shell_word (root, word));
}

/* ---- all that is needed ---- */

static int any (void *arg, const struct object_facts *o)
{
    (void)arg;
    (void)o;
    return 0;
}

int object_owner_probe (struct object_store *s, const char *root, const char *id,
                 struct err *why, struct err *err)
{
    char key[OBJECT_MARK_KEY_MAX];
    int rc = object_owner_check (s, root, id, err);

    key_of (id, "probe", key);
    if (rc == 0)
        rc = object_put (s, key, "probe", 5, err);
    if (rc == 0)
        rc = object_list (s, key, any, NULL, err);
    if (rc == 0 && (rc = object_delete (s, key, why)) < 0 && rc != -EACCES)
        *err = *why;
    return rc == -EACCES && *why->text ? 0 : rc;
}

/* Whether this root has worked with the store before. */
static bool is_known (const char *root, const struct object_store *s)
{
    struct object_place place;

    return object_place_read (root, &place, NULL) == 0 &&
           object_place_is (&place, s);
}

int object_owner_probe_first (const char *root, const struct object_options *opt,
                       struct err *why, struct err *err)
{
    struct object_options quick = *opt;
    struct object_store *s = NULL;
    char id[ROOT_ID_SIZE];
    int rc;

    quick.tries = 1;
    quick.silence_s = QUICK_SILENCE_S;
    if ((rc = object_store_open (&quick, &s, err)) < 0 ||
        (rc = root_read_id (root, id, err)) < 0)
        goto out;
    rc = object_owner_probe (s, root, id, why, err);
    if (rc < 0 && (rc == -EHOSTUNREACH || rc == -EAGAIN || is_known (root, s))) {
        *why = *err;
        rc = 0;
    }
out:
    object_store_close (s);
    return rc;
}
