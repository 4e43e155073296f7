/* cli/verb_doctor.c - rollcall doctor: find problems of this machine, and size a
 * root
 */
#include "check/check.h"
#include "cli.h"
#include "jobs_list.h"
#include "run/run.h"

#include "archive/archive.h"
#include "archive/stored_bytes.h"
#include "base/texts.h"
#include "base/units.h"
#include "base/utf8.h"
#include "json/json.h"
#include "net/keyring.h"
#include "query/labels.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKS_MAX (23 + 5 * OPTION_LIST_MAX)

/* Values of --size and what belongs to it. */
struct doctor_size {
    const char *root;
    int64_t ranks, steps, jobs_per_day, keep_days;      // 0: not given
    bool json;
};

struct doctor_options {
    int64_t expect_bytes;
    int64_t port;
    const char *state, *keys;
    const char *aggregator, *key, *server_key;
    struct doctor_size size;
    bool insecure, json;
};

static const struct option_spec options[] = {
    OPTION (BYTES, "expect-bytes", 0, struct doctor_options, expect_bytes,
      "BYTES", "0", NULL,
      "How much raw data the profiler will write, as 10GB; 20 times as much "
      "has to be free."),
    OPTION_NUMBER ("port", 0, struct doctor_options, port, "N", "7077", NULL, 1,
      65535, "The port of the aggregator."),
    CLI_STATE_OPTION (struct doctor_options, state,
      "Local directory of runs, as in rollcall run: checked if no DIR is "
      "given."),
    OPTION (TEXT, "keys", 0, struct doctor_options, keys, "DIR", NULL,
      "ROLLCALL_KEYS",
      "Keys of an aggregator on this host; without it those of rollcall key."),
    OPTION (ENDPOINT, "aggregator", 0, struct doctor_options, aggregator,
      "ENDPOINT", NULL, "ROLLCALL_AGGREGATOR",
      "Check whether the aggregator at this address, as tcp://10.0.0.1:7077, "
      "answers, and how far its clock is from this one."),
    OPTION (TEXT, "key", 0, struct doctor_options, key, "FILE", NULL,
      "ROLLCALL_KEY", "This node's key, as for rollcall-agent."),
    OPTION (TEXT, "server-key", 0, struct doctor_options, server_key, "KEY",
      NULL, "ROLLCALL_SERVER_KEY",
      "The aggregator's public key, as for rollcall-agent."),
    OPTION_SWITCH ("insecure", 0, struct doctor_options, insecure,
      "Ask the aggregator without keys."),
    OPTION (TEXT, "size", 0, struct doctor_options, size.root, "ROOT", NULL,
      NULL,
      "Say how much the jobs of this aggregator's root take for each rank and "
      "step, and check nothing."),
    OPTION_NUMBER ("ranks", 0, struct doctor_options, size.ranks, "N", "0",
      NULL, 0, INT32_MAX, "With --size and the next three: how much disk jobs "
      "of so many ranks need, ..."),
    OPTION_NUMBER ("steps", 0, struct doctor_options, size.steps, "N", "0",
      NULL, 0, INT32_MAX, "... of which so many steps are captured, ..."),
    OPTION_NUMBER ("jobs-per-day", 0, struct doctor_options,
      size.jobs_per_day, "N", "1", NULL, 1, INT32_MAX,
      "... so many of them a day, ..."),
    OPTION_NUMBER ("keep-days", 0, struct doctor_options, size.keep_days, "N",
      "1", NULL, 1, 36500, "... each kept for so many days."),
    OPTION_SWITCH ("json", 0, struct doctor_options, json,
      "Print one JSON object."),
};

static const struct command_spec doctor_command = {
    "rollcall doctor", "[OPTION]... [DIR]...",
    "Check this machine and the directories for captures, and say what is "
    "wrong and what to do about it.",
    options, sizeof (options) / sizeof (options[0]),
};

static const char *const state_names[] = { "ok", "warning", "problem" };

struct report {
    struct check checks[CHECKS_MAX];
    size_t n;
};

static void verb_doctor_add (struct report *r, struct check c)
{
    if (r->n < CHECKS_MAX)
        r->checks[r->n++] = c;
}

static void look_at_dir (struct report *r, const char *dir, int64_t expect)
{
    struct check exists = check_exists (dir);

    if (exists.state != CHECK_OK)
        verb_doctor_add (r, exists);
    verb_doctor_add (r, check_writable (dir));
    verb_doctor_add (r, check_room (dir, expect));
    verb_doctor_add (r, check_inodes (dir));
    verb_doctor_add (r, check_local (dir));
}

static void say_failed (struct report *r, const char *name,
                        const struct err *err)
{
    struct check c = { name, CHECK_PROBLEM, "" };

    PRINT (c.text, "%.500s", err->text);
    verb_doctor_add (r, c);
}

static void look_at_keys (struct report *r, const struct doctor_options *o)
{
    char dir[PATH_MAX];
    struct err err = { "" };

    if (o->keys)
        PRINT (dir, "%s", o->keys);
    else if (keyring_default (dir, &err) < 0)
        dir[0] = '\0';          // no home: no keys
    if (dir[0])
        verb_doctor_add (r, check_keys (dir));
}

static void look_at_aggregator (struct report *r,
                                const struct doctor_options *o)
{
    struct net_security security = { .insecure = o->insecure };
    bool keyed = o->key && o->server_key && !o->insecure;
    struct err err = { "" };
    struct check offset;

    if (!o->aggregator)
        return;
    if (keyed && key_client (o->key, o->server_key, &security, &err) < 0) {
        say_failed (r, "aggregator", &err);
        return;
    }
    verb_doctor_add (r, check_aggregator (o->aggregator,
                                          keyed ||
                                          o->insecure ? &security : NULL,
                                          &offset));
    verb_doctor_add (r, offset);
}

/* Check the library that rollcall run loads into COMMAND: without it, a run
 * works but knows less.
 */
static struct check check_preload (void)
{
    struct check c = { "preload", CHECK_OK, "" };
    char path[PATH_MAX];
    struct err err = { "" };

    if (run_library (path, &err) == 0) {
        PRINT (c.text, "%.400s: rollcall run can check the ranks of COMMAND",
               path);
        return c;
    }
    c.state = CHECK_WARNING;
    PRINT (c.text, "%.200s: rollcall run cannot see that MPI_Init finds worlds "
           "of 1, which rank MPI gives a process, or which ranks COMMAND "
           "starts (torchrun); install it there", err.text);
    return c;
}

static void look_at_machine (struct report *r, const struct doctor_options *o,
                             unsigned mask)
{
    verb_doctor_add (r, check_umask (mask));
    verb_doctor_add (r, check_port (o->port));
    verb_doctor_add (r, check_clock ());
    verb_doctor_add (r, check_synchronised ());
    verb_doctor_add (r, check_files ());
    verb_doctor_add (r, check_memlock ());
    verb_doctor_add (r, check_core ());
    verb_doctor_add (r, check_idle ());
    verb_doctor_add (r, check_parent_death ());
    verb_doctor_add (r, check_shm ());
    verb_doctor_add (r, check_libraries ());
    verb_doctor_add (r, check_mpi ());
    verb_doctor_add (r, check_preload ());
}

static int print_json (const struct report *r)
{
    struct json *j = json_object (), *list = json_add_array (j, "checks");

    for (size_t i = 0; i < r->n; i++) {
        struct json *one = json_push_object (list);

        json_add_text (one, "name", r->checks[i].name);
        json_add_text (one, "state", state_names[r->checks[i].state]);
        json_add_text (one, "text", r->checks[i].text);
    }
    return cli_print_json (j);
}

/* Paths may contain any bytes, even newlines. */
static int print_lines (const struct report *r)
{
    char shown[UTF8_ESCAPED (sizeof (r->checks[0].text))];
    char line[sizeof (shown) + 32];
    int rc = 0;

    for (size_t i = 0; i < r->n && rc == 0; i++) {
        PRINT (line, "%-8s %-13s  %s\n", state_names[r->checks[i].state],
               r->checks[i].name,
               utf8_escape (r->checks[i].text, UTF8_COLUMN, shown));
        rc = labels_write (STDOUT_FILENO, line);
    }
    return rc;
}

/* ---- how much disk a root needs ---- */

enum part { PART_OF_ROWS, PART_OF_RAW, PART_OF_RESULTS };
#define PARTS (PART_OF_RESULTS + 1)

static const char *const part_names[PARTS] = { "rows", "raw", "results" };

struct root_seen {
    const struct catalogue *catalogue;
    int64_t jobs;               // that have ranks and steps
    double rank_steps;
    double bytes[PARTS];
    struct texts known;         // these jobs
};

/* The files of a job's result: all of its directory. */
static double result_bytes (const struct root_seen *s, const char *job)
{
    char path[PATH_MAX], *slash;
    struct dirent *e;
    double sum = 0;
    struct stat st;
    DIR *dir;

    if (!catalogue_result_path (s->catalogue, job, path) ||
        !(slash = strrchr (path, '/')))
        return 0;
    *slash = '\0';
    if (!(dir = opendir (path)))
        return 0;
    while ((e = readdir (dir))) {
        if (fstatat (dirfd (dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG (st.st_mode))
            sum += (double)st.st_size;
    }
    (void)closedir (dir);
    return sum;
}

/* A job that had no steps says nothing of the bytes of a step. */
static int add_sized_job (void *arg, const struct catalogue_job *j)
{
    struct root_seen *s = arg;

    if (j->steps <= 0 || j->ranks <= 0)
        return 0;
    if (texts_intern (&s->known, j->job, strlen (j->job)) == TEXTS_NONE)
        return -ENOMEM;
    s->jobs++;
    s->rank_steps += (double)j->steps * (double)j->ranks;
    s->bytes[PART_OF_RESULTS] += result_bytes (s, j->job);
    return 0;
}

static int add_job_bytes (void *arg, const struct ledger_item *i, uint64_t bytes)
{
    struct root_seen *s = arg;

    if (texts_find (&s->known, i->job, strlen (i->job)) != TEXTS_NONE)
        s->bytes[i->kind == ITEM_ROWS ? PART_OF_ROWS
                                      : PART_OF_RAW] += (double)bytes;
    return 0;
}

static int look_at_root (const struct command_spec *c, const char *root,
                 struct root_seen *s)
{
    const struct catalogue_filter all = { .job = NULL };
    struct err err = { "" };
    struct cli_jobs jobs;
    struct archive a;
    int status = cli_jobs_open (c, root, &jobs), rc;

    if (status)
        return status;
    s->catalogue = jobs.catalogue;
    rc = catalogue_each (jobs.catalogue, &all, add_sized_job, s, &err);
    cli_jobs_close (&jobs);
    if (rc == 0 && (status = cli_open_archive (c, root, &a)) != 0)
        return status;
    if (rc == 0) {
        rc = stored_bytes_each (a.ledger, a.store, add_job_bytes, s, &err);
        archive_close (&a);
    }
    return rc < 0 ? cli_fail (c, EX_IOERR, "%s", err.text) : 0;
}

/* What is asked about, in rank and steps; 0: nothing. */
static double rank_steps_wanted (const struct doctor_size *s)
{
    return (double)s->ranks * (double)s->steps * (double)s->jobs_per_day *
           (double)s->keep_days;
}

static void print_sizes (const struct doctor_size *s, const struct root_seen *seen)
{
    double need = rank_steps_wanted (s), sum = 0;
    char each[16], all[16];

    (void)printf ("%-13s %lld job%s with steps, %.0f ranks and steps\n", s->root,
                  (long long)seen->jobs, units_s ((uint64_t)seen->jobs),
                  seen->rank_steps);
    for (int i = 0; i < PARTS; i++) {
        double one = seen->bytes[i] / seen->rank_steps;

        sum += one;
        units_bytes_text ((uint64_t)one, each);
        units_bytes_text ((uint64_t)(one * need), all);
        (void)printf ("%-13s %s a rank and step%s%s\n", part_names[i], each,
                      need > 0 ? ": " : "", need > 0 ? all : "");
    }
    units_bytes_text ((uint64_t)(sum * need), all);
    if (need > 0)
        (void)printf ("%-13s %s for %lld job%s a day of %lld ranks and %lld "
                      "steps, kept for %lld days\n", "disk", all,
                      (long long)s->jobs_per_day,
                      units_s ((uint64_t)s->jobs_per_day), (long long)s->ranks,
                      (long long)s->steps, (long long)s->keep_days);
}

static int print_sizes_json (const struct doctor_size *s, const struct root_seen *seen)
{
    struct json *j = json_object (), *k;
    double need = rank_steps_wanted (s), sum = 0;

    json_add_text (j, "root", s->root);
    json_add_int (j, "jobs", seen->jobs);
    json_add_real (j, "ranks_and_steps", seen->rank_steps);
    k = json_add_object (j, "bytes_per_rank_and_step");
    for (int i = 0; i < PARTS; i++) {
        json_add_real (k, part_names[i], seen->bytes[i] / seen->rank_steps);
        sum += seen->bytes[i] / seen->rank_steps;
    }
    if (need > 0) {
        json_add_int (j, "ranks", s->ranks);
        json_add_int (j, "steps", s->steps);
        json_add_int (j, "jobs_per_day", s->jobs_per_day);
        json_add_int (j, "keep_days", s->keep_days);
        json_add_real (j, "bytes", sum * need);
    }
    return cli_print_json (j);
}

static int print_size (const struct command_spec *c, const struct doctor_size *s)
{
    struct root_seen seen = { .jobs = 0 };
    int status = look_at_root (c, s->root, &seen), rc = 0;

    texts_fini (&seen.known);
    if (status)
        return status;
    if (seen.jobs == 0)
        return cli_fail (c, EX_NOINPUT, "%s has no job with steps: nothing can "
                         "be said of their size", s->root);
    if (s->json)
        rc = print_sizes_json (s, &seen);
    else
        print_sizes (s, &seen);
    return cli_flush (c, rc);
}

/* ---- the verb ---- */

int verb_doctor (int argc, char **argv)
{
    struct doctor_options opt = { .state = NULL };
    static struct report r;
    char state[PATH_MAX];
    struct err err = { "" };
    mode_t mask = umask (077);
    bool problem = false;
    int rest, status;

    (void)umask (mask);
    if (!cli_options (&doctor_command, argc, argv, &opt, &rest, &status))
        return status;
    if (!opt.key != !opt.server_key && !opt.insecure)
        return cli_fail (&doctor_command, EXIT_USAGE, "--key and --server-key "
                         "belong together");
    opt.size.json = opt.json;
    if (opt.size.root && (rest < argc || !opt.size.ranks != !opt.size.steps))
        return cli_fail (&doctor_command, EXIT_USAGE, "%s", rest < argc
                         ? "--size checks no directories"
                         : "--ranks and --steps belong together");
    if (opt.size.root)
        return print_size (&doctor_command, &opt.size);
    if (argc - rest > OPTION_LIST_MAX)
        return cli_fail (&doctor_command, EXIT_USAGE, "too many directories");
    if (cli_empty_dir (&doctor_command, argc - rest, argv + rest))
        return EXIT_USAGE;
    if (rest == argc && run_state_dir (opt.state, state, &err) == 0) {
        look_at_dir (&r, state, opt.expect_bytes);
    } else if (rest == argc) {
        say_failed (&r, "state", &err);
    }
    for (int i = rest; i < argc; i++)
        look_at_dir (&r, argv[i], opt.expect_bytes);
    look_at_machine (&r, &opt, (unsigned)mask);
    look_at_keys (&r, &opt);
    look_at_aggregator (&r, &opt);
    for (size_t i = 0; i < r.n; i++)
        problem = problem || r.checks[i].state == CHECK_PROBLEM;
    status = cli_flush (&doctor_command,
                        opt.json ? print_json (&r) : print_lines (&r));
    return status != 0 ? status : problem;
}
