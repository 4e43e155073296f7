/* aggregator/ledger/ledger_facts.h - facts about jobs that no result has
 *
 * Who started a job and how, its tags, and whether it must be kept: what nobody
 * could find out again.  A fact is a key and a value; records in the segments
 * have them too, so that a rebuilt ledger has them.  doc/format-store.md lists
 * the keys.
 */
#ifndef ROLLCALL_LEDGER_LEDGER_FACTS_H
#define ROLLCALL_LEDGER_LEDGER_FACTS_H

#include "base/err.h"
#include "net/message.h"

#include <stdbool.h>
#include <stdint.h>

#define FACT_KEY_MAX 32         // bytes, as the next two, with the NUL
#define FACT_VALUE_MAX 512
#define FACT_BY_MAX 64

// a job has one value of each key but FACT_TAG
#define FACT_USER "user"
#define FACT_SCHEDULER_ID "scheduler_id"
#define FACT_COMMAND "command"
#define FACT_NO_COMMAND "-"     // of a removed job
#define FACT_TAG "tag"
#define FACT_PIN "pin"          // its value is "1"
#define FACT_FORGOTTEN "forgotten"      // as that of this: its command and its
                                // environment are not kept, and no command is
                                // entered any more

#define FACT_HOME "home"        // endpoints that have rows and roll of a divided
                                // job, with FACT_BETWEEN; this root has raw
                                // files of it
#define FACT_RAW_AT "raw_at"    // and those that have raw files of hosts of it
#define FACT_BETWEEN ", "

#define FACT_TAG_MAX 64         // bytes of a tag
#define FACT_TAGS_MAX 64        // tags of a job
#define FACT_TAG_RULE \
    "a tag has 1 to 64 bytes: letters, digits and ._:=/+@-, and does not " \
    "begin with -"

struct ledger;

struct ledger_fact {
    char job[MESSAGE_NAME_MAX];
    char key[FACT_KEY_MAX], value[FACT_VALUE_MAX];
    int64_t at_ns;              // when it was said, since 1970
    char by[FACT_BY_MAX];       // the user who said it; "": captures did
    bool gone;                  // it was withdrawn
    int64_t seq;                // of its row; ledger_set_fact chooses it
};

/* Whether it can be stored; and whether a text is a tag by FACT_TAG_RULE. */
bool ledger_valid_fact (const struct ledger_fact *f);
bool ledger_valid_tag (const char *tag);

/* Enter a fact, or that it is gone; it replaces another value of its key,
 * unless that is FACT_TAG.  1, or 0 if the ledger says so already: then the
 * later time counts, and who said it then.
 */
int ledger_set_fact (struct ledger *l, const struct ledger_fact *f,
                     struct err *err);

/* Whether the ledger says so already, whoever said it and when: 1, 0. */
int ledger_has_fact (struct ledger *l, const struct ledger_fact *f,
                     struct err *err);

/* The value of a key of a job that is not FACT_TAG; "" if there is none, or it is
 * gone.  0 or an error.
 */
int ledger_get_fact (struct ledger *l, const char *job, const char *key,
                     char value[FACT_VALUE_MAX], struct err *err);

/* Whether all of a job is of this user, as its last build found: 1; 0: it is
 * not, or has items that are in no result yet.
 */
int ledger_is_of_user (struct ledger *l, const char *job, const char *user,
                       struct err *err);

/* All facts of a job, or of all jobs (NULL), also those that are gone, entered
 * after 'seq', in that order.
 */
int ledger_each_fact (struct ledger *l, const char *job, int64_t seq,
                      int (*fn) (void *arg, const struct ledger_fact *f),
                      void *arg, struct err *err);

#endif
