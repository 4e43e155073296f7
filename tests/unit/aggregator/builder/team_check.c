/* tests/unit/aggregator/builder/team_check.c - builds by rank 0 and a member */
#include "aggregator/builder/team_check.h"

#include "base/clock.h"
#include "base/thread.h"
#include "builder/build.h"
#include "publish/rows_digest.h"
#include "store/fileio.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#define LATE_NS (10 * NS_PER_S) // whoever reads so long was not told to stop

static char dir[] = "/tmp/rollcall-team-XXXXXX";
atomic_bool never;
struct team_case how;

static pthread_t rank_0;        // the thread

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more_read = PTHREAD_COND_INITIALIZER;     // by the member

/* Returns how many captures the member has begun to read before. */
static unsigned member_reads (void)
{
    unsigned n;

    (void)pthread_mutex_lock (&lock);
    n = atomic_fetch_add (&how.member_read, 1);
    (void)pthread_cond_broadcast (&more_read);
    (void)pthread_mutex_unlock (&lock);
    return n;
}

/* Wait until it has begun so many. */
static void await_member (unsigned n)
{
    (void)pthread_mutex_lock (&lock);
    while (atomic_load (&how.member_read) < n)
        (void)pthread_cond_wait (&more_read, &lock);
    (void)pthread_mutex_unlock (&lock);
}

int statfs (const char *path, struct statfs *st)
{
    (void)path;
    memset (st, 0, sizeof (*st));
    st->f_type = how.file_system;
    return 0;
}

int sched_getaffinity (pid_t pid, size_t size, cpu_set_t *mask)
{
    (void)pid;
    CPU_ZERO_S (size, mask);
    for (int i = 0; i < how.processors; i++)
        CPU_SET_S ((size_t)i, size, mask);
    return 0;
}

static _Thread_local bool is_member;

int __real_thread_start (pthread_t *thread, void *(*fn) (void *arg), void *arg);
int __wrap_thread_start (pthread_t *thread, void *(*fn) (void *arg), void *arg);
int __wrap_thread_start (pthread_t *thread, void *(*fn) (void *arg), void *arg)
{
    if (is_member)
        atomic_fetch_add (&how.member_threads, 1);
    return pthread_equal (pthread_self (), rank_0) && how.no_threads
               ? -EAGAIN : __real_thread_start (thread, fn, arg);
}

/* ---- captures ---- */

/* Groups of long lists: one that all name, and one of every third. */
static int add_groups (size_t source, struct capture *c, struct err *err)
{
    int rc = 0;

    for (unsigned i = 0; i < 2 && rc == 0; i++) {
        int32_t *members = calloc (MEMBERS, sizeof (*members));

        assert_non_null (members);
        for (uint32_t k = 0; k < MEMBERS; k++)
            members[k] = (int32_t)(i == 0 ? k : 3 * k + source % 3);
        rc = capture_add_group (c, i == 0 ? "world" : "third", "name", members,
                                MEMBERS, err);
    }
    return rc;
}

/* The rows of a source: ops of two groups, more for higher ranks. */
static int give_rows (size_t source, const struct row_sink *sink,
                      struct err *err)
{
    struct batch b = { .nrows = 0 };
    int rc = batch_init (&b, TABLE_TIME, err);

    for (uint32_t i = 0; i < 40 * (source + 1) && rc == 0; i++) {
        char op[32];

        PRINT (op, "op_%u", i);
        b.text[TIME_OP][b.nrows] = batch_string (&b, op);
        b.text[TIME_GROUP][b.nrows] = batch_string (&b, i % 3 ? "1" : "22");
        b.text[TIME_STEP][b.nrows] = batch_string (&b, "step1");
        b.text[TIME_TYPE][b.nrows] = batch_string (&b, i % 3 ? "collective"
                                                             : "p2p");
        for (unsigned k = TIME_START; k <= TIME_IDLE; k++)
            b.real[k][b.nrows] = (double)(i * k + source);
        b.nrows++;
        if (batch_full (&b))
            rc = batch_flush (&b, sink, err);
    }
    if (rc == 0)
        rc = batch_flush (&b, sink, err);
    batch_fini (&b);
    return rc;
}

static int make_rows (size_t source, const struct row_sink *sink,
                      struct capture *c, struct err *err)
{
    int rc = give_rows (source, sink, err);

    c->rank = (int64_t)source;
    c->state = CAPTURE_COMPLETE;
    c->whole_tables = 1u << TABLE_TIME;
    PRINT (c->name, "capture_%zu", source);
    (void)capture_note_step (c, "1", 1);
    return rc == 0 ? add_groups (source, c, err) : rc;
}

static int lead_feed (void *arg, size_t source, const struct row_sink *sink,
                      struct capture *c, struct err *err)
{
    const struct build_job *job = arg;
    unsigned n = atomic_fetch_add (&how.lead_read, 1);

    // the member is to have some
    if (job->remote && how.sees)
        await_member (how.pair ? 2 : 1);
    if (n == 0 && how.lead_fails)
        return err_set (err, how.lead_fails, "rank 0 has failed");
    return make_rows (source, sink, c, err);
}

static int settings (void *arg, struct buf *out, struct err *err)
{
    (void)arg;
    (void)err;
    wire_put_u32 (out, 4711);
    return 0;
}

static int order (void *arg, size_t source, struct buf *out, struct err *err)
{
    (void)arg;
    (void)err;
    wire_put_u64 (out, source);
    return 0;
}

static int took (void *arg, size_t source, struct capture *c, struct err *err)
{
    (void)arg;
    (void)source;
    PRINT (c->host, "%s", how.no_hosts ? "" : "h");
    return how.lead_refuses ? err_set (err, how.lead_refuses, "rank 0 has had "
                                       "enough") : 0;
}

static int read_bytes (void *arg, size_t source, void *out, size_t n,
                       uint64_t at, struct err *err)
{
    (void)arg;
    (void)err;
    atomic_fetch_add (&how.bytes_asked, 1);
    memset (out, (int)source, n);
    assert_true (at + n <= 3000000);
    return 0;
}

/* ---- the member ---- */

static int member_open (struct wire *w, void **state, bool *sees,
                        struct err *err)
{
    *state = NULL;
    *sees = how.sees;
    if (how.open_fails)
        return err_set (err, how.open_fails, "the member cannot begin");
    return wire_u32 (w) == 4711 ? 0 : -EBADMSG;
}

/* Its bytes come from rank 0, in whatever pieces they are read. */
static int check_bytes (const struct byte_source *remote, size_t source)
{
    struct byte_source from = *remote;
    char some[5000];
    int rc;

    from.size = 3000000;
    if ((rc = from.read (&from, some, sizeof (some), 1048570)) < 0)
        return rc;
    for (size_t i = 0; i < sizeof (some); i++)
        assert_int_equal (some[i], source);
    assert_int_equal (from.read (&from, some, 11, 2999990), -ENODATA);
    return from.read (&from, some, 10, 2999990);
}

/* A capture that has rows until its reader is told to stop. */
static int read_long (size_t source, const struct row_sink *sink,
                      struct err *err)
{
    int64_t until = clock_mono_ns () + LATE_NS;
    int rc = 0;

    while (rc == 0 && !how.late) {
        rc = give_rows (source, sink, err);
        how.late = clock_mono_ns () > until;
    }
    return rc;
}

static int member_feed (void *state, struct wire *w,
                        const struct byte_source *remote,
                        const struct row_sink *sink, struct capture *c,
                        struct err *err)
{
    size_t source = wire_u64 (w);
    unsigned n;
    int rc;

    (void)state;
    n = member_reads ();
    if (how.pair)
        await_member (2);
    if (n == 0 && how.member_fails)
        return err_set (err, how.member_fails, "the member has failed");
    if (how.pair)
        return read_long (source, sink, err);
    rc = check_bytes (remote, source);
    return rc < 0 ? err_set (err, -rc, "cannot read")
                  : make_rows (source, sink, c, err);
}

static void *member (void *arg)
{
    static const struct build_member reads = {
        .open = member_open, .feed = member_feed,
    };
    struct err err = { "" };

    is_member = true;
    if (build_member_run (arg, &reads, &never, &err) < 0)
        fail_msg ("%s", err.text);
    return NULL;
}

/* ---- a build ---- */

static void plan (struct select_item items[CAPTURES])
{
    memset (items, 0, CAPTURES * sizeof (*items));
    for (size_t i = 0; i < CAPTURES; i++) {
        capture_init (&items[i].capture);
        items[i].capture.rank = (int64_t)i;
        items[i].capture.state = CAPTURE_COMPLETE;
        items[i].source = i;
        items[i].weight = 1;
    }
    items[4].skip = true;
    items[4].capture.state = CAPTURE_FAILED;
    select_plan (items, CAPTURES);
}

int build (const char *out, struct team *team, struct digest *rows,
           struct err *err)
{
    const struct build_remote remote = { team, settings, order, took,
                                         read_bytes, how.own_threads };
    struct select_item items[CAPTURES];
    struct build_result result = { .rows = 0 };
    struct build_job job = {
        .items = items, .nitems = CAPTURES, .threads = 2, .feed = lead_feed,
        .feed_arg = &job, .remote = team ? &remote : NULL, .cancel = &never,
        .job_id = "j",
    };
    struct roster roster;
    struct publish p;
    char path[PATH_MAX];
    int rc;

    (void)snprintf (path, sizeof (path), "%s/%s", dir, out);
    assert_int_equal (fileio_mkdirs (path, 0700, err), 0);
    assert_int_equal (publish_open (&p, path, NULL, false, err), 0);
    plan (items);
    roster_init (&roster);
    job.roster = &roster;
    rc = how.look ? build_look (&job, err)
                  : build_run (&job, &p, &result, err);
    publish_close (&p);
    for (size_t i = 0; i < CAPTURES && rc == 0; i++)
        assert_true (items[i].skip || *items[i].capture.name);  // was taken
    if (rc == 0 && !how.look)
        rc = rows_digest (result.path, 1, &never, rows, err);
    roster_fini (&roster);
    select_free (items, CAPTURES);
    return rc;
}

void begin_together (struct team *teams[2], pthread_t *thread)
{
    struct err err = { "" };

    for (unsigned i = 0; i < 2; i++) {
        if (team_begin (FAKE_DOOR, how.third ? 3 : 2, how.orders[i], &never,
                        &teams[i], &err) < 0)
            fail_msg ("%s", err.text);
    }
    assert_int_equal (team_place (teams[1])->rank, 1);
    assert_int_equal (thread_start (thread, member, teams[1]), 0);
}

void end_together (struct team *teams[2], pthread_t thread)
{
    struct err err = { "" };

    assert_int_equal (team_dismiss (teams[0], &err), 0);
    (void)pthread_join (thread, NULL);
    team_end (teams[0]);
    team_end (teams[1]);
}

int build_together (const char *out, struct digest *rows, struct err *err)
{
    struct team *teams[2];
    pthread_t thread;
    int rc;

    begin_together (teams, &thread);
    rc = build (out, teams[0], rows, err);
    end_together (teams, thread);
    return rc;
}

int build_apart (bool hosts, unsigned *sent, struct err *err)
{
    void *door = dlopen (FAKE_DOOR, RTLD_NOW);
    unsigned *questions = dlsym (door, "fake_questions"), before;
    bool *other = dlsym (door, "fake_hosts");
    struct digest rows;
    int rc;

    assert_non_null (questions);
    *other = hosts;
    before = questions[TEAM_WRITE];
    rc = build_together ("together", &rows, err);
    *other = false;
    *sent = questions[TEAM_WRITE] - before;
    (void)dlclose (door);
    return rc;
}

/* ---- cases ---- */

int begin_case (void **state)
{
    (void)state;
    rank_0 = pthread_self ();
    memset (&how, 0, sizeof (how));
    how.sees = true;
    return 0;
}

int begin_cases (void **state)
{
    (void)state;
    return mkdtemp (dir) ? 0 : -1;
}

int end_cases (void **state)
{
    (void)state;
    return fileio_remove_tree (dir, NULL) < 0 ? -1 : 0;
}
