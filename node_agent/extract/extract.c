/* node_agent/extract/extract.c - the rows of one capture
 *
 * For each table the profiler's analysis.db is asked first, then the text
 * export.  What that gave is judged against what the capture's own level says
 * that there should be.
 */
#include "extract/source.h"

#include "base/fileio.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANALYSIS_DB "analysis.db"
#define DONE_MARKER "analyse.done"
#define TREE_DEPTH_MAX 32

#define COMM_TABLES \
    (1u << TABLE_TIME | 1u << TABLE_BANDWIDTH | 1u << TABLE_MATRIX)

/* ---- opening and looking ---- */

static void source_close (struct source *src)
{
    if (src->out >= 0)
        (void)close (src->out);
    if (src->dir >= 0)
        (void)close (src->dir);
    src->out = src->dir = -1;
}

static bool is_link (int dir, const char *name)
{
    struct stat st;

    return fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISLNK (st.st_mode);
}

/* 0, or the capture is a failed one: the reason has been noted. */
static int source_open (struct source *src)
{
    struct err err = { "" };

    src->dir = open (src->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
                                    O_NOFOLLOW);
    if (src->dir < 0) {
        capture_reason (src->capture, "cannot open the directory: %s",
                        strerror (errno));
        return -EACCES;
    }
    src->out = fileio_open_dir_at (src->dir, OUTPUT_DIR, &err);
    if (src->out < 0 && src->out != -ENOENT) {
        if (is_link (src->dir, OUTPUT_DIR))     // open says "not a directory"
            capture_reason (src->capture, OUTPUT_DIR " is a symbolic link, "
                            "which is not followed");
        else
            capture_reason (src->capture, "%s", err.text);
        src->out = -1;
        return -EACCES;
    }
    if (src->out < 0)
        src->out = -1;
    return 0;
}


static void add_tree (int dirfd, unsigned depth, struct extract_look *look)
{
    DIR *dir = fdopendir (dirfd);
    struct dirent *e;
    struct stat st;
    int rc;

    if (!dir) {
        (void)close (dirfd);
        return;
    }
    while ((e = fileio_next_entry (dir, &rc))) {
        int64_t mtime;

        if (fstatat (dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        mtime = st.st_mtim.tv_sec * INT64_C (1000000000) + st.st_mtim.tv_nsec;
        if (mtime > look->newest_ns)
            look->newest_ns = mtime;
        if (S_ISDIR (st.st_mode) && depth > 0) {
            int fd = fileio_open_dir_at (dirfd, e->d_name, NULL);

            if (fd >= 0)
                add_tree (fd, depth - 1, look);
        } else if (S_ISREG (st.st_mode)) {
            look->tree_files++;
            look->tree_bytes += (uint64_t)st.st_size;
        }
    }
    (void)closedir (dir);
}

static void measure (const struct source *src, struct extract_look *look)
{
    int fd = fileio_open_dir_at (src->dir, ".", NULL);
    struct stat st;

    if (fstat (src->dir, &st) == 0)
        look->newest_ns = st.st_mtim.tv_sec * INT64_C (1000000000) +
                          st.st_mtim.tv_nsec;
    if (fd >= 0)
        add_tree (fd, TREE_DEPTH_MAX, look);
    look->done_marker = src->out >= 0 &&
                        fstatat (src->out, DONE_MARKER, &st,
                                 AT_SYMLINK_NOFOLLOW) == 0;
}

/* Bytes of the files that readers will read. */
static uint64_t work_bytes (const struct source *src)
{
    static const char *const text[] = { "communication.json",
                                        "communication_matrix.json",
                                        "step_trace_time.csv" };
    uint64_t sum = 0;
    struct stat st;

    if (src->out < 0)
        return 0;
    if (fstatat (src->out, ANALYSIS_DB, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return (uint64_t)st.st_size;
    for (size_t i = 0; i < sizeof (text) / sizeof (text[0]); i++) {
        if (fstatat (src->out, text[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
            sum += (uint64_t)st.st_size;
    }
    return sum;
}

bool source_has_output (const struct source *src)
{
    static const char *const names[] = { ANALYSIS_DB, "communication.json",
                                         "communication_matrix.json",
                                         "step_trace_time.csv" };
    struct stat st;

    for (size_t i = 0; src->out >= 0 && i < 4; i++) {
        if (fstatat (src->out, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    }
    return false;
}

/* The state of a capture that has nothing to read yet, with its reason;
 * complete when there is something to read.
 */
static void judge_progress (struct source *src)
{
    struct capture *c = src->capture;

    if (source_has_output (src) || src->has_done) {
        c->state = CAPTURE_COMPLETE;
    } else if (src->out >= 0 && src->event_db[0]) {
        c->state = CAPTURE_FAILED;
        capture_reason (c, "%s holds only an event database (%s), which this "
                        "version does not read", OUTPUT_DIR, src->event_db);
    } else if (src->out >= 0) {
        c->state = CAPTURE_ANALYSING;
        capture_reason (c, "its analysis has begun but given no result: "
                        OUTPUT_DIR " has none of the files");
    } else if (src->info_name[0]) {
        c->state = CAPTURE_RAW;
        capture_reason (c, "never analysed: there is no " OUTPUT_DIR "; run "
                        "torch_npu.profiler.profiler.analyse on its node");
    } else {
        c->state = CAPTURE_COLLECTING;
        capture_reason (c, "not finished: there is no profiler_info*.json");
    }
}

static int look_at (struct source *src, struct extract_look *look,
                    struct err *err)
{
    int rc;

    memset (look, 0, sizeof (*look));
    src->capture->state = CAPTURE_FAILED;
    source_name (src);
    rc = source_open (src);
    if (src->dir >= 0) {
        struct err why = { "" };
        int found = source_identify (src, &why);

        if (found == -ENOMEM)
            return err_set (err, ENOMEM, "%s", why.text);
        if (found < 0)
            capture_reason (src->capture, "%s", why.text);
        if (!src->glance || src->capture->order_ns == 0)
            measure (src, look);
        if (src->capture->order_ns == 0)
            src->capture->order_ns = look->newest_ns;
        src->capture->raw_bytes = look->tree_bytes;
        look->work_bytes = work_bytes (src);
        if (rc == 0 && found == 0)
            judge_progress (src);
    }
    return 0;
}

/* A reason quotes what files and directories hold: make it valid UTF-8. */
static void tidy_reason (struct capture *c)
{
    char fixed[3 * CAPTURE_REASON_MAX];
    uint64_t bad = 0;
    size_t n = utf8_repair (c->reason, strlen (c->reason), fixed, &bad);

    if (bad == 0)
        return;
    if (n >= sizeof (c->reason))
        n = sizeof (c->reason) - 1;
    while (n > 0 && ((unsigned char)fixed[n] & 0xc0) == 0x80)
        n--;                    // not in the middle of a character
    memcpy (c->reason, fixed, n);
    c->reason[n] = '\0';
}

static void source_init (struct source *src, const char *path,
                         struct capture *c)
{
    *src = (struct source){ .path = path, .dir = -1, .out = -1, .capture = c,
                            .communication_us = NAN };
}

int extract_glance (const char *path, struct capture *c,
                    struct extract_look *look, struct err *err)
{
    struct source src;
    int rc;

    source_init (&src, path, c);
    src.glance = true;
    rc = look_at (&src, look, err);
    source_close (&src);
    return rc;
}

void extract_measure (const char *path, struct extract_look *look)
{
    struct capture c;
    struct source src;

    capture_init (&c);
    source_init (&src, path, &c);
    memset (look, 0, sizeof (*look));
    if (source_open (&src) == 0)
        measure (&src, look);
    source_close (&src);
    capture_fini (&c);
}

int extract_look (const char *path, struct capture *c,
                  struct extract_look *look, struct err *err)
{
    struct source src;
    int rc;

    source_init (&src, path, c);
    rc = look_at (&src, look, err);
    source_close (&src);
    tidy_reason (c);
    return rc;
}

/* ---- reading ---- */

enum { FROM_NONE, FROM_DB, FROM_TEXT };

/* How each table went. */
struct tally {
    enum reading how[TABLE_COUNT];
    int from[TABLE_COUNT];
    char why[TABLE_COUNT][ERR_TEXT_MAX];        // of the damage
};

static void note (struct tally *t, enum table_id table, enum reading how,
                  int from, const struct err *why)
{
    if (how == READING_ABSENT)
        return;                 // keeps what another source gave
    t->how[table] = how;
    t->from[table] = from;
    if (how == READING_DAMAGED)
        (void)snprintf (t->why[table], sizeof (t->why[table]), "%s",
                        why->text);
    else
        t->why[table][0] = '\0';
}

static int read_from_db (struct source *src, struct tally *t, struct err *err)
{
    struct profiler_db *db = NULL;
    struct err why = { "" };
    enum reading how = profiler_db_open (src, ANALYSIS_DB, &db, &why);

    if (how == READING_STOPPED)
        return err_set (err, -src->stopped, "%s", why.text);
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        if (how == READING_DAMAGED)
            note (t, i, how, FROM_DB, &why);
    }
    for (unsigned i = 0; i < TABLE_COUNT && db && !src->stopped; i++)
        note (t, i, profiler_db_read (db, src, i, &why), FROM_DB, &why);
    profiler_db_close (db);
    if (src->stopped)
        return err_set (err, -src->stopped, "%s", why.text);
    return 0;
}

/* A table that the database did not give whole: start over from the text. */
static int forget_damaged (struct source *src, const struct tally *t,
                           enum table_id table, struct err *err)
{
    if (t->how[table] != READING_DAMAGED)
        return 0;
    src->rows[table] = 0;
    return src->sink->forget (src->sink->arg, table, err);
}

static bool text_is_there (const struct source *src, const char *name)
{
    struct stat st;

    return src->out >= 0 &&
           fstatat (src->out, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The text files that stand in for tables, and which. */
static const struct {
    const char *name;
    unsigned tables;
} texts[] = {
    { "communication.json", 1u << TABLE_TIME | 1u << TABLE_BANDWIDTH },
    { "communication_matrix.json", 1u << TABLE_MATRIX },
    { "step_trace_time.csv", 1u << TABLE_STEP },
};

static enum reading read_text (struct source *src, unsigned which,
                               unsigned want, struct err *why)
{
    switch (which) {
    case 0:
        return read_communication (src, want, why);
    case 1:
        return read_matrix (src, why);
    default:
        return read_step_csv (src, why);
    }
}

static int read_from_text (struct source *src, struct tally *t,
                           struct err *err)
{
    for (unsigned f = 0; f < sizeof (texts) / sizeof (texts[0]); f++) {
        unsigned want = 0;
        struct err why = { "" };
        enum reading how;
        int rc = 0;

        for (unsigned i = 0; i < TABLE_COUNT; i++) {
            if (texts[f].tables & 1u << i && t->how[i] != READING_WHOLE)
                want |= 1u << i;
        }
        if (want == 0 || !text_is_there (src, texts[f].name))
            continue;
        for (unsigned i = 0; i < TABLE_COUNT && rc == 0; i++) {
            if (want & 1u << i)
                rc = forget_damaged (src, t, i, err);
        }
        if (rc < 0)
            return rc;
        how = read_text (src, f, want, &why);
        if (how == READING_STOPPED)
            return err_set (err, -src->stopped, "%s", why.text);
        for (unsigned i = 0; i < TABLE_COUNT; i++) {
            if (want & 1u << i)
                note (t, i, how, FROM_TEXT, &why);
        }
    }
    return 0;
}

/* ---- judging ---- */

static void name_sources (struct capture *c, const struct tally *t)
{
    static const char *const names[] = { "", "analysis.db", "text" };
    int first = FROM_NONE;
    bool mixed = false;
    size_t used = 0;

    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        if (t->from[i] == FROM_NONE)
            continue;
        mixed = mixed || (first != FROM_NONE && t->from[i] != first);
        first = first == FROM_NONE ? t->from[i] : first;
    }
    if (!mixed) {
        (void)snprintf (c->source, sizeof (c->source), "%s", names[first]);
        return;
    }
    for (unsigned i = 0; i < TABLE_COUNT && used < sizeof (c->source); i++) {
        if (t->from[i] != FROM_NONE)
            used += (size_t)snprintf (
                c->source + used, sizeof (c->source) - used, "%s%s=%s",
                used ? "," : "", schema_table (i)->name, names[t->from[i]]);
    }
}

/* Level0 records no communication tables, nor does a world of one. */
static bool expects_communication (const struct source *src,
                                   const struct tally *t)
{
    const struct capture *c = src->capture;

    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        if (COMM_TABLES & 1u << i && t->how[i] != READING_ABSENT)
            return true;
    }
    if (strcmp (c->level, "Level0") == 0 || c->level[0] == '\0' ||
        c->world_size == 1)
        return false;
    return !(src->communication_us == 0);       // a NaN says nothing
}

static const char *file_of (enum table_id table)
{
    for (unsigned f = 0; f < sizeof (texts) / sizeof (texts[0]); f++) {
        if (texts[f].tables & 1u << table)
            return texts[f].name;
    }
    return "";
}

/* The damage of a table, once for all tables that have the same. */
static void tell_damage (struct capture *c, const struct tally *t,
                         unsigned table)
{
    char names[256] = "";
    size_t used = 0;

    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        if (t->how[i] != READING_DAMAGED ||
            strcmp (t->why[i], t->why[table]) != 0)
            continue;
        if (i < table)
            return;             // told already
        used += (size_t)snprintf (names + used, sizeof (names) - used, "%s%s",
                                  used ? ", " : "", schema_table (i)->name);
    }
    capture_reason (c, "%s (%s)", t->why[table], names);
}

static void judge (struct source *src, const struct tally *t)
{
    struct capture *c = src->capture;
    bool comm = expects_communication (src, t);
    bool good = !src->damaged, any = false;

    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        bool expected = i == TABLE_STEP || comm;

        any = any || t->how[i] == READING_WHOLE || src->rows[i] > 0;
        if (t->how[i] == READING_WHOLE)
            c->whole_tables |= 1u << i;
        if (t->how[i] == READING_WHOLE ||
            (t->how[i] == READING_ABSENT && !expected))
            continue;
        good = false;
        if (t->how[i] == READING_ABSENT)
            capture_reason (c, "%s is missing: neither " ANALYSIS_DB
                            " nor %s has it", schema_table (i)->name,
                            file_of (i));
        else
            tell_damage (c, t, i);
    }
    if (good)
        c->state = CAPTURE_COMPLETE;
    else
        c->state = any ? CAPTURE_PARTIAL : CAPTURE_FAILED;
    if (good && !comm && c->world_size != 1 && strcmp (c->level, "Level0") == 0)
        capture_reason (c, "profiled at Level0, which has no communication "
                        "tables; Level1 has");
}

static int read_rows (struct source *src, struct err *err)
{
    struct tally t;
    struct err damage = { "" };         // of analysis.db
    int rc;

    memset (&t, 0, sizeof (t));
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        t.how[i] = READING_ABSENT;
    if ((rc = read_from_db (src, &t, err)) < 0)
        return rc;
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        if (t.how[i] == READING_DAMAGED)
            (void)snprintf (damage.text, sizeof (damage.text), "%s",
                            t.why[i]);
    }
    if ((rc = read_from_text (src, &t, err)) < 0)
        return rc;
    name_sources (src->capture, &t);
    judge (src, &t);
    for (unsigned i = 0; i < TABLE_COUNT && damage.text[0]; i++) {
        if (t.from[i] != FROM_TEXT)
            continue;
        capture_reason (src->capture, "%s; the text export was read instead",
                        damage.text);
        break;
    }
    return 0;
}

int extract_capture (const char *path, const struct steps_filter *steps,
                     const struct row_sink *sink, struct capture *c,
                     struct err *err)
{
    struct extract_look look;
    struct source src;
    int rc;

    source_init (&src, path, c);
    src.sink = sink;
    src.steps = steps;
    rc = look_at (&src, &look, err);
    if (rc == 0 && c->state == CAPTURE_COMPLETE)
        rc = read_rows (&src, err);
    source_close (&src);
    tidy_reason (c);
    return rc;
}
