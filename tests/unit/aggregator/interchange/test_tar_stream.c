/* tests/unit/aggregator/interchange/test_tar_stream.c - tar files: written and
 * read back, and what somebody else put into them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interchange/tar_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK 512

static int new_file (void)
{
    int fd = memfd_create ("tar", MFD_CLOEXEC);

    assert_true (fd >= 0);
    return fd;
}

static struct tar_reader *open_reader (int fd)
{
    struct tar_reader *r = NULL;

    assert_int_equal (lseek (fd, 0, SEEK_SET), 0);
    assert_int_equal (tar_reader_create (fd, &r, NULL), 0);
    return r;
}

/* An old header, for what the writer cannot write. */
static void put_header (int fd, const char *name, char type, const char *link,
                        size_t size)
{
    unsigned char h[BLOCK] = { 0 };
    unsigned sum = 0;

    (void)snprintf ((char *)h, 100, "%s", name);
    (void)snprintf ((char *)h + 100, 8, "%07o", 0644u);
    (void)snprintf ((char *)h + 108, 8, "%07o", 0u);
    (void)snprintf ((char *)h + 116, 8, "%07o", 0u);
    (void)snprintf ((char *)h + 124, 12, "%011zo", size);
    (void)snprintf ((char *)h + 136, 12, "%011o", 1u);
    memset (h + 148, ' ', 8);
    h[156] = (unsigned char)type;
    (void)snprintf ((char *)h + 157, 100, "%s", link);
    if (type == 'S') {          // one piece at 4096, of 8192 bytes
        memcpy (h + 257, "ustar  ", 8);
        (void)snprintf ((char *)h + 386, 12, "%011o", 4096u);
        (void)snprintf ((char *)h + 398, 12, "%011zo", size);
        (void)snprintf ((char *)h + 483, 12, "%011o", 8192u);
    } else {
        memcpy (h + 257, "ustar\00000", 8);
    }
    for (size_t i = 0; i < sizeof (h); i++)
        sum += h[i];
    (void)snprintf ((char *)h + 148, 8, "%06o", sum);
    assert_int_equal (write (fd, h, sizeof (h)), (ssize_t)sizeof (h));
}

/* ---- round trip ---- */

static const struct made {
    const char *name;
    size_t size;
    struct file_facts facts;
} made[] = {
    { "empty", 0, { S_IFREG | 0600, 0, 0, 0 } },
    { "one", 1, { S_IFREG | 0751, 1234567890123456789, 1234, 5678 } },
    { "dir/before 1970", 513, { S_IFREG | 0644, -1500000000, 3000000, 1 } },
    { "new\nline", 100000, { S_IFREG | 0777, 999999999, 0, 0 } },
    { "\303\274n\303\257", 7, { S_IFREG | 0640, 1, 0, 0 } },
    { "not UTF-8 \377\376", 7, { S_IFREG | 0640, 1, 0, 0 } },
    { "a = b, 12 c=d", 7, { S_IFREG | 0640, 1, 0, 0 } },
};

#define MADE (sizeof (made) / sizeof (made[0]))

static unsigned char byte_of (size_t i, size_t at)
{
    return (unsigned char)(7 * i + at % 251);
}

static void write_made (int fd)
{
    struct tar_writer *w = NULL;

    assert_int_equal (tar_writer_create (fd, &w, NULL), 0);
    for (size_t i = 0; i < MADE; i++) {
        assert_int_equal (tar_writer_begin (w, made[i].name, made[i].size,
                                            &made[i].facts, NULL), 0);
        for (size_t at = 0; at < made[i].size; at++) {
            unsigned char c = byte_of (i, at);

            assert_int_equal (tar_writer_put (w, &c, 1, NULL), 0);
        }
    }
    assert_int_equal (tar_writer_finish (w, NULL), 0);
    tar_writer_destroy (w);
}

static void check_made (struct tar_reader *r, size_t i,
                        const struct tar_member *m)
{
    unsigned char block[1000];
    size_t at = 0;
    ssize_t n;

    assert_string_equal (m->name, made[i].name);
    assert_string_equal (m->refused, "");
    assert_false (m->directory);
    assert_int_equal (m->size, made[i].size);
    assert_int_equal (m->facts.mode, made[i].facts.mode);
    assert_int_equal (m->facts.mtime_ns, made[i].facts.mtime_ns);
    assert_int_equal (m->facts.uid, made[i].facts.uid);
    assert_int_equal (m->facts.gid, made[i].facts.gid);
    while ((n = tar_reader_get (r, block, sizeof (block), NULL)) > 0) {
        for (ssize_t k = 0; k < n; k++, at++)
            assert_int_equal (block[k], byte_of (i, at));
    }
    assert_int_equal (n, 0);
    assert_int_equal (at, made[i].size);
}

static void test_round_trip (void **state)
{
    struct tar_member *m = malloc (sizeof (*m));
    int fd = new_file ();
    struct tar_reader *r;

    (void)state;
    write_made (fd);
    r = open_reader (fd);
    for (size_t i = 0; i < MADE; i++) {
        assert_int_equal (tar_reader_next (r, m, NULL), 1);
        check_made (r, i, m);
    }
    assert_int_equal (tar_reader_next (r, m, NULL), 0);
    tar_reader_destroy (r);
    (void)close (fd);
    free (m);
}

/* What is dated beyond what fits comes with a date that does. */
static void test_far_times (void **state)
{
    static const char record[] = "25 mtime=95617584000.500\n";  // of 5000
    struct tar_member *m = malloc (sizeof (*m));
    static const char end[2 * BLOCK];
    char block[BLOCK] = "";
    int fd = new_file ();
    struct tar_reader *r;

    (void)state;
    memcpy (block, record, sizeof (record) - 1);
    put_header (fd, "pax", 'x', "", sizeof (record) - 1);
    assert_int_equal (write (fd, block, BLOCK), BLOCK);
    put_header (fd, "far", '0', "", 0);
    assert_int_equal (write (fd, end, sizeof (end)), sizeof (end));
    r = open_reader (fd);
    assert_int_equal (tar_reader_next (r, m, NULL), 1);
    assert_string_equal (m->name, "far");
    assert_true (m->facts.mtime_ns > INT64_C (9223372035000000000));
    tar_reader_destroy (r);
    (void)close (fd);
    free (m);
}

/* A disk that is full while it is written is no damage. */
static void test_full_disk (void **state)
{
    int fd = open ("/dev/full", O_WRONLY | O_CLOEXEC), rc = 0;
    struct tar_writer *w = NULL;
    struct err err = { "" };

    (void)state;
    if (fd < 0)
        skip ();
    assert_int_equal (tar_writer_create (fd, &w, &err), 0);
    for (size_t i = 0; i < MADE && rc == 0; i++)
        rc = tar_writer_begin (w, made[i].name, 0, &made[i].facts, &err);
    if (rc == 0)
        rc = tar_writer_finish (w, &err);
    assert_int_equal (rc, -ENOSPC);
    assert_non_null (strstr (err.text, "cannot write the tar file"));
    tar_writer_destroy (w);
    (void)close (fd);
}

/* ---- names ---- */

/* How a reader calls a member that was written with this name, and why it is
 * not taken.
 */
static void pass (const char *name, struct tar_member *m)
{
    const struct file_facts facts = { 0, 0, -1, -1 };
    struct tar_writer *w = NULL;
    struct tar_reader *r;
    int fd = new_file ();

    assert_int_equal (tar_writer_create (fd, &w, NULL), 0);
    assert_int_equal (tar_writer_begin (w, name, 0, &facts, NULL), 0);
    assert_int_equal (tar_writer_finish (w, NULL), 0);
    tar_writer_destroy (w);
    r = open_reader (fd);
    assert_int_equal (tar_reader_next (r, m, NULL), 1);
    tar_reader_destroy (r);
    (void)close (fd);
}

static void is_refused (const struct tar_member *m, const char *why)
{
    assert_string_equal (m->name, "");
    if (!strstr (m->refused, why))
        fail_msg ("no \"%s\" in \"%s\"", why, m->refused);
}

/* "n/n/.../n", with so many names of so many bytes. */
static char *deep (size_t names, size_t bytes)
{
    size_t size = names * (bytes + 1);
    char *name = malloc (size);

    memset (name, 'n', size);
    for (size_t i = 1; i < names; i++)
        name[i * (bytes + 1) - 1] = '/';
    name[size - 1] = '\0';
    return name;
}

static void test_names (void **state)
{
    static const struct {
        size_t names, bytes;
        const char *refused;    // NULL: it is taken
    } cases[] = {
        { 1, NAME_MAX, NULL },
        { 1, NAME_MAX + 1, NULL },      // older exports have these
        { 64, 60, NULL }, { 600, 1, NULL },
        { 16, 254, NULL }, { 17, 250, "its name is too long" },
    };
    struct tar_member *m = malloc (sizeof (*m));

    (void)state;
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        char *name = deep (cases[i].names, cases[i].bytes);

        pass (name, m);
        if (cases[i].refused)
            is_refused (m, cases[i].refused);
        else
            assert_string_equal (m->name, name);
        free (name);
    }
    pass ("./a//b/./c", m);
    assert_string_equal (m->name, "a/b/c");
    assert_int_equal (m->facts.mode, S_IFREG | 0640);   // none was known
    pass ("..a/...", m);
    assert_string_equal (m->name, "..a/...");
    free (m);
}

/* ---- what others write ---- */

static void test_hostile (void **state)
{
    static const struct {
        const char *name, *link, *why;
        char type;
    } cases[] = {
        { "/etc/passwd", "", "/etc/passwd: its path is absolute", '0' },
        { "a/../../b", "", "its path leads out with ..", '0' },
        { "..", "", "its path leads out with ..", '5' },
        { "hard", "elsewhere", "it is a hard link", '1' },
        { "soft", "/etc", "it is a symbolic link", '2' },
        { "a\nb\033[2J", "/etc", "a\\nb\\x1b[2J: it is a symbolic link", '2' },
        { "tty", "", "it is no regular file", '3' },
        { "disk", "", "it is no regular file", '4' },
        { "fifo", "", "it is no regular file", '6' },
        { ".", "", "it has no name", '0' },
    };
    struct tar_member *m = malloc (sizeof (*m));
    static const char end[2 * BLOCK];
    int fd = new_file ();
    struct tar_reader *r;

    (void)state;
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++)
        put_header (fd, cases[i].name, cases[i].type, cases[i].link, 0);
    put_header (fd, "holes", 'S', "", BLOCK);
    assert_int_equal (write (fd, end, BLOCK), BLOCK);
    put_header (fd, "dir/", '5', "", 0);
    put_header (fd, "good", '0', "", 0);
    assert_int_equal (write (fd, end, sizeof (end)), sizeof (end));
    r = open_reader (fd);
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        assert_int_equal (tar_reader_next (r, m, NULL), 1);
        is_refused (m, cases[i].why);
    }
    assert_int_equal (tar_reader_next (r, m, NULL), 1);
    is_refused (m, "holes: it has holes");
    assert_int_equal (tar_reader_next (r, m, NULL), 1);
    assert_true (m->directory);
    assert_string_equal (m->refused, "");
    assert_int_equal (tar_reader_next (r, m, NULL), 1);
    assert_string_equal (m->name, "good");
    assert_false (m->directory);
    assert_int_equal (tar_reader_next (r, m, NULL), 0);
    tar_reader_destroy (r);
    (void)close (fd);
    free (m);
}

/* The first error of a file, read to its end. */
static int read_all (int fd)
{
    struct tar_member *m = malloc (sizeof (*m));
    struct tar_reader *r = NULL;
    char block[4096];
    ssize_t n = 0;
    int rc;

    assert_int_equal (lseek (fd, 0, SEEK_SET), 0);
    rc = tar_reader_create (fd, &r, NULL);
    while (rc >= 0 && (rc = tar_reader_next (r, m, NULL)) > 0) {
        while ((n = tar_reader_get (r, block, sizeof (block), NULL)) > 0)
            ;
        rc = n < 0 ? (int)n : 1;
    }
    tar_reader_destroy (r);
    free (m);
    return rc;
}

static void test_damaged (void **state)
{
    int fd = new_file ();

    (void)state;
    assert_int_equal (write (fd, "what is no tar file", 19), 19);
    assert_int_equal (read_all (fd), -EBADMSG);
    assert_int_equal (ftruncate (fd, 0), 0);
    assert_int_equal (lseek (fd, 0, SEEK_SET), 0);
    write_made (fd);
    assert_int_equal (read_all (fd), 0);
    assert_int_equal (ftruncate (fd, 60000), 0);        // within a content
    assert_int_equal (read_all (fd), -EBADMSG);
    (void)close (fd);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip), cmocka_unit_test (test_names),
        cmocka_unit_test (test_far_times), cmocka_unit_test (test_full_disk),
        cmocka_unit_test (test_hostile), cmocka_unit_test (test_damaged),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
