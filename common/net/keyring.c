/* common/net/keyring.c - a directory of keys that may connect: reading and asking */
#include "net/keyring_private.h"

#include "base/clock.h"
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

_Static_assert (sizeof (places) / sizeof (places[0]) == KEYRING_PLACES, "");

static const size_t order_member[KEYRING_ORDERS] = {
    [KEYRING_BY_KEY] = offsetof (struct keyring_entry, file.public_key),
    [KEYRING_BY_NAME] = offsetof (struct keyring_entry, file.name),
};

int64_t keyring_now_s (void)
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
int keyring_path (char out[PATH_MAX], const char *dir, const char *place,
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

bool keyring_ends (const char *name, const char *end)
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

/* What becomes of invalid files: they are told, or skipped without a word. */
struct bad_files {
    keyring_bad_fn *tell;       // NULL: skip them
    void *arg;
};

static bool is_left_out (const struct bad_files *bad, int rc)
{
    return bad && (rc == -EBADMSG || rc == -EPERM ||
                   (rc == -EACCES && bad->tell));
}

/* Read the keys of a directory.  'bad' is NULL: the first invalid file fails it. */
static int add_dir (const char *dir, const char *end, enum key_state state,
                    const struct bad_files *bad,
                    struct keyring_entry **entries, size_t *count,
                    struct err *err)
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
        if (!is_left_out (bad, rc))
            continue;
        if (bad->tell)
            bad->tell (bad->arg, rc, err);
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

/* Read all directories.  Invalid files of revoked keys are not skipped without a
 * word, those of enrolled keys may be.
 */
static int read_places (const char *dir, const struct bad_files *bad,
                        struct keyring_entry **ret, size_t *count,
                        struct err *err)
{
    char path[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < KEYRING_PLACES && rc == 0; i++) {
        if (!fileio_join (path, sizeof (path), dir, places[i].name))
            return err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
        rc = add_dir (path, ".pub", places[i].state,
                      bad && !bad->tell && places[i].state == KEY_REVOKED
                          ? NULL : bad, ret, count, err);
    }
    return rc;
}

int keyring_list (const char *dir, struct keyring_entry **ret, size_t *count,
                  keyring_bad_fn *tell, void *arg, struct err *err)
{
    const struct bad_files list = { tell, arg }, *bad = tell ? &list : NULL;
    int rc;

    *ret = NULL;
    *count = 0;
    if (access (dir, F_OK) < 0)
        return err_sys (err, errno, "cannot read %s", dir);
    rc = add_dir (dir, ".key", KEY_OWN, bad, ret, count, err);
    if (rc == 0)
        rc = read_places (dir, bad, ret, count, err);
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
    for (int i = 0; i < KEYRING_ORDERS; i++) {
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
    for (int order = 0; order < KEYRING_ORDERS && k->count > 0; order++) {
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
const struct keyring_entry *keyring_next (const struct keyring *k,
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
void keyring_refresh (struct keyring *k)
{
    static const struct bad_files skipped = { .tell = NULL };
    int64_t now = clock_wall_ns ();
    bool fresh = k->read_ns > 0, late = now - k->read_ns > AGAIN_NS ||
                                        now < k->read_ns;

    for (size_t i = 0; i < KEYRING_PLACES; i++) {
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
    k->rc = read_places (k->dir, &skipped, &k->entries, &k->count, &k->err);
    if (k->rc == 0)
        k->rc = sort_entries (k);
    if (k->rc < 0)
        k->read_ns = 0;         // read again next time
}

int keyring_refuse (const struct keyring_entry *e, const char *public_key,
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

    keyring_refresh (k);
    if (k->rc < 0)
        return err_set (why, -k->rc, "keys cannot be checked: %s",
                        k->err.text);
    for (size_t at = SIZE_MAX; (e = keyring_next (k, KEYRING_BY_KEY, public_key,
                                                  &at));) {
        // revoking takes precedence, which is the order of states
        if (!found || e->state == KEY_REVOKED ||
            (e->state == KEY_ENROLLED && found->state == KEY_ROTATED))
            found = e;
    }
    if (!found || found->state == KEY_REVOKED ||
        (found->state == KEY_ROTATED && found->file.until <= keyring_now_s ()))
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
    keyring_refresh (k);
    if (k->rc < 0)
        return err_set (why, EACCES, "keys cannot be checked: %s",
                        k->err.text);
    for (size_t at = SIZE_MAX; (e = keyring_next (k, KEYRING_BY_NAME, who,
                                                  &at));) {
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
    int rc = keyring_path (path, dir, NULL, KEYRING_SERVER, 0, ".key", err);

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
