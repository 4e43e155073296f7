/* cli/several/ask_places.c - what a root, or an aggregator, prints of a question
 *
 * This folder: for verbs that ask all of several aggregators: each prints what it
 * has, and copies of one job are put together here.
 */
#include "several/ask_places.h"

#include "shared/streams.h"

#include "base/thread.h"
#include "base/utf8.h"
#include "json/json_out.h"
#include "net/ask.h"
#include "options/program.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 64
#define PART 65536
#define ROOM_MS 1000            // for who reads, before the other side hears of it
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
    int pipes[ANSWER_STREAMS];  // writing there never blocks
    size_t written;             // of the present piece
    bool some;                  // has come
    bool lost;                  // messages that nobody read for too long
    atomic_bool left;           // nobody reads any more
    pthread_t thread;
    int rc;
    struct ask_end end;
    struct err err;
};

/* What has room within a second; r->written says how much of it was. */
static int write_some (struct remote_view *r, const char *data, size_t size)
{
    struct pollfd p = { .fd = r->pipes[ANSWER_OUT], .events = POLLOUT };

    while (r->written < size) {
        ssize_t n = write (p.fd, data + r->written, size - r->written);

        if (n >= 0)
            r->written += (size_t)n;
        else if (errno == EAGAIN && poll (&p, 1, ROOM_MS) == 0)
            return -EAGAIN;
        else if (errno != EAGAIN && errno != EINTR)
            return -errno;
    }
    r->written = 0;
    return 0;
}

static int write_piece (void *arg, enum answer_stream stream, const void *data,
                        size_t size)
{
    struct remote_view *r = arg;

    if (size == 0)
        return atomic_load (&r->left) ? -EPIPE : 0;
    r->some = true;
    if (stream == ANSWER_OUT)
        return write_some (r, data, size);
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

    if (fcntl (pipes[ANSWER_OUT], F_SETFL, O_NONBLOCK) == 0 &&
        fcntl (pipes[ANSWER_SAID], F_SETFL, O_NONBLOCK) == 0 && r &&
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

/* Without its name, which whoever tells it puts before it. */
static const char *without_name (const char *text, const char *name)
{
    size_t n = strlen (name);

    return strncmp (text, name, n) == 0 && strncmp (text + n, ": ", 2) == 0
               ? text + n + 2 : text;
}

static int end_remote (struct remote_view *r, struct err *why)
{
    int rc;

    atomic_store (&r->left, true);
    (void)pthread_join (r->thread, NULL);
    rc = r->rc < 0 ? r->rc : r->end.status;
    if (r->lost && !r->end.text[0])
        PRINT (r->end.text, "not all of its messages are shown");
    (void)err_set (why, EIO, "%s",
                   without_name (r->rc < 0 ? r->err.text : r->end.text,
                                 r->place->name));
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

static int end_process (pid_t pid, struct err *why)
{
    int status = 0;

    while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED (status))
        return WEXITSTATUS (status);
    if (WTERMSIG (status) == SIGPIPE)
        return -EPIPE;
    return err_set (why, EIO, "it was killed (signal %d)", WTERMSIG (status));
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
    return v->remote ? end_remote (v->remote, why) : end_process (v->pid, why);
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

/* Of which verb and place messages are. */
struct speaker {
    const char *verb, *place;
};

/* "VERB: what it says" is "VERB: PLACE: what it says". */
static const char *put_speaker (const struct speaker *who, const char *line,
                                FILE *f)
{
    size_t n = strlen (who->verb);
    bool own = strncmp (line, who->verb, n) == 0 &&
               strncmp (line + n, ": ", 2) == 0;

    (void)fprintf (f, "%s: %s: ", who->verb, who->place);
    return own ? line + n + 2 : line;
}

/* 'who': is named in each line; or NULL. */
static void put_text (const struct speaker *who, const char *text, size_t size,
                      FILE *f)
{
    const char *end = text + size;

    while (text < end) {
        const char *at = memchr (text, '\n', (size_t)(end - text));
        char *line = strndup (text, (size_t)((at ? at : end) - text));

        if (line)
            put_line (f, who ? put_speaker (who, line, f) : line);
        free (line);
        (void)fputc ('\n', f);
        text = at ? at + 1 : end;
    }
}

void place_put_lines (const char *text, size_t size, FILE *f)
{
    put_text (NULL, text, size, f);
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

/* Print what has come up to the last end of a line, or to the one before. */
static void put_lines (const struct speaker *who, struct buf *b, bool one_less,
                       FILE *f)
{
    size_t size = b->size - (one_less && b->size > 0);
    const char *last = size > 0 ? memrchr (b->data, '\n', size) : NULL;
    size_t n = last ? (size_t)(last - (const char *)b->data) + 1 : 0;

    if (n == 0)
        return;
    put_text (who, (const char *)b->data, n, f);
    memmove (b->data, b->data + n, b->size - n);
    b->size -= n;
}

/* Its own words, without the name of the verb and the end of the line. */
static void take_words (struct buf *said, struct err *why)
{
    const char *text = buf_text (said), *at = strstr (text, ": ");

    at = at ? at + 2 : text;
    (void)err_set (why, EIO, "%.*s", (int)strcspn (at, "\n"), at);
}

/* Of the result of place_end. */
static int exit_status (int rc)
{
    if (rc >= 0 && rc < 128)
        return rc;
    return rc == -EACCES || rc == -EPERM ? EX_NOPERM
           : rc == -EBADMSG              ? EX_DATAERR
           : rc == -EAGAIN               ? EX_TEMPFAIL
           : rc == -ENOKEY               ? EX_CONFIG
           : rc == -ENOMEM               ? EX_OSERR
                                         : EX_UNAVAILABLE;
}

/* Why it failed: as was said, or its own words, or how it ended. */
static void find_why (int status, struct buf *said, struct err *why)
{
    if (!why->text[0] && said->size > 0)
        take_words (said, why);
    if (!why->text[0] && status > 0)
        (void)err_set (why, EIO, status < 128
                           ? "it ended with status %d, and said nothing"
                           : "it was killed (signal %d)",
                       status < 128 ? status : status - 128);
}

/* Who takes the whole lines of what comes away from 'b', at the end all that there
 * is: 0, or a negative errno.
 */
typedef int take_fn (void *arg, struct buf *b, bool all);

struct passing {
    struct buf out, said;
    take_fn *fn;
    void *arg;
    const struct speaker *who;  // of the messages; NULL: is not named
    enum { SHOWN, LAST_KEPT, KEPT } messages;
};

static int take_part (void *arg, size_t stream, const void *data, size_t size)
{
    struct passing *x = arg;
    struct buf *b = stream == 0 ? &x->out : &x->said;

    buf_put (b, data, size);
    if (b->failed)
        return -E2BIG;
    if (stream == 0)
        return x->fn (x->arg, b, size == 0);
    if (x->messages != KEPT)
        put_lines (x->who, b, x->messages == LAST_KEPT, stderr);
    return 0;
}

/* Pass on what comes to its end, but messages that are kept: as place_end, or the
 * result of 'fn'.
 */
static int pass_on (struct passing *x, size_t most, struct place_view *v,
                    struct err *why)
{
    struct pollfd streams[] = { STREAM (v->out), STREAM (v->said) };
    int rc, status;

    buf_init (&x->out, most);
    buf_init (&x->said, PLACE_SAID_MAX);
    v->out = v->said = -1;
    rc = streams_read (streams, 2, take_part, x);
    status = place_end (v, why);
    if (x->out.failed || x->said.failed)
        return err_set (why, EBADMSG, "its answer is too long");
    if (rc == -ECANCELED)
        return err_set (why, EPIPE, "interrupted");
    return rc < 0 ? err_sys (why, -rc, "cannot read its answer") : status;
}

/* The messages that were kept. */
static void put_said (struct passing *x)
{
    put_text (x->who, (const char *)x->said.data, x->said.size, stderr);
    x->said.size = 0;
}

static void end_passing (struct passing *x)
{
    buf_fini (&x->out);
    buf_fini (&x->said);
}

static int print_lines (void *arg, struct buf *b, bool all)
{
    if (all) {
        place_put_lines ((const char *)b->data, b->size, arg);
        b->size = 0;
    } else {
        put_lines (NULL, b, false, arg);
    }
    return 0;
}

int place_print (const struct command_spec *c, struct place_view *v, int quiet)
{
    const char *name = v->place->name;
    const struct speaker who = { c ? c->name : "rollcall", name };
    struct passing x = { .fn = print_lines, .arg = stdout, .who = &who,
                         .messages = quiet ? KEPT : SHOWN };
    struct err why;
    int status = pass_on (&x, PLACE_LIST_MAX, v, &why);
    bool silent = quiet && status == quiet;

    if (!silent)
        put_said (&x);
    if (status >= 128)
        find_why (status, &x.said, &why);
    end_passing (&x);
    if (silent)
        return status;
    if (status == -EPIPE)
        return EX_IOERR;        // whoever left has said why
    if (why.text[0])
        (void)cli_fail (c, 0, "%s: %s", name, why.text);
    return exit_status (status);
}

struct lines {
    place_line_fn *fn;
    void *arg;
    int rc;
    struct err err;
};

static void give_line (void *arg, char *line)
{
    struct lines *l = arg;

    if (l->rc == 0)
        l->rc = l->fn (l->arg, line, &l->err);
}

static int give_lines (void *arg, struct buf *b, bool all)
{
    struct lines *l = arg;

    if (all && b->size > 0)
        buf_put (b, "\n", 1);
    buf_take_lines (b, give_line, l);
    return l->rc;
}

int place_each_line (const struct command_spec *c,
                     const struct cli_place *place, const struct json *request,
                     place_line_fn *fn, void *arg, struct err *why)
{
    struct lines l = { .fn = fn, .arg = arg };
    struct passing x = { .fn = give_lines, .arg = &l, .messages = LAST_KEPT };
    struct place_view v;
    int status = place_begin (place, request, &v, why);

    if (status < 0)
        return EX_OSERR;
    status = pass_on (&x, PLACE_LINE_MAX + PART, &v, why);
    if (l.rc < 0)
        *why = l.err;
    if (status == 0 && why->text[0])
        (void)cli_fail (c, 0, "%s: %s", place->name, why->text);
    if (status == 0 || why->text[0])
        put_said (&x);
    else
        find_why (status, &x.said, why);
    end_passing (&x);
    return exit_status (status);
}

/* ---- all of them ---- */

static int take_answer (void *arg, size_t stream, const void *data, size_t size)
{
    struct place_answer *a = (struct place_answer *)arg + stream / 2;
    struct buf *b = stream % 2 == 0 ? &a->out : &a->said;

    buf_put (b, data, size);
    return b->failed;
}

static void take_all (struct place_view *views, struct place_answer *a,
                      size_t n)
{
    struct pollfd streams[2 * CLI_PLACES_MAX];

    for (size_t i = 0; i < n; i++) {
        streams[2 * i] = (struct pollfd)STREAM (views[i].out);
        streams[2 * i + 1] = (struct pollfd)STREAM (views[i].said);
        views[i].out = views[i].said = -1;
    }
    (void)streams_read (streams, 2 * n, take_answer, a);
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
            a[i].status = err_set (&a[i].why, EBADMSG, "its list is longer than "
                                   "%zu MiB: ask for fewer jobs, as with --since",
                                   PLACE_LIST_MAX >> 20);
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

    find_why (a->status, &a->said, &a->why);
    // whoever tells it names the place
    return strncmp (a->why.text, a->place->name, n) == 0 &&
           strncmp (a->why.text + n, ": ", 2) == 0
               ? a->why.text + n + 2 : a->why.text;
}

int place_answer_status (const struct place_answer *a)
{
    return exit_status (a->status);
}

const char *place_silence (int status)
{
    return status == EX_NOPERM ? "has refused" : "has not answered";
}

void place_answers_free (struct place_answer *a, size_t n)
{
    for (size_t i = 0; a && i < n; i++) {
        buf_fini (&a[i].out);
        buf_fini (&a[i].said);
    }
    free (a);
}
