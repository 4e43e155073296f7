/* common/json/json.h - small JSON documents as trees (the only user of cJSON)
 *
 * For configuration, metadata and control messages.  The big files of a capture
 * are read by common/json/scan.h, which needs no tree.
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

#define JSON_VALUES_MAX 5000000u        // of a document; a group of all ranks
                                        // of the largest job has fewer

struct json;                    // a node; it belongs to its root

/* Parse the whole text.  NULL: it is invalid, and 'err' names the byte, or it
 * may have more than JSON_VALUES_MAX values.  The caller frees the tree with
 * json_free.
 */
struct json *json_parse (const char *text, size_t size, struct err *err);
void json_free (struct json *j);        // j may be NULL

/* Reading.  Every function accepts NULL for "not there".  A missing member, or
 * one of another type, gives the fallback, false or NULL.  Results are borrowed
 * from the tree.
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

/* Building.  Without memory the result is NULL, which every function accepts;
 * then json_print returns NULL.
 */
struct json *json_object (void);
struct json *json_add_object (struct json *obj, const char *key);
struct json *json_add_array (struct json *obj, const char *key);
struct json *json_push_object (struct json *array);
void json_push_text (struct json *array, const char *value);
void json_push_int (struct json *array, int64_t value);
void json_add_text (struct json *obj, const char *key, const char *value);
void json_add_nonempty (struct json *obj, const char *key,
                        const char *value);     // "" becomes null
void json_add_int (struct json *obj, const char *key, int64_t value);
void json_add_real (struct json *obj, const char *key, double value);
void json_add_bool (struct json *obj, const char *key, bool value);
void json_drop (struct json *obj, const char *key);     // all of this name

/* Print the tree.  The caller frees the text.  NULL: no memory. */
char *json_print (const struct json *j, bool indented);

/* Replace 'dir/name' by the text of the tree, and free the tree, even on
 * failure.  -ENOMEM, -ENAMETOOLONG, or an error of fileio_replace.
 */
int json_replace (struct json *j, bool indented, const char *dir,
                  const char *name, mode_t mode, struct err *err);

#endif
