/* common/net/keys.h - key pairs and their files
 *
 * A key file is text in the form of CURVE certificates:
 *
 *   # rollcall: whoever has this file is node-1
 *   metadata
 *       name = "node-1"
 *       created = "2026-11-21T06:20:00Z"
 *       hosts = "node-1 node-1.example"
 *       reads = "alice"
 *   curve
 *       public-key = "..."
 *       secret-key = "..."
 *
 * The .pub of an aggregator may also have its former key, for agents that
 * connect while it is replaced: "former-key", valid until the date
 * "former-until".
 *
 * NAME.key has both keys and is readable by its owner only; NAME.pub has the
 * public key.  In memory all dates are seconds since 1970.
 */
#ifndef ROLLCALL_NET_KEYS_H
#define ROLLCALL_NET_KEYS_H

#include "net/net.h"

#define KEY_FILE_MAX 4096               // bytes; a certificate has about 300
#define KEY_FINGERPRINT_SIZE 17         // 16 hex digits and a NUL
#define KEY_HOSTS_SIZE 1024             // bytes of names; a gateway for more
                                        // hosts needs KEY_ANY_HOST
#define KEY_ANY_HOST "*"
#define KEY_READS_SIZE 64               // bytes of the name of a user
#define KEY_READS_ALL "*"
#define KEY_SERVERS_MAX 2               // keys of one aggregator at a time

struct key_file {
    char name[NET_WHO_MAX];
    char public_key[NET_KEY_SIZE];
    char secret_key[NET_KEY_SIZE];      // "" in a .pub
    int64_t created;
    int64_t until;                      // end of validity; 0: none
    int64_t revoked;                    // when it was revoked; 0: it was not
    char former_key[NET_KEY_SIZE];      // public, "": none
    int64_t former_until;
    char hosts[KEY_HOSTS_SIZE];         // hosts that it is valid for, separated
                                        // by spaces; KEY_ANY_HOST; "": not said
    char reads[KEY_READS_SIZE];         // "": a node's key.  Else it delivers
                                        // nothing, and may ask for the jobs of
                                        // this user, or KEY_READS_ALL
};

/* Whether the name of a key is valid: letters, digits, '.', '_', '-', not
 * beginning with '.', shorter than NET_WHO_MAX bytes.
 */
bool key_valid_name (const char *name);

/* Whether names of hosts, separated by spaces, are valid: no quotes, control
 * characters or slashes.
 */
bool key_valid_hosts (const char *hosts);

/* Whether it is the name of a user, or KEY_READS_ALL: shorter than
 * KEY_READS_SIZE, without blanks, quotes, control characters or slashes.
 */
bool key_valid_reads (const char *reads);

/* Whether a text has the form of a key: 40 characters of Z85. */
bool key_valid (const char *key);

/* Generate a pair, with its date. -ENOTSUP: libzmq was built without CURVE. */
int key_make (const char *name, struct key_file *ret, struct err *err);

/* Parse a key file.  -EBADMSG: it is none, has an unknown member of "curve", or
 * its keys are not a pair; 'err' names the line.
 */
int key_parse (const char *text, size_t size, struct key_file *ret,
               struct err *err);
void key_print (const struct key_file *k, struct buf *out);

/* Read a key file.  -ENOENT (with a sentence); -EPERM: a secret that others
 * than its owner can read, or that belongs to another user: the user has to
 * correct that; -EBADMSG as key_parse.
 */
int key_read (const char *path, struct key_file *ret, struct err *err);

/* Get a public key from a file, or from its text itself.  -EINVAL: the file has
 * a secret key, which nobody else should have; else as key_read.
 */
int key_read_public (const char *file_or_key, char ret[NET_KEY_SIZE],
                     struct err *err);

/* Write a key file atomically, with mode 0600 if it has a secret, else 0644. */
int key_write (const char *path, const struct key_file *k, struct err *err);

/* The fingerprint of a key, for people: the beginning of the SHA-256 of its 32
 * bytes.
 */
void key_fingerprint (const char *public_key, char ret[KEY_FINGERPRINT_SIZE]);

/* Read the public keys in the file of an aggregator: its own, and the former
 * one while that is valid.  Returns how many; negative as key_read.
 */
int key_read_servers (const char *file,
                      char ret[KEY_SERVERS_MAX][NET_KEY_SIZE],
                      struct err *err);

/* Get the security of a connecting side, from its key file and the public key
 * of the listener.  That is the key, or a file, whose name is borrowed and
 * which is read again if the listener turns out to have another key.  -ENOKEY:
 * the first has no secret, or the second has one.
 */
int key_client (const char *file, const char *server_key,
                struct net_security *ret, struct err *err);

/* Append the content of a file that belongs to this user or root and that
 * others cannot read or write.  Errors as key_read.
 */
int key_read_private (const char *path, struct buf *out, struct err *err);

#endif
