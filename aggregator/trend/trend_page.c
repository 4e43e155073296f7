/* aggregator/trend/trend_page.c - the trend of jobs as one page
 *
 * In the style of report.html, with charts as SVG and without scripts.
 */
#include "trend/trend.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/units.h"
#include "base/utf8.h"
#include "html_page/html_page.h"
#include "html_page/page_assets.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDTH 1100              // of a chart, in px, as the next ones
#define HEIGHT 280
#define LEFT 64
#define RIGHT 16
#define TOP 16
#define BOTTOM 36
#define Y_TICKS 5
#define X_TICKS 8
#define JOBS_LISTED 300         // in the table of jobs, the newest

static const char style[] =
    "svg .job { fill: var(--soft); fill-opacity: .35; }"
    "svg a:hover .job { fill: var(--link); fill-opacity: 1; }"
    "svg .bad { fill: var(--bad); fill-opacity: .7; }"
    "svg .line { fill: none; stroke-width: 2.5; }"
    "svg .grid { stroke: var(--faint); shape-rendering: crispEdges; }"
    "svg .c0 { stroke: var(--t0); } svg .c1 { stroke: var(--t1); }"
    "svg .c2 { stroke: var(--t2); } svg .c3 { stroke: var(--t3); }"
    "svg .c4 { stroke: var(--t4); } svg .c5 { stroke: var(--bad); }"
    "svg .f0 { fill: var(--t0); } svg .f1 { fill: var(--t1); }"
    "svg .f2 { fill: var(--t2); } svg .f3 { fill: var(--t3); }"
    "svg .f4 { fill: var(--t4); } svg .f5 { fill: var(--bad); }"
    ".key { display: inline-block; margin-right: 1rem; }"
    ".key svg { display: inline-block; vertical-align: middle; }"
    ".wide { overflow-x: auto; }"
    ".wide td, .wide th { padding: .25rem .6rem; text-align: left;"
    " border-bottom: 1px solid var(--faint); white-space: nowrap; }"
    ".wide table { border-collapse: collapse; font-size: .9rem; }"
    ".wide .n { text-align: right; font-variant-numeric: tabular-nums; }";

struct page_out {
    FILE *f;
    const struct trend *t;
    struct catalogue *c;
    enum trend_by by;
    const char *dir;
};

/* ---- texts ---- */

static void put_text (FILE *f, const char *text)
{
    char *shown = malloc (UTF8_ESCAPED (strlen (text)));

    if (!shown)
        return;
    for (const char *p = utf8_escape (text, UTF8_COLUMN, shown); *p; p++) {
        const char *as = *p == '&'   ? "&amp;"
                         : *p == '<' ? "&lt;"
                         : *p == '>' ? "&gt;"
                         : *p == '"' ? "&quot;"
                                     : NULL;

        if (as)
            (void)fputs (as, f);
        else
            (void)fputc (*p, f);
    }
    free (shown);
}

/* A path as a URL that is relative or absolute: what may stand in one stays. */
static void put_url (FILE *f, const char *path)
{
    static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~/";

    for (const char *p = path; *p; p++) {
        if (strchr (plain, *p))
            (void)fputc (*p, f);
        else
            (void)fprintf (f, "%%%02X", (unsigned char)*p);
    }
}

static void put_day (FILE *f, int64_t ns)
{
    char text[CLOCK_TEXT_MAX];

    clock_text (ns, text);
    (void)fprintf (f, "%.10s", ns > 0 ? text : "");
}

/* The path of 'path' as seen from the directory 'dir'; both are absolute. */
static void relative (const char *dir, const char *path, char out[PATH_MAX])
{
    size_t common = 0, used = 0, i;

    for (i = 0; dir[i] && dir[i] == path[i]; i++) {
        if (dir[i] == '/')
            common = i + 1;
    }
    if (!dir[i] && path[i] == '/')
        common = i + 1;         // all of 'dir'
    out[0] = '\0';
    for (const char *p = dir + (common <= i ? common : i);
         *p && used + 4 < PATH_MAX; p++) {
        if (p == dir + common || p[-1] == '/')
            used += (size_t)snprintf (out + used, PATH_MAX - used, "../");
    }
    (void)snprintf (out + used, PATH_MAX - used, "%s", path + common);
}

/* Begin a link to the report of a job; false: there is none. */
static bool open_link (struct page_out *p, const char *job)
{
    char path[PATH_MAX], real[PATH_MAX], url[PATH_MAX];
    char *slash;

    if (!catalogue_result_path (p->c, job, path) ||
        !(slash = strrchr (path, '/')))
        return false;
    (void)snprintf (slash + 1, sizeof (path) - (size_t)(slash + 1 - path),
                    PAGE_NAME);
    if (access (path, R_OK) < 0 || !realpath (path, real))
        return false;
    if (*p->dir)
        relative (p->dir, real, url);
    else
        PRINT (url, "%s", real);
    (void)fputs ("<a href=\"", p->f);
    put_url (p->f, url);
    (void)fputs ("\">", p->f);
    return true;
}

/* ---- charts ---- */

struct chart {
    struct page_out *p;
    int64_t x0, x1;             // ns
    double y1;                  // the axis begins at 0
};

/* The smallest of 1, 2, 2.5, 5 and 10, times a power of ten, that is not below
 * 'x'.
 */
static double round_up (double x)
{
    static const double steps[] = { 1, 2, 2.5, 5, 10 };
    double power = pow (10, floor (log10 (x)));

    for (size_t i = 0; i < sizeof (steps) / sizeof (steps[0]); i++) {
        if (steps[i] * power >= x * (1 - 1e-9))
            return steps[i] * power;
    }
    return 10 * power;
}

static double x_of (const struct chart *c, int64_t ns)
{
    double part = c->x1 > c->x0 ? (double)(ns - c->x0) /
                                      (double)(c->x1 - c->x0) : .5;

    return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double y_of (const struct chart *c, double v)
{
    return HEIGHT - BOTTOM - v / c->y1 * (HEIGHT - TOP - BOTTOM);
}

static void put_axes (const struct chart *c, const char *unit)
{
    FILE *f = c->p->f;

    for (int i = 0; i <= Y_TICKS; i++) {
        double v = c->y1 * i / Y_TICKS, y = y_of (c, v);

        (void)fprintf (f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\""
                       " y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
                       "text-anchor=\"end\">%g</text>", LEFT, WIDTH - RIGHT, y,
                       y, LEFT - 8, y + 4, v);
    }
    (void)fprintf (f, "<text x=\"%d\" y=\"%d\">%s</text>", 4, TOP - 4 + 2,
                   unit);
    for (int i = 0; i < X_TICKS; i++) {
        int64_t ns = c->x0 + (c->x1 - c->x0) / (X_TICKS - 1) * i;

        if (c->x1 - c->x0 < 2 * 86400 * NS_PER_S && i != X_TICKS / 2)
            continue;           // one day
        (void)fprintf (f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">",
                       x_of (c, ns), HEIGHT - BOTTOM + 20,
                       i == 0 ? "start" : i == X_TICKS - 1 ? "end" : "middle");
        put_day (f, ns);
        (void)fputs ("</text>", f);
    }
}

static void put_dot (const struct chart *c, const struct trend_point *q,
                     double v, const char *class, const char *unit)
{
    FILE *f = c->p->f;
    bool linked = open_link (c->p, q->job);

    (void)fprintf (f, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\">"
                   "<title>", class, x_of (c, q->at_ns), y_of (c, v));
    put_text (f, q->job);
    (void)fputs (", ", f);
    put_day (f, q->at_ns);
    (void)fprintf (f, ": %.4g %s</title></circle>%s", v, unit,
                   linked ? "</a>" : "");
}

/* Medians of days, weeks or months, in the middle of their jobs. */
static void put_line (const struct chart *c, double (*value) (const void *row,
                                                              size_t k),
                      size_t k)
{
    const struct trend *t = c->p->t;
    FILE *f = c->p->f;
    size_t n = 0;

    if (c->p->by > TREND_MONTH)
        return;
    (void)fprintf (f, "<polyline class=\"line c%zu\" points=\"", k);
    for (size_t i = 0; i < t->nrows; i++) {
        const struct trend_row *r = &t->rows[i];
        double v = value (r, k);

        if (isfinite (v) && r->last_ns >= c->x0)
            n += fprintf (f, "%s%.1f,%.1f", n > 0 ? " " : "",
                          x_of (c, r->first_ns < c->x0
                                       ? c->x0
                                       : (r->first_ns + r->last_ns) / 2),
                          y_of (c, v)) > 0;
    }
    (void)fputs ("\"/>", f);
}

/* What a chart shows: of a job, and of a row. */
struct series {
    const char *id, *title, *lead, *unit;
    double (*of_point) (const void *point, size_t k);
    double (*of_row) (const void *row, size_t k);
    bool transports;            // one for each, else one
};

static double point_step (const void *p, size_t k)
{
    (void)k;
    return ((const struct trend_point *)p)->step_ms;
}

static double row_step (const void *r, size_t k)
{
    (void)k;
    return ((const struct trend_row *)r)->step_ms;
}

static double point_comm (const void *p, size_t k)
{
    (void)k;
    return ((const struct trend_point *)p)->comm_percent;
}

static double row_comm (const void *r, size_t k)
{
    (void)k;
    return ((const struct trend_row *)r)->comm_percent;
}

static double point_gbps (const void *p, size_t k)
{
    return ((const struct trend_point *)p)->gbps[k];
}

static double row_gbps (const void *r, size_t k)
{
    return ((const struct trend_row *)r)->gbps[k];
}

static const struct series charts[] = {
    { "step", "Step time", "The mean step of each job; the line is the median "
      "of the jobs. A red dot has findings of severity high. A click opens the "
      "job's report.", "ms", point_step, row_step, false },
    { "comm", "Communication share", "Communication that computing does not "
      "hide, in percent of a step.", "%", point_comm, row_comm, false },
    { "bandwidth", "Bandwidth by kind of link", "Transfers of 1 MB and more, "
      "all links of a job together.", "GB/s", point_gbps, row_gbps, true },
};

static void put_keys (struct page_out *p)
{
    (void)fputs ("<p>", p->f);
    for (size_t k = 0; k < p->t->ntransports; k++) {
        (void)fprintf (p->f, "<span class=\"key\"><svg width=\"14\" "
                       "height=\"14\"><circle class=\"f%zu\" cx=\"7\" cy=\"7\""
                       " r=\"5\"/></svg> ", k);
        put_text (p->f, p->t->transports[k]);
        (void)fputs ("</span>", p->f);
    }
    (void)fputs ("</p>", p->f);
}

static void put_dots (const struct chart *c, const struct series *s, size_t k)
{
    const struct trend *t = c->p->t;
    char class[24];

    for (size_t i = 0; i < t->npoints; i++) {
        const struct trend_point *q = &t->points[i];
        double v = s->of_point (q, k);

        PRINT (class, "f%zu", k);
        if (isfinite (v))
            put_dot (c, q, v, s->transports ? class
                              : q->high > 0 && k == 0 && s == charts ? "bad"
                                                                     : "job",
                     s->unit);
    }
}

static void put_chart (struct page_out *p, const struct series *s)
{
    const struct trend *t = p->t;
    size_t n = s->transports ? t->ntransports : 1;
    struct chart c = { .p = p, .y1 = 0 };

    for (size_t i = 0; i < t->npoints; i++) {
        for (size_t k = 0; k < n; k++)
            c.y1 = fmax (c.y1, s->of_point (&t->points[i], k));
    }
    (void)fprintf (p->f, "<section id=\"%s\"><h2>%s</h2><p class=\"lead\">%s"
                   "</p>", s->id, s->title, s->lead);
    if (!(c.y1 > 0)) {
        (void)fputs ("<p class=\"note\">No job has it.</p></section>\n", p->f);
        return;
    }
    c.y1 = round_up (c.y1);
    c.x0 = t->points[0].at_ns;
    c.x1 = t->points[t->npoints - 1].at_ns;
    if (s->transports)
        put_keys (p);
    (void)fprintf (p->f, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label="
                   "\"%s\">", WIDTH, HEIGHT, s->title);
    put_axes (&c, s->unit);
    for (size_t k = 0; k < n; k++) {
        put_dots (&c, s, k);
        put_line (&c, s->of_row, k);
    }
    (void)fputs ("</svg></section>\n", p->f);
}

/* ---- tables ---- */

static void put_number (FILE *f, double v, int decimals)
{
    if (isfinite (v))
        (void)fprintf (f, "<td class=\"n\">%.*f</td>", decimals, v);
    else
        (void)fputs ("<td class=\"n\">-</td>", f);
}

static void put_cell (FILE *f, const char *text)
{
    (void)fputs ("<td>", f);
    put_text (f, text);
    (void)fputs ("</td>", f);
}

static void put_day_cell (FILE *f, int64_t ns)
{
    (void)fputs ("<td>", f);
    put_day (f, ns);
    (void)fputs ("</td>", f);
}

static void put_transport_heads (struct page_out *p)
{
    for (size_t k = 0; k < p->t->ntransports; k++) {
        (void)fputs ("<th class=\"n\">", p->f);
        put_text (p->f, p->t->transports[k]);
        (void)fputs (" GB/s</th>", p->f);
    }
}

static void put_rows (struct page_out *p)
{
    FILE *f = p->f;

    (void)fprintf (f, "<section id=\"rows\"><h2>By %s</h2><p class=\"lead\">"
                   "Medians of jobs; bandwidth over all of them.</p><div class="
                   "\"wide\"><table><tr><th>%s</th><th class=\"n\">jobs</th>"
                   "<th class=\"n\">step ms</th><th class=\"n\">computing %%"
                   "</th><th class=\"n\">communication %%</th>",
                   trend_by_names[p->by], trend_by_names[p->by]);
    put_transport_heads (p);
    (void)fputs ("<th class=\"n\">high findings</th></tr>\n", f);
    for (size_t i = 0; i < p->t->nrows; i++) {
        const struct trend_row *r = &p->t->rows[i];

        (void)fputs ("<tr>", f);
        put_cell (f, r->key);
        put_number (f, (double)r->jobs, 0);
        put_number (f, r->step_ms, 3);
        put_number (f, r->computing_percent, 1);
        put_number (f, r->comm_percent, 1);
        for (size_t k = 0; k < p->t->ntransports; k++)
            put_number (f, r->gbps[k], 2);
        put_number (f, (double)r->high, 0);
        (void)fputs ("</tr>\n", f);
    }
    (void)fputs ("</table></div></section>\n", f);
}

static void put_job_cell (struct page_out *p, const char *job)
{
    bool linked;

    (void)fputs ("<td>", p->f);
    linked = open_link (p, job);
    put_text (p->f, job);
    (void)fprintf (p->f, "%s</td>", linked ? "</a>" : "");
}

static void put_back (struct page_out *p)
{
    FILE *f = p->f;

    (void)fputs ("<section id=\"back\"><h2>Slow again</h2><p class=\"lead\">"
                 "Devices, links and hosts that findings of two or more jobs "
                 "name.</p>", f);
    if (p->t->nback == 0) {
        (void)fputs ("<p class=\"note\">There are none.</p></section>\n", f);
        return;
    }
    (void)fputs ("<div class=\"wide\"><table><tr><th>kind</th><th>what</th><th "
                 "class=\"n\">jobs</th><th class=\"n\">of</th><th>first</th>"
                 "<th>last</th><th class=\"n\">% of a step</th><th>latest job"
                 "</th></tr>\n", f);
    for (size_t i = 0; i < p->t->nback; i++) {
        const struct trend_back *b = &p->t->back[i];

        (void)fputs ("<tr>", f);
        put_cell (f, b->kind);
        put_cell (f, b->what);
        put_number (f, (double)b->jobs, 0);
        put_number (f, (double)b->of, 0);
        put_day_cell (f, b->first_ns);
        put_day_cell (f, b->last_ns);
        put_number (f, b->percent, 1);
        put_job_cell (p, b->latest);
        (void)fputs ("</tr>\n", f);
    }
    (void)fputs ("</table></div></section>\n", f);
}

static void put_jobs (struct page_out *p)
{
    const struct trend *t = p->t;
    const size_t listed =
        t->npoints < JOBS_LISTED ? t->npoints : (size_t)JOBS_LISTED;
    FILE *f = p->f;

    (void)fputs ("<section id=\"jobs\"><h2>Jobs</h2>", f);
    if ((int64_t)listed < t->jobs)
        (void)fprintf (f, "<p class=\"lead\">The newest %zu of %lld.</p>",
                       listed, (long long)t->jobs);
    (void)fputs ("<div class=\"wide\"><table><tr><th>"
                 "job</th><th>began</th><th>user</th><th>tags</th><th class="
                 "\"n\">ranks</th><th class=\"n\">step ms</th><th class="
                 "\"n\">communication %</th>", f);
    put_transport_heads (p);
    (void)fputs ("<th class=\"n\">high findings</th></tr>\n", f);
    for (size_t i = 0; i < listed; i++) {
        const struct trend_point *q = &t->points[t->npoints - 1 - i];

        (void)fputs ("<tr>", f);
        put_job_cell (p, q->job);
        put_day_cell (f, q->at_ns);
        put_cell (f, q->user);
        put_cell (f, q->tags);
        put_number (f, (double)q->ranks, 0);
        put_number (f, q->step_ms, 3);
        put_number (f, q->comm_percent, 1);
        for (size_t k = 0; k < t->ntransports; k++)
            put_number (f, q->gbps[k], 2);
        put_number (f, (double)(q->high > 0 ? q->high : 0), 0);
        (void)fputs ("</tr>\n", f);
    }
    (void)fputs ("</table></div></section>\n", f);
}

/* ---- the page ---- */

static int put_hash (FILE *f, const void *data, size_t size)
{
    char text[DIGEST_BASE64_SIZE];
    struct digest d;
    int rc = digest_of (data, size, &d);

    if (rc < 0)
        return rc;
    digest_base64 (&d, text);
    (void)fprintf (f, " 'sha256-%s'", text);
    return 0;
}

/* Nothing is loaded, and nothing runs. */
static int put_head (FILE *f)
{
    int rc;

    (void)fputs ("<!DOCTYPE html>\n<!-- rollcall trend -->\n<html lang=\"en\">"
                 "\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv="
                 "\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "base-uri 'none'; form-action 'none'; style-src", f);
    rc = put_hash (f, page_css.data, page_css.size);
    if (rc == 0)
        rc = put_hash (f, style, sizeof (style) - 1);
    (void)fputs ("\">\n<meta name=\"viewport\" content=\"width=device-width,"
                 " initial-scale=1\">\n<title>rollcall trend</title>\n<style>",
                 f);
    (void)fwrite (page_css.data, 1, page_css.size, f);
    (void)fprintf (f, "</style>\n<style>%s</style>\n</head>\n<body>\n", style);
    return rc;
}

static void put_tile (FILE *f, const char *label, double v, const char *unit)
{
    (void)fprintf (f, "<div><dt>%s</dt><dd>%.*f <small>%s</small></dd></div>",
                   label, units_decimals (v), v, unit);
}

static void put_title (struct page_out *p)
{
    const struct trend *t = p->t;
    FILE *f = p->f;
    size_t high = 0;

    for (size_t i = 0; i < t->npoints; i++)
        high += t->points[i].high > 0;
    (void)fprintf (f, "<header><p class=\"brand\">rollcall trend</p><h1>%lld "
                   "job%s of %lld user%s</h1><p class=\"verdict\">From ",
                   (long long)t->jobs, units_s ((uint64_t)t->jobs),
                   (long long)t->users, units_s ((uint64_t)t->users));
    put_day (f, t->first_ns);
    (void)fputs (" to ", f);
    put_day (f, t->last_ns);
    (void)fputs (" (UTC).", f);
    if (t->jobs > (int64_t)t->npoints)
        (void)fprintf (f, " The charts show the newest %zu.", t->npoints);
    (void)fputs ("</p><dl class=\"tiles\">", f);
    put_tile (f, "Jobs", (double)t->jobs, "");
    put_tile (f, "With steps", (double)t->with_result, "");
    put_tile (f, "With high findings", (double)high, "");
    put_tile (f, "Slow again", (double)t->nback, "");
    (void)fputs ("</dl></header>\n<nav aria-label=\"Sections\"><ul><li><a "
                 "href=\"#step\">Step time</a></li><li><a href=\"#comm\">"
                 "Communication</a></li><li><a href=\"#bandwidth\">Bandwidth"
                 "</a></li><li><a href=\"#rows\">Medians</a></li><li><a "
                 "href=\"#back\">Slow again</a></li><li><a href=\"#jobs\">Jobs"
                 "</a></li></ul></nav>\n<main>\n", f);
}

int trend_page (FILE *f, const struct trend *t, struct catalogue *c,
                enum trend_by by, const char *dir)
{
    struct page_out p = { f, t, c, by, dir };
    int rc = put_head (f);

    put_title (&p);
    if (t->jobs == 0)
        (void)fputs ("<section><p class=\"note\">There are no such jobs.</p>"
                     "</section>\n", f);
    for (size_t i = 0; i < sizeof (charts) / sizeof (charts[0]) &&
                       t->jobs > 0; i++)
        put_chart (&p, &charts[i]);
    if (t->jobs > 0) {
        put_rows (&p);
        put_back (&p);
        put_jobs (&p);
    }
    (void)fputs ("</main>\n<footer><p>Made by rollcall trend.</p></footer>\n"
                 "</body>\n</html>\n", f);
    return rc < 0 ? rc : ferror (f) ? -EIO : 0;
}
