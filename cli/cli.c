/* cli/cli.c - what the verbs share */
#include "cli.h"

#include "base/utf8.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
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
        *status = EXIT_ALL_PRESENT;
        return false;
    default:
        *status = cli_fail (c, EXIT_USAGE, "%s (%s --help says more)",
                            err.text, c->name);
        return false;
    }
}

int cli_fail (const struct command_spec *c, int status, const char *fmt, ...)
{
    char text[CLI_FAIL_MAX], shown[UTF8_ESCAPED (CLI_FAIL_MAX)];
    va_list ap;

    (void)fflush (stdout);
    va_start (ap, fmt);
    (void)vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    (void)fprintf (stderr, "%s: %s\n", c->name,
                   utf8_escape (text, UTF8_LINES, shown));
    return status;
}

int cli_output_status (int rc)
{
    return rc == -ENOMEM ? EX_OSERR : EX_CANTCREAT;
}

int cli_flush (const struct command_spec *c, int rc)
{
    if (rc == 0 && (fflush (stdout) != 0 || ferror (stdout)))
        rc = -errno;
    return rc == 0 ? 0 : cli_fail (c, EX_IOERR, "cannot print the summary: %s",
                                   strerror (-rc));
}

bool cli_is_ignored (int sig)
{
    struct sigaction now;

    return sigaction (sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

size_t cli_width (int64_t option)
{
    struct winsize w;

    if (option >= 0)
        return (size_t)option;
    if (isatty (STDOUT_FILENO) && ioctl (STDOUT_FILENO, TIOCGWINSZ, &w) == 0)
        return w.ws_col;
    return 0;
}

enum cli_format cli_format (bool json, bool text)
{
    if (json)
        return CLI_JSON;
    return text || isatty (STDOUT_FILENO) ? CLI_TEXT : CLI_LOGFMT;
}
