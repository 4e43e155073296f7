/* cli/shared/view.c - verbs that a service runs for users who cannot read its root
 */
#include "shared/view.h"

#include "shared/streams.h"

#include "archive/root_control.h"
#include "store/fileio.h"
#include "store/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- in the service's process ---- */

bool cli_is_view (void)
{
    return getenv (ROOT_VIEW_VARIABLE) != NULL;
}

const char *cli_visible_to (void)
{
    return getenv (ROOT_VISIBLE_VARIABLE);
}

/* ---- in the user's ---- */

bool cli_needs_view (const char *root)
{
    return !cli_is_view () && control_is_needed (root);
}

struct view_words {
    const struct command_spec *c;
    struct json *list;
    bool value;                 // the next word is the value of an option ...
    bool skip;                  // ... that stays here
};

static bool has_value (const struct command_spec *c, const char *word)
{
    for (size_t i = 0; i < c->noptions; i++) {
        if (strcmp (word + 2, c->options[i].name) == 0)
            return c->options[i].kind != OPTION_FLAG;
    }
    return false;
}

/* All but what only this process can do, and what other commands of the verb
 * take.
 */
static int add_word (void *arg, const char *word)
{
    static const char *const own[] = {
        "--root", "--aggregators", "--key", "--server-key", "--state",
        "--expect", "--file", "--compress", "--threads", "--grace", "--unused",
        "--forget-metadata-after", "--owner", "--foreign-output",
    };
    struct view_words *w = arg;

    if (w->value) {
        w->value = false;
    } else {
        w->value = has_value (w->c, word);
        w->skip = false;
        for (size_t i = 0; i < sizeof (own) / sizeof (own[0]); i++)
            w->skip = w->skip || strcmp (word, own[i]) == 0;
    }
    if (!w->skip)
        json_push_text (w->list, word);
    return 0;
}

static struct json *new_request (const char *verb, struct json **options,
                                 struct json **operands)
{
    struct json *j = json_object ();

    json_add_text (j, "do", "view");
    json_add_text (j, "verb", verb);
    *options = json_add_array (j, "options");
    *operands = json_add_array (j, "operands");
    return j;
}

struct json *cli_view_request (const struct command_spec *c, const void *opt,
                               int n, char *const *operands)
{
    struct view_words w = { .c = c };
    struct json *list, *j = new_request (strchr (c->name, ' ') + 1, &w.list,
                                         &list);

    (void)options_words (c, opt, add_word, &w);
    for (int i = 0; i < n; i++)
        json_push_text (list, operands[i]);
    return j;
}

struct json *cli_view_words (const char *verb, const char *const *options,
                             const char *const *operands)
{
    struct json *words, *list, *j = new_request (verb, &words, &list);

    for (; options && *options; options++)
        json_push_text (words, *options);
    for (; operands && *operands; operands++)
        json_push_text (list, *operands);
    return j;
}

int cli_view_begin (const struct command_spec *c, const char *root,
                    const void *opt, int n, char *const *operands,
                    struct cli_view *v)
{
    int out[2] = { -1, -1 }, said[2] = { -1, -1 };
    struct err err = { "" };
    int rc = -1;

    *v = (struct cli_view){ -1, -1, -1 };
    if (pipe2 (out, O_CLOEXEC) < 0 || pipe2 (said, O_CLOEXEC) < 0)
        (void)err_sys (&err, errno, "cannot make a pipe");
    else
        rc = control_ask_for (root, cli_view_request (c, opt, n, operands),
                              (int[]){ out[1], said[1] }, &err);
    fileio_close (out[1]);
    fileio_close (said[1]);
    *v = (struct cli_view){ rc, out[0], said[0] };
    if (rc >= 0)
        return 0;
    fileio_close (out[0]);
    fileio_close (said[0]);
    return cli_fail (c, rc == -EACCES ? EX_NOPERM : EX_IOERR, "%s", err.text);
}

/* Whoever does not take it any more closes his end. */
static int pass_on (void *arg, size_t stream, const void *data, size_t size)
{
    (void)arg;
    return fileio_write_all (stream == 0 ? STDOUT_FILENO : STDERR_FILENO, data,
                             size) < 0;
}

int cli_view_end (const struct command_spec *c, struct cli_view *v)
{
    struct pollfd streams[] = { STREAM (v->out), STREAM (v->said) };
    struct json *answer = NULL;
    struct err err = { "" };
    const char *why;
    int rc;

    (void)fflush (stdout);
    if (streams_read (streams, 2, pass_on, NULL) == -ECANCELED) {
        fileio_close (v->fd);
        return EX_IOERR;        // whoever left says why
    }
    if ((rc = control_hear (v->fd, &answer, &err)) < 0)
        return cli_fail (c, rc == -EINVAL   ? EXIT_USAGE
                            : rc == -ENOENT ? EX_NOINPUT
                            : rc == -EACCES ? EX_NOPERM
                            : rc == -EAGAIN ? EX_TEMPFAIL
                                            : EX_IOERR, "%s", err.text);
    // the last lines may look like those of a whole list
    why = json_text (json_get (answer, "why"), "it was killed");
    if ((rc = (int)cli_number (answer, "exit_status")) >= 128)
        rc = cli_fail (c, EX_TEMPFAIL, "the output is not complete, the service "
                       "has ended it (signal %d): %s", rc - 128, why);
    json_free (answer);
    return rc;
}

int cli_view (const struct command_spec *c, const char *root, const void *opt,
              int n, char *const *operands)
{
    struct cli_view v;
    int status = cli_view_begin (c, root, opt, n, operands, &v);

    return status ? status : cli_view_end (c, &v);
}
