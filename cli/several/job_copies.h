/* cli/several/job_copies.h - what several aggregators have of each job
 *
 * A job that was delivered to two, or to another one while the first was away,
 * is one job: one copy of it is shown, the whole before the partial, then the one
 * that was built last, then the one with more captures.  If nobody knows how many
 * ranks there should be, none is whole, and the one with more of them comes first.
 * Who has only raw files of
 * a divided job (agents with --spread) has no copy: the job's home has the rows.
 */
#ifndef ROLLCALL_SEVERAL_JOB_COPIES_H
#define ROLLCALL_SEVERAL_JOB_COPIES_H

#include "several/ask_places.h"

#include "json/json_out.h"

struct job_copy {
    const struct json *o;       // the object of rollcall jobs --json; untrusted
    const struct cli_place *place;
    const char *job, *built, *user;     // "": not known
    int64_t ranks, captures, bytes, world_size, result_bytes;
    int64_t in_roll, present;   // of its result; -1: there is none
    bool counted;               // it is known how many ranks there should be
    bool whole;                 // and all of them are in its result
    const char *home, *raw_at;  // as the facts of a divided job; "": none
    bool raw_only;              // its rows are at 'home'
};

/* By name of the job, and of one the best first. */
struct job_copies {
    struct job_copy *list;
    size_t n;
    struct place_answer *answers;
    struct json **docs;         // of the answers; NULL: none
    size_t nplaces;
    size_t away;                // places that did not answer, or not to all that
                                // they were asked: they have been named
    size_t strange;             // entries that are no jobs
};

/* A request for rollcall jobs --json: one job, or all (NULL).  The caller frees
 * it.
 */
struct json *job_copies_request (const char *job);

/* Ask all places with 'request', one for rollcall jobs --json.  Those that do not
 * answer are named on standard error, with the reason.  0, or an exit status
 * after a message: nobody answers.  Without 'c' nothing is said.  The caller calls
 * job_copies_fini in any case.
 */
int job_copies_ask (const struct command_spec *c, const struct cli_places *p,
                    const struct json *request, struct job_copies *ret);
void job_copies_fini (struct job_copies *j);

/* A place has answered that, but not all that it was asked then: name it on standard
 * error, and count it as away.
 */
void job_copies_lost (const struct command_spec *c, struct job_copies *j,
                      const struct cli_place *place, const char *why);

/* The member "not_answered": which places did not, or not to all, and why. */
void job_copies_silent (const struct job_copies *j, struct json_out *out);

/* Of divided jobs raw files are at the other places of its copies, too. */
static inline bool job_copy_is_divided (const struct job_copy *c)
{
    return *c->raw_at || *c->home;
}

/* The index behind the copies of the job at index 'i'. */
size_t job_copies_next (const struct job_copies *j, size_t i);

/* The best copy of a job; NULL: nobody has listed it. */
const struct job_copy *job_copies_best (const struct job_copies *j,
                                        const char *job);

/* What two copies are to each other: the same; one has only raw files; one has
 * what the other lacks; or both are whole, and not the same, or of different
 * users.
 */
enum copies_differ { COPIES_SAME, COPIES_DIVIDED, COPIES_LACK,
                     COPIES_CONTRADICT };
enum copies_differ job_copies_compare (const struct job_copy *a,
                                       const struct job_copy *b);

/* Say on standard error which copies differ, and of which job only raw files were
 * found, the first 20: how many contradict each other.
 */
size_t job_copies_tell (const struct command_spec *c,
                        const struct job_copies *j);

/* The value of --where for one job, of those for which 'where' (NULL: all) is true:
 * who has no such job has an empty list then.  0 or -ENOMEM.
 */
int job_copies_where (const char *job, const char *where, struct buf *out);

/* Find the place that has a job, the best if there are several; with_result:
 * that has a result.  The list of *j is of this job then.  0 and *ret, which is
 * valid as long as 'j'; or an exit status after a message: nobody has it, or those
 * who have contradict each other.
 */
int job_copies_find (const struct command_spec *c, const struct cli_places *p,
                     const char *job, bool with_result, struct job_copies *j,
                     const struct job_copy **ret);

/* The copies of a job, without a message: none if nobody answers.  The caller
 * calls job_copies_fini.
 */
void job_copies_peek (const struct cli_places *p, const char *job,
                      struct job_copies *ret);

#endif
