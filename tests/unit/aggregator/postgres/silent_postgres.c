/* tests/unit/aggregator/postgres/silent_postgres.c - a server that speaks the
 * protocol of PostgreSQL, and is silent when a test wants it to be
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aggregator/postgres/silent_postgres.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct server {
    int fd;                     // the client
    int go;                     // the test
};

/* ---- messages: a type, the size of the rest with itself, the rest ---- */

static void read_all (const struct server *s, void *to, size_t n)
{
    for (ssize_t got; n > 0; n -= (size_t)got, to = (char *)to + got) {
        got = read (s->fd, to, n);
        if (got <= 0)
            _exit (0);
    }
}

/* The beginning of it. */
static void read_rest (const struct server *s, char *text, size_t size)
{
    char more[4096];
    uint32_t n;
    size_t now;

    read_all (s, &n, sizeof (n));
    n = be32toh (n) - 4;
    now = n < size ? n : size - 1;
    read_all (s, text, now);
    text[now] = '\0';
    for (n -= (uint32_t)now; n > 0; n -= (uint32_t)now) {
        now = n < sizeof (more) ? n : sizeof (more);
        read_all (s, more, now);
    }
}

static char read_message (const struct server *s, char *text, size_t size)
{
    char type;

    read_all (s, &type, 1);
    read_rest (s, text, size);
    return type;
}

static void put (const struct server *s, char type, const void *rest, size_t n)
{
    uint32_t size = htobe32 ((uint32_t)n + 4);
    char out[100];

    out[0] = type;
    memcpy (out + 1, &size, sizeof (size));
    memcpy (out + 5, rest, n);
    if (write (s->fd, out, 5 + n) != (ssize_t)(5 + n))
        _exit (0);
}

static void put_done (const struct server *s)
{
    put (s, 'C', "DONE", 5);
    put (s, 'Z', "I", 1);
}

/* ---- what it does ---- */

static void wait_for_go (const struct server *s)
{
    char c;

    if (read (s->go, &c, 1) != 1)
        _exit (0);
}

static void take_rows (const struct server *s)
{
    char text[2];

    put (s, 'G', "\1\0\0", 3);
    wait_for_go (s);
    while (read_message (s, text, sizeof (text)) != 'c')
        ;
}

static void put_rows (const struct server *s)
{
    static const char column[] = "\0\1c\0\0\0\0\0\0\0\0\0\0\31\377\377\377\377"
                                 "\377\377\0\0";
    static const char row[] = "\0\1\0\0\0\1x";

    put (s, '1', "", 0);
    put (s, '2', "", 0);
    put (s, 'T', column, sizeof (column) - 1);
    for (int i = 0; i < SILENT_POSTGRES_ROWS; i++) {
        wait_for_go (s);
        put (s, 'D', row, sizeof (row) - 1);
    }
}

static void serve (const struct server *s)
{
    char text[16], type;

    read_rest (s, text, sizeof (text));
    put (s, 'R', "\0\0\0\0", 4);
    put (s, 'S', "server_encoding\0UTF8", 21);
    put (s, 'Z', "I", 1);
    while ((type = read_message (s, text, sizeof (text))) != 'X') {
        if (type != 'Q' && type != 'S')
            continue;
        if (type == 'S')
            put_rows (s);
        else if (strcmp (text, "COPY") == 0)
            take_rows (s);
        else if (strcmp (text, "wait") == 0 || strcmp (text, "leave") == 0)
            wait_for_go (s);
        if (strcmp (text, "leave") == 0)
            return;
        put_done (s);
    }
}

/* ---- life ---- */

static void start (struct silent_postgres *s, int listening)
{
    int go[2];

    assert_int_equal (listen (listening, 1), 0);
    assert_int_equal (pipe (go), 0);
    s->go = go[1];
    assert_return_code (s->pid = fork (), 0);
    if (s->pid == 0) {
        struct server server = { .go = go[0] };

        (void)close (go[1]);
        server.fd = accept (listening, NULL, NULL);
        serve (&server);
        _exit (0);
    }
    (void)close (go[0]);
    (void)close (listening);
}

void silent_postgres_start (struct silent_postgres *s)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int listening = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf (s->dir, sizeof (s->dir), "/tmp/rollcall-pg-XXXXXX");
    assert_non_null (mkdtemp (s->dir));
    (void)snprintf (at.sun_path, sizeof (at.sun_path), "%.60s/.s.PGSQL.5432",
                    s->dir);
    (void)snprintf (s->uri, sizeof (s->uri), "postgresql:///d?host=%s&user=me"
                    "&port=5432&sslmode=disable", s->dir);
    assert_int_equal (bind (listening, (struct sockaddr *)&at, sizeof (at)), 0);
    start (s, listening);
}

void silent_postgres_start_tcp (struct silent_postgres *s)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    int listening = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof (at);

    s->dir[0] = '\0';
    assert_int_equal (bind (listening, (struct sockaddr *)&at, size), 0);
    assert_int_equal (getsockname (listening, (struct sockaddr *)&at, &size), 0);
    (void)snprintf (s->uri, sizeof (s->uri), "postgresql://127.0.0.1:%u/d?user=me"
                    "&sslmode=disable&gssencmode=disable", ntohs (at.sin_port));
    start (s, listening);
}

void silent_postgres_go (struct silent_postgres *s)
{
    assert_int_equal (write (s->go, "", 1), 1);
}

void silent_postgres_end (struct silent_postgres *s)
{
    char path[256];

    (void)close (s->go);
    (void)kill (s->pid, SIGKILL);
    assert_int_equal (waitpid (s->pid, NULL, 0), s->pid);
    if (!s->dir[0])
        return;
    (void)snprintf (path, sizeof (path), "%s/.s.PGSQL.5432", s->dir);
    (void)unlink (path);
    (void)rmdir (s->dir);
}
