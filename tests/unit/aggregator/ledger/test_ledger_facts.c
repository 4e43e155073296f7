/* tests/unit/aggregator/ledger/test_ledger_facts.c - facts about jobs, in rows
 * and in records
 */
#include "aggregator/ledger/ledger_check.h"

#include "store/db.h"
#include "store/record.h"

static struct ledger_fact fact (const char *key, const char *value,
                                int64_t at_ns)
{
    struct ledger_fact f = { .at_ns = at_ns };

    (void)snprintf (f.job, sizeof (f.job), "j");
    (void)snprintf (f.key, sizeof (f.key), "%s", key);
    (void)snprintf (f.value, sizeof (f.value), "%s", value);
    (void)snprintf (f.by, sizeof (f.by), "me");
    return f;
}

static int list (void *arg, const struct ledger_fact *f)
{
    char *text = arg;
    size_t used = strlen (text);

    (void)snprintf (text + used, 256 - used, "%s%s=%s ", f->gone ? "-" : "",
                    f->key, f->value);
    return 0;
}

static void has (struct root *r, int64_t seq, const char *want)
{
    char text[256] = "";

    assert_int_equal (ledger_each_fact (r->l, "j", seq, list, text, NULL), 0);
    assert_string_equal (text, want);
}

static void value_is (struct root *r, const char *key, const char *want)
{
    char value[FACT_VALUE_MAX];

    assert_int_equal (ledger_get_fact (r->l, "j", key, value, NULL), 0);
    assert_string_equal (value, want);
}

static int set (struct root *r, struct ledger_fact f)
{
    return ledger_set_fact (r->l, &f, NULL);
}

static int unset (struct root *r, struct ledger_fact f)
{
    f.gone = true;
    return ledger_set_fact (r->l, &f, NULL);
}

/* A job has many tags, and one user. */
static void test_values (void **state)
{
    struct root *r = *state;

    assert_int_equal (set (r, fact (FACT_TAG, "a", 1)), 1);
    assert_int_equal (set (r, fact (FACT_TAG, "b", 2)), 1);
    assert_int_equal (set (r, fact (FACT_TAG, "a", 3)), 0);
    assert_int_equal (set (r, fact (FACT_USER, "x", 4)), 1);
    assert_int_equal (set (r, fact (FACT_USER, "y", 5)), 1);
    has (r, 0, "tag=a tag=b user=y ");
    value_is (r, FACT_USER, "y");
    value_is (r, FACT_HOME, "");
    assert_int_equal (unset (r, fact (FACT_TAG, "c", 6)), 0);
    assert_int_equal (unset (r, fact (FACT_TAG, "a", 7)), 1);
    has (r, 0, "tag=b user=y -tag=a ");
    assert_int_equal (set (r, fact (FACT_TAG, "a", 8)), 1);
    has (r, 0, "tag=b user=y tag=a ");
}

static int note_time (void *arg, const struct ledger_fact *f)
{
    *(int64_t *)arg = f->at_ns;
    return 0;
}

/* The record of what was said between may be gone: the last time counts. */
static void test_again (void **state)
{
    struct root *r = *state;
    int64_t at_ns = 0;

    assert_int_equal (set (r, fact (FACT_PIN, "1", 3)), 1);
    assert_int_equal (set (r, fact (FACT_PIN, "1", 5)), 0);
    assert_int_equal (set (r, fact (FACT_PIN, "1", 4)), 0);
    assert_int_equal (ledger_each_fact (r->l, "j", 0, note_time, &at_ns, NULL),
                      0);
    assert_int_equal (at_ns, 5);
    root_close (r);
    root_open (r);              // all is verified
}

/* A command that was forgotten is in no row, and does not come back, in
 * whatever order the records are read.
 */
static void test_forgotten (void **state)
{
    struct root *r = *state;

    assert_int_equal (set (r, fact (FACT_COMMAND, "secret", 1)), 1);
    assert_int_equal (set (r, fact (FACT_FORGOTTEN, "1", 2)), 1);
    has (r, 0, "forgotten=1 ");
    has (r, 1, "forgotten=1 ");         // who has seen the first row hears it
    assert_int_equal (set (r, fact (FACT_COMMAND, "secret", 1)), 0);
    has (r, 0, "forgotten=1 ");
    root_close (r);
    root_open (r);
    has (r, 0, "forgotten=1 ");
}

/* Whoever has seen all up to a number sees what came later, also in the place
 * of the last one.
 */
static void test_later (void **state)
{
    struct root *r = *state;

    (void)set (r, fact (FACT_TAG, "a", 1));
    (void)set (r, fact (FACT_USER, "x", 2));
    has (r, 2, "");
    (void)set (r, fact (FACT_USER, "y", 3));
    has (r, 2, "user=y ");
}

/* A row that is gone, or changed, is noticed. */
static void test_verified (void **state)
{
    struct root *r = *state;
    struct err err = { "" };
    struct ledger *l = NULL;
    sqlite3 *db = NULL;

    (void)set (r, fact (FACT_TAG, "a", 1));
    (void)set (r, fact (FACT_TAG, "b", 1));
    root_close (r);
    root_open (r);
    has (r, 0, "tag=a tag=b ");
    root_close (r);
    r->l = NULL;                // it is not opened again
    r->s = NULL;
    assert_int_equal (sqlite3_open (r->db, &db), SQLITE_OK);
    assert_int_equal (db_exec (db, "DELETE FROM fact WHERE value='a'", NULL),
                      0);
    assert_int_equal (ledger_open (r->db, &l, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "rows are missing"));
    assert_int_equal (db_exec (db, "UPDATE fact SET value='c'", NULL), 0);
    assert_int_equal (ledger_open (r->db, &l, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "table fact"));
    (void)sqlite3_close (db);
}

static void test_tags (void **state)
{
    static const char *const bad[] = {
        "", "-a", "a b", "a,b", "a\tb", "a\n", "a'b", "a\"b", "\x01",
        "\xff", "a\xc2\x85", "a%",
    };
    char longest[FACT_TAG_MAX + 2];

    (void)state;
    memset (longest, 'a', sizeof (longest));
    longest[FACT_TAG_MAX] = '\0';
    assert_true (ledger_valid_tag (longest));
    longest[FACT_TAG_MAX] = 'a';
    longest[FACT_TAG_MAX + 1] = '\0';
    assert_false (ledger_valid_tag (longest));
    assert_true (ledger_valid_tag ("run-7/GPT_3:v1.0@x+y=z"));
    assert_true (ledger_valid_tag ("\xe4\xb8\xad\xe6\x96\x87"));
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        assert_false (ledger_valid_tag (bad[i]));
}

static void test_record (void **state)
{
    struct record r = { .kind = RECORD_FACT,
                        .fact = fact (FACT_COMMAND, "python x.py", 77) };
    struct record got;
    struct buf b;

    (void)state;
    r.fact.gone = true;
    buf_init (&b, RECORD_MAX);
    assert_int_equal (record_encode (&r, &b), 0);
    assert_int_equal (record_decode (&got, b.data, b.size, NULL), 0);
    assert_int_equal (got.kind, RECORD_FACT);
    assert_memory_equal (&got.fact, &r.fact, sizeof (got.fact));
    buf_clear (&b);
    r.fact.key[0] = '\0';       // nobody writes that
    assert_int_equal (record_encode (&r, &b), 0);
    assert_int_equal (record_decode (&got, b.data, b.size, NULL), -EBADMSG);
    buf_fini (&b);
}

/* What a commit left in the segment only, is entered at the next start. */
static void test_recovered (void **state)
{
    struct root *r = *state;
    struct ledger_fact f = fact (FACT_PIN, "1", 5);

    assert_int_equal (store_note_fact (r->s, &f, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    root_close (r);
    root_open (r);
    has (r, 0, "pin=1 ");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_values), ROOT_TEST (test_again), ROOT_TEST (test_forgotten), ROOT_TEST (test_later),
        ROOT_TEST (test_verified), cmocka_unit_test (test_tags),
        cmocka_unit_test (test_record), ROOT_TEST (test_recovered),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
