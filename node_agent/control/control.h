/* node_agent/control/control.h - messages between wrappers and their agent on a
 * host
 *
 * They use a sequenced-packet socket in the run's directory.  Each packet is a
 * small JSON object with a member "type":
 *   wrapper: hello (rank, local_rank, pid, capture_dir, watch, out, since_ns),
 *            ending (text: who ends COMMAND), ended (status, text,
 *            ended_ns, signal, exit)
 *   agent:   welcome, noted (the end is stored on disk), stop (text),
 *            roll (complete, text)
 *
 * When either side dies, the other one reads the end of the connection.
 *
 * This folder: processes of one host: the socket for wrappers, the processes of
 * the run, agents of other runs, orphans.
 */
#ifndef ROLLCALL_CONTROL_CONTROL_H
#define ROLLCALL_CONTROL_CONTROL_H

#include "base/err.h"
#include "json/json.h"

#define CONTROL_PACKET_MAX 65536        // bytes
#define CONTROL_SOCKET "agent.sock"

/* Listen on <dir>/agent.sock, where 'dir' may be longer than an address.  The
 * file of a dead agent is replaced; the caller holds the lock that proves it
 * dead.  Returns a descriptor, which control_unlisten closes, or -errno.
 */
int control_listen (const char *dir, struct err *err);
void control_unlisten (const char *dir, int listener);  // also removes the file
int control_accept (int listener);      // -EAGAIN: nobody waits

/* Connect to the agent.  Returns a descriptor, which the caller closes.
 * -ENOENT, -ECONNREFUSED: there is no agent yet, so try again.
 */
int control_connect (const char *dir, struct err *err);

/* Send 'j' and free it, also on failure.  Returns 0 or -errno. */
int control_send (int fd, struct json *j);

/* Receive the next packet, which the caller frees.  NULL with *rc = -EAGAIN:
 * there is none now; -EPIPE: the other side is gone; -EBADMSG: it is no valid
 * packet.
 */
struct json *control_receive (int fd, int *rc);

#endif
