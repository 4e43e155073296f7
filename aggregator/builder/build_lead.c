/* aggregator/builder/build_lead.c - what rank 0 answers the other processes of a
 * build
 *
 * It has the file, its pages and the list of captures.  Members read ranges of
 * captures and fill pages, and hand over what the threads here leave in memory.
 */
#include "builder/build_private.h"
#include "builder/team_words.h"

#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#define NAP_MOST_US 1000u       // while members may ask
#define ERRNO_MAX 4095          // Linux has no larger one

/* What one thread of a member has said. */
struct speaker {
    uint64_t from, thread;      // the key
    struct team_heard heard;
};

struct lead {
    struct team_pass pass;
    struct buf settings, order, out;
    struct rank_lists lists;    // of members
    struct map speakers;
    unsigned *given;            // of each item: the member that has to hand it
                                // over; 0: none
    unsigned inside;            // members that are at work
    int rc;                     // the first failure of a member
    struct err why;
};

typedef int answer_fn (struct builder *b, struct team_question *q,
                       struct err *err);

static struct team *team_of (const struct builder *b)
{
    return b->job->remote->team;
}

/* ---- the pass ---- */

/* Put bytes into the file that a member looks for. */
static int make_probe (struct builder *b, struct err *err)
{
    struct page_file *f = row_file_pages (b->file);
    struct team_pass *p = &b->lead->pass;
    uint8_t *page;
    int rc;

    if (!realpath (b->path, p->path))
        return err_sys (err, errno, "cannot find %s", b->path);
    p->page_size = page_file_page_size (f);
    if (getrandom (p->nonce, sizeof (p->nonce), 0) != sizeof (p->nonce))
        return err_sys (err, errno, "no random bytes");
    if (!(page = calloc (1, p->page_size)))
        return err_set (err, ENOMEM, "no memory for a page");
    memcpy (page, p->nonce, sizeof (p->nonce));
    rc = page_file_reserve (f, 1, &p->probe, err);
    if (rc == 0)
        rc = page_file_put (f, p->probe, page, p->page_size, err);
    free (page);
    return rc;
}

static void lead_destroy (struct builder *b)
{
    struct lead *l = b->lead;

    for (uint32_t i = 0; i < l->speakers.n; i++)
        team_heard_fini (&((struct speaker *)map_at (&l->speakers, i))->heard);
    map_fini (&l->speakers);
    rank_lists_fini (&l->lists);
    buf_fini (&l->settings);
    buf_fini (&l->order);
    buf_fini (&l->out);
    free (l->given);
    free (l);
    b->lead = NULL;
}

/* A member that is ready begins. */
static int admit (struct builder *b, struct team_question *q, struct err *err)
{
    struct lead *l = b->lead;
    int rc;

    if (wire_u64 (&q->in) != team_order (team_of (b))) {
        rc = team_over (team_of (b), q->from, err);
        return rc < 0 ? rc
                      : err_set (err, EPROTO, "rank %u was started with another "
                                 "command line, or is of another version of "
                                 "rollcall; all processes of a launch build one "
                                 "result", q->from);
    }
    l->inside++;
    buf_clear (&l->out);
    team_put_pass (&l->out, &l->pass, &l->settings);
    return team_answer (team_of (b), q->from, 0, &l->out, NULL, err);
}

/* All begin before there is anything to be left behind: whoever is alive when
 * rank 0 is killed knows where its file is.  If one has failed already, the others
 * begin, too: they are told to stop, and are there for the next pass.
 */
static int admit_all (struct builder *b, struct err *err)
{
    unsigned n = team_place (team_of (b))->size - 1, idle = 0;
    struct team_question q;
    int rc = 0;

    while (n > 0 && rc == 0) {
        if (atomic_load (b->job->cancel))
            return err_set (err, EINTR, "interrupted");
        if ((rc = team_listen (team_of (b), true, &q, err)) > 0) {
            rc = admit (b, &q, err);
            n--;
        } else if (rc == 0) {
            rc = lead_serve (b, &idle, err);
        }
    }
    return rc;
}

int lead_begin (struct builder *b, struct err *err)
{
    const struct build_remote *remote = b->job->remote;
    const struct mpi_place *place = team_place (remote->team);
    struct lead *l = b->lead = calloc (1, sizeof (*l));
    unsigned host = remote->own_threads ? 0 : b->threads, n;
    int rc = 0;

    if (!l || !(l->given = calloc (b->job->nitems + 1, sizeof (*l->given))))
        return err_set (err, ENOMEM, "no memory for other processes");
    l->speakers = (struct map)MAP (struct speaker, 2);
    buf_init (&l->settings, TEAM_MESSAGE_MAX);
    buf_init (&l->order, TEAM_MESSAGE_MAX);
    buf_init (&l->out, TEAM_MESSAGE_MAX);
    n = team_threads (place, host);
    b->nworkers = n < b->threads ? n : b->threads;
    b->readers = b->nworkers * place->size;
    l->pass = (struct team_pass){ .rows = b->out != NULL,
                                  .threads = host,
                                  .world_max = (uint32_t)capture_world_max };
    if (b->out)
        rc = make_probe (b, err);
    if (rc == 0)
        rc = remote->settings (b->job->feed_arg, &l->settings, err);
    return rc < 0 ? rc : admit_all (b, err);
}

bool lead_is_over (const struct builder *b)
{
    return b->lead->inside == 0;
}

int lead_finish (struct builder *b, struct err *err)
{
    struct lead *l = b->lead;
    int rc;

    if (!l)
        return 0;
    if (l->inside > 0)
        team_stray (team_of (b));
    rc = l->rc;
    *err = l->why;
    if (rc == 0 && b->file && l->pass.probe)
        rc = page_file_release (row_file_pages (b->file), l->pass.probe, 1,
                                err);
    lead_destroy (b);
    return rc;
}

/* ---- answers ---- */

static int not_understood (const struct team_question *q, struct err *err)
{
    return err_set (err, EBADMSG, "rank %u says what is not understood",
                    q->from);
}

static int hear_seen (struct builder *b, struct team_question *q,
                      struct err *err)
{
    const struct team_pass *p = &b->lead->pass;
    uint8_t want[TEAM_PROBE];
    bool wrote = wire_u32 (&q->in);
    uint32_t at = p->rows ? team_probe_offset (p, q->from) : 0;
    uint8_t *page = NULL;
    int rc = 0;

    if (wrote && p->rows) {
        if (!(page = malloc (p->page_size)))
            return err_set (err, ENOMEM, "no memory for a page");
        rc = page_file_peek (row_file_pages (b->file), p->probe, page,
                             p->page_size, err);
        team_probe_answer (p, want);
        wrote = rc == 0 && memcmp (page + at, want, sizeof (want)) == 0;
        free (page);
    }
    wire_put_u32 (&b->lead->out, wrote && p->rows);
    return rc;
}

/* The items of a range that a member is to read. */
static int put_range (struct builder *b, size_t first, size_t end, unsigned to,
                      uint32_t *n, struct err *err)
{
    const struct build_remote *remote = b->job->remote;
    struct lead *l = b->lead;
    int rc = 0;

    for (size_t i = first; i < end && rc == 0; i++) {
        const struct select_item *item = &b->job->items[i];

        if (item->skip) {
            atomic_fetch_add (&b->captures, 1);
            continue;
        }
        buf_clear (&l->order);
        rc = remote->order (b->job->feed_arg, item->source, &l->order, err);
        team_put_item (&l->out, i, item, &l->order);
        l->given[i] = to;
        ++*n;
    }
    return rc;
}

static int hear_next (struct builder *b, struct team_question *q,
                      struct err *err)
{
    struct buf *out = &b->lead->out;
    size_t first, end;
    uint32_t n = 0;
    int rc = 0;

    wire_put_u32 (out, 0);
    while (n == 0 && rc == 0 && build_next_range (b, &first, &end))
        rc = put_range (b, first, end, q->from, &n, err);
    if (!out->failed)
        for (unsigned i = 0; i < 4; i++)
            out->data[i] = (uint8_t)(n >> (8 * i));
    return rc;
}

static int hear_take (struct builder *b, struct team_question *q,
                      struct err *err)
{
    uint32_t n = wire_u32 (&q->in), first = 0;
    int rc = page_file_reserve (row_file_pages (b->file), n, &first, err);

    wire_put_u32 (&b->lead->out, first);
    return rc;
}

static int hear_give (struct builder *b, struct team_question *q,
                      struct err *err)
{
    uint32_t first = wire_u32 (&q->in), n = wire_u32 (&q->in);

    return page_file_release (row_file_pages (b->file), first, n, err);
}

static int hear_write (struct builder *b, struct team_question *q,
                       struct err *err)
{
    uint32_t page = wire_u32 (&q->in);
    size_t n = (size_t)(q->in.end - q->in.at);

    return page_file_put (row_file_pages (b->file), page,
                          wire_bytes (&q->in, n), n, err);
}

static int hear_read (struct builder *b, struct team_question *q,
                      struct err *err)
{
    const struct build_remote *remote = b->job->remote;
    uint64_t source = wire_u64 (&q->in), at = wire_u64 (&q->in);
    uint32_t n = wire_u32 (&q->in);
    void *room = n <= TEAM_READ_MAX ? buf_extend (&b->lead->out, n) : NULL;

    if (!room || q->in.failed || !remote->read || source >= b->job->nitems)
        return not_understood (q, err);
    return remote->read (b->job->feed_arg, source, room, n, at, err);
}

/* What is wrong with what a member says. */
static int of_rank (const struct team_question *q, int rc, struct err *err)
{
    struct err why = *err;

    return rc == -EBADMSG
               ? err_set (err, EBADMSG, "rank %u: %s", q->from, why.text) : rc;
}

/* What a member has read of an item, as if it had been read here. */
static int enter_capture (struct builder *b, size_t i, struct team_capture *c,
                          struct err *err)
{
    const struct build_job *job = b->job;
    int rc = job->remote->took
                 ? job->remote->took (job->feed_arg, job->items[i].source,
                                      &c->capture, err) : 0;

    if (rc < 0) {
        capture_fini (&c->capture);
        return rc;
    }
    if (b->out)
        b->spans[i] = c->span;
    atomic_fetch_add (&b->captures, 1);
    atomic_fetch_add (&b->bytes, job->items[i].weight);
    return build_took (b, i, &c->capture, c->groups, c->ngroups, err);
}

static int take_capture (struct builder *b, struct team_question *q,
                         struct team_heard *heard, struct err *err)
{
    unsigned *given = b->lead->given;
    struct team_capture c;
    size_t i;
    int rc = of_rank (q, team_get_capture (&q->in, heard, &i, &c, err), err);

    if (rc == 0 && (i >= b->job->nitems || given[i] != q->from)) {
        capture_fini (&c.capture);
        rc = not_understood (q, err);
    }
    if (rc == 0) {
        given[i] = 0;
        rc = enter_capture (b, i, &c, err);
    }
    team_free_groups (&c);
    return rc;
}

/* Who says it; the pointer is valid until the next one is new.  NULL without
 * memory.
 */
static struct team_heard *heard_of (struct lead *l, unsigned from,
                                    uint32_t thread)
{
    const uint64_t key[] = { from, thread };
    bool is_new;
    struct speaker *s = map_put (&l->speakers, key, &is_new);

    if (!s)
        return NULL;
    s->heard.all = &l->lists;
    return &s->heard;
}

static int hear_captures (struct builder *b, struct team_question *q,
                          struct err *err)
{
    uint32_t thread = wire_u32 (&q->in);
    struct team_heard *heard;
    int rc = 0;

    if (q->in.failed || thread >= BUILD_THREADS_MAX)
        return not_understood (q, err);
    if (!(heard = heard_of (b->lead, q->from, thread)))
        return err_set (err, ENOMEM, "no memory for other processes");
    while (rc == 0 && q->in.at < q->in.end)
        rc = take_capture (b, q, heard, err);
    return rc;
}

static int hear_leaves (struct builder *b, struct team_question *q,
                        struct err *err)
{
    uint32_t table = wire_u32 (&q->in), n = wire_u32 (&q->in);
    struct page_leaf *leaves;
    int rc;

    if (table >= ROW_FILE_TABLES || n > TEAM_LEAVES_MAX)
        return not_understood (q, err);
    if (!(leaves = calloc (n + 1, sizeof (*leaves))))
        return err_set (err, ENOMEM, "no memory for pages");
    for (uint32_t i = 0; i < n; i++)
        team_get_leaf (&q->in, &leaves[i]);
    rc = q->in.failed ? not_understood (q, err)
                      : page_tree_add (row_file_at (b->file, table), leaves, n,
                                       err);
    free (leaves);
    return rc;
}

static void note_failure (struct lead *l, int rc, const struct err *why)
{
    if (rc < 0 && (l->rc == 0 || l->rc == -EINTR)) {
        l->rc = rc;
        l->why = *why;
    }
}

/* Whether a member has captures that it did not hand over. */
static bool keeps_some (const struct builder *b, unsigned rank)
{
    for (size_t i = 0; i < b->job->nitems; i++) {
        if (b->lead->given[i] == rank)
            return true;
    }
    return false;
}

static int hear_done (struct builder *b, struct team_question *q,
                      struct err *err)
{
    int64_t said = wire_i64 (&q->in);
    char text[ERR_TEXT_MAX];
    struct err why;
    int rc = 0;

    (void)err;
    wire_text (&q->in, text, sizeof (text));
    b->member_rows += wire_u64 (&q->in);
    b->lead->inside--;
    if (q->in.failed || said > 0 || said < -ERRNO_MAX)
        rc = not_understood (q, &why);
    else if (said < 0)
        rc = err_set (&why, (int)-said, "%s", text);
    else if (keeps_some (b, q->from))
        rc = err_set (&why, EBADMSG, "rank %u has left out captures", q->from);
    note_failure (b->lead, rc, &why);
    if (rc < 0)
        atomic_store (&b->cancel, true);
    return 0;
}

static answer_fn *const answers[TEAM_WORDS] = {
    [TEAM_SEEN] = hear_seen,       [TEAM_NEXT] = hear_next,
    [TEAM_TAKE] = hear_take,       [TEAM_GIVE] = hear_give,
    [TEAM_WRITE] = hear_write,     [TEAM_READ] = hear_read,
    [TEAM_CAPTURE] = hear_captures, [TEAM_LEAVES] = hear_leaves,
    [TEAM_DONE] = hear_done,
};

static bool needs_file (enum team_word word)
{
    return word == TEAM_TAKE || word == TEAM_GIVE || word == TEAM_WRITE ||
           word == TEAM_LEAVES;
}

static int answer (struct builder *b, struct team_question *q, struct err *err)
{
    struct lead *l = b->lead;
    struct err why = { "" };
    int rc;

    buf_clear (&l->out);
    if (l->inside == 0 || !answers[q->word] ||
        (needs_file (q->word) && !b->out))
        rc = not_understood (q, &why);
    else if (q->word != TEAM_DONE && build_is_cancelled (b))
        rc = err_set (&why, EINTR, "interrupted");
    else
        rc = answers[q->word](b, q, &why);
    // bytes that cannot be read are for the member to judge
    if (q->word != TEAM_READ)
        note_failure (l, rc, &why);
    return team_answer (team_of (b), q->from, rc, &l->out, &why, err);
}

int lead_serve (struct builder *b, unsigned *idle, struct err *err)
{
    struct team_question q;
    int rc = team_listen (team_of (b), false, &q, err);

    if (rc == 0)
        team_nap (idle, NAP_MOST_US);
    if (rc <= 0)
        return rc;
    *idle = 0;
    return answer (b, &q, err);
}
