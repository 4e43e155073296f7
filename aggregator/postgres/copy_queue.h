/* aggregator/postgres/copy_queue.h - a thread that sends rows, while others are
 * read
 *
 * Only this thread uses the connection, until copy_queue_finish.
 */
#ifndef ROLLCALL_POSTGRES_COPY_QUEUE_H
#define ROLLCALL_POSTGRES_COPY_QUEUE_H

#include "postgres/postgres.h"

struct copy_queue;

/* What it does next: pg_copy_begin with a text, pg_copy_put, pg_copy_end. */
enum copy_queue_step { COPY_BEGIN, COPY_DATA, COPY_END };

/* -ENOMEM, or another error of a thread that cannot be started. */
int copy_queue_start (struct pg *p, struct copy_queue **ret, struct err *err);

/* Add a step; 'data' is freed by free(3), may be NULL for COPY_END.  Waits while
 * the queue is full.  0; -ECANCELED: a step has failed, and no more is done;
 * -ENOMEM.
 */
int copy_queue_add (struct copy_queue *q, enum copy_queue_step step,
                    void *data, size_t size);

/* Wait for all steps, and free the queue: 0, or the error of the first step that
 * failed, as pg_copy_put.
 */
int copy_queue_finish (struct copy_queue *q, struct err *err);

#endif
