/* common/json/json_out.h - write JSON as it comes, without a tree
 *
 *     struct json_out j = { .f = f, .comma = ", ", .colon = ": " };
 *
 *     json_out_open (&j, '{');
 *     json_out_int_of (&j, "rank", 3);
 *     json_out_close (&j, '}');           // {"rank": 3}
 *
 * Errors are the stream's: ask ferror.
 */
#ifndef ROLLCALL_JSON_JSON_OUT_H
#define ROLLCALL_JSON_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
    FILE *f;
    const char *comma, *colon;  // with the blanks behind them
    bool more;                  // a comma comes before the next value
};

void json_out_open (struct json_out *j, char bracket);          // { or [
void json_out_open_line (struct json_out *j, char bracket);     // on a new line
void json_out_close (struct json_out *j, char bracket);
void json_out_key (struct json_out *j, const char *key);

/* A value.  'raw' stands as it is; 's' has a NUL behind its 'n' bytes; a number
 * is the shortest that reads back the same, and null if it is not finite.
 */
void json_out_raw (struct json_out *j, const char *raw);
void json_out_text (struct json_out *j, const char *s, size_t n);
void json_out_int (struct json_out *j, int64_t v);
void json_out_real (struct json_out *j, double v);

/* A member. */
void json_out_open_of (struct json_out *j, const char *key, char bracket);
void json_out_text_of (struct json_out *j, const char *key, const char *s);
void json_out_int_of (struct json_out *j, const char *key, int64_t v);

/* A string with its quotes (RFC 8259).  Control characters are escaped, DEL, C1
 * and those of direction as well: it may go to a terminal.  's' has a NUL behind
 * its 'n' bytes.
 */
void json_out_string (FILE *f, const char *s, size_t n);

#endif
