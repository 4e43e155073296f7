/* aggregator/summary/summary_print.c - print the summary as text and as JSON */
#include "summary/summary.h"

#include "base/units.h"
#include "model/roster.h"
#include "query/labels.h"
#include "select/capture_select.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANGES_SHOWN 8          // of ranks with one reason
#define RANKS_SHOWN 20          // ranks listed with reasons on a terminal

/* Print microseconds in a readable unit. */
static void time_text (double us, char out[32])
{
    if (us >= 1e6)
        (void)snprintf (out, 32, "%.2f s", us / 1e6);
    else if (us >= 1e3)
        (void)snprintf (out, 32, "%.1f ms", us / 1e3);
    else
        (void)snprintf (out, 32, "%.0f us", us);
}

static double percent (double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* Write the ranks in this state as ranges, "2-5, 9"; true if there are any. */
static bool rank_list (const struct summary *s, const char *state, char *out,
                       size_t max)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0, end; i < s->nothers && used + 32 < max; i = end) {
        end = i + 1;
        if (strcmp (s->others[i].state, state) != 0)
            continue;
        while (end < s->nothers &&
               strcmp (s->others[end].state, state) == 0 &&
               s->others[end].rank == s->others[end - 1].rank + 1)
            end++;
        used += (size_t)snprintf (out + used, max - used, "%s%lld",
                                  used ? ", " : "",
                                  (long long)s->others[i].rank);
        if (end - i > 1)
            used += (size_t)snprintf (out + used, max - used, "%s%lld",
                                      end - i > 2 ? "-" : ", ",
                                      (long long)s->others[end - 1].rank);
    }
    if (used + 32 >= max)
        (void)snprintf (out + used, max - used, ", ...");
    return used > 0;
}

static const char *const bad_states[] = { "missing", "failed", "partial",
                                          "raw", "unexpected" };

#define BAD_STATES (sizeof (bad_states) / sizeof (bad_states[0]))

static size_t count_state (const struct summary *s, const char *state)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nothers; i++)
        n += strcmp (s->others[i].state, state) == 0;
    return n;
}

void summary_roll (const struct summary *s, char out[SUMMARY_ROLL_MAX])
{
    size_t n, used;

    if (s->expected == 0)
        (void)snprintf (out, SUMMARY_ROLL_MAX, "%s", ROSTER_NO_RANKS);
    else
        (void)snprintf (out, SUMMARY_ROLL_MAX, "%lld of %lld present",
                        (long long)s->present, (long long)s->expected);
    for (size_t k = 0; k < BAD_STATES; k++) {
        used = strlen (out);
        if ((n = count_state (s, bad_states[k])) > 0)
            (void)snprintf (out + used, SUMMARY_ROLL_MAX - used, ", %zu %s", n,
                            bad_states[k]);
    }
}

/* A rank that was ended because another one failed is a consequence, not a
 * cause.
 */
static bool is_consequence (const struct summary_rank *r)
{
    static const char ended[] = "rollcall ended it, since";

    return strncmp (r->reason, ended, sizeof (ended) - 1) == 0;
}

/* How much of a reason is printed: of a consequence not that nothing came. */
static int reason_size (const struct summary_rank *r)
{
    return (int)(is_consequence (r) ? strcspn (r->reason, ";")
                                    : strlen (r->reason));
}

static bool is_same (const struct summary_rank *a, const struct summary_rank *b)
{
    int n = a->reason && b->reason ? reason_size (a) : -1;

    return n >= 0 && n == reason_size (b) &&
           strncmp (a->reason, b->reason, (size_t)n) == 0;
}

/* Count the ranks that share the reason of the i-th; 0 if an earlier rank had
 * the same reason.
 */
static size_t same_reason (const struct summary *s, size_t i)
{
    size_t n = 1;

    for (size_t k = 0; k < s->nothers; k++) {
        if (k == i || !is_same (&s->others[i], &s->others[k]))
            continue;
        if (k < i)
            return 0;
        n++;
    }
    return n;
}

/* "rank 8" or "ranks 8-11, 15": the n ranks that share the reason of the i-th.
 */
static void print_ranks (const struct summary *s, size_t i, size_t n, FILE *f)
{
    int64_t first = s->others[i].rank, last = first;
    unsigned shown = 0;

    (void)fprintf (f, "  rank%s ", n > 1 ? "s" : "");
    for (size_t k = i + 1; k <= s->nothers; k++) {
        const struct summary_rank *r = k < s->nothers ? &s->others[k] : NULL;

        if (r && !is_same (&s->others[i], r))
            continue;
        if (r && r->rank == last + 1) {
            last = r->rank;
            continue;
        }
        if (shown++ < RANGES_SHOWN)
            (void)fprintf (f, last > first ? "%s%lld-%lld" : "%s%lld",
                           shown > 1 ? ", " : "", (long long)first,
                           (long long)last);
        first = last = r ? r->rank : last;
    }
    if (shown > RANGES_SHOWN)
        (void)fputs (", ...", f);
}

/* Print either the consequences or the other ranks; returns how many. */
static size_t print_some (const struct summary *s, bool consequences,
                          size_t shown, FILE *f)
{
    size_t n;

    for (size_t i = 0; i < s->nothers && shown <= RANKS_SHOWN; i++) {
        const struct summary_rank *r = &s->others[i];

        if (!r->reason || is_consequence (r) != consequences ||
            (n = same_reason (s, i)) == 0)
            continue;
        if (++shown > RANKS_SHOWN) {
            (void)fprintf (f, "  ... more in table Roster of analysis.db\n");
            break;
        }
        print_ranks (s, i, n, f);
        if (n > 1 && strcmp (r->reason, ROSTER_NOT_FOUND) == 0)
            (void)fprintf (f, ": no capture of them was found\n");
        else
            (void)fprintf (f, ": %.*s\n", reason_size (r), r->reason);
    }
    return shown;
}

/* Print the line about the other jobs in the directory. */
static void print_jobs (const struct summary *s, FILE *f)
{
    if (!s->jobs || s->jobs->n < 2)
        return;
    if (!s->all_jobs) {
        job_list_print_built (s->jobs, s->job, f);
        return;
    }
    (void)fprintf (f, "%s%zu jobs here; this is %zu: %s\n",
                   s->job ? "\n" : "", s->jobs->n, s->job + 1, s->job_id);
    if (s->jobs->jobs[s->job].why[0])
        (void)fprintf (f, "  another job: %s\n",
                       s->jobs->jobs[s->job].why);
}

static void print_job (const struct summary *s, FILE *f)
{
    print_jobs (s, f);
    if (s->job_id[0])
        (void)fprintf (f, "job           %s%s\n", s->job_id,
                       s->assumed ? " (assumed: nothing says that all of "
                                    "these captures are of one job)" : "");
}

/* What to do if a rank wrote nothing where it was waited for. */
static void print_next (const struct summary *s, FILE *f)
{
    for (size_t i = 0; i < s->nothers; i++) {
        const char *reason = s->others[i].reason;

        if (!reason || is_consequence (&s->others[i]) ||
            strncmp (reason, "it wrote no capture below", 25) != 0)
            continue;
        (void)fprintf (f, "next          let the profiler write to "
                       "$ROLLCALL_CAPTURE_DIR, or name its directory with "
                       "--watch\n");
        return;
    }
}

static void print_roll (const struct summary *s, FILE *f)
{
    char list[512];

    if (s->expected == 0)
        (void)fprintf (f, "ranks         %s\n", ROSTER_NO_RANKS);
    else
        (void)fprintf (f, "ranks         %lld of %s%lld present%s\n",
                       (long long)s->present,
                       strcmp (s->known_by, SELECT_BY_OPS) == 0 ? "at least "
                                                                : "",
                       (long long)s->expected,
                       strcmp (s->known_by, "guess") == 0
                           ? " (the number of ranks is a guess: set it with "
                             "--world-size)"
                           : "");
    for (size_t i = 0; i < BAD_STATES; i++) {
        if (rank_list (s, bad_states[i], list, sizeof (list)))
            (void)fprintf (f, "  %-11s %s\n", bad_states[i], list);
    }
    (void)print_some (s, true, print_some (s, false, 0, f), f);
    print_next (s, f);
    for (size_t i = 0; i < s->ncaptures; i++)
        (void)fprintf (f, "  no rank: %s%s\n", s->captures[i],
                       count_state (s, "missing") > 0 &&
                               strstr (s->captures[i], ": failed")
                           ? "; it may be one of the missing" : "");
    for (size_t i = 0; i < s->nremarks; i++)
        (void)fprintf (f, "  note: %s\n", s->remarks[i]);
    if (s->other_jobs[0] && !s->jobs)       // else they are listed above
        (void)fprintf (f, "  note: %s\n", s->other_jobs);
}

static void print_times (const struct summary *s, FILE *f)
{
    char step[32], own[32], mid[32];

    if (!s->has_times)
        return;
    if (s->steps == 0)
        (void)fprintf (f, "steps         one, without a name\n");
    else
        (void)fprintf (f, "steps         %lld: %s to %s\n",
                       (long long)s->steps, s->first_step, s->last_step);
    time_text (s->step_us, step);
    (void)fprintf (f, "step time     %s = computing %.1f %% + communication "
                   "not overlapped %.1f %% + free %.1f %%\n", step,
                   percent (s->computing_us, s->step_us),
                   percent (s->communication_us, s->step_us),
                   percent (s->free_us, s->step_us));
    if (s->slow_rank.rank >= 0) {
        time_text (s->slow_rank.computing_us, own);
        time_text (s->slow_rank.median_us, mid);
        (void)fprintf (f, "slowest rank  %lld: computes %s a step, median %s "
                       "(%+.1f %%)\n", (long long)s->slow_rank.rank, own, mid,
                       percent (s->slow_rank.computing_us -
                                    s->slow_rank.median_us,
                                s->slow_rank.median_us));
    } else if (s->ranks_compared > 0) {
        (void)fprintf (f, "slowest rank  none stands out (by %d %% of "
                       "computing time)\n", SUMMARY_RANK_PERCENT);
    }
    if (s->slow_link.src >= 0)
        (void)fprintf (f, "slowest link  %lld -> %lld over %s: %.*f GB/s, "
                       "median of its kind %.*f GB/s\n",
                       (long long)s->slow_link.src,
                       (long long)s->slow_link.dst, s->slow_link.transport,
                       units_decimals (s->slow_link.gbps), s->slow_link.gbps,
                       units_decimals (s->slow_link.median_gbps),
                       s->slow_link.median_gbps);
    else if (s->links_compared > 0)
        (void)fprintf (f, "slowest link  none stands out (by %d %% of "
                       "bandwidth)\n", SUMMARY_LINK_PERCENT);
}

static void print_kept (const char *path, FILE *f)
{
    if (path[0])
        (void)fprintf (f, "kept          %s (it was there before)\n", path);
}

static void print_beside (const struct summary *s, FILE *f)
{
    size_t n = s->beside ? s->beside->n : 0;
    char size[16];
    struct stat st;

    for (size_t i = 0; i < n; i++) {
        size[0] = '\0';
        if (stat (s->beside->files[i].path, &st) == 0)
            units_bytes_text ((uint64_t)st.st_size, size);
        (void)fprintf (f, "              %s (%s)\n",
                       s->beside->files[i].path, size);
    }
    if (s->newer[0])
        (void)fprintf (f, "  note: the result of job %s, which began later, "
                       "stays beside this one\n", s->newer);
    print_kept (s->kept, f);
    for (size_t i = 0; i < n; i++)
        print_kept (s->beside->files[i].kept, f);
    if (n > 0 && s->beside->note[0])
        (void)fprintf (f, "  note: %s\n", s->beside->note);
}

static void print_all (const void *summary, FILE *f)
{
    const struct summary *s = summary;
    char size[16];

    print_job (s, f);
    print_roll (s, f);
    print_times (s, f);
    units_bytes_text ((uint64_t)s->bytes, size);
    (void)fprintf (f, "written       %s (%lld row%s, %s)\n", s->path,
                   (long long)s->rows, units_s ((uint64_t)s->rows), size);
    print_beside (s, f);
}

int summary_print_text (const struct summary *s, int fd)
{
    return labels_print (fd, print_all, s);
}

static void ranks_to_json (const struct summary *s, struct json *j)
{
    struct json *list = json_add_array (j, "ranks_not_present");

    for (size_t i = 0; i < s->nothers; i++) {
        const struct summary_rank *r = &s->others[i];
        struct json *o = json_push_object (list);

        json_add_int (o, "rank", r->rank);
        json_add_text (o, "state", r->state);
        json_add_nonempty (o, "host", r->host);
        json_add_text (o, "reason", r->reason);
    }
    list = json_add_array (j, "captures_without_rank");
    for (size_t i = 0; i < s->ncaptures; i++)
        json_push_text (list, s->captures[i]);
    list = json_add_array (j, "notes");
    for (size_t i = 0; i < s->nremarks; i++)
        json_push_text (list, s->remarks[i]);
}

static void times_to_json (const struct summary *s, struct json *j)
{
    struct json *o;

    if (!s->has_times)
        return;
    json_add_real (j, "step_us", s->step_us);
    json_add_real (j, "computing_us", s->computing_us);
    json_add_real (j, "communication_not_overlapped_us",
                   s->communication_us);
    json_add_real (j, "free_us", s->free_us);
    if (s->slow_rank.rank >= 0) {
        o = json_add_object (j, "slowest_rank");
        json_add_int (o, "rank", s->slow_rank.rank);
        json_add_real (o, "computing_us", s->slow_rank.computing_us);
        json_add_real (o, "median_computing_us", s->slow_rank.median_us);
    }
    if (s->slow_link.src >= 0) {
        o = json_add_object (j, "slowest_link");
        json_add_int (o, "src_rank", s->slow_link.src);
        json_add_int (o, "dst_rank", s->slow_link.dst);
        json_add_text (o, "transport", s->slow_link.transport);
        json_add_real (o, "bandwidth_gbps", s->slow_link.gbps);
        json_add_real (o, "median_bandwidth_gbps", s->slow_link.median_gbps);
    }
}

static void jobs_to_json (const struct summary *s, struct json *j)
{
    json_add_nonempty (j, "job", s->job_id);
    json_add_bool (j, "job_assumed", s->assumed);
    json_add_nonempty (j, "scheduler_id", s->about.scheduler_id);
    json_add_nonempty (j, "user", s->about.user);
    json_add_nonempty (j, "command", s->about.command);
    json_add_nonempty (j, "other_jobs", s->other_jobs);
    if (s->jobs)
        job_list_to_json (s->jobs, s->all_jobs ? JOB_LIST_ALL : s->job,
                          json_add_array (j, "jobs"));
}

struct json *summary_to_json (const struct summary *s)
{
    struct json *j = json_object ();

    jobs_to_json (s, j);

    json_add_int (j, "ranks_expected", s->expected);
    json_add_int (j, "ranks_present", s->present);
    json_add_text (j, "ranks_known_by", s->known_by);
    ranks_to_json (s, j);
    json_add_int (j, "steps", s->steps);
    json_add_text (j, "first_step", s->steps ? s->first_step : NULL);
    json_add_text (j, "last_step", s->steps ? s->last_step : NULL);
    times_to_json (s, j);
    json_add_int (j, "rows", s->rows);
    json_add_int (j, "file_bytes", s->bytes);
    json_add_text (j, "path", s->path);
    json_add_nonempty (j, "kept_path", s->kept);
    json_add_nonempty (j, "newer_job", s->newer);
    if (s->beside)
        results_to_json (s->beside, j);
    return j;
}
