/* tests/unit/aggregator/builder/team_check.h - builds by rank 0 and a member, which
 * are threads of one process (fake_door.c)
 */
#ifndef ROLLCALL_TESTS_TEAM_CHECK_H
#define ROLLCALL_TESTS_TEAM_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"
#include "builder/build_member.h"

#include <pthread.h>
#include <stdatomic.h>

#define CAPTURES 40             // so that a range has several
#define MEMBERS 2000u           // of their groups

/* What the processes of a case do, and what they did. */
struct team_case {
    uint64_t orders[2];         // what each was told
    bool sees;                  // the member sees the captures
    bool no_hosts;              // 'took' gives none
    int lead_fails, member_fails;       // at the first capture: an errno
    int lead_refuses;           // the first one of the member: an errno
    int open_fails;             // the member cannot begin a pass: an errno
    bool third;                 // there is one more, which the test plays
    atomic_uint lead_read, member_read, bytes_asked;
    bool look;                  // no result is written
    bool pair;                  // of two threads of the member one fails while
                                // the other one reads
    bool late;                  // that one went on reading
    long file_system;           // of its file; 0: one that is not known
    bool no_threads;            // rank 0 can start none
    int processors;             // of each host
    bool own_threads;           // as many threads
    atomic_uint member_threads;
};
extern struct team_case how;

/* The directory of all cases: set-up and tear-down of the group. */
int begin_cases (void **state);
int end_cases (void **state);

/* The next case: nobody does anything special. */
int begin_case (void **state);

extern atomic_bool never;       // nobody cancels anything

/* Build into a directory of this name, by rank 0 (with threads alone, if 'team' is
 * NULL); the digest of the rows.
 */
int build (const char *out, struct team *team, struct digest *rows,
           struct err *err);

/* Start a member, rank 1; and end it after builds. */
void begin_together (struct team *teams[2], pthread_t *thread);
void end_together (struct team *teams[2], pthread_t thread);

/* One build with a member; the outcome of rank 0. */
int build_together (const char *out, struct digest *rows, struct err *err);

/* The same on two hosts; *sent: pages that the member has sent to rank 0. */
int build_apart (bool hosts, unsigned *sent, struct err *err);

#endif
