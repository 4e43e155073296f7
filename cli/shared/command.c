/* cli/shared/command.c - shared by the verbs and rollcall run
 *
 * This folder: options, errors, signals and printing, for verbs and for
 * rollcall run.
 */
#include "shared/command.h"

#include "base/utf8.h"
#include "query/labels.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLI_FAIL_MAX 8192               // bytes of a message, with the NUL

bool cli_options (const struct command_spec *c, int argc, char **argv,
                  void *out, int *rest, int *status)
{
    struct err err = { "" };

    switch (options_parse (c, argc, argv, false, out, rest, &err)) {
    case OPTIONS_OK:
        return true;
    case OPTIONS_DONE:
        *status = options_done (c->name);
        return false;
    default:
        *status = cli_fail (c, EXIT_USAGE, "%s (%s --help says more)",
                            err.text, c->name);
        return false;
    }
}

__attribute__ ((format (printf, 3, 0))) static void
say (const struct command_spec *c, const char *before, const char *fmt,
     va_list ap)
{
    char text[CLI_FAIL_MAX], shown[UTF8_ESCAPED (CLI_FAIL_MAX)];

    (void)fflush (stdout);
    (void)vsnprintf (text, sizeof (text), fmt, ap);
    (void)fprintf (stderr, "%s: %s%s\n", c->name, before,
                   utf8_escape (text, UTF8_LINES, shown));
}

int cli_fail (const struct command_spec *c, int status, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    say (c, "", fmt, ap);
    va_end (ap);
    return status;
}

bool cli_empty_dir (const struct command_spec *c, int n, char *const *dirs)
{
    for (int i = 0; i < n; i++) {
        if (!*dirs[i]) {
            (void)cli_fail (c, EXIT_USAGE, "DIR is empty");
            return true;
        }
    }
    return false;
}

int cli_output_status (int rc)
{
    return rc == -ENOMEM   ? EX_OSERR
           : rc == -EPERM  ? EX_NOPERM
           : rc == -ESTALE ? EX_TEMPFAIL
                           : EX_CANTCREAT;
}

int cli_flush (const struct command_spec *c, int rc)
{
    if (rc == 0 && (fflush (stdout) != 0 || ferror (stdout)))
        rc = -errno;
    return rc == 0 ? 0 : cli_fail (c, EX_IOERR, "cannot write to standard "
                                   "output: %s", strerror (-rc));
}

int cli_input_status (int rc)
{
    return rc == -EACCES || rc == -EPERM ? EX_NOPERM
           : rc == -EBADMSG              ? EX_DATAERR
                                         : EX_NOINPUT;
}

bool cli_is_ignored (int sig)
{
    struct sigaction now;

    return sigaction (sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* ---- signals ---- */

atomic_bool cli_cancelled;
const char *cli_interrupted_by = "interrupted, ";
static volatile sig_atomic_t cancelled_by;

static void on_signal (int sig)
{
    cancelled_by = sig;
    atomic_store (&cli_cancelled, true);
}

void cli_catch_signals (void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction sa = { .sa_handler = on_signal };

    sa.sa_flags = (int)SA_RESETHAND;
    for (size_t i = 0; i < sizeof (signals) / sizeof (signals[0]); i++)
        if (!cli_is_ignored (signals[i]))
            (void)sigaction (signals[i], &sa, NULL);
}

int cli_interrupted (const struct command_spec *c, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    say (c, cli_interrupted_by, fmt, ap);
    va_end (ap);
    return 128 + cancelled_by;
}

/* ---- what is read, and how results are printed ---- */

int64_t cli_number (const struct json *j, const char *key)
{
    int64_t v = 0;

    (void)json_int (json_get (j, key), &v);
    return v;
}

size_t cli_width (int64_t option)
{
    return option >= 0 ? (size_t)option : labels_width (STDOUT_FILENO);
}

int cli_print_json (struct json *j)
{
    char *text = json_print (j, true);
    int rc = text && puts (text) >= 0 ? 0 : text ? -errno : -ENOMEM;

    free (text);
    json_free (j);
    return rc;
}
