/* common/net/endpoints.c - several aggregators, and which of them a job goes to
 */
#include "net/endpoints.h"

#include "base/buf.h"
#include "base/units.h"
#include "net/keys.h"
#include "net/srv.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX (1 << 20)      // bytes
#define BLANKS " \t\r"
#define DNS "srv:"              // before a name that DNS knows the servers of
#define KEYS '@'                // before a file with the key of each

static int read_endpoints (const char *list, bool dns, struct endpoints *ret,
                           struct err *err);

static const struct endpoint *find (const struct endpoints *e, const char *name)
{
    for (size_t i = 0; i < e->n; i++) {
        if (strcmp (e->all[i].name, name) == 0)
            return &e->all[i];
    }
    return NULL;
}

static bool is_named (const char *word)
{
    return strncmp (word, DNS, strlen (DNS)) == 0;
}

static int add (struct endpoints *e, const char *name, const char *server_key,
                struct err *err)
{
    struct endpoint *one = &e->all[e->n];

    if (!units_is_endpoint (name, strlen (name)))
        return err_set (err, EINVAL, "\"%s\" is not of the form "
                        "tcp://HOST:PORT, as tcp://10.0.0.1:7077", name);
    if (find (e, name))
        return err_set (err, EINVAL, "%s is named twice", name);
    if (e->n == ENDPOINTS_MAX)
        return err_set (err, EINVAL, "more than %d aggregators are named",
                        ENDPOINTS_MAX);
    memset (one, 0, sizeof (*one));
    one->name = strdup (name);
    one->server_key = server_key ? strdup (server_key) : NULL;
    e->n++;
    return one->name && (one->server_key || !server_key)
               ? 0 : err_set (err, ENOMEM, "no memory for the aggregators");
}

/* Add what DNS names: 'key' is that of all, or the file with theirs.  Servers
 * without a key there may be anybody's.
 */
static int add_named (struct endpoints *e, const char *name, const char *key,
                      const struct endpoints *keys, struct err *err)
{
    struct srv_target targets[ENDPOINTS_MAX];
    char endpoint[SRV_HOST_MAX + 16];
    int n = srv_ask (name, targets, ENDPOINTS_MAX, err), rc = 0;

    for (int i = 0; i < n && rc == 0; i++) {
        const struct endpoint *known;

        PRINT (endpoint, "tcp://%.255s:%u", targets[i].host, targets[i].port);
        known = keys ? find (keys, endpoint) : NULL;
        if (keys && (!known || !known->server_key))
            rc = err_set (err, EINVAL, "DNS names %s, of which %s has no key",
                          endpoint, key);
        else if (!find (e, endpoint))
            rc = add (e, endpoint, keys ? known->server_key : key, err);
    }
    return n < 0 ? n : rc;
}

static int read_named (struct endpoints *e, const char *name, const char *key,
                       struct err *err)
{
    struct endpoints keys = { .n = 0 };
    int rc = 0;

    if (!key || *key != KEYS)
        return add_named (e, name, key, NULL, err);
    if ((rc = read_endpoints (key + 1, false, &keys, err)) == 0)
        rc = add_named (e, name, key + 1, &keys, err);
    endpoints_fini (&keys);
    return rc;
}

/* One line: it is cut into words. */
static int take_line (struct endpoints *e, char *line, bool dns,
                      struct err *err)
{
    char *rest, *name = strtok_r (line, BLANKS, &rest), *key;

    if (!name || name[0] == '#')
        return 0;
    key = strtok_r (NULL, BLANKS, &rest);
    if (key && strtok_r (NULL, BLANKS, &rest))
        return err_set (err, EINVAL, "behind %s and its server key there is "
                        "more than a comma or the end of the line", name);
    return dns && is_named (name) ? read_named (e, name + strlen (DNS), key, err)
                                  : add (e, name, key, err);
}

/* Keys have no comma: it ends a line in a file, too. */
static int take_text (struct endpoints *e, char *text, bool dns,
                      struct err *err)
{
    int rc = 0;

    for (char *line = text, *next; line && rc == 0; line = next) {
        next = strpbrk (line, line[strspn (line, BLANKS)] == '#' ? "\n"
                                                                 : ",\n");
        if (next)
            *next++ = '\0';
        rc = take_line (e, line, dns, err);
    }
    if (rc == 0 && e->n == 0)
        rc = err_set (err, EINVAL, "no aggregator is named");
    return rc;
}

/* A file that is mounted into a container is a symbolic link. */
static int read_file (const char *name, struct buf *out, struct err *err)
{
    char *path = realpath (name, NULL);
    int rc = path ? fileio_read_at (AT_FDCWD, path, out, err)
                  : err_set (err, errno, "%s is neither the address of an "
                             "aggregator (tcp://HOST:PORT) nor a file with "
                             "several: %s", name, strerror (errno));

    free (path);
    return rc;
}

static int read_list (const char *list, struct buf *out, struct err *err)
{
    int rc = 0;

    if (strstr (list, "://") || is_named (list))
        buf_put (out, list, strlen (list));
    else
        rc = read_file (list, out, err);
    if (rc == 0 && memchr (out->data, '\0', out->size))
        rc = err_set (err, EINVAL, "%s has a NUL byte", list);
    buf_put (out, "", 1);
    if (rc == 0 && out->failed)
        rc = err_set (err, ENOMEM, "no memory for the aggregators");
    return rc;
}

/* 'dns': whether DNS may be asked. */
static int read_endpoints (const char *list, bool dns, struct endpoints *ret,
                           struct err *err)
{
    struct err why = { "" };
    struct buf text;
    int rc;

    memset (ret, 0, sizeof (*ret));
    buf_init (&text, LIST_MAX);
    rc = read_list (list, &text, err);
    if (rc == 0 && (rc = take_text (ret, (char *)text.data, dns,
                                    &why)) < 0)
        (void)err_set (err, -rc, "the list of aggregators, %.200s: %.600s",
                       list, why.text);
    buf_fini (&text);
    return rc;
}

int endpoints_read (const char *list, struct endpoints *ret, struct err *err)
{
    return read_endpoints (list, true, ret, err);
}

int endpoints_one (const char *name, const char *server_key,
                   struct endpoints *ret, struct err *err)
{
    memset (ret, 0, sizeof (*ret));
    return add (ret, name, server_key, err);
}

void endpoints_fini (struct endpoints *e)
{
    for (size_t i = 0; i < e->n; i++) {
        free (e->all[i].name);
        free (e->all[i].server_key);
    }
    explicit_bzero (e, sizeof (*e));
}

/* ---- whose a job is ---- */

/* 'host': NULL for the job. */
static int weigh (const char *name, const char *job, const char *host,
                  struct digest *ret)
{
    struct digester *d = digester_create ();
    int rc = d ? digest_add (d, name, strlen (name) + 1) : -ENOMEM;

    if (rc == 0)
        rc = digest_add (d, job, strlen (job) + (host != NULL));
    if (rc == 0 && host)
        rc = digest_add (d, host, strlen (host));
    if (rc == 0)
        rc = digest_end (d, ret);
    digester_destroy (d);
    return rc;
}

struct place {
    size_t at;
    struct digest weight;
};

static int by_weight (const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return memcmp (y->weight.bytes, x->weight.bytes, DIGEST_SIZE);
}

int endpoints_order (const struct endpoints *e, const char *job,
                     const char *host, size_t order[ENDPOINTS_MAX],
                     struct err *err)
{
    struct place places[ENDPOINTS_MAX];

    for (size_t i = 0; i < e->n; i++) {
        places[i].at = i;
        if (weigh (e->all[i].name, job, host, &places[i].weight) < 0)
            return err_set (err, ENOMEM, "no memory for the aggregators");
    }
    qsort (places, e->n, sizeof (places[0]), by_weight);
    for (size_t i = 0; i < e->n; i++)
        order[i] = places[i].at;
    return 0;
}

int endpoints_sort (struct endpoints *e, const char *job, struct err *err)
{
    struct endpoints was = *e;
    size_t order[ENDPOINTS_MAX];
    int rc = endpoints_order (e, job, NULL, order, err);

    for (size_t i = 0; i < e->n && rc == 0; i++)
        e->all[i] = was.all[order[i]];
    explicit_bzero (&was, sizeof (was));        // it may have secrets
    return rc;
}

int endpoints_secure (struct endpoints *e, const char *key,
                      const char *server_key, struct err *err)
{
    for (size_t i = 0; i < e->n; i++) {
        struct endpoint *one = &e->all[i];
        const char *theirs = one->server_key ? one->server_key : server_key;
        int rc = theirs ? key_client (key, theirs, &one->security, err)
                        : err_set (err, ENOKEY, "%s has no server key: name it "
                                   "in the list, or with --server-key",
                                   one->name);

        if (rc < 0)
            return rc;
    }
    return 0;
}
