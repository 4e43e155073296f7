/* cli/run/run_net.c - addresses: binding, announcing, probing */
#include "run/run.h"

#include "base/clock.h"
#include "base/units.h"
#include "net/keys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 1024
#define CONNECT_NS (3 * NS_PER_S)       // for one address to be there
#define ANSWER_NS (3 * NS_PER_S)        // for an aggregator to answer
#define START_NS (20 * NS_PER_S)        // the same, if it may be starting
#define BUSY_NS (5 * NS_PER_S)          // ... or at work for others
#define BEGIN_NS (5 * NS_PER_S)         // for a service to begin
#define AGAIN_NS (200 * NS_PER_MS)
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

bool run_is_local_only (const struct run_options *opt)
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

    PRINT (path, "/sys/class/net/%s/bridge", name);
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
        PRINT (r->endpoints, PREFIX "127.0.0.1:%lld", (long long)port);
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
        return err_set (err, EADDRNOTAVAIL, "no network interface named %s is "
                        "up", r->opt->interface);
    if (used == 0)              // then all ranks are here
        PRINT (r->endpoints, PREFIX "127.0.0.1:%lld", (long long)port);
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
    // that of an aggregator that was given may be another host's
    const char *all = r->listener >= 0 ? r->endpoints : PREFIX "127.0.0.1:";
    const char *addr = all + strlen (PREFIX);
    const char *colon = strchr (addr, ']') ? strchr (addr, ']') + 1
                                           : strchr (addr, ':');

    PRINT (r->master_addr, "%.*s", (int)(colon - addr), addr);
    r->master_port = fd >= 0 ? port_of (fd) : 29500;
    if (fd >= 0)
        (void)close (fd);
}

/* What the daemons of this run connect with.  1: with that; 0: without any; or
 * negative: it cannot be read.
 */
static int security_of (const struct run *r, struct net_security *ret)
{
    const char *key = getenv ("ROLLCALL_KEY");
    const char *server_key = run_server_key (r);

    memset (ret, 0, sizeof (*ret));
    ret->insecure = r->opt->insecure;
    if (ret->insecure)
        return 1;
    if (!run_has_keys (r))
        return key && server_key ? (key_client (key, server_key, ret, NULL) < 0
                                        ? -EACCES : 1)
                                 : 0;
    memcpy (ret->server_key, r->keys.server_public, NET_KEY_SIZE);
    memcpy (ret->public_key, r->keys.agent_public, NET_KEY_SIZE);
    memcpy (ret->secret_key, r->keys.agent_secret, NET_KEY_SIZE);
    return 1;
}

/* Check that an aggregator answers.  Connecting proves nothing: the kernel
 * accepts connections even for a dead one while another process holds its
 * socket.  0, -EHOSTUNREACH, or -ETIMEDOUT: nobody answers.  The agent reports
 * other problems.
 */
static int answers (const struct run *r, int64_t answer_ns)
{
    struct net_security security;
    int rc = security_of (r, &security);

    if (rc >= 0)
        rc = net_reach (r->endpoint, rc ? &security : NULL, CONNECT_NS,
                        answer_ns, NULL);
    explicit_bzero (&security, sizeof (security));
    return rc == -EHOSTUNREACH || rc == -ETIMEDOUT ? rc : 0;
}

/* 0: one of them answers.  *silent: one is there, and says nothing. */
static int probe_each (struct run *r, bool *silent)
{
    int64_t answer_ns = run_is_served (r) ? BUSY_NS : START_NS;
    int rc;

    for (const char *p = r->endpoints; *p;) {
        size_t n = strcspn (p, ",");

        if (n < sizeof (r->endpoint)) {
            memcpy (r->endpoint, p, n);
            r->endpoint[n] = '\0';
            rc = answers (r, answer_ns);
            // a service may be busy, and one that has just begun be slow; that
            // of a front end began long before
            if (rc == 0 || (rc == -ETIMEDOUT && !r->opt->launched))
                return 0;
            *silent = *silent || rc == -ETIMEDOUT;
        }
        p += n + (p[n] == ',');
    }
    return -EHOSTUNREACH;
}

/* A service may have been started just now, as in a script before this run. */
int run_probe (struct run *r, struct err *err)
{
    const struct timespec pause = { .tv_nsec = AGAIN_NS };
    int64_t until = clock_mono_ns () + (run_is_served (r) ? BEGIN_NS : 0);
    bool silent = false;

    while (probe_each (r, &silent) < 0) {
        if (!silent && clock_mono_ns () < until) {
            (void)nanosleep (&pause, NULL);
            continue;
        }
        if (!silent && run_is_served (r))
            return err_set (err, EHOSTUNREACH, "host %s cannot reach the "
                            "aggregator at %s: does it run there, and is its "
                            "TCP port open?", r->host, r->endpoints);
        return silent
                   ? err_set (err, ETIMEDOUT, "host %s can connect to %s, but no "
                              "aggregator speaks there: has it died, or was it "
                              "stopped?", r->host, r->endpoints)
                   : err_set (err, EHOSTUNREACH, "host %s cannot reach the "
                              "aggregator at %s: is it on another host that "
                              "listens on loopback only (--interface), or is a "
                              "firewall in between (--interface, --port)?",
                              r->host, r->endpoints);
    }
    return 0;
}

bool run_aggregator_answers (const struct run *r)
{
    return answers (r, ANSWER_NS) == 0;
}
