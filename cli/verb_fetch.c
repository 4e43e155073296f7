/* cli/verb_fetch.c - rollcall fetch: raw files that are still on their nodes */
#include "cli.h"

#include "archive/archive.h"
#include "archive/raw_there.h"
#include "archive/root_control.h"
#include "base/clock.h"
#include "options/shell.h"
#include "base/units.h"
#include "base/utf8.h"
#include "model/capture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ASK_NS (NS_PER_S / 2)           // between looks at what has come
#define WAIT_NS (60 * NS_PER_S)         // without --wait

struct fetch_options {
    const char *root;
    struct option_list ranks;
    const char *file;
    int64_t wait_ns;
    bool json;
};

static const struct option_spec options[] = {
    CLI_ROOT_OPTION (struct fetch_options),
    OPTION (LIST, "rank", 0, struct fetch_options, ranks, "R", NULL, NULL,
      "Fetch the raw files of this rank; may be repeated."),
    OPTION (TEXT, "file", 'f', struct fetch_options, file, "PATTERN", NULL,
      NULL,
      "Only these files, by their path within the capture, or by their last "
      "name if PATTERN has no slash. A * stands for anything, a ? for one "
      "byte."),
    OPTION (DURATION, "wait", 'w', struct fetch_options, wait_ns, "TIME", NULL,
      NULL,
      "How long to wait for the files, and for agents that are not connected; "
      "0: only ask. Without it: 60s, but not for an agent that is not "
      "connected."),
    OPTION_SWITCH ("json", 0, struct fetch_options, json,
      "Print the outcome as one JSON object."),
};

static const struct command_spec fetch_command = {
    "rollcall fetch", "--rank R [OPTION]... JOB",
    "Ask the agents of a service for raw files of ranks, and say what came, "
    "what is on its way, and what is gone and why.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&fetch_command, status, __VA_ARGS__)

static int fail_with (int rc, const struct err *err)
{
    return FAIL (rc == -EINVAL                         ? EXIT_USAGE
                 : rc == -ENOENT                       ? EX_NOINPUT
                 : rc == -EBUSY || rc == -EHOSTUNREACH || rc == -EAGAIN ? EX_TEMPFAIL
                 : rc == -EBADMSG                      ? EX_DATAERR
                 : rc == -EACCES || rc == -EPERM       ? EX_NOPERM
                                                       : EX_IOERR,
                 "%s", err->text);
}

struct ranks {
    int64_t list[OPTION_LIST_MAX];
    size_t n;
};

/* Ask once; 'request': the number in an earlier answer, or 0. */
static int ask (const struct fetch_options *opt, const char *job,
                const struct ranks *ranks, int64_t request,
                struct json **answer)
{
    struct json *asked = json_object (), *list;
    struct err err = { "" };
    bool served;
    int rc;

    json_add_text (asked, "do", "fetch");
    json_add_text (asked, "job", job);
    json_add_text (asked, "file", opt->file ? opt->file : "");
    json_add_int (asked, "request", request);
    list = json_add_array (asked, "ranks");
    for (size_t i = 0; i < ranks->n; i++)
        json_push_int (list, ranks->list[i]);
    rc = control_ask (opt->root, asked, answer, &served, &err);
    return rc < 0 ? fail_with (rc, &err) : 0;
}

static bool is_over (const struct fetch_options *opt, const struct json *j,
                     int64_t until_ns)
{
    int64_t coming = cli_number (j, "coming");
    int64_t no_agent = cli_number (j, "no_agent");

    return (coming == 0 && (no_agent == 0 || opt->wait_ns < 0)) ||
           clock_mono_ns () >= until_ns;
}

/* Ask until everything has come, or is known to be gone, or time is up. */
static int fetch (const struct fetch_options *opt, const char *job,
                  const struct ranks *ranks, struct json **answer)
{
    const struct timespec pause = { .tv_nsec = ASK_NS };
    int64_t until_ns = clock_mono_ns () +
                       (opt->wait_ns < 0 ? WAIT_NS : opt->wait_ns);
    int status = ask (opt, job, ranks, 0, answer);

    while (status == 0 && !is_over (opt, *answer, until_ns)) {
        int64_t request = cli_number (*answer, "request");

        json_free (*answer);
        (void)nanosleep (&pause, NULL);
        status = ask (opt, job, ranks, request, answer);
    }
    return status;
}

/* ---- what became of it ---- */

static void print_came (const struct json *j, const char *job)
{
    int64_t files = cli_number (j, "files");
    char word[SHELL_WORD (MESSAGE_NAME_MAX)];

    if (files == 0)
        (void)printf ("no file is wanted");
    else if (files == 1)
        (void)printf ("its file is in the root");
    else
        (void)printf ("all %lld files are in the root", (long long)files);
    (void)printf (" (rollcall archive get %s %lld DIR)", shell_word (job, word),
                  (long long)cli_number (j, "rank"));
}

static void print_files (const struct json *j)
{
    int64_t files = cli_number (j, "files"), came = cli_number (j, "came");
    int64_t gone = cli_number (j, "gone");

    if (files > 0)
        (void)printf (", %lld of %lld file%s %s in the root", (long long)came,
                      (long long)files, units_s ((uint64_t)files),
                      units_are ((uint64_t)files));
    if (gone > 0)
        (void)printf (", %lld %s gone", (long long)gone, units_are (
                      (uint64_t)gone));
}

static void print_state (const struct json *j, const char *job)
{
    const char *state = json_text (json_get (j, "state"), "");
    const char *why = json_text (json_get (j, "why"), "");
    const char *host = json_text (json_get (j, "host"), "?");
    const char *raw_at = json_text (json_get (j, "raw_at"), "");
    char shown[UTF8_ESCAPED (1024)];

    if (strcmp (state, "came") == 0)
        print_came (j, job);
    else if (*raw_at)
        (void)printf ("raw files of this job are delivered to %s: they are "
                      "there, unless its agents no longer have --spread",
                      utf8_escape (raw_at, UTF8_COLUMN, shown));
    else if (strcmp (state, "no-agent") == 0)
        (void)printf ("no agent of host %s is connected: start rollcall-agent "
                      "there, without --once; it is asked as soon as it "
                      "connects", utf8_escape (host, UTF8_COLUMN, shown));
    else
        (void)printf ("%s", strcmp (state, "coming") == 0 ? "on its way"
                                                          : state);
    if (strcmp (state, "came") != 0)
        print_files (j);
    (void)printf ("%s%s\n", *why ? ": " : "",
                  utf8_escape (why, UTF8_LINES, shown));
}

static void print_capture (const struct json *j, const char *job)
{
    const char *capture = json_text (json_get (j, "capture"), "");
    char shown[UTF8_ESCAPED (1024)];

    (void)printf ("rank %lld      ", (long long)cli_number (j, "rank"));
    if (!*capture) {
        (void)printf ("job %s has no capture of it\n", job);
        return;
    }
    (void)printf ("%s of %s: ", utf8_escape (capture, UTF8_COLUMN, shown),
                  json_text (json_get (j, "host"), "?"));
    print_state (j, job);
}

static int status_of (const struct json *j)
{
    return cli_number (j, "coming") + cli_number (j, "no_agent") > 0
               ? EX_TEMPFAIL
               : cli_number (j, "gone") > 0 ? EXIT_NOT_ALL : 0;
}

static int print_all (const struct fetch_options *opt, const char *job,
                      struct json *answer)
{
    const struct json *list = json_get (answer, "ranks");
    int64_t n = cli_number (answer, "captures");
    int status = status_of (answer), rc = 0;

    if (opt->json) {
        json_add_int (answer, "exit_status", status);
        rc = cli_flush (&fetch_command, cli_print_json (answer));
        return rc ? rc : status;
    }
    for (const struct json *j = json_first (list); j; j = json_next (j))
        print_capture (j, job);
    if (n > (int64_t)json_count (list))
        (void)printf ("and %lld more captures\n",
                      (long long)(n - (int64_t)json_count (list)));
    json_free (answer);
    rc = cli_flush (&fetch_command, 0);
    return rc ? rc : status;
}

/* Answer without asking if no agent is needed for any rank; NULL: it is, or
 * only some files are wanted.
 */
static struct json *look_here (const struct fetch_options *opt,
                               const char *job, const struct ranks *ranks)
{
    struct json *answer = json_object ();
    struct json *list = json_add_array (answer, "ranks");
    struct raw_there_counts n = { 0, 0 };
    struct archive a;
    size_t i = 0;

    if (!(opt->file && *opt->file) && archive_open (opt->root, &a, NULL) == 0) {
        while (i < ranks->n &&
               raw_there (&a, job, ranks->list[i], list, &n))
            i++;
        archive_close (&a);
    }
    if (i < ranks->n) {
        json_free (answer);
        return NULL;
    }
    json_add_int (answer, "captures", n.captures);
    json_add_int (answer, "coming", 0);
    json_add_int (answer, "no_agent", 0);
    json_add_int (answer, "gone", n.gone);
    return answer;
}

int verb_fetch (int argc, char **argv)
{
    struct fetch_options opt = { .wait_ns = -1 };
    struct ranks ranks = { .n = 0 };
    struct json *answer = NULL;
    int rest, status;

    if (!cli_options (&fetch_command, argc, argv, &opt, &rest, &status))
        return status;
    if (rest != argc - 1 || !cli_valid_job (argv[rest]))
        return FAIL (EXIT_USAGE, "name a job");
    if (opt.ranks.n == 0)
        return FAIL (EXIT_USAGE, "name a rank with --rank");
    for (size_t i = 0; i < opt.ranks.n; i++) {
        if (units_int (opt.ranks.items[i], 0, capture_world_max - 1,
                       &ranks.list[ranks.n++]) < 0)
            return FAIL (EXIT_USAGE, "--rank: \"%s\" is not a rank",
                         opt.ranks.items[i]);
    }
    if ((answer = look_here (&opt, argv[rest], &ranks)))
        return print_all (&opt, argv[rest], answer);
    status = fetch (&opt, argv[rest], &ranks, &answer);
    return status ? status : print_all (&opt, argv[rest], answer);
}
