/* node_agent/extract/event_db/event_ops.c - read the communication ops of an
 * event database
 */
#include "extract/event_db/event_db.h"

#include "base/units.h"
#include "base/vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NO_STRING UINT32_MAX    // ids have 32 bits

struct event_op *event_add_op (struct event_db *e)
{
    struct event_op *p;

    if (e->nops >= EVENT_OPS_MAX) {
        (void)event_damage (e, "it has more than %u communication ops",
                            EVENT_OPS_MAX);
        return NULL;
    }
    if (!(p = vec_next (&e->ops, e->nops, sizeof (*p)))) {
        (void)event_no_memory (e);
        return NULL;
    }
    *p = (struct event_op){ .began = INT64_MAX, .device = EVENT_NO_DEVICE,
                            .payload = NAN, .peer = -1, .step = -1 };
    e->nops++;
    return p;
}

void event_select (char *sql, size_t max, const char *const *names,
                   const bool *have, unsigned n, const char *table)
{
    size_t used = (size_t)snprintf (sql, max, "SELECT ");

    for (unsigned i = 0; i < n && used < max; i++)
        used += (size_t)snprintf (sql + used, max - used, "%s%s", i ? "," : "",
                                  have[i] ? names[i] : "NULL");
    if (used < max)
        (void)snprintf (sql + used, max - used, " FROM %s", table);
}

enum { OP_ID, OP_NAME, OP_START, OP_END, OP_CONNECTION, OP_GROUP, OP_COUNT,
       OP_DATA, OP_DEVICE, OP_COLUMNS };

static bool look_at_name (struct event_db *e, struct event_op *op)
{
    char text[EVENT_NAME_MAX];
    int rc = event_find_string (e, op->name, text);

    if (rc == 0)
        event_note_bad_row (e, "COMMUNICATION_OP", "an op has no name", op->id);
    op->receives = strncmp (text, "hcom_receive", 12) == 0;
    return rc >= 0;
}

static uint32_t string_id (sqlite3_stmt *st, int column)
{
    sqlite3_value *v = sqlite3_column_value (st, column);
    int64_t id = event_is_number (v) ? sqlite3_value_int64 (v) : -1;

    return id >= 0 && id < NO_STRING ? (uint32_t)id : NO_STRING;
}

static bool take_op (struct event_db *e, sqlite3_stmt *st)
{
    int64_t id = sqlite3_column_int64 (st, OP_ID), start, end;
    double count = sqlite3_column_double (st, OP_COUNT);
    int bytes = event_code (e, ENUM_DATA, sqlite3_column_int64 (st, OP_DATA));
    int64_t device = sqlite3_column_int64 (st, OP_DEVICE);
    struct event_op *op;

    if (!event_time (st, OP_START, &start) || !event_time (st, OP_END, &end) ||
        end < start) {
        event_note_bad_row (e, "COMMUNICATION_OP", "an op has impossible times",
                            id);
        return true;
    }
    if (!(op = event_add_op (e)))
        return false;
    op->id = id;
    op->start = start;
    op->end = end;
    op->name = string_id (st, OP_NAME);
    op->group = string_id (st, OP_GROUP);
    op->connection = sqlite3_column_int64 (st, OP_CONNECTION);
    if (bytes > 0 && count > 0 && count < 1e18)
        op->payload = count * bytes;
    if (sqlite3_column_type (st, OP_DEVICE) == SQLITE_INTEGER && device >= 0 &&
        device <= INT32_MAX)
        op->device = (int32_t)device;
    op->own_device = op->device >= 0;
    return (op->device < 0 || event_note_device (e, device)) &&
           look_at_name (e, op);
}

bool event_load_ops (struct event_db *e)
{
    static const char *const names[OP_COLUMNS] = {
        "opId", "opName", "startNs", "endNs", "connectionId", "groupName",
        "count", "dataType", "deviceId",
    };
    bool have[OP_COLUMNS] = { false };
    char sql[256];
    sqlite3_stmt *st;
    int rc;

    if (!event_has (e, "COMMUNICATION_OP", names, OP_COLUMNS, have))
        return e->how == READING_WHOLE;
    if (!event_need (e, "COMMUNICATION_OP", names, have, OP_GROUP + 1))
        return false;
    event_select (sql, sizeof (sql), names, have, OP_COLUMNS,
                  "COMMUNICATION_OP");
    if (!(st = event_prepare (e, sql)))
        return false;
    while ((rc = event_row (e, st)) == 1 && take_op (e, st))
        continue;
    (void)sqlite3_finalize (st);
    e->has_ops = e->nops > 0;
    return rc == 0;
}

static int by_start (const void *pa, const void *pb)
{
    const struct event_op *a = pa, *b = pb;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int by_name (const void *pa, const void *pb, void *arg)
{
    const struct event_op *ops = arg;
    uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
    const struct event_op *a = &ops[i], *b = &ops[j];

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return i < j ? -1 : i > j;
}

int event_by_id (const void *pa, const void *pb, void *arg)
{
    const struct event_op *ops = arg;
    int64_t a = ops[*(const uint32_t *)pa].id;
    int64_t b = ops[*(const uint32_t *)pb].id;

    return a < b ? -1 : a > b;
}

int event_by_connection (const void *pa, const void *pb, void *arg)
{
    const struct event_op *ops = arg;
    uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
    int64_t a = ops[i].connection, b = ops[j].connection;

    if (a != b)
        return a < b ? -1 : 1;
    return i < j ? -1 : i > j;
}

uint32_t *event_index_ops (struct event_db *e,
                           int (*order) (const void *, const void *, void *))
{
    uint32_t *index = calloc (e->nops + 1u, sizeof (*index));

    if (!index) {
        (void)event_no_memory (e);
        return NULL;
    }
    for (uint32_t i = 0; i < e->nops; i++)
        index[i] = i;
    if (e->nops > 1)
        qsort_r (index, e->nops, sizeof (*index), order, e->ops);
    return index;
}

/* Most databases have sorted ops; sorting takes memory for each op. */
void event_order_ops (struct event_db *e)
{
    uint32_t i = 1;

    while (i < e->nops && by_start (&e->ops[i - 1], &e->ops[i]) <= 0)
        i++;
    if (i < e->nops)
        qsort (e->ops, e->nops, sizeof (*e->ops), by_start);
}

bool event_mark_repeated (struct event_db *e)
{
    uint32_t *index;

    if (e->marks)
        return true;            // their names depend on their order
    if (!(index = event_index_ops (e, by_name)))
        return false;
    for (uint32_t i = 1; i < e->nops; i++) {
        const struct event_op *before = &e->ops[index[i - 1]];
        struct event_op *op = &e->ops[index[i]];

        op->again = op->name == before->name && op->group == before->group &&
                    op->device == before->device;
    }
    free (index);
    return true;
}

/* ---- their steps ---- */

/* The time as the profiler compares it: printed as a double of us, then read as
 * whole ns.
 */
static int64_t printed_ns (int64_t ns)
{
    double us = time_us (ns), back = 0;
    int64_t ret = ns;
    char text[40];

    for (int places = 0; places <= 3; places++) {
        int n = snprintf (text, sizeof (text), "%.*f", places, us);

        if (units_real (text, (size_t)n, &back) == 0 && back == us) {
            (void)units_us_to_ns (text, (size_t)n, &ret);
            break;
        }
    }
    return ret;
}

int64_t event_op_began (const struct event_db *e, const struct event_op *op)
{
    return e->has_masters && op->began != INT64_MAX ? op->began : op->start;
}

bool event_find_step (struct event_db *e, struct event_op *op)
{
    int64_t at = printed_ns (event_op_began (e, op));
    uint32_t i = 0;

    while (!e->nameless && i < e->nsteps &&
           (e->steps[i].start > at || e->steps[i].end < at))
        i++;
    op->step = i < e->nsteps ? (int32_t)i : -1;
    return event_account_work (e, i / 16);
}
