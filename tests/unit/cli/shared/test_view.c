/* tests/unit/cli/shared/test_view.c - which words of a command line a service
 * gets
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "archive/root_control.h"
#include "shared/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static struct json *asked;      // the last request

int __wrap_control_ask_for (const char *root, struct json *request,
                            const int pipes[CONTROL_PIPES], struct err *err);

int __wrap_control_ask_for (const char *root, struct json *request,
                            const int pipes[CONTROL_PIPES], struct err *err)
{
    (void)root;
    (void)err;
    assert_true (pipes[0] >= 0 && pipes[1] >= 0);
    asked = request;
    return dup (pipes[0]);
}

struct words {
    const char *root, *file, *where, *compress;
    bool json, owner, foreign, superseded;
    int64_t grace_ns, width;
};

static const struct option_spec rows[] = {
    OPTION (TEXT, "root", 'r', struct words, root, "DIR", NULL, NULL, "."),
    OPTION (TEXT, "file", 'F', struct words, file, "PATTERN", NULL, NULL, "."),
    OPTION (TEXT, "where", 'w', struct words, where, "SQL", NULL, NULL, "."),
    OPTION (TEXT, "compress", 0, struct words, compress, "CODEC", "lz4", NULL,
      "."),
    OPTION_NUMBER ("width", 'W', struct words, width, "N", NULL, NULL, 0, 9, "."),
    OPTION_SWITCH ("json", 0, struct words, json, "."),
    OPTION_SWITCH ("owner", 0, struct words, owner, "."),
    OPTION_SWITCH ("foreign-output", 0, struct words, foreign, "."),
    OPTION_SWITCH ("superseded", 0, struct words, superseded, "."),
    OPTION (DURATION, "grace", 0, struct words, grace_ns, "TIME", "24h", NULL,
      "."),
};

static const struct command_spec command = {
    "rollcall archive", "", ".", rows, sizeof (rows) / sizeof (rows[0]),
};

/* The request for these words of a command line, as text, until the next one. */
static const char *ask (const struct words *opt, int n, char *const *operands)
{
    static char *text;
    struct cli_view v;

    assert_int_equal (cli_view_begin (&command, "root", opt, n, operands, &v),
                      0);
    (void)close (v.fd);
    (void)close (v.out);
    (void)close (v.said);
    free (text);
    text = json_print (asked, false);
    json_free (asked);
    return text;
}

static void has (const char *text, const char *part)
{
    if (!strstr (text, part))
        fail_msg ("no %s in %s", part, text);
}

static void has_not (const char *text, const char *part)
{
    if (strstr (text, part))
        fail_msg ("%s in %s", part, text);
}

/* What names places here, and what other commands take, stays here with its
 * value, and everything else goes as it is, also a value that looks like an
 * option.
 */
static void test_words (void **state)
{
    char get[] = "get", job[] = "j", dir[] = "--root";
    char *operands[] = { get, job, dir };
    struct words opt = { .width = -1, .root = "--json", .file = "--superseded",
                         .where = "--root", .compress = "zstd", .owner = true,
                         .foreign = true, .grace_ns = 5 };
    const char *text;

    (void)state;
    text = ask (&opt, 3, operands);
    has (text, "\"do\":\"view\"");
    has (text, "\"verb\":\"archive\"");
    has (text, "\"options\":[\"--where\",\"--root\"]");
    has (text, "\"operands\":[\"get\",\"j\",\"--root\"]");
    has_not (text, "zstd");
    opt = (struct words){ .json = true, .superseded = true, .root = "there",
                            .width = 7 };
    text = ask (&opt, 1, operands);
    has (text, "\"options\":[\"--width\",\"7\",\"--json\",\"--superseded\"]");
    has (text, "\"operands\":[\"get\"]");
    has_not (text, "there");
}

static void check_request (struct json *request, const char *want)
{
    char *text = json_print (request, false);

    assert_string_equal (text, want);
    free (text);
    json_free (request);
}

/* Of words that no command line had. */
static void test_made (void **state)
{
    (void)state;
    check_request (cli_view_words ("status", NULL, NULL),
                   "{\"do\":\"view\",\"verb\":\"status\",\"options\":[],"
                   "\"operands\":[]}");
    check_request (cli_view_words ("archive", (const char *[]){ "--json", NULL },
                                   (const char *[]){ "ls", "j", NULL }),
                   "{\"do\":\"view\",\"verb\":\"archive\",\"options\":"
                   "[\"--json\"],\"operands\":[\"ls\",\"j\"]}");
}

int __wrap_control_hear (int fd, struct json **answer, struct err *err);

int __wrap_control_hear (int fd, struct json **answer, struct err *err)
{
    (void)fd;
    (void)err;
    *answer = json_object ();
    json_add_int (*answer, "exit_status", 128 + 9);
    json_add_text (*answer, "why", "nobody read it");
    return 0;
}

/* What was printed may look like all of it. */
static void test_killed (void **state)
{
    struct cli_view v = { -1, -1, -1 };

    (void)state;
    assert_int_equal (cli_view_end (&command, &v), EX_TEMPFAIL);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_words),
                                        cmocka_unit_test (test_made),
                                        cmocka_unit_test (test_killed) };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
