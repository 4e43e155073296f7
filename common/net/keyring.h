/* common/net/keyring.h - a directory of keys: who may connect to an aggregator
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

/* Open for asking; what cannot be read makes everybody be refused, and is said
 * then.  NULL: no memory.
 */
struct keyring *keyring_open (const char *dir);
void keyring_close (struct keyring *k);         // k may be NULL

/* What 'allow' of struct net_security is: the argument is the keyring.
 * -EKEYREVOKED, -EKEYEXPIRED (rotated, its time is over), -ENOKEY (unknown).
 */
int keyring_allow (void *keyring, const char *public_key,
                   char who[NET_WHO_MAX], struct err *why);

/* Whether the key of this name may speak for a host: 1; 0: nobody has said for
 * which; -EACCES: for others only, 'why' names them.
 */
int keyring_speaks (struct keyring *k, const char *who, const char *host,
                    struct err *why);

/* For one who listens: the directory's own pair "server", and whoever is
 * enrolled there.  The keyring is borrowed for as long as the net lives.
 */
int keyring_security (const char *dir, struct keyring *k,
                      struct net_security *ret, struct err *err);

/* All keys, by state and name; *ret is the caller's to free. */
int keyring_list (const char *dir, struct keyring_entry **ret, size_t *count,
                  struct err *err);

/* Make a pair.  -EEXIST: there is one of that name. */
int keyring_new (const char *dir, const char *name, struct err *err);

/* Let a public key connect as 'name'.  If that name has another key already:
 * -EEXIST, or with 'grace_s' >= 0 the other one is good for that many seconds
 * more, and the new one speaks for the same hosts.  -EKEYREVOKED: that key was
 * revoked once.
 */
int keyring_enrol (const char *dir, const char *name, const char *public_key,
                   int64_t grace_s, struct err *err);

/* Say for which hosts the key of 'name' speaks (struct key_file).  -ENOENT: it
 * is not enrolled; -EINVAL: no such hosts.
 */
int keyring_bind (const char *dir, const char *name, const char *hosts,
                  struct err *err);

/* Replace the pair of 'name' by a new one; where it is enrolled too, the old
 * one is good for 'grace_s' more; of KEYRING_SERVER that one is in the .pub for
 * so long, for agents that connect before the aggregator is started again.  May be repeated after having been killed.
 * -ENOENT: there is no such pair; -EEXIST: another key is enrolled as 'name'.
 */
int keyring_rotate (const char *dir, const char *name, int64_t grace_s,
                    struct err *err);

/* Nobody connects as 'name' any more, with any of its keys. -ENOENT. */
int keyring_revoke (const char *dir, const char *name, struct err *err);

#endif
