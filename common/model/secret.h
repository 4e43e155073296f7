/* common/model/secret.h - what may be a secret, by its name or by its form
 *
 * Settings, environments and command lines are carried with captures, for all
 * who may read a result.  Whoever writes secrets into them is not asked: what
 * looks like one is not carried.  See doc/formats.md, "Secrets".
 */
#ifndef ROLLCALL_MODEL_SECRET_H
#define ROLLCALL_MODEL_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Whether what has this name, of 'n' bytes, may be a secret: TOKEN, SECRET,
 * PASSWORD, PASSWD or CREDENTIAL is somewhere in it, or it ends in the word KEY
 * or KEYS ("api_key", "apiKey", "KEY"; not "monkey", "key1").
 */
bool secret_name (const char *name, size_t n);

/* Whether a value has something in it that only secrets look like: a token of
 * a known maker, a PEM block, the password of a URL.  It needs no NUL.
 */
bool secret_value (const char *value, size_t n);

#endif
