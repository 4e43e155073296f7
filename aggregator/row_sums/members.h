/* aggregator/row_sums/members.h - find the group that a rank means by a name
 *
 * Groups of one job may share a name; name and rank identify one.
 */
#ifndef ROLLCALL_ROW_SUMS_MEMBERS_H
#define ROLLCALL_ROW_SUMS_MEMBERS_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct members;

/* Read CommGroup and CommGroupMember; -ENOMEM, -EIO.  Without 'all', only
 * groups of known size are read.
 */
int members_read (sqlite3 *db, bool all, struct members **ret,
                  struct err *err);
void members_destroy (struct members *m);       // m may be NULL

/* The CommGroup.id of the group with this name that contains the rank, and its
 * size (0: not known).  Returns 0 if no such group was read.
 */
uint32_t members_group (const struct members *m, const char *name, size_t n,
                        int64_t rank, uint32_t *size);

/* The group of all expected ranks (the first if there are several); 0: none. */
uint32_t members_world (const struct members *m, uint32_t *size);

#endif
