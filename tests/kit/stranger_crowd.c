/* tests/kit/stranger_crowd.c - connections that do not get far
 *
 *     stranger_crowd PORT hold N       N connections, as far as a greeting
 *                                      each: none of it, one byte of it, ...
 *                                      all, and a part of a handshake; held
 *                                      until there is no more input
 *     stranger_crowd PORT play FILE    sends what FILE has, ends the sending,
 *                                      and reads until the other side ends
 *
 * Prints "held N" or "got N" (bytes).
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define HANDSHAKE 128           // bytes: the greeting, and what looks like more
#define PATIENCE_S 70           // longer than a handshake may take

static int connect_to (const char *port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons ((uint16_t)atoi (port)),
        .sin_addr = { .s_addr = htonl (INADDR_LOOPBACK) },
    };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect (fd, (struct sockaddr *)&to, sizeof (to)) < 0) {
        perror ("connect");
        exit (1);
    }
    return fd;
}

static void allow_many (void)
{
    struct rlimit r;

    if (getrlimit (RLIMIT_NOFILE, &r) < 0)
        return;
    r.rlim_cur = r.rlim_max;
    (void)setrlimit (RLIMIT_NOFILE, &r);
}

static int hold (const char *port, int n)
{
    // a greeting of ZMTP 3.1 for CURVE, and a command HELLO that ends early
    static const uint8_t said[HANDSHAKE] = {
        0xff, [9] = 0x7f, 3, 1, 'C', 'U', 'R', 'V', 'E',
        [64] = 4, 200, 5, 'H', 'E', 'L', 'L', 'O', 1,
    };
    char any;

    allow_many ();
    for (int i = 0; i < n; i++) {
        size_t size = (size_t)i % (HANDSHAKE + 1);
        int fd = connect_to (port);

        if (size > 0)           // it may have ended it by now
            (void)send (fd, said, size, MSG_NOSIGNAL);
    }
    (void)printf ("held %d\n", n);
    (void)fflush (stdout);
    while (read (STDIN_FILENO, &any, 1) > 0)
        ;
    return 0;
}

static int play (const char *port, const char *file)
{
    int from = open (file, O_RDONLY | O_CLOEXEC), fd = connect_to (port);
    struct timeval patience = { .tv_sec = PATIENCE_S };
    char data[65536];
    ssize_t n, got = 0;

    if (from < 0) {
        perror (file);
        return 1;
    }
    (void)setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
                      sizeof (patience));
    while ((n = read (from, data, sizeof (data))) > 0 &&
           send (fd, data, (size_t)n, MSG_NOSIGNAL) == n)
        ;
    (void)shutdown (fd, SHUT_WR);
    while ((n = recv (fd, data, sizeof (data), 0)) > 0)
        got += n;
    (void)printf ("got %zd\n", got);
    return 0;
}

int main (int argc, char **argv)
{
    if (argc == 4 && strcmp (argv[2], "hold") == 0)
        return hold (argv[1], atoi (argv[3]));
    if (argc == 4 && strcmp (argv[2], "play") == 0)
        return play (argv[1], argv[3]);
    (void)fputs ("usage: stranger_crowd PORT hold N | PORT play FILE\n",
                 stderr);
    return 2;
}
