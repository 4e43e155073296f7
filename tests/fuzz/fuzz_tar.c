/* tests/fuzz/fuzz_tar.c - tar files into a root
 *
 * An export is taken into an empty root, anything else is unpacked into a
 * directory.  Whatever comes, nothing is written beside these, an item has its
 * content, and what was taken once is taken again without any change.
 */
#include "archive/intake.h"
#include "fuzz_dir.h"
#include "interchange/import_tar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define ROOT "root"
#define FILES "files"

static void refuse (void *arg, const char *why)
{
    (void)arg;
    if (!*why)
        abort ();
}

/* 0 or negative, with the reason. */
static int take (int fd, struct intake *in)
{
    struct tar_member *first = malloc (sizeof (*first));
    struct tar_reader *from = NULL;
    struct import_sums sums;
    struct err err = { "" };
    struct tree to;
    char path[PATH_MAX];
    struct import_options how = { fuzz_path (path, "."), CODEC_LZ4, NULL, true };
    int rc;

    if (!first || lseek (fd, 0, SEEK_SET) < 0)
        abort ();
    rc = tar_reader_create (fd, &from, &err);
    if (rc == 0)
        rc = import_begin (from, first, &sums, &err);
    if (rc == 1) {
        rc = import_export (from, in, &how, NULL, &sums, &err);
    } else if (rc == 0) {
        if (tree_open (&to, fuzz_path (path, FILES), NULL) < 0)
            abort ();
        rc = import_unpack (from, first, &to, false, refuse, NULL, NULL, &sums, &err);
        tree_close (&to);
    }
    if (rc < 0 && !err.text[0])
        abort ();
    tar_reader_destroy (from);
    free (first);
    return rc;
}

static int see_item (void *arg, const struct ledger_item *item)
{
    (void)arg;
    if (item->lost)
        abort ();
    return 0;
}

static int see_job (void *arg, const struct ledger_job *job)
{
    for (enum item_kind k = ITEM_ROWS; k <= ITEM_RAW; k++) {
        if (ledger_each (arg, job->id, k, see_item, NULL, NULL) < 0)
            abort ();
    }
    return 0;
}

static struct ledger_stamp stamp_of (struct ledger *l)
{
    struct ledger_stamp stamp;

    if (ledger_stamp (l, &stamp, NULL) < 0 ||
        ledger_each_job (l, ITEM_RAW, see_job, l, NULL) < 0)
        abort ();
    return stamp;
}

/* One more time, into the same root. */
static int take_into (int fd, struct ledger *l, struct store *s)
{
    struct intake *in;
    int rc;

    if (intake_begin (l, s, &in, NULL) < 0)
        abort ();
    rc = take (fd, in);
    intake_close (in);
    return rc;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    int fd = memfd_create ("fuzz", MFD_CLOEXEC);
    struct ledger_stamp first, second;
    char root[PATH_MAX], path[PATH_MAX];
    struct ledger *l = NULL;
    struct store *s = NULL;

    fuzz_remove (ROOT);
    fuzz_remove (FILES);
    fuzz_mkdir (ROOT);
    fuzz_mkdir (FILES);
    (void)fuzz_path (root, ROOT);
    if (fd < 0 || write (fd, data, size) != (ssize_t)size ||
        ledger_open (fuzz_path (path, ROOT "/ledger.db"), &l, NULL) < 0 ||
        store_open (root, l, &s, NULL) < 0)
        abort ();
    if (take_into (fd, l, s) == 0) {
        first = stamp_of (l);
        (void)take_into (fd, l, s);
        second = stamp_of (l);
        if (memcmp (&first, &second, sizeof (first)) != 0)
            abort ();
    }
    store_close (s);
    ledger_close (l);
    (void)close (fd);
    return 0;
}
