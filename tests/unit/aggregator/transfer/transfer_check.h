/* tests/unit/aggregator/transfer/transfer_check.h - transfers of agents that
 * are not there
 *
 * A test makes offers and answers the GETs that come of them, in an order of
 * its own.
 */
#ifndef ROLLCALL_TESTS_TRANSFER_CHECK_H
#define ROLLCALL_TESTS_TRANSFER_CHECK_H

#include "aggregator/store/root_check.h"

#include "base/clock.h"
#include "transfer/transfer.h"

#define MIB (1u << 20)
#define SENT_MAX 512

#define TRANSFER_TEST(name) \
    cmocka_unit_test_setup_teardown (name, transfer_setup, transfer_teardown)

struct fixture {
    struct root root;
    struct transfers *transfers;
    struct net_peer agent;
    uint64_t offers;
    struct message sent[SENT_MAX];      // GETs and ACKs, and to whom
    uint8_t to[SENT_MAX];
    size_t nsent;
    char entered[256];          // "job capture, " of each
    uint8_t dead;               // its connection is no more; 0: nobody's
};

int transfer_setup (void **state);
int transfer_teardown (void **state);

void open_all (struct fixture *f);
void close_all (struct fixture *f);

struct net_peer peer (uint8_t n);

/* Rows of f->agent, of one byte, whose hash is 'content' again and again. */
void offer (struct fixture *f, const char *job, const char *capture,
            uint8_t content);

/* Bytes of a capture that is real: byte i is that of its chunk, and 'seed'. */
struct data {
    uint8_t *bytes;
    size_t size;
    struct digest id;
};

/* The caller frees its bytes. */
struct data data_of (size_t size, uint8_t seed);

/* A raw file of agent 'who', which is taken; or what is said to it. */
void offer_data (struct fixture *f, uint8_t who, uint64_t item,
                 const struct data *d);
int offer_raw (struct fixture *f, uint8_t who, uint64_t item,
               const struct data *d);

/* Answer a GET as an agent does, of the bytes or of the list of chunks, which is
 * always plain; 'spoil' is added to a byte.
 */
int answer (struct fixture *f, const struct message *get, uint8_t who,
            const struct data *d, enum chunk_codec codec, uint8_t spoil);

/* Answer every GET to this agent from 'from' on, also those that come of it;
 * how many there were.
 */
size_t answer_all (struct fixture *f, size_t from, uint8_t who,
                   const struct data *d, enum chunk_codec codec);

size_t count_sent (const struct fixture *f, enum message_type type,
                   uint8_t who);

/* For transfers_commit: adds to f->entered. */
void on_entered (void *arg, const struct ledger_item *item);

/* A commit enters these items; the content is there; both. */
void check_commit (struct fixture *f, const char *entered);
void check_stored (struct fixture *f, const struct data *d);
void check_whole (struct fixture *f, const char *entered,
                  const struct data *d);

/* All credits are back. */
void check_credits (struct fixture *f);

#endif
