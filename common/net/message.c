/* common/net/message.c - messages between agents and aggregators */
#include "net/message.h"

#include "base/utf8.h"
#include "base/wire.h"
#include "model/capture.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define SIGNAL_MAX 127                  // highest number of a signal
#define STATUS_MAX 255                  // highest exit status

/* The members of each message in their order, a letter for each. */
#define F_JOB "j"
#define F_HOST "h"
#define F_KEY "k"
#define F_WORLD "w"
#define F_RANK "r"
#define F_LOCAL "l"
#define F_PHASE "p"
#define F_STATUS "s"
#define F_ITEM "i"
#define F_KIND "K"
#define F_CONTENT "c"
#define F_SIZE "z"
#define F_CAPTURE "n"
#define F_PATH "f"
#define F_OFFSET "o"
#define F_LENGTH "L"
#define F_COMPLETE "C"
#define F_HOME "B"
#define F_TEXT "t"
#define F_SENT "S"
#define F_WALL "W"
#define F_CLOCK "x"                     // offset and error
#define F_CODEC "Z"
#define F_REASON "R"
#define F_NEWEST "N"
#define F_LEFT "u"                      // items and captures
#define F_MARK "m"
#define F_LOST "F"
#define F_PLACE "a"
#define F_MPI "M"                       // rank and size
#define F_DOUBTFUL "d"
#define F_RAW "A"
#define F_HAVE "H"                      // state and numbers of files
#define F_COMMAND "e"                   // when and how it ended
#define F_PART "P"
#define F_FACTS "q"
#define F_CODECS "X"
#define F_STREAM "D"
#define F_HURRY "Y"

static const struct {
    enum message_type type;
    const char *name;
    const char *fields;
} types[] = {
    { MESSAGE_HELLO, "hello", F_JOB F_HOST F_KEY F_WORLD F_SENT F_WALL F_CLOCK
                              F_MARK },
    { MESSAGE_RANK, "rank", F_RANK F_LOCAL F_PHASE F_STATUS F_TEXT F_MPI
                            F_COMMAND },
    { MESSAGE_OFFER, "offer", F_ITEM F_KIND F_CONTENT F_SIZE F_RANK F_CAPTURE
                              F_PATH F_NEWEST F_PLACE F_FACTS },
    { MESSAGE_CHUNK, "chunk", F_ITEM F_PART F_OFFSET F_CODEC },
    { MESSAGE_GONE, "gone", F_ITEM F_TEXT },
    { MESSAGE_NOTE, "note", F_TEXT },
    { MESSAGE_DONE, "done", F_TEXT F_DOUBTFUL },
    { MESSAGE_PING, "ping", F_LEFT },
    { MESSAGE_HAVE, "have", F_ITEM F_HAVE F_TEXT },
    { MESSAGE_DIVIDED, "divided", F_HOME F_TEXT },
    { MESSAGE_KEPT, "kept", F_HURRY },
    { MESSAGE_ASK, "ask", F_ITEM },
    { MESSAGE_MORE, "more", F_ITEM F_SIZE },
    { MESSAGE_WELCOME, "welcome", F_SENT F_WALL F_LOST F_RAW
      F_CODECS F_TEXT },
    { MESSAGE_REFUSED, "refused", F_TEXT F_REASON },
    { MESSAGE_GET, "get", F_ITEM F_PART F_OFFSET F_LENGTH },
    { MESSAGE_ACK, "ack", F_ITEM F_MARK },
    { MESSAGE_STOP, "stop", F_TEXT },
    { MESSAGE_ROLL, "roll", F_COMPLETE F_TEXT },
    { MESSAGE_WANT, "want", F_ITEM F_RANK F_CAPTURE F_PATH F_PLACE },
    { MESSAGE_STORED, "stored", F_MARK F_TEXT },
    { MESSAGE_OUTPUT, "output", F_ITEM F_STREAM F_OFFSET },
    { MESSAGE_END, "end", F_ITEM F_STATUS F_SIZE F_CONTENT F_TEXT },
};

#define TYPES (sizeof (types) / sizeof (types[0]))

/* The members of a type; NULL: it does not exist. */
static const char *fields_of (unsigned type)
{
    for (size_t i = 0; i < TYPES; i++) {
        if (types[i].type == type)
            return types[i].fields;
    }
    return NULL;
}

bool message_has_data (enum message_type t)
{
    return t == MESSAGE_CHUNK || t == MESSAGE_ASK || t == MESSAGE_OUTPUT;
}

const char *message_name (enum message_type t)
{
    for (size_t i = 0; i < TYPES; i++) {
        if (types[i].type == t)
            return types[i].name;
    }
    return "unknown";
}

void message_put_facts (struct buf *b, const struct file_facts *f)
{
    wire_put_u32 (b, f->mode);
    wire_put_i64 (b, f->mtime_ns);
    wire_put_i64 (b, f->uid);
    wire_put_i64 (b, f->gid);
}

void message_get_facts (struct wire *w, struct file_facts *f)
{
    f->mode = wire_u32 (w);
    f->mtime_ns = wire_i64 (w);
    f->uid = wire_i64 (w);
    f->gid = wire_i64 (w);
}

static void put_field (struct buf *b, const struct message *m, char field)
{
    switch (field) {
    case 'j': wire_put_text (b, m->job); break;
    case 'h': wire_put_text (b, m->host); break;
    case 'k': wire_put_text (b, m->host_key); break;
    case 'w': wire_put_i64 (b, m->world_size); break;
    case 'r': wire_put_i64 (b, m->rank); break;
    case 'l': wire_put_i64 (b, m->local_rank); break;
    case 'p': wire_put_u8 (b, (uint8_t)m->phase); break;
    case 's': wire_put_i64 (b, m->status); break;
    case 'i': wire_put_u64 (b, m->item); break;
    case 'K': wire_put_u8 (b, (uint8_t)m->kind); break;
    case 'c': buf_put (b, m->content.bytes, DIGEST_SIZE); break;
    case 'z': wire_put_u64 (b, m->size); break;
    case 'n': wire_put_text (b, m->capture); break;
    case 'f': wire_put_text (b, m->path); break;
    case 'o': wire_put_u64 (b, m->offset); break;
    case 'L': wire_put_u32 (b, m->length); break;
    case 'C': wire_put_u8 (b, m->complete); break;
    case 'B': wire_put_u8 (b, m->home); break;
    case 'Y': wire_put_u8 (b, m->hurry); break;
    case 'S': wire_put_i64 (b, m->sent_ns); break;
    case 'W': wire_put_i64 (b, m->wall_ns); break;
    case 'x':
        wire_put_i64 (b, m->clock_offset_ns);
        wire_put_i64 (b, m->clock_error_ns);
        break;
    case 'Z': wire_put_u8 (b, (uint8_t)m->codec); break;
    case 'R': wire_put_u8 (b, (uint8_t)m->reason); break;
    case 'N': wire_put_i64 (b, m->newest_ns); break;
    case 'u':
        wire_put_u64 (b, m->left_items);
        wire_put_u64 (b, m->left_captures);
        break;
    case 'm':
        wire_put_u64 (b, m->mark.epoch);
        wire_put_u64 (b, m->mark.seq);
        break;
    case 'F': wire_put_u8 (b, m->lost); break;
    case 'a': wire_put_text (b, m->place); break;
    case 'M':
        wire_put_i64 (b, m->mpi_rank);
        wire_put_i64 (b, m->mpi_size);
        break;
    case 'd': wire_put_u64 (b, m->doubtful); break;
    case 'P': wire_put_u8 (b, (uint8_t)m->part); break;
    case 'A': wire_put_u8 (b, (uint8_t)m->raw); break;
    case 'H':
        wire_put_u8 (b, (uint8_t)m->have);
        wire_put_u64 (b, m->files);
        wire_put_u64 (b, m->came);
        wire_put_u64 (b, m->gone);
        break;
    case 'q': message_put_facts (b, &m->facts); break;
    case 'X': wire_put_u8 (b, (uint8_t)m->codecs); break;
    case 'D': wire_put_u8 (b, (uint8_t)m->stream); break;
    case 'e':
        wire_put_i64 (b, m->command.ns);
        wire_put_i64 (b, m->command.signal);
        wire_put_i64 (b, m->command.status);
        break;
    default: wire_put_text (b, m->text); break;
    }
}

static void get_content (struct wire *w, struct digest *d)
{
    const void *bytes = wire_bytes (w, DIGEST_SIZE);

    if (bytes)
        memcpy (d->bytes, bytes, DIGEST_SIZE);
}

/* Read a text that people see on a terminal. */
static void get_shown (struct wire *w, char *out, size_t size)
{
    char text[MESSAGE_TEXT_MAX], shown[UTF8_ESCAPED (MESSAGE_TEXT_MAX)];

    wire_text (w, text, size < sizeof (text) ? size : sizeof (text));
    if (!w->failed)
        (void)snprintf (out, size, "%s",
                        utf8_escape (text, UTF8_LINES, shown));
}

static void get_field (struct wire *w, struct message *m, char field)
{
    switch (field) {
    case 'j': wire_text (w, m->job, sizeof (m->job)); break;
    case 'h': get_shown (w, m->host, sizeof (m->host)); break;
    case 'k': wire_text (w, m->host_key, sizeof (m->host_key)); break;
    case 'w': m->world_size = wire_i64 (w); break;
    case 'r': m->rank = wire_i64 (w); break;
    case 'l': m->local_rank = wire_i64 (w); break;
    case 'p': m->phase = wire_u8 (w); break;
    case 's': m->status = wire_i64 (w); break;
    case 'i': m->item = wire_u64 (w); break;
    case 'K': m->kind = wire_u8 (w); break;
    case 'c': get_content (w, &m->content); break;
    case 'z': m->size = wire_u64 (w); break;
    case 'n': wire_text (w, m->capture, sizeof (m->capture)); break;
    case 'f': wire_text (w, m->path, sizeof (m->path)); break;
    case 'o': m->offset = wire_u64 (w); break;
    case 'L': m->length = wire_u32 (w); break;
    case 'C': m->complete = wire_u8 (w) != 0; break;
    case 'B': m->home = wire_u8 (w) != 0; break;
    case 'Y': m->hurry = wire_u8 (w) != 0; break;
    case 'S': m->sent_ns = wire_i64 (w); break;
    case 'W': m->wall_ns = wire_i64 (w); break;
    case 'x':
        m->clock_offset_ns = wire_i64 (w);
        m->clock_error_ns = wire_i64 (w);
        break;
    case 'Z': m->codec = wire_u8 (w); break;
    case 'R': m->reason = wire_u8 (w); break;
    case 'N': m->newest_ns = wire_i64 (w); break;
    case 'e':
        m->command.ns = wire_i64 (w);
        m->command.signal = wire_i64 (w);
        m->command.status = wire_i64 (w);
        break;
    case 'u':
        m->left_items = wire_u64 (w);
        m->left_captures = wire_u64 (w);
        break;
    case 'm':
        m->mark.epoch = wire_u64 (w);
        m->mark.seq = wire_u64 (w);
        break;
    case 'F': m->lost = wire_u8 (w) != 0; break;
    case 'a': wire_text (w, m->place, sizeof (m->place)); break;
    case 'M':
        m->mpi_rank = wire_i64 (w);
        m->mpi_size = wire_i64 (w);
        break;
    case 'd': m->doubtful = wire_u64 (w); break;
    case 'P': m->part = wire_u8 (w); break;
    case 'A': m->raw = wire_u8 (w); break;
    case 'H':
        m->have = wire_u8 (w);
        m->files = wire_u64 (w);
        m->came = wire_u64 (w);
        m->gone = wire_u64 (w);
        break;
    case 'q': message_get_facts (w, &m->facts); break;
    case 'X': m->codecs = wire_u8 (w); break;
    case 'D': m->stream = wire_u8 (w); break;
    default: get_shown (w, m->text, sizeof (m->text)); break;
    }
}

void message_encode (const struct message *m, struct buf *out)
{
    const char *fields = fields_of (m->type);

    wire_put_u16 (out, MESSAGE_VERSION);
    wire_put_u16 (out, (uint16_t)m->type);
    for (const char *f = fields ? fields : ""; *f; f++)
        put_field (out, m, *f);
}

bool message_valid_name (const char *s)
{
    return *s && strlen (s) < MESSAGE_NAME_MAX && strcmp (s, ".") != 0 &&
           strcmp (s, "..") != 0 && !strchr (s, '/');
}

/* Whether it is a relative path that stays inside, made of valid names of
 * files.
 */
static bool valid_path (const char *s)
{
    if (*s == '/')
        return false;
    while (*s) {
        size_t n = strcspn (s, "/");

        if (n == 0 || n > NAME_MAX || (n == 1 && s[0] == '.') ||
            (n == 2 && s[0] == '.' && s[1] == '.'))
            return false;
        s += n;
        if (*s == '/' && *++s == '\0')
            return false;
    }
    return true;
}

bool message_valid_place (const char *place)
{
    return strlen (place) < MESSAGE_PLACE_MAX &&
           place[strspn (place, "0123456789abcdef")] == '\0';
}

bool message_valid_item (enum item_kind kind, int64_t rank,
                         const char *capture, const char *path)
{
    return (kind == ITEM_ROWS || kind == ITEM_RAW) && rank >= -1 &&
           rank < CAPTURE_WORLD_LIMIT && message_valid_name (capture) &&
           (kind == ITEM_ROWS ? !*path : *path && valid_path (path));
}

// no clocks differ so much; twice this and the error do not overflow
#define CLOCK_OFFSET_MAX (INT64_C (100) * 366 * 86400 * 1000000000)
#define CLOCK_ERROR_MAX (INT64_C (3600) * 1000000000)

static bool plausible_clock (const struct message *m)
{
    if (m->clock_offset_ns == MESSAGE_NO_CLOCK)
        return true;
    return m->clock_offset_ns >= -CLOCK_OFFSET_MAX &&
           m->clock_offset_ns <= CLOCK_OFFSET_MAX &&
           m->clock_error_ns >= 0 && m->clock_error_ns <= CLOCK_ERROR_MAX;
}

/* Whether rank and size according to MPI are valid, or absent. */
static bool plausible_mpi (const struct message *m)
{
    return m->mpi_size == 0
               ? m->mpi_rank == 0
               : m->mpi_size > 0 && m->mpi_size <= CAPTURE_WORLD_LIMIT &&
                     m->mpi_rank >= 0 && m->mpi_rank < m->mpi_size;
}

static bool plausible_command (const struct command_end *e)
{
    return e->ns >= 0 && e->signal >= 0 && e->signal <= SIGNAL_MAX &&
           e->status >= 0 && e->status <= STATUS_MAX;
}

/* Check bounds that the types of members do not imply. */
static bool plausible (const struct message *m)
{
    switch (m->type) {
    case MESSAGE_HELLO:
        return (!*m->job || message_valid_name (m->job)) &&
               plausible_clock (m) && m->world_size >= 0 &&
               m->world_size <= CAPTURE_WORLD_LIMIT;
    case MESSAGE_RANK:
        return m->rank >= 0 && m->rank < CAPTURE_WORLD_LIMIT &&
               (m->phase == RANK_RUNNING || m->phase == RANK_ENDED) &&
               plausible_mpi (m) && plausible_command (&m->command);
    case MESSAGE_OFFER:
        return m->size <= CONTENT_SIZE_MAX && m->newest_ns >= 0 &&
               message_valid_place (m->place) && file_facts_valid (&m->facts) &&
               message_valid_item (m->kind, m->rank, m->capture, m->path);
    case MESSAGE_CHUNK:
        return m->part <= PART_LIST && m->codec < CODECS;
    case MESSAGE_GET:
        return m->part <= PART_LIST && m->length <= CONTENT_CHUNK;
    case MESSAGE_REFUSED:
        return m->reason <= REFUSAL_VERSION;
    case MESSAGE_WELCOME:
        return m->raw <= RAW_UNDECIDED;
    case MESSAGE_WANT:
        return message_valid_place (m->place) && valid_path (m->path) &&
               message_valid_item (ITEM_ROWS, m->rank, m->capture, "");
    case MESSAGE_OUTPUT:
        return m->stream < ANSWER_STREAMS;
    case MESSAGE_END:
        return m->status >= 0 && m->status <= STATUS_MAX;
    case MESSAGE_HAVE:
        return m->have <= HAVE_NOT_HERE && m->came <= m->files &&
               m->gone <= m->files - m->came;
    default:
        return true;
    }
}

/* Whether its sender has a larger --max-ranks. */
static bool is_above_limit (const struct message *m)
{
    switch (m->type) {
    case MESSAGE_HELLO:
        return m->world_size > capture_world_max;
    case MESSAGE_RANK:
        return m->rank >= capture_world_max || m->mpi_size > capture_world_max;
    case MESSAGE_OFFER:
        return m->rank >= capture_world_max;
    default:
        return false;
    }
}

int message_decode (struct message *m, const void *bytes, size_t size,
                    struct err *err)
{
    struct wire w = wire_reader (bytes, size);
    unsigned version = wire_u16 (&w), type = wire_u16 (&w);
    const char *fields = fields_of (type);

    memset (m, 0, sizeof (*m));
    m->clock_offset_ns = m->clock_error_ns = MESSAGE_NO_CLOCK;
    if (w.failed)
        return err_set (err, EBADMSG, "a message of %zu bytes", size);
    if (version != MESSAGE_VERSION)
        return err_set (err, EPROTONOSUPPORT, "protocol version %u, which "
                        "rollcall %s does not speak: it has %u", version,
                        ROLLCALL_VERSION, MESSAGE_VERSION);
    if (!fields)
        return err_set (err, EPROTONOSUPPORT, "a message of unknown type %u "
                        "in protocol version %u", type, version);
    m->type = type;
    for (const char *f = fields; *f; f++)
        get_field (&w, m, *f);
    if (!w.failed && w.at < w.end)
        return err_set (err, EPROTONOSUPPORT, "a message \"%s\" of protocol "
                        "version %u with %zu bytes behind its members",
                        message_name (m->type), version,
                        (size_t)(w.end - w.at));
    if (w.failed || !plausible (m))
        return err_set (err, EBADMSG, "a malformed message \"%s\"",
                        message_name (m->type));
    if (is_above_limit (m))
        return err_set (err, EPROTONOSUPPORT, "a message \"%s\" of more than "
                        "%lld ranks, which is --max-ranks (ROLLCALL_MAX_RANKS) "
                        "here", message_name (m->type),
                        (long long)capture_world_max);
    return 0;
}
