/* node_agent/agent/capture_object.h - captures between found and sealed
 *
 * One object for each capture that has settled and is not yet in the spool, by
 * its path, with a table of its states, drawn in doc/states.md.  What is known
 * of it before that is in discovery/watch.h, and behind it in the spool's rows.
 */
#ifndef ROLLCALL_AGENT_CAPTURE_OBJECT_H
#define ROLLCALL_AGENT_CAPTURE_OBJECT_H

#include "base/err.h"
#include "base/states.h"
#include "discovery/find.h"

enum object_state {
    OBJECT_FOUND,               // and settled
    OBJECT_WAITING,             // for room
    OBJECT_QUEUED,              // the sealer has it
    OBJECT_FAILED,              // it could not be sealed: tried again
    OBJECT_LAST_OPEN = OBJECT_FAILED,
    OBJECT_SEALED,              // from here on there is no object any more
    OBJECT_REFUSED,             // --when-full refuse
    OBJECT_MOVED,               // it is where a search will find it
    OBJECT_FOREIGN,             // of a rank of another host
    OBJECT_VANISHED,
    OBJECT_STATES
};

enum object_event {
    OBJECT_NO_ROOM,
    OBJECT_NEVER_ROOM,
    OBJECT_HANDED_ON,           // to the sealer
    OBJECT_IS_SEALED,
    OBJECT_SEAL_FAILED,
    OBJECT_NOT_THERE,           // the sealer has not found it where it was
    OBJECT_NOT_OURS,
    OBJECT_GONE,                // it is nowhere, says a search
    OBJECT_EVENTS
};

struct capture_object {
    char *path;
    struct state state;
    struct err why;             // why it could not be sealed, or ""
    struct find_id id;          // of then
    bool again;                 // it is tried again since
    struct capture_object *next, *prev; // in the order in which they came
};

extern const struct states object_states;

/* Zeros but for 'level'. */
struct capture_objects {
    void *by_path;              // tsearch(3)
    struct capture_object *first, *last;
    size_t failed;              // those with a reason
    enum log_level level;       // of transitions
};

/* An event, and why it came, or NULL: follow the edge from the capture's state
 * (a new object is OBJECT_FOUND), and log it.  False, and nothing is changed:
 * there is none, or no memory.
 */
bool capture_object_take (struct capture_objects *all, const char *path,
                          enum object_event event, const char *why);

/* Could not be sealed for this reason: for OBJECT_SEAL_FAILED, with more.  The
 * object, or NULL without memory; 'first': it was the first time.
 */
struct capture_object *capture_object_fail (struct capture_objects *all,
                                            const char *path,
                                            const struct find_id *id,
                                            const struct err *why,
                                            bool *first);

struct capture_object *capture_object_find (const struct capture_objects *all,
                                            const char *path);

/* Whether it could not be sealed, whatever has become of it since. */
bool capture_object_has_failed (const struct capture_objects *all,
                                const char *path);

/* The next one that could not be sealed; the first if 'after' is NULL. */
struct capture_object *
capture_object_next_failed (const struct capture_objects *all,
                            const struct capture_object *after);

void capture_object_forget_all (struct capture_objects *all);

#endif
