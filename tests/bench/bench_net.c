/* tests/bench/bench_net.c - how fast CURVE itself is on this machine
 *
 *     bench_net MEGABYTES: MB/s of messages of 1 MiB from a DEALER in one
 *     process to a ROUTER in another, both with CURVE, over loopback, with
 *     nothing done to them: the ceiling for a delivery (tests/bench/net)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define MESSAGE (1 << 20)               // bytes, as a chunk
#define HWM 64                          // messages, as there are credits

static char server_public[41], server_secret[41];

static void die (const char *what)
{
    (void)fprintf (stderr, "bench_net: %s: %s\n", what,
                   zmq_strerror (zmq_errno ()));
    exit (1);
}

static double seconds (void)
{
    struct timespec t;

    (void)clock_gettime (CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *make_socket (int type)
{
    void *s = zmq_socket (zmq_ctx_new (), type);
    int hwm = HWM;

    if (!s || zmq_setsockopt (s, ZMQ_SNDHWM, &hwm, sizeof (hwm)) < 0 ||
        zmq_setsockopt (s, ZMQ_RCVHWM, &hwm, sizeof (hwm)) < 0)
        die ("socket");
    return s;
}

static void send_all (const char *endpoint, long count)
{
    char own_public[41], own_secret[41];
    void *s = make_socket (ZMQ_DEALER);
    char *data = malloc (MESSAGE);

    if (!data)
        die ("memory");
    memset (data, 'x', MESSAGE);
    (void)zmq_curve_keypair (own_public, own_secret);
    if (zmq_setsockopt (s, ZMQ_CURVE_SERVERKEY, server_public, 41) < 0 ||
        zmq_setsockopt (s, ZMQ_CURVE_PUBLICKEY, own_public, 41) < 0 ||
        zmq_setsockopt (s, ZMQ_CURVE_SECRETKEY, own_secret, 41) < 0 ||
        zmq_connect (s, endpoint) < 0)
        die (endpoint);
    for (long i = 0; i < count; i++) {
        if (zmq_send (s, data, MESSAGE, 0) < 0)
            die ("send");
    }
    if (zmq_recv (s, data, 1, 0) < 0)   // everything has arrived
        die ("receive");
    free (data);
}

static double receive_all (void *s, long count)
{
    char id[64] = "";
    int id_size = 0;
    double began = 0;
    zmq_msg_t m;

    (void)zmq_msg_init (&m);
    for (long i = 0; i < count; i++) {
        id_size = zmq_recv (s, id, sizeof (id), 0);
        if (id_size < 0 || zmq_msg_recv (&m, s, 0) != MESSAGE)
            die ("receive");
        if (i == 0)
            began = seconds ();
    }
    began = seconds () - began;
    (void)zmq_send (s, id, (size_t)id_size, ZMQ_SNDMORE);
    (void)zmq_send (s, "", 0, 0);
    return began;
}

int main (int argc, char **argv)
{
    long count = argc > 1 ? strtol (argv[1], NULL, 10) * 1000000 / MESSAGE : 0;
    char endpoint[128];
    size_t size = sizeof (endpoint);
    int one = 1, ports[2], status;
    double took;
    pid_t child;
    void *s;

    if (count < 2) {
        (void)fprintf (stderr, "usage: bench_net MEGABYTES\n");
        return 2;
    }
    if (zmq_curve_keypair (server_public, server_secret) < 0 ||
        pipe (ports) < 0)
        die ("keys");
    // the child first: a context does not survive a fork
    if ((child = fork ()) == 0) {
        if (read (ports[0], endpoint, sizeof (endpoint)) <= 0)
            die ("endpoint");
        send_all (endpoint, count);
        _exit (0);
    }
    s = make_socket (ZMQ_ROUTER);
    if (zmq_setsockopt (s, ZMQ_CURVE_SERVER, &one, sizeof (one)) < 0 ||
        zmq_setsockopt (s, ZMQ_CURVE_SECRETKEY, server_secret, 41) < 0 ||
        zmq_bind (s, "tcp://127.0.0.1:*") < 0 ||
        zmq_getsockopt (s, ZMQ_LAST_ENDPOINT, endpoint, &size) < 0 ||
        write (ports[1], endpoint, sizeof (endpoint)) < 0)
        die ("listen");
    took = receive_all (s, count);
    (void)printf ("%.0f\n", (double)(count - 1) * MESSAGE / 1e6 / took);
    (void)fflush (stdout);
    return waitpid (child, &status, 0) == child && status == 0 ? 0 : 1;
}
