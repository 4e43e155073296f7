/* aggregator/answers/answers.h - answers to people who ask over the network
 *
 * An answer is what a process prints into two pipes, its output and its
 * messages, in pieces that the asker takes one after the other: it says how many
 * bytes it takes (MORE), so that a slow one costs two pipes and no memory.
 * doc/format-wire.md has the messages.
 *
 * This folder: what verbs print, for who asks from another host.
 */
#ifndef ROLLCALL_ANSWERS_ANSWERS_H
#define ROLLCALL_ANSWERS_ANSWERS_H

#include "base/loop.h"
#include "net/net.h"

struct answers;
struct answer;

/* NULL: no memory.  'loop' and 'net' are borrowed.  The end: also that of all
 * answers, whose processes are told (answer_runs).
 */
struct answers *answers_create (struct loop *loop, struct net *net);
void answers_destroy (struct answers *a);       // may be NULL

/* Begin an answer: the process shall print into pipes[ANSWER_OUT] and
 * pipes[ANSWER_SAID], which the caller closes when it has been started.  NULL,
 * and the pipes are -1: 'err' says why: this one was asked before, too many are
 * asked, or there is no memory.
 */
struct answer *answers_begin (struct answers *a, const struct net_peer *to,
                              uint64_t item, int pipes[ANSWER_STREAMS],
                              struct err *err);

/* The process runs: 'gone' is called if the asker leaves before it has ended.  Or
 * it could not be started; nothing is said of that.
 */
void answer_runs (struct answer *x, void (*gone) (void *arg), void *arg);
void answer_drop (struct answer *x);

/* The process has ended; 'why' is a sentence, or "".  The asker hears of it when
 * it has all that was printed.
 */
void answer_ended (struct answer *x, int status, const char *why);

/* The whole of an answer, or the end of one that was begun: a status, and why. */
void answers_refuse (struct answers *a, const struct net_peer *to,
                     uint64_t item, int status, const char *why);

/* A message MORE.  To a question that is not known the answer is that it is not:
 * this aggregator was started again.
 */
void answers_more (struct answers *a, const struct net_peer *from,
                   const struct message *m);

#endif
