/* tests/unit/common/net/keyring_check.h - a directory of keys, in a new one */
#ifndef ROLLCALL_TESTS_KEYRING_CHECK_H
#define ROLLCALL_TESTS_KEYRING_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/keyring.h"

extern char dir[64];            // the present one
extern struct keyring *ring;    // of "keys" in it

int keyring_setup (void **state);
int keyring_teardown (void **state);

/* The public key of a file. */
const char *public_of (const char *path);

/* As keyring_allow; a key that is allowed has that name. */
int allowed (const char *key, const char *as);

#define KEYRING_TEST(name) \
    cmocka_unit_test_setup_teardown (name, keyring_setup, keyring_teardown)

#endif
