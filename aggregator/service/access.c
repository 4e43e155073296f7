/* aggregator/service/access.c - who may connect, and logging of refusals
 *
 * This folder: the aggregator's life: messages of agents and verbs, commits,
 * builds in a thread, the end of a run.
 */
#include "service/access.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/secret.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define PROBLEMS_NS (60 * NS_PER_S)     // per this time ...
#define PROBLEMS_MAX 20                 // ... at most so many lines are logged

/* Find the directory of keys to use; false: none. */
static bool find_keys (const struct aggregator_options *opt,
                       char dir[PATH_MAX])
{
    if (opt->insecure)
        return false;
    if (opt->keys) {
        (void)snprintf (dir, PATH_MAX, "%s", opt->keys);
        return true;            // a path that is too long counts as absent
    }
    return !net_is_loopback (opt->listen) &&
           keyring_default (dir, NULL) == 0 &&
           fileio_has (dir, KEYRING_SERVER ".key");
}

static int open_keys (struct access *d, const struct aggregator_options *opt,
                      struct err *err)
{
    char dir[PATH_MAX], own[PATH_MAX];

    d->security.insecure = opt->insecure;
    if (!find_keys (opt, dir))
        return 0;
    if (!(d->keyring = keyring_open (dir)))
        return err_set (err, ENOMEM, "no memory for keys");
    secret_forbid_cores ();
    if (keyring_security (dir, d->keyring, &d->security, err) < 0)
        return -ENOKEY;
    // a run's key is in a file only until it has been read
    if (opt->run_dir &&
        fileio_join (own, sizeof (own), dir, KEYRING_SERVER ".key")) {
        (void)unlink (own);
        memcpy (d->own, dir, sizeof (d->own));
    }
    return 0;
}

bool access_may_log (struct access *d)
{
    int64_t now = clock_mono_ns ();

    if (now - d->problems_ns > PROBLEMS_NS) {
        if (d->problems > PROBLEMS_MAX)
            log_warn ("peers-refused", "%u more within a minute",
                      d->problems - PROBLEMS_MAX);
        d->problems_ns = now;
        d->problems = 0;
    }
    return d->problems++ < PROBLEMS_MAX;
}

static void on_problem (void *arg, enum net_problem what, const char *text)
{
    if (access_may_log (arg))
        log_text (what == NET_PEER_LEFT ? LOG_LEVEL_INFO : LOG_LEVEL_WARN,
                  what == NET_ACCEPT_FAILED ? "accept-failed"
                  : what == NET_PEER_LEFT   ? "peer-left"
                  : what == NET_NO_SHARE    ? "no-share"
                                            : "peer-refused",
                  "%s", text);
}

/* Each agent needs a descriptor.  When none is left, libzmq loops endlessly. */
static void check_room (const struct aggregator_options *opt)
{
    int64_t room = net_room_for_peers ();
    int64_t wanted = opt->world_size > 0 && opt->world_size < opt->agents
                         ? opt->world_size : opt->agents;

    if (room < wanted)
        log_warn ("descriptors-low", "there is room for %lld agents, but %lld "
                  "are expected: raise the limit of open files (ulimit -n, "
                  "LimitNOFILE)", (long long)room, (long long)wanted);
}

int access_open (struct access *d, const struct aggregator_options *opt,
                 struct net **ret, struct err *err)
{
    int rc = open_keys (d, opt, err);

    if (rc < 0)
        return rc;
    check_room (opt);
    rc = net_listen (opt->listen, (int)opt->listen_fd,
                     d->keyring || opt->insecure ? &d->security : NULL, ret,
                     err);
    if (rc < 0)
        return rc;
    net_watch (*ret, on_problem, d);
    if (!opt->job)              // a run has only one key
        net_share (*ret);
    return 0;
}

void access_close (struct access *d)
{
    keyring_close (d->keyring);
    explicit_bzero (&d->security, sizeof (d->security));
    if (d->own[0])
        (void)fileio_remove_tree (d->own, NULL);
}

int access_status (int rc)
{
    return rc == -ENOKEY         ? EX_CONFIG
           : rc == -EKEYREJECTED ? EX_SOFTWARE
           : rc == -EPERM        ? EX_NOPERM
                                 : EX_CANTCREAT;
}

const char *access_text (const struct access *d,
                         const struct aggregator_options *opt)
{
    if (d->keyring)
        return "encrypted, enrolled keys only";
    return net_is_loopback (opt->listen)
               ? "this host only, not encrypted"
               : "not encrypted, anybody may connect";
}
