/* tests/unit/aggregator/service/test_wants.c - the raw files that are wanted */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service/wants.h"
#include "store/fileio.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    char root[PATH_MAX / 2];
    struct wants wants;
    struct err err;             // of the last that was not added
};

static int64_t newest_ns;       // of the version that is wanted
static int64_t now_ns;
static bool no_memory;

int64_t __wrap_clock_wall_ns (void);
int64_t __wrap_clock_wall_ns (void)
{
    return now_ns;
}

void *__real_vec_add (void *list, size_t *n, size_t size);
void *__wrap_vec_add (void *list, size_t *n, size_t size);
void *__wrap_vec_add (void *list, size_t *n, size_t size)
{
    return no_memory ? NULL : __real_vec_add (list, n, size);
}

static int setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));

    assert_non_null (f);
    (void)snprintf (f->root, sizeof (f->root), "%s/rollcall-wants-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->root));
    newest_ns = INT64_C (1700000000123456789);
    now_ns = 0;
    no_memory = false;
    *state = f;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *f = *state;

    wants_fini (&f->wants);
    (void)fileio_remove_tree (f->root, NULL);
    free (f);
    return 0;
}

static int add_to (struct fixture *f, const char *job, int64_t rank,
                   const char *path, bool again, struct want **ret)
{
    struct want like = { .rank = rank, .scope = "s", .host = "h",
                         .capture = "c_pt", .place = "0123",
                         .newest_ns = newest_ns };

    PRINT (like.job, "%s", job);
    PRINT (like.path, "%s", path);
    return wants_add (&f->wants, &like, again, ret, &f->err);
}

static int add (struct fixture *f, int64_t rank, const char *path, bool again,
                struct want **ret)
{
    return add_to (f, "j", rank, path, again, ret);
}

/* To a job of as many as one may have. */
static int add_spread (struct fixture *f, int64_t i, struct want **ret)
{
    char job[24];

    (void)snprintf (job, sizeof (job), "j%lld", (long long)i / WANTS_OF_JOB);
    return add_to (f, job, i, "", false, ret);
}

static bool hear (struct fixture *f, uint64_t id, enum have_state have,
                  uint64_t files, uint64_t came, uint64_t gone)
{
    const struct message m = { .type = MESSAGE_HAVE, .item = id, .have = have,
                               .files = files, .came = came, .gone = gone,
                               .text = "why" };

    return wants_hear (&f->wants, "s", "h", &m, true);
}

static void test_add (void **state)
{
    struct fixture *f = *state;
    struct want *w, *same;

    assert_int_equal (add (f, 3, "", false, &w), 1);
    assert_true (w->id == 1 && w->state == WANT_OPEN);
    assert_int_equal (add (f, 3, "", true, &same), 0);
    assert_ptr_equal (w, same);
    assert_int_equal (add (f, 3, "*.json", false, &w), 1);
    assert_int_equal (add (f, 4, "", false, &w), 1);
    assert_true (w->id == 3);
}

/* What came of an older version is not it, nor is what is still said of that. */
static void test_version (void **state)
{
    struct fixture *f = *state;
    struct want *w;

    assert_int_equal (add (f, 3, "", false, &w), 1);
    assert_int_equal (add (f, 4, "", false, &w), 1);
    assert_true (hear (f, 1, HAVE_ALL_SAID, 5, 5, 0));
    assert_int_equal (add (f, 3, "", false, &w), 0);
    newest_ns++;
    assert_int_equal (add (f, 3, "", false, &w), 1);
    assert_true (w->id == 3 && w->state == WANT_OPEN && w->files == 0);
    assert_int_equal (f->wants.n, 2);
    assert_false (hear (f, 1, HAVE_ALL_SAID, 5, 5, 0));
    assert_int_equal (add (f, 3, "", false, &w), 0);
    assert_true (hear (f, 3, HAVE_ALL_SAID, 5, 4, 1));
    newest_ns++;
    assert_int_equal (add (f, 3, "", false, &w), 1);
    assert_int_equal (w->state, WANT_OPEN);
}

/* Over when everything is said, and not before. */
static void test_hear (void **state)
{
    struct fixture *f = *state;
    struct want *w;

    assert_int_equal (add (f, 3, "", false, &w), 1);
    assert_false (hear (f, 1, HAVE_BUSY, 5, 2, 0));
    assert_true (w->state == WANT_OPEN && w->files == 5 && w->came == 2);
    assert_false (hear (f, 2, HAVE_ALL_SAID, 5, 5, 0));         // of none
    assert_false (hear (f, 1, HAVE_ALL_SAID, 5, 4, 0));         // a lie
    assert_true (hear (f, 1, HAVE_ALL_SAID, 5, 5, 0));
    assert_int_equal (w->state, WANT_CAME);
    assert_false (hear (f, 1, HAVE_ALL_SAID, 5, 4, 1));         // late
    assert_int_equal (add (f, 3, "", true, &w), 0);     // it is here
    assert_int_equal (add (f, 4, "", false, &w), 1);
    assert_true (hear (f, 2, HAVE_ALL_SAID, 5, 4, 1));
    assert_int_equal (w->state, WANT_GONE);
    assert_string_equal (w->why, "why");
    assert_int_equal (add (f, 4, "", false, &w), 0);
    assert_int_equal (add (f, 4, "", true, &w), 1);     // asked for again
    assert_true (w->id == 2 && w->state == WANT_OPEN && w->files == 0);
    assert_true (hear (f, 2, HAVE_ALL_SAID, 0, 0, 0));  // there is no file
    assert_int_equal (w->state, WANT_GONE);
}

/* Another agent of a host with that name may have the capture; agents of other
 * hosts and jobs have no say.
 */
static void test_who_hears (void **state)
{
    struct message m = { .type = MESSAGE_HAVE, .item = 1,
                         .have = HAVE_NOT_HERE };
    struct fixture *f = *state;
    struct want *w;

    assert_int_equal (add (f, 3, "", false, &w), 1);
    assert_false (wants_hear (&f->wants, "s", "h", &m, false));
    assert_false (wants_hear (&f->wants, "s", "g", &m, true));
    assert_false (wants_hear (&f->wants, "j", "h", &m, true));
    assert_int_equal (w->state, WANT_OPEN);
    assert_true (wants_hear (&f->wants, "s", "h", &m, true));
    assert_int_equal (w->state, WANT_GONE);
}

static void test_next (void **state)
{
    struct fixture *f = *state;
    const struct want *at = NULL;
    struct message m;
    struct want *w;

    for (int64_t i = 0; i < 3; i++)
        assert_int_equal (add (f, i, "*.json", false, &w), 1);
    assert_true (hear (f, 2, HAVE_ALL_SAID, 1, 1, 0));
    assert_non_null (at = wants_next_open (&f->wants, at, "s", "h"));
    assert_true (at->id == 1);
    assert_non_null (at = wants_next_open (&f->wants, at, "s", "h"));
    assert_true (at->id == 3);
    wants_message (at, &m);
    assert_true (m.type == MESSAGE_WANT && m.item == 3 && m.rank == 2);
    assert_string_equal (m.capture, "c_pt");
    assert_string_equal (m.path, "*.json");
    assert_string_equal (m.place, "0123");
    assert_null (wants_next_open (&f->wants, at, "s", "h"));
    assert_null (wants_next_open (&f->wants, NULL, "s", "g"));
    assert_null (wants_next_open (&f->wants, NULL, "j", "h"));
    assert_false (wants_reopen (&f->wants, "s", "g"));
    assert_true (wants_reopen (&f->wants, "s", "h"));
    assert_int_equal (f->wants.list[1].state, WANT_OPEN);
    assert_false (wants_reopen (&f->wants, "s", "h"));
}

/* The next aggregator asks for the same. */
static void test_file (void **state)
{
    struct fixture *f = *state;
    struct wants again = { .list = NULL };
    struct want *w;

    assert_int_equal (wants_load (&again, f->root, NULL), 0);
    assert_int_equal (again.n, 0);
    assert_int_equal (add (f, 3, "a/*.json", false, &w), 1);
    assert_int_equal (add (f, 4, "", false, &w), 1);
    assert_true (hear (f, 2, HAVE_ALL_SAID, 5, 4, 1));
    assert_int_equal (wants_save (&f->wants, f->root, NULL), 0);
    assert_int_equal (wants_load (&again, f->root, NULL), 0);
    assert_true (again.n == 2 && again.last_id == 2);
    assert_memory_equal (again.list, f->wants.list, 2 * sizeof (*again.list));
    wants_fini (&again);
}

/* Agents may still answer what was wanted before, whatever became of the list. */
static void test_ids (void **state)
{
    struct fixture *f = *state;
    struct want *w;
    uint64_t first;

    now_ns = 1000000;
    assert_int_equal (wants_load (&f->wants, f->root, NULL), 0);
    assert_int_equal (add (f, 3, "", false, &w), 1);
    first = w->id;
    assert_true (first > 1000);
    wants_fini (&f->wants);     // it was not saved
    now_ns += 1000;
    assert_int_equal (wants_load (&f->wants, f->root, NULL), 0);
    assert_int_equal (add (f, 3, "", false, &w), 1);
    assert_true (w->id > first);
    assert_int_equal (wants_save (&f->wants, f->root, NULL), 0);
    first = w->id;
    now_ns = 0;                 // the clock was set
    wants_fini (&f->wants);
    assert_int_equal (wants_load (&f->wants, f->root, NULL), 0);
    assert_int_equal (add (f, 4, "", false, &w), 1);
    assert_int_equal (w->id, first + 1);
}

static void test_damaged_file (void **state)
{
    static const char *const bad[] = {
        "", "{", "[]", "{}", "{\"last_id\": 1}", "{\"wants\": []}",
        "{\"last_id\": 1, \"wants\": [{}]}",
        // an id that was never given, a way out of the capture
        "{\"last_id\": 1, \"wants\": [{\"id\": 2, \"state\": \"open\", "
        "\"job\": \"j\", \"scope\": \"s\", \"host\": \"h\", \"rank\": 1, "
        "\"capture\": \"c\", \"place\": \"\", \"path\": \"\", \"files\": 0, "
        "\"came\": 0, \"gone\": 0, \"why\": \"\"}]}",
        "{\"last_id\": 1, \"wants\": [{\"id\": 1, \"state\": \"open\", "
        "\"job\": \"j\", \"scope\": \"s\", \"host\": \"h\", \"rank\": 1, "
        "\"capture\": \"c\", \"place\": \"\", \"path\": \"../x\", \"files\": 0, "
        "\"came\": 0, \"gone\": 0, \"why\": \"\"}]}",
    };
    struct fixture *f = *state;
    char path[PATH_MAX];

    now_ns = 7000;
    assert_true (fileio_join (path, sizeof (path), f->root, WANTS_NAME));
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        assert_int_equal (fileio_replace (path, bad[i], strlen (bad[i]), 0600,
                                          NULL), 0);
        assert_int_equal (wants_load (&f->wants, f->root, NULL), -EBADMSG);
        assert_true (f->wants.n == 0 && f->wants.last_id == 7);
    }
}

/* Only what is over makes room, the oldest first. */
static void test_room (void **state)
{
    struct fixture *f = *state;
    struct want *w;

    for (int64_t i = 0; i < WANTS_MAX; i++)
        assert_int_equal (add_spread (f, i, &w), 1);
    assert_int_equal (add_spread (f, WANTS_MAX, &w), -ENOSPC);
    assert_non_null (strstr (f->err.text, "1024 captures are wanted already"));
    assert_true (hear (f, 7, HAVE_ALL_SAID, 1, 1, 0));
    assert_true (hear (f, 5, HAVE_ALL_SAID, 1, 1, 0));
    assert_int_equal (add_spread (f, WANTS_MAX, &w), 1);
    assert_true (w->id == WANTS_MAX + 1 && f->wants.n == WANTS_MAX);
    assert_true (f->wants.list[4].id == 6 && f->wants.list[5].id == 7);
}

static bool is_even (void *arg, const struct want *w)
{
    (void)arg;
    return w->id % 2 == 0;
}

/* The oldest open one whose agents are gone, when there is no room. */
static void test_give_way (void **state)
{
    struct fixture *f = *state;
    struct want *w, gone;

    for (int64_t i = 0; i < WANTS_MAX; i++) {
        assert_false (wants_give_way (&f->wants, is_even, NULL, &gone));
        assert_int_equal (add_spread (f, i, &w), 1);
    }
    assert_true (hear (f, 1, HAVE_ALL_SAID, 1, 1, 0));
    assert_int_equal (add_spread (f, WANTS_MAX, &w), 1);
    assert_int_equal (add_spread (f, WANTS_MAX + 1, &w), -ENOSPC);
    assert_true (wants_give_way (&f->wants, is_even, NULL, &gone));
    assert_true (gone.id == 3 && f->wants.list[0].id == 2);
    assert_int_equal (add_spread (f, WANTS_MAX + 1, &w), 1);
    assert_false (wants_forget_job (&f->wants, "none"));
    assert_true (wants_forget_job (&f->wants, "j1"));
    assert_int_equal (f->wants.n, WANTS_MAX - WANTS_OF_JOB);
    assert_int_equal (f->wants.list[0].id, 2);
    assert_false (wants_forget_job (&f->wants, "j1"));
}

/* One job leaves room to others, also when it asks again. */
static void test_room_of_job (void **state)
{
    struct fixture *f = *state;
    struct want *w;

    for (int64_t i = 0; i < WANTS_OF_JOB; i++)
        assert_int_equal (add (f, i, "", false, &w), 1);
    assert_int_equal (add (f, WANTS_OF_JOB, "", false, &w), -ENOSPC);
    assert_non_null (strstr (f->err.text, "128 captures of job j are wanted"));
    assert_int_equal (add (f, 5, "", true, &w), 0);     // it is open
    assert_int_equal (add_to (f, "k", 1, "", false, &w), 1);
    assert_true (hear (f, 7, HAVE_ALL_SAID, 1, 0, 1));
    assert_int_equal (add (f, WANTS_OF_JOB, "", false, &w), 1);
    assert_int_equal (add (f, 6, "", true, &w), -ENOSPC);
    newest_ns++;
    assert_int_equal (add (f, 5, "", false, &w), 1);    // another version
    newest_ns--;
}

static void test_no_memory (void **state)
{
    struct fixture *f = *state;
    struct want *w;

    no_memory = true;
    assert_int_equal (add (f, 1, "", false, &w), -ENOMEM);
    assert_string_equal (f->err.text, "no memory for wanted files");
    assert_int_equal (f->wants.n, 0);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_add), TEST (test_version), TEST (test_hear),
        TEST (test_who_hears), TEST (test_next), TEST (test_file),
        TEST (test_ids), TEST (test_damaged_file), TEST (test_room),
        TEST (test_room_of_job), TEST (test_give_way),
        TEST (test_no_memory),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
