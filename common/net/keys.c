/* common/net/keys.c - key pairs and their files */
#include "net/keys.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/fault.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define KEY_BYTES 32
#define DATE_FORMAT "%Y-%m-%dT%H:%M:%SZ"

bool key_valid_name (const char *name)
{
    size_t n = strlen (name);

    return message_valid_name (name) && n < NET_WHO_MAX && name[0] != '.' &&
           strspn (name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789._-") == n;
}

bool key_valid (const char *key)
{
    uint8_t bytes[KEY_BYTES];
    bool valid = strlen (key) == NET_KEY_SIZE - 1 &&
                 strspn (key, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJK"
                              "LMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#") ==
                     NET_KEY_SIZE - 1 &&
                 zmq_z85_decode (bytes, key);

    explicit_bzero (bytes, sizeof (bytes));
    return valid;
}

int key_make (const char *name, struct key_file *ret, struct err *err)
{
    memset (ret, 0, sizeof (*ret));
    PRINT (ret->name, "%s", name);
    ret->created = clock_wall_ns () / NS_PER_S;
    do {                        // not one that looks like an option
        if (zmq_curve_keypair (ret->public_key, ret->secret_key) < 0)
            return err_set (err, ENOTSUP, "libzmq has no encryption here "
                            "(CURVE)");
    } while (ret->public_key[0] == '-');
    return 0;
}

/* ---- text ---- */

static bool parse_date (const char *text, int64_t *ret)
{
    struct tm tm = { .tm_sec = 0 };
    const char *end = strptime (text, DATE_FORMAT, &tm);

    if (!end || *end)
        return false;
    *ret = timegm (&tm);
    return *ret > 0;
}

bool key_valid_hosts (const char *hosts)
{
    for (const char *p = hosts; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 127 || strchr ("\"/", *p))
            return false;
    }
    return hosts[0] != '\0' && strlen (hosts) < KEY_HOSTS_SIZE;
}

bool key_valid_reads (const char *reads)
{
    return key_valid_hosts (reads) && !strchr (reads, ' ') &&
           strlen (reads) < KEY_READS_SIZE;
}

static bool take_text (char *out, size_t max, const char *value)
{
    if (out[0] || strlen (value) >= max)        // it is repeated, or too long
        return false;
    memcpy (out, value, strlen (value) + 1);
    return true;
}

/* Read a member of "metadata".  Unknown ones are ignored: they may be of
 * another tool.
 */
static bool take_metadata (struct key_file *k, const char *name,
                           const char *value)
{
    if (strcmp (name, "name") == 0)
        return key_valid_name (value) &&
               take_text (k->name, sizeof (k->name), value);
    if (strcmp (name, "created") == 0)
        return parse_date (value, &k->created);
    if (strcmp (name, "until") == 0)
        return parse_date (value, &k->until);
    if (strcmp (name, "former-until") == 0)
        return parse_date (value, &k->former_until);
    if (strcmp (name, "revoked") == 0)
        return parse_date (value, &k->revoked);
    if (strcmp (name, "hosts") == 0)
        return key_valid_hosts (value) &&
               take_text (k->hosts, sizeof (k->hosts), value);
    if (strcmp (name, "reads") == 0)
        return key_valid_reads (value) &&
               take_text (k->reads, sizeof (k->reads), value);
    return true;
}

static bool take_key (struct key_file *k, const char *name, const char *value)
{
    if (!key_valid (value))
        return false;
    if (strcmp (name, "public-key") == 0)
        return take_text (k->public_key, sizeof (k->public_key), value);
    if (strcmp (name, "secret-key") == 0)
        return take_text (k->secret_key, sizeof (k->secret_key), value);
    if (strcmp (name, "former-key") == 0)
        return take_text (k->former_key, sizeof (k->former_key), value);
    return false;
}

enum section { NO_SECTION, METADATA, CURVE };

/* Parse a line without its end: a comment, a section, or NAME = "VALUE". */
static bool take_line (struct key_file *k, char *line, enum section *section)
{
    char *name = line + strspn (line, " \t"), *value, *end;

    if (*name == '\0' || *name == '#')
        return true;
    if (name == line) {
        *section = strcmp (name, "metadata") == 0 ? METADATA
                   : strcmp (name, "curve") == 0  ? CURVE
                                                  : NO_SECTION;
        return *section != NO_SECTION;
    }
    value = strchr (name, '"');
    end = value ? strchr (value + 1, '"') : NULL;
    if (!end || end[1 + strspn (end + 1, " \t\r")] != '\0')
        return false;
    *value++ = *end = '\0';
    end = name + strcspn (name, " \t=");
    if (end == name || end[strspn (end, " \t")] != '=' ||
        end[strspn (end, " \t=")] != '\0' || strchr (end, '=') !=
            strrchr (end, '='))
        return false;
    *end = '\0';
    return *section == METADATA ? take_metadata (k, name, value)
           : *section == CURVE  ? take_key (k, name, value)
                                : false;
}

static bool is_pair (const struct key_file *k)
{
    char derived[NET_KEY_SIZE];

    return zmq_curve_public (derived, k->secret_key) == 0 &&
           strcmp (derived, k->public_key) == 0;
}

static int parse_lines (char *text, size_t size, struct key_file *ret,
                        struct err *err)
{
    enum section section = NO_SECTION;
    unsigned number = 1;

    if (size > 0 && memchr (text, '\0', size))
        return err_set (err, EBADMSG, "not a file of keys: it has a NUL");
    for (char *line = text; *line; number++) {
        char *end = line + strcspn (line, "\n");
        bool last = *end == '\0';

        *end = '\0';
        if (!take_line (ret, line, &section))
            return err_set (err, EBADMSG, "not a file of keys: line %u is not "
                            "a section (metadata, curve) or a valid NAME = "
                            "\"VALUE\"", number);
        line = last ? end : end + 1;
    }
    if (!ret->public_key[0])
        return err_set (err, EBADMSG, "not a file of keys: it has no "
                                      "public-key");
    if (ret->secret_key[0] && !is_pair (ret))
        return err_set (err, EBADMSG, "its secret and its public key do not "
                                      "belong together");
    return 0;
}

int key_parse (const char *text, size_t size, struct key_file *ret,
               struct err *err)
{
    char copy[KEY_FILE_MAX + 1];
    int rc;

    memset (ret, 0, sizeof (*ret));
    if (size > KEY_FILE_MAX)
        return err_set (err, EBADMSG, "not a file of keys: it has more than "
                        "%d bytes", KEY_FILE_MAX);
    if (size > 0)
        memcpy (copy, text, size);
    copy[size] = '\0';
    rc = parse_lines (copy, size, ret, err);
    explicit_bzero (copy, sizeof (copy));
    return rc;
}

static void print_date (struct buf *out, const char *name, int64_t date)
{
    time_t t = (time_t)date;
    char text[32];
    struct tm tm;

    if (date > 0 && gmtime_r (&t, &tm) &&
        strftime (text, sizeof (text), DATE_FORMAT, &tm) > 0)
        buf_printf (out, "    %s = \"%s\"\n", name, text);
}

void key_print (const struct key_file *k, struct buf *out)
{
    buf_printf (out, k->secret_key[0]
                    ? "# rollcall: whoever has this file is %s\n"
                    : "# rollcall: the public key of %s\n",
                k->name[0] ? k->name : "somebody");
    buf_printf (out, "metadata\n");
    if (k->name[0])
        buf_printf (out, "    name = \"%s\"\n", k->name);
    print_date (out, "created", k->created);
    print_date (out, "until", k->until);
    print_date (out, "revoked", k->revoked);
    print_date (out, "former-until", k->former_until);
    if (k->hosts[0])
        buf_printf (out, "    hosts = \"%s\"\n", k->hosts);
    if (k->reads[0])
        buf_printf (out, "    reads = \"%s\"\n", k->reads);
    buf_printf (out, "curve\n    public-key = \"%s\"\n", k->public_key);
    if (k->secret_key[0])
        buf_printf (out, "    secret-key = \"%s\"\n", k->secret_key);
    if (k->former_key[0])
        buf_printf (out, "    former-key = \"%s\"\n", k->former_key);
}

/* ---- files ---- */

static int check_private (int fd, const char *path, struct err *err)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return err_sys (err, errno, "cannot stat %s", path);
    if (st.st_uid != geteuid () && st.st_uid != 0)
        return err_set (err, EPERM, "%s belongs to another user (uid %ld): "
                        "it is not used", path, (long)st.st_uid);
    if (st.st_mode & 077)
        return err_set (err, EPERM, "%s has a secret, and users other than its "
                        "owner have access to it (mode %04o): it is not used. "
                        "If nobody can have read it: chmod 600; else make a "
                        "new key", path, (unsigned)st.st_mode & 07777);
    return 0;
}

static int read_some (const char *path, bool private, struct buf *out,
                      struct err *err)
{
    int fd = fileio_open_at (AT_FDCWD, path, err), rc;
    struct stat st;

    if (fd == -ENOENT)
        return err_set (err, ENOENT, "there is no %s: rollcall key new "
                        "makes keys", path);
    if (fd < 0)
        return fd;
    rc = private ? check_private (fd, path, err) : 0;
    if (rc == 0 && fstat (fd, &st) < 0)
        rc = err_sys (err, errno, "cannot stat %s", path);
    if (rc == 0 && (uintmax_t)st.st_size > out->max - out->size)
        rc = err_set (err, EBADMSG, "%s has more than %zu bytes: it is "
                      "not a key file", path, out->max);
    if (rc == 0 && st.st_size > 0) {
        void *at = buf_extend (out, (size_t)st.st_size);

        rc = at ? fileio_pread_all (fd, at, (size_t)st.st_size, 0) : -ENOMEM;
        if (rc < 0)
            (void)err_sys (err, -rc, "cannot read %s", path);
    }
    (void)close (fd);
    return rc;
}

int key_read_private (const char *path, struct buf *out, struct err *err)
{
    return read_some (path, true, out, err);
}

static bool is_secret_name (const char *path)
{
    size_t n = strlen (path);

    return n > 4 && strcmp (path + n - 4, ".key") == 0;
}

int key_read (const char *path, struct key_file *ret, struct err *err)
{
    struct err why = { "" };
    struct buf text;
    int rc;

    memset (ret, 0, sizeof (*ret));
    buf_init (&text, KEY_FILE_MAX);
    rc = read_some (path, is_secret_name (path), &text, err);
    if (rc == 0 && (rc = key_parse ((const char *)text.data, text.size, ret,
                                    &why)) < 0)
        (void)err_set (err, -rc, "%s: %s", path, why.text);
    // a secret in a file with another name must not be readable either
    if (rc == 0 && ret->secret_key[0] && !is_secret_name (path)) {
        buf_clear (&text);
        rc = key_read_private (path, &text, err);
    }
    if (text.data)
        explicit_bzero (text.data, text.cap);
    buf_fini (&text);
    if (rc < 0)
        explicit_bzero (ret, sizeof (*ret));
    return rc;
}

static int no_secret (const char *path, struct err *err)
{
    const char *slash = strrchr (path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen (name);

    if (n > 4 && strcmp (name + n - 4, ".key") == 0)
        n -= 4;
    return err_set (err, EINVAL, "%s is a secret key, which stays on its node: "
                    "give %.*s.pub", path, (int)n, name);
}

int key_read_public (const char *file_or_key, char ret[NET_KEY_SIZE],
                     struct err *err)
{
    struct key_file k;
    int rc;

    // a path may look like a key; if the file exists, it is a path
    if (key_valid (file_or_key) && access (file_or_key, F_OK) < 0) {
        memcpy (ret, file_or_key, NET_KEY_SIZE);
        return 0;
    }
    rc = key_read (file_or_key, &k, err);
    if (rc == -ENOENT)
        return err_set (err, ENOENT, "%s is neither a file nor a key (40 "
                        "characters)", file_or_key);
    if (rc == 0 && k.secret_key[0])
        rc = no_secret (file_or_key, err);
    if (rc == 0)
        memcpy (ret, k.public_key, NET_KEY_SIZE);
    explicit_bzero (&k, sizeof (k));
    return rc;
}

int key_write (const char *path, const struct key_file *k, struct err *err)
{
    struct buf text;
    int rc = FAULT ("keys.write");

    buf_init (&text, KEY_FILE_MAX);
    key_print (k, &text);
    if (text.failed)
        rc = -ENOMEM;
    if (rc < 0)
        (void)err_sys (err, -rc, "cannot write %s", path);
    else
        rc = fileio_replace (path, text.data, text.size,
                             k->secret_key[0] ? 0600 : 0644, err);
    if (text.data)
        explicit_bzero (text.data, text.cap);
    buf_fini (&text);
    return rc;
}

void key_fingerprint (const char *public_key, char ret[KEY_FINGERPRINT_SIZE])
{
    char hex[DIGEST_HEX_SIZE];
    uint8_t bytes[KEY_BYTES] = { 0 };
    struct digest d = { { 0 } };

    (void)zmq_z85_decode (bytes, public_key);
    (void)digest_of (bytes, sizeof (bytes), &d);
    digest_hex (&d, hex);
    memcpy (ret, hex, KEY_FINGERPRINT_SIZE - 1);
    ret[KEY_FINGERPRINT_SIZE - 1] = '\0';
}

/* Refuse a secret: who has the secret of the aggregator can impersonate it. */
static int refuse_secret (const char *server_key, struct err *err)
{
    struct key_file k;
    bool secret = access (server_key, F_OK) == 0 &&
                  key_read (server_key, &k, NULL) == 0 && k.secret_key[0];

    explicit_bzero (&k, sizeof (k));
    return secret ? err_set (err, ENOKEY, "%s is a secret key: --server-key "
                             "wants the aggregator's .pub, and the .key stays "
                             "on its host only", server_key)
                  : 0;
}

int key_read_servers (const char *file,
                      char ret[KEY_SERVERS_MAX][NET_KEY_SIZE], struct err *err)
{
    struct key_file k;
    int n = key_read (file, &k, err);

    if (n == 0)
        memcpy (ret[n++], k.public_key, NET_KEY_SIZE);
    if (n == 1 && k.former_key[0] &&
        k.former_until > clock_wall_ns () / NS_PER_S)
        memcpy (ret[n++], k.former_key, NET_KEY_SIZE);
    explicit_bzero (&k, sizeof (k));
    return n;
}

int key_client (const char *file, const char *server_key,
                struct net_security *ret, struct err *err)
{
    struct key_file k;
    int rc = key_read (file, &k, err);

    memset (ret, 0, sizeof (*ret));
    if (rc == 0 && !k.secret_key[0])
        rc = err_set (err, ENOKEY, "%s has no secret key: --key wants a .key, "
                      "not a .pub", file);
    if (rc == 0)
        rc = refuse_secret (server_key, err);
    if (rc == 0)
        rc = key_read_public (server_key, ret->server_key, err);
    if (rc == 0 && access (server_key, F_OK) == 0)
        ret->server_file = server_key;
    if (rc == 0) {
        memcpy (ret->public_key, k.public_key, NET_KEY_SIZE);
        memcpy (ret->secret_key, k.secret_key, NET_KEY_SIZE);
    }
    explicit_bzero (&k, sizeof (k));
    return rc;
}
