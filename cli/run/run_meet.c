/* cli/run/run_meet.c - how the wrappers of a run find its aggregator
 *
 * Rank 0 binds, and fills a bulletin: job, endpoints and keys.  The others get
 * it over MPI, or from a file.
 */
#include "run/run.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "json/json.h"
#include "net/keys.h"
#include "store/fileio.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BULLETIN_LIMIT_NS (15 * NS_PER_S)       // for rank 0 to write it
#define SHARED_LIMIT_NS (60 * NS_PER_S)         // and for other hosts to see it
#define ELSEWHERE_NS (5 * NS_PER_S)     // if OUT seems to be another one there:
                                        // mpirun starts all ranks at once
#define REFRESH_NS NS_PER_S
#define BULLETIN_MAX 65536
#define MPI_LIMIT_S 120                         // for all ranks to meet over it

void run_fill_bulletin (struct run *r, struct world_bulletin *b)
{
    struct err err = { "" };
    int rc;

    memset (b, 0, sizeof (*b));
    if (r->opt->job)
        PRINT (r->job, "%s", r->opt->job);
    else
        run_new_job (r->job);
    rc = run_check_out (r, &err);
    b->status = rc < 0 ? cli_output_status (rc) : EX_CANTCREAT;
    b->ok = rc == 0 && run_make_new_dir (r, &err) == 0 &&
            run_make_keys (r, &err) == 0 && run_bind (r, &err) == 0;
    if (b->ok)
        run_choose_master (r);
    memcpy (b->job, r->job, sizeof (b->job));
    memcpy (b->endpoints, r->endpoints, sizeof (b->endpoints));
    memcpy (b->master_addr, r->master_addr, sizeof (b->master_addr));
    b->master_port = r->master_port;
    b->keys = r->keys;
    PRINT (b->why, "%s", err.text);
}

static void take_bulletin (struct run *r, const struct world_bulletin *b)
{
    memcpy (r->job, b->job, sizeof (r->job));
    memcpy (r->endpoints, b->endpoints, sizeof (r->endpoints));
    memcpy (r->master_addr, b->master_addr, sizeof (r->master_addr));
    r->master_port = b->master_port;
    r->keys = b->keys;
}

/* Whether the run may begin; rank 0 reports why not. */
static int run_meet_judge (struct run *r, const struct world_bulletin *b,
                           bool all_ok)
{
    bool says = r->world.rank == 0;

    if (!b->ok)
        return says ? RUN_FAIL (b->status, "%s", b->why) : b->status;
    if (!all_ok)
        return says ? RUN_FAIL (EX_OSERR, "a rank is out of memory") : EX_OSERR;
    return 0;
}

/* If OUT is on another file system on this host than on others, hosts wait for
 * each other in different ways.
 */
static void on_alarm (int sig)
{
    static const char text[] =
        "rollcall run: not all ranks have met over MPI: is OUT on a shared "
        "file system on some hosts only? Use --child mpi, or rollcall run "
        "--launcher \"mpirun ...\" -o OUT -- COMMAND\n";

    (void)sig;
    if (write (STDERR_FILENO, text, sizeof (text) - 1) < 0)
        _exit (EX_OSERR);
    _exit (EX_CONFIG);
}

static void limit_time (const struct run *r, unsigned seconds)
{
    if (r->child == RUN_CHILD_PLAIN)
        return;                 // --child plain: all ranks meet over MPI
    (void)signal (SIGALRM, seconds > 0 ? on_alarm : SIG_DFL);
    (void)alarm (seconds);
}

int run_discover (struct run *r)
{
    struct world_bulletin b = { .ok = true };
    struct world_member *members = NULL;
    struct err err = { "" };
    bool all_ok = false;
    int rc, status;

    if (r->world.rank == 0)
        run_fill_bulletin (r, &b);
    limit_time (r, MPI_LIMIT_S);
    rc = world_discover (&r->world, r->host, r->key, &b, &all_ok, &members,
                         &err);
    free (members);
    if (rc < 0)
        status = RUN_FAIL (rc == -EINVAL ? EX_CONFIG : EX_OSERR, "%s",
                           err.text);
    else
        status = run_meet_judge (r, &b, all_ok);
    world_leave ();
    limit_time (r, 0);
    if (status == 0)
        take_bulletin (r, &b);
    return status;
}

/* Without MPI: rank 0 writes how it is reached to a file that is named after
 * the launch, in this host's state directory and in OUT; the others wait for
 * either.  A launch may be named like an earlier one (torchrun's are), so a
 * file counts only while its writer lives and listens.
 */
struct meeting {
    char state[PATH_MAX];
    char near[PATH_MAX];
    char out[PATH_MAX];         // "": there is no OUT here
    char far[64];               // the name of the file in it
};

static int name_meeting (struct run *r, struct meeting *m, struct err *err)
{
    char hex[DIGEST_HEX_SIZE];
    struct digest d = { { 0 } };
    const char *instance = r->world.instance;
    int rc = run_state_dir (r->opt->state, m->state, err), near;

    if (rc < 0)
        return rc;
    (void)digest_of (instance, strlen (instance), &d);
    digest_hex (&d, hex);
    near = snprintf (m->near, sizeof (m->near), "%s/meet-%.16s.json", m->state,
                     hex);
    PRINT (m->far, ".rollcall-%.16s.json", hex);
    if (!realpath (r->opt->out ? r->opt->out : ".", m->out))
        m->out[0] = '\0';
    return near < 0 || near >= PATH_MAX
               ? err_set (err, ENAMETOOLONG, "path is too long: %s", m->state)
               : 0;
}

static int write_meeting (struct run *r, struct err *err)
{
    struct json *j = json_object ();
    struct meeting m;
    char *text;
    int rc = name_meeting (r, &m, err);

    json_add_text (j, "job", r->job);
    json_add_text (j, "endpoints", r->endpoints);
    json_add_text (j, "master_addr", r->master_addr);
    json_add_int (j, "master_port", r->master_port);
    json_add_text (j, "server_public", r->keys.server_public);
    json_add_text (j, "agent_public", r->keys.agent_public);
    json_add_text (j, "agent_secret", r->keys.agent_secret);
    json_add_int (j, "pid", getpid ());
    json_add_int (j, "start_time", run_start_time (getpid ()));
    text = json_print (j, true);
    json_free (j);
    if (!text)
        return err_set (err, ENOMEM, "no memory");
    if (rc == 0)
        rc = fileio_replace (m.near, text, strlen (text), 0600, err);
    if (rc == 0 && r->all_interfaces)
        rc = tree_replace (&r->held, m.far, text, strlen (text), 0600, err);
    free (text);
    return rc;
}

void run_remove_meeting (struct run *r)
{
    struct meeting m;

    if (name_meeting (r, &m, NULL) < 0)
        return;
    (void)unlink (m.near);
    if (r->all_interfaces)
        (void)unlinkat (r->held.fd, m.far, 0);
}

static bool writer_lives (const struct json *j)
{
    int fd = run_open_recorded (j);

    fileio_close (fd);
    return fd >= 0;
}

static bool read_meeting (struct run *r, const char *path, bool near)
{
    struct world_bulletin b = { .ok = true };
    struct json *j = NULL;
    struct buf text;
    bool valid;

    buf_init (&text, BULLETIN_MAX);
    // for nobody else: whoever can write it could pose as the aggregator
    if (key_read_private (path, &text, NULL) == 0)
        j = json_parse ((const char *)text.data, text.size, NULL);
    buf_fini (&text);
    valid = j && (!near || writer_lives (j));
    PRINT (b.job, "%s", json_text (json_get (j, "job"), ""));
    PRINT (b.endpoints, "%s", json_text (json_get (j, "endpoints"), ""));
    PRINT (b.master_addr, "%s", json_text (json_get (j, "master_addr"), ""));
    (void)json_int (json_get (j, "master_port"), &b.master_port);
    (void)snprintf (b.keys.server_public, WORLD_KEY_SIZE, "%s",
                    json_text (json_get (j, "server_public"), ""));
    (void)snprintf (b.keys.agent_public, WORLD_KEY_SIZE, "%s",
                    json_text (json_get (j, "agent_public"), ""));
    (void)snprintf (b.keys.agent_secret, WORLD_KEY_SIZE, "%s",
                    json_text (json_get (j, "agent_secret"), ""));
    json_free (j);
    if (valid)
        take_bulletin (r, &b);
    return valid;
}

/* Whether this rank has already taken part in the run that it found.  Then it
 * is an earlier run of the same launch (a script may have several) that rank 0
 * has not finished yet.
 */
static bool was_there (const struct run *r, const struct meeting *m)
{
    char path[PATH_MAX];
    int n = snprintf (path, sizeof (path), "%s/%s/%s/captures/rank%lld",
                      m->state, r->job, r->key, (long long)r->world.rank);

    return n > 0 && n < PATH_MAX && access (path, F_OK) == 0;
}

/* Clients of shared file systems remember that a file is missing, NFS clients
 * for half a minute, unless this host changes the directory itself.
 */
static void refresh (const struct run *r, const struct meeting *m, int64_t *at)
{
    int64_t now = clock_mono_ns ();
    struct tree out;
    int fd;

    if (now < *at || !m->out[0] || r->world.local_rank != 0)
        return;
    *at = now + REFRESH_NS;
    if (tree_open (&out, m->out, NULL) < 0)
        return;
    fd = tree_make_temp (&out);
    tree_close (&out);
    fileio_close (fd);
}

static bool read_far (struct run *r, const struct meeting *m)
{
    char path[PATH_MAX];

    return m->out[0] && fileio_join (path, sizeof (path), m->out, m->far) &&
           read_meeting (r, path, false);
}

static const char cure_by_mpi[] =
    "  rollcall run --launcher \"mpirun ...\" -o OUT -- COMMAND\n"
    "  mpirun ... rollcall run --child mpi --aggregator tcp://HOST:PORT "
    "--job ID -- COMMAND";

// a script that sets RANK and WORLD_SIZE itself has no mpirun
static const char cure_by_variables[] =
    "  rollcall run -o OUT -- COMMAND      with an OUT that all hosts share\n"
    "  rollcall run --aggregator tcp://HOST:PORT --job ID -- COMMAND      on "
    "each host, with a rollcall-aggregator at HOST";

static int say_unseen (const struct run *r, const char *fs)
{
    bool by_mpi = !world_is_torchrun (&r->world);
    char why[64] = "";

    if (fs)
        PRINT (why, " (it is on %s, and rank 0 on another machine)", fs);
    return RUN_FAIL (EX_CONFIG, "rank %lld on host %s does not find the "
                     "aggregator of rank 0: OUT (%s) is not visible here%s%s. "
                     "Use one of\n%s",
                     (long long)r->world.rank, r->host,
                     r->opt->out ? r->opt->out : ".", why,
                     by_mpi ? "" : ", or rank 0 was not started",
                     by_mpi ? cure_by_mpi : cure_by_variables);
}

static int wait_meeting (struct run *r)
{
    bool shared = r->way == RUN_WAY_OUT && run_out_is_shared (r->opt);
    int64_t patience = shared ? SHARED_LIMIT_NS : BULLETIN_LIMIT_NS;
    int64_t limit = clock_mono_ns () + patience, refresh_ns = 0;
    int64_t ask_ns = clock_mono_ns () + ELSEWHERE_NS;
    const char *fs = NULL;
    struct err err = { "" };
    struct meeting m;
    bool found = false;

    while (clock_mono_ns () < limit) {
        if (name_meeting (r, &m, &err) < 0)     // rank 0 may be creating OUT
            return RUN_FAIL (EX_CANTCREAT, "%s", err.text);
        if (shared)
            refresh (r, &m, &refresh_ns);
        found = read_meeting (r, m.near, true) ||
                read_far (r, &m);
        if (found && was_there (r, &m))
            limit = clock_mono_ns () + patience;
        else if (found && run_probe (r, &err) == 0)
            return 0;
        if (found || clock_mono_ns () > ask_ns) {
            // only once, and never if OUT was recognised as rank 0's
            fs = found ? NULL : run_out_is_elsewhere (r);
            ask_ns = INT64_MAX;
        }
        if (fs)
            break;
        (void)poll (NULL, 0, 50);
    }
    if (found)
        return RUN_FAIL (EX_UNAVAILABLE, "%s", err.text);
    return say_unseen (r, fs);
}

int run_meet_by_files (struct run *r)
{
    struct world_bulletin b;
    struct err err = { "" };

    if (r->world.rank != 0)
        return wait_meeting (r);
    run_fill_bulletin (r, &b);
    if (!b.ok)
        return RUN_FAIL (b.status, "%s", b.why);
    if (r->world.size > 1 && write_meeting (r, &err) < 0)
        return RUN_FAIL (EX_CANTCREAT, "%s", err.text);
    return 0;
}
