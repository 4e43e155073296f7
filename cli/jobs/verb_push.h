/* cli/jobs/verb_push.h - rollcall push */
#ifndef ROLLCALL_JOBS_VERB_PUSH_H
#define ROLLCALL_JOBS_VERB_PUSH_H

#include "jobs/open_jobs.h"
#include "store/root.h"

struct push_verb {
    const struct command_spec *command;         // for messages
    const char *root;
    struct cli_postgres to;
    bool all, migrate, prune, rebind, json, follow;
    char root_id[ROOT_ID_SIZE];
};

int verb_push (int argc, char **argv);

/* push_follow.c: push again and again, for the service that started this
 * process, until its end of stdin: an exit status.
 */
int push_follow (const struct push_verb *opt);

#endif
