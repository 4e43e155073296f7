/* node_agent/identity/identity.c - identify the owner of a capture
 *
 * The metadata files of a capture tell its rank, world, communicator groups,
 * level and dates.  doc/formats.md, "Rank of a capture", says which source of a
 * rank is believed before which.
 */
#include "extract/input/profiler_db.h"
#include "identity/capture_name.h"
#include "identity/identity.h"
#include "identity/info_file.h"
#include "identity/metadata_info.h"
#include "identity/trace_kind.h"

#include "base/units.h"
#include "base/utf8.h"
#include "json/json.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* "<start>_<digits><end>" gives the digits' value, "<start><end>" NAME_PLAIN,
 * digits that are too large for a rank NAME_NO_RANK, any other name NAME_OTHER.
 */
enum { NAME_PLAIN = -1, NAME_NO_RANK = -2, NAME_OTHER = -3 };

static int64_t numbered_name (const char *name, const char *start,
                              const char *end)
{
    size_t s = strlen (start), e = strlen (end), n = strlen (name);
    char digits[NAME_MAX];
    int64_t v;
    int rc;

    if (n < s + e || strncmp (name, start, s) != 0 ||
        strcmp (name + n - e, end) != 0)
        return NAME_OTHER;
    if (n == s + e)
        return NAME_PLAIN;
    if (name[s] != '_' || n - s - e - 1 >= sizeof (digits))
        return NAME_OTHER;
    memcpy (digits, name + s + 1, n - s - e - 1);
    digits[n - s - e - 1] = '\0';
    rc = units_int (digits, 0, capture_world_max - 1, &v);
    return rc == 0 ? v : rc == -ERANGE ? NAME_NO_RANK : NAME_OTHER;
}

static int64_t event_db_rank (const char *name)
{
    int64_t rank = numbered_name (name, "ascend_pytorch_profiler", ".db");

    return rank != NAME_OTHER
               ? rank
               : numbered_name (name, "ascend_mindspore_profiler", ".db");
}

/* Of several files the one with the lowest rank counts, and the capture is
 * damaged: two captures were copied into one directory.
 */
static void note_info (struct source *src, const char *name, int64_t rank)
{
    struct capture *c = src->capture;

    if (rank == NAME_NO_RANK) {
        capture_reason (c, "%s: the number is not a rank below %lld "
                        "(--max-ranks)", name, (long long)capture_world_max);
        src->damaged = true;
    }
    if (rank >= 0 && c->rank >= 0) {
        capture_reason (c, "it holds a profiler_info of rank %lld and one of "
                        "rank %lld: two captures in one directory?",
                        (long long)c->rank, (long long)rank);
        src->damaged = true;
        if (c->rank < rank)
            return;
    }
    if (strlen (name) < sizeof (src->info_name) &&
        (src->info_name[0] == '\0' || rank >= 0)) {
        memcpy (src->info_name, name, strlen (name) + 1);
        c->rank = rank >= 0 ? rank : c->rank;
        c->evidence.ranks.info_name = c->rank;
    }
}

/* Record "msprof_<digits>.db". Of several the newest counts. */
static void note_msprof_db (struct source *src, const char *name)
{
    size_t digits = strncmp (name, "msprof_", 7) == 0
                        ? strspn (name + 7, "0123456789")
                        : 0;

    if (digits == 0 || strcmp (name + 7 + digits, ".db") != 0 ||
        strlen (name) >= sizeof (src->event_db) ||
        strcmp (name, src->event_db) <= 0)
        return;
    memcpy (src->event_db, name, strlen (name) + 1);
    src->event_dir = src->dir;
}

static void note_entry (void *arg, const char *name)
{
    struct source *src = arg;
    int64_t rank = numbered_name (name, "profiler_info", ".json");

    if (src->form == FORM_MSPROF)
        note_msprof_db (src, name);
    if (rank != NAME_OTHER)
        note_info (src, name, rank);
    if (strncmp (name, "PROF_", 5) == 0 || strcmp (name, "FRAMEWORK") == 0)
        src->has_prof = true;
}

/* Order event databases: first the one of the capture's rank, then by rank. */
static int64_t event_db_place (const struct capture *c, int64_t rank)
{
    if (rank < 0)
        return INT64_MAX;
    return rank == c->rank ? -1 : rank;
}

/* The order in which the directory lists them must not matter. */
static void note_event_db (struct source *src, const char *name)
{
    struct capture *c = src->capture;
    int64_t rank = event_db_rank (name);
    int64_t known = event_db_rank (src->event_db);
    int64_t place = event_db_place (c, rank);
    int64_t known_place = event_db_place (c, known);

    if (rank == NAME_OTHER || strlen (name) >= sizeof (src->event_db))
        return;
    if (rank >= 0 && known >= 0 && rank != known) {
        capture_reason (c, "it holds an event database of rank %lld and one of "
                        "rank %lld: two captures in one directory?",
                        (long long)(rank < known ? rank : known),
                        (long long)(rank < known ? known : rank));
        src->damaged = true;
    }
    if (src->event_db[0] &&
        (place > known_place ||
         (place == known_place && strcmp (name, src->event_db) > 0)))
        return;
    memcpy (src->event_db, name, strlen (name) + 1);
    src->event_dir = src->out;
}

static void note_output (void *arg, const char *name)
{
    struct source *src = arg;

    note_event_db (src, name);
    if (strcmp (name, "analyse.done") == 0)
        src->has_done = true;
}

/* Read a device's number, which may also be a text. */
static bool json_device (const struct json *j, int64_t *ret)
{
    const char *text = json_text (j, NULL);

    if (text)
        return units_int (text, 0, INT32_MAX, ret) == 0;
    return json_int (j, ret) && *ret >= 0 && *ret <= INT32_MAX;
}

static void copy_text (char *out, size_t max, const struct json *j)
{
    (void)snprintf (out, max, "%s", json_text (j, ""));
}

/* MindSpore's profiler_info has other members, and the device, which its tables
 * lack.  Rank and device tell its captures apart if their directories were
 * renamed.
 */
static void use_mindspore (struct capture *c, const struct json *info)
{
    const struct json *ms = json_get (info, "ms_profiler_info");
    const struct json *level = json_get (json_get (info,
                                                   "profiler_parameters"),
                                         "profiler_level");
    int64_t v;

    if (!json_is_object (ms))
        return;
    PRINT (c->framework, "ascend_ms");
    if (json_text (level, NULL))
        copy_text (c->level, sizeof (c->level), level);
    if (info_rank (json_get (ms, "rank_id"), &v)) {
        c->evidence.ranks.info = v;
        c->rank = c->rank == CAPTURE_NO_RANK ? v : c->rank;
    }
    if (json_device (json_get (ms, "device_id"), &v))
        c->device_id = v;
}

static void use_info (struct source *src, const struct json *info)
{
    struct capture *c = src->capture;
    const struct json *config = json_get (info, "config");
    const struct json *experimental = json_get (config,
                                                "experimental_config");
    const struct json *end = json_get (info, "end_info");
    int64_t mono_start, mono_end;

    copy_text (c->level, sizeof (c->level),
               json_get (experimental, "_profiler_level"));
    src->collections = json_number (json_get (experimental,
                                              "_gc_detect_threshold"),
                                    &(double){ 0 });
    use_mindspore (c, info);
    identity_note_info (c, info);
    if (c->rank == CAPTURE_NO_RANK)
        c->rank = c->evidence.ranks.info;
    if (info_ns (json_get (end, "collectionTimeEnd"), &c->ended_ns)) {
        c->order_ns = c->ended_ns;
        if (info_ns (json_get (end, "MonotonicTimeEnd"), &mono_end) &&
            info_ns (json_get (json_get (info, "start_info"),
                               "start_monotonic"), &mono_start) &&
            mono_start <= mono_end)
            c->started_ns = c->ended_ns - (mono_end - mono_start);
    }
}

/* Take rank and device from the map in an event database. */
static void use_rank_map (struct profiler_db *db, struct capture *c)
{
    static const char sql[] =
        "SELECT rankId, deviceId FROM RANK_DEVICE_MAP "
        "WHERE typeof(rankId)='integer' ORDER BY rowid LIMIT 1";
    int64_t rank, device;

    if (db_one (db_rows (db->sql, NULL, sql), rank, device) <= 0)
        return;
    if (rank >= 0 && rank < capture_world_max)
        c->rank = rank;
    if (device >= 0)
        c->device_id = device;
}

/* Take the rank from the event database's name, or from its map of ranks. */
static void use_event_db (struct source *src)
{
    int64_t rank = event_db_rank (src->event_db);
    struct capture *c = src->capture;
    struct profiler_db *db = NULL;
    bool needed = c->rank == CAPTURE_NO_RANK && rank < 0;

    if (rank >= 0)
        c->evidence.ranks.db_name = rank;
    if (c->rank == CAPTURE_NO_RANK && rank >= 0)
        c->rank = rank;
    // a glance must not open a database without need: there may be a thousand
    // captures
    if ((needed || !src->glance) &&
        profiler_db_open (src, src->event_dir, src->event_db, &db,
                          NULL) == READING_WHOLE) {
        if (needed)
            use_rank_map (db, c);
        identity_note_db (db, c);
        profiler_db_close (db);
    }
}

/* File names can have any bytes, the name of a capture is UTF-8. */
static void set_name (struct capture *c, const char *name)
{
    char fixed[3 * CAPTURE_NAME_MAX];
    uint64_t bad = 0;
    size_t n = strnlen (name, CAPTURE_NAME_MAX - 1);

    n = utf8_repair (name, n, fixed, &bad);
    PRINT (c->name, "%.*s", (int)n, fixed);
}

void source_name (struct source *src)
{
    struct capture *c = src->capture;
    const char *slash = strrchr (src->path, '/');
    struct capture_name name;

    set_name (c, slash ? slash + 1 : src->path);
    name = capture_name_parse (c->name);
    PRINT (c->framework, "%s", *name.framework ? name.framework : "ascend_pt");
    PRINT (c->host, "%.*s", (int)name.worker_size, c->name);
    if (name.made_ns > 0)
        c->order_ns = name.made_ns;
    c->evidence.pid = name.pid;
}

static void identify_trace (struct source *src)
{
    int fd = fileio_open_at (src->dir, src->file, NULL);
    struct capture *c = src->capture;

    source_transient_error (src, fd);
    src->trace = fd < 0 ? TRACE_OTHER : trace_kind_of (fd, NULL);
    fileio_close (fd);
    PRINT (c->framework, "%s",
           src->trace == TRACE_TORCH_NPU ? "ascend_pt" : "kineto");
    if (!src->sink)             // otherwise its reader identifies it
        trace_identify (src);
}

int source_identify (struct source *src,
                     bool (*readable) (const struct source *src),
                     struct err *err)
{
    struct capture *c = src->capture;
    struct json *j;
    int rc;

    if (src->form == FORM_TRACE) {
        identify_trace (src);
        return 0;
    }
    if ((rc = info_each_name (src->dir, note_entry, src)) < 0)
        return err_sys (err, -rc, "cannot list the capture");
    if (src->out >= 0 && (rc = info_each_name (src->out, note_output, src)) < 0)
        return err_sys (err, -rc, "cannot list " OUTPUT_DIR);
    if (src->form == FORM_MSPROF)
        return source_identify_msprof (src, err);
    if (src->event_db[0])
        use_event_db (src);
    if (src->info_name[0] &&
        (j = info_read (src, src->dir, src->info_name, src->info_name))) {
        use_info (src, j);
        metadata_config (src, j);
        json_free (j);
    }
    // a thousand captures list a thousand ranks each, which a glance must not
    // read
    if (src->glance && c->rank != CAPTURE_NO_RANK && readable (src))
        return 0;
    return read_metadata (src, err);
}
