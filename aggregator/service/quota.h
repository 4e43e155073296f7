/* aggregator/service/quota.h - how much a root may hold of one job or user, and
 * in all
 */
#ifndef ROLLCALL_SERVICE_QUOTA_H
#define ROLLCALL_SERVICE_QUOTA_H

#include "options/options.h"
#include "service/usage.h"

struct quota_of_user {
    const char *name;           // borrowed, not NUL-terminated
    size_t size;
    int64_t bytes;
};

struct quotas {                 // begins as zeros; 0: no limit
    int64_t root, job, user;    // user: of each without one of his own
    struct quota_of_user users[OPTION_LIST_MAX];
    size_t nusers;
};

/* Read "SIZE" and "USER=SIZE", which stay valid: 0; -EINVAL, and 'err' says
 * which.
 */
int quotas_read (struct quotas *q, const struct option_list *users,
                 struct err *err);
bool quotas_any (const struct quotas *q);

/* Whether so many bytes more of a job fit, beside those that are there and those
 * that are promised; else 'why' says which quota is full,
 * for its agents, and 'hint', for operators, what would free how much.
 */
bool quotas_allow (const struct quotas *q, const struct usage *u,
                   const struct usage *promised, const char *job,
                   uint64_t bytes, struct err *why, struct err *hint);

#endif
