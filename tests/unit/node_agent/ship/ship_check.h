/* tests/unit/node_agent/ship/ship_check.h - a ship without a network, and with a
 * clock that stands still
 *
 * A program that has it is linked with the wraps of its functions.
 */
#ifndef ROLLCALL_TESTS_SHIP_CHECK_H
#define ROLLCALL_TESTS_SHIP_CHECK_H

#include "node_agent/spool/spool_check.h"

#include "base/clock.h"
#include "net/net.h"
#include "ship/ship_private.h"

#define SAID_MAX 64

extern int64_t now_ns;
extern net_fn *hear;            // what the ship does with a message
extern void *hearer;
extern struct message said[SAID_MAX];
extern uintptr_t said_to[SAID_MAX];     // numbers of connections, from 1
extern unsigned nsaid;
extern unsigned room;           // so many are taken
extern loop_fn *tell_room;      // who waits for more
extern void *waits_for_room;
extern int64_t repeat_ns;       // until all is said again

// events of the ship
extern unsigned losses[SPOOL_COPIES_ALL], heard_done;
extern enum raw_wanted raw_heard;       // as the last WELCOME said
extern int64_t raw_asked_ns;
extern struct message wanted;   // the last WANT

#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, spool_setup, spool_teardown)

struct shipping {
    struct loop *loop;
    struct ship *ship;
};

struct shipping begin (struct fixture *f);
void end (struct shipping *s);

/* The answer to a HELLO of that time is read now. */
void welcome (int64_t asked_ns);

/* How many messages of a type were said; to one connection. */
unsigned count (enum message_type type);
unsigned count_to (uintptr_t net, enum message_type type);

/* A ship with two copies; a message of the second aggregator, and its WELCOME. */
struct shipping begin_two (struct fixture *f);
void second (const struct message *m);
void second_welcomes (bool lost);

#endif
