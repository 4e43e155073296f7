/* common/net/keyring.h - a directory of keys that may connect
 *
 *   NAME.key            a secret of this host
 *   NAME.pub            its public half, to be copied to other hosts
 *   enrolled/NAME.pub   may connect here
 *   rotated/NAME.pub    an older key of NAME, which may connect until its date
 *   revoked/NAME.pub    may not connect any more; NAME+1.pub ... are others
 *
 * A key is valid for the hosts that its file in enrolled/ names.  If it names
 * none, the caller (an aggregator) binds the key to the first host that uses
 * it.  A key whose file names whose jobs it reads is a person's: it delivers
 * nothing.
 *
 * A key in revoked/ may not connect, wherever else it is.  Files are replaced
 * atomically; a running aggregator notices changes of the directories.
 */
#ifndef ROLLCALL_NET_KEYRING_H
#define ROLLCALL_NET_KEYRING_H

#include "net/keys.h"

#include <limits.h>

#define KEYRING_SERVER "server"         // the name of the pair of an aggregator

enum key_state { KEY_OWN, KEY_ENROLLED, KEY_ROTATED, KEY_REVOKED };

struct keyring_entry {
    enum key_state state;
    struct key_file file;               // its secret is cleared
};

struct keyring;

/* The default directory: /etc/rollcall/keys for root, otherwise below
 * $XDG_CONFIG_HOME or ~/.config.
 */
int keyring_default (char out[PATH_MAX], struct err *err);

/* Open a directory for lookups.  If it cannot be read, all keys are refused,
 * with that reason.  NULL: no memory.
 */
struct keyring *keyring_open (const char *dir);
void keyring_close (struct keyring *k);         // k may be NULL

/* A net_allow_fn for struct net_security, whose argument is the keyring.
 * -EKEYREVOKED; -EKEYEXPIRED: rotated, and its date has passed; -ENOKEY:
 * unknown.
 */
int keyring_allow (void *keyring, const char *public_key,
                   char who[NET_WHO_MAX], struct err *why);

/* Whether the key of this name is valid for a host.  1: it is; 0: it is not
 * bound to any host; -EACCES: it is bound to others, which 'why' names.
 */
int keyring_speaks (struct keyring *k, const char *who, const char *host,
                    struct err *why);

/* Whose jobs the key of this name may ask for: 0 and the name of a user, or
 * KEY_READS_ALL.  -EACCES: it is a node's key, or cannot be checked.
 */
int keyring_reads (struct keyring *k, const char *who,
                   char ret[KEY_READS_SIZE], struct err *why);

/* Get the security of a listener: the pair "server" of the directory, and the
 * enrolled keys.  The keyring is borrowed as long as the net exists.  Errors as
 * key_read.
 */
int keyring_security (const char *dir, struct keyring *k,
                      struct net_security *ret, struct err *err);

/* List all keys, sorted by state and name.  Of each file that cannot be read, or is no
 * key, 'bad' is told why, with a negative errno, and the others are listed; NULL: the
 * first one fails it.  The caller frees *ret.
 */
typedef void keyring_bad_fn (void *arg, int rc, const struct err *why);
int keyring_list (const char *dir, struct keyring_entry **ret, size_t *count,
                  keyring_bad_fn *bad, void *arg, struct err *err);

/* Create a pair. -EEXIST: there is one of that name. */
int keyring_new (const char *dir, const char *name, struct err *err);

struct key_use {                // what a key is for
    const char *hosts;          // of a node, as in struct key_file; "": the first
                                // that it is used for
    const char *reads;          // of a person, as there; "": it is a node's
};

/* Allow a public key to connect as 'name', for this use; NULL: that of the key that
 * 'name' has.  -EINVAL: that is no use, or no name, and nothing was written.  If
 * 'name' has another key: -EEXIST, or, with 'grace_s' >= 0, the other key stays
 * valid for so many seconds.  -EEXIST also if the key is enrolled
 * with another name; -EKEYREVOKED: that key was revoked.
 */
int keyring_enrol (const char *dir, const char *name, const char *public_key,
                   int64_t grace_s, const struct key_use *use, struct err *err);

/* Enrol each NAME.pub of a directory but that of KEYRING_SERVER, in order of their
 * names; then 'fn' is called.  The keys that are there are read once.  How many; or
 * as keyring_enrol, at the first one that cannot be enrolled, which 'err' names, or
 * what 'fn' says: those before it are enrolled.
 */
int keyring_enrol_all (const char *dir, const char *from, int64_t grace_s,
                       const struct key_use *use,
                       int (*fn) (void *arg, const struct keyring_entry *e,
                                  struct err *err),
                       void *arg, struct err *err);

/* Bind the key of 'name' to hosts (struct key_file). -ENOENT: it is not
 * enrolled; -EINVAL: the hosts are invalid.
 */
int keyring_bind (const char *dir, const char *name, const char *hosts,
                  struct err *err);

/* Let the key of 'name' ask for the jobs of a user (struct key_file), and deliver
 * nothing any more; keyring_bind undoes that.  As keyring_bind.
 */
int keyring_let_read (const char *dir, const char *name, const char *reads,
                      struct err *err);

/* Replace the pair of 'name' by a new one.  If it is enrolled here, the old key
 * stays valid for 'grace_s' seconds.  The .pub of KEYRING_SERVER contains the
 * old key for so long, for agents that connect before the aggregator restarts.
 * If the process is killed, call it again.  -ENOENT: there is no such pair;
 * -EEXIST: another key is enrolled as 'name'.
 */
int keyring_rotate (const char *dir, const char *name, int64_t grace_s,
                    struct err *err);

/* Revoke all keys of 'name'. -ENOENT: there is none. */
int keyring_revoke (const char *dir, const char *name, struct err *err);

#endif
