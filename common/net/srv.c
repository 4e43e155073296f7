/* common/net/srv.c - servers that DNS names (SRV records, RFC 2782) */
#include "net/srv.h"

#include "base/units.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <resolv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX 65535        // bytes: DNS has no longer ones
#define TRIES 2                 // of each server, so many seconds each
#define TRY_S 2

/* ---- an answer ---- */

struct answer {
    const unsigned char *at, *begin, *end;
};

/* Read a name; a pointer may refer to any earlier bytes. */
static int read_name (struct answer *a, char out[SRV_HOST_MAX])
{
    int n = dn_expand (a->begin, a->end, a->at, out, SRV_HOST_MAX);

    a->at += n < 0 ? 0 : n;
    return n < 0 ? -EBADMSG : 0;
}

static int read_u16 (struct answer *a, unsigned *ret)
{
    if (a->end - a->at < 2)
        return -EBADMSG;
    *ret = (unsigned)a->at[0] << 8 | a->at[1];
    a->at += 2;
    return 0;
}

/* A question, or the head of a record: its type; of a record its size, too. */
static int read_head (struct answer *a, bool record, unsigned *type,
                      unsigned *size)
{
    char name[SRV_HOST_MAX];
    unsigned class;
    int rc = read_name (a, name);

    if (rc == 0)
        rc = read_u16 (a, type);
    if (rc == 0)
        rc = read_u16 (a, &class);
    if (rc < 0 || !record)
        return rc;
    if (a->end - a->at < 4)     // how long it is valid
        return -EBADMSG;
    a->at += 4;
    if ((rc = read_u16 (a, size)) < 0 || a->end - a->at < (ptrdiff_t)*size)
        return -EBADMSG;
    if (class != ns_c_in)
        *type = ns_t_invalid;
    return 0;
}

/* The data of an SRV record: priority, weight, port, target.  1; 0: it says
 * that there is no server; -EBADMSG.
 */
static int read_target (struct answer *a, unsigned size, struct srv_target *ret)
{
    struct answer data = { a->at, a->begin, a->at + size };
    unsigned unused;

    if (read_u16 (&data, &unused) < 0 || read_u16 (&data, &unused) < 0 ||
        read_u16 (&data, &ret->port) < 0 ||
        read_name (&data, ret->host) < 0 || data.at != data.end)
        return -EBADMSG;
    for (char *p = ret->host; *p; p++)
        *p = (char)tolower ((unsigned char)*p);
    return *ret->host != '\0';
}

static int read_records (struct answer *a, unsigned n, struct srv_target *ret,
                         size_t max)
{
    unsigned type, size;
    int rc = 0;
    size_t found = 0;

    for (unsigned i = 0; i < n; i++) {
        struct srv_target one;

        if ((rc = read_head (a, true, &type, &size)) < 0)
            return rc;
        if (type == ns_t_srv && (rc = read_target (a, size, &one)) < 0)
            return rc;
        a->at += size;
        if (type != ns_t_srv || rc == 0)
            continue;
        if (found == max)
            return -E2BIG;
        ret[found++] = one;
    }
    return found > 0 ? (int)found : -ENODATA;
}

/* The answer's own error: only the first says that there is no such name. */
static int check_rcode (unsigned rcode)
{
    return rcode == ns_r_noerror    ? 0
           : rcode == ns_r_nxdomain ? -ENOENT
                                    : -EAGAIN;
}

static int parse (const void *bytes, size_t size, struct srv_target *ret,
                  size_t max)
{
    struct answer a = { bytes, bytes, (const unsigned char *)bytes + size };
    unsigned head[NS_HFIXEDSZ / 2] = { 0 }, type;
    int rc = 0;

    for (size_t i = 0; i < NS_HFIXEDSZ / 2 && rc == 0; i++)
        rc = read_u16 (&a, &head[i]);
    if (rc == 0)
        rc = head[1] & 0x8000 ? check_rcode (head[1] & 15) : -EBADMSG;
    for (unsigned i = 0; i < head[2] && rc == 0; i++)
        rc = read_head (&a, false, &type, NULL);
    return rc < 0 ? rc : read_records (&a, head[3], ret, max);
}

/* One sentence, and the error of srv_parse. */
static int say (int rc, size_t max, struct err *err)
{
    switch (rc) {
    case -ENOENT:
        return err_set (err, ENOENT, "DNS has no such name");
    case -ENODATA:
        return err_set (err, EAGAIN, "DNS has no SRV record of that name, or "
                        "one that says that there is no server");
    case -E2BIG:
        return err_set (err, E2BIG, "DNS names more than %zu servers", max);
    case -EAGAIN:
        return err_set (err, EAGAIN, "the name server cannot answer now");
    case -EBADMSG:
        return err_set (err, EAGAIN, "the answer of the name server is damaged");
    default:
        return rc;
    }
}

int srv_parse (const void *bytes, size_t size, struct srv_target *ret,
               size_t max, struct err *err)
{
    return say (parse (bytes, size, ret, max), max, err);
}

/* ---- the question ---- */

/* ROLLCALL_NAMESERVER. */
static int set_server (struct __res_state *r, struct err *err)
{
    const char *server = getenv ("ROLLCALL_NAMESERVER");
    struct sockaddr_in *to = &r->nsaddr_list[0];
    char address[INET_ADDRSTRLEN];
    size_t n = server ? strcspn (server, ":") : 0;
    int64_t port = NS_DEFAULTPORT;

    r->retrans = TRY_S;
    r->retry = TRIES;
    if (!server || !*server)
        return 0;
    memset (to, 0, sizeof (*to));
    to->sin_family = AF_INET;
    if (n < sizeof (address)) {
        memcpy (address, server, n);
        address[n] = '\0';
    }
    if (n >= sizeof (address) ||
        inet_pton (AF_INET, address, &to->sin_addr) != 1 ||
        (server[n] && units_int (server + n + 1, 1, 65535, &port) < 0))
        return err_set (err, EINVAL, "ROLLCALL_NAMESERVER: \"%s\" is no IPv4 "
                        "address with or without a port", server);
    to->sin_port = htons ((uint16_t)port);
    r->nscount = 1;
    return 0;
}

static int why_not (int reason, struct err *err)
{
    if (reason == HOST_NOT_FOUND)
        return say (-ENOENT, 0, err);
    return reason == NO_DATA ? say (-ENODATA, 0, err)
                             : err_set (err, EAGAIN, "no name server answers, "
                                        "or can answer now");
}

static int query (struct __res_state *r, const char *name,
                  unsigned char *answer, struct srv_target *ret, size_t max,
                  struct err *err)
{
    int n = set_server (r, err);

    if (n < 0)
        return n;
    n = res_nquery (r, name, ns_c_in, ns_t_srv, answer, ANSWER_MAX);
    return n < 0 ? why_not (r->res_h_errno, err)
                 : srv_parse (answer, (size_t)n, ret, max, err);
}

int srv_ask (const char *name, struct srv_target *ret, size_t max,
             struct err *err)
{
    struct __res_state r = { 0 };
    unsigned char *answer = malloc (ANSWER_MAX);
    int rc;

    if (!answer || res_ninit (&r) < 0) {
        free (answer);
        return err_set (err, ENOMEM, "no memory for DNS");
    }
    rc = query (&r, name, answer, ret, max, err);
    res_nclose (&r);
    free (answer);
    return rc;
}
