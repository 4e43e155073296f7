/* common/options/options.c - command-line options, declared in a table */
#include "options/options.h"

#include "base/clock.h"
#include "base/units.h"
#include "options/nearest_name.h"
#include "store/space.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define OPTIONS_MAX 64
#define LONG_BASE 256           // values of long options in getopt
#define USAGE_INDENT 4
#define HELP_WIDTH 78
#define SUGGESTIONS_MAX 3       // more would not help
#define SUGGESTIONS_SIZE 160    // bytes, for three of the longest names

enum { OPT_HELP = LONG_BASE + OPTIONS_MAX, OPT_MAN, OPT_NAMES };

static const char *const own_names[] = { "help", "help-man", "help-names" };

static bool takes_value (const struct option_spec *o)
{
    return o->kind != OPTION_FLAG;
}

static int set_int (const struct option_spec *o, const char *value,
                    int64_t *at, struct err *err)
{
    int rc = units_int (value, o->min, o->max, at);

    if (rc < 0 && o->min >= 0 && value[0] == '-')
        return err_set (err, EINVAL, "--%s: \"%s\" is not a number from %lld "
                        "on", o->name, value, (long long)o->min);
    if (rc == -ERANGE)
        return err_set (err, EINVAL, "--%s: %s is not between %lld and %lld",
                        o->name, value, (long long)o->min, (long long)o->max);
    if (rc < 0)
        return err_set (err, EINVAL, "--%s: \"%s\" is not a whole number",
                        o->name, value);
    return 0;
}

static int set_endpoints (const struct option_spec *o, const char *value,
                          const char **at, struct err *err)
{
    const char *p = value;
    size_t n;

    do {
        n = o->kind == OPTION_ENDPOINT ? strlen (p) : strcspn (p, ",");
        if (!units_is_endpoint (p, n))
            return err_set (err, EINVAL, "--%s: \"%.*s\" is not of the form "
                            "tcp://HOST:PORT, as tcp://10.0.0.1:7077", o->name,
                            (int)n, p);
        p += n;
    } while (*p++ == ',');
    *at = value;
    return 0;
}

/* Whether the value names a directory or file.  After an empty directory,
 * "/NAME" would be below the root.
 */
static bool is_path (const struct option_spec *o)
{
    static const char *const args[] = { "DIR", "FILE", "OUT" };

    for (size_t i = 0; i < sizeof (args) / sizeof (args[0]); i++) {
        if (o->arg && strcmp (o->arg, args[i]) == 0)
            return true;
    }
    return false;
}

static int set (const struct option_spec *o, const char *value, void *out,
                struct err *err)
{
    void *at = (char *)out + o->offset;
    struct option_list *list = at;

    if (!*value && is_path (o))
        return err_set (err, EINVAL, "--%s: %s is empty", o->name, o->arg);
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)at = strcmp (value, "0") != 0;
        return 0;
    case OPTION_TEXT:
        *(const char **)at = value;
        return 0;
    case OPTION_INT:
        return set_int (o, value, at, err);
    case OPTION_DURATION:
        if (units_duration_ns (value, at) < 0)
            return err_set (err, EINVAL, "--%s: \"%s\" is not a time like 90, "
                            "1.5s, 5m or 2h", o->name, value);
        return 0;
    case OPTION_BYTES:
        if (units_bytes (value, at) < 0)
            return err_set (err, EINVAL, "--%s: \"%s\" is not a number of "
                            "bytes like 1000, 64k, 1.5GB or 1GiB", o->name,
                            value);
        return 0;
    case OPTION_ROOM:
        if (space_parse_limit (value, at) < 0)
            return err_set (err, EINVAL, "--%s: \"%s\" is neither a number of "
                            "bytes like 10GB nor a part like 5%%", o->name,
                            value);
        return 0;
    case OPTION_ENDPOINT:
    case OPTION_ENDPOINTS:
        return set_endpoints (o, value, at, err);
    case OPTION_LIST:
        if (list->n == OPTION_LIST_MAX)
            return err_set (err, EINVAL, "--%s: more than %d times", o->name,
                            OPTION_LIST_MAX);
        list->items[list->n++] = value;
        return 0;
    }
    return -EINVAL;
}

/* Times and numbers of bytes have no value that means none. */
static bool is_set (const struct option_spec *o, const void *out)
{
    const void *at = (const char *)out + o->offset;

    switch (o->kind) {
    case OPTION_FLAG:
        return *(const bool *)at;
    case OPTION_TEXT:
    case OPTION_ENDPOINT:
    case OPTION_ENDPOINTS:
        return *(const char *const *)at != NULL;
    case OPTION_INT:
        return *(const int64_t *)at >= o->min;
    case OPTION_LIST:
        return ((const struct option_list *)at)->n > 0;
    case OPTION_DURATION:
    case OPTION_BYTES:
    case OPTION_ROOM:
        break;
    }
    return true;
}

/* Whether what the option needs, if anything, is set. */
static bool has_need (const struct command_spec *c, const struct option_spec *o,
                      const void *out)
{
    for (size_t i = 0; o->needs && i < c->noptions; i++) {
        if (strcmp (c->options[i].name, o->needs) == 0)
            return is_set (&c->options[i], out);
    }
    return true;
}

/* What is said replaces what was not. */
static void begin_list (const struct option_spec *o, void *out, bool said)
{
    struct option_list *list = (void *)((char *)out + o->offset);

    if (o->kind == OPTION_LIST && !list->said)
        *list = (struct option_list){ .said = said };
}

static int set_value (const struct option_spec *o, const char *value,
                      void *out, struct err *err)
{
    begin_list (o, out, true);
    return set (o, value, out, err);
}

static int set_defaults (const struct command_spec *c, void *out,
                         struct err *err)
{
    for (size_t i = 0; i < c->noptions; i++) {
        const struct option_spec *o = &c->options[i];
        const char *value = o->env ? getenv (o->env) : NULL;
        int rc = 0;

        if (o->fallback)
            rc = set (o, o->fallback, out, err);
        if (rc == 0 && value && *value) {
            begin_list (o, out, false);
            rc = set (o, value, out, err);
            if (rc < 0)
                return err_prefix (err, rc, "environment variable %s", o->env);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void fill_getopt (const struct command_spec *c, bool stop_early,
                         struct option *longs, char *shorts)
{
    size_t used = 0, n = 0;

    if (stop_early)
        shorts[used++] = '+';
    shorts[used++] = ':';
    shorts[used++] = 'h';
    for (; n < c->noptions; n++) {
        const struct option_spec *o = &c->options[n];

        longs[n] = (struct option){ o->name, takes_value (o), NULL,
                                    LONG_BASE + (int)n };
        if (o->letter) {
            shorts[used++] = o->letter;
            if (takes_value (o))
                shorts[used++] = ':';
        }
    }
    shorts[used] = '\0';
    for (int v = OPT_HELP; v <= OPT_NAMES; v++)
        longs[n++] = (struct option){ own_names[v - OPT_HELP], 0, NULL, v };
    longs[n] = (struct option){ NULL, 0, NULL, 0 };
}

static const struct option_spec *options_find (const struct command_spec *c,
                                               int v)
{
    if (v >= LONG_BASE)
        return &c->options[v - LONG_BASE];
    for (size_t i = 0; i < c->noptions; i++) {
        if (c->options[i].letter == v)
            return &c->options[i];
    }
    return NULL;
}

/* The argument in which getopt found the option, without its value. */
static const char *said_of (char **argv)
{
    bool apart = optarg && optarg == argv[optind - 1];

    return argv[optind - (apart ? 2 : 1)];
}

static size_t name_length (const char *arg)
{
    return strcspn (arg + 2, "=");
}

/* Whether the name was abbreviated.  getopt accepts that, but the meaning would
 * change with each new option.
 */
static bool is_abbreviated (const struct command_spec *c, int v,
                            const char *arg)
{
    const char *name;

    if (v < LONG_BASE)
        return false;
    name = v >= OPT_HELP ? own_names[v - OPT_HELP] : options_find (c, v)->name;
    return name_length (arg) != strlen (name);
}

/* Report an unknown option, with those whose names begin with it, or else with
 * the nearest name, if any.
 */
static enum options_result unknown (const struct command_spec *c,
                                    const char *arg, struct err *err)
{
    const size_t n = name_length (arg);
    char like[SUGGESTIONS_SIZE] = "";
    size_t used = 0, found = 0;

    for (size_t i = 0; i <= c->noptions && found < SUGGESTIONS_MAX; i++) {
        const char *name = i < c->noptions ? c->options[i].name : "help";

        if (n > 0 && strncmp (name, arg + 2, n) == 0 &&
            used + strlen (name) + 8 < sizeof (like))
            used += (size_t)snprintf (like + used, sizeof (like) - used,
                                      "%s--%s", found++ ? " or " : "", name);
    }
    if (found == 0) {
        struct nearest near = { .meant = arg + 2, .size = n };

        for (size_t i = 0; i < c->noptions; i++)
            nearest_consider (&near, c->options[i].name);
        if (near.best)
            found = (size_t)snprintf (like, sizeof (like), "--%s", near.best);
    }
    err_set (err, EINVAL, "there is no option %.*s%s%s%s", (int)n + 2, arg,
             found ? "; did you mean " : "", like, found ? "?" : "");
    return OPTIONS_USAGE;
}

static enum options_result bad (const struct command_spec *c, char **argv,
                                int v, struct err *err)
{
    const char *arg = argv[optind - 1];

    if (is_abbreviated (c, optopt, arg))
        return unknown (c, arg, err);
    if (v == ':')
        err_set (err, EINVAL, "option %s needs a value", arg);
    else if (optopt >= LONG_BASE)
        err_set (err, EINVAL, "option %.*s takes no value",
                 (int)name_length (arg) + 2, arg);
    else if (optopt > 0)
        err_set (err, EINVAL, "there is no option -%c", optopt);
    else
        return unknown (c, arg, err);
    return OPTIONS_USAGE;
}

enum options_result options_parse (const struct command_spec *c, int argc,
                                   char **argv, bool stop_early, void *out,
                                   int *rest, struct err *err)
{
    struct option longs[OPTIONS_MAX + 4];
    char shorts[2 * OPTIONS_MAX + 4];
    const struct option_spec *o;
    bool given[OPTIONS_MAX] = { false };
    int v;

    if (set_defaults (c, out, err) < 0)
        return OPTIONS_USAGE;
    fill_getopt (c, stop_early, longs, shorts);
    optind = 0;                 // begin anew: main may have parsed before
    opterr = 0;
    while ((v = getopt_long (argc, argv, shorts, longs, NULL)) != -1) {
        if (v == ':' || v == '?')
            return bad (c, argv, v, err);
        if (is_abbreviated (c, v, said_of (argv)))
            return unknown (c, said_of (argv), err);
        if (v == 'h' || v == OPT_HELP)
            options_print_help (c);
        else if (v == OPT_MAN)
            options_print_man (c);
        else if (v == OPT_NAMES)
            options_print_names (c);
        if (v == 'h' || v >= OPT_HELP)
            return OPTIONS_DONE;
        o = options_find (c, v);
        if (set_value (o, optarg ? optarg : "1", out, err) < 0)
            return OPTIONS_USAGE;
        given[o - c->options] = true;
    }
    for (size_t i = 0; i < c->noptions; i++) {
        o = &c->options[i];
        if (given[i] && !has_need (c, o, out)) {
            err_set (err, EINVAL, "--%s needs --%s", o->name, o->needs);
            return OPTIONS_USAGE;
        }
    }
    *rest = optind;
    return OPTIONS_OK;
}

int options_done (const char *name)
{
    if (fflush (stdout) == 0 && !ferror (stdout))
        return EX_OK;
    (void)fprintf (stderr, "%s: cannot write to standard output: %s\n", name,
                   strerror (errno));
    return EX_IOERR;
}

/* ---- back into words ---- */

struct writer {
    int (*fn) (void *arg, const char *word);
    void *arg;
};

static int write_option (const struct writer *w, const struct option_spec *o,
                         const char *value)
{
    char name[64];
    int rc;

    PRINT (name, "--%s", o->name);
    rc = w->fn (w->arg, name);
    return rc == 0 && value ? w->fn (w->arg, value) : rc;
}

static int write_number (const struct writer *w, const struct option_spec *o,
                         int64_t value)
{
    char text[48];

    if (o->kind == OPTION_DURATION)
        PRINT (text, "%lld.%09llds", (long long)(value / NS_PER_S),
               (long long)(value % NS_PER_S));
    else
        PRINT (text, "%lld", (long long)value);
    return write_option (w, o, text);
}

static int write_value (const struct writer *w, const struct option_spec *o,
                        const void *opt)
{
    const void *at = (const char *)opt + o->offset;
    int rc = 0;

    switch (o->kind) {
    case OPTION_FLAG:
        return write_option (w, o, NULL);
    case OPTION_TEXT:
    case OPTION_ENDPOINT:
    case OPTION_ENDPOINTS:
        return write_option (w, o, *(const char *const *)at);
    case OPTION_INT:
    case OPTION_DURATION:
    case OPTION_BYTES:
        return write_number (w, o, *(const int64_t *)at);
    case OPTION_LIST: {
        const struct option_list *list = at;

        for (size_t i = 0; i < list->n && rc == 0; i++)
            rc = write_option (w, o, list->items[i]);
        return rc;
    }
    case OPTION_ROOM:
        break;
    }
    return -ENOTSUP;
}

int options_words (const struct command_spec *c, const void *opt,
                   int (*fn) (void *arg, const char *word), void *arg)
{
    const struct writer w = { fn, arg };
    int rc = 0;

    for (size_t i = 0; i < c->noptions && rc == 0; i++) {
        const struct option_spec *o = &c->options[i];

        if (is_set (o, opt) && has_need (c, o, opt))
            rc = write_value (&w, o, opt);
    }
    return rc;
}

/* ---- for people ---- */

/* Print text in lines of HELP_WIDTH, indented; the first one has columns already.
 */
static void print_wrapped (const char *text, int indent, int column)
{
    while (*text) {
        int n = (int)strcspn (text, " ");

        if (column > 0 && indent + column + 1 + n > HELP_WIDTH) {
            (void)putchar ('\n');
            column = 0;
        }
        if (column == 0)
            (void)printf ("%*s", indent, "");
        else
            (void)putchar (' ');
        (void)printf ("%.*s", n, text);
        column += n + (column > 0);
        text += n;
        while (*text == ' ')
            text++;
    }
    (void)putchar ('\n');
}

/* Its name, what it takes, and its variable, below that if it finds no room. */
static void print_head (const struct option_spec *o)
{
    int n = printf ("  ");

    if (o->letter)
        n += printf ("-%c, ", o->letter);
    n += printf ("--%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
    if (o->fallback)
        n += printf ("  (default: %s)", o->fallback);
    if (o->env)
        (void)printf ("%s[%s]", n + 4 + (int)strlen (o->env) > HELP_WIDTH
                                    ? "\n        " : "  ", o->env);
    (void)putchar ('\n');
}

void options_print_help (const struct command_spec *c)
{
    (void)printf ("usage: %s", c->name);
    print_wrapped (c->usage, USAGE_INDENT,
                   (int)strlen (c->name) + 7 - USAGE_INDENT);
    (void)putchar ('\n');
    print_wrapped (c->summary, 0, 0);
    (void)printf ("\noptions:\n");
    for (size_t i = 0; i < c->noptions; i++) {
        const struct option_spec *o = &c->options[i];

        print_head (o);
        print_wrapped (o->help, 8, 0);
    }
    (void)printf ("  -h, --help\n        this text\n");
}

/* Print text, with characters escaped that scdoc interprets. */
static void print_escaped (const char *text)
{
    for (; *text; text++) {
        if (strchr ("*_\\#~[]<>", *text))
            (void)putchar ('\\');
        (void)putchar (*text);
    }
}

void options_print_man (const struct command_spec *c)
{
    (void)printf ("# SYNOPSIS\n\n*%s* ", c->name);
    print_escaped (c->usage);
    (void)printf ("\n\n# OPTIONS\n");
    for (size_t i = 0; i < c->noptions; i++) {
        const struct option_spec *o = &c->options[i];

        (void)printf ("\n");
        if (o->letter)
            (void)printf ("*-%c*, ", o->letter);
        (void)printf ("*--%s*", o->name);
        if (o->arg) {
            (void)printf (" _");
            print_escaped (o->arg);
            (void)printf ("_");
        }
        (void)printf ("\n\t");
        print_escaped (o->help);
        if (o->fallback) {
            (void)printf (" (default: *");
            print_escaped (o->fallback);
            (void)printf ("*)");
        }
        if (o->env) {
            (void)printf (" Environment: ");
            print_escaped (o->env);
            (void)printf (".");
        }
        (void)printf ("\n");
    }
    (void)printf ("\n*-h*, *--help*\n\tPrint a summary and exit.\n");
}

void options_print_names (const struct command_spec *c)
{
    for (size_t i = 0; i < c->noptions; i++)
        (void)printf ("--%s\n", c->options[i].name);
    (void)printf ("--help\n");
}
