/* node_agent/identity/metadata_info.c - turn metadata into rows of CaptureInfo
 */
#include "identity/metadata_info.h"

#include "base/utf8.h"
#include "model/secret.h"

#include <stdlib.h>

#define DEPTH_MAX 8             // of containers within one value
#define TEXT_MAX (CAPTURE_FACTS_VALUE_MAX + 4)  // more than is stored, so that
                                                // a cut is noticed
#define KEY_MAX (CAPTURE_FACTS_NAME_MAX + 4)    // likewise

/* The JSON text of a value, up to the size that is stored. */
struct text {
    char s[TEXT_MAX];
    size_t n;
    char long_string[3 * (CAPTURE_FACTS_VALUE_MAX + 1)];
};

static void metadata_info_put (struct text *t, const char *s, size_t n)
{
    size_t room = sizeof (t->s) - t->n;

    n = n < room ? n : room;
    memcpy (t->s + t->n, s, n);
    t->n += n;
}

static void put_quoted (struct text *t, const char *s, size_t n)
{
    metadata_info_put (t, "\"", 1);
    for (size_t i = 0; i < n && t->n < sizeof (t->s); i++) {
        if (s[i] == '"' || s[i] == '\\')
            metadata_info_put (t, "\\", 1);
        metadata_info_put (t, (unsigned char)s[i] < ' ' ? " " : &s[i], 1);
    }
    metadata_info_put (t, "\"", 1);
}

/* Whether the string at s->at ends within the window of the scanner, so that it
 * is short enough to be decoded.
 */
static bool is_short (const struct scan *s)
{
    const char *end = s->at + SCAN_AHEAD < s->end ? s->at + SCAN_AHEAD
                                                  : s->end;

    for (const char *p = s->at + 1; p < end; p++) {
        if (*p == '"')
            return true;
        p += *p == '\\';
    }
    return false;
}

/* Read a string.  Of a long one take only the first bytes, undecoded, but more
 * than are stored, so that it is cut visibly.
 */
static bool take_string (struct scan *s, struct text *t, const char **ret,
                         size_t *size)
{
    char raw[CAPTURE_FACTS_VALUE_MAX + 2] = "";
    uint64_t bad = 0;
    size_t n = (size_t)(s->end - s->at - 1);

    if (is_short (s))
        return scan_text (s, ret, size);
    n = n < CAPTURE_FACTS_VALUE_MAX + 1 ? n : CAPTURE_FACTS_VALUE_MAX + 1;
    memcpy (raw, s->at + 1, n);
    *ret = t->long_string;
    *size = utf8_repair (raw, n, t->long_string, &bad);
    return scan_skip (s);
}

/* Read a number, true, false or null, as it is written. */
static bool take_word (struct scan *s, struct text *t)
{
    size_t n = 0;

    while (n < SCAN_NUMBER_MAX && s->at + n < s->end &&
           !strchr (",]} \t\r\n", s->at[n]))
        n++;
    metadata_info_put (t, s->at, n);
    return scan_skip (s);
}

static bool take_value (struct scan *s, struct text *t, unsigned depth);

static bool take_object (struct scan *s, struct text *t, unsigned depth)
{
    bool first = true;

    metadata_info_put (t, "{", 1);
    if (!scan_object (s))
        return false;
    for (bool begin = true; scan_member (s, &begin); first = false) {
        bool secret = secret_name (s->key, s->key_size);

        if (!first)
            metadata_info_put (t, ",", 1);
        put_quoted (t, s->key, s->key_size);
        metadata_info_put (t, ":", 1);
        if (secret)
            put_quoted (t, CAPTURE_FACTS_NOT_SHOWN,
                        strlen (CAPTURE_FACTS_NOT_SHOWN));
        if (secret ? !scan_skip (s) : !take_value (s, t, depth + 1))
            return false;
    }
    metadata_info_put (t, "}", 1);
    return !s->failed;
}

static bool take_array (struct scan *s, struct text *t, unsigned depth)
{
    bool first = true;

    metadata_info_put (t, "[", 1);
    if (!scan_array (s))
        return false;
    for (bool begin = true; scan_element (s, &begin); first = false) {
        if (!first)
            metadata_info_put (t, ",", 1);
        if (!take_value (s, t, depth + 1))
            return false;
    }
    metadata_info_put (t, "]", 1);
    return !s->failed;
}

static bool take_value (struct scan *s, struct text *t, unsigned depth)
{
    char c = scan_peek (s);
    const char *text;
    size_t n;

    if (depth >= DEPTH_MAX || t->n == sizeof (t->s)) {
        metadata_info_put (t, "...", 3);
        return scan_skip (s);
    }
    if (c == '{')
        return take_object (s, t, depth);
    if (c == '[')
        return take_array (s, t, depth);
    if (c != '"')
        return take_word (s, t);
    if (!take_string (s, t, &text, &n))
        return false;
    if (secret_value (text, n))
        put_quoted (t, CAPTURE_FACTS_NOT_SHOWN,
                    strlen (CAPTURE_FACTS_NOT_SHOWN));
    else
        put_quoted (t, text, n);
    return true;
}

static bool carry (struct source *src, struct scan *s, const char *kind,
                   const char *name, size_t name_size)
{
    struct text t;
    const char *text = t.s;
    size_t n;

    t.n = 0;
    if (scan_peek (s) == '"') {
        if (!take_string (s, &t, &text, &n))
            return false;
    } else if (take_value (s, &t, 0)) {
        n = t.n;
    } else {
        return false;
    }
    capture_facts_info (src, kind, name, name_size, text, n);
    return true;
}

/* Add the member that the scanner has found, under the name "<key>.<member>".
 */
static bool carry_sub (struct source *src, struct scan *s, const char *kind,
                       const char *key, size_t key_size)
{
    char name[2 * KEY_MAX + 1];
    size_t n = s->key_size < KEY_MAX ? s->key_size : KEY_MAX;

    memcpy (name, key, key_size);
    if (key_size > 0)
        name[key_size++] = '.';
    memcpy (name + key_size, s->key, n);
    return carry (src, s, kind, name, key_size + n);
}

bool metadata_sub (struct source *src, struct scan *s, const char *key)
{
    return src->extras ? carry_sub (src, s, "metadata", key, strlen (key))
                       : scan_skip (s);
}

static bool is (const char *key, size_t size, const char *text)
{
    return size == strlen (text) && memcmp (key, text, size) == 0;
}

bool metadata_value (struct source *src, struct scan *s, const char *key,
                     size_t key_size)
{
    bool variables = is (key, key_size, "ENV_VARIABLES");
    const char *kind = variables ? "environment" : "metadata";
    char own[KEY_MAX];

    if (!src->extras || is (key, key_size, "parallel_group_info"))
        return scan_skip (s);   // groups go into tables of their own
    key_size = key_size < sizeof (own) ? key_size : sizeof (own);
    memcpy (own, key, key_size);
    if (scan_peek (s) != '{')
        return carry (src, s, kind, own, key_size);
    if (!scan_object (s))
        return false;
    for (bool first = true; scan_member (s, &first);) {
        if (!carry_sub (src, s, kind, own, variables ? 0 : key_size))
            return false;
    }
    return !s->failed;
}

/* ---- profiler_info*.json ---- */

/* Whether anything in an object or list may be a secret.  The parser bounds the
 * tree's depth.
 */
static bool hides_secret (const struct json *j)
{
    for (const struct json *m = json_first (j); m; m = json_next (m)) {
        const char *key = json_key (m), *text = json_text (m, NULL);

        if ((key && secret_name (key, strlen (key))) ||
            (text && secret_value (text, strlen (text))) || hides_secret (m))
            return true;
    }
    return false;
}

static void carry_tree (struct source *src, const char *kind,
                        const struct json *j)
{
    const char *key = json_key (j);
    const char *text = json_text (j, NULL);
    char *printed = NULL;

    if (!text && hides_secret (j))
        text = CAPTURE_FACTS_NOT_SHOWN;
    else if (!text)
        text = printed = json_print (j, false);
    if (text)
        capture_facts_info (src, kind, key, strlen (key), text, strlen (text));
    free (printed);
}

void metadata_members (struct source *src, const char *kind,
                       const struct json *object)
{
    if (!json_is_object (object))
        return;
    for (const struct json *j = json_first (object); j; j = json_next (j))
        carry_tree (src, kind, j);
}

void metadata_config (struct source *src, const struct json *info)
{
    static const char *const versions[] = {
        "torch_npu_version", "cann_version", "ms_version", "jit_level",
    };
    const struct json *config = json_get (info, "config");

    if (!src->extras)
        return;
    for (size_t i = 0; i < sizeof (versions) / sizeof (versions[0]); i++) {
        if (json_get (info, versions[i]))
            carry_tree (src, "config", json_get (info, versions[i]));
    }
    metadata_members (src, "config", json_get (config, "common_config"));
    metadata_members (src, "config", json_get (config, "experimental_config"));
    // MindSpore writes these
    metadata_members (src, "config", json_get (info, "profiler_parameters"));
}
