/* aggregator/interchange/export_job.c - a job of a root as a tar file */
#include "interchange/export_job.h"

#include "archive/capture_place.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "interchange/content_writer.h"
#include "interchange/tar_stream.h"
#include "json/json.h"
#include "model/beside.h"
#include "store/fileio.h"
#include "store/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct export {
    struct archive *a;
    const char *job;
    struct tar_writer *out;
    int lines;                  // the manifest, a file without a name
    uint64_t manifest_bytes;
    struct digester *digester;  // of the member under way
    struct capture_places places;
    void (*lose) (void *arg, const struct ledger_item *item, const struct err *why);
    void *arg;
    const atomic_bool *cancel;
    struct export_sums *sums;
    struct err *err;
};

static const struct file_facts plain_facts = { S_IFREG | 0640, 0, -1, -1 };

/* ---- the manifest ---- */

static int put_line (struct export *x, struct json *line)
{
    char *text = json_print (line, false);
    size_t n = text ? strlen (text) : 0;
    int rc = text ? fileio_write_all (x->lines, text, n) : -ENOMEM;

    if (rc == 0)
        rc = fileio_write_all (x->lines, "\n", 1);
    x->manifest_bytes += n + 1;
    free (text);
    json_free (line);
    return rc < 0 ? err_sys (x->err, -rc, "cannot note what is exported") : 0;
}

/* A name of any bytes: JSON has texts only. */
static void add_name (struct json *o, const char *key, const char *name)
{
    char shown[UTF8_ESCAPED (PATH_MAX)];

    json_add_nonempty (o, key, utf8_escape (name, UTF8_COLUMN, shown));
}

static int add_record (struct export *x, struct json *o,
                       const struct record *r)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2 * RECORD_MAX + 1];
    struct buf b;
    int rc;

    buf_init (&b, RECORD_MAX);
    if ((rc = record_encode (r, &b)) < 0) {
        buf_fini (&b);
        return err_set (x->err, -rc, "no memory for a record");
    }
    for (size_t i = 0; i < b.size; i++) {
        hex[2 * i] = digits[b.data[i] >> 4];
        hex[2 * i + 1] = digits[b.data[i] & 15];
    }
    hex[2 * b.size] = '\0';
    json_add_text (o, EXPORT_RECORD, hex);
    buf_fini (&b);
    return 0;
}

/* A line of a record that has no member. */
static int put_record (struct export *x, const char *what,
                       const struct record *r, const char *key,
                       const char *value)
{
    struct json *o = json_object ();
    int rc;

    json_add_text (o, "what", what);
    if (key)
        add_name (o, key, value);
    rc = add_record (x, o, r);
    if (rc < 0) {
        json_free (o);
        return rc;
    }
    return put_line (x, o);
}

/* ---- items ---- */

/* No file system takes a part of more than NAME_MAX bytes: it is cut, and its
 * hash follows.
 */
static int shorten_parts (char name[PATH_MAX])
{
    char hex[DIGEST_HEX_SIZE], *to = name;
    struct digest id;

    for (const char *at = name; *at;) {
        size_t n = strcspn (at, "/"), kept = n;

        if (n > NAME_MAX) {
            if (digest_of (at, n, &id) < 0)
                return -ENOMEM;
            digest_hex (&id, hex);
            kept = utf8_cut (at, n, NAME_MAX - 17);
        }
        memmove (to, at, kept);
        to += kept;
        if (kept < n)
            to += (size_t)sprintf (to, "~%.16s", hex);
        at += n;
        if (*at)
            *to++ = *at++;
    }
    *to = '\0';
    return 0;
}

/* Where people find it when they unpack the file. */
static int member_name (struct export *x, const struct ledger_item *i,
                        char out[PATH_MAX])
{
    char hex[DIGEST_HEX_SIZE], old[24] = "", place[CAPTURE_PLACE_MAX];
    bool beside = i->kind == ITEM_RAW && beside_size (i->capture, i->path) > 0;

    if (capture_place (&x->places, i, place) < 0)
        return err_set (x->err, ENOMEM, "no memory for a name");
    digest_hex (&i->content, hex);
    if (i->superseded)
        PRINT (old, "~%.16s", hex);
    if (i->kind == ITEM_ROWS)
        (void)snprintf (out, PATH_MAX, "%s/rows/%s%s%s.shipment%s", x->job,
                        place, i->capture, *i->dir ? "~" : "", old);
    else
        (void)snprintf (out, PATH_MAX, "%s/captures/%s%s%s%s%s", x->job,
                        place, beside ? "" : i->capture,
                        beside ? "" : "/", i->path, old);
    return shorten_parts (out) < 0
               ? err_set (x->err, ENOMEM, "no memory for a name") : 0;
}

static int write_bytes (void *arg, const void *bytes, size_t n)
{
    struct export *x = arg;
    int rc = digest_add (x->digester, bytes, n);

    return rc < 0 ? rc : tar_writer_put (x->out, bytes, n, x->err);
}

static int put_item_line (struct export *x, const struct ledger_item *i,
                          const char *name, const struct digest *sum)
{
    struct record r = { .kind = RECORD_ITEM, .item = *i };
    struct json *o = json_object ();
    char hex[DIGEST_HEX_SIZE];
    int rc;

    digest_hex (sum, hex);
    json_add_text (o, "what", "item");
    add_name (o, "member", name);
    json_add_text (o, "sha256", hex);
    json_add_int (o, "bytes", (int64_t)i->place.size);
    json_add_text (o, "kind", i->kind == ITEM_ROWS ? "rows" : "raw");
    json_add_int (o, "rank", i->rank);
    add_name (o, "capture", i->capture);
    add_name (o, "path", i->path);
    if ((rc = add_record (x, o, &r)) < 0) {
        json_free (o);
        return rc;
    }
    return put_line (x, o);
}

/* Before the header of a member is written its content must be known to be
 * whole: a tar file cannot take it back.
 */
static int check_item (struct export *x, const struct ledger_item *i,
                       struct store_reader **in)
{
    struct err why = { "" };
    int rc = i->lost ? err_set (&why, ENOENT, "it was damaged and set aside")
                     : store_reader_open (x->a->store, x->a->ledger,
                                          &i->content, &i->place, in, &why);

    if (rc == 0)
        rc = store_reader_check (*in, NULL, NULL, x->cancel, &why);
    if (rc == -ENOENT || rc == -EBADMSG) {
        x->sums->lost++;
        x->lose (x->arg, i, &why);
        return 0;
    }
    if (rc < 0 && x->err)
        *x->err = why;
    return rc < 0 ? rc : 1;
}

static int export_item (void *arg, const struct ledger_item *i)
{
    struct export *x = arg;
    struct store_reader *in = NULL;
    struct digest sum;
    char name[PATH_MAX];
    int rc = check_item (x, i, &in);

    if (rc == 1) {
        rc = member_name (x, i, name);
        if (rc == 0)
            rc = tar_writer_begin (x->out, name, i->place.size, i->facts.mode
                                       ? &i->facts : &plain_facts, x->err);
        if (rc == 0)
            rc = store_reader_check (in, write_bytes, x, x->cancel, x->err);
        if (rc == 0 && digest_end (x->digester, &sum) < 0)
            rc = err_set (x->err, ENOMEM, "no memory for a hash");
        if (rc == 0)
            rc = put_item_line (x, i, name, &sum);
        x->sums->files++;
        x->sums->bytes += i->place.size;
    }
    store_reader_destroy (in);
    return rc;
}

/* ---- what else is known of the job ---- */

static int export_fact (void *arg, const struct ledger_fact *f)
{
    struct record r = { .kind = RECORD_FACT, .fact = *f };

    return put_record (arg, f->gone ? "withdrawn" : "fact", &r, f->key,
                       f->value);
}

static int export_claim (void *arg, const struct size_claim *w)
{
    struct export *x = arg;
    struct record r = { .kind = RECORD_JOB, .word = *w };

    PRINT (r.item.job, "%s", x->job);
    return put_record (x, "claim", &r, "host", w->host);
}

static int export_assignment (void *arg, const struct ledger_assignment *a)
{
    struct record r = { .kind = RECORD_ASSIGN, .assignment = *a };

    return put_record (arg, "assigned", &r, "capture", a->capture);
}

static int export_heard (void *arg, const struct ledger_heard *h)
{
    struct json *o = json_object ();
    char ns[24];

    PRINT (ns, "%lld", (long long)h->command.ns);
    json_add_text (o, "what", "rank");
    json_add_int (o, "rank", h->rank);
    json_add_int (o, "mpi_rank", h->mpi_rank);
    json_add_int (o, "mpi_size", h->mpi_size);
    add_name (o, "host", h->host);
    json_add_text (o, "ended_ns", ns);
    json_add_int (o, "signal", h->command.signal);
    json_add_int (o, "status", h->command.status);
    return put_line (arg, o);
}

static int export_rest (struct export *x)
{
    struct ledger *l = x->a->ledger;
    int rc = ledger_each_claim (l, x->job, export_claim, x, x->err);

    if (rc == 0)
        rc = ledger_each_fact (l, x->job, 0, export_fact, x, x->err);
    return rc < 0 ? rc : ledger_each_heard (l, x->job, export_heard, x, x->err);
}

/* ---- the file ---- */

static int put_mark (struct export *x)
{
    struct file_facts facts = plain_facts;
    struct json *o = json_object ();
    char *text;
    int rc;

    json_add_text (o, "format", EXPORT_FORMAT);
    json_add_int (o, "version", EXPORT_VERSION);
    json_add_text (o, "rollcall_version", ROLLCALL_VERSION);
    json_add_text (o, "job", x->job);
    text = json_print (o, false);
    json_free (o);
    if (!text)
        return err_set (x->err, ENOMEM, "no memory for a tar file");
    facts.mtime_ns = clock_wall_ns ();
    rc = tar_writer_begin (x->out, EXPORT_MARK, strlen (text), &facts, x->err);
    if (rc == 0)
        rc = tar_writer_put (x->out, text, strlen (text), x->err);
    free (text);
    return rc;
}

static int put_manifest (struct export *x)
{
    struct file_facts facts = plain_facts;
    struct json *o = json_object ();
    char block[65536];
    uint64_t at = 0;
    int rc;

    json_add_text (o, "what", "end");
    json_add_int (o, "items", (int64_t)x->sums->files);
    facts.mtime_ns = clock_wall_ns ();
    if ((rc = put_line (x, o)) < 0)
        return rc;
    rc = tar_writer_begin (x->out, EXPORT_MANIFEST, x->manifest_bytes, &facts,
                           x->err);
    while (rc == 0 && at < x->manifest_bytes) {
        size_t n = x->manifest_bytes - at < sizeof (block)
                       ? (size_t)(x->manifest_bytes - at) : sizeof (block);

        if ((rc = fileio_pread_all (x->lines, block, n, (off_t)at)) < 0)
            rc = err_sys (x->err, -rc, "cannot read what was noted");
        else
            rc = tar_writer_put (x->out, block, n, x->err);
        at += n;
    }
    return rc;
}

static int export_all (struct export *x)
{
    int rc = put_mark (x);

    // before the items: a version then has its job when it comes
    if (rc == 0)
        rc = ledger_each_assignment (x->a->ledger, x->job, export_assignment, x,
                                     x->err);
    for (enum item_kind k = ITEM_ROWS; k <= ITEM_RAW && rc == 0; k++)
        rc = ledger_each (x->a->ledger, x->job, k, export_item, x, x->err);
    if (rc == 0 && x->sums->files + x->sums->lost == 0)
        return err_set (x->err, ENOENT, "there is no job %s in %s: rollcall "
                        "jobs lists its jobs", x->job, x->a->root);
    if (rc == 0)
        rc = export_rest (x);
    if (rc == 0)
        rc = put_manifest (x);
    return rc < 0 ? rc : tar_writer_finish (x->out, x->err);
}

int export_job (struct archive *a, const char *job, int fd,
                void (*lose) (void *arg, const struct ledger_item *item,
                              const struct err *why),
                void *arg, const atomic_bool *cancel, struct export_sums *ret,
                struct err *err)
{
    struct export x = { .a = a, .job = job, .lose = lose, .arg = arg, .cancel = cancel,
                        .sums = ret, .err = err };
    int rc;

    memset (ret, 0, sizeof (*ret));
    capture_places_init (&x.places);
    if ((x.lines = content_temp (NULL, err)) < 0)
        return x.lines;
    if (!(x.digester = digester_create ()))
        rc = err_set (err, ENOMEM, "no memory for a hash");
    else if ((rc = tar_writer_create (fd, &x.out, err)) == 0 &&
             (rc = ledger_begin_read (a->ledger, err)) == 0)
        rc = export_all (&x);
    ledger_end_read (a->ledger);
    tar_writer_destroy (x.out);
    digester_destroy (x.digester);
    capture_places_fini (&x.places);
    (void)close (x.lines);
    return rc;
}
