/* aggregator/sums/members.h - find the group that a rank means by a name
 *
 * Groups of one job may share a name; name and rank identify one.
 */
#ifndef ROLLCALL_SUMS_MEMBERS_H
#define ROLLCALL_SUMS_MEMBERS_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct members;

/* From CommGroup and CommGroupMember; -ENOMEM, -EIO.  Without 'all' only
 * groups whose size is known.
 */
int members_read (sqlite3 *db, bool all, struct members **ret,
                  struct err *err);
void members_destroy (struct members *m);       // m may be NULL

/* CommGroup.id of the group of this name that has the rank, and how many ranks
 * it has (0: not known); 0: there is none that was read.
 */
uint32_t members_group (const struct members *m, const char *name, size_t n,
                        int64_t rank, uint32_t *size);

/* The group of all ranks that are expected (the first of several); 0: there is
 * none.
 */
uint32_t members_world (const struct members *m, uint32_t *size);

#endif
