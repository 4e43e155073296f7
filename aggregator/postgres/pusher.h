/* aggregator/postgres/pusher.h - a process that pushes for a service
 *
 * The service names jobs that have changed, and never waits: rollcall push
 * --follow, which it starts again when it ends, does the rest.  What is not
 * pushed yet is the backlog.
 */
#ifndef ROLLCALL_POSTGRES_PUSHER_H
#define ROLLCALL_POSTGRES_PUSHER_H

#include "base/err.h"
#include "base/loop.h"
#include "json/json.h"

struct pusher;

struct pusher_options {
    const char *cluster;        // borrowed, as the next ones; NULL: the host
    const char *root;
    const char *program;        // rollcall
};

/* Start to push into the database of the environment (PG_VARIABLE), where no ps
 * shows it: all that is behind first.  -ENOMEM; a process that cannot be
 * started is tried again.
 */
int pusher_start (const struct pusher_options *opt, struct loop *l,
                  struct pusher **ret, struct err *err);

/* End the process; what was not pushed is pushed after the next start. */
void pusher_end (struct pusher *p);     // p may be NULL

/* A job has changed.  p may be NULL. */
void pusher_changed (struct pusher *p, const char *job);

/* Add member "postgres" to a status: {"backlog": JOBS, "oldest_s": SECONDS,
 * "pushed": JOBS, "known": whether the database has answered since the start,
 * "why": that the database does not answer, and for how long; or why the last
 * try failed; or which jobs are left out; or null}.  p may be NULL.
 */
void pusher_add_status (const struct pusher *p, struct json *status);

#endif
