/* tests/unit/aggregator/service/test_aggregator_wants.c - what agents are asked
 * for, and what users are told of it */
#include "aggregator/service/service_check.h"

#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows of a capture of rank 0, from the host with this number. */
static const struct control_peer owner = { .owner = true };

static void deliver (struct service *s, unsigned peer, uint64_t item,
                     const char *capture)
{
    service_offer (s, peer, item, capture);
    service_chunk (s, peer, item, capture);
    aggregator_commit (&s->a);
}

/* The same, with the time of its newest file. */
static void deliver_version (struct service *s, unsigned peer, uint64_t item,
                             const char *capture, int64_t newest_ns)
{
    struct message m = { .type = MESSAGE_OFFER, .item = item,
                         .kind = ITEM_ROWS, .size = sizeof (newest_ns),
                         .newest_ns = newest_ns };
    const struct message chunk = { .type = MESSAGE_CHUNK, .item = item,
                                   .data = &newest_ns,
                                   .data_size = sizeof (newest_ns) };
    struct content_hash h;

    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, &newest_ns, sizeof (newest_ns)),
                      0);
    assert_int_equal (content_hash_end (&h, &m.content), 0);
    content_hash_fini (&h);
    PRINT (m.capture, "%s", capture);
    service_hear (s, peer, &m);
    service_hear (s, peer, &chunk);
    aggregator_commit (&s->a);
}

/* What the WELCOME to another HELLO says. */
static enum raw_wanted raw_of (struct service *s, unsigned peer)
{
    (void)service_said (s, MESSAGE_WELCOME);
    service_hello (s, peer, "j", 1);
    assert_int_equal (s->sent[0].type, MESSAGE_WELCOME);
    return s->sent[0].raw;
}

/* The answer as it is read from the socket. */
static void fetch (struct service *s, const char *text, struct json **answer)
{
    struct json *request = json_parse (text, strlen (text), NULL);
    struct json *made = json_object ();
    struct err err = { "" };
    char *line;

    assert_non_null (request);
    if (aggregator_on_request (&s->a, &owner, request, made, &err) < 0)
        fail_msg ("%s", err.text);
    assert_non_null (line = json_print (made, false));
    *answer = json_parse (line, strlen (line), NULL);
    free (line);
    json_free (made);
    json_free (request);
}

static int fetch_fails (struct service *s, const char *text)
{
    struct json *request = json_parse (text, strlen (text), NULL);
    struct json *answer = json_object ();
    int rc = aggregator_on_request (&s->a, &owner, request, answer, NULL);

    json_free (request);
    json_free (answer);
    return rc;
}

static int64_t number (const struct json *j, const char *key)
{
    int64_t n = -1;

    (void)json_int (json_get (j, key), &n);
    return n;
}

static const char *state_of (const struct json *answer)
{
    return json_text (json_get (json_first (json_get (answer, "ranks")),
                                "state"), "");
}

/* Of the want in this place of the list, from 1 on. */
static void have (struct service *s, unsigned peer, size_t nth,
                  enum have_state state, uint64_t files, uint64_t came,
                  uint64_t gone)
{
    const struct message m = { .type = MESSAGE_HAVE,
                               .item = s->a.wants.list[nth - 1].id,
                               .have = state, .files = files, .came = came,
                               .gone = gone };

    service_hear (s, peer, &m);
}

#define FETCH "{\"do\": \"fetch\", \"job\": \"j\", \"ranks\": [0]}"

/* ---- policies ---- */

static void test_policies (void **state)
{
    enum want_policy p = WANT_ALL;
    struct service *s = *state;

    assert_true (aggregator_parse_policy ("suspects", &p));
    assert_int_equal (p, WANT_SUSPECTS);
    assert_true (aggregator_parse_policy ("none", &p));
    assert_int_equal (p, WANT_NONE);
    assert_false (aggregator_parse_policy ("some", &p));
    service_hello (s, 1, "j", 1);
    assert_int_equal (raw_of (s, 1), RAW_ALL);
    s->opt.wants = WANT_NONE;
    assert_int_equal (raw_of (s, 1), RAW_ON_DEMAND);
    deliver (s, 1, 1, "a");
    assert_int_equal (raw_of (s, 1), RAW_ON_DEMAND);
    s->opt.wants = WANT_SUSPECTS;
    assert_int_equal (raw_of (s, 1), RAW_UNDECIDED);    // not built yet
    build_schedule_began (&s->a.jobs->schedule, clock_mono_ns ());
    assert_int_equal (raw_of (s, 1), RAW_ON_DEMAND);
    s->a.building = s->a.jobs;
    assert_int_equal (raw_of (s, 1), RAW_UNDECIDED);
    s->a.building = NULL;
    s->a.jobs->lacks_ranks = true;
    assert_int_equal (raw_of (s, 1), RAW_UNDECIDED);
    s->a.jobs->lacks_ranks = false;
    assert_int_equal (aggregator_note_unbuilt (&s->a, "other"), 0);
    assert_int_equal (raw_of (s, 1), RAW_ON_DEMAND);
    assert_int_equal (aggregator_note_unbuilt (&s->a, "j"), 0);
    assert_int_equal (raw_of (s, 1), RAW_UNDECIDED);
}

/* ---- what is fetched ---- */

/* Its agent is asked at once, and again, until it has said what came. */
static void test_fetch (void **state)
{
    struct service *s = *state;
    struct json *answer;

    s->opt.wants = WANT_NONE;
    service_hello (s, 1, "j", 1);
    service_hello (s, 2, "j", 1);
    deliver (s, 1, 1, "a");
    (void)service_said (s, MESSAGE_WANT);
    fetch (s, FETCH, &answer);
    assert_int_equal (s->nsent, 1);     // no agent but the one of its host
    assert_int_equal (s->sent[0].type, MESSAGE_WANT);
    assert_string_equal (s->sent[0].capture, "a");
    assert_string_equal (state_of (answer), "coming");
    assert_int_equal (number (answer, "coming"), 1);
    json_free (answer);
    assert_int_equal (raw_of (s, 1), RAW_UNDECIDED);
    assert_int_equal (service_said (s, MESSAGE_WANT), 1);
    assert_int_equal (raw_of (s, 2), RAW_ON_DEMAND);
    assert_int_equal (service_said (s, MESSAGE_WANT), 0);
    have (s, 2, 1, HAVE_ALL_SAID, 2, 2, 0);     // it has no say
    assert_int_equal (raw_of (s, 1), RAW_UNDECIDED);
    have (s, 1, 1, HAVE_BUSY, 2, 1, 0);
    have (s, 1, 1, HAVE_ALL_SAID, 2, 2, 0);
    assert_int_equal (raw_of (s, 1), RAW_ON_DEMAND);
    assert_int_equal (service_said (s, MESSAGE_WANT), 0);
    fetch (s, FETCH, &answer);
    assert_string_equal (state_of (answer), "came");
    json_free (answer);
}

static void test_fetch_wrong (void **state)
{
    struct service *s = *state;

    service_hello (s, 1, "j", 1);
    deliver (s, 1, 1, "a");
    assert_int_equal (fetch_fails (s, "{\"do\": \"fetch\", \"job\": \"k\", "
                                      "\"ranks\": [0]}"), -ENOENT);
    assert_int_equal (fetch_fails (s, "{\"do\": \"fetch\", \"job\": \"j\"}"),
                      -EINVAL);
    assert_int_equal (fetch_fails (s, "{\"do\": \"fetch\", \"job\": \"j\", "
                                      "\"ranks\": [-1]}"), -EINVAL);
    assert_int_equal (fetch_fails (s, "{\"do\": \"fetch\", \"job\": \"j\", "
                                      "\"ranks\": [0], \"file\": \"/x\"}"),
                      -EINVAL);
    assert_int_equal (s->a.wants.n, 0);
}

/* A question repeats no request: what is gone is asked for again by a user
 * only.  But an aggregator that has forgotten the number takes it for a new
 * one.
 */
static void test_question (void **state)
{
    struct service *s = *state;
    struct json *answer;
    char text[128];

    service_hello (s, 1, "j", 1);
    deliver (s, 1, 1, "a");
    fetch (s, FETCH, &answer);
    (void)snprintf (text, sizeof (text), "{\"do\": \"fetch\", \"job\": \"j\", "
                    "\"ranks\": [0, 5], \"request\": %lld}",
                    (long long)number (answer, "request"));
    json_free (answer);
    have (s, 1, 1, HAVE_ALL_SAID, 2, 1, 1);
    fetch (s, text, &answer);
    assert_string_equal (state_of (answer), "gone");
    assert_int_equal (number (answer, "captures"), 2);
    assert_int_equal (number (answer, "gone"), 2);      // rank 5 never came
    json_free (answer);
    fetch (s, FETCH, &answer);
    assert_string_equal (state_of (answer), "coming");
    json_free (answer);
}

/* Others that ask for the same, or for so much that this is forgotten, change
 * nothing of what one is told.
 */
static void test_two_requests (void **state)
{
    struct service *s = *state;
    struct json *answer;
    char text[128];

    service_hello (s, 1, "j", 1);
    deliver (s, 1, 1, "a");
    fetch (s, FETCH, &answer);
    PRINT (text, "{\"do\": \"fetch\", \"job\": \"j\", \"ranks\": [0], "
           "\"request\": %lld}", (long long)number (answer, "request"));
    json_free (answer);
    fetch (s, FETCH, &answer);
    json_free (answer);
    fetch (s, text, &answer);
    assert_string_equal (state_of (answer), "coming");
    assert_int_equal (number (answer, "captures"), 1);
    json_free (answer);
    have (s, 1, 1, HAVE_ALL_SAID, 1, 1, 0);
    s->a.wants.n = 0;
    fetch (s, text, &answer);
    assert_string_equal (state_of (answer), "coming");
    json_free (answer);
}

/* The files that came are not those of rows that came later. */
static void test_new_version (void **state)
{
    struct service *s = *state;
    struct json *answer;

    service_hello (s, 1, "j", 1);
    deliver_version (s, 1, 1, "a", 1000);
    fetch (s, FETCH, &answer);
    json_free (answer);
    have (s, 1, 1, HAVE_ALL_SAID, 1, 1, 0);
    deliver_version (s, 1, 2, "a", 2000);
    (void)service_said (s, MESSAGE_WANT);
    fetch (s, FETCH, &answer);
    assert_string_equal (state_of (answer), "coming");
    assert_int_equal (number (answer, "captures"), 1);
    json_free (answer);
    assert_int_equal (service_said (s, MESSAGE_WANT), 1);
}

static void test_no_agent (void **state)
{
    struct service *s = *state;
    struct json *answer;

    service_hello (s, 1, "j", 1);
    deliver (s, 1, 1, "a");
    s->a.jobs->job.agents[0].heard_ns -= 60 * NS_PER_S;
    fetch (s, FETCH, &answer);
    assert_string_equal (state_of (answer), "no-agent");
    assert_int_equal (number (answer, "no_agent"), 1);
    json_free (answer);
}

/* The next aggregator asks for what this one was told to fetch. */
static void test_next_life (void **state)
{
    struct service *s = *state;
    struct json *answer;

    service_hello (s, 1, "j", 1);
    deliver (s, 1, 1, "a");
    fetch (s, FETCH, &answer);
    json_free (answer);
    service_close (s);
    service_open (s);
    (void)service_said (s, MESSAGE_WANT);
    service_hello (s, 1, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WANT), 1);
}

/* What was delivered and is lost has to come again, also what was wanted. */
static void test_lost (void **state)
{
    struct message m = { .type = MESSAGE_HELLO, .mark = { 7, 1 },
                         .job = "j", .host = "host1", .host_key = "key1",
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };
    struct service *s = *state;
    struct json *answer;

    service_hello (s, 1, "j", 1);
    deliver (s, 1, 1, "a");
    fetch (s, FETCH, &answer);
    json_free (answer);
    have (s, 1, 1, HAVE_ALL_SAID, 1, 1, 0);
    (void)service_said (s, MESSAGE_WANT);
    service_hear (s, 1, &m);
    assert_int_equal (service_said (s, MESSAGE_WANT), 1);
    // it may say so before it knows of the loss
    have (s, 1, 1, HAVE_ALL_SAID, 1, 1, 0);
    assert_int_equal (s->a.wants.list[0].state, WANT_OPEN);
    service_hello (s, 1, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WANT), 1);
    have (s, 1, 1, HAVE_ALL_SAID, 1, 1, 0);
    assert_int_equal (s->a.wants.list[0].state, WANT_CAME);
}

/* Of many, a part is asked for at a time. */
static void test_some_at_a_time (void **state)
{
    struct service *s = *state;
    struct json *answer;
    char name[16];

    service_hello (s, 1, "j", 1);
    for (unsigned i = 1; i <= WANTS_AT_ONCE + 4; i++) {
        (void)snprintf (name, sizeof (name), "c%u", i);
        deliver (s, 1, i, name);
    }
    (void)service_said (s, MESSAGE_WANT);
    fetch (s, FETCH, &answer);
    assert_int_equal (number (answer, "captures"), WANTS_AT_ONCE + 4);
    json_free (answer);
    assert_int_equal (service_said (s, MESSAGE_WANT), WANTS_AT_ONCE);
    for (unsigned i = 1; i <= WANTS_AT_ONCE; i++)
        have (s, 1, i, HAVE_ALL_SAID, 1, 1, 0);
    (void)service_said (s, MESSAGE_WANT);
    service_hello (s, 1, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WANT), 4);
}

/* ---- suspects ---- */

/* They are wanted once, whatever later builds say. */
static void test_suspects (void **state)
{
    struct service *s = *state;

    s->opt.wants = WANT_SUSPECTS;
    service_hello (s, 1, "j", 1);
    deliver (s, 1, 1, "a");
    (void)service_said (s, MESSAGE_WANT);
    s->a.building = s->a.jobs;
    s->a.suspects[0] = 0;
    s->a.suspects[1] = 5;       // nothing of it has come
    s->a.nsuspects = 2;
    aggregator_want_suspects (&s->a);
    assert_int_equal (service_said (s, MESSAGE_WANT), 1);
    have (s, 1, 1, HAVE_ALL_SAID, 1, 0, 1);
    aggregator_want_suspects (&s->a);
    assert_int_equal (service_said (s, MESSAGE_WANT), 0);
    s->a.build_rc = -EIO;       // then there are none
    aggregator_want_suspects (&s->a);
    s->a.building = NULL;
}

/* Wants whose agents are gone keep nobody from fetching; those of a job that is
 * removed are forgotten.
 */
static void test_agents_are_gone (void **state)
{
    struct service *s = *state;
    struct json *answer, *rm;

    for (int64_t i = 0; i < WANTS_MAX; i++) {
        struct want like = { .rank = i, .scope = "x", .host = "gone",
                             .capture = "c" }, *w;

        PRINT (like.job, "j%lld", (long long)i / WANTS_OF_JOB);
        assert_int_equal (wants_add (&s->a.wants, &like, false, &w, NULL), 1);
    }
    service_hello (s, 1, "j", 1);
    deliver (s, 1, 1, "c1");
    fetch (s, FETCH, &answer);
    assert_string_equal (state_of (answer), "coming");
    json_free (answer);
    assert_int_equal (s->a.wants.n, WANTS_MAX);
    fetch (s, "{\"do\": \"rm\", \"job\": \"j\"}", &rm);
    json_free (rm);
    assert_int_equal (s->a.wants.n, WANTS_MAX - 1);
}

int main (void)
{
#define TEST(x) \
    cmocka_unit_test_setup_teardown (x, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_policies), TEST (test_fetch), TEST (test_fetch_wrong),
        TEST (test_question), TEST (test_two_requests),
        TEST (test_new_version), TEST (test_no_agent), TEST (test_next_life),
        TEST (test_lost), TEST (test_some_at_a_time), TEST (test_suspects),
        TEST (test_agents_are_gone),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
