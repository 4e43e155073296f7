/* tests/unit/intake/test_job_build.c - which shipments of a job count */
#include "root_check.h"

#include "intake/job_build.h"
#include "model/shipment.h"

#include <sys/mman.h>

#define BYTES_MAX 65536

/* A shipment without rows of the capture "prof" of rank 0, as it was brought by
 * the agent of a host, in this order.
 */
struct shipped {
    const char *host, *own_host;        // of the agent; in the capture
    int64_t started_ns;
    const char *level;          // makes it another content
};

static size_t pack (const struct shipped *s, uint8_t bytes[BYTES_MAX])
{
    struct shipment_writer *w;
    struct capture c;
    uint64_t size;
    int fd = memfd_create ("shipment", MFD_CLOEXEC);

    assert_true (fd >= 0);
    capture_init (&c);
    c.rank = 0;
    c.state = CAPTURE_COMPLETE;
    c.started_ns = s->started_ns;
    (void)snprintf (c.name, sizeof (c.name), "prof");
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
                                .capture = "prof", .newest_ns = 1 };
    uint8_t bytes[BYTES_MAX];
    size_t size = pack (s, bytes);
    struct content_hash h;
    int known;

    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, bytes, size), 0);
    assert_int_equal (content_hash_end (&h, &item.content), 0);
    content_hash_fini (&h);
    (void)snprintf (item.host, sizeof (item.host), "%s", s->host);
    known = ledger_find_content (r->l, &item.content, &item.place, NULL);
    if (known == 0) {
        assert_int_equal (store_append (r->s, &item, bytes, size, NULL), 0);
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
    assert_non_null (b = job_build_create (r->l, r->s, "j", NULL));
    job_build_want (b, 0);
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
        { "alpha", "", 1000, "a" }, { "beta", "", 2000, "b" },
    };

    check_rank (*state, list, 2, ROSTER_FAILED, "came from two hosts: alpha");
}

static void test_two_hosts_by_name (void **state)
{
    static const struct shipped list[] = {
        { "x", "alpha", 0, "a" }, { "x", "beta", 0, "b" },
    };

    check_rank (*state, list, 2, ROSTER_FAILED, "came from two hosts: alpha");
}

/* A host that was started again, whose agent seals the capture anew. */
static void test_same_host (void **state)
{
    static const struct shipped list[] = {
        { "alpha", "", 1000, "a" }, { "alpha", "", 2000, "b" },
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
        { "alpha", "", 1000, "a" }, { "beta", "", 1000, "a" },
        { "beta", "", 1000, "b" },
    };

    check_rank (*state, list, 3, ROSTER_PRESENT, NULL);
}

static void test_moved_by_name (void **state)
{
    static const struct shipped list[] = {
        { "alpha", "made", 0, "a" }, { "beta", "made", 0, "b" },
    };

    check_rank (*state, list, 2, ROSTER_PRESENT, NULL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_two_hosts), ROOT_TEST (test_two_hosts_by_name),
        ROOT_TEST (test_same_host), ROOT_TEST (test_moved),
        ROOT_TEST (test_moved_by_name),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
