/* common/net/endpoints.h - several aggregators, and which of them a job goes to
 *
 * Every agent of a job has to come to the same order without asking anybody:
 * rendezvous hashing.  The weight of an endpoint for a job is the SHA-256 of the
 * endpoint's text, a NUL byte and the job's id; the greatest weight (compared as
 * bytes, so also as hexadecimal text) is the first choice, and so on.  If an
 * endpoint is added or removed, only jobs change their first choice that come to
 * it, or were at it.
 */
#ifndef ROLLCALL_NET_ENDPOINTS_H
#define ROLLCALL_NET_ENDPOINTS_H

#include "base/clock.h"
#include "base/digest.h"
#include "net/net.h"

#define ENDPOINTS_MAX 64
#define ENDPOINT_COPIES_MAX 2   // a job goes to so many of them
#define ENDPOINT_AWAY_MIN_NS (5 * NS_PER_S)     // to take one for away
#define ENDPOINT_AWAY_RULE \
    "--away: use 5s or more, since an aggregator is heard every two seconds"

struct endpoint {
    char *name;                 // "tcp://HOST:PORT", as it was written
    char *server_key;           // file or key, NULL: none was given
    struct net_security security;       // set by endpoints_secure
};

struct endpoints {
    struct endpoint all[ENDPOINTS_MAX];
    size_t n;
};

/* Read a list: the name of a file, or the list itself if it has "://" in it or
 * begins with "srv:".  Each line, or part between commas, is "ENDPOINT" or
 * "ENDPOINT SERVER-KEY", that is a key, or a file whose name has no blank and no
 * comma; or "srv:NAME", all that DNS names (srv_ask), perhaps with the key of
 * all, or "@LIST", a file with lines as above, of which each counts that DNS
 * names.  A line that begins with # is a comment.  -EINVAL: it names none or too
 * many, or one twice, or what is no endpoint; otherwise as fileio_read_at and
 * srv_ask.  The caller calls endpoints_fini in any case.
 */
int endpoints_read (const char *list, struct endpoints *ret, struct err *err);

/* A list of one. 0 or -ENOMEM. */
int endpoints_one (const char *name, const char *server_key,
                   struct endpoints *ret, struct err *err);
void endpoints_fini (struct endpoints *e);      // also removes the secrets

/* Put the first choice of a job first.  0 or -ENOMEM. */
int endpoints_sort (struct endpoints *e, const char *job, struct err *err);

/* The order of these endpoints for a host's share of a job: the same with the
 * weights of the texts, the job's id, a NUL byte and the host's name; NULL: for the
 * job.  0 or -ENOMEM.
 */
int endpoints_order (const struct endpoints *e, const char *job,
                     const char *host, size_t order[ENDPOINTS_MAX],
                     struct err *err);

/* Set the security of each: 'key' is the file of our own pair, 'server_key' that
 * of endpoints without one of their own.  As key_client; -ENOKEY, too, if an
 * endpoint has no key and 'server_key' is NULL.  The texts are borrowed.
 */
int endpoints_secure (struct endpoints *e, const char *key,
                      const char *server_key, struct err *err);

#endif
