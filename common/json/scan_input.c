/* common/json/scan_input.c - the input of a scanner */
#include "json/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define TEXT_EXTRA (SCAN_TEXT_ENDING + 8u)      // plus room for a character

int scan_init (struct scan *s, scan_read_fn *read_fn, void *arg)
{
    memset (s, 0, sizeof (*s));
    s->read = read_fn;
    s->arg = arg;
    s->buf = malloc (SCAN_BUFFER + SCAN_PAD);
    s->text = malloc (SCAN_TEXT_MAX + TEXT_EXTRA);
    s->key_text = malloc (SCAN_TEXT_MAX + TEXT_EXTRA);
    if (!s->buf || !s->text || !s->key_text) {
        scan_fini (s);
        return -ENOMEM;
    }
    memset (s->buf, 0, SCAN_PAD);
    s->at = s->end = s->buf;
    return 0;
}

void scan_fini (struct scan *s)
{
    free (s->buf);
    free (s->text);
    free (s->key_text);
    s->buf = s->text = s->key_text = NULL;
}

ssize_t scan_read_bytes (void *arg, void *buf, size_t size)
{
    struct scan_bytes *b = arg;
    size_t n = b->left < size ? b->left : size;

    memcpy (buf, b->at, n);
    b->at += n;
    b->left -= n;
    return (ssize_t)n;
}

ssize_t scan_read_fd (void *arg, void *buf, size_t size)
{
    const int *fd = arg;
    ssize_t n;

    do {
        n = read (*fd, buf, size);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

void scan_refill (struct scan *s)
{
    size_t left = (size_t)(s->end - s->at);

    s->offset += (uint64_t)(s->at - s->buf);
    memmove (s->buf, s->at, left);
    s->at = s->buf;
    while (left < SCAN_BUFFER && !s->eof) {
        ssize_t n = s->read (s->arg, s->buf + left, SCAN_BUFFER - left);

        if (n < 0) {
            err_set (&s->err, EIO, "byte %llu: cannot read: %s",
                     (unsigned long long)(s->offset + left),
                     strerror ((int)-n));
            s->failed = s->eof = true;
            left = 0;           // a truncated token must not be accepted
        } else if (n == 0) {
            s->eof = true;
        } else {
            left += (size_t)n;
        }
    }
    s->end = s->buf + left;
    memset (s->buf + left, 0, SCAN_PAD);
}
