/* common/json/json.h - small JSON documents as trees (the only door to cJSON)
 *
 * For configuration, metadata and control messages.  The big files of a
 * capture go through common/json/scan.h, which needs no tree.
 *
 * This folder: JSON: a scanner for large files, trees for small ones, and the
 * status files of daemons.
 */
#ifndef ROLLCALL_JSON_JSON_H
#define ROLLCALL_JSON_JSON_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JSON_VALUES_MAX 5000000u        // of a document: a group of all ranks
                                        // of the largest job has fewer

struct json;                    // owned by its root

/* Parse the whole text.  NULL with 'err' naming the byte on bad input, or when
 * it may have more than JSON_VALUES_MAX values; free the result with json_free.
 */
struct json *json_parse (const char *text, size_t size, struct err *err);
void json_free (struct json *j);        // j may be NULL

/* Reading.  Every function takes NULL for "not there" and gives the fallback
 * for a missing or differently typed member; results are borrowed.
 */
const struct json *json_get (const struct json *obj, const char *key);
const struct json *json_first (const struct json *container);
const struct json *json_next (const struct json *item);
const char *json_key (const struct json *item);         // "" in arrays
const char *json_text (const struct json *j, const char *fallback);
bool json_number (const struct json *j, double *ret);
bool json_int (const struct json *j, int64_t *ret);     // whole, < 2^53
bool json_is_true (const struct json *j);
bool json_is_object (const struct json *j);
bool json_is_array (const struct json *j);
size_t json_count (const struct json *container);

/* Building.  A failure to allocate yields NULL, which every function accepts,
 * and json_print then returns NULL.
 */
struct json *json_object (void);
struct json *json_add_object (struct json *obj, const char *key);
struct json *json_add_array (struct json *obj, const char *key);
struct json *json_push_object (struct json *array);
void json_push_text (struct json *array, const char *value);
void json_push_int (struct json *array, int64_t value);
void json_add_text (struct json *obj, const char *key, const char *value);
void json_add_nonempty (struct json *obj, const char *key,
                        const char *value);     // "" is null, too
void json_add_int (struct json *obj, const char *key, int64_t value);
void json_add_real (struct json *obj, const char *key, double value);
void json_add_bool (struct json *obj, const char *key, bool value);

/* The text of the tree, to be freed by the caller; NULL without memory. */
char *json_print (const struct json *j, bool indented);

/* Replace 'dir/name' by the text of the tree, which is freed in any case;
 * -ENOMEM, -ENAMETOOLONG, or what fileio_replace says.
 */
int json_replace (struct json *j, bool indented, const char *dir,
                  const char *name, mode_t mode, struct err *err);

#endif
