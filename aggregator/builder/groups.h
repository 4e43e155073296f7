/* aggregator/builder/groups.h - the communicator groups of a whole job
 *
 * Every capture names the groups of its own rank; here each group is kept once.
 * Groups with the same name are told apart by their members.  Of what programs
 * call a group (pg_name) the least text that is not empty is kept: that of all
 * captures that were added so far, in any order.
 */
#ifndef ROLLCALL_BUILDER_GROUPS_H
#define ROLLCALL_BUILDER_GROUPS_H

#include "builder/part.h"
#include "model/capture.h"

#include <sqlite3.h>

struct groups;

struct groups *groups_create (void);            // NULL: no memory
void groups_destroy (struct groups *g);         // g may be NULL

/* Take over the groups of a capture, which has none afterwards.  *ret points
 * into 'g'; the caller frees the array itself.  0 or -ENOMEM.
 */
int groups_share (struct groups *g, struct capture *c, struct group_list *ret,
                  struct err *err);

/* The same, and record which of the groups its ops used.  A group that its ops
 * name but its metadata does not is kept with the ranks that use it.
 */
int groups_add (struct groups *g, struct capture *c, int64_t rank,
                const struct part_group *used, size_t nused,
                struct group_list *ret, struct err *err);

/* Whether metadata of each capture has all groups that its ops name. */
bool groups_all_known (const struct groups *g);

/* Write CommGroup and CommGroupMember, sorted so that the same job always gets
 * the same ids.
 */
int groups_write (struct groups *g, sqlite3 *db, struct err *err);

#endif
