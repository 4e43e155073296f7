/* aggregator/archive/raw_there.c - what a root already has of what is fetched */
#include "archive/raw_there.h"

#include "archive/archive_items.h"
#include "model/capture.h"

#include <string.h>

struct raw {                    // files of a capture
    uint64_t files, bytes;
};

static struct raw count_raw (const struct archive_items *l,
                             const struct ledger_item *rows)
{
    struct raw raw = { 0, 0 };
    struct ledger_item f;

    for (size_t i = 0; i < l->n; i++) {
        archive_item (l, i, &f);
        if (f.kind != ITEM_RAW || f.superseded || f.lost ||
            f.newest_ns != rows->newest_ns ||
            strcmp (f.capture, rows->capture) != 0 ||
            strcmp (f.dir, rows->dir) != 0)
            continue;
        raw.files++;
        raw.bytes += f.place.size;
    }
    return raw;
}

/* Whether these are all files that were there when its rows were read. */
static bool is_whole (struct archive *a, const struct ledger_item *rows,
                      const struct raw *raw)
{
    struct capture c;
    bool whole;

    capture_init (&c);
    whole = !rows->lost && raw->files > 0 &&
            store_read_meta (a->store, a->ledger, &rows->content,
                             &rows->place, &c, NULL) == 0 &&
            c.raw_bytes == raw->bytes;
    capture_fini (&c);
    return whole;
}

static void tell_whole (struct json *list, const struct ledger_item *rows,
                        const struct raw *raw)
{
    struct json *j = json_push_object (list);

    json_add_int (j, "rank", rows->rank);
    json_add_text (j, "capture", rows->capture);
    json_add_text (j, "host", rows->host);
    json_add_text (j, "state", "came");
    json_add_int (j, "files", (int64_t)raw->files);
    json_add_int (j, "came", (int64_t)raw->files);
    json_add_int (j, "gone", 0);
}

static void tell_none (struct json *list, int64_t rank)
{
    struct json *j = json_push_object (list);

    json_add_int (j, "rank", rank);
    json_add_text (j, "state", "gone");
    json_add_text (j, "why", "no capture of this rank has come");
}

/* The captures of the rank whose items these are: how many, or -1 if a file of
 * one may be elsewhere.  With a list they are told.
 */
static int64_t look (struct archive *a, const struct archive_items *l,
                     struct json *list)
{
    struct ledger_item rows;
    int64_t n = 0;

    for (size_t i = 0; i < l->n; i++) {
        struct raw raw;

        archive_item (l, i, &rows);
        if (rows.kind != ITEM_ROWS || rows.superseded)
            continue;
        raw = count_raw (l, &rows);
        if (list)
            tell_whole (list, &rows, &raw);
        else if (!is_whole (a, &rows, &raw))
            return -1;
        n++;
    }
    return n;
}

static bool has_items (struct archive *a, const char *job)
{
    struct ledger_summary sum;

    return ledger_summary (a->ledger, job, &sum, NULL) == 0 && sum.items > 0;
}

bool raw_there (struct archive *a, const char *job, int64_t rank,
                      struct json *list, struct raw_there_counts *n)
{
    struct archive_items l;
    int64_t captures = -1;

    if (archive_list (a, job, &rank, &l, NULL) == 0 &&
        (l.n > 0 || has_items (a, job)))
        captures = look (a, &l, NULL);
    if (captures > 0)
        (void)look (a, &l, list);
    if (captures == 0) {
        tell_none (list, rank);
        n->gone++;
    }
    archive_items_fini (&l);
    n->captures += captures > 0 ? captures : captures == 0;
    return captures >= 0;
}
