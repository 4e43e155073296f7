/* cli/run/run_targets.c - several aggregators: --aggregators */
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* What does not fit is not probed, but the agent knows it. */
static void join_names (struct run *r)
{
    size_t used = 0;

    for (size_t i = 0; i < r->targets.n; i++) {
        const char *name = r->targets.all[i].name;
        size_t n = strlen (name) + 1;   // with a comma, or the NUL

        if (used + n > sizeof (r->endpoints))
            break;
        if (used > 0)
            r->endpoints[used - 1] = ',';
        memcpy (r->endpoints + used, name, n);
        used += n;
    }
}

int run_read_targets (struct run *r, struct run_options *opt, struct err *err)
{
    int rc;

    if (!opt->aggregators)
        return 0;
    rc = endpoints_read (opt->aggregators, &r->targets, err);
    if (rc == 0)
        rc = endpoints_sort (&r->targets, opt->job, err);
    if (rc < 0)
        return rc;
    join_names (r);
    opt->aggregator = r->endpoints;
    return 0;
}

const char *run_list_for_agent (const struct run *r, char path[PATH_MAX])
{
    const char *list = r->opt->aggregators;

    if (!list || strstr (list, "://"))
        return list ? list : "";
    return realpath (list, path) ? path : list;
}

const char *run_server_key (const struct run *r)
{
    for (size_t i = 0; i < r->targets.n; i++) {
        const struct endpoint *e = &r->targets.all[i];

        if (strcmp (e->name, r->endpoint) == 0 && e->server_key)
            return e->server_key;
    }
    return getenv ("ROLLCALL_SERVER_KEY");
}
