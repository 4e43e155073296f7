/* common/json/scan.h - read JSON of any size in one pass
 *
 * A pull scanner over a stream: the caller asks for what it expects next, and
 * nothing is kept but one buffer.  Strict (RFC 8259) and never more lenient
 * than cJSON; where it is stricter is listed in doc/formats.md, "JSON".
 *
 *     scan_object (s);
 *     for (bool first = true; scan_member (s, &first);) {
 *         if (scan_key_is (s, "size"))
 *             scan_real (s, &size);
 *         else
 *             scan_skip (s);
 *     }
 *     scan_end (s);
 *     if (s->failed) ...          // s->err says what, and at which byte
 *
 * The first failure sticks: every later call returns false and does nothing.
 */
#ifndef ROLLCALL_JSON_SCAN_H
#define ROLLCALL_JSON_SCAN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define SCAN_BUFFER 262144u     // bytes read at a time
#define SCAN_AHEAD 4096u        // bytes that are there after scan_need, or EOF
#define SCAN_PAD 64u            // readable zeros behind the last byte
#define SCAN_TEXT_MAX 65536u    // bytes of a string that is wanted
#define SCAN_TEXT_ENDING 8u     // zeros behind one that was copied
#define SCAN_NUMBER_MAX 63u     // bytes of a number, as in cJSON
#define SCAN_DEPTH_MAX 512u     // nested containers; cJSON has 1000

/* Where the bytes come from: like read(2), -errno on failure. */
typedef ssize_t scan_read_fn (void *arg, void *buf, size_t size);

struct scan {
    const char *at;             // next byte
    const char *end;            // behind the last byte that is here
    bool failed;
    bool eof;
    uint64_t offset;            // in the input, of buf[0]
    uint64_t bad_utf8;          // invalid bytes replaced by U+FFFD so far
    uint64_t bad_utf8_at;       // where the first of them was
    const char *key;            // of the last scan_member, until the next call
    size_t key_size;
    unsigned depth;
    scan_read_fn *read;
    void *arg;
    char *buf;
    char *text;                 // decoded strings
    char *key_text;             // decoded keys
    struct err err;
};

/* 0, or -ENOMEM. */
int scan_init (struct scan *s, scan_read_fn *read, void *arg);
void scan_fini (struct scan *s);

/* A scan_read_fn for a descriptor; 'arg' points to the int. */
ssize_t scan_read_fd (void *arg, void *buf, size_t size);

/* Move what is left to the front and read until the buffer is full. */
void scan_refill (struct scan *s);

/* Make sure that SCAN_AHEAD bytes are here, or the end of the input. */
static inline void scan_need (struct scan *s)
{
    if (s->end - s->at < (ptrdiff_t)SCAN_AHEAD && !s->eof)
        scan_refill (s);
}

/* A scan_read_fn for text that is in memory; 'arg' points to one of these. */
struct scan_bytes {
    const char *at;
    size_t left;
};

ssize_t scan_read_bytes (void *arg, void *buf, size_t size);

/* The offset of the next byte. */
uint64_t scan_offset (const struct scan *s);

/* Fail here with a sentence of the caller's ("byte N: " is put before it).
 * Returns false.
 */
bool scan_fail (struct scan *s, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* The first byte of the next value, or 0 at the end and after a failure. */
char scan_peek_on (struct scan *s);     // the same, behind white space

static inline char scan_peek (struct scan *s)
{
    scan_need (s);
    return *s->at > ' ' && !s->failed ? *s->at : scan_peek_on (s);
}

bool scan_object (struct scan *s);      // enter one
bool scan_array (struct scan *s);

/* On to the next member or element, false at the end of the container (which
 * is then left) and on failure.  '*first' is true before the first call.
 */
bool scan_member (struct scan *s, bool *first);
bool scan_element (struct scan *s, bool *first);

/* The members that a caller knows, in the order in which they usually come. */
struct predicted_key {
    const char *key;
    size_t size;
};

#define SCAN_FIELD(text) { text, sizeof (text) - 1 }
#define SCAN_OTHER (-1)         // a member that is not in the table
#define SCAN_DONE (-2)          // the end of the object, or failure

/* As scan_member, but the index of the member in the table, or one of the
 * above.  '*next' is where to look first: 0 before the first call.
 */
int scan_field (struct scan *s, bool *first, const struct predicted_key *fields,
                int nfields, int *next);

static inline bool scan_key_is (const struct scan *s, const char *key)
{
    size_t n = strlen (key);

    return s->key_size == n && memcmp (s->key, key, n) == 0;
}

bool scan_real (struct scan *s, double *ret);
bool scan_key_real (struct scan *s, double *ret);       // of the key

/* A string; *ret is valid until the next call. */
bool scan_text (struct scan *s, const char **ret, size_t *size);

/* A string into 'out' ('max' bytes with the NUL), cut where it is longer; any
 * other value is skipped, and leaves 'out' as it is.
 */
bool scan_copy (struct scan *s, char *out, size_t max);

bool scan_null (struct scan *s);        // a null
bool scan_skip (struct scan *s);        // any value

/* Pass over an object several times as fast (scan_quick.c).  What is checked
 * in it: strings end and have no control characters, brackets match and are
 * not nested too deep, and outside of strings there is only ASCII.  What is
 * not: commas and colons, numbers and words, escapes.
 */
bool scan_skip_quick (struct scan *s);
bool scan_end (struct scan *s);         // nothing but white space is left

#endif
