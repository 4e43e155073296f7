/* tests/unit/aggregator/postgres/test_postgres.c - URIs, and what is said of them; with
 * a database: tests/system/postgres.bats
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aggregator/postgres/silent_postgres.h"
#include "postgres/postgres.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

static bool is_away;            // the library

void *__real_dlopen (const char *name, int flags);
void *__wrap_dlopen (const char *name, int flags);

void *__wrap_dlopen (const char *name, int flags)
{
    return __real_dlopen (is_away ? "libnothing-such.so" : name, flags);
}

/* A machine without the library, where rollcall was not built; and a build
 * without its headers.
 */
static void test_library (void **state)
{
    struct err err;
    struct pg *p;

    (void)state;
    is_away = true;
    assert_int_equal (pg_check ("postgresql://h/d", NULL, &err), -ENOTSUP);
    assert_non_null (strstr (err.text, "libpq"));
    assert_int_equal (pg_open ("postgresql://h/d", &p, &err), -ENOTSUP);
    is_away = false;
}

/* In a build without libpq there is nothing else to test. */
static void needs_library (void)
{
    struct err err = { "" };

    if (pg_check ("postgresql://h/d", NULL, &err) != -ENOTSUP)
        return;
    assert_non_null (strstr (err.text, "built without libpq"));
    skip ();
}

static void test_password (void **state)
{
    bool has = false;

    (void)state;
    needs_library ();
    assert_int_equal (pg_check ("postgresql://me@h/d", &has, NULL), 0);
    assert_false (has);
    assert_int_equal (pg_check ("service=jobs", &has, NULL), 0);
    assert_false (has);
    assert_int_equal (pg_check ("postgresql://me:pw@h/d", &has, NULL), 0);
    assert_true (has);
    assert_int_equal (pg_check ("postgresql://h/d?sslpassword=pw", &has, NULL),
                      0);
    assert_true (has);
    assert_int_equal (pg_check ("host=h password=pw", &has, NULL), 0);
    assert_true (has);
}

/* One in the command line is refused, one in a variable is not. */
static void test_option (void **state)
{
    static const char *const names[] = { "", "a/b", "a\nb", "a\033b", "K\366ln" };
    struct err err = { "" };

    (void)state;
    needs_library ();
    assert_int_equal (setenv (PG_VARIABLE, "host=h password=pw", 1), 0);
    assert_int_equal (pg_check_option (getenv (PG_VARIABLE), NULL, &err), 0);
    assert_int_equal (pg_check_option ("host=h", "here", &err), 0);
    assert_int_equal (pg_check_option ("host=h", "K\303\266ln 2", &err), 0);
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        assert_int_equal (pg_check_option ("host=h", names[i], &err), -EINVAL);
    assert_int_equal (pg_check_option ("host=h password=pw", NULL, &err),
                      -EINVAL);
    assert_non_null (strstr (err.text, "password file"));
    assert_null (strstr (err.text, "pw"));
}

static void test_secret (void **state)
{
    static const char *const uris[] = {
        "", "postgresql://me:%zzs3cr3t@h/d", "postgresql://me:s3cr3t@[h/d",
        "host=h password='s3cr3t", "nothing s3cr3t",
        // a / or an @ in it that is not written as %2F or %40
        "postgresql://me:pw/s3cr3t@h/d", "postgresql://me:12/s3cr3t@h/d",
        "postgresql://me:s3cr3t/x@h/d", "postgresql://me:s3cr3t/x",
        "postgresql://me:pw@s3cr3t@h/d", "postgresql://me:s3cr3t@x@h/d",
        "postgresql://me@corp:s3cr3t@h/d", "postgresql://me:12/d?host=s3cr3t@h",
        "dbname='postgresql://me:s3cr3t@h/d'",
    };
    struct err err;
    struct pg *p;

    (void)state;
    needs_library ();
    for (size_t i = 0; i < sizeof (uris) / sizeof (uris[0]); i++) {
        assert_int_equal (pg_check (uris[i], NULL, &err), -EINVAL);
        assert_null (strstr (err.text, "s3cr3t"));
        assert_int_equal (pg_open (uris[i], &p, &err), -EINVAL);
        assert_null (strstr (err.text, "s3cr3t"));
    }
    assert_int_equal (pg_check ("postgresql://me:p%40w%2F@h:1,2/d", NULL, NULL),
                      0);
    assert_int_equal (pg_check ("postgresql:///d?host=/tmp&port=1", NULL, NULL),
                      0);
    // nobody listens there
    assert_int_equal (pg_open ("postgresql://me:s3cr3t@127.0.0.1:1/d", &p,
                               &err), -EAGAIN);
    assert_null (strstr (err.text, "s3cr3t"));
    assert_non_null (strstr (err.text, "database d of 127.0.0.1"));
}

/* A password would be in a core file. */
static void test_cores (void **state)
{
    struct rlimit r;

    (void)state;
    needs_library ();
    assert_int_equal (getrlimit (RLIMIT_CORE, &r), 0);
    r.rlim_cur = r.rlim_max;
    assert_int_equal (setrlimit (RLIMIT_CORE, &r), 0);
    assert_int_equal (pg_check ("postgresql://me:pw@h/d", NULL, NULL), 0);
    assert_int_equal (getrlimit (RLIMIT_CORE, &r), 0);
    assert_true (r.rlim_cur <= 1);
}

static void test_arrays (void **state)
{
    struct buf b;

    (void)state;
    buf_init (&b, 1000);
    pg_array_text (&b, "a");
    pg_array_text (&b, "b\"c\\d");
    pg_array_text (&b, "");
    assert_string_equal (buf_text (&b), "{\"a\",\"b\\\"c\\\\d\",\"\"");
    buf_fini (&b);
}

/* ---- a database that is silent ---- */

#define TOLD_MAX 16
#define SOON_MS 1
#define LATE_MS 30000

static struct silent_postgres server;
static int64_t now_ns = NS_PER_S;
static bool hurries;                    // a second of silence is over at once
static unsigned goes_on_after;          // so many of them; 0: when that was told
static unsigned silent_s;
static bool has_to_go_on;
static int64_t told[TOLD_MAX];          // what was said
static size_t ntold;

int64_t __wrap_clock_mono_ns (void);
int __real_poll (struct pollfd *fds, nfds_t n, int timeout);
int __wrap_poll (struct pollfd *fds, nfds_t n, int timeout);

int64_t __wrap_clock_mono_ns (void)
{
    return now_ns;
}

static int poll_late (struct pollfd *fds, nfds_t n)
{
    int rc = __real_poll (fds, n, LATE_MS);

    assert_true (rc > 0);
    silent_s = 0;
    return rc;
}

int __wrap_poll (struct pollfd *fds, nfds_t n, int timeout)
{
    if (!hurries || __real_poll (fds, n, SOON_MS) > 0)
        return poll_late (fds, n);
    assert_int_equal (timeout, 1000);
    assert_true (silent_s < 300);       // somebody has to be told
    now_ns += NS_PER_S;
    has_to_go_on |= ++silent_s == goes_on_after;
    if (!has_to_go_on)
        return 0;
    has_to_go_on = false;
    hurries = goes_on_after > 0;
    silent_postgres_go (&server);
    return poll_late (fds, n);
}

static void on_silence (void *arg, const char *name, int64_t seconds)
{
    assert_ptr_equal (arg, &server);
    assert_non_null (strstr (name, "database d of /tmp/"));
    assert_true (ntold < TOLD_MAX);
    told[ntold++] = seconds;
    has_to_go_on = goes_on_after == 0 && seconds >= 120;
}

static struct pg *talk (unsigned after)
{
    struct err err = { "" };
    struct pg *p;

    needs_library ();
    goes_on_after = after;
    hurries = false;
    silent_s = 0;
    ntold = 0;
    silent_postgres_start (&server);
    if (pg_open (server.uri, &p, &err) < 0)
        fail_msg ("%s", err.text);
    pg_on_silence (p, on_silence, &server);
    return p;
}

static void leave (struct pg *p)
{
    pg_close (p);
    silent_postgres_end (&server);
}

/* After a minute, after two, and when it is over. */
static void was_told (void)
{
    assert_int_equal (ntold, 3);
    assert_int_equal (told[0], 60);
    assert_int_equal (told[1], 120);
    assert_int_equal (told[2], 0);
    ntold = 0;
}

static void test_silent (void **state)
{
    struct err err = { "" };
    struct pg *p = talk (0);

    (void)state;
    assert_int_equal (pg_do (p, "at once", &err), 0);
    assert_int_equal (ntold, 0);
    hurries = true;
    assert_int_equal (pg_do (p, "wait", &err), 0);
    was_told ();
    assert_int_equal (pg_do (p, "at once", &err), 0);
    // nobody has to be told
    pg_on_silence (p, NULL, NULL);
    goes_on_after = 200;
    hurries = true;
    assert_int_equal (pg_do (p, "wait", &err), 0);
    assert_int_equal (ntold, 0);
    leave (p);
}

/* It takes no more rows. */
static void test_silent_copy (void **state)
{
    static const char rows[64 << 10];
    struct err err = { "" };
    struct pg *p = talk (0);

    (void)state;
    assert_int_equal (pg_copy_begin (p, "COPY", &err), 0);
    hurries = true;
    for (int i = 0; i < 64; i++)
        assert_int_equal (pg_copy_put (p, rows, sizeof (rows), &err), 0);
    was_told ();
    assert_int_equal (pg_copy_end (p, 0, &err), 0);
    assert_int_equal (pg_do (p, "COMMIT", &err), 0);
    assert_int_equal (ntold, 0);
    leave (p);
}

/* It says that it is done, and has taken fewer rows than were sent. */
static void test_left_out (void **state)
{
    struct err err = { "" };
    struct pg *p = talk (0);

    (void)state;
    assert_int_equal (pg_copy_begin (p, "COPY", &err), 0);
    hurries = true;
    assert_int_equal (pg_copy_put (p, "r", 1, &err), 0);
    assert_int_equal (pg_copy_end (p, 1, &err), 0);
    assert_int_equal (pg_do (p, "COMMIT", &err), -EPROTO);
    assert_non_null (strstr (err.text, "took 0 of 1 row"));
    leave (p);
}

static int count_row (void *arg, const char *const row[])
{
    assert_string_equal (row[0], "x");
    ++*(int *)arg;
    return 0;
}

/* One that is slow, but lives, is not named, however long all of it takes. */
static void test_slow (void **state)
{
    struct err err = { "" };
    struct pg *p = talk (50);
    int rows = 0;

    (void)state;
    hurries = true;
    assert_int_equal (pg_each (p, "SELECT", 0, NULL, count_row, &rows, &err), 0);
    assert_int_equal (rows, SILENT_POSTGRES_ROWS);
    assert_int_equal (ntold, 0);
    leave (p);
}

/* Its silence ends with the connection. */
static void test_silent_end (void **state)
{
    struct err err = { "" };
    struct pg *p = talk (0);

    (void)state;
    hurries = true;
    assert_int_equal (pg_do (p, "leave", &err), -EAGAIN);
    was_told ();
    assert_int_equal (pg_do (p, "at once", &err), -EAGAIN);
    assert_int_equal (ntold, 0);
    leave (p);
}

/* An option of the only TCP connection. */
static int tcp_option (int option)
{
    int value = -1, fd = 3;
    socklen_t size = sizeof (value);

    while (fd < 256 &&
           getsockopt (fd, IPPROTO_TCP, option, &value, &size) < 0)
        fd++;
    assert_true (fd < 256);
    return value;
}

/* Keepalives find that a host is gone, after a minute; with a time limit of TCP Linux
 * takes that instead, and also ends who takes no rows.
 */
static void test_gone (void **state)
{
    struct err err = { "" };
    struct pg *p;

    (void)state;
    needs_library ();
    silent_postgres_start_tcp (&server);
    if (pg_open (server.uri, &p, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (tcp_option (TCP_USER_TIMEOUT), 0);
    assert_int_equal (tcp_option (TCP_KEEPIDLE) +
                      tcp_option (TCP_KEEPINTVL) * tcp_option (TCP_KEEPCNT), 60);
    leave (p);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_library),
        cmocka_unit_test (test_password), cmocka_unit_test (test_option),
        cmocka_unit_test (test_secret), cmocka_unit_test (test_cores),
        cmocka_unit_test (test_arrays),
        cmocka_unit_test (test_silent), cmocka_unit_test (test_silent_copy),
        cmocka_unit_test (test_left_out),
        cmocka_unit_test (test_slow), cmocka_unit_test (test_silent_end),
        cmocka_unit_test (test_gone),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
