/* cli/verb_fetch.c - rollcall fetch: raw files that are still on their nodes */
#include "cli.h"

#include "archive/root_control.h"
#include "base/clock.h"
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

/* Ask once; 'request': the number in an earlier answer, or 0. */
static int ask (const struct fetch_options *opt, const char *job,
                const int64_t *ranks, int64_t request, struct json **answer)
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
    for (size_t i = 0; i < opt->ranks.n; i++)
        json_push_int (list, ranks[i]);
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
                  const int64_t *ranks, struct json **answer)
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

static void print_files (const struct json *j)
{
    int64_t files = cli_number (j, "files"), came = cli_number (j, "came");
    int64_t gone = cli_number (j, "gone");

    if (files > 0)
        (void)printf (", %lld of %lld file%s came", (long long)came,
                      (long long)files, units_s ((uint64_t)files));
    if (gone > 0)
        (void)printf (", %lld %s gone", (long long)gone, units_are (
                      (uint64_t)gone));
}

static void print_capture (const struct json *j)
{
    static const char *const words[][2] = {
        { "came", "came" }, { "coming", "on its way" },
        { "no-agent", "no agent is connected" }, { "gone", "gone" },
    };
    const char *state = json_text (json_get (j, "state"), "");
    const char *capture = json_text (json_get (j, "capture"), "");
    const char *why = json_text (json_get (j, "why"), "");
    char shown[UTF8_ESCAPED (1024)];

    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++) {
        if (strcmp (words[i][0], state) == 0)
            state = words[i][1];
    }
    (void)printf ("rank %lld      ", (long long)cli_number (j, "rank"));
    if (*capture)
        (void)printf ("%s of %s: ",
                      utf8_escape (capture, UTF8_COLUMN, shown),
                      json_text (json_get (j, "host"), "?"));
    (void)printf ("%s", state);
    print_files (j);
    (void)printf ("%s%s\n", *why ? ": " : "",
                  utf8_escape (why, UTF8_LINES, shown));
}

static int status_of (const struct json *j)
{
    return cli_number (j, "coming") + cli_number (j, "no_agent") > 0
               ? EX_TEMPFAIL
               : cli_number (j, "gone") > 0 ? EXIT_NOT_ALL : 0;
}

static int print_all (const struct fetch_options *opt, struct json *answer)
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
        print_capture (j);
    if (n > (int64_t)json_count (list))
        (void)printf ("and %lld more captures\n",
                      (long long)(n - (int64_t)json_count (list)));
    json_free (answer);
    rc = cli_flush (&fetch_command, 0);
    return rc ? rc : status;
}

int verb_fetch (int argc, char **argv)
{
    struct fetch_options opt = { .wait_ns = -1 };
    int64_t ranks[OPTION_LIST_MAX];
    struct json *answer = NULL;
    int rest, status;

    if (!cli_options (&fetch_command, argc, argv, &opt, &rest, &status))
        return status;
    if (rest != argc - 1 || !cli_valid_job (argv[rest]))
        return FAIL (EXIT_USAGE, "name a job");
    if (opt.ranks.n == 0)
        return FAIL (EXIT_USAGE, "name a rank with --rank");
    for (size_t i = 0; i < opt.ranks.n; i++) {
        if (units_int (opt.ranks.items[i], 0, CAPTURE_WORLD_MAX - 1,
                       &ranks[i]) < 0)
            return FAIL (EXIT_USAGE, "--rank: \"%s\" is not a rank",
                         opt.ranks.items[i]);
    }
    status = fetch (&opt, argv[rest], ranks, &answer);
    return status ? status : print_all (&opt, answer);
}
