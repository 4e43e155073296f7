/* tests/unit/common/json/scan_check.c - a document, read in many ways */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/json/scan_check.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const size_t chunks[CHUNKS] = { 1, 2, 3, 7, 64, 4095, 4096, 4097, 1 << 20 };

/* ---- a source of bytes ---- */

struct source source (const char *doc, size_t size, size_t prefix,
                      size_t chunk)
{
    return (struct source){ .doc = doc, .size = size, .prefix = prefix,
                            .chunk = chunk, .fail_at = UINT64_MAX };
}

ssize_t source_read (void *arg, void *buf, size_t n)
{
    struct source *src = arg;
    size_t room = n;            // stale bytes there must not pass for input

    assert_true (n > 0);        // a read of no bytes would look like the end
    if (src->at >= src->fail_at)
        return -EIO;
    if (src->at < src->prefix) {
        if (n > src->prefix - src->at)
            n = (size_t)(src->prefix - src->at);
        memset (buf, 'x', n);
        for (size_t i = 0; i < 4; i++) {    // its four other bytes
            size_t place = i < 2 ? i : src->prefix - 4 + i;

            if (place >= src->at && place < src->at + n)
                ((char *)buf)[place - src->at] = "[\"\","[i];
        }
        src->at += n;
        return (ssize_t)n;
    }
    if (n > src->chunk)
        n = src->chunk;
    if (n > src->prefix + src->size - src->at)
        n = (size_t)(src->prefix + src->size - src->at);
    if (n > src->fail_at - src->at)
        n = (size_t)(src->fail_at - src->at);
    if (src->at == src->prefix + src->size)
        memset (buf, 'S', src->prefix || room < 8192 ? room : 8192);
    memcpy (buf, src->doc + (src->at - src->prefix), n);
    src->at += n;
    return (ssize_t)n;
}

char *repeat (const char *open, const char *what, size_t times,
              const char *close, size_t *size)
{
    size_t a = strlen (open), b = strlen (what), c = strlen (close);
    char *doc = malloc (a + b * times + c + 1), *p = doc;

    assert_non_null (doc);
    memcpy (p, open, a);
    p += a;
    for (size_t i = 0; i < times; i++, p += b)
        memcpy (p, what, b);
    memcpy (p, close, c + 1);
    *size = a + b * times + c;
    return doc;
}

void enter_prefix (struct scan *s, const struct source *src)
{
    bool first = true;

    if (src->prefix == 0)
        return;
    if (scan_array (s) && scan_element (s, &first) && scan_skip (s) &&
        scan_element (s, &first))
        assert_true (scan_offset (s) >= src->prefix);
    else
        assert_true (src->fail_at != UINT64_MAX);
}

/* ---- dumps ---- */

static void dump_text (struct buf *out, const char *text, size_t n)
{
    buf_printf (out, "%zu'", n);
    buf_put (out, text, n);
    buf_printf (out, "'");
}

void dump_real (struct buf *out, double v)
{
    uint64_t bits;

    memcpy (&bits, &v, sizeof (bits));
    if (v == floor (v) && fabs (v) < 1e6 && bits >> 63 == 0)
        buf_printf (out, "%.0f", v);
    else
        buf_printf (out, "#%016" PRIx64, bits);
}

static void dump_container (struct scan *s, struct buf *out, char open)
{
    bool object = open == '{';

    buf_printf (out, "%c", open);
    if (object ? !scan_object (s) : !scan_array (s))
        return;
    for (bool first = true;
         object ? scan_member (s, &first) : scan_element (s, &first);) {
        if (object) {
            dump_text (out, s->key, s->key_size);
            buf_printf (out, ":");
        }
        dump_value (s, out);
        buf_printf (out, ",");
    }
    buf_printf (out, "%c", object ? '}' : ']');
}

void dump_value (struct scan *s, struct buf *out)
{
    char c = scan_peek (s);
    const char *text;
    size_t n;
    double v;

    if (c == '{' || c == '[') {
        dump_container (s, out, c);
    } else if (c == '"') {
        if (scan_text (s, &text, &n))
            dump_text (out, text, n);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        if (scan_real (s, &v))
            dump_real (out, v);
    } else if (c == 'n') {
        if (scan_null (s))
            buf_printf (out, "n");
    } else {
        if (scan_skip (s))
            buf_printf (out, "%c", c);
    }
}

void dump (struct source src, struct buf *out)
{
    struct scan s;

    buf_clear (out);
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    enter_prefix (&s, &src);
    dump_value (&s, out);
    if (scan_end (&s)) {
        assert_false (s.failed);
        assert_int_equal (scan_offset (&s), src.prefix + src.size);
    } else {
        assert_true (s.failed);
        buf_clear (out);
        buf_printf (out, "!%s", s.err.text);
    }
    scan_fini (&s);
}

void skip_over (struct source src, struct buf *out)
{
    struct scan s;

    buf_clear (out);
    assert_int_equal (scan_init (&s, source_read, &src), 0);
    enter_prefix (&s, &src);
    if (!scan_skip (&s) || !scan_end (&s))
        buf_printf (out, "!%s", s.err.text);
    scan_fini (&s);
}

/* ---- all sizes of reads ---- */

void check_n (const char *doc, size_t size, const char *want)
{
    struct buf out;

    buf_init (&out, 64u << 20);
    for (size_t i = 0; i < CHUNKS; i++) {
        dump (source (doc, size, 0, chunks[i]), &out);
        if (strcmp (buf_text (&out), want) != 0)
            fail_msg ("%.60s: reads of %zu: %.200s, not %.200s", doc,
                      chunks[i], buf_text (&out), want);
        skip_over (source (doc, size, 0, chunks[i]), &out);
        if (strcmp (buf_text (&out), want[0] == '!' ? want : "") != 0)
            fail_msg ("%.60s: reads of %zu: skipped: %.200s", doc, chunks[i],
                      buf_text (&out));
    }
    buf_fini (&out);
}

void check (const char *doc, const char *want)
{
    check_n (doc, strlen (doc), want);
}
