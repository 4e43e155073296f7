/* aggregator/interchange/import_tar.c - an export into a root */
#include "interchange/import_tar.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/units.h"
#include "base/utf8.h"
#include "interchange/content_writer.h"
#include "interchange/export_job.h"
#include "store/fileio.h"
#include "store/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPORT_RANKS 64         // of a request
#define MEMBERS_MAX 10000000
#define MANIFEST_MAX (UINT64_C (16) << 30)      // bytes
#define ROOM_BYTES (UINT64_C (16) << 20)        // noted between two looks at
                                                // the free space

/* What came of a member, to be compared with its line. */
struct came {
    struct digest name;         // of the name as the manifest has it
    struct digest sum, id;
    uint64_t size;
};

/* A version that the manifest assigns to the job, by its hash. */
struct assigned {
    uint64_t version[DIGEST_SIZE / 8];
};

struct import {
    struct tar_reader *from;
    struct intake *in;
    struct content_writer *writer;
    struct digester *digester;
    int came, manifest;         // files without a name
    uint64_t ncame, nlines, manifest_bytes;
    uint64_t read;              // of 'came'
    uint64_t unlooked;          // bytes since the last look
    struct space_floor floor;
    bool ended;                 // the last line was seen
    struct map assigned;
    struct json *reports;       // of ranks, to be said
    const atomic_bool *cancel;
    int64_t now;
    const struct import_options *opt;
    const char *job;            // in the root
    uint64_t known;             // its items that the root has in it
    struct import_sums *sums;
    struct err *err;
    uint8_t block[65536];
};

static int changed (struct import *x, const char *what)
{
    return err_set (x->err, EBADMSG, "the export was changed, or is damaged: "
                    "%s", what);
}

/* ---- the mark ---- */

int import_begin (struct tar_reader *from, struct tar_member *first,
                  struct import_sums *ret, struct err *err)
{
    char text[4096];
    struct json *mark;
    int64_t version = 0;
    ssize_t n;
    int rc = tar_reader_next (from, first, err);

    memset (ret, 0, sizeof (*ret));
    if (rc == 0)
        memset (first, 0, sizeof (*first));
    if (rc <= 0 || strcmp (first->name, EXPORT_MARK) != 0)
        return rc < 0 ? rc : 0;
    if ((n = tar_reader_get (from, text, sizeof (text), err)) < 0)
        return (int)n;
    if (!(mark = json_parse (text, (size_t)n, err)))
        return -EBADMSG;
    PRINT (ret->job, "%s", json_text (json_get (mark, "job"), ""));
    if (strcmp (json_text (json_get (mark, "format"), ""), EXPORT_FORMAT) != 0 ||
        !json_int (json_get (mark, "version"), &version) ||
        version != EXPORT_VERSION || !message_valid_name (ret->job))
        rc = err_set (err, EBADMSG, "it is an export of version %lld, and this "
                      "rollcall reads version %d", (long long)version,
                      EXPORT_VERSION);
    json_free (mark);
    return rc;
}

/* ---- members ---- */

/* The hash of a name as a line has it. */
static int hash_name (const char *name, struct digest *ret)
{
    char shown[UTF8_ESCAPED (PATH_MAX)];
    const char *text = utf8_escape (name, UTF8_COLUMN, shown);

    return digest_of (text, strlen (text), ret);
}

/* What is noted has limits, too. */
static int look_at_room (struct import *x, size_t n)
{
    if (x->cancel && atomic_load (x->cancel))
        return err_set (x->err, EINTR, "interrupted");
    if (x->ncame >= MEMBERS_MAX || x->manifest_bytes > MANIFEST_MAX)
        return err_set (x->err, EFBIG, "it has more than %d members, or a "
                        "manifest of more than %llu bytes", MEMBERS_MAX,
                        (unsigned long long)MANIFEST_MAX);
    if ((x->unlooked += n) < ROOM_BYTES)
        return 0;
    x->unlooked = 0;
    return space_check_floor (&x->floor, x->opt->root, x->err) == 0 ? -ENOSPC
                                                                    : 0;
}

static int note_came (struct import *x, const struct came *c)
{
    int rc = look_at_room (x, sizeof (*c));

    if (rc < 0)
        return rc;
    rc = fileio_pwrite_all (x->came, c, sizeof (*c),
                                (off_t)(x->ncame++ * sizeof (*c)));

    return rc < 0 ? err_sys (x->err, -rc, "cannot note what came") : 0;
}

static int take_content (struct import *x, const struct tar_member *m)
{
    struct came c;
    ssize_t n = 0;
    int rc = hash_name (m->name, &c.name);

    content_writer_begin (x->writer, true);
    while (rc == 0 && (n = tar_reader_get (x->from, x->block, sizeof (x->block),
                                           x->err)) > 0) {
        if (x->cancel && atomic_load (x->cancel))
            return err_set (x->err, EINTR, "interrupted");
        rc = digest_add (x->digester, x->block, (size_t)n);
        if (rc == 0)
            rc = content_writer_add (x->writer, x->block, (size_t)n, x->err);
    }
    if (rc < 0 || n < 0)
        return rc < 0 ? rc : (int)n;
    rc = content_writer_end (x->writer, &c.id, &c.size, x->err);
    if (rc == 0 && digest_end (x->digester, &c.sum) < 0)
        rc = err_set (x->err, ENOMEM, "no memory for a hash");
    if (rc == 0 && c.size != m->size)
        rc = changed (x, m->name);
    x->sums->files++;
    x->sums->bytes += c.size;
    return rc < 0 ? rc : note_came (x, &c);
}

static int take_manifest (struct import *x)
{
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = tar_reader_get (x->from, x->block, sizeof (x->block),
                                           x->err)) > 0) {
        x->manifest_bytes += (uint64_t)n;
        if ((rc = look_at_room (x, (size_t)n)) < 0)
            return rc;
        rc = fileio_write_all (x->manifest, x->block, (size_t)n);
    }
    if (rc == 0 && n < 0)
        return (int)n;
    return rc < 0 ? err_sys (x->err, -rc, "cannot note the manifest") : 0;
}

static int take_members (struct import *x)
{
    struct tar_member *m = malloc (sizeof (*m));
    int rc = m ? 1 : err_set (x->err, ENOMEM, "no memory for a tar file");

    while (rc > 0 && (rc = tar_reader_next (x->from, m, x->err)) > 0) {
        if (m->refused[0])
            rc = changed (x, m->refused);
        else if (m->directory)
            continue;
        else if (strcmp (m->name, EXPORT_MANIFEST) == 0)
            break;
        else
            rc = (rc = take_content (x, m)) < 0 ? rc : 1;
    }
    if (rc == 0)
        rc = err_set (x->err, EBADMSG, "it is cut short: its manifest is not "
                      "there, and nothing of it is entered");
    free (m);
    return rc < 0 ? rc : take_manifest (x);
}

/* ---- lines ---- */

static int unhex (const char *hex, uint8_t *out, size_t max)
{
    size_t n = strlen (hex) / 2;

    if (n > max || strlen (hex) % 2)
        return -EBADMSG;
    for (size_t i = 0; i < n; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *high = strchr (digits, hex[2 * i]);
        const char *low = strchr (digits, hex[2 * i + 1]);

        if (!high || !low)
            return -EBADMSG;
        out[i] = (uint8_t)((high - digits) << 4 | (low - digits));
    }
    return (int)n;
}

static int record_of (struct import *x, const struct json *line,
                      struct record *r)
{
    uint8_t bytes[RECORD_MAX];
    int n = unhex (json_text (json_get (line, EXPORT_RECORD), ""), bytes,
                   sizeof (bytes));

    if (n < 0 || record_decode (r, bytes, (size_t)n, x->err) < 0 ||
        r->size != (size_t)n)
        return changed (x, "a record of its manifest");
    return 0;
}

static void give_job (const struct import *x, struct record *r)
{
    if (r->kind == RECORD_ASSIGN)
        PRINT (r->assignment.job, "%s", x->job);
    else if (r->kind == RECORD_FACT)
        PRINT (r->fact.job, "%s", x->job);
    else if (r->kind == RECORD_JOB || !*r->item.dir)
        PRINT (r->item.job, "%s", x->job);
}

/* Compare a line with the next member that came. */
static int check_item (struct import *x, const struct json *line,
                       const struct record *r)
{
    const char *member = json_text (json_get (line, "member"), "");
    struct digest sum, name;
    struct came c;

    if (x->read >= x->ncame ||
        fileio_pread_all (x->came, &c, sizeof (c),
                          (off_t)(x->read * sizeof (c))) < 0)
        return changed (x, "a member is missing");
    x->read++;
    if (digest_of (member, strlen (member), &name) < 0 ||
        !digest_is (&name, &c.name) ||
        digest_parse (json_text (json_get (line, "sha256"), ""), &sum) < 0 ||
        !digest_is (&sum, &c.sum) || !digest_is (&r->item.content, &c.id))
        return changed (x, *member ? member : "a line without a member");
    return 0;
}

/* The hash of what identifies a version. */
static int hash_version (const char *scope, const char *dir, int64_t rank,
                         const char *capture, int64_t newest_ns,
                         uint64_t ret[DIGEST_SIZE / 8])
{
    char text[2 * MESSAGE_NAME_MAX + MESSAGE_PLACE_MAX + 64];
    struct digest id;
    int n = snprintf (text, sizeof (text), "%s%c%s%c%s%c%lld %lld", scope, 0,
                      dir, 0, capture, 0, (long long)rank,
                      (long long)newest_ns);

    if (digest_of (text, (size_t)n, &id) < 0)
        return -ENOMEM;
    memcpy (ret, id.bytes, DIGEST_SIZE);
    return 0;
}

static int note_assigned (struct import *x, const struct ledger_assignment *a)
{
    struct assigned key;
    bool is_new;

    if (hash_version (a->scope, a->dir, a->rank, a->capture, a->newest_ns,
                      key.version) < 0 ||
        !map_put (&x->assigned, &key, &is_new))
        return err_set (x->err, ENOMEM, "no memory for an assignment");
    return 0;
}

/* An item that came without a job is of this one if its manifest says so. */
static bool is_of_job (const struct import *x, const struct record *r)
{
    const struct ledger_item *i = &r->item;
    struct assigned key;

    if (r->kind == RECORD_ASSIGN || r->kind == RECORD_FACT)
        return strcmp (r->kind == RECORD_FACT ? r->fact.job : r->assignment.job,
                       x->sums->job) == 0;
    if (strcmp (*i->dir ? i->scope : i->job, x->sums->job) == 0)
        return true;
    return *i->dir && hash_version (i->scope, i->dir, i->rank, i->capture,
                                    i->newest_ns, key.version) == 0 &&
           map_get (&x->assigned, &key);
}

/* Count an item that the root has in this job already. */
static int count_known (struct import *x, struct record *r)
{
    struct ledger_item *i = &r->item;
    int rc;

    give_job (x, r);
    rc = *i->dir ? intake_find_job (x->in, i, x->err) : 0;
    if (rc == 0 && strcmp (i->job, x->job) == 0)
        rc = intake_has_same (x->in, i, x->err);
    x->known += rc == 1;
    return rc < 0 ? rc : 0;
}

/* A job of the root with this name must not be another one. */
static int check_same (struct import *x)
{
    uint64_t n;
    int rc = x->opt->merge ? 0
             : intake_count_items (x->in, x->job, &n, x->err);

    if (x->opt->merge || rc < 0 || n <= x->known)
        return rc;
    return err_set (x->err, EEXIST, "the root has a job %s with %llu items that "
                    "the exported job %s lacks: --job NAME imports it as "
                    "another job, --merge into this one", x->job,
                    (unsigned long long)(n - x->known), x->sums->job);
}

/* Check a line, all of which are checked before any is put. */
static int check_line (struct import *x, const struct json *line,
                       struct record *r)
{
    const char *what = json_text (json_get (line, "what"), "");
    int64_t n = -1;
    int rc;

    if (x->ended)
        return changed (x, "something follows its last line");
    if (strcmp (what, "end") == 0) {
        x->ended = json_int (json_get (line, "items"), &n) &&
                   (uint64_t)n == x->ncame && x->read == x->ncame;
        return x->ended ? 0 : changed (x, "it has not as many members as its "
                                       "manifest says");
    }
    if (strcmp (what, "rank") == 0)
        return 0;
    if ((rc = record_of (x, line, r)) < 0)
        return rc;
    if (!is_of_job (x, r) || (r->kind != RECORD_ITEM &&
                              r->kind != RECORD_ASSIGN &&
                              r->kind != RECORD_FACT && r->kind != RECORD_JOB))
        return changed (x, "a record of another job");
    if (r->kind == RECORD_ASSIGN)
        return note_assigned (x, &r->assignment);
    if (r->kind != RECORD_ITEM)
        return 0;
    rc = check_item (x, line, r);
    return rc < 0 ? rc : count_known (x, r);
}

static int say_reports (struct import *x)
{
    struct json *request = x->reports, *answer;
    int rc;

    if (!request)
        return 0;
    x->reports = NULL;
    rc = intake_ask (x->in, request, &answer, x->err);
    json_free (answer);
    return rc;
}

static int add_report (struct import *x, const struct json *line)
{
    static const char *const numbers[] = { "rank", "mpi_rank", "mpi_size",
                                           "signal", "status" };
    struct json *one;

    if (!x->reports) {
        x->reports = json_object ();
        json_add_text (x->reports, "do", "report");
        json_add_text (x->reports, "job", x->job);
        (void)json_add_array (x->reports, "ranks");
    }
    one = json_push_object ((struct json *)json_get (x->reports, "ranks"));
    for (size_t i = 0; i < sizeof (numbers) / sizeof (numbers[0]); i++) {
        int64_t n = 0;

        (void)json_int (json_get (line, numbers[i]), &n);
        json_add_int (one, numbers[i], n);
    }
    json_add_text (one, "host", json_text (json_get (line, "host"), ""));
    json_add_text (one, "ended_ns",
                   json_text (json_get (line, "ended_ns"), "0"));
    return json_count (json_get (x->reports, "ranks")) >= REPORT_RANKS
               ? say_reports (x) : 0;
}

/* Whether the root has another job for this version: that stays. */
static int is_elsewhere (struct import *x, struct ledger_item *i)
{
    int rc = intake_find_job (x->in, i, x->err);

    return rc < 0 ? rc : strcmp (i->job, i->scope) != 0 &&
                             strcmp (i->job, x->job) != 0;
}

static int has_assigned (struct import *x, const struct ledger_assignment *a)
{
    struct ledger_item i = { .kind = ITEM_ROWS, .rank = a->rank,
                             .newest_ns = a->newest_ns };
    int rc;

    PRINT (i.scope, "%s", a->scope);
    PRINT (i.dir, "%s", a->dir);
    PRINT (i.capture, "%s", a->capture);
    rc = intake_find_job (x->in, &i, x->err);
    return rc < 0 ? rc : strcmp (i.job, i.scope) != 0;
}

/* An item whose scope is the job is in another one only if that is said. */
static int assign_renamed (struct import *x, const struct ledger_item *i)
{
    struct record r = { .kind = RECORD_ASSIGN };
    struct ledger_assignment *a = &r.assignment;
    uint32_t before = x->assigned.n;
    int rc;

    PRINT (a->scope, "%s", i->scope);
    PRINT (a->dir, "%s", i->dir);
    PRINT (a->capture, "%s", i->capture);
    PRINT (a->job, "%s", x->job);
    PRINT (a->why, LEDGER_BY_HAND);
    a->rank = i->rank;
    a->newest_ns = i->newest_ns;
    a->at_ns = x->now;
    rc = note_assigned (x, a);
    return rc < 0 || x->assigned.n == before
               ? rc : intake_put_record (x->in, &r, x->err);
}

/* 1: it is left out. */
static int prepare_item (struct import *x, struct ledger_item *i)
{
    int rc = *i->dir ? is_elsewhere (x, i) : 0;

    if (i->received_ns > x->now)
        i->received_ns = x->now;        // else nothing could supersede it
    if (rc == 1)
        x->sums->elsewhere++;
    else if (rc == 0 && *i->dir && strcmp (x->job, i->scope) != 0)
        rc = assign_renamed (x, i);
    return rc;
}

static int put_line (struct import *x, const struct json *line,
                     struct record *r)
{
    const char *what = json_text (json_get (line, "what"), "");
    int rc;

    if (strcmp (what, "end") == 0)
        return 0;
    if (strcmp (what, "rank") == 0)
        return add_report (x, line);
    if ((rc = record_of (x, line, r)) < 0)
        return rc;
    give_job (x, r);
    if (r->kind == RECORD_ASSIGN)
        rc = has_assigned (x, &r->assignment);
    else if (r->kind == RECORD_ITEM)
        rc = prepare_item (x, &r->item);
    else
        rc = intake_knows (x->in, r, x->err);
    return rc != 0 ? rc < 0 ? rc : 0 : intake_put_record (x->in, r, x->err);
}

/* Call 'fn' with each line of the manifest. */
static int each_line (struct import *x,
                      int (*fn) (struct import *x, const struct json *line,
                                 struct record *r))
{
    FILE *f = fdopen (dup (x->manifest), "r");
    struct record *r = malloc (sizeof (*r));
    char *line = malloc (EXPORT_LINE_MAX);
    int rc = f && r && line ? 0 : err_set (x->err, ENOMEM, "no memory for a "
                                           "manifest");

    if (rc == 0)
        rewind (f);
    while (rc == 0 && fgets (line, EXPORT_LINE_MAX, f)) {
        struct json *j = json_parse (line, strlen (line), x->err);

        rc = !j ? changed (x, "a line of its manifest")
             : x->cancel && atomic_load (x->cancel)
                 ? err_set (x->err, EINTR, "interrupted") : fn (x, j, r);
        json_free (j);
    }
    if (rc == 0 && ferror (f))  // not its end
        rc = err_sys (x->err, errno, "cannot read what was noted");
    free (line);
    free (r);
    if (f)
        (void)fclose (f);
    return rc;
}

static int enter_all (struct import *x)
{
    int rc = each_line (x, check_line);

    if (rc == 0 && !x->ended)
        rc = err_set (x->err, EBADMSG, "it is cut short: its manifest has no "
                      "end, and nothing of it is entered");
    if (rc == 0)
        rc = check_same (x);
    if (rc == 0)
        rc = each_line (x, put_line);
    if (rc == 0)
        rc = intake_flush (x->in, x->err);
    return rc < 0 ? rc : say_reports (x);
}

int import_export (struct tar_reader *from, struct intake *in,
                   const struct import_options *opt, const atomic_bool *cancel,
                   struct import_sums *ret, struct err *err)
{
    struct import *x = calloc (1, sizeof (*x));
    int rc;

    if (!x)
        return err_set (err, ENOMEM, "no memory for a tar file");
    x->from = from;
    x->in = in;
    x->cancel = cancel;
    x->opt = opt;
    x->sums = ret;
    x->job = opt->job ? opt->job : ret->job;
    x->err = err;
    x->now = clock_wall_ns ();
    x->assigned = (struct map)MAP (struct assigned, DIGEST_SIZE / 8);
    rc = x->came = content_temp (opt->root, err);
    if (rc >= 0)
        rc = x->manifest = content_temp (opt->root, err);
    else
        x->manifest = -1;
    if (rc >= 0 && !(x->digester = digester_create ()))
        rc = err_set (err, ENOMEM, "no memory for a hash");
    if (rc >= 0)
        rc = content_writer_create (in, opt->codec, &x->writer, err);
    if (rc == 0)
        rc = take_members (x);
    if (rc == 0)
        rc = enter_all (x);
    content_writer_destroy (x->writer);
    digester_destroy (x->digester);
    json_free (x->reports);
    map_fini (&x->assigned);
    fileio_close (x->manifest);
    fileio_close (x->came);
    free (x);
    return rc;
}
