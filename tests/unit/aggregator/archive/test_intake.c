/* tests/unit/aggregator/archive/test_intake.c - what verbs put into a root */
#include "aggregator/ledger/ledger_check.h"

#include "archive/audit.h"
#include "archive/intake.h"
#include "archive/remove.h"
#include "store/checksum.h"
#include "store/store_private.h"

#include <fcntl.h>

static struct intake *begin (struct root *r)
{
    struct intake *in = NULL;

    assert_int_equal (intake_begin (r->l, r->s, &in, NULL), 0);
    return in;
}

static int put_text (struct intake *in, const char *text, struct err *err)
{
    struct digest id = root_digest (text);

    return intake_put_chunk (in, &id, strlen (text), CODEC_PLAIN, text,
                             strlen (text), err);
}

static struct record item_record (const char *job, const char *path,
                                  const char *text)
{
    struct record r = {
        .kind = RECORD_ITEM,
        .item = { .kind = ITEM_RAW, .rank = 3, .newest_ns = 7,
                  .received_ns = 5,
                  .facts = { S_IFREG | 0644, 12, -1, -1 } },
    };

    PRINT (r.item.job, "%s", job);
    PRINT (r.item.capture, "c_ascend_pt");
    PRINT (r.item.path, "%s", path);
    PRINT (r.item.host, "here");
    r.item.content = root_digest (text);
    return r;
}

static int count_item (void *arg, const struct ledger_item *item)
{
    assert_false (item->lost);
    ++*(int *)arg;
    return 0;
}

static int count (struct root *r, const char *job)
{
    int n = 0;

    assert_int_equal (ledger_each (r->l, job, ITEM_RAW, count_item, &n, NULL),
                      0);
    return n;
}

static void test_flushed_is_there_after_a_death (void **state)
{
    struct root *r = *state;
    struct intake *in = begin (r);
    struct record item = item_record ("j", "a", "bytes");

    assert_int_equal (put_text (in, "bytes", NULL), 0);
    assert_int_equal (intake_put_record (in, &item, NULL), 0);
    assert_int_equal (count (r, "j"), 0);
    assert_int_equal (intake_flush (in, NULL), 0);
    assert_int_equal (intake_sums (in).bytes, 5);
    intake_close (in);
    root_close (r);
    root_open (r);
    assert_int_equal (count (r, "j"), 1);
}

static void test_repeated_adds_nothing (void **state)
{
    struct root *r = *state;
    struct record item = item_record ("j", "a", "bytes");
    int64_t segment;
    uint64_t end[2];

    for (int i = 0; i < 2; i++) {
        struct intake *in = begin (r);

        assert_int_equal (put_text (in, "bytes", NULL), 0);
        assert_int_equal (put_text (in, "bytes", NULL), 0);
        assert_int_equal (intake_put_record (in, &item, NULL), 0);
        assert_int_equal (intake_flush (in, NULL), 0);
        assert_int_equal (intake_sums (in).chunks, i == 0);
        intake_close (in);
        assert_int_equal (ledger_last_segment (r->l, &segment, &end[i], NULL),
                          0);
    }
    assert_int_equal (count (r, "j"), 1);
    assert_int_equal (end[0], end[1]);
}

/* Nothing may have a name without content. */
static void test_item_without_content (void **state)
{
    struct root *r = *state;
    struct intake *in = begin (r);
    struct record item = item_record ("j", "a", "elsewhere");
    struct err err = { "" };

    assert_int_equal (intake_put_record (in, &item, &err), -ENOENT);
    // and whatever follows fails for the same reason
    assert_int_equal (put_text (in, "bytes", NULL), -ENOENT);
    assert_int_equal (intake_flush (in, &err), -ENOENT);
    intake_close (in);
    assert_int_equal (count (r, "j"), 0);
}

static void test_list_needs_its_chunks (void **state)
{
    struct root *r = *state;
    struct intake *in = begin (r);
    struct digest chunks[2] = { root_digest ("one"), root_digest ("two") }, id;

    assert_int_equal (content_list_id (chunks, 2, &id), 0);
    assert_int_equal (put_text (in, "one", NULL), 0);
    assert_int_equal (intake_put_list (in, &id, CONTENT_CHUNK + 3, chunks, 2,
                                       NULL), -ENOENT);
    intake_close (in);
}

/* What was removed on purpose, and is added on purpose, must not be taken for
 * what an agent that knows of nothing delivers again: it would be lost in
 * silence.
 */
static void test_removed_is_there_again (void **state)
{
    struct root *r = *state;
    struct record item = item_record ("j", "a", "bytes");

    for (int i = 0; i < 2; i++) {
        struct intake *in = begin (r);

        assert_int_equal (put_text (in, "bytes", NULL), 0);
        assert_int_equal (intake_put_record (in, &item, NULL), 0);
        assert_int_equal (intake_flush (in, NULL), 0);
        intake_close (in);
        assert_int_equal (count (r, "j"), 1);
        if (i > 0)
            break;
        remove_item (r, &item.item, 9);
        assert_int_equal (count (r, "j"), 0);
    }
    root_close (r);
    root_open (r);
    assert_int_equal (count (r, "j"), 1);
    // agents may deliver the rest of it, too
    assert_int_equal (ledger_find_deletion (r->l, &item.item, NULL, NULL), 0);
}

static void remove_job (struct root *r, int64_t now_ns)
{
    const struct remove_what what = { .job = "j", .what = "", .verb = "rm",
                                      .by = "me", .now_ns = now_ns };
    struct removal removal;

    assert_int_equal (remove_apply (r->l, r->s, &what, &removal, NULL), 0);
    assert_int_equal (count (r, "j"), 0);
}

static void add (struct root *r, const char *text, int64_t newest_ns)
{
    struct intake *in = begin (r);
    struct record item = item_record ("j", "a", text);

    item.item.newest_ns = newest_ns;
    assert_int_equal (put_text (in, text, NULL), 0);
    assert_int_equal (intake_put_record (in, &item, NULL), 0);
    assert_int_equal (intake_flush (in, NULL), 0);
    intake_close (in);
}

/* The job of an export has it from an assignment, which comes first: it is there
 * again, with its items.
 */
static void test_removed_is_assigned_again (void **state)
{
    struct root *r = *state;
    struct record item = item_record ("s", "a", "bytes"),
                  a = { .kind = RECORD_ASSIGN, .assignment.at_ns = 5 };

    PRINT (item.item.scope, "s");
    memset (item.item.dir, 'a', sizeof (item.item.dir) - 1);
    a.assignment.rank = item.item.rank;
    a.assignment.newest_ns = item.item.newest_ns;
    PRINT (a.assignment.scope, "s");
    PRINT (a.assignment.dir, "%s", item.item.dir);
    PRINT (a.assignment.capture, "%s", item.item.capture);
    PRINT (a.assignment.job, "j");
    for (int i = 0; i < 2; i++) {
        struct intake *in = begin (r);

        assert_int_equal (put_text (in, "bytes", NULL), 0);
        assert_int_equal (intake_put_record (in, &a, NULL), 0);
        assert_int_equal (intake_put_record (in, &item, NULL), 0);
        assert_int_equal (intake_flush (in, NULL), 0);
        intake_close (in);
        assert_int_equal (count (r, "j"), 1);
        if (i == 0)
            remove_job (r, 9);
    }
    root_close (r);
    root_open (r);
    assert_int_equal (count (r, "j"), 1);
}

/* The clock stepped back between adding and removing. */
static void test_clock_steps_back (void **state)
{
    struct root *r = *state;

    for (int64_t now_ns = 9; now_ns > 6; now_ns--) {
        add (r, "bytes", 7);
        assert_int_equal (count (r, "j"), 1);
        remove_job (r, now_ns);
    }
}

/* An older version, which two deletions cover. */
static void test_all_are_withdrawn (void **state)
{
    struct root *r = *state;

    add (r, "old", 7);
    remove_job (r, 9);
    add (r, "new", 17);
    remove_job (r, 10);
    add (r, "old", 7);
    assert_int_equal (count (r, "j"), 1);
    root_close (r);
    root_open (r);
    assert_int_equal (count (r, "j"), 1);
}

/* The one line of the log, which is without it afterwards. */
static void check_withdrawal (struct root *r, const char *user, int64_t uid)
{
    char path[PATH_MAX], line[512], want[128];
    FILE *f;

    PRINT (path, "%s/" AUDIT_LOG, r->dir);
    assert_non_null (f = fopen (path, "r"));
    assert_non_null (fgets (line, sizeof (line), f));
    PRINT (want, "\"uid\":%lld,\"user\":\"%s\",\"verb\":\"withdraw\"",
           (long long)uid, user);
    assert_non_null (strstr (line, want));
    assert_non_null (strstr (line, "\"job\":\"j\""));
    assert_null (fgets (line, sizeof (line), f));
    (void)fclose (f);
}

static void forget_log (struct root *r)
{
    char path[PATH_MAX];

    PRINT (path, "%s/" AUDIT_LOG, r->dir);
    assert_int_equal (unlink (path), 0);
}

/* A deletion is withdrawn in the commit that enters what was added, and not
 * without a line in the log.
 */
static void test_withdrawn_with_its_item (void **state)
{
    struct root *r = *state;
    struct record a = item_record ("j", "a", "bytes"),
                  b = item_record ("j", "b", "bytes");
    char path[PATH_MAX], me[AUDIT_USER_MAX];
    struct intake *in;

    add (r, "bytes", 7);
    remove_job (r, 9);
    forget_log (r);
    PRINT (path, "%s/" AUDIT_LOG, r->dir);
    in = begin (r);
    assert_int_equal (put_text (in, "bytes", NULL), 0);
    assert_int_equal (intake_put_record (in, &a, NULL), 0);
    assert_int_equal (intake_put_record (in, &b, NULL), 0);
    assert_int_equal (ledger_find_deletion (r->l, &a.item, NULL, NULL), 1);
    assert_int_equal (access (path, F_OK), -1);
    assert_int_equal (intake_flush (in, NULL), 0);
    assert_int_equal (count (r, "j"), 2);
    intake_close (in);
    audit_name_user (getuid (), me);
    check_withdrawal (r, me, getuid ());
}

/* A list is here if its chunks are. */
static void test_list_without_chunk (void **state)
{
    struct root *r = *state;
    struct intake *in = begin (r);
    static const char full[CONTENT_CHUNK];
    struct digest chunks[2] = { root_digest ("one"), root_digest ("two") }, id;
    char path[PATH_MAX];

    assert_int_equal (digest_of (full, sizeof (full), &chunks[0]), 0);
    assert_int_equal (content_list_id (chunks, 2, &id), 0);
    assert_int_equal (intake_put_chunk (in, &chunks[0], sizeof (full),
                                        CODEC_PLAIN, full, sizeof (full),
                                        NULL), 0);
    assert_int_equal (put_text (in, "two", NULL), 0);
    assert_int_equal (intake_flush (in, NULL), 0);
    assert_int_equal (store_open_next (r->s, NULL), 0);
    assert_int_equal (intake_put_list (in, &id, CONTENT_CHUNK + 3, chunks, 2,
                                       NULL), 0);
    assert_int_equal (intake_flush (in, NULL), 0);
    assert_int_equal (intake_has (in, &id, NULL), 1);
    store_segment_path (r->dir, 1, path);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (intake_has (in, &id, NULL), 0);
    intake_close (in);
}

/* ---- batches ---- */

static void write_batch (struct root *r, const char *name, const void *bytes,
                         size_t n)
{
    char path[PATH_MAX];
    int fd;

    PRINT (path, "%s/" INTAKE_DIR, r->dir);
    assert_int_equal (fileio_mkdirs (path, 0700, NULL), 0);
    PRINT (path, "%s/" INTAKE_DIR "/%s", r->dir, name);
    fd = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true (fd >= 0);
    assert_int_equal (fileio_write_all (fd, bytes, n), 0);
    (void)close (fd);
}

static void make_batch (struct buf *b, const char *text)
{
    struct record chunk = { .kind = RECORD_CHUNK, .id = root_digest (text),
                            .place = { .size = strlen (text),
                                       .stored = strlen (text),
                                       .form = FORM_PLAIN },
                            .sum = checksum_add (0, text, strlen (text)) };
    struct record item = item_record ("j", "a", text);

    buf_init (b, 1 << 20);
    assert_int_equal (record_encode (&chunk, b), 0);
    buf_put (b, text, strlen (text));
    assert_int_equal (record_encode (&item, b), 0);
}

static int take (struct root *r, const char *name)
{
    struct json *asked = json_object (), *answer = json_object ();
    struct err err = { "" };
    int rc;

    json_add_text (asked, "batch", name);
    json_add_text (asked, "by", "alice");
    json_add_int (asked, "uid", 1234);
    rc = intake_take (r->l, r->s, asked, answer, &err);
    json_free (asked);

    if (rc == 0)
        assert_string_equal (json_text (json_first (json_get (answer, "jobs")),
                                        ""), "j");
    else
        assert_true (err.text[0]);
    json_free (answer);
    return rc;
}

static void test_batch_is_taken (void **state)
{
    struct root *r = *state;
    struct buf b;

    make_batch (&b, "bytes");
    write_batch (r, "12-1", b.data, b.size);
    assert_int_equal (take (r, "12-1"), 0);
    assert_int_equal (count (r, "j"), 1);
    buf_fini (&b);
}

/* The log names the user who asked for it, not that of the service. */
static void test_batch_of_a_user (void **state)
{
    struct root *r = *state;
    struct buf b;

    add (r, "bytes", 7);
    remove_job (r, 9);
    forget_log (r);
    make_batch (&b, "bytes");
    write_batch (r, "12-1", b.data, b.size);
    assert_int_equal (take (r, "12-1"), 0);
    assert_int_equal (count (r, "j"), 1);
    check_withdrawal (r, "alice", 1234);
    buf_fini (&b);
}

static void test_damaged_batch_is_not_taken (void **state)
{
    struct root *r = *state;
    struct buf b;

    make_batch (&b, "bytes");
    for (size_t i = 0; i < b.size; i += 3) {
        b.data[i] ^= 0x40;
        write_batch (r, "12-1", b.data, b.size);
        assert_int_equal (take (r, "12-1"), -EBADMSG);
        b.data[i] ^= 0x40;
        assert_int_equal (count (r, "j"), 0);
    }
    write_batch (r, "12-1", b.data, b.size - 1);
    assert_int_equal (take (r, "12-1"), -EBADMSG);
    assert_int_equal (take (r, "../ledger.db"), -EINVAL);
    assert_int_equal (take (r, "12-2"), -ENOENT);
    buf_fini (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_flushed_is_there_after_a_death),
        ROOT_TEST (test_repeated_adds_nothing),
        ROOT_TEST (test_item_without_content),
        ROOT_TEST (test_list_needs_its_chunks),
        ROOT_TEST (test_removed_is_there_again),
        ROOT_TEST (test_removed_is_assigned_again),
        ROOT_TEST (test_clock_steps_back),
        ROOT_TEST (test_all_are_withdrawn),
        ROOT_TEST (test_withdrawn_with_its_item),
        ROOT_TEST (test_list_without_chunk),
        ROOT_TEST (test_batch_is_taken), ROOT_TEST (test_batch_of_a_user),
        ROOT_TEST (test_damaged_batch_is_not_taken),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
