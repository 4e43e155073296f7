/* node_agent/control/peers.h - the agents of other runs on this host
 *
 * Runs of any user, state directory or container (that shares the host's
 * network) may watch one directory.  Each agent of a run listens on its own
 * abstract socket, and connects to all existing ones at its start: so they know
 * it before its COMMANDs start.  Nothing is written to disk, and a killed agent
 * leaves nothing behind.  Names of further sockets show the watched
 * directories, even of an agent that does not answer.  Packets are those of
 * control.h:
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

/* Listen, and connect to the agents of jobs other than 'job' (borrowed).  0 or
 * -errno; always close *ret.
 */
int peers_open (struct loop *loop, const char *job, peers_fn *on_packet,
                void *arg, struct peers **ret, struct err *err);
void peers_close (struct peers *p);     // NULL is fine

/* Send this to all present and future peers; takes over 'run'. */
void peers_tell (struct peers *p, struct json *run);

/* Show that this run watches a directory, "DEV:INO", before COMMAND begins.
 * -errno: peers will not know it while this process does not answer.
 */
int peers_show (struct peers *p, const char *id);

/* Whether a silent peer shows that it watches this directory, or did since
 * 'since_ns' (monotonic).  True if that is unknown.
 */
bool peers_is_shown (struct peers *ps, const struct peer *p, const char *id,
                     int64_t since_ns);

/* Receive everything that was sent to us before this call. */
void peers_hear (struct peers *p);

/* All present and former peers; ignore those that are not 'told'. */
struct peer *peers_first (const struct peers *p);

#endif
