/* node_agent/agent/agent_owner_private.h - whose captures are, between its
 * files
 *
 * agent_runs.c    what this run knows, and what other runs on this host say
 * agent_owner.c   captures in shared directories: what is decided of them
 */
#ifndef ROLLCALL_AGENT_AGENT_OWNER_PRIVATE_H
#define ROLLCALL_AGENT_AGENT_OWNER_PRIVATE_H

#include "agent/agent_private.h"

#include "control/family.h"
#include "control/peers.h"
#include "json/json.h"

#include <limits.h>
#include <sys/types.h>

#define DOUBT_MAX 400                   // bytes of another job, for people

enum answer {                           // whose a capture is
    ANSWER_NONE,
    ANSWER_UNKNOWN,
    ANSWER_GROUP,                       // mine, by a control group
    ANSWER_MAYBE,                       // mine, by a pid of a namespace
    ANSWER_OTHERS,
    ANSWER_MINE,
};

struct peer_answer {                    // another agent's, about a capture
    uint64_t peer;
    enum answer answer;
    int64_t due_ns;                     // answer due since then (monotonic);
                                        // 0: none
};

struct item {                           // a capture in a shared directory
    char *path;
    uid_t uid;
    pid_t pid;                          // in its name; 0: none
    int64_t born_ns, touched_ns;        // since 1970
    int64_t found_ns, asked_ns;         // monotonic
    struct json *ids;                   // of the directories that it is in;
                                        // NULL: nobody asked yet, or decided
    struct peer_answer *answers;
    size_t nanswers;
    enum watch_owner owner;
    bool doubtful;                      // decided, since nobody knows
    struct item *next;
};

struct owners {
    struct agent *agent;
    struct family *family;
    struct peers *peers;
    struct json *own, *dirs;            // shared ones: lists of ids, in 'own'
    struct buf paths;                   // of them, each with a NUL
    char run_dir[PATH_MAX];             // of this run, or ""
    int64_t since_ns, idle_ns;          // since 1970; 0: not begun; not idle
    int64_t over_ns;                    // of a run that is over; or 0
    int64_t looked_ns;                  // monotonic
    struct pace looks;
    int64_t looked_wall_ns;             // since 1970: when that scan began
    struct item *items;
    void *by_path;                      // the same, for tsearch(3)
    size_t doubtful;
    char doubt_path[PATH_MAX];          // of the first,
    char doubt_job[DOUBT_MAX];          // and the job that it may belong to
};

/* Find an item that this or another agent asked about; NULL: none.  Add one;
 * NULL: the capture does not exist, or no memory.
 */
struct item *owners_find (const struct owners *o, const char *path);
struct item *owners_add (struct owners *o, const char *path);
void owners_free_items (struct owners *o);

/* That run's answer about it, for changes; NULL: no memory. */
struct peer_answer *owners_answer_of (struct item *n, const struct peer *p);

/* Tell all other runs what has changed in this one. */
void owners_tell (struct owners *o);

/* Scan processes, unless a recent scan began well after 'after_ns' (since
 * 1970); while there are other runs, repeat it ('arg' is the agent).
 */
void owners_look (struct owners *o, int64_t after_ns);
void owners_look_again (void *arg);

/* Whether its name has the pid of a process that now belongs to another job. */
bool owners_is_strangers (const struct owners *o, const struct item *n);

/* What this run knows about whose a capture is. */
enum answer owners_own_answer (struct owners *o, const struct item *n);

/* Whether another run may have written it, or would take it. */
bool owners_may_own (const struct owners *o, const struct peer *p,
                     struct item *n);

/* Tell the other runs that it is this run's. */
void owners_say_taken (struct owners *o, struct item *n);

/* Ask all other runs; handle their questions and answers (for peers_open). */
void owners_ask (struct owners *o, struct item *n);
void owners_on_packet (void *arg, struct peer *p, const struct json *j);

#endif
