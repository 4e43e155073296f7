/* tests/unit/aggregator/builder/test_build_team.c - a build by rank 0 and a member,
 * which are threads here (fake_door.c)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"
#include "builder/build.h"
#include "builder/build_member.h"
#include "publish/rows_digest.h"
#include "store/fileio.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CAPTURES 40             // so that a range has several
#define MEMBERS 2000u           // of their groups
#define LATE_NS (10 * NS_PER_S) // whoever reads so long was not told to stop

static char dir[] = "/tmp/rollcall-team-XXXXXX";
static atomic_bool never;

/* What the processes of a case do. */
static struct {
    uint64_t orders[2];         // what each was told
    bool sees;                  // the member sees the captures
    bool no_hosts;              // 'took' gives none
    int lead_fails, member_fails;       // at the first capture: an errno
    int lead_refuses;           // the first one of the member: an errno
    int open_fails;             // the member cannot begin a pass: an errno
    bool third;                 // there is one more, which the test plays
    atomic_uint lead_read, member_read, bytes_asked;
    bool look;                  // no result is written
    bool pair;                  // of two threads of the member one fails while
                                // the other one reads
    bool late;                  // that one went on reading
    long file_system;           // of its file; 0: one that is not known
    bool no_threads;            // rank 0 can start none
    int processors;             // of each host
    bool own_threads;           // as many threads
    atomic_uint member_threads;
} how;

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
static int make_rows (size_t source, const struct row_sink *sink,
                      struct capture *c, struct err *err)
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
                      struct capture *c, struct err *err)
{
    int64_t until = clock_mono_ns () + LATE_NS;
    int rc = 0;

    while (rc == 0 && !how.late) {
        rc = make_rows (source, sink, c, err);
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
        return read_long (source, sink, c, err);
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

static int build (const char *out, struct team *team, struct digest *rows,
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

/* Start a member. */
static void begin_together (struct team *teams[2], pthread_t *thread)
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

static void end_together (struct team *teams[2], pthread_t thread)
{
    struct err err = { "" };

    assert_int_equal (team_dismiss (teams[0], &err), 0);
    (void)pthread_join (thread, NULL);
    team_end (teams[0]);
    team_end (teams[1]);
}

/* One with a member; the outcome of rank 0. */
static int build_together (const char *out, struct digest *rows,
                           struct err *err)
{
    struct team *teams[2];
    pthread_t thread;
    int rc;

    begin_together (teams, &thread);
    rc = build (out, teams[0], rows, err);
    end_together (teams, thread);
    return rc;
}

static int begin (void **state)
{
    (void)state;
    rank_0 = pthread_self ();
    memset (&how, 0, sizeof (how));
    how.sees = true;
    return 0;
}

/* Hosts are those that rank 0 fills in. */
static void test_same (void **state)
{
    struct digest alone, together;
    struct err err = { "" };

    (void)state;
    assert_int_equal (build ("alone", NULL, &alone, &err), 0);
    atomic_store (&how.lead_read, 0);
    if (build_together ("together", &together, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (atomic_load (&how.member_read) > 0);
    assert_int_equal (how.lead_read + how.member_read, CAPTURES - 1);
    assert_true (how.bytes_asked >= 3 * how.member_read);
    // 'took' has given hosts to what the member has read; the rest is equal
    assert_true (memcmp (&alone, &together, sizeof (alone)) != 0);
}

/* A list that captures repeat is handed over once by each thread. */
static void test_lists (void **state)
{
    void *door = dlopen (FAKE_DOOR, RTLD_NOW);
    const size_t *bytes = dlsym (door, "fake_bytes");
    struct digest alone, together;
    struct err err = { "" };
    size_t before;

    (void)state;
    how.no_hosts = true;
    assert_non_null (bytes);
    before = bytes[TEAM_CAPTURE];
    assert_int_equal (build ("alone", NULL, &alone, &err), 0);
    if (build_together ("together", &together, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (atomic_load (&how.member_read) > 0);
    // one process finds the same groups
    assert_memory_equal (&alone, &together, sizeof (alone));
    // of four lists, by a thread, and documents
    assert_true (bytes[TEAM_CAPTURE] - before <
                 4 * MEMBERS * sizeof (int32_t) + how.member_read * 2000);
    (void)dlclose (door);
}

/* What a member says is not believed: rank 0 names it, and the build ends. */
static void test_damaged (void **state)
{
    static const struct {
        unsigned word, value;
        size_t at;
        const char *said;
    } cases[] = {
        { TEAM_CAPTURE, 0xff, 1, "rank 1 says what is not understood" },
        { TEAM_CAPTURE, 0xff, 5, "rank 1 says what is not understood" },
        // the last capture, which it has not got yet
        { TEAM_CAPTURE, CAPTURES - 1, 5, "rank 1 says what is not understood" },
        { TEAM_CAPTURE, 0xff, 16,
          "rank 1: a message of another process is damaged" },
        { TEAM_CAPTURE, 0xff, 17, "rank 1: unknown or malformed metadata" },
        { TEAM_DONE, 0x7f, 8, "rank 1 says what is not understood" },   // outcome
        { TEAM_DONE, 0x80, 8, "rank 1 says what is not understood" },
    };
    void *door = dlopen (FAKE_DOOR, RTLD_NOW);
    size_t *damage = dlsym (door, "fake_damage");
    unsigned *damaged = dlsym (door, "fake_damaged");
    unsigned *value = dlsym (door, "fake_value");
    struct digest rows;

    (void)state;
    assert_true (damage && damaged && value);
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct err err = { "" };

        (void)begin (NULL);
        *damaged = cases[i].word;
        *value = cases[i].value;
        *damage = cases[i].at;
        assert_int_equal (build_together ("none", &rows, &err), -EBADMSG);
        if (!strstr (err.text, cases[i].said))
            fail_msg ("%s", err.text);
    }
    *damage = 0;
    (void)dlclose (door);
}

/* The same on two hosts; *sent: pages that the member has sent to rank 0. */
static int build_apart (bool hosts, unsigned *sent, struct err *err)
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

/* With a file of this system. */
static unsigned pages_sent (bool hosts, long file_system)
{
    struct err err = { "" };
    unsigned n;

    how.file_system = file_system;
    if (build_apart (hosts, &n, &err) < 0)
        fail_msg ("%s", err.text);
    (void)begin (NULL);
    return n;
}

/* A file that two hosts may have in two states is written by one. */
static void test_file_systems (void **state)
{
    (void)state;
    assert_int_equal (pages_sent (true, 0x0bd00bd0), 0);        // Lustre
    assert_true (pages_sent (true, 0x6969) > 0);                // NFS
    assert_true (pages_sent (true, 0x65735546) > 0);            // FUSE
    assert_true (pages_sent (true, 0xaad7aaea) > 0);            // PanFS
    assert_int_equal (pages_sent (false, 0x6969), 0);           // one cache
}

/* A member that sees nothing takes no part. */
static void test_sees_nothing (void **state)
{
    struct digest alone, together;
    struct err err = { "" };

    (void)state;
    how.sees = false;
    assert_int_equal (build ("alone", NULL, &alone, &err), 0);
    if (build_together ("together", &together, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (how.member_read, 0);
    assert_memory_equal (&alone, &together, sizeof (alone));
}

/* "on HOST: TEXT" */
static void assert_said_by_member (const struct err *err, const char *text)
{
    char host[HOST_NAME_MAX + 1] = "", want[sizeof (err->text)];

    (void)gethostname (host, sizeof (host) - 1);
    PRINT (want, "on %s: %s", host, text);
    assert_string_equal (err->text, want);
}

/* The failure of one ends the build of all, and is what is said: with the host, if
 * it is another process's, but for what rank 0 has refused.
 */
static void test_failures (void **state)
{
    struct digest rows;
    struct err err = { "" };

    (void)state;
    how.member_fails = ENOSPC;
    assert_int_equal (build_together ("none", &rows, &err), -ENOSPC);
    assert_said_by_member (&err, "the member has failed");
    (void)begin (NULL);
    how.lead_fails = EIO;
    assert_int_equal (build_together ("none", &rows, &err), -EIO);
    assert_string_equal (err.text, "rank 0 has failed");
    (void)begin (NULL);
    how.lead_refuses = EIO;
    assert_int_equal (build_together ("none", &rows, &err), -EIO);
    assert_string_equal (err.text, "rank 0 has had enough");
}

/* A thread of the member that reads a large capture ends with the other one, also
 * if rows are not wanted.
 */
static void test_failing_thread (void **state)
{
    struct err err = { "" };
    unsigned sent;

    (void)state;
    for (unsigned look = 0; look < 2; look++) {
        (void)begin (NULL);
        how.look = look;
        how.pair = true;
        how.member_fails = ENOSPC;
        assert_int_equal (build_apart (true, &sent, &err), -ENOSPC);
        assert_said_by_member (&err, "the member has failed");
        assert_false (how.late);
    }
}

static void check_threads (unsigned processes, unsigned host, unsigned want)
{
    const struct mpi_place p = { 0, 4 * processes, processes, true };

    assert_int_equal (team_threads (&p, host), want);
}

static unsigned threads_of_member (bool own, int processors)
{
    struct err err = { "" };
    unsigned sent;

    (void)begin (NULL);
    how.own_threads = own;
    how.processors = processors;
    if (build_apart (true, &sent, &err) < 0)
        fail_msg ("%s", err.text);
    return how.member_threads;
}

/* Unless somebody says how many there are to be, a host has as many as it has
 * processors.
 */
static void test_threads (void **state)
{
    (void)state;
    how.processors = 12;
    check_threads (1, 0, 12);
    check_threads (3, 0, 4);
    check_threads (16, 0, 1);
    check_threads (3, 6, 2);
    check_threads (3, 2, 1);
    how.processors = 256;
    check_threads (1, 0, BUILD_THREADS_MAX);
    check_threads (8, 0, 32);
    assert_int_equal (threads_of_member (true, 5), 5);
    assert_int_equal (threads_of_member (false, 5), 2);
}

/* Processes that are to do different things would leave some undone. */
static void test_other_order (void **state)
{
    struct digest rows;
    struct err err = { "" };

    (void)state;
    how.sees = false;
    how.orders[1] = 1;
    assert_int_equal (build_together ("none", &rows, &err), -EPROTO);
    assert_non_null (strstr (err.text, "another command line"));
}

/* A member that has begun is done before the pass is over: what it asks later
 * would be asked of the next pass.
 */
static void test_no_thread (void **state)
{
    void *door = dlopen (FAKE_DOOR, RTLD_NOW);
    const unsigned *questions = dlsym (door, "fake_questions");
    unsigned before;
    struct team *teams[2];
    struct digest rows;
    struct err err = { "" };
    pthread_t thread;

    (void)state;
    assert_non_null (questions);
    before = questions[TEAM_DONE];
    begin_together (teams, &thread);
    how.no_threads = true;
    assert_int_equal (build ("none", teams[0], &rows, &err), -EAGAIN);
    how.no_threads = false;
    assert_non_null (strstr (err.text, "cannot start a thread"));
    assert_int_equal (questions[TEAM_DONE], before + 1);
    if (build ("together", teams[0], &rows, &err) < 0)
        fail_msg ("%s", err.text);
    end_together (teams, thread);
    assert_int_equal (how.lead_read + how.member_read, CAPTURES - 1);
    (void)dlclose (door);
}

/* Who is still at work on a pass that was given up is not asked to another one. */
static void test_stray (void **state)
{
    void *door = dlopen (FAKE_DOOR, RTLD_NOW);
    bool *cut = dlsym (door, "fake_cut");
    struct team *teams[2];
    struct digest rows;
    struct err err = { "" };
    pthread_t thread;

    (void)state;
    assert_non_null (cut);
    how.sees = false;
    begin_together (teams, &thread);
    assert_true (team_is_whole (teams[0]));
    *cut = true;
    assert_int_equal (build ("none", teams[0], &rows, &err), -EIO);
    *cut = false;
    assert_false (team_is_whole (teams[0]));
    end_together (teams, thread);
    (void)dlclose (door);
}

/* ---- a third process ---- */

typedef void says_fn (int tag, const void *bytes, size_t size);

/* Rank 2 says a word, with some zeros behind it. */
static void third_says (void *door, int tag, enum team_word word, size_t zeros)
{
    const char bytes[32] = { (char)word };
    void *symbol = dlsym (door, "fake_third_says");
    says_fn *says;

    assert_true (symbol && zeros < sizeof (bytes));
    memcpy (&says, &symbol, sizeof (says));
    says (tag, bytes, 1 + zeros);
}

static void third_is_ready (void *door)
{
    third_says (door, 3, TEAM_READY, sizeof (uint64_t));
}

static void *begin_third (void)
{
    void *door = dlopen (FAKE_DOOR, RTLD_NOW);
    bool *third = dlsym (door, "fake_third");

    assert_non_null (third);
    *third = how.third = true;
    return door;
}

static void end_third (void *door)
{
    *(bool *)dlsym (door, "fake_third") = false;
    (void)dlclose (door);
}

/* A build after which rank 2 is ready for the next pass; *whole: whether nobody has
 * left before.
 */
static int build_with_third (void *door, bool *whole, struct err *err)
{
    struct team *teams[2];
    struct digest rows;
    pthread_t thread;
    int rc;

    begin_together (teams, &thread);
    rc = build ("none", teams[0], &rows, err);
    *whole = team_is_whole (teams[0]);
    third_is_ready (door);
    end_together (teams, thread);
    end_third (door);
    return rc;
}

/* One fails before another one has begun: that is said, and nobody is left. */
static void test_fails_early (void **state)
{
    void *door = begin_third ();
    struct err err = { "" };
    bool whole;

    (void)state;
    how.open_fails = ENOSPC;
    assert_int_equal (build_with_third (door, &whole, &err), -ENOSPC);
    assert_said_by_member (&err, "the member cannot begin");
    assert_true (whole);
}

/* One that got captures ends without them. */
static void test_left_out (void **state)
{
    void *door = begin_third ();
    struct err err = { "" };
    bool whole;

    (void)state;
    how.sees = false;
    third_is_ready (door);
    third_says (door, 1, TEAM_NEXT, 0);
    third_says (door, 1, TEAM_DONE, sizeof (int64_t) + sizeof (uint32_t) +
                                        sizeof (uint64_t));
    assert_int_equal (build_with_third (door, &whole, &err), -EBADMSG);
    assert_string_equal (err.text, "rank 2 has left out captures");
    assert_true (whole);
}

static void test_door (void **state)
{
    struct team *t = NULL;
    struct err err = { "" };

    (void)state;
    assert_int_equal (team_begin ("/nowhere.so", 2, 0, &never, &t, &err), -ENOENT);
    assert_non_null (strstr (err.text, "/nowhere.so"));
    // two processes, but the launcher has said three
    assert_int_equal (team_begin (FAKE_DOOR, 3, 0, &never, &t, &err), -EINVAL);
    assert_int_equal (team_begin (FAKE_DOOR, 3, 0, &never, &t, &err), -EINVAL);
    assert_null (t);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup (test_same, begin),
        cmocka_unit_test_setup (test_lists, begin),
        cmocka_unit_test_setup (test_damaged, begin),
        cmocka_unit_test_setup (test_file_systems, begin),
        cmocka_unit_test_setup (test_sees_nothing, begin),
        cmocka_unit_test_setup (test_failures, begin),
        cmocka_unit_test_setup (test_failing_thread, begin),
        cmocka_unit_test_setup (test_threads, begin),
        cmocka_unit_test_setup (test_other_order, begin),
        cmocka_unit_test_setup (test_fails_early, begin),
        cmocka_unit_test_setup (test_left_out, begin),
        cmocka_unit_test_setup (test_door, begin),
        cmocka_unit_test_setup (test_stray, begin),
        cmocka_unit_test_setup (test_no_thread, begin),
    };
    int rc;

    if (!mkdtemp (dir))
        return 1;
    rc = cmocka_run_group_tests (tests, NULL, NULL);
    (void)fileio_remove_tree (dir, NULL);
    return rc;
}
