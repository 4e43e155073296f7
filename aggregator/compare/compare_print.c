/* aggregator/compare/compare_print.c - print a comparison as text and as JSON
 */
#include "compare/compare.h"

#include "base/units.h"

#include "query/grid.h"
#include "query/labels.h"

#include <errno.h>
#include <math.h>

#define SETTINGS_SHOWN 20
#define RANKS_NAMED 20
#define NAMED 3                 // metrics named in the first lines

static void print_run (const struct compare_run *r, const char *name, FILE *f)
{
    (void)fprintf (f, "%-13s %s\n%13s %lld of %lld rank%s present, %lld "
                   "step%s", name, r->path, "", (long long)r->present,
                   (long long)r->world, units_s ((uint64_t)r->world),
                   (long long)r->steps, units_s ((uint64_t)r->steps));
    if (r->steps > 0)
        (void)fprintf (f, " (%s to %s)", r->first_step, r->last_step);
    (void)fputc ('\n', f);
}

static void print_ranks (const struct compare *c, FILE *f)
{
    (void)fprintf (f, "ranks         %lld in both\n", (long long)c->both);
    for (int run = 0; run < 2; run++) {
        if (c->nonly[run] == 0)
            continue;
        (void)fprintf (f, "  only in %c  ", "AB"[run]);
        for (size_t i = 0; i < c->nonly[run] && i < RANKS_NAMED; i++)
            (void)fprintf (f, " %lld", (long long)c->only[run][i]);
        if (c->nonly[run] > RANKS_NAMED)
            (void)fprintf (f, " and %zu more", c->nonly[run] - RANKS_NAMED);
        (void)fputc ('\n', f);
    }
}

/* " +12.3 %", or nothing if a percentage makes no sense. */
static void print_percent (double part, double whole, FILE *f)
{
    if (fabs (whole) > 0)
        (void)fprintf (f, " %+.1f %%", 100 * part / fabs (whole));
}

/* "rank 3", or "link 2 -> 3" */
static void who (const struct compare_metric *m, int64_t rank, char out[64])
{
    if (m->links)
        (void)snprintf (out, 64, "link %lld -> %lld",
                        (long long)COMPARE_SRC (rank),
                        (long long)COMPARE_DST (rank));
    else
        (void)snprintf (out, 64, "rank %lld", (long long)rank);
}

/* Print what prevents an answer. */
static void print_obstacle (const struct compare *c, FILE *f)
{
    bool none = false;

    for (int run = 0; run < 2; run++) {
        if (c->runs[run].steps == 0)
            (void)fprintf (f, "%c has no times of steps (table StepTraceTime): "
                           "they cannot be compared\n", "AB"[run]);
        none = none || c->runs[run].steps == 0;
    }
    if (c->both == 0)
        (void)fputs ("the runs have no rank in common: nothing can be "
                     "compared\n", f);
    else if (!none && !c->steps_tell)
        (void)fprintf (f, "too few steps to tell noise from difference: %d in "
                       "each run are needed, and 8 are better\n",
                       SPREAD_LEAST);
}

/* Print differences that affect the runs but show in no metric. */
static const char *other_difference (const struct compare *c)
{
    if (c->nonly[0] > 0 || c->nonly[1] > 0)
        return "in their ranks; else ";
    return c->runs[0].world != c->runs[1].world
               ? "in the sizes of their worlds; else " : "";
}

/* Print the answer in two lines, for readers who stop there. */
static void print_answer (const struct compare *c, FILE *f)
{
    size_t named = 0, n = 0;

    for (size_t i = 0; i < c->nmetrics; i++)
        n += compare_counts (&c->metrics[i]);
    (void)fputs ("differ        ", f);
    for (size_t i = 0; i < c->nmetrics && named < NAMED; i++) {
        const struct compare_metric *m = &c->metrics[i];

        if (!compare_counts (m))
            continue;
        (void)fprintf (f, "%s%s", named++ ? ", " : "", m->name);
        if (m->ranks > 0 && compare_ranks_agree (m))
            print_percent (m->difference, m->a, f);
        else
            (void)fprintf (f, " (%s)", compare_verdict_text (m));
    }
    if (n > named)
        (void)fprintf (f, ", and %zu more", n - named);
    if (n == 0)
        (void)fprintf (f, "%s%s", other_difference (c),
                       !c->steps_tell     ? "it cannot be told"
                       : c->different > 0 ? "single ranks or links only"
                                          : "nothing by more than noise");
    (void)fputc ('\n', f);
    print_obstacle (c, f);
}

/* For each metric print the rank that changed most. */
static void print_answer_ranks (const struct compare *c, FILE *f)
{
    size_t named = 0, n = 0;
    char name[64];

    for (size_t i = 0; i < c->nmetrics; i++) {
        const struct compare_metric *m = &c->metrics[i];
        const struct compare_outlier *o = &m->outliers[0];

        n += m->noutliers;
        if (m->noutliers == 0 || named == NAMED)
            continue;
        who (m, o->rank, name);
        (void)fprintf (f, "%s%s of %s", named++ ? ", " : "single ranks  ",
                       m->name, name);
        print_percent (o->b - o->a, o->a, f);
    }
    if (n > named)
        (void)fprintf (f, ", and %zu more", n - named);
    if (n > 0)
        (void)fputc ('\n', f);
}

static void cell_or_null (struct grid *g, bool known, double v, int decimals)
{
    if (known && isfinite (v))
        grid_fixed (g, v, decimals);
    else
        grid_null (g);
}

static void print_metric (const struct compare_metric *m, struct grid *g)
{
    bool known = m->ranks > 0;
    bool judged = known && m->noise > 0 && m->verdict != COMPARE_UNKNOWN;
    double whole = fabs (m->a) / 100;   // there is no percentage of zero

    grid_word (g, m->name);
    grid_word (g, m->unit);
    cell_or_null (g, known, m->a, 3);
    cell_or_null (g, known, m->b, 3);
    cell_or_null (g, known && compare_ranks_agree (m), m->difference / whole,
                  1);
    cell_or_null (g, judged, m->noise / whole, 1);
    grid_word (g, compare_verdict_text (m));
}

static int print_metrics (const struct compare *c, bool all, size_t width,
                          FILE *f)
{
    static const char *const names[] = {
        "metric", "unit", "A", "B", "B-A %", "noise %", "verdict",
    };
    struct grid *g = grid_create (f, GRID_TABLE, width);
    size_t hidden = 0;
    int rc;

    if (!g)
        return -ENOMEM;
    grid_head (g, names, sizeof (names) / sizeof (names[0]));
    for (size_t i = 0; i < c->nmetrics; i++) {
        if (!all && c->metrics[i].stepless &&
            c->metrics[i].verdict == COMPARE_SAME)
            hidden++;
        else
            print_metric (&c->metrics[i], g);
    }
    rc = grid_finish (g);
    grid_destroy (g);
    if (hidden > 0)
        (void)fprintf (f, "and %zu peak%s of memory without a difference "
                       "(--all shows all)\n", hidden, units_s (hidden));
    return rc;
}

static void print_outlier (const struct compare_metric *m,
                           const struct compare_outlier *o, struct grid *g)
{
    char name[64];

    grid_word (g, m->name);
    grid_word (g, m->unit);
    who (m, o->rank, name);
    grid_word (g, name);
    grid_fixed (g, o->a, 3);
    grid_fixed (g, o->b, 3);
    cell_or_null (g, true, (o->b - o->a) / (fabs (o->a) / 100), 1);
    cell_or_null (g, true, m->difference / (fabs (m->a) / 100), 1);
}

static int print_outliers (const struct compare *c, size_t width, FILE *f)
{
    static const char *const names[] = { "metric", "unit", "of", "A", "B",
                                         "B-A %", "all %" };
    struct grid *g = NULL;
    int rc = 0;

    for (size_t i = 0; i < c->nmetrics && rc == 0; i++) {
        const struct compare_metric *m = &c->metrics[i];

        for (size_t k = 0; k < m->noutliers && k < COMPARE_RANKS_SHOWN; k++) {
            const struct compare_outlier *o = &m->outliers[k];

            if (!g) {
                (void)fputs ("\nranks and links that changed otherwise "
                             "than the others:\n", f);
                if (!(g = grid_create (f, GRID_TABLE, width)))
                    return -ENOMEM;
                grid_head (g, names, sizeof (names) / sizeof (names[0]));
            }
            print_outlier (m, o, g);
        }
    }
    if (g)
        rc = grid_finish (g);
    grid_destroy (g);
    return rc;
}

static int print_settings (const struct compare *c, size_t width, FILE *f)
{
    static const char *const names[] = { "kind", "name", "A", "B", "ranks" };
    struct grid *g;
    int rc;

    if (c->nsettings == 0)
        return 0;
    (void)fputs ("\nsettings that differ:\n", f);
    if (!(g = grid_create (f, GRID_TABLE, width)))
        return -ENOMEM;
    grid_head (g, names, sizeof (names) / sizeof (names[0]));
    for (size_t i = 0; i < c->nsettings && i < SETTINGS_SHOWN; i++) {
        grid_word (g, c->settings[i].kind);
        grid_word (g, c->settings[i].name);
        grid_word (g, c->settings[i].a);
        grid_word (g, c->settings[i].b);
        grid_int (g, c->settings[i].ranks);
    }
    rc = grid_finish (g);
    grid_destroy (g);
    if (c->nsettings > SETTINGS_SHOWN)
        (void)fprintf (f, "... and %zu more: --json has them all\n",
                       c->nsettings - SETTINGS_SHOWN);
    return rc;
}

/* Sentences; what is above and below them is not wrapped. */
static void print_head (const void *arg, FILE *f)
{
    const struct compare *c = arg;

    print_ranks (c, f);
    if (c->runs[0].world != c->runs[1].world)
        (void)fprintf (f, "world size    %lld in A, %lld in B\n",
                       (long long)c->runs[0].world,
                       (long long)c->runs[1].world);
    print_answer (c, f);
    print_answer_ranks (c, f);
    (void)fputc ('\n', f);
}

int compare_print (const struct compare *c, bool all, size_t width, FILE *f)
{
    int rc;

    print_run (&c->runs[0], "A", f);
    print_run (&c->runs[1], "B", f);
    if ((rc = labels_print_to (f, width, print_head, c)) < 0)
        return rc;
    rc = print_metrics (c, all, width, f);
    if (c->dropped > 0)
        (void)fprintf (f, "... and more than %d metrics are not compared\n",
                       COMPARE_METRICS_MAX);
    if (rc == 0)
        rc = print_outliers (c, width, f);
    return rc == 0 ? print_settings (c, width, f) : rc;
}

/* ---- JSON ---- */

static void run_to_json (const struct compare *c, int run, struct json *j)
{
    const struct compare_run *r = &c->runs[run];
    struct json *o = json_add_object (j, run ? "b" : "a"), *only;

    json_add_text (o, "path", r->path);
    json_add_int (o, "ranks_expected", r->world);
    json_add_int (o, "ranks_present", r->present);
    json_add_int (o, "steps", r->steps);
    json_add_text (o, "first_step", r->steps ? r->first_step : NULL);
    json_add_text (o, "last_step", r->steps ? r->last_step : NULL);
    only = json_add_array (o, "ranks_only_here");
    for (size_t i = 0; i < c->nonly[run]; i++)
        json_push_int (only, c->only[run][i]);
}

static void metric_to_json (const struct compare_metric *m, struct json *list)
{
    struct json *o = json_push_object (list), *ranks;

    json_add_text (o, "metric", m->name);
    json_add_text (o, "unit", m->unit);
    json_add_text (o, "verdict", compare_verdict_text (m));
    json_add_bool (o, "larger_than_noise", compare_counts (m));
    json_add_int (o, m->links ? "links" : "ranks", (int64_t)m->ranks);
    if (m->ranks > 0) {
        json_add_real (o, "a", m->a);
        json_add_real (o, "b", m->b);
        json_add_real (o, "difference", m->difference);
    }
    if (m->ranks > 0 && m->verdict != COMPARE_UNKNOWN)
        json_add_real (o, "noise", m->noise);
    json_add_int (o, "outliers", (int64_t)m->noutliers);
    ranks = json_add_array (o, m->links ? "farthest_links"
                                        : "farthest_ranks");
    for (size_t i = 0; i < m->noutliers && i < COMPARE_RANKS_SHOWN; i++) {
        struct json *r = json_push_object (ranks);

        int64_t rank = m->outliers[i].rank;

        json_add_int (r, m->links ? "src_rank" : "rank",
                      m->links ? COMPARE_SRC (rank) : rank);
        if (m->links)
            json_add_int (r, "dst_rank", COMPARE_DST (rank));
        json_add_real (r, "a", m->outliers[i].a);
        json_add_real (r, "b", m->outliers[i].b);
    }
}

struct json *compare_to_json (const struct compare *c)
{
    struct json *j = json_object (), *list;

    run_to_json (c, 0, j);
    run_to_json (c, 1, j);
    json_add_int (j, "ranks_in_both", c->both);
    json_add_bool (j, "differs", compare_differs (c));
    json_add_bool (j, "steps_suffice", c->steps_tell);
    list = json_add_array (j, "metrics");
    for (size_t i = 0; i < c->nmetrics; i++)
        metric_to_json (&c->metrics[i], list);
    list = json_add_array (j, "settings");
    for (size_t i = 0; i < c->nsettings; i++) {
        const struct compare_setting *s = &c->settings[i];
        struct json *o = json_push_object (list);

        json_add_text (o, "kind", s->kind);
        json_add_text (o, "name", s->name);
        json_add_text (o, "a", s->a);
        json_add_text (o, "b", s->b);
        json_add_int (o, "ranks", s->ranks);
    }
    return j;
}
