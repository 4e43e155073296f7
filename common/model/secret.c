/* common/model/secret.c - what may be a secret, and where it may not go */
#include "model/secret.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

/* ---- names ---- */

static bool has_word (const char *name, size_t n, const char *word)
{
    size_t size = strlen (word);

    for (size_t i = 0; i + size <= n; i++) {
        if (strncasecmp (name + i, word, size) == 0)
            return true;
    }
    return false;
}

static bool ends_in (const char *name, size_t n, const char *word)
{
    size_t size = strlen (word);

    return n >= size && strncasecmp (name + n - size, word, size) == 0;
}

/* Where a word may begin: dots stand between the names of nested values. */
static bool is_edge (const char *name, size_t at)
{
    return at == 0 || strchr ("_-.", name[at - 1]);
}

/* (^|_|-|.)(API|ACCESS|PRIVATE|SSH|SECRET)?_?KEYS?$ */
static bool is_key (const char *name, size_t n)
{
    static const char *const kinds[] = { "API", "ACCESS", "PRIVATE", "SSH",
                                         "SECRET" };

    if (ends_in (name, n, "KEYS"))
        n--;
    if (!ends_in (name, n, "KEY"))
        return false;
    n -= strlen ("KEY");
    if (is_edge (name, n))
        return true;
    for (size_t i = 0; i < sizeof (kinds) / sizeof (kinds[0]); i++) {
        if (ends_in (name, n, kinds[i]) &&
            is_edge (name, n - strlen (kinds[i])))
            return true;
    }
    return false;
}

bool secret_name (const char *name, size_t n)
{
    static const char *const words[] = { "TOKEN", "SECRET", "PASSWORD",
                                         "PASSWD", "CREDENTIAL" };

    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++) {
        if (has_word (name, n, words[i]))
            return true;
    }
    return is_key (name, n);
}

/* ---- values ---- */

/* How many of the following bytes can be part of a token. */
static size_t token_size (const char *s, size_t n, bool dashes)
{
    size_t i = 0;

    while (i < n && (isalnum ((unsigned char)s[i]) || s[i] == '_' ||
                     (dashes && s[i] == '-')))
        i++;
    return i;
}

static bool is_token (const char *s, size_t n)
{
    static const struct {
        const char *prefix;
        size_t least;           // bytes behind it
        bool dashes;
    } kinds[] = {
        { "hf_", 16, false },   // Hugging Face
        { "sk-", 16, true },    // OpenAI, Anthropic
        { "AKIA", 16, false },  // AWS: 20 in all, as the next
        { "ASIA", 16, false },
        { "ghp_", 20, false },  // GitHub, and the next two
        { "gho_", 20, false },
        { "github_pat_", 20, false },
        { "glpat-", 20, true }, // GitLab
        { "xoxb-", 16, true },  // Slack
        { "AIza", 30, true },   // Google
    };

    for (size_t i = 0; i < sizeof (kinds) / sizeof (kinds[0]); i++) {
        size_t size = strlen (kinds[i].prefix);

        if (n >= size && memcmp (s, kinds[i].prefix, size) == 0 &&
            token_size (s + size, n - size, kinds[i].dashes) >= kinds[i].least)
            return true;
    }
    return false;
}

static bool begins (const char *s, size_t n, const char *with)
{
    return n >= strlen (with) && memcmp (s, with, strlen (with)) == 0;
}

/* USER:PASSWORD@ at 's', which may lack the user. */
static bool has_password (const char *s, size_t n)
{
    size_t i = 0, colon;

    while (i < n && !strchr (":@/?# \t\r\n\"'", s[i]))
        i++;
    if (i == n || s[i] != ':')
        return false;
    colon = i++;
    while (i < n && !strchr ("@/?# \t\r\n\"'", s[i]))
        i++;
    return i < n && s[i] == '@' && i > colon + 1;
}

/* Whether all of it is USER:PASSWORD@HOST, without a scheme. */
static bool is_login (const char *s, size_t n)
{
    const char *at = memchr (s, '@', n);
    size_t host = at ? (size_t)(at - s) + 1 : n, i = host;

    if (n == 0 || !isalpha ((unsigned char)s[0]) || !has_password (s, n))
        return false;
    while (i < n && (isalnum ((unsigned char)s[i]) || strchr ("-.:", s[i])))
        i++;
    return i > host && isalpha ((unsigned char)s[host]) &&
           (i == n || s[i] == '/');
}

bool secret_value (const char *value, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool edge = i == 0 || !isalnum ((unsigned char)value[i - 1]);

        if ((edge && is_token (value + i, n - i)) ||
            begins (value + i, n - i, "-----BEGIN ") ||
            (begins (value + i, n - i, "://") &&
             has_password (value + i + 3, n - i - 3)))
            return true;
    }
    return is_login (value, n);
}

/* ---- core files ---- */

// too small for a file; and the one limit with which the kernel starts no
// program either (core_pattern with a pipe), which with 0 gets the whole core
#define NO_CORE 1

/* Set the soft limit only, so that a child that wants a core can raise it.
 * PR_SET_DUMPABLE would deny this process its own /proc/self/fd, which trees
 * use; and the copies of libzmq are on pages that cannot be named.
 */
void secret_forbid_cores (void)
{
    struct rlimit r;

    if (getenv ("ROLLCALL_CORES") || getrlimit (RLIMIT_CORE, &r) < 0)
        return;
    r.rlim_cur = NO_CORE;
    if (r.rlim_max < NO_CORE)   // 0, which only root can raise
        r.rlim_max = NO_CORE;
    (void)setrlimit (RLIMIT_CORE, &r);
}
