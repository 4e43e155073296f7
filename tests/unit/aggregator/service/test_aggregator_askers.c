/* tests/unit/aggregator/service/test_aggregator_askers.c - who may ask for what,
 * and in which words
 */
#include "aggregator/service/service_check.h"

#include "archive/remove.h"
#include "store/lease.h"
#include "store/store_private.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 54321            // whom no host knows

static struct json *asks (const char *text)
{
    struct json *j = json_parse (text, strlen (text), NULL);

    assert_non_null (j);
    return j;
}

static int may (struct service *s, const struct control_peer *p,
                const char *request, const char **visible_to, struct err *err)
{
    struct json *j = asks (request);
    int rc = aggregator_may_ask (&s->a, p, j, visible_to, err);

    json_free (j);
    return rc;
}

/* Somebody with a name, who is neither root nor the user of this test. */
static const struct passwd *somebody (void)
{
    const struct passwd *p;

    setpwent ();
    while ((p = getpwent ()) && (p->pw_uid == 0 || p->pw_uid == geteuid ()))
        ;
    assert_non_null (p);
    return p;
}

static void say_user (struct service *s, const char *job, const char *user)
{
    struct ledger_fact f = { .at_ns = 1 };

    PRINT (f.job, "%s", job);
    PRINT (f.key, FACT_USER);
    PRINT (f.value, "%s", user);
    assert_int_equal (ledger_set_fact (s->a.ledger, &f, NULL), 1);
}

static void test_may (void **state)
{
    struct service *s = *state;
    const struct passwd *user = somebody ();
    struct control_peer owner = { .owner = true }, p = { .uid = user->pw_uid };
    char name[64];
    const char *visible = NULL;
    struct err err = { "" };

    PRINT (name, "%s", user->pw_name);
    say_user (s, "his", name);
    say_user (s, "others", "somebody-else");
    assert_int_equal (may (s, &owner, "{\"do\": \"gc\"}", &visible, &err), 0);
    assert_null (visible);
    assert_int_equal (may (s, &p, "{\"do\": \"view\"}", &visible, &err), 0);
    assert_string_equal (visible, name);
    assert_int_equal (may (s, &p, "{\"do\": \"fetch\", \"job\": \"his\"}",
                           &visible, &err), 0);
    assert_int_equal (may (s, &p, "{\"do\": \"fetch\", \"job\": \"others\"}",
                           &visible, &err), -ENOENT);
    assert_int_equal (may (s, &p, "{\"do\": \"fetch\", \"job\": \"none\"}",
                           &visible, &err), -ENOENT);
    // also what this version does not know yet
    for (size_t i = 0; i < 4; i++) {
        static const char *const requests[] = {
            "{\"do\": \"tag\", \"job\": \"his\"}", "{\"do\": \"rm\"}",
            "{\"do\": \"new\"}", "{}",
        };

        assert_int_equal (may (s, &p, requests[i], &visible, &err), -EACCES);
        assert_non_null (strstr (err.text, "is for operators of this root"));
    }
    p.uid = NOBODY;
    assert_int_equal (may (s, &p, "{\"do\": \"view\"}", &visible, &err),
                      -EACCES);
    s->opt.operators = (struct operators){ .users = { NOBODY }, .nusers = 1 };
    assert_int_equal (may (s, &p, "{\"do\": \"rm\"}", &visible, &err), 0);
}

/* Somebody's job that others have added to since its last build. */
static void test_added (void **state)
{
    struct service *s = *state;
    struct ledger_item i = { .job = "j", .kind = ITEM_ROWS, .capture = "c",
                             .host = "n0", .received_ns = 1 };

    say_user (s, "j", "me");
    assert_int_equal (ledger_is_of_user (s->a.ledger, "j", "me", NULL), 1);
    assert_int_equal (ledger_add_item (s->a.ledger, &i, NULL), 1);
    assert_int_equal (ledger_is_of_user (s->a.ledger, "j", "me", NULL), 0);
    assert_int_equal (ledger_set_built (s->a.ledger, "j",
                                        ledger_newest (s->a.ledger, "j", ITEM_ROWS), NULL,
                                        NULL), 0);
    assert_int_equal (ledger_is_of_user (s->a.ledger, "j", "me", NULL), 1);
    assert_int_equal (ledger_is_of_user (s->a.ledger, "j", "you", NULL), 0);
}

static int view_of (struct service *s, const char *user, const char *request,
                    struct err *err)
{
    const struct control_peer p = { .pipes = { -1, -1 } };
    struct json *j = asks (request);
    int rc = aggregator_view (&s->a, &p, j, user, err);

    json_free (j);
    return rc;
}

static int view (struct service *s, const char *request, struct err *err)
{
    return view_of (s, NULL, request, err);
}

static int64_t ahead_ns, step_ns;       // of the clock, now and with each look

int64_t __real_clock_mono_ns (void);
int64_t __wrap_clock_mono_ns (void);

int64_t __wrap_clock_mono_ns (void)
{
    ahead_ns += step_ns;
    return __real_clock_mono_ns () + ahead_ns;
}

/* Two jobs, each in a segment of its own, are removed. */
static void remove_two (struct service *s)
{
    for (unsigned i = 1; i <= 2; i++) {
        char job[8], capture[8];
        const struct remove_what all = { .job = job, .what = "", .by = "me",
                                         .verb = "archive rm", .now_ns = 1 };
        struct removal gone;

        PRINT (job, "j%u", i);
        PRINT (capture, "c%u", i);
        service_hello (s, i, job, 1);
        service_offer (s, i, i, capture);
        service_chunk (s, i, i, capture);
        aggregator_commit (&s->a);
        assert_int_equal (store_open_next (s->a.store, NULL), 0);
        assert_int_equal (remove_apply (s->a.ledger, s->a.store, &all, &gone,
                                        NULL), 0);
    }
}

/* Looks at a collection, one each second. */
static void look (struct service *s, int times)
{
    for (int i = 0; i < times; i++) {
        ahead_ns += NS_PER_S;
        aggregator_check_gc (&s->a, clock_mono_ns ());
    }
}

/* Of one who reads all, and is no operator. */
static int view_from_elsewhere (struct service *s, const char *text)
{
    const struct view_asker asker = { .out = -1, .said = -1, .limited = true };
    struct json *request = json_parse (text, strlen (text), NULL);
    struct view *v = NULL;
    int rc = aggregator_begin_view (&s->a, &asker, request, NULL, &v, NULL);

    json_free (request);
    return rc;
}

/* A collection that has waited for readers keeps others from beginning, and goes
 * on when these have ended; it does not give up.  What it does between does not
 * begin the time again: there may be a thousand segments.  While it waits for a
 * build it does not wait for readers.
 */
static void test_collection_waits (void **state)
{
    static const char get[] = "{\"verb\": \"archive\", \"operands\": "
                              "[\"get\", \"j\", \"0\", \"d\"]}";
    static const char list[] = "{\"verb\": \"archive\", \"operands\": "
                               "[\"ls\", \"j\"]}";
    struct service *s = *state;
    struct lease lease = LEASE_NONE;
    struct gc_options gc = GC_DEFAULTS;
    struct served *building;
    struct err err = { "" };

    remove_two (s);
    assert_int_equal (lease_take (s->root, "test", &lease, NULL), 0);
    assert_int_equal (aggregator_start_gc (&s->a, &gc, NULL), 0);
    s->a.getting = 1;
    look (s, 1);
    building = s->a.building;
    s->a.building = (struct served *)&lease;
    ahead_ns += 4000 * NS_PER_S;
    look (s, 1);
    assert_int_equal (view_of (s, "me", get, &err), -EINVAL);
    s->a.building = building;
    look (s, 400);
    assert_int_equal (view_of (s, "me", get, &err), -EINVAL);
    lease_end (&lease);
    step_ns = 30 * NS_PER_MS;           // a step takes its turn
    look (s, 1);
    step_ns = 0;
    assert_non_null (s->a.gc);
    assert_int_equal (lease_take (s->root, "test", &lease, NULL), 0);
    look (s, 400);
    assert_non_null (s->a.gc);
    assert_int_equal (view_of (s, "me", get, &err), -EBUSY);
    assert_int_equal (view_of (s, "me", list, &err), -EINVAL);
    assert_int_equal (view_of (s, NULL, get, &err), -EINVAL);
    assert_int_equal (view_from_elsewhere (s, get), -EBUSY);
    lease_end (&lease);
    s->a.getting = 0;
    look (s, 10);
    assert_null (s->a.gc);
    assert_int_equal (s->a.gc_rc, 0);
    assert_int_equal (view_of (s, "me", get, &err), -EINVAL);
}

/* No word may name another root, or a file to be written. */
static void test_words (void **state)
{
    static const char *const bad[] = {
        "{\"do\": \"view\"}",
        "{\"verb\": \"fsck\"}",
        "{\"verb\": \"jobs\", \"options\": [\"--root\", \"/\"]}",
        "{\"verb\": \"jobs\", \"options\": [\"--root=/\"]}",
        "{\"verb\": \"jobs\", \"options\": [\"--where\"]}",
        "{\"verb\": \"jobs\", \"options\": [\"--wher\", \"1\"]}",
        "{\"verb\": \"jobs\", \"options\": [\"\"]}",
        "{\"verb\": \"trend\", \"options\": [\"--html\", \"/tmp/x\"]}",
        "{\"verb\": \"archive\"}",
        "{\"verb\": \"archive\", \"operands\": [\"rm\", \"j\"]}",
        "{\"verb\": \"archive\", \"options\": [\"--owner\"], "
            "\"operands\": [\"ls\"]}",
        "{\"verb\": \"jobs\", \"operands\": [\"merge\", \"a\", \"b\"]}",
        "{\"verb\": \"jobs\", \"operands\": [\"split\", \"a\", \"rank0\"]}",
        "{\"verb\": \"jobs\", \"operands\": [\"a\"]}",
        "{\"verb\": \"trend\", \"operands\": [\"a\"]}",
        "{\"verb\": \"show\"}",
        "{\"verb\": \"show\", \"operands\": [\"a\", \"b\"]}",
        "{\"verb\": \"archive\", \"operands\": [\"ls\", \"j\", \"x\"]}",
        "{\"verb\": \"archive\", \"operands\": [\"get\", \"j\"]}",
        "{\"verb\": \"archive\", \"operands\": [\"get\", \"j\", \"0\", \"d\", "
            "\"x\"]}",
    };
    static const char *const good[] = {
        "{\"verb\": \"jobs\", \"options\": [\"--where\", \"--root\"]}",
        "{\"verb\": \"jobs\", \"options\": [\"--width\", \"80\"]}",
        "{\"verb\": \"show\", \"operands\": [\"--root=/\"]}",
        "{\"verb\": \"archive\", \"operands\": [\"ls\"]}",
        "{\"verb\": \"archive\", \"operands\": [\"get\", \"j\", \"0\", \"d\"]}",
    };
    struct service *s = *state;
    struct err err = { "" };

    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        int rc = view (s, bad[i], &err);

        if ((rc != -EINVAL && rc != -EACCES) || strstr (err.text, "pipes"))
            fail_msg ("%s: %s", bad[i], err.text);
    }
    // what is missing then is where to print
    for (size_t i = 0; i < sizeof (good) / sizeof (good[0]); i++) {
        if (view (s, good[i], &err) != -EINVAL || !strstr (err.text, "pipes"))
            fail_msg ("%s: %s", good[i], err.text);
    }
}

static bool meant (struct service *s, bool owner, const char *under,
                   const char *name)
{
    const struct control_peer p = { .owner = owner };
    char text[PATH_MAX + 64];
    struct json *j;
    bool yes;

    (void)snprintf (text, sizeof (text), "{\"root\": \"%s%s\"}", under, name);
    j = asks (text);
    yes = aggregator_is_meant (&s->a, &p, j);
    json_free (j);
    return yes;
}

/* What is not the text of its path may be anywhere: only the owner has it looked
 * at.
 */
static void test_root (void **state)
{
    struct service *s = *state;
    const struct control_peer p = { .owner = false };
    struct json *j = asks ("{}");

    assert_non_null (realpath (s->root, s->a.root_path));
    assert_true (aggregator_is_meant (&s->a, &p, j));
    json_free (j);
    assert_true (meant (s, false, s->a.root_path, ""));
    assert_false (meant (s, false, s->root, "/../root"));
    assert_true (meant (s, true, s->root, "/../root"));
    assert_false (meant (s, true, "/", ""));
}

/* One that computes goes on; one that waits does not. */
static void test_stalls (void **state)
{
    int64_t cpu_ns = -1;
    pid_t pid;

    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        if ((pid = fork ()) == 0) {
            volatile bool busy = !waits;

            // a test that fails leaves nobody who has its pipes open
            (void)prctl (PR_SET_PDEATHSIG, SIGKILL);
            while (busy)
                ;
            (void)pause ();
            _exit (0);
        }
        cpu_ns = -1;
        assert_false (aggregator_view_stalls (pid, &cpu_ns, 1));
        // a little from time to time is not enough for a user
        assert_true (aggregator_view_stalls (pid, &cpu_ns, 1000 * NS_PER_S));
        while (aggregator_view_stalls (pid, &cpu_ns, 1) != waits)
            ;
        assert_int_equal (kill (pid, SIGKILL), 0);
        assert_int_equal (waitpid (pid, NULL, 0), pid);
    }
}

/* The status of the answer to this question. */
static int64_t told (struct service *s, const char *who, const char *question)
{
    const struct message m = { .type = MESSAGE_ASK, .item = 1,
                               .data = question,
                               .data_size = strlen (question) };
    const struct message *end;

    s->nsent = 0;
    s->who = who;
    service_hear (s, 1, &m);
    assert_int_equal (s->nsent, 1);
    end = &s->sent[0];
    assert_int_equal (end->type, MESSAGE_END);
    assert_true (end->text[0]);
    return end->status;
}

/* Over the network: only a person with a key of his own, and nothing but what a
 * user of this host may see.
 */
static void test_remote (void **state)
{
    static const char jobs[] = "{\"do\": \"view\", \"verb\": \"jobs\"}";
    static const char *const bad[] = {
        "", "{", "[]", "{\"do\": \"gc\"}", "{\"do\": \"rm\", \"job\": \"j\"}",
        "{\"do\": \"view\", \"verb\": \"fsck\"}",
        ("{\"do\": \"view\", \"verb\": \"jobs\", "
         "\"options\": [\"--root\", \"/\"]}"),
    };
    static char large[ANSWER_QUESTION_MAX + 2];
    struct service *s = *state;
    char dir[PATH_MAX];
    struct key_file k;

    (void)snprintf (dir, sizeof (dir), "%s/keys", s->dir);
    assert_int_equal (told (s, NULL, jobs), EX_NOPERM);   // no keys at all
    s->a.peer_access.keyring = keyring_open (dir);
    for (size_t i = 0; i < 2; i++) {
        const char *name = i == 0 ? "node" : "me";

        assert_int_equal (key_make (name, &k, NULL), 0);
        assert_int_equal (keyring_enrol (dir, name, k.public_key, -1, NULL, NULL), 0);
    }
    assert_int_equal (keyring_let_read (dir, "me", "alice", NULL), 0);
    assert_int_equal (told (s, "", jobs), EX_NOPERM);
    assert_int_equal (told (s, "node", jobs), EX_NOPERM);
    assert_int_equal (told (s, "nobody", jobs), EX_NOPERM);
    // there is no program beside this test
    assert_int_equal (told (s, "me", jobs), EX_IOERR);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        assert_int_equal (told (s, "me", bad[i]),
                          strstr (bad[i], "fsck") ? EX_NOPERM : EX_USAGE);
    memset (large, ' ', sizeof (large) - 1);
    assert_int_equal (told (s, "me", large), EX_USAGE);
    s->opt.job = "j";           // a run
    assert_int_equal (told (s, "me", jobs), EX_NOPERM);
    s->opt.job = NULL;
    keyring_close (s->a.peer_access.keyring);
    s->a.peer_access.keyring = NULL;
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_may), TEST (test_added), TEST (test_words), TEST (test_root), TEST (test_stalls),
        TEST (test_collection_waits), TEST (test_remote),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
