/* tests/kit/nonsense.c - messages that nobody should send */
#include "nonsense.h"

#include <stdio.h>
#include <string.h>
#include <zmq.h>

#define FRAMES_MORE 40

static uint64_t state = 1;

void nonsense_seed (uint64_t seed)
{
    state = seed * UINT64_C (0x9e3779b97f4a7c15) + 1;
}

uint32_t nonsense_draw (uint32_t n)
{
    state = state * UINT64_C (6364136223846793005) + 1442695040888963407;
    return (uint32_t)((state >> 33) % n);
}

/* ---- members ---- */

static uint64_t number (void)
{
    static const uint64_t edges[] = {
        0, 1, 2, 3, CONTENT_CHUNK - 1, CONTENT_CHUNK, CONTENT_CHUNK + 1,
        1 << 17, UINT32_MAX, INT64_MAX, UINT64_MAX, (uint64_t)INT64_MIN,
    };

    return nonsense_draw (2) ? nonsense_draw (20)
                             : edges[nonsense_draw (sizeof (edges) /
                                                    sizeof (edges[0]))];
}

static void text (char *out, size_t size)
{
    static const char *const texts[] = {
        "", "j", "evil", "..", "../../etc/passwd", "/etc/passwd", "a/b/c",
        "PROF_1/data", "\x1b[2J\x1b]0;owned\x07", "%s%n%s%n", "\xff\xfe",
        "\xe2\x80\xae.txt", "'; DROP TABLE Item; --", "<script>",
    };

    (void)snprintf (out, size, "%s",
                    texts[nonsense_draw (sizeof (texts) / sizeof (texts[0]))]);
    if (nonsense_draw (16) == 0) {
        memset (out, 'x', size - 1);
        out[size - 1] = '\0';
    }
}

static void draw_numbers (struct message *m)
{
    m->world_size = (int64_t)number ();
    m->sent_ns = (int64_t)number ();
    m->wall_ns = (int64_t)number ();
    m->clock_offset_ns = (int64_t)number ();
    m->clock_error_ns = (int64_t)number ();
    m->rank = (int64_t)number ();
    m->local_rank = (int64_t)number ();
    m->status = (int64_t)number ();
    m->item = number ();
    m->size = number ();
    m->newest_ns = (int64_t)number ();
    m->offset = number ();
    m->length = (uint32_t)number ();
    m->left_items = number ();
    m->left_captures = number ();
    m->doubtful = number ();
    m->mark.epoch = number ();
    m->mark.seq = number ();
    m->phase = (enum rank_phase)nonsense_draw (4);
    m->kind = (enum item_kind)nonsense_draw (4);
    m->part = (enum chunk_part)nonsense_draw (3);
    m->codec = (enum chunk_codec)nonsense_draw (3);
    m->reason = (enum refusal)nonsense_draw (4);
    m->complete = nonsense_draw (2);
    m->lost = nonsense_draw (2);
    m->raw = (enum raw_wanted)nonsense_draw (4);
    m->have = (enum have_state)nonsense_draw (4);
    m->files = number ();
    m->came = nonsense_draw (4);
    m->gone = number ();
    m->home = nonsense_draw (2);
    m->hurry = nonsense_draw (2);
}

/* Any that agents or people may say, or aggregators; sometimes the others'. */
static enum message_type type (bool of_agents)
{
    static const enum message_type asked[] = { MESSAGE_ASK, MESSAGE_MORE };

    if (!of_agents || nonsense_draw (8) == 0)
        return (enum message_type)(MESSAGE_WELCOME +
                                   nonsense_draw (MESSAGE_STORED + 1 -
                                                  MESSAGE_WELCOME));
    if (nonsense_draw (6) == 0)
        return asked[nonsense_draw (2)];
    return (enum message_type)(1 + nonsense_draw (MESSAGE_KEPT));
}

void nonsense_message (struct message *m, bool of_agents)
{
    memset (m, 0, sizeof (*m));
    draw_numbers (m);
    text (m->job, sizeof (m->job));
    text (m->host, sizeof (m->host));
    text (m->host_key, sizeof (m->host_key));
    text (m->capture, sizeof (m->capture));
    text (m->path, sizeof (m->path));
    text (m->text, sizeof (m->text));
    for (size_t i = 0; i < sizeof (m->content.bytes); i++)
        m->content.bytes[i] = (uint8_t)nonsense_draw (256);
    m->type = type (of_agents);
}

/* ---- bytes ---- */

static void damage_once (struct buf *b)
{
    uint8_t *bytes = b->data;
    static const uint8_t more;
    uint32_t at = nonsense_draw ((uint32_t)b->size), n;

    switch (nonsense_draw (7)) {
    case 0:
        bytes[at] ^= (uint8_t)(1 << nonsense_draw (8));
        break;
    case 1:
        bytes[at] = (uint8_t)nonsense_draw (256);
        break;
    case 2:                     // a length or count that is not
        n = nonsense_draw (2) ? UINT32_MAX >> nonsense_draw (32)
                              : nonsense_draw (300);
        if (at + sizeof (n) <= b->size)
            memcpy (bytes + at, &n, sizeof (n));
        break;
    case 3:
        b->size = at;
        break;
    case 4:
        for (n = nonsense_draw (40); n > 0; n--)
            buf_put (b, &more, 1);
        break;
    case 5:                     // version
        bytes[0] = (uint8_t)nonsense_draw (7);
        break;
    default:                    // type
        if (b->size > 2)
            bytes[2] = (uint8_t)nonsense_draw (64);
        break;
    }
}

void nonsense_damage (struct buf *b)
{
    for (uint32_t i = nonsense_draw (4); i > 0 && b->size > 0; i--)
        damage_once (b);
}

/* ---- frames ---- */

static uint8_t zeros[CONTENT_CHUNK + 65536];

static size_t any_size (void)
{
    switch (nonsense_draw (64)) {
    case 0: return sizeof (zeros);
    case 1: return CONTENT_CHUNK;
    case 2: return CONTENT_CHUNK + 1;
    case 3: return CONTENT_CHUNK - 1;
    default: return nonsense_draw (2) ? nonsense_draw (3)
                                      : nonsense_draw (65536);
    }
}

/* What a person may ask, must not, or cannot; behind each other they are no JSON. */
static const char *question (size_t *size)
{
    static const char *const parts[] = {
        "{\"do\": \"view\", \"verb\": \"jobs\", \"options\": [\"--json\"]}",
        "{\"do\": \"view\", \"verb\": \"status\"}",
        "{\"do\": \"view\", \"verb\": \"show\", \"operands\": [\"j\"]}",
        "{\"do\": \"view\", \"verb\": \"archive\", \"operands\": [\"get\", "
        "\"j\", \"0\"]}",
        "{\"do\": \"view\", \"verb\": \"archive\", \"operands\": [\"result\", "
        "\"../j\"]}",
        "{\"do\": \"view\", \"verb\": \"jobs\", \"options\": [\"--where\", "
        "\"1) UNION SELECT 1 --\"]}",
        "{\"do\": \"view\", \"verb\": \"trend\", \"options\": [\"--by\"]}",
        "{\"do\": \"rm\", \"job\": \"j\"}", "{\"do\": 1}", "[[[[", "",
    };
    static char text[4096];
    size_t n = 0;

    do {
        const char *part = parts[nonsense_draw (sizeof (parts) /
                                                sizeof (parts[0]))];

        n += (size_t)snprintf (text + n, sizeof (text) - n, "%s", part);
    } while (nonsense_draw (8) == 0 && n < sizeof (text) / 2);
    if (nonsense_draw (4) == 0 && n > 0)
        text[nonsense_draw ((uint32_t)n)] = (char)nonsense_draw (256);
    *size = n;
    return text;
}

static bool put (void *socket, const void *data, size_t size, bool more)
{
    return zmq_send (socket, data, size, ZMQ_DONTWAIT |
                     (more ? ZMQ_SNDMORE : 0)) >= 0;
}

bool nonsense_send (void *socket, const void *to, size_t size,
                    const struct buf *head, bool data)
{
    const char *what;
    uint32_t n = data;
    size_t length;

    switch (nonsense_draw (8)) {
    case 0: n = 1 - n; break;
    case 1: n = nonsense_draw (FRAMES_MORE); break;
    default: break;
    }
    // what follows the first frame finds room when that has
    if (to && !put (socket, to, size, true))
        return false;
    if (nonsense_draw (32) == 0 && !put (socket, "", 0, true))
        return false;
    if (!put (socket, head->data, head->size, n > 0))
        return false;
    if (n > 0 && head->size > 2 &&
        ((const uint8_t *)head->data)[2] == MESSAGE_ASK) {
        what = question (&length);
        (void)put (socket, what, length, n-- > 1);
    }
    for (; n > 0; n--)
        (void)put (socket, zeros, n > 2 ? nonsense_draw (100) : any_size (),
                   n > 1);
    return true;
}
