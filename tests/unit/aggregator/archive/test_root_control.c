/* tests/unit/aggregator/archive/test_root_control.c - verbs ask, somebody or
 * nobody answers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "archive/root_control.h"
#include "store/fileio.h"
#include "store/root.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct fixture {
    char dir[PATH_MAX / 2], root[PATH_MAX];
    struct loop *loop;
    int over[2];                // a pipe that ends when the asker has
    unsigned asked;
    const char *line;           // of an asker that keeps to nothing
    size_t size;
    char heard[4096];
    struct json *request, *answer;
    bool served;
    struct err err;
    int rc;
};

/* Longer than the address of a socket can be. */
static int setup (void **state)
{
    struct fixture *f = calloc (1, sizeof (*f));
    const char *tmp = getenv ("TMPDIR");

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-control-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    (void)snprintf (f->root, sizeof (f->root), "%s/%0120d", f->dir, 1);
    assert_int_equal (fileio_mkdirs (f->root, FILEIO_DIR_MODE, NULL), 0);
    *state = f;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *f = *state;

    json_free (f->answer);
    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

static int on_request (void *arg, const struct control_peer *peer,
                       const struct json *request,
                       struct json *answer, struct err *err)
{
    struct fixture *f = arg;
    const struct passwd *me = getpwuid (getuid ());
    int64_t uid = -1;

    f->asked++;
    assert_true (peer->owner);
    assert_int_equal (peer->uid, getuid ());
    assert_true (json_int (json_get (request, "uid"), &uid));
    assert_int_equal (uid, getuid ());
    if (me)
        assert_string_equal (json_text (json_get (request, "by"), ""),
                             me->pw_name);
    if (strcmp (json_text (json_get (request, "do"), ""), "good") != 0)
        return err_set (err, EINVAL, "not good");
    json_add_int (answer, "number", 7);
    return 0;
}

static void on_over (void *arg)
{
    loop_stop (arg, 1);
}

static void *ask (void *arg)
{
    struct fixture *f = arg;

    f->rc = control_ask (f->root, f->request, &f->answer, &f->served, &f->err);
    (void)close (f->over[1]);
    return NULL;
}

/* Serve for as long as 'fn' asks in a thread of its own. */
static void serve (struct fixture *f, void *(*fn) (void *arg))
{
    struct control *control;
    pthread_t thread;

    assert_int_equal (pipe (f->over), 0);
    f->loop = loop_create ();
    assert_int_equal (control_open (f->root, f->loop, on_request, f, &control,
                                    NULL), 0);
    assert_int_equal (loop_add_fd (f->loop, f->over[0], on_over, f->loop), 0);
    assert_int_equal (pthread_create (&thread, NULL, fn, f), 0);
    assert_int_equal (loop_run (f->loop), 1);
    (void)pthread_join (thread, NULL);
    control_close (control);
    loop_destroy (f->loop);
    (void)close (f->over[0]);
}

static void serve_one (struct fixture *f, const char *what)
{
    f->request = json_object ();
    json_add_text (f->request, "do", what);
    serve (f, ask);
}

static void test_served (void **state)
{
    struct fixture *f = *state;
    int64_t number = 0;

    serve_one (f, "good");
    assert_int_equal (f->rc, 0);
    assert_true (f->served);
    assert_true (json_int (json_get (f->answer, "number"), &number));
    assert_int_equal (number, 7);
    json_free (f->answer);
    serve_one (f, "bad");
    assert_int_equal (f->rc, -EINVAL);
    assert_string_equal (f->err.text, "not good");
    assert_null (f->answer);
    assert_int_equal (f->asked, 2);
}

/* Whatever comes is answered, or the connection ends. */
static void *babble (void *arg)
{
    struct fixture *f = arg;
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket (AF_UNIX, SOCK_STREAM, 0);
    size_t used = 0;
    ssize_t n;

    // not by its whole name, which is too long
    if (chdir (f->root) < 0)
        abort ();
    (void)snprintf (a.sun_path, sizeof (a.sun_path), "%s",
                    CONTROL_ROOT_SOCKET);
    if (connect (fd, (struct sockaddr *)&a, sizeof (a)) < 0)
        abort ();
    for (size_t sent = 0; sent < f->size; sent += (size_t)n) {
        if ((n = send (fd, f->line + sent, f->size - sent, MSG_NOSIGNAL)) < 0)
            break;
    }
    while ((n = recv (fd, f->heard + used, sizeof (f->heard) - 1 - used,
                      0)) > 0)
        used += (size_t)n;
    f->heard[used] = '\0';
    (void)close (fd);
    (void)close (f->over[1]);
    return NULL;
}

static void test_garbage (void **state)
{
    struct fixture *f = *state;
    char *huge = malloc (2 * CONTROL_LINE_MAX);

    memset (huge, 'x', 2 * CONTROL_LINE_MAX);
    f->line = "nonsense\n";
    f->size = strlen (f->line);
    serve (f, babble);
    assert_non_null (strstr (f->heard, "\"ok\":false"));
    f->line = "[1,2]\n";
    f->size = strlen (f->line);
    serve (f, babble);
    assert_non_null (strstr (f->heard, "not a JSON object"));
    f->line = huge;
    f->size = 2 * CONTROL_LINE_MAX;
    serve (f, babble);
    assert_string_equal (f->heard, "");
    assert_int_equal (f->asked, 0);
    free (huge);
}

/* It may say who asks, twice, or not (test_served): on_request hears the truth. */
static void test_forged (void **state)
{
    struct fixture *f = *state;

    f->line = "{\"do\": \"good\", \"uid\": 1, \"by\": \"x\", \"by\": \"y\"}\n";
    f->size = strlen (f->line);
    serve (f, babble);
    assert_non_null (strstr (f->heard, "\"ok\":true"));
    f->line = "{\"do\": \"good\", \"uid\": 1}\n";
    f->size = strlen (f->line);
    serve (f, babble);
    assert_non_null (strstr (f->heard, "\"ok\":true"));
}

static void see_mode (const char *root)
{
    char path[2 * PATH_MAX];
    struct stat st;

    (void)snprintf (path, sizeof (path), "%s/%s", root, CONTROL_ROOT_SOCKET);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 0777, 0600);
}

/* What a dead one left is replaced, and taken away at the end. */
static void test_again (void **state)
{
    struct fixture *f = *state;
    struct control *dead, *living;

    f->loop = loop_create ();
    assert_int_equal (control_open (f->root, f->loop, on_request, f, &dead,
                                    NULL), 0);
    assert_int_equal (control_open (f->root, f->loop, on_request, f, &living,
                                    NULL), 0);
    see_mode (f->root);
    control_close (living);
    control_close (dead);
    loop_destroy (f->loop);
    assert_int_equal (access (f->root, F_OK), 0);
}

static void ask_alone (struct fixture *f)
{
    f->request = json_object ();
    json_add_text (f->request, "do", "expect");
    json_add_text (f->request, "job", "j");
    json_add_int (f->request, "world_size", 6);
    f->over[1] = -1;
    (void)ask (f);
}

/* Nobody serves: it is done here, if there is something to do it to. */
static void test_alone (void **state)
{
    struct fixture *f = *state;
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[2 * PATH_MAX];
    struct size_claim word = { .by = CLAIM_NODE, .world_size = 4 };
    int fd;

    ask_alone (f);
    assert_int_equal (f->rc, -ENOENT);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->root);
    for (int i = 0; i < 2; i++) {
        assert_int_equal (ledger_open (path, &l, NULL), 0);
        assert_int_equal (store_open (f->root, l, &s, NULL), 0);
        if (i == 1)
            assert_int_equal (ledger_world_size (l, "j"), 6);
        else
            assert_int_equal (ledger_set_claim (l, "j", &word, NULL), 0);
        store_close (s);
        ledger_close (l);
        ask_alone (f);
        assert_int_equal (f->rc, 0);
        assert_false (f->served);
        json_free (f->answer);
        f->answer = NULL;
    }
    // somebody has it who does not listen: a check, a build
    assert_true ((fd = root_lock (f->root, false, NULL)) >= 0);
    ask_alone (f);
    assert_int_equal (f->rc, -EBUSY);
    (void)close (fd);
}

static int ask_for_files (struct fixture *f)
{
    f->request = json_object ();
    json_add_text (f->request, "do", "fetch");
    json_add_text (f->request, "job", "j");
    f->over[1] = -1;
    (void)ask (f);
    return f->rc;
}

/* What needs a service takes no lock: one may be about to start. */
static void test_needs_service (void **state)
{
    struct fixture *f = *state;
    struct size_claim word = { .by = CLAIM_NODE, .world_size = 4 };
    struct ledger *l = NULL;
    char path[2 * PATH_MAX], text[16];
    int fd;

    assert_int_equal (ask_for_files (f), -ENOENT);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (ledger_set_claim (l, "other", &word, NULL), 0);
    assert_int_equal (ask_for_files (f), -ENOENT);
    assert_int_equal (ledger_set_claim (l, "j", &word, NULL), 0);
    ledger_close (l);
    assert_true ((fd = root_lock (f->root, false, NULL)) >= 0);
    assert_int_equal (ftruncate (fd, 0), 0);
    assert_int_equal (pwrite (fd, "mine", 4, 0), 4);
    // an aggregator that does not listen yet, say
    assert_int_equal (ask_for_files (f), -EBUSY);
    (void)close (fd);
    assert_int_equal (ask_for_files (f), -EHOSTUNREACH);
    assert_non_null (strstr (f->err.text, "no aggregator serves"));
    // who locks a root writes so
    (void)snprintf (path, sizeof (path), "%s/lock", f->root);
    assert_true ((fd = open (path, O_RDONLY)) >= 0);
    assert_int_equal (read (fd, text, sizeof (text)), 4);
    (void)close (fd);
}

static void *release_later (void *arg)
{
    const struct timespec pause = { .tv_nsec = 250 * NS_PER_MS };

    (void)nanosleep (&pause, NULL);
    (void)close (*(int *)arg);
    return NULL;
}

/* A service waits for a verb, but not for a service. */
static void test_lock_waits (void **state)
{
    struct fixture *f = *state;
    struct control *control;
    pthread_t thread;
    int held, fd;

    assert_true ((held = root_lock (f->root, true, NULL)) >= 0);
    assert_int_equal (control_lock (f->root, true, 0, &f->err), -EBUSY);
    assert_non_null (strstr (f->err.text, "is locked: process"));
    f->loop = loop_create ();
    assert_int_equal (control_open (f->root, f->loop, on_request, f, &control,
                                    NULL), 0);
    assert_int_equal (control_lock (f->root, true, INT64_MAX / 2, NULL),
                      -EBUSY);
    control_close (control);
    loop_destroy (f->loop);
    assert_int_equal (pthread_create (&thread, NULL, release_later, &held), 0);
    assert_true ((fd = control_lock (f->root, true, INT64_MAX / 2,
                                     NULL)) >= 0);
    (void)pthread_join (thread, NULL);
    (void)close (fd);
}

static int ask_again (struct control_root *r, int64_t world_size)
{
    struct json *request = json_object (), *answer = NULL;
    bool served = true;
    int rc;

    json_add_text (request, "do", "expect");
    json_add_text (request, "job", "j");
    json_add_int (request, "world_size", world_size);
    rc = control_ask_again (r, request, &answer, &served, NULL);
    if (rc == 0)
        assert_false (served);
    json_free (answer);
    return rc;
}

/* Of several requests the root is opened once, and nobody else has it until it
 * is released, also after one that failed.
 */
static void test_alone_again (void **state)
{
    struct fixture *f = *state;
    struct control_root r = CONTROL_ROOT (f->root);
    struct size_claim word = { .by = CLAIM_NODE, .world_size = 4 };
    struct ledger *l = NULL;
    char path[2 * PATH_MAX];
    int fd;

    assert_int_equal (ask_again (&r, 6), -ENOENT);
    assert_int_equal (r.lock, -1);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (ledger_set_claim (l, "j", &word, NULL), 0);
    ledger_close (l);
    assert_int_equal (ask_again (&r, 6), 0);
    l = r.ledger;
    assert_int_equal (ask_again (&r, -1), -EINVAL);
    assert_int_equal (ask_again (&r, 7), 0);
    assert_ptr_equal (r.ledger, l);
    assert_int_equal (ledger_world_size (l, "j"), 7);
    assert_int_equal (root_lock (f->root, false, NULL), -EBUSY);
    control_release (&r);
    assert_true ((fd = root_lock (f->root, false, NULL)) >= 0);
    (void)close (fd);
}

/* A verb that a service runs for somebody else has the service's rights. */
static void test_view (void **state)
{
    struct fixture *f = *state;
    struct ledger *l = NULL;
    char path[2 * PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    ledger_close (l);
    assert_int_equal (setenv (ROOT_VIEW_VARIABLE, "1", 1), 0);
    ask_alone (f);
    assert_int_equal (f->rc, -EACCES);
    assert_null (f->answer);
    assert_int_equal (unsetenv (ROOT_VIEW_VARIABLE), 0);
}

#define TEST(t) cmocka_unit_test_setup_teardown (t, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_served),
        TEST (test_garbage),
        TEST (test_forged),
        TEST (test_again),
        TEST (test_alone),
        TEST (test_alone_again),
        TEST (test_needs_service),
        TEST (test_lock_waits),
        TEST (test_view),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
