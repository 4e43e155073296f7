/* common/object_store/answer.h - what a store says: errors, and its XML */
#ifndef ROLLCALL_OBJECT_STORE_ANSWER_H
#define ROLLCALL_OBJECT_STORE_ANSWER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What to do about an answer. */
enum answer_kind {
    ANSWER_FINE,
    ANSWER_AGAIN,               // ask again, later
    ANSWER_RENEW,               // read the credentials again, and ask again if they
                                // are others
    ANSWER_NO,                  // an error that stays
};

struct answer {
    enum answer_kind kind;
    int error;                  // of ANSWER_NO; of others, if it stays so: errno
    char code[64];              // the store's word ("SlowDown"), or ""
    char message[256];          // its sentence, or ""
};

/* Texts here have a NUL behind them.
 *
 * Judge an answer by its status and the XML of an error; 'body' may be empty, as
 * for HEAD.  A body of an error counts with the status 200, too: the end of a
 * large upload says so.
 */
struct answer answer_judge (int status, const char *body, size_t size);

/* The next element <name> at or behind *at: its inside, [*ret, *ret + *n), and
 * *at is behind it.  False: there is none.  Elements of the same name do not
 * lie in each other in these answers.
 */
bool answer_element (const char *name, const char **at, const char *end,
                     const char **ret, size_t *n);

/* The text of the first element <name> in [xml, end), with its entities
 * replaced.  False: there is none, or it does not fit.
 */
bool answer_text (const char *xml, const char *end, const char *name,
                  char *out, size_t room);

#endif
