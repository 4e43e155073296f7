/* tests/unit/aggregator/service/test_aggregator_messages.c - what agents may
 * say */
#include "aggregator/service/service_check.h"

#include "base/clock.h"
#include "fsck/check_root.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static bool full;               // the disk, when a commit is written

int __real_ledger_finish (struct ledger *l, int rc, struct err *err);
int __wrap_ledger_finish (struct ledger *l, int rc, struct err *err);

int __wrap_ledger_finish (struct ledger *l, int rc, struct err *err)
{
    return __real_ledger_finish (l, full ? -ENOSPC : rc, err);
}

static bool unreadable;         // the ledger, when it is asked for a mark

int __real_ledger_reaches (struct ledger *l, const struct ledger_mark *mark,
                           struct err *err);
int __wrap_ledger_reaches (struct ledger *l, const struct ledger_mark *mark,
                           struct err *err);

int __wrap_ledger_reaches (struct ledger *l, const struct ledger_mark *mark,
                           struct err *err)
{
    return unreadable ? -EIO : __real_ledger_reaches (l, mark, err);
}

static void hello_with (struct service *s, unsigned peer,
                        const struct ledger_mark *mark)
{
    struct message m = { .type = MESSAGE_HELLO, .mark = *mark,
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    (void)snprintf (m.job, sizeof (m.job), "j");
    (void)snprintf (m.host, sizeof (m.host), "host%u", peer);
    (void)snprintf (m.host_key, sizeof (m.host_key), "key%u", peer);
    service_hear (s, peer, &m);
}

/* Whether the WELCOME to a HELLO with this mark says that something is lost. */
static bool is_lost (struct service *s, unsigned peer,
                     const struct ledger_mark *mark)
{
    const struct message *last;

    hello_with (s, peer, mark);
    last = &s->sent[(s->nsent - 1) % SENT_MAX];
    assert_int_equal (last->type, MESSAGE_WELCOME);
    return last->lost;
}

/* An acknowledgement says what it was given for, and later lives, and other
 * roots, know whether they have that.
 */
static void test_mark (void **state)
{
    struct service *s = *state;
    struct ledger_mark mark, none = { 0, 0 };

    assert_false (is_lost (s, 1, &none));
    service_offer (s, 1, 1, "a");
    service_chunk (s, 1, 1, "a");
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (s->sent[(s->nsent - 1) % SENT_MAX].type, MESSAGE_ACK);
    mark = s->sent[(s->nsent - 1) % SENT_MAX].mark;
    assert_true (mark.epoch != 0 && mark.seq == 1);
    assert_false (is_lost (s, 1, &mark));
    service_close (s);
    service_open (s);
    // lives that acknowledge nothing do not push out the one that did
    for (unsigned i = 0; i < 1100; i++) {
        assert_int_equal (ledger_begin_epoch (s->a.ledger, NULL), 0);
        assert_int_equal (transfers_note_all (s->a.transfers, NULL), 0);
    }
    assert_false (is_lost (s, 1, &mark));
    mark.seq++;
    assert_true (is_lost (s, 1, &mark));
    mark.seq--;
    service_close (s);
    assert_int_equal (fileio_remove_tree (s->root, NULL), 0);
    assert_int_equal (fileio_mkdirs (s->root, FILEIO_DIR_MODE, NULL), 0);
    service_open (s);
    assert_true (is_lost (s, 1, &mark));
    assert_false (is_lost (s, 2, &none));
}

/* It says so in one breath with its HELLO, and has not read yet that what it
 * means by that is not here: a run would end without it, and with 0.
 */
static void test_done_of_before (void **state)
{
    struct service *s = *state;
    struct ledger_mark mark = { 7, 1 }, none = { 0, 0 };
    const struct message done = { .type = MESSAGE_DONE };
    const struct job_agent *agent;

    assert_true (is_lost (s, 1, &mark));
    agent = &s->a.jobs->job.agents[0];
    service_hear (s, 1, &done);
    assert_false (agent->done);
    // the next HELLO is of one who knows
    assert_false (is_lost (s, 1, &none));
    assert_false (agent->done);
    service_hear (s, 1, &done);
    assert_true (agent->done);
}

/* Its agent would release what is nowhere else, or read all of it again.  And
 * what it delivers would be acknowledged with a mark of ours: nobody could tell
 * any more that what came before is not here.
 */
static void test_mark_unreadable (void **state)
{
    const struct ledger_mark mark = { 7, 7 }, none = { 0, 0 };
    const struct message done = { .type = MESSAGE_DONE };
    const struct job_agent *agent;
    struct service *s = *state;

    unreadable = true;
    hello_with (s, 1, &mark);
    service_offer (s, 1, 1, "a");
    assert_int_equal (s->nsent, 0);
    assert_int_equal (service_agents (s), 0);
    assert_false (is_lost (s, 2, &none));       // there is nothing to ask for
    unreadable = false;
    assert_true (is_lost (s, 1, &mark));
    // one that is known is served, but its last word does not count
    unreadable = true;
    (void)service_said (s, MESSAGE_WELCOME);
    hello_with (s, 2, &mark);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 0);
    service_hear (s, 2, &done);
    agent = job_agent_of_host (&s->a.jobs->job, "key2");
    assert_false (agent->done);
    unreadable = false;
    assert_false (is_lost (s, 2, &none));
    service_hear (s, 2, &done);
    assert_true (agent->done);
}

/* It is on its way to be read, and not on offer: the run would end without it,
 * and with 0.
 */
static void test_found_behind_done (void **state)
{
    const struct message done = { .type = MESSAGE_DONE };
    struct message ping = { .type = MESSAGE_PING };
    const struct job_agent *agent;
    struct service *s = *state;

    service_hello (s, 1, "j", 1);
    agent = &s->a.jobs->job.agents[0];
    service_hear (s, 1, &done);
    service_hear (s, 1, &ping);
    assert_true (agent->done);
    ping.left_captures = 1;
    service_hear (s, 1, &ping);
    assert_false (agent->done);
    service_hear (s, 1, &done);
    assert_true (agent->done);
}

/* Who is expected is not in memory only, though the disk was full when it was
 * said first.
 */
static void test_size_again (void **state)
{
    struct service *s = *state;

    service_hello (s, 1, "j", 8);
    full = true;
    assert_int_equal (service_commit (s), -ENOSPC);
    full = false;
    assert_int_equal (ledger_world_size (s->a.ledger, "j"), 0);
    service_hello (s, 1, "j", 8);
    assert_true (transfers_pending (s->a.transfers));
    assert_int_equal (service_commit (s), 0);
    service_hello (s, 1, "j", 8);
    assert_false (transfers_pending (s->a.transfers));
    service_close (s);
    service_open (s);
    assert_int_equal (ledger_world_size (s->a.ledger, "j"), 8);
}

/* Its record in the segment is not cut off with a commit that fails later: the
 * ledger can be made again of the records.
 */
static void test_size_recorded (void **state)
{
    struct check_report report = { .say = NULL };
    struct service *s = *state;
    char path[PATH_MAX];

    service_hello (s, 1, "j", 8);
    service_offer (s, 1, 1, "capture");
    service_chunk (s, 1, 1, "capture");
    assert_int_equal (service_commit (s), 0);
    service_offer (s, 1, 2, "another");
    service_chunk (s, 1, 2, "another");
    full = true;
    assert_int_equal (service_commit (s), -ENOSPC);
    full = false;
    service_close (s);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", s->root);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (store_check (s->root, true, &report, NULL), 0);
    assert_int_equal (report.items, 1);
    service_open (s);
    assert_int_equal (ledger_world_size (s->a.ledger, "j"), 8);
}

static int see_clock (void *arg, const struct ledger_clock *c)
{
    *(int64_t *)arg = c->offset_ns;
    return 0;
}

/* A thousand agents that come at once do not cost a sync of the disk each. */
static void test_clocks (void **state)
{
    struct message m = { .type = MESSAGE_HELLO, .job = "j", .host = "h",
                         .host_key = "k", .clock_offset_ns = 7 };
    struct service *s = *state;
    int64_t offset = 0;

    service_hear (s, 1, &m);
    assert_int_equal (ledger_each_clock (s->a.ledger, "j", see_clock, &offset,
                                         NULL), 0);
    assert_int_equal (offset, 0);
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (ledger_each_clock (s->a.ledger, "j", see_clock, &offset,
                                         NULL), 0);
    assert_int_equal (offset, 7);
    m.clock_offset_ns = 8;      // which is nothing new
    service_hear (s, 1, &m);
    assert_false (transfers_pending (s->a.transfers));
}

/* Of what others have delivered, an agent is told nothing, whatever it says, for
 * the same job, too: it hears of items that it offers, and these have its own
 * numbers.
 */
static void test_reads_nothing (void **state)
{
    struct service *s = *state;
    struct message m = { .item = 1, .capture = "secret", .path = "secret",
                         .length = 1 << 20, .job = "j", .host = "host2",
                         .host_key = "key2", .kind = ITEM_RAW, .size = 9,
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    s->who = "node1";
    service_hello (s, 1, "j", 2);
    service_offer (s, 1, 1, "secret");
    service_chunk (s, 1, 1, "secret");
    assert_int_equal (service_commit (s), 0);
    s->who = "node2";
    service_hello (s, 2, "j", 2);
    s->nsent = 0;
    for (unsigned type = 0; type < 64; type++) {
        m.type = type;
        m.data = type == MESSAGE_CHUNK ? "secret" : NULL;
        m.data_size = type == MESSAGE_CHUNK ? 6 : 0;
        service_hear (s, 2, &m);
    }
    assert_true (s->nsent > 0 && s->nsent < SENT_MAX);
    for (size_t i = 0; i < s->nsent; i++) {
        const struct message *said = &s->sent[i];

        if (said->type == MESSAGE_END) {        // who asks is told that he may not
            assert_int_equal (said->status, EX_NOPERM);
            continue;
        }
        assert_true (said->type == MESSAGE_WELCOME ||
                     said->type == MESSAGE_GET || said->type == MESSAGE_ACK ||
                     said->type == MESSAGE_STORED);
        assert_null (said->data);
        assert_int_equal (said->data_size, 0);
        assert_string_equal (said->capture, "");
        assert_string_equal (said->path, "");
        assert_string_equal (said->text, "");
        assert_string_equal (said->host, "");
        assert_true (said->item <= 1);
    }
}

/* What is counted as it comes is what a count of the ledger finds. */
static void test_usage (void **state)
{
    struct service *s = *state;
    uint64_t total;

    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 2);
    service_offer (s, 1, 1, "a capture");
    service_chunk (s, 1, 1, "a capture");
    service_offer (s, 1, 2, "another one");
    service_chunk (s, 1, 2, "another one");
    assert_int_equal (service_commit (s), 0);
    service_offer (s, 1, 3, "a capture");
    service_chunk (s, 1, 3, "a capture");
    assert_int_equal (service_commit (s), 0);
    total = s->a.usage.total;
    assert_int_equal (total, strlen ("a capture") + strlen ("another one"));
    aggregator_count_usage (&s->a);
    assert_int_equal (s->a.usage.total, total);
    assert_int_equal (usage_of_job (&s->a.usage, "j")->bytes, total);
    usage_fini (&s->a.usage);
}

/* Beyond a quota nothing is asked for, and HELLO is told why; then it is. */
static void test_quota (void **state)
{
    struct service *s = *state;

    s->opt.quotas.job = 10;
    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 2);
    service_offer (s, 1, 1, "eleven byte");
    assert_int_equal (service_said (s, MESSAGE_GET), 0);
    service_hello (s, 1, "j", 2);
    assert_string_equal (s->sent[0].text, "delivery waits: quota of job j is "
                         "full: 0 B of 10 B are used, and 11 B more do not "
                         "fit");
    s->opt.quotas.job = 11;
    service_offer (s, 1, 1, "eleven byte");
    assert_int_equal (service_said (s, MESSAGE_GET), 1);
    usage_fini (&s->a.usage);
}

/* What needs no new bytes is acknowledged, however full a quota is. */
static void test_quota_known (void **state)
{
    struct service *s = *state;

    s->opt.quotas.root = 9;
    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 2);
    service_offer (s, 1, 1, "a capture");
    service_chunk (s, 1, 1, "a capture");
    assert_int_equal (service_commit (s), 0);
    (void)service_said (s, MESSAGE_GET);
    service_offer (s, 1, 2, "a capture");       // its ACK was lost
    service_hello (s, 2, "k", 2);
    service_offer (s, 2, 3, "a capture");       // of another job
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (service_said (s, MESSAGE_ACK), 2);
    service_offer (s, 2, 4, "b");
    assert_int_equal (service_said (s, MESSAGE_GET), 0);
    usage_fini (&s->a.usage);
}

/* An accepted offer takes its room until it ends; to repeat it costs nothing. */
static void test_quota_promised (void **state)
{
    struct service *s = *state;
    const struct message gone = { .type = MESSAGE_GONE, .item = 1 };

    s->opt.quotas.root = 20;
    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 2);
    service_hello (s, 2, "k", 2);
    service_offer (s, 1, 1, "eleven byte");
    service_offer (s, 1, 1, "eleven byte");
    service_offer (s, 2, 1, "eleven byte");
    assert_string_equal (aggregator_waits (&s->a, s->a.jobs), "");
    (void)service_said (s, MESSAGE_GET);
    service_offer (s, 2, 2, "eleven more");
    assert_int_equal (service_said (s, MESSAGE_GET), 0);
    service_hear (s, 1, &gone);
    service_offer (s, 2, 2, "eleven more");
    (void)service_said (s, MESSAGE_GET);
    service_hear (s, 2, &gone);
    service_offer (s, 2, 2, "eleven more");
    assert_int_equal (service_said (s, MESSAGE_GET), 1);
    service_chunk (s, 2, 2, "eleven more");
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (s->a.promised.total, 0);
    service_offer (s, 2, 3, "nine byte");
    assert_int_equal (service_said (s, MESSAGE_GET), 1);
    usage_fini (&s->a.usage);
}

static int no_commit (void *arg, enum transfer_phase phase, struct err *err)
{
    (void)arg;
    (void)phase;
    return err_set (err, EIO, "of a test");
}

/* What could not be committed does not count. */
static void test_usage_failed (void **state)
{
    struct service *s = *state;

    s->opt.quotas.root = 20;
    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 2);
    service_offer (s, 1, 1, "a capture");
    service_chunk (s, 1, 1, "a capture");
    transfers_set_extra_work (s->a.transfers, no_commit, NULL);
    assert_int_equal (aggregator_commit_now (&s->a), -EIO);
    assert_int_equal (s->a.usage.total, 9);
    aggregator_check_usage (&s->a, INT64_MAX);
    assert_int_equal (s->a.usage.total, 9);
    while (s->a.counting)
        aggregator_check_usage (&s->a, INT64_MAX);
    assert_int_equal (s->a.usage.total, 0);
    assert_int_equal (s->a.promised.total, 0);
    usage_fini (&s->a.usage);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_size_again), TEST (test_size_recorded),
        TEST (test_clocks), TEST (test_mark), TEST (test_done_of_before),
        TEST (test_mark_unreadable), TEST (test_found_behind_done),
        TEST (test_reads_nothing), TEST (test_usage), TEST (test_quota),
        TEST (test_quota_known), TEST (test_quota_promised),
        TEST (test_usage_failed),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
