/* aggregator/archive/root_control.h - requests of verbs to the owner of a root
 *
 * A UNIX socket in the root, control.sock, for its owner (and root) only; and
 * one outside of it for every user of the host (control_open_for_users).  A request is
 * one line of JSON, an object with a member "do" (archive/request.h); so is the
 * answer, {"ok": true, ...} or {"ok": false, "status": N, "text": "..."}, after
 * which the connection ends.  Two pipes may come along with a request, for the
 * output of what it starts.  If no aggregator has the root, the verb locks it
 * and executes the request itself.
 */
#ifndef ROLLCALL_ARCHIVE_ROOT_CONTROL_H
#define ROLLCALL_ARCHIVE_ROOT_CONTROL_H

#include "base/clock.h"
#include "base/loop.h"
#include "json/json.h"

#include <sys/types.h>

#define CONTROL_ROOT_SOCKET "control.sock"
#define CONTROL_LINE_MAX 65536          // bytes of a request or an answer: some
                                        // hundred names
#define CONTROL_ASKERS_MAX 32           // concurrent clients, which are people
#define CONTROL_OTHERS_MAX 24           // of these, who are not the owner
#define CONTROL_OF_USER 4               // of these, of one user
#define CONTROL_HEAR_S 10               // for the whole of a request
#define CONTROL_WAIT_S 60               // for an answer: a commit on a slow disk
#define CONTROL_LOCK_NS (10 * NS_PER_S) // for a verb to be done with a root
#define CONTROL_GROUPS_MAX 1024         // of a user; further ones do not count
#define CONTROL_PIPES 2

struct control;
struct control_asker;           // a connection

/* Who asks, as the kernel says. */
struct control_peer {
    uid_t uid;
    bool owner;                 // root, or the user of this process
    gid_t groups[CONTROL_GROUPS_MAX];
    size_t ngroups;
    int pipes[CONTROL_PIPES];   // that came along, or -1; closed after the call
    struct control_asker *asker;        // NULL: in a test
};

/* Execute 'request', with details in 'answer'.  0; CONTROL_LATER after
 * control_defer; or a negative errno with the reason in 'err': -EINVAL the
 * request is not valid, -ENOENT its job or capture does not exist, -EACCES this
 * user may not, -EBUSY not now.
 */
#define CONTROL_LATER 1
typedef int control_fn (void *arg, const struct control_peer *peer,
                        const struct json *request, struct json *answer,
                        struct err *err);

/* Listen in 'root', which may have a long path; the caller has its lock.  'fn'
 * is called from the loop.
 */
int control_open (const char *root, struct loop *loop, control_fn *fn,
                  void *arg, struct control **ret, struct err *err);
void control_close (struct control *c); // may be NULL; before its loop goes

/* Listen at 'path', too, for every user.  Its directory is made if it does not
 * exist.  -EADDRINUSE: another process listens there.
 */
int control_open_for_users (struct control *c, const char *path, struct err *err);

/* Within 'fn': the answer is given later.  If the asker leaves before, 'gone' is
 * called, and none may be given.
 */
void control_defer (struct control_asker *x, void (*gone) (void *arg),
                    void *arg);
void control_answer (struct control_asker *x, struct json *answer); // frees it

/* Send the request to the aggregator of 'root', or lock the root and execute it
 * (request_execute): 0, and the caller frees *answer; else a negative errno.
 * Takes over the request.  Who may not enter the root, or has no root where it
 * is by default, asks at the socket for every user.  '*served': an aggregator
 * executed it.  -EBUSY: another process has the root; -EACCES: also in a process
 * that shows a root to others (ROOT_VIEW_VARIABLE).  What needs a service
 * (request_needs_service) locks nothing: -EHOSTUNREACH, nobody serves the root.
 */
int control_ask (const char *root, struct json *request, struct json **answer,
                 bool *served, struct err *err);

/* The same for several requests: a root that nobody serves stays locked and open
 * from the first of them until it is released.
 */
struct control_root {
    const char *root;
    int lock;                   // -1: it is not open here
    struct ledger *ledger;
    struct store *store;
};
#define CONTROL_ROOT(dir) { .root = dir, .lock = -1 }
int control_ask_again (struct control_root *r, struct json *request,
                       struct json **answer, bool *served, struct err *err);
void control_release (struct control_root *r);

/* Lock the root (root_lock) for as long as a service runs or a build takes: wait
 * for a verb that has it, at most 'wait_ns', but not for an aggregator, which
 * listens.  -EBUSY: it still has it.
 */
int control_lock (const char *root, bool make, int64_t wait_ns,
                  struct err *err);

/* Whether this user cannot read the root, and there is a socket to ask at. */
bool control_is_needed (const char *root);

/* The path of that socket. */
const char *control_users_socket (void);

/* Ask there for what goes into two pipes: the descriptor of a connection, at
 * which control_hear waits for the answer; else a negative errno.  Takes over
 * the request.
 */
int control_ask_for (const char *root, struct json *request,
                     const int pipes[CONTROL_PIPES], struct err *err);
int control_hear (int fd, struct json **answer, struct err *err);  // closes it

#endif
