/* node_agent/extract/registry.c - the sources of rows, in order of preference
 *
 * For each table the sources that have it are tried in the order of this table,
 * until one has it completely.  The result is compared with what there should
 * be at the level of the capture.
 */
#include "extract/registry.h"
#include "extract/event_db/read_event_db.h"
#include "extract/kineto/read_kineto.h"
#include "extract/profiler_db/read_profiler_db.h"
#include "extract/sink/capture_facts.h"
#include "extract/text/read_text.h"
#include "extract/timeline/read_timeline.h"
#include "identity/other_files.h"

#include "model/owned_text.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SET(table) (1u << (table))
#define COMM_TABLES \
    (SET (TABLE_TIME) | SET (TABLE_BANDWIDTH) | SET (TABLE_MATRIX))
#define PROFILER_TABLES (SET (TABLE_PROFILER_COUNT) - 1)

static bool is_kineto (const struct source *src, uint64_t *size)
{
    return src->form == FORM_TRACE && src->trace != TRACE_TORCH_NPU &&
           source_has (src->dir, src->file, size);
}

/* Find an event database, whose name contains a rank or a date. */
static bool has_event_db (const struct source *src, uint64_t *size)
{
    return src->event_db[0] && source_has (src->event_dir, src->event_db, size);
}

/* Steps of an event database are preferred: of them this one tells nothing. */
static void read_analyzer_first (struct source *src, unsigned want,
                                 struct verdict *v, struct err *err)
{
    if (!event_db_has_steps (src))
        read_analyzer_db (src, want, v, err);
}

/* The order is that of doc/formats.md, "Order of preference".  All sources are
 * asked for the tables that are collected (CAPTURE_FACTS_TABLES).
 */
static const struct extractor extractors[] = {
    { "analysis.db", "analysis.db", "analysis.db", PROFILER_TABLES, true,
      .read_each = read_analysis_db },
    { "text", "the text export", "communication.json",
      SET (TABLE_TIME) | SET (TABLE_BANDWIDTH), true, .in_comm_dir = true,
      .read = read_communication },
    { "text", "the text export", "communication_matrix.json",
      SET (TABLE_MATRIX), true, .in_comm_dir = true, .read = read_matrix },
    { "text", "the text export", "step_trace_time.csv", SET (TABLE_STEP), true,
      .read = read_step_csv },
    { "communication_analyzer.db", "communication_analyzer.db",
      "communication_analyzer.db", COMM_TABLES, true, .in_comm_dir = true,
      .read_each = read_analyzer_first },
    { "text", "the text export", "op_statistic.csv", SET (TABLE_OPERATOR),
      true, .read = read_op_statistic },
    { "text", "the text export", "api_statistic.csv", SET (TABLE_API), true,
      .read = read_api_statistic },
    { "text", "the text export", "kernel_details.csv", SET (TABLE_KERNEL),
      true, .read = read_kernel_details },
    { "event_db", "the event database", "*_profiler*.db",
      PROFILER_TABLES | SET (TABLE_STEP_EXTRA) | SET (TABLE_INFO) |
          SET (TABLE_MEMORY) | SET (TABLE_OPERATOR) | SET (TABLE_API) |
          SET (TABLE_LINK) | SET (TABLE_RANGE) | SET (TABLE_KERNEL),
      false, .is_there = has_event_db, .read_each = read_event_db },
    { "communication_analyzer.db", "communication_analyzer.db",
      "communication_analyzer.db", COMM_TABLES, true, .in_comm_dir = true,
      .read_each = read_analyzer_db },
    { "text", "the text export", "memory_record.csv", SET (TABLE_MEMORY), true,
      .read = read_memory_record },
    { "text", "the text export", "npu_module_mem.csv", SET (TABLE_MEMORY),
      true, .read = read_module_memory },
    { "text", "the text export", "hccs.csv and others", SET (TABLE_LINK), true,
      .is_one = is_link_csv, .read_file = read_link_csv },
    { "text", "the text export", "a pipeline's summary", SET (TABLE_INFO),
      true, .is_one = is_minddata, .read_file = read_minddata },
    { "timeline", "a memory timeline", "a memory timeline", SET (TABLE_MEMORY),
      false, .is_one = may_be_memory_timeline,
      .read_file = read_memory_timeline },
    { "timeline", "the timeline", "trace_view.json",
      PROFILER_TABLES | SET (TABLE_STEP_EXTRA) | SET (TABLE_RANGE), false,
      .is_there = timeline_is_there, .read_each = read_timeline },
    { "kernel_details", "kernel_details.csv", "kernel_details.csv",
      SET (TABLE_TIME) | SET (TABLE_STEP), false, .read_each = read_kernels },
    { "kineto", "the trace", "*.pt.trace.json*",
      PROFILER_TABLES | SET (TABLE_STEP_EXTRA) | SET (TABLE_INFO) |
          SET (TABLE_OPERATOR) | SET (TABLE_RANGE),
      false, .is_there = is_kineto, .read = read_kineto },
    { "mstx", "the marks in the event database", "msprof_*.db",
      PROFILER_TABLES, false, .is_there = has_event_db,
      .read_each = read_marks },
};

#define EXTRACTORS (sizeof (extractors) / sizeof (extractors[0]))

/* The results of all sources. */
struct outcome {
    struct verdict tables[TABLE_COUNT];
    const struct extractor *by[TABLE_COUNT];        // NULL: none
    struct verdict before[TABLE_COUNT];     // damaged in one source, then read
                                            // from another
};

static bool is_there (const struct extractor *e, const struct source *src,
                      uint64_t *size)
{
    if (e->is_one && size)
        *size = 0;              // not known, and small beside the others
    if (e->is_one)
        return capture_facts_has_file (src, e->is_one);
    return e->is_there ? e->is_there (src, size)
                       : source_has (e->in_comm_dir ? source_comm_dir (src)
                                                    : src->out,
                                     e->file, size);
}

static bool extractors_read_name (const char *name)
{
    for (size_t i = 0; i < EXTRACTORS; i++) {
        if (fnmatch (extractors[i].file, name, 0) == 0)
            return true;
    }
    return strcmp (name, "analyse.done") == 0;
}

bool extractors_any (const struct source *src)
{
    for (size_t i = 0; i < EXTRACTORS; i++) {
        if (extractors[i].tables & PROFILER_TABLES &&
            is_there (&extractors[i], src, NULL))
            return true;
    }
    return false;
}

uint64_t extractors_input_bytes (const struct source *src)
{
    unsigned left = SET (TABLE_COUNT) - 1;
    uint64_t sum = 0, size;

    for (size_t i = 0; i < EXTRACTORS; i++) {
        const struct extractor *e = &extractors[i];

        if (e->tables & left && is_there (e, src, &size)) {
            left &= ~e->tables | CAPTURE_FACTS_TABLES;
            sum += size;
        }
    }
    return sum;
}

/* ---- reading ---- */

/* Add a verdict on a table that is collected from many files: damage of one
 * file is damage of the table.
 */
static void add_verdict (struct source *src, struct outcome *o, unsigned t,
                         const struct verdict *v)
{
    struct verdict *known = &o->tables[t];

    if (v->how == READING_ABSENT)
        return;
    if (known->how == READING_DAMAGED) {
        if (v->how == READING_DAMAGED &&
            strcmp (v->why.text, known->why.text) != 0)
            capture_reason (src->capture, "%s (%s)", v->why.text,
                            schema_table (t)->name);
        return;
    }
    *known = *v;
}

/* Take the verdict of a source on a table. */
static void take_verdict (struct source *src, struct outcome *o, unsigned t,
                          const struct extractor *e, const struct verdict *v)
{
    struct verdict *known = &o->tables[t];

    if (v->how == READING_ABSENT ||
        (v->how == READING_DAMAGED &&
         (src->stale >> t & 1 ||
          (known->how == READING_DAMAGED &&
           strcmp (known->why.text, v->why.text) == 0))))
        return;                 // it has nothing: keep the verdict
    if (known->how == READING_DAMAGED && v->how == READING_WHOLE)
        o->before[t] = *known;
    *known = *v;
    o->by[t] = e;
}

static void read_tables (struct source *src, const struct extractor *e,
                         unsigned want, struct verdict *v, struct err *err)
{
    struct err why = { "" };
    enum reading how;

    if (e->read_each) {
        e->read_each (src, want, v, err);
        return;
    }
    how = e->is_one ? capture_facts_read_files (src, e->is_one, e->read_file,
                                                &why)
                    : e->read (src, want, &why);
    verdict_for_tables (v, want, how, &why, err);
}

static void registry_ask (struct source *src, const struct extractor *e,
                          unsigned want,
                          struct outcome *o, struct err *err)
{
    struct verdict v[TABLE_COUNT];

    memset (v, 0, sizeof (v));
    src->stale = 0;
    for (unsigned t = 0; t < TABLE_COUNT; t++) {
        v[t].how = READING_ABSENT;
        if (want & ~CAPTURE_FACTS_TABLES & SET (t) && src->rows[t] > 0)
            src->stale |= SET (t);
    }
    read_tables (src, e, want, v, err);
    for (unsigned t = 0; t < TABLE_COUNT && !src->stopped; t++) {
        if (!(want >> t & 1))
            continue;
        if (v[t].how == READING_WHOLE)
            (void)source_forget (src, t, err);      // it is complete, and empty
        if (t == TABLE_STEP && v[t].how == READING_WHOLE &&
            isnan (src->communication_us))
            src->communication_us = 0;
        if (CAPTURE_FACTS_TABLES & SET (t))
            add_verdict (src, o, t, &v[t]);
        else
            take_verdict (src, o, t, e, &v[t]);
    }
}

/* The tables to ask the next source for. */
static unsigned not_whole (const struct outcome *o)
{
    unsigned set = CAPTURE_FACTS_TABLES;

    for (unsigned t = 0; t < TABLE_COUNT; t++) {
        if (o->tables[t].how != READING_WHOLE)
            set |= SET (t);
    }
    return set;
}

/* ---- tables that are whole, but hollow ---- */

/* Whether its level records no communication tables. */
static bool is_level0 (const struct capture *c)
{
    return strcmp (c->level, "Level0") == 0;
}

/* Whether a table of the profiler has no rows although the capture says that it
 * must have some.  Unknown if its steps are not wanted.
 */
static bool is_hollow (const struct source *src, const struct outcome *o,
                       unsigned t, struct err *why)
{
    const struct extractor *by = o->by[t];
    const char *name = schema_table (t)->name;

    if (o->tables[t].how != READING_WHOLE || !by->made || src->rows[t] > 0 ||
        src->filtered >> t & 1)
        return false;
    if (t == TABLE_STEP)        // it has a row for each step, even if all are 0
        (void)err_set (why, EBADMSG, "%s: %s has no rows", by->file, name);
    else if (!(COMM_TABLES & SET (t)))
        return false;
    else if (t != TABLE_TIME)   // there are none if nothing was transferred
        return is_hollow (src, o, TABLE_TIME, why);
    else if (src->communication_us > 0 && !is_level0 (src->capture))
        (void)err_set (why, EBADMSG, "%s: %s has no rows, but the steps "
                       "communicate for %.0f us", by->file, name,
                       src->communication_us);
    else if (src->rows[TABLE_BANDWIDTH] + src->rows[TABLE_MATRIX] > 0)
        (void)err_set (why, EBADMSG, "%s: %s has no rows, but %s has",
                       by->file, name,
                       schema_table (src->rows[TABLE_BANDWIDTH] > 0
                                         ? TABLE_BANDWIDTH
                                         : TABLE_MATRIX)->name);
    else
        return false;
    return true;
}

/* Find the unexpectedly empty tables of the first source that has some; 0:
 * there are none.  From now on they are damaged, and the sources after '*by'
 * may have them.
 */
static unsigned find_hollow (struct source *src, struct outcome *o,
                             size_t *by)
{
    struct err why[TABLE_COUNT];
    unsigned set = 0;

    *by = EXTRACTORS;
    for (unsigned t = 0; t < TABLE_PROFILER_COUNT; t++) {
        if (!is_hollow (src, o, t, &why[t]))
            continue;
        set |= SET (t);
        if ((size_t)(o->by[t] - extractors) < *by)
            *by = (size_t)(o->by[t] - extractors);
    }
    for (unsigned t = 0; t < TABLE_PROFILER_COUNT; t++) {
        if (!(set >> t & 1))
            continue;
        if (o->by[t] != &extractors[*by]) {
            set &= ~SET (t);    // in a later pass
            continue;
        }
        o->tables[t] = (struct verdict){ READING_DAMAGED, why[t] };
        if (t == TABLE_STEP)
            src->communication_us = NAN;
    }
    return set;
}

/* ---- judging ---- */

static void name_sources (struct capture *c, const struct outcome *o)
{
    char text[CAPTURE_SOURCE_MAX] = "";
    const char *first = "";
    bool mixed = false;
    size_t used = 0;

    for (unsigned t = 0; t < TABLE_PROFILER_COUNT; t++) {
        if (!o->by[t])
            continue;
        mixed = mixed || (*first && strcmp (first, o->by[t]->source) != 0);
        first = *first ? first : o->by[t]->source;
    }
    for (unsigned t = 0; mixed && t < TABLE_PROFILER_COUNT &&
                         used < sizeof (text); t++) {
        if (o->by[t])
            used += (size_t)snprintf (
                text + used, sizeof (text) - used, "%s%s=%s",
                used ? "," : "", schema_table (t)->name, o->by[t]->source);
    }
    first = mixed ? text : first;
    (void)owned_text_set (&c->source, first, strlen (first));
}

/* Whether there should be communication tables: not at level 0, nor in a world
 * of one.
 */
static bool expects_communication (const struct source *src,
                                   const struct outcome *o)
{
    const struct capture *c = src->capture;

    if (is_level0 (c))
        return false;           // its timeline has ops, but no tasks
    for (unsigned t = 0; t < TABLE_COUNT; t++) {
        if (COMM_TABLES & SET (t) && o->tables[t].how != READING_ABSENT)
            return true;
    }
    if (c->level[0] == '\0' || c->world_size == 1)
        return false;
    return !(src->communication_us == 0);       // unknown if it is NaN
}

/* The file of the text export that has a table. */
static const char *text_file (unsigned table)
{
    for (size_t i = 0; i < EXTRACTORS; i++) {
        if (extractors[i].tables & SET (table) &&
            strcmp (extractors[i].source, "text") == 0)
            return extractors[i].file;
    }
    return "";
}

/* Report the damage of a table, once for all tables with the same damage. */
static void tell_damage (struct capture *c, const struct verdict *v,
                         unsigned table)
{
    char names[256] = "";
    size_t used = 0;

    for (unsigned t = 0; t < TABLE_COUNT && used < sizeof (names); t++) {
        if (v[t].how != READING_DAMAGED ||
            strcmp (v[t].why.text, v[table].why.text) != 0)
            continue;
        if (t < table)
            return;             // already reported
        used += (size_t)snprintf (names + used, sizeof (names) - used, "%s%s",
                                  used ? ", " : "", schema_table (t)->name);
    }
    capture_reason (c, "%s (%s)", v[table].why.text, names);
}

/* Report tables that were damaged in one source and complete in another. */
static void tell_detours (struct capture *c, const struct outcome *o)
{
    for (unsigned t = 0; t < TABLE_COUNT; t++) {
        bool told = o->before[t].how != READING_DAMAGED;

        for (unsigned i = 0; i < t && !told; i++)
            told = o->by[i] && strcmp (o->by[i]->what, o->by[t]->what) == 0 &&
                   strcmp (o->before[i].why.text, o->before[t].why.text) == 0;
        if (!told)
            capture_reason (c, "%s; %s was read instead",
                            o->before[t].why.text, o->by[t]->what);
    }
}

static void tell_missing (const struct source *src, unsigned table)
{
    const char *name = schema_table (table)->name;

    if (src->form == FORM_TRACE)
        capture_reason (src->capture, "%s is missing: nothing in the trace "
                        "gives it", name);
    else if (src->form == FORM_MSPROF && table == TABLE_STEP)
        capture_reason (src->capture, "%s is missing: neither an event "
                        "database (msprof_*.db) nor a timeline "
                        "(msprof_*.json) gives it", name);
    else
        capture_reason (src->capture, "%s is missing: neither %s nor %s has "
                        "it", name,
                        src->form == FORM_MSPROF ? "communication_analyzer.db"
                                                 : "analysis.db",
                        text_file (table));
}

/* Report tables without steps, if some steps were requested. */
static void tell_nameless (struct source *src)
{
    char names[128] = "";
    size_t used = 0;

    for (unsigned t = 0; t < TABLE_PROFILER_COUNT && used < sizeof (names);
         t++) {
        if (src->nameless >> t & 1 && src->rows[t] == 0)
            used += (size_t)snprintf (names + used, sizeof (names) - used,
                                      "%s%s", used ? ", " : "",
                                      schema_table (t)->name);
    }
    if (used > 0)
        capture_reason (src->capture, "its rows name no step, so none is of "
                        "the steps that were asked for (%s)", names);
}

/* Report level 0.  A timeline still has its ops, so do not deny existing rows.
 */
static void tell_level0 (const struct source *src)
{
    if (src->rows[TABLE_TIME] == 0)
        capture_reason (src->capture, "profiled at Level0, which has no "
                        "communication tables; Level1 has them");
    else if (src->rows[TABLE_BANDWIDTH] + src->rows[TABLE_MATRIX] == 0)
        capture_reason (src->capture, "profiled at Level0, which records when "
                        "communication ops ran, but not their waiting and "
                        "sizes; Level1 does");
}

static void registry_judge (struct source *src, const struct outcome *o)
{
    struct capture *c = src->capture;
    bool comm = expects_communication (src, o);
    bool good = !src->damaged, any = false;

    for (unsigned t = 0; t < TABLE_COUNT; t++) {
        enum reading how = o->tables[t].how;
        bool expected = t == TABLE_STEP || (COMM_TABLES & SET (t) && comm);

        any = any || (t < TABLE_PROFILER_COUNT &&
                      (how == READING_WHOLE || src->rows[t] > 0));
        if (how == READING_WHOLE ||
            (how == READING_ABSENT && src->rows[t] > 0))
            c->whole_tables |= SET (t);
        if (how == READING_WHOLE || (how == READING_ABSENT && !expected))
            continue;
        good = false;
        if (how == READING_ABSENT)
            tell_missing (src, t);
        else
            tell_damage (c, o->tables, t);
    }
    if (good)
        c->state = CAPTURE_COMPLETE;
    else
        c->state = any ? CAPTURE_PARTIAL : CAPTURE_FAILED;
    if (good && !comm && c->world_size != 1 && is_level0 (c))
        tell_level0 (src);
}

/* Ask for the tables of 'want' that are not complete yet, from source 'from'
 * on.
 */
static void ask_all (struct source *src, size_t from, unsigned want,
                     struct outcome *o, struct err *err)
{
    for (size_t i = from; i < EXTRACTORS && !src->stopped; i++) {
        unsigned left = extractors[i].tables & want & not_whole (o);

        if (left && is_there (&extractors[i], src, NULL))
            registry_ask (src, &extractors[i], left, o, err);
    }
}

int extractors_run (struct source *src, struct err *err)
{
    unsigned want = SET (TABLE_COUNT) - 1;
    struct outcome o;
    size_t by;

    memset (&o, 0, sizeof (o));
    for (unsigned t = 0; t < TABLE_COUNT; t++)
        o.tables[t].how = o.before[t].how = READING_ABSENT;
    other_files_note (src, extractors_read_name);
    ask_all (src, 0, want, &o, err);
    while (!src->stopped && (want = find_hollow (src, &o, &by)))
        ask_all (src, by + 1, want, &o, err);
    if (src->stopped || !capture_facts_send (src, err))
        return src->stopped;
    name_sources (src->capture, &o);
    registry_judge (src, &o);
    tell_detours (src->capture, &o);
    tell_nameless (src);
    return 0;
}
