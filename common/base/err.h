/* common/base/err.h - error messages, and texts in arrays
 *
 * A function that can fail returns 0 or a negative errno value, and puts one
 * sentence for a person into a 'struct err': what happened, and where.
 * Libraries never log; the caller that handles the failure does.
 */
#ifndef ROLLCALL_BASE_ERR_H
#define ROLLCALL_BASE_ERR_H

#include <stdio.h>

#define ERR_TEXT_MAX 512        // bytes; longer sentences are cut

struct err {
    char text[ERR_TEXT_MAX];
};

/* Replace control characters by '?': a name in a text must not control the
 * terminal.  The functions below do that themselves.
 */
void err_plain (char *text);

/* Set the sentence and return -errnum, for "return err_set (err, EIO, ...)".
 * 'err' may be NULL.
 */
int err_set (struct err *err, int errnum, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* As err_set, with ": " and strerror (errnum) appended. */
int err_sys (struct err *err, int errnum, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Put "prefix: " before the sentence.  Returns 'rc' unchanged. */
int err_prefix (struct err *err, int rc, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Print into an array of characters; what does not fit is cut.  A pointer does
 * not compile.
 */
#define PRINT(array, ...) \
    ((void)snprintf (*(char (*)[sizeof (array)]){ &(array) }, sizeof (array), \
                     __VA_ARGS__))

#endif
