/* node_agent/control/control.h - wrappers and their agent, on one host
 *
 * A sequenced-packet socket in the run's directory; each packet is a small
 * JSON object with a member "type":
 *   wrapper: hello (rank, local_rank, pid, capture_dir, watch, out, since_ns),
 *            ending (text: who ends COMMAND), ended (status, text,
 *            ended_ns, signal, exit)
 *   agent:   welcome, noted (the end is kept on disk), stop (text),
 *            roll (complete, text)
 * When either side dies the other reads the end of the connection.
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

/* Listen on <dir>/agent.sock (dir may be long).  A dead agent's socket file is
 * replaced: the caller holds the lock that proves it dead.  A descriptor, or
 * -errno.
 */
int control_listen (const char *dir, struct err *err);
void control_unlisten (const char *dir, int listener);  // and remove the file
int control_accept (int listener);      // -EAGAIN: nobody

/* Connect to it.  -ENOENT or -ECONNREFUSED while there is no agent. */
int control_connect (const char *dir, struct err *err);

/* Send; takes 'j' over.  0 or -errno. */
int control_send (int fd, struct json *j);

/* The next packet; NULL with *rc = -EAGAIN (none now), -EPIPE (the other side
 * is gone) or -EBADMSG.
 */
struct json *control_receive (int fd, int *rc);

#endif
