/* node_agent/control/peers.h - talk to the agents of other runs on this host
 *
 * Runs of any user, state directory or container (with the host's network) may
 * watch the same directory.  Each agent of a run listens on its own abstract
 * socket, and connects to all existing ones when it starts, so they know it
 * before its COMMANDs start.  Nothing is written to disk, so a killed agent
 * leaves nothing behind.  Names of additional sockets show the watched
 * directories, even while an agent does not answer.  Packets are as in
 * control.h:
 *   agent   name, job: the first packet of the side that connects
 *   run     job, since_ns (0: no COMMAND yet), idle_ns (since when none of its
 *           processes lives; 0: some do), dirs (each a list of "DEV:INO", of
 *           the directory and its parents)
 *   whose   path, uid, pid, born_ns, touched_ns
 *   answer  path, says (mine, maybe, group, not, unknown)
 *
 * Numbers of ns are since 1970, as text.
 */
#ifndef ROLLCALL_CONTROL_PEERS_H
#define ROLLCALL_CONTROL_PEERS_H

#include "base/err.h"
#include "base/loop.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PEERS_NAME_MAX 108              // bytes of a name of a socket, with its
                                        // NUL

struct peers;

struct peer {
    uint64_t id;                // of this connection
    int fd;                     // -1: it is gone
    uid_t uid;
    pid_t pid;                  // 0: in another pid namespace
    char name[PEERS_NAME_MAX];  // of its socket; "": not known yet
    char job[256];              // until 'told' only the part in 'name'
    bool slow;                  // it was reported that it does not answer
    bool told;                  // it has sent all that follows
    int64_t since_ns, idle_ns;
    int64_t gone_ns;            // since 1970
    struct json *run;           // its packet "run", with its dirs
    struct peer *next;
};

/* Called for each packet.  'j' is valid only during the call. */
typedef void peers_fn (void *arg, struct peer *p, const struct json *j);

/* Listen, and connect to the agents of jobs other than 'job' (borrowed).
 * Returns 0 or -errno.  The caller closes *ret even after a failure.
 */
int peers_open (struct loop *loop, const char *job, peers_fn *on_packet,
                void *arg, struct peers **ret, struct err *err);
void peers_close (struct peers *p);     // NULL is fine

/* Send this packet to all present and future peers; takes over 'run'. */
void peers_tell (struct peers *p, struct json *run);

/* Show that this run watches a directory, "DEV:INO", before COMMAND begins.
 * After -errno the peers do not know it while this process does not answer.
 */
int peers_show (struct peers *p, const char *id);

/* Whether a silent peer shows that it watches this directory, or has since
 * 'since_ns' (monotonic).  True if that is unknown.
 */
bool peers_is_shown (struct peers *ps, const struct peer *p, const char *id,
                     int64_t since_ns);

/* Receive all packets that were sent to us before this call. */
void peers_hear (struct peers *p);

/* List of all present and former peers.  Ignore those that are not 'told'. */
struct peer *peers_first (const struct peers *p);

#endif
