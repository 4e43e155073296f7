/* tests/fuzz/fuzz_record.c - segments of a store
 *
 * The first byte says what the rest is.  Bit 0: checksums and hashes in it are
 * made right first, since a fuzzer does not find them.  Bit 1: it is also the
 * segment of a root whose ledger knows nothing of it: an aggregator opens it
 * and goes on, and what a check has repaired is right for the next check.
 */
#include "fsck/check_root.h"
#include "fuzz_root.h"
#include "store/checksum.h"
#include "store/record.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define MAGIC "RCR1"
#define HEAD_SIZE 9u            // magic, size, kind
#define SUM_SIZE 8u
#define ID_AT HEAD_SIZE         // of a chunk, in its record
#define SIZE_AT (ID_AT + DIGEST_SIZE + 8)       // of what is behind it
#define CHECKSUM_AT (SIZE_AT + 8 + 1)   // of that

/* ---- making it right ---- */

static void put_hash (uint8_t *record, const uint8_t *end)
{
    struct digest id;
    uint32_t size, inside, sum;

    memcpy (&size, record + 4, sizeof (size));
    memcpy (&inside, record + SIZE_AT, sizeof (inside));
    if (inside > (size_t)(end - record) - size)
        return;
    if (digest_of (record + size, inside, &id) == 0)
        memcpy (record + ID_AT, &id, sizeof (id));
    sum = checksum_add (0, record + size, inside);
    memcpy (record + CHECKSUM_AT, &sum, sizeof (sum));
}

static void make_right (uint8_t *bytes, size_t n)
{
    uint8_t *end = bytes + n, *at = bytes;

    while ((at = memmem (at, (size_t)(end - at), MAGIC, 4))) {
        struct digest sum;
        uint32_t size;

        if ((size_t)(end - at) < HEAD_SIZE + SUM_SIZE)
            break;
        memcpy (&size, at + 4, sizeof (size));
        if (size >= HEAD_SIZE + SUM_SIZE && size <= (size_t)(end - at)) {
            if (at[8] == RECORD_CHUNK && size >= CHECKSUM_AT + 4 + SUM_SIZE)
                put_hash (at, end);
            if (digest_of (at, size - SUM_SIZE, &sum) < 0)
                abort ();
            memcpy (at + size - SUM_SIZE, &sum, SUM_SIZE);
        }
        at++;
    }
}

/* ---- decoding ---- */

static void decode (const uint8_t *data, size_t size)
{
    struct record r;
    struct buf b;

    if (record_decode (&r, data, size, NULL) < 0)
        return;
    if (r.size > size || r.size > RECORD_MAX)
        abort ();
    buf_init (&b, RECORD_MAX);
    if (record_encode (&r, &b) < 0 || b.size != r.size)
        abort ();
    if (memcmp (b.data, data, b.size) != 0)
        abort ();
    buf_fini (&b);
}

struct seen {
    uint64_t at, to;
};

/* Everything once, in order. */
static int see (void *arg, const struct record *r, int bad,
                const struct ledger_place *gap)
{
    struct seen *s = arg;
    uint64_t rest = s->to - s->at, inside;

    if (!r) {
        if (gap->offset != s->at || gap->stored == 0 || gap->stored > rest)
            abort ();
        s->at += gap->stored;
        return 0;
    }
    if (r->size > rest)
        abort ();
    rest -= r->size;
    inside = record_inside (r);
    if (inside > rest && bad == 0)
        abort ();
    s->at += r->size + (inside < rest ? inside : rest);
    return 0;
}

static void scan (const uint8_t *data, size_t size)
{
    struct seen s = { 0, size };
    int fd = memfd_create ("fuzz", MFD_CLOEXEC);
    struct segment f = { .fd = fd, .number = 1 };

    if (fd < 0 || write (fd, data, size) != (ssize_t)size)
        abort ();
    if (record_scan (&f, 0, size, true, see, &s, NULL) < 0 || s.at != size)
        abort ();
    (void)close (fd);
}

/* ---- a root ---- */

static void say (void *arg, const char *sentence)
{
    (void)snprintf (arg, ERR_TEXT_MAX, "%s", sentence);
}

static void serve (const char *root)
{
    struct err err = { "" };
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[PATH_MAX];
    int rc;

    if (ledger_open (fuzz_path (path, FUZZ_ROOT "/ledger.db"), &l, &err) < 0)
        abort ();
    rc = store_open (root, l, &s, &err);
    if (rc < 0 && !err.text[0])
        abort ();
    store_close (s);
    ledger_close (l);
}

static void recover (const uint8_t *data, size_t size)
{
    const struct fuzz_root *r = fuzz_root ();
    char root[PATH_MAX];
    char said[ERR_TEXT_MAX] = "";
    struct err err = { "" };

    fuzz_root_restore ();
    fuzz_write (FUZZ_SEGMENT, data, size);
    fuzz_write (FUZZ_ROOT "/ledger.db", r->empty.data, r->empty.size);
    (void)fuzz_path (root, FUZZ_ROOT);
    serve (root);
    fuzz_write (FUZZ_SEGMENT, data, size);
    for (int i = 0; i < 2; i++) {
        struct check_report report = { .say = say, .arg = said };

        if (store_check (root, i == 0, &report, &err) == 0 &&
            (i == 0 || report.damaged == 0))
            continue;
        fprintf (stderr, "check %d: %s; %s\n", i, err.text, said);
        abort ();
    }
    serve (root);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    uint8_t *copy;

    if (size == 0)
        return 0;
    if (!(copy = malloc (size)))
        abort ();
    memcpy (copy, data + 1, size - 1);
    if (data[0] & 1)
        make_right (copy, size - 1);
    decode (copy, size - 1);
    scan (copy, size - 1);
    if (data[0] & 2)
        recover (copy, size - 1);
    free (copy);
    return 0;
}
