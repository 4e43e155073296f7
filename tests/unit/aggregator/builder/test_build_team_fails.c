/* tests/unit/aggregator/builder/test_build_team_fails.c - a process of a build fails, or says
 * what cannot be
 */
#include "aggregator/builder/team_check.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

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

        (void)begin_case (NULL);
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
    (void)begin_case (NULL);
    how.lead_fails = EIO;
    assert_int_equal (build_together ("none", &rows, &err), -EIO);
    assert_string_equal (err.text, "rank 0 has failed");
    (void)begin_case (NULL);
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
        (void)begin_case (NULL);
        how.look = look;
        how.pair = true;
        how.member_fails = ENOSPC;
        assert_int_equal (build_apart (true, &sent, &err), -ENOSPC);
        assert_said_by_member (&err, "the member has failed");
        assert_false (how.late);
    }
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

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup (test_damaged, begin_case),
        cmocka_unit_test_setup (test_failures, begin_case),
        cmocka_unit_test_setup (test_failing_thread, begin_case),
        cmocka_unit_test_setup (test_fails_early, begin_case),
        cmocka_unit_test_setup (test_left_out, begin_case),
        cmocka_unit_test_setup (test_stray, begin_case),
        cmocka_unit_test_setup (test_no_thread, begin_case),
    };

    return cmocka_run_group_tests (tests, begin_cases, end_cases);
}
