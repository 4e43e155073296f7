/* common/net/keyring_change.c - a directory of keys: making, enrolling, rotating
 * and revoking them
 */
#include "net/keyring_private.h"

#include "base/fault.h"
#include "base/texts.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- new keys ---- */

/* Only public keys are there, and whoever serves need not be the one who says
 * who may connect, who may be root: whatever the umask, all can read it that
 * can enter 'dir'.
 */
static int make_place (const char *dir, const char *place, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    int rc;

    if (!fileio_join (path, sizeof (path), dir, place))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
    if ((rc = fileio_mkdirs (dir, 0700, err)) < 0 ||
        (rc = fileio_mkdirs (path, 0755, err)) < 0)
        return rc;
    if (stat (path, &st) == 0 && st.st_uid == geteuid () &&
        (st.st_mode & 0055) != 0055 &&
        chmod (path, (st.st_mode & 07777) | 0055) < 0)
        return err_sys (err, errno, "cannot make %s readable for others", path);
    return 0;
}

static int write_public (const char *path, const struct key_file *k,
                         struct err *err)
{
    struct key_file public = *k;

    explicit_bzero (public.secret_key, sizeof (public.secret_key));
    return key_write (path, &public, err);
}

/* The secret first: a .pub without it would be of no use to anybody.  That has
 * the former key, too.
 */
static int write_pair (const char *dir, const struct key_file *k,
                       const struct key_file *former, struct err *err)
{
    char secret[PATH_MAX], public[PATH_MAX];
    struct key_file shown = *k;
    int rc = keyring_path (secret, dir, NULL, k->name, 0, ".key", err);

    if (rc == 0)
        rc = keyring_path (public, dir, NULL, k->name, 0, ".pub", err);
    if (rc == 0)
        rc = key_write (secret, k, err);
    if (former) {
        memcpy (shown.former_key, former->public_key, NET_KEY_SIZE);
        shown.former_until = former->until;
    }
    if (rc == 0)
        rc = write_public (public, &shown, err);
    explicit_bzero (&shown, sizeof (shown));
    return rc;
}

int keyring_new (const char *dir, const char *name, struct err *err)
{
    char path[PATH_MAX];
    struct key_file k;
    int rc = keyring_path (path, dir, NULL, name, 0, ".key", err);

    if (rc < 0 || (rc = fileio_mkdirs (dir, 0700, err)) < 0)
        return rc;
    if (access (path, F_OK) == 0)
        return err_set (err, EEXIST, "there is a key %s already: rollcall key "
                        "rotate %s makes another one", path, name);
    rc = key_make (name, &k, err);
    if (rc == 0)
        rc = write_pair (dir, &k, NULL, err);
    explicit_bzero (&k, sizeof (k));
    return rc;
}

/* Keep the former key of 'name' valid for a while. */
static int keep_rotated (const char *dir, struct key_file *old,
                         int64_t grace_s, struct err *err)
{
    char path[PATH_MAX];
    int rc = make_place (dir, "rotated", err);

    old->until = keyring_now_s () + grace_s;
    if (rc == 0)
        rc = keyring_path (path, dir, "rotated", old->name, 0, ".pub", err);
    return rc < 0 ? rc : write_public (path, old, err);
}

/* One key with two names would be two nodes for one, and while keys that were
 * revoked cannot be read, this one may be one of them.
 */
static int may_enrol (struct keyring *known, const char *name,
                      const char *public_key, struct err *err)
{
    const struct keyring_entry *e, *taken = NULL;

    if (known->rc < 0)
        return err_set (err, -known->rc, "keys cannot be checked: %s",
                        known->err.text);
    for (size_t at = SIZE_MAX; (e = keyring_next (known, KEYRING_BY_KEY,
                                                  public_key, &at));) {
        if (e->state == KEY_REVOKED)
            return keyring_refuse (e, public_key, err);
        if (e->state == KEY_ENROLLED && strcmp (e->file.name, name) != 0)
            taken = e;
    }
    return taken ? err_set (err, EEXIST, "this key is enrolled as %s already",
                            taken->file.name) : 0;
}

static int check_hosts (const char *hosts, struct err *err)
{
    return key_valid_hosts (hosts)
               ? 0 : err_set (err, EINVAL, "\"%.80s\" is not the name of a host, "
                              "or they are too many: %d bytes have room", hosts,
                              KEY_HOSTS_SIZE);
}

static int check_reads (const char *reads, struct err *err)
{
    return key_valid_reads (reads)
               ? 0 : err_set (err, EINVAL, "\"%.80s\" is not the name of a user",
                              reads);
}

/* Of a node or of a person. */
static int check_use (const struct key_use *use, struct err *err)
{
    if (use->reads[0] && use->hosts[0])
        return err_set (err, EINVAL, "a key is a node's or a person's");
    return use->reads[0]   ? check_reads (use->reads, err)
           : use->hosts[0] ? check_hosts (use->hosts, err) : 0;
}

/* 'known': what the directory had. */
static int enrol (struct keyring *known, const char *name,
                  const char *public_key, int64_t grace_s,
                  const struct key_use *use, struct err *err)
{
    struct key_file k = { .created = keyring_now_s () }, old;
    const char *dir = known->dir;
    char path[PATH_MAX];
    int rc = keyring_path (path, dir, "enrolled", name, 0, ".pub", err);

    if (rc < 0 || (use && (rc = check_use (use, err)) < 0) ||
        (rc = may_enrol (known, name, public_key, err)) < 0 ||
        (rc = make_place (dir, "enrolled", err)) < 0)
        return rc;
    PRINT (k.name, "%s", name);
    memcpy (k.public_key, public_key, NET_KEY_SIZE);
    rc = key_read (path, &old, err);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    if (rc == 0) {
        memcpy (k.hosts, old.hosts, sizeof (k.hosts));
        memcpy (k.reads, old.reads, sizeof (k.reads));
    }
    if (rc == 0 && strcmp (old.public_key, public_key) != 0) {
        if (grace_s < 0)
            return err_set (err, EEXIST, "%s is enrolled with another key: "
                            "--replace replaces that key", name);
        PRINT (old.name, "%s", name);
        if ((rc = keep_rotated (dir, &old, grace_s, err)) < 0)
            return rc;
    }
    if (use) {
        PRINT (k.hosts, "%s", use->hosts);
        PRINT (k.reads, "%s", use->reads);
    }
    return key_write (path, &k, err);
}

static struct keyring *read_known (const char *dir, struct err *err)
{
    struct keyring *k = keyring_open (dir);

    if (k)
        keyring_refresh (k);
    else
        (void)err_set (err, ENOMEM, "no memory for keys");
    return k;
}

int keyring_enrol (const char *dir, const char *name, const char *public_key,
                   int64_t grace_s, const struct key_use *use, struct err *err)
{
    struct keyring *k = read_known (dir, err);
    int rc = k ? enrol (k, name, public_key, grace_s, use, err) : -ENOMEM;

    keyring_close (k);
    return rc;
}

/* The file FROM/NAME.pub; 'texts' has the keys of the others. */
static int enrol_file (struct keyring *known, const char *from,
                       const char *file, int64_t grace_s,
                       const struct key_use *use, struct texts *keys,
                       struct keyring_entry *e, struct err *err)
{
    char path[PATH_MAX], *key = e->file.public_key;
    struct err why = { "" };
    uint32_t n = keys->map.n;
    int rc = 0;

    PRINT (e->file.name, "%.*s", (int)(strlen (file) - strlen (".pub")), file);
    if (!fileio_join (path, sizeof (path), from, file))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", from);
    if ((rc = key_read_public (path, key, &why)) == 0 &&
        texts_intern (keys, key, strlen (key)) != n)
        rc = err_set (&why, keys->map.n == n ? EEXIST : ENOMEM,
                      "another file has this key");
    if (rc == 0)
        rc = enrol (known, e->file.name, key, grace_s, use, &why);
    return rc < 0 ? err_set (err, -rc, "%s: %s", path, why.text) : 0;
}

static int is_public (const struct dirent *e)
{
    return e->d_name[0] != '.' && keyring_ends (e->d_name, ".pub") &&
           strcmp (e->d_name, KEYRING_SERVER ".pub") != 0;
}

int keyring_enrol_all (const char *dir, const char *from, int64_t grace_s,
                       const struct key_use *use,
                       int (*fn) (void *arg, const struct keyring_entry *e,
                                  struct err *err),
                       void *arg, struct err *err)
{
    struct keyring *known = read_known (dir, err);
    struct texts keys = { .used = 0 };
    struct dirent **list = NULL;
    int n = known ? scandir (from, &list, is_public, alphasort) : 0;
    int rc = !known ? -ENOMEM
             : n < 0 ? err_sys (err, errno, "cannot read %s", from) : 0;

    for (int i = 0; i < n; i++) {
        struct keyring_entry e = { .state = KEY_ENROLLED };

        if (rc == 0)
            rc = enrol_file (known, from, list[i]->d_name, grace_s, use, &keys,
                             &e, err);
        if (rc == 0)
            rc = fn (arg, &e, err);
        free (list[i]);
    }
    free (list);
    texts_fini (&keys);
    keyring_close (known);
    return rc < 0 ? rc : n;
}

/* A key is a node's, or a person's. */
static int set_use (const char *dir, const char *name, const char *hosts,
                    const char *reads, struct err *err)
{
    struct key_file k;
    char path[PATH_MAX];
    int rc = keyring_path (path, dir, "enrolled", name, 0, ".pub", err);

    if (rc < 0)
        return rc;
    if ((rc = key_read (path, &k, err)) < 0)
        return rc == -ENOENT ? err_set (err, ENOENT, "%s is not enrolled in "
                                        "%s", name, dir) : rc;
    PRINT (k.hosts, "%s", hosts);
    PRINT (k.reads, "%s", reads);
    return write_public (path, &k, err);
}

int keyring_bind (const char *dir, const char *name, const char *hosts,
                  struct err *err)
{
    int rc = check_hosts (hosts, err);

    return rc < 0 ? rc : set_use (dir, name, hosts, "", err);
}

int keyring_let_read (const char *dir, const char *name, const char *reads,
                      struct err *err)
{
    int rc = check_reads (reads, err);

    return rc < 0 ? rc : set_use (dir, name, "", reads, err);
}

static bool has_key (const char *dir, const char *place, const char *name,
                     const char *public_key)
{
    struct key_file there;
    char path[PATH_MAX];

    return keyring_path (path, dir, place, name, 0, ".pub", NULL) == 0 &&
           key_read (path, &there, NULL) == 0 &&
           strcmp (there.public_key, public_key) == 0;
}

/* Allow the new key before it is used, if the old one is allowed. */
static int enrol_next (const char *dir, struct key_file *old,
                       const struct key_file *k, int64_t grace_s,
                       struct err *err)
{
    struct key_file public = *k, there;
    char path[PATH_MAX];
    int rc = keyring_path (path, dir, "enrolled", k->name, 0, ".pub", err);

    explicit_bzero (public.secret_key, sizeof (public.secret_key));
    if (rc < 0 || has_key (dir, "enrolled", k->name, old->public_key))
        return rc < 0 ? rc : keyring_enrol (dir, k->name, k->public_key,
                                            grace_s, NULL, err);
    if (access (path, F_OK) < 0)
        return 0;               // it is a node, which only has its own keys
    if (!has_key (dir, "rotated", k->name, old->public_key))
        return err_set (err, EEXIST, "%s is not the key of %s in %s: rollcall "
                        "key enrol --replace takes it", path, k->name, dir);
    // a rotation was interrupted: the enrolled key was never used
    if ((rc = key_read (path, &there, err)) < 0 ||
        (rc = keep_rotated (dir, old, grace_s, err)) < 0)
        return rc;
    memcpy (public.hosts, there.hosts, sizeof (public.hosts));
    memcpy (public.reads, there.reads, sizeof (public.reads));
    return key_write (path, &public, err);
}

/* The former key of an aggregator: agents know the one that its .pub had until
 * now, even if a rotation was interrupted before.
 */
static const struct key_file *former_of (const char *dir, struct key_file *old,
                                         int64_t grace_s)
{
    struct key_file known;
    char path[PATH_MAX];

    if (strcmp (old->name, KEYRING_SERVER) != 0 || grace_s <= 0)
        return NULL;
    if (keyring_path (path, dir, NULL, old->name, 0, ".pub", NULL) == 0 &&
        key_read (path, &known, NULL) == 0)
        memcpy (old->public_key, known.public_key, NET_KEY_SIZE);
    old->until = keyring_now_s () + grace_s;
    return old;
}

int keyring_rotate (const char *dir, const char *name, int64_t grace_s,
                    struct err *err)
{
    char pair[PATH_MAX];
    struct key_file old, k;
    int rc = keyring_path (pair, dir, NULL, name, 0, ".key", err);

    if (rc < 0 || (rc = key_read (pair, &old, err)) < 0)
        return rc;
    PRINT (old.name, "%s", name);
    rc = key_make (name, &k, err);
    if (rc == 0)
        rc = enrol_next (dir, &old, &k, grace_s, err);
    if (rc == 0)
        rc = write_pair (dir, &k, former_of (dir, &old, grace_s), err);
    explicit_bzero (&old, sizeof (old));
    explicit_bzero (&k, sizeof (k));
    return rc;
}

/* Revoke the key before removing it, so that it is never merely unknown. */
static int revoke_one (const char *dir, const char *place, const char *name,
                       struct err *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct key_file k, there;
    int rc = keyring_path (from, dir, place, name, 0, ".pub", err);

    if (rc < 0 || (rc = key_read (from, &k, err)) < 0 ||
        (rc = make_place (dir, "revoked", err)) < 0)
        return rc;
    PRINT (k.name, "%s", name);
    k.revoked = keyring_now_s ();
    for (unsigned i = 0; rc == 0; i++) {
        rc = keyring_path (to, dir, "revoked", name, i, ".pub", err);
        if (rc == 0 && (key_read (to, &there, NULL) == -ENOENT ||
                        strcmp (there.public_key, k.public_key) == 0))
            break;
    }
    if (rc == 0)
        rc = write_public (to, &k, err);
    if (rc == 0 && (rc = FAULT ("keys.unlink")) < 0)
        return err_sys (err, -rc, "cannot remove %s", from);
    if (rc == 0 && unlink (from) < 0)
        rc = err_sys (err, errno, "cannot remove %s", from);
    return rc;
}

int keyring_revoke (const char *dir, const char *name, struct err *err)
{
    int rotated = revoke_one (dir, "rotated", name, err);
    int enrolled = rotated < 0 && rotated != -ENOENT
                       ? rotated : revoke_one (dir, "enrolled", name, err);

    if (enrolled == -ENOENT && rotated == -ENOENT)
        return err_set (err, ENOENT, "%s is not enrolled in %s", name, dir);
    return enrolled == -ENOENT ? 0 : enrolled;
}
