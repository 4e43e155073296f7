/* node_agent/agent/agent_delivery.h - which aggregators get captures, and what
 * they say of them
 */
#ifndef ROLLCALL_AGENT_AGENT_DELIVERY_H
#define ROLLCALL_AGENT_AGENT_DELIVERY_H

#include "agent/agent_private.h"

/* ---- agent_choice.c ---- */

/* Read which aggregators there are, and the keys for them; -ENOKEY, or as
 * endpoints_read.  agent_close_targets always cleans up.
 */
int agent_open_targets (struct agent *a, struct err *err);
void agent_close_targets (struct agent *a);

/* Begin to deliver to the first choices. */
int agent_open_ship (struct agent *a, const struct ship_events *events,
                     struct err *err);

/* Where a copy goes now; where all of them go, and those of raw files that do
 * not go with the rows ("": none), for people.
 */
const char *agent_endpoint (const struct agent *a, unsigned copy);
const char *agent_endpoints (const struct agent *a,
                             char out[MESSAGE_TEXT_MAX]);
const char *agent_raw_endpoints (const struct agent *a,
                                 char out[MESSAGE_TEXT_MAX]);

/* Those that are away, and those that are chosen and not heard: how many, and
 * their names.
 */
unsigned agent_missing (const struct agent *a, char out[MESSAGE_TEXT_MAX]);

/* Which raw files are wanted has changed: they may go elsewhere.  Whether a
 * copy has raw files.
 */
void agent_route (struct agent *a);
bool agent_gives_raw_to (const struct agent *a, unsigned copy);

/* Keep the name of the aggregator whose mark the spool has for a copy; the name
 * before that, if it is another one ("": not known), or NULL.
 */
void agent_keep_holder (struct agent *a, unsigned copy);
const char *agent_former_holder (const struct agent *a, unsigned copy,
                                 char out[MESSAGE_NAME_MAX]);

/* Whether no aggregator stands in for another one. */
bool agent_is_at_first_choice (const struct agent *a);

/* Move to another one if one is away, or back: now and then by a timer. */
void agent_look_at_targets (void *arg);

/* Call it before silence is judged, and once a second: time in which this process
 * was stopped is no silence.
 */
void agent_look_whether_deaf (struct agent *a);

/* ---- agent_second.c ---- */

/* Items that only one aggregator has acknowledged, of which the second copy is not
 * known to be in its object store.
 */
uint64_t agent_count_kept (const struct agent *a);

/* Why there is no second copy, and will be none soon; "": there is, or will be. */
const char *agent_lacks_second (const struct agent *a,
                                char out[MESSAGE_TEXT_MAX]);
void agent_tell_second (struct agent *a);       // when that changes

/* Whose acknowledgement is enough, for people: of those who have a store that
 * stands in, else of all that are chosen.
 */
const char *agent_acknowledging (const struct agent *a,
                                 char out[MESSAGE_TEXT_MAX]);

/* Whether the store may have what is kept soon: it is asked to hurry. */
bool agent_awaits_store (struct agent *a);

/* What the end leaves here of that, or "". */
void agent_name_kept (const struct agent *a, char *out, size_t size);

/* Log whether an object store stands in for an aggregator, when that changes. */
void agent_tell_keeper (struct agent *a);

/* ---- agent_connection.c ---- */

/* NULL if the aggregator is heard, else "not-connected" or "refused"; 'why'
 * gets the reason, if it is known.
 */
const char *agent_not_connected (const struct agent *a,
                                 char why[MESSAGE_TEXT_MAX]);

/* Log changes of this, and repeat it once a minute while it lasts: now and then
 * by a timer.
 */
void agent_look_at_connection (void *arg);

/* The text 'end' followed by which aggregators are not heard, and why. */
void agent_explain_end (struct agent *a, const char *end,
                        char text[MESSAGE_TEXT_MAX]);

/* Handlers of struct ship_events. */
void agent_on_connected (struct agent *a, unsigned copy);
void agent_on_refused (void *arg, unsigned copy, enum refusal reason,
                       const char *why);
void agent_on_problem (void *arg, unsigned copy, enum net_problem what,
                       const char *text);

/* ---- agent_losses.c ---- */

/* Report losses of earlier agents to the log and the summary; what can still be
 * read again is not a loss yet.  At the end, report those too.
 */
void agent_recall_losses (struct agent *a);
void agent_explain_losses (struct agent *a);

/* Whether anything is lost, or was refused. */
bool agent_has_losses (struct agent *a);

/* A sentence about all that will not be delivered; "" if there is none. */
void agent_sum_up (struct agent *a, char *text, size_t size);

/* Tell the aggregator how each rank ended, and for ranks without a capture
 * where it was looked for.
 */
void agent_explain_ranks (struct agent *a);

/* ---- agent_redeliver.c ---- */

/* Redeliver: the aggregator has lost acknowledged data (see ship_events).
 * Resume what an earlier agent had begun.
 */
void agent_on_lost (void *arg, unsigned copy);
void agent_recall_redelivery (struct agent *a);

/* Offer what one aggregator alone has (spool_revise), if there is any, once all
 * that are chosen are heard, or another one alone keeps.
 */
void agent_revise (struct agent *a);

/* Ask about what is no longer here if that is due, once all that are chosen are
 * heard; again by a timer until then.  'arg' is the agent.
 */
void agent_ask_gone (void *arg);

/* A handler of struct ship_events. */
void agent_on_judged (void *arg);

/* Report losses once the aggregator has answered for all that is not here. */
void agent_tell_lost (struct agent *a);

/* A sentence about what only one of two aggregators has; "" if there is nothing. */
const char *agent_name_one_copy (const struct agent *a,
                                 char out[MESSAGE_TEXT_MAX]);

#endif
