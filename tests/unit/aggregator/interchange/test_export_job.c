/* tests/unit/aggregator/interchange/test_export_job.c - a job goes out of one
 * root and comes into another, whole or not at all
 */
#include "aggregator/ledger/ledger_check.h"

#include "base/utf8.h"
#include "interchange/content_writer.h"
#include "interchange/export_job.h"
#include "interchange/import_tar.h"

#include <sys/mman.h>

#define DEEP MESSAGE_PATH_MAX   // bytes of a path of one letter each
#define LARGE (2 * CONTENT_CHUNK + 77)

/* ---- one root ---- */

static void put_version (struct intake *in, enum item_kind kind, int64_t rank,
                         const char *capture, const char *path, int64_t newest_ns,
                         const char *bytes, size_t size)
{
    struct content_writer *w = NULL;
    struct record r = {
        .kind = RECORD_ITEM,
        .item = { .kind = kind, .rank = rank, .newest_ns = newest_ns,
                  .received_ns = 5 },
    };
    uint64_t got;

    assert_int_equal (content_writer_create (in, CODEC_LZ4, &w, NULL), 0);
    content_writer_begin (w, true);
    assert_int_equal (content_writer_add (w, bytes, size, NULL), 0);
    assert_int_equal (content_writer_end (w, &r.item.content, &got, NULL), 0);
    content_writer_destroy (w);
    PRINT (r.item.job, "j");
    PRINT (r.item.capture, "%s", capture);
    PRINT (r.item.path, "%s", path);
    PRINT (r.item.host, "here");
    if (kind == ITEM_RAW)
        r.item.facts = (struct file_facts){ S_IFREG | 0751,
                                            1234567890123456789, 3, 4 };
    assert_int_equal (intake_put_record (in, &r, NULL), 0);
}

static void put (struct intake *in, enum item_kind kind, int64_t rank,
                 const char *path, const char *bytes, size_t size)
{
    char capture[32];

    PRINT (capture, "c%d_ascend_pt", (int)rank);
    put_version (in, kind, rank, capture, path, 7, bytes, size);
}

static void put_fact (struct intake *in, const char *key, const char *value)
{
    struct record r = { .kind = RECORD_FACT, .fact = { .at_ns = 9 } };

    PRINT (r.fact.job, "j");
    PRINT (r.fact.key, "%s", key);
    PRINT (r.fact.value, "%s", value);
    PRINT (r.fact.by, "me");
    assert_int_equal (intake_put_record (in, &r, NULL), 0);
}

static void fill (struct root *r)
{
    struct intake *in = NULL;
    char *large = malloc (LARGE);

    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i * i >> 7);
    assert_int_equal (intake_begin (r->l, r->s, &in, NULL), 0);
    put (in, ITEM_ROWS, 0, "", "the rows of rank 0", 18);
    put (in, ITEM_ROWS, 1, "", "the rows of rank 1", 18);
    put (in, ITEM_RAW, 0, "dir/x", "the bytes of x", 14);
    put (in, ITEM_RAW, 0, "empty", "", 0);
    put (in, ITEM_RAW, 1, "not UTF-8 \377\n", "others", 6);
    put (in, ITEM_RAW, 1, "large", large, LARGE);
    put_fact (in, FACT_TAG, "before-upgrade");
    put_fact (in, FACT_USER, "alice");
    assert_int_equal (intake_flush (in, NULL), 0);
    intake_close (in);
    free (large);
}

static void lose (void *arg, const struct ledger_item *item,
                  const struct err *why)
{
    (void)why;
    (void)strcat (strcat (arg, item->path), " ");
}

/* The job as a tar file in memory; 'lost' gets what is not in it. */
static int export (struct root *r, char lost[64], struct export_sums *sums)
{
    int fd = memfd_create ("job", MFD_CLOEXEC);
    struct archive a;

    lost[0] = '\0';
    root_close (r);
    assert_int_equal (archive_open (r->dir, &a, NULL), 0);
    assert_int_equal (export_job (&a, "j", fd, lose, lost, NULL, sums, NULL), 0);
    archive_close (&a);
    root_open (r);
    return fd;
}

/* ---- the other ---- */

static int import (struct root *r, int fd, struct err *err)
{
    const struct import_options how = { .codec = CODEC_LZ4 };
    struct tar_member *first = malloc (sizeof (*first));
    struct tar_reader *from = NULL;
    struct import_sums sums;
    struct intake *in = NULL;
    int rc;

    assert_int_equal (lseek (fd, 0, SEEK_SET), 0);
    assert_int_equal (tar_reader_create (fd, &from, NULL), 0);
    assert_int_equal (intake_begin (r->l, r->s, &in, NULL), 0);
    rc = import_begin (from, first, &sums, err);
    if (rc == 1)
        rc = import_export (from, in, &how, NULL, &sums, err);
    intake_close (in);
    tar_reader_destroy (from);
    free (first);
    return rc;
}

#define LISTED_MAX 16384

struct listed {
    char text[LISTED_MAX];
};

static int list_item (void *arg, const struct ledger_item *i)
{
    char hex[DIGEST_HEX_SIZE], *text = arg;
    size_t n = strlen (text);

    digest_hex (&i->content, hex);
    (void)snprintf (text + n, LISTED_MAX - n, "%d %d %s/%s %s %llu %o %lld %d %d %d %s\n",
                    (int)i->kind, (int)i->rank, i->capture, i->path, i->host,
                    (unsigned long long)i->place.size, i->facts.mode,
                    (long long)i->facts.mtime_ns, (int)i->facts.uid,
                    (int)i->facts.gid, i->superseded, hex);
    assert_false (i->lost);
    return 0;
}

static int list_fact (void *arg, const struct ledger_fact *f)
{
    size_t n = strlen (arg);

    (void)snprintf ((char *)arg + n, LISTED_MAX - n, "%s=%s by %s at %lld\n", f->key,
                    f->value, f->by, (long long)f->at_ns);
    return 0;
}

static struct listed list (struct root *r)
{
    struct listed l = { "" };

    for (enum item_kind k = ITEM_ROWS; k <= ITEM_RAW; k++)
        assert_int_equal (ledger_each (r->l, "j", k, list_item, l.text, NULL),
                          0);
    assert_int_equal (ledger_each_fact (r->l, "j", 0, list_fact, l.text, NULL),
                      0);
    return l;
}

static void test_round_trip (void **state)
{
    struct export_sums sums;
    struct root *r = *state, other;
    uint64_t end[2];
    int64_t segment;
    char lost[64];
    int fd;

    fill (r);
    fd = export (r, lost, &sums);
    assert_string_equal (lost, "");
    assert_int_equal (sums.files, 6);
    assert_int_equal (sums.bytes, 18 + 18 + 14 + 6 + LARGE);
    root_make (&other);
    for (int i = 0; i < 2; i++) {       // the second time adds nothing
        assert_int_equal (import (&other, fd, NULL), 0);
        assert_string_equal (list (&other).text, list (r).text);
        assert_int_equal (ledger_last_segment (other.l, &segment, &end[i],
                                               NULL), 0);
    }
    assert_int_equal (end[0], end[1]);
    root_remove (&other);
    (void)close (fd);
}

/* Files that a later analysis left alone have its date, and are the same. */
static void test_analysed_again (void **state)
{
    struct root *r = *state, other;
    struct export_sums sums;
    struct intake *in = NULL;
    struct err err = { "" };
    char lost[64];
    int fd;

    root_make (&other);
    for (int64_t ns = 7; ns <= 9; ns++) {
        assert_int_equal (intake_begin (r->l, r->s, &in, NULL), 0);
        put_version (in, ITEM_ROWS, 0, "c", "", ns, &"rows of"[ns - 7], 1);
        put_version (in, ITEM_RAW, 0, "c", "x", ns, "x", 1);
        assert_int_equal (intake_flush (in, NULL), 0);
        intake_close (in);
        fd = export (r, lost, &sums);
        assert_int_equal (import (&other, fd, NULL), 0);
        assert_string_equal (list (&other).text, list (r).text);
        (void)close (fd);
    }
    // another job of that name
    assert_int_equal (intake_begin (other.l, other.s, &in, NULL), 0);
    put_version (in, ITEM_RAW, 0, "c", "x", 10, "y", 1);
    assert_int_equal (intake_flush (in, NULL), 0);
    intake_close (in);
    fd = export (r, lost, &sums);
    assert_int_equal (import (&other, fd, &err), -EEXIST);
    assert_non_null (strstr (err.text, "with 1 items"));
    root_remove (&other);
    (void)close (fd);
}

/* Names of as many bytes as files can have: those of members are longer.  And
 * one of as many parts as can come.
 */
static void test_long_names (void **state)
{
    char capture[256], path[256], deep[DEEP], lost[64];
    struct tar_member *m = malloc (sizeof (*m));
    struct root *r = *state, other;
    struct tar_reader *from = NULL;
    struct export_sums sums;
    struct intake *in = NULL;
    int fd;

    for (size_t i = 0; i < 254; i += 2) {
        memcpy (capture + i, "\303\274", 3);
        memcpy (path + i, "\303\266", 3);
    }
    for (size_t i = 0; i < DEEP; i++)
        deep[i] = "d/"[i % 2];
    deep[DEEP - 1] = '\0';
    assert_int_equal (intake_begin (r->l, r->s, &in, NULL), 0);
    put_version (in, ITEM_RAW, 0, capture, deep, 3, "deep", 4);
    for (int i = 1; i <= 3; i++) {
        put_version (in, ITEM_ROWS, 0, capture, "", i, &"abc"[i - 1], 1);
        put_version (in, ITEM_RAW, 0, capture, path, i, &"xyz"[i - 1], 1);
    }
    assert_int_equal (intake_flush (in, NULL), 0);
    intake_close (in);
    fd = export (r, lost, &sums);
    assert_int_equal (sums.files, 7);
    assert_int_equal (lseek (fd, 0, SEEK_SET), 0);
    assert_int_equal (tar_reader_create (fd, &from, NULL), 0);
    for (int i = 0; i < 9; i++) {       // any tar unpacks it
        assert_int_equal (tar_reader_next (from, m, NULL), 1);
        for (const char *at = m->name; *at; at += *at == '/') {
            assert_true (strcspn (at, "/") <= NAME_MAX);
            at += strcspn (at, "/");
        }
        for (const char *c = m->name; *c; c += utf8_size (c))
            assert_true (utf8_size (c) > 0);
    }
    tar_reader_destroy (from);
    root_make (&other);
    assert_int_equal (import (&other, fd, NULL), 0);
    assert_string_equal (list (&other).text, list (r).text);
    root_remove (&other);
    (void)close (fd);
    free (m);
}

/* What the root knows stays. */
static void test_what_is_known_stays (void **state)
{
    struct ledger_fact f = { .at_ns = 1 };
    struct export_sums sums;
    struct root *r = *state, other;
    char lost[64];
    int fd;

    fill (r);
    fd = export (r, lost, &sums);
    root_make (&other);
    PRINT (f.job, "j");
    PRINT (f.key, FACT_USER);
    PRINT (f.value, "bob");
    assert_int_equal (ledger_set_fact (other.l, &f, NULL), 1);
    assert_int_equal (import (&other, fd, NULL), 0);
    assert_non_null (strstr (list (&other).text, "user=bob"));
    assert_null (strstr (list (&other).text, "alice"));
    assert_non_null (strstr (list (&other).text, "before-upgrade"));
    root_remove (&other);
    (void)close (fd);
}

static void test_damaged_is_left_out (void **state)
{
    struct digest id = root_digest ("others");
    struct ledger_place place;
    struct export_sums sums;
    struct root *r = *state, other;
    char lost[64], path[PATH_MAX];
    FILE *f;
    int fd;

    fill (r);
    assert_int_equal (ledger_find_content (r->l, &id, &place, NULL), 1);
    store_segment_path (r->dir, place.segment, path);
    f = fopen (path, "r+");
    assert_non_null (f);
    assert_int_equal (fseek (f, (long)place.offset, SEEK_SET), 0);
    (void)fputc ('?', f);
    (void)fclose (f);
    fd = export (r, lost, &sums);
    assert_string_equal (lost, "not UTF-8 \377\n ");
    assert_int_equal (sums.lost, 1);
    assert_int_equal (sums.files, 5);
    root_make (&other);
    assert_int_equal (import (&other, fd, NULL), 0);
    assert_null (strstr (list (&other).text, "not UTF-8"));
    assert_non_null (strstr (list (&other).text, "/large"));
    root_remove (&other);
    (void)close (fd);
}

/* ---- changed by somebody ---- */

/* In the file, the byte 'after' bytes behind a text: another one. */
static void change (int fd, const char *text, size_t after)
{
    size_t size = (size_t)lseek (fd, 0, SEEK_END);
    char *at, *bytes = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                             0);

    assert_true (bytes != MAP_FAILED);
    at = memmem (bytes, size, text, strlen (text));
    assert_non_null (at);
    at += strlen (text) + after;
    *at = *at == '0' ? '1' : '0';
    (void)munmap (bytes, size);
}

static void enters_nothing (int fd, const char *why)
{
    struct err err = { "" };
    struct root other;

    root_make (&other);
    assert_int_equal (import (&other, fd, &err), -EBADMSG);
    if (!strstr (err.text, why))
        fail_msg ("no \"%s\" in \"%s\"", why, err.text);
    assert_string_equal (list (&other).text, "");
    root_remove (&other);
    (void)close (fd);
}

static int export_filled (struct root *r)
{
    struct export_sums sums;
    char lost[64];

    return export (r, lost, &sums);
}

static void test_changed (void **state)
{
    struct root *r = *state;
    int fd;

    fill (r);
    fd = export_filled (r);
    change (fd, "the bytes of ", 0);    // a content
    enters_nothing (fd, "captures/c0_ascend_pt/dir/x");
    fd = export_filled (r);
    change (fd, "\"sha256\"", 5);       // a hash of the manifest
    enters_nothing (fd, "the export was changed");
    fd = export_filled (r);
    change (fd, "\"record\"", 40);      // what is entered
    enters_nothing (fd, "a record of its manifest");
    fd = export_filled (r);
    change (fd, "\"items\"", 1);        // how many there should be
    enters_nothing (fd, "its manifest");
    fd = export_filled (r);
    assert_int_equal (ftruncate (fd, LARGE), 0);
    enters_nothing (fd, "");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_round_trip), ROOT_TEST (test_long_names),
        ROOT_TEST (test_analysed_again),
        ROOT_TEST (test_what_is_known_stays),
        ROOT_TEST (test_damaged_is_left_out), ROOT_TEST (test_changed),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
