/* tests/unit/aggregator/builder/fake_door.c - a door to two processes that are
 * threads of one: questions are of rank 1, answers of rank 0.  A third one may be
 * there that says nothing until the test does it: answers to it are lost.
 */
#include "builder/mpi_door.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TAGS 4

struct message {
    struct message *next;
    unsigned from;
    size_t size;
    char bytes[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct message *waiting[TAGS];   // of each tag, the first one first
static unsigned ranks;

/* For tests: questions by their first byte, and the bytes of these; that there are
 * two hosts, or a third process; that the lead gets no question; and the word whose
 * questions get the byte 'fake_value' at 'fake_damage', if that is not 0.
 */
extern unsigned fake_questions[256];
extern size_t fake_bytes[256];
extern bool fake_hosts, fake_cut, fake_third;
extern size_t fake_damage;
extern unsigned fake_damaged, fake_value;
extern void fake_third_says (int tag, const void *bytes, size_t size);
unsigned fake_questions[256];
size_t fake_bytes[256];
bool fake_hosts, fake_cut, fake_third;
size_t fake_damage;
unsigned fake_damaged, fake_value = 0xff;

static int fake_begin (const atomic_bool *cancel, struct mpi_place *ret)
{
    (void)cancel;
    (void)pthread_mutex_lock (&lock);
    *ret = (struct mpi_place){ ranks % 2, fake_third ? 3 : 2,
                               fake_hosts ? 1 : 2,
                               ranks % 2 == 0 || !fake_hosts };
    ranks++;
    (void)pthread_mutex_unlock (&lock);
    return 0;
}

static int put (unsigned from, int tag, const void *bytes, size_t size)
{
    struct message *m = malloc (sizeof (*m) + size), **at;
    unsigned word;

    if (!m)
        return -EIO;
    m->next = NULL;
    m->from = from;
    m->size = size;
    memcpy (m->bytes, bytes, size);
    (void)pthread_mutex_lock (&lock);
    word = tag != 2 ? (unsigned char)m->bytes[0] : 255;
    fake_questions[word]++;
    fake_bytes[word] += size;
    if (fake_damage > 0 && fake_damage < size && word == fake_damaged)
        m->bytes[fake_damage] = (char)fake_value;
    for (at = &waiting[tag]; *at; at = &(*at)->next)
        ;
    *at = m;
    (void)pthread_mutex_unlock (&lock);
    return 0;
}

static int fake_send (unsigned to, int tag, const void *bytes, size_t size)
{
    return to > 1 ? 0 : put (tag != 2, tag, bytes, size);
}

void fake_third_says (int tag, const void *bytes, size_t size)
{
    (void)put (2, tag, bytes, size);
}

static int fake_look (int tag, struct mpi_message *ret)
{
    const struct message *m;

    (void)pthread_mutex_lock (&lock);
    if ((m = waiting[tag]))
        *ret = (struct mpi_message){ m->from, tag, m->size };
    (void)pthread_mutex_unlock (&lock);
    return m && tag == 1 && fake_cut ? -EIO : m != NULL;
}

static int fake_receive (const struct mpi_message *m, void *bytes)
{
    struct message *first;

    (void)pthread_mutex_lock (&lock);
    first = waiting[m->tag];
    waiting[m->tag] = first->next;
    (void)pthread_mutex_unlock (&lock);
    memcpy (bytes, first->bytes, first->size);
    free (first);
    return 0;
}

static int fake_end (void)
{
    return 0;
}

extern const struct mpi_door rollcall_mpi_door;
const struct mpi_door rollcall_mpi_door = {
    MPI_DOOR_VERSION, fake_begin, fake_send, fake_look, fake_receive, fake_end,
};
