/* cli/several/ask_places.h - what a root, or an aggregator, prints of a question
 *
 * A verb runs there, and prints as it does for one root: of a root in a process
 * of this user, of an aggregator in one that it starts.
 */
#ifndef ROLLCALL_SEVERAL_ASK_PLACES_H
#define ROLLCALL_SEVERAL_ASK_PLACES_H

#include "several/places.h"

#include "base/buf.h"

#include <stdio.h>
#include <sys/types.h>

#define PLACE_LIST_MAX ((size_t)128 << 20)      // bytes of a list: of some
                                                // 80,000 jobs
#define PLACE_LINE_MAX ((size_t)1 << 20)        // of a line that is read here
#define PLACE_SAID_MAX 65536    // bytes of messages

struct place_view {
    const struct cli_place *place;
    int out, said;              // what the verb prints; -1: taken or closed
    pid_t pid;
    struct remote_view *remote; // NULL: a process of this host
};

/* Begin to ask; 'request' is one of cli_view_request.  0, or a negative errno. */
int place_begin (const struct cli_place *place, const struct json *request,
                 struct place_view *v, struct err *err);

/* Close what is open, and wait for its end: the exit status of the verb, with 'why',
 * a sentence without the name of the place, or ""; or a negative errno: the place is
 * away, its process was killed, or its answer is not whole; -EPIPE: not all of it was
 * taken.
 */
int place_end (struct place_view *v, struct err *why);

/* The same after printing all of it here, but control characters of another host
 * are escaped, and each message names the place.  An exit status, after a message if
 * need be; its messages are not printed if it ends with 'quiet', unless that is 0.
 */
int place_print (const struct command_spec *c, struct place_view *v, int quiet);

/* Ask, and give each line of the answer to 'fn', as it comes, without the end of the
 * line, which may have any bytes; its messages are printed here.  A negative result
 * of 'fn', with a sentence, ends it.  0: that was all that the place has; or an exit
 * status with why not, a sentence for job_copies_lost, which may have any bytes.
 */
typedef int place_line_fn (void *arg, const char *line, struct err *err);
int place_each_line (const struct command_spec *c,
                     const struct cli_place *place, const struct json *request,
                     place_line_fn *fn, void *arg, struct err *why);

/* Print lines that came from another host, to 'f'. */
void place_put_lines (const char *text, size_t size, FILE *f);

/* Print the text of a JSON object with members that came from 'at', which becomes
 * its first one.  Numbers stay as they are, and no character controls a terminal.
 */
void place_put_object (const char *at, const char *text, size_t size, FILE *f);

/* All that a place printed. */
struct place_answer {
    const struct cli_place *place;
    struct buf out, said;
    int status;                 // as place_end
    struct err why;
};

/* Ask all places at the same time: an array, one for each, or NULL without
 * memory; the caller frees it with place_answers_free.
 */
struct place_answer *places_ask (const struct cli_places *p,
                                 const struct json *request);

/* Of one that failed: a sentence about that, with any bytes; and an exit status. */
const char *place_answer_why (struct place_answer *a);
int place_answer_status (const struct place_answer *a);

/* What a place that ended with this exit status has done: "has refused", or "has not
 * answered".
 */
const char *place_silence (int status);

void place_answers_free (struct place_answer *a, size_t n);

#endif
