/* tests/unit/common/json/scan_check.h - a document, read in many ways
 *
 * Most tests of the scanner turn a document into a text ("dump") in which
 * values that differ in any bit look different, and do so for many sizes of
 * read(2) and with the end of the scanner's buffer at many places.
 */
#ifndef ROLLCALL_TEST_SCAN_CHECK_H
#define ROLLCALL_TEST_SCAN_CHECK_H

#include "base/buf.h"
#include "json/scan.h"

#define CHUNKS 9

extern const size_t chunks[CHUNKS];     // sizes of reads that are worth a try

/* The input is '["xxx...",' ('prefix' bytes, none if 0) and the document. */
struct source {
    const char *doc;
    size_t size;
    size_t prefix;
    size_t chunk;               // bytes of the document per read
    uint64_t at;
    uint64_t fail_at;           // the read there fails; UINT64_MAX: none
};

/* A source of which no read fails. */
struct source source (const char *doc, size_t size, size_t prefix,
                      size_t chunk);

/* For scan_init; 'arg' is the source. */
ssize_t source_read (void *arg, void *buf, size_t n);

/* open what * times close, which the caller frees. */
char *repeat (const char *open, const char *what, size_t times,
              const char *close, size_t *size);

/* The prefix, up to the document, which scan_end then must end: the list
 * that the prefix opened stays open.
 */
void enter_prefix (struct scan *s, const struct source *src);

/* Append what stands for a number, and for the value that comes next. */
void dump_real (struct buf *out, double v);
void dump_value (struct scan *s, struct buf *out);

/* The dump of one value and nothing behind it, or "!" and the error. */
void dump (struct source src, struct buf *out);

/* As dump, without the values. */
void skip_over (struct source src, struct buf *out);

/* The document gives this dump whatever the size of reads, and scan_skip
 * takes it, too; or both refuse it with the same sentence.
 */
void check_n (const char *doc, size_t size, const char *want);
void check (const char *doc, const char *want);

#endif
