/* aggregator/service/operators.c - who may do everything with a root */
#include "service/operators.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

static bool find_one (const char *name, struct operators *o)
{
    const struct passwd *user = *name == '@' ? NULL : getpwnam (name);
    const struct group *group = *name == '@' ? getgrnam (name + 1) : NULL;

    if (user)
        o->users[o->nusers++] = user->pw_uid;
    if (group)
        o->groups[o->ngroups++] = group->gr_gid;
    return user || group;
}

int operators_find (const struct option_list *names, struct operators *ret,
                    struct err *err)
{
    size_t used = 0;

    *ret = (struct operators){ .nusers = 0 };
    for (size_t i = 0; i < names->n; i++) {
        const char *name = names->items[i];
        int n;

        if (!find_one (name, ret))
            return err_set (err, EINVAL, "--operator: this host has no %s %s",
                            *name == '@' ? "group" : "user",
                            *name == '@' ? name + 1 : name);
        n = snprintf (ret->text + used, sizeof (ret->text) - used, "%s%s",
                      used > 0 ? ", " : "", name);
        if (n > 0 && (size_t)n < sizeof (ret->text) - used)
            used += (size_t)n;
    }
    return 0;
}

bool operators_have (const struct operators *o,
                     const struct control_peer *peer)
{
    if (peer->owner)
        return true;
    for (size_t i = 0; i < o->nusers; i++) {
        if (o->users[i] == peer->uid)
            return true;
    }
    for (size_t i = 0; i < o->ngroups; i++) {
        for (size_t k = 0; k < peer->ngroups; k++) {
            if (o->groups[i] == peer->groups[k])
                return true;
        }
    }
    return false;
}
