/* common/model/secret.h - recognise secrets by name or form, and keep them out of
 * core files
 *
 * Settings, environments and command lines are delivered with captures, and
 * visible to all readers of a result.  So what looks like a secret is left out.
 * See doc/formats.md, "Secrets".
 */
#ifndef ROLLCALL_MODEL_SECRET_H
#define ROLLCALL_MODEL_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a thing with this name, of 'n' bytes, may be a secret: the name
 * contains TOKEN, SECRET, PASSWORD, PASSWD or CREDENTIAL, or ends in the word
 * KEY or KEYS ("api_key", "apiKey", "KEY"; not "monkey", "key1").
 */
bool secret_name (const char *name, size_t n);

/* Whether a value contains a typical secret: a token of a known maker, a PEM
 * block, the password of a URL.  It needs no NUL.
 */
bool secret_value (const char *value, size_t n);

/* Disable core files of this process, which has a secret, and of its future
 * children, unless $ROLLCALL_CORES is set.
 */
void secret_forbid_cores (void);

#endif
