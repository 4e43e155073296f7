/* aggregator/postgres/copy_queue.c - a thread that sends rows, while others are
 * read
 */
#include "postgres/copy_queue.h"

#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>

#define QUEUE_MAX (16u << 20)   // bytes that wait

struct item {
    enum copy_queue_step step;
    void *data;
    size_t size;
    struct item *next;
};

struct copy_queue {
    struct pg *p;
    pthread_t thread;
    pthread_mutex_t lock;       // of all that follows
    pthread_cond_t changed;
    struct item *first, **end;
    size_t bytes;
    bool finished;              // nothing more comes
    int rc;
    struct err err;
};

static void free_item (struct item *i)
{
    free (i->data);
    free (i);
}

/* The next step, or NULL at the end. */
static struct item *take (struct copy_queue *q)
{
    struct item *i;

    (void)pthread_mutex_lock (&q->lock);
    while (!q->first && !q->finished)
        (void)pthread_cond_wait (&q->changed, &q->lock);
    if ((i = q->first)) {
        q->bytes -= i->size;
        if (!(q->first = i->next))
            q->end = &q->first;
        (void)pthread_cond_broadcast (&q->changed);
    }
    (void)pthread_mutex_unlock (&q->lock);
    return i;
}

static int execute (struct copy_queue *q, const struct item *i,
                    struct err *err)
{
    switch (i->step) {
    case COPY_BEGIN:
        return pg_copy_begin (q->p, i->data, err);
    case COPY_DATA:
        return pg_copy_put (q->p, i->data, i->size, err);
    case COPY_END:
        break;
    }
    return pg_copy_end (q->p, err);
}

static void *send_steps (void *arg)
{
    struct copy_queue *q = arg;
    struct item *i;
    struct err err = { "" };
    int rc = 0;

    while ((i = take (q))) {
        if (rc == 0 && (rc = execute (q, i, &err)) < 0) {
            (void)pthread_mutex_lock (&q->lock);
            q->rc = rc;
            q->err = err;
            (void)pthread_cond_broadcast (&q->changed);
            (void)pthread_mutex_unlock (&q->lock);
        }
        free_item (i);
    }
    return NULL;
}

int copy_queue_start (struct pg *p, struct copy_queue **ret, struct err *err)
{
    struct copy_queue *q = calloc (1, sizeof (*q));
    int rc;

    if (!q)
        return err_set (err, ENOMEM, "no memory to send rows");
    q->p = p;
    q->end = &q->first;
    (void)pthread_mutex_init (&q->lock, NULL);
    (void)pthread_cond_init (&q->changed, NULL);
    if ((rc = thread_start (&q->thread, send_steps, q)) < 0) {
        free (q);
        return err_sys (err, -rc, "cannot start a thread to send rows");
    }
    *ret = q;
    return 0;
}

int copy_queue_add (struct copy_queue *q, enum copy_queue_step step,
                    void *data, size_t size)
{
    struct item *i = malloc (sizeof (*i));
    int rc = i ? 0 : -ENOMEM;

    (void)pthread_mutex_lock (&q->lock);
    while (rc == 0 && q->rc == 0 && q->bytes > QUEUE_MAX)
        (void)pthread_cond_wait (&q->changed, &q->lock);
    if (q->rc < 0)
        rc = -ECANCELED;
    if (rc == 0) {
        *i = (struct item){ step, data, size, NULL };
        *q->end = i;
        q->end = &i->next;
        q->bytes += size;
        (void)pthread_cond_broadcast (&q->changed);
    }
    (void)pthread_mutex_unlock (&q->lock);
    if (rc < 0) {
        free (i);
        free (data);
    }
    return rc;
}

int copy_queue_finish (struct copy_queue *q, struct err *err)
{
    int rc;

    (void)pthread_mutex_lock (&q->lock);
    q->finished = true;
    (void)pthread_cond_broadcast (&q->changed);
    (void)pthread_mutex_unlock (&q->lock);
    (void)pthread_join (q->thread, NULL);
    if ((rc = q->rc) < 0 && err)
        *err = q->err;
    (void)pthread_mutex_destroy (&q->lock);
    (void)pthread_cond_destroy (&q->changed);
    free (q);
    return rc;
}
