/* aggregator/archive/root_control.h - requests of verbs to the owner of a root
 *
 * A UNIX socket in the root, control.sock, for its owner (and root) only.  A
 * request is one line of JSON, an object with a member "do"
 * (archive/request.h); so is the answer, {"ok": true, ...} or {"ok": false,
 * "status": N, "text": "..."}, after which the connection ends.  If no
 * aggregator has the root, the verb locks it and executes the request itself.
 */
#ifndef ROLLCALL_ARCHIVE_ROOT_CONTROL_H
#define ROLLCALL_ARCHIVE_ROOT_CONTROL_H

#include "base/loop.h"
#include "json/json.h"

#define CONTROL_ROOT_SOCKET "control.sock"
#define CONTROL_LINE_MAX 65536          // bytes of a request or an answer: some
                                        // hundred names
#define CONTROL_ASKERS_MAX 16           // concurrent clients, which are people
#define CONTROL_WAIT_S 60               // for an answer: a commit on a slow disk

struct control;

/* Execute 'request', with details in 'answer'.  0, or a negative errno with the
 * reason in 'err': -EINVAL the request is not valid, -ENOENT its job or capture
 * does not exist.
 */
typedef int control_fn (void *arg, const struct json *request,
                        struct json *answer, struct err *err);

/* Listen in 'root', which may have a long path; the caller has its lock.  'fn'
 * is called from the loop.
 */
int control_open (const char *root, struct loop *loop, control_fn *fn,
                  void *arg, struct control **ret, struct err *err);
void control_close (struct control *c); // may be NULL; before its loop goes

/* Send the request to the aggregator of 'root', or lock the root and execute it
 * (request_execute): 0, and the caller frees *answer; else a negative errno.
 * Takes over the request.  '*served': an aggregator executed it.  -EBUSY:
 * another process has the root.
 */
int control_ask (const char *root, struct json *request, struct json **answer,
                 bool *served, struct err *err);

#endif
