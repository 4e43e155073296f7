/* cli/verb_key.c - rollcall key: manage who may connect to an aggregator */
#include "cli.h"

#include "base/clock.h"
#include "json/json.h"
#include "net/keyring.h"
#include "query/grid.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct key_options {
    const char *dir;
    int64_t grace_ns;
    struct option_list hosts;
    const char *reads;
    bool replace, any_host, reads_all, json;
};

static const struct option_spec options[] = {
    OPTION (TEXT, "dir", 'd', struct key_options, dir, "DIR", NULL,
      "ROLLCALL_KEYS",
      "The directory of keys. Without it: /etc/rollcall/keys for root, else "
      "rollcall/keys in $XDG_CONFIG_HOME or ~/.config."),
    OPTION (DURATION, "grace", 'g', struct key_options, grace_ns, "TIME", "24h",
      NULL,
      "rotate, enrol --replace: how long the older key can still connect; for "
      "server: how long agents still accept it as the aggregator's."),
    OPTION_SWITCH ("replace", 0, struct key_options, replace,
      "enrol: accept this key although NAME has another one."),
    OPTION (LIST, "host", 0, struct key_options, hosts, "HOST", NULL, NULL,
      "enrol, bind: bind the key to this host, as hostname prints it there; "
      "may be repeated. Without it, a key is bound to the first host that it "
      "is used for."),
    OPTION_SWITCH ("any-host", 0, struct key_options, any_host,
      "enrol, bind: the key may be used for any host, as one of a gateway."),
    OPTION (TEXT, "reads", 0, struct key_options, reads, "USER", NULL, NULL,
      "enrol, bind: the key is one of a person: it delivers nothing, and may "
      "ask this aggregator for the jobs of USER (rollcall jobs --aggregators)."),
    OPTION_SWITCH ("reads-all", 0, struct key_options, reads_all,
      "enrol, bind: the same, for the jobs of all."),
    OPTION_SWITCH ("json", 0, struct key_options, json,
      "list: print one JSON object."),
};

static const struct command_spec key_command = {
    "rollcall key", "new NAME | enrol FILE|KEY NAME | enrol DIR | bind NAME | list | "
    "rotate NAME | revoke NAME",
    "Make keys, and say which nodes may connect to the aggregator here.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&key_command, status, __VA_ARGS__)

struct action {
    const char *name;
    int least, operands;
    const char *wanted;         // the operands, as a question
    int (*run) (const struct key_options *o, const char *dir, char **args,
                struct err *err);
};

static int64_t grace_s (const struct key_options *o)
{
    return o->grace_ns / NS_PER_S;
}

static int run_new (const struct key_options *o, const char *dir, char **args,
                    struct err *err)
{
    int rc = keyring_new (dir, args[0], err);

    (void)o;
    if (rc < 0)
        return rc;
    (void)printf ("made          %s/%s.key, a secret, and %s/%s.pub\n", dir,
                  args[0], dir, args[0]);
    if (strcmp (args[0], KEYRING_SERVER) == 0)
        (void)printf ("next          agents need %s.pub as --server-key\n",
                      args[0]);
    else
        (void)printf ("next          on the aggregator's host: rollcall key "
                      "enrol %s.pub %s\n", args[0], args[0]);
    return 0;
}

static bool has_use (const struct key_options *o)
{
    return o->hosts.n > 0 || o->any_host || o->reads || o->reads_all;
}

/* Of the options; the names of hosts are put into 'hosts'. */
static int use_of (const struct key_options *o, char hosts[KEY_HOSTS_SIZE],
                   struct key_use *ret, struct err *err)
{
    size_t used = 0;

    hosts[0] = '\0';
    if (o->reads && o->reads_all)
        return err_set (err, EINVAL, "--reads or --reads-all, not both");
    if (o->any_host && o->hosts.n > 0)
        return err_set (err, EINVAL, "--host or --any-host, not both");
    if ((o->reads || o->reads_all) && (o->any_host || o->hosts.n > 0))
        return err_set (err, EINVAL, "a key is one of a node (--host) or of a "
                        "person (--reads), not both");
    if (o->reads && !*o->reads)
        return err_set (err, EINVAL, "--reads: which user?");
    for (size_t i = 0; i < o->hosts.n; i++) {
        const char *host = o->hosts.items[i];

        if (!*host || strpbrk (host, " *") ||
            used + strlen (host) + 2 > KEY_HOSTS_SIZE)
            return err_set (err, EINVAL, "--host: \"%.80s\" is not the name "
                            "of a host, or they are too many", host);
        used += (size_t)snprintf (hosts + used, KEY_HOSTS_SIZE - used, "%s%s",
                                  i ? " " : "", host);
    }
    *ret = (struct key_use){ o->any_host ? KEY_ANY_HOST : hosts,
                             o->reads_all ? KEY_READS_ALL
                             : o->reads   ? o->reads : "" };
    return 0;
}

static void tell_use (const char *name, const struct key_use *u)
{
    if (u->reads[0])
        (void)printf ("bound         %s, reads the jobs of %s\n", name,
                      strcmp (u->reads, KEY_READS_ALL) == 0 ? "all" : u->reads);
    else
        (void)printf ("bound         %s, to %s\n", name,
                      strcmp (u->hosts, KEY_ANY_HOST) == 0 ? "any host"
                                                           : u->hosts);
}

static int run_bind (const struct key_options *o, const char *dir,
                     char **args, struct err *err)
{
    char hosts[KEY_HOSTS_SIZE];
    struct key_use use;
    int rc = has_use (o) ? use_of (o, hosts, &use, err)
                         : err_set (err, EINVAL, "bind: give --host, --any-host, "
                                    "--reads or --reads-all");

    if (rc < 0)
        return rc;
    rc = use.reads[0] ? keyring_let_read (dir, args[0], use.reads, err)
                      : keyring_bind (dir, args[0], use.hosts, err);
    if (rc == 0)
        tell_use (args[0], &use);
    return rc;
}

static int tell_enrolled (void *arg, const struct keyring_entry *e,
                          struct err *err)
{
    const struct key_use *use = arg;    // NULL: none was given
    char fingerprint[KEY_FINGERPRINT_SIZE];

    key_fingerprint (e->file.public_key, fingerprint);
    (void)printf ("enrolled      %s, key %s\n", e->file.name, fingerprint);
    if (use)
        tell_use (e->file.name, use);
    (void)err;
    return 0;
}

/* A key and its name, or a directory of keys. */
static int run_enrol (const struct key_options *o, const char *dir,
                      char **args, struct err *err)
{
    const int64_t grace = o->replace ? grace_s (o) : -1;
    char hosts[KEY_HOSTS_SIZE];
    struct key_use given, *use = has_use (o) ? &given : NULL;
    struct keyring_entry e = { .state = KEY_ENROLLED };
    int rc = use ? use_of (o, hosts, use, err) : 0;

    if (rc < 0)
        return rc;
    if (!args[1]) {
        struct stat st;

        if (stat (args[0], &st) == 0 && !S_ISDIR (st.st_mode))
            return err_set (err, EINVAL, "enrol: which NAME does %s get? "
                            "Without a NAME, give a directory of .pub files",
                            args[0]);
        rc = keyring_enrol_all (dir, args[0], grace, use, tell_enrolled, use,
                                err);
        return rc != 0 ? rc : err_set (err, ENOENT, "%s has no NAME.pub",
                                       args[0]);
    }
    rc = key_read_public (args[0], e.file.public_key, err);
    if (rc == 0)
        rc = keyring_enrol (dir, args[1], e.file.public_key, grace, use, err);
    PRINT (e.file.name, "%s", args[1]);
    return rc < 0 ? rc : tell_enrolled (use, &e, err);
}

static int run_rotate (const struct key_options *o, const char *dir,
                       char **args, struct err *err)
{
    int rc = keyring_rotate (dir, args[0], grace_s (o), err);

    if (rc < 0)
        return rc;
    (void)printf ("made          %s/%s.key and %s.pub anew\n", dir, args[0],
                  args[0]);
    if (strcmp (args[0], KEYRING_SERVER) == 0) {
        (void)printf ("next          replace %s.pub on the agents' hosts by this "
                      "one, then start the aggregator again; agents read the "
                      "file by themselves%s\n", args[0],
                      o->grace_ns > 0 ? ", which has the former key, too" : "");
        return 0;
    }
    (void)printf ("next          start again what uses the key; where %s is "
                  "enrolled elsewhere: rollcall key enrol --replace %s.pub "
                  "%s\n", args[0], args[0], args[0]);
    return 0;
}

static int run_revoke (const struct key_options *o, const char *dir,
                       char **args, struct err *err)
{
    int rc = keyring_revoke (dir, args[0], err);

    (void)o;
    if (rc == 0)
        (void)printf ("revoked       %s\n", args[0]);
    return rc;
}

/* ---- list ---- */

static const char *state_text (const struct keyring_entry *e, int64_t now)
{
    switch (e->state) {
    case KEY_OWN:
        return "own";
    case KEY_ENROLLED:
        return "enrolled";
    case KEY_ROTATED:
        return e->file.until > now ? "rotated" : "expired";
    default:
        return "revoked";
    }
}

/* The date of its current state, as far as the file tells. */
static int64_t since (const struct keyring_entry *e)
{
    return e->state == KEY_REVOKED && e->file.revoked ? e->file.revoked
                                                      : e->file.created;
}

static void age_text (int64_t seconds, char out[24])
{
    if (seconds < 0)
        (void)snprintf (out, 24, "-");
    else if (seconds < 7200)
        (void)snprintf (out, 24, "%lld min", (long long)seconds / 60);
    else if (seconds < 172800)
        (void)snprintf (out, 24, "%lld h", (long long)seconds / 3600);
    else
        (void)snprintf (out, 24, "%lld d", (long long)seconds / 86400);
}

static void print_entry (struct grid *g, const struct keyring_entry *e,
                         int64_t now)
{
    char fingerprint[KEY_FINGERPRINT_SIZE], age[24];
    char name[sizeof (e->file.name) + sizeof (e->file.hosts) +
              sizeof (e->file.reads) + 32];

    key_fingerprint (e->file.public_key, fingerprint);
    age_text (since (e) > 0 ? now - since (e) : -1, age);
    PRINT (name, "%s%s%s%s%s", e->file.name,
           e->file.hosts[0] ? ", of " : "",
           strcmp (e->file.hosts, KEY_ANY_HOST) == 0
               ? "any host" : e->file.hosts,
           e->file.reads[0] ? ", reads the jobs of " : "",
           strcmp (e->file.reads, KEY_READS_ALL) == 0 ? "all" : e->file.reads);
    grid_word (g, state_text (e, now));
    grid_word (g, fingerprint);
    grid_word (g, age);
    grid_word (g, name);
}

/* Scripts read the list without a head. */
static int print_table (const struct keyring_entry *list, size_t n, int64_t now)
{
    static const char *const names[] = { "state", "key", "age", "name" };
    static const char *const none[] = { "", "", "", "" };
    struct grid *g = grid_create (stdout, GRID_TABLE, cli_width (-1));
    int rc;

    if (!g)
        return -ENOMEM;
    grid_head (g, isatty (STDOUT_FILENO) ? names : none, 4);
    for (size_t i = 0; i < n; i++)
        print_entry (g, &list[i], now);
    rc = n > 0 ? grid_finish (g) : 0;
    grid_destroy (g);
    return rc;
}

static void add_entry (struct json *array, const struct keyring_entry *e,
                       int64_t now)
{
    struct json *j = json_push_object (array);
    char fingerprint[KEY_FINGERPRINT_SIZE];

    key_fingerprint (e->file.public_key, fingerprint);
    json_add_text (j, "name", e->file.name);
    json_add_text (j, "state", state_text (e, now));
    json_add_text (j, "fingerprint", fingerprint);
    json_add_text (j, "public_key", e->file.public_key);
    json_add_nonempty (j, "hosts", e->file.hosts);
    json_add_nonempty (j, "reads", e->file.reads);
    if (since (e) > 0)
        json_add_int (j, "age_s", now - since (e));
    if (e->file.until > 0)
        json_add_int (j, "until", e->file.until);
}

static int print_json (const char *dir, const struct keyring_entry *list,
                       size_t n, int64_t now)
{
    struct json *j = json_object (), *keys;

    json_add_text (j, "dir", dir);
    keys = json_add_array (j, "keys");
    for (size_t i = 0; i < n; i++)
        add_entry (keys, &list[i], now);
    // cli_flush reports a full disk
    return cli_print_json (j) == -ENOMEM ? -ENOMEM : 0;
}

/* The first one is told at the end. */
struct bad_keys {
    int rc;                     // 0: there is none
    struct err why;
};

static void note_bad (void *arg, int rc, const struct err *why)
{
    struct bad_keys *bad = arg;

    if (bad->rc == 0)
        *bad = (struct bad_keys){ rc, *why };
    else
        (void)FAIL (0, "%s", why->text);
}

static int run_list (const struct key_options *o, const char *dir, char **args,
                     struct err *err)
{
    struct keyring_entry *list;
    struct bad_keys bad = { .rc = 0 };
    int64_t now = clock_wall_ns () / NS_PER_S;
    size_t n;
    int rc = keyring_list (dir, &list, &n, note_bad, &bad, err);

    (void)args;
    if (rc < 0)                 // EACCES of what is written is another status
        return rc == -EACCES ? -EPERM : rc;
    if (o->json)
        rc = print_json (dir, list, n, now);
    else
        rc = print_table (list, n, now);
    free (list);
    if (rc < 0 || bad.rc == 0)
        return rc;
    *err = bad.why;
    return bad.rc == -EACCES ? -EPERM : bad.rc;
}

/* ---- the verb ---- */

static const struct action actions[] = {
    { "new", 1, 1, "which NAME", run_new },
    { "enrol", 1, 2, "which key (FILE|KEY), and which NAME; or which DIR",
      run_enrol },
    { "bind", 1, 1, "which NAME", run_bind },
    { "list", 0, 0, "", run_list },
    { "rotate", 1, 1, "which NAME", run_rotate },
    { "revoke", 1, 1, "which NAME", run_revoke },
};

/* An option that an action has no use for would do nothing, without a word. */
static bool takes_options (const struct action *a, const struct key_options *o)
{
    const bool enrols = strcmp (a->name, "enrol") == 0;

    if (has_use (o) && !enrols && strcmp (a->name, "bind") != 0)
        (void)FAIL (0, "%s: --host, --any-host, --reads and --reads-all are for "
                    "enrol and bind", a->name);
    else if (o->replace && !enrols)
        (void)FAIL (0, "%s: --replace is for enrol", a->name);
    else if (o->json && strcmp (a->name, "list") != 0)
        (void)FAIL (0, "%s: --json is for list", a->name);
    else
        return true;
    return false;
}

/* The action that the words mean; NULL after a message to the user. */
static const struct action *action_of (int argc, char **argv)
{
    const struct action *a = NULL;

    for (size_t i = 0; i < sizeof (actions) / sizeof (actions[0]); i++) {
        if (argc > 0 && strcmp (argv[0], actions[i].name) == 0)
            a = &actions[i];
    }
    if (!a)
        (void)FAIL (0, "%s%.40s%s (usage: %s %s)",
                    argc > 0 ? "there is no command \"" : "name a command",
                    argc > 0 ? argv[0] : "", argc > 0 ? "\"" : "",
                    key_command.name, key_command.usage);
    else if (argc - 1 < a->least)
        (void)FAIL (0, "%s: %s?", a->name, a->wanted);
    else if (argc - 1 > a->operands)
        (void)FAIL (0, "%s: unexpected argument \"%s\"", a->name,
                    argv[a->operands + 1]);
    return a && argc - 1 >= a->least && argc - 1 <= a->operands ? a : NULL;
}

static int status_of (int rc)
{
    switch (rc) {
    case -EINVAL:
        return EXIT_USAGE;
    case -ENOENT:
        return EX_NOINPUT;
    case -EBADMSG:
        return EX_DATAERR;
    case -EPERM:
    case -EKEYREVOKED:
        return EX_NOPERM;
    default:
        return cli_output_status (rc);
    }
}

int verb_key (int argc, char **argv)
{
    struct key_options opt = { .dir = NULL };
    const struct action *a;
    struct err err = { "" };
    char dir[PATH_MAX];
    int rest, status, rc = 0;

    if (!cli_options (&key_command, argc, argv, &opt, &rest, &status))
        return status;
    if (!(a = action_of (argc - rest, argv + rest)) || !takes_options (a, &opt))
        return EXIT_USAGE;
    (void)umask (077);
    if (opt.dir && snprintf (dir, sizeof (dir), "%s", opt.dir) >= PATH_MAX)
        rc = err_set (&err, ENAMETOOLONG, "--dir is too long");
    else if (!opt.dir)
        rc = keyring_default (dir, &err);
    if (rc == 0)
        rc = a->run (&opt, dir, argv + rest + 1, &err);
    return rc < 0 ? FAIL (status_of (rc), "%s", err.text)
                  : cli_flush (&key_command, 0);
}
