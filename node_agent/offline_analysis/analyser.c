/* node_agent/offline_analysis/analyser.c - captures that were never
 * analysed
 *
 * This folder: the profilers' own analyses, run within limits for captures that
 * never had one.
 */
#include "offline_analysis/analyser.h"

#include "offline_analysis/capture_lock.h"
#include "offline_analysis/memory.h"
#include "offline_analysis/process.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/units.h"
#include "store/fileio.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_NS (30 * NS_PER_S)
#define AGAIN_NS (5 * NS_PER_S)         // for memory, or for another analyser
#define PATIENCE_NS (60 * NS_PER_S)
#define NEED_BYTES (UINT64_C (2) << 30) // the assumed need of one, unless its
                                        // limit is lower
#define HEAR_AT_ONCE (256u << 10)       // bytes, in one turn of the loop
#define KILL_MS 5000                    // how long to wait at the end

struct job {
    struct analyser *x;
    enum own_analysis own;
    char *path;                 // NULL: this is the probe
    struct process *process;    // NULL: it waits
    int lock;
    bool timed_out;
    int64_t not_before_ns;
    int64_t put_off_ns;         // since when it cannot be begun; 0: it can
    struct job *next;
};

/* The program that analyses the captures of one profiler. */
struct program {
    bool known;
    const char *command;        // NULL: not known, or there is none
    char *own;                  // the command of its own analysis
    struct job probe;
};

struct analyser {
    struct loop *loop;
    struct analyser_options opt;
    struct program programs[OWN_ANALYSES + 1];  // the last is for OWN_NONE
    uint64_t memory;            // of each process
    analysed_fn *done;
    void *arg;
    struct job *jobs;           // in order of arrival
    bool short_of_memory;
};

static void kick (void *arg);

/* ---- memory ---- */

size_t analyser_free_slots (size_t jobs, size_t running, uint64_t need,
                            uint64_t available)
{
    uint64_t fit = need > 0 ? available / need : jobs;
    size_t most = fit < jobs ? (size_t)fit : jobs;

    return most > running ? most - running : 0;
}

static size_t analyser_reserve (struct analyser *x)
{
    uint64_t need = x->memory < NEED_BYTES ? x->memory : NEED_BYTES;
    size_t running = 0, n;

    for (const struct job *j = x->jobs; j; j = j->next)
        running += j->process != NULL;
    n = analyser_free_slots ((size_t)x->opt.set.jobs, running, need,
                             memory_available (""));
    x->short_of_memory = n == 0 && running == 0;
    return n;
}

bool analyser_is_short (const struct analyser *x)
{
    return x->short_of_memory && x->jobs;
}

/* ---- how it ended ---- */

static void analyser_append (char *out, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

static void analyser_append (char *out, const char *fmt, ...)
{
    size_t used = strlen (out);
    va_list ap;

    va_start (ap, fmt);
    (void)vsnprintf (out + used, ANALYSER_WHY_MAX - used, fmt, ap);
    va_end (ap);
}

static void explain (const struct job *j, int status, char *why)
{
    const struct analyser *x = j->x;
    char line[120], most[16], limit[16];

    why[0] = '\0';
    if (j->timed_out)
        analyser_append (
            why, "its analysis was killed after %g s (--analyse-timeout)",
            (double)x->opt.set.timeout_ns / (double)NS_PER_S);
    else if (status == -1)
        analyser_append (why, "its analysis cannot be killed");
    else if (WIFSIGNALED (status))
        analyser_append (why, "its analysis was killed by signal %d (%s)",
                         WTERMSIG (status), strsignal (WTERMSIG (status)));
    else
        analyser_append (why, "its analysis ended with status %d",
                         WEXITSTATUS (status));
    if (status != 0 && j->process->most_memory > x->memory / 2) {
        units_bytes_text (j->process->most_memory, most);
        units_bytes_text (x->memory, limit);
        analyser_append (why,
                         ", after it had taken %s of %s (--analyse-memory)",
                         most, limit);
    }
    analyser_append (why, "; its log is %s", j->process->log_path);
    process_last_line (j->process, line, sizeof (line));
    if (line[0] && status != 0)
        analyser_append (why, ", and ends with: %s", line);
}

static void unlock (struct job *j)
{
    fileio_close (j->lock);
    j->lock = -1;
}

static void free_job (struct job *j)
{
    unlock (j);
    free (j->process);
    free (j->path);
    free (j);
}

/* Remove the job, then report it: the callback may add others. */
static void end_job (struct job *j, enum analysed how, const char *why)
{
    struct analyser *x = j->x;
    struct job **at = &x->jobs;

    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    unlock (j);
    x->done (x->arg, j->path, how, why);
    free_job (j);
}

/* ---- under way ---- */

static void on_said (void *arg)
{
    struct job *j = arg;

    if (!process_hear (j->process, HEAR_AT_ONCE))
        loop_del_fd (j->x->loop, j->process->out);
}

static void on_timeout (void *arg)
{
    struct job *j = arg;

    j->timed_out = true;
    process_kill (j->process);
}

/* Stop watching this process; return its status. */
static int close_process (struct job *j, int wait_ms)
{
    int status;

    loop_del_fd (j->x->loop, j->process->pidfd);
    loop_del_fd (j->x->loop, j->process->out);
    loop_del_timer (j->x->loop, on_timeout, j);
    (void)process_end (j->process, wait_ms, &status);
    return status;
}

static void on_ended (void *arg)
{
    struct job *j = arg;
    struct analyser *x = j->x;
    int status = close_process (j, 0);
    char why[ANALYSER_WHY_MAX];

    explain (j, status, why);
    end_job (j, status == 0 && !j->timed_out ? ANALYSED_WELL : ANALYSED_BADLY,
             why);
    kick (x);
}

/* Open the directory of logs, which is created. */
static int open_logs (const struct analyser *x, struct err *err)
{
    const char *path = x->opt.log_dir, *slash = strrchr (path, '/');
    struct tree logs;
    int rc;

    if (x->opt.log_in)
        return tree_make_dirs (x->opt.log_in, slash ? slash + 1 : path,
                               FILEIO_DIR_MODE, err);
    rc = fileio_mkdirs (path, FILEIO_DIR_MODE, err);
    if (rc == 0)
        rc = tree_open (&logs, path, err);
    return rc < 0 ? rc : logs.fd;
}

static int start_in (struct job *j, const struct process_spec *spec,
                     int64_t timeout_ns, loop_fn *ended, struct err *err)
{
    struct loop *loop = j->x->loop;
    int rc;

    if (!(j->process = calloc (1, sizeof (*j->process))))
        return err_set (err, ENOMEM, "no memory to start %s", spec->command);
    if ((rc = process_start (spec, j->process, err)) == 0 &&
        (loop_add_fd (loop, j->process->pidfd, ended, j) < 0 ||
         loop_add_fd (loop, j->process->out, on_said, j) < 0 ||
         loop_add_timer (loop, timeout_ns, on_timeout, j) < 0)) {
        (void)close_process (j, KILL_MS);
        rc = err_set (err, ENOMEM, "no memory to watch %s", spec->command);
    }
    if (rc < 0) {
        free (j->process);
        j->process = NULL;
    }
    return rc;
}

static int analyser_start (struct job *j, struct process_spec *spec,
                           int64_t timeout_ns, loop_fn *ended, struct err *err)
{
    int rc = open_logs (j->x, err);

    if (rc < 0)
        return -EIO;
    spec->log_dir = rc;
    rc = start_in (j, spec, timeout_ns, ended, err);
    (void)close (spec->log_dir);
    return rc;
}

/* Begin a job.  -EWOULDBLOCK: not now.  If its program cannot be started, that
 * is not the fault of the capture.
 */
static int analyser_begin (struct job *j, struct err *err)
{
    const struct analyser *x = j->x;
    char log[PATH_MAX];
    struct process_spec spec = {
        .command = x->programs[j->own].command, .argument = j->path,
        .log = log,
        .memory = x->memory, .idle = x->opt.idle,
    };

    if ((j->lock = lock_capture (j->path, err)) < 0)
        return j->lock;
    analyser_log (x, j->path, log, sizeof (log));
    spec.lock = j->lock;
    return analyser_start (j, &spec, x->opt.set.timeout_ns, on_ended, err) < 0
               ? -EWOULDBLOCK : 0;
}

/* How long to try a job that cannot be begun: as long as an analysis may take.
 */
static int64_t patience_ns (const struct analyser *x)
{
    if (!x->opt.once)
        return INT64_MAX;
    return x->opt.set.timeout_ns < PATIENCE_NS ? x->opt.set.timeout_ns
                                               : PATIENCE_NS;
}

static int64_t again_ns (const struct analyser *x)
{
    int64_t ns = patience_ns (x);

    return ns < AGAIN_NS ? ns : AGAIN_NS;
}

static void put_off (struct job *j, int64_t now, const char *why)
{
    const struct analyser *x = j->x;

    unlock (j);
    if (j->put_off_ns == 0) {
        j->put_off_ns = now;
        if (x->opt.put_off)
            x->opt.put_off (x->arg, j->path, why);
    }
    j->not_before_ns = now + again_ns (x);
    if (now - j->put_off_ns >= patience_ns (x))
        end_job (j, ANALYSED_LATER, why);
}

/* The next job that waits and whose program is known. */
static struct job *next_waiting (struct analyser *x, int64_t now)
{
    struct job *j = x->jobs;

    while (j && (j->process || j->not_before_ns > now ||
                 !x->programs[j->own].known))
        j = j->next;
    return j;
}

static struct job *next_without (struct analyser *x)
{
    struct job *j = x->jobs;

    while (j && (!x->programs[j->own].known || x->programs[j->own].command))
        j = j->next;
    return j;
}

/* Begin as many jobs as there is room for. */
static void kick (void *arg)
{
    struct analyser *x = arg;
    int64_t now = clock_mono_ns ();
    struct job *j;

    while ((j = next_without (x)))
        end_job (j, ANALYSED_NOT, "");
    while ((j = next_waiting (x, now)) && analyser_reserve (x) > 0) {
        struct err err = { "" };
        int rc = analyser_begin (j, &err);

        if (rc == -EWOULDBLOCK)
            put_off (j, now, err.text);
        else if (rc < 0)
            end_job (j, ANALYSED_BADLY, err.text);
    }
    if (next_waiting (x, INT64_MAX))
        (void)loop_add_timer (x->loop, again_ns (x), kick, x);
}

/* ---- which program ---- */

static void take_own (struct analyser *x, enum own_analysis own, bool there)
{
    struct program *p = &x->programs[own];

    p->known = true;
    p->command = there ? p->own : NULL;
    if (x->opt.found)
        x->opt.found (x->arg, own, there);
    kick (x);
}

static void on_probed (void *arg)
{
    struct job *j = arg;
    int status = close_process (j, 0);

    free (j->process);
    j->process = NULL;
    take_own (j->x, j->own, status == 0 && !j->timed_out);
}

/* Look for the profiler's own analysis, in the background. */
static void probe (struct analyser *x, enum own_analysis own)
{
    struct program *p = &x->programs[own];
    char log[PATH_MAX];
    struct process_spec spec = { .log = log, .idle = x->opt.idle, .lock = -1 };

    if (p->known || p->probe.process)
        return;
    spec.command = own_analysis_probe (own);
    PRINT (log, "%s/%s.log", x->opt.log_dir, own_analysis_module (own));
    if (analyser_start (&p->probe, &spec, PROBE_NS, on_probed, NULL) < 0)
        take_own (x, own, false);
}

/* ---- for the caller ---- */

void analyser_tell (struct capture *c, const char *why, bool failed)
{
    if (c->state == CAPTURE_ANALYSING)
        c->state = CAPTURE_RAW;         // it was interrupted
    if (c->state == CAPTURE_RAW) {
        c->reason[0] = '\0';
        capture_reason (c, failed ? "never analysed: %s"
                                  : "never analysed: there is no result, "
                                    "though %s", why);
    } else if (failed || c->state == CAPTURE_FAILED) {
        if (c->state == CAPTURE_COMPLETE)
            c->state = CAPTURE_PARTIAL; // the results that it did not write are
                                        // missing
        capture_reason (c, "%s", why);
    }
}

void analyser_keep (struct capture *c, const struct capture *before)
{
    bool other = c->rank != CAPTURE_NO_RANK &&
                 before->rank != CAPTURE_NO_RANK && c->rank != before->rank;

    if (other) {
        c->state = CAPTURE_FAILED;
        capture_reason (c, "its analysis replaced it by a capture of rank "
                        "%lld", (long long)c->rank);
    }
    if (c->rank == CAPTURE_NO_RANK || other) {
        c->rank = before->rank;
        c->device_id = before->device_id;
        c->world_size = before->world_size;
        memcpy (c->host, before->host, sizeof (c->host));
        memcpy (c->host_uid, before->host_uid, sizeof (c->host_uid));
    }
}

int analyser_check (const struct analyser_settings *set, struct err *err)
{
    const char *command = set->command;

    if (command && command[strspn (command, " \t\n")] == '\0')
        return err_set (err, EINVAL, "--analyse-with: name a program, or "
                        "none");
    return own_analysis_check (&set->own, err);
}

void analyser_log (const struct analyser *x, const char *path, char *out,
                   size_t max)
{
    const char *slash = strrchr (path, '/');
    char hex[DIGEST_HEX_SIZE] = "";
    struct digest d;

    if (digest_of (path, strlen (path), &d) == 0)
        digest_hex (&d, hex);
    (void)snprintf (out, max, "%s/%.100s-%.16s.log", x->opt.log_dir,
                    slash ? slash + 1 : path, hex);
}

static struct job *analyser_find (const struct analyser *x, const char *path)
{
    struct job *j = x->jobs;

    while (j && strcmp (j->path, path) != 0)
        j = j->next;
    return j;
}

int analyser_add (struct analyser *x, const char *path, enum own_analysis own)
{
    struct job **at = &x->jobs, *j;

    if (analyser_find (x, path))
        return 0;
    if (!(j = calloc (1, sizeof (*j))) || !(j->path = strdup (path))) {
        free (j);
        return -ENOMEM;
    }
    j->x = x;
    j->own = own;
    j->lock = -1;
    while (*at)
        at = &(*at)->next;
    *at = j;
    probe (x, own);
    // not here: the caller must not be called back before this returns
    return loop_add_timer (x->loop, 0, kick, x);
}

void analyser_drop (struct analyser *x, const char *path)
{
    struct job **at = &x->jobs, *j;

    while ((j = *at) && strcmp (j->path, path) != 0)
        at = &j->next;
    if (!j || j->process)
        return;
    *at = j->next;
    free_job (j);
}

bool analyser_is_running (const struct analyser *x, const char *path)
{
    const struct job *j = analyser_find (x, path);

    return j && j->process;
}

size_t analyser_pending (const struct analyser *x)
{
    size_t n = 0;

    for (const struct job *j = x->jobs; j; j = j->next)
        n++;
    return n;
}

void analyser_set_idle (struct analyser *x, bool idle)
{
    x->opt.idle = idle;
}

/* Copy the settings.  False: no memory. */
static bool analyser_prepare (struct analyser *x,
                              const struct analyser_settings *set)
{
    const char *command = set->command;

    if (command && strcmp (command, ANALYSER_NONE) == 0)
        command = NULL;
    for (enum own_analysis own = 0; own <= OWN_NONE; own++) {
        struct program *p = &x->programs[own];

        p->probe = (struct job){ .x = x, .own = own, .lock = -1 };
        p->known = own == OWN_NONE || set->command;
        p->command = command;
        if (own != OWN_NONE &&
            !(p->own = own_analysis_command (own, &set->own)))
            return false;
    }
    return true;
}

struct analyser *analyser_create (struct loop *loop,
                                  const struct analyser_options *opt,
                                  analysed_fn *done, void *arg)
{
    struct analyser *x = calloc (1, sizeof (*x));

    if (!x)
        return NULL;
    x->loop = loop;
    x->opt = *opt;
    x->done = done;
    x->arg = arg;
    x->memory = opt->set.memory > 0 ? (uint64_t)opt->set.memory
                                    : memory_total ("") / 2;
    if (!analyser_prepare (x, &opt->set)) {
        analyser_destroy (x);
        return NULL;
    }
    return x;
}

void analyser_destroy (struct analyser *x)
{
    if (!x)
        return;
    loop_del_timer (x->loop, kick, x);
    for (const struct job *j = x->jobs; j; j = j->next) {
        if (j->process)
            process_kill (j->process);          // kill all before waiting for
                                                // any
    }
    while (x->jobs) {
        struct job *j = x->jobs;

        x->jobs = j->next;
        if (j->process)
            (void)close_process (j, KILL_MS);
        free_job (j);
    }
    for (size_t i = 0; i <= OWN_NONE; i++) {
        struct program *p = &x->programs[i];

        if (p->probe.process)
            (void)close_process (&p->probe, KILL_MS);
        free (p->probe.process);
        free (p->own);
    }
    free (x);
}
