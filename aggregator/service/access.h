/* aggregator/service/access.h - who may connect, and logging of refusals */
#ifndef ROLLCALL_SERVICE_ACCESS_H
#define ROLLCALL_SERVICE_ACCESS_H

#include "net/keyring.h"
#include "service/aggregator.h"

struct access {                 // begins as zeros
    struct keyring *keyring;    // NULL: nothing is encrypted
    struct net_security security;
    int64_t problems_ns;        // since when 'problems' are counted
    unsigned problems;
    char own[PATH_MAX];         // a run's directory of keys, or ""
};

/* Read the keys, if keys are used, and listen.  -ENOKEY: keys are missing or
 * not valid; -EKEYREJECTED: they cannot be checked.  The options and 'd' are
 * borrowed as long as the net exists.
 */
int access_open (struct access *d, const struct aggregator_options *opt,
                 struct net **ret, struct err *err);
void access_close (struct access *d);    // forgets the keys of a run

/* Whether another line about peers may be logged: the rate is limited. */
bool access_may_log (struct access *d);

/* The exit status for a start that failed with 'rc'. */
int access_status (int rc);

/* Who may connect, as a text. */
const char *access_text (const struct access *d,
                         const struct aggregator_options *opt);

#endif
