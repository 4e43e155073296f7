/* cli/verb_findings.c - rollcall findings: what is slow in a result, and why */
#include "cli_derive.h"
#include "find_result.h"

#include "findings/finding_list.h"

#include <errno.h>
#include <unistd.h>

#define EXIT_FOUND 1            // there are findings that are not notes

struct verb_options {
    struct result_place place;
    struct option_list thresholds;
    bool json;
};

static const struct option_spec options[] = {
    CLI_RESULT_OPTIONS (struct verb_options),
    CLI_THRESHOLD_OPTION (struct verb_options, thresholds),
    OPTION_SWITCH ("json", 0, struct verb_options, json,
      "Print one JSON object, whose member findings has one for each."),
};

static const struct command_spec findings_command = {
    "rollcall findings", "[OPTION]... [" CLI_RESULT_USAGE "]",
    "Show what is slow in a result: which rank, link, host or step, since "
    "when, what it costs, and what to look at next.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&findings_command, status, __VA_ARGS__)

static int verb_findings_print (const struct verb_options *opt,
                                const struct cli_derive *d,
                                const char *path)
{
    struct finding_list list;
    struct err err = { "" };
    bool again = opt->thresholds.n > 0;
    int status, rc = finding_list_read (path, again ? &d->findings : NULL,
                                        &list, &err);

    if (rc < 0)
        return FAIL (rc == -ENOMEM ? EX_OSERR : rc == -ENOENT || rc == -EACCES
                     ? cli_input_status (rc) : EX_DATAERR, "%s", err.text);
    if (opt->json)
        rc = cli_print_json (finding_list_to_json (&list, path));
    else
        rc = finding_list_print (&list, STDOUT_FILENO);
    status = cli_flush (&findings_command, rc);
    if (status == 0 && finding_list_any (&list))
        status = EXIT_FOUND;
    finding_list_fini (&list);
    return status;
}

int verb_findings (int argc, char **argv)
{
    struct verb_options opt = { .json = false };
    struct cli_derive_options said = { .topology = NULL };
    struct cli_derive derive;
    char path[PATH_MAX];
    int rest, status;

    if (!cli_options (&findings_command, argc, argv, &opt, &rest, &status))
        return status;
    if (argc - rest > 1)
        return FAIL (EXIT_USAGE, "unexpected argument \"%s\": one result at a "
                     "time",
                     argv[rest + 1]);
    said.thresholds = opt.thresholds;
    if ((status = cli_derive_read (&findings_command, &said, &derive)) == 0 &&
        (status = cli_find_result (&findings_command,
                                   rest < argc ? argv[rest] : ".",
                                   &opt.place, path)) == 0)
        status = verb_findings_print (&opt, &derive, path);
    cli_derive_fini (&derive);
    return status;
}
