/* tests/unit/aggregator/builder/test_former.c - rows of the former result are
 * used again, and nobody can tell
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/former.h"
#include "publish/rows_digest.h"
#include "rounds.h"
#include "store/db.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS 8
#define SHIPPED_MAX (3 * RANKS)
#define ANY SIZE_MAX            // number of captures reused
#define OPS 40                  // of each step: a capture fills whole leaves
#define COMPARED ROUNDS (true, false, false)    // with a new result
#define STATES_MAX 16
#define STEPS 8                 // of a capture; the last one is an edge

struct shipped {
    int64_t rank;
    int first;                  // its first step; older captures have lower ones
    int salt;                   // other content
    bool lost;
    bool hides;                 // its metadata lacks a group of its ops
};

struct work {
    char dir[64];
    const struct shipped *list;
    size_t n;
    atomic_size_t read;         // captures whose rows were read
    size_t reused;              // captures, by the last build
    const char *framework;
    bool one_name;              // all groups of pairs have it
    unsigned threads;
    const struct derive_options *derive;
    struct build_state states[STATES_MAX];      // by name of the result
    char names[STATES_MAX][24];
};

static struct shipped all[RANKS];

/* ---- captures ---- */

static void add_group (struct capture *c, const char *id, int first, int n)
{
    int32_t *members = malloc (RANKS * sizeof (*members));

    assert_non_null (members);
    for (int i = 0; i < n; i++)
        members[i] = first + i;
    assert_int_equal (capture_add_group (c, id, "tp", members, (uint32_t)n,
                                         NULL), 0);
}

/* Its ops show that it is the rank that it says. */
static void add_proof (struct capture *c)
{
    char hash[CAPTURE_HASH_MAX];
    struct evidence_group *g;

    capture_group_hash ("world", hash);
    g = evidence_group_at (&c->evidence, hash, strlen (hash));
    assert_non_null (g);
    g->own = (int32_t)c->rank;
}

static void name_pair (const struct work *w, const struct shipped *s,
                       char name[32])
{
    (void)snprintf (name, 32, "pair%lld",
                    w->one_name ? 0 : (long long)s->rank / 2);
}

static void describe (const struct work *w, const struct shipped *s,
                      struct capture *c)
{
    char pair[32];

    capture_init (c);
    c->rank = s->rank;
    c->world_size = RANKS;
    c->order_ns = c->started_ns = 1000 * s->first;
    c->ended_ns = c->started_ns + 900;
    c->state = CAPTURE_COMPLETE;
    c->whole_tables = (1u << TABLE_PROFILER_COUNT) - 1;
    c->evidence.schedule.warmup = 0;
    (void)snprintf (c->name, sizeof (c->name), "capture_%lld_%d",
                    (long long)s->rank, s->first);
    (void)snprintf (c->host, sizeof (c->host), "host%lld",
                    (long long)s->rank / 2);
    (void)snprintf (c->framework, sizeof (c->framework), "%s", w->framework);
    for (int i = 0; i < STEPS; i++) {
        char step[16];
        int n = snprintf (step, sizeof (step), "%d", s->first + i);

        assert_int_equal (capture_note_step (c, step, (size_t)n), 0);
    }
    add_group (c, "world", 0, RANKS);
    add_proof (c);
    name_pair (w, s, pair);
    if (!s->hides)
        add_group (c, pair, (int)s->rank / 2 * 2, 2);
}

/* A row of an op; values differ by rank, step, op and content. */
static void add_op (const struct work *w, struct batch *b,
                    const struct shipped *s, int step, int op)
{
    const char *group = op % 2 ? "pair" : "world";
    const char *type = s->hides && op % 2 && s->rank > 0 ? "p2p" : "collective";
    char name[64], hash[CAPTURE_HASH_MAX], id[32], place[24];
    double x = (double)((s->rank * 7 + op * 13 + s->salt) % 17 + 1) / 16;

    name_pair (w, s, id);
    capture_group_hash (op % 2 ? id : "world", hash);
    (void)snprintf (place, sizeof (place), "step%d", s->first + step);
    (void)snprintf (name, sizeof (name), "hcom_allReduce__%s_%d_1", group, op);
    b[0].text[TIME_OP][b[0].nrows] = batch_string (&b[0], name);
    b[0].text[TIME_GROUP][b[0].nrows] = batch_string (&b[0], hash);
    b[0].text[TIME_STEP][b[0].nrows] = batch_string (&b[0], place);
    b[0].text[TIME_TYPE][b[0].nrows] = batch_string (&b[0], type);
    for (unsigned i = TIME_START; i < TIME_STEP; i++)
        b[0].real[i][b[0].nrows] = x + i;
    b[0].nrows++;
    b[1].text[BW_OP][b[1].nrows] = batch_string (&b[1], name);
    b[1].text[BW_GROUP][b[1].nrows] = batch_string (&b[1], hash);
    b[1].text[BW_TRANSPORT][b[1].nrows] = batch_string (&b[1], "HCCS");
    b[1].text[BW_STEP][b[1].nrows] = batch_string (&b[1], place);
    b[1].text[BW_TYPE][b[1].nrows] = batch_string (&b[1], "collective");
    for (unsigned i = BW_SIZE; i < BW_STEP; i++)
        b[1].real[i][b[1].nrows] = x * i;
    b[1].nrows++;
    b[2].text[MATRIX_OP][b[2].nrows] = batch_string (&b[2], "allreduce-total");
    b[2].text[MATRIX_GROUP][b[2].nrows] = batch_string (&b[2], hash);
    b[2].text[MATRIX_SRC][b[2].nrows] = batch_string (&b[2], s->rank % 2 ? "1"
                                                                  : "0");
    b[2].text[MATRIX_DST][b[2].nrows] = batch_string (&b[2], s->rank % 2 ? "0"
                                                                  : "1");
    b[2].text[MATRIX_TRANSPORT][b[2].nrows] = batch_string (&b[2], "HCCS");
    b[2].text[MATRIX_STEP][b[2].nrows] = batch_string (&b[2], place);
    b[2].text[MATRIX_TYPE][b[2].nrows] = batch_string (&b[2], "collective");
    b[2].text[MATRIX_OP_NAME][b[2].nrows] = batch_string (&b[2], name);
    for (unsigned i = MATRIX_SIZE; i < MATRIX_STEP; i++)
        b[2].real[i][b[2].nrows] = x + i;
    b[2].nrows++;
}

static void add_step (struct batch *b, const struct shipped *s, int step)
{
    char id[16];

    (void)snprintf (id, sizeof (id), "%d", s->first + step);
    b->text[STEP_STEP][b->nrows] = batch_string (b, id);
    for (unsigned i = STEP_COMPUTING; i <= STEP_PREPARING; i++)
        b->real[i][b->nrows] = step == STEPS - 1 ? 9e6 : 1000;
    b->real[STEP_DEVICE][b->nrows++] = (double)(s->rank % 2);
}

/* What waits tell of clocks comes behind it. */
static void add_info (struct batch *b)
{
    b->text[INFO_KIND][b->nrows] = batch_string (b, "session");
    b->text[INFO_NAME][b->nrows] = batch_string (b, "name");
    b->text[INFO_VALUE][b->nrows] = batch_string (b, "value");
    b->nrows++;
}

static void add_rows (const struct work *w, const struct shipped *s,
                      const struct row_sink *sink)
{
    static const enum table_id tables[] = { TABLE_TIME, TABLE_BANDWIDTH,
                                            TABLE_MATRIX, TABLE_STEP,
                                            TABLE_INFO };
    struct batch b[5];

    for (int i = 0; i < 5; i++)
        assert_int_equal (batch_init (&b[i], tables[i], NULL), 0);
    add_info (&b[4]);
    assert_int_equal (batch_flush (&b[4], sink, NULL), 0);
    for (int step = 0; step < STEPS; step++) {
        add_step (&b[3], s, step);
        for (int op = 0; op < OPS; op++)
            add_op (w, b, s, step, op);
        for (int i = 0; i < 4; i++)
            assert_int_equal (batch_flush (&b[i], sink, NULL), 0);
    }
    for (int i = 0; i < 5; i++)
        batch_fini (&b[i]);
}

static int feed (void *arg, size_t source, const struct row_sink *sink,
                 struct capture *c, struct err *err)
{
    struct work *w = arg;
    const struct shipped *s = &w->list[source];

    (void)err;
    describe (w, s, c);
    if (sink) {
        add_rows (w, s, sink);
        atomic_fetch_add (&w->read, 1);
    }
    return 0;
}

/* ---- builds ---- */

/* What the last build of this name left. */
static struct build_state *state_of (struct work *w, const char *name)
{
    int i = 0;

    while (*w->names[i] && strcmp (w->names[i], name) != 0)
        i++;
    assert_true (i < STATES_MAX);
    (void)snprintf (w->names[i], sizeof (w->names[i]), "%s", name);
    return &w->states[i];
}

/* Build the result of these captures in a directory; what it is, as a digest. */
static struct digest build (struct work *w, const char *name,
                            const struct shipped *list, size_t n,
                            size_t reused)
{
    static const atomic_bool no = false;
    struct select_item items[SHIPPED_MAX];
    struct digest contents[SHIPPED_MAX], ret, whole;
    struct build_state *state = state_of (w, name);
    struct build_result result;
    struct roster roster;
    struct publish p;
    struct err err = { "" };
    size_t lost = 0;
    char out[96];
    struct build_job job = {
        .items = items, .nitems = n, .roster = &roster, .threads = w->threads,
        .feed = feed, .feed_arg = w, .cancel = &no, .job_id = "j",
        .derive = w->derive, .state = state };

    memset (items, 0, sizeof (items));
    w->list = list;
    w->n = n;
    atomic_store (&w->read, 0);
    for (size_t i = 0; i < n; i++) {
        describe (w, &list[i], &items[i].capture);
        items[i].source = i;
        items[i].weight = 1000;
        items[i].skip = list[i].lost;
        assert_int_equal (digest_of (&list[i], sizeof (list[i]), &contents[i]),
                          0);
        items[i].content = &contents[i];
    }
    select_plan (items, n);
    roster_init (&roster);
    (void)snprintf (out, sizeof (out), "%s/%s", w->dir, name);
    if (publish_open (&p, out, NULL, false, &err) < 0 ||
        build_run (&job, &p, &result, &err) < 0)
        fail_msg ("%s", err.text);
    publish_close (&p);
    if (reused != ANY) {
        assert_int_equal (result.reused, reused);
        assert_int_equal (result.rows, n * STEPS * (3 * OPS + 1));
    }
    for (size_t i = 0; i < n; i++)
        lost += list[i].lost;
    if (result.reused > 0)
        assert_int_equal (atomic_load (&w->read), n - lost - result.reused);
    w->reused = result.reused;
    assert_int_equal (rows_digest_blocks (result.path, 2, NULL, &state->blocks,
                                          &ret, &err), 0);
    assert_int_equal (rows_digest (result.path, 1, NULL, &whole, &err), 0);
    assert_true (digest_is (&ret, &whole));
    former_keep_blocks (&state->blocks);
    roster_fini (&roster);
    select_free (items, n);
    return ret;
}

static void path_of (const struct work *w, const char *name,
                     char path[PATH_MAX])
{
    (void)snprintf (path, PATH_MAX, "%s/%s/" PUBLISH_OUTPUT_DIR "/"
                    BUILD_DB_NAME, w->dir, name);
}

/* SQLite finds the same tables in both, and an index for each row. */
static void compare_files (const struct work *w, const char *name,
                           const char *fresh)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;

    path_of (w, name, path);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (db_int (db, "SELECT integrity_check='ok' FROM"
                              " pragma_integrity_check", 0), 1);
    path_of (w, fresh, path);
    assert_int_equal (db_execf (db, NULL, "ATTACH %Q AS fresh", path), 0);
    assert_int_equal (db_int (
        db, "SELECT count(*) FROM (SELECT type, name, sql FROM"
            " main.sqlite_schema EXCEPT SELECT type, name, sql FROM"
            " fresh.sqlite_schema)", -1), 0);
    assert_int_equal (db_int (
        db, "SELECT (SELECT count(*) FROM main.sqlite_schema)-(SELECT count(*)"
            " FROM fresh.sqlite_schema)", -1), 0);
    (void)sqlite3_close (db);
}

/* That of the former one with these captures is the same as a new one. */
static void check (struct work *w, const char *name,
                   const struct shipped *list, size_t n, size_t reused)
{
    struct digest a, b;
    char dir[96];
    size_t used;

    // a result tells what the one before had
    (void)snprintf (dir, sizeof (dir), "%s/fresh", w->dir);
    if (reused != ANY)
        (void)fileio_remove_tree (dir, NULL);
    a = build (w, name, list, n, reused);
    if (!COMPARED)
        return;
    used = w->reused;
    build_state_fini (state_of (w, "fresh"));
    b = build (w, "fresh", list, n, reused == ANY ? ANY : 0);
    w->reused = used;
    assert_true (digest_is (&a, &b));
    compare_files (w, name, "fresh");
}

static int setup (void **state)
{
    struct work *w = calloc (1, sizeof (*w));

    assert_non_null (w);
    for (int i = 0; i < RANKS; i++)
        all[i] = (struct shipped){ .rank = i, .first = 10 };
    (void)snprintf (w->dir, sizeof (w->dir), "/tmp/test_former-XXXXXX");
    assert_non_null (mkdtemp (w->dir));
    w->framework = "ascend_pt";
    w->threads = 2;
    *state = w;
    return 0;
}

static int teardown (void **state)
{
    struct work *w = *state;

    assert_int_equal (fileio_remove_tree (w->dir, NULL), 0);
    for (int i = 0; i < STATES_MAX; i++)
        build_state_fini (&w->states[i]);
    free (w);
    return 0;
}

/* A rank comes when all others have: it is the first, in the middle, the last.
 */
static void test_late (void **state)
{
    struct work *w = *state;

    for (size_t late = 0; late < RANKS; late += late ? 4 : 3) {
        struct shipped most[RANKS];
        char name[16];

        (void)snprintf (name, sizeof (name), "late%zu", late);
        memcpy (most, all, late * sizeof (all[0]));
        memcpy (most + late, all + late + 1,
                (RANKS - 1 - late) * sizeof (all[0]));
        (void)build (w, name, most, RANKS - 1, 0);
        check (w, name, all, RANKS, RANKS - 1);
        check (w, name, all, RANKS, RANKS);     // nothing is new
        w->threads = 3 - w->threads;
    }
}

/* Two ranks come with a group that nobody knew: groups have other numbers. */
static void test_more_groups (void **state)
{
    struct work *w = *state;

    (void)build (w, "out", all + 2, RANKS - 2, 0);
    check (w, "out", all, RANKS, 0);
}

/* A rank brings more captures: its steps may be the same. */
static void test_more_captures (void **state)
{
    struct shipped more[RANKS + 2];
    struct work *w = *state;

    memcpy (more, all, sizeof (all));
    more[RANKS] = (struct shipped){ .rank = 2, .first = 30 };
    more[RANKS + 1] = (struct shipped){ .rank = 2, .first = 50 };
    (void)build (w, "out", all, RANKS, 0);
    check (w, "out", more, RANKS + 1, 0);
    check (w, "out", more, RANKS + 2, 0);
    check (w, "out", more, RANKS + 2, RANKS + 2);
    // an older one takes the place of the first
    more[RANKS].first = 1;
    (void)build (w, "older", all, RANKS, 0);
    check (w, "older", more, RANKS + 1, 0);
}
/* Of a rank's captures one comes back that was lost, and another does not. */
static void test_lost (void **state)
{
    struct shipped list[RANKS + 2];
    struct work *w = *state;

    memcpy (list, all, sizeof (all));
    list[RANKS] = (struct shipped){ .rank = 2, .first = 30, .lost = true };
    list[RANKS + 1] = (struct shipped){ .rank = 2, .first = 50, .lost = true };
    (void)build (w, "out", list, RANKS + 2, ANY);
    check (w, "out", list, RANKS + 2, ANY);
    assert_int_equal (w->reused, RANKS);
    list[RANKS + 1].lost = false;
    check (w, "out", list, RANKS + 2, ANY);
    assert_int_equal (w->reused, 0);
}

/* Metadata of others has a group of several ranks, which use it in two ways. */
static void test_hidden_group (void **state)
{
    struct shipped list[RANKS];
    struct work *w = *state;

    memcpy (list, all, sizeof (all));
    list[0].hides = list[RANKS - 1].hides = true;
    w->one_name = true;
    (void)build (w, "out", list, RANKS - 1, ANY);
    check (w, "out", list, RANKS, ANY);
    list[0].hides = false;      // only that of the late one
    (void)build (w, "one", list, RANKS - 1, ANY);
    check (w, "one", list, RANKS, ANY);
}

/* What was delivered again with other content, or is gone, is not in it. */
static void test_other_content (void **state)
{
    struct shipped other[RANKS];
    struct work *w = *state;

    memcpy (other, all, sizeof (all));
    other[3].salt = 1;
    (void)build (w, "out", all, RANKS, 0);
    check (w, "out", other, RANKS, 0);
    (void)build (w, "out", other, RANKS - 1, 0);
    w->framework = "kineto";    // whose rows depend on other ranks
    (void)build (w, "out", all, RANKS, 0);
    (void)build (w, "out", all, RANKS, 0);
}


/* Whoever wrote into the result, SQLite or a bad disk, it is built anew. */
static void test_changed (void **state)
{
    struct work *w = *state;
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    uint8_t byte;
    int fd, found = 0;

    path_of (w, "out", path);
    (void)build (w, "out", all, RANKS, 0);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (db_exec (db, "UPDATE CommAnalyzerTime SET elapse_time=0 "
                               "WHERE rank=1", NULL), 0);
    (void)sqlite3_close (db);
    check (w, "out", all, RANKS, 0);
    // a bit of a value, in pages of any kind
    for (off_t at = 6 * 16384 - 99; at < 48 * 16384; at += 7 * 16384) {
        assert_true ((fd = open (path, O_RDWR | O_CLOEXEC)) >= 0);
        assert_int_equal (pread (fd, &byte, 1, at), 1);
        byte ^= 1;
        assert_int_equal (pwrite (fd, &byte, 1, at), 1);
        (void)close (fd);
        check (w, "out", all, RANKS, ANY);
        found += w->reused == 0;
    }
    assert_true (found >= 2);
    assert_int_equal (truncate (path, 20 * 16384), 0);
    check (w, "out", all, RANKS, 0);
    check (w, "out", all, RANKS, RANKS);
}

/* ---- histories ---- */

/* A capture arrives, one is delivered again with other content, or one is
 * removed.  A rank has up to three; the steps of some are also in others.
 */
static size_t change (struct shipped *list, size_t n)
{
    static const int firsts[] = { 10, 30, 50, 14 };
    size_t at = n > 0 ? (size_t)rand () % n : 0;
    struct shipped s = { .rank = rand () % RANKS,
                         .first = firsts[rand () % 8 ? 0 : rand () % 4] };
    size_t own = 0;

    switch (rand () % 8) {
    case 0:
        if (n > RANKS / 2)
            memmove (&list[at], &list[at + 1],
                     (--n - at) * sizeof (*list));
        return n;
    case 1:
        list[at].salt++;
        return n;
    default:
        for (size_t i = 0; i < n; i++) {
            own += list[i].rank == s.rank;
            if (list[i].rank == s.rank && list[i].first == s.first)
                return n;
        }
        if (own < 3)
            list[n++] = s;
        return n;
    }
}

/* Whatever happened before, the result is that of a new build. */
static void test_histories (void **state)
{
    static const struct derive_options every = { .all_steps = true };
    const char *more = getenv ("ROLLCALL_TEST_ROUNDS");     // times as many
    int rounds = more ? atoi (more) : 1, used = 0;
    struct work *w = *state;

    srand ((unsigned)rounds);
    for (int i = 0; i < rounds; i++) {
        struct shipped list[SHIPPED_MAX];
        size_t n = RANKS - 4;

        memcpy (list, all, sizeof (all));
        for (int k = 0; k < 12; k++) {
            n = change (list, n);
            w->threads = 1 + (unsigned)rand () % 3;
            w->derive = rand () % 3 ? NULL : &every;
            check (w, "out", list, n, ANY);
            used += w->reused > 0;
        }
    }
    assert_true (used > rounds);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_late, setup, teardown),
        cmocka_unit_test_setup_teardown (test_more_groups, setup, teardown),
        cmocka_unit_test_setup_teardown (test_more_captures, setup, teardown),
        cmocka_unit_test_setup_teardown (test_lost, setup, teardown),
        cmocka_unit_test_setup_teardown (test_hidden_group, setup, teardown),
        cmocka_unit_test_setup_teardown (test_other_content, setup, teardown),
        cmocka_unit_test_setup_teardown (test_changed, setup, teardown),
        cmocka_unit_test_setup_teardown (test_histories, setup, teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
