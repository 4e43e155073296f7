/* aggregator/service/aggregator_views.c - read the root for users who cannot
 *
 * A verb that only reads, in a process of its own: it prints into the pipes of
 * whoever asked (of questions from elsewhere: aggregator/answers), and is told
 * whose jobs it may show.  So a long list or a large file does not keep the
 * aggregator busy, and the formats are those of the verb.
 */
#include "service/aggregator_private.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "options/program.h"
#include "store/fileio.h"
#include "store/root.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VIEWS_MAX 8             // at a time, ...
#define VIEWS_OF_USER 2         // ... and of one user
#define WORDS_MAX 32            // of a request
#define END_FD 3                // closed when the verb has ended
#define WATCH_NS (120 * NS_PER_S)       // whoever reads nothing, or, of users,
                                // next to nothing, for so long keeps a place,
                                // and what collection waits for
#define LEAST_CPU_NS (100 * NS_PER_MS)  // of users in that time: for some 30 MB
                                // of files, ...
#define COPY_CPU_NS (10 * NS_PER_MS)    // ... or of a result
#define LIST_NS (600 * NS_PER_S)        // for users: so long, and no longer, ...
#define GET_NS (24 * 3600 * NS_PER_S)   // ... and for files
#define FULL_NS (600 * NS_PER_S)        // a collection has waited so long: no
                                // user begins to read contents, ...
#define GIVE_WAY_NS (3600 * NS_PER_S)   // ... and so long: none goes on

struct view {
    struct aggregator *a;
    struct view_asker asker;
    pid_t pid;
    int end_fd;
    int64_t cpu_ns, least_ns;   // when it was last looked at; what it has to use
    int64_t until_ns;           // when it is ended: INT64_MAX, never
    bool gets;                  // for a user: it reads contents
    const char *why;            // why it was ended, or ""
    struct view *next;
};

/* What may be asked for: the words that a verb may get.  None of them may name
 * a file, or a directory, or be a command that changes the root: the verb runs
 * as its owner.
 */
static const struct {
    const char *verb;
    const char *command;        // the first operand, or NULL: none is a command
    size_t least, most;         // operands, with the command
    int64_t longest_ns, least_cpu_ns;   // for users
    const char *options[9];     // with "=": a word follows, its value
    bool tells_all;             // for who may see the jobs of all
} known[] = {
    { "jobs", NULL, 0, 0, LIST_NS, LEAST_CPU_NS,
      { "--job=", "--where=", "--since=", "--user=", "--tag=", "--host=",
        "--width=", "--json", NULL }, false },
    { "trend", NULL, 0, 0, LIST_NS, LEAST_CPU_NS,
      { "--by=", "--where=", "--since=", "--user=", "--tag=", "--host=",
        "--json", "--facts", NULL }, false },
    { "status", NULL, 0, 0, LIST_NS, LEAST_CPU_NS, { "--json", NULL }, true },
    { "show", NULL, 1, 1, LIST_NS, LEAST_CPU_NS, { "--json", NULL }, false },
    { "archive", "result", 2, 3, GET_NS, COPY_CPU_NS, { NULL }, false },
    { "archive", "ls", 1, 2, LIST_NS, LEAST_CPU_NS,
      { "--width=", "--json", "--superseded", NULL }, false },
    { "archive", "get", 3, 4, GET_NS, LEAST_CPU_NS,
      { "--width=", "--json", "--superseded", NULL }, false },
};
#define KNOWN (sizeof (known) / sizeof (known[0]))

/* How many words an option has, with this one: 1, 2; 0: it is none of the verb.
 */
static int words_of (size_t verb, const char *word)
{
    size_t n = strlen (word);

    for (const char *const *o = known[verb].options; *o; o++) {
        if (strncmp (word, *o, n) == 0 && ((*o)[n] == '=' || !(*o)[n]))
            return (*o)[n] ? 2 : 1;
    }
    return 0;
}

/* Where a verb with these operands is, or KNOWN. */
static size_t find_verb (const char *verb, const struct json *operands)
{
    const char *first = json_text (json_first (operands), "");
    size_t v = 0, n = json_count (operands);

    while (v < KNOWN && (strcmp (known[v].verb, verb) != 0 ||
                         (known[v].command &&
                          strcmp (known[v].command, first) != 0) ||
                         n < known[v].least || n > known[v].most))
        v++;
    return v;
}

struct words {
    const char *list[WORDS_MAX + 8];
    size_t n;
    int64_t longest_ns, least_cpu_ns;   // it may, and has to take
};

/* "rollcall VERB --root=ROOT OPTION... -- OPERAND..." */
static int take_words (const struct json *request, const char *root,
                       const char *visible_to, struct words *w,
                       struct err *err)
{
    const char *verb = json_text (json_get (request, "verb"), "");
    const struct json *options = json_get (request, "options");
    const struct json *operands = json_get (request, "operands");
    const char *first = json_text (json_first (operands), "");
    size_t v = find_verb (verb, operands);

    if (v == KNOWN)
        return err_set (err, EACCES, "%.80s%s%.80s is only for users who can "
                        "read the root", *verb ? verb : "this",
                        *first ? " " : "", first);
    if (known[v].tells_all && visible_to)
        return err_set (err, EACCES, "%s is only for who may see the jobs of "
                        "all", verb);
    if (json_count (options) + json_count (operands) > WORDS_MAX)
        return err_set (err, EINVAL, "%.80s: too many words", verb);
    *w = (struct words){ { "rollcall", known[v].verb, "--root", root }, 4,
                         known[v].longest_ns, known[v].least_cpu_ns };
    for (const struct json *j = json_first (options); j; j = json_next (j)) {
        int n = words_of (v, json_text (j, ""));

        if (n == 0)
            return err_set (err, EINVAL, "%s cannot have \"%.80s\" here", verb,
                            json_text (j, ""));
        w->list[w->n++] = json_text (j, "");
        if (n == 2 && (j = json_next (j)))
            w->list[w->n++] = json_text (j, "");
        else if (n == 2)
            return err_set (err, EINVAL, "an option of %s has no value", verb);
    }
    w->list[w->n++] = "--";
    for (const struct json *j = json_first (operands); j; j = json_next (j))
        w->list[w->n++] = json_text (j, "");
    return 0;
}

/* ---- the process ---- */

static int start_verb (const struct words *w, const char *visible_to,
                       const struct view_asker *asker, int end_fd, pid_t *pid)
{
    char program[PATH_MAX], visible[128];
    char *const env[] = { (char *)(uintptr_t)"LC_ALL=C.UTF-8",
                          (char *)(uintptr_t)ROOT_VIEW_VARIABLE "=1",
                          visible_to ? visible : NULL, NULL };
    // these are above END_FD
    const int fds[] = { -1, asker->out, asker->said, [END_FD] = end_fd };

    if (!program_beside ("rollcall", program))
        return -ENOENT;
    PRINT (visible, ROOT_VISIBLE_VARIABLE "=%s", visible_to ? visible_to : "");
    return program_start (program, w->list, env, fds, END_FD + 1, pid);
}

bool aggregator_view_stalls (pid_t pid, int64_t *cpu_ns, int64_t least_ns)
{
    struct timespec t;
    int64_t before = *cpu_ns;
    clockid_t cpu;

    if (clock_getcpuclockid (pid, &cpu) != 0 || clock_gettime (cpu, &t) < 0)
        return false;
    *cpu_ns = t.tv_sec * NS_PER_S + t.tv_nsec;
    return *cpu_ns - before < least_ns;
}

static void on_watch (void *arg)
{
    struct view *v = arg;

    if (aggregator_view_stalls (v->pid, &v->cpu_ns, v->least_ns))
        v->why = "its output was not read for some minutes";
    else if (clock_mono_ns () >= v->until_ns)
        v->why = "it took longer than a user may keep the service busy";
    else if (v->gets && aggregator_gc_waits (v->a) >= GIVE_WAY_NS)
        v->why = "the root had to be collected, which waited for an hour";
    if (*v->why)
        (void)kill (v->pid, SIGKILL);           // on_end tells the asker
    else
        (void)loop_add_timer (v->a->loop, WATCH_NS, on_watch, v);
}

/* Wait for the process, which has ended or will at once. */
static int forget_view (struct view *v)
{
    struct view **at = &v->a->views;
    int status = 0;

    while (*at != v)
        at = &(*at)->next;
    *at = v->next;
    v->a->getting -= v->gets;
    loop_del_timer (v->a->loop, on_watch, v);
    loop_del_fd (v->a->loop, v->end_fd);
    (void)close (v->end_fd);
    while (waitpid (v->pid, &status, 0) < 0 && errno == EINTR)
        ;
    free (v);
    return WIFEXITED (status) ? WEXITSTATUS (status)
                              : 128 + WTERMSIG (status);
}

static void on_end (void *arg)
{
    struct view *v = arg;
    struct view_asker asker = v->asker;
    struct json *answer = json_object ();

    json_add_bool (answer, "ok", true);
    json_add_nonempty (answer, "why", v->why);
    json_add_int (answer, "exit_status", forget_view (v));
    asker.end (asker.arg, answer);
}

void aggregator_end_view (void *view)
{
    struct view *v = view;

    (void)kill (v->pid, SIGKILL);
    (void)forget_view (v);
}

/* Users who read one after the other would keep it waiting for ever. */
static int check_gc (const struct aggregator *a, const struct words *w,
                     const struct view_asker *asker, struct err *err)
{
    return !asker->limited || w->longest_ns != GET_NS ||
                   aggregator_gc_waits (a) < FULL_NS
               ? 0 : err_set (err, EBUSY, "the root is to be collected, which "
                              "waits for those who read it now: try again "
                              "later");
}

static int check_room (const struct aggregator *a,
                       const struct view_asker *asker, struct err *err)
{
    size_t n = 0, own = 0;

    for (const struct view *v = a->views; v; v = v->next) {
        n++;
        own += strcmp (v->asker.who, asker->who) == 0;
    }
    return n < VIEWS_MAX && own < VIEWS_OF_USER
               ? 0 : err_set (err, EBUSY, "%s: try again later",
                              own < VIEWS_OF_USER
                                  ? "others are asking this aggregator"
                                  : "you are asking twice already");
}

static int begin_view (struct aggregator *a, const struct view_asker *asker,
                       const struct words *w, const char *visible_to,
                       struct view **ret, struct err *err)
{
    struct view *v = calloc (1, sizeof (*v));
    int end[2] = { -1, -1 }, rc = 0;

    if (!v || pipe2 (end, O_CLOEXEC) < 0)
        rc = err_set (err, ENOMEM, "no memory to ask");
    else if ((rc = start_verb (w, visible_to, asker, end[1], &v->pid)) < 0)
        (void)err_sys (err, -rc, "cannot start rollcall");
    fileio_close (end[1]);
    if (rc < 0) {
        fileio_close (end[0]);
        free (v);
        return rc;
    }
    v->a = a;
    v->asker = *asker;
    v->end_fd = end[0];
    v->why = "";
    v->least_ns = asker->limited ? w->least_cpu_ns : 1;
    v->cpu_ns = -v->least_ns;   // its first minutes are no less busy
    v->until_ns = asker->limited ? clock_mono_ns () + w->longest_ns : INT64_MAX;
    v->gets = asker->limited && w->longest_ns == GET_NS;
    a->getting += v->gets;
    v->next = a->views;
    a->views = v;
    if (loop_add_fd (a->loop, v->end_fd, on_end, v) < 0) {
        aggregator_end_view (v);
        return err_set (err, ENOMEM, "no memory to ask");
    }
    // no memory: it may stay longer
    (void)loop_add_timer (a->loop, WATCH_NS, on_watch, v);
    *ret = v;
    return 0;
}

int aggregator_begin_view (struct aggregator *a, const struct view_asker *asker,
                           const struct json *request, const char *visible_to,
                           struct view **ret, struct err *err)
{
    struct words w;
    int rc = take_words (request, a->opt->root, visible_to, &w, err);

    if (rc == 0)
        rc = check_gc (a, &w, asker, err);
    if (rc == 0 && (asker->out < 0 || asker->said < 0 || !asker->arg))
        rc = err_set (err, EINVAL, "two pipes have to come along");
    if (rc == 0)
        rc = check_room (a, asker, err);
    return rc < 0 ? rc : begin_view (a, asker, &w, visible_to, ret, err);
}

/* ---- for a user of this host ---- */

static void answer (void *asker, struct json *text)
{
    control_answer (asker, text);
}

int aggregator_view (struct aggregator *a, const struct control_peer *peer,
                     const struct json *request, const char *visible_to,
                     struct err *err)
{
    struct view_asker asker = { .out = peer->pipes[0], .said = peer->pipes[1],
                                .end = answer, .arg = peer->asker,
                                .limited = visible_to };
    struct view *v = NULL;
    int rc;

    PRINT (asker.who, "uid %ld", (long)peer->uid);
    rc = aggregator_begin_view (a, &asker, request, visible_to, &v, err);
    if (rc < 0)
        return rc;
    control_defer (peer->asker, aggregator_end_view, v);
    return CONTROL_LATER;
}
