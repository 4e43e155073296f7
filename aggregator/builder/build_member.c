/* aggregator/builder/build_member.c - a process that reads captures for rank 0's
 * build
 */
#include "builder/build_member.h"

#include "base/thread.h"
#include "builder/build_private.h"
#include "builder/team_words.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct pass {
    struct team *team;
    const struct build_member *how;
    const atomic_bool *cancelled;
    void *state;
    struct team_pass what;
    struct page_port port;
    struct row_file *file;      // NULL: rows are not wanted
    bool here;                  // the file can be written here ...
    bool direct;                // ... and rank 0 sees that
    atomic_bool cancel;         // a thread has failed
};

struct member_thread {
    struct pass *pass;
    struct part *part;
    struct buf question, answer;
    struct rank_lists said;     // to rank 0
    unsigned number;            // of the thread
    pthread_t thread;
    bool started;
    int rc;
    struct err err;
};

/* Ask what has no answer. */
static int tell (struct team *team, enum team_word word,
                 const struct buf *question, struct err *err)
{
    struct buf answer;
    int rc;

    buf_init (&answer, TEAM_MESSAGE_MAX);
    rc = team_ask (team, word, question, &answer, err);
    buf_fini (&answer);
    return rc;
}

/* Ask something with two numbers; *ret: the one that is the answer, if any. */
static int ask_number (struct team *team, enum team_word word, uint32_t a,
                       uint32_t b, uint32_t *ret, struct err *err)
{
    struct buf question, answer;
    struct wire w;
    int rc;

    buf_init (&question, TEAM_MESSAGE_MAX);
    buf_init (&answer, TEAM_MESSAGE_MAX);
    wire_put_u32 (&question, a);
    wire_put_u32 (&question, b);
    rc = team_ask (team, word, &question, &answer, err);
    w = wire_reader (answer.data, answer.size);
    *ret = rc == 0 ? wire_u32 (&w) : 0;
    buf_fini (&question);
    buf_fini (&answer);
    return rc;
}

/* ---- pages ---- */

static int port_take (void *arg, uint32_t n, uint32_t *first, struct err *err)
{
    const struct pass *p = arg;

    return ask_number (p->team, TEAM_TAKE, n, 0, first, err);
}

static int port_write (void *arg, uint32_t page, const uint8_t *bytes,
                       uint32_t n, struct err *err)
{
    struct pass *p = arg;
    struct buf question;
    int rc;

    buf_init (&question, TEAM_MESSAGE_MAX);
    wire_put_u32 (&question, page);
    buf_put (&question, bytes, (size_t)n * p->what.page_size);
    rc = tell (p->team, TEAM_WRITE, &question, err);
    buf_fini (&question);
    return rc;
}

/* ---- bytes of rank 0 ---- */

struct remote_bytes {
    struct team *team;
    uint64_t source, at;        // of the block in memory
    struct buf block;
    int rc;                     // of the last question, with rank 0's sentence
    struct err why;
};

static int read_block (struct remote_bytes *r, uint64_t at, size_t n)
{
    struct buf question;

    buf_init (&question, TEAM_MESSAGE_MAX);
    wire_put_u64 (&question, r->source);
    wire_put_u64 (&question, at);
    wire_put_u32 (&question, (uint32_t)n);
    r->rc = team_ask (r->team, TEAM_READ, &question, &r->block, &r->why);
    buf_fini (&question);
    r->at = at;
    if (r->rc == 0 && r->block.size != n)
        r->rc = err_set (&r->why, EBADMSG, "rank 0 gave other bytes");
    if (r->rc < 0)
        buf_clear (&r->block);
    return r->rc;
}

static int read_remote (const struct byte_source *from, void *out, size_t n,
                        uint64_t at)
{
    struct remote_bytes *r = from->arg;
    int rc = 0;

    if (n > from->size || at > from->size - n)
        return -ENODATA;
    while (n > 0 && rc == 0) {
        uint64_t begin = at - at % TEAM_READ_MAX, left = from->size - begin;
        size_t within = (size_t)(at - begin), some;

        if (r->block.size == 0 || r->at != begin)
            rc = read_block (r, begin, left < TEAM_READ_MAX ? (size_t)left
                                                            : TEAM_READ_MAX);
        if (rc < 0)
            return rc;
        some = r->block.size - within < n ? r->block.size - within : n;
        memcpy (out, r->block.data + within, some);
        out = (char *)out + some;
        at += some;
        n -= some;
    }
    return rc;
}

/* ---- captures ---- */

static bool is_stopped (const struct pass *p)
{
    return atomic_load (&p->cancel) || atomic_load (p->cancelled);
}

static int hand_over (struct member_thread *t)
{
    bool any = t->question.size > 0 || t->question.failed;
    int rc = !any ? 0 : tell (t->pass->team, TEAM_CAPTURE,
                              &t->question, &t->err);

    buf_clear (&t->question);
    return rc;
}

/* Each question costs a nap of rank 0. */
static int note_capture (struct member_thread *t, size_t index,
                         const struct capture *c)
{
    const struct part_group *used = NULL;
    struct row_span span = { .rank = -1 };
    size_t nused = 0;

    if (t->part) {
        used = part_groups (t->part, &nused);
        part_span (t->part, &span);
    }
    if (t->question.size == 0)
        wire_put_u32 (&t->question, t->number);
    team_put_capture (&t->question, &t->said, index, c, &span, used, nused);
    return t->question.size < TEAM_CAPTURES_MIN ? 0 : hand_over (t);
}

/* Rows go to the part, if they are wanted, until all is to stop. */
static int take_rows (void *arg, const struct batch *b, struct err *err)
{
    const struct member_thread *t = arg;
    const struct row_sink *to = t->part ? part_sink (t->part) : NULL;

    if (is_stopped (t->pass))
        return err_set (err, EINTR, "interrupted");
    return to ? to->rows (to->arg, b, err) : 0;
}

static int forget_table (void *arg, enum table_id table, struct err *err)
{
    const struct member_thread *t = arg;
    const struct row_sink *to = t->part ? part_sink (t->part) : NULL;

    return to ? to->forget (to->arg, table, err) : 0;
}

static int read_item (struct member_thread *t, size_t index,
                      const struct select_item *item, struct wire *order)
{
    struct pass *p = t->pass;
    const struct row_sink sink = { take_rows, forget_table, t };
    struct remote_bytes bytes = { .team = p->team, .source = item->source };
    struct byte_source remote = { .read = read_remote, .arg = &bytes, .fd = -1 };
    struct capture c;
    int rc;

    buf_init (&bytes.block, TEAM_MESSAGE_MAX);
    capture_init (&c);
    if (t->part)
        part_begin_capture (t->part, item);
    rc = p->how->feed (p->state, order, &remote, &sink, &c, &t->err);
    if (rc < 0 && rc == bytes.rc)
        t->err = bytes.why;
    if (rc == 0 && t->part)
        rc = part_end_capture (t->part, &t->err);
    if (rc == 0)
        rc = note_capture (t, index, &c);
    capture_fini (&c);
    buf_fini (&bytes.block);
    return rc;
}

/* Read the items of one answer; *n: how many there were. */
static int read_some (struct member_thread *t, uint32_t *n)
{
    struct wire w = wire_reader (t->answer.data, t->answer.size);
    int rc = 0;

    *n = wire_u32 (&w);
    if (*n > 0 && t->part)
        rc = part_gap (t->part, &t->err);
    for (uint32_t i = 0; i < *n && rc == 0; i++) {
        struct select_item item;
        struct wire order;
        size_t index;

        team_get_item (&w, &index, &item, &order);
        if (w.failed)
            return err_set (&t->err, EBADMSG, "rank 0 says what is not "
                            "understood");
        if (is_stopped (t->pass))
            return err_set (&t->err, EINTR, "interrupted");
        rc = read_item (t, index, &item, &order);
    }
    return rc < 0 ? rc : hand_over (t);
}

static void *member_work (void *arg)
{
    struct member_thread *t = arg;
    struct pass *p = t->pass;
    uint32_t n = 1;
    int end;

    while (n > 0 && t->rc == 0) {
        t->rc = team_ask (p->team, TEAM_NEXT, NULL, &t->answer, &t->err);
        if (t->rc == 0)
            t->rc = read_some (t, &n);
    }
    if (t->part) {
        end = part_close (t->part, t->rc < 0 ? NULL : &t->err);
        t->rc = t->rc < 0 ? t->rc : end;
    }
    if (t->rc < 0)
        atomic_store (&p->cancel, true);
    return NULL;
}

/* ---- a pass ---- */

/* Whether what one host has fsynced is what another one reads, though it has read
 * the file before, and though both write to it (doc/architecture.md, Builds by
 * several processes).  Of a file system that is not known nobody knows: most have
 * caches that are apart until a file is closed and opened.
 */
static bool is_coherent (const char *path)
{
    static const char *const together[] = {
        "lustre", "gpfs", "ceph", "ocfs2", "gfs2",
    };
    const char *kind = fileio_remote_fs (path);
    bool found = false;

    for (size_t i = 0; kind && i < sizeof (together) / sizeof (together[0]); i++)
        found = found || strcmp (kind, together[i]) == 0;
    return found;
}

/* Whether the file is the one that rank 0 has: read its bytes, and answer. */
static bool answer_probe (const struct pass *p)
{
    const struct team_pass *w = &p->what;
    bool near = team_place (p->team)->near;
    off_t page = (off_t)(w->probe - 1) * w->page_size;
    uint8_t bytes[TEAM_PROBE];
    bool same = false;
    int fd;

    if (!w->rows || (!near && !is_coherent (w->path)) ||
        (fd = open (w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) < 0)
        return false;
    if (fileio_pread_all (fd, bytes, sizeof (bytes), page) == 0 &&
        memcmp (bytes, w->nonce, sizeof (bytes)) == 0) {
        team_probe_answer (w, bytes);
        page += team_probe_offset (w, team_place (p->team)->rank);
        same = fileio_pwrite_all (fd, bytes, sizeof (bytes), page) == 0 &&
               (near || fsync (fd) == 0);
    }
    return close (fd) == 0 && same;
}

/* Find out what can be seen from here: *part: whether to take part. */
static int open_pass (struct pass *p, bool *part, struct err *err)
{
    uint32_t direct;
    bool sees = false;
    int rc;

    if (p->what.world_max >= 1 && p->what.world_max <= CAPTURE_WORLD_LIMIT)
        capture_world_max = p->what.world_max;
    rc = p->how->open (&p->what.settings, &p->state, &sees, err);
    if (rc < 0)
        return rc;
    p->here = answer_probe (p);
    rc = ask_number (p->team, TEAM_SEEN, p->here, 0, &direct, err);
    p->direct = direct;
    *part = sees || p->how->may_ask;
    p->port = (struct page_port){ p, port_take, port_write };
    if (rc == 0 && *part && p->what.rows)
        rc = row_file_share (p->direct ? p->what.path : NULL,
                             p->what.page_size, &p->port, &p->file, err);
    return rc;
}

static int run_threads (struct pass *p, struct member_thread *threads,
                        unsigned n, struct err *err)
{
    int rc = 0;

    for (unsigned i = 0; i < n && rc == 0; i++) {
        struct member_thread *t = &threads[i];

        t->pass = p;
        t->number = i;
        buf_init (&t->question, TEAM_MESSAGE_MAX);
        buf_init (&t->answer, TEAM_MESSAGE_MAX);
        if (p->file)
            rc = part_create (p->file, &p->cancel, &t->part, err);
        if (rc == 0 && (rc = thread_start (&t->thread, member_work, t)) < 0)
            rc = err_sys (err, -rc, "cannot start a thread");
        t->started = rc == 0;
    }
    if (rc < 0)
        atomic_store (&p->cancel, true);
    for (unsigned i = 0; i < n; i++) {
        struct member_thread *t = &threads[i];

        if (t->started)
            (void)pthread_join (t->thread, NULL);
        if (t->rc < 0 && (rc == 0 || rc == -EINTR)) {
            rc = t->rc;
            *err = t->err;
        }
    }
    return rc;
}

static int give_pages (void *arg, uint32_t first, uint32_t n)
{
    const struct pass *p = arg;
    uint32_t none;

    return ask_number (p->team, TEAM_GIVE, first, n, &none, NULL);
}

static int hand_leaves (struct pass *p, unsigned table, struct err *err)
{
    size_t n, some;
    const struct page_leaf *leaves =
        page_tree_leaves (row_file_at (p->file, table), &n);
    struct buf question;
    int rc = 0;

    buf_init (&question, TEAM_MESSAGE_MAX);
    for (size_t i = 0; i < n && rc == 0; i += some) {
        some = n - i < TEAM_LEAVES_MAX ? n - i : TEAM_LEAVES_MAX;
        buf_clear (&question);
        wire_put_u32 (&question, table);
        wire_put_u32 (&question, (uint32_t)some);
        for (size_t k = i; k < i + some; k++)
            team_put_leaf (&question, &leaves[k]);
        rc = tell (p->team, TEAM_LEAVES, &question, err);
    }
    buf_fini (&question);
    return rc;
}

/* Hand over what the pages do not say. */
static int close_file (struct pass *p, struct err *err)
{
    struct page_file *f = row_file_pages (p->file);
    int rc = 0;

    for (unsigned i = 0; i < ROW_FILE_TABLES && rc == 0; i++)
        rc = hand_leaves (p, i, err);
    if (rc == 0 && page_file_unused (f, give_pages, p) < 0)
        rc = err_set (err, EIO, "rank 0 does not take pages back");
    // on this host the pages are in one cache
    if (rc == 0 && !team_place (p->team)->near)
        rc = page_file_flush (f, err);
    return rc;
}

/* Rank 0 says why it failed, but for what rank 0 has refused itself. */
static int say_done (struct pass *p, const struct member_thread *threads,
                     unsigned n, int rc, struct err *why, struct err *err)
{
    char host[HOST_NAME_MAX + 1] = "";
    struct buf question;
    uint64_t rows = 0;

    (void)gethostname (host, sizeof (host) - 1);
    (void)err_prefix (why, rc, "on %s", host);
    for (unsigned i = 0; i < n; i++)
        rows += threads[i].part ? part_rows (threads[i].part) : 0;
    buf_init (&question, TEAM_MESSAGE_MAX);
    wire_put_i64 (&question, rc);
    wire_put_text (&question, why->text);
    wire_put_u64 (&question, rows);
    rc = tell (p->team, TEAM_DONE, &question, err);
    buf_fini (&question);
    return rc;
}

static int do_pass (struct pass *p, struct err *err)
{
    struct member_thread threads[BUILD_THREADS_MAX] = { { .rc = 0 } };
    struct err why = { "" };
    unsigned n = team_threads (team_place (p->team), p->what.threads);
    bool part = false;
    int rc = open_pass (p, &part, &why);

    if (rc == 0 && part)
        rc = run_threads (p, threads, n, &why);
    if (rc == 0 && p->file)
        rc = close_file (p, &why);
    row_file_close (p->file);
    rc = say_done (p, threads, n, rc, &why, err);
    for (unsigned i = 0; i < n; i++) {
        part_destroy (threads[i].part);
        buf_fini (&threads[i].question);
        buf_fini (&threads[i].answer);
        rank_lists_fini (&threads[i].said);
    }
    if (p->state)
        p->how->close (p->state);
    return rc;
}

/* The launcher ends us, or rank 0 is not there.  If it was killed, it could not
 * remove its file: a lock tells whether it is alive.
 */
static void clean_up (char *path)
{
    struct err why;
    struct tree t;

    // FILE is in its build's directory, which is in that of results
    for (unsigned i = 0; i < 2; i++) {
        char *slash = strrchr (path, '/');

        if (slash)
            *slash = '\0';
    }
    if (*path && tree_open (&t, path, &why) == 0) {
        scratch_clean (&t);
        tree_close (&t);
    }
}

int build_member_run (struct team *team, const struct build_member *how,
                      const atomic_bool *cancel, struct err *err)
{
    char path[PATH_MAX] = "";   // of the file, if it is here
    struct buf question, answer;
    bool over = false;
    int rc = 0;

    buf_init (&question, TEAM_MESSAGE_MAX);
    buf_init (&answer, TEAM_MESSAGE_MAX);
    build_keep_heap ();
    wire_put_u64 (&question, team_order (team));
    while (rc == 0 && !over) {
        struct pass p = { .team = team, .how = how, .cancelled = cancel };
        struct wire w;

        rc = team_ask (team, TEAM_READY, &question, &answer, err);
        over = rc == 0 && answer.size == 0;
        if (rc < 0 || over)
            break;
        w = wire_reader (answer.data, answer.size);
        team_get_pass (&w, &p.what);
        rc = w.failed ? err_set (err, EBADMSG, "rank 0 says what is not "
                                 "understood") : do_pass (&p, err);
        PRINT (path, "%s", p.here ? p.what.path : "");
    }
    if (rc < 0)
        clean_up (path);
    buf_fini (&question);
    buf_fini (&answer);
    return rc;
}
