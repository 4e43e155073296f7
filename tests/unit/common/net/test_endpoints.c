/* tests/unit/common/net/test_endpoints.c - lists of aggregators, and the order
 * that a job gives them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/endpoints.h"
#include "net/keys.h"
#include "net/srv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int __wrap_srv_ask (const char *name, struct srv_target *ret, size_t max,
                    struct err *err);
int __wrap_srv_ask (const char *name, struct srv_target *ret, size_t max,
                    struct err *err)
{
    if (strcmp (name, "_r._tcp.x") != 0)
        return err_set (err, ENOENT, "DNS has no %s", name);
    assert_true (max >= 3);
    ret[0] = (struct srv_target){ "a.x", 1 };
    ret[1] = (struct srv_target){ "b.x", 2 };
    ret[2] = (struct srv_target){ "a.x", 1 };   // with another weight
    return 3;
}

static char dir[] = "/tmp/test_endpoints.XXXXXX";

static int make_dir (void **state)
{
    (void)state;
    return mkdtemp (dir) && chdir (dir) == 0 ? 0 : -1;
}

static int remove_dir (void **state)
{
    (void)state;
    (void)unlink ("list");
    (void)unlink ("n.key");
    return chdir ("/") == 0 ? rmdir (dir) : -1;
}

static void write_file (const char *text)
{
    FILE *f = fopen ("list", "we");

    assert_non_null (f);
    assert_int_equal (fwrite (text, strlen (text), 1, f), 1);
    assert_int_equal (fclose (f), 0);
}

static void test_list (void **state)
{
    struct endpoints e;

    (void)state;
    assert_int_equal (endpoints_read ("tcp://a:1,tcp://b:2 k.pub, tcp://[::1]:3",
                                      &e, NULL), 0);
    assert_int_equal (e.n, 3);
    assert_string_equal (e.all[0].name, "tcp://a:1");
    assert_null (e.all[0].server_key);
    assert_string_equal (e.all[1].name, "tcp://b:2");
    assert_string_equal (e.all[1].server_key, "k.pub");
    assert_string_equal (e.all[2].name, "tcp://[::1]:3");
    endpoints_fini (&e);
}

static void test_file (void **state)
{
    struct endpoints e;

    (void)state;
    write_file ("# ours, of rack 7\n\n  tcp://a:1\tk=#.:[]{}\r\n #x\n"
                "tcp://b:1\n");
    assert_int_equal (endpoints_read ("list", &e, NULL), 0);
    assert_int_equal (e.n, 2);
    assert_string_equal (e.all[0].server_key, "k=#.:[]{}");
    assert_string_equal (e.all[1].name, "tcp://b:1");
    endpoints_fini (&e);
}

static void refuse (const char *list, int rc, const char *word)
{
    struct endpoints e;
    struct err err = { "" };

    assert_int_equal (endpoints_read (list, &e, &err), rc);
    if (!strstr (err.text, word))
        fail_msg ("%s: %s", list, err.text);
    endpoints_fini (&e);
}

static void test_bad (void **state)
{
    char many[ENDPOINTS_MAX * 16 + 16] = "tcp://a:65535";

    (void)state;
    refuse ("nowhere", -ENOENT, "nowhere");
    refuse ("tcp://a:1,udp://b:2", -EINVAL, "udp://b:2");
    refuse ("tcp://a:1,tcp://a:1", -EINVAL, "twice");
    refuse ("tcp://a", -EINVAL, "tcp://a");
    refuse ("tcp://a:1 k more", -EINVAL, "tcp://a:1");
    write_file ("# nobody\n");
    refuse ("list", -EINVAL, "no aggregator");
    for (int i = 1; i <= ENDPOINTS_MAX; i++)
        (void)snprintf (many + strlen (many), 16, ",tcp://a:%d", i);
    refuse (many, -EINVAL, "more than");
}

/* Whoever answers for DNS may name servers, but gives them no keys. */
static void test_named (void **state)
{
    struct endpoints e;

    (void)state;
    assert_int_equal (endpoints_read ("srv:_r._tcp.x k,tcp://c:3", &e, NULL),
                      0);
    assert_int_equal (e.n, 3);
    assert_string_equal (e.all[0].name, "tcp://a.x:1");
    assert_string_equal (e.all[1].name, "tcp://b.x:2");
    assert_string_equal (e.all[1].server_key, "k");
    endpoints_fini (&e);
    write_file ("tcp://c.x:3 kc\ntcp://b.x:2 kb\ntcp://a.x:1 ka\n");
    assert_int_equal (endpoints_read ("srv:_r._tcp.x @list", &e, NULL), 0);
    assert_int_equal (e.n, 2);
    assert_string_equal (e.all[0].server_key, "ka");
    assert_string_equal (e.all[1].server_key, "kb");
    endpoints_fini (&e);
    write_file ("tcp://a.x:1 ka\ntcp://b.x:2\n");
    refuse ("srv:_r._tcp.x @list", -EINVAL, "tcp://b.x:2, of which list has no");
    write_file ("srv:_r._tcp.x @list\n");       // and no end
    refuse ("srv:_r._tcp.x @list", -EINVAL, "srv:_r._tcp.x");
    refuse ("srv:_r._tcp.x @nowhere", -ENOENT, "nowhere");
    refuse ("srv:nobody", -ENOENT, "DNS has no nobody");
}

static void order (const char *list, const char *job, const char *const *names)
{
    struct endpoints e;

    assert_int_equal (endpoints_read (list, &e, NULL), 0);
    assert_int_equal (endpoints_sort (&e, job, NULL), 0);
    for (size_t i = 0; i < e.n; i++)
        assert_string_equal (e.all[i].name, names[i]);
    endpoints_fini (&e);
}

/* As sha256sum gives them: other programs compute the same.  The order of the
 * list does not matter.
 */
static void test_order (void **state)
{
    (void)state;
    order ("tcp://a:1,tcp://b:1,tcp://c:1", "j1",
           (const char *[]){ "tcp://b:1", "tcp://a:1", "tcp://c:1" });
    order ("tcp://c:1,tcp://b:1,tcp://a:1", "j1",
           (const char *[]){ "tcp://b:1", "tcp://a:1", "tcp://c:1" });
    order ("tcp://a:1,tcp://b:1,tcp://c:1", "run-7",
           (const char *[]){ "tcp://c:1", "tcp://b:1", "tcp://a:1" });
}

/* A host's own: as printf '%s\\0%s\\0%s' ENDPOINT JOB HOST | sha256sum. */
static void test_order_of_host (void **state)
{
    static const char *const firsts[] = { "tcp://c:1", "tcp://a:1", "tcp://c:1",
                                          "tcp://c:1", "tcp://b:1" };
    struct endpoints e;
    size_t at[ENDPOINTS_MAX];

    (void)state;
    assert_int_equal (endpoints_read ("tcp://a:1,tcp://b:1,tcp://c:1", &e,
                                      NULL), 0);
    assert_int_equal (endpoints_sort (&e, "j1", NULL), 0);
    for (unsigned i = 0; i < 5; i++) {
        char host[] = { 'n', (char)('1' + i), '\0' };

        assert_int_equal (endpoints_order (&e, "j1", host, at, NULL), 0);
        assert_string_equal (e.all[at[0]].name, firsts[i]);
        assert_int_equal (at[0] + at[1] + at[2], 3);
    }
    assert_int_equal (endpoints_order (&e, "j1", "n1", at, NULL), 0);
    assert_string_equal (e.all[at[1]].name, "tcp://b:1");
    endpoints_fini (&e);
}

/* Jobs are divided evenly, and one that goes takes only its own along. */
static void test_even (void **state)
{
    unsigned n[3] = { 0, 0, 0 };

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct endpoints all, two;
        char job[16];

        (void)snprintf (job, sizeof (job), "job-%d", i);
        assert_int_equal (endpoints_read ("tcp://a:1,tcp://b:1,tcp://c:1", &all,
                                          NULL), 0);
        assert_int_equal (endpoints_read ("tcp://a:1,tcp://b:1", &two, NULL),
                          0);
        assert_int_equal (endpoints_sort (&all, job, NULL), 0);
        assert_int_equal (endpoints_sort (&two, job, NULL), 0);
        n[all.all[0].name[6] - 'a']++;
        if (strcmp (all.all[0].name, "tcp://c:1") != 0)
            assert_string_equal (all.all[0].name, two.all[0].name);
        else
            assert_string_equal (all.all[1].name, two.all[0].name);
        endpoints_fini (&all);
        endpoints_fini (&two);
    }
    for (int i = 0; i < 3; i++)
        assert_in_range (n[i], 70, 130);
}

static void test_keys (void **state)
{
    struct key_file ours, theirs;
    struct endpoints e;
    struct err err = { "" };
    char list[128];

    (void)state;
    assert_int_equal (key_make ("n", &ours, NULL), 0);
    assert_int_equal (key_write ("n.key", &ours, NULL), 0);
    assert_int_equal (key_make ("s", &theirs, NULL), 0);
    (void)snprintf (list, sizeof (list), "tcp://a:1 %s,tcp://b:1",
                    theirs.public_key);
    assert_int_equal (endpoints_read (list, &e, NULL), 0);
    assert_int_equal (endpoints_secure (&e, "n.key", NULL, &err), -ENOKEY);
    assert_non_null (strstr (err.text, "tcp://b:1"));
    assert_int_equal (endpoints_secure (&e, "n.key", ours.public_key, NULL), 0);
    assert_string_equal (e.all[0].security.server_key, theirs.public_key);
    assert_string_equal (e.all[1].security.server_key, ours.public_key);
    assert_string_equal (e.all[0].security.secret_key, ours.secret_key);
    endpoints_fini (&e);
    assert_int_equal (e.all[0].security.secret_key[0], 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_list),  cmocka_unit_test (test_file),
        cmocka_unit_test (test_bad),   cmocka_unit_test (test_order),
        cmocka_unit_test (test_even),
        cmocka_unit_test (test_order_of_host),
        cmocka_unit_test (test_named),  cmocka_unit_test (test_keys),
    };

    return cmocka_run_group_tests (tests, make_dir, remove_dir);
}
