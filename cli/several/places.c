/* cli/several/places.c - the roots and aggregators that a verb asks */
#include "several/places.h"

#include "model/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *cli_first_root (const struct cli_where *w)
{
    return w->roots.items[0];
}

bool cli_asks_several (const struct cli_where *w)
{
    return w->aggregators || w->roots.n > 1;
}

/* Two paths of one root would be two aggregators that have the same. */
static bool is_there (const struct cli_places *p, const char *root)
{
    struct stat own, other;

    for (size_t i = 0; i < p->n; i++) {
        if (strcmp (p->list[i].name, root) == 0 ||
            (stat (root, &own) == 0 && stat (p->list[i].name, &other) == 0 &&
             own.st_dev == other.st_dev && own.st_ino == other.st_ino))
            return true;
    }
    return false;
}

static int add_endpoints (const struct command_spec *c,
                          const struct cli_where *w, struct cli_places *p)
{
    struct err err = { "" };
    int rc = endpoints_read (w->aggregators, &p->endpoints, &err);

    if (rc < 0)
        return cli_fail (c, rc == -EINVAL   ? EXIT_USAGE
                            : rc == -EAGAIN ? EX_TEMPFAIL : EX_NOINPUT,
                         "%s", err.text);
    if (!w->key)
        return cli_fail (c, EX_CONFIG, "--aggregators needs a key that says who "
                         "asks: give --key (rollcall key new makes one, and "
                         "rollcall key enrol --reads enrols it there)");
    secret_forbid_cores ();
    if ((rc = endpoints_secure (&p->endpoints, w->key, w->server_key,
                                &err)) < 0)
        return cli_fail (c, rc == -EPERM ? EX_NOPERM : EX_CONFIG, "%s",
                         err.text);
    for (size_t i = 0; i < p->endpoints.n; i++)
        p->list[p->n++] = (struct cli_place){
            p->endpoints.all[i].name, &p->endpoints.all[i].security };
    return 0;
}

int cli_places_open (const struct command_spec *c, const struct cli_where *w,
                     struct cli_places *ret)
{
    memset (ret, 0, sizeof (*ret));
    for (size_t i = 0; i < w->roots.n; i++) {
        if ((w->roots.said || !w->aggregators) &&
            !is_there (ret, w->roots.items[i]))
            ret->list[ret->n++].name = w->roots.items[i];
    }
    return w->aggregators ? add_endpoints (c, w, ret) : 0;
}

void cli_places_close (struct cli_places *p)
{
    endpoints_fini (&p->endpoints);
}
