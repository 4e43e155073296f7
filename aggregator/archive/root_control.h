/* aggregator/archive/root_control.h - what verbs ask of whoever has a root
 *
 * A UNIX socket in the root, control.sock, for its owner (and root) only.  One
 * line of JSON is asked, an object with a member "do" (archive/request.h); one
 * is answered, {"ok": true, ...} or {"ok": false, "status": N, "text": "..."},
 * and the connection ends.  While no aggregator has the root the verb takes it
 * and does the same itself.
 */
#ifndef ROLLCALL_ARCHIVE_ROOT_CONTROL_H
#define ROLLCALL_ARCHIVE_ROOT_CONTROL_H

#include "base/loop.h"
#include "json/json.h"

#define CONTROL_ROOT_SOCKET "control.sock"
#define CONTROL_LINE_MAX 65536          // bytes of a request or an answer: some
                                        // hundred names
#define CONTROL_ASKERS_MAX 16           // at once: people
#define CONTROL_WAIT_S 60               // for an answer: a commit on a slow disk

struct control;

/* Do what 'request' says; what a person may want to know goes into 'answer'. 0,
 * or a negative errno with the reason in 'err': -EINVAL what was asked makes no
 * sense, -ENOENT it is of nothing that is here.
 */
typedef int control_fn (void *arg, const struct json *request,
                        struct json *answer, struct err *err);

/* Listen in 'root', whatever the length of its name; the caller has its lock.
 * 'fn' is called from the loop.
 */
int control_open (const char *root, struct loop *loop, control_fn *fn,
                  void *arg, struct control **ret, struct err *err);
void control_close (struct control *c); // may be NULL; before its loop goes

/* Ask whoever has 'root', or take it and do it (request_execute): 0, and
 * *answer is the caller's to free; else the negative errno of what did not work.  Takes
 * the request over.  '*served': an aggregator did it.  -EBUSY: somebody else
 * has the root.
 */
int control_ask (const char *root, struct json *request, struct json **answer,
                 bool *served, struct err *err);

#endif
