/* tests/unit/aggregator/service/test_aggregator_run.c - when a run ends, and
 * with what */
#include "aggregator/service/service_check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void rank_ended (struct service *s, unsigned peer, int64_t rank)
{
    struct message m = { .type = MESSAGE_RANK, .rank = rank,
                         .phase = RANK_ENDED };

    service_hear (s, peer, &m);
}

static void done_but (struct service *s, unsigned peer, const char *text)
{
    struct message m = { .type = MESSAGE_DONE };

    (void)snprintf (m.text, sizeof (m.text), "%s", text);
    service_hear (s, peer, &m);
}

static void done (struct service *s, unsigned peer)
{
    done_but (s, peer, "");
}

static void deliver (struct service *s, unsigned peer, uint64_t item,
                     const char *capture)
{
    service_offer (s, peer, item, capture);
    assert_int_equal (service_said (s, MESSAGE_GET), 1);
    service_chunk (s, peer, item, capture);
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (service_said (s, MESSAGE_ACK), 1);
}

static void be_run (struct service *s)
{
    s->opt.job = "j";
    s->opt.out = s->out;
    s->opt.run_dir = s->dir;
    s->opt.world_size = 1;
}

/* A run of one rank, which has delivered one capture. */
static void begin_run (struct service *s)
{
    be_run (s);
    service_hello (s, 1, "j", 1);
    rank_ended (s, 1, 0);
    deliver (s, 1, 1, "first");
}

static void turn (struct service *s)
{
    aggregator_check_run (&s->a, clock_mono_ns ());
}

/* Whether all is there that agents had, and what is said of it if not. */
static void result_is (struct service *s, bool whole, const char *note)
{
    const struct job *j = &s->a.over->job;

    assert_true (job_is_whole (j) == whole);
    if (!note) {
        assert_int_equal (j->nnotes, 0);
        return;
    }
    assert_true (j->nnotes > 0);
    if (!strstr (j->notes[j->nnotes - 1], note))
        fail_msg ("no \"%s\" in: %s", note, j->notes[j->nnotes - 1]);
}

/* Its agent was told that it is safe, and its original may be gone: without
 * another build it would be in no result, and go with the root.
 */
static void test_late (void **state)
{
    struct service *s = *state;
    struct aggregator *a = &s->a;

    begin_run (s);
    done (s, 1);
    turn (s);
    assert_non_null (a->building);
    deliver (s, 1, 2, "late");
    service_built (s);
    assert_null (a->over);
    turn (s);
    assert_null (a->building);  // the agent has not said again that it is done
    done (s, 1);
    turn (s);
    service_built (s);
    assert_non_null (a->over);
    assert_true (aggregator_result_has_all (a, a->over));
}

/* It was killed, and what has its place looks first whether there is more: no
 * reason to say that not everything was delivered.
 */
static void test_agent_replaced (void **state)
{
    struct service *s = *state;

    begin_run (s);
    done (s, 1);
    turn (s);
    service_hello_as (s, 2, 1, "j", 1);
    service_built (s);
    assert_null (s->a.over);
    turn (s);
    assert_null (s->a.building);
    done (s, 2);
    turn (s);
    service_built (s);
    assert_non_null (s->a.over);
    result_is (s, true, NULL);
}

/* Nor does it come back: the deadline ends it. */
static void test_agent_not_back (void **state)
{
    struct service *s = *state;

    begin_run (s);
    done (s, 1);
    turn (s);
    service_hello_as (s, 2, 1, "j", 1);
    s->opt.deadline_ns = 0;
    service_built (s);
    assert_null (s->a.over);
    turn (s);
    service_built (s);
    assert_non_null (s->a.over);
    result_is (s, false, "when the deadline passed");
}

/* Behind the end nothing is acknowledged that could go with the root. */
static void test_over (void **state)
{
    struct service *s = *state;
    struct aggregator *a = &s->a;

    begin_run (s);
    done (s, 1);
    turn (s);
    service_built (s);
    assert_non_null (a->over);
    service_offer (s, 1, 2, "first");   // which is here already
    service_offer (s, 1, 3, "late");
    assert_false (transfers_pending (a->transfers));
    assert_int_equal (service_said (s, MESSAGE_GET), 0);
    assert_true (aggregator_result_has_all (a, a->over));
}

/* Builds that are overtaken do not go on for ever: at the deadline nothing is
 * taken in any more, but what was asked for before.
 */
static void test_deadline (void **state)
{
    struct service *s = *state;
    struct aggregator *a = &s->a;

    begin_run (s);
    service_offer (s, 1, 2, "asked for");
    turn (s);
    assert_null (a->building);  // it is not done
    s->opt.deadline_ns = 0;
    turn (s);
    assert_non_null (a->building);
    service_offer (s, 1, 3, "too late");
    service_chunk (s, 1, 2, "asked for");
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (service_said (s, MESSAGE_ACK), 1);
    service_built (s);
    assert_null (a->over);
    turn (s);
    service_built (s);
    assert_non_null (a->over);
    assert_true (aggregator_result_has_all (a, a->over));
    assert_false (a->complete);
}

/* Raw files that cannot be given back: said, and the root stays, for what can
 * be saved of them.
 */
static void test_raw_missing (void **state)
{
    struct ledger_item lost = { .kind = ITEM_RAW, .job = "j", .capture = "c",
                                .path = "big", .content = { { 1 } } };
    struct service *s = *state;
    struct aggregator *a = &s->a;
    const struct job *j;

    begin_run (s);
    s->opt.raw = true;
    assert_int_equal (ledger_add_item (a->ledger, &lost, NULL), 1);
    done (s, 1);
    turn (s);
    service_built (s);
    assert_non_null (a->over);
    j = &a->over->job;
    assert_int_equal (j->nnotes, 1);
    assert_non_null (strstr (j->notes[0], "raw file c/big: its stored data"));
    // said again and again, also when the build is forgotten
    assert_null (a->build);
    assert_non_null (strstr (a->unwritten, "not all raw files"));
    assert_false (a->complete);
}

static void test_all_there (void **state)
{
    struct service *s = *state;

    begin_run (s);
    done (s, 1);
    turn (s);
    service_built (s);
    result_is (s, true, NULL);
}

/* Every rank is present, but there was more: 0 would be taken for all of it. */
static void test_offered_at_deadline (void **state)
{
    struct service *s = *state;

    begin_run (s);
    service_offer (s, 1, 2, "sec\tond");
    service_hear (s, 1, &(struct message){ .type = MESSAGE_PING,
                                           .left_items = 294,
                                           .left_captures = 3 });
    s->opt.deadline_ns = 0;
    turn (s);
    service_built (s);
    result_is (s, false, "when the deadline passed (items: 294; captures that "
                         "were not read yet: 3; the first that is offered is "
                         "the rows of sec\\tond)");
    assert_non_null (strstr (s->a.over->job.notes[0], "/spool"));
}

static void test_lost_agent (void **state)
{
    struct service *s = *state;

    begin_run (s);
    s->a.jobs->job.agents[0].heard_ns -= 61 * NS_PER_S;
    turn (s);
    assert_non_null (s->a.building);
    service_built (s);
    result_is (s, false, "its agent fell silent before it had delivered "
                         "everything; undelivered data");
}

static void test_given_up (void **state)
{
    struct service *s = *state;

    begin_run (s);
    done_but (s, 1, "host a: one could not be put into the spool");
    done_but (s, 1, "host a: one could not be put into the spool");
    turn (s);
    service_built (s);
    result_is (s, false, "one could not be put into the spool");
}

/* It may be put there later: the last word counts. */
static void test_not_given_up (void **state)
{
    struct service *s = *state;

    begin_run (s);
    done_but (s, 1, "host a: one could not be put into the spool");
    deliver (s, 1, 2, "second");
    done (s, 1);
    turn (s);
    service_built (s);
    result_is (s, true, NULL);
}

/* However much agents have said before, what is missing is said. */
static void test_last_notes (void **state)
{
    struct service *s = *state;

    begin_run (s);
    for (int i = 0; i < JOB_NOTES_MAX + 9; i++) {
        struct message m = { .type = MESSAGE_NOTE };

        (void)snprintf (m.text, sizeof (m.text), "note %d", i);
        service_hear (s, 1, &m);
    }
    done_but (s, 1, "host a: more than that");
    turn (s);
    service_built (s);
    result_is (s, false, "host a: more than that");
}

/* The other agent of a restarted aggregator may take longer to come back than
 * a wrapper to start: it has more to deliver.
 */
static void test_resumed (void **state)
{
    struct service *s = *state;

    begin_run (s);
    s->opt.world_size = 2;
    s->a.jobs->job.world_size = 2;
    done (s, 1);
    turn (s);
    s->a.jobs->ended_ns -= 11 * NS_PER_S;
    s->a.resumed = true;
    turn (s);
    assert_null (s->a.building);
    s->a.resumed = false;
    turn (s);
    assert_non_null (s->a.building);
    service_built (s);
    // if its captures came in the former life, it is not known that all did
    assert_false (job_is_whole (&s->a.over->job));
}

/* As if so many seconds of the run had passed. */
static void turn_at (struct service *s, int64_t seconds)
{
    aggregator_check_run (&s->a, s->a.began_ns + seconds * NS_PER_S);
}

/* And it was at work since then. */
static void turns_until (struct service *s, int64_t from, int64_t seconds)
{
    for (int64_t i = from; i <= seconds; i++)
        turn_at (s, i);
}

/* Nobody waits for a launcher, so it ends, with words. */
static void test_nobody (void **state)
{
    struct service *s = *state;

    be_run (s);
    turns_until (s, 0, 59);
    assert_null (s->a.building);
    turn_at (s, 61);
    assert_non_null (s->a.building);
    service_built (s);
    assert_false (s->a.complete);
}

/* A job that waits in a queue for a day is not over: nothing that it delivers
 * later would be taken in.  It is when nobody is to be started any more.
 */
static void test_queue (void **state)
{
    struct service *s = *state;
    int launch[2];

    be_run (s);
    assert_int_equal (pipe (launch), 0);
    s->opt.launch_fd = launch[0];
    turns_until (s, 0, 86400);
    assert_null (s->a.building);
    (void)close (launch[1]);
    turns_until (s, 86401, 86460);
    assert_null (s->a.building);
    turn_at (s, 86461);
    assert_non_null (s->a.building);
    service_built (s);
    (void)close (launch[0]);
}

/* Its wrappers died before they had said what ranks they are: an agent that
 * has no rank never says that it is done.
 */
static void test_no_ranks (void **state)
{
    struct service *s = *state;

    be_run (s);
    service_hello (s, 1, "j", 1);
    service_hello (s, 2, "j", 1);
    s->a.jobs->job.agents[1].heard_ns = s->a.began_ns + 50 * NS_PER_S;
    turns_until (s, 0, 65);     // the first is lost
    turns_until (s, 66, 109);
    assert_null (s->a.building);
    turn_at (s, 111);           // the other one, too
    assert_non_null (s->a.building);
    service_built (s);
    assert_non_null (s->a.over);
    result_is (s, false, "its agent fell silent");
}

/* Nobody is lost, and nobody is late, because this process or the machine was
 * stopped: a run that is over sends its agents home while COMMAND runs.
 */
static void test_stood_still (void **state)
{
    struct message runs = { .type = MESSAGE_RANK, .phase = RANK_RUNNING };
    struct service *s = *state;

    be_run (s);
    s->opt.deadline_ns = 120 * NS_PER_S;
    turns_until (s, 0, 2);
    turn_at (s, 3600);          // before anybody was heard
    assert_null (s->a.building);
    service_hello (s, 1, "j", 1);
    service_hear (s, 1, &runs);
    s->a.jobs->job.agents[0].heard_ns = s->a.began_ns + 3600 * NS_PER_S;
    turns_until (s, 3601, 3602);
    turn_at (s, 7200);          // while COMMAND runs
    assert_false (s->a.jobs->job.agents[0].lost);
    assert_null (s->a.building);
    rank_ended (s, 1, 0);
    s->a.jobs->job.agents[0].heard_ns = s->a.began_ns + 7200 * NS_PER_S;
    turns_until (s, 7201, 7202);
    turn_at (s, 9000);          // while it delivers
    assert_null (s->a.building);
    assert_false (s->a.closed);
    // it is gone, and this process listens
    assert_int_equal (service_commit (s), 0);
    turns_until (s, 9001, 9070);
    assert_non_null (s->a.building);
    service_built (s);
    result_is (s, false, "its agent fell silent");
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_late), TEST (test_agent_replaced),
        TEST (test_agent_not_back), TEST (test_over), TEST (test_deadline),
        TEST (test_raw_missing), TEST (test_all_there),
        TEST (test_offered_at_deadline), TEST (test_lost_agent),
        TEST (test_given_up), TEST (test_not_given_up),
        TEST (test_last_notes), TEST (test_resumed), TEST (test_nobody),
        TEST (test_queue), TEST (test_no_ranks),
        TEST (test_stood_still),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
