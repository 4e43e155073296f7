/* aggregator/select/select_hosts.h - on which host a capture was made
 *
 * The rules are in doc/jobs.md, "Hosts".
 */
#ifndef ROLLCALL_SELECT_SELECT_HOSTS_H
#define ROLLCALL_SELECT_SELECT_HOSTS_H

#include "select/capture_select.h"

/* Whether two captures came from two hosts, as far as they show it: the host's
 * id, its own name, when it was booted, or, where one of them knows none of
 * these, the names of workers (or of agents).  A host that is not known is no
 * other one.
 */
bool select_other_host (const struct select_item *a,
                        const struct select_item *b);

/* True if captures of a rank came from two hosts at one time: none is used
 * then, and each says why.  A rank that went on elsewhere was on one at a time.
 */
bool select_fail_two_hosts (struct select_item *items, size_t n);

/* Give captures of one host one name for it, and those of several hosts with
 * one name different ones.  All captures of a job, sorted by rank.  0 or
 * -ENOMEM.
 */
int select_name_hosts (struct select_item *items, size_t n);

#endif
