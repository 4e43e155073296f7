/* cli/cli_derive.c - command-line options for derived tables */
#include "cli_derive.h"

#include "base/thread.h"
#include "builder/build.h"

#include <errno.h>
#include <string.h>

int cli_derive_read (const struct command_spec *c,
                     const struct cli_derive_options *opt,
                     struct cli_derive *ret)
{
    struct err err = { "" };
    int rc = 0;

    memset (ret, 0, sizeof (*ret));
    findings_defaults (&ret->findings);
    ret->options.findings = &ret->findings;
    ret->options.topology = &ret->topology;
    ret->options.all_steps = opt->all_steps;
    ret->options.one_file = opt->one_file;
    for (size_t i = 0; i < opt->thresholds.n && rc == 0; i++)
        rc = findings_set (&ret->findings, opt->thresholds.items[i], &err);
    if (rc < 0)
        return cli_fail (c, EXIT_USAGE, "--threshold: %s", err.text);
    if (opt->topology)
        rc = topology_read (opt->topology, &ret->topology, &err);
    if (rc < 0)
        return cli_fail (c, rc == -EINVAL || rc == -EFBIG ? EX_DATAERR
                                                          : EX_NOINPUT,
                         "--topology: %s", err.text);
    if (opt->topology && ret->topology.n == 0)
        return cli_fail (c, EX_DATAERR, "--topology: %s names no host",
                         opt->topology);
    return 0;
}

void cli_derive_fini (struct cli_derive *d)
{
    topology_fini (&d->topology);
}

unsigned cli_processors (void)
{
    unsigned n = thread_processors ();

    return n > BUILD_THREADS_MAX ? BUILD_THREADS_MAX : n;
}
