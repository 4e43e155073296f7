/* common/net/keys.h - key pairs and their files
 *
 * A file of keys is text in the form of CURVE certificates:
 *
 *     # rollcall: whoever has this file is node-1
 *     metadata
 *         name = "node-1"
 *         created = "2026-11-21T06:20:00Z"
 *         hosts = "node-1 node-1.example"
 *     curve
 *         public-key = "..."
 *         secret-key = "..."
 *
 * An aggregator's .pub may also have the former key, for agents that connect
 * while it is replaced: "former-key", valid until the date "former-until".
 *
 * NAME.key has both keys and belongs to its owner alone, NAME.pub has the
 * public one.  All dates are seconds since 1970.
 */
#ifndef ROLLCALL_NET_KEYS_H
#define ROLLCALL_NET_KEYS_H

#include "net/net.h"

#define KEY_FILE_MAX 4096               // bytes; a certificate has some 300
#define KEY_FINGERPRINT_SIZE 17         // 16 hex digits and a NUL
#define KEY_HOSTS_SIZE 1024             // bytes of names: a gateway for more is
                                        // one for any
#define KEY_ANY_HOST "*"
#define KEY_SERVERS_MAX 2               // keys of one aggregator at a time

struct key_file {
    char name[NET_WHO_MAX];
    char public_key[NET_KEY_SIZE];
    char secret_key[NET_KEY_SIZE];      // "" in a .pub
    int64_t created;
    int64_t until;                      // valid for so long, 0: no end
    int64_t revoked;                    // 0: it was not
    char former_key[NET_KEY_SIZE];      // public, "": none
    int64_t former_until;
    char hosts[KEY_HOSTS_SIZE];         // that it speaks for, a space between;
                                        // KEY_ANY_HOST; "": not said
};

/* Whether the name of a key is valid: letters, digits, '.', '_', '-', not '.'
 * at first, less than NET_WHO_MAX bytes.
 */
bool key_valid_name (const char *name);

/* Whether names of hosts, separated by spaces, are valid: no quotes, no control
 * characters, no path.
 */
bool key_valid_hosts (const char *hosts);

/* Whether it has the form of a key: 40 characters of Z85. */
bool key_valid (const char *key);

/* A new pair, with its date.  -ENOTSUP: libzmq was built without CURVE. */
int key_make (const char *name, struct key_file *ret, struct err *err);

/* -EBADMSG: not such a text, an unknown member of "curve", or two keys that
 * are not a pair; 'err' names the line.
 */
int key_parse (const char *text, size_t size, struct key_file *ret,
               struct err *err);
void key_print (const struct key_file *k, struct buf *out);

/* Read a file.  -ENOENT (with a sentence), -EPERM (a secret that others than
 * its owner may read, or that is somebody else's), -EBADMSG.
 */
int key_read (const char *path, struct key_file *ret, struct err *err);

/* The public key of a file, or of the key itself as text. */
int key_read_public (const char *file_or_key, char ret[NET_KEY_SIZE],
                     struct err *err);

/* Write a file, whole or not at all: 0600 with a secret, else 0644. */
int key_write (const char *path, const struct key_file *k, struct err *err);

/* A fingerprint to compare: the beginning of the SHA-256 of the 32 bytes. */
void key_fingerprint (const char *public_key, char ret[KEY_FINGERPRINT_SIZE]);

/* The public keys in an aggregator's file: its own, and the former one while
 * that is valid.  How many; negative as key_read.
 */
int key_read_servers (const char *file,
                      char ret[KEY_SERVERS_MAX][NET_KEY_SIZE],
                      struct err *err);

/* The security of a connecting side: its key file, and the listener's public
 * key (the key, or a file, which is borrowed and read again if the listener has
 * another key).  -ENOKEY: the first has no secret, or the second has one.
 */
int key_client (const char *file, const char *server_key,
                struct net_security *ret, struct err *err);

/* Disable core files of this process, which has a secret, and of its future
 * children, unless $ROLLCALL_CORES is set.
 */
void key_forbid_cores (void);

/* Append the content of a file that is ours (or root's) and that others cannot
 * read or write; errors as key_read.
 */
int key_read_private (const char *path, struct buf *out, struct err *err);

#endif
