/* common/object_store/credentials.h - with what requests are signed
 *
 * The first of these that has some: the environment (AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN); the file that
 * AWS_SHARED_CREDENTIALS_FILE names, or ~/.aws/credentials, with the section
 * AWS_PROFILE or [default]; the metadata service of the instance (IMDSv2, at
 * AWS_EC2_METADATA_SERVICE_ENDPOINT or its usual address), unless
 * AWS_EC2_METADATA_DISABLED is "true".
 *
 * They are never printed: sentences name the place, not what is there.
 */
#ifndef ROLLCALL_OBJECT_STORE_CREDENTIALS_H
#define ROLLCALL_OBJECT_STORE_CREDENTIALS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define CREDENTIAL_MAX 256              // bytes
#define CREDENTIAL_TOKEN_MAX 4096       // those of roles have about 1500

struct credentials {
    char key_id[CREDENTIAL_MAX];
    char secret[CREDENTIAL_MAX];
    char token[CREDENTIAL_TOKEN_MAX];   // or ""
    int64_t until_ns;           // since 1970; INT64_MAX: not known to end
    const char *from;           // where they are, for a person
};

/* Read them.  -ENOKEY: there are none, and 'err' says where they were looked
 * for; -EACCES, -EINVAL: the file cannot be read, or is none; -ENOMEM.
 */
int credentials_read (struct credentials *ret, struct err *err);

/* Whether both are the same; wipe them from memory. */
bool credentials_are (const struct credentials *a, const struct credentials *b);
void credentials_wipe (struct credentials *c);

/* Parse the text of a file, and the JSON of the metadata service: 1, 0: there
 * are none in it (of that section), -EINVAL.
 */
int credentials_of_file (const char *text, const char *section,
                         struct credentials *ret, struct err *err);
int credentials_of_instance (const char *json, size_t size,
                             struct credentials *ret, struct err *err);

#endif
