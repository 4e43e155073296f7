/* cli/run/run_keys.c - create, distribute and remove the keys of one run
 *
 * Whoever starts the aggregator makes a pair for it and one for all agents.
 * They reach the wrappers over MPI, in the meeting file, or in an environment
 * variable (--launcher), and daemons in files that these remove as soon as they
 * have read them; never in a command line.
 */
#include "run/run.h"

#include "net/keyring.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGENTS "agents"                 // the name that their key is known by

/* Open MPI passes on variables that begin with OMPI_, other launchers all. */
static const char *const variables[] = { "ROLLCALL_RUN_KEYS",
                                         "OMPI_ROLLCALL_RUN_KEYS" };

#define VARIABLES (sizeof (variables) / sizeof (variables[0]))

bool run_has_keys (const struct run *r)
{
    return r->keys.server_public[0] != '\0';
}

int run_make_keys (struct run *r, struct err *err)
{
    struct key_file server, agents;
    int rc;

    if (r->opt->insecure)
        return 0;
    rc = key_make (KEYRING_SERVER, &server, err);
    if (rc == 0)
        rc = key_make (AGENTS, &agents, err);
    if (rc < 0)
        return rc;
    memcpy (r->keys.server_public, server.public_key, NET_KEY_SIZE);
    memcpy (r->keys.agent_public, agents.public_key, NET_KEY_SIZE);
    memcpy (r->keys.agent_secret, agents.secret_key, NET_KEY_SIZE);
    memcpy (r->server_secret, server.secret_key, NET_KEY_SIZE);
    explicit_bzero (&server, sizeof (server));
    explicit_bzero (&agents, sizeof (agents));
    return 0;
}

/* ---- through the launcher ---- */

int run_export_keys (const struct run *r)
{
    char text[4 * NET_KEY_SIZE];
    int rc = 0;

    if (!run_has_keys (r))
        return 0;
    PRINT (text, "%s %s %s", r->keys.server_public, r->keys.agent_public,
           r->keys.agent_secret);
    for (size_t i = 0; i < VARIABLES && rc == 0; i++)
        rc = setenv (variables[i], text, 1);
    explicit_bzero (text, sizeof (text));
    return rc;
}

int run_import_keys (struct run *r, struct err *err)
{
    char *to[] = { r->keys.server_public, r->keys.agent_public,
                   r->keys.agent_secret };
    const char *text = NULL;
    int rc = 0;

    for (size_t i = 0; i < VARIABLES && !text; i++)
        text = getenv (variables[i]);
    if (text && !r->opt->insecure) {
        bool valid = strlen (text) == 3 * NET_KEY_SIZE - 1;

        for (size_t i = 0; i < 3 && valid; i++) {
            memcpy (to[i], text + i * NET_KEY_SIZE, NET_KEY_SIZE - 1);
            valid = key_valid (to[i]);
        }
        if (!valid)
            rc = err_set (err, EBADMSG, "the launcher did not pass on the keys "
                          "of this run unchanged (%s)", variables[0]);
    }
    for (size_t i = 0; i < VARIABLES; i++)
        (void)unsetenv (variables[i]);
    return rc;
}

/* The agent, which will read the file, is in another directory. */
static void make_absolute (const char *variable)
{
    const char *value = getenv (variable);
    char path[PATH_MAX];

    if (value && *value != '/' && access (value, F_OK) == 0 &&
        realpath (value, path))
        (void)setenv (variable, path, 1);
}

int run_check_keys (const struct run *r, struct err *err)
{
    make_absolute ("ROLLCALL_KEY");
    make_absolute ("ROLLCALL_SERVER_KEY");      // which may be the key itself
    if (run_has_keys (r) || r->opt->insecure || getenv ("ROLLCALL_KEY") ||
        net_is_loopback (r->endpoint))
        return 0;
    return err_set (err, ENOKEY, "there is no key for the aggregator at %s. "
                    "With --launcher: it did not pass on the environment "
                    "variable %s; mpirun takes -x %s. For a service: set "
                    "ROLLCALL_KEY and ROLLCALL_SERVER_KEY (rollcall key). Or "
                    "give --insecure", r->endpoint, variables[0],
                    variables[0]);
}

/* ---- to the daemons ---- */

int run_write_server_keys (const struct run *r, char dir[PATH_MAX],
                           struct err *err)
{
    struct key_file own = { .name = KEYRING_SERVER };
    char path[PATH_MAX];
    int rc;

    if (!fileio_join (dir, PATH_MAX, r->dir, "keys") ||
        !fileio_join (path, sizeof (path), dir, KEYRING_SERVER ".key"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", r->dir);
    memcpy (own.public_key, r->keys.server_public, NET_KEY_SIZE);
    memcpy (own.secret_key, r->server_secret, NET_KEY_SIZE);
    rc = fileio_mkdirs (dir, 0700, err);
    if (rc == 0)
        rc = keyring_enrol (dir, AGENTS, r->keys.agent_public, -1, NULL, err);
    if (rc == 0)                // one key for all hosts of the run
        rc = keyring_bind (dir, AGENTS, KEY_ANY_HOST, err);
    if (rc == 0)
        rc = key_write (path, &own, err);
    explicit_bzero (&own, sizeof (own));
    return rc;
}

int run_write_agent_key (const struct run *r, char path[PATH_MAX],
                         struct err *err)
{
    struct key_file own = { .name = AGENTS };
    int n = snprintf (path, PATH_MAX, "%s/agent.%ld.key", r->dir,
                      (long)getpid ());
    int rc;

    if (n < 0 || n >= PATH_MAX)
        return err_set (err, ENAMETOOLONG, "path is too long: %s", r->dir);
    memcpy (own.public_key, r->keys.agent_public, NET_KEY_SIZE);
    memcpy (own.secret_key, r->keys.agent_secret, NET_KEY_SIZE);
    rc = key_write (path, &own, err);
    explicit_bzero (&own, sizeof (own));
    return rc;
}
