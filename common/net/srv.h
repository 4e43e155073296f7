/* common/net/srv.h - servers that DNS names (SRV records, RFC 2782) */
#ifndef ROLLCALL_NET_SRV_H
#define ROLLCALL_NET_SRV_H

#include "base/err.h"

#include <stddef.h>

#define SRV_HOST_MAX 256        // bytes, with the NUL

struct srv_target {
    char host[SRV_HOST_MAX];    // lower case, without a dot at the end
    unsigned port;
};

/* Ask the name servers of /etc/resolv.conf for the servers of a name, as
 * "_rollcall._tcp.example.org"; ROLLCALL_NAMESERVER, an IPv4 address and
 * perhaps ":PORT", replaces them.  Priorities and weights do not count.  The
 * number of targets, or -ENOENT: DNS says that there is no such name; -E2BIG: it
 * has more than 'max'; -EAGAIN: ask again later: no server answers, or one cannot,
 * or its answer is damaged, or the name has no such record now; -EINVAL: the
 * variable; -ENOMEM.
 */
int srv_ask (const char *name, struct srv_target *ret, size_t max,
             struct err *err);

/* The same for the bytes of an answer. */
int srv_parse (const void *bytes, size_t size, struct srv_target *ret,
               size_t max, struct err *err);

#endif
