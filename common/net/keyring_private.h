/* common/net/keyring_private.h - a directory of keys, between its files
 *
 * keyring.c           reads the directory, and answers who may connect
 * keyring_change.c    makes, enrols, binds, rotates and revokes keys; it calls the
 *                     other one
 */
#ifndef ROLLCALL_NET_KEYRING_PRIVATE_H
#define ROLLCALL_NET_KEYRING_PRIVATE_H

#include "net/keyring.h"

#include <stdint.h>

#define KEYRING_PLACES 3        // directories: enrolled, rotated, revoked

enum keyring_order { KEYRING_BY_KEY, KEYRING_BY_NAME, KEYRING_ORDERS };

struct keyring {
    char dir[PATH_MAX];
    struct keyring_entry *entries;      // all but KEY_OWN
    size_t count;
    const struct keyring_entry **sorted[KEYRING_ORDERS];
    int64_t changed_ns[KEYRING_PLACES];         // dates of the directories, 0: none
    int64_t read_ns;                    // when they were read, 0: never
    int rc;                             // result of the last reading
    struct err err;
};

int64_t keyring_now_s (void);   // since 1970

/* Make "DIR/PLACE/NAME.END".  'place' may be NULL; 'number' counts from 1, 0: there
 * is none.  0, -EINVAL: that is no name; -ENAMETOOLONG.
 */
int keyring_path (char out[PATH_MAX], const char *dir, const char *place,
                  const char *name, unsigned number, const char *end,
                  struct err *err);

/* Whether the name of a file ends so, and has something before. */
bool keyring_ends (const char *name, const char *end);

/* Read the directories again if they have changed: k->rc is the result. */
void keyring_refresh (struct keyring *k);

/* The next entry with this key, or name: at *at, which is SIZE_MAX at first; NULL:
 * there is none.
 */
const struct keyring_entry *keyring_next (const struct keyring *k,
                                          enum keyring_order order,
                                          const char *text, size_t *at);

/* Why a key may not connect: -EKEYREVOKED, -EKEYEXPIRED, -ENOKEY (NULL). */
int keyring_refuse (const struct keyring_entry *e, const char *public_key,
                    struct err *why);

#endif
