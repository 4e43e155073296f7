/* common/json/scan.h - read JSON of any size in one pass
 *
 * A pull scanner over a stream: the caller asks for what it expects next, and
 * memory is one buffer.  It is strict (RFC 8259) and never more lenient than
 * cJSON; doc/formats.md, "JSON", lists where it is stricter.
 *
 *   scan_object (s);
 *   for (bool first = true; scan_member (s, &first);) {
 *       if (scan_key_is (s, "size"))
 *           scan_real (s, &size);
 *       else
 *           scan_skip (s);
 *   }
 *   scan_end (s);
 *   if (s->failed) ...          // s->err says what is wrong, at which byte
 *
 * After a failure every call returns false and does nothing.
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
#define SCAN_AHEAD 4096u        // bytes available after scan_need, unless EOF
#define SCAN_PAD 64u            // readable zeros after the last byte
#define SCAN_TEXT_MAX 65536u    // bytes of a string that is returned
#define SCAN_TEXT_ENDING 8u     // zeros after a string that was copied
#define SCAN_NUMBER_MAX 63u     // bytes of a number, as in cJSON
#define SCAN_DEPTH_MAX 512u     // nested containers; cJSON has 1000

/* Reads input as read(2) does; -errno on failure. */
typedef ssize_t scan_read_fn (void *arg, void *buf, size_t size);

struct scan {
    const char *at;             // next byte
    const char *end;            // after the last byte in the buffer
    bool failed;
    bool eof;
    uint64_t offset;            // in the input, of buf[0]
    uint64_t bad_utf8;          // invalid bytes replaced by U+FFFD so far
    uint64_t bad_utf8_at;       // offset of the first of them
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

/* Begin to scan.  Returns 0, or -ENOMEM. */
int scan_init (struct scan *s, scan_read_fn *read, void *arg);
void scan_fini (struct scan *s);

/* A scan_read_fn for a descriptor; 'arg' points to the int. */
ssize_t scan_read_fd (void *arg, void *buf, size_t size);

/* Move the rest of the buffer to its front, and fill it. */
void scan_refill (struct scan *s);

/* Ensure that SCAN_AHEAD bytes are in the buffer, or the end of the input. */
static inline void scan_need (struct scan *s)
{
    if (s->end - s->at < (ptrdiff_t)SCAN_AHEAD && !s->eof)
        scan_refill (s);
}

/* Skip the next 'n' bytes, at most SCAN_AHEAD, if they are these: a value that
 * was read before, at the same depth, need not be read again.
 */
static inline bool scan_same (struct scan *s, const char *bytes, size_t n)
{
    scan_need (s);
    if (s->failed || s->end - s->at < (ptrdiff_t)n ||
        memcmp (s->at, bytes, n) != 0)
        return false;
    s->at += n;
    return true;
}

/* Skip an array of plain numbers, the next value, as far as its bytes are those
 * of 'text', an array with a comma in each SCAN_SAME_KEEP of its bytes.  Returns
 * how many bytes were skipped.  All 'n' of them: it is the whole array.  Fewer:
 * the array is entered, and a comma is next.  0: nothing was skipped.
 */
#define SCAN_SAME_KEEP 64u
size_t scan_same_array (struct scan *s, const char *text, size_t n);

/* A scan_read_fn for text in memory; 'arg' points to a struct scan_bytes. */
struct scan_bytes {
    const char *at;
    size_t left;
};

ssize_t scan_read_bytes (void *arg, void *buf, size_t size);

/* The offset of the next byte in the input. */
uint64_t scan_offset (const struct scan *s);

/* Fail here, with a sentence to which "byte N: " is prepended.  Returns false.
 */
bool scan_fail (struct scan *s, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* The first byte of the next value; 0 at the end and after a failure. */
char scan_peek_on (struct scan *s);     // also skips white space

static inline char scan_peek (struct scan *s)
{
    scan_need (s);
    return *s->at > ' ' && !s->failed ? *s->at : scan_peek_on (s);
}

bool scan_object (struct scan *s);      // enter one
bool scan_array (struct scan *s);

/* Go to the next member or element.  False at the end of the container, which
 * is then left, and on failure.  '*first' is true before the first call.
 */
bool scan_member (struct scan *s, bool *first);
bool scan_element (struct scan *s, bool *first);

/* The members that a caller knows, in the order in which they usually appear.
 */
struct predicted_key {
    const char *key;
    size_t size;
};

#define SCAN_FIELD(text) { text, sizeof (text) - 1 }
#define SCAN_OTHER (-1)         // a member that is not in the table
#define SCAN_DONE (-2)          // end of the object, or failure

/* As scan_member, but returns the index of the member in the table, or one of
 * the above.  '*next' is where to look first, 0 before the first call.
 */
int scan_field (struct scan *s, bool *first, const struct predicted_key *fields,
                int nfields, int *next);

static inline bool scan_key_is (const struct scan *s, const char *key)
{
    size_t n = strlen (key);

    return s->key_size == n && memcmp (s->key, key, n) == 0;
}

bool scan_real (struct scan *s, double *ret);
bool scan_key_real (struct scan *s, double *ret);       // the number in the key

/* Read a string; *ret is valid until the next call. */
bool scan_text (struct scan *s, const char **ret, size_t *size);

/* Read a string into 'out', which has 'max' bytes with the NUL; a longer one is
 * truncated.  Any other value is skipped, and 'out' is unchanged.
 */
bool scan_copy (struct scan *s, char *out, size_t max);

bool scan_null (struct scan *s);        // a null
bool scan_skip (struct scan *s);        // any value

/* Skip an object several times as fast (scan_quick.c).  This checks that
 * strings end and have no control characters, that brackets match and are not
 * nested too deep, and that there is only ASCII outside of strings.  It does
 * not check commas and colons, numbers and words, or escapes.
 */
bool scan_skip_quick (struct scan *s);
bool scan_end (struct scan *s);         // checks that only white space is left

#endif
