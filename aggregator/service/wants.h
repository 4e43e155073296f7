/* aggregator/service/wants.h - the raw files that this aggregator wants
 *
 * Each names files of one capture that was delivered, and the agents that may
 * have them.  The list is in ROOT/wants.json, so that a restarted aggregator
 * asks again; those that are over stay in it until there are too many.
 */
#ifndef ROLLCALL_SERVICE_WANTS_H
#define ROLLCALL_SERVICE_WANTS_H

#include "net/message.h"

#define WANTS_NAME "wants.json"
#define WANTS_MAX 1024          // 3 MB
#define WANTS_OF_JOB 128        // open ones: others need room
#define WANTS_AT_ONCE 16        // that an agent is sent at a time
#define WANTS_WHY_MAX 256

enum want_state {
    WANT_OPEN,                  // its agents are asked
    WANT_CAME,                  // all files came
    WANT_GONE,                  // some files will never come
};

struct want {
    uint64_t id;
    char job[MESSAGE_NAME_MAX];         // of the capture
    char scope[MESSAGE_NAME_MAX];       // that its agents name in HELLO
    char host[MESSAGE_NAME_MAX];        // of its agents
    int64_t rank;
    char capture[MESSAGE_NAME_MAX];
    char place[MESSAGE_PLACE_MAX];
    char path[MESSAGE_PATH_MAX];        // a pattern, "" for all files
    int64_t newest_ns;                  // the version: as its rows' OFFER says
    enum want_state state;
    uint64_t files, came, gone;         // as the last HAVE says
    char why[WANTS_WHY_MAX];            // of the first that is gone, or ""
};

struct wants {                  // begins as zeros
    struct want *list;          // in the order of their ids
    size_t n;
    uint64_t last_id;
};

/* Read the list from a root; without the file it stays empty.  -EBADMSG: the
 * file is not one; then it stays empty, too.  In any case no new want gets an id
 * that an earlier process gave: agents may still answer that one.
 */
int wants_load (struct wants *w, const char *root, struct err *err);
int wants_save (const struct wants *w, const char *root, struct err *err);
void wants_fini (struct wants *w);

/* Add a want like this one, whose id, state and numbers are ignored.  If there
 * is one, it is opened again if 'again' and not all files came; one of another
 * version gives way.  1: one is open now that was not; 0: nothing has changed;
 * -ENOSPC: too many are open, of all or of its job; -ENOMEM.  '*ret' is the want in the list, until the
 * next call.
 */
int wants_add (struct wants *w, const struct want *like, bool again,
               struct want **ret, struct err *err);

/* Whether the job may have more open wants. */
bool wants_has_room (const struct wants *w, const char *job);

/* Make room for another one: forget the oldest open want that nobody 'is_there'
 * for, which is '*ret' then.  False: there is none, or there is room.
 */
bool wants_give_way (struct wants *w,
                     bool (*is_there) (void *arg, const struct want *one),
                     void *arg, struct want *ret);

/* Forget those of a job that was removed: whether there were any. */
bool wants_forget_job (struct wants *w, const char *job);

/* Take a HAVE of an agent: true if the want is over by that.  'alone': no other
 * agent of that host is there, which may have a capture that this one does not
 * know.  HAVEs for others than this scope and host are ignored.
 */
bool wants_hear (struct wants *w, const char *scope, const char *host,
                 const struct message *m, bool alone);

/* Open all wants of a host again, since data that it had delivered is lost:
 * true if any was over.
 */
bool wants_reopen (struct wants *w, const char *scope, const char *host);

/* The next open want of a host after 'at' (NULL: the first), or NULL. */
const struct want *wants_next_open (const struct wants *w,
                                    const struct want *at, const char *scope,
                                    const char *host);

void wants_message (const struct want *w, struct message *m);   // WANT

#endif
