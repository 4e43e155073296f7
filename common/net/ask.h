/* common/net/ask.h - ask an aggregator, and take its answer piece by piece
 *
 * For verbs: it blocks.  Whatever the other side sends, it uses no more memory
 * than a few pieces, and gives up when nothing has come for ASK_SILENT_NS, without
 * the time in which it could not take any.
 */
#ifndef ROLLCALL_NET_ASK_H
#define ROLLCALL_NET_ASK_H

#include "base/clock.h"
#include "net/net.h"

#define ASK_SILENT_NS (30 * NS_PER_S)

/* Takes a piece, which is in its order.  -EAGAIN: it waited for a second, and there
 * is no room for all of it yet: it is given again.  Another negative errno ends it
 * all; it is asked for that each second, without a piece.
 */
typedef int ask_fn (void *arg, enum answer_stream stream, const void *data,
                    size_t size);

/* How an answer ended: what the verb there returned, and a sentence about that,
 * or "" (control characters are escaped).
 */
struct ask_end {
    int status;
    char text[MESSAGE_TEXT_MAX];
};

/* Send a question, the text of a JSON object, and take the whole answer, whose
 * bytes have been compared with their hash, within 'longest_ns'.  0; else 'err' says why: -EACCES our
 * key is refused there; -EHOSTUNREACH; -ETIMEDOUT it says nothing, or no more;
 * -EBADMSG what it says is no answer; what 'fn' returned; else as net_connect.
 */
int net_ask (const char *endpoint, const struct net_security *security,
             const char *question, int64_t longest_ns, ask_fn *fn, void *arg,
             struct ask_end *ret, struct err *err);

#endif
