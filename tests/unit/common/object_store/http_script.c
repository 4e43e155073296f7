/* tests/unit/common/object_store/http_script.c - a server that says what it is
 * told
 */
#include "common/object_store/http_script.h"

#include "base/thread.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_MAX 16384

struct http_script {
    pthread_t thread;
    int listener;
    char endpoint[64];
    const char *const *answers;
    size_t n;
    char *requests[HTTP_SCRIPT_MAX];
    atomic_size_t count;
    pthread_mutex_t gate;       // over each answer
};

/* The header, and how many bytes of the body follow it; 0: the connection is
 * over.
 */
static size_t read_header (int fd, char *out, size_t *body)
{
    static const char more[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const char *end = NULL, *length;
    size_t used = 0;

    while (!end && used < REQUEST_MAX - 1) {
        ssize_t got = read (fd, out + used, REQUEST_MAX - 1 - used);

        if (got <= 0)
            return 0;
        used += (size_t)got;
        out[used] = '\0';
        end = strstr (out, "\r\n\r\n");
    }
    length = strcasestr (out, "\r\nContent-Length: ");
    *body = length && length < end ? strtoul (length + 18, NULL, 10) : 0;
    *body -= used - (size_t)(end + 4 - out);
    if (strstr (out, "Expect: 100-continue") &&
        write (fd, more, strlen (more)) < 0)
        return 0;
    return used;
}

/* A request with the beginning of its body; false: the connection is over. */
static bool read_request (int fd, char *out)
{
    size_t left = 0, used = read_header (fd, out, &left);
    char rest[65536];

    while (used > 0 && left > 0) {
        ssize_t got = read (fd, rest, left < sizeof (rest) ? left
                                                           : sizeof (rest));

        if (got <= 0)
            return false;
        left -= (size_t)got;
        for (ssize_t i = 0; i < got && used < REQUEST_MAX - 1; i++)
            out[used++] = rest[i];
        out[used] = '\0';
    }
    return used > 0;
}

static void serve (struct http_script *s, int fd)
{
    char *request = malloc (REQUEST_MAX);

    while (atomic_load (&s->count) < s->n && read_request (fd, request)) {
        size_t i = atomic_load (&s->count);
        const char *answer = s->answers[i];

        s->requests[i] = strdup (request);
        atomic_fetch_add (&s->count, 1);
        (void)pthread_mutex_lock (&s->gate);
        (void)pthread_mutex_unlock (&s->gate);
        if (!answer || write (fd, answer, strlen (answer)) < 0 ||
            strstr (answer, "Connection: close"))
            break;
    }
    free (request);
}

static void *run (void *arg)
{
    struct http_script *s = arg;

    while (atomic_load (&s->count) < s->n) {
        int fd = accept (s->listener, NULL, NULL);

        if (fd < 0)
            break;
        serve (s, fd);
        (void)close (fd);
    }
    // who comes later, or waits in the queue, is refused, and does not wait on
    (void)shutdown (s->listener, SHUT_RDWR);
    return NULL;
}

struct http_script *http_script_start (const char *const *answers, size_t n)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    struct http_script *s = calloc (1, sizeof (*s));
    socklen_t size = sizeof (at);

    assert (s && n <= HTTP_SCRIPT_MAX);
    s->answers = answers;
    s->n = n;
    (void)pthread_mutex_init (&s->gate, NULL);
    s->listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind (s->listener, (struct sockaddr *)&at, size) < 0 ||
        listen (s->listener, 8) < 0 ||
        getsockname (s->listener, (struct sockaddr *)&at, &size) < 0 ||
        thread_start (&s->thread, run, s) < 0)
        abort ();
    (void)snprintf (s->endpoint, sizeof (s->endpoint), "http://127.0.0.1:%d",
                    ntohs (at.sin_port));
    return s;
}

void http_script_hold (struct http_script *s)
{
    (void)pthread_mutex_lock (&s->gate);
}

void http_script_go_on (struct http_script *s)
{
    (void)pthread_mutex_unlock (&s->gate);
}

void http_script_credentials (void)
{
    (void)setenv ("AWS_ACCESS_KEY_ID", "ID", 1);
    (void)setenv ("AWS_SECRET_ACCESS_KEY", "hidden", 1);
    (void)setenv ("AWS_EC2_METADATA_DISABLED", "true", 1);
    (void)unsetenv ("AWS_SESSION_TOKEN");
    (void)setenv ("no_proxy", "*", 1);
}

const char *http_script_endpoint (const struct http_script *s)
{
    return s->endpoint;
}

void http_script_place (const struct http_script *s, const char *root)
{
    char path[4096];
    FILE *file;

    (void)snprintf (path, sizeof (path), "%s/store/place.json", root);
    if (!(file = fopen (path, "w")))
        abort ();
    (void)fprintf (file, "{\"store\": \"s3://bucket/pre\", \"endpoint\": \"%s\"}",
                   s->endpoint);
    (void)fclose (file);
}

const char *http_script_request (const struct http_script *s, size_t i)
{
    return i < atomic_load (&s->count) ? s->requests[i] : NULL;
}

void http_script_refused (char out[256], const char *code, long ahead_s)
{
    time_t then = time (NULL) + ahead_s;
    char date[64];
    struct tm tm;

    (void)gmtime_r (&then, &tm);
    (void)strftime (date, sizeof (date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    (void)snprintf (out, 256, "HTTP/1.1 403 x\r\nDate: %s\r\n"
                    "Connection: close\r\n\r\n<Error><Code>%.40s</Code></Error>",
                    date, code);
}

void http_script_padded (char *out, size_t room, const char *body, int size)
{
    (void)snprintf (out, room, "HTTP/1.1 206 x\r\nContent-Length: %d\r\n\r\n"
                    "%-*s", size, size, body);
}

size_t http_script_count (struct http_script *s)
{
    return atomic_load (&s->count);
}

void http_script_end (struct http_script *s)
{
    (void)shutdown (s->listener, SHUT_RDWR);
    (void)pthread_join (s->thread, NULL);
    (void)close (s->listener);
    (void)pthread_mutex_destroy (&s->gate);
    for (size_t i = 0; i < HTTP_SCRIPT_MAX; i++)
        free (s->requests[i]);
    free (s);
}
