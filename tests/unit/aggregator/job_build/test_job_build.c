/* tests/unit/aggregator/archive/test_job_build.c - which shipments of a job
 * count */
#include "aggregator/store/root_check.h"

#include "base/thread.h"
#include "job_build/job_build_private.h"
#include "job_build/job_member.h"
#include "model/shipment.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX 65536

static off_t bad_from = -1;     // of a segment, whose disk gives no more bytes
static ino_t bad_file;          // only of this one, if not 0
static pthread_barrier_t *meeting;      // of the threads that get none; or NULL

ssize_t __real_pread (int fd, void *buf, size_t n, off_t at);
ssize_t __wrap_pread (int fd, void *buf, size_t n, off_t at);

ssize_t __wrap_pread (int fd, void *buf, size_t n, off_t at)
{
    struct stat st;

    if (bad_from >= 0 && at + (off_t)n > bad_from &&
        (!bad_file || (fstat (fd, &st) == 0 && st.st_ino == bad_file))) {
        static _Thread_local bool met;

        if (meeting && !met)
            (void)pthread_barrier_wait (meeting);
        met = true;
        errno = EIO;
        return -1;
    }
    return __real_pread (fd, buf, n, at);
}

/* A shipment without rows of a capture, as it was brought by the
 * agent of a host, in this order.
 */
struct shipped {
    const char *host, *own_host;        // of the agent; in the capture
    int64_t started_ns;
    const char *level;          // makes it another content
    const char *name;
};

static int64_t the_rank;        // of the captures

static size_t pack (const struct shipped *s, uint8_t bytes[BYTES_MAX])
{
    struct shipment_writer *w;
    struct capture c;
    uint64_t size;
    int fd = memfd_create ("shipment", MFD_CLOEXEC);

    assert_true (fd >= 0);
    capture_init (&c);
    c.rank = the_rank;
    c.state = CAPTURE_COMPLETE;
    c.started_ns = s->started_ns;
    (void)snprintf (c.name, sizeof (c.name), "%s", s->name);
    (void)snprintf (c.host, sizeof (c.host), "%s", s->own_host);
    (void)snprintf (c.level, sizeof (c.level), "%s", s->level);
    w = shipment_writer_create (fd);
    assert_non_null (w);
    assert_int_equal (shipment_finish (w, &c, &size, NULL), 0);
    assert_true (size <= BYTES_MAX);
    assert_int_equal (pread (fd, bytes, size, 0), size);
    shipment_writer_destroy (w);
    capture_fini (&c);
    (void)close (fd);
    return size;
}

static void ship (struct root *r, const struct shipped *s)
{
    struct ledger_item item = { .job = "j", .kind = ITEM_ROWS,
                                .newest_ns = 1, .rank = the_rank };
    uint8_t bytes[BYTES_MAX];
    size_t size = pack (s, bytes);
    struct content_hash h;
    int known;

    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, bytes, size), 0);
    assert_int_equal (content_hash_end (&h, &item.content), 0);
    content_hash_fini (&h);
    (void)snprintf (item.host, sizeof (item.host), "%s", s->host);
    (void)snprintf (item.capture, sizeof (item.capture), "%s", s->name);
    known = ledger_find_content (r->l, &item.content, &item.place, NULL);
    if (known == 0) {
        assert_int_equal (store_put_chunk (r->s, &item.content, size,
                                           CODEC_PLAIN, bytes, size,
                                           &item.place, NULL), 0);
        assert_int_equal (ledger_add_content (r->l, &item.content,
                                              &item.place, NULL), 0);
    }
    assert_true (ledger_add_item (r->l, &item, NULL) >= 0);
}

/* What the result says of rank 0 when these were delivered. */
static void check_rank (struct root *r, const struct shipped list[], size_t n,
                        enum roster_state state, const char *reason)
{
    struct build_result result = { .rows = 0 };
    struct job_build *b;
    struct roster roster;
    char out[PATH_MAX];

    for (size_t i = 0; i < n; i++)
        ship (r, &list[i]);
    (void)snprintf (out, sizeof (out), "%s/out", r->dir);
    assert_int_equal (job_build_create (r->l, r->s, "j", 1, &b, NULL), 0);
    job_build_options (b)->wanted = 0;
    roster_init (&roster);
    assert_int_equal (job_build_run (b, out, 1, &roster, &result, NULL), 0);
    assert_int_equal (roster_at (&roster, 0)->state, state);
    if (reason) {
        assert_non_null (roster_at (&roster, 0)->reason);
        assert_non_null (strstr (roster_at (&roster, 0)->reason, reason));
    }
    roster_fini (&roster);
    job_build_destroy (b);
}

/* Two nodes were given one rank, and their program calls its captures alike:
 * one of them would be a version of the other, and nobody would know.
 */
static void test_two_hosts (void **state)
{
    static const struct shipped list[] = {
        { "alpha", "", 1000, "a", "prof" }, { "beta", "", 2000, "b", "prof" },
    };

    check_rank (*state, list, 2, ROSTER_FAILED, "came from two hosts: alpha");
}

static void test_two_hosts_by_name (void **state)
{
    static const struct shipped list[] = {
        { "x", "alpha", 0, "a", "prof" }, { "x", "beta", 0, "b", "prof" },
    };

    check_rank (*state, list, 2, ROSTER_FAILED, "came from two hosts: alpha");
}

/* A host that was started again, whose agent seals the capture anew. */
static void test_same_host (void **state)
{
    static const struct shipped list[] = {
        { "alpha", "", 1000, "a", "prof" }, { "alpha", "", 2000, "b", "prof" },
    };

    check_rank (*state, list, 2, ROSTER_PRESENT, NULL);
}

/* A spool that is delivered from another host: the same content is one capture,
 * and so is another one of a capture that began at the same time, or says
 * itself where it was made.
 */
static void test_moved (void **state)
{
    static const struct shipped list[] = {
        { "alpha", "", 1000, "a", "prof" }, { "beta", "", 1000, "a", "prof" },
        { "beta", "", 1000, "b", "prof" },
    };

    check_rank (*state, list, 3, ROSTER_PRESENT, NULL);
}

static void test_moved_by_name (void **state)
{
    static const struct shipped list[] = {
        { "alpha", "made", 0, "a", "prof" }, { "beta", "made", 0, "b", "prof" },
    };

    check_rank (*state, list, 2, ROSTER_PRESENT, NULL);
}

/* In a container the profiler's name of the host is the pod's.  A capture that
 * was renamed does not have it any more, but came from no other host.
 */
static void test_pod (void **state)
{
    static const struct shipped list[] = {
        { "node", "pod", 1000, "a", "one" }, { "node", "", 2000, "b", "two" },
        { "node", "", 3000, "c", "prof" }, { "node", "pod", 4000, "d", "prof" },
    };

    check_rank (*state, list, 4, ROSTER_PRESENT, NULL);
}

/* Two pods, though, are two hosts, and so are the nodes of two agents. */
static void test_two_pods (void **state)
{
    static const struct shipped list[] = {
        { "node", "", 500, "x", "none" }, { "node", "pod", 1000, "a", "one" },
        { "node", "gourd", 2000, "b", "two" },
    };

    check_rank (*state, list, 3, ROSTER_FAILED, "came from two hosts: pod "
                                                "(one) and gourd (two)");
}

static void test_two_nodes (void **state)
{
    static const struct shipped list[] = {
        { "node", "pod", 1000, "a", "one" }, { "edge", "", 2000, "b", "two" },
    };

    check_rank (*state, list, 2, ROSTER_FAILED, "came from two hosts: node "
                                                "(one) and edge (two)");
}

/* The captures are not to blame, and a good result is not replaced. */
static void test_denied (void **state)
{
    static const struct shipped one = { "alpha", "", 1000, "a", "prof" };
    struct root *r = *state;
    struct job_build *b = NULL;
    struct err err = { "" };
    char path[PATH_MAX];
    bool root = geteuid () == 0;
    int rc;

    ship (r, &one);
    store_segment_path (r->dir, 1, path);
    assert_int_equal (chmod (path, 0), 0);
    if (root)
        assert_int_equal (seteuid (65534), 0);
    rc = job_build_create (r->l, r->s, "j", 1, &b, &err);
    if (root)
        assert_int_equal (seteuid (0), 0);
    assert_int_equal (rc, -EACCES);
    assert_null (b);
    assert_non_null (strstr (err.text, path));
    assert_int_equal (chmod (path, 0600), 0);
}

/* Bytes that the disk does not give are those of one rank, which is named, and
 * the others are built; but a result is not replaced if there are none.
 */
static void test_unread (void **state)
{
    static const struct shipped one = { "alpha", "", 1000, "a", "one" };
    static const struct shipped two = { "alpha", "", 1000, "b", "two" };
    struct build_result result = { .rows = 0 };
    struct root *r = *state;
    struct job_build *b = NULL;
    struct err err = { "" };
    struct roster roster;
    char path[PATH_MAX];
    struct stat st;

    ship (r, &one);
    store_segment_path (r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    the_rank = 1;
    ship (r, &two);
    the_rank = 0;
    bad_from = st.st_size;
    if (job_build_create (r->l, r->s, "j", 1, &b, &err) < 0)
        fail_msg ("%s", err.text);
    bad_from = -1;
    job_build_options (b)->wanted = 0;
    roster_init (&roster);
    PRINT (path, "%s/out", r->dir);
    assert_int_equal (job_build_run (b, path, 1, &roster, &result, NULL), 0);
    assert_int_equal (roster_at (&roster, 0)->state, ROSTER_PRESENT);
    assert_int_equal (roster_at (&roster, 1)->state, ROSTER_FAILED);
    assert_non_null (strstr (roster_at (&roster, 1)->reason,
                             "Input/output error"));
    roster_fini (&roster);
    job_build_destroy (b);
    bad_from = 0;
    assert_int_equal (job_build_create (r->l, r->s, "j", 1, &b, &err), -EIO);
    bad_from = -1;
    assert_non_null (strstr (err.text, "cannot read any shipment of job j"));
    // nor if only what is said about them can be read
    assert_int_equal (job_build_create (r->l, r->s, "j", 1, &b, NULL), 0);
    job_build_options (b)->wanted = 0;
    roster_init (&roster);
    bad_from = 0;
    bad_file = st.st_ino;
    assert_int_equal (job_build_run (b, path, 1, &roster, &result, &err), -EIO);
    bad_from = -1;
    bad_file = 0;
    assert_non_null (strstr (err.text, "cannot read the rows of any capture"));
    roster_fini (&roster);
    job_build_destroy (b);
}

static struct job_build *rank_0;

static int read_there (const struct byte_source *from, void *out, size_t n,
                       uint64_t at)
{
    (void)from;
    return job_build_bytes (rank_0, 1, out, n, at, NULL);
}

/* The second shipment of rank 0, by a process that sees the root or not, whose
 * disk, or rank 0's, gives only so many bytes.
 */
static void feed_member (bool sees_root, off_t bytes, struct capture *c)
{
    const struct byte_source remote = { .read = read_there, .fd = -1 };
    struct buf settings, order;
    struct wire in, what;
    void *state = NULL;
    struct err err = { "" };
    bool sees = false;

    buf_init (&settings, 65536);
    buf_init (&order, 65536);
    if (sees_root)
        assert_int_equal (job_build_settings (rank_0, &settings, &err), 0);
    assert_int_equal (job_build_order (rank_0, 1, &order, &err), 0);
    in = wire_reader (settings.data, settings.size);
    what = wire_reader (order.data, order.size);
    assert_int_equal (job_member.open (&in, &state, &sees, &err), 0);
    assert_int_equal (sees, sees_root);
    capture_init (c);
    bad_from = bytes;
    if (job_member.feed (state, &what, &remote, NULL, c, &err) < 0)
        fail_msg ("%s", err.text);
    bad_from = -1;
    job_member.close (state);
    buf_fini (&settings);
    buf_fini (&order);
}

/* A build by several processes says the same. */
static void test_unread_by_member (void **state)
{
    static const struct shipped one = { "alpha", "", 1000, "a", "one" };
    static const struct shipped two = { "alpha", "", 1000, "b", "two" };
    struct root *r = *state;
    struct err err = { "" };
    struct capture c;
    char path[PATH_MAX];
    struct stat st;

    ship (r, &one);
    store_segment_path (r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    ship (r, &two);
    assert_int_equal (job_build_create (r->l, r->s, "j", 1, &rank_0, &err), 0);
    for (int sees = 0; sees <= 1; sees++) {
        feed_member (sees, -1, &c);
        assert_int_equal (c.state, CAPTURE_COMPLETE);
        capture_fini (&c);
        feed_member (sees, st.st_size, &c);
        assert_int_equal (c.state, CAPTURE_FAILED);
        assert_int_equal (c.transient_error, -EIO);
        assert_non_null (strstr (c.reason, "Input/output error"));
        // read twice, it is one that is not there
        rank_0->fed = 2;
        for (int i = 0; i < 2; i++)
            assert_int_equal (job_build_took (rank_0, 1, &c, &err), 0);
        capture_fini (&c);
    }
    job_build_destroy (rank_0);
}

static void *be_member (void *arg)
{
    static atomic_bool never;
    struct err err = { "" };

    if (build_member_run (arg, &job_member, &never, &err) < 0)
        fail_msg ("%s", err.text);
    return NULL;
}

/* None of two processes gets any rows, though each has only some of them. */
static void test_unread_by_all (void **state)
{
    static const struct shipped one = { "alpha", "", 1000, "a", "one" };
    static const struct shipped two = { "alpha", "", 1000, "b", "two" };
    static atomic_bool never;
    struct build_result result = { .rows = 0 };
    struct root *r = *state;
    struct team *teams[2];
    struct err err = { "" };
    struct roster roster;
    pthread_barrier_t both;
    pthread_t thread;
    char path[PATH_MAX];
    struct stat st;

    ship (r, &one);
    the_rank = 1;
    ship (r, &two);
    the_rank = 0;
    assert_int_equal (job_build_create (r->l, r->s, "j", 1, &rank_0, &err), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal (team_begin (FAKE_DOOR, 2, 0, &never, &teams[i], &err), 0);
    job_build_options (rank_0)->wanted = 0;
    job_build_options (rank_0)->team = teams[0];
    store_segment_path (r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    bad_file = st.st_ino;
    bad_from = 0;
    assert_int_equal (pthread_barrier_init (&both, NULL, 2), 0);
    meeting = &both;
    assert_int_equal (thread_start (&thread, be_member, teams[1]), 0);
    roster_init (&roster);
    PRINT (path, "%s/out", r->dir);
    assert_int_equal (job_build_run (rank_0, path, 1, &roster, &result, &err),
                      -EIO);
    assert_non_null (strstr (err.text, "cannot read the rows of any capture"));
    assert_int_equal (team_dismiss (teams[0], &err), 0);
    (void)pthread_join (thread, NULL);
    bad_from = -1;
    bad_file = 0;
    meeting = NULL;
    (void)pthread_barrier_destroy (&both);
    team_end (teams[0]);
    team_end (teams[1]);
    roster_fini (&roster);
    job_build_destroy (rank_0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_two_hosts), ROOT_TEST (test_two_hosts_by_name),
        ROOT_TEST (test_same_host), ROOT_TEST (test_moved),
        ROOT_TEST (test_moved_by_name), ROOT_TEST (test_pod),
        ROOT_TEST (test_two_pods), ROOT_TEST (test_two_nodes),
        ROOT_TEST (test_denied), ROOT_TEST (test_unread),
        ROOT_TEST (test_unread_by_member), ROOT_TEST (test_unread_by_all),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
