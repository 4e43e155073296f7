/* cli/shared/progress.c - a progress line, on a terminal only */
#include "shared/progress.h"

#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "query/labels.h"

#include <stdio.h>
#include <unistd.h>

#define END_OF_LINE "\033[K"     // erases the rest of a longer line

void cli_progress_begin (struct cli_progress *p)
{
    p->began_ns = clock_mono_ns ();
    p->shown = isatty (STDERR_FILENO);
}

/* A line that wraps could not be erased. */
static void show (const char *text)
{
    size_t width = labels_width (STDERR_FILENO), used;
    size_t n = utf8_fit (text, width > 0 ? width - 1 : SIZE_MAX, &used);

    (void)fprintf (stderr, "\r%.*s" END_OF_LINE, (int)n, text);
    (void)fflush (stderr);
}

void cli_progress_phase (const struct cli_progress *p, const char *phase)
{
    char text[512];

    if (!p->shown)
        return;
    PRINT (text, "%s%s", phase, *phase ? " ... " : "");
    show (text);
}

void cli_progress_build (void *arg, const struct build_progress *b)
{
    const struct cli_progress *p = arg;
    double seconds = (double)(clock_mono_ns () - p->began_ns) / 1e9;
    double rate = (double)b->bytes / 1e6 / (seconds > 0 ? seconds : 1);
    double left = (double)(b->bytes_all - b->bytes) / 1e6;
    char text[160];

    if (b->phase) {
        cli_progress_phase (p, b->phase);
        return;
    }
    if (!p->shown)
        return;
    PRINT (text, "reading: %zu of %zu capture%s, %.0f MB/s, %.0f s left ",
           b->captures, b->captures_all, units_s (b->captures_all), rate,
           rate > 0 ? left / rate : 0);
    show (text);
}
