/* common/net/keyring.c - a directory of keys that may connect */
#include "net/keyring.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/texts.h"
#include "base/vec.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES_MAX 65536               // keys in one directory
/* A directory that was changed so shortly before it was read is read again
 * after a while: its date has the resolution of a clock tick, so a later change
 * might not show.
 */
#define RACY_NS NS_PER_S
#define AGAIN_NS (50 * NS_PER_MS)

static const struct {
    enum key_state state;
    const char *name;
} places[] = {
    { KEY_ENROLLED, "enrolled" },
    { KEY_ROTATED, "rotated" },
    { KEY_REVOKED, "revoked" },
};

#define PLACES (sizeof (places) / sizeof (places[0]))

enum keyring_order { BY_KEY, BY_NAME, ORDERS };

static const size_t order_member[ORDERS] = {
    [BY_KEY] = offsetof (struct keyring_entry, file.public_key),
    [BY_NAME] = offsetof (struct keyring_entry, file.name),
};

struct keyring {
    char dir[PATH_MAX];
    struct keyring_entry *entries;      // all but KEY_OWN
    size_t count;
    const struct keyring_entry **sorted[ORDERS];
    int64_t changed_ns[PLACES];         // dates of the directories, 0: none
    int64_t read_ns;                    // when they were read, 0: never
    int rc;                             // result of the last reading
    struct err err;
};

static int64_t now_s (void)
{
    return clock_wall_ns () / NS_PER_S;
}

int keyring_default (char out[PATH_MAX], struct err *err)
{
    const char *config = getenv ("XDG_CONFIG_HOME"), *home = getenv ("HOME");
    int n;

    if (geteuid () == 0)
        n = snprintf (out, PATH_MAX, "/etc/rollcall/keys");
    else if (config && *config == '/')
        n = snprintf (out, PATH_MAX, "%s/rollcall/keys", config);
    else if (home && *home == '/')
        n = snprintf (out, PATH_MAX, "%s/.config/rollcall/keys", home);
    else
        return err_set (err, ENOENT, "the directory of keys is not known: "
                        "neither XDG_CONFIG_HOME nor HOME is set; give --dir");
    return n > 0 && n < PATH_MAX
               ? 0 : err_set (err, ENAMETOOLONG, "HOME is too long");
}

/* Make "DIR/PLACE/NAME.END".  'place' may be NULL; 'number' counts from 1. */
static int make_path (char out[PATH_MAX], const char *dir, const char *place,
                      const char *name, unsigned number, const char *end,
                      struct err *err)
{
    char more[16] = "";
    int n;

    if (!key_valid_name (name))
        return err_set (err, EINVAL, "\"%.80s\" is not a name for a key: "
                        "letters, digits, '.', '_' and '-', less than %d",
                        name, NET_WHO_MAX);
    if (number > 0)
        PRINT (more, "+%u", number);
    n = snprintf (out, PATH_MAX, "%s/%s%s%s%s%s", dir, place ? place : "",
                  place ? "/" : "", name, more, end);
    return n > 0 && n < PATH_MAX
               ? 0 : err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
}

/* ---- reading ---- */

static bool keyring_ends (const char *name, const char *end)
{
    size_t n = strlen (name), m = strlen (end);

    return n > m && strcmp (name + n - m, end) == 0;
}

static int add_file (const char *dir, const char *file, enum key_state state,
                     struct keyring_entry **entries, size_t *count,
                     struct err *err)
{
    struct keyring_entry *more, *e;
    char path[PATH_MAX];
    size_t n;
    int rc;

    if (*count >= ENTRIES_MAX)
        return err_set (err, E2BIG, "%s has more than %d keys", dir,
                        ENTRIES_MAX);
    if (!fileio_join (path, sizeof (path), dir, file))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
    if (!(more = vec_one_more (*entries, *count, sizeof (*more))))
        return err_set (err, ENOMEM, "no memory for keys");
    *entries = more;
    e = &(*entries)[*count];
    rc = key_read (path, &e->file, err);
    explicit_bzero (e->file.secret_key, sizeof (e->file.secret_key));
    if (rc == -ENOENT)
        return 0;               // it was removed meanwhile
    if (rc < 0)
        return rc;
    e->state = state;
    // the name of the file counts, not the name in it
    n = strcspn (file, "+");
    n = file[n] ? n : strlen (file) - strlen (".pub");
    PRINT (e->file.name, "%.*s", (int)n, file);
    *count += key_valid_name (e->file.name);
    return 0;
}

/* Read the keys of a directory.  'lenient': skip invalid files. */
static int add_dir (const char *dir, const char *end, enum key_state state,
                    bool lenient, struct keyring_entry **entries,
                    size_t *count, struct err *err)
{
    DIR *d = opendir (dir);
    struct dirent *e;
    int rc = 0, listed = 0;

    if (!d)
        return errno == ENOENT ? 0 : err_sys (err, errno, "cannot read %s",
                                              dir);
    while (rc == 0 && (e = fileio_next_entry (d, &listed))) {
        if (e->d_name[0] == '.' || !keyring_ends (e->d_name, end))
            continue;
        rc = add_file (dir, e->d_name, state, entries, count, err);
        if (lenient && (rc == -EBADMSG || rc == -EPERM))
            rc = 0;
    }
    if (rc == 0 && listed < 0)
        rc = err_sys (err, -listed, "cannot read %s", dir);
    (void)closedir (d);
    return rc;
}

static int keyring_compare (const void *a, const void *b)
{
    const struct keyring_entry *x = a, *y = b;
    int by_name = strcmp (x->file.name, y->file.name);

    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    return by_name ? by_name : strcmp (x->file.public_key, y->file.public_key);
}

/* Read all directories.  Invalid files of revoked keys are errors, those of
 * enrolled keys may be skipped.
 */
static int read_places (const char *dir, bool lenient,
                        struct keyring_entry **ret, size_t *count,
                        struct err *err)
{
    char path[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < PLACES && rc == 0; i++) {
        if (!fileio_join (path, sizeof (path), dir, places[i].name))
            return err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
        rc = add_dir (path, ".pub", places[i].state,
                      lenient && places[i].state != KEY_REVOKED, ret, count,
                      err);
    }
    return rc;
}

int keyring_list (const char *dir, struct keyring_entry **ret, size_t *count,
                  struct err *err)
{
    int rc;

    *ret = NULL;
    *count = 0;
    if (access (dir, F_OK) < 0)
        return err_sys (err, errno, "cannot read %s", dir);
    rc = add_dir (dir, ".key", KEY_OWN, false, ret, count, err);
    if (rc == 0)
        rc = read_places (dir, false, ret, count, err);
    if (rc < 0) {
        free (*ret);
        *ret = NULL;
        return rc;
    }
    if (*count > 1)
        qsort (*ret, *count, sizeof (**ret), keyring_compare);
    return 0;
}

/* ---- asking ---- */

struct keyring *keyring_open (const char *dir)
{
    struct keyring *k = calloc (1, sizeof (*k));

    if (k)
        PRINT (k->dir, "%s", dir);
    return k;
}

static void forget_entries (struct keyring *k)
{
    for (int i = 0; i < ORDERS; i++) {
        free (k->sorted[i]);
        k->sorted[i] = NULL;
    }
    free (k->entries);
    k->entries = NULL;
    k->count = 0;
}

void keyring_close (struct keyring *k)
{
    if (k)
        forget_entries (k);
    free (k);
}

static const char *member_of (const struct keyring_entry *e, size_t member)
{
    return (const char *)e + member;
}

static int compare_members (const void *a, const void *b, void *member)
{
    const struct keyring_entry *const *x = a, *const *y = b;
    size_t at = *(const size_t *)member;
    int rc = strcmp (member_of (*x, at), member_of (*y, at));

    return rc ? rc : (*x > *y) - (*x < *y);
}

/* Every message of every agent is looked up. */
static int sort_entries (struct keyring *k)
{
    for (int order = 0; order < ORDERS && k->count > 0; order++) {
        size_t member = order_member[order];

        if (!(k->sorted[order] = calloc (k->count, sizeof (*k->sorted[0]))))
            return err_set (&k->err, ENOMEM, "no memory for keys");
        for (size_t i = 0; i < k->count; i++)
            k->sorted[order][i] = &k->entries[i];
        qsort_r (k->sorted[order], k->count, sizeof (*k->sorted[0]),
                 compare_members, &member);
    }
    return 0;
}

/* The next entry with this key, or name: at *at, which is SIZE_MAX at first. */
static const struct keyring_entry *next_entry (const struct keyring *k,
                                               enum keyring_order order,
                                               const char *text, size_t *at)
{
    size_t member = order_member[order], end = k->count;

    if (*at == SIZE_MAX) {
        for (*at = 0; *at < end;) {
            size_t middle = *at + (end - *at) / 2;

            if (strcmp (member_of (k->sorted[order][middle], member), text) < 0)
                *at = middle + 1;
            else
                end = middle;
        }
    } else
        ++*at;
    return *at < k->count &&
                   strcmp (member_of (k->sorted[order][*at], member), text) == 0
               ? k->sorted[order][*at] : NULL;
}

/* Read the directories again if they have changed. */
static void refresh (struct keyring *k)
{
    int64_t now = clock_wall_ns ();
    bool fresh = k->read_ns > 0, late = now - k->read_ns > AGAIN_NS ||
                                        now < k->read_ns;

    for (size_t i = 0; i < PLACES; i++) {
        char path[PATH_MAX];
        struct stat st;
        int64_t changed = 0;

        if (fileio_join (path, sizeof (path), k->dir, places[i].name) &&
            stat (path, &st) == 0)
            changed = clock_ns (&st.st_mtim);
        // dates in the future are valid, too
        if (changed != k->changed_ns[i] ||
            (late && llabs (k->read_ns - changed) < RACY_NS))
            fresh = false;
        k->changed_ns[i] = changed;
    }
    if (fresh)
        return;
    forget_entries (k);
    k->read_ns = now;
    k->rc = read_places (k->dir, true, &k->entries, &k->count, &k->err);
    if (k->rc == 0)
        k->rc = sort_entries (k);
    if (k->rc < 0)
        k->read_ns = 0;         // read again next time
}

static int keyring_refuse (const struct keyring_entry *e,
                           const char *public_key,
                           struct err *why)
{
    char fingerprint[KEY_FINGERPRINT_SIZE], date[32] = "?";
    time_t t;
    struct tm tm;

    key_fingerprint (public_key, fingerprint);
    if (!e)
        return err_set (why, ENOKEY, "key %s is not enrolled: if it "
                        "is wanted, rollcall key enrol '%s' NAME", fingerprint,
                        public_key);
    t = (time_t)(e->state == KEY_REVOKED ? e->file.revoked : e->file.until);
    if (gmtime_r (&t, &tm))
        (void)strftime (date, sizeof (date), "%Y-%m-%d %H:%M UTC", &tm);
    if (e->state == KEY_REVOKED)
        return err_set (why, EKEYREVOKED, "key %s, of %s, was revoked on "
                        "%s", fingerprint, e->file.name, date);
    return err_set (why, EKEYEXPIRED, "key %s, of %s, was replaced, and valid "
                    "until %s", fingerprint, e->file.name, date);
}

int keyring_allow (void *keyring, const char *public_key,
                   char who[NET_WHO_MAX], struct err *why)
{
    struct keyring *k = keyring;
    const struct keyring_entry *found = NULL, *e;

    refresh (k);
    if (k->rc < 0)
        return err_set (why, -k->rc, "keys cannot be checked: %s",
                        k->err.text);
    for (size_t at = SIZE_MAX; (e = next_entry (k, BY_KEY, public_key, &at));) {
        // revoking takes precedence, which is the order of states
        if (!found || e->state == KEY_REVOKED ||
            (e->state == KEY_ENROLLED && found->state == KEY_ROTATED))
            found = e;
    }
    if (!found || found->state == KEY_REVOKED ||
        (found->state == KEY_ROTATED && found->file.until <= now_s ()))
        return keyring_refuse (found, public_key, why);
    memcpy (who, found->file.name, NET_WHO_MAX);
    return 0;
}

/* Whether a list of names, separated by spaces, contains this one. */
static bool has_host (const char *hosts, const char *host)
{
    size_t n = strchr (host, ' ') ? 0 : strlen (host);

    for (const char *p = hosts; *p; p += strcspn (p, " ")) {
        p += strspn (p, " ");
        if (n > 0 && strncmp (p, host, n) == 0 &&
            (p[n] == ' ' || p[n] == '\0'))
            return true;
    }
    return false;
}

/* Find the key of a name; *ret is NULL if there is none any more. */
static int find_name (struct keyring *k, const char *who,
                      const struct keyring_entry **ret, struct err *why)
{
    const struct keyring_entry *found = NULL, *e;

    *ret = NULL;
    refresh (k);
    if (k->rc < 0)
        return err_set (why, EACCES, "keys cannot be checked: %s",
                        k->err.text);
    for (size_t at = SIZE_MAX; (e = next_entry (k, BY_NAME, who, &at));) {
        if (e->state != KEY_REVOKED && (!found || e->state == KEY_ENROLLED))
            found = e;
    }
    *ret = found;
    return 0;
}

int keyring_reads (struct keyring *k, const char *who,
                   char ret[KEY_READS_SIZE], struct err *why)
{
    const struct keyring_entry *found;
    int rc = find_name (k, who, &found, why);

    if (rc == 0 && (!found || !found->file.reads[0]))
        rc = err_set (why, EACCES, "key %s is one of a node, which reads "
                      "nothing: where the aggregator is, rollcall key bind %s "
                      "--reads USER, or --reads-all, makes it one of a person",
                      who, who);
    if (rc == 0)
        memcpy (ret, found->file.reads, KEY_READS_SIZE);
    return rc;
}

int keyring_speaks (struct keyring *k, const char *who, const char *host,
                    struct err *why)
{
    const struct keyring_entry *found;
    int rc = find_name (k, who, &found, why);

    if (rc < 0)
        return rc;
    if (found && found->file.reads[0])
        return err_set (why, EACCES, "key %s is one of a person (--reads), and "
                        "delivers nothing", who);
    if (!found || !found->file.hosts[0])
        return 0;
    if (strcmp (found->file.hosts, KEY_ANY_HOST) == 0 ||
        has_host (found->file.hosts, host))
        return 1;
    return err_set (why, EACCES, "key %s is bound to host %.300s, not to "
                    "%.100s: to allow that, rollcall key bind %s --host HOST, "
                    "or --any-host", who, found->file.hosts, host, who);
}

int keyring_security (const char *dir, struct keyring *k,
                      struct net_security *ret, struct err *err)
{
    struct key_file own;
    char path[PATH_MAX];
    int rc = make_path (path, dir, NULL, KEYRING_SERVER, 0, ".key", err);

    memset (ret, 0, sizeof (*ret));
    if (rc == 0 && (rc = key_read (path, &own, err)) == -ENOENT)
        return err_set (err, ENOENT, "there is no %s: make one with rollcall "
                        "key new " KEYRING_SERVER " --dir %s", path, dir);
    if (rc == 0 && !own.secret_key[0])
        rc = err_set (err, ENOKEY, "%s has no secret key", path);
    if (rc == 0) {
        memcpy (ret->public_key, own.public_key, NET_KEY_SIZE);
        memcpy (ret->secret_key, own.secret_key, NET_KEY_SIZE);
        ret->allow = keyring_allow;
        ret->allow_arg = k;
    }
    explicit_bzero (&own, sizeof (own));
    return rc;
}

/* ---- changing ---- */

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
    int rc = make_path (secret, dir, NULL, k->name, 0, ".key", err);

    if (rc == 0)
        rc = make_path (public, dir, NULL, k->name, 0, ".pub", err);
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
    int rc = make_path (path, dir, NULL, name, 0, ".key", err);

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

    old->until = now_s () + grace_s;
    if (rc == 0)
        rc = make_path (path, dir, "rotated", old->name, 0, ".pub", err);
    return rc < 0 ? rc : write_public (path, old, err);
}

/* One key with two names would be two nodes for one.  Files that cannot be read
 * are of none.
 */
static int may_enrol (struct keyring *known, const char *name,
                      const char *public_key, struct err *err)
{
    const struct keyring_entry *e, *taken = NULL;

    if (known->rc == -ENOMEM)
        return err_set (err, ENOMEM, "no memory for keys");
    for (size_t at = SIZE_MAX; known->rc == 0 &&
                               (e = next_entry (known, BY_KEY, public_key,
                                                &at));) {
        if (e->state == KEY_REVOKED)
            return keyring_refuse (e, public_key, err);
        if (e->state == KEY_ENROLLED && strcmp (e->file.name, name) != 0)
            taken = e;
    }
    return taken ? err_set (err, EEXIST, "this key is enrolled as %s already",
                            taken->file.name) : 0;
}

/* 'known': what the directory had. */
static int enrol (struct keyring *known, const char *name,
                  const char *public_key, int64_t grace_s, struct err *err)
{
    struct key_file k = { .created = now_s () }, old;
    const char *dir = known->dir;
    char path[PATH_MAX];
    int rc = make_path (path, dir, "enrolled", name, 0, ".pub", err);

    if (rc < 0 || (rc = may_enrol (known, name, public_key, err)) < 0 ||
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
    return key_write (path, &k, err);
}

static struct keyring *read_known (const char *dir, struct err *err)
{
    struct keyring *k = keyring_open (dir);

    if (k)
        refresh (k);
    else
        (void)err_set (err, ENOMEM, "no memory for keys");
    return k;
}

int keyring_enrol (const char *dir, const char *name, const char *public_key,
                   int64_t grace_s, struct err *err)
{
    struct keyring *k = read_known (dir, err);
    int rc = k ? enrol (k, name, public_key, grace_s, err) : -ENOMEM;

    keyring_close (k);
    return rc;
}

/* The file FROM/NAME.pub; 'texts' has the keys of the others. */
static int enrol_file (struct keyring *known, const char *from,
                       const char *file, int64_t grace_s, struct texts *keys,
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
        rc = enrol (known, e->file.name, key, grace_s, &why);
    return rc < 0 ? err_set (err, -rc, "%s: %s", path, why.text) : 0;
}

static int is_public (const struct dirent *e)
{
    return e->d_name[0] != '.' && keyring_ends (e->d_name, ".pub") &&
           strcmp (e->d_name, KEYRING_SERVER ".pub") != 0;
}

int keyring_enrol_all (const char *dir, const char *from, int64_t grace_s,
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
            rc = enrol_file (known, from, list[i]->d_name, grace_s, &keys, &e,
                             err);
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
    int rc = make_path (path, dir, "enrolled", name, 0, ".pub", err);

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
    if (!key_valid_hosts (hosts))
        return err_set (err, EINVAL, "\"%.80s\" is not the name of a host, or "
                        "they are too many: %d bytes have room", hosts,
                        KEY_HOSTS_SIZE);
    return set_use (dir, name, hosts, "", err);
}

int keyring_let_read (const char *dir, const char *name, const char *reads,
                      struct err *err)
{
    if (!key_valid_reads (reads))
        return err_set (err, EINVAL, "\"%.80s\" is not the name of a user",
                        reads);
    return set_use (dir, name, "", reads, err);
}

static bool has_key (const char *dir, const char *place, const char *name,
                     const char *public_key)
{
    struct key_file there;
    char path[PATH_MAX];

    return make_path (path, dir, place, name, 0, ".pub", NULL) == 0 &&
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
    int rc = make_path (path, dir, "enrolled", k->name, 0, ".pub", err);

    explicit_bzero (public.secret_key, sizeof (public.secret_key));
    if (rc < 0 || has_key (dir, "enrolled", k->name, old->public_key))
        return rc < 0 ? rc : keyring_enrol (dir, k->name, k->public_key,
                                            grace_s, err);
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
    if (make_path (path, dir, NULL, old->name, 0, ".pub", NULL) == 0 &&
        key_read (path, &known, NULL) == 0)
        memcpy (old->public_key, known.public_key, NET_KEY_SIZE);
    old->until = now_s () + grace_s;
    return old;
}

int keyring_rotate (const char *dir, const char *name, int64_t grace_s,
                    struct err *err)
{
    char pair[PATH_MAX];
    struct key_file old, k;
    int rc = make_path (pair, dir, NULL, name, 0, ".key", err);

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
    int rc = make_path (from, dir, place, name, 0, ".pub", err);

    if (rc < 0 || (rc = key_read (from, &k, err)) < 0 ||
        (rc = make_place (dir, "revoked", err)) < 0)
        return rc;
    PRINT (k.name, "%s", name);
    k.revoked = now_s ();
    for (unsigned i = 0; rc == 0; i++) {
        rc = make_path (to, dir, "revoked", name, i, ".pub", err);
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
