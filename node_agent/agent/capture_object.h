/* node_agent/agent/capture_object.h - captures between settled and sealed
 *
 * There is one object, found by its path, for each capture that has settled and
 * is not yet in the spool; model/capture_stages.h has the states.  Before that
 * discovery/watch.h has the capture's state, and afterwards the spool's rows.
 */
#ifndef ROLLCALL_AGENT_CAPTURE_OBJECT_H
#define ROLLCALL_AGENT_CAPTURE_OBJECT_H

#include "base/err.h"
#include "discovery/find.h"
#include "model/capture_stages.h"

struct capture_object {
    char *path;
    struct state state;
    struct err why;             // why it could not be sealed, or ""
    struct find_id id;          // when that happened
    bool again;                 // it has been tried again since
    struct capture_object *next, *prev; // in order of arrival
};

/* Begins as zeros, except for 'level'. */
struct capture_objects {
    void *by_path;              // tsearch(3)
    struct capture_object *first, *last;
    size_t failed;              // those with a reason
    enum log_level level;       // of transitions
};

/* Take an event with its reason, which may be NULL: follow the edge from the
 * capture's state (a new object is STAGE_SETTLED), and log it.  False, and
 * nothing is changed, if there is no such edge or no memory.
 */
bool capture_object_take (struct capture_objects *all, const char *path,
                          enum stage_event event, const char *why);

/* Record why it could not be sealed (STAGE_SEAL_FAILED).  Returns the object,
 * or NULL without memory; 'first': this was its first failure.
 */
struct capture_object *capture_object_fail (struct capture_objects *all,
                                            const char *path,
                                            const struct find_id *id,
                                            const struct err *why,
                                            bool *first);

struct capture_object *capture_object_find (const struct capture_objects *all,
                                            const char *path);

/* Whether it ever could not be sealed. */
bool capture_object_has_failed (const struct capture_objects *all,
                                const char *path);

/* The next one that could not be sealed; the first if 'after' is NULL. */
struct capture_object *
capture_object_next_failed (const struct capture_objects *all,
                            const struct capture_object *after);

void capture_object_forget_all (struct capture_objects *all);

#endif
