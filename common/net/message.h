/* common/net/message.h - messages between agents and aggregators
 *
 * The protocol and its bytes are in doc/format-wire.md.  The aggregator pulls
 * data: an agent OFFERs an item, the aggregator GETs pieces of it while it has
 * credit, and ACKs when bytes and ledger row are fsynced.
 */
#ifndef ROLLCALL_NET_MESSAGE_H
#define ROLLCALL_NET_MESSAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "model/roster.h"
#include "store/content.h"

#define MESSAGE_VERSION 1               // any other is refused, in words
#define MESSAGE_TEXT_MAX 1024           // bytes of a sentence, with the NUL
#define MESSAGE_NAME_MAX 256            // bytes of a name, with the NUL
#define MESSAGE_PATH_MAX 1024           // bytes of a path within a capture
#define MESSAGE_PLACE_MAX 33            // 32 hex digits of a place, and the NUL

enum message_type {
    // from agents
    MESSAGE_HELLO = 1,
    MESSAGE_RANK = 2,           // a rank of this node: began, ended
    MESSAGE_OFFER = 3,
    MESSAGE_CHUNK = 4,
    MESSAGE_GONE = 5,           // an offered item cannot be read any more
    MESSAGE_NOTE = 6,           // something a person should read
    MESSAGE_DONE = 7,           // nothing more will come
    MESSAGE_PING = 8,
    // from aggregators
    MESSAGE_WELCOME = 32,
    MESSAGE_REFUSED = 33,
    MESSAGE_GET = 34,
    MESSAGE_ACK = 35,
    MESSAGE_STOP = 36,          // COMMANDs are to be ended
    MESSAGE_ROLL = 37,          // the job is over
};

enum item_kind { ITEM_ROWS = 1, ITEM_RAW = 2 };

enum chunk_codec { CODEC_PLAIN = 0, CODEC_LZ4 = 1 };    // an LZ4 frame

/* The reason of REFUSED, if agents handle it differently. */
enum refusal { REFUSAL_OTHER = 0, REFUSAL_KEY = 1, REFUSAL_VERSION = 2 };

enum rank_phase { RANK_RUNNING = 1, RANK_ENDED = 2 };

/* A clock that was not measured. */
#define MESSAGE_NO_CLOCK INT64_MIN

/* A position of an aggregator's ledger: its epoch, a random number of each
 * start (0: none), and the last item that it had then.
 */
struct ledger_mark {
    uint64_t epoch, seq;
};

struct message {
    enum message_type type;
    char job[MESSAGE_NAME_MAX];         // HELLO
    char host[MESSAGE_NAME_MAX];        // HELLO
    char host_key[MESSAGE_NAME_MAX];    // HELLO: the same for one host only
    int64_t world_size;                 // HELLO: 0 unknown
    int64_t sent_ns;                    // HELLO, WELCOME (echoed): the
                                        // agent's monotonic clock
    int64_t wall_ns;                    // HELLO, WELCOME: the sender's clock,
                                        // since 1970
    int64_t clock_offset_ns;            // HELLO: aggregator's minus agent's,
    int64_t clock_error_ns;             // at most so wrong
    int64_t rank;                       // RANK, OFFER: -1 none
    int64_t local_rank;                 // RANK: -1 unknown
    enum rank_phase phase;              // RANK
    int64_t status;                     // RANK: exit status, 128+n of signal
                                        // n, -1: ended on request
    struct command_end command;         // RANK
    int64_t mpi_rank, mpi_size;         // RANK: which of how many its process
                                        // is by MPI's own word; size 0: MPI
                                        // has said nothing
    uint64_t item;                      // OFFER ... ACK: the agent's number
    enum item_kind kind;                // OFFER
    struct digest content;              // OFFER
    uint64_t size;                      // OFFER: bytes
    int64_t newest_ns;                  // OFFER: when the capture was last
                                        // written to, since 1970; of two
                                        // versions the later one counts; 0 not
                                        // known
    char capture[MESSAGE_NAME_MAX];     // OFFER
    char path[MESSAGE_PATH_MAX];        // OFFER: of a raw file, "" for rows
    char place[MESSAGE_PLACE_MAX];      // OFFER: of the directory the capture
                                        // lies in, if the job's id was not
                                        // given; else ""
    uint64_t offset;                    // GET, CHUNK
    uint32_t length;                    // GET: at most CONTENT_CHUNK
    enum chunk_codec codec;             // CHUNK: of the data
    const void *data;                   // CHUNK: borrowed
    size_t data_size;
    uint64_t left_items;                // PING: not acknowledged yet
    uint64_t left_captures;             // PING: not read yet
    uint64_t doubtful;                  // DONE: captures that may be another
                                        // job's
    bool complete;                      // ROLL: every rank is present
    enum refusal reason;                // REFUSED
    struct ledger_mark mark;            // ACK: of the commit with the item;
                                        // HELLO: of the last ACK that the agent
                                        // has noted
    bool lost;                          // WELCOME: not all that the ledger had
                                        // at the HELLO's mark is in it
    char text[MESSAGE_TEXT_MAX];        // RANK, GONE, NOTE, REFUSED, STOP,
};                                      // ROLL, DONE

/* The bytes of a message, without the data of a CHUNK. */
void message_encode (const struct message *m, struct buf *out);

/* -EBADMSG: malformed, or a member out of bounds; -EPROTONOSUPPORT: another
 * version, or an unknown type or members: refuse it with a reason.  The caller
 * sets 'data' of a CHUNK.
 */
int message_decode (struct message *m, const void *bytes, size_t size,
                    struct err *err);

const char *message_name (enum message_type t);

/* Whether a job's or capture's name is valid: not empty, no slash, not only
 * dots, since the other side uses it in paths.
 */
bool message_valid_name (const char *name);

/* Whether a place is valid: lower-case hex digits, or nothing. */
bool message_valid_place (const char *place);

/* Whether an item's name is valid: a kind, a rank (-1: none), the name of a
 * capture, and for a raw file a relative path inside it.
 */
bool message_valid_item (enum item_kind kind, int64_t rank,
                         const char *capture, const char *path);

#endif
