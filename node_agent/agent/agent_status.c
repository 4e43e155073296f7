/* node_agent/agent/agent_status.c - what this agent is doing, for rollcall
 * status
 */
#include "agent/agent_private.h"

#include "agent/agent_captures.h"
#include "agent/agent_delivery.h"
#include "agent/agent_end.h"
#include "json/status.h"
#include "store/fileio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One more sentence. */
static void add (char why[2 * MESSAGE_TEXT_MAX], const char *text)
{
    size_t n = strlen (why);

    (void)snprintf (why + n, 2 * MESSAGE_TEXT_MAX - n, "%s%s",
                    n > 0 && *text ? "; " : "", text);
}

/* 'why': the current obstacle, or "".  A refusal comes first, because it fills
 * the spool in the end.
 */
static const char *state_of (const struct agent *a,
                             char why[2 * MESSAGE_TEXT_MAX])
{
    char unheard[MESSAGE_TEXT_MAX], second[MESSAGE_TEXT_MAX];
    const char *connection = agent_not_connected (a, unheard);

    why[0] = '\0';
    (void)agent_lacks_second (a, second);
    if (life_is_over (&a->life))
        return "over";
    add (why, a->room.held ? a->room.disk_quota.why.text : "");
    add (why, unheard);
    add (why, second);
    if (a->room.held && !(connection && strcmp (connection, "refused") == 0))
        return "no-room";
    if (connection)
        return connection;
    if (*second) {
        (void)snprintf (why, 2 * MESSAGE_TEXT_MAX, "%s", second);
        return "waiting";
    }
    if (*ship_waits (a->ship) && spool_undelivered (a->spool) > 0) {
        (void)snprintf (why, 2 * MESSAGE_TEXT_MAX, "%s",
                        ship_waits (a->ship));
        return "waiting";
    }
    return a->end.commands_ns > 0 ? "delivering" : "watching";
}

void agent_write_status (void *arg)
{
    struct agent *a = arg;
    const struct clock_sync *clock = ship_clock (a->ship);
    char path[PATH_MAX], why[2 * MESSAGE_TEXT_MAX], to[MESSAGE_TEXT_MAX];
    char one_copy[MESSAGE_TEXT_MAX];
    struct json *j = status_begin ("rollcall-agent", a->opt->job,
                                   state_of (a, why));

    json_add_text (j, "host", a->self.host);
    json_add_text (j, "aggregator", agent_endpoints (a, to));
    json_add_int (j, "unsettled", (int64_t)watch_unsettled (a->watch));
    json_add_int (j, "sealing", (int64_t)sealer_pending (a->sealer));
    json_add_int (j, "analysing", (int64_t)agent_open_count (a));
    json_add_int (j, "undelivered", (int64_t)spool_undelivered (a->spool));
    json_add_int (j, "kept", (int64_t)agent_count_kept (a));
    json_add_int (j, "spool_bytes", (int64_t)(spool_bytes (a->spool) +
                                              spool_kept_bytes (a->spool)));
    json_add_int (j, "spool_quota",
                  (int64_t)disk_quota_quota_bytes (&a->room.disk_quota));
    if (clock->known) {
        json_add_int (j, "clock_offset_ns", clock->offset_ns);
        json_add_int (j, "clock_error_ns", clock->error_ns);
    }
    if (*why)
        json_add_text (j, "why", why);
    json_add_nonempty (j, "one_copy", agent_name_one_copy (a, one_copy));
    if (fileio_join (path, sizeof (path), a->spool_dir, "status.json"))
        status_write (j, path, &a->status_text);
    else
        json_free (j);
    (void)loop_add_timer (a->loop, STATUS_EVERY_NS, agent_write_status, a);
}

void agent_end_status (struct agent *a)
{
    char path[PATH_MAX];

    if (a->status_text && fileio_join (path, sizeof (path), a->spool_dir,
                                       "status.json"))
        (void)unlink (path);
    free (a->status_text);
}
