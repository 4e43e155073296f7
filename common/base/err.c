/* common/base/err.c - error messages */
#include "base/err.h"

#include <stdarg.h>
#include <string.h>

void err_plain (char *text)
{
    for (char *p = text; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    }
}

int err_set (struct err *err, int errnum, const char *fmt, ...)
{
    va_list ap;

    if (err) {
        va_start (ap, fmt);
        (void)vsnprintf (err->text, sizeof (err->text), fmt, ap);
        va_end (ap);
        err_plain (err->text);
    }
    return -errnum;
}

int err_sys (struct err *err, int errnum, const char *fmt, ...)
{
    va_list ap;
    size_t used;

    if (err) {
        va_start (ap, fmt);
        (void)vsnprintf (err->text, sizeof (err->text), fmt, ap);
        va_end (ap);
        used = strlen (err->text);
        (void)snprintf (err->text + used, sizeof (err->text) - used, ": %s",
                        strerror (errnum));
        err_plain (err->text);
    }
    return -errnum;
}

int err_prefix (struct err *err, int rc, const char *fmt, ...)
{
    char old[ERR_TEXT_MAX];
    va_list ap;
    size_t used;

    if (err) {
        memcpy (old, err->text, sizeof (old));
        va_start (ap, fmt);
        (void)vsnprintf (err->text, sizeof (err->text), fmt, ap);
        va_end (ap);
        used = strlen (err->text);
        (void)snprintf (err->text + used, sizeof (err->text) - used, ": %s",
                        old);
        err_plain (err->text);
    }
    return rc;
}
