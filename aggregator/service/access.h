/* aggregator/service/access.h - who may connect, and what is said of those who
 * may not */
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

/* Read the keys, if there are to be any, and listen.  -ENOKEY: keys are
 * missing, or not as they should be; -EKEYREJECTED: they cannot be checked.
 * The options and 'd' are borrowed for as long as the net lives.
 */
int access_open (struct access *d, const struct aggregator_options *opt,
                 struct net **ret, struct err *err);
void access_close (struct access *d);    // forgets the keys of a run

/* Whether another line may be logged about peers: one for each problem, but not
 * for each of thousands.
 */
bool access_may_tell (struct access *d);

/* The exit status for a start that failed with 'rc'. */
int access_status (int rc);

/* Who may connect, in words. */
const char *access_text (const struct access *d,
                         const struct aggregator_options *opt);

#endif
