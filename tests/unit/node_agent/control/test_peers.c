/* tests/unit/node_agent/control/test_peers.c - the agents of other runs on this
 * host
 *
 * Others may run here: each test has jobs of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/loop.h"
#include "control/peers.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HERE "fd00:1234abcd"            // a directory of nobody
#define THERE "fd00:1234abce"

struct run {
    struct loop *loop;
    struct peers *peers;
    char job[64];
};

static void ignore (void *arg, struct peer *p, const struct json *j)
{
    (void)arg;
    (void)p;
    (void)j;
}

static void begin (struct run *r, const char *job)
{
    struct err err = { "" };

    (void)snprintf (r->job, sizeof (r->job), "%s-%ld", job, (long)getpid ());
    assert_non_null (r->loop = loop_create ());
    assert_int_equal (peers_open (r->loop, r->job, ignore, NULL, &r->peers,
                                  &err), 0);
}

static void end (struct run *r)
{
    peers_close (r->peers);
    loop_destroy (r->loop);
}

static const struct peer *know (const struct run *r, const struct run *other)
{
    const struct peer *p = peers_first (r->peers);

    while (p && strcmp (p->job, other->job) != 0)
        p = p->next;
    return p;
}

static void tell (struct run *r)
{
    struct json *j = json_object ();

    json_add_text (j, "type", "run");
    json_add_text (j, "job", r->job);
    json_add_text (j, "since_ns", "1");
    peers_tell (r->peers, j);
}

/* One that does nothing: what it watches is known nevertheless, by whoever has
 * connected to it, and by the one that it has connected to.
 */
static void test_silent (void **state)
{
    struct run a, b;
    const struct peer *p, *q;

    (void)state;
    begin (&a, "a");
    begin (&b, "b");
    assert_non_null (p = know (&b, &a));
    assert_false (p->told);
    assert_int_equal (p->pid, getpid ());
    assert_int_equal (p->uid, geteuid ());
    assert_false (peers_is_shown (b.peers, p, HERE, 0));
    assert_int_equal (peers_show (a.peers, HERE), 0);
    assert_int_equal (peers_show (a.peers, HERE), 0);   // by another path
    // what was read before the question is not enough
    assert_true (peers_is_shown (b.peers, p, HERE, clock_mono_ns ()));
    assert_false (peers_is_shown (b.peers, p, THERE, clock_mono_ns ()));
    peers_hear (a.peers);
    assert_non_null (q = know (&a, &b));
    assert_false (q->told);
    assert_false (peers_is_shown (a.peers, q, HERE, clock_mono_ns ()));
    assert_int_equal (peers_show (b.peers, THERE), 0);
    assert_true (peers_is_shown (a.peers, q, THERE, clock_mono_ns ()));
    end (&b);
    end (&a);
}

/* What is told is known of one that has gone; nothing else is. */
static void test_gone (void **state)
{
    struct run a, b, c;
    const struct peer *p;

    (void)state;
    begin (&a, "a");
    begin (&b, "b");
    begin (&c, "c");
    tell (&b);
    peers_hear (a.peers);
    assert_non_null (know (&a, &b));
    assert_non_null (know (&a, &c));
    end (&b);
    end (&c);
    peers_hear (a.peers);
    assert_non_null (p = know (&a, &b));
    assert_true (p->told);
    assert_int_equal (p->fd, -1);
    assert_int_equal (p->since_ns, 1);
    assert_null (know (&a, &c));
    end (&a);
}

/* A name is shown of any job, whatever its id is. */
static void test_names (void **state)
{
    struct run a, b;
    char odd[64];

    (void)state;
    begin (&a, "a job @ with\nlines");
    begin (&b, "b");
    (void)snprintf (odd, sizeof (odd), "a_job___with_lines-%ld",
                    (long)getpid ());
    memcpy (a.job, odd, sizeof (odd));
    assert_non_null (know (&b, &a));
    end (&b);
    end (&a);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_silent),
        cmocka_unit_test (test_gone),
        cmocka_unit_test (test_names),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
