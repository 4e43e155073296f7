/* aggregator/interchange/tar_stream.c - write and read tar files */
#include "interchange/tar_stream.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "store/content.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (64 << 10)          // of a read

/* libarchive converts names to the character set of the locale: they must stay
 * as they are.
 */
struct in_utf8 {
    locale_t utf8, before;
};

static void enter_utf8 (struct in_utf8 *u)
{
    u->utf8 = newlocale (LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    u->before = u->utf8 ? uselocale (u->utf8) : (locale_t)0;
}

static void leave_utf8 (struct in_utf8 *u)
{
    if (!u->utf8)
        return;
    (void)uselocale (u->before);
    freelocale (u->utf8);
}

static int say (struct archive *a, int rc, const char *what, struct err *err)
{
    const char *why = archive_error_string (a);

    return err_set (err, rc, "%s: %.300s", what, why ? why : "no reason given");
}

/* ---- writing ---- */

struct tar_writer {
    struct archive *a;
    struct archive_entry *entry;
};

void tar_writer_destroy (struct tar_writer *w)
{
    if (!w)
        return;
    archive_entry_free (w->entry);
    (void)archive_write_free (w->a);
    free (w);
}

int tar_writer_create (int fd, struct tar_writer **ret, struct err *err)
{
    struct tar_writer *w = calloc (1, sizeof (*w));

    if (!w || !(w->a = archive_write_new ()) ||
        !(w->entry = archive_entry_new ())) {
        tar_writer_destroy (w);
        return err_set (err, ENOMEM, "no memory for a tar file");
    }
    if (archive_write_set_format_pax (w->a) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block (w->a, 1) != ARCHIVE_OK ||
        archive_write_open_fd (w->a, fd) != ARCHIVE_OK) {
        int rc = say (w->a, EIO, "cannot begin a tar file", err);

        tar_writer_destroy (w);
        return rc;
    }
    *ret = w;
    return 0;
}

static int failed (struct tar_writer *w, struct err *err)
{
    int code = archive_errno (w->a);

    return say (w->a, code > 0 ? code : EIO, "cannot write the tar file", err);
}

int tar_writer_begin (struct tar_writer *w, const char *name, uint64_t size,
                      const struct file_facts *facts, struct err *err)
{
    struct in_utf8 u;
    time_t s = (time_t)(facts->mtime_ns / NS_PER_S);
    long ns = (long)(facts->mtime_ns % NS_PER_S);
    int rc;

    if (ns < 0) {
        s--;
        ns += NS_PER_S;
    }
    enter_utf8 (&u);
    (void)archive_entry_clear (w->entry);
    archive_entry_copy_pathname (w->entry, name);
    archive_entry_set_size (w->entry, (int64_t)size);
    archive_entry_set_filetype (w->entry, AE_IFREG);
    archive_entry_set_perm (w->entry, facts->mode ? facts->mode & FILE_FACTS_MODE
                                                  : 0640);
    archive_entry_set_mtime (w->entry, s, ns);
    if (facts->uid >= 0) {
        archive_entry_set_uid (w->entry, facts->uid);
        archive_entry_set_gid (w->entry, facts->gid);
    }
    rc = archive_write_header (w->a, w->entry);
    leave_utf8 (&u);
    return rc == ARCHIVE_OK || rc == ARCHIVE_WARN ? 0 : failed (w, err);
}

int tar_writer_put (struct tar_writer *w, const void *data, size_t n,
                    struct err *err)
{
    return archive_write_data (w->a, data, n) == (ssize_t)n ? 0
                                                            : failed (w, err);
}

int tar_writer_finish (struct tar_writer *w, struct err *err)
{
    return archive_write_close (w->a) == ARCHIVE_OK ? 0 : failed (w, err);
}

/* ---- reading ---- */

struct tar_reader {
    struct archive *a;
};

void tar_reader_destroy (struct tar_reader *r)
{
    if (!r)
        return;
    (void)archive_read_free (r->a);
    free (r);
}

int tar_reader_create (int fd, struct tar_reader **ret, struct err *err)
{
    struct tar_reader *r = calloc (1, sizeof (*r));

    if (!r || !(r->a = archive_read_new ())) {
        tar_reader_destroy (r);
        return err_set (err, ENOMEM, "no memory for a tar file");
    }
    // no filter that would start a program
    if (archive_read_support_format_tar (r->a) != ARCHIVE_OK ||
        archive_read_support_filter_gzip (r->a) != ARCHIVE_OK ||
        archive_read_support_filter_zstd (r->a) != ARCHIVE_OK ||
        archive_read_open_fd (r->a, fd, BLOCK_BYTES) != ARCHIVE_OK) {
        int rc = err_set (err, EBADMSG, "it is no tar file, also not one packed "
                          "with gzip or zstd");

        tar_reader_destroy (r);
        return rc;
    }
    *ret = r;
    return 0;
}

/* Copy a name without "." and doubled slashes: NULL, or what is wrong with it.
 */
static const char *take_name (const char *name, char out[PATH_MAX])
{
    size_t n = 0;

    if (*name == '/')
        return "its path is absolute";
    while (*name) {
        size_t part = strcspn (name, "/");

        if (part == 2 && memcmp (name, "..", 2) == 0)
            return "its path leads out with ..";
        if (n + part + 2 > PATH_MAX)
            return "its name is too long";
        if (part > 0 && !(part == 1 && *name == '.')) {
            if (n > 0)
                out[n++] = '/';
            memcpy (out + n, name, part);
            n += part;
        }
        name += part + (name[part] == '/');
    }
    out[n] = '\0';
    return NULL;
}

static const char *refuse_kind (struct archive_entry *e)
{
    if (archive_entry_hardlink (e))
        return "it is a hard link";
    switch (archive_entry_filetype (e)) {
    case AE_IFREG:
        return archive_entry_sparse_count (e) > 0
                   ? "it has holes: pack it without --sparse"
               : archive_entry_size (e) < 0 ? "it has no size"
               : (uint64_t)archive_entry_size (e) > CONTENT_SIZE_MAX
                   ? "it is larger than what can be stored" : NULL;
    case AE_IFDIR:
        return NULL;
    case AE_IFLNK:
        return "it is a symbolic link";
    default:
        return "it is no regular file";
    }
}

static void take_facts (struct archive_entry *e, struct file_facts *f)
{
    const struct timespec mtime = { .tv_sec = archive_entry_mtime (e),
                                    .tv_nsec = archive_entry_mtime_nsec (e) };

    *f = (struct file_facts){
        .mode = S_IFREG | ((uint32_t)archive_entry_perm (e) & FILE_FACTS_MODE),
        .uid = archive_entry_uid (e), .gid = archive_entry_gid (e),
        .mtime_ns = clock_ns (&mtime),
    };
    if (f->uid < 0 || f->uid > UINT32_MAX || f->gid < 0 ||
        f->gid > UINT32_MAX)
        f->uid = f->gid = -1;
}

static void take_member (struct archive_entry *e, struct tar_member *m)
{
    const char *name = archive_entry_pathname (e), *why;
    char shown[UTF8_ESCAPED (128)];
    char cut[128];

    memset (m, 0, sizeof (*m));
    why = name ? take_name (name, m->name) : "its name cannot be read";
    if (!why)
        why = refuse_kind (e);
    m->directory = archive_entry_filetype (e) == AE_IFDIR;
    if (!why && !m->directory && !*m->name)
        why = "it has no name";
    if (why) {
        PRINT (cut, "%.120s", name ? name : "?");
        PRINT (m->refused, "%.190s: %s",
               utf8_escape (cut, UTF8_COLUMN, shown), why);
        m->name[0] = '\0';
        return;
    }
    m->size = m->directory ? 0 : (uint64_t)archive_entry_size (e);
    take_facts (e, &m->facts);
}

int tar_reader_next (struct tar_reader *r, struct tar_member *m,
                     struct err *err)
{
    struct archive_entry *e;
    struct in_utf8 u;
    int rc;

    enter_utf8 (&u);
    rc = archive_read_next_header (r->a, &e);
    if (rc == ARCHIVE_OK || rc == ARCHIVE_WARN)
        take_member (e, m);
    leave_utf8 (&u);
    if (rc == ARCHIVE_EOF)
        return 0;
    return rc == ARCHIVE_OK || rc == ARCHIVE_WARN
               ? 1 : say (r->a, EBADMSG, "the tar file is damaged", err);
}

ssize_t tar_reader_get (struct tar_reader *r, void *data, size_t n,
                        struct err *err)
{
    ssize_t got = archive_read_data (r->a, data, n);

    return got >= 0 ? got : say (r->a, EBADMSG, "the tar file is damaged", err);
}
