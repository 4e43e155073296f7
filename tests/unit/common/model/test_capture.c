/* tests/unit/common/model/test_capture.c - a capture and its metadata document
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "model/capture.h"
#include "model/owned_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_hash (const char *id, const char *want)
{
    char hash[CAPTURE_HASH_MAX];

    capture_group_hash (id, hash);
    assert_string_equal (hash, want);
}

/* Values of real captures: with another hash no group finds its rows. */
static void test_group_hash (void **state)
{
    (void)state;
    check_hash ("", "0");
    check_hash ("a", "416611827809");
    check_hash ("group_name_0", "5862276093215481612");
    check_hash ("group_name_1", "5862276097510448909");
    check_hash ("hccl_world_group", "7415574198778220483");
    check_hash ("90.91.105.46%enp189s0f0_60000_0_1736410538306028",
                "17148521525495523210");
    // bytes >= 128 count as such, whatever the sign of char is
    check_hash ("\xff", "1095216660735");
}

static void test_state_names (void **state)
{
    enum capture_state s;

    (void)state;
    for (unsigned i = 0; i < CAPTURE_STATES; i++) {
        const char *name = capture_state_name ((enum capture_state)i);

        assert_non_null (name);
        s = CAPTURE_STATES;
        assert_int_equal (capture_state_parse (name, &s), 0);
        assert_int_equal (s, i);
    }
    s = CAPTURE_RAW;
    assert_int_equal (capture_state_parse ("", &s), -EINVAL);
    assert_int_equal (capture_state_parse ("Raw", &s), -EINVAL);
    assert_int_equal (s, CAPTURE_RAW);
}

static void test_reason (void **state)
{
    struct capture c;
    char big[CAPTURE_REASON_MAX];

    (void)state;
    capture_init (&c);
    capture_reason (&c, "%s is absent", "a.json");
    assert_string_equal (c.reason, "a.json is absent");
    capture_reason (&c, "2 rows");
    assert_string_equal (c.reason, "a.json is absent; 2 rows");
    assert_int_equal (c.state, CAPTURE_FAILED);     // as it was
    // full, almost full, and over: cut, terminated, no overrun
    for (size_t n = CAPTURE_REASON_MAX - 8; n < CAPTURE_REASON_MAX; n++) {
        memset (big, 'x', n);
        big[n] = '\0';
        c.reason[0] = '\0';
        capture_reason (&c, "%s", big);
        capture_reason (&c, "%s", "more and more");
        capture_reason (&c, "%s", "more and more");
        assert_true (strlen (c.reason) < CAPTURE_REASON_MAX);
        assert_memory_equal (c.reason, big, n);
    }
    capture_fini (&c);
}

/* Wherever the end of a reason falls in a character of 1 to 4 bytes, what is
 * left is UTF-8: a document with half a character could not be read again.
 */
static void test_reason_utf8 (void **state)
{
    static const char *const letters[] = { "x", "\xc3\xa4", "\xe2\x82\xac",
                                           "\xf0\x9f\x98\x80" };
    char big[CAPTURE_REASON_MAX];
    struct capture c;

    (void)state;
    capture_init (&c);
    for (size_t k = 0; k < 4; k++) {
        size_t width = strlen (letters[k]);

        for (size_t room = 0; room < 8; room++) {
            size_t n = CAPTURE_REASON_MAX - 1 - room, whole;

            memset (big, 'x', n);
            big[n] = '\0';
            c.reason[0] = '\0';
            capture_reason (&c, "%s%s%s%s%s%s%s%s%s", big, letters[k],
                            letters[k], letters[k], letters[k], letters[k],
                            letters[k], letters[k], letters[k]);
            whole = n + room / width * width;
            assert_int_equal (strlen (c.reason), whole);
            for (const char *p = c.reason; *p; p += utf8_size (p))
                assert_true (utf8_size (p) > 0);
        }
    }
    // what never was UTF-8 is left as it came
    c.reason[0] = '\0';
    memset (big, 'x', sizeof (big));
    big[sizeof (big) - 2] = '\x80';
    big[sizeof (big) - 1] = '\0';
    capture_reason (&c, "%s and more", big);
    assert_string_equal (c.reason, big);
    capture_fini (&c);
}

static void test_note_step (void **state)
{
    struct capture c;

    (void)state;
    capture_init (&c);
    assert_int_equal (capture_note_step (&c, "10", 2), 0);
    assert_int_equal (capture_note_step (&c, "100", 3), 0);
    assert_int_equal (capture_note_step (&c, "1000", 2), 0);    // "10" again
    assert_int_equal (capture_note_step (&c, "100", 3), 0);
    assert_int_equal (capture_note_step (&c, "1", 1), 0);
    assert_int_equal (capture_note_step (&c, "", 0), 0);
    assert_int_equal (capture_note_step (&c, "", 0), 0);
    assert_int_equal (c.nsteps, 4);
    assert_string_equal (c.steps[0], "10");
    assert_string_equal (c.steps[1], "100");
    assert_string_equal (c.steps[2], "1");
    assert_string_equal (c.steps[3], "");
    capture_fini (&c);
    assert_int_equal (c.nsteps, 0);
}

/* A NUL within a text of a database: the second time, the comparison would
 * read behind the copy that ends at it.
 */
static void test_note_step_nul (void **state)
{
    struct capture c;

    (void)state;
    capture_init (&c);
    for (int i = 0; i < 3; i++)
        assert_int_equal (capture_note_step (&c, "7\0step8 and more", 16), 0);
    assert_int_equal (c.nsteps, 1);
    assert_string_equal (c.steps[0], "7");
    capture_fini (&c);
}

static void test_note_step_limit (void **state)
{
    struct capture c;
    char *same;

    (void)state;
    capture_init (&c);
    c.steps = calloc (CAPTURE_STEPS_MAX, sizeof (*c.steps));
    assert_non_null (c.steps);
    for (c.nsteps = 0; c.nsteps < CAPTURE_STEPS_MAX; c.nsteps++) {
        same = strdup ("7");
        assert_non_null (same);
        c.steps[c.nsteps] = same;
    }
    assert_int_equal (capture_note_step (&c, "7", 1), 0);
    assert_int_equal (capture_note_step (&c, "8", 1), -E2BIG);
    assert_int_equal (c.nsteps, CAPTURE_STEPS_MAX);
    capture_fini (&c);
}

static void add_group (struct capture *c, const char *id, uint32_t n)
{
    int32_t *members = calloc (n + 1, sizeof (*members));

    assert_non_null (members);
    for (uint32_t i = 0; i < n; i++)
        members[i] = (int32_t)(i * 8 + 1);
    assert_int_equal (capture_add_group (c, id, "pp", members, n, NULL), 0);
}

static void test_add_group (void **state)
{
    struct capture c;
    struct err err = { "" };
    int32_t own[1] = { 3 };

    (void)state;
    capture_init (&c);
    for (unsigned i = 0; i < CAPTURE_GROUPS_MAX; i++)
        add_group (&c, i ? "group_name_1" : "group_name_0", 2);
    assert_string_equal (c.groups[0].name, "5862276093215481612");
    assert_string_equal (c.groups[1].id, "group_name_1");
    assert_int_equal (c.groups[1].members[1], 9);
    // over the limit the array is still the caller's (here: on the stack)
    assert_int_equal (capture_add_group (&c, "x", "y", own, 1, &err), -E2BIG);
    assert_true (err.text[0] != '\0');
    assert_int_equal (c.ngroups, CAPTURE_GROUPS_MAX);
    capture_fini (&c);
    assert_null (c.groups);
}

/* ---- the document ---- */

static void fill (struct capture *c)
{
    capture_init (c);
    c->rank = 131071;
    c->device_id = 7;
    c->world_size = 131072;
    strcpy (c->name, "host_7_20251127_ascend_pt");
    strcpy (c->host, "n\xc3\xb6" "de \"1\"\\\n");
    strcpy (c->framework, "pytorch");
    strcpy (c->level, "Level1");
    assert_int_equal (owned_text_set (&c->source, "communication.json", 18),
                      0);
    c->state = CAPTURE_PARTIAL;
    capture_reason (c, "x.json: byte 7: 'x' where a value was expected");
    c->started_ns = INT64_C (1764246877386327511);      // not a double
    c->ended_ns = INT64_MAX;
    c->order_ns = 1;
    c->raw_bytes = UINT64_C (9007199254740993);
    assert_int_equal (capture_note_step (c, "13", 2), 0);
    assert_int_equal (capture_note_step (c, "", 0), 0);
    add_group (c, "hccl_world_group", 3);
    add_group (c, "group_name_0", 0);
}

static void assert_same (const struct capture *a, const struct capture *b)
{
    assert_true (a->rank == b->rank);
    assert_true (a->device_id == b->device_id);
    assert_true (a->world_size == b->world_size);
    assert_string_equal (a->name, b->name);
    assert_string_equal (a->host, b->host);
    assert_string_equal (a->framework, b->framework);
    assert_string_equal (a->level, b->level);
    assert_string_equal (a->source, b->source);
    assert_int_equal (a->state, b->state);
    assert_string_equal (a->reason, b->reason);
    assert_true (a->started_ns == b->started_ns);
    assert_true (a->ended_ns == b->ended_ns);
    assert_true (a->order_ns == b->order_ns);
    assert_true (a->raw_bytes == b->raw_bytes);
    assert_int_equal (a->nsteps, b->nsteps);
    for (uint32_t i = 0; i < a->nsteps; i++)
        assert_string_equal (a->steps[i], b->steps[i]);
    assert_int_equal (a->ngroups, b->ngroups);
    for (uint32_t i = 0; i < a->ngroups; i++) {
        const struct comm_group *g = &a->groups[i], *h = &b->groups[i];

        assert_string_equal (g->name, h->name);
        assert_string_equal (g->id, h->id);
        assert_string_equal (g->pg_name, h->pg_name);
        assert_int_equal (g->nmembers, h->nmembers);
        for (uint32_t m = 0; m < g->nmembers; m++)
            assert_int_equal (g->members[m], h->members[m]);
    }
}

static char *print (const struct capture *c)
{
    struct json *j = capture_to_json (c);
    char *text = json_print (j, false);

    assert_non_null (text);
    json_free (j);
    return text;
}

/* Reads the document; what capture_from_json says, the capture in 'c'. */
static int from_text (struct capture *c, const char *text, struct err *err)
{
    capture_init (c);
    return capture_from_json (c, text, strlen (text), err);
}

static void test_round_trip (void **state)
{
    struct capture c, back;
    char *text, *again;

    (void)state;
    fill (&c);
    text = print (&c);
    assert_int_equal (from_text (&back, text, NULL), 0);
    assert_same (&c, &back);
    again = print (&back);
    assert_string_equal (again, text);
    free (text);
    free (again);
    capture_fini (&c);
    capture_fini (&back);
}

static void test_round_trip_empty (void **state)
{
    struct capture c, back;
    char *text;

    (void)state;
    capture_init (&c);
    text = print (&c);
    assert_int_equal (from_text (&back, text, NULL), 0);
    assert_same (&c, &back);
    free (text);
    capture_fini (&c);
    capture_fini (&back);
}

static void check_refused (const char *text)
{
    struct capture c;
    struct err err = { "" };
    int rc = from_text (&c, text, &err);

    if (rc != -EBADMSG)
        fail_msg ("rc %d for %s", rc, text);
    assert_true (err.text[0] != '\0');
    capture_fini (&c);                  // a half-read one is freed whole
}

static void test_refused (void **state)
{
    static const char *const bad[] = {
        "[]", "\"x\"", "null", "1",
        // unknown members: another version's, which means something
        "{\"colour\":\"red\"}", "{\"Rank\":\"1\"}", "{\"\":\"1\"}",
        "{\"nsteps\":\"1\"}",
        // other types
        "{\"rank\":1}", "{\"rank\":null}", "{\"rank\":[]}", "{\"name\":1}",
        "{\"name\":null}", "{\"state\":1}", "{\"state\":\"done\"}",
        "{\"state\":[]}", "{\"steps\":\"1\"}", "{\"steps\":{}}",
        "{\"groups\":{}}", "{\"groups\":null}",
        // numbers that are none
        "{\"rank\":\"\"}", "{\"rank\":\"1.0\"}", "{\"rank\":\" 1\"}",
        "{\"rank\":\"0x1\"}", "{\"rank\":\"1e3\"}",
        // out of bounds
        "{\"rank\":\"-2\"}", "{\"rank\":\"999999\"}",
        "{\"rank\":\"9223372036854775808\"}", "{\"world_size\":\"-1\"}",
        "{\"world_size\":\"4194305\"}", "{\"device_id\":\"-2\"}",
        "{\"device_id\":\"2147483648\"}", "{\"raw_bytes\":\"-1\"}",
        "{\"started_ns\":\"-1\"}", "{\"ended_ns\":\"-1\"}",
        "{\"order_ns\":\"-1\"}",
        // lists
        "{\"steps\":[1]}", "{\"steps\":[null]}", "{\"steps\":[\"1\",[]]}",
        "{\"groups\":[1]}", "{\"groups\":[[]]}", "{\"groups\":[\"x\"]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        check_refused (bad[i]);
}

/* What a process with a larger --max-ranks stored is no damage. */
static void test_max_ranks (void **state)
{
    static const char stored[] =
        "{\"rank\":\"999998\",\"world_size\":\"999999\",\"groups\":[{\"id\":"
        "\"a\",\"pg_name\":\"\",\"members\":[999998]}]}";
    struct capture c;
    struct err err = { "" };

    (void)state;
    capture_world_max = 8;
    assert_int_equal (from_text (&c, stored, &err), 0);
    capture_fini (&c);
    capture_world_max = CAPTURE_WORLD_DEFAULT;
    check_refused ("{\"rank\":\"999999\"}");
    check_refused ("{\"world_size\":\"1000000\"}");
}

static void check_group (const char *group, bool good)
{
    char text[512];
    struct capture c;

    (void)snprintf (text, sizeof (text), "{\"groups\":[%s]}", group);
    if (!good) {
        check_refused (text);
        return;
    }
    assert_int_equal (from_text (&c, text, NULL), 0);
    assert_int_equal (c.ngroups, 1);
    capture_fini (&c);
}

static void test_groups_refused (void **state)
{
    (void)state;
    check_group ("{\"id\":\"a\",\"pg_name\":\"\",\"members\":[0,131071]}",
                 true);
    check_group ("{}", false);
    check_group ("{\"pg_name\":\"\",\"members\":[]}", false);
    check_group ("{\"id\":\"a\",\"members\":[]}", false);
    check_group ("{\"id\":\"a\",\"pg_name\":\"\"}", false);
    check_group ("{\"id\":1,\"pg_name\":\"\",\"members\":[]}", false);
    check_group ("{\"id\":\"a\",\"pg_name\":\"\",\"members\":{}}", false);
    check_group ("{\"id\":\"a\",\"pg_name\":\"\",\"members\":[-1]}", false);
    check_group ("{\"id\":\"a\",\"pg_name\":\"\",\"members\":[999999]}",
                 false);
    check_group ("{\"id\":\"a\",\"pg_name\":\"\",\"members\":[1.5]}", false);
    check_group ("{\"id\":\"a\",\"pg_name\":\"\",\"members\":[1e99]}", false);
    check_group ("{\"id\":\"a\",\"pg_name\":\"\",\"members\":[1e999]}",
                 false);
    check_group ("{\"id\":\"a\",\"pg_name\":\"\",\"members\":[\"1\"]}",
                 false);
    check_group ("{\"id\":\"a\",\"pg_name\":\"\",\"members\":[],\"x\":1}",
                 false);
}

static void check_length (const char *key, size_t max)
{
    char text[CAPTURE_REASON_MAX + 64], big[CAPTURE_REASON_MAX + 1];
    struct capture c;

    memset (big, 'x', max);
    big[max - 1] = '\0';
    (void)snprintf (text, sizeof (text), "{\"%s\":\"%s\"}", key, big);
    assert_int_equal (from_text (&c, text, NULL), 0);
    capture_fini (&c);
    big[max - 1] = 'x';
    big[max] = '\0';
    (void)snprintf (text, sizeof (text), "{\"%s\":\"%s\"}", key, big);
    check_refused (text);
}

/* A text that is too long is refused: cut, a name would be another one. */
static void test_lengths (void **state)
{
    (void)state;
    check_length ("name", CAPTURE_NAME_MAX);
    check_length ("host", CAPTURE_NAME_MAX);
    check_length ("framework", CAPTURE_TEXT_MAX);
    check_length ("level", CAPTURE_TEXT_MAX);
    check_length ("source", CAPTURE_SOURCE_MAX);
    check_length ("reason", CAPTURE_REASON_MAX);
}

/* More groups than a rank can have: refused, all of them freed. */
static void test_too_many_groups (void **state)
{
    size_t size = (CAPTURE_GROUPS_MAX + 1) * 64 + 64;
    char *text = malloc (size);
    size_t used;

    (void)state;
    assert_non_null (text);
    used = (size_t)snprintf (text, size, "{\"groups\":[");
    for (unsigned i = 0; i <= CAPTURE_GROUPS_MAX; i++)
        used += (size_t)snprintf (text + used, size - used,
                                  "%s{\"id\":\"a\",\"pg_name\":\"b\","
                                  "\"members\":[1]}", i ? "," : "");
    (void)snprintf (text + used, size - used, "]}");
    check_refused (text);
    free (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_group_hash),
        cmocka_unit_test (test_state_names),
        cmocka_unit_test (test_reason),
        cmocka_unit_test (test_reason_utf8),
        cmocka_unit_test (test_note_step),
        cmocka_unit_test (test_note_step_nul),
        cmocka_unit_test (test_note_step_limit),
        cmocka_unit_test (test_add_group),
        cmocka_unit_test (test_round_trip),
        cmocka_unit_test (test_round_trip_empty),
        cmocka_unit_test (test_refused),
        cmocka_unit_test (test_max_ranks),
        cmocka_unit_test (test_groups_refused),
        cmocka_unit_test (test_lengths),
        cmocka_unit_test (test_too_many_groups),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
