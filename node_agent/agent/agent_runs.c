/* node_agent/agent/agent_runs.c - what this run knows, and what other runs here
 * say
 *
 * The directories that runs watch, wherever they are mounted; the processes of
 * this run; and the questions that agents ask each other about captures.
 */
#include "agent/agent_owner_private.h"

#include "agent/agent_local.h"
#include "base/clock.h"
#include "base/cmp.h"
#include "base/log.h"
#include "base/vec.h"
#include "control/control.h"
#include "identity/capture_name.h"

#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS (100 * NS_PER_MS)       // between scans, while there are rivals
#define LOOK_SHARE 50                   // or 50 times what a scan took (2 %)
#define SLOW_LOOK_NS (5 * NS_PER_S)     // and not longer
#define FRESH_NS (20 * NS_PER_MS)       // a scan this young is not repeated
#define LOST_NS (60 * NS_PER_S)         // a killed agent's COMMAND may write
                                        // before there is another agent
#define IDS_MAX 64                      // of a path: its directories

/* ---- captures ---- */

struct item *owners_find (const struct owners *o, const char *path)
{
    struct item **n = tfind (&path, &o->by_path, cmp_text);

    return n ? *n : NULL;
}

static void free_item (struct item *n)
{
    if (!n)
        return;
    json_free (n->ids);
    free (n->answers);
    free (n->path);
    free (n);
}

struct item *owners_add (struct owners *o, const char *path)
{
    const char *slash = strrchr (path, '/');
    struct item *n = calloc (1, sizeof (*n));
    struct statx x;

    if (!n || !(n->path = strdup (path)) ||
        statx (AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
               STATX_BASIC_STATS | STATX_BTIME, &x) < 0 ||
        !tsearch (n, &o->by_path, cmp_text)) {
        free_item (n);
        return NULL;
    }
    n->uid = x.stx_uid;
    n->pid = (pid_t)capture_name_parse (slash ? slash + 1 : path).pid;
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

struct peer_answer *owners_answer_of (struct item *n, const struct peer *p)
{
    struct peer_answer *more;

    for (size_t i = 0; i < n->nanswers; i++) {
        if (n->answers[i].peer == p->id)
            return &n->answers[i];
    }
    if ((more = vec_add (&n->answers, &n->nanswers, sizeof (*more))))
        more->peer = p->id;
    return more;
}

void owners_free_items (struct owners *o)
{
    while (o->items) {
        struct item *n = o->items;

        o->items = n->next;
        (void)tdelete (n, &o->by_path, cmp_text);
        free_item (n);
    }
}

/* ---- directories, wherever they are mounted ---- */

/* "DEV:INO" of 'path' and of the directories above it. */
static struct json *ids_of (const char *path)
{
    struct json *ids = json_object (), *list = json_add_array (ids, "ids");
    char at[PATH_MAX], id[64], *slash;
    struct stat st;

    PRINT (at, "%s", path);
    for (int i = 0; i < IDS_MAX; i++) {
        if (stat (*at ? at : "/", &st) == 0) {
            PRINT (id, "%llx:%llx", (unsigned long long)st.st_dev,
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

/* Whether a directory of 'p' and one of ours are the same, or nested. */
static bool is_rival (const struct owners *o, const struct peer *p)
{
    const struct json *d = json_first (o->dirs);

    if (p->fd < 0 || !p->told)
        return p->fd >= 0;      // it may be one
    if (strcmp (p->job, o->agent->opt->job) == 0)
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

/* ---- what is told about this run ---- */

static void add_ns (struct json *j, const char *key, int64_t ns)
{
    char text[24];

    PRINT (text, "%lld", (long long)ns);
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

void owners_tell (struct owners *o)
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

/* No process of this run lives, and none will begin. */
static void note_idle (struct owners *o)
{
    bool idle = agent_all_ended (o->agent) && family_living (o->family) == 0;

    if (o->over_ns > 0 || idle == (o->idle_ns > 0))
        return;
    o->idle_ns = idle ? clock_wall_ns () : 0;
    owners_tell (o);
}

void owners_look (struct owners *o, int64_t after_ns)
{
    int64_t now_ns = clock_wall_ns ();

    if (o->looked_ns > 0 && clock_mono_ns () - o->looked_ns < FRESH_NS &&
        o->looked_wall_ns > after_ns + FRESH_NS)
        return;
    family_look (o->family);
    o->looked_ns = clock_mono_ns ();
    o->looked_wall_ns = now_ns;
    note_idle (o);
}

void owners_look_again (void *arg)
{
    struct agent *a = arg;
    int64_t began = clock_mono_ns (), pause_ns;

    if (!agent_has_rivals (a))
        return;                 // until somebody says that it is one
    owners_look (a->owners, 0);
    pause_ns = pace_pause (&a->owners->looks, clock_mono_ns () - began,
                           LOOK_SHARE, LOOK_NS, SLOW_LOOK_NS);
    (void)loop_add_timer (a->loop, pause_ns, owners_look_again, a);
}

bool owners_is_strangers (const struct owners *o, const struct item *n)
{
    return family_is_others (o->family, n->pid, n->born_ns);
}

/* What this run knows about a capture.  A pid of a namespace proves nothing:
 * another run may have the same number in another namespace.
 */
enum answer owners_own_answer (struct owners *o, const struct item *n)
{
    enum family_says had;

    if (n->uid != geteuid () && geteuid () != 0)
        return ANSWER_OTHERS;
    if (o->since_ns == 0 || n->touched_ns < o->since_ns)
        return ANSWER_OTHERS;
    owners_look (o, n->born_ns);
    had = n->pid > 0 ? family_had (o->family, n->pid, n->born_ns) : FAMILY_NO;
    if (had == FAMILY_SURE || family_writes (o->family, n->path))
        return ANSWER_MINE;
    if (had == FAMILY_MAYBE)
        return ANSWER_MAYBE;
    if (owners_is_strangers (o, n))
        return ANSWER_OTHERS;
    if (had == FAMILY_GROUP)
        return ANSWER_GROUP;
    return o->idle_ns > 0 && n->born_ns > o->idle_ns ? ANSWER_OTHERS
                                                     : ANSWER_UNKNOWN;
}

/* ---- what others say about captures ---- */

static const struct json *item_ids (struct item *n)
{
    if (!n->ids)
        n->ids = ids_of (n->path);
    return n->ids;
}

/* An agent that does not answer shows what it watches before its COMMANDs
 * begin.
 */
static bool may_watch (const struct owners *o, const struct peer *p,
                       struct item *n)
{
    const struct json *i = json_first (json_get (item_ids (n), "ids"));

    while (i && !peers_is_shown (o->peers, p, json_text (i, ""), n->found_ns))
        i = json_next (i);
    return i != NULL;
}

bool owners_may_own (const struct owners *o, const struct peer *p,
                     struct item *n)
{
    if (p->uid != n->uid && p->uid != 0)
        return false;
    if (!p->told)
        return p->fd >= 0 && may_watch (o, p, n);
    if (strcmp (p->job, o->agent->opt->job) == 0 || p->since_ns == 0 ||
        n->touched_ns < p->since_ns)
        return false;
    if (!watches (p, item_ids (n)))
        return false;
    if (p->idle_ns > 0)
        return n->born_ns <= p->idle_ns;
    return p->fd >= 0 || n->born_ns <= p->gone_ns + LOST_NS;
}

static void agent_runs_ask (const struct peer *p, const struct item *n,
                            struct peer_answer *w)
{
    struct json *j = json_object ();

    json_add_text (j, "type", "whose");
    json_add_text (j, "path", n->path);
    json_add_int (j, "uid", n->uid);
    json_add_int (j, "pid", n->pid);
    add_ns (j, "born_ns", n->born_ns);
    add_ns (j, "touched_ns", n->touched_ns);
    if (control_send (p->fd, j) == 0)
        w->due_ns = n->asked_ns;
}

void owners_ask (struct owners *o, struct item *n)
{
    n->asked_ns = clock_mono_ns ();
    for (struct peer *p = peers_first (o->peers); p; p = p->next) {
        struct peer_answer *w;

        if (p->fd >= 0 && p->told && owners_may_own (o, p, n) &&
            (w = owners_answer_of (n, p)) && w->due_ns == 0)
            agent_runs_ask (p, n, w);
    }
}

static enum answer parse_answer (const char *text)
{
    return strcmp (text, "mine") == 0    ? ANSWER_MINE
           : strcmp (text, "not") == 0   ? ANSWER_OTHERS
           : strcmp (text, "maybe") == 0 ? ANSWER_MAYBE
           : strcmp (text, "group") == 0 ? ANSWER_GROUP
                                         : ANSWER_UNKNOWN;
}

/* Captures of other users are never ours, and searching for them takes time. */
static bool may_ask (const struct peer *p)
{
    return p->uid == geteuid () || p->uid == 0 || geteuid () == 0;
}

/* Also accept an answer to a question that was not asked yet: the agent that
 * took the capture may be gone when another one finds it.
 */
static void take_answer (struct owners *o, const struct peer *p,
                         const struct json *j)
{
    enum answer answer = parse_answer (json_text (json_get (j, "says"), ""));
    const char *path = json_text (json_get (j, "path"), "");
    struct item *n = owners_find (o, path);
    struct peer_answer *w;

    if (!n && answer == ANSWER_MINE && may_ask (p))
        n = owners_add (o, path);
    if (!n || !(w = owners_answer_of (n, p)))
        return;
    w->answer = answer;
    w->due_ns = 0;
}

/* What was decided here counts: the asking agent may be late. */
static enum answer answer_for (struct owners *o, const struct json *j)
{
    const char *path = json_text (json_get (j, "path"), "");
    const struct item *known = owners_find (o, path);
    struct item asked = { .path = (char *)path };
    int64_t uid = -1, pid = 0;

    if (known && known->owner == WATCH_OURS)
        return ANSWER_MINE;
    if (known && known->owner == WATCH_FOREIGN && !known->doubtful)
        return ANSWER_OTHERS;
    (void)json_int (json_get (j, "uid"), &uid);
    (void)json_int (json_get (j, "pid"), &pid);
    asked.uid = (uid_t)uid;
    asked.pid = (pid_t)pid;
    asked.born_ns = strtoll (json_text (json_get (j, "born_ns"), "0"), NULL,
                             10);
    asked.touched_ns = strtoll (json_text (json_get (j, "touched_ns"), "0"),
                                NULL, 10);
    return owners_own_answer (o, &asked);
}

static void agent_runs_say (const struct peer *p, const char *path,
                            enum answer answer)
{
    static const char *const words[] = {
        [ANSWER_NONE] = "unknown", [ANSWER_UNKNOWN] = "unknown",
        [ANSWER_GROUP] = "group",  [ANSWER_MAYBE] = "maybe",
        [ANSWER_OTHERS] = "not",   [ANSWER_MINE] = "mine",
    };
    struct json *reply = json_object ();

    json_add_text (reply, "type", "answer");
    json_add_text (reply, "path", path);
    json_add_text (reply, "says", words[answer]);
    (void)control_send (p->fd, reply);
}

void owners_say_taken (struct owners *o, struct item *n)
{
    for (struct peer *p = peers_first (o->peers); p; p = p->next) {
        if (p->fd >= 0 && owners_may_own (o, p, n))
            agent_runs_say (p, n->path, ANSWER_MINE);
    }
}

static void agent_runs_answer (struct owners *o, const struct peer *p,
                               const struct json *j)
{
    enum answer answer = may_ask (p) ? answer_for (o, j) : ANSWER_UNKNOWN;

    if (p->fd >= 0)
        agent_runs_say (p, json_text (json_get (j, "path"), ""), answer);
}

void owners_on_packet (void *arg, struct peer *p, const struct json *j)
{
    const char *type = json_text (json_get (j, "type"), "");
    struct owners *o = arg;

    if (strcmp (type, "run") == 0 || strcmp (type, "agent") == 0)
        (void)loop_add_timer (o->agent->loop, 0, owners_look_again, o->agent);
    else if (strcmp (type, "whose") == 0)
        agent_runs_answer (o, p, j);
    else if (strcmp (type, "answer") == 0)
        take_answer (o, p, j);
}

/* ---- what is watched, and what runs ---- */

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
    int rc;

    if (is_known_dir (o, dir))
        return;
    buf_put (&o->paths, dir, strlen (dir) + 1);
    ids = ids_of (dir);
    to = json_add_array (json_push_object (o->dirs), "ids");
    for (const struct json *i = json_first (json_get (ids, "ids")); i;
         i = json_next (i))
        json_push_text (to, json_text (i, ""));
    if (o->peers && (rc = peers_show (o->peers, own_id (ids))) < 0)
        log_warn ("other-runs", "cannot show them that %s is watched: %s", dir,
                  strerror (-rc));
    json_free (ids);
}
