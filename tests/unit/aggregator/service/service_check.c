/* tests/unit/aggregator/service/service_check.c - an aggregator without a
 * network */
#include "aggregator/service/service_check.h"

#include "store/fileio.h"
#include "store/root.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct service *now;     // who hears what is sent

int __wrap_net_send (struct net *n, const struct net_peer *to,
                     const struct message *m);

int __wrap_net_send (struct net *n, const struct net_peer *to,
                     const struct message *m)
{
    (void)n;
    if (now->gone && memcmp (to->id, &now->gone, sizeof (now->gone)) == 0)
        return -EHOSTUNREACH;
    now->sent[now->nsent++ % SENT_MAX] = *m;
    return 0;
}

static int on_send (void *arg, const struct net_peer *to,
                    const struct message *m)
{
    (void)arg;
    return __wrap_net_send (NULL, to, m);
}

static void nobody (void *arg, const struct ledger_item *item)
{
    (void)arg;
    (void)item;
}

void service_open (struct service *s)
{
    struct aggregator *a = &s->a;
    char path[PATH_MAX];

    memset (a, 0, sizeof (*a));
    a->opt = &s->opt;
    assert_true ((a->root_fd = root_lock (s->root, true, NULL)) >= 0);
    a->began_ns = a->last_peer_ns = clock_mono_ns ();
    a->build_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    a->loop = loop_create ();
    (void)snprintf (path, sizeof (path), "%s/ledger.db", s->root);
    assert_int_equal (ledger_open (path, &a->ledger, NULL), 0);
    assert_int_equal (store_open (s->root, a->ledger, &a->store, NULL), 0);
    assert_int_equal (ledger_begin_epoch (a->ledger, NULL), 0);
    a->transfers = transfers_create (on_send, s, a->ledger, a->store);
    a->answers = answers_create (a->loop, NULL);
    assert_true (a->build_fd >= 0 && a->loop && a->transfers && a->answers);
    transfers_set_extra_work (a->transfers, aggregator_commit_notes, a);
    aggregator_open_wants (a);
}

void service_close (struct service *s)
{
    struct aggregator *a = &s->a;

    aggregator_end_gc (a);
    aggregator_end_retention (a);
    answers_destroy (a->answers);
    transfers_destroy (a->transfers);
    loop_destroy (a->loop);
    store_close (a->store);
    ledger_close (a->ledger);
    (void)close (a->root_fd);
    (void)close (a->build_fd);
    aggregator_end_usage (a);
    aggregator_forget_unbuilt (a);
    aggregator_forget_bound (a);
    wants_fini (&a->wants);
    aggregator_forget_peers (a);
    while (a->jobs) {
        struct served *next = a->jobs->next;

        job_fini (&a->jobs->job);
        free (a->jobs);
        a->jobs = next;
    }
}

int service_setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct service *s = calloc (1, sizeof (*s));

    (void)snprintf (s->dir, sizeof (s->dir), "%s/rollcall-service-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (s->dir));
    (void)snprintf (s->root, sizeof (s->root), "%s/root", s->dir);
    (void)snprintf (s->out, sizeof (s->out), "%s/out", s->dir);
    assert_int_equal (fileio_mkdirs (s->root, FILEIO_DIR_MODE, NULL), 0);
    s->opt = (struct aggregator_options){
        .root = s->root, .listen = "tcp://127.0.0.1:1", .listen_fd = -1,
        .launch_fd = -1, .threads = 1, .deadline_ns = 3600 * NS_PER_S,
    };
    now = s;
    service_open (s);
    *state = s;
    return 0;
}

int service_teardown (void **state)
{
    struct service *s = *state;

    service_close (s);
    (void)fileio_remove_tree (s->dir, NULL);
    free (s);
    return 0;
}

/* ---- messages ---- */

void service_hear (struct service *s, unsigned peer, const struct message *m)
{
    struct net_peer from = { .size = sizeof (peer) };

    memcpy (from.id, &peer, sizeof (peer));
    (void)snprintf (from.who, sizeof (from.who), "%s", s->who ? s->who : "");
    aggregator_on_message (&s->a, &from, m, 0, NULL);
}

void service_hello (struct service *s, unsigned peer, const char *job,
                    int64_t world_size)
{
    service_hello_as (s, peer, peer, job, world_size);
}

void service_hello_as (struct service *s, unsigned peer, unsigned host,
                       const char *job, int64_t world_size)
{
    struct message m = { .type = MESSAGE_HELLO, .world_size = world_size,
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    (void)snprintf (m.job, sizeof (m.job), "%s", job);
    (void)snprintf (m.host, sizeof (m.host), "host%u", host);
    (void)snprintf (m.host_key, sizeof (m.host_key), "key%u", host);
    service_hear (s, peer, &m);
}

void service_offer (struct service *s, unsigned peer, uint64_t item,
                    const char *capture)
{
    struct message m = { .type = MESSAGE_OFFER, .item = item,
                         .kind = ITEM_ROWS, .rank = 0,
                         .size = strlen (capture) };
    struct content_hash h;

    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, capture, strlen (capture)), 0);
    assert_int_equal (content_hash_end (&h, &m.content), 0);
    content_hash_fini (&h);
    (void)snprintf (m.capture, sizeof (m.capture), "%s", capture);
    service_hear (s, peer, &m);
}

void service_chunk (struct service *s, unsigned peer, uint64_t item,
                    const char *capture)
{
    struct message m = { .type = MESSAGE_CHUNK, .item = item,
                         .data = capture, .data_size = strlen (capture) };

    service_hear (s, peer, &m);
}

int service_commit (struct service *s)
{
    return transfers_commit (s->a.transfers, nobody, NULL, NULL);
}

void service_built (struct service *s)
{
    struct pollfd p = { .fd = s->a.build_fd, .events = POLLIN };

    assert_non_null (s->a.building);
    assert_int_equal (poll (&p, 1, 30000), 1);
    aggregator_on_built (&s->a);
    assert_null (s->a.building);
}

size_t service_agents (const struct service *s)
{
    size_t n = 0;

    for (const struct served *j = s->a.jobs; j; j = j->next)
        n += j->job.nagents;
    return n;
}

unsigned service_said (struct service *s, enum message_type type)
{
    size_t first = s->nsent > SENT_MAX ? s->nsent - SENT_MAX : 0;
    unsigned n = 0;

    for (size_t i = first; i < s->nsent; i++)
        n += s->sent[i % SENT_MAX].type == type;
    s->nsent = 0;
    return n;
}
