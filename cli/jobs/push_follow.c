/* cli/jobs/push_follow.c - rollcall push --follow: for a service
 *
 * The service writes names of jobs that have changed, one a line ("*": any may
 * have), and ends this process by the end of its standard input.  It reads
 *
 *     behind NS JOB       which has to be pushed; its last change, since 1970
 *     pushed N JOB        what the first N lines have said of it is there
 *     ok N                the same of all jobs
 *     why TEXT            the last try has failed, and the next one comes later
 *     silent S NAME       the database has not answered for S seconds; 0: that is
 *                         over
 *
 * So the service waits for nothing here.  Names with the end of a line in them
 * are not said.
 */
#include "jobs/verb_push.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "postgres/push.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define GATHER_NS NS_PER_S      // jobs that change meanwhile go together
#define NAMED_MAX 8             // more of them, and all sums are compared
#define ALL_NS (3600 * NS_PER_S)        // also what nobody has named: marks
#define LATER_NS (600 * NS_PER_S)       // results that could not be read
#define RETRY_NS (2 * NS_PER_S)         // the first time; then twice as long ...
#define RETRY_MAX_NS (60 * NS_PER_S)    // ... up to this
#define LINES_MAX (1u << 20)

struct follow {
    const struct push_verb *opt;
    struct buf lines;           // of stdin, not yet complete
    uint64_t taken, begun;      // how many lines were read; before this try
    char **names;               // that have changed
    size_t n;
    bool all;                   // any may have
    bool ended;                 // stdin has
    int64_t all_ns, due_ns, retry_ns;   // when: all, the next try; how long
                                // until the one after that
    int64_t later;              // results that another try may read
    int64_t left;               // jobs that were left out
    bool said_left;             // and the service was told
    char why_left[ERR_TEXT_MAX];        // why the first one was
};

/* ---- what the service says ---- */

static void take_line (void *arg, char *line)
{
    struct follow *f = arg;

    f->taken++;
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp (f->names[i], line) == 0)
            return;
    }
    if (strcmp (line, "*") == 0 || f->n >= NAMED_MAX || !cli_valid_job (line) ||
        vec_add_text (&f->names, &f->n, line) < 0)
        f->all = true;
}

/* Read until there is nothing more, or it is 'until_ns'. */
static void listen_until (struct follow *f, int64_t until_ns)
{
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    char data[4096];
    ssize_t n;

    while (!f->ended) {
        int64_t left = until_ns - clock_mono_ns ();
        int ms = left <= 0 ? 0 : (int)(left / NS_PER_MS) + 1;

        if (poll (&in, 1, ms) <= 0) {
            if (left <= 0)
                return;
            continue;
        }
        n = read (STDIN_FILENO, data, sizeof (data));
        if (n <= 0) {
            f->ended = n == 0 || errno != EINTR;
            continue;
        }
        buf_put (&f->lines, data, (size_t)n);
        f->all |= f->lines.failed;
        if (f->lines.failed)
            buf_clear (&f->lines);
        buf_take_lines (&f->lines, take_line, f);
        if (until_ns > clock_mono_ns () + GATHER_NS)
            until_ns = clock_mono_ns () + GATHER_NS;
    }
}

/* ---- what it is told ---- */

static void say (const char *what, int64_t n, const char *name)
{
    if (strchr (name, '\n'))
        return;
    (void)printf ("%s %lld %s\n", what, (long long)n, name);
    (void)fflush (stdout);
}

static void say_behind (void *arg, const char *job, int64_t since_ns)
{
    (void)arg;
    say ("behind", since_ns, job);
}

/* The first one stands for all. */
static void take_no_part (void *arg, const char *job, const char *why)
{
    struct follow *f = arg;

    if (f->left++ == 0)
        PRINT (f->why_left, "job %s is left out: %s", job, why);
}

/* Without a reason: none is left out any more. */
static void say_left (struct follow *f)
{
    char more[40] = "", why[UTF8_ESCAPED (ERR_TEXT_MAX)];

    if (f->left > 1)
        PRINT (more, " (and %lld more)", (long long)f->left - 1);
    f->said_left = f->left > 0;
    (void)printf ("left %s%s\n", utf8_escape (f->why_left, UTF8_COLUMN, why),
                  more);
}

static void say_silent (void *arg, const char *name, int64_t seconds)
{
    (void)arg;
    say ("silent", seconds, name);
}

static void say_pushed (void *arg, const char *job)
{
    const struct follow *f = arg;

    say ("pushed", (int64_t)f->begun, job);
}

/* ---- pushing ---- */

static int push_some (struct follow *f, struct pg *p,
                      const struct cli_jobs *jobs, struct err *err)
{
    struct push_options how = { .cluster = f->opt->to.cluster,
                                .root_id = f->opt->root_id,
                                .behind = say_behind, .pushed = say_pushed,
                                .no_part = take_no_part, .arg = f };
    struct push_sums sums;
    int rc = 0;

    for (size_t i = 0; i < (f->all ? 1 : f->n) && rc == 0; i++) {
        how.job = f->all ? NULL : f->names[i];
        rc = push_jobs (p, jobs->catalogue, jobs->ledger, &how, &sums, err);
        f->later += sums.later;
        if (rc == -ESRCH)   // it has no captures any more
            rc = 0;
    }
    return rc;
}

/* By a connection of its own: one that waits for hours would be lost meanwhile. */
static int try (struct follow *f, struct err *err)
{
    struct cli_jobs jobs;
    struct pg *p;
    int rc = pg_open (f->opt->to.uri, &p, err);

    if (rc < 0)
        return rc;
    pg_on_silence (p, say_silent, NULL);
    if (cli_jobs_open (f->opt->command, f->opt->root, &jobs) == 0)
        rc = push_some (f, p, &jobs, err);
    else
        rc = err_set (err, EIO, "the root cannot be read");
    cli_jobs_close (&jobs);
    pg_close (p);
    return rc;
}

static void forget_names (struct follow *f)
{
    vec_free_texts (f->names, f->n);
    f->names = NULL;
    f->n = 0;
}

static void push_now (struct follow *f)
{
    struct err err = { "" };
    int64_t now;
    int rc;

    f->begun = f->taken;
    f->all |= f->later > 0;     // they are counted again
    f->later = f->left = 0;
    f->why_left[0] = '\0';
    rc = try (f, &err);
    now = clock_mono_ns ();
    forget_names (f);
    if (rc == 0) {
        if (f->left > 0 || (f->all && f->said_left))
            say_left (f);
        if (f->all)
            f->all_ns = now + ALL_NS;
        if (f->later > 0 && f->all_ns > now + LATER_NS)
            f->all_ns = now + LATER_NS;
        f->all = false;
        f->due_ns = 0;
        f->retry_ns = RETRY_NS;
        (void)printf ("ok %llu\n", (unsigned long long)f->begun);
        if (f->later > 0)
            (void)printf ("why %lld result%s cannot be read now: only sums of "
                          "them are there\n", (long long)f->later,
                          units_s ((uint64_t)f->later));
    } else {
        f->all = true;
        f->due_ns = now + f->retry_ns;
        f->retry_ns = f->retry_ns * 2 < RETRY_MAX_NS ? f->retry_ns * 2
                                                     : RETRY_MAX_NS;
        (void)printf ("why %s\n", err.text);
    }
    (void)fflush (stdout);
}

int push_follow (const struct push_verb *opt)
{
    struct follow f = { .opt = opt, .all = true, .retry_ns = RETRY_NS };

    (void)prctl (PR_SET_PDEATHSIG, SIGTERM);    // a service that was killed
    (void)signal (SIGPIPE, SIG_DFL);
    buf_init (&f.lines, LINES_MAX);
    while (!f.ended) {
        int64_t now = clock_mono_ns ();

        f.all |= f.due_ns == 0 && now >= f.all_ns;
        if ((f.all || f.n > 0) && now >= f.due_ns)
            push_now (&f);
        else
            listen_until (&f, f.due_ns > 0 ? f.due_ns : f.all_ns);
    }
    forget_names (&f);
    buf_fini (&f.lines);
    return 0;
}
