/* cli/run_net.c - addresses: binding, announcing, probing */
#include "run.h"

#include "base/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024
#define PROBE_MS 3000           // for one address to answer
#define ANSWER_MS 1000          // for the first byte of an aggregator
#define START_MS 20000          // the same, if it may be starting again
#define PREFIX "tcp://"

/* A listening socket on the port (0: any); -errno. */
static int listen_on (bool everywhere, int64_t port)
{
    struct sockaddr_in6 any6 = { .sin6_family = AF_INET6,
                                 .sin6_port = htons ((uint16_t)port) };
    struct sockaddr_in v4 = { .sin_family = AF_INET,
                              .sin_port = htons ((uint16_t)port) };
    int off = 0, one = 1;
    int fd = everywhere ? socket (AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)
                        : -1;

    if (fd >= 0) {              // [::] takes IPv4 connections too
        (void)setsockopt (fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof (off));
        (void)setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof (one));
        if (bind (fd, (struct sockaddr *)&any6, sizeof (any6)) == 0 &&
            listen (fd, BACKLOG) == 0)
            return fd;
        (void)close (fd);
    }
    v4.sin_addr.s_addr = htonl (everywhere ? INADDR_ANY : INADDR_LOOPBACK);
    fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    (void)setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof (one));
    if (bind (fd, (struct sockaddr *)&v4, sizeof (v4)) < 0 ||
        listen (fd, BACKLOG) < 0) {
        int rc = -errno;

        (void)close (fd);
        return rc;
    }
    return fd;
}

static int64_t port_of (int fd)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof (a);

    if (getsockname (fd, (struct sockaddr *)&a, &size) < 0)
        return 0;
    return ntohs (a.ss_family == AF_INET6
                      ? ((struct sockaddr_in6 *)&a)->sin6_port
                      : ((struct sockaddr_in *)&a)->sin_port);
}

bool run_stays_here (const struct run_options *opt)
{
    struct ifaddrs *list = NULL;
    bool here = false;

    if (!opt->interface || getifaddrs (&list) < 0)
        return false;
    for (struct ifaddrs *a = list; a; a = a->ifa_next)
        here = here || (strcmp (a->ifa_name, opt->interface) == 0 &&
                        (a->ifa_flags & IFF_LOOPBACK));
    freeifaddrs (list);
    return here;
}

static bool is_bridge (const char *name)
{
    char path[64];

    (void)snprintf (path, sizeof (path), "/sys/class/net/%s/bridge", name);
    return access (path, F_OK) == 0;
}

static bool is_announced (const struct run *r, const struct ifaddrs *a)
{
    if (!a->ifa_addr || !(a->ifa_flags & IFF_UP) ||
        (a->ifa_flags & IFF_LOOPBACK) || is_bridge (a->ifa_name))
        return false;
    if (r->opt->interface && strcmp (r->opt->interface, a->ifa_name) != 0)
        return false;
    if (a->ifa_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)a->ifa_addr;

        return !IN6_IS_ADDR_LINKLOCAL (&v6->sin6_addr);
    }
    return a->ifa_addr->sa_family == AF_INET;
}

/* "tcp://10.0.0.1:4711,tcp://[fd00::1]:4711" */
static int announce (struct run *r, int64_t port, struct err *err)
{
    struct ifaddrs *list = NULL;
    size_t used = 0;

    r->endpoints[0] = '\0';
    if (!r->all_interfaces) {
        (void)snprintf (r->endpoints, sizeof (r->endpoints),
                        PREFIX "127.0.0.1:%lld", (long long)port);
        return 0;
    }
    if (getifaddrs (&list) < 0)
        return err_sys (err, errno, "cannot list network interfaces");
    for (struct ifaddrs *a = list; a; a = a->ifa_next) {
        char text[INET6_ADDRSTRLEN];
        bool v6;

        if (!is_announced (r, a) || used + 80 > sizeof (r->endpoints))
            continue;
        v6 = a->ifa_addr->sa_family == AF_INET6;
        if (getnameinfo (a->ifa_addr, v6 ? sizeof (struct sockaddr_in6)
                                         : sizeof (struct sockaddr_in),
                         text, sizeof (text), NULL, 0, NI_NUMERICHOST) != 0)
            continue;
        used += (size_t)snprintf (r->endpoints + used,
                                  sizeof (r->endpoints) - used,
                                  v6 ? "%s" PREFIX "[%s]:%lld"
                                     : "%s" PREFIX "%s:%lld",
                                  used ? "," : "", text, (long long)port);
    }
    freeifaddrs (list);
    if (used == 0 && r->opt->interface)
        return err_set (err, EADDRNOTAVAIL, "no network interface is up by "
                        "the name of %s", r->opt->interface);
    if (used == 0)              // then all ranks are here
        (void)snprintf (r->endpoints, sizeof (r->endpoints),
                        PREFIX "127.0.0.1:%lld", (long long)port);
    return 0;
}

/* "4000-4100" or "4000" */
static int parse_ports (const char *text, int64_t *first, int64_t *last)
{
    char low[16];
    const char *dash = strchr (text, '-');
    size_t n = dash ? (size_t)(dash - text) : strlen (text);

    if (n >= sizeof (low))
        return -EINVAL;
    memcpy (low, text, n);
    low[n] = '\0';
    if (units_int (low, 1, 65535, first) < 0)
        return -EINVAL;
    *last = *first;
    return dash ? units_int (dash + 1, *first, 65535, last) : 0;
}

int run_check_net (const struct run_options *opt, struct err *err)
{
    int64_t first, last;

    if (opt->ports && parse_ports (opt->ports, &first, &last) < 0)
        return err_set (err, EINVAL, "--port: \"%s\" is not a port or a range "
                        "like 4000-4100", opt->ports);
    return 0;
}

int run_bind (struct run *r, struct err *err)
{
    int64_t first = 0, last = 0;

    if (r->opt->ports && parse_ports (r->opt->ports, &first, &last) < 0)
        return run_check_net (r->opt, err);
    r->listener = -EADDRINUSE;
    for (int64_t port = first; port <= last && r->listener < 0; port++)
        r->listener = listen_on (r->all_interfaces, port);
    if (r->listener < 0)
        return err_sys (err, -r->listener, "cannot listen on %s%s",
                        r->opt->ports ? "any port of " : "any port",
                        r->opt->ports ? r->opt->ports : "");
    return announce (r, port_of (r->listener), err);
}

void run_choose_master (struct run *r)
{
    int fd = listen_on (false, 0);
    const char *addr = r->endpoints + strlen (PREFIX);
    const char *colon = strchr (addr, ']') ? strchr (addr, ']') + 1
                                           : strchr (addr, ':');

    (void)snprintf (r->master_addr, sizeof (r->master_addr), "%.*s",
                    (int)(colon - addr), addr);
    r->master_port = fd >= 0 ? port_of (fd) : 29500;
    if (fd >= 0)
        (void)close (fd);
}

/* An aggregator speaks first; that it can be connected to says nothing, the
 * kernel does that for one that is gone, while others have its socket.
 */
static bool speaks (int fd, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char byte;

    return poll (&p, 1, ms) == 1 && recv (fd, &byte, 1, 0) == 1;
}

/* Whether something listens there: "tcp://ADDRESS:PORT", and speaks within this
 * time (0: it need not).  -EHOSTUNREACH, or -ETIMEDOUT: it only listens.
 */
static int answers (const char *endpoint, int speak_ms)
{
    char host[256];
    const char *at = endpoint + strlen (PREFIX), *port = strrchr (at, ':');
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
    struct pollfd p = { .events = POLLOUT };
    socklen_t size = sizeof (int);
    int error = EHOSTUNREACH;

    if (strncmp (endpoint, PREFIX, strlen (PREFIX)) != 0 || !port ||
        (size_t)(port - at) >= sizeof (host))
        return -EHOSTUNREACH;
    (void)snprintf (host, sizeof (host), "%.*s", (int)(port - at), at);
    if (host[0] == '[') {
        memmove (host, host + 1, strlen (host));
        host[strcspn (host, "]")] = '\0';
    }
    if (getaddrinfo (host, port + 1, &hints, &list) != 0)
        return -EHOSTUNREACH;
    p.fd = socket (list->ai_family,
                   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p.fd >= 0) {
        if (connect (p.fd, list->ai_addr, list->ai_addrlen) == 0)
            error = 0;
        else if (errno == EINPROGRESS && poll (&p, 1, PROBE_MS) == 1)
            (void)getsockopt (p.fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error == 0 && speak_ms > 0 && !speaks (p.fd, speak_ms))
            error = ETIMEDOUT;
        else if (error != 0)
            error = EHOSTUNREACH;
        (void)close (p.fd);
    }
    freeaddrinfo (list);
    return -error;
}

int run_probe (struct run *r, struct err *err)
{
    // that of a front end began long before; a service may be busy
    int speak_ms = r->opt->launched ? START_MS : 0, rc;
    bool silent = false;

    for (const char *p = r->endpoints; *p;) {
        size_t n = strcspn (p, ",");

        if (n < sizeof (r->endpoint)) {
            memcpy (r->endpoint, p, n);
            r->endpoint[n] = '\0';
            if ((rc = answers (r->endpoint, speak_ms)) == 0)
                return 0;
            silent = silent || rc == -ETIMEDOUT;
        }
        p += n + (p[n] == ',');
    }
    if (silent)
        return err_set (err, ETIMEDOUT, "host %s can connect to %s, but no "
                        "aggregator speaks there: has it died, or was it "
                        "stopped?", r->host, r->endpoints);
    return err_set (err, EHOSTUNREACH, "host %s cannot reach the aggregator at "
                    "%s: is it on another host that listens on loopback only "
                    "(--interface), or is a firewall in between "
                    "(--interface, --port)?", r->host, r->endpoints);
}

/* A connection to the aggregator that was started here, through our copy of
 * the descriptor it listens on.
 */
static int reach_own (const struct run *r)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof (at);
    int fd;

    if (getsockname (r->listener, (struct sockaddr *)&at, &size) < 0)
        return -1;
    fd = socket (at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect (fd, (struct sockaddr *)&at, size) < 0 &&
        errno != EINPROGRESS) {
        (void)close (fd);
        return -1;
    }
    return fd;
}

bool run_answers (const struct run *r)
{
    int fd = reach_own (r);
    bool yes = fd >= 0 && speaks (fd, ANSWER_MS);

    if (fd >= 0)
        (void)close (fd);
    return yes;
}
