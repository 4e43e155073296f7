/* tests/unit/common/options/test_options.c - settings into words and back */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "options/options.h"
#include "store/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32

struct settings {
    const char *text, *none, *one, *several;
    struct option_list list, preset;
    int64_t number, bytes, time_ns;
    bool yes, no;
};

#define AT(m) offsetof (struct settings, m)

static const struct option_spec options[] = {
    { "text", 't', OPTION_TEXT, AT (text), "T", NULL, NULL, 0, 0, "", NULL },
    { "none", 0, OPTION_TEXT, AT (none), "T", NULL, NULL, 0, 0, "", NULL },
    { "one", 0, OPTION_ENDPOINT, AT (one), "E", NULL, NULL, 0, 0, "", NULL },
    { "several", 0, OPTION_ENDPOINTS, AT (several), "E,...", NULL, NULL, 0, 0,
      "", NULL },
    { "list", 'l', OPTION_LIST, AT (list), "L", NULL, NULL, 0, 0, "", NULL },
    { "preset", 0, OPTION_LIST, AT (preset), "L", "p", "TEST_PRESET", 0, 0, "",
      NULL },
    { "number", 0, OPTION_INT, AT (number), "N", "7", NULL, -9, 9, "", NULL },
    { "bytes", 0, OPTION_BYTES, AT (bytes), "B", "0", NULL, 0, 0, "", NULL },
    { "time", 0, OPTION_DURATION, AT (time_ns), "D", "60s", NULL, 0, 0, "",
      NULL },
    { "yes", 'y', OPTION_FLAG, AT (yes), NULL, NULL, NULL, 0, 0, "", NULL },
    { "no", 0, OPTION_FLAG, AT (no), NULL, NULL, NULL, 0, 0, "", NULL },
};

static const struct command_spec command = {
    "test", "", "", options, sizeof (options) / sizeof (options[0]),
};

struct words {
    char *at[WORDS_MAX];
    int n;
};

static int take (void *arg, const char *word)
{
    struct words *w = arg;

    if (w->n == WORDS_MAX - 1)
        return -E2BIG;
    w->at[w->n++] = strdup (word);
    return 0;
}

static void parse (int argc, char **argv, struct settings *ret)
{
    struct err err = { "" };
    int rest;

    memset (ret, 0, sizeof (*ret));
    if (options_parse (&command, argc, argv, false, ret, &rest, &err) !=
        OPTIONS_OK)
        fail_msg ("%s", err.text);
}

/* What one process hands on to another is what it was told itself. */
static void test_round_trip (void **state)
{
    char *said[] = { (char *)"test", (char *)"--text", (char *)"-x y",
                     (char *)"--list", (char *)"a b", (char *)"-l",
                     (char *)"", (char *)"--number", (char *)"-3",
                     (char *)"--bytes", (char *)"9GB", (char *)"--time",
                     (char *)"90.001s", (char *)"-y", (char *)"--several",
                     (char *)"tcp://a:1,tcp://[::1]:2", NULL };
    struct words w = { .n = 0 };
    struct settings a, b;

    (void)state;
    parse (16, said, &a);
    assert_int_equal (take (&w, "test"), 0);
    assert_int_equal (options_words (&command, &a, take, &w), 0);
    parse (w.n, w.at, &b);
    assert_string_equal (b.text, "-x y");
    assert_null (b.none);
    assert_string_equal (b.several, "tcp://a:1,tcp://[::1]:2");
    assert_int_equal (b.list.n, 2);
    assert_string_equal (b.list.items[0], "a b");
    assert_string_equal (b.list.items[1], "");
    assert_int_equal (b.number, -3);
    assert_int_equal (b.bytes, 9000000000);
    assert_int_equal (b.time_ns, 90001000000);
    assert_true (b.yes);
    assert_false (b.no);
    while (w.n > 0)
        free (w.at[--w.n]);
}

/* What is said replaces what was there before, and is more then. */
static void test_preset (void **state)
{
    char *none[] = { (char *)"test", NULL };
    char *two[] = { (char *)"test", (char *)"--preset", (char *)"a",
                    (char *)"--preset", (char *)"b", NULL };
    struct settings s;

    (void)state;
    parse (1, none, &s);
    assert_int_equal (s.preset.n, 1);
    assert_string_equal (s.preset.items[0], "p");
    assert_false (s.preset.said);
    assert_int_equal (setenv ("TEST_PRESET", "e", 1), 0);
    parse (1, none, &s);
    assert_int_equal (s.preset.n, 1);
    assert_string_equal (s.preset.items[0], "e");
    assert_false (s.preset.said);
    parse (5, two, &s);
    assert_int_equal (s.preset.n, 2);
    assert_string_equal (s.preset.items[0], "a");
    assert_string_equal (s.preset.items[1], "b");
    assert_true (s.preset.said);
    assert_int_equal (unsetenv ("TEST_PRESET"), 0);
}

/* What is no endpoint would else be taken for one of another host. */
static void test_endpoint (void **state)
{
    static const char *const good[] = {
        "tcp://127.0.0.1:7077", "tcp://*:65535", "tcp://node-7.x:1",
        "tcp://[fe80::1%eth0]:7077",
    };
    static const char *const bad[] = {
        "", ":", "tcp://", "tcp://:", "tcp://:7077", "127.0.0.1:7077",
        "localhost:7077", "7077", "http://127.0.0.1:7077", "tcp://192.0.2.2",
        "tcp://a:", "tcp://a:x", "tcp://a:65536", "tcp://a:7077/",
        "tcp://a/b:7077", "tcp://::1:7077", "tcp://[]:7077", "tcp://[::1:7077",
        "tcp:/a:7077", "tcp://a:-1", "tcp://a:1,tcp://b:2",
    };
    char *argv[] = { (char *)"test", (char *)"--one", NULL, NULL };
    struct settings s = { .one = NULL };
    struct err err;
    int rest;

    (void)state;
    for (size_t i = 0; i < sizeof (good) / sizeof (good[0]); i++) {
        argv[2] = (char *)good[i];
        parse (3, argv, &s);
        assert_string_equal (s.one, good[i]);
    }
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        argv[2] = (char *)bad[i];
        assert_int_equal (options_parse (&command, 3, argv, false, &s, &rest,
                                         &err), OPTIONS_USAGE);
        assert_non_null (strstr (err.text, "tcp://HOST:PORT"));
    }
    argv[1] = (char *)"--several";
    argv[2] = (char *)"tcp://a:1,b:2";
    assert_int_equal (options_parse (&command, 3, argv, false, &s, &rest,
                                     &err), OPTIONS_USAGE);
    assert_non_null (strstr (err.text, "\"b:2\""));
}

/* DIR/cluster_analysis_output of an empty DIR is in the root directory. */
static void test_empty_path (void **state)
{
    static const char *const args[] = { "DIR", "FILE", "OUT" };
    struct option_spec o = { "to", 't', OPTION_TEXT, 0, NULL, NULL, NULL, 0, 0,
                             "A place.", NULL };
    const struct command_spec c = { "test", "", "Tests.", &o, 1 };
    char *argv[] = { (char *)"test", (char *)"--to", (char *)"", NULL };
    const char *to = NULL;
    struct err err;
    int rest;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        o.arg = args[i];
        assert_int_equal (options_parse (&c, 3, argv, false, &to, &rest, &err),
                          OPTIONS_USAGE);
        assert_non_null (strstr (err.text, "--to: "));
        assert_non_null (strstr (err.text, " is empty"));
    }
    o.arg = "TEXT";
    assert_int_equal (options_parse (&c, 3, argv, false, &to, &rest, &err),
                      OPTIONS_OK);
    assert_string_equal (to, "");
}

/* A second option that begins so would give an old line another meaning. */
static void test_in_full (void **state)
{
    static const struct {
        const char *arg, *said;
    } bad[] = {
        { "--tex", "there is no option --tex; did you mean --text?" },
        { "--tex=x", "there is no option --tex; did you mean --text?" },
        { "--y", "there is no option --y; did you mean --yes?" },
        { "--y=1", "there is no option --y; did you mean --yes?" },
        { "--n", "there is no option --n; did you mean --none or --number or"
          " --no?" },
        { "--nu", "there is no option --nu; did you mean --number?" },
        { "--hel", "there is no option --hel; did you mean --help?" },
        { "--help-n", "there is no option --help-n" },
        { "--texts", "there is no option --texts; did you mean --text?" },
        { "--texts=y", "there is no option --texts; did you mean --text?" },
        { "--nubmer", "there is no option --nubmer; did you mean --number?" },
        { "--frobnicate", "there is no option --frobnicate" },
        { "--yes=1", "option --yes takes no value" },
        { "-x", "there is no option -x" },
    };
    char *argv[] = { (char *)"test", NULL, (char *)"--no", NULL };
    struct settings s = { .one = NULL };
    struct err err;
    int rest;

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        argv[1] = (char *)bad[i].arg;
        for (int argc = 2; argc <= 3; argc++) { // without a value, and with
            assert_int_equal (options_parse (&command, argc, argv, false, &s,
                                             &rest, &err), OPTIONS_USAGE);
            assert_string_equal (err.text, bad[i].said);
        }
    }
    argv[1] = (char *)"--no";
    parse (2, argv, &s);
    assert_true (s.no);         // a beginning of --none, and a name
    argv[1] = (char *)"--text=--yes";
    parse (2, argv, &s);
    assert_string_equal (s.text, "--yes");
    argv[1] = (char *)"--text";
    parse (3, argv, &s);
    assert_string_equal (s.text, "--no");
}

/* What means nothing without another option is not ignored: it was forgotten.
 * A variable is for those who give the other one.
 */
static void test_needs (void **state)
{
    static const struct option_spec two[] = {
        OPTION (TEXT, "store", 0, struct settings, text, "URL", NULL, "T_STORE",
                ""),
        OPTION_BESIDE ("store", TEXT, "ca", struct settings, none, "FILE", NULL,
                       "T_CA", ""),
        OPTION_BESIDE ("store", DURATION, "after", struct settings, time_ns,
                       "TIME", "1h", NULL, ""),
        OPTION_SWITCH ("all", 0, struct settings, yes, ""),
        OPTION_SWITCH_BESIDE ("all", "prune", struct settings, no, ""),
        OPTION_NUMBER_BESIDE ("all", "at-once", struct settings, number, "N",
                              "0", NULL, 0, 9, ""),
    };
    static const struct {
        const char *arg, *said;
    } lone[] = {
        { "--ca=x", "--ca needs --store" },
        { "--after=1s", "--after needs --store" },
        { "--prune", "--prune needs --all" },
        { "--at-once=0", "--at-once needs --all" },
    };
    const struct command_spec c = { "test", "", "", two,
                                    sizeof (two) / sizeof (two[0]) };
    char *argv[] = { (char *)"test", NULL, (char *)"--all", NULL };
    struct settings s = { .text = NULL };
    struct words w = { .n = 0 };
    struct err err;
    int rest;

    (void)state;
    for (size_t i = 0; i < sizeof (lone) / sizeof (lone[0]); i++) {
        memset (&s, 0, sizeof (s));
        argv[1] = (char *)lone[i].arg;
        assert_int_equal (options_parse (&c, 2, argv, false, &s, &rest, &err),
                          OPTIONS_USAGE);
        assert_string_equal (err.text, lone[i].said);
        assert_int_equal (options_parse (&c, 3, argv, false, &s, &rest, &err),
                          i < 2 ? OPTIONS_USAGE : OPTIONS_OK);
    }
    memset (&s, 0, sizeof (s));
    assert_int_equal (setenv ("T_CA", "x", 1), 0);
    assert_int_equal (options_parse (&c, 1, argv, false, &s, &rest, &err),
                      OPTIONS_OK);
    assert_int_equal (options_words (&c, &s, take, &w), 0);
    assert_int_equal (w.n, 0);
    argv[1] = (char *)"--after=1s";
    assert_int_equal (setenv ("T_STORE", "s3://b", 1), 0);
    assert_int_equal (options_parse (&c, 2, argv, false, &s, &rest, &err),
                      OPTIONS_OK);
    assert_int_equal (options_words (&c, &s, take, &w), 0);
    assert_int_equal (w.n, 6);
    while (w.n > 0)
        free (w.at[--w.n]);
}

static int refuse (void *arg, const char *word)
{
    (void)word;
    return --*(int *)arg > 0 ? 0 : -ENOSPC;
}

static void test_refused (void **state)
{
    static const struct option_spec room = { "room", 0, OPTION_ROOM, 0, "S",
                                             NULL, NULL, 0, 0, "", NULL };
    const struct command_spec other = { "test", "", "", &room, 1 };
    struct space_limit limit = { .set = true };
    struct settings a = { .text = "x", .yes = true };
    int left;

    (void)state;
    // --text x --number 0 --bytes 0 --time 0.0s --yes: none is the last one
    for (left = 1; left <= 9; left++) {
        int n = left;

        assert_int_equal (options_words (&command, &a, refuse, &n), -ENOSPC);
    }
    left = 10;
    assert_int_equal (options_words (&command, &a, refuse, &left), 0);
    assert_int_equal (options_words (&other, &limit, refuse, &left),
                      -ENOTSUP);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip),
        cmocka_unit_test (test_preset),
        cmocka_unit_test (test_endpoint),
        cmocka_unit_test (test_empty_path),
        cmocka_unit_test (test_in_full),
        cmocka_unit_test (test_needs),
        cmocka_unit_test (test_refused),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
