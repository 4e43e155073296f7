/* common/net/keyring.h - a directory of keys that may connect
 *
 *     NAME.key            a secret of this host
 *     NAME.pub            its public half, to be carried to others
 *     enrolled/NAME.pub   may connect here
 *     rotated/NAME.pub    an older key of NAME, which may too until its date
 *     revoked/NAME.pub    may not any more; NAME+1.pub ... for further ones
 *
 * A key speaks for the hosts that its file in enrolled/ names; where it names
 * none whoever asks (an aggregator) binds it to the first that it speaks for.
 *
 * A key that is in revoked/ may not connect, wherever else it is.  Files are
 * replaced whole; a running aggregator sees changes of the directories.
 */
#ifndef ROLLCALL_NET_KEYRING_H
#define ROLLCALL_NET_KEYRING_H

#include "net/keys.h"

#include <limits.h>

#define KEYRING_SERVER "server"         // the name of an aggregator's own pair

enum key_state { KEY_OWN, KEY_ENROLLED, KEY_ROTATED, KEY_REVOKED };

struct keyring_entry {
    enum key_state state;
    struct key_file file;               // without a secret
};

struct keyring;

/* The directory without --dir: /etc/rollcall/keys for root, else below
 * $XDG_CONFIG_HOME or ~/.config.
 */
int keyring_default (char out[PATH_MAX], struct err *err);

/* Open for lookups; if it cannot be read, all keys are refused, with that
 * reason.  NULL: no memory.
 */
struct keyring *keyring_open (const char *dir);
void keyring_close (struct keyring *k);         // k may be NULL

/* For 'allow' of struct net_security: the argument is the keyring.
 * -EKEYREVOKED, -EKEYEXPIRED (rotated and expired), -ENOKEY (unknown).
 */
int keyring_allow (void *keyring, const char *public_key,
                   char who[NET_WHO_MAX], struct err *why);

/* Whether the key of this name is valid for a host: 1; 0: not bound to any;
 * -EACCES: for others only, 'why' names them.
 */
int keyring_speaks (struct keyring *k, const char *who, const char *host,
                    struct err *why);

/* The security of a listener: the directory's own pair "server", and the
 * enrolled keys.  The keyring is borrowed while the net lives.
 */
int keyring_security (const char *dir, struct keyring *k,
                      struct net_security *ret, struct err *err);

/* All keys, by state and name; the caller frees *ret. */
int keyring_list (const char *dir, struct keyring_entry **ret, size_t *count,
                  struct err *err);

/* Make a pair.  -EEXIST: there is one of that name. */
int keyring_new (const char *dir, const char *name, struct err *err);

/* Let a public key connect as 'name'.  If that name already has another key:
 * -EEXIST, or with 'grace_s' >= 0 the other one stays valid for so many
 * seconds, and the new one is bound to the same hosts.  -EKEYREVOKED: that key
 * was revoked.
 */
int keyring_enrol (const char *dir, const char *name, const char *public_key,
                   int64_t grace_s, struct err *err);

/* Bind the key of 'name' to hosts (struct key_file).  -ENOENT: it is not
 * enrolled; -EINVAL: invalid hosts.
 */
int keyring_bind (const char *dir, const char *name, const char *hosts,
                  struct err *err);

/* Replace the pair of 'name' by a new one; if it is enrolled here, the old one
 * stays valid for 'grace_s'; the .pub of KEYRING_SERVER has the old key for so
 * long, for agents that connect before the aggregator restarts.  May be
 * repeated after a kill.  -ENOENT: there is no such pair; -EEXIST: another key
 * is enrolled as 'name'.
 */
int keyring_rotate (const char *dir, const char *name, int64_t grace_s,
                    struct err *err);

/* Revoke all keys of 'name'.  -ENOENT. */
int keyring_revoke (const char *dir, const char *name, struct err *err);

#endif
