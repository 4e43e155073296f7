/* node_agent/control/peers.h - the agents of other runs on this host
 *
 * Runs of whatever user, state directory or container (that shares the host's
 * network) may watch one directory.  Each agent of a run listens on an abstract
 * socket with a name of its own, and connects to all that are there when it
 * begins: so it is known to them before its COMMANDs are.  Nothing is written
 * anywhere, and nothing is left behind by one that is killed.  Which
 * directories it watches is shown by names of further sockets, which the kernel
 * tells of an agent that does not answer, too.  Packets are those of control.h:
 *   agent   name, job: first, from the one that has connected
 *   run     job, since_ns (0: no COMMAND yet), idle_ns (since when none of its
 *           processes lives; 0: some do), dirs (each the list "DEV:INO" of
 *           itself and what is above it)
 *   whose   path, uid, pid, born_ns, touched_ns
 *   answer  path, says (mine, maybe, group, not, unknown)
 * ns are since 1970, as text.
 */
#ifndef ROLLCALL_CONTROL_PEERS_H
#define ROLLCALL_CONTROL_PEERS_H

#include "base/err.h"
#include "base/loop.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PEERS_NAME_MAX 108              // of a socket

struct peers;

struct peer {
    uint64_t id;                // of this connection
    int fd;                     // -1: it is gone
    uid_t uid;
    pid_t pid;                  // 0: in another pid namespace
    char name[PEERS_NAME_MAX];  // of its socket; "": not known yet
    char job[256];              // as long as it is not told what is in 'name'
    bool slow;                  // it was said that it does not answer
    bool told;                  // what it is: all below
    int64_t since_ns, idle_ns;
    int64_t gone_ns;            // since 1970
    struct json *run;           // its packet, with its dirs
    struct peer *next;
};

/* 'on_packet' is told of each packet. */
typedef void peers_fn (void *arg, struct peer *p, const struct json *j);

/* Listen, and connect to all others of other jobs than 'job' (borrowed).  0 or
 * -errno; *ret is to be closed in any case.
 */
int peers_open (struct loop *loop, const char *job, peers_fn *on_packet,
                void *arg, struct peers **ret, struct err *err);
void peers_close (struct peers *p);     // NULL is fine

/* Say this to all that are there, and to whoever comes; takes 'run' over. */
void peers_tell (struct peers *p, struct json *run);

/* Show that this run watches a directory, "DEV:INO": before COMMAND begins.
 * -errno: whoever asks while this process does not answer will not know it.
 */
int peers_show (struct peers *p, const char *id);

/* Whether one that has told nothing shows that it watches this directory, or
 * did at some time since 'since_ns' (monotonic).  True if that cannot be known.
 */
bool peers_is_shown (struct peers *ps, const struct peer *p, const char *id,
                     int64_t since_ns);

/* Take what has been sent to us by now: whoever has said anything before this
 * is heard.
 */
void peers_hear (struct peers *p);

/* All that are, or were, there; those that have not been told are nobody. */
struct peer *peers_first (const struct peers *p);

#endif
