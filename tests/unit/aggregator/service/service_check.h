/* tests/unit/aggregator/service/service_check.h - an aggregator without a
 * network
 *
 * Its loop does not run: a test gives it messages and turns, in an order of its
 * own, and sees what it sends.
 */
#ifndef ROLLCALL_TESTS_SERVICE_CHECK_H
#define ROLLCALL_TESTS_SERVICE_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service/aggregator_private.h"

#define SENT_MAX 64

struct service {
    struct aggregator a;
    struct aggregator_options opt;
    char dir[PATH_MAX / 4];
    char root[PATH_MAX / 2], out[PATH_MAX / 2];
    struct message sent[SENT_MAX];      // the last ones
    size_t nsent;
    const char *who;            // whose key messages come with, or NULL
    unsigned gone;              // the connection that is not there any more
};

/* For cmocka; a service, which a test makes a run by setting opt.job.  And its
 * death and next life.
 */
int service_setup (void **state);
int service_teardown (void **state);
void service_close (struct service *s);
void service_open (struct service *s);

/* Messages of connection 'peer'.  A HELLO is of the host of the same number,
 * an OFFER has content that is of no use, but with the right hash.
 */
void service_hear (struct service *s, unsigned peer, const struct message *m);
void service_hello (struct service *s, unsigned peer, const char *job,
                    int64_t world_size);
void service_hello_as (struct service *s, unsigned peer, unsigned host,
                       const char *job, int64_t world_size);
void service_offer (struct service *s, unsigned peer, uint64_t item,
                    const char *capture);

/* The content that was offered as this, asked for or not; and the commit. */
void service_chunk (struct service *s, unsigned peer, uint64_t item,
                    const char *capture);
int service_commit (struct service *s);

/* Wait for the build that is under way, and let the aggregator know. */
void service_built (struct service *s);

size_t service_agents (const struct service *s);        // of all jobs

/* How many messages of a type were sent since the last question. */
unsigned service_said (struct service *s, enum message_type type);

#endif
