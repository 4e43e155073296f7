/* node_agent/extract/event_db/event_mstx.c - read marks of communication calls
 *
 * With mstx a program marks each call of the communication library, on the host
 * and on the device, with a description of the call.  Such a mark replaces an
 * op whose tasks are unknown.  See doc/formats.md, "Marks".
 */
#include "extract/event_db/event_db.h"

#include "base/texts.h"
#include "base/units.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OLD_PREFIX 9            // bytes before the name in old marks
#define NAME_MAX_BYTES 256u     // of the name of a call or group, with the NUL
#define WORDS_MAX 8192u

/* A parsed message; many marks share a message. */
struct call {
    int64_t message;            // key: id of its string
    bool is_call;
    bool receives;
    uint32_t name, group;       // numbers in 'words'
    double payload;
    int32_t peer;
};

struct event_marks {
    struct map calls;
    struct texts words;         // names of calls and groups
    struct map pairs;
};

/* Counts the marks of a name and group. */
struct pair {
    uint32_t name, group;       // the key
    uint32_t count;
};

void event_marks_fini (struct event_marks *m)
{
    if (!m)
        return;
    map_fini (&m->calls);
    map_fini (&m->pairs);
    texts_fini (&m->words);
    free (m);
}

/* Get the number of a word. */
static bool intern (struct event_db *e, const char *word, uint32_t *ret)
{
    struct texts *words = &e->marks->words;

    if ((*ret = texts_intern (words, word, strlen (word))) == TEXTS_NONE)
        return event_no_memory (e);
    return words->map.n <= WORDS_MAX ||
           event_damage (e, "its marks name more than %u groups", WORDS_MAX);
}

static int element_bytes (const char *type)
{
    static const struct {
        const char *name;
        int bytes;
    } types[] = {
        { "int8", 1 },   { "int16", 2 },  { "int32", 4 }, { "fp16", 2 },
        { "fp32", 4 },   { "int64", 8 },  { "uint64", 8 }, { "uint8", 1 },
        { "uint16", 2 }, { "uint32", 4 }, { "fp64", 8 },  { "bfp16", 2 },
    };

    for (size_t i = 0; i < sizeof (types) / sizeof (types[0]); i++) {
        if (strcmp (types[i].name, type) == 0)
            return types[i].bytes;
    }
    return 0;
}

static bool understand (struct event_db *e, struct call *call,
                        const char *name, const char *group, const char *type,
                        const char *count, const char *peer)
{
    int64_t n, bytes = element_bytes (type);
    int64_t rank;

    if (strlen (name) >= NAME_MAX_BYTES || strlen (group) >= NAME_MAX_BYTES)
        return true;            // not from the library
    call->is_call = true;
    call->receives = strcasecmp (name, "HcclRecv") == 0;
    // for these calls the count does not give the bytes
    if (bytes > 0 && strcasecmp (name, "HcclAlltoAllV") != 0 &&
        strcasecmp (name, "HcclBatchSendRecv") != 0 &&
        units_int (count, 1, INT64_C (1) << 52, &n) == 0)
        call->payload = (double)n * (double)bytes;
    if (units_int (peer, 0, capture_world_max - 1, &rank) == 0)
        call->peer = (int32_t)rank;
    return intern (e, name, &call->name) && intern (e, group, &call->group);
}

/* Parse {\"opName\": \"HcclAllreduce\",...}, with the backslashes as they are
 * here.
 */
static bool read_object (struct event_db *e, struct call *call, char *text)
{
    struct json *j;
    size_t n = 0;
    bool good = true;
    const char *name, *group, *type, *count, *peer;

    for (const char *p = text; *p; p++) {
        if (*p != '\\' || p[1] != '"')
            text[n++] = *p;
    }
    if (!(j = json_parse (text, n, NULL)))
        return true;            // it is another mark, which is no damage
    name = json_text (json_get (j, "opName"), NULL);
    group = json_text (json_get (j, "groupName"), NULL);
    type = json_text (json_get (j, "dataType"), NULL);
    count = json_text (json_get (j, "count"), NULL);
    peer = json_text (json_get (j, "destRank"), NULL);
    if (!peer)
        peer = json_text (json_get (j, "srcRank"), "");
    if (name && group && type && count && json_get (j, "streamId"))
        good = understand (e, call, name, group, type, count, peer);
    json_free (j);
    return good;
}

/* Parse "<9 bytes>HcclAllreduce,group,fp16,count", which older programs wrote.
 */
static bool read_fields (struct event_db *e, struct call *call, char *text)
{
    char *fields[4], *save = NULL;
    unsigned n = 0;

    if (strlen (text) <= OLD_PREFIX)
        return true;
    text += OLD_PREFIX;
    for (char *f = strtok_r (text, ",", &save); f;
         f = strtok_r (NULL, ",", &save)) {
        if (n == 4)
            return true;
        fields[n++] = f;
    }
    if (n != 4 || strncasecmp (fields[0], "Hccl", 4) != 0)
        return true;
    return understand (e, call, fields[0], fields[1], fields[2], fields[3],
                       "");
}

static bool find_call (struct event_db *e, int64_t message,
                       const struct call **ret)
{
    struct event_marks *m = e->marks;
    char text[EVENT_NAME_MAX];
    struct call *call;
    bool is_new;

    if (!(call = map_put (&m->calls, &message, &is_new)))
        return event_no_memory (e);
    if (is_new) {
        if (m->calls.n > EVENT_OPS_MAX)
            return event_damage (e, "it has too many kinds of marks");
        call->payload = NAN;
        call->peer = -1;
        if (!event_string (e, message, text) ||
            !(text[0] == '{' ? read_object (e, call, text)
                             : read_fields (e, call, text)))
            return false;
    }
    *ret = call;
    return true;
}

static bool take_mark (struct event_db *e, sqlite3_stmt *st)
{
    const struct call *call = NULL;
    struct event_op *op;
    int64_t start, end;

    if (!find_call (e, sqlite3_column_int64 (st, 2), &call))
        return false;
    if (!call->is_call)
        return true;
    if (!event_time (st, 0, &start) || !event_time (st, 1, &end)) {
        event_note_bad_row (e, "MSTX_EVENTS", "a mark has impossible times",
                            sqlite3_column_int64 (st, 3));
        return true;
    }
    if (!(op = event_add_op (e)))
        return false;
    op->id = e->nops;
    op->start = start;
    op->end = end;
    op->connection = sqlite3_column_int64 (st, 3);
    op->name = call->name;
    op->group = call->group;
    op->payload = call->payload;
    op->receives = call->receives;
    op->peer = call->peer;
    return true;
}

bool event_load_marks (struct event_db *e)
{
    static const char *const names[] = { "startNs", "endNs", "message",
                                         "connectionId" };
    bool have[4] = { false, false, false, false };
    struct event_query q;

    if (!event_has (e, "MSTX_EVENTS", names, 4, have))
        return e->how == READING_WHOLE;
    if (!event_need (e, "MSTX_EVENTS", names, have, 4))
        return false;
    if (!(e->marks = calloc (1, sizeof (*e->marks))))
        return event_no_memory (e);
    e->marks->calls = (struct map)MAP (struct call, 1);
    e->marks->pairs = (struct map)MAP (struct pair, 1);
    q = event_ask (e, "MSTX_EVENTS",
                   "startNs, endNs, message, connectionId", NULL);
    while (event_next (&q) && take_mark (e, q.st))
        continue;
    return event_end (&q);
}

bool event_mark_names (struct event_db *e, const struct event_op *op,
                       char name[EVENT_NAME_MAX], char key[CAPTURE_HASH_MAX])
{
    struct event_marks *m = e->marks;
    struct pair *pair;
    size_t n;
    bool is_new;

    if (!(pair = map_put (&m->pairs, &(struct pair){ op->name, op->group, 0 },
                          &is_new)))
        return event_no_memory (e);
    event_group_key (texts_at (&m->words, op->group), key);
    n = strlen (key);
    (void)snprintf (name, EVENT_NAME_MAX, "%s__%s_%u_1", texts_at (&m->words, op->name),
                    key + (n > 3 ? n - 3 : 0), pair->count++);
    return true;
}
