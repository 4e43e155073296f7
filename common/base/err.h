/* common/base/err.h - error messages
 *
 * Functions that can fail return 0 or a negative errno value and put one
 * sentence for a person into a 'struct err': what happened, where.  Libraries
 * never log; the caller that handles the failure does.
 */
#ifndef ROLLCALL_BASE_ERR_H
#define ROLLCALL_BASE_ERR_H

#define ERR_TEXT_MAX 512        // bytes; longer sentences are cut

struct err {
    char text[ERR_TEXT_MAX];
};

/* Replace control characters by '?': a name in a text must not control the
 * terminal.  The functions of this header do that.
 */
void err_plain (char *text);

/* Write the sentence and return -errnum, so that callers can write
 * "return err_set (err, EIO, ...)".  'err' may be NULL.
 */
int err_set (struct err *err, int errnum, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* As err_set, with ": " and strerror (errnum) appended. */
int err_sys (struct err *err, int errnum, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Put "prefix: " before the sentence; returns 'rc' unchanged. */
int err_prefix (struct err *err, int rc, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

#endif
