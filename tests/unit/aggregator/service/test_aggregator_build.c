/* tests/unit/aggregator/service/test_aggregator_build.c - what is built, and
 * when */
#include "aggregator/service/service_check.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool endless;            // a build goes on until it is cancelled
static int failing;             // with this, once it was asked
static sem_t cancelled;

int __real_job_build_run (struct job_build *b, const char *out,
                          unsigned threads, struct roster *roster,
                          struct build_result *ret, struct err *err);
int __wrap_job_build_run (struct job_build *b, const char *out,
                          unsigned threads, struct roster *roster,
                          struct build_result *ret, struct err *err);
void __real_job_build_cancel (struct job_build *b);
void __wrap_job_build_cancel (struct job_build *b);

int __wrap_job_build_run (struct job_build *b, const char *out,
                          unsigned threads, struct roster *roster,
                          struct build_result *ret, struct err *err)
{
    if (endless)
        (void)sem_wait (&cancelled);
    if (failing != 0)
        return err_set (err, failing, "%s is full", out);
    return __real_job_build_run (b, out, threads, roster, ret, err);
}

void __wrap_job_build_cancel (struct job_build *b)
{
    __real_job_build_cancel (b);
    (void)sem_post (&cancelled);
}

/* An item of a job, as a former life entered it. */
static void enter (struct service *s, const char *job)
{
    struct ledger_item item = { .kind = ITEM_ROWS, .received_ns = 5 };

    (void)snprintf (item.job, sizeof (item.job), "%s", job);
    (void)snprintf (item.capture, sizeof (item.capture), "c");
    assert_int_equal (ledger_add_item (s->a.ledger, &item, NULL), 1);
}

/* A service that was off for a while, or whose results were removed, may have
 * more to build than it serves at a time: it starts all the same, and takes
 * new jobs in meanwhile.
 */
static void test_many_unbuilt (void **state)
{
    enum { MANY = AGGREGATOR_JOBS_MAX + 5 };
    struct service *s = *state;
    struct aggregator *a = &s->a;
    struct err err = { "" };
    char name[32];

    assert_int_equal (ledger_begin (a->ledger, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf (name, sizeof (name), "job%d", i);
        enter (s, name);
    }
    assert_int_equal (ledger_commit (a->ledger, NULL), 0);
    if (aggregator_find_unbuilt (a, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (a->nunbuilt, MANY);
    assert_int_equal (a->njobs, 0);
    for (size_t left = MANY; left > MANY - 2;) {
        assert_true (aggregator_build_next_unbuilt (a));
        assert_int_equal (a->nunbuilt, --left);
        service_built (s);
        assert_int_equal (a->build_rc, 0);
    }
    service_hello (s, 1, "new", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    aggregator_forget_unbuilt (a);
    assert_int_equal (aggregator_find_unbuilt (a, NULL), 0);
    assert_int_equal (a->nunbuilt, MANY - 2);
}

/* What an agent offers as this, as a former life entered it and built a result
 * with it; a check has set the content aside since then.
 */
static void enter_lost (struct service *s, const char *job,
                        const char *capture)
{
    struct ledger_item item = { .kind = ITEM_ROWS };
    struct content_hash h;

    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, capture, strlen (capture)), 0);
    assert_int_equal (content_hash_end (&h, &item.content), 0);
    content_hash_fini (&h);
    (void)snprintf (item.job, sizeof (item.job), "%s", job);
    (void)snprintf (item.capture, sizeof (item.capture), "%s", capture);
    assert_int_equal (ledger_add_item (s->a.ledger, &item, NULL), 1);
    assert_int_equal (ledger_set_built (s->a.ledger, job,
                                        ledger_newest (s->a.ledger, job,
                                                       ITEM_ROWS), NULL,
                                        NULL), 0);
}

/* The agent of one job brings what the results of others lack: these have
 * nothing to bring, since they were told that it is here.
 */
static void test_came_again (void **state)
{
    struct service *s = *state;
    struct aggregator *a = &s->a;

    enter_lost (s, "far", "c");
    enter_lost (s, "served", "c");
    enter_lost (s, "other", "d");
    service_close (s);
    service_open (s);
    service_hello (s, 1, "near", 0);
    service_hello (s, 2, "served", 0);
    service_offer (s, 1, 1, "c");
    service_chunk (s, 1, 1, "c");
    aggregator_commit (a);
    assert_int_equal (a->nunbuilt, 1);
    assert_string_equal (a->unbuilt[0], "far");
    assert_true (build_schedule_due_ns (
                     &aggregator_find_job (a, "served")->schedule) < INT64_MAX);
    // and a next life, if this one dies before it has built
    aggregator_forget_unbuilt (a);
    assert_int_equal (aggregator_find_unbuilt (a, NULL), 0);
    // "near", "far", "served", and the one whose result is not there
    assert_int_equal (a->nunbuilt, 4);
    // once
    service_offer (s, 1, 2, "e");
    service_chunk (s, 1, 2, "e");
    aggregator_forget_unbuilt (a);
    aggregator_commit (a);
    assert_int_equal (a->nunbuilt, 0);
}

static int see_built (void *arg, const struct ledger_job *j)
{
    *(int64_t *)arg = j->built;
    return 0;
}

static int64_t built (struct service *s)
{
    int64_t seq = -1;

    assert_int_equal (ledger_each_job (s->a.ledger, ITEM_ROWS, see_built, &seq,
                                       NULL), 0);
    return seq;
}

/* How many ranks there are is said when the job has been built, or while it is:
 * the result is to name those that are missing, also if that takes a next life.
 */
static void test_late_size (void **state)
{
    struct service *s = *state;
    struct aggregator *a = &s->a;

    enter (s, "j");
    service_hello (s, 1, "j", 0);
    aggregator_start_build (a, a->jobs);
    service_built (s);
    assert_int_equal (built (s), 1);
    service_hello (s, 1, "j", 4);
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (built (s), 0);
    assert_true (build_schedule_due_ns (&a->jobs->schedule) < INT64_MAX);
    aggregator_start_build (a, a->jobs);
    service_hello (s, 1, "j", 8);
    assert_int_equal (service_commit (s), 0);
    service_built (s);
    assert_int_equal (built (s), 0);
    assert_int_equal (aggregator_find_unbuilt (a, NULL), 0);
    assert_int_equal (a->nunbuilt, 1);
    aggregator_start_build (a, a->jobs);
    service_built (s);
    assert_int_equal (built (s), 1);
    assert_true (build_schedule_due_ns (&a->jobs->schedule) == INT64_MAX);
}

/* SIGTERM while a large job is built: the service ends, and the job has no
 * result, nor is it noted that it has one.
 */
static void test_cancel (void **state)
{
    struct service *s = *state;
    struct aggregator *a = &s->a;

    assert_int_equal (sem_init (&cancelled, 0, 0), 0);
    enter (s, "large");
    assert_int_equal (aggregator_find_unbuilt (a, NULL), 0);
    endless = true;
    aggregator_build_next_unbuilt (a);
    assert_non_null (a->building);
    aggregator_cancel_build (a);
    endless = false;
    assert_null (a->building);
    assert_int_equal (a->build_rc, -EINTR);
    assert_int_equal (aggregator_find_unbuilt (a, NULL), 0);
    assert_int_equal (a->nunbuilt, 1);
}

/* Jobs that the status names, each with a part of the reason. */
static void names (struct service *s, size_t n, size_t in_all, const char *hint)
{
    struct json *j = json_object ();
    int64_t all = -1;

    aggregator_add_unbuilt (&s->a, j);
    assert_int_equal (json_count (json_get (j, "unbuilt")), n);
    assert_true (json_int (json_get (j, "unbuilt_jobs"), &all));
    assert_int_equal (all, in_all);
    assert_int_equal (aggregator_has_unbuilt (&s->a), in_all > 0);
    for (const struct json *o = json_first (json_get (j, "unbuilt")); o;
         o = json_next (o)) {
        assert_non_null (strstr (json_text (json_get (o, "why"), ""), "is full"));
        assert_non_null (strstr (json_text (json_get (o, "hint"), ""), hint));
    }
    json_free (j);
}

static void build_all (struct service *s)
{
    for (struct served *x = s->a.jobs; x; x = x->next) {
        aggregator_start_build (&s->a, x);
        service_built (s);
    }
}

/* A disk is full: jobs that could not be built are named, until they are; a few of
 * many, as there is no room for a larger status.
 */
static void test_no_room (void **state)
{
    struct service *s = *state;
    char name[32];

    names (s, 0, 0, "");
    for (unsigned i = 0; i < 6; i++) {
        (void)snprintf (name, sizeof (name), "job%u", i);
        enter (s, name);
        service_hello (s, i, name, 0);
    }
    failing = ENOSPC;
    (void)setenv ("TMPDIR", s->root, 1);
    build_all (s);
    names (s, 4, 6, "free without it: make room there");
    (void)setenv ("TMPDIR", "/proc", 1);        // it sorts on another disk
    build_all (s);
    names (s, 4, 6, "free without it, and /proc, where it sorts, ");
    (void)unsetenv ("TMPDIR");
    assert_int_equal (s->a.jobs->unbuilt.tries, 2);
    assert_true (build_schedule_due_ns (&s->a.jobs->schedule) < INT64_MAX);
    failing = EIO;
    build_all (s);
    names (s, 4, 6, "");
    assert_string_equal (s->a.jobs->unbuilt.hint, "");
    failing = 0;
    aggregator_start_build (&s->a, s->a.jobs);
    service_built (s);
    names (s, 4, 5, "");
    build_all (s);
    names (s, 0, 0, "");
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_many_unbuilt), TEST (test_came_again), TEST (test_cancel),
        TEST (test_late_size), TEST (test_no_room),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
