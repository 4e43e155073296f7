/* common/net/zap.c - decide who may connect, for libzmq in every handshake
 *
 * The ZeroMQ Authentication Protocol (RFC 27): libzmq sends the key that a peer
 * has proven to have to inproc://zeromq.zap.01, and waits for the answer before
 * it does anything else with that connection.  The loop answers, so no thread
 * and no lock is needed; while the loop is busy, new peers wait.
 *
 * libzmq admits everybody if nothing is bound to that address.  So libzmq adds
 * the answer to every message ("User-Id"), and messages without it are refused.
 */
#include "net/net_private.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define DOMAIN_NAME "rollcall"
#define TEST_TURN_MS 100                // a turn of the self-test without an
                                        // event
#define TEST_TURNS 300                  // turns, enough for a starved node
#define FRAMES 7                        // of a request with a CURVE key
#define KEY_BYTES 32

int zap_open (struct net *n, struct err *err)
{
    static const int zero = 0;

    n->zap.socket = zmq_socket (n->context, ZMQ_REP);
    if (!n->zap.socket ||
        zmq_setsockopt (n->zap.socket, ZMQ_LINGER, &zero, sizeof (zero)) < 0 ||
        zmq_bind (n->zap.socket, "inproc://zeromq.zap.01") < 0)
        return err_set (err, EKEYREJECTED, "keys cannot be checked (%s)",
                        zmq_strerror (zmq_errno ()));
    return 0;
}

/* ---- questions ---- */

struct question {
    char id[256];
    size_t id_size;
    char address[NET_ADDRESS_MAX];
    char key[NET_KEY_SIZE];             // "": it is no key
};

static void copy_text (char *out, size_t max, zmq_msg_t *frame)
{
    (void)snprintf (out, max, "%.*s", (int)zmq_msg_size (frame),
                    (const char *)zmq_msg_data (frame));
}

static bool is_text (zmq_msg_t *frame, const char *text)
{
    return zmq_msg_size (frame) == strlen (text) &&
           memcmp (zmq_msg_data (frame), text, strlen (text)) == 0;
}

/* Take a frame of a request: version, id, domain, address, routing id,
 * mechanism, key.
 */
static void take_frame (struct question *q, int at, zmq_msg_t *f, bool *valid)
{
    switch (at) {
    case 0:
        *valid = is_text (f, "1.0");
        break;
    case 1:
        q->id_size = zmq_msg_size (f);
        *valid = *valid && q->id_size <= sizeof (q->id);
        q->id_size = *valid ? q->id_size : 0;
        memcpy (q->id, zmq_msg_data (f), q->id_size);
        break;
    case 2:
        *valid = *valid && is_text (f, DOMAIN_NAME);
        break;
    case 3:
        copy_text (q->address, sizeof (q->address), f);
        break;
    case 5:
        *valid = *valid && is_text (f, "CURVE");
        break;
    case 6:
        *valid = *valid && zmq_msg_size (f) == KEY_BYTES &&
                 zmq_z85_encode (q->key, zmq_msg_data (f), KEY_BYTES);
        break;
    default:
        break;
    }
}

static bool read_question (void *socket, struct question *q)
{
    bool valid = true, more = true;

    memset (q, 0, sizeof (*q));
    for (int at = 0; more; at++) {
        zmq_msg_t f;

        (void)zmq_msg_init (&f);
        if (zmq_msg_recv (&f, socket, ZMQ_DONTWAIT) < 0)
            return false;
        take_frame (q, at, &f, &valid);
        more = zmq_msg_more (&f);
        valid = valid && more == (at < FRAMES - 1);
        (void)zmq_msg_close (&f);
    }
    if (!valid)
        q->key[0] = '\0';
    return true;
}

static void reply (void *socket, const struct question *q, const char *code,
                   const char *user)
{
    const struct {
        const void *data;
        size_t size;
    } frames[] = {
        { "1.0", 3 },     { q->id, q->id_size },    { code, strlen (code) },
        { "", 0 },        { user, strlen (user) },  { "", 0 },
    };
    const size_t count = sizeof (frames) / sizeof (frames[0]);

    for (size_t i = 0; i < count; i++)
        (void)zmq_send (socket, frames[i].data, frames[i].size,
                        ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0));
}

void zap_answer (struct net *n)
{
    char who[NET_WHO_MAX] = "", user[NET_KEY_SIZE + NET_WHO_MAX];
    struct err why = { "it did not show a key" };
    struct question q;
    int rc = -EBADMSG;

    if (!read_question (n->zap.socket, &q))
        return;
    if (q.key[0])
        rc = n->security.allow (n->security.allow_arg, q.key, who, &why);
    PRINT (user, "%s %s", q.key, who);
    reply (n->zap.socket, &q, rc == 0 ? "200" : "400", rc == 0 ? user : "");
    if (rc < 0)
        net_tell (n, NET_PEER_REFUSED, "%s: %s",
                  net_plain_address (q.address), why.text);
}

int zap_check (struct net *n, zmq_msg_t *frame, char who[NET_WHO_MAX],
               struct err *why)
{
    const char *user = zmq_msg_gets (frame, "User-Id");
    char key[NET_KEY_SIZE];

    who[0] = '\0';
    if (!user || strlen (user) < NET_KEY_SIZE)
        return err_set (why, ENOKEY, "its key was never checked: the check of "
                        "keys does not work here");
    memcpy (key, user, NET_KEY_SIZE - 1);
    key[NET_KEY_SIZE - 1] = '\0';
    return n->security.allow (n->security.allow_arg, key, who, why);
}

/* ---- the self-test ---- */

struct stranger {
    void *socket, *monitor;
    bool refused, admitted;
};

/* Connect to our own socket, with a key that is not enrolled or without a key.
 */
static int stranger_open (struct net *n, struct stranger *s, const char *at,
                          bool keyed)
{
    char public_key[NET_KEY_SIZE], secret_key[NET_KEY_SIZE], name[64];
    static const int zero = 0;

    PRINT (name, "inproc://stranger-%d", keyed);
    s->socket = zmq_socket (n->context, ZMQ_DEALER);
    s->monitor = zmq_socket (n->context, ZMQ_PAIR);
    if (!s->socket || !s->monitor ||
        zmq_setsockopt (s->socket, ZMQ_LINGER, &zero, sizeof (zero)) < 0 ||
        zmq_socket_monitor (s->socket, name,
                            ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                                ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) < 0 ||
        zmq_connect (s->monitor, name) < 0)
        return -1;
    if (keyed &&
        (zmq_curve_keypair (public_key, secret_key) < 0 ||
         zmq_setsockopt (s->socket, ZMQ_CURVE_SERVERKEY,
                         n->security.public_key, NET_KEY_SIZE) < 0 ||
         zmq_setsockopt (s->socket, ZMQ_CURVE_PUBLICKEY, public_key,
                         NET_KEY_SIZE) < 0 ||
         zmq_setsockopt (s->socket, ZMQ_CURVE_SECRETKEY, secret_key,
                         NET_KEY_SIZE) < 0))
        return -1;
    return zmq_connect (s->socket, at);
}

static void stranger_close (struct stranger *s)
{
    if (s->socket) {
        (void)zmq_socket_monitor (s->socket, NULL, 0);
        (void)zmq_close (s->socket);
    }
    if (s->monitor)
        (void)zmq_close (s->monitor);
}

static void stranger_look (struct stranger *s)
{
    uint32_t value;
    int event;

    while ((event = monitor_next (s->monitor, &value)) != 0) {
        if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
            s->admitted = true;
        else
            s->refused = true;
    }
}

/* Wait until both were refused and their connections have ended at our side as
 * well, which would otherwise be reported later; or until one was admitted; or
 * until nothing has happened for too long.  Time in which this process was
 * stopped does not count.
 */
static int watch_strangers (struct net *n, struct stranger s[2],
                            struct err *err)
{
    unsigned accepted = 0, ended = 0, turns = 0;

    while (!s[0].refused || !s[1].refused || ended < accepted) {
        zmq_pollitem_t items[] = {
            { .socket = n->zap.socket, .events = ZMQ_POLLIN },
            { .socket = n->monitor.socket, .events = ZMQ_POLLIN },
            { .socket = s[0].monitor, .events = ZMQ_POLLIN },
            { .socket = s[1].monitor, .events = ZMQ_POLLIN },
        };
        int event;

        turns += zmq_poll (items, 4, TEST_TURN_MS) == 0;
        zap_answer (n);
        stranger_look (&s[0]);
        stranger_look (&s[1]);
        while ((event = monitor_take (n)) != 0) {
            accepted += event == ZMQ_EVENT_ACCEPTED;
            ended += event == ZMQ_EVENT_DISCONNECTED;
        }
        if (s[0].admitted || s[1].admitted)
            return err_set (err, EKEYREJECTED, "a test connection with %s was "
                            "let in: not serving, since anybody could connect",
                            s[0].admitted ? "no key" : "an unknown key");
        if (turns > TEST_TURNS)
            return err_set (err, EKEYREJECTED, "a test connection without a "
                            "known key was not refused within %d s: not "
                            "serving",
                            TEST_TURNS * TEST_TURN_MS / 1000);
    }
    return 0;
}

int zap_self_test (struct net *n, struct err *err)
{
    struct stranger s[2] = { { .socket = NULL }, { .socket = NULL } };
    uint64_t random = 0;
    char at[64];
    int rc;

    // a separate address of the tested socket
    if (getrandom (&random, sizeof (random), 0) != sizeof (random))
        random = (uint64_t)clock_mono_ns ();
    PRINT (at, "ipc://@rollcall-%016llx", (unsigned long long)random);
    n->testing = true;
    if (zmq_bind (n->main.socket, at) < 0 ||
        stranger_open (n, &s[0], at, false) < 0 ||
        stranger_open (n, &s[1], at, true) < 0)
        rc = err_set (err, EKEYREJECTED, "cannot test whether unknown keys are "
                      "refused (%s): not serving",
                      zmq_strerror (zmq_errno ()));
    else
        rc = watch_strangers (n, s, err);
    stranger_close (&s[0]);
    stranger_close (&s[1]);
    (void)zmq_unbind (n->main.socket, at);
    n->testing = false;
    return rc;
}
