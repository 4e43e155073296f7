/* cli/verb_run.c - rollcall run: execute rollcall-run, which is linked with MPI
 */
#include "cli.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int verb_run (int argc, char **argv)
{
    char program[PATH_MAX];
    struct err err = { "" };

    (void)argc;
    if (run_program ("rollcall-run", program, &err) < 0) {
        (void)fprintf (stderr, "rollcall run: %s\n", err.text);
        return EX_OSFILE;
    }
    argv[0] = (char *)"rollcall-run";
    (void)execv (program, argv);
    (void)fprintf (stderr, "rollcall run: cannot run %s: %s\n", program,
                   strerror (errno));
    return EX_OSERR;
}
