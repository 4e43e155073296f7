/* node_agent/agent_owner.c - whose a capture in a shared directory is
 *
 * What is certain decides: the directory that a run gave, the processes of this
 * run, and what the agents of other runs know of theirs.  Without another run
 * that watches there, too, all that COMMAND may have written is this run's; else
 * what nobody is sure of is nobody's, and both name it (doc/architecture.md).
 */
#include "agent_inside.h"

#include "base/clock.h"
#include "base/fileio.h"
#include "base/log.h"
#include "control/control.h"
#include "control/family.h"
#include "control/orphans.h"
#include "control/peers.h"
#include "extract/extract.h"
#include "model/job_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS (100 * NS_PER_MS)       // at processes, while there are rivals
#define LOOK_SHARE 50                   // or 50 times what one look took (2 %)
#define FRESH_NS (20 * NS_PER_MS)       // a look that is not done again
#define ASK_NS (250 * NS_PER_MS)        // between two questions about one
#define HEAR_NS (500 * NS_PER_MS)       // for whoever may still say something
#define ANSWER_NS (5 * NS_PER_S)        // for an agent at nice 19 to answer
#define SILENT_NS (30 * NS_PER_S)       // and for one to say what it watches
#define LOST_NS (60 * NS_PER_S)         // what a killed agent's COMMAND may do
                                        // before there is another agent
#define IDS_MAX 64                      // of a path: its directories

enum says {
    SAYS_NOTHING,
    SAYS_UNKNOWN,
    SAYS_MAYBE,                         // by a pid of a namespace
    SAYS_NOT,
    SAYS_MINE,
};

struct word {                           // of another agent about a capture
    uint64_t peer;
    enum says says;
};

struct item {                           // a capture in a shared directory
    char *path;
    uid_t uid;
    pid_t pid;                          // in its name; 0: none
    int64_t born_ns, touched_ns;        // since 1970
    int64_t found_ns, asked_ns;         // monotonic
    struct json *ids;                   // of the directories that it is in;
                                        // NULL: nobody asked yet, or decided
    struct word *words;
    size_t nwords;
    enum watch_owner owner;
    bool doubtful;                      // decided, since nobody knows
    struct item *next;
};

struct owners {
    struct agent *agent;
    struct family *family;
    struct peers *peers;
    struct json *own, *dirs;            // shared ones: lists of ids, in 'own'
    struct buf paths;                   // of them, each with a NUL
    char run_dir[PATH_MAX];             // of this run, or ""
    int64_t since_ns, idle_ns;          // since 1970; 0: not begun; not idle
    int64_t looked_ns;                  // monotonic
    struct item *items;
    void *by_path;                      // the same, for tsearch(3)
    size_t doubtful;
};

/* ---- directories, wherever they are mounted ---- */

/* "DEV:INO" of 'path' and of what is above it. */
static struct json *ids_of (const char *path)
{
    struct json *ids = json_object (), *list = json_add_array (ids, "ids");
    char at[PATH_MAX], id[64], *slash;
    struct stat st;

    (void)snprintf (at, sizeof (at), "%s", path);
    for (int i = 0; i < IDS_MAX; i++) {
        if (stat (*at ? at : "/", &st) == 0) {
            (void)snprintf (id, sizeof (id), "%llx:%llx",
                            (unsigned long long)st.st_dev,
                            (unsigned long long)st.st_ino);
            json_push_text (list, id);
        }
        if (!(slash = strrchr (at, '/')))
            break;
        *slash = '\0';
    }
    return ids;
}

static bool has_id (const struct json *ids, const char *id)
{
    for (const struct json *i = json_first (json_get (ids, "ids")); i;
         i = json_next (i)) {
        if (strcmp (json_text (i, ""), id) == 0)
            return true;
    }
    return false;
}

static const char *own_id (const struct json *ids)
{
    return json_text (json_first (json_get (ids, "ids")), "-");
}

/* Whether another run watches a directory above that of these ids. */
static bool watches (const struct peer *p, const struct json *ids)
{
    for (const struct json *d = json_first (json_get (p->run, "dirs")); d;
         d = json_next (d)) {
        if (has_id (ids, own_id (d)))
            return true;
    }
    return false;
}

/* Whether a directory of its and one of ours are one, or in one another. */
static bool is_rival (const struct owners *o, const struct peer *p)
{
    const struct json *d = json_first (o->dirs);

    if (p->fd < 0 || !p->told || strcmp (p->job, o->agent->opt->job) == 0)
        return false;
    for (; d; d = json_next (d)) {
        const struct json *e = json_first (json_get (p->run, "dirs"));

        if (watches (p, d))
            return true;
        for (; e; e = json_next (e)) {
            if (has_id (e, own_id (d)))
                return true;
        }
    }
    return false;
}

bool agent_has_rivals (const struct agent *a)
{
    const struct peer *p = a->owners ? peers_first (a->owners->peers) : NULL;

    while (p && !is_rival (a->owners, p))
        p = p->next;
    return p != NULL;
}

/* ---- what is said of this run ---- */

static void add_ns (struct json *j, const char *key, int64_t ns)
{
    char text[24];

    (void)snprintf (text, sizeof (text), "%lld", (long long)ns);
    json_add_text (j, key, text);
}

static void add_dirs (const struct owners *o, struct json *list)
{
    const struct json *d = json_first (o->dirs), *i;

    for (; d; d = json_next (d)) {
        struct json *ids = json_add_array (json_push_object (list), "ids");

        for (i = json_first (json_get (d, "ids")); i; i = json_next (i))
            json_push_text (ids, json_text (i, ""));
    }
}

static void tell_all (struct owners *o)
{
    struct json *j;

    if (!o->peers)
        return;
    j = json_object ();
    json_add_text (j, "type", "run");
    json_add_text (j, "job", o->agent->opt->job);
    add_ns (j, "since_ns", o->since_ns);
    add_ns (j, "idle_ns", o->idle_ns);
    add_dirs (o, json_add_array (j, "dirs"));
    peers_tell (o->peers, j);
}

/* ---- processes ---- */

/* None of them lives, and none will begin. */
static void note_idle (struct owners *o)
{
    bool idle = agent_all_ended (o->agent) && family_living (o->family) == 0;

    if (idle == (o->idle_ns > 0))
        return;
    o->idle_ns = idle ? clock_wall_ns () : 0;
    tell_all (o);
}

static void look (struct owners *o)
{
    if (o->looked_ns > 0 && clock_mono_ns () - o->looked_ns < FRESH_NS)
        return;
    family_look (o->family);
    o->looked_ns = clock_mono_ns ();
    note_idle (o);
}

static void look_again (void *arg)
{
    struct agent *a = arg;
    int64_t began = clock_mono_ns (), took;

    if (!agent_has_rivals (a))
        return;                 // until somebody says that it is one
    look (a->owners);
    took = (clock_mono_ns () - began) * LOOK_SHARE;
    (void)loop_add_timer (a->loop, took > LOOK_NS ? took : LOOK_NS,
                          look_again, a);
}

/* Whether its name has the pid of a process that another job has now. */
static bool is_strangers (const struct owners *o, const struct item *n)
{
    return n->pid > 0 &&
           orphans_compare (n->pid, "ROLLCALL_JOB", o->agent->opt->job) == 0;
}

/* What this run knows of a capture.  A pid of a namespace proves nothing: the
 * other run may have one of that number in another.
 */
static enum says own_word (struct owners *o, const struct item *n)
{
    enum family_says had;

    if (n->uid != geteuid () && geteuid () != 0)
        return SAYS_NOT;
    if (o->since_ns == 0 || n->touched_ns < o->since_ns)
        return SAYS_NOT;
    look (o);
    had = n->pid > 0 ? family_had (o->family, n->pid, n->born_ns) : FAMILY_NO;
    if (had == FAMILY_SURE || family_writes (o->family, n->path))
        return SAYS_MINE;
    if (had == FAMILY_MAYBE)
        return SAYS_MAYBE;
    if (is_strangers (o, n))
        return SAYS_NOT;
    return o->idle_ns > 0 && n->born_ns > o->idle_ns ? SAYS_NOT : SAYS_UNKNOWN;
}

/* ---- captures ---- */

static int by_path (const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return strcmp (x->path, y->path);
}

static struct item *find (const struct owners *o, const char *path)
{
    struct item key = { .path = (char *)path };
    struct item **n = tfind (&key, &o->by_path, by_path);

    return n ? *n : NULL;
}

static void free_item (struct item *n)
{
    if (!n)
        return;
    json_free (n->ids);
    free (n->words);
    free (n->path);
    free (n);
}

static struct item *add (struct owners *o, const char *path)
{
    const char *slash = strrchr (path, '/');
    struct item *n = calloc (1, sizeof (*n));
    struct statx x;

    if (!n || !(n->path = strdup (path)) ||
        statx (AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
               STATX_BASIC_STATS | STATX_BTIME, &x) < 0 ||
        !tsearch (n, &o->by_path, by_path)) {
        free_item (n);
        return NULL;
    }
    n->uid = x.stx_uid;
    n->pid = (pid_t)find_parse_name (slash ? slash + 1 : path).pid;
    n->touched_ns = x.stx_ctime.tv_sec * NS_PER_S + x.stx_ctime.tv_nsec;
    n->born_ns = x.stx_mask & STATX_BTIME
                     ? x.stx_btime.tv_sec * NS_PER_S + x.stx_btime.tv_nsec
                     : n->touched_ns;
    n->found_ns = clock_mono_ns ();
    n->owner = WATCH_UNDECIDED;
    n->next = o->items;
    o->items = n;
    return n;
}

static struct word *word_of (struct item *n, const struct peer *p)
{
    struct word *more;

    for (size_t i = 0; i < n->nwords; i++) {
        if (n->words[i].peer == p->id)
            return &n->words[i];
    }
    more = realloc (n->words, (n->nwords + 1) * sizeof (*more));
    if (!more)
        return NULL;
    n->words = more;
    more[n->nwords] = (struct word){ .peer = p->id };
    return &more[n->nwords++];
}

/* Whether another run may have written it, or would take it. */
static bool may_own (const struct owners *o, const struct peer *p,
                     struct item *n)
{
    if (p->uid != n->uid && p->uid != 0)
        return false;
    if (!p->told)               // a stopped one, maybe: what it watches is not
        return p->fd >= 0;      // known
    if (strcmp (p->job, o->agent->opt->job) == 0 || p->since_ns == 0 ||
        n->touched_ns < p->since_ns)
        return false;
    if (!n->ids)
        n->ids = ids_of (n->path);
    if (!watches (p, n->ids))
        return false;
    if (p->idle_ns > 0)
        return n->born_ns <= p->idle_ns;
    return p->fd >= 0 || n->born_ns <= p->gone_ns + LOST_NS;
}

static void ask (struct owners *o, struct item *n)
{
    n->asked_ns = clock_mono_ns ();
    for (struct peer *p = peers_first (o->peers); p; p = p->next) {
        struct json *j;

        if (p->fd < 0 || !p->told || !may_own (o, p, n))
            continue;
        j = json_object ();
        json_add_text (j, "type", "whose");
        json_add_text (j, "path", n->path);
        json_add_int (j, "uid", n->uid);
        json_add_int (j, "pid", n->pid);
        add_ns (j, "born_ns", n->born_ns);
        add_ns (j, "touched_ns", n->touched_ns);
        (void)control_send (p->fd, j);
    }
}

/* ---- deciding ---- */

struct opinion {                // of all others that may own a capture
    bool any, mine, maybe, unknown, pending, silent;
    const char *job;            // of one of them
};

static struct opinion hear_all (struct owners *o, struct item *n)
{
    struct opinion all = { .job = "" };

    for (struct peer *p = peers_first (o->peers); p; p = p->next) {
        const struct word *w;
        enum says says;

        if (!may_own (o, p, n) || !(w = word_of (n, p)))
            continue;
        says = w->says;
        all.any = true;
        all.pending = all.pending || (says == SAYS_NOTHING && p->fd >= 0);
        all.silent = all.silent || !p->told;
        all.mine = all.mine || says == SAYS_MINE;
        all.job = p->told ? p->job : "(its agent does not answer)";
        all.maybe = all.maybe || says == SAYS_MAYBE;
        all.unknown = all.unknown || says != SAYS_MINE;
    }
    return all;
}

/* The end cannot wait any more. */
static bool is_late (const struct owners *o)
{
    const struct agent *a = o->agent;

    return a->ended_ns > 0 &&
           clock_mono_ns () - a->ended_ns > a->opt->deadline_ns / 2;
}

static bool is_settled (struct owners *o, const struct item *n)
{
    struct agent *a = o->agent;
    struct extract_look seen = { .newest_ns = 0 };

    if (is_late (o))
        return true;
    return extract_measure (n->path, &seen) == 0 &&
           clock_wall_ns () - seen.newest_ns >= agent_quiet_ns (a);
}

static const char *note_name (const char *path, char out[PATH_MAX + 16])
{
    (void)snprintf (out, PATH_MAX + 16, "owner %s", path);
    return out;
}

/* The next life of this agent has not seen who wrote it. */
static void keep (struct owners *o, const struct item *n, const char *text)
{
    char name[PATH_MAX + 16];
    struct err err = { "" };

    if (spool_keep_note (o->agent->spool, note_name (n->path, name), text,
                         &err) < 0)
        log_text (LOG_LEVEL_ERROR, "keep-failed", "%s", err.text);
}

static void say_doubt (struct owners *o, const char *path, const char *job)
{
    struct agent *a = o->agent;

    o->doubtful++;
    agent_note (a, LOG_LEVEL_WARN, "doubt", "host %s: %.500s is taken by "
                "nobody: this job and job %.200s run in one directory, and "
                "which of them wrote it is not known; let profilers write to "
                "$ROLLCALL_CAPTURE_DIR", a->host, path, job);
}

static enum watch_owner decided (struct owners *o, struct item *n,
                                 enum watch_owner owner, const char *doubt)
{
    n->owner = owner;
    n->doubtful = doubt != NULL;
    json_free (n->ids);         // there may be a hundred thousand
    n->ids = NULL;
    if (doubt) {
        keep (o, n, doubt);
        say_doubt (o, n->path, doubt);
    } else if (owner == WATCH_FOREIGN) {
        keep (o, n, "");
        log_text (LOG_LEVEL_INFO, "foreign", "%s is another job's", n->path);
    }
    return owner;
}

/* Nobody else may have written it, as far as is known.  A job of which there is
 * no agent to ask is known by its process.
 */
static enum watch_owner decide_alone (struct owners *o, struct item *n)
{
    bool strange = is_strangers (o, n);

    if (strange) {              // or is it one of ours, in a pid namespace?
        look (o);
        strange = family_had (o->family, n->pid, n->born_ns) == FAMILY_NO;
    }
    return decided (o, n, strange ? WATCH_FOREIGN : WATCH_OURS, NULL);
}

static enum watch_owner decide (struct owners *o, struct item *n)
{
    int64_t age_ns = clock_mono_ns () - n->found_ns;
    struct opinion all = hear_all (o, n);
    enum says own;

    if (!all.any)
        return decide_alone (o, n);
    own = own_word (o, n);
    if (all.pending && age_ns < (all.silent ? SILENT_NS : ANSWER_NS) &&
        !is_late (o))
        return WATCH_UNDECIDED;
    if (own == SAYS_NOT && (all.mine || all.unknown))
        return decided (o, n, WATCH_FOREIGN, NULL);
    if (all.mine)
        return decided (o, n, WATCH_FOREIGN,
                        own == SAYS_MINE ? all.job : NULL);
    // its pid is also that of another run's in a namespace
    if (own == SAYS_MINE && all.maybe && !family_writes (o->family, n->path))
        own = SAYS_MAYBE;
    if (own == SAYS_MINE)
        return decided (o, n, WATCH_OURS, NULL);
    if (age_ns < HEAR_NS)
        return WATCH_UNDECIDED;
    if (!all.unknown && own != SAYS_NOT)
        return decided (o, n, WATCH_OURS, NULL);
    return is_settled (o, n) ? decided (o, n, WATCH_FOREIGN, all.job)
                             : WATCH_UNDECIDED;
}

/* In the directory of another run, or in a result. */
static bool has_mark (const char *path, struct job_mark *ret)
{
    char at[PATH_MAX], *slash;
    int fd, rc = -ENOENT;

    (void)snprintf (at, sizeof (at), "%s", path);
    while (rc != 0 && (slash = strrchr (at, '/'))) {
        fd = open (at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        rc = fd < 0 ? -errno : job_mark_read (fd, ret);
        if (fd >= 0)
            (void)close (fd);
        *slash = '\0';
    }
    return rc == 0;
}

static bool is_below (const char *path, const char *dir)
{
    size_t n = strlen (dir);

    return n > 0 && strncmp (path, dir, n) == 0 && path[n] == '/';
}

/* What a former life has decided. */
static bool recall (struct owners *o, struct item *n)
{
    char name[PATH_MAX + 16], job[256];

    if (!spool_note (o->agent->spool, note_name (n->path, name), job,
                     sizeof (job)))
        return false;
    n->owner = WATCH_FOREIGN;
    if (*job)
        say_doubt (o, n->path, job);
    return true;
}

enum watch_owner agent_owner (struct agent *a, const char *path)
{
    struct owners *o = a->owners;
    struct item *n = find (o, path);
    struct job_mark mark;

    if (is_below (path, o->run_dir))
        return WATCH_OURS;
    if (n && n->owner != WATCH_UNDECIDED)
        return n->owner;
    if (!n && has_mark (path, &mark))
        return WATCH_FOREIGN;
    peers_hear (o->peers);
    if (!n && !(n = add (o, path)))
        return WATCH_UNDECIDED;         // it is gone, or there is no memory
    if (n->asked_ns == 0 && recall (o, n))
        return n->owner;
    if (n->asked_ns == 0 || clock_mono_ns () - n->asked_ns >= ASK_NS)
        ask (o, n);
    return decide (o, n);
}

size_t agent_count_doubtful (const struct agent *a)
{
    return a->owners ? a->owners->doubtful : 0;
}

/* ---- what others say ---- */

static enum says parse_says (const char *text)
{
    return strcmp (text, "mine") == 0    ? SAYS_MINE
           : strcmp (text, "not") == 0   ? SAYS_NOT
           : strcmp (text, "maybe") == 0 ? SAYS_MAYBE
                                         : SAYS_UNKNOWN;
}

static void take_answer (struct owners *o, const struct peer *p,
                         const struct json *j)
{
    struct item *n = find (o, json_text (json_get (j, "path"), ""));
    struct word *w = n ? word_of (n, p) : NULL;

    if (!w)
        return;
    w->says = parse_says (json_text (json_get (j, "says"), ""));
}

/* What was decided here counts: who asks may have been late. */
static enum says word_for (struct owners *o, const struct json *j)
{
    const char *path = json_text (json_get (j, "path"), "");
    const struct item *known = find (o, path);
    struct item asked = { .path = (char *)path };
    int64_t uid = -1, pid = 0;

    if (known && known->owner == WATCH_OURS)
        return SAYS_MINE;
    if (known && known->owner == WATCH_FOREIGN && !known->doubtful)
        return SAYS_NOT;
    (void)json_int (json_get (j, "uid"), &uid);
    (void)json_int (json_get (j, "pid"), &pid);
    asked.uid = (uid_t)uid;
    asked.pid = (pid_t)pid;
    asked.born_ns = strtoll (json_text (json_get (j, "born_ns"), "0"), NULL,
                             10);
    asked.touched_ns = strtoll (json_text (json_get (j, "touched_ns"), "0"),
                                NULL, 10);
    return own_word (o, &asked);
}

static void answer (struct owners *o, const struct peer *p,
                    const struct json *j)
{
    static const char *const words[] = {
        [SAYS_NOTHING] = "unknown", [SAYS_UNKNOWN] = "unknown",
        [SAYS_MAYBE] = "maybe",     [SAYS_NOT] = "not",
        [SAYS_MINE] = "mine",
    };
    struct json *reply = json_object ();

    json_add_text (reply, "type", "answer");
    json_add_text (reply, "path", json_text (json_get (j, "path"), ""));
    json_add_text (reply, "says", words[word_for (o, j)]);
    if (p->fd >= 0)
        (void)control_send (p->fd, reply);
    else
        json_free (reply);
}

/* Other users' captures are none of ours; looking for that takes time. */
static bool may_ask (const struct peer *p)
{
    return p->uid == geteuid () || p->uid == 0 || geteuid () == 0;
}

static void on_packet (void *arg, struct peer *p, const struct json *j)
{
    const char *type = json_text (json_get (j, "type"), "");
    struct owners *o = arg;

    if (strcmp (type, "run") == 0)
        (void)loop_add_timer (o->agent->loop, 0, look_again, o->agent);
    else if (strcmp (type, "whose") == 0 && may_ask (p))
        answer (o, p, j);
    else if (strcmp (type, "answer") == 0)
        take_answer (o, p, j);
}

/* ---- life ---- */

static bool is_known_dir (const struct owners *o, const char *dir)
{
    const char *at = (const char *)o->paths.data;
    const char *end = at + o->paths.size;

    for (; at < end; at += strlen (at) + 1) {
        if (strcmp (at, dir) == 0)
            return true;
    }
    return false;
}

void agent_share_dir (struct agent *a, const char *dir)
{
    struct owners *o = a->owners;
    struct json *ids, *to;

    if (is_known_dir (o, dir))
        return;
    buf_put (&o->paths, dir, strlen (dir) + 1);
    ids = ids_of (dir);
    to = json_add_array (json_push_object (o->dirs), "ids");
    for (const struct json *i = json_first (json_get (ids, "ids")); i;
         i = json_next (i))
        json_push_text (to, json_text (i, ""));
    json_free (ids);
}

void agent_own_command (struct agent *a, int64_t wrapper, int64_t since_ns)
{
    struct owners *o = a->owners;

    if (wrapper > 0)
        family_add_wrapper (o->family, (pid_t)wrapper);
    if (o->since_ns == 0 || since_ns < o->since_ns)
        o->since_ns = since_ns;
    o->idle_ns = 0;
    tell_all (o);
    (void)loop_add_timer (a->loop, 0, look_again, a);
}

/* For other runs whose directories this one's is in; also of those ranks that
 * nobody knows of yet.
 */
static void mark_own (const struct owners *o)
{
    char dir[PATH_MAX];

    if (fileio_join (dir, sizeof (dir), o->run_dir, "captures") &&
        fileio_mkdirs (dir, FILEIO_DIR_MODE, NULL) == 0)
        (void)job_mark_write (dir, o->agent->opt->job, -1, -1, NULL);
}

int agent_open_owners (struct agent *a, struct err *err)
{
    struct owners *o = calloc (1, sizeof (*o));
    struct err why = { "" };

    if (!(a->owners = o))
        return err_set (err, ENOMEM, "no memory for captures");
    o->agent = a;
    if (!realpath (a->opt->run_dir, o->run_dir))
        o->run_dir[0] = '\0';
    mark_own (o);
    buf_init (&o->paths, 64 * PATH_MAX);
    o->own = json_object ();
    o->dirs = json_add_array (o->own, "dirs");
    if (!(o->family = family_create (a->opt->job)))
        return err_set (err, ENOMEM, "no memory for processes");
    // whoever runs without others need not know of any
    if (peers_open (a->loop, a->opt->job, on_packet, o, &o->peers, &why) < 0)
        log_text (LOG_LEVEL_WARN, "other-runs", "%s: what they write is not "
                  "told from ours", why.text);
    return o->peers ? 0 : err_set (err, ENOMEM, "%s", why.text);
}

/* It ends as it should, and not as one that comes back: what is written from
 * now on is others'.
 */
static void say_goodbye (struct owners *o)
{
    if (!agent_all_ended (o->agent) || o->idle_ns > 0)
        return;
    o->idle_ns = clock_wall_ns ();
    tell_all (o);
}

void agent_close_owners (struct agent *a)
{
    struct owners *o = a->owners;

    if (!o)
        return;
    say_goodbye (o);
    loop_del_timer (a->loop, look_again, a);
    peers_close (o->peers);
    family_destroy (o->family);
    while (o->items) {
        struct item *n = o->items;

        o->items = n->next;
        (void)tdelete (n, &o->by_path, by_path);
        free_item (n);
    }
    json_free (o->own);
    buf_fini (&o->paths);
    free (o);
    a->owners = NULL;
}
