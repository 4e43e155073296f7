/* aggregator/builder/team.h - processes of one launch that build together
 *
 * Rank 0 is the lead: it does what a process alone would do.  The others are
 * members: they ask, and the lead answers (builder/build_lead.c,
 * builder/build_member.c).  A member that asks waits for the answer, however long
 * that takes; meanwhile it sleeps.
 */
#ifndef ROLLCALL_BUILDER_TEAM_H
#define ROLLCALL_BUILDER_TEAM_H

#include "base/err.h"
#include "base/wire.h"
#include "builder/mpi_door.h"

#include <stdatomic.h>

#define TEAM_MESSAGE_MAX (256u << 20)   // bytes: the metadata of a capture are
                                        // the largest part of one

struct team;

/* What a member asks; what follows the word, and the answer, is said in
 * builder/team_words.h.
 */
enum team_word {
    TEAM_READY, TEAM_SEEN, TEAM_NEXT, TEAM_TAKE, TEAM_GIVE, TEAM_WRITE,
    TEAM_READ, TEAM_CAPTURE, TEAM_LEAVES, TEAM_DONE, TEAM_WORDS
};

/* How many threads this process has in a build: its share of 'host', as the
 * processes of a host divide what is for the host; 0: of as many as there are
 * processors.  1 to BUILD_THREADS_MAX.
 */
unsigned team_threads (const struct mpi_place *p, unsigned host);

/* What all processes of a team have to be told alike, and this process was. */
uint64_t team_order (const struct team *t);

/* Load the module and start MPI.  Once *cancel is true, team_ask ends.  'order'
 * is as team_order: a process that was told something else is refused.
 * -ENOENT: the module cannot be loaded; -EINVAL: the launcher and MPI do not
 * match ('said': processes that the launcher names); -EIO: MPI failed.
 */
int team_begin (const char *door, unsigned said, uint64_t order,
                const atomic_bool *cancel, struct team **ret, struct err *err);

const struct mpi_place *team_place (const struct team *t);

/* Leave MPI, which waits for all others, and free it. */
void team_end (struct team *t);

/* Free it, without a word to anybody: the launcher ends the others. */
void team_forget (struct team *t);

/* Of a member, in any thread: the answer goes to 'answer', which is cleared
 * first.  What the lead says has failed, with its sentence; -EINTR; -EIO: MPI
 * failed; -ENOMEM.
 */
int team_ask (struct team *t, enum team_word word, const struct buf *question,
              struct buf *answer, struct err *err);

/* Of the lead, in one thread. */
struct team_question {
    unsigned from;
    enum team_word word;
    struct wire in;             // valid until the next one
};

/* 1: there is a question; 0: not now; -EIO, -ENOMEM, or -EBADMSG: it is none.
 * 'ready': TEAM_READY, which MPI keeps until there is something to do; else the
 * others.
 */
int team_listen (struct team *t, bool ready, struct team_question *ret,
                 struct err *err);

/* Answer one; with a negative rc the answer is the sentence of 'why'. */
int team_answer (struct team *t, unsigned to, int rc, const struct buf *answer,
                 const struct err *why, struct err *err);

/* Tell a member that is ready that it is over; or all of them, as soon as they
 * are.
 */
int team_over (struct team *t, unsigned to, struct err *err);

int team_dismiss (struct team *t, struct err *err);

/* Note that members are still at work on what the lead has given up; and whether
 * nobody is, and nobody was told that it is over: else there is nothing more to
 * build together.
 */
void team_stray (struct team *t);
bool team_is_whole (const struct team *t);

/* Sleep: at first short, then longer, up to 'most_us'. */
void team_nap (unsigned *us, unsigned most_us);

#endif
