/* cli/shared/unbuilt.h - results that a service could not build, as its status says
 */
#ifndef ROLLCALL_SHARED_UNBUILT_H
#define ROLLCALL_SHARED_UNBUILT_H

#include "json/json.h"

#define UNBUILT_TEXT_MAX 1300

/* "its result could not be built since ...", of an entry of "unbuilt": in 'out',
 * which is returned.
 */
const char *unbuilt_text (const struct json *entry, char out[UNBUILT_TEXT_MAX]);

/* The status of the service that has this root now, or NULL: there is none.  The
 * caller frees it.
 */
struct json *unbuilt_read (const char *root);

/* The entry of a job in a status (or NULL), or NULL: it is not known that its
 * result could not be built.
 */
const struct json *unbuilt_find (const struct json *status, const char *job);

#endif
