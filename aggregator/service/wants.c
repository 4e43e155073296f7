/* aggregator/service/wants.c - the raw files that this aggregator wants */
#include "service/wants.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "base/vec.h"
#include "json/json.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ID_NS 1000              // a want takes longer, so that the clock gives new
                                // ids; and JSON has all of them until 2255
#define FILE_MAX ((size_t)16 << 20)     // bytes of WANTS_MAX long names

static const char *const state_names[] = {
    [WANT_OPEN] = "open", [WANT_CAME] = "came", [WANT_GONE] = "gone",
};

#define STATES (sizeof (state_names) / sizeof (state_names[0]))

/* ---- the file ---- */

static bool take_text (const struct json *j, const char *key, char *out,
                       size_t size)
{
    const char *text = json_text (json_get (j, key), "");

    (void)snprintf (out, size, "%s", text);
    return strlen (text) < size;
}

static bool take_number (const struct json *j, const char *key, uint64_t *ret)
{
    int64_t n = -1;

    if (!json_int (json_get (j, key), &n) || n < 0)
        return false;
    *ret = (uint64_t)n;
    return true;
}

/* A text, as JSON's numbers are not exact; without it the version is not known.
 */
static bool take_version (const struct json *j, int64_t *ret)
{
    return units_int (json_text (json_get (j, "newest_ns"), "0"), INT64_MIN,
                      INT64_MAX, ret) == 0;
}

static bool take (const struct json *j, struct want *w)
{
    const char *state = json_text (json_get (j, "state"), "");
    unsigned s = 0;

    while (s < STATES && strcmp (state_names[s], state) != 0)
        s++;
    w->state = (enum want_state)s;
    return s < STATES && take_number (j, "id", &w->id) &&
           take_number (j, "files", &w->files) &&
           take_number (j, "came", &w->came) &&
           take_number (j, "gone", &w->gone) &&
           json_int (json_get (j, "rank"), &w->rank) &&
           take_version (j, &w->newest_ns) &&
           take_text (j, "job", w->job, sizeof (w->job)) &&
           take_text (j, "scope", w->scope, sizeof (w->scope)) &&
           take_text (j, "host", w->host, sizeof (w->host)) &&
           take_text (j, "capture", w->capture, sizeof (w->capture)) &&
           take_text (j, "place", w->place, sizeof (w->place)) &&
           take_text (j, "path", w->path, sizeof (w->path)) &&
           take_text (j, "why", w->why, sizeof (w->why)) &&
           message_valid_name (w->scope) && message_valid_place (w->place) &&
           message_valid_item (ITEM_ROWS, w->rank, w->capture, "") &&
           (!*w->path || message_valid_item (ITEM_RAW, w->rank, w->capture,
                                             w->path));
}

static int take_all (struct wants *w, const struct json *doc, struct err *err)
{
    const struct json *list = json_get (doc, "wants");
    const struct json *j = json_first (list);

    if (!json_is_array (list) || json_count (list) > WANTS_MAX ||
        !take_number (doc, "last_id", &w->last_id))
        return err_set (err, EBADMSG, "it is not a list of wanted files");
    for (; j; j = json_next (j)) {
        struct want *one = vec_add (&w->list, &w->n, sizeof (*one));

        if (!one)
            return err_set (err, ENOMEM, "no memory for wanted files");
        if (!take (j, one) || one->id > w->last_id ||
            (w->n > 1 && one[-1].id >= one->id))
            return err_set (err, EBADMSG, "its entry %zu is damaged", w->n);
    }
    return 0;
}

int wants_load (struct wants *w, const char *root, struct err *err)
{
    uint64_t now_us = (uint64_t)(clock_wall_ns () / ID_NS);
    struct json *doc = NULL;
    char path[PATH_MAX];
    struct buf text;
    int rc;

    if (!fileio_join (path, sizeof (path), root, WANTS_NAME))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    buf_init (&text, FILE_MAX);
    rc = fileio_read_at (AT_FDCWD, path, &text, NULL);
    if (rc == 0 && !(doc = json_parse ((const char *)text.data, text.size,
                                       err)))
        rc = -EBADMSG;
    else if (rc < 0 && rc != -ENOENT)
        (void)err_sys (err, -rc, "cannot read it");
    if (rc == 0)
        rc = take_all (w, doc, err);
    json_free (doc);
    buf_fini (&text);
    if (rc < 0)
        wants_fini (w);
    // a list that could not be saved, or is damaged, had later ids
    if (w->last_id < now_us)
        w->last_id = now_us;
    return rc < 0 && rc != -ENOENT ? err_prefix (err, rc, "%s", path) : 0;
}

static void add_one (struct json *list, const struct want *w)
{
    struct json *j = json_push_object (list);
    char newest[24];

    PRINT (newest, "%lld", (long long)w->newest_ns);
    json_add_int (j, "id", (int64_t)w->id);
    json_add_text (j, "state", state_names[w->state]);
    json_add_text (j, "job", w->job);
    json_add_text (j, "scope", w->scope);
    json_add_text (j, "host", w->host);
    json_add_int (j, "rank", w->rank);
    json_add_text (j, "capture", w->capture);
    json_add_text (j, "place", w->place);
    json_add_text (j, "path", w->path);
    json_add_text (j, "newest_ns", newest);
    json_add_int (j, "files", (int64_t)w->files);
    json_add_int (j, "came", (int64_t)w->came);
    json_add_int (j, "gone", (int64_t)w->gone);
    json_add_text (j, "why", w->why);
}

int wants_save (const struct wants *w, const char *root, struct err *err)
{
    struct json *doc = json_object (), *list;

    json_add_int (doc, "last_id", (int64_t)w->last_id);
    list = json_add_array (doc, "wants");
    for (size_t i = 0; i < w->n; i++)
        add_one (list, &w->list[i]);
    return json_replace (doc, true, root, WANTS_NAME, FILEIO_FILE_MODE, err);
}

void wants_fini (struct wants *w)
{
    free (w->list);
    *w = (struct wants){ .list = NULL };
}

/* ---- the list ---- */

static bool is_like (const struct want *a, const struct want *b)
{
    return a->rank == b->rank && strcmp (a->capture, b->capture) == 0 &&
           strcmp (a->path, b->path) == 0 && strcmp (a->place, b->place) == 0 &&
           strcmp (a->host, b->host) == 0 && strcmp (a->scope, b->scope) == 0 &&
           strcmp (a->job, b->job) == 0;
}

static void open_again (struct want *w)
{
    w->state = WANT_OPEN;
    w->files = w->came = w->gone = 0;
    w->why[0] = '\0';
}

static void forget (struct wants *w, struct want *one)
{
    size_t after = (size_t)(w->list + w->n - one) - 1;

    memmove (one, one + 1, after * sizeof (*one));
    w->n--;
}

static struct want *find_like (const struct wants *w, const struct want *like)
{
    for (size_t i = 0; i < w->n; i++) {
        if (is_like (&w->list[i], like))
            return &w->list[i];
    }
    return NULL;
}

/* The oldest want that is over; NULL: all are open. */
static struct want *find_over (const struct wants *w)
{
    for (size_t i = 0; i < w->n; i++) {
        if (w->list[i].state != WANT_OPEN)
            return &w->list[i];
    }
    return NULL;
}

static unsigned count_open (const struct wants *w, const char *job)
{
    unsigned n = 0;

    for (size_t i = 0; i < w->n; i++)
        n += w->list[i].state == WANT_OPEN && strcmp (w->list[i].job, job) == 0;
    return n;
}

int wants_add (struct wants *w, const struct want *like, bool again,
               struct want **ret, struct err *err)
{
    struct want *one = find_like (w, like);
    bool known = one && one->newest_ns == like->newest_ns;

    if ((*ret = one) && known && (one->state != WANT_GONE || !again))
        return 0;
    if (!(one && one->state == WANT_OPEN) &&
        count_open (w, like->job) >= WANTS_OF_JOB)
        return err_set (err, ENOSPC, "%u captures of job %s are wanted already, "
                        "whose agents have not answered", WANTS_OF_JOB,
                        like->job);
    if (known) {
        open_again (one);
        return 1;
    }
    // an answer for the other version is none for this one, which has another id
    if (!one && w->n == WANTS_MAX && !(one = find_over (w)))
        return err_set (err, ENOSPC, "%u captures are wanted already, whose "
                        "agents have not answered", WANTS_MAX);
    if (one)
        forget (w, one);
    if (!(one = vec_add (&w->list, &w->n, sizeof (*one))))
        return err_set (err, ENOMEM, "no memory for wanted files");
    *one = *like;
    open_again (one);
    one->id = ++w->last_id;
    *ret = one;
    return 1;
}

bool wants_has_room (const struct wants *w, const char *job)
{
    return count_open (w, job) < WANTS_OF_JOB;
}

bool wants_give_way (struct wants *w,
                     bool (*is_there) (void *arg, const struct want *one),
                     void *arg, struct want *ret)
{
    for (size_t i = 0; i < w->n && w->n == WANTS_MAX; i++) {
        if (w->list[i].state != WANT_OPEN || is_there (arg, &w->list[i]))
            continue;
        *ret = w->list[i];
        forget (w, &w->list[i]);
        return true;
    }
    return false;
}

bool wants_forget_job (struct wants *w, const char *job)
{
    size_t kept = 0, had = w->n;

    for (size_t i = 0; i < had; i++) {
        if (strcmp (w->list[i].job, job) != 0)
            w->list[kept++] = w->list[i];
    }
    w->n = kept;
    return kept < had;
}

static bool is_of (const struct want *w, const char *scope, const char *host)
{
    return strcmp (w->host, host) == 0 && strcmp (w->scope, scope) == 0;
}

bool wants_hear (struct wants *w, const char *scope, const char *host,
                 const struct message *m, bool alone)
{
    struct want *one = w->list, *end = w->list + w->n;

    while (one < end && one->id != m->item)
        one++;
    if (one == end || one->state != WANT_OPEN || !is_of (one, scope, host) ||
        (m->have == HAVE_NOT_HERE && !alone))
        return false;
    one->files = m->files;
    one->came = m->came;
    one->gone = m->gone;
    PRINT (one->why, "%.*s", WANTS_WHY_MAX - 1, m->text);
    if (m->have == HAVE_BUSY || m->came + m->gone < m->files)
        return false;
    one->state = m->files > 0 && m->gone == 0 ? WANT_CAME : WANT_GONE;
    return true;
}

bool wants_reopen (struct wants *w, const char *scope, const char *host)
{
    bool any = false;

    for (size_t i = 0; i < w->n; i++) {
        struct want *one = &w->list[i];

        if (one->state == WANT_OPEN || !is_of (one, scope, host))
            continue;
        open_again (one);
        any = true;
    }
    return any;
}

const struct want *wants_next_open (const struct wants *w,
                                    const struct want *at, const char *scope,
                                    const char *host)
{
    const struct want *end = w->list + w->n;

    for (at = at ? at + 1 : w->list; at < end; at++) {
        if (at->state == WANT_OPEN && is_of (at, scope, host))
            return at;
    }
    return NULL;
}

void wants_message (const struct want *w, struct message *m)
{
    *m = (struct message){ .type = MESSAGE_WANT, .item = w->id,
                           .rank = w->rank };
    PRINT (m->capture, "%s", w->capture);
    PRINT (m->path, "%s", w->path);
    PRINT (m->place, "%s", w->place);
}
