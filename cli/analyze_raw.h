/* cli/analyze_raw.h - captures that were never analysed, before rollcall
 * analyze reads them
 */
#ifndef ROLLCALL_CLI_ANALYZE_RAW_H
#define ROLLCALL_CLI_ANALYZE_RAW_H

#include "offline_analysis/analyser.h"

#include <stdatomic.h>

struct raw_capture {
    const char *path;           // borrowed
    enum own_analysis own;      // whose captures it is one of
    size_t index;               // the caller's
    enum analysed how;          // what came of it ...
    char why[ANALYSER_WHY_MAX]; // ... as a sentence
};

/* Whether a capture of this profiler can be analysed with these options. */
bool analyze_raw_wants (const struct analyser_options *opt,
                        enum own_analysis own);

/* Analyse them all.  'tell' gets sentences for the user.  0, -EINTR when
 * 'cancel' has become true, or another error; a failed analysis is not an
 * error.
 */
int analyze_raw (struct raw_capture *captures, size_t n,
                 const struct analyser_options *opt,
                 void (*tell) (const char *text), const atomic_bool *cancel,
                 struct err *err);

#endif
