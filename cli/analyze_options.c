/* cli/analyze_options.c - the options of rollcall analyze, and what they may be
 */
#include "analyze.h"

#include <stddef.h>

static const struct option_spec options[] = {
    OPTION (TEXT, "out", 'o', struct analyze_options, out, "DIR", NULL, NULL,
      "Write into DIR/cluster_analysis_output. Without it: into the analysed "
      "directory, when there is exactly one and it can be written."),
    OPTION_NUMBER ("threads", 'j', struct analyze_options, threads, "N", NULL,
      "ROLLCALL_THREADS", 1, BUILD_THREADS_MAX,
      "Threads that read captures. Without it: as many as there are "
      "processors."),
    OPTION (TEXT, "steps", 's', struct analyze_options, steps, "LIST", NULL,
      NULL, "Only these steps: numbers and ranges, as in 10,12-15."),
    OPTION_NUMBER ("world-size", 'n', struct analyze_options, world_size, "N",
      NULL, NULL, 1, CAPTURE_WORLD_LIMIT,
      "Expect ranks 0 to N-1. Without it, the number is that of the captures' "
      "metadata, or else the highest rank seen."),
    OPTION (TEXT, "job", 'J', struct analyze_options, job, "INDEX|PREFIX", NULL,
      NULL,
      "If there are captures of several jobs, build this one: its number (1 is "
      "the newest) or the beginning of its name. Without it: the newest."),
    OPTION_SWITCH ("all-jobs", 0, struct analyze_options, all_jobs,
      "Build each job, into OUT/JOB/cluster_analysis_output."),
    OPTION_SWITCH ("list-jobs", 'l', struct analyze_options, list_jobs,
      "Only list the jobs whose captures are there: nothing is built, analysed "
      "or written."),
    ANALYSER_OPTIONS (struct analyze_options),
    MAX_RANKS_OPTION (struct analyze_options, max_ranks),
    RESULTS_OPTION (struct analyze_options),
    CLI_FOREIGN_OPTION (struct analyze_options, foreign),
    CLI_DERIVE_OPTIONS (struct analyze_options, derive),
    CLI_FORMAT_OPTIONS (struct analyze_options),
    OPTION_SWITCH ("quiet", 'q', struct analyze_options, quiet,
      "No progress and no summary."),
    OPTION_SWITCH ("verbose", 'v', struct analyze_options, verbose,
      "Name every directory that was not searched, not only the first."),
};

const struct command_spec analyze_command = {
    "rollcall analyze", "[OPTION]... DIR|FILE...",
    "Read the captures of all ranks below each DIR and build one analysis.db "
    "from them; name every missing rank, with the reason.",
    options, sizeof (options) / sizeof (options[0]),
};

int analyze_check_options (struct analysis *a)
{
    struct err err = { "" };

    if (a->opt.job && a->opt.all_jobs)
        return FAIL (EXIT_USAGE, "--job builds one job, --all-jobs each: give "
                     "one of them");
    if (a->opt.list_jobs && (a->opt.job || a->opt.all_jobs || a->opt.out))
        return FAIL (EXIT_USAGE, "--list-jobs builds nothing: leave out --%s",
                     a->opt.job ? "job" : a->opt.out ? "out" : "all-jobs");
    if (analyser_check (&a->opt.analyse, &err) < 0)
        return FAIL (EXIT_USAGE, "%s", err.text);
    if (results_parse (a->opt.only, &a->wanted, &err) < 0)
        return FAIL (EXIT_USAGE, "--only: %s", err.text);
    return cli_derive_read (&analyze_command, &a->opt.derive, &a->derive);
}
