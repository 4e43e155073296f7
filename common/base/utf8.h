/* common/base/utf8.h - UTF-8, checked according to RFC 3629 */
#ifndef ROLLCALL_BASE_UTF8_H
#define ROLLCALL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT 0xfffdu
#define UTF8_REPLACEMENT_TEXT "\xef\xbf\xbd"

/* How many bytes (1 to 4) the valid sequence at 'p' has; 0 if it is invalid.
 * Reads nothing after a byte that cannot continue the sequence, so a NUL after
 * the text is enough of a guard.
 */
size_t utf8_size (const char *p);

/* As utf8_size, but also 0 for control characters (C0, DEL, C1, and those of
 * utf8_bidi).
 */
size_t utf8_shown (const char *p);

/* The code point if the three bytes at 'p' are a control of direction (U+202A
 * to U+202E, U+2066 to U+2069), which changes the order in which the following
 * text is shown; else 0.
 */
#define UTF8_BIDI_SIZE 3
unsigned utf8_bidi (const char *p);

/* How many of the first 'n' bytes no format has to escape: ASCII without
 * controls, double quotes and backslashes.
 */
size_t utf8_plain (const char *s, size_t n);

/* Write the code point; the number of bytes, at most 4. */
size_t utf8_put (char *out, unsigned code);

/* Copy 's', which has a NUL after it, into 'out', which has room for 3 * n
 * bytes, with every invalid byte replaced by U+FFFD.  Returns the size; *bad is
 * the number of replacements.
 */
size_t utf8_repair (const char *s, size_t n, char *out, uint64_t *bad);

/* The size of a text of 'n' bytes when it is cut to at most 'max', without
 * splitting a character.
 */
size_t utf8_cut (const char *s, size_t n, size_t max);

/* Copy 's' into 'out', which has room for UTF8_ESCAPED (strlen (s)) bytes, with
 * each control character and invalid byte written as \t, \n or \xNN.  Names
 * come from other hosts, and file names may have any byte: printed names must
 * neither control a terminal nor look like another column.  UTF8_COLUMN writes
 * a backslash as \\, so that the text can be read back; UTF8_LINES leaves line
 * ends and backslashes, for people.
 */
enum utf8_escape { UTF8_COLUMN, UTF8_LINES };
#define UTF8_ESCAPED(n) (4 * (n) + 1)
char *utf8_escape (const char *s, enum utf8_escape how, char *out);

/* How many columns of a terminal the valid sequence of 'size' bytes takes: 2
 * for wide characters (East Asian, emoji), 0 for those that combine with the
 * one before.
 */
unsigned utf8_columns (const char *p, size_t size);

/* How many bytes of a text fit into 'width' columns of a terminal.  *used is
 * how many columns these take.
 */
size_t utf8_fit (const char *s, size_t width, size_t *used);

#endif
