/* tests/unit/aggregator/service/test_aggregator_keys.c - which key speaks for
 * which host, and whose rows it sends
 */
#include "aggregator/service/service_check.h"

#include "fsck/check_root.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool full;               // the disk, when a commit is written

int __real_ledger_finish (struct ledger *l, int rc, struct err *err);
int __wrap_ledger_finish (struct ledger *l, int rc, struct err *err);

int __wrap_ledger_finish (struct ledger *l, int rc, struct err *err)
{
    return __real_ledger_finish (l, full ? -ENOSPC : rc, err);
}

/* HELLO of a host, with somebody's key: how it is answered. */
static enum message_type hello_of (struct service *s, unsigned peer,
                                   const char *who, const char *host)
{
    struct message m = { .type = MESSAGE_HELLO, .job = "j",
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    (void)snprintf (m.host, sizeof (m.host), "%s", host);
    (void)snprintf (m.host_key, sizeof (m.host_key), "key of %s", host);
    s->nsent = 0;
    s->who = who;
    service_hear (s, peer, &m);
    assert_int_equal (s->nsent, 1);
    return s->sent[0].type;
}

static const char *enrol (struct service *s, const char *name)
{
    static char dir[PATH_MAX];
    struct key_file k;

    (void)snprintf (dir, sizeof (dir), "%s/keys", s->dir);
    assert_int_equal (key_make (name, &k, NULL), 0);
    assert_int_equal (keyring_enrol (dir, name, k.public_key, -1, NULL, NULL), 0);
    return dir;
}

/* The ledger is gone, and made again of the segments. */
static void lose_ledger (struct service *s)
{
    struct check_report r = { .say = NULL };
    char path[PATH_MAX];
    struct err err = { "" };

    service_close (s);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", s->root);
    assert_int_equal (unlink (path), 0);
    if (store_check (s->root, true, &r, &err) < 0)
        fail_msg ("%s", err.text);
    service_open (s);
}

/* A key that is not said to speak for anybody speaks for the first host that it
 * spoke for, in later lives, too, also without their ledger; until it is said.
 */
static void test_bound (void **state)
{
    struct service *s = *state;
    const char *dir = enrol (s, "k1");
    struct keyring *keys = keyring_open (dir);

    s->a.peer_access.keyring = keys;
    assert_int_equal (hello_of (s, 1, "k1", "h1"), MESSAGE_WELCOME);
    assert_int_equal (hello_of (s, 2, "k1", "h2"), MESSAGE_REFUSED);
    assert_int_equal (s->sent[0].reason, REFUSAL_KEY);
    assert_non_null (strstr (s->sent[0].text, "key k1 is bound to host h1, the "
                             "first one that it was used for, and not to h2"));
    assert_int_equal (service_agents (s), 1);
    // nor may the same connection change its mind
    assert_int_equal (hello_of (s, 1, "k1", "h2"), MESSAGE_REFUSED);
    assert_int_equal (service_commit (s), 0);
    service_close (s);
    service_open (s);
    s->a.peer_access.keyring = keys;
    assert_int_equal (hello_of (s, 2, "k1", "h2"), MESSAGE_REFUSED);
    assert_int_equal (hello_of (s, 1, "k1", "h1"), MESSAGE_WELCOME);
    lose_ledger (s);
    s->a.peer_access.keyring = keys;
    assert_int_equal (hello_of (s, 2, "k1", "h2"), MESSAGE_REFUSED);
    assert_int_equal (hello_of (s, 1, "k1", "h1"), MESSAGE_WELCOME);
    assert_int_equal (keyring_bind (dir, "k1", "h2 h3", NULL), 0);
    assert_int_equal (hello_of (s, 2, "k1", "h2"), MESSAGE_WELCOME);
    assert_int_equal (hello_of (s, 3, "k1", "h3"), MESSAGE_WELCOME);
    // what it was before does not help
    assert_int_equal (hello_of (s, 1, "k1", "h1"), MESSAGE_REFUSED);
    s->nsent = 0;
    service_offer (s, 1, 1, "capture");
    assert_int_equal (s->nsent, 0);
    service_offer (s, 2, 1, "capture");
    assert_int_equal (service_said (s, MESSAGE_GET), 1);
    assert_int_equal (keyring_bind (dir, "k1", KEY_ANY_HOST, NULL), 0);
    assert_int_equal (hello_of (s, 1, "k1", "h1"), MESSAGE_WELCOME);
    keyring_close (keys);
}

/* A disk that is full for a moment does not make it anybody's. */
static void test_bound_uncommitted (void **state)
{
    struct service *s = *state;
    struct keyring *keys = keyring_open (enrol (s, "k1"));

    s->a.peer_access.keyring = keys;
    assert_int_equal (hello_of (s, 1, "k1", ""), MESSAGE_REFUSED);
    assert_int_equal (hello_of (s, 1, "k1", "h1"), MESSAGE_WELCOME);
    full = true;
    assert_true (service_commit (s) < 0);
    full = false;
    assert_int_equal (hello_of (s, 2, "k1", "h2"), MESSAGE_REFUSED);
    assert_int_equal (hello_of (s, 1, "k1", "h1"), MESSAGE_WELCOME);
    assert_true (transfers_pending (s->a.transfers));
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (s->a.nbound, 0);
    lose_ledger (s);
    s->a.peer_access.keyring = keys;
    assert_int_equal (hello_of (s, 2, "k1", "h2"), MESSAGE_REFUSED);
    keyring_close (keys);
}

static void deliver (struct service *s, unsigned peer, const char *who,
                     const char *capture)
{
    s->who = who;
    service_offer (s, peer, 1, capture);
    service_chunk (s, peer, 1, capture);
    aggregator_commit (&s->a);
    assert_int_equal (service_said (s, MESSAGE_ACK), 1);
}

static int count_sender (void *arg, const struct ledger_sender *from)
{
    assert_string_equal (from->former, "k1");
    assert_string_equal (from->who, "k2");
    ++*(int *)arg;
    return 0;
}

/* Whoever replaces the rows of another's rank is named, with that one. */
static void test_sender (void **state)
{
    struct service *s = *state;
    struct keyring *keys = keyring_open (enrol (s, "k1"));
    const struct job *j;
    int n = 0, again = 0;

    (void)enrol (s, "k2");
    s->a.peer_access.keyring = keys;
    (void)hello_of (s, 1, "k1", "h1");
    (void)hello_of (s, 2, "k2", "h2");
    j = &aggregator_find_job (&s->a, "j")->job;
    deliver (s, 1, "k1", "first");
    assert_int_equal (j->nnotes, 0);
    deliver (s, 2, "k2", "second");
    assert_int_equal (j->nnotes, 1);
    assert_non_null (strstr (j->notes[0], "rank 0: its rows arrived with "
                             "key k1 of host h1, then with key k2 of host h2"));
    deliver (s, 2, "k2", "third");
    assert_int_equal (j->nnotes, 1);
    service_close (s);
    service_open (s);
    assert_int_equal (ledger_each_sender (s->a.ledger, "j", count_sender, &n,
                                          NULL), 0);
    assert_int_equal (n, 1);
    lose_ledger (s);
    assert_int_equal (ledger_each_sender (s->a.ledger, "j", count_sender,
                                          &again, NULL), 0);
    assert_int_equal (again, 1);
    keyring_close (keys);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_bound), TEST (test_bound_uncommitted), TEST (test_sender),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
