/* aggregator/query/labels.c - print lines that consist of a label and a text */
#include "query/labels.h"

#include "base/utf8.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LABEL_MOST 24           // columns, including the blanks after it
#define FURTHER 2               // more blanks, if there is no label
#define WRITE_MAX (64u << 20)   // bytes; 2,000 findings of 2 KB are 4 MB

size_t labels_width (int fd)
{
    struct winsize w;

    return isatty (fd) && ioctl (fd, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

/* Find where the text of a line begins: after the last wide gap near its start.
 */
static size_t text_begin (const char *line, size_t n, size_t width)
{
    size_t lead = 0, begin = 0;

    while (lead < n && line[lead] == ' ')
        lead++;
    for (size_t i = lead + 3; i < n && i <= LABEL_MOST; i++) {
        if (line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ')
            begin = i;
    }
    return begin > 0 && begin < width / 2 ? begin : lead + FURTHER;
}

/* How many of the 'n' bytes of 's' fit into 'width' columns: whole words, but
 * at least one.
 */
static size_t words (const char *s, size_t n, size_t width)
{
    size_t used, fits = utf8_fit (s, width, &used), at;

    if (fits >= n)
        return n;
    for (at = fits; at > 0 && s[at] != ' '; at--)
        ;
    while (at > 0 && s[at - 1] == ' ')
        at--;
    return at > 0 ? at : fits + strcspn (s + fits, " \n");
}

static void put_line (struct buf *out, size_t width, const char *s, size_t n)
{
    size_t begin = text_begin (s, n, width), took, blanks, used;
    size_t fits = utf8_fit (s, width, &used);

    if (width == 0 || fits >= n || begin >= n || begin >= width) {
        buf_put (out, s, n);
        return;
    }
    buf_put (out, s, begin);
    for (s += begin, n -= begin;; s += took + blanks, n -= took + blanks) {
        took = words (s, n, width - begin);
        buf_put (out, s, took);
        blanks = took < n ? strspn (s + took, " ") : 0;
        if (took + blanks >= n)
            return;
        buf_printf (out, "\n%*s", (int)begin, "");
    }
}

void labels_put (struct buf *out, size_t width, const char *lines)
{
    while (*lines) {
        size_t n = strcspn (lines, "\n");

        put_line (out, width, lines, n);
        lines += n;
        if (*lines) {
            buf_put (out, "\n", 1);
            lines++;
        }
    }
}

void labels_line (struct buf *out, size_t width, const char *label,
                  const char *text)
{
    struct buf line;

    buf_init (&line, WRITE_MAX);
    buf_printf (&line, "%s%s\n", label, text);
    labels_put (out, width, buf_text (&line));
    buf_fini (&line);
}

/* What a function prints; the caller frees it, also after an error. */
static int text_of (void (*print) (const void *arg, FILE *f), const void *arg,
                    char **ret)
{
    size_t n;
    FILE *f = open_memstream (ret, &n);

    if (!f)
        return -errno;
    print (arg, f);
    return fclose (f) == 0 ? 0 : -errno;
}

int labels_print (int fd, void (*print) (const void *arg, FILE *f),
                  const void *arg)
{
    char *text = NULL;
    int rc = text_of (print, arg, &text);

    if (rc == 0)
        rc = labels_write (fd, text);
    free (text);
    return rc;
}

int labels_print_to (FILE *to, size_t width,
                     void (*print) (const void *arg, FILE *f), const void *arg)
{
    char *text = NULL;
    struct buf out;
    int rc = text_of (print, arg, &text);

    buf_init (&out, WRITE_MAX);
    if (rc == 0)
        labels_put (&out, width, text);
    rc = out.failed ? -ENOMEM : rc;
    if (rc == 0)
        (void)fputs (buf_text (&out), to);  // who flushes it sees an error
    buf_fini (&out);
    free (text);
    return rc;
}

int labels_write (int fd, const char *lines)
{
    struct buf out;
    int rc;

    buf_init (&out, WRITE_MAX);
    labels_put (&out, labels_width (fd), lines);
    rc = out.failed ? -ENOMEM : fileio_write_shown (fd, buf_text (&out));
    buf_fini (&out);
    return rc;
}
