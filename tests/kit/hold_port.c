/* tests/kit/hold_port.c - a TCP port that nobody else has
 *
 *     exec {held}< <(hold_port FROM TO); read -r PORT <&"$held"
 *
 * Prints a port of FROM to TO, and holds it as long as its output has a reader:
 * a shell, and what that starts.  The kernel keeps all others away, of whatever
 * user or root directory, but for who listens with SO_REUSEADDR, as servers do:
 * held ports are bound without it.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIES 1000

/* Bind some port of so many from 'from' on; the port, or 0. */
static unsigned bind_some (int fd, unsigned from, unsigned count)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    unsigned draw = 0;

    for (unsigned i = 0; i < TRIES; i++) {
        if (getrandom (&draw, sizeof (draw), 0) < 0)
            return 0;
        address.sin_port = htons ((in_port_t)(from + draw % count));
        if (bind (fd, (struct sockaddr *)&address, sizeof (address)) == 0)
            return from + draw % count;
    }
    return 0;
}

int main (int argc, char **argv)
{
    unsigned from = argc > 2 ? (unsigned)atoi (argv[1]) : 0;
    unsigned to = argc > 2 ? (unsigned)atoi (argv[2]) : 0, port;
    struct pollfd reader = { .fd = STDOUT_FILENO };
    int fd, one = 1;

    closefrom (STDERR_FILENO + 1);      // other ports' readers among them
    if (from == 0 || to < from || to > 65535) {
        (void)fputs ("usage: hold_port FROM TO\n", stderr);
        return 2;
    }
    if ((fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0 ||
        (port = bind_some (fd, from, to - from + 1)) == 0 ||
        setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof (one)) < 0) {
        perror ("hold_port");
        return 1;
    }
    (void)printf ("%u\n", port);
    (void)fflush (stdout);
    while (poll (&reader, 1, -1) < 0 || !(reader.revents & POLLERR))
        ;
    return 0;
}
