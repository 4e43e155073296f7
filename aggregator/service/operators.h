/* aggregator/service/operators.h - who may do everything with a root
 *
 * Its owner and root may; and the users and groups of --operator.
 */
#ifndef ROLLCALL_SERVICE_OPERATORS_H
#define ROLLCALL_SERVICE_OPERATORS_H

#include "archive/root_control.h"
#include "options/options.h"

struct operators {              // begins as zeros
    uid_t users[OPTION_LIST_MAX];
    gid_t groups[OPTION_LIST_MAX];
    size_t nusers, ngroups;
    char text[512];             // "alice, @staff", or ""
};

/* Look up "USER" and "@GROUP": 0; -EINVAL, and 'err' names the one that this
 * host does not know.
 */
int operators_find (const struct option_list *names, struct operators *ret,
                    struct err *err);

bool operators_have (const struct operators *o,
                     const struct control_peer *peer);

#endif
