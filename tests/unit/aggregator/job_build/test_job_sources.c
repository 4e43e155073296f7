/* tests/unit/aggregator/job_build/test_job_sources.c - shipments that cannot be read,
 * here or by a member
 */
#include "aggregator/job_build/job_build_check.h"

#include "job_build/job_member.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct job_build *rank_0;
static char there[PATH_MAX];    // what a member sees as the root's segments; or ""
static unsigned asked;          // rank 0, for bytes

/* Change what is to be seen. */
static void look_elsewhere (void)
{
    char segments[PATH_MAX], kept[PATH_MAX];

    if (!*there)
        return;
    PRINT (segments, "%s/segments", store_root (rank_0->store));
    PRINT (kept, "%s/kept", store_root (rank_0->store));
    assert_int_equal (rename (segments, kept), 0);
    assert_int_equal (rename (there, segments), 0);
    assert_int_equal (rename (kept, there), 0);
}

static int read_there (const struct byte_source *from, void *out, size_t n,
                       uint64_t at)
{
    int rc;

    (void)from;
    asked++;
    look_elsewhere ();
    rc = job_build_bytes (rank_0, 1, out, n, at, NULL);
    look_elsewhere ();
    return rc;
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
    asked = 0;
    look_elsewhere ();
    if (job_member.feed (state, &what, &remote, NULL, c, &err) < 0)
        fail_msg ("%s", err.text);
    look_elsewhere ();
    bad_from = -1;
    job_member.close (state);
    buf_fini (&settings);
    buf_fini (&order);
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

/* A segment that another host does not have, or has with other bytes, costs no
 * capture: rank 0's is what counts.
 */
static void test_unread_by_member_only (void **state)
{
    static const struct shipped one = { "alpha", "", 1000, "a", "one" };
    static const struct shipped two = { "alpha", "", 1000, "b", "two" };
    struct root *r = *state;
    struct err err = { "" };
    struct capture c;
    char path[PATH_MAX];
    struct stat st;
    int fd;

    ship (r, &one);
    ship (r, &two);
    store_segment_path (r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (job_build_create (r->l, r->s, "j", 1, &rank_0, &err), 0);
    feed_member (true, -1, &c);
    assert_int_equal (asked, 0);
    capture_fini (&c);
    PRINT (there, "%s/there", r->dir);
    assert_int_equal (mkdir (there, 0700), 0);
    feed_member (true, -1, &c);                 // none
    assert_int_equal (c.state, CAPTURE_COMPLETE);
    assert_string_equal (c.name, "two");
    assert_true (asked > 0);
    capture_fini (&c);
    look_elsewhere ();
    fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true (fd >= 0);
    look_elsewhere ();
    feed_member (true, -1, &c);                 // an empty one
    assert_int_equal (c.state, CAPTURE_COMPLETE);
    assert_true (asked > 0);
    capture_fini (&c);
    assert_int_equal (ftruncate (fd, st.st_size), 0);
    feed_member (true, -1, &c);                 // of zeros
    assert_int_equal (c.state, CAPTURE_COMPLETE);
    assert_true (asked > 0);
    capture_fini (&c);
    (void)close (fd);
    there[0] = '\0';
    job_build_destroy (rank_0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_denied), ROOT_TEST (test_unread_by_member),
        ROOT_TEST (test_unread_by_member_only),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
