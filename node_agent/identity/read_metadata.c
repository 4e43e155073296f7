/* node_agent/identity/read_metadata.c - read profiler_metadata.json, or the
 * table META_DATA of an event database
 *
 * Both tell the world size, communicator groups and, where nothing else tells
 * it, the rank.  Each rank lists the members of each of its groups, so a job of
 * n ranks has n lists of n numbers: they are scanned, not parsed into trees.
 */
#include "extract/sink/source.h"

#include "base/units.h"
#include "extract/input/profiler_db.h"
#include "identity/identity.h"
#include "identity/metadata_info.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "profiler_metadata.json"
#define ARGS "distributed_args"
#define KEY_MAX 512             // bytes of a group's id or name, and its NUL

struct group {
    char id[KEY_MAX], name[KEY_MAX];
    double rank;                // of this process in the group, -1: not known
    struct rank_list *list;     // NULL: there is none
    const char *bad;            // what is wrong with the group, or NULL
};

struct metadata {
    struct scan s;
    struct source *src;
    const char *name;           // of the file, in messages
    struct err *err;            // set without memory
    struct group g;
    int64_t rank;               // in the world's group, or none
    int64_t world_of_group;     // how many members it has, 0: none
    bool full;                  // there was no room for a group
};

/* A value of the wrong type counts as none. */
static bool take_number (struct scan *s, double *ret)
{
    char c = scan_peek (s);

    if (c != '-' && (c < '0' || c > '9'))
        return scan_skip (s);
    return scan_real (s, ret);
}

static bool read_members (struct metadata *m)
{
    struct group *g = &m->g;
    int rc;

    rank_list_drop (g->list);
    g->list = NULL;
    g->bad = "has no list of ranks";
    if (scan_peek (&m->s) != '[')
        return scan_skip (&m->s);
    rc = rank_list_read (&m->s, g->id, true, &g->list, &g->bad);
    if (rc == -ENOMEM)
        m->src->stopped = err_set (m->err, ENOMEM, "no memory for group %s",
                                   g->id);
    return rc == 0;
}

/* Leave an invalid group out, and record the damage. */
static void bad_group (struct metadata *m, const char *what)
{
    capture_reason (m->src->capture, "%s: group %s %s", m->name, m->g.id,
                    what);
    m->src->damaged = true;
}

static void note_world (struct metadata *m)
{
    const struct group *g = &m->g;

    if (strcmp (g->name, "default_group") != 0 &&
        strcmp (g->name, "hccl_world_group") != 0)
        return;
    if (m->world_of_group == 0)
        m->world_of_group = g->list->n;
    if (m->rank == CAPTURE_NO_RANK && g->rank >= 0 &&
        g->rank < g->list->n && g->rank == (double)(int64_t)g->rank)
        m->rank = g->list->ranks[(size_t)g->rank];
    m->src->capture->evidence.ranks.group = m->rank;
}

static bool add_group (struct metadata *m)
{
    struct group *g = &m->g;
    int rc;

    if (g->bad || !g->list || g->list->n == 0 || m->full) {
        if (g->bad && !m->full)
            bad_group (m, g->bad);
        return true;
    }
    note_world (m);
    rc = capture_share_group (m->src->capture, g->id, g->name, g->list, m->err);
    if (rc == -E2BIG) {
        m->full = true;
        bad_group (m, "and the groups after it are too many");
    } else if (rc < 0) {
        m->src->stopped = rc;
    }
    return rc == 0 || rc == -E2BIG;
}

static const struct predicted_key group_fields[] = {
    SCAN_FIELD ("group_name"), SCAN_FIELD ("group_rank"),
    SCAN_FIELD ("global_ranks"),
};

static bool read_group (struct metadata *m)
{
    struct scan *s = &m->s;
    struct group *g = &m->g;
    const char *long_id = NULL;
    int next = 0, i;

    PRINT (g->id, "%.*s", (int)(s->key_size < KEY_MAX ? s->key_size : KEY_MAX),
           s->key);
    g->name[0] = '\0';
    g->rank = -1;
    rank_list_drop (g->list);
    g->list = NULL;
    g->bad = "has no list of ranks";
    if (s->key_size >= KEY_MAX)
        long_id = "has too long an id";
    if (scan_peek (s) != '{')
        return scan_skip (s) && add_group (m);
    if (!scan_object (s))
        return false;
    for (bool first = true;;) {
        i = scan_field (s, &first, group_fields, 3, &next);
        if (i == SCAN_DONE)
            break;
        if (i == SCAN_OTHER ? !scan_skip (s)
            : i == 0        ? !scan_copy (s, g->name, sizeof (g->name))
            : i == 1        ? !take_number (s, &g->rank)
                            : !read_members (m))
            return false;
    }
    g->bad = long_id ? long_id : g->bad;
    return !s->failed && add_group (m);
}

static bool read_groups (struct metadata *m)
{
    struct scan *s = &m->s;

    if (scan_peek (s) != '{')
        return scan_skip (s);
    if (!scan_object (s))
        return false;
    for (bool first = true; scan_member (s, &first);) {
        if (!read_group (m))
            return false;
    }
    return !s->failed;
}

/* Read the world's size, which also becomes a row, like its neighbours. */
static bool take_world (struct metadata *m, double *v)
{
    static const char name[] = ARGS ".world_size";
    char text[32];
    int n;

    if (!take_number (&m->s, v))
        return false;
    n = snprintf (text, sizeof (text), "%.15g", *v);
    if (*v != 0)
        capture_facts_info (m->src, "metadata", name, strlen (name), text,
                            (size_t)n);
    return true;
}

static bool take_arg_rank (struct metadata *m)
{
    static const char name[] = ARGS ".rank";
    int64_t *rank = &m->src->capture->evidence.ranks.args;
    char text[24];
    int n;

    if (!rank_list_rank (&m->s, true, rank))
        return false;
    n = snprintf (text, sizeof (text), "%lld", (long long)*rank);
    capture_facts_info (m->src, "metadata", name, strlen (name), text,
                        (size_t)n);
    return true;
}

static bool read_args (struct metadata *m)
{
    struct scan *s = &m->s;
    double v = 0;

    if (scan_peek (s) != '{')
        return scan_skip (s);
    if (!scan_object (s))
        return false;
    for (bool first = true; scan_member (s, &first);) {
        if (scan_key_is (s, "world_size") ? !take_world (m, &v)
            : scan_key_is (s, "rank")     ? !take_arg_rank (m)
                                          : !metadata_sub (m->src, s, ARGS))
            return false;
    }
    if (v >= 1 && v <= (double)capture_world_max && v == (double)(int64_t)v)
        m->src->capture->world_size = (int64_t)v;
    return !s->failed;
}

static const struct predicted_key top_fields[] = {
    SCAN_FIELD (ARGS), SCAN_FIELD ("parallel_group_info"),
};

static void read_metadata_walk (struct metadata *m)
{
    struct scan *s = &m->s;
    int next = 0, i;

    if (!scan_object (s))
        return;
    for (bool first = true;;) {
        i = scan_field (s, &first, top_fields, 2, &next);
        if (i == SCAN_DONE)
            break;
        if (i == SCAN_OTHER ? !metadata_value (m->src, s, s->key, s->key_size)
            : i == 0        ? !read_args (m)
                            : !read_groups (m))
            return;
    }
    if (!s->failed)
        (void)scan_end (s);
}

static enum reading read_whole (struct metadata *m, struct capture_file *file)
{
    enum reading how = READING_STOPPED;

    if (scan_init (&m->s, capture_file_read, file) < 0) {
        m->src->stopped = err_set (m->err, ENOMEM, "no memory to read "
                                   FILE_NAME);
    } else {
        read_metadata_walk (m);
        how = capture_file_verdict (file, &m->s, m->err);
    }
    scan_fini (&m->s);
    rank_list_drop (m->g.list);
    m->g.list = NULL;
    return how;
}

/* ---- META_DATA ---- */

/* Read one value: it is JSON as in the file. */
static bool read_value (struct metadata *m, bool groups,
                        struct scan_bytes text)
{
    bool good = scan_init (&m->s, scan_read_bytes, &text) == 0;

    if (!good) {
        m->src->stopped = err_set (m->err, ENOMEM, "no memory to read %s",
                                   m->name);
    } else if (!(groups ? read_groups (m) : read_args (m)) ||
               !scan_end (&m->s) || m->s.bad_utf8 > 0) {
        good = m->src->stopped == 0;
        capture_reason (m->src->capture, "%s: META_DATA: %s: %s", m->name,
                        groups ? "parallel_group_info" : "distributed_args",
                        m->s.failed ? m->s.err.text : "not valid UTF-8");
        m->src->damaged = true;
    }
    scan_fini (&m->s);
    return good;
}

/* Read META_DATA. If the database is damaged, the readers of its tables report
 * that.
 */
static void read_table (struct metadata *m)
{
    static const char sql[] =
        "SELECT name='parallel_group_info', value FROM META_DATA WHERE name "
        "IN ('parallel_group_info', 'distributed_args') AND "
        "typeof(value)='text' LIMIT 2";
    struct profiler_db *db = NULL;
    struct db_blob text;
    struct db_rows r;
    bool groups;

    if (profiler_db_open (m->src, m->src->event_dir, m->src->event_db, &db,
                          m->err) != READING_WHOLE)
        return;
    r = db_rows (db->sql, NULL, sql);
    while (db_row (&r, groups, text)) {
        struct scan_bytes rest = {
            text.data, text.size
        };

        if (text.data && !read_value (m, groups, rest))
            break;
    }
    (void)db_end (&r);
    profiler_db_close (db);
    rank_list_drop (m->g.list);
    m->g.list = NULL;
}

int read_metadata (struct source *src, struct err *err)
{
    struct metadata m = { .src = src, .name = FILE_NAME, .err = err,
                          .rank = CAPTURE_NO_RANK };
    struct capture *c = src->capture;
    struct capture_file file;
    enum reading how = capture_file_open (&file, src, src->dir, FILE_NAME, err);

    if (how == READING_WHOLE)
        how = read_whole (&m, &file);
    capture_file_close (&file);
    if (how == READING_ABSENT && src->event_db[0]) {
        m.name = src->event_db;
        read_table (&m);
        how = src->stopped ? READING_STOPPED : READING_ABSENT;
    }
    if (how == READING_STOPPED)
        return src->stopped;
    if (how == READING_DAMAGED) {
        capture_reason (c, "%s", err->text);
        src->damaged = true;
    }
    if (c->world_size == 0)
        c->world_size = m.world_of_group;
    if (c->rank == CAPTURE_NO_RANK)
        c->rank = m.rank;
    return 0;
}
