/* aggregator/service/aggregator_askers.c - who may ask for what */
#include "service/aggregator_private.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

static int refuse_all (const struct aggregator *a, const char *what,
                       struct err *err)
{
    const char *others = a->opt->operators.text;

    return err_set (err, EACCES, "\"%.40s\" is for operators of this root: "
                    "its owner, root%s%s", what, *others ? ", " : "", others);
}

/* The name of a user of this host, for comparisons with those that captures
 * name.
 */
static const char *name_of (const struct control_peer *peer, struct err *err)
{
    const struct passwd *p = getpwuid (peer->uid);

    if (!p)
        (void)err_set (err, EACCES, "this host has no name for user %ld",
                       (long)peer->uid);
    return p ? p->pw_name : NULL;
}

int aggregator_may_ask (struct aggregator *a, const struct control_peer *peer,
                        const struct json *request, const char **visible_to,
                        struct err *err)
{
    const char *what = json_text (json_get (request, "do"), "");
    const char *job = json_text (json_get (request, "job"), "");
    int rc;

    *visible_to = NULL;
    if (operators_have (&a->opt->operators, peer))
        return 0;
    if (strcmp (what, "view") != 0 && strcmp (what, "fetch") != 0)
        return refuse_all (a, what, err);
    if (!(*visible_to = name_of (peer, err)))
        return -EACCES;
    if (strcmp (what, "view") == 0)
        return 0;
    if ((rc = ledger_is_of_user (a->ledger, job, *visible_to,
                                 err)) < 0)
        return rc;
    return rc == 1 ? 0 : err_set (err, ENOENT, "there is no job %.200s of user "
                                  "%s here: rollcall jobs lists those", job,
                                  *visible_to);
}

/* A path of somebody else may be one where stat never returns. */
bool aggregator_is_meant (const struct aggregator *a,
                          const struct control_peer *peer,
                          const struct json *request)
{
    const char *root = json_text (json_get (request, "root"), NULL);
    struct stat own, asked;

    if (!root || strcmp (root, a->root_path) == 0)
        return true;
    return peer->owner && stat (a->opt->root, &own) == 0 &&
           stat (root, &asked) == 0 && own.st_dev == asked.st_dev &&
           own.st_ino == asked.st_ino;
}
