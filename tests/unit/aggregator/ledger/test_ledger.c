/* tests/unit/aggregator/ledger/test_ledger.c - what an aggregator knows to be
 * durable */
#include "aggregator/ledger/ledger_check.h"

#include "model/capture.h"

#include <sqlite3.h>

/* Sending anything again is harmless. */
static void test_twice (void **state)
{
    struct root *r = *state;

    assert_int_equal (deliver (r, "a", 1, "bytes"), 1);
    assert_int_equal (deliver (r, "a", 1, "bytes"), 0);
    assert_int_equal (count_all (r).n, 1);
}

/* A capture that was analysed again supersedes its older self, and may come
 * back to what it was.
 */
static void test_supersede (void **state)
{
    struct root *r = *state;
    struct count c;

    (void)deliver (r, "a", 1, "old");
    (void)deliver (r, "a", 2, "new");
    (void)deliver (r, "b", 3, "other");
    c = count_all (r);
    assert_int_equal (c.n, 3);
    assert_int_equal (c.superseded, 1);
    (void)deliver (r, "a", 1, "old");
    c = count_all (r);
    assert_int_equal (c.n - c.superseded, 2);
}

/* One version of a capture: its content, and when it was written to. */
static int deliver_version (struct root *r, uint8_t content,
                            int64_t newest_ns)
{
    struct ledger_item item = item_of ("a", content);

    item.newest_ns = newest_ns;
    return enter (r, item, "bytes");
}

struct counting {
    uint8_t content;            // of the one that counts
    unsigned n, rows;
};

static int note_counting (void *arg, const struct ledger_item *item)
{
    struct counting *c = arg;

    c->rows++;
    if (!item->superseded) {
        c->n++;
        c->content = item->content.bytes[0];
    }
    return 0;
}

static void check_counting (struct root *r, uint8_t content, unsigned rows)
{
    struct counting c = { 0, 0, 0 };

    assert_int_equal (ledger_each (r->l, "j", ITEM_ROWS, note_counting, &c,
                                   NULL), 0);
    assert_int_equal (c.n, 1);
    assert_int_equal (c.content, content);
    assert_int_equal (c.rows, rows);
}

/* The latest version counts, in whatever order they come and however often:
 * small ones overtake large ones, acknowledgements get lost.
 */
static void test_versions (void **state)
{
    struct root *r = *state;

    assert_int_equal (deliver_version (r, 2, 20), 1);
    assert_int_equal (deliver_version (r, 1, 10), 1);
    check_counting (r, 2, 2);
    assert_int_equal (deliver_version (r, 1, 10), 0);
    assert_int_equal (deliver_version (r, 2, 20), 0);
    check_counting (r, 2, 2);
    assert_int_equal (deliver_version (r, 3, 30), 1);
    assert_int_equal (deliver_version (r, 2, 20), 0);
    check_counting (r, 3, 3);
    // the first one again, but written anew
    assert_int_equal (deliver_version (r, 1, 40), 1);
    check_counting (r, 1, 4);
    // the same, touched: an older one does not come between
    assert_int_equal (deliver_version (r, 1, 60), 0);
    assert_int_equal (deliver_version (r, 4, 50), 1);
    check_counting (r, 1, 5);
    root_close (r);
    root_open (r);              // which verifies all sums
    check_counting (r, 1, 5);
    // an agent that knows no times
    assert_int_equal (deliver_version (r, 5, 0), 1);
    check_counting (r, 1, 6);
}

static struct ledger_item raw_of (const char *path, uint8_t content,
                                  int64_t newest_ns)
{
    struct ledger_item item = item_of ("a", content);

    item.kind = ITEM_RAW;
    item.newest_ns = newest_ns;
    (void)snprintf (item.path, sizeof (item.path), "%s", path);
    return item;
}

static int add_path (void *arg, const struct ledger_item *item)
{
    char *paths = arg;

    if (!item->superseded)
        (void)strcat (strcat (paths, item->path), " ");
    return 0;
}

/* A capture comes back with the files of its newest version, not with those
 * that this one does not have any more.
 */
static void test_raw_versions (void **state)
{
    struct root *r = *state;
    char paths[64] = "";

    (void)enter (r, raw_of ("same", 1, 10), "same");
    (void)enter (r, raw_of ("gone", 2, 10), "gone");
    (void)enter (r, raw_of ("new", 3, 20), "new");
    (void)enter (r, raw_of ("same", 1, 20), "same");
    assert_int_equal (ledger_each (r->l, "j", ITEM_RAW, add_path, paths,
                                   NULL), 0);
    assert_string_equal (paths, "same new ");
}

static int take_facts (void *arg, const struct ledger_item *i)
{
    *(struct file_facts *)arg = i->facts;
    assert_false (i->superseded);
    return 0;
}

/* Enter a raw file that has not changed but for its facts, which must then be
 * 'mode', 'uid' and the same group, and be known.
 */
static void again (struct root *r, struct ledger_item *item, uint32_t mode,
                   int64_t uid, uint32_t now_mode, int64_t now_uid)
{
    struct file_facts now;

    item->facts = (struct file_facts){ mode, mode ? 5 : 0, uid, uid };
    (void)enter (r, *item, "x");
    assert_int_equal (ledger_has_item (r->l, item, NULL), 1);
    assert_int_equal (ledger_each (r->l, "j", ITEM_RAW, take_facts, &now, NULL), 0);
    assert_int_equal (now.mode, now_mode);
    assert_int_equal (now.uid, now_uid);
    assert_int_equal (now.gid, now_uid);
}

/* chmod and chown change no date and no byte. */
static void check_facts (struct root *r, struct ledger_item *item)
{
    again (r, item, 0100600, -1, 0100600, -1);
    again (r, item, 0100640, -1, 0100640, -1);
    again (r, item, 0100640, 7, 0100640, 7);
    again (r, item, 0100640, -1, 0100640, 7);   // it was not asked for
    again (r, item, 0100644, -1, 0100644, 7);
    again (r, item, 0100644, 8, 0100644, 8);
    again (r, item, 0, 0, 0100644, 8);          // nothing is known
}

static void test_facts (void **state)
{
    struct ledger_item item = true_item ("c", "x");
    struct root *r = *state, other;

    item.kind = ITEM_RAW;
    item.newest_ns = 9;
    PRINT (item.path, "x");
    check_facts (r, &item);
    item.newest_ns = 8;         // an older version
    again (r, &item, 0100600, 9, 0100644, 8);
    item.newest_ns = 9;         // of a place, in a job's own scope
    PRINT (item.scope, "j");
    PRINT (item.dir, "00000000000000aa");
    root_make (&other);
    check_facts (&other, &item);
    root_remove (&other);
}

/* A transaction that fails half way leaves nothing. */
static void test_rollback (void **state)
{
    struct root *r = *state;
    struct ledger_item item = item_of ("a", 1);

    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &item.content, &item.place,
                                          NULL), 0);
    assert_int_equal (ledger_add_item (r->l, &item, NULL), 1);
    ledger_rollback (r->l);
    ledger_rollback (r->l);
    assert_int_equal (count_all (r).n, 0);
}

/* The same item of another job, rank, name or kind. */
static void enter_as (struct root *r, const char *job, enum item_kind kind,
                      int64_t rank, const char *capture)
{
    struct ledger_item item = item_of (capture, 1);

    (void)snprintf (item.job, sizeof (item.job), "%s", job);
    item.kind = kind;
    item.rank = rank;
    if (kind == ITEM_RAW)
        (void)strcpy (item.path, "x");
    assert_int_equal (enter (r, item, "bytes"), 1);
}

struct behind {
    char text[128];             // "job behind?, " of each
};

static int list_job (void *arg, const struct ledger_job *j)
{
    struct behind *b = arg;
    size_t used = strlen (b->text);

    (void)snprintf (b->text + used, sizeof (b->text) - used, "%s%s, ", j->id,
                    j->newest > j->built ? " behind" : "");
    return 0;
}

static void check_behind (struct root *r, enum item_kind last,
                          const char *want)
{
    struct behind b = { "" };

    assert_int_equal (ledger_each_job (r->l, last, list_job, &b, NULL), 0);
    assert_string_equal (b.text, want);
}

/* What a job's result was built of outlives the process. */
static void test_built (void **state)
{
    struct root *r = *state;

    assert_true (ledger_newest (r->l, "a", ITEM_RAW) == 0);
    enter_as (r, "a", ITEM_ROWS, 0, "x");
    enter_as (r, "b", ITEM_ROWS, 0, "x");
    check_behind (r, ITEM_ROWS, "a behind, b behind, ");
    assert_int_equal (ledger_set_built (r->l, "a",
                                        ledger_newest (r->l, "a", ITEM_ROWS),
                                        NULL, NULL), 0);
    check_behind (r, ITEM_ROWS, "a, b behind, ");
    root_close (r);
    root_open (r);
    check_behind (r, ITEM_ROWS, "a, b behind, ");
    enter_as (r, "a", ITEM_ROWS, 1, "x");
    check_behind (r, ITEM_ROWS, "a behind, b behind, ");
}

static int see_rows (void *arg, const struct ledger_job *j)
{
    struct ledger_job *ret = arg;

    *ret = *j;
    return 0;
}

/* While a result is replaced its rows are not known; what it has of the job is.
 */
static void test_forget_rows (void **state)
{
    static const struct digest none;
    const struct digest rows = { { 1 } };
    struct root *r = *state;
    struct ledger_job j;
    int64_t newest;

    assert_int_equal (ledger_forget_rows (r->l, "a", NULL), 0);
    enter_as (r, "a", ITEM_ROWS, 0, "x");
    newest = ledger_newest (r->l, "a", ITEM_ROWS);
    assert_int_equal (ledger_set_built (r->l, "a", newest, &rows, NULL), 0);
    assert_int_equal (ledger_forget_rows (r->l, "a", NULL), 0);
    root_close (r);
    root_open (r);
    assert_int_equal (ledger_each_job (r->l, ITEM_ROWS, see_rows, &j, NULL),
                      0);
    assert_true (j.built == newest);
    assert_true (digest_is (&j.rows, &none));
}

/* Raw files are no reason to build, unless they are part of the result. */
static void test_built_raw (void **state)
{
    struct root *r = *state;

    enter_as (r, "a", ITEM_ROWS, 0, "x");
    assert_int_equal (ledger_set_built (r->l, "a",
                                        ledger_newest (r->l, "a", ITEM_ROWS),
                                        NULL, NULL), 0);
    enter_as (r, "a", ITEM_RAW, 0, "x");
    enter_as (r, "b", ITEM_RAW, 0, "x");
    check_behind (r, ITEM_ROWS, "a, ");
    check_behind (r, ITEM_RAW, "a behind, b behind, ");
}

static void say (struct root *r, const char *job, enum size_claim_by by,
                 const char *who, const char *host, int64_t size)
{
    struct size_claim w = { .by = by, .world_size = size };

    (void)snprintf (w.who, sizeof (w.who), "%s", who);
    (void)snprintf (w.host, sizeof (w.host), "%s", host);
    assert_int_equal (ledger_set_claim (r->l, job, &w, NULL), 0);
}

/* Who is expected, and who says so, also to a later life. */
static void test_words (void **state)
{
    struct root *r = *state;
    struct size_claims w;

    assert_true (ledger_world_size (r->l, "a") == 0);
    say (r, "a", CLAIM_NODE, "k1", "h1", 8);
    say (r, "a", CLAIM_NODE, "k2", "h2", 4);
    say (r, "a", CLAIM_NODE, "k3", "h3", 4);
    assert_true (ledger_world_size (r->l, "a") == 4);
    say (r, "a", CLAIM_EXPECT, "", "", 6);
    root_close (r);
    root_open (r);
    assert_true (ledger_world_size (r->l, "a") == 6);
    assert_true (ledger_world_size (r->l, "b") == 0);
    assert_int_equal (ledger_size_claims (r->l, "a", &w, NULL), 0);
    assert_int_equal (w.n, 4);
    assert_string_equal (w.list[0].who, "k1");
    assert_string_equal (w.list[0].host, "h1");
    assert_int_equal (w.list[0].world_size, 8);
    assert_int_equal (w.list[3].by, CLAIM_EXPECT);
    assert_true (w.list[3].noted);
    size_claims_fini (&w);
    say (r, "a", CLAIM_EXPECT, "", "", 0);
    assert_true (ledger_world_size (r->l, "a") == 4);
}

/* Who reads may have a smaller maximum than who stored. */
static void test_many_ranks (void **state)
{
    struct root *r = *state;

    say (r, "a", CLAIM_EXPECT, "", "", CAPTURE_WORLD_LIMIT);
    assert_true (capture_world_max < CAPTURE_WORLD_LIMIT);
    assert_true (ledger_world_size (r->l, "a") == CAPTURE_WORLD_LIMIT);
}

static int get_built (void *arg, const struct ledger_job *j)
{
    *(int64_t *)arg = j->built;
    return 0;
}

/* A result is behind as soon as another number counts, and not before. */
static void test_word_rebuilds (void **state)
{
    struct root *r = *state;
    int64_t built = -1;

    (void)enter (r, true_item ("a", "bytes"), "bytes");
    say (r, "j", CLAIM_NODE, "k1", "h1", 4);
    assert_int_equal (ledger_set_built (r->l, "j", 1, NULL, NULL), 0);
    say (r, "j", CLAIM_NODE, "k2", "h2", 4);
    assert_int_equal (ledger_each_job (r->l, ITEM_ROWS, get_built, &built,
                                       NULL), 0);
    assert_int_equal (built, 1);
    say (r, "j", CLAIM_EXPECT, "", "", 5);
    assert_int_equal (ledger_each_job (r->l, ITEM_ROWS, get_built, &built,
                                       NULL), 0);
    assert_int_equal (built, 0);
}

static void exec (const char *db, const char *sql)
{
    sqlite3 *s = NULL;

    assert_int_equal (sqlite3_open (db, &s), SQLITE_OK);
    if (sqlite3_exec (s, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg ("%s: %s", sql, sqlite3_errmsg (s));
    (void)sqlite3_close (s);
}

static struct ledger_mark mark_now (struct root *r)
{
    struct ledger_mark m = ledger_mark (r->l);

    assert_true (m.epoch != 0);
    assert_int_equal (ledger_reaches (r->l, &m, NULL), 1);
    return m;
}

static void next_life (struct root *r)
{
    root_close (r);
    root_open (r);
    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
}

/* What was acknowledged in any life is there in all later ones. */
static void test_epochs (void **state)
{
    struct root *r = *state, other;
    struct ledger_mark marks[4], ahead;

    for (unsigned i = 0; i < 4; i++) {
        char name[8];

        next_life (r);
        marks[i] = mark_now (r);
        assert_int_equal (marks[i].seq, i);
        (void)snprintf (name, sizeof (name), "c%u", i);
        (void)enter (r, true_item (name, name), name);
        marks[i] = mark_now (r);
        assert_int_equal (marks[i].seq, i + 1);
    }
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal (ledger_reaches (r->l, &marks[i], NULL), 1);
    ahead = marks[1];
    ahead.seq++;                // no such one was acknowledged in that life
    assert_int_equal (ledger_reaches (r->l, &ahead, NULL), 0);
    ahead = marks[3];
    ahead.seq++;
    assert_int_equal (ledger_reaches (r->l, &ahead, NULL), 0);
    // a life that told nobody of its own
    root_close (r);
    root_open (r);
    assert_int_equal (ledger_reaches (r->l, &marks[3], NULL), 1);
    assert_int_equal (ledger_reaches (r->l, &ahead, NULL), 0);
    root_make (&other);
    assert_int_equal (ledger_begin_epoch (other.l, NULL), 0);
    assert_int_equal (ledger_reaches (other.l, &marks[0], NULL), 0);
    root_remove (&other);
}

/* Starts that acknowledge nothing (another one has the port) may be any number:
 * what was acknowledged before them is not asked for again.
 */
static void test_idle_epochs (void **state)
{
    struct root *r = *state;
    struct ledger_mark mark;

    next_life (r);
    (void)enter (r, true_item ("a", "a"), "a");
    mark = mark_now (r);
    for (unsigned i = 0; i < 2000; i++)
        assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    assert_int_equal (ledger_reaches (r->l, &mark, NULL), 1);
    next_life (r);
    assert_int_equal (ledger_reaches (r->l, &mark, NULL), 1);
    (void)enter (r, true_item ("b", "b"), "b");
    (void)enter (r, true_item ("c", "c"), "c");
    mark.seq++;
    assert_int_equal (ledger_reaches (r->l, &mark, NULL), 0);
}

/* An old ledger that has grown again since then is not what it was, however
 * large it is.
 */
static void test_backup (void **state)
{
    struct root *r = *state;
    struct ledger_mark before, lost;
    char sql[PATH_MAX + 64], backup[PATH_MAX];

    next_life (r);
    (void)enter (r, true_item ("a", "a"), "a");
    before = mark_now (r);
    (void)snprintf (backup, sizeof (backup), "%s.backup", r->db);
    (void)snprintf (sql, sizeof (sql), "VACUUM INTO '%s'", backup);
    exec (r->db, sql);
    (void)enter (r, true_item ("b", "b"), "b");
    lost = mark_now (r);
    root_close (r);
    assert_int_equal (rename (backup, r->db), 0);
    // without what the store finds behind the ledger's end
    assert_int_equal (ledger_open (r->db, &r->l, NULL), 0);
    r->s = NULL;
    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        char name[8];

        (void)snprintf (name, sizeof (name), "n%u", i);
        assert_int_equal (ledger_begin (r->l, NULL), 0);
        assert_int_equal (ledger_enter_epoch (r->l, NULL), 0);
        assert_int_equal (ledger_add_item (r->l, &(struct ledger_item){
            .job = "j", .kind = ITEM_ROWS, .capture = { name[0], name[1] } },
                                           NULL), 1);
        assert_int_equal (ledger_commit (r->l, NULL), 0);
        assert_int_equal (ledger_reaches (r->l, &before, NULL), 1);
        assert_int_equal (ledger_reaches (r->l, &lost, NULL), 0);
    }
    assert_true (ledger_mark (r->l).seq > lost.seq);
}

static int take_heard (void *arg, const struct ledger_heard *h)
{
    struct ledger_heard *all = arg;

    assert_in_range (h->rank, 0, 3);
    all[h->rank] = *h;
    return 0;
}

/* What was heard of a rank: the last word, of one job, for later lives.  An
 * agent that was started again says the host before it knows of MPI and of the
 * end of COMMAND: that must not take back what was said of them.
 */
static void test_heard (void **state)
{
    static const struct ledger_heard said[] = {
        { 3, 3, 4, "h1", { 5, 9, 0 } }, { 1, 1, 2, "", { 4, 0, 1 } },
        { 1, 2, 4, "h0", { 6, 0, 3 } }, { 3, 0, 0, "h2", { 0, 0, 0 } },
    };
    struct ledger_heard all[4] = { { 0 } };
    struct root *r = *state;

    for (size_t i = 0; i < sizeof (said) / sizeof (said[0]); i++)
        assert_int_equal (ledger_set_heard (r->l, "j", &said[i], NULL), 0);
    assert_int_equal (ledger_set_heard (r->l, "k", &said[0], NULL), 0);
    root_close (r);
    root_open (r);
    assert_int_equal (ledger_each_heard (r->l, "j", take_heard, all, NULL),
                      0);
    assert_true (all[0].mpi_size == 0 && all[2].mpi_size == 0);
    assert_true (all[1].mpi_rank == 2 && all[1].mpi_size == 4);
    assert_true (all[3].mpi_rank == 3 && all[3].mpi_size == 4);
    assert_string_equal (all[1].host, "h0");
    assert_string_equal (all[3].host, "h2");
    assert_true (all[1].command.ns == 6 && all[1].command.status == 3);
    assert_true (all[3].command.ns == 5 && all[3].command.signal == 9);
}

/* A ledger that this program cannot know is not touched: it would be taken for
 * an empty one, and every agent would deliver again.
 */
static void refuses (struct root *r, const char *sql, int rc, const char *text)
{
    struct err err = { "" };
    struct ledger *l = NULL;

    exec (r->db, sql);
    assert_int_equal (ledger_open (r->db, &l, &err), rc);
    assert_non_null (strstr (err.text, text));
    assert_null (l);
}

static void test_other_version (void **state)
{
    struct root *r = *state;

    (void)enter (r, true_item ("a", "bytes"), "bytes");
    root_close (r);
    r->s = NULL;
    r->l = NULL;
    refuses (r, "PRAGMA user_version=2", -ENOTSUP, "another version");
    refuses (r, "PRAGMA user_version=0", -EBADMSG, "it has no version");
    exec (r->db, "PRAGMA user_version=1");
    root_open (r);
    assert_int_equal (count_all (r).n, 1);
}

/* Whatever is changed in a row, or left out, is noticed when the ledger is
 * opened: SQLite itself notices none of these.
 */
static void test_damaged_rows (void **state)
{
    static const char *const damage[] = {
        "UPDATE item SET rank=5", "UPDATE item SET superseded=1",
        "UPDATE item SET capture='b'", "UPDATE item SET received_ns=1",
        "DELETE FROM item", "UPDATE content SET offset=offset+1",
        "UPDATE content SET size=3", "UPDATE job SET world_size=2",
        "UPDATE job SET built=9", "DELETE FROM job",
        "UPDATE segment SET end=0", "DELETE FROM total",
        "UPDATE total SET rows=7", "UPDATE epoch SET id=id+1",
        "UPDATE epoch SET began=7", "UPDATE word SET world_size=9",
        "UPDATE word SET host='i'",
    };
    struct root *r = *state;
    char undo[PATH_MAX + 64], sql[128];

    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    (void)enter (r, true_item ("a", "bytes"), "bytes");
    say (r, "j", CLAIM_NODE, "k", "h", 8);
    root_close (r);
    for (size_t i = 0; i < sizeof (damage) / sizeof (damage[0]); i++) {
        struct err err = { "" };

        (void)snprintf (undo, sizeof (undo), "VACUUM INTO '%s.%zu'", r->db, i);
        exec (r->db, undo);
        (void)snprintf (undo, sizeof (undo), "%s.%zu", r->db, i);
        (void)snprintf (sql, sizeof (sql), "%s", damage[i]);
        exec (undo, sql);
        if (ledger_open (undo, &r->l, &err) != -EBADMSG)
            fail_msg ("not noticed: %s (%s)", damage[i], err.text);
    }
    root_open (r);
}

/* One process writes while another reads what there was when it began. */
static void test_reader (void **state)
{
    struct root *r = *state, other = *r;

    assert_int_equal (ledger_open_read ("/nothing/here", &other.l, NULL),
                      -ENOENT);
    (void)enter (r, true_item ("a", "bytes"), "bytes");
    assert_int_equal (ledger_open_read (r->db, &other.l, NULL), 0);
    (void)enter (r, true_item ("b", "more"), "more");
    assert_int_equal (count_all (&other).n, 1);
    ledger_end_read (other.l);
    assert_int_equal (ledger_begin_read (other.l, NULL), 0);
    assert_int_equal (count_all (&other).n, 2);
    ledger_close (other.l);
}

static int list_shared (void *arg, const struct ledger_item *item)
{
    struct behind *b = arg;
    size_t used = strlen (b->text);

    (void)snprintf (b->text + used, sizeof (b->text) - used, "%s%lld%s, ",
                    item->capture, (long long)item->rank,
                    item->shared_name ? " shared" : "");
    return 0;
}

static void test_shared_name (void **state)
{
    struct root *r = *state;
    struct behind b = { "" };

    enter_as (r, "j", ITEM_ROWS, 0, "x");
    enter_as (r, "j", ITEM_ROWS, -1, "x");
    enter_as (r, "j", ITEM_ROWS, 0, "y");
    enter_as (r, "j", ITEM_RAW, 1, "y");        // its rows may come later
    enter_as (r, "j", ITEM_ROWS, 0, "z");
    enter_as (r, "j", ITEM_RAW, 0, "z");
    enter_as (r, "k", ITEM_ROWS, 1, "z");       // of another job
    assert_int_equal (ledger_each (r->l, "j", ITEM_ROWS, list_shared, &b,
                                   NULL), 0);
    assert_string_equal (b.text, "x0 shared, x-1 shared, y0 shared, z0, ");
    b.text[0] = '\0';
    assert_int_equal (ledger_each (r->l, "j", ITEM_RAW, list_shared, &b, NULL),
                      0);
    assert_string_equal (b.text, "y1 shared, z0, ");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_twice), ROOT_TEST (test_supersede),
        ROOT_TEST (test_versions), ROOT_TEST (test_raw_versions),
        ROOT_TEST (test_facts), ROOT_TEST (test_rollback), ROOT_TEST (test_built),
        ROOT_TEST (test_built_raw),
        ROOT_TEST (test_forget_rows), ROOT_TEST (test_words),
        ROOT_TEST (test_many_ranks),
        ROOT_TEST (test_word_rebuilds),
        ROOT_TEST (test_heard),
        ROOT_TEST (test_other_version),
        ROOT_TEST (test_damaged_rows), ROOT_TEST (test_reader),
        ROOT_TEST (test_shared_name),
        ROOT_TEST (test_epochs), ROOT_TEST (test_idle_epochs),
        ROOT_TEST (test_backup),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
