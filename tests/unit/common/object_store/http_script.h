/* tests/unit/common/object_store/http_script.h - a server that says what it is
 * told, and remembers what it was asked
 */
#ifndef HTTP_SCRIPT_H
#define HTTP_SCRIPT_H

#include <stddef.h>

#define HTTP_SCRIPT_MAX 16

struct http_script;

/* Answer the i-th request with the i-th text: its bytes from the status line on,
 * with a Content-Length or "Connection: close"; NULL: the connection is closed.
 * Behind the last one nobody is answered.
 */
struct http_script *http_script_start (const char *const *answers, size_t n);
/* Answer nothing, while requests come; then go on. */
void http_script_hold (struct http_script *s);
void http_script_go_on (struct http_script *s);

/* The environment has credentials for it, whatever the machine has. */
void http_script_credentials (void);
const char *http_script_endpoint (const struct http_script *s);

/* In this root it is the store s3://bucket/pre. */
void http_script_place (const struct http_script *s, const char *root);

/* The header and the beginning of the body of a request; NULL: it has not come.
 */
const char *http_script_request (const struct http_script *s, size_t i);

/* An answer with this body, which has blanks behind it up to 'size'. */
void http_script_padded (char *out, size_t room, const char *body, int size);

/* A refusal with this code, by a store whose clock is so many seconds ahead. */
void http_script_refused (char out[256], const char *code, long ahead_s);

/* End it, and say how many requests there were; the texts above are freed. */
size_t http_script_count (struct http_script *s);
void http_script_end (struct http_script *s);

#endif
