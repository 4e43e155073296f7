/* aggregator/builder/team.c - processes of one launch that build together */
#include "builder/team.h"

#include "base/thread.h"
#include "builder/build.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAG_QUESTION 1
#define TAG_ANSWER 2
#define TAG_READY 3             // a question that may wait for long
#define NAP_LEAST_US 20u
#define NAP_MOST_US 5000u       // of a member that waits

struct team {
    const struct mpi_door *door;
    struct mpi_place place;
    const atomic_bool *cancel;
    uint64_t order;
    pthread_mutex_t lock;       // over MPI, among a member's threads
    struct buf in;              // of the lead: the question
    unsigned left;              // members that were not told that it is over
    bool astray;                // some of them are not where they should be
};

unsigned team_threads (const struct mpi_place *p, unsigned host)
{
    unsigned n = (host > 0 ? host : thread_processors ()) / p->here;

    return n < 1 ? 1 : n > BUILD_THREADS_MAX ? BUILD_THREADS_MAX : n;
}

void team_nap (unsigned *us, unsigned most_us)
{
    struct timespec ts;

    *us = *us < NAP_LEAST_US ? NAP_LEAST_US : *us * 2;
    *us = *us > most_us ? most_us : *us;
    ts = (struct timespec){ .tv_nsec = (long)*us * 1000 };
    (void)nanosleep (&ts, NULL);
}

/* What MPI says, as a sentence: 'rank' cannot be reached. */
static int say_trouble (int rc, unsigned rank, struct err *err)
{
    return rc == -EINTR ? err_set (err, EINTR, "interrupted")
                        : err_set (err, EIO, "rank %u cannot be reached", rank);
}

static int load_door (const char *path, const struct mpi_door **ret,
                      struct err *err)
{
    // plug-ins of Open MPI look for its symbols
    void *module = dlopen (path, RTLD_NOW | RTLD_GLOBAL);
    const char *why = module ? NULL : dlerror ();

    *ret = module ? dlsym (module, MPI_DOOR_SYMBOL) : NULL;
    if (!*ret || (*ret)->version != MPI_DOOR_VERSION)
        return err_set (err, ENOENT, "cannot load %s, which several processes "
                        "need to build together: %s", path,
                        why ? why : "it is of another version");
    return 0;
}

int team_begin (const char *door, unsigned said, uint64_t order,
                const atomic_bool *cancel, struct team **ret, struct err *err)
{
    struct team *t = calloc (1, sizeof (*t));
    int rc;

    if (!t)
        return err_set (err, ENOMEM, "no memory to begin");
    (void)pthread_mutex_init (&t->lock, NULL);
    buf_init (&t->in, TEAM_MESSAGE_MAX);
    t->cancel = cancel;
    t->order = order;
    rc = load_door (door, &t->door, err);
    if (rc == 0 && t->door->begin (cancel, &t->place) < 0)
        rc = err_set (err, EIO, "MPI cannot be started");
    t->left = t->place.size - 1;
    if (rc == 0 && t->place.size != said)
        rc = err_set (err, EINVAL, "the launcher says %u processes, but MPI "
                      "finds %u: mpirun and the MPI library do not match", said,
                      t->place.size);
    if (rc < 0)
        team_forget (t);
    else
        *ret = t;
    return rc;
}

const struct mpi_place *team_place (const struct team *t)
{
    return &t->place;
}

uint64_t team_order (const struct team *t)
{
    return t->order;
}

void team_forget (struct team *t)
{
    (void)pthread_mutex_destroy (&t->lock);
    buf_fini (&t->in);
    free (t);
}

void team_end (struct team *t)
{
    (void)t->door->end ();
    team_forget (t);
}

/* ---- a member ---- */

static int send_question (struct team *t, enum team_word word,
                          const struct buf *question, struct err *err)
{
    struct buf b;
    int rc;

    buf_init (&b, TEAM_MESSAGE_MAX);
    wire_put_u8 (&b, (uint8_t)word);
    if (question)
        buf_put (&b, question->data, question->size);
    if (b.failed || (question && question->failed))
        rc = err_set (err, ENOMEM, "no memory for a message to rank 0");
    else if ((rc = t->door->send (0, word == TEAM_READY ? TAG_READY
                                                        : TAG_QUESTION,
                                  b.data, b.size)) < 0)
        rc = say_trouble (rc, 0, err);
    buf_fini (&b);
    return rc;
}

static int await_answer (struct team *t, struct buf *answer, struct err *err)
{
    struct mpi_message m;
    unsigned us = 0;
    void *room;
    int rc;

    while ((rc = t->door->look (TAG_ANSWER, &m)) == 0) {
        if (atomic_load (t->cancel))
            return err_set (err, EINTR, "interrupted");
        team_nap (&us, NAP_MOST_US);
    }
    if (rc < 0)
        return say_trouble (rc, 0, err);
    if (!(room = buf_extend (answer, m.size)))
        return err_set (err, ENOMEM, "no memory for a message of rank 0");
    rc = t->door->receive (&m, room);
    return rc < 0 ? say_trouble (rc, 0, err) : 0;
}

/* Take the outcome off the front of an answer. */
static int open_answer (struct buf *answer, struct err *err)
{
    struct wire w = wire_reader (answer->data, answer->size);
    int64_t rc = wire_i64 (&w);
    char text[sizeof (err->text)];

    if (w.failed || rc > 0 || rc < -4096)
        return err_set (err, EBADMSG, "rank 0 gave no answer");
    if (rc < 0) {
        wire_text (&w, text, sizeof (text));
        return err_set (err, (int)-rc, "%s", text);
    }
    memmove (answer->data, w.at, (size_t)(w.end - w.at));
    answer->size = (size_t)(w.end - w.at);
    return 0;
}

int team_ask (struct team *t, enum team_word word, const struct buf *question,
              struct buf *answer, struct err *err)
{
    int rc;

    buf_clear (answer);
    (void)pthread_mutex_lock (&t->lock);
    // another thread may have left MPI with a message that is half there
    rc = atomic_load (t->cancel) ? say_trouble (-EINTR, 0, err)
                                 : send_question (t, word, question, err);
    if (rc == 0)
        rc = await_answer (t, answer, err);
    (void)pthread_mutex_unlock (&t->lock);
    return rc < 0 ? rc : open_answer (answer, err);
}

/* ---- the lead ---- */

int team_listen (struct team *t, bool ready, struct team_question *ret,
                 struct err *err)
{
    struct mpi_message m;
    void *room;
    int rc = t->door->look (ready ? TAG_READY : TAG_QUESTION, &m);

    if (rc == 0)
        return 0;
    buf_clear (&t->in);
    if (rc > 0 && !(room = buf_extend (&t->in, m.size)))
        return err_set (err, ENOMEM, "no memory for a message of rank %u",
                        m.from);
    if (rc > 0)
        rc = t->door->receive (&m, room);
    if (rc < 0)
        return rc == -EINTR ? say_trouble (rc, 0, err)
                            : err_set (err, EIO, "the other processes cannot "
                                       "be reached");
    ret->from = m.from;
    ret->in = wire_reader (t->in.data, t->in.size);
    ret->word = wire_u8 (&ret->in);
    if (ret->in.failed || (unsigned)ret->word >= TEAM_WORDS)
        return err_set (err, EBADMSG, "rank %u says what is not understood",
                        m.from);
    return 1;
}

int team_answer (struct team *t, unsigned to, int rc, const struct buf *answer,
                 const struct err *why, struct err *err)
{
    struct buf b;
    int sent;

    buf_init (&b, TEAM_MESSAGE_MAX);
    wire_put_i64 (&b, rc);
    if (rc < 0)
        wire_put_text (&b, why->text);
    else if (answer)
        buf_put (&b, answer->data, answer->size);
    if (b.failed || (answer && answer->failed))
        sent = err_set (err, ENOMEM, "no memory for a message to rank %u", to);
    else if ((sent = t->door->send (to, TAG_ANSWER, b.data, b.size)) < 0)
        sent = say_trouble (sent, to, err);
    buf_fini (&b);
    return sent;
}

int team_over (struct team *t, unsigned to, struct err *err)
{
    t->left--;
    return team_answer (t, to, 0, NULL, NULL, err);
}

void team_stray (struct team *t)
{
    t->astray = true;
}

bool team_is_whole (const struct team *t)
{
    return t->left == t->place.size - 1 && !t->astray;
}

int team_dismiss (struct team *t, struct err *err)
{
    struct team_question q;
    unsigned us = 0;
    int rc = 0;

    while (t->left > 0 && rc == 0 && !atomic_load (t->cancel)) {
        if ((rc = team_listen (t, true, &q, err)) > 0)
            rc = team_over (t, q.from, err);
        else if (rc == 0 && (rc = team_listen (t, false, &q, err)) > 0)
            rc = team_answer (t, q.from, 0, NULL, NULL, err);
        else if (rc == 0)
            team_nap (&us, NAP_MOST_US);
    }
    return rc == 0 && t->left > 0 ? err_set (err, EINTR, "interrupted") : rc;
}
