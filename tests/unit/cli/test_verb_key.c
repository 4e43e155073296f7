/* tests/unit/cli/test_verb_key.c - what rollcall key says of keys */
#include "cli/verb_check.h"

static void text_has (const char *dir, const char *part)
{
    const char *text = verb_text (verb_key, "list", "--dir", dir, NULL);

    if (!strstr (text, part))
        fail_msg ("no \"%s\" in: %s", part, text);
}

/* Scripts find keys that are too old by age_s, which is in seconds; people read
 * minutes, hours and days.
 */
static void test_age (void **state)
{
    static const struct {
        int64_t age_s;
        const char *text;
    } ages[] = {
        { 90, " 1 min " }, { 7199, " 119 min " }, { 7200, " 2 h " },
        { 172799, " 47 h " }, { 172800, " 2 d " },
    };
    const char *dir = *state;
    int64_t begin_ns = verb_now_ns;

    (void)verb_text (verb_key, "new", "node-1", "--dir", dir, NULL);
    for (size_t i = 0; i < sizeof (ages) / sizeof (ages[0]); i++) {
        struct json *j;
        int64_t age = -1;

        verb_now_ns = begin_ns + ages[i].age_s * NS_PER_S;
        j = verb_json (verb_text (verb_key, "list", "--json", "--dir", dir,
                                  NULL));
        assert_true (json_int (json_get (json_first (json_get (j, "keys")),
                                         "age_s"), &age));
        assert_int_equal (age, ages[i].age_s);
        json_free (j);
        text_has (dir, ages[i].text);
    }
    verb_now_ns = begin_ns;
}

static void test_enrol_dir (void **state)
{
    const char *dir = *state, *text;
    char nodes[PATH_MAX];

    PRINT (nodes, "%s/nodes", dir);
    (void)verb_text (verb_key, "new", "n1", "--dir", nodes, NULL);
    (void)verb_text (verb_key, "new", "n2", "--dir", nodes, NULL);
    text = verb_text (verb_key, "enrol", nodes, "--any-host", "--dir", dir,
                      NULL);
    assert_non_null (strstr (text, "enrolled      n1, key "));
    assert_non_null (strstr (text, "bound         n2, to any host"));
    text_has (dir, "n2, of any host");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_age, verb_setup, verb_teardown),
        cmocka_unit_test_setup_teardown (test_enrol_dir, verb_setup,
                                         verb_teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
