/* common/json/json.c - small JSON documents as trees */
#include "json/json.h"

#include "base/units.h"
#include "base/utf8.h"
#include "store/fileio.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPE_SIZE 6           // bytes of an escape such as \u202e

/* struct json is cJSON under another name: it is only cast. */
static const cJSON *in (const struct json *j)
{
    return (const cJSON *)(const void *)j;
}

static cJSON *in_mut (struct json *j)
{
    return (cJSON *)(void *)j;
}

static struct json *out (cJSON *c)
{
    return (struct json *)(void *)c;
}

static const struct json *out_const (const cJSON *c)
{
    return (const struct json *)(const void *)c;
}

/* Whether a document has few enough values.  A value takes about 80 bytes of
 * memory, and as little as 2 of a text.
 */
static bool has_room (const char *text, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return n < JSON_VALUES_MAX;
}

struct json *json_parse (const char *text, size_t size, struct err *err)
{
    const char *end = text;
    cJSON *c;

    if (!has_room (text, size)) {
        err_set (err, EBADMSG, "more than %u values in a JSON document",
                 JSON_VALUES_MAX);
        return NULL;
    }
    c = cJSON_ParseWithLengthOpts (text, size, &end, 0);
    if (!c) {
        err_set (err, EBADMSG, "not valid JSON at byte %zu",
                 end >= text ? (size_t)(end - text) : 0);
        return NULL;
    }
    for (; end < text + size; end++) {
        if (*end != ' ' && *end != '\n' && *end != '\r' && *end != '\t') {
            err_set (err, EBADMSG, "text after the JSON document at byte %zu",
                     (size_t)(end - text));
            cJSON_Delete (c);
            return NULL;
        }
    }
    return out (c);
}

void json_free (struct json *j)
{
    cJSON_Delete (in_mut (j));
}

const struct json *json_get (const struct json *obj, const char *key)
{
    return out_const (cJSON_GetObjectItemCaseSensitive (in (obj), key));
}

const struct json *json_first (const struct json *container)
{
    return container ? out_const (in (container)->child) : NULL;
}

const struct json *json_next (const struct json *item)
{
    return item ? out_const (in (item)->next) : NULL;
}

const char *json_key (const struct json *item)
{
    return item && in (item)->string ? in (item)->string : "";
}

const char *json_text (const struct json *j, const char *fallback)
{
    return cJSON_IsString (in (j)) ? in (j)->valuestring : fallback;
}

bool json_number (const struct json *j, double *ret)
{
    if (!cJSON_IsNumber (in (j)) || !isfinite (in (j)->valuedouble))
        return false;           // cJSON reads 1e999 as infinite
    *ret = in (j)->valuedouble;
    return true;
}

bool json_int (const struct json *j, int64_t *ret)
{
    double v;

    if (!json_number (j, &v) || v != floor (v) ||
        fabs (v) >= 9007199254740992.0)
        return false;
    *ret = (int64_t)v;
    return true;
}

bool json_is_true (const struct json *j)
{
    return cJSON_IsTrue (in (j));
}

bool json_is_object (const struct json *j)
{
    return cJSON_IsObject (in (j));
}

bool json_is_array (const struct json *j)
{
    return cJSON_IsArray (in (j));
}

size_t json_count (const struct json *container)
{
    int n = cJSON_GetArraySize (in (container));

    return n > 0 ? (size_t)n : 0;
}

/* cJSON prints 15 digits of a number, and accepts a neighbour as equal.  A
 * number that needs more becomes a raw text, which cJSON prints as it is.
 */
static cJSON *exact_int (int64_t value)
{
    char text[24];

    if (value >= INT_MIN && value <= INT_MAX)
        return cJSON_CreateNumber ((double)value);
    (void)snprintf (text, sizeof (text), "%lld", (long long)value);
    return cJSON_CreateRaw (text);
}

static cJSON *exact_real (double value)
{
    char text[40];
    double back = 0;

    if (!isfinite (value))
        return cJSON_CreateNull ();
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf (text, sizeof (text), "%.*g", digits, value);
        for (char *p = text; *p; p++) {
            if (*p == ',')      // the locale may have a decimal comma
                *p = '.';
        }
        if (units_real (text, strlen (text), &back) == 0 && back == value)
            break;
    }
    return cJSON_CreateRaw (text);
}

static void json_add (struct json *obj, const char *key, cJSON *item)
{
    if (!obj || !item || !cJSON_AddItemToObject (in_mut (obj), key, item))
        cJSON_Delete (item);
}

struct json *json_object (void)
{
    return out (cJSON_CreateObject ());
}

struct json *json_add_object (struct json *obj, const char *key)
{
    return out (cJSON_AddObjectToObject (in_mut (obj), key));
}

struct json *json_add_array (struct json *obj, const char *key)
{
    return out (cJSON_AddArrayToObject (in_mut (obj), key));
}

static struct json *push (struct json *array, cJSON *item)
{
    if (!array || !item || !cJSON_AddItemToArray (in_mut (array), item)) {
        cJSON_Delete (item);
        return NULL;
    }
    return out (item);
}

struct json *json_push_object (struct json *array)
{
    return push (array, cJSON_CreateObject ());
}

void json_push_text (struct json *array, const char *value)
{
    (void)push (array, cJSON_CreateString (value ? value : ""));
}

void json_push_int (struct json *array, int64_t value)
{
    (void)push (array, exact_int (value));
}

void json_drop (struct json *obj, const char *key)
{
    while (json_get (obj, key))
        cJSON_DeleteItemFromObjectCaseSensitive (in_mut (obj), key);
}

void json_add_text (struct json *obj, const char *key, const char *value)
{
    if (value)
        (void)cJSON_AddStringToObject (in_mut (obj), key, value);
    else
        (void)cJSON_AddNullToObject (in_mut (obj), key);
}

void json_add_nonempty (struct json *obj, const char *key, const char *value)
{
    json_add_text (obj, key, value && *value ? value : NULL);
}

void json_add_int (struct json *obj, const char *key, int64_t value)
{
    json_add (obj, key, exact_int (value));
}

void json_add_real (struct json *obj, const char *key, double value)
{
    json_add (obj, key, exact_real (value));
}

void json_add_bool (struct json *obj, const char *key, bool value)
{
    (void)cJSON_AddBoolToObject (in_mut (obj), key, value);
}

/* The size of a character at 'p' that cJSON does not escape but a terminal or a
 * reader would obey: DEL, C1, controls of direction; else 0.  *code is the
 * character.
 */
static size_t control_at (const char *p, unsigned *code)
{
    const unsigned char *c = (const unsigned char *)p;

    *code = *c;
    if (*c == 0x7f)
        return 1;
    *code = c[1];
    if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
        return 2;
    *code = utf8_bidi (p);
    return *code ? UTF8_BIDI_SIZE : 0;
}

/* Escape these characters, which only strings contain. */
static char *escape_controls (char *text)
{
    size_t found = 0, n;
    char *out, *to;
    unsigned code;

    for (const char *p = text; *p; p++)
        found += control_at (p, &code) > 0;
    if (found == 0)
        return text;
    out = to = malloc (strlen (text) + ESCAPE_SIZE * found + 1);
    for (const char *p = text; out && *p; p += n) {
        if ((n = control_at (p, &code)) > 0)
            to += sprintf (to, "\\u%04x", code);
        else
            *to++ = *p;
        n += !n;
    }
    if (out)
        *to = '\0';
    free (text);
    return out;
}

char *json_print (const struct json *j, bool indented)
{
    char *text = !j         ? NULL
                 : indented ? cJSON_Print (in (j))
                            : cJSON_PrintUnformatted (in (j));

    return text ? escape_controls (text) : NULL;
}

int json_replace (struct json *j, bool indented, const char *dir,
                  const char *name, mode_t mode, struct err *err)
{
    char *text = json_print (j, indented), path[PATH_MAX];
    int rc;

    json_free (j);
    if (!text)
        rc = err_set (err, ENOMEM, "no memory to write %s", name);
    else if (!fileio_join (path, sizeof (path), dir, name))
        rc = err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
    else
        rc = fileio_replace (path, text, strlen (text), mode, err);
    free (text);
    return rc;
}
