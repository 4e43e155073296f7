/* cli/verb_compare.c - rollcall compare: how two runs differ */
#include "cli.h"
#include "find_result.h"

#include "compare/compare.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define STATUS_SAME 0
#define STATUS_DIFFERENT 1

struct compare_options {
    struct result_place place;
    int64_t floor, width;
    bool all, json;
};

/* Whether two paths are of one file. */
static bool is_same_file (const char *a, const char *b)
{
    struct stat sa, sb;

    return stat (a, &sa) == 0 && stat (b, &sb) == 0 &&
           sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static const struct option_spec options[] = {
    OPTION_NUMBER ("floor", 'f', struct compare_options, floor, "PERCENT", "1",
      NULL, 0, 1000,
      "Ignore smaller differences, even if the noise is smaller still: two "
      "runs always differ by more than the steps of one run do."),
    OPTION_SWITCH ("all", 0, struct compare_options, all,
      "Show peaks of memory that do not differ, too."),
    OPTION_SWITCH ("json", 0, struct compare_options, json,
      "Print one JSON object."),
    CLI_WIDTH_OPTION (struct compare_options),
    CLI_RESULT_OPTIONS (struct compare_options),
};

static const struct command_spec compare_command = {
    "rollcall compare", "[OPTION]... A B",
    "Compare two runs of a job, rank by rank, and tell what differs by more "
    "than noise. A and B are results: DIR, FILE or JOB.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&compare_command, status, __VA_ARGS__)

static int verb_compare_print (const struct compare_options *opt,
                               const struct compare *c)
{
    int rc = opt->json ? cli_print_json (compare_to_json (c))
                       : compare_print (c, opt->all,
                                        cli_width (opt->width), stdout);
    int status = cli_flush (&compare_command, rc);

    if (status)
        return status;
    return compare_differs (c) ? STATUS_DIFFERENT
           : c->steps_tell     ? STATUS_SAME
                               : EX_DATAERR;
}

int verb_compare (int argc, char **argv)
{
    struct compare_options opt = { .width = -1 };
    char a[PATH_MAX], b[PATH_MAX];
    struct err err = { "" };
    struct compare c;
    int rest, status, rc;

    if (!cli_options (&compare_command, argc, argv, &opt, &rest, &status))
        return status;
    if (argc - rest != 2)
        return FAIL (EXIT_USAGE, "name two results (usage: %s %s)",
                     compare_command.name, compare_command.usage);
    opt.place.asked = "...";
    if ((status = cli_find_result (&compare_command, argv[rest], &opt.place,
                                   a)) ||
        (status = cli_find_result (&compare_command, argv[rest + 1],
                                   &opt.place, b)))
        return status;
    if (is_same_file (a, b))
        return FAIL (EXIT_USAGE, "%s and %s are the same file", argv[rest],
                     argv[rest + 1]);
    rc = compare_read (a, b, (double)opt.floor, &c, &err);
    if (rc < 0)
        return FAIL (rc == -ENOMEM    ? EX_OSERR
                     : rc == -EBADMSG ? EX_DATAERR
                     : rc == -EIO     ? EX_IOERR
                                      : EX_NOINPUT, "%s", err.text);
    status = verb_compare_print (&opt, &c);
    compare_fini (&c);
    return status;
}
