/* cli/status/daemons.c - what daemons say of themselves, as text or JSON
 *
 * This folder: rollcall status: what daemons say, and those of several places.
 */
#include "status/daemons.h"

#include "shared/command.h"
#include "shared/unbuilt.h"

#include "base/clock.h"
#include "base/units.h"
#include "json/status.h"
#include "store/fileio.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HISTORY_NS (3600 * NS_PER_S)    // an agent that is gone is shown so long

/* "full in 12 days", of the growth of some hours. */
static void put_growth (struct grid *g, const struct json *j)
{
    char rate[16], line[256];
    double disk = 0, quota = 0;
    bool on_disk = json_number (json_get (j, "disk_full_in_days"), &disk);
    bool has_quota = json_number (json_get (j, "quota_full_in_days"), &quota);
    int64_t hours = cli_number (j, "hours");

    units_bytes_text ((uint64_t)cli_number (j, "bytes_a_day"), rate);
    PRINT (line, "%s a day in the last %s", rate, hours > 24 ? "7 days"
                                                             : "24 hours");
    if (on_disk)
        PRINT (line, "%s a day in the last %s: the disk is full in %.1f days",
               rate, hours > 24 ? "7 days" : "24 hours", disk);
    grid_line (g, line);
    if (has_quota) {
        PRINT (line, "--quota-root is reached in %.1f days at that rate",
               quota);
        grid_line (g, line);
    }
}

/* What a service holds, when it is full, and what waits for that. */
static void put_forecast (struct grid *g, const struct json *j)
{
    const struct json *growth = json_get (j, "growth"), *k;
    char size[16], line[1200];

    if (!json_get (j, "stored_bytes"))
        return;
    units_bytes_text ((uint64_t)cli_number (j, "stored_bytes"), size);
    PRINT (line, "%s are stored%s", size,
           json_get (json_first (growth), "bytes_a_day")
               ? "" : "; how soon the disk is full is not known yet");
    grid_line (g, line);
    for (k = json_first (growth); k; k = json_next (k)) {
        if (json_get (k, "bytes_a_day"))
            put_growth (g, k);
    }
    if ((k = json_get (json_get (j, "retention"), "waits"))) {
        PRINT (line, "retention waits: %s", json_text (k, ""));
        grid_line (g, line);
    }
    if ((k = json_get (j, "retention")) && json_get (k, "next")) {
        units_bytes_text ((uint64_t)cli_number (k, "bytes"), size);
        PRINT (line, "retention removes job %s (%s) next, at %s: %s",
               json_text (json_get (k, "next"), "?"), size,
               json_text (json_get (k, "next_at"), "?"),
               json_text (json_get (k, "why"), ""));
        grid_line (g, line);
    }
    for (k = json_first (json_get (j, "waits")); k; k = json_next (k)) {
        PRINT (line, "job %s: %s; %s", json_text (json_get (k, "job"), ""),
               json_text (json_get (k, "why"), ""),
               json_text (json_get (k, "hint"), ""));
        grid_line (g, line);
    }
}

/* Results that a service could not build so far. */
static void put_unbuilt (struct grid *g, const struct json *j)
{
    const struct json *list = json_get (j, "unbuilt");
    int64_t n = cli_number (j, "unbuilt_jobs"), named = 0;
    char line[1600], what[UNBUILT_TEXT_MAX];

    for (const struct json *k = json_first (list); k; k = json_next (k)) {
        PRINT (line, "job %s: %s", json_text (json_get (k, "job"), ""),
               unbuilt_text (k, what));
        grid_line (g, line);
        named++;
    }
    if (n <= named)
        return;
    PRINT (line, "results of %lld more job%s could not be built (event="
           "build-failed in its log)", (long long)(n - named),
           units_s ((uint64_t)(n - named)));
    grid_line (g, line);
}

/* What a service still has to push into PostgreSQL. */
static void put_postgres (struct grid *g, const struct json *j)
{
    const char *why = json_text (json_get (j, "why"), "");
    int64_t n = cli_number (j, "backlog"), s = cli_number (j, "oldest_s");
    char line[1200];

    if (!j)
        return;
    if (n == 0)
        PRINT (line, "PostgreSQL %s", json_is_true (json_get (j, "known"))
                                          ? "is up to date"
                                          : "has not answered yet");
    else
        PRINT (line, "PostgreSQL lacks %lld job%s, the oldest for %lld s",
               (long long)n, units_s ((uint64_t)n), (long long)s);
    grid_line (g, line);
    if (*why)
        grid_line (g, why);
}

/* What segments have here, of a root that lets some go. */
static void put_cache (struct grid *g, const struct json *j)
{
    uint64_t most = (uint64_t)cli_number (j, "cache_bytes");
    uint64_t local = (uint64_t)cli_number (j, "local_bytes");
    long long linked = (long long)cli_number (j, "linked");
    char have[16], limit[16], line[160];

    if (most == 0)
        return;
    units_bytes_text (local, have);
    units_bytes_text (most, limit);
    PRINT (line, "%s of segments are here, of at most %s; %lld went since the start",
           have, limit, (long long)cli_number (j, "evicted"));
    grid_line (g, line);
    if (linked > 0) {
        PRINT (line, "%lld segment%s stay here: a backup has links to them",
               linked, units_s ((uint64_t)linked));
        grid_line (g, line);
    }
}

/* What an object store has, and what waits for it. */
static void put_store (struct grid *g, const struct json *j)
{
    const char *why = json_text (json_get (j, "why"), "");
    int64_t waiting = cli_number (j, "waiting");
    char size[16], line[1200];
    bool answered;

    if (!j)
        return;
    units_bytes_text ((uint64_t)cli_number (j, "stored_bytes"), size);
    answered = json_is_true (json_get (j, "answered"));
    PRINT (line, "%s %s %lld segment%s (%s)%s",
           json_text (json_get (j, "url"), "?"),
           answered ? "has" : "is known to have",
           (long long)cli_number (j, "stored"),
           units_s ((uint64_t)cli_number (j, "stored")), size,
           answered ? "" : ": it has not answered since the service began");
    grid_line (g, line);
    put_cache (g, j);
    if (waiting > 0) {
        units_bytes_text ((uint64_t)cli_number (j, "waiting_bytes"), size);
        PRINT (line, "%lld segment%s (%s) %s for upload since %s%s%s",
               (long long)waiting, units_s ((uint64_t)waiting), size,
               waiting == 1 ? "waits" : "wait",
               json_text (json_get (j, "since"), "?"), *why ? ": " : "", why);
        grid_line (g, line);
    } else if (*why) {
        grid_line (g, why);
    }
}

void daemons_text (struct daemons *d, const struct json *j, bool alive)
{
    static const char *const names[] = { "program", "pid", "state", "unread",
                                         "undelivered", "spool bytes", "job" };
    // what stopped it is of no use when it is gone
    const char *why = alive ? json_text (json_get (j, "why"), "")
                            : "it was killed; start it again, it continues";
    const char *one_copy = json_text (json_get (j, "one_copy"), "");
    struct grid *g = d->g;

    if (d->n++ == 0)
        grid_head (g, names, sizeof (names) / sizeof (names[0]));
    grid_word (g, json_text (json_get (j, "program"), "?"));
    grid_int (g, cli_number (j, "pid"));
    grid_word (g, alive ? json_text (json_get (j, "state"), "?") : "gone");
    grid_int (g, cli_number (j, "unsettled") + cli_number (j, "sealing"));
    grid_int (g, cli_number (j, "undelivered"));
    grid_int (g, cli_number (j, "spool_bytes"));
    grid_word (g, json_text (json_get (j, "job"), ""));
    if (*why)
        grid_line (g, why);
    if (*one_copy)
        grid_line (g, one_copy);
    put_unbuilt (g, j);
    put_forecast (g, j);
    put_postgres (g, json_get (j, "postgres"));
    put_store (g, json_get (j, "store"));
}

/* {"path": ..., "alive": ..., "status": what the daemon wrote} */
static void print_json (const char *path, bool alive, const char *status,
                        bool first)
{
    struct json *j = json_object ();
    size_t n = strlen (status);
    char *head;

    while (n > 0 && status[n - 1] == ' ')       // these keep room on the disk
        n--;
    json_add_text (j, "path", path);
    json_add_bool (j, "alive", alive);
    if ((head = json_print (j, false)))
        (void)printf ("%s%.*s,\"status\":%.*s}", first ? "" : ",\n",
                      (int)strlen (head) - 1, head,
                      (int)n, status);
    free (head);
    json_free (j);
}

/* Whether it is an agent that was killed long ago and left nothing behind:
 * nobody needs to see it.  An aggregator is always shown, because agents may
 * wait for its successor.
 */
static bool is_history (const char *path, const struct json *j)
{
    const char *program = json_text (json_get (j, "program"), "");
    struct stat st;
    int64_t ns;

    if (strcmp (program, "rollcall-agent") != 0 || stat (path, &st) < 0 ||
        cli_number (j, "undelivered") + cli_number (j, "unsettled") +
                cli_number (j, "sealing") + cli_number (j, "kept") > 0)
        return false;
    ns = clock_wall_ns () - clock_ns (&st.st_mtim);
    return ns > HISTORY_NS;
}

void daemons_file (struct daemons *d, const char *path)
{
    struct json *j;
    struct buf text;
    bool alive;

    buf_init (&text, STATUS_MAX);
    j = status_read (path, &text, &alive);
    if (j && (alive || !is_history (path, j))) {
        if (d->json)
            print_json (path, alive, buf_text (&text), d->n++ == 0);
        else
            daemons_text (d, j, alive);
    }
    json_free (j);
    buf_fini (&text);
}

void daemons_of_root (struct daemons *d, const char *root)
{
    char path[PATH_MAX];

    if (fileio_join (path, sizeof (path), root, STATUS_NAME))
        daemons_file (d, path);
}
