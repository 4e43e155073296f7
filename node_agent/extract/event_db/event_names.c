/* node_agent/extract/event_db/event_names.c - rows, strings and enumerations of
 * an event database
 */
#include "extract/event_db/event_db.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the number of steps that contain a span, beyond one: steps of real
 * files do not overlap.
 */
#define WORK_OF_BYTE 4u
#define WORK_LEAST 10000000u

#define COLUMNS_MAX 128         // bytes of their names, as event_ask has them

bool event_damage (struct event_db *e, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list ap;

    va_start (ap, fmt);
    (void)vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    if (e->how == READING_WHOLE) {
        e->how = READING_DAMAGED;
        (void)err_set (&e->why, EBADMSG, "%s: %s", e->db->file.name, text);
    }
    return false;
}

bool event_no_memory (struct event_db *e)
{
    e->how = READING_STOPPED;
    e->src->stopped = err_set (&e->why, ENOMEM, "no memory to read %s",
                               e->db->file.name);
    return false;
}

bool event_sorter_failed (struct event_db *e, int rc, const struct err *err)
{
    if (rc == -ENOMEM)
        return event_no_memory (e);
    return event_damage (e, "%s", err->text);
}

void event_note_bad_row (struct event_db *e, const char *table,
                         const char *what,
                         int64_t number)
{
    if (e->bad_rows++ == 0)
        (void)err_set (&e->bad, EBADMSG, "%s: %s: %s (row %lld)",
                       e->db->file.name, table, what, (long long)number);
}

bool event_account_work (struct event_db *e, uint64_t work)
{
    e->work += work;
    if (e->work <= WORK_LEAST + WORK_OF_BYTE * e->db->size)
        return true;
    return event_damage (e, "its steps overlap too much to be valid");
}

sqlite3_stmt *event_prepare (struct event_db *e, const char *sql)
{
    sqlite3_stmt *st = NULL;

    if (sqlite3_prepare_v2 (e->db->sql, sql, -1, &st, NULL) == SQLITE_OK)
        return st;
    e->how = profiler_db_damaged (e->db, &e->why);
    (void)sqlite3_finalize (st);
    return NULL;
}

struct event_query event_ask (struct event_db *e, const char *table,
                              const char *columns, const char *sql)
{
    struct event_query q = { .e = e };
    char text[COLUMNS_MAX], plain[COLUMNS_MAX + 64], *save = NULL;
    const char *names[8];
    unsigned n = 0;

    (void)snprintf (text, sizeof (text), "%s", columns);
    for (char *c = strtok_r (text, ", ", &save); c && n < 8;
         c = strtok_r (NULL, ", ", &save))
        names[n++] = c;
    (void)snprintf (plain, sizeof (plain), "SELECT %s FROM %s", columns, table);
    if (event_has_all (e, table, names, n))
        q.st = event_prepare (e, sql ? sql : plain);
    q.rc = e->how == READING_WHOLE ? 0 : -1;
    return q;
}

bool event_next (struct event_query *q)
{
    return q->st && (q->rc = event_row (q->e, q->st)) == 1;
}

bool event_end (struct event_query *q)
{
    (void)sqlite3_finalize (q->st);
    return q->rc == 0;
}

int event_count_row (struct event_db *e)
{
    if (++e->db->rows <= e->db->size)   // real rows take about 30 bytes
        return 1;
    e->how = profiler_db_endless (e->db, &e->why);
    return -1;
}

int event_row (struct event_db *e, sqlite3_stmt *st)
{
    int rc = sqlite3_step (st);

    if (rc == SQLITE_DONE)
        return 0;
    if (rc == SQLITE_ROW)
        return event_count_row (e);
    e->how = profiler_db_damaged (e->db, &e->why);
    return -1;
}

bool event_has (struct event_db *e, const char *table,
                const char *const *names, unsigned n, bool *have)
{
    struct err err = { "" };
    enum reading how = profiler_db_columns (e->db, table, names, n, have,
                                            &err);

    if (how == READING_DAMAGED && e->how == READING_WHOLE) {
        e->how = how;
        e->why = err;
    }
    return how == READING_WHOLE;
}

bool event_has_all (struct event_db *e, const char *table,
                    const char *const *names, unsigned n)
{
    bool have[8] = { false };

    if (!event_has (e, table, names, n, have))
        return false;
    for (unsigned i = 0; i < n; i++) {
        if (!have[i])
            return false;
    }
    return true;
}

bool event_need (struct event_db *e, const char *table,
                 const char *const *names, const bool *have, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!have[i])
            return event_damage (e, "table %s has no column %s", table,
                                 names[i]);
    }
    return true;
}

bool event_is_number (sqlite3_value *v)
{
    int type = sqlite3_value_type (v);
    const char *s;

    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
        return true;
    s = (const char *)sqlite3_value_text (v);
    return s && *s && strspn (s, "0123456789") == strlen (s);
}

bool event_time (sqlite3_stmt *st, int column, int64_t *ret)
{
    sqlite3_value *v = sqlite3_column_value (st, column);

    *ret = sqlite3_value_int64 (v);
    return event_is_number (v) && *ret >= 0 && *ret <= INTERVALS_MAX;
}

/* ---- strings ---- */

void event_text (struct event_db *e, sqlite3_value *v, char *out, size_t max)
{
    const char *s = (const char *)sqlite3_value_text (v);
    size_t n = s ? strnlen (s, (size_t)sqlite3_value_bytes (v)) : 0;
    char *fixed = NULL;

    e->db->long_texts += n >= max;
    n = utf8_cut (s, n, max - 1);
    if (n > 0 && !(fixed = malloc (3 * n))) {
        (void)event_no_memory (e);
        n = 0;
    }
    if (fixed)
        n = utf8_repair (s, n, fixed, &e->db->bad_utf8);
    if (fixed) {                // the repaired text may be longer
        n = utf8_cut (fixed, n, max - 1);
        memcpy (out, fixed, n);
    }
    out[n] = '\0';
    free (fixed);
}

int event_find_string (struct event_db *e, int64_t id,
                       char out[EVENT_NAME_MAX])
{
    int rc;

    out[0] = '\0';
    if (!e->text &&
        !(e->text = event_prepare (e, "SELECT value FROM STRING_IDS "
                                    "WHERE id=?1")))
        return -1;
    (void)sqlite3_reset (e->text);
    (void)sqlite3_bind_int64 (e->text, 1, id);
    rc = event_row (e, e->text);
    if (rc == 1 && sqlite3_column_type (e->text, 0) == SQLITE_NULL)
        rc = 0;
    if (rc == 1)
        event_text (e, sqlite3_column_value (e->text, 0), out,
                    EVENT_NAME_MAX);
    (void)sqlite3_reset (e->text);
    return e->how == READING_WHOLE ? rc : -1;
}

bool event_string (struct event_db *e, int64_t id, char out[EVENT_NAME_MAX])
{
    int rc = event_find_string (e, id, out);

    if (rc == 0)
        event_note_bad_row (e, "STRING_IDS", "a string is missing", id);
    return rc >= 0;
}

void event_group_key (const char *name, char out[CAPTURE_HASH_MAX])
{
    size_t n = strlen (name);

    // the profiler did not resolve it: only the hash is known
    if (n > 0 && n < CAPTURE_HASH_MAX && strspn (name, "0123456789") == n)
        memcpy (out, name, n + 1);
    else
        capture_group_hash (name, out);
}

/* ---- enumerations ---- */

struct name_code {
    const char *name;
    int code;
};

static const struct name_code transports[] = {
    { "SDMA", TRANSPORT_SDMA }, { "RDMA", TRANSPORT_RDMA }, { NULL, 0 },
};
static const struct name_code links[] = {
    { "ON_CHIP", LINK_ON_CHIP }, { "HCCS", LINK_HCCS }, { "PCIE", LINK_PCIE },
    { "SIO", LINK_SIO }, { "HCCS_SW", LINK_HCCS_SW }, { NULL, 0 },
};
static const struct name_code rdma[] = {
    { "RDMA_SEND_PAYLOAD", RDMA_PAYLOAD }, { NULL, 0 },
};
static const struct name_code data[] = {        // bytes of an element
    { "INT8", 1 },    { "INT16", 2 },   { "INT32", 4 },   { "FP16", 2 },
    { "FP32", 4 },    { "INT64", 8 },   { "UINT64", 8 },  { "UINT8", 1 },
    { "UINT16", 2 },  { "UINT32", 4 },  { "FP64", 8 },    { "BFP16", 2 },
    { "INT128", 16 }, { "HIF8", 1 },    { "FP8E4M3", 1 }, { "FP8E5M2", 1 },
    { "FP8E8M0", 1 }, { NULL, 0 },
};
static const struct name_code apis[] = {
    { "node", API_NODE }, { "op", API_OP }, { NULL, 0 },
};

static const struct enum_table {
    const char *table;
    const struct name_code *names;
} enum_tables[EVENT_ENUMS] = {
    [ENUM_TRANSPORT] = { "ENUM_HCCL_TRANSPORT_TYPE", transports },
    [ENUM_LINK] = { "ENUM_HCCL_LINK_TYPE", links },
    [ENUM_RDMA] = { "ENUM_HCCL_RDMA_TYPE", rdma },
    [ENUM_DATA] = { "ENUM_HCCL_DATA_TYPE", data },
    [ENUM_API] = { "ENUM_API_TYPE", apis },
};

static int code_of (const struct name_code *names, const char *name)
{
    for (; names->name; names++) {
        if (strcmp (names->name, name) == 0)
            return names->code;
    }
    return 0;
}

static bool load_enum (struct event_db *e, const struct enum_table *t,
                       struct event_codes *c)
{
    struct event_query q = event_ask (e, t->table, "id, name", NULL);

    while (event_next (&q) && c->n < EVENT_ENUM_VALUES) {
        struct event_code *v = &c->values[c->n++];

        v->id = sqlite3_column_int64 (q.st, 0);
        event_text (e, sqlite3_column_value (q.st, 1), v->name,
                    sizeof (v->name));
        v->code = code_of (t->names, v->name);
    }
    (void)event_end (&q);
    return e->how == READING_WHOLE;
}

bool event_load_enums (struct event_db *e)
{
    for (unsigned i = 0; i < EVENT_ENUMS; i++) {
        if (!load_enum (e, &enum_tables[i], &e->enums[i]))
            return false;
    }
    return true;
}

static const struct event_code *find_code (const struct event_db *e,
                                           enum event_enum which, int64_t id)
{
    const struct event_codes *c = &e->enums[which];

    for (unsigned i = 0; i < c->n; i++) {
        if (c->values[i].id == id)
            return &c->values[i];
    }
    return NULL;
}

int event_code (const struct event_db *e, enum event_enum which, int64_t id)
{
    const struct event_code *c = find_code (e, which, id);

    return c ? c->code : 0;
}

bool event_enum_has (const struct event_db *e, enum event_enum which, int code)
{
    const struct event_codes *c = &e->enums[which];

    for (unsigned i = 0; i < c->n; i++) {
        if (c->values[i].code == code)
            return true;
    }
    return false;
}

const char *event_enum_name (const struct event_db *e, enum event_enum which,
                             int64_t id)
{
    const struct event_code *c = find_code (e, which, id);

    return c ? c->name : NULL;
}

bool event_task_kind (struct event_db *e, int64_t id, uint8_t *ret)
{
    char name[EVENT_NAME_MAX];
    struct event_task_type *type;
    bool is_new;

    if (!(type = map_put (&e->task_types, &id, &is_new)))
        return event_no_memory (e);
    if (is_new) {
        if (e->task_types.n > EVENT_KINDS_MAX)
            return event_damage (e, "it has too many types of tasks");
        if (!event_string (e, id, name))
            return false;
        type->kind = strcmp (name, "Memcpy") == 0 ||
                             strcmp (name, "Reduce_Inline") == 0 ? TASK_DATA
                     : strcmp (name, "Notify_Wait") == 0         ? TASK_WAIT
                                                                 : TASK_OTHER;
    }
    *ret = type->kind;
    return true;
}

/* ---- devices and sums ---- */

bool event_note_device (struct event_db *e, int64_t device)
{
    unsigned at = e->ndevices;

    for (unsigned i = 0; i < e->ndevices; i++) {
        if (e->devices[i] == device)
            return true;
    }
    if (e->ndevices == EVENT_DEVICES_MAX)
        return event_damage (e, "it has more than %u devices",
                             EVENT_DEVICES_MAX);
    for (; at > 0 && e->devices[at - 1] > device; at--)
        e->devices[at] = e->devices[at - 1];
    e->devices[at] = device;
    e->ndevices++;
    return true;
}

bool event_sum_add (struct event_db *e, struct map *sums, int64_t a,
                    int64_t b, int64_t device, int64_t start, int64_t end)
{
    double ns = (double)(end - start);
    const struct event_sum first = { a, b, device, 0, 0, ns, ns, start };
    struct event_sum *sum;
    bool is_new;

    if (!(sum = map_put (sums, &first, &is_new)))
        return event_no_memory (e);
    if (sums->n > EVENT_KINDS_MAX)
        return event_damage (e, "it has too many kinds of calls or operators");
    if (is_new)
        *sum = first;
    sum->count++;
    sum->total += ns;
    sum->min = ns < sum->min ? ns : sum->min;
    sum->max = ns > sum->max ? ns : sum->max;
    sum->first = start < sum->first ? start : sum->first;
    return true;
}
