/* common/object_store/credentials.c - with what requests are signed */
#include "object_store/credentials.h"

#include "base/buf.h"
#include "base/clock.h"
#include "json/json.h"
#include "object_store/http.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((size_t)1 << 20)
#define INSTANCE_ADDRESS "http://169.254.169.254"
#define INSTANCE_SILENCE_S 2            // it is on this machine, or not at all
#define INSTANCE_TOKEN "X-aws-ec2-metadata-token"

void credentials_wipe (struct credentials *c)
{
    explicit_bzero (c, sizeof (*c));
}

bool credentials_are (const struct credentials *a, const struct credentials *b)
{
    return strcmp (a->key_id, b->key_id) == 0 &&
           strcmp (a->secret, b->secret) == 0 &&
           strcmp (a->token, b->token) == 0;
}

/* False: it does not fit, or could end a header. */
static bool set (char *out, size_t room, const char *text, size_t n)
{
    if (n >= room)
        return false;
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f)
            return false;
    }
    memcpy (out, text, n);
    out[n] = '\0';
    return true;
}

#define SET(array, text, n) set (array, sizeof (array), text, n)

/* ---- the environment ---- */

static const char *value_of (const char *name)
{
    const char *value = getenv (name);

    return value && *value ? value : NULL;
}

static int from_environment (struct credentials *ret, struct err *err)
{
    const char *id = value_of ("AWS_ACCESS_KEY_ID"), *token;
    const char *secret = value_of ("AWS_SECRET_ACCESS_KEY");

    if (!id || !secret)
        return 0;
    if (!(token = value_of ("AWS_SESSION_TOKEN")))
        token = "";
    ret->from = "the environment";
    if (SET (ret->key_id, id, strlen (id)) &&
        SET (ret->secret, secret, strlen (secret)) &&
        SET (ret->token, token, strlen (token)))
        return 1;
    return err_set (err, EINVAL, "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or "
                    "AWS_SESSION_TOKEN has blanks, or is too long");
}

/* ---- the file ---- */

static void trim (const char **s, size_t *n)
{
    while (*n > 0 && strchr (" \t\r", **s))
        (*s)++, (*n)--;
    while (*n > 0 && strchr (" \t\r", (*s)[*n - 1]))
        (*n)--;
}

static bool is_word (const char *word, const char *s, size_t n)
{
    return strlen (word) == n && strncasecmp (word, s, n) == 0;
}

/* "name = value" of the section: false if the value is unusable. */
static bool take_line (const char *s, size_t n, struct credentials *ret)
{
    const char *equals = memchr (s, '=', n), *value;
    size_t nname, nvalue;

    if (!equals || *s == '#' || *s == ';')
        return true;
    value = equals + 1;
    nname = (size_t)(equals - s);
    nvalue = n - nname - 1;
    trim (&s, &nname);
    trim (&value, &nvalue);
    if (is_word ("aws_access_key_id", s, nname))
        return SET (ret->key_id, value, nvalue);
    if (is_word ("aws_secret_access_key", s, nname))
        return SET (ret->secret, value, nvalue);
    if (is_word ("aws_session_token", s, nname))
        return SET (ret->token, value, nvalue);
    return true;
}

int credentials_of_file (const char *text, const char *section,
                         struct credentials *ret, struct err *err)
{
    bool here = false, usable = true;

    while (*text) {
        const char *s = text;
        size_t n = strcspn (s, "\n");

        text += n + (s[n] == '\n');
        trim (&s, &n);
        if (n > 1 && *s == '[' && s[n - 1] == ']') {
            const char *name = s + 1;
            size_t size = n - 2;

            trim (&name, &size);
            here = strlen (section) == size &&
                   strncmp (section, name, size) == 0;
        } else if (here && n > 0) {
            usable = take_line (s, n, ret) && usable;
        }
    }
    if (!usable)
        return err_set (err, EINVAL, "a value of [%s] has blanks, or is too "
                        "long", section);
    return *ret->key_id && *ret->secret;
}

/* Its path; false: nobody said where. */
static bool path_of_file (char path[PATH_MAX])
{
    const char *named = value_of ("AWS_SHARED_CREDENTIALS_FILE");
    const char *home = value_of ("HOME");

    if (!named && !home)
        return false;
    (void)snprintf (path, PATH_MAX, "%s%s", named ? named : home,
                    named ? "" : "/.aws/credentials");
    return true;
}

/* It may be a symbolic link: that is how secrets are mounted. */
static int read_all (const char *path, struct buf *out)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC), rc = fd < 0 ? -errno : 0;
    off_t size = fd < 0 ? 0 : lseek (fd, 0, SEEK_END);
    void *room;

    if (size < 0)
        rc = -errno;
    if (rc == 0 && !(room = buf_extend (out, (size_t)size)))
        rc = -EFBIG;
    if (rc == 0)
        rc = fileio_pread_all (fd, room, (size_t)size, 0);
    fileio_close (fd);
    return rc;
}

static int from_file (struct credentials *ret, struct err *err)
{
    const char *section = value_of ("AWS_PROFILE");
    char path[PATH_MAX];
    struct buf text;
    int rc;

    if (!path_of_file (path))
        return 0;
    ret->from = "the file of credentials";
    buf_init (&text, FILE_MAX_BYTES);
    if ((rc = read_all (path, &text)) == -ENOENT || rc == -ENOTDIR)
        return 0;
    if (rc < 0)
        rc = err_sys (err, -rc, "cannot read it");
    else
        rc = credentials_of_file (buf_text (&text),
                                  section ? section : "default", ret, err);
    if (text.data)
        explicit_bzero (text.data, text.cap);
    buf_fini (&text);
    return rc < 0 ? err_prefix (err, rc, "%s", path) : rc;
}

/* ---- the instance ---- */

/* "2026-11-26T14:00:00Z" */
static int64_t time_of (const char *text)
{
    struct tm tm = { .tm_sec = 0 };
    const char *end = strptime (text, "%Y-%m-%dT%H:%M:%S", &tm);

    return end && *end == 'Z' ? (int64_t)timegm (&tm) * NS_PER_S : INT64_MAX;
}

int credentials_of_instance (const char *json, size_t size,
                             struct credentials *ret, struct err *err)
{
    struct json *j = json_parse (json, size, NULL);
    const char *id = json_text (json_get (j, "AccessKeyId"), "");
    const char *secret = json_text (json_get (j, "SecretAccessKey"), "");
    const char *token = json_text (json_get (j, "Token"), "");
    int rc = 1;

    ret->from = "the instance's metadata";
    ret->until_ns = time_of (json_text (json_get (j, "Expiration"), ""));
    // what cannot be parsed is not repeated
    if (!*id || !*secret || !SET (ret->key_id, id, strlen (id)) ||
        !SET (ret->secret, secret, strlen (secret)) ||
        !SET (ret->token, token, strlen (token)))
        rc = err_set (err, EINVAL, "the instance's metadata have no "
                      "credentials");
    json_free (j);
    return rc;
}

/* Ask for a path, with the token of the session or for it: 1, 0: not there. */
static int ask_instance (struct http *h, const char *method, const char *path,
                         const char *header, struct http_answer *ret,
                         struct err *err)
{
    const char *address = value_of ("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    char url[1024], line[1024];
    struct http_request q = { .method = method, .url = url, .nheaders = 1,
                              .headers = (char *[]){ line } };
    int rc;

    PRINT (line, "%s", header);
    PRINT (url, "%s%s", address ? address : INSTANCE_ADDRESS, path);
    rc = http_ask (h, &q, ret, err);
    explicit_bzero (line, sizeof (line));
    return rc < 0 ? rc : ret->status == 200 && ret->body.size > 0;
}

#define ROLES "/latest/meta-data/iam/security-credentials/"

/* The role of the instance, then its credentials. */
static int ask_role (struct http *h, const char *token,
                     struct credentials *ret, struct err *err)
{
    struct http_answer a;
    char path[512] = "";
    int rc = ask_instance (h, "GET", ROLES, token, &a, err);

    if (rc > 0)
        PRINT (path, ROLES "%.*s",
               (int)strcspn (buf_text (&a.body), "\r\n \t/?#"),
               buf_text (&a.body));
    buf_fini (&a.body);
    if (rc <= 0)
        return rc;
    if ((rc = ask_instance (h, "GET", path, token, &a, err)) > 0)
        rc = credentials_of_instance (buf_text (&a.body), a.body.size, ret,
                                      err);
    if (a.body.data)
        explicit_bzero (a.body.data, a.body.cap);
    buf_fini (&a.body);
    return rc;
}

static int from_instance (struct credentials *ret, struct err *err)
{
    struct http_options opt = { .proxy = "", .silence_s = INSTANCE_SILENCE_S };
    const char *disabled = value_of ("AWS_EC2_METADATA_DISABLED");
    char token[512];
    struct http_answer a;
    struct http *h;
    int rc;

    if (disabled && strcasecmp (disabled, "true") == 0)
        return 0;
    if ((rc = http_create (&opt, &h, err)) < 0)
        return rc;
    rc = ask_instance (h, "PUT", "/latest/api/token",
                       INSTANCE_TOKEN "-ttl-seconds: 300", &a, err);
    if (rc > 0)
        PRINT (token, INSTANCE_TOKEN ": %s", buf_text (&a.body));
    buf_fini (&a.body);
    if (rc > 0)
        rc = ask_role (h, token, ret, err);
    explicit_bzero (token, sizeof (token));
    http_destroy (h);
    return rc == -EHOSTUNREACH ? 0 : rc;        // it is no such instance
}

/* ---- all of them ---- */

int credentials_read (struct credentials *ret, struct err *err)
{
    static int (*const places[]) (struct credentials *, struct err *) = {
        from_environment, from_file, from_instance,
    };

    for (size_t i = 0; i < sizeof (places) / sizeof (*places); i++) {
        int rc;

        *ret = (struct credentials){ .until_ns = INT64_MAX };
        if ((rc = places[i] (ret, err)) != 0)
            return rc < 0 ? rc : 0;
    }
    return err_set (err, ENOKEY, "there are no credentials for the object "
                    "store: neither in AWS_ACCESS_KEY_ID and "
                    "AWS_SECRET_ACCESS_KEY, nor in "
                    "AWS_SHARED_CREDENTIALS_FILE, nor from the instance");
}
