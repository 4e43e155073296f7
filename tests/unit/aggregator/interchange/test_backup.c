/* tests/unit/aggregator/interchange/test_backup.c - a root, its backup, and a
 * new root of that
 */
#include "aggregator/ledger/ledger_check.h"

#include "archive/audit.h"
#include "common/object_store/http_script.h"
#include "interchange/backup.h"
#include "store/object_mark.h"
#include "store/store_private.h"
#include "store/root.h"

#include <fcntl.h>
#include <sys/stat.h>

static bool fails;              // the next rename to a root

int __real_fileio_rename (const char *from, const char *to, struct err *err);
int __wrap_fileio_rename (const char *from, const char *to, struct err *err);
int __wrap_fileio_rename (const char *from, const char *to, struct err *err)
{
    if (!fails || !strstr (from, ".restoring"))
        return __real_fileio_rename (from, to, err);
    // if it were killed here, the next restore would know whose that is
    assert_true (fileio_has (from, "restoring"));
    fails = false;
    return -EIO;
}

/* Names beside the root, which are removed with it. */
struct places {
    struct root *root;
    char dir[PATH_MAX / 2], back[PATH_MAX - 64], again[PATH_MAX - 64];
};

static const struct backup_how plain = { .copy = true };

// with the next lock: where a root appears; what becomes a link to "else"
static const char *late, *move_from, *move_to;

int __real_root_lock (const char *root, bool make, struct err *err);
int __wrap_root_lock (const char *root, bool make, struct err *err);
int __wrap_root_lock (const char *root, bool make, struct err *err)
{
    struct root r;

    if (move_from) {
        assert_int_equal (rename (move_from, move_to), 0);
        assert_int_equal (symlink ("else", move_from), 0);
        move_from = NULL;
    }
    if (late) {
        (void)snprintf (r.dir, sizeof (r.dir), "%.1000s", late);
        (void)snprintf (r.db, sizeof (r.db), "%.1000s/ledger.db", late);
        late = NULL;
        root_open (&r);
        assert_int_equal (enter (&r, true_item ("b", "theirs"), "theirs"), 1);
        root_close (&r);
    }
    return __real_root_lock (root, make, err);
}

static void begin (struct places *p, struct root *r)
{
    p->root = r;
    (void)snprintf (p->dir, sizeof (p->dir), "%s.more", r->dir);
    assert_int_equal (mkdir (p->dir, 0700), 0);
    (void)snprintf (p->back, sizeof (p->back), "%s/back", p->dir);
    (void)snprintf (p->again, sizeof (p->again), "%s/again", p->dir);
    assert_int_equal (enter (r, true_item ("a", "first"), "first"), 1);
}

static int backup (const struct places *p, struct backup_sums *sums)
{
    struct backup_sums ignored;

    return backup_make (p->root->dir, p->back, &plain,
                        sums ? sums : &ignored, NULL);
}

/* The backup makes a root, with this content or without it; which is removed. */
static void restores (const struct places *p, const char *bytes, bool has)
{
    struct digest id = root_digest (bytes);
    struct backup_sums sums;
    struct ledger_place place;
    struct root r;

    assert_int_equal (backup_restore (p->back, p->again, &plain, &sums, NULL), 0);
    (void)snprintf (r.dir, sizeof (r.dir), "%.1000s", p->again);
    (void)snprintf (r.db, sizeof (r.db), "%.1000s/ledger.db", p->again);
    root_open (&r);
    assert_int_equal (ledger_find_content (r.l, &id, &place, NULL), has);
    if (has)
        check_bytes (&r, &id, bytes);
    root_remove (&r);
}

static void test_there_and_back (void **state)
{
    struct backup_sums sums;
    struct places p;
    uint64_t former;

    begin (&p, *state);
    assert_int_equal (backup (&p, &sums), 0);
    assert_int_equal (sums.segments, 1);
    assert_int_equal (sums.copied, sums.bytes);
    restores (&p, "first", true);
    // what is there already is not copied again
    assert_int_equal (backup (&p, &sums), 0);
    assert_int_equal (sums.copied, 0);
    former = sums.bytes;
    assert_int_equal (enter (p.root, true_item ("b", "second"), "second"), 1);
    restores (&p, "second", false);
    assert_int_equal (backup (&p, &sums), 0);
    assert_int_equal (sums.copied, sums.bytes - former);
    restores (&p, "second", true);
    assert_int_equal (mkdir (p.again, 0700), 0);        // an empty one will do
    restores (&p, "first", true);
}

static void put_file (const char *dir, const char *name)
{
    char path[PATH_MAX + 64];

    (void)mkdir (dir, 0700);
    (void)snprintf (path, sizeof (path), "%s/%s", dir, name);
    (void)close (open (path, O_WRONLY | O_CREAT, 0600));
}

static void test_other_places (void **state)
{
    struct backup_sums sums;
    struct places p;
    char path[PATH_MAX];

    begin (&p, *state);
    put_file (p.back, "thesis.tex");
    assert_int_equal (backup (&p, NULL), -EEXIST);
    assert_int_equal (fileio_remove_tree (p.back, NULL), 0);
    put_file (p.back, "jobs");          // as a root has
    assert_int_equal (backup (&p, NULL), -EEXIST);
    assert_int_equal (fileio_remove_tree (p.back, NULL), 0);
    assert_int_equal (backup_make (p.root->dir, p.root->dir, &plain, &sums,
                                   NULL), -EEXIST);
    (void)snprintf (path, sizeof (path), "%s/none", p.dir);
    assert_int_equal (backup_make (path, p.back, &plain, &sums, NULL),
                      -ENOENT);
    assert_int_equal (mkdir (path, 0700), 0);
    assert_int_equal (backup_make (path, p.back, &plain, &sums, NULL),
                      -ENOENT);
    assert_int_equal (backup_restore (path, p.again, &plain, &sums, NULL),
                      -ENOENT);
    assert_int_equal (backup (&p, NULL), 0);
    put_file (p.again, "thesis.tex");
    assert_int_equal (backup_restore (p.back, p.again, &plain, &sums, NULL),
                      -EEXIST);
    (void)snprintf (path, sizeof (path), "%s/thesis.tex", p.again);
    assert_int_equal (access (path, F_OK), 0);
}

/* A directory for the backups of one root does not become that of another. */
static void test_other_root (void **state)
{
    struct backup_sums sums;
    struct root other;
    struct places p;

    begin (&p, *state);
    assert_int_equal (backup (&p, NULL), 0);
    root_make (&other);
    assert_int_equal (enter (&other, true_item ("x", "of another root, and it "
                                                "is longer"),
                             "of another root, and it is longer"), 1);
    assert_int_equal (backup_make (other.dir, p.back, &plain, &sums, NULL),
                      -EEXIST);
    root_remove (&other);
    restores (&p, "first", true);
}

/* What fails leaves the former backup. */
static void test_former_stays (void **state)
{
    atomic_bool cancel = true;
    const struct backup_how how = { .copy = true, .cancel = &cancel };
    struct backup_sums sums;
    char path[PATH_MAX], aside[PATH_MAX + 8];
    struct places p;

    begin (&p, *state);
    assert_int_equal (backup (&p, NULL), 0);
    assert_int_equal (enter (p.root, true_item ("b", "second"), "second"), 1);
    assert_int_equal (backup_make (p.root->dir, p.back, &how, &sums, NULL), -EINTR);
    restores (&p, "first", true);
    restores (&p, "second", false);
    // a segment is gone, and no newer ledger does without it
    store_segment_path (p.root->dir, 1, path);
    (void)snprintf (aside, sizeof (aside), "%s.aside", path);
    assert_int_equal (rename (path, aside), 0);
    assert_int_equal (backup (&p, NULL), -EBADMSG);
    restores (&p, "first", true);
    // or shorter than the ledger says
    assert_int_equal (rename (aside, path), 0);
    assert_int_equal (truncate (path, 150), 0);
    assert_true (backup (&p, NULL) < 0);
    restores (&p, "first", true);
}

static void test_damaged (void **state)
{
    struct backup_sums sums;
    char path[PATH_MAX], part[PATH_MAX + 16];
    struct stat st;
    struct places p;

    begin (&p, *state);
    assert_int_equal (backup (&p, NULL), 0);
    store_segment_path (p.back, 1, path);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (truncate (path, st.st_size / 2), 0);
    assert_int_equal (truncate (path, st.st_size), 0);
    assert_int_equal (backup_restore (p.back, p.again, &plain, &sums, NULL),
                      -EBADMSG);
    assert_int_equal (access (p.again, F_OK), -1);
    (void)snprintf (part, sizeof (part), "%s.restoring", p.again);
    assert_int_equal (access (part, F_OK), -1);
}

/* What was linked is copied once that is wanted, and the link stays until then. */
static void test_link_becomes_copy (void **state)
{
    const struct backup_how links = { .copy = false };
    char from[PATH_MAX], to[PATH_MAX];
    atomic_bool cancel = true;
    const struct backup_how stopped = { .copy = true, .cancel = &cancel };
    struct backup_sums sums;
    struct places p;
    struct stat st;

    begin (&p, *state);
    assert_int_equal (backup (&p, NULL), 0);
    store_segment_path (p.root->dir, 1, from);
    store_segment_path (p.back, 1, to);
    assert_int_equal (unlink (to), 0);
    assert_int_equal (link (from, to), 0);      // as if it were full
    assert_int_equal (backup_make (p.root->dir, p.back, &links, &sums, NULL), 0);
    assert_int_equal (sums.copied + sums.linked, 0);
    assert_int_equal (backup_make (p.root->dir, p.back, &stopped, &sums, NULL),
                      -EINTR);
    assert_int_equal (stat (to, &st), 0);
    assert_int_equal (st.st_nlink, 2);
    restores (&p, "first", true);
    assert_int_equal (backup (&p, &sums), 0);
    assert_int_equal (sums.copied, sums.bytes);
    assert_int_equal (stat (to, &st), 0);
    assert_int_equal (st.st_nlink, 1);
    restores (&p, "first", true);
    assert_int_equal (backup (&p, &sums), 0);
    assert_int_equal (sums.copied, 0);
}

/* A root that appears meanwhile is not what an earlier restore has left. */
static void test_late_root (void **state)
{
    struct digest id = root_digest ("theirs");
    struct backup_sums sums;
    struct ledger_place place;
    struct places p;
    struct root r;

    begin (&p, *state);
    assert_int_equal (backup (&p, NULL), 0);
    assert_int_equal (mkdir (p.again, 0700), 0);
    late = p.again;
    assert_int_equal (backup_restore (p.back, p.again, &plain, &sums, NULL),
                      -EEXIST);
    assert_null (late);
    (void)snprintf (r.dir, sizeof (r.dir), "%.1000s", p.again);
    (void)snprintf (r.db, sizeof (r.db), "%.1000s/ledger.db", p.again);
    root_open (&r);
    assert_int_equal (ledger_find_content (r.l, &id, &place, NULL), 1);
    check_bytes (&r, &id, "theirs");
    root_remove (&r);
}

static void test_killed_at_end (void **state)
{
    struct backup_sums sums;
    struct places p;

    begin (&p, *state);
    assert_int_equal (backup (&p, NULL), 0);
    fails = true;
    assert_int_equal (backup_restore (p.back, p.again, &plain, &sums, NULL),
                      -EIO);
    assert_false (fails);
    restores (&p, "first", true);
}

/* Who may not read the log of the root is told what gives it back. */
static void test_audit_denied (void **state)
{
    const struct audit a = { .verb = "archive rm", .user = "me", .uid = -1 };
    struct root *r = *state;
    struct err err = { "" };
    char path[PATH_MAX];

    assert_int_equal (audit_write (r->dir, &a, NULL), 0);
    assert_int_equal (audit_denied (r->dir, "read", &err), -EACCES);
    assert_non_null (strstr (err.text, "chmod u+rw /"));
    (void)snprintf (path, sizeof (path), "%s/" AUDIT_LOG, r->dir);
    if (chown (path, 1, (gid_t)-1) < 0)
        return;                 // only root may
    assert_int_equal (audit_denied (r->dir, "read", &err), -EACCES);
    assert_non_null (strstr (err.text, "sudo chown "));
}

/* Who removed something is known of the new root, too. */
static void test_audit (void **state)
{
    const struct audit a = { .verb = "archive rm", .user = "me", .uid = -1 };
    char path[PATH_MAX];
    struct backup_sums sums;
    struct places p;
    struct stat st;
    off_t size;

    begin (&p, *state);
    assert_int_equal (backup (&p, NULL), 0);    // as yet there is none
    assert_int_equal (audit_write (p.root->dir, &a, NULL), 0);
    assert_int_equal (backup (&p, NULL), 0);
    assert_int_equal (audit_write (p.root->dir, &a, NULL), 0);
    (void)snprintf (path, sizeof (path), "%s/" AUDIT_LOG, p.back);
    assert_int_equal (stat (path, &st), 0);
    size = st.st_size;
    assert_int_equal (backup (&p, NULL), 0);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_size, 2 * size);
    (void)snprintf (path, sizeof (path), "%s/" AUDIT_LOG, p.again);
    for (int inside = 0; inside <= 1; inside++) {
        if (inside)
            assert_int_equal (mkdir (p.again, 0700), 0);
        assert_int_equal (backup_restore (p.back, p.again, &plain, &sums, NULL),
                          0);
        assert_int_equal (stat (path, &st), 0);
        assert_int_equal (st.st_size, 2 * size);
        assert_int_equal (fileio_remove_tree (p.again, NULL), 0);
    }
}

/* Root does not write where another user can make names lead elsewhere. */
static void test_another_user (void **state)
{
    struct backup_sums sums;
    struct err err = { "" };
    char segments[PATH_MAX];
    struct places p;

    if (geteuid () != 0)
        skip ();
    begin (&p, *state);
    assert_int_equal (backup (&p, NULL), 0);
    (void)snprintf (segments, sizeof (segments), "%s/segments", p.back);
    assert_int_equal (chown (segments, 65534, 65534), 0);
    assert_int_equal (backup_make (p.root->dir, p.back, &plain, &sums, &err),
                      -EPERM);
    assert_null (strstr (err.text, "/proc/"));
    assert_int_equal (chown (segments, 0, 0), 0);
    assert_int_equal (chown (p.back, 65534, 65534), 0);
    assert_int_equal (backup (&p, NULL), -EPERM);
    restores (&p, "first", true);       // whose backup it is does not matter
    assert_int_equal (chown (p.dir, 65534, 65534), 0);
    assert_int_equal (backup_restore (p.back, p.again, &plain, &sums, NULL),
                      -EPERM);
    assert_int_equal (backup_make (p.root->dir, p.again, &plain, &sums, NULL),
                      -EPERM);
    assert_int_equal (mkdir (p.again, 0700), 0);
    restores (&p, "first", true);
    assert_int_equal (mkdir (p.again, 0700), 0);
    assert_int_equal (chown (p.again, 65534, 65534), 0);
    assert_int_equal (backup_restore (p.back, p.again, &plain, &sums, NULL),
                      -EPERM);
}

/* The directory of a backup gets another name, and a link has its own now. */
static void test_moved_dir (void **state)
{
    char moved[PATH_MAX], path[PATH_MAX + 16];
    struct places p;

    begin (&p, *state);
    assert_int_equal (backup (&p, NULL), 0);
    assert_int_equal (enter (p.root, true_item ("b", "second"), "second"), 1);
    (void)snprintf (moved, sizeof (moved), "%s/moved", p.dir);
    (void)snprintf (path, sizeof (path), "%s/else", p.dir);
    assert_int_equal (mkdir (path, 0700), 0);
    move_from = p.back;
    move_to = moved;
    assert_int_equal (backup (&p, NULL), 0);
    assert_null (move_from);
    assert_int_equal (rmdir (path), 0);         // nothing was written to it
    assert_int_equal (unlink (p.back), 0);
    assert_int_equal (rename (moved, p.back), 0);
    restores (&p, "second", true);
}

/* What is beside the root, too. */
static int remove_places (void **state)
{
    const struct root *r = *state;
    char dir[PATH_MAX];

    (void)snprintf (dir, sizeof (dir), "%.1000s.more", r->dir);
    assert_int_equal (fileio_remove_tree (dir, NULL), 0);
    return root_teardown (state);
}

#define PLACES_TEST(name) \
    cmocka_unit_test_setup_teardown (name, root_setup, remove_places)

/* Segment 1, of a root with two, has a hole and is marked as let go; its size. */
static uint64_t let_go (struct root *r)
{
    struct object_mark m = { .state = OBJECT_WHOLE, .url = "s3://bucket",
                             .evicted = true };
    char path[PATH_MAX], bytes[40001];
    uint64_t size;
    int fd;

    memset (bytes, 'x', 40000);
    bytes[40000] = '\0';
    assert_int_equal (enter (r, true_item ("c", bytes), bytes), 1);
    size = r->s->committed;
    assert_int_equal (store_open_next (r->s, NULL), 0);
    assert_int_equal (enter (r, true_item ("d", "next"), "next"), 1);
    assert_int_equal (object_mark_begin (r->dir, NULL), 0);
    assert_int_equal (object_mark_set (r->dir, 1, &m, NULL), 0);
    store_segment_path (r->dir, 1, path);
    fd = open (path, O_RDWR);
    if (fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192,
                   8192) < 0)
        skip ();
    (void)close (fd);
    return size;
}

/* A link to a segment whose bytes are only in a store, as a backup leaves it that
 * could not read them, is not taken for a copy.
 */
static void test_link_with_holes (void **state)
{
    static const struct backup_how links = { .copy = false };
    struct backup_sums sums;
    struct places p;

    begin (&p, *state);
    (void)let_go (p.root);
    for (int i = 0; i < 2; i++)
        assert_int_equal (backup_make (p.root->dir, p.back, &links, &sums,
                                       NULL), -EREMOTEIO);
}

/* What a store gives is checked. */
static void test_store_lies (void **state)
{
    static char answer[60000];
    static const char *const answers[] = { answer };
    struct http_script *script;
    struct err err = { "" };
    struct backup_sums sums;
    struct places p;
    uint64_t size;
    int n;

    if (!object_store_is_built ())
        skip ();
    begin (&p, *state);
    size = let_go (p.root);
    assert_true (size < sizeof (answer) - 128);
    n = snprintf (answer, 128, "HTTP/1.1 206 x\r\nContent-Length: %llu\r\n"
                  "Connection: close\r\n\r\n", (unsigned long long)size);
    memset (answer + n, 'y', size);
    answer[(size_t)n + size] = '\0';
    script = http_script_start (answers, 1);
    http_script_credentials ();
    http_script_place (script, p.root->dir);
    assert_int_equal (backup_make (p.root->dir, p.back, &plain, &sums, &err),
                      -EBADMSG);
    assert_non_null (strstr (err.text, "in the object store"));
    http_script_end (script);
}

/* Nothing is made for a root that gives nothing. */
static void test_denied_root (void **state)
{
    static const char *const names[] = { "id", "ledger.db" };
    struct places p;
    bool root = geteuid () == 0;
    char path[PATH_MAX], id[ROOT_ID_SIZE];
    int rc;

    begin (&p, *state);
    assert_int_equal (root_need_id (p.root->dir, id, NULL), 0);
    assert_int_equal (chmod (p.dir, 0777), 0);
    assert_int_equal (chmod (p.root->dir, 0755), 0);
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf (path, sizeof (path), "%s/%s", p.root->dir, names[i]);
        assert_int_equal (chmod (path, 0), 0);
        if (root)
            assert_int_equal (seteuid (65534), 0);
        rc = backup (&p, NULL);
        if (root)
            assert_int_equal (seteuid (0), 0);
        assert_int_equal (rc, -EACCES);
        assert_false (fileio_has (p.dir, "back"));
        assert_int_equal (chmod (path, 0644), 0);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        PLACES_TEST (test_there_and_back), PLACES_TEST (test_other_places),
        PLACES_TEST (test_other_root), PLACES_TEST (test_former_stays),
        PLACES_TEST (test_damaged), PLACES_TEST (test_another_user),
        PLACES_TEST (test_link_becomes_copy), PLACES_TEST (test_late_root),
        PLACES_TEST (test_killed_at_end), PLACES_TEST (test_audit),
        PLACES_TEST (test_audit_denied), PLACES_TEST (test_denied_root),
        PLACES_TEST (test_moved_dir), PLACES_TEST (test_link_with_holes),
        PLACES_TEST (test_store_lies),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
