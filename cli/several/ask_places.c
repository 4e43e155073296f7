/* cli/several/ask_places.c - what a root, or an aggregator, prints of a question
 *
 * This folder: for verbs that ask all of several aggregators: each prints what it
 * has, and copies of one job are put together here.
 */
#include "several/ask_places.h"

#include "base/thread.h"
#include "base/utf8.h"
#include "json/json_out.h"
#include "net/ask.h"
#include "options/program.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 64
#define PART 65536
#define BUSY_MS 500             // other verbs of this user ask, too
#define BUSY_TRIES 20
#define LIST_NS (900 * NS_PER_S)        // a user's list may take 600 s there, ...
#define FILES_NS (24 * 3600 * NS_PER_S) // ... and files a day

extern char **environ;

/* ---- an aggregator: a thread asks, and writes into pipes ---- */

struct remote_view {
    const struct cli_place *place;
    char *question;
    int64_t longest_ns;
    int pipes[ANSWER_STREAMS];
    bool some;                  // has come
    bool lost;                  // messages that nobody read for too long
    atomic_bool left;           // nobody reads any more
    pthread_t thread;
    int rc;
    struct ask_end end;
    struct err err;
};

static int write_piece (void *arg, enum answer_stream stream, const void *data,
                        size_t size)
{
    struct remote_view *r = arg;

    if (size == 0)
        return atomic_load (&r->left) ? -EPIPE : 0;
    r->some = true;
    if (stream == ANSWER_OUT)
        return fileio_write_all (r->pipes[stream], data, size);
    // whoever takes the output may read them later, or never
    r->lost |= write (r->pipes[stream], data, size) != (ssize_t)size;
    return 0;
}

static void *ask (void *arg)
{
    struct remote_view *r = arg;
    int tries = 0;

    do {
        if (tries > 0)
            (void)poll (NULL, 0, BUSY_MS);
        r->rc = net_ask (r->place->name, r->place->security, r->question,
                         r->longest_ns, write_piece, r, &r->end, &r->err);
    } while (r->rc == 0 && r->end.status == EX_TEMPFAIL && !r->some &&
             ++tries < BUSY_TRIES);
    for (unsigned i = 0; i < ANSWER_STREAMS; i++)
        fileio_close (r->pipes[i]);
    return NULL;
}

static bool is_files (const struct json *request)
{
    const char *first = json_text (json_first (json_get (request, "operands")),
                                   "");

    return strcmp (first, "get") == 0 || strcmp (first, "result") == 0;
}

static int begin_remote (const struct cli_place *place,
                         const struct json *request,
                         const int pipes[ANSWER_STREAMS], struct place_view *v,
                         struct err *err)
{
    struct remote_view *r = calloc (1, sizeof (*r));
    int rc = -ENOMEM;

    if (fcntl (pipes[ANSWER_SAID], F_SETFL, O_NONBLOCK) == 0 && r &&
        (r->question = json_print (request, false))) {
        r->place = place;
        r->longest_ns = is_files (request) ? FILES_NS : LIST_NS;
        memcpy (r->pipes, pipes, sizeof (r->pipes));
        rc = thread_start (&r->thread, ask, r);
    }
    if (rc == 0) {
        v->remote = r;
        return 0;
    }
    free (r ? r->question : NULL);
    free (r);
    return err_sys (err, -rc, "cannot ask %s", place->name);
}

static int end_remote (struct remote_view *r, struct err *why)
{
    int rc;

    atomic_store (&r->left, true);
    (void)pthread_join (r->thread, NULL);
    rc = r->rc < 0 ? r->rc : r->end.status;
    if (r->lost && !r->end.text[0])
        PRINT (r->end.text, "it had more messages than are shown");
    (void)err_set (why, EIO, "%s", r->rc < 0 ? r->err.text : r->end.text);
    free (r->question);
    free (r);
    return rc;
}

/* ---- a root: a process ---- */

static size_t add_words (const struct json *list, const char **words, size_t n)
{
    for (const struct json *j = json_first (list); j && n < WORDS_MAX - 1;
         j = json_next (j))
        words[n++] = json_text (j, "");
    return n;
}

static int begin_process (const struct cli_place *place,
                          const struct json *request,
                          const int pipes[ANSWER_STREAMS],
                          struct place_view *v, struct err *err)
{
    const char *words[WORDS_MAX] = {
        "rollcall", json_text (json_get (request, "verb"), ""), "--root",
        place->name };
    const int fds[] = { -1, pipes[ANSWER_OUT], pipes[ANSWER_SAID] };
    char program[PATH_MAX];
    size_t n = add_words (json_get (request, "options"), words, 4);
    int rc;

    if (n < WORDS_MAX - 1)
        words[n++] = "--";
    n = add_words (json_get (request, "operands"), words, n);
    if (n >= WORDS_MAX - 1)
        return err_set (err, E2BIG, "too many words");
    if (!program_beside ("rollcall", program))
        return err_set (err, ENOENT, "cannot find rollcall");
    rc = program_start (program, words, environ, fds, 3, &v->pid);
    return rc < 0 ? err_sys (err, -rc, "cannot start rollcall") : 0;
}

static int end_process (pid_t pid)
{
    int status = 0;

    while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED (status) ? WEXITSTATUS (status)
                              : 128 + WTERMSIG (status);
}

/* ---- either ---- */

int place_begin (const struct cli_place *place, const struct json *request,
                 struct place_view *v, struct err *err)
{
    int out[2] = { -1, -1 }, said[2] = { -1, -1 }, rc;

    *v = (struct place_view){ .place = place, .out = -1, .said = -1 };
    if (pipe2 (out, O_CLOEXEC) < 0 || pipe2 (said, O_CLOEXEC) < 0)
        rc = err_sys (err, errno, "cannot make a pipe");
    else
        rc = (place->security ? begin_remote : begin_process) (
            place, request, (int[]){ out[1], said[1] }, v, err);
    if (!v->remote) {           // else its thread has them
        fileio_close (out[1]);
        fileio_close (said[1]);
    }
    if (rc < 0) {
        fileio_close (out[0]);
        fileio_close (said[0]);
        return rc;
    }
    v->out = out[0];
    v->said = said[0];
    return 0;
}

int place_end (struct place_view *v, struct err *why)
{
    why->text[0] = '\0';
    // whoever still writes there ends
    fileio_close (v->out);
    fileio_close (v->said);
    return v->remote ? end_remote (v->remote, why) : end_process (v->pid);
}

/* ---- printing ---- */

/* One line: tabs stay, as lists for scripts have them. */
static void put_line (FILE *f, const char *p)
{
    while (*p) {
        size_t n = *p == '\t' ? 1 : utf8_shown (p);

        if (n > 0)
            (void)fwrite (p, 1, n, f);
        else
            (void)fprintf (f, "\\x%02x", (unsigned char)*p);
        p += n > 0 ? n : 1;
    }
}

void place_put_lines (const char *text, size_t size, FILE *f)
{
    const char *end = text + size;

    while (text < end) {
        const char *at = memchr (text, '\n', (size_t)(end - text));
        char *line = strndup (text, (size_t)((at ? at : end) - text));

        if (line)
            put_line (f, line);
        free (line);
        (void)fputc ('\n', f);
        text = at ? at + 1 : end;
    }
}

/* Raw control characters are no JSON, but some read them in texts; they may be
 * escaped there.
 */
static void put_json (const char *p, size_t size, FILE *f)
{
    for (const char *end = p + size; p < end;) {
        size_t shown = utf8_shown (p), n = utf8_size (p);

        if (shown == 0 && n == 3 && utf8_bidi (p) != 0)
            (void)fprintf (f, "\\u%04x", utf8_bidi (p));
        else if (shown == 0 && n > 0 && *p != '\t' && *p != '\n')
            (void)fprintf (f, "\\u%04x", (unsigned char)p[n - 1]);
        else
            (void)fwrite (p, 1, n > 0 ? n : 1, f);
        p += n > 0 ? n : 1;
    }
}

void place_put_object (const char *at, const char *text, size_t size, FILE *f)
{
    (void)fputs ("{\"at\": ", f);
    json_out_string (f, at, strlen (at));
    (void)fputs (", ", f);
    put_json (text + 1, size - 1, f);
}

/* Print what has come up to the last end of a line; at the end all. */
static void put_whole_lines (struct buf *b, bool all, FILE *f)
{
    const char *last = b->size > 0 ? memrchr (b->data, '\n', b->size) : NULL;
    size_t n = all || b->failed ? b->size
               : last           ? (size_t)(last - (const char *)b->data) + 1
                                : 0;

    if (n == 0)
        return;
    place_put_lines ((const char *)b->data, n, f);
    memmove (b->data, b->data + n, b->size - n);
    b->size -= n;
}

/* Take what has come of a stream; at its end it is closed.  -E2BIG. */
static int take (int *fd, struct buf *b)
{
    char part[PART];
    ssize_t n = read (*fd, part, sizeof (part));

    if (n < 0 && errno == EINTR)
        return 0;
    if (n > 0)
        buf_put (b, part, (size_t)n);
    if (n > 0 && !b->failed)
        return 0;
    (void)close (*fd);
    *fd = -1;
    return b->failed ? -E2BIG : 0;
}

/* Who takes the whole lines of what comes away from 'b', at the end all that there
 * is: 0, or a negative value after a message.
 */
typedef int take_fn (void *arg, struct buf *b, bool all);

/* Its end: an exit status after a message. */
static int tell_end (const struct command_spec *c, const struct place_view *v,
                     int rc, int status, const struct err *why)
{
    if (rc == -E2BIG)
        return cli_fail (c, EX_DATAERR, "%s: its answer is too long",
                         v->place->name);
    if (rc < 0 || status == -EPIPE)
        return EX_IOERR;        // whoever left has said why
    if (status < 0)
        return cli_fail (c, place_exit_status (status), "%s", why->text);
    if (why->text[0])
        (void)cli_fail (c, 0, "%s: %s", v->place->name, why->text);
    return status;
}

/* Give what comes to 'fn', and print its messages, as place_print. */
static int pass_on (const struct command_spec *c, struct place_view *v,
                    size_t most, int quiet, take_fn *fn, void *arg)
{
    struct buf out, said;
    struct err why;
    int rc = 0, status;

    buf_init (&out, most);
    buf_init (&said, PLACE_SAID_MAX);
    while (rc == 0 && (v->out >= 0 || v->said >= 0) &&
           !atomic_load (&cli_cancelled)) {
        struct pollfd p[] = { { v->out, POLLIN, 0 }, { v->said, POLLIN, 0 } };

        if (poll (p, 2, 1000) < 0 && errno != EINTR)
            break;
        if (p[0].revents)
            rc = take (&v->out, &out);
        if (p[1].revents && rc == 0)
            rc = take (&v->said, &said);
        if (rc == 0)
            rc = fn (arg, &out, v->out < 0);
        if (!quiet)
            put_whole_lines (&said, v->said < 0, stderr);
    }
    status = place_end (v, &why);
    quiet = quiet && rc == 0 && status == quiet;
    if (!quiet)
        put_whole_lines (&said, true, stderr);
    buf_fini (&out);
    buf_fini (&said);
    return quiet ? status : tell_end (c, v, rc, status, &why);
}

static int print_lines (void *arg, struct buf *b, bool all)
{
    put_whole_lines (b, all, arg);
    return 0;
}

int place_print (const struct command_spec *c, struct place_view *v, int quiet)
{
    return pass_on (c, v, PLACE_LIST_MAX, quiet, print_lines, stdout);
}

struct lines {
    place_line_fn *fn;
    void *arg;
    int rc;
};

static void give_line (void *arg, char *line)
{
    struct lines *l = arg;

    if (l->rc == 0)
        l->rc = l->fn (l->arg, line);
}

static int give_lines (void *arg, struct buf *b, bool all)
{
    struct lines *l = arg;

    if (all && b->size > 0)
        buf_put (b, "\n", 1);
    buf_take_lines (b, give_line, l);
    return l->rc;
}

int place_each_line (const struct command_spec *c, struct place_view *v,
                     place_line_fn *fn, void *arg)
{
    struct lines l = { fn, arg, 0 };

    return pass_on (c, v, PLACE_LINE_MAX + PART, 0, give_lines, &l);
}

int place_exit_status (int rc)
{
    return rc == -EACCES || rc == -EPERM ? EX_NOPERM
           : rc == -EBADMSG              ? EX_DATAERR
           : rc == -EAGAIN               ? EX_TEMPFAIL
           : rc == -ENOKEY               ? EX_CONFIG
           : rc == -ENOMEM               ? EX_OSERR
                                         : EX_UNAVAILABLE;
}

/* ---- all of them ---- */

/* Take all that comes, of each as it comes: who is not read would be waited for.
 */
static void take_all (struct place_view *views, struct place_answer *a,
                      size_t n)
{
    struct pollfd p[2 * CLI_PLACES_MAX];

    for (;;) {
        size_t open = 0;

        for (size_t i = 0; i < n; i++) {
            p[2 * i] = (struct pollfd){ views[i].out, POLLIN, 0 };
            p[2 * i + 1] = (struct pollfd){ views[i].said, POLLIN, 0 };
            open += views[i].out >= 0 || views[i].said >= 0;
        }
        if (open == 0 || (poll (p, 2 * n, -1) < 0 && errno != EINTR))
            return;
        for (size_t i = 0; i < n; i++) {
            if ((p[2 * i].revents && take (&views[i].out, &a[i].out) < 0) ||
                (p[2 * i + 1].revents &&
                 take (&views[i].said, &a[i].said) < 0)) {
                fileio_close (views[i].out);
                fileio_close (views[i].said);
                views[i].out = views[i].said = -1;
            }
        }
    }
}

struct place_answer *places_ask (const struct cli_places *p,
                                 const struct json *request)
{
    struct place_answer *a = calloc (p->n, sizeof (*a));
    struct place_view *views = calloc (p->n, sizeof (*views));

    for (size_t i = 0; a && views && i < p->n; i++) {
        a[i].place = &p->list[i];
        buf_init (&a[i].out, PLACE_LIST_MAX);
        buf_init (&a[i].said, PLACE_SAID_MAX);
        a[i].status = place_begin (&p->list[i], request, &views[i], &a[i].why);
    }
    if (a && views)
        take_all (views, a, p->n);
    for (size_t i = 0; a && views && i < p->n; i++) {
        if (a[i].status < 0)
            continue;           // it was not begun
        a[i].status = place_end (&views[i], &a[i].why);
        if (a[i].out.failed || a[i].said.failed)
            a[i].status = err_set (&a[i].why, EBADMSG, "%s: its answer is too "
                                   "long", p->list[i].name);
    }
    free (views);
    if (!views) {
        free (a);
        return NULL;
    }
    return a;
}

const char *place_answer_why (struct place_answer *a)
{
    size_t n = strlen (a->place->name);

    if (!a->why.text[0] && a->said.size > 0) {
        // its own words, without the name of the verb and the end of the line
        const char *said = buf_text (&a->said), *at = strstr (said, ": ");

        PRINT (a->why.text, "%.*s", (int)strcspn (at ? at + 2 : said, "\n"),
               at ? at + 2 : said);
    }
    if (!a->why.text[0])
        PRINT (a->why.text, "it was killed");
    // whoever tells it names the place
    return strncmp (a->why.text, a->place->name, n) == 0 &&
           strncmp (a->why.text + n, ": ", 2) == 0
               ? a->why.text + n + 2 : a->why.text;
}

int place_answer_status (const struct place_answer *a)
{
    return a->status < 0 ? place_exit_status (a->status)
           : a->status < 128 ? a->status : EX_UNAVAILABLE;
}

void place_answers_free (struct place_answer *a, size_t n)
{
    for (size_t i = 0; a && i < n; i++) {
        buf_fini (&a[i].out);
        buf_fini (&a[i].said);
    }
    free (a);
}
