/* tests/unit/cli/several/test_ask_places.c - what comes from another aggregator,
 * on its way to a terminal
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/ask.h"
#include "several/ask_places.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t many;             // pieces of a line without an end
static size_t said_first;       // pieces of messages
static size_t busy;             // times that it has no room
static bool lives;              // it says nothing, and comes to no end
static char question[256];

static atomic_bool waited;      // nobody read for a while

/* As net_ask does. */
static int give (ask_fn *fn, void *arg, const void *data, size_t size)
{
    int rc;

    while ((rc = fn (arg, ANSWER_OUT, data, size)) == -EAGAIN)
        atomic_store (&waited, true);
    return rc;
}

int __wrap_net_ask (const char *endpoint, const struct net_security *security,
                    const char *text, int64_t longest_ns, ask_fn *fn,
                    void *arg, struct ask_end *ret, struct err *err);

int __wrap_net_ask (const char *endpoint, const struct net_security *security,
                    const char *text, int64_t longest_ns, ask_fn *fn,
                    void *arg, struct ask_end *ret, struct err *err)
{
    static const char out[] = "a\tb\n", said[] = "rollcall jobs: no\n";
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char piece[ANSWER_PIECE_MAX];
    bool refused;
    int rc = 0;

    (void)security;
    assert_true (longest_ns > 0);
    (void)pthread_mutex_lock (&lock);
    PRINT (question, "%s", text);
    (void)pthread_mutex_unlock (&lock);
    if (strcmp (endpoint, "tcp://away:1") == 0)
        return err_set (err, EHOSTUNREACH, "nobody listens there");
    (void)pthread_mutex_lock (&lock);
    refused = busy > 0;
    busy -= refused;
    (void)pthread_mutex_unlock (&lock);
    *ret = (struct ask_end){ .status = refused ? 75 : 1 };
    if (refused)
        return 0;
    memset (piece, 'x', sizeof (piece));
    while (lives && rc == 0)
        rc = fn (arg, ANSWER_OUT, NULL, 0);
    for (size_t i = 0; i < said_first && rc == 0; i++)
        rc = fn (arg, ANSWER_SAID, piece, sizeof (piece));
    for (size_t i = 0; i < many && rc == 0; i++)
        rc = give (fn, arg, piece, sizeof (piece));
    if (rc == 0)
        rc = fn (arg, ANSWER_OUT, out, sizeof (out) - 1);
    return rc ? rc : fn (arg, ANSWER_SAID, said, sizeof (said) - 1);
}

static void shown_as (const char *text, size_t size, const char *shown)
{
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream (&out, &n);

    assert_non_null (f);
    place_put_lines (text, size, f);
    assert_int_equal (fclose (f), 0);
    assert_string_equal (out, shown);
    free (out);
}

/* Nothing of it controls a terminal; tabs and ends of lines stay. */
static void test_shown (void **state)
{
    (void)state;
    shown_as ("", 0, "");
    shown_as ("a\tb\nc", 5, "a\tb\nc\n");
    shown_as ("\x1b[2J\n\n", 6, "\\x1b[2J\n\n");
    shown_as ("\xc3\xa4\xff\r\x7f", 5, "\xc3\xa4\\xff\\x0d\\x7f\n");
    shown_as ("\xe2\x80\xae" "x", 4, "\\xe2\\x80\\xaex\n");
    shown_as ("a\0b\nc\n", 6, "a\nc\n");
}

static void test_all (void **state)
{
    const struct net_security none = { .insecure = true };
    struct cli_places p = { .list = { { "tcp://here:1", &none },
                                      { "tcp://away:1", &none } }, .n = 2 };
    struct json *request = json_object ();
    struct place_answer *a;

    (void)state;
    json_add_text (request, "do", "view");
    many = 100;                 // more than a pipe holds
    busy = 2;
    a = places_ask (&p, request);
    assert_non_null (a);
    assert_string_equal (question, "{\"do\":\"view\"}");
    assert_int_equal (a[0].status, 1);
    assert_int_equal (a[0].out.size, 100 * ANSWER_PIECE_MAX + 4);
    assert_string_equal (buf_text (&a[0].said), "rollcall jobs: no\n");
    assert_int_equal (a[1].status, -EHOSTUNREACH);
    assert_string_equal (a[1].why.text, "nobody listens there");
    place_answers_free (a, 2);
    json_free (request);
}

/* One that has no end is not kept. */
static void test_endless (void **state)
{
    const struct net_security none = { .insecure = true };
    struct cli_places p = { .list = { { "tcp://here:1", &none } }, .n = 1 };
    struct json *request = json_object ();
    struct place_answer *a;

    (void)state;
    many = SIZE_MAX;
    a = places_ask (&p, request);
    assert_non_null (a);
    assert_int_equal (a[0].status, -EBADMSG);
    assert_non_null (strstr (a[0].why.text, "--since"));
    place_answers_free (a, 1);
    json_free (request);
}

/* Messages that nobody reads yet do not keep the bytes back. */
static void test_messages (void **state)
{
    const struct net_security none = { .insecure = true };
    const struct cli_place place = { "tcp://here:1", &none };
    struct json *request = json_object ();
    struct place_view v;
    struct err why = { "" };
    char part[4];

    (void)state;
    many = 0;
    said_first = 100;
    assert_int_equal (place_begin (&place, request, &v, &why), 0);
    (void)alarm (60);
    assert_int_equal (read (v.out, part, sizeof (part)), 4);
    (void)alarm (0);
    assert_int_equal (place_end (&v, &why), 1);
    assert_non_null (strstr (why.text, "messages"));
    said_first = 0;
    json_free (request);
}

/* Who reads may stand still: whoever asks hears of it, and nothing is lost. */
static void test_standing (void **state)
{
    const struct net_security none = { .insecure = true };
    const struct cli_place place = { "tcp://here:1", &none };
    struct json *request = json_object ();
    struct place_view v;
    struct err why = { "" };
    char part[4096];
    size_t size = 0;
    ssize_t n;

    (void)state;
    many = 100;
    assert_int_equal (place_begin (&place, request, &v, &why), 0);
    (void)alarm (60);
    while (!atomic_load (&waited))
        (void)poll (NULL, 0, 10);
    while ((n = read (v.out, part, sizeof (part))) > 0)
        size += (size_t)n;
    (void)alarm (0);
    assert_int_equal (size, 100 * ANSWER_PIECE_MAX + 4);
    assert_int_equal (place_end (&v, &why), 1);
    many = 0;
    json_free (request);
}

/* Whoever does not want an answer any more does not wait for its end. */
static void test_left (void **state)
{
    const struct net_security none = { .insecure = true };
    const struct cli_place place = { "tcp://here:1", &none };
    struct json *request = json_object ();
    struct place_view v;
    struct err why = { "" };

    (void)state;
    lives = true;
    assert_int_equal (place_begin (&place, request, &v, &why), 0);
    (void)alarm (60);
    assert_int_equal (place_end (&v, &why), -EPIPE);
    // as after an interrupt
    assert_int_equal (place_begin (&place, request, &v, &why), 0);
    atomic_store (&cli_cancelled, true);
    assert_int_equal (place_print (NULL, &v, 0), EX_IOERR);
    atomic_store (&cli_cancelled, false);
    (void)alarm (0);
    lives = false;
    json_free (request);
}

/* Of several places, the one that says it is named. */
static void test_named (void **state)
{
    static const struct command_spec command = { "rollcall jobs", "", "", NULL,
                                                 0 };
    const struct net_security none = { .insecure = true };
    const struct cli_place place = { "tcp://here:1", &none };
    struct json *request = json_object ();
    int old = dup (STDERR_FILENO), said = memfd_create ("said", MFD_CLOEXEC);
    struct place_view v;
    struct err why = { "" };
    char text[256] = "";

    (void)state;
    assert_true (old >= 0 && said >= 0);
    assert_int_equal (dup2 (said, STDERR_FILENO), STDERR_FILENO);
    for (int quiet = 0; quiet < 3; quiet++) {
        assert_int_equal (place_begin (&place, request, &v, &why), 0);
        assert_int_equal (place_print (&command, &v, quiet), 1);
    }
    assert_int_equal (dup2 (old, STDERR_FILENO), STDERR_FILENO);
    (void)close (old);
    assert_true (pread (said, text, sizeof (text) - 1, 0) >= 0);
    assert_string_equal (text, "rollcall jobs: tcp://here:1: no\n"
                               "rollcall jobs: tcp://here:1: no\n");
    (void)close (said);
    json_free (request);
}

static size_t lines, longest;
static size_t stop_at;          // lines; 0: none

static int take_line (void *arg, const char *line, struct err *err)
{
    size_t n = strlen (line);

    (void)arg;
    lines++;
    longest = n > longest ? n : longest;
    return lines == stop_at ? err_set (err, EBADMSG, "enough") : 0;
}

/* 'why' it is not all. */
static int each_line (size_t pieces, const char *why)
{
    static const struct command_spec command = { "rollcall", "", "", NULL, 0 };
    const struct net_security none = { .insecure = true };
    const struct cli_place place = { "tcp://here:1", &none };
    struct json *request = json_object ();
    struct err err = { "" };
    int status;

    lines = longest = 0;
    many = pieces;
    (void)alarm (60);
    status = place_each_line (&command, &place, request, take_line, NULL,
                              &err);
    (void)alarm (0);
    assert_string_equal (err.text, why);
    json_free (request);
    many = 0;
    return status;
}

/* As they come, as long as each has an end; who has enough ends it. */
static void test_lines (void **state)
{
    (void)state;
    assert_int_equal (each_line (0, "no"), 1);
    assert_int_equal (lines, 1);
    assert_int_equal (longest, 3);
    assert_int_equal (each_line (10, "no"), 1);
    assert_int_equal (longest, 10 * ANSWER_PIECE_MAX + 3);
    assert_int_equal (each_line (SIZE_MAX, "its answer is too long"),
                      EX_DATAERR);
    assert_int_equal (lines, 0);
    stop_at = 1;
    assert_int_equal (each_line (0, "enough"), EX_DATAERR);
    stop_at = 0;
}

static void object_is (const char *text, const char *shown)
{
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream (&out, &n);

    assert_non_null (f);
    place_put_object ("a\"b", text, strlen (text), f);
    assert_int_equal (fclose (f), 0);
    assert_string_equal (out, shown);
    free (out);
}

/* Numbers are not rounded, and nothing controls a terminal. */
static void test_object (void **state)
{
    (void)state;
    object_is ("{\"n\":1732665600123456789}",
               "{\"at\": \"a\\\"b\", \"n\":1732665600123456789}");
    object_is ("{\"n\":\"\x1b\xc2\x9b\xe2\x80\xae\xff\x7f\"}",
               "{\"at\": \"a\\\"b\", \"n\":\"\\u001b\\u009b\\u202e\xff\\u007f\"}");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_shown),
        cmocka_unit_test (test_all),
        cmocka_unit_test (test_endless),
        cmocka_unit_test (test_messages),
        cmocka_unit_test (test_standing),
        cmocka_unit_test (test_named),
        cmocka_unit_test (test_left),
        cmocka_unit_test (test_lines),
        cmocka_unit_test (test_object),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
