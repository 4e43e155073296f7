/* aggregator/ledger/ledger_facts.c - facts about jobs that no result has */
#include "ledger/ledger_private.h"

#include "base/utf8.h"
#include "store/row_sum.h"

#include <string.h>

/* ---- valid values ---- */

/* The bytes of a tag's next character, or 0. */
static size_t tag_char (const char *p)
{
    static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ._:=/+@-";

    if ((unsigned char)*p >= 0x80)
        return utf8_shown (p);
    return *p && strchr (plain, *p) ? 1 : 0;
}

bool ledger_valid_tag (const char *tag)
{
    size_t n, at = 0;

    if (!*tag || *tag == '-' || strlen (tag) > FACT_TAG_MAX)
        return false;
    while ((n = tag_char (tag + at)) > 0)
        at += n;
    return tag[at] == '\0';
}

bool ledger_valid_fact (const struct ledger_fact *f)
{
    return message_valid_name (f->job) && *f->key && *f->value &&
           (strcmp (f->key, FACT_TAG) != 0 || ledger_valid_tag (f->value));
}

/* ---- rows ---- */

int64_t ledger_fact_sum (const struct ledger_fact *f)
{
    return row_sum (f->job, f->key, f->value, f->at_ns, f->by, f->gone);
}

bool ledger_read_fact (sqlite3_stmt *st, struct ledger_fact *f)
{
    int64_t sum;

    db_columns (st, f->seq, f->job, f->key, f->value, f->at_ns, f->by, f->gone,
                sum);
    return ledger_valid_fact (f) && sum == ledger_fact_sum (f);
}

/* Those that a new fact replaces: the same one, or another value of its key. */
#define REPLACED " FROM fact WHERE job=?1 AND key=?2 AND (key<>'" FACT_TAG \
    "' OR value=?3)"

/* Its row: seq 0 if there is none, which is as if it was gone. */
static int find_fact (struct ledger *l, const struct ledger_fact *f,
                      struct ledger_fact *ret, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT " LEDGER_FACT " FROM fact "
                                    "WHERE job=?1 AND key=?2 AND value=?3",
                                    f->job, f->key, f->value);

    *ret = (struct ledger_fact){ .gone = true };
    if (db_step (&r) && !ledger_read_fact (r.st, ret))
        r.rc = ledger_damaged (err);
    return db_end (&r);
}

int ledger_has_fact (struct ledger *l, const struct ledger_fact *f,
                     struct err *err)
{
    struct ledger_fact known;
    int rc = find_fact (l, f, &known, err);

    return rc < 0 ? rc : known.gone == f->gone;
}

int ledger_is_of_user (struct ledger *l, const char *job, const char *user,
                       struct err *err)
{
    struct ledger_fact f = { .gone = false };
    int64_t more = 0;
    // a build finds whose captures they are: nothing is known of later ones
    int rc = db_one (ledger_rows (l, err, "SELECT ifnull(max(seq), 0)>ifnull(("
                                  "SELECT built FROM job WHERE id=?1), 0) FROM "
                                  "item WHERE job=?1 AND kind<=?2", job,
                                  ITEM_ROWS), more);

    PRINT (f.job, "%s", job);
    PRINT (f.key, FACT_USER);
    PRINT (f.value, "%s", user);
    return rc < 0 ? rc : more ? 0 : ledger_has_fact (l, &f, err);
}

static int drop_replaced (struct ledger *l, const struct ledger_fact *f,
                          struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT " LEDGER_FACT REPLACED,
                                    f->job, f->key, f->value);
    struct ledger_fact old;
    int rc;

    while (db_step (&r)) {
        if (!ledger_read_fact (r.st, &old)) {
            r.rc = ledger_damaged (err);
            break;
        }
        l->total.rows--;
        l->total.sum -= (uint64_t)ledger_fact_sum (&old);
    }
    if ((rc = db_end (&r)) < 0)
        return rc;
    return ledger_do (l, err, "DELETE" REPLACED, f->job, f->key, f->value);
}

/* Whether a command may not be entered: it was forgotten. */
static int is_forgotten (struct ledger *l, const struct ledger_fact *f,
                         struct err *err)
{
    struct ledger_fact known = { .value = "1", .key = FACT_FORGOTTEN };

    if (strcmp (f->key, FACT_COMMAND) != 0)
        return 0;
    PRINT (known.job, "%s", f->job);
    return ledger_has_fact (l, &known, err);
}

/* Its value must not stay in a row that is gone. */
static int forget_command (struct ledger *l, const struct ledger_fact *f,
                           struct err *err)
{
    struct ledger_fact command = { .value = "-", .key = FACT_COMMAND };

    PRINT (command.job, "%s", f->job);
    return strcmp (f->key, FACT_FORGOTTEN) == 0 && !f->gone
               ? drop_replaced (l, &command, err) : 0;
}

/* It was said again: the record of what was said between may be gone. */
static int say_again (struct ledger *l, const struct ledger_fact *known,
                      const struct ledger_fact *f, struct err *err)
{
    int64_t sum = ledger_fact_sum (f);

    if (known->seq == 0 || known->at_ns >= f->at_ns)
        return 0;
    l->total.sum += (uint64_t)sum - (uint64_t)ledger_fact_sum (known);
    return ledger_do (l, err, "UPDATE fact SET at_ns=?2, by=?3, sum=?4 WHERE "
                      "seq=?1", known->seq, f->at_ns, f->by, sum);
}

static int set_fact (struct ledger *l, void *arg, struct err *err)
{
    const struct ledger_fact *f = arg;
    struct ledger_fact known;
    int64_t sum = ledger_fact_sum (f), seq;
    int rc = find_fact (l, f, &known, err);

    // readers look for what is behind the last row that they have seen
    seq = 1 + db_number (ledger_rows (l, NULL, "SELECT max(seq) FROM fact"), 0);
    if (rc == 0 && known.gone == f->gone)
        return say_again (l, &known, f, err);
    if (rc == 0)
        rc = is_forgotten (l, f, err);
    if (rc == 0 && (rc = forget_command (l, f, err)) < 0)
        return rc;
    if (rc != 0)
        return rc < 0 ? rc : 0;
    if ((rc = drop_replaced (l, f, err)) < 0)
        return rc;
    l->total.rows++;
    l->total.sum += (uint64_t)sum;
    rc = ledger_do (l, err, "INSERT INTO fact (" LEDGER_FACT ") VALUES (?1,?2,"
                    "?3,?4,?5,?6,?7,?8)", seq, f->job, f->key, f->value,
                    f->at_ns, f->by, f->gone, sum);
    return rc < 0 ? rc : 1;
}

int ledger_set_fact (struct ledger *l, const struct ledger_fact *f,
                     struct err *err)
{
    struct ledger_fact copy = *f;

    return ledger_within (l, set_fact, &copy, err);
}

static int take_value (void *arg, const struct ledger_fact *f)
{
    struct ledger_fact *wanted = arg;

    if (strcmp (f->key, wanted->key) == 0 && !f->gone)
        PRINT (wanted->value, "%s", f->value);
    return 0;
}

int ledger_get_fact (struct ledger *l, const char *job, const char *key,
                     char value[FACT_VALUE_MAX], struct err *err)
{
    struct ledger_fact f = { .value = "" };
    int rc;

    PRINT (f.key, "%s", key);
    rc = ledger_each_fact (l, job, 0, take_value, &f, err);
    memcpy (value, f.value, FACT_VALUE_MAX);
    return rc;
}

int ledger_each_fact (struct ledger *l, const char *job, int64_t seq,
                      int (*fn) (void *arg, const struct ledger_fact *f),
                      void *arg, struct err *err)
{
    struct db_rows r = job
        ? ledger_rows (l, err, "SELECT " LEDGER_FACT " FROM fact WHERE job=?1 "
                       "AND seq>?2 ORDER BY seq", job, seq)
        : ledger_rows (l, err, "SELECT " LEDGER_FACT " FROM fact WHERE seq>?1 "
                       "ORDER BY seq", seq);
    struct ledger_fact f;

    while (db_step (&r))
        r.rc = ledger_read_fact (r.st, &f) ? fn (arg, &f)
                                           : ledger_damaged (err);
    return db_end (&r);
}
