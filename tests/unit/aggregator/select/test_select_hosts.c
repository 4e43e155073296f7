/* tests/unit/aggregator/select/test_select_hosts.c - on which host a capture
 * was made */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "select/select_hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEC INT64_C (1000000000)
#define BOOT (1000000 * SEC)
#define ITEMS 16

struct job {
    struct select_item items[ITEMS];
    size_t n;
};

/* A capture of a worker; 'boot_ns' behind BOOT, -1: not known. */
static struct select_item *add (struct job *j, int64_t rank, const char *worker,
                                int64_t boot_ns, int64_t device)
{
    struct select_item *item = &j->items[j->n++];
    struct capture *c = &item->capture;

    *item = (struct select_item){ .rank = rank };
    capture_init (c);
    c->state = CAPTURE_COMPLETE;
    c->rank = rank;
    c->device_id = device;
    c->started_ns = 2 * BOOT;
    c->ended_ns = 2 * BOOT + SEC;
    if (boot_ns >= 0)
        c->evidence.boot_ns = BOOT + boot_ns;
    (void)snprintf (c->name, sizeof (c->name), "%s_%zu", worker, j->n);
    (void)snprintf (c->host, sizeof (c->host), "%s", worker);
    return item;
}

static void set_host (struct select_item *item, const char *name,
                      const char *uid)
{
    (void)snprintf (item->capture.host, CAPTURE_NAME_MAX, "%s", name);
    (void)snprintf (item->capture.evidence.host_name, EVIDENCE_TEXT_MAX, "%s",
                    name);
    (void)snprintf (item->capture.host_uid, CAPTURE_TEXT_MAX, "%s", uid);
}

/* The hosts' names, one for each item, with blanks between them. */
static void check (struct job *j, const char *names)
{
    char text[ITEMS * CAPTURE_NAME_MAX] = "";
    size_t used = 0;

    assert_int_equal (select_name_hosts (j->items, j->n), 0);
    for (size_t i = 0; i < j->n; i++)
        used += (size_t)snprintf (text + used, sizeof (text) - used, "%s%s",
                                  i ? "|" : "", j->items[i].capture.host);
    assert_string_equal (text, names);
    select_free (j->items, j->n);
    *j = (struct job){ .n = 0 };
}

static void test_workers (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, "node0", 0, 0);
    add (&j, 1, "node0", 2000, 1);
    add (&j, 2, "node1", SEC, 0);
    check (&j, "node0|node0|node1");
    // each rank has its own, and the boots tell
    add (&j, 0, "r0", 0, 0);
    add (&j, 1, "r1", 3000, 1);
    add (&j, 2, "r2", SEC, 0);
    add (&j, 3, "r3", SEC + 9, 1);
    check (&j, "r0 and 1 more|r0 and 1 more|r2 and 1 more|r2 and 1 more");
    // two hosts of names that two boots show to be one
    add (&j, 0, "a", 0, 0);
    add (&j, 1, "b", 9000, 1);
    add (&j, 2, "a", SEC / 20, 2);
    add (&j, 3, "c", SEC / 8, 3);
    check (&j, "a and 2 more|a and 2 more|a and 2 more|a and 2 more");
    // containers of one kernel, with an agent in each
    for (int i = 0; i < 2; i++)
        (void)snprintf (add (&j, i, i ? "c1" : "c0", 0, i)
                            ->capture.evidence.host_key, EVIDENCE_KEY_MAX,
                        "key%d", i);
    check (&j, "c0|c1");
    // nothing else is known: the names are believed
    add (&j, 0, "r0", -1, 0);
    add (&j, 1, "r1", -1, 1);
    check (&j, "r0|r1");
}

static void test_names_of_hosts (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    // a database says it, the text beside it does not
    set_host (add (&j, 0, "w", 0, 0), "node7", "11");
    add (&j, 1, "w", 5000, 1);
    check (&j, "node7|node7");
    // one name for two hosts, by their boots, and by their ids
    set_host (add (&j, 0, "w", 0, 0), "localhost", "");
    set_host (add (&j, 1, "w", 100 * SEC, 1), "localhost", "");
    check (&j, "localhost (1)|localhost (2)");
    set_host (add (&j, 0, "w", -1, 0), "localhost", "11");
    set_host (add (&j, 1, "w", -1, 1), "localhost", "22");
    check (&j, "localhost (1)|localhost (2)");
    // a clock that was set is not another host
    set_host (add (&j, 0, "w", 0, 0), "node7", "11");
    set_host (add (&j, 1, "w", 9 * SEC, 1), "node7", "11");
    check (&j, "node7|node7");
}

/* Where ranks have a device at one time they have hosts, unless each of them
 * calls its own one by the same number.
 */
static void test_devices (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    for (int i = 0; i < 4; i++)
        set_host (add (&j, i, "w", -1, i % 2), "localhost", "");
    check (&j, "localhost (1)|localhost (1)|localhost (2)|localhost (2)");
    for (int i = 0; i < 5; i++)         // the last has a device of its own
        set_host (add (&j, i, "w", -1, i < 4 ? i / 3 : 7), "localhost", "");
    check (&j, "localhost (1)|localhost (2)|localhost (3)|localhost (1)|"
               "localhost (1)");
    for (int i = 0; i < 2; i++)
        set_host (add (&j, i, "w", -1, 0), "localhost", "");
    check (&j, "localhost|localhost");
    // one after the other
    for (int i = 0; i < 3; i++) {
        struct select_item *item = add (&j, i, "w", -1, i % 2);

        item->capture.started_ns += 10 * i * SEC;
        item->capture.ended_ns += 10 * i * SEC;
        set_host (item, "localhost", "");
    }
    check (&j, "localhost|localhost|localhost");
    // both windows of a rank are where it is
    for (int i = 0; i < 6; i++)
        set_host (add (&j, i / 2, "w", -1, i / 2 % 2), "localhost", "");
    check (&j, "localhost (1)|localhost (1)|localhost (1)|localhost (1)|"
               "localhost (2)|localhost (2)");
}

static bool fails (struct job *j)
{
    bool failed = select_fail_two_hosts (j->items, j->n);

    for (size_t i = 0; i < j->n; i++) {
        assert_int_equal (j->items[i].capture.state,
                          failed ? CAPTURE_FAILED : CAPTURE_COMPLETE);
        assert_int_equal (j->items[i].drop, failed);
    }
    return failed;
}

static void fini (struct job *j)
{
    select_free (j->items, j->n);
    *j = (struct job){ .n = 0 };
}

/* Two windows on two hosts are a rank that went on elsewhere. */
static void test_two_hosts_of_a_rank (void **state)
{
    struct job j = { .n = 0 };

    (void)state;
    add (&j, 0, "main", 0, 0);
    add (&j, 0, "warm", 7000, 0);       // names of one host's workers
    assert_false (fails (&j));
    fini (&j);
    add (&j, 0, "node0", 0, 0);
    add (&j, 0, "node1", 60 * SEC, 0);
    assert_true (fails (&j));
    assert_null (strstr (j.items[0].capture.reason, "by the names"));
    fini (&j);
    add (&j, 0, "node0", 0, 0);
    add (&j, 0, "node1", 60 * SEC, 0)->capture.started_ns += 2 * SEC;
    j.items[1].capture.ended_ns += 2 * SEC;
    assert_false (fails (&j));
    fini (&j);
    // nothing but names, which is said
    add (&j, 0, "node0", -1, 0);
    add (&j, 0, "node1", -1, 0);
    assert_true (fails (&j));
    assert_non_null (strstr (j.items[0].capture.reason, "by the names"));
    fini (&j);
    // agents on two hosts brought them
    for (int i = 0; i < 2; i++)
        (void)snprintf (add (&j, 0, "w", -1, 0)->capture.evidence.host_key,
                        EVIDENCE_KEY_MAX, "key%d", i);
    assert_true (fails (&j));
    fini (&j);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_workers),
        cmocka_unit_test (test_names_of_hosts),
        cmocka_unit_test (test_devices),
        cmocka_unit_test (test_two_hosts_of_a_rank),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
