/* common/store/sorter_file.c - sorted records in a file */
#include "store/sorter_file.h"

#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define WRITE_BYTES 65536u      // bytes of a write
#define READ_BYTES 16384u       // bytes of a read
#define WORD_BYTES 10u          // at most: 7 bits in a byte
#define RECORD_BYTES (SORTER_WORDS_MAX * WORD_BYTES)

int sorter_file_open (struct sorter_file *f)
{
    const char *tmp = getenv ("TMPDIR");
    char path[PATH_MAX];

    PRINT (path, "%s/rollcall-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    f->fd = mkostemp (path, O_CLOEXEC);
    if (f->fd < 0)
        return -errno;
    (void)unlink (path);
    return 0;
}

void sorter_file_close (struct sorter_file *f)
{
    fileio_close (f->fd);
    f->fd = -1;
    free (f->out);
    f->out = NULL;
}

/* ---- writing ---- */

/* Write the difference as a small number whatever its sign, lowest bits first.
 */
static uint8_t *put_word (uint8_t *out, int64_t word, int64_t before)
{
    uint64_t d = (uint64_t)word - (uint64_t)before;

    d = d << 1 ^ -(d >> 63);
    for (; d >= 128; d >>= 7)
        *out++ = (uint8_t)(d | 128);
    *out++ = (uint8_t)d;
    return out;
}

static int sorter_file_flush (struct sorter_file *f, struct sorter_run *run,
                              size_t n)
{
    run->bytes += (int64_t)n;
    f->bytes += (int64_t)n;
    return fileio_write_all (f->fd, f->out, n);
}

int sorter_file_write (struct sorter_file *f, struct sorter_run *run,
                       const int64_t *records, size_t n)
{
    const int64_t *end = records + n * f->words;
    uint8_t *at;

    if (!f->out && !(f->out = malloc (WRITE_BYTES)))
        return -ENOMEM;
    at = f->out;
    while (records < end) {
        for (unsigned w = 0; w < f->words; w++) {
            at = put_word (at, *records, run->last[w]);
            run->last[w] = *records++;
        }
        run->count++;
        if (at > f->out + WRITE_BYTES - RECORD_BYTES) {
            int rc = sorter_file_flush (f, run, (size_t)(at - f->out));

            if (rc < 0)
                return rc;
            at = f->out;
        }
    }
    return sorter_file_flush (f, run, (size_t)(at - f->out));
}

/* ---- reading ---- */

/* Fill the buffer with a whole record, or with the rest. */
static int refill (const struct sorter_file *f, struct sorter_reader *r)
{
    size_t rest = r->have - r->next, wanted = READ_BYTES - rest;

    if (!r->buf && !(r->buf = calloc (1, READ_BYTES + RECORD_BYTES)))
        return -ENOMEM;
    for (size_t i = 0; i < rest; i++)
        r->buf[i] = r->buf[r->next + i];
    r->have = rest;
    r->next = 0;
    if (r->left < (int64_t)wanted)
        wanted = (size_t)r->left;
    while (wanted > 0) {
        ssize_t n = pread (f->fd, r->buf + r->have, wanted, (off_t)r->at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        r->have += (size_t)n;
        r->at += n;
        r->left -= n;
        wanted -= (size_t)n;
    }
    return 0;
}

static const uint8_t *get_word (const uint8_t *in, int64_t *word)
{
    uint64_t d = *in & 127;

    for (unsigned shift = 7; *in++ >= 128 && shift < 64; shift += 7)
        d |= (uint64_t)(*in & 127) << shift;
    *word = (int64_t)((uint64_t)*word + (d >> 1 ^ -(d & 1)));
    return in;
}

int sorter_file_read (const struct sorter_file *f, struct sorter_reader *r)
{
    const uint8_t *in;
    int rc;

    if (r->count == 0)
        return 0;
    if (r->have - r->next < RECORD_BYTES && (r->left > 0 || !r->buf) &&
        (rc = refill (f, r)) < 0)
        return rc;
    in = r->buf + r->next;
    for (unsigned w = 0; w < f->words; w++)
        in = get_word (in, &r->record[w]);
    r->next = (size_t)(in - r->buf);
    r->count--;
    return r->next <= r->have ? 1 : -EIO;
}

void sorter_reader_fini (struct sorter_reader *r)
{
    free (r->buf);
    r->buf = NULL;
}
