/* aggregator/select/select_hosts.h - on which host a capture was made
 *
 * The rules are in doc/jobs.md, "Hosts".
 */
#ifndef ROLLCALL_SELECT_SELECT_HOSTS_H
#define ROLLCALL_SELECT_SELECT_HOSTS_H

#include "select/capture_select.h"

/* Whether two captures are known to be from different hosts: by the host's id,
 * its name, its boot time, or, if one of them has none of these, the names of
 * workers (or agents).  An unknown host is not a different one.
 */
bool select_other_host (const struct select_item *a,
                        const struct select_item *b);

/* True if captures of a rank are from two hosts at one time: none is used then,
 * and each has the reason.  A rank may move to another host.
 */
bool select_fail_two_hosts (struct select_item *items, size_t n);

/* Give captures of one host the same host name, and several hosts of one name
 * different ones.  'items' are all captures of a job, sorted by rank.  0 or
 * -ENOMEM.
 */
int select_name_hosts (struct select_item *items, size_t n);

#endif
