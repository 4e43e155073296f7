/* aggregator/job_build/job_sources.c - the shipments of a job: which there are, and
 * what they say
 */
#include "job_build/job_build_private.h"

#include "base/thread.h"
#include "base/vec.h"
#include "model/shipment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_AT_ONCE 16               // shipments, by a thread

/* ---- what there is ---- */

static int add_source (void *arg, const struct ledger_item *item)
{
    struct job_build *b = arg;
    struct shipment_source *p = vec_add (&b->sources, &b->n, sizeof (*p));

    if (!p)
        return -ENOMEM;
    *p = (struct shipment_source){
        .content = item->content, .rank = item->rank,
        .newest_ns = item->newest_ns, .superseded = item->superseded,
        .lost = item->lost };
    if (!item->lost)
        p->broken = store_find_chunks (b->store, b->ledger, &item->content,
                                       &item->place, &p->chunks, NULL);
    if (asprintf (&p->capture, "%s%c%s%c%s", item->capture, '\0', item->dir,
                  '\0', item->host) < 0) {
        store_content_fini (&p->chunks);
        b->n--;
        return -ENOMEM;
    }
    p->dir = p->capture + strlen (p->capture) + 1;
    p->host = p->dir + strlen (p->dir) + 1;
    return 0;
}

int job_sources_list (struct job_build *b, struct ledger *ledger,
                      struct err *err)
{
    return ledger_each (ledger, b->job, ITEM_ROWS, add_source, b, err);
}

void job_sources_free (struct job_build *b)
{
    for (size_t i = 0; i < b->n; i++) {
        store_content_fini (&b->sources[i].chunks);
        free (b->sources[i].capture);
    }
    free (b->sources);
}

/* ---- what they say ---- */

/* 'through': its bytes come from there, which tells what is unread; NULL: from the
 * store.
 */
static int read_shipment (struct job_build *b, size_t source,
                          const struct byte_source *through,
                          const struct row_sink *sink, struct capture *c,
                          struct err *err)
{
    struct shipment_source *s = &b->sources[source];
    struct store_reader *r = NULL;
    struct byte_source from;
    int rc = 0;

    if (s->lost)
        return err_set (err, EBADMSG, "its stored data was damaged and moved "
                        "to quarantine/ in the aggregator's root, or was "
                        "removed from the root; deliver it again: remove the "
                        "agent's spool, or copy the capture");
    if (s->broken < 0)
        return err_sys (err, -s->broken, "cannot find its chunks");
    if (!through && (rc = store_reader_create (b->store, &s->chunks, &r,
                                               err)) < 0)
        return rc;
    from = through ? *through : store_reader_source (r);
    rc = sink ? shipment_replay (&from, sink, c, err)
              : shipment_read_meta (&from, c, err);
    rc = r ? store_reader_why (r, rc, err) : rc;
    // a write can fail in the same way
    s->unread = rc == -EIO && (r ? store_reader_is_unread (r) : s->unread);
    store_reader_destroy (r);
    return s->unread ? err_set (err, EBADMSG, "the disk did not give its bytes "
                                "(%s): rollcall fsck aggregator --repair sets "
                                "it aside, so that it is delivered again",
                                strerror (EIO)) : rc;
}

/* A shipment that cannot be read becomes a failed capture. */
static void job_build_blame (struct job_build *b, size_t source,
                             struct capture *c,
                             const struct err *why)
{
    capture_fini (c);
    c->rank = b->sources[source].rank;
    c->state = CAPTURE_FAILED;
    PRINT (c->name, "%s", b->sources[source].capture);
    capture_reason (c, "its shipment cannot be read: %s", why->text);
}

/* A capture that does not name its host gets the host of its agent. */
static void name_host (const struct job_build *b, size_t source,
                       struct capture *c)
{
    if (c->host[0] == '\0')
        PRINT (c->host, "%s", b->sources[source].host);
}

/* What says nothing of the stored bytes. */
static bool is_no_damage (int rc)
{
    return rc == -ENOMEM || rc == -EREMOTEIO || rc == -EACCES ||
           rc == -EPERM || rc == -EIO || rc == -EMFILE || rc == -ENFILE;
}

static int look_at (struct job_build *b, size_t i, struct err *err)
{
    struct select_item *item = &b->items[i];
    struct err why = { "" };
    int rc;

    item->source = i;
    item->content = &b->sources[i].content;
    item->weight = b->sources[i].chunks.size;
    capture_init (&item->capture);
    rc = read_shipment (b, i, NULL, NULL, &item->capture, &why);
    if (is_no_damage (rc))
        return err_set (err, -rc, "%s", why.text);
    if (rc < 0)
        job_build_blame (b, i, &item->capture, &why);
    item->agent_host = b->sources[i].host;
    item->host_is_agents = item->capture.host[0] == '\0';
    name_host (b, i, &item->capture);
    item->skip = !capture_has_rows (&item->capture);
    capture_drop_groups (&item->capture);
    return 0;
}

/* A piece of work.  The state is the job's; all threads share it. */
static int look_at_some (void *state, size_t piece, struct err *err)
{
    struct job_build *b = state;
    size_t end = (piece + 1) * LOOKED_AT_ONCE;
    int rc = 0;

    for (size_t i = piece * LOOKED_AT_ONCE; i < end && i < b->n && rc == 0; i++)
        rc = look_at (b, i, err);
    return rc;
}

/* A disk that gives nothing at all: a good result is not replaced.  When rows are
 * read, job_build_took sees that.
 */
static int look_at_all (struct job_build *b, unsigned threads,
                        struct err *err)
{
    struct thread_pieces pieces = {
        .n = (b->n + LOOKED_AT_ONCE - 1) / LOOKED_AT_ONCE, .work = look_at_some,
    };
    void *states[BUILD_THREADS_MAX];
    size_t unread = 0;
    int rc;

    if (threads > pieces.n)
        threads = pieces.n > 0 ? (unsigned)pieces.n : 1;
    for (unsigned t = 0; t < threads; t++)
        states[t] = b;
    rc = thread_each (&pieces, states, threads, err);
    for (size_t i = 0; i < b->n; i++)
        unread += b->sources[i].unread;
    return rc < 0 || unread == 0 || unread < b->n
               ? rc : err_sys (err, EIO, "cannot read any shipment of job %s",
                               b->job);
}

int job_sources_look (struct job_build *b, unsigned threads, struct err *err)
{
    int rc;

    if (!(b->items = calloc (b->n + 1, sizeof (*b->items))))
        return err_set (err, ENOMEM, "no memory to build");
    // the chunk of the metadata has rows, too
    segments_keep (store_segments (b->store), SEGMENTS_KEEP);
    rc = look_at_all (b, threads, err);
    segments_keep (store_segments (b->store), SEGMENTS_KEPT);
    return rc;
}

bool job_sources_has_rows (const struct select_item *item)
{
    return item->capture.state == CAPTURE_UNEXPECTED ||
           capture_has_rows (&item->capture);
}

/* ---- their rows ---- */

static bool is_damage (int rc)
{
    return rc == -EBADMSG || rc == -ENOENT;
}

/* Take back what was read of a capture. */
static int take_back (const struct row_sink *sink, struct capture *c,
                      struct err *err)
{
    int rc = 0;

    capture_fini (c);
    for (unsigned t = 0; t < TABLE_COUNT && sink && rc == 0; t++)
        rc = sink->forget (sink->arg, t, err);
    return rc;
}

int job_build_feed_from (struct job_build *b, size_t source,
                         const struct byte_source *through,
                         const struct byte_source *again,
                         const struct row_sink *sink, struct capture *c,
                         struct err *err)
{
    struct err why = { "" };
    int rc = read_shipment (b, source, through, sink, c, &why), back;

    if (is_damage (rc) && again) {
        if ((back = take_back (sink, c, err)) < 0)
            return back;
        rc = read_shipment (b, source, again, sink, c, &why);
    }
    if (is_damage (rc)) {
        if ((back = take_back (sink, c, err)) < 0)
            return back;
        job_build_blame (b, source, c, &why);
        c->transient_error = b->sources[source].unread ? -EIO : 0;
        return 0;
    }
    return rc < 0 ? err_set (err, -rc, "%s", why.text) : 0;
}

/* How many captures the disk did not give, with this one; rows may be read twice.
 */
static size_t count_unread (struct job_build *b, struct shipment_source *s,
                            bool unread)
{
    size_t change = (size_t)unread - (size_t)s->counted;

    s->counted = unread;
    return atomic_fetch_add (&b->unread, change) + change;
}

int job_build_took (void *arg, size_t source, struct capture *c,
                    struct err *err)
{
    struct job_build *b = arg;
    bool unread = c->transient_error == -EIO;

    // one that cannot be read has none
    if (c->state != CAPTURE_FAILED)
        name_host (b, source, c);
    return count_unread (b, &b->sources[source], unread) == b->fed && unread
               ? err_set (err, EIO, "cannot read the rows of any capture of job "
                          "%s: Input/output error", b->job) : 0;
}
