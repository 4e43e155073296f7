/* cli/run/run_origin.c - what this launch knows of its job beside ranks */
#include "run/run.h"

#include "model/job_origin.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

/* As the scheduler that started us names the job; "" if there is none. */
static const char *scheduler_id (void)
{
    static const char *const names[] = { "SLURM_JOB_ID", "PBS_JOBID",
                                         "LSB_JOBID", "FLUX_JOB_ID" };

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        const char *id = getenv (names[i]);

        if (id && *id)
            return id;
    }
    return "";
}

void run_write_origin (const struct run *r)
{
    const struct passwd *who = getpwuid (getuid ());
    char number[24];

    PRINT (number, "%lld", (long long)getuid ());
    // nothing depends on it
    (void)job_origin_write (r->dir, scheduler_id (),
                            who ? who->pw_name : number,
                            r->command, NULL);
}
