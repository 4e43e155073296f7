/* cli/run_main.c - rollcall run: options, and which part this process plays
 *
 * A program of its own, so that the front door does not load MPI.  See
 * rollcall-run(1) for the forms in which it is called.
 */
#include "check.h"
#include "run.h"

#include "analyse/analyser.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fileio.h"
#include "base/json.h"
#include "base/log.h"
#include "base/space.h"
#include "guard/release.h"
#include "net/keys.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BULLETIN_LIMIT_NS (15 * NS_PER_S)       // for rank 0 to write it
#define BULLETIN_MAX 65536

static const struct option_spec options[] = {
    { "out", 'o', OPTION_TEXT, offsetof (struct run_options, out), "OUT", ".",
      NULL, 0, 0, "Write results into OUT/cluster_analysis_output." },
    { "watch", 'w', OPTION_LIST, offsetof (struct run_options, watch), "DIR",
      NULL, NULL, 0, 0,
      "Look for captures below DIR too (besides $ROLLCALL_CAPTURE_DIR and "
      "COMMAND's working directory). May be repeated." },
    { "deadline", 'd', OPTION_DURATION,
      offsetof (struct run_options, deadline_ns), "TIME", "120s",
      "ROLLCALL_DEADLINE", 0, 0,
      "How long to wait for captures after the last COMMAND has ended." },
    { "child", 0, OPTION_TEXT, offsetof (struct run_options, child), "KIND",
      "auto", NULL, 0, 0,
      "What COMMAND is: mpi, a program that calls MPI_Init; plain, one that "
      "does not; auto, look whether it is an ELF file that needs libmpi." },
    { "launcher", 'l', OPTION_TEXT,
      offsetof (struct run_options, launcher), "WORDS", NULL, NULL, 0, 0,
      "Start the wrappers with this, as in \"mpirun -np 8\"; for COMMANDs that "
      "are MPI programs." },
    { "raw", 0, OPTION_FLAG, offsetof (struct run_options, raw), NULL, NULL,
      NULL, 0, 0, "Put the raw capture files into OUT/captures too." },
    { "release", 0, OPTION_TEXT, offsetof (struct run_options, release),
      "WHEN", NULL, NULL, 0, 0,
      "When delivered captures are removed from the directories that this run "
      "made: never, shipped, after=TIME, when-full. Without it: shipped with "
      "--raw, never without." },
    { "max-rate", 0, OPTION_BYTES, offsetof (struct run_options, max_rate),
      "BYTES", "0", "ROLLCALL_MAX_RATE", 0, 0,
      "Each node ships at most so many bytes in a second, as 10MB; 0 is no "
      "limit." },
    { "expect-bytes", 0, OPTION_BYTES,
      offsetof (struct run_options, expect_bytes), "BYTES", "0", NULL, 0, 0,
      "How much raw data the profilers of a node will write, as 10GB: say "
      "beforehand if there is not 20 times as much room." },
    { "insecure", 0, OPTION_FLAG, offsetof (struct run_options, insecure),
      NULL, NULL, "ROLLCALL_INSECURE", 0, 0,
      "Use no keys: anybody who can reach the aggregator's port may deliver "
      "data, and whoever is on the way can read and alter everything. "
      "Without it each run has keys of its own." },
    { "interface", 0, OPTION_TEXT,
      offsetof (struct run_options, interface), "NAME", NULL,
      "ROLLCALL_INTERFACE", 0, 0,
      "Announce the addresses of this network interface only." },
    { "port", 0, OPTION_TEXT, offsetof (struct run_options, ports), "A-B",
      NULL, "ROLLCALL_PORT", 0, 0, "Listen on a port of this range." },
    { "state", 0, OPTION_TEXT, offsetof (struct run_options, state), "DIR",
      NULL, "ROLLCALL_STATE_DIR", 0, 0,
      "Local directory for captures and daemons of runs. Without it: "
      "rollcall-UID in $TMPDIR or /tmp." },
    { "quiet-period", 0, OPTION_DURATION,
      offsetof (struct run_options, quiet_ns), "TIME", "60s",
      "ROLLCALL_QUIET_PERIOD", 0, 0,
      "While COMMAND runs, a capture without analyse.done is finished when "
      "nothing in it has changed for so long." },
    ANALYSER_OPTIONS (struct run_options),
    { "aggregator", 'a', OPTION_TEXT,
      offsetof (struct run_options, aggregator), "ENDPOINT,...", NULL, NULL, 0,
      0, "Deliver to an aggregator that is there already." },
    { "job", 'J', OPTION_TEXT, offsetof (struct run_options, job), "ID", NULL,
      NULL, 0, 0, "The job's id, instead of a new one." },
    { "launched", 0, OPTION_FLAG, offsetof (struct run_options, launched),
      NULL, NULL, NULL, 0, 0,
      "Said by --launcher to the wrappers that it has started: the aggregator "
      "is that of this run, and will say when it is over." },
    CLI_FORMAT_OPTIONS (struct run_options),
};

const struct command_spec run_command = {
    "rollcall run", "[OPTION]... [--] COMMAND [ARGUMENT]...",
    "Run COMMAND, one of the processes of a parallel job, and collect the "
    "captures of all ranks: mpirun -np 8 rollcall run -- COMMAND.",
    options, sizeof (options) / sizeof (options[0]),
};

/* ---- what COMMAND is ---- */

/* Find the file that execvp would run; false if there is none. */
static bool find_program (const char *name, char out[PATH_MAX])
{
    const char *path = getenv ("PATH");

    if (strchr (name, '/'))
        return snprintf (out, PATH_MAX, "%s", name) < PATH_MAX;
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn (p, ":");

        if (snprintf (out, PATH_MAX, "%.*s/%s", (int)n, p, name) < PATH_MAX &&
            access (out, X_OK) == 0)
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

/* Whether an ELF file names libmpi among the libraries that it needs: looked
 * for in its string tables, which are read without trusting any of its
 * offsets.
 */
static bool needs_libmpi (const char *path)
{
    static const char wanted[] = "libmpi";
    unsigned char head[SELFMAG];
    char block[65536];
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    off_t at = 0;
    bool found = false;
    ssize_t n;

    if (fd < 0)
        return false;
    if (fileio_pread_all (fd, head, SELFMAG, 0) == 0 &&
        memcmp (head, ELFMAG, SELFMAG) == 0) {
        while (!found && (n = pread (fd, block, sizeof (block), at)) > 0) {
            found = memmem (block, (size_t)n, wanted, sizeof (wanted) - 1);
            if (n < (ssize_t)sizeof (block))
                break;
            at += n - (ssize_t)sizeof (wanted);         // across the seam
        }
    }
    (void)close (fd);
    return found;
}

static int choose_child (struct run *r)
{
    char path[PATH_MAX];

    if (strcmp (r->opt->child, "mpi") == 0)
        r->mpi_child = true;
    else if (strcmp (r->opt->child, "auto") == 0)
        r->mpi_child = find_program (r->command[0], path) &&
                       needs_libmpi (path);
    else if (strcmp (r->opt->child, "plain") != 0)
        return RUN_FAIL (EXIT_USAGE, "--child: \"%s\" is none of auto, plain, "
                         "mpi", r->opt->child);
    return 0;
}

/* ---- how the aggregator is found ---- */

/* This process has the aggregator: bind, and say how it is reached. */
static void fill_bulletin (struct run *r, struct world_bulletin *b)
{
    struct err err = { "" };

    memset (b, 0, sizeof (*b));
    if (r->opt->job)
        (void)snprintf (r->job, sizeof (r->job), "%s", r->opt->job);
    else
        run_new_job (r->job);
    b->ok = run_check_out (r, &err) == 0 && run_make_new_dir (r, &err) == 0 &&
            run_make_keys (r, &err) == 0 && run_bind (r, &err) == 0;
    if (b->ok)
        run_choose_master (r);
    memcpy (b->job, r->job, sizeof (b->job));
    memcpy (b->endpoints, r->endpoints, sizeof (b->endpoints));
    memcpy (b->master_addr, r->master_addr, sizeof (b->master_addr));
    b->master_port = r->master_port;
    b->keys = r->keys;
    (void)snprintf (b->why, sizeof (b->why), "%s", err.text);
}

static void take_bulletin (struct run *r, const struct world_bulletin *b)
{
    memcpy (r->job, b->job, sizeof (r->job));
    memcpy (r->endpoints, b->endpoints, sizeof (r->endpoints));
    memcpy (r->master_addr, b->master_addr, sizeof (r->master_addr));
    r->master_port = b->master_port;
    r->keys = b->keys;
}

/* The first line, so that `rollcall wait` can pick up. */
static void print_job (const struct run *r)
{
    if (r->opt->json)
        (void)fprintf (stderr, "job %s\n", r->job);
    else
        (void)printf ("job           %s\n", r->job);
    (void)fflush (stdout);
}

/* Whether the run may begin; rank 0 says why not. */
static int judge (struct run *r, const struct world_bulletin *b, bool all_ok)
{
    bool says = r->world.rank == 0;

    if (!b->ok)
        return says ? RUN_FAIL (EX_CANTCREAT, "%s", b->why) : EX_CANTCREAT;
    if (!all_ok)
        return says ? RUN_FAIL (EX_OSERR, "a rank has no memory") : EX_OSERR;
    return 0;
}

/* Discovery over MPI: all ranks together, before any daemon is started. */
static int discover (struct run *r)
{
    struct world_bulletin b = { .ok = true };
    struct world_member *members = NULL;
    struct err err = { "" };
    bool all_ok = false;
    int rc, status;

    if (r->world.rank == 0)
        fill_bulletin (r, &b);
    rc = world_discover (&r->world, r->host, r->key, &b, &all_ok, &members,
                         &err);
    free (members);
    if (rc < 0)
        status = RUN_FAIL (rc == -EINVAL ? EX_CONFIG : EX_OSERR, "%s",
                           err.text);
    else
        status = judge (r, &b, all_ok);
    world_leave ();
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
    char near[PATH_MAX], far[PATH_MAX];
};

static int name_meeting (struct run *r, struct meeting *m, struct err *err)
{
    char state[PATH_MAX], hex[DIGEST_HEX_SIZE];
    struct digest d = { { 0 } };
    const char *instance = r->world.instance;
    int rc = run_state_dir (r->opt->state, state, err), near, far;

    if (rc < 0)
        return rc;
    (void)digest_of (instance, strlen (instance), &d);
    digest_hex (&d, hex);
    near = snprintf (m->near, sizeof (m->near), "%s/meet-%.16s.json", state,
                     hex);
    far = snprintf (m->far, sizeof (m->far), "%s/.rollcall-%.16s.json", r->out,
                    hex);
    return near < 0 || near >= PATH_MAX || far < 0 || far >= PATH_MAX
               ? err_set (err, ENAMETOOLONG, "path is too long: %s", state)
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
        rc = fileio_replace (m.far, text, strlen (text), 0600, err);
    free (text);
    return rc;
}

static void remove_meeting (struct run *r)
{
    struct meeting m;

    if (name_meeting (r, &m, NULL) < 0)
        return;
    (void)unlink (m.near);
    if (r->all_interfaces)
        (void)unlink (m.far);
}

static bool writer_lives (const struct json *j)
{
    int64_t pid = 0, start = 0;
    int fd;

    (void)json_int (json_get (j, "pid"), &pid);
    (void)json_int (json_get (j, "start_time"), &start);
    if ((fd = run_open_process ((pid_t)pid, start)) < 0)
        return false;
    (void)close (fd);
    return true;
}

static bool read_meeting (struct run *r, const char *path, bool near)
{
    struct world_bulletin b = { .ok = true };
    struct json *j = NULL;
    struct buf text;
    bool valid;

    buf_init (&text, BULLETIN_MAX);
    // nobody else's: who can write it would be the aggregator
    if (key_read_private (path, &text, NULL) == 0)
        j = json_parse ((const char *)text.data, text.size, NULL);
    buf_fini (&text);
    valid = j && (!near || writer_lives (j));
    (void)snprintf (b.job, sizeof (b.job), "%s",
                    json_text (json_get (j, "job"), ""));
    (void)snprintf (b.endpoints, sizeof (b.endpoints), "%s",
                    json_text (json_get (j, "endpoints"), ""));
    (void)snprintf (b.master_addr, sizeof (b.master_addr), "%s",
                    json_text (json_get (j, "master_addr"), ""));
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

static int wait_meeting (struct run *r)
{
    int64_t limit = clock_mono_ns () + BULLETIN_LIMIT_NS;
    struct err err = { "" };
    struct meeting m;
    bool found = false;

    if (run_check_out (r, &err) < 0 || name_meeting (r, &m, &err) < 0)
        return RUN_FAIL (EX_CANTCREAT, "%s", err.text);
    while (clock_mono_ns () < limit) {
        found = read_meeting (r, m.near, true) ||
                read_meeting (r, m.far, false);
        if (found && run_probe (r, &err) == 0)
            return 0;
        (void)poll (NULL, 0, 50);
    }
    if (found)
        return RUN_FAIL (EX_UNAVAILABLE, "%s", err.text);
    return RUN_FAIL (EX_CONFIG, "rank %lld on host %s does not find the "
                     "aggregator of rank 0: OUT (%s) is not visible here. Use "
                     "one of\n"
                     "  rollcall run --launcher \"mpirun ...\" -o OUT "
                     "-- COMMAND\n"
                     "  mpirun ... rollcall run --child mpi "
                     "--aggregator tcp://HOST:PORT --job ID -- COMMAND",
                     (long long)r->world.rank, r->host, r->out);
}

static int meet_by_files (struct run *r)
{
    struct world_bulletin b;
    struct err err = { "" };

    if (r->world.rank != 0)
        return wait_meeting (r);
    fill_bulletin (r, &b);
    if (!b.ok)
        return RUN_FAIL (EX_CANTCREAT, "%s", b.why);
    if (r->world.size > 1 && write_meeting (r, &err) < 0)
        return RUN_FAIL (EX_CANTCREAT, "%s", err.text);
    return 0;
}

/* ---- the parts ---- */

struct looked_at {              // file systems, each once
    uint64_t ids[OPTION_LIST_MAX + 2];
    size_t n;
};

static bool is_new (struct looked_at *l, const char *dir)
{
    struct space s = { .id = 0 };

    (void)space_of (dir, &s, NULL);
    for (size_t i = 0; i < l->n; i++) {
        if (s.id && l->ids[i] == s.id)
            return false;
    }
    l->ids[l->n++] = s.id;
    return true;
}

static void warn_of_dir (const struct run *r, struct looked_at *l,
                         const char *dir, const char *when)
{
    const struct check checks[] = {
        check_room (dir, r->opt->expect_bytes), check_inodes (dir),
        check_local (dir),
    };
    // what is shared is so on every host: one says it
    size_t n = r->world.rank == 0 ? 3 : 2;

    if (!is_new (l, dir))
        return;
    for (size_t i = 0; i < n; i++) {
        if (checks[i].state != CHECK_OK)
            (void)RUN_FAIL (0, "warning: host %s: %s%s", r->host, when,
                            checks[i].text);
    }
}

/* What is not well with the directories that captures may go to, once a node:
 * to fail when the profiler writes is too late.
 */
static void warn_of_disk (const struct run *r)
{
    struct looked_at l = { .n = 0 };
    char cwd[PATH_MAX];

    if (r->opt->launcher || r->world.local_rank > 0)
        return;                 // another one says it
    warn_of_dir (r, &l, r->dir, "");
    for (size_t i = 0; i < r->opt->watch.n; i++)
        warn_of_dir (r, &l, r->opt->watch.items[i], "");
    if (getcwd (cwd, sizeof (cwd)))
        warn_of_dir (r, &l, cwd, "if COMMAND's profiler writes into its "
                     "working directory: ");
}

static int start_collection (struct run *r)
{
    struct err err = { "" };

    if ((run_is_served (r) ? run_make_new_dir (r, &err)
                           : run_make_dir (r, &err)) < 0)
        return RUN_FAIL (EX_CANTCREAT, "%s", err.text);
    warn_of_disk (r);
    if (r->listener >= 0 && run_start_aggregator (r, &err) < 0)
        return RUN_FAIL (EX_OSERR, "%s", err.text);
    return 0;
}

static int front_end (struct run *r)
{
    struct world_bulletin b;
    int status;

    r->all_interfaces = !run_stays_here (r->opt);
    fill_bulletin (r, &b);
    if (!b.ok)
        return RUN_FAIL (EX_CANTCREAT, "%s", b.why);
    if ((status = start_collection (r)) != 0)
        return status;
    print_job (r);
    return run_launch (r);
}

static int wrapper (struct run *r)
{
    struct err err = { "" };
    int status = 0;

    r->all_interfaces = r->world.local_size != r->world.size &&
                        !run_stays_here (r->opt);
    if (r->opt->aggregator) {
        (void)snprintf (r->job, sizeof (r->job), "%s", r->opt->job);
        (void)snprintf (r->endpoints, sizeof (r->endpoints), "%s",
                        r->opt->aggregator);
    } else if (r->mpi_child || r->world.size == 1 ||
               strcmp (r->world.launcher, "torchrun") == 0) {
        status = meet_by_files (r);
    } else {
        status = discover (r);
    }
    if (status != 0 || (status = start_collection (r)) != 0)
        return status;
    if (run_probe (r, &err) < 0)
        return RUN_FAIL (EX_UNAVAILABLE, "%s", err.text);
    if (run_check_keys (r, &err) < 0)
        return RUN_FAIL (EX_CONFIG, "%s", err.text);
    if (r->owns_aggregator)
        print_job (r);
    status = run_wrap (r);
    if (r->owns_aggregator)
        remove_meeting (r);
    return status;
}

/* A name that is safe as that of a directory. */
static bool is_job_id (const char *job)
{
    size_t n = strlen (job);

    return n > 0 && n < WORLD_TEXT_MAX / 2 && job[0] != '.' &&
           strspn (job, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789._-") == n;
}

static int check_options (const struct run_options *opt)
{
    struct err err = { "" };

    if (run_check_net (opt, &err) < 0)
        return RUN_FAIL (EXIT_USAGE, "%s", err.text);
    if (opt->job && !is_job_id (opt->job))
        return RUN_FAIL (EXIT_USAGE, "--job: \"%s\" is not an id of letters, "
                         "digits, '.', '_' and '-'", opt->job);
    if (opt->release && !release_parse (opt->release,
                                        &(struct release_policy){ 0 }))
        return RUN_FAIL (EXIT_USAGE, "--release: one of never, shipped, "
                         "after=TIME, when-full");
    if (opt->release && strcmp (opt->release, "never") != 0 && !opt->raw)
        return RUN_FAIL (EXIT_USAGE, "--release %s needs --raw: captures are "
                         "removed only when their raw files were delivered "
                         "too", opt->release);
    if (opt->analyse_with && analyser_check_command (opt->analyse_with))
        return RUN_FAIL (EXIT_USAGE, "--analyse-with: name a program, or "
                         "none");
    if (opt->analyse_with && opt->analyse_with[0] != '/' &&
        memchr (opt->analyse_with, '/', strcspn (opt->analyse_with, " ")))
        return RUN_FAIL (EXIT_USAGE, "--analyse-with: it is run in another "
                         "directory: give the program's full path");
    if (opt->aggregator && !opt->job)
        return RUN_FAIL (EXIT_USAGE, "--aggregator needs --job");
    return 0;
}

int main (int argc, char **argv)
{
    struct run_options opt = { .out = NULL };
    struct run r = { .opt = &opt, .listener = -1, .parent = getppid () };
    struct err err = { "" };
    int rest, status;

    fileio_open_std ();
    (void)umask (umask (077) | 027);    // COMMAND's too: at least this
    log_setup ("rollcall", LOG_LEVEL_INFO);
    switch (options_parse (&run_command, argc, argv, true, &opt, &rest,
                           &err)) {
    case OPTIONS_DONE:
        return 0;
    case OPTIONS_USAGE:
        return RUN_FAIL (EXIT_USAGE, "%s (rollcall run --help says more)",
                         err.text);
    case OPTIONS_OK:
        break;
    }
    if (rest == argc)
        return RUN_FAIL (EXIT_USAGE, "which COMMAND? (usage: %s %s)",
                         run_command.name, run_command.usage);
    r.command = argv + rest;
    host_name (r.host, sizeof (r.host));
    host_key (r.key);
    if ((status = check_options (&opt)) != 0 ||
        (status = choose_child (&r)) != 0)
        return status;
    if (opt.launcher)
        return front_end (&r);
    if (run_import_keys (&r, &err) < 0 ||
        world_from_environment (&r.world, &err) < 0)
        return RUN_FAIL (EX_CONFIG, "%s", err.text);
    return wrapper (&r);
}
