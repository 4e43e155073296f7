/* tests/unit/cli/verb_check.c - verbs as functions, and what they print */
#include "cli/verb_check.h"

#define WORDS_MAX 16

int64_t verb_now_ns = INT64_C (1800000000) * NS_PER_S;

int64_t __wrap_clock_wall_ns (void);
int64_t __wrap_clock_wall_ns (void)
{
    return verb_now_ns;
}

int verb_setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    char *dir = malloc (PATH_MAX);

    assert_non_null (dir);
    (void)snprintf (dir, PATH_MAX, "%s/rollcall-verb-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (dir));
    *state = dir;
    return 0;
}

int verb_teardown (void **state)
{
    (void)fileio_remove_tree (*state, NULL);
    free (*state);
    return 0;
}

const char *verb_text (int (*verb) (int argc, char **argv), ...)
{
    static char text[65536];
    char words[WORDS_MAX][PATH_MAX], *argv[WORDS_MAX + 1] = { NULL };
    FILE *f = tmpfile ();
    int out, argc = 1, status;
    const char *word;
    va_list ap;
    size_t n;

    assert_non_null (f);
    (void)snprintf (words[0], sizeof (words[0]), "verb");
    va_start (ap, verb);
    for (; (word = va_arg (ap, const char *)); argc++) {
        assert_true (argc < WORDS_MAX);
        (void)snprintf (words[argc], sizeof (words[argc]), "%s", word);
    }
    va_end (ap);
    for (int i = 0; i < argc; i++)
        argv[i] = words[i];
    (void)fflush (stdout);
    out = dup (STDOUT_FILENO);
    assert_true (out >= 0 && dup2 (fileno (f), STDOUT_FILENO) >= 0);
    status = verb (argc, argv);
    (void)fflush (stdout);
    assert_true (dup2 (out, STDOUT_FILENO) >= 0);
    (void)close (out);
    rewind (f);
    n = fread (text, 1, sizeof (text) - 1, f);
    text[n] = '\0';
    (void)fclose (f);
    if (status != 0)
        fail_msg ("status %d: %s", status, text);
    return text;
}

struct json *verb_json (const char *text)
{
    struct err err = { "" };
    struct json *j = json_parse (text, strlen (text), &err);

    if (!j)
        fail_msg ("%s: %s", err.text, text);
    return j;
}
